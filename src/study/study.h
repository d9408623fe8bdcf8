// SPDX-License-Identifier: GPL-2.0-only
//
// Study: one machine, one workload, several loads and variants, repeated with different seeds. The file format is
// described in docs/study-format.md.
#pragma once

#include "base/types.h"
#include "fair/features.h"
#include "workload/workload.h"

#include <optional>
#include <string>
#include <vector>

namespace fairground {

// One part of a workload; several run side by side.
struct WorkloadPart {
    std::string kind;
    Options options;
};

// What runs, complete: the study's parts with the load's settings applied, then the load's own parts.
struct Load {
    std::string name;
    std::vector<WorkloadPart> parts;
};

struct Variant {
    std::string name;
    std::vector<std::string> features; // as written, all known; applied in order to the machine's defaults
    fair::Tunables tunables;           // base_slice is still to be scaled to the machine
};

// The variant's features on a machine with these defaults.
fair::Features apply_features(fair::Features defaults, const Variant &variant);

// A derived quantity: the runs in which a metric exceeds a limit, of the runs made.
struct Count {
    std::string name;
    std::string metric;
    double above = 0;
};

// What somebody measured on the real thing, to stand beside our figure; never used in a computation.
struct Published {
    std::string variant;
    std::string load;
    std::string quantity; // a metric or a count
    double value = 0;
    std::optional<double> sd;
    std::optional<s64> of; // counts: runs made
    std::string note;
};

struct Study {
    std::string path; // as given, for error texts
    std::string text; // the file's bytes
    std::string title;
    std::string source;       // where the published figures come from, may be empty
    std::string machine_spec; // what read_machine() takes; a file name is relative to the working directory
    int machine_line = 0;
    Time duration = 0; // simulated, warm-up excluded
    Time warmup = 0;
    int repetitions = 1;
    u64 seed = 1;
    std::vector<std::string> metrics; // shown in tables, in this order; all are kept in JSON
    std::vector<Count> counts;
    std::vector<Load> loads;       // at least one
    std::vector<Variant> variants; // at least one; the first is the base
    std::vector<Published> published;
};

inline constexpr s64 max_repetitions = 100000;

// Throws InputError (file and line) if the file cannot be read, is no TOML, has an unknown key or a bad value.
// Workload options are only stored: make_workload() judges them.
Study read_study(const std::string &path);

// The seed of repetition r: a function of the study's seed and r alone, so that every variant and load of a
// repetition draws the same streams. Below 2^53, so that any JSON reader keeps it exactly.
u64 repetition_seed(u64 study_seed, int repetition);

} // namespace fairground
