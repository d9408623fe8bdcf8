// SPDX-License-Identifier: GPL-2.0-only
#include "study/simulate.h"

#include "kernel/kernel.h"

#include <algorithm>
#include <memory>
#include <numeric>

namespace fairground {

namespace {

// Between two slices of a run the stop token and the workloads' ends are looked at; both change nothing else.
constexpr Time slice = 10 * ns_per_ms;

using Parts = std::vector<std::unique_ptr<Workload>>;

Parts make_parts(const Load &load) {
    Parts parts;
    for (const WorkloadPart &part : load.parts)
        parts.push_back(make_workload(part.kind, part.options));
    return parts;
}

bool all_finished(const Parts &parts) {
    bool any = false;
    for (const auto &part : parts) {
        if (part->finishes() && !part->finished())
            return false;
        any = any || part->finishes();
    }
    return any;
}

// What the kernel did, warm-up included.
void add_counters(const kernel::Counters &counters, std::vector<Metric> &metrics) {
    const auto add = [&](const char *name, u64 value) { metrics.push_back({name, static_cast<double>(value)}); };
    add("switches", counters.switches);
    add("wake-ups", counters.wakeups);
    add("migrations", std::accumulate(counters.migrations.begin(), counters.migrations.end(), u64{0}));
    add("interrupts", counters.interrupts);
    add("balance passes", counters.balance_passes);
    add("pushes", counters.pushes);
}

} // namespace

RunFunction simulation(const Study &study, const Machine &machine) {
    for (const Load &load : study.loads)
        make_parts(load);
    return [&study, &machine](const Variant &variant, const Load &load, u64 seed, const std::stop_token &stop) {
        const fair::Features features = apply_features(kernel::default_features(machine), variant);
        const Parts parts = make_parts(load); // outlives the kernel, whose tasks refer to it
        kernel::Kernel kernel(machine, features, variant.tunables, seed);
        for (const auto &part : parts)
            part->start(kernel);
        const auto run_until = [&](Time end) {
            while (kernel.now() < end && !all_finished(parts) && !stop.stop_requested())
                kernel.run_until(std::min(end, kernel.now() + slice));
        };
        run_until(study.warmup);
        for (const auto &part : parts)
            part->start_measuring(kernel);
        run_until(study.warmup + study.duration);
        Outcome outcome;
        for (const auto &part : parts)
            part->collect(kernel, outcome.metrics);
        add_counters(kernel.counters(), outcome.metrics);
        outcome.digest = kernel.digest();
        return outcome;
    };
}

} // namespace fairground
