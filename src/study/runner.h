// SPDX-License-Identifier: GPL-2.0-only
//
// The runs of a study: variants x loads x repetitions, on several threads. A run is a function of its variant, load
// and seed, and its outcome has its own place, so the result is the same whatever the number of threads.
#pragma once

#include "study/study.h"

#include <atomic>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace fairground {

struct Outcome {
    std::vector<Metric> metrics; // the same names in the same order for every run of a load
    u64 digest = 0;              // of everything the scheduler decided; equal digests: identical runs
};

// Makes one run; may return early with anything once a stop was requested. Called from several threads at once.
using RunFunction = std::function<Outcome(const Variant &, const Load &, u64 seed, const std::stop_token &)>;

struct Series {
    std::string name;           // of the metric
    std::vector<double> values; // by repetition
};

struct Cell {
    std::vector<Series> metrics;
    std::vector<u64> digests; // by repetition
};

struct StudyResult {
    std::vector<u64> seeds; // by repetition
    std::vector<Cell> cells;
    std::size_t loads = 0;

    [[nodiscard]] const Cell &cell(std::size_t variant, std::size_t load) const {
        return cells[variant * loads + load];
    }
};

struct RunnerOptions {
    unsigned jobs = 0; // threads; 0: one per CPU of this computer
    // Called now and then by the calling thread.
    std::function<void(std::size_t done, std::size_t total)> progress;
    // Set by somebody else (a signal handler) to give up.
    const std::atomic<bool> *interrupt = nullptr;
};

struct Interrupted {
    std::size_t done;
    std::size_t total;
};

// Rethrows what the first failing run (in the order variant, load, repetition) threw. Throws Interrupted.
StudyResult run_study(const Study &study, const RunFunction &run, const RunnerOptions &options);

// The metric of that name, or null.
const Series *find_series(const Cell &cell, std::string_view name);
// How many of the values exceed the limit.
std::size_t runs_above(const Series &series, double limit);

} // namespace fairground
