// SPDX-License-Identifier: GPL-2.0-only
//
// Periodic tasks: each wakes at the start of its period, computes for `run` and sleeps until the next start; a period
// that has begun already starts at once. Phases are drawn by the seed.
//
// Options
//   tasks   how many, default 1
//   run     CPU time per period, default "2ms"
//   period  default "10ms"
//   nice, slice, cpus  as for hog
//
// Metrics
//   periodic late p50 us, p99 us, max us   from the start of a period to the first instruction, timer slack included
//   periodic missed %                      periods whose work ended after the next one's start
#include "kernel/kernel.h"
#include "workload/kinds.h"
#include "workload/options.h"

#include <algorithm>

namespace fairground {

namespace {

using namespace kernel;

struct Statistics {
    std::vector<u64> late; // ns, one per period
    u64 missed = 0;
};

Program periodic(Kernel &kernel, Statistics &statistics, u64 work, u64 period, Time first) {
    for (Time due = first;; due += period) {
        if (due > kernel.now())
            co_await sleep(due - kernel.now());
        statistics.late.push_back(kernel.now() - due);
        co_await run(work);
        statistics.missed += kernel.now() > due + period ? 1 : 0;
    }
}

class Periodic final : public Workload {
  public:
    Periodic(TaskSpec spec, u64 count, u64 work, u64 period)
        : spec_(std::move(spec)), count_(count), work_(work), period_(period) {}

    void start(Kernel &kernel) override {
        for (u64 i = 0; i < count_; i++) {
            TaskSpec spec = spec_;
            spec.name = "periodic/" + std::to_string(i);
            const CpuMask allowed = spec.cpus.empty() ? kernel.online() : spec.cpus & kernel.online();
            kernel.spawn(spec,
                         periodic(kernel, statistics_, work_, period_, kernel.random("periodic", i).below(period_)),
                         allowed.empty() ? kernel.online().first() : allowed.first());
        }
    }

    void start_measuring(const Kernel &) override { statistics_ = {}; }

    void collect(const Kernel &, std::vector<Metric> &metrics) const override {
        std::vector<u64> late = statistics_.late;
        std::sort(late.begin(), late.end());
        const auto us = [&](std::size_t permille) { // nearest rank
            const std::size_t rank = (late.size() * permille + 999) / 1000;
            return late.empty() ? 0.0 : static_cast<double>(late[std::max<std::size_t>(rank, 1) - 1]) / 1e3;
        };
        metrics.push_back({"periodic late p50 us", us(500)});
        metrics.push_back({"periodic late p99 us", us(990)});
        metrics.push_back({"periodic late max us", us(1000)});
        metrics.push_back(
            {"periodic missed %",
             late.empty() ? 0.0 : static_cast<double>(statistics_.missed) * 100 / static_cast<double>(late.size())});
    }

  private:
    TaskSpec spec_;
    u64 count_;
    u64 work_;
    u64 period_;
    Statistics statistics_;
};

} // namespace

std::unique_ptr<Workload> make_periodic(const Options &options) {
    OptionReader reader("periodic", options);
    TaskSpec spec;
    const auto tasks = static_cast<u64>(reader.integer("tasks", 1, 1, 100000));
    const u64 work = reader.duration("run", 2 * ns_per_ms, 1);
    const u64 period = reader.duration("period", 10 * ns_per_ms, 1);
    spec.nice = static_cast<int>(reader.integer("nice", 0, -20, 19));
    spec.slice = reader.duration("slice", 0, 1);
    spec.cpus = reader.cpus("cpus");
    reader.done();
    return std::make_unique<Periodic>(std::move(spec), tasks, work, period);
}

} // namespace fairground
