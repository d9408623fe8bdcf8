// SPDX-License-Identifier: GPL-2.0-only
//
// Run queues. Rq is one CPU's queue of all classes; its CfsRq `cfs` is the root group's queue, and every task
// group has a further CfsRq per CPU. The EEVDF state (timeline, virtual time) is that of the root queue in v7.3
// (EEVDF-1); a CfsRq of a group uses only counters, weight and averages.
#pragma once

#include "base/types.h"
#include "fair/domains.h"
#include "fair/entity.h"
#include "fair/timeline.h"

namespace fairground::fair {

struct Rq;

struct CfsRq {
    Rq *rq = nullptr;
    TaskGroup *group = nullptr;     // null: root
    Entity *group_entity = nullptr; // entity that stands for this queue in its parent; null: root

    u64 load_weight = 0; // sum of load.weight of the queued entities
    u32 nr_queued = 0;
    u32 h_nr_queued = 0;
    u32 h_nr_runnable = 0;
    u32 h_nr_idle = 0;
    bool idle = false; // cpu.idle of the group

    Entity *h_curr = nullptr; // entity of this queue on the CPU's current path

    // EEVDF (EEVDF-10).
    Timeline timeline;
    Entity *curr = nullptr; // running task, never in the timeline
    Entity *next = nullptr; // buddy
    u64 zero_vruntime = u64{0} - (u64{1} << 20);
    s64 sum_w_vruntime = 0;
    u64 sum_weight = 0;
    u32 sum_shift = 0; // PARANOID_AVG: weights in the sums are shifted right by this (EEVDF-34)

    // PELT.
    SchedAvg avg;
    struct {
        u32 nr = 0;
        u64 load_avg = 0;
        u64 util_avg = 0;
        u64 runnable_avg = 0;
    } removed;
    bool propagate = false;
    s64 prop_runnable_sum = 0;
    u64 tg_load_avg_contrib = 0;
    u64 tg_runnable_avg_contrib = 0;
    u64 last_update_tg_load_avg = 0; // ns
    u64 h_load = 0;                  // cached hierarchical load and its jiffy (PELT-80)
    u64 last_h_load_update = 0;
    bool h_load_valid = false;

    // Position in the list of queues with load (PELT-28).
    bool on_list = false;
    CfsRq *leaf_prev = nullptr;
    CfsRq *leaf_next = nullptr;

    // Bandwidth: only the PELT clock marks (PELT-45, -46) and what balancing asks for (LB-71) exist so far.
    u32 throttle_count = 0; // throttled groups on the way from this queue to the root
    u64 throttled_clock_pelt = 0;
    u64 throttled_clock_pelt_time = 0;
    bool pelt_clock_stopped = false;
    u64 throttled_pelt_idle = 0; // ~0: "stopped"
};

// Class of the task that runs or was picked last.
enum class SchedClass : u8 { idle = 0, fair = 1, higher = 2 }; // higher: stopper, RT, deadline

// NOHZ request bits of a CPU (LB-25).
enum NohzFlag : u8 { NOHZ_BALANCE_KICK = 1, NOHZ_STATS_KICK = 2, NOHZ_NEWILB_KICK = 4, NOHZ_NEXT_KICK = 8 };

struct Rq {
    CpuId cpu;
    CfsRq cfs;

    // Clocks (PELT-40..46), ns.
    u64 clock = 0;
    u64 clock_task = 0;
    u64 clock_pelt = 0;
    u64 lost_idle_time = 0;
    u64 clock_idle = 0;
    u64 clock_pelt_idle = 0;
    bool skip_clock_update = false; // EEVDF-98
    // Time that is not the tasks' (PELT-41), ns in all so far; the driver counts it up.
    u64 irq_time = 0;
    u64 steal_time = 0;
    u64 prev_irq_time = 0;
    u64 prev_steal_time = 0;

    // The running task. Null with current_class idle: the idle task; null with higher: a task of another class.
    Task *curr = nullptr;
    SchedClass current_class = SchedClass::idle;
    SchedClass next_class = SchedClass::idle; // EEVDF-97
    bool need_resched = false;
    bool need_resched_lazy = false;
    bool ttwu_pending = false;
    bool stopper_queued = false; // the stopper thread is runnable and counts in nr_running
    u32 nr_running = 0;          // queued tasks of all classes, delayed ones included
    u32 freq = 1024;             // current over maximum frequency times 1024

    // Requests made so far, those included that found the flag set or the timer near enough.
    struct {
        u32 resched = 0; // lazy ones while the idle task runs included
        u32 resched_lazy = 0;
        u32 hrtick = 0;
    } calls;

    // Tasks woken on this CPU by others and not yet enqueued, in order of arrival (WAKE-28).
    Task *wake_head = nullptr;
    Task *wake_tail = nullptr;

    // Wake-up record of the idle thread, which has no Task (WAKE-43).
    TaskId idle_last_wakee;
    u32 idle_wakee_flips = 0;
    u64 idle_wakee_flip_decay_ts = 0; // jiffies

    // rq.cfs_tasks: enqueue and set_next put a task at the head.
    Task *tasks_head = nullptr;
    Task *tasks_tail = nullptr;

    // List of queues not fully decayed (PELT-28), walked from the front.
    CfsRq *leaf_head = nullptr;
    CfsRq *leaf_tail = nullptr;
    CfsRq *leaf_branch = nullptr; // last queue of a branch that still lacks its parent; null: none (PELT-28)

    // Averages of other classes.
    SchedAvg avg_rt;
    SchedAvg avg_dl;
    SchedAvg avg_irq;
    SchedAvg avg_hw;

    u64 arch_capacity = 1024;
    u64 hw_pressure = 0;     // capacity lost to the hardware now, of 1024 (PELT-49)
    u64 cpu_capacity = 1024; // capacity_of(): as last refreshed by balancing (TOPO-44)
    u64 misfit_task_load = 0;
    s32 asym_priority = 0; // arch_asym_cpu_priority; -cpu unless the machine says otherwise (TOPO-42)
    u32 nr_numa_running = 0;
    u32 nr_preferred_running = 0;
    u32 nr_pref_llc_running = 0;
    bool numa_migrate_on = false; // target of an unfinished NUMA move (NUMA-43)

    // Idle bookkeeping.
    u64 idle_stamp = 0; // ns, 0: none
    u64 avg_idle = 0;
    u64 max_idle_balance_cost = 0;
    s64 exit_latency = -1; // of the present idle state, in its own unit; -1: none known (WAKE-182)

    // Balancing.
    u64 next_balance = 0; // jiffies
    bool idle_balance = false;
    bool active_balance = false;
    CpuId push_cpu;
    bool push_llc = false; // the push was queued for a preferred LLC (LB-104)
    u8 nohz_flags = 0;
    u8 nohz_idle_balance = 0; // flags a kick handed to the softirq (LB-31)
    bool nohz_tick_stopped = false;
    bool has_blocked_load = false;
    u64 last_blocked_load_update_tick = 0;

    // Cache-aware scheduling: run time of this epoch (LB-92).
    u64 cpu_runtime = 0;
    u64 cpu_epoch = 0;
    u64 cpu_epoch_next = 0; // jiffies

    // hrtick (EEVDF-110..113); expiry in ns while queued.
    bool hrtick_queued = false;
    u64 hrtick_expiry = 0;
    bool hrtick_deferred = false; // inside schedule(): a request only notes its delay (EEVDF-111)
    bool hrtick_requested = false;
    u64 hrtick_delay = 0; // ns

    CpuDomains sd; // domains and shortcuts of this CPU
};

} // namespace fairground::fair
