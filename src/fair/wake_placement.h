// SPDX-License-Identifier: GPL-2.0-only
//
// Where a task is put when it wakes, is created or execs (select_task_rq_fair). Rules: spec/wake-placement.md.
//
// Asking and doing are separate: select_task_rq_fair only reads. What the kernel's function changes on the way
// (WAKE-51) is returned in Placement and written by commit_placement.
#pragma once

#include "fair/scheduler.h"
#include "fair/wakeup_preemption.h"

namespace fairground::fair {

// Who asks: the CPU that executes the wake-up and in which context.
struct Waker {
    CpuId cpu;                     // `this`
    const Task *current = nullptr; // null: the idle thread (WAKE-11)
    bool in_task = true;           // false in hardirq and softirq (WAKE-84)
    bool boot_idle = false;        // `this` is the boot CPU: its idle thread has load_avg 0
};

struct Placement {
    CpuId cpu;
    Rule rule;        // return path
    Rule affine_rule; // rule that decided wake_affine, empty if it was not asked
    CpuId target;     // where the idle search started

    // Side effects.
    bool record_wakee = false;
    u32 waker_flips = 0;
    u64 waker_decay_ts = 0;
    CpuId recent_used_cpu;
    DomainShared *clear_idle_cores = nullptr; // has_idle_cores of this object becomes 0 (WAKE-109)
};

// `prev` as handed in by core.c (p.wake_cpu). Needs p.cpus_allowed to hold more than one CPU.
Placement select_task_rq_fair(Scheduler &s, const Task &p, CpuId prev, u32 wake_flags, const Waker &waker);
void commit_placement(Scheduler &s, Task &p, Task *current, const Placement &placement);

// WAKE-40, -41: the class's choice, checked against affinity and active CPUs. Commits.
CpuId select_task_rq(Scheduler &s, Task &p, CpuId prev, u32 &wake_flags, const Waker &waker, Task *current);

// A CPU switches to its idle thread: set has_idle_cores if its whole core is idle (WAKE-130).
void update_idle_core(Scheduler &s, Rq &rq);

// Slow path for fork and exec (WAKE-150..184), also used on its own by tests: the chosen group of a domain, null
// for "stay".
SchedGroup *sched_balance_find_dst_group(Scheduler &s, Domain &sd, const Task &p, CpuId this_cpu, Rule *rule);

} // namespace fairground::fair
