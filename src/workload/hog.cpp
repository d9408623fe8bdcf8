// SPDX-License-Identifier: GPL-2.0-only
//
// CPU hogs: tasks that never sleep.
//
// Options
//   tasks  how many, default 1
//   nice   -20..19, default 0
//   idle   SCHED_IDLE, default false
//   slice  custom slice (sched_setattr runtime), default: the kernel's
//   cpus   CPUs they may use, default all
//
// Metrics
//   hog cpu %      CPU time of all, in per cent of one CPU
//   hog least %    of the one that got least
//   hog most %     of the one that got most
#include "kernel/kernel.h"
#include "workload/kinds.h"
#include "workload/options.h"

#include <algorithm>

namespace fairground {

namespace {

using namespace kernel;

Program hog(Kernel &) {
    for (;;)
        co_await run(ns_per_s);
}

class Hogs final : public Workload {
  public:
    Hogs(TaskSpec spec, u64 count) : spec_(std::move(spec)), count_(count) {}

    void start(Kernel &kernel) override {
        for (u64 i = 0; i < count_; i++) {
            TaskSpec spec = spec_;
            spec.name = "hog/" + std::to_string(i);
            const CpuMask allowed = spec.cpus.empty() ? kernel.online() : spec.cpus & kernel.online();
            tasks_.push_back(
                kernel.spawn(spec, hog(kernel), allowed.empty() ? kernel.online().first() : allowed.first()));
        }
    }

    void start_measuring(const Kernel &kernel) override {
        measured_from_ = kernel.now();
        before_.clear();
        for (const TaskId task : tasks_)
            before_.push_back(kernel.account(task).run);
    }

    void collect(const Kernel &kernel, std::vector<Metric> &metrics) const override {
        u64 sum = 0;
        u64 least = ~u64{0};
        u64 most = 0;
        for (std::size_t i = 0; i < tasks_.size(); i++) {
            const u64 run = kernel.account(tasks_[i]).run - (i < before_.size() ? before_[i] : 0);
            sum += run;
            least = std::min(least, run);
            most = std::max(most, run);
        }
        const auto percent = [&](u64 ns) {
            return static_cast<double>(ns) * 100 /
                   static_cast<double>(std::max<Time>(kernel.now() - measured_from_, 1));
        };
        metrics.push_back({"hog cpu %", percent(sum)});
        metrics.push_back({"hog least %", percent(least)});
        metrics.push_back({"hog most %", percent(most)});
    }

  private:
    TaskSpec spec_;
    u64 count_;
    std::vector<TaskId> tasks_;
    Time measured_from_ = 0;
    std::vector<u64> before_; // run time of each task then
};

} // namespace

std::unique_ptr<Workload> make_hog(const Options &options) {
    OptionReader reader("hog", options);
    TaskSpec spec;
    const auto tasks = static_cast<u64>(reader.integer("tasks", 1, 1, 100000));
    spec.nice = static_cast<int>(reader.integer("nice", 0, -20, 19));
    if (reader.flag("idle", false))
        spec.policy = fair::Policy::idle;
    spec.slice = reader.duration("slice", 0, 1);
    spec.cpus = reader.cpus("cpus");
    reader.done();
    return std::make_unique<Hogs>(std::move(spec), tasks);
}

} // namespace fairground
