// SPDX-License-Identifier: GPL-2.0-only
#include "study/runner.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace fairground {

namespace {

struct Slot {
    Outcome outcome;
    std::exception_ptr error;
};

// Puts the outcomes of one variant and load, in the order of repetitions, side by side.
Cell make_cell(std::vector<Slot>::iterator first, int repetitions) {
    Cell cell;
    for (const Metric &metric : first->outcome.metrics)
        cell.metrics.push_back({metric.name, {}});
    for (auto slot = first; slot != first + repetitions; ++slot) {
        const std::vector<Metric> &metrics = slot->outcome.metrics;
        if (metrics.size() != cell.metrics.size())
            throw std::logic_error("a workload measured other things in another repetition");
        for (std::size_t i = 0; i < metrics.size(); i++)
            cell.metrics[i].values.push_back(metrics[i].value);
        cell.digests.push_back(slot->outcome.digest);
    }
    return cell;
}

} // namespace

StudyResult run_study(const Study &study, const RunFunction &run, const RunnerOptions &options) {
    const auto repetitions = static_cast<std::size_t>(study.repetitions);
    StudyResult result;
    result.loads = study.loads.size();
    for (int r = 0; r < study.repetitions; r++)
        result.seeds.push_back(repetition_seed(study.seed, r));

    std::vector<Slot> slots(study.variants.size() * study.loads.size() * repetitions);
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t next = 0; // these three under the mutex
    std::size_t done = 0;
    bool failed = false;
    std::stop_source stop;

    // Runs are handed out in order and those begun are finished, so the first failure does not depend on timing.
    const auto work = [&] {
        std::unique_lock lock(mutex);
        while (next < slots.size() && !failed && !stop.stop_requested()) {
            const std::size_t at = next++;
            lock.unlock();
            const Variant &variant = study.variants[at / repetitions / result.loads];
            const Load &load = study.loads[at / repetitions % result.loads];
            try {
                slots[at].outcome = run(variant, load, result.seeds[at % repetitions], stop.get_token());
            } catch (...) {
                slots[at].error = std::current_exception();
            }
            lock.lock();
            done++;
            failed = failed || slots[at].error != nullptr;
            changed.notify_one();
        }
    };

    {
        const unsigned wanted = options.jobs != 0 ? options.jobs : std::max(1U, std::thread::hardware_concurrency());
        const std::size_t threads = std::min<std::size_t>(wanted, slots.size());
        std::vector<std::jthread> pool;
        for (std::size_t i = 0; i < threads; i++)
            pool.emplace_back(work);

        std::unique_lock lock(mutex);
        while (done < slots.size() && !failed && !stop.stop_requested()) {
            changed.wait_for(lock, std::chrono::milliseconds(100));
            if (options.interrupt != nullptr && options.interrupt->load())
                stop.request_stop();
            if (options.progress)
                options.progress(done, slots.size());
        }
    }

    for (const Slot &slot : slots)
        if (slot.error)
            std::rethrow_exception(slot.error);
    if (stop.stop_requested())
        throw Interrupted{done, slots.size()};
    for (std::size_t at = 0; at < slots.size(); at += repetitions)
        result.cells.push_back(make_cell(slots.begin() + static_cast<std::ptrdiff_t>(at), study.repetitions));
    return result;
}

const Series *find_series(const Cell &cell, std::string_view name) {
    for (const Series &series : cell.metrics)
        if (series.name == name)
            return &series;
    return nullptr;
}

std::size_t runs_above(const Series &series, double limit) {
    return static_cast<std::size_t>(
        std::count_if(series.values.begin(), series.values.end(), [&](double value) { return value > limit; }));
}

} // namespace fairground
