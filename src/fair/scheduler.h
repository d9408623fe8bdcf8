// SPDX-License-Identifier: GPL-2.0-only
//
// Scheduler: the whole state of the fair class on one machine, and what core.c does around it.
//
// A pure state machine. It has no clock (the driver sets `now` and `jiffies` before a call), no threads, no I/O
// and no randomness but the per-CPU streams it is given. What the kernel would do to other CPUs (interrupts,
// timers, stopper work) is appended to `effects`; the driver carries it out and clears the list. Drivers are the
// simulated kernel, the lock-step check and the vector tests.
//
// The functions of the class are free functions over this state, one header per subject:
//   pelt.h eevdf.h wakeup_preemption.h wake_placement.h load_balance.h nohz.h core.h
#pragma once

#include "base/random.h"
#include "base/types.h"
#include "fair/decision.h"
#include "fair/domains.h"
#include "fair/features.h"
#include "fair/rq.h"
#include "fair/task_group.h"

#include <deque>
#include <vector>

namespace fairground::fair {

enum class EffectKind : u8 {
    resched,      // full need_resched was set on `cpu`: interrupt it if remote, unless its idle loop polls
    resched_lazy, // lazy flag set; never an interrupt (EEVDF-102)
    hrtick,       // arm `cpu`'s hrtick for `time` (ns); replaces an earlier one
    hrtick_cancel,
    nohz_kick,       // function-call interrupt: run nohz_csd_func on `cpu` (LB-31)
    balance_softirq, // raise SCHED_SOFTIRQ on `cpu`
    active_push,     // queue the stopper of `cpu`: push one task to `target` (LB-82)
};

struct Effect {
    EffectKind kind{};
    CpuId cpu;
    CpuId target;
    u64 time = 0;
};

struct Scheduler;
struct BalanceTrace; // balance_trace.h

// Global NOHZ state (LB-24).
struct Nohz {
    CpuMask idle_cpus;
    bool has_blocked = false;
    bool needs_update = false;
    u64 next_balance = 0; // jiffies
    u64 next_blocked = 0;
    CpuMask housekeeping; // CPUs that may balance for others (HK_TYPE_KERNEL_NOISE); all unless the driver says less
};

// Wall time during newly-idle balancing (LB-15): the passes take time that only the driver's machine knows.
struct BalanceClock {
    // sched_clock() of `cpu` where the kernel reads it: once before the walk over the domains (`passed` null) and
    // once after each pass (`passed`: its domain). Must not go back. Null: s.now plus 1 us for each pass.
    u64 (*read)(void *context, const Scheduler &s, CpuId cpu, const Domain *passed) = nullptr;
    void *context = nullptr;
};

// Root domain marks (LB-23).
struct RootDomain {
    bool overloaded = false;
    bool overutilized = false;
};

struct Scheduler {
    // One queue per possible CPU of `domains`. online: CPUs that take part.
    Scheduler(DomainTree domains, const CpuMask &online, const Features &features, const Tunables &tunables);
    Scheduler(const Scheduler &) = delete;
    Scheduler &operator=(const Scheduler &) = delete;

    Features features;
    Tunables tunables;
    DomainTree domains;
    std::vector<Rq> rqs;          // by CPU number; never resized, so Rq addresses are stable
    std::deque<Task> tasks;       // by TaskId; addresses are stable
    std::deque<TaskGroup> groups; // by GroupId, without the root group
    CpuMask active;               // cpu_active_mask
    int nr_online_cpus = 1;       // for the shares of groups (CG-12)
    RootDomain root;
    Nohz nohz;
    std::vector<RandomStream> random; // per CPU (LB-19)
    BalanceClock balance_clock;
    u64 max_load_balance_interval = 0; // jiffies; HZ * Machine::interval_cpus() / 10 (LB-9)
    int smt_num_threads = 1;           // cpu_smt_num_threads: threads of the widest core

    Time now = 0; // sched_clock() of every CPU
    u64 jiffies = 0;

    std::vector<Effect> effects;
    DecisionLog *decisions = nullptr;      // null: nobody listens
    BalanceTrace *balance_trace = nullptr; // records what each balance pass saw; null: nobody listens

    Rq &rq(CpuId cpu) { return rqs[static_cast<u32>(cpu.value)]; }
    [[nodiscard]] const Rq &rq(CpuId cpu) const { return rqs[static_cast<u32>(cpu.value)]; }
    Task &task(TaskId id) { return tasks[static_cast<u32>(id.value)]; }

    void decide(const Decision &decision) const {
        if (decisions != nullptr) [[unlikely]]
            decisions->push_back(decision);
    }
};

// WAKE-1, LB-2: the idle thread is current, nothing is queued and no remote wake-up is pending.
inline bool idle_cpu(const Rq &rq) {
    return rq.current_class == SchedClass::idle && rq.nr_running == 0 && !rq.ttwu_pending;
}
// WAKE-3, LB-4.
inline bool sched_idle_rq(const Rq &rq) { return rq.nr_running > 0 && rq.nr_running == rq.cfs.h_nr_idle; }
// WAKE-5.
inline bool cpus_share_cache(const Scheduler &s, CpuId a, CpuId b) {
    return a == b || s.rq(a).sd.llc_id == s.rq(b).sd.llc_id;
}
inline bool cpus_share_resources(const Scheduler &s, CpuId a, CpuId b) {
    return a == b || s.rq(a).sd.share_id == s.rq(b).sd.share_id;
}

} // namespace fairground::fair
