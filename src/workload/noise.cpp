// SPDX-License-Identifier: GPL-2.0-only
//
// Background noise of kernel threads: work items arrive by a Poisson process and take exponentially distributed time.
// Each online CPU has a worker bound to it; a number of unbound workers share the rest of the work (WAKER-64, -65).
//
// Options
//   bound_rate    work items per second and CPU, default 4
//   bound_burst   mean length of one, default "20us"
//   unbound_rate  work items per second for all unbound workers together, default 100
//   unbound_burst mean length of one, default "100us"
//   unbound       number of unbound workers, default 4
//
// Metrics
//   noise items/s  work items done per second
//   noise cpu %    CPU time of all workers, in per cent of one CPU
#include "kernel/kernel.h"
#include "workload/kinds.h"
#include "workload/options.h"

#include <algorithm>
#include <deque>

namespace fairground {

namespace {

using namespace kernel;

struct Source {
    u64 interval = 0; // mean, ns
    u64 burst = 0;    // mean, ns
};

struct Worker {
    TaskId task;
    u64 done = 0;
};

Program kworker(Kernel &kernel, Worker &worker, Source source, RandomStream random) {
    for (Time due = 0;; worker.done++) {
        due += random.exponential(source.interval);
        if (due > kernel.now())
            co_await sleep(due - kernel.now());
        co_await run(1 + random.exponential(source.burst));
    }
}

class Noise final : public Workload {
  public:
    Noise(Source bound, Source unbound, u64 unbound_workers)
        : bound_(bound), unbound_(unbound), unbound_workers_(unbound_workers) {}

    void start(Kernel &kernel) override {
        if (bound_.interval > 0)
            for (const CpuId cpu : kernel.online())
                add(kernel, "kworker/" + std::to_string(cpu.value), CpuMask::of(cpu), bound_,
                    kernel.random("noise bound", static_cast<u64>(cpu.value)), cpu);
        if (unbound_.interval > 0)
            for (u64 i = 0; i < unbound_workers_; i++)
                add(kernel, "kworker/u" + std::to_string(i), {}, unbound_, kernel.random("noise unbound", i),
                    kernel.online().first());
    }

    void start_measuring(const Kernel &kernel) override {
        done_before_ = run_before_ = 0;
        since_ = kernel.now();
        for (const Worker &worker : workers_) {
            done_before_ += worker.done;
            run_before_ += kernel.account(worker.task).run;
        }
    }

    void collect(const Kernel &kernel, std::vector<Metric> &metrics) const override {
        u64 done = 0;
        u64 run = 0;
        for (const Worker &worker : workers_) {
            done += worker.done;
            run += kernel.account(worker.task).run;
        }
        const auto ns = static_cast<double>(std::max<Time>(kernel.now() - since_, 1));
        metrics.push_back({"noise items/s", static_cast<double>(done - done_before_) * 1e9 / ns});
        metrics.push_back({"noise cpu %", static_cast<double>(run - run_before_) * 100 / ns});
    }

  private:
    void add(Kernel &kernel, const std::string &name, const CpuMask &cpus, Source source, RandomStream random,
             CpuId cpu) {
        Worker &worker = workers_.emplace_back();
        worker.task = kernel.spawn({.name = name, .cpus = cpus, .kthread = true, .footprint = 4096, .timer_slack = 0},
                                   kworker(kernel, worker, source, random), cpu);
    }

    Source bound_;
    Source unbound_;
    u64 unbound_workers_;
    std::deque<Worker> workers_;
    Time since_ = 0; // when measuring began, and the counts then
    u64 done_before_ = 0;
    u64 run_before_ = 0;
};

} // namespace

std::unique_ptr<Workload> make_noise(const Options &options) {
    constexpr double most = 1e6; // items per second
    OptionReader reader("noise", options);
    const auto interval = [](double rate) { return rate > 0 ? static_cast<u64>(1e9 / rate) : 0; };
    Source bound;
    bound.interval = interval(reader.number("bound_rate", 4, 0, most));
    bound.burst = reader.duration("bound_burst", 20 * ns_per_us, 1);
    Source unbound;
    const double rate = reader.number("unbound_rate", 100, 0, most);
    unbound.burst = reader.duration("unbound_burst", 100 * ns_per_us, 1);
    const s64 workers = reader.integer("unbound", 4, 0, 10000);
    unbound.interval = workers > 0 ? interval(rate / static_cast<double>(workers)) : 0;
    reader.done();
    return std::make_unique<Noise>(bound, unbound, static_cast<u64>(workers));
}

} // namespace fairground
