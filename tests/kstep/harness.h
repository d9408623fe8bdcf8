// SPDX-License-Identifier: GPL-2.0-only
//
// Harness drives libfair as kSTEP drives a kernel: one call of tick() moves the clock by 1 ms and then handles the
// tick of CPUs 1..n one after the other, each with its softirq and its reschedule (tests/data/kstep/README.md).
#pragma once

#include "fair/core.h"
#include "fair/scheduler.h"
#include "machine/machine.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fairground::kstep {

struct Pair {
    CpuId a;
    CpuId b;
};

// CPUs 0..n of one package and LLC; CPU 0 alone in its own partition. `smt` and `clusters` list pairs.
Machine machine(int cpus, const std::vector<Pair> &smt = {}, const std::vector<Pair> &clusters = {});

class Harness {
  public:
    // `isolated`: CPU 0 is in no domain of the others (newer recordings).
    explicit Harness(const Machine &machine, bool isolated = true);
    Harness(const Harness &) = delete;
    Harness &operator=(const Harness &) = delete;
    ~Harness() = default;

    fair::Scheduler &scheduler() { return *s_; }
    fair::Rq &rq(int cpu) { return s_->rq(CpuId{cpu}); }

    // A task that sleeps until wake(), as kstep_task_create leaves it.
    fair::Task &create(int nice = 0, bool kthread = false);
    void wake(fair::Task &task, u32 flags = 0, const fair::Task *waker = nullptr);
    void pause(fair::Task &task); // it must be running
    void allow(fair::Task &task, const std::string &cpus);
    // Starts a child of `task` on its CPU, runnable at once.
    fair::Task &fork(fair::Task &task);

    // Called at the start of every tick, before the clock moves.
    std::function<void()> on_tick_begin;
    void tick();
    void ticks(int n);
    [[nodiscard]] u64 timestamp() const { return timestamp_; }

    struct Softirq {
        u64 timestamp;
        CpuId cpu;
    };
    [[nodiscard]] const std::vector<Softirq> &softirqs() const { return softirqs_; } // balance softirqs so far

  private:
    void settle(); // carries out effects until there are none
    void reschedule(CpuId cpu);

    std::unique_ptr<fair::Scheduler> s_;
    CpuMask test_cpus_;
    u64 timestamp_ = 0;
    std::vector<Softirq> softirqs_;
};

// Lines of a recording, parsed.
std::vector<std::string> lines(const std::string &file);

} // namespace fairground::kstep
