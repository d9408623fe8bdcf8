// SPDX-License-Identifier: GPL-2.0-only
//
// Where a task is put when it wakes, is created or execs (select_task_rq_fair). Rules: spec/wake-placement.md,
// spec/wf-sync-variants.md.
//
// Asking and doing are separate: select_task_rq_fair only reads (it writes decisions if somebody listens). What
// the kernel's function changes on the way (WAKE-51) is returned in Placement and written by commit_placement.
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
    CpuId target;     // where the idle search started; none if there was no search

    // Side effects.
    CpuId waker; // `this`
    bool record_wakee = false;
    u32 waker_flips = 0;
    u64 waker_decay_ts = 0;
    CpuId recent_used_cpu;
    DomainShared *clear_idle_cores = nullptr; // has_idle_cores of this object becomes 0 (WAKE-109, -144)
    bool aged = false;                        // p's averages were aged to its old queue (WAKE-80, -150)
    bool read_task_load = false;              // task_h_load was asked for p
    bool read_current_load = false;           // and for current (WAKE-9: the per-jiffy cache)
};

// `prev` as handed in by core.c (p.wake_cpu). Needs p.cpus_allowed to hold more than one CPU.
Placement select_task_rq_fair(const Scheduler &s, const Task &p, CpuId prev, u32 wake_flags, const Waker &waker);
// `current` null: the idle thread of placement.waker.
void commit_placement(Scheduler &s, Task &p, Task *current, const Placement &placement);

// WAKE-40, -41: the class's choice, checked against affinity and active CPUs. Commits.
CpuId select_task_rq(Scheduler &s, Task &p, CpuId prev, u32 &wake_flags, const Waker &waker, Task *current);
// The same, and what was asked of the class; Placement{} if it was not asked.
CpuId select_task_rq(Scheduler &s, Task &p, CpuId prev, u32 &wake_flags, const Waker &waker, Task *current,
                     Placement &placement);

// A CPU switches to its idle thread: set has_idle_cores if its whole core is idle (WAKE-130).
void update_idle_core(Scheduler &s, Rq &rq);

// wake_affine on its own (WAKE-60..69, SYNC-10..46): `this` or `prev`, with the rule that decided. `sd` is the
// lowest domain of `this` that holds both (WAKE-48).
struct AffineChoice {
    CpuId cpu;
    Rule rule;
    s64 difference = 0; // T - P if the weights were compared
    bool read_task_load = false;
    bool read_current_load = false;
};
AffineChoice wake_affine(const Scheduler &s, const Domain &sd, const Task &p, CpuId prev, bool sync,
                         const Waker &waker);
// SYNC-10: the LLC of `a` is nearly full and busier, by share of its CPUs, than that of `b`.
bool busier_llc(const Scheduler &s, CpuId a, CpuId b);

// Slow path for fork and exec (WAKE-160..173, LB-84..87): the idlest group of a domain, null for "stay". `rule`
// may be null.
SchedGroup *sched_balance_find_dst_group(const Scheduler &s, const Domain &sd, const Task &p, CpuId this_cpu,
                                         Rule *rule);

} // namespace fairground::fair
