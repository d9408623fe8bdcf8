// SPDX-License-Identifier: GPL-2.0-only
//
// What the fork/exec search and load balancing both ask about a group of CPUs: its class, whether it is
// overloaded or has capacity, and how much NUMA imbalance is allowed. Rules: LB-49, LB-50, LB-64 (spec/
// load-balance.md), WAKE-162..164, WAKE-172 (spec/wake-placement.md), NUMAPAIR-11 (spec/numa-pair-variant.md).
#pragma once

#include "fair/scheduler.h"

namespace fairground::fair {

// Order as in the kernel: a higher class is busier (LB-50).
enum class GroupType : u8 {
    has_spare = 0,
    fully_busy = 1,
    misfit_task = 2,
    smt_balance = 3,
    asym_packing = 4,
    imbalanced = 5,
    llc_balance = 6,
    overloaded = 7,
};
std::string_view group_type_name(GroupType type);

// Sums over CPUs of a group. Loads and utilisations are PELT averages, capacity is in 1/1024 of the biggest CPU.
// Counters are 32-bit unsigned as in the kernel; differences of them may wrap (LB-61).
struct GroupStats {
    u64 avg_load = 0;
    u64 group_load = 0;
    u64 group_capacity = 0;
    u64 group_util = 0;
    u64 group_runnable = 0;
    u32 sum_nr_running = 0;   // all classes, delayed tasks included
    u32 sum_h_nr_running = 0; // h_nr_runnable of the root queues
    u32 idle_cpus = 0;
    u32 group_weight = 0; // of the whole group, not of the CPUs summed
    GroupType group_type = GroupType::has_spare;
    bool asym_packing = false;
    bool smt_balance = false;
    bool llc_balance = false;
    u64 misfit_task_load = 0;
    u32 nr_numa_running = 0;
    u32 nr_preferred_running = 0;
    u32 nr_pref_dst_llc = 0; // queued tasks that prefer the destination's LLC (LB-101)
};

// WAKE-162, -163, LB-49. `pct` is the imbalance_pct of the domain.
bool group_is_overloaded(u32 pct, const GroupStats &stats);
bool group_has_capacity(u32 pct, const GroupStats &stats);
// WAKE-164, LB-50: first match; reads the sums, the marks of `stats` and the imbalance mark of the group.
GroupType group_classify(u32 pct, const SchedGroup &group, const GroupStats &stats);

// WAKE-172, LB-64: what remains of an imbalance after the tolerance for lightly loaded nodes. With
// NUMA_PAIR_P3 the tolerance is min(imb_numa_nr, 4) instead of 2 (NUMAPAIR-11).
int adjust_numa_imbalance(const Features &features, int imbalance, int dst_running, int imb_numa_nr);

// True if `capacity` is needed with a margin of about 20 % below `max` (fits_capacity of fair.c).
constexpr bool fits_capacity(u64 capacity, u64 max) { return capacity * 1280 < max * 1024; }
// True if `a` exceeds `b` by about 5 %.
constexpr bool capacity_greater(u64 a, u64 b) { return a * 1024 > b * 1078; }

// Capacity without pressure of thermal throttling (get_actual_cpu_capacity).
inline u64 actual_cpu_capacity(const Rq &rq) { return rq.arch_capacity - rq.avg_hw.load_avg; }
// > 0 fits, 0 does not, -1 fits but for uclamp_min (WAKE-140).
int util_fits_cpu(u64 util, u64 uclamp_min, u64 uclamp_max, const Rq &rq);

// Every SMT sibling of the CPU, without the CPU itself, is idle (is_core_idle).
bool is_core_idle(const Scheduler &s, CpuId cpu);

} // namespace fairground::fair
