// SPDX-License-Identifier: GPL-2.0-only
//
// Per-entity load tracking (kernel/sched/pelt.c and its callers in fair.c). Rules: spec/pelt.md.
#pragma once

#include "fair/scheduler.h"

#include <algorithm>
#include <type_traits>

namespace fairground::fair {

// The arithmetic (PELT-1..7): pelt.cpp. Sums are in units of 1024 ns, scaled by 1024 for util and runnable.
inline constexpr u32 pelt_min_divider = 46718; // LOAD_AVG_MAX - 1024 (PELT-1)

u64 decay_load(u64 value, u64 periods);
u32 accumulate_pelt_segments(u64 periods, u32 d1, u32 d3);
// True iff a period boundary was crossed.
bool update_load_sum(u64 now, SchedAvg &sa, u64 load, u64 runnable, bool running);
void update_load_avg_values(SchedAvg &sa, u64 weight);

inline u32 pelt_divider(const SchedAvg &sa) { return pelt_min_divider + sa.period_contrib; }
inline bool load_avg_is_decayed(const SchedAvg &sa) {
    return sa.load_sum == 0 && sa.util_sum == 0 && sa.runnable_sum == 0;
}

// x + d, but 0 where a negative d would take it below (PELT-29). d takes the width of x first, as in the kernel.
template <class T> void add_positive(T &x, s64 d) {
    const auto delta = static_cast<std::make_signed_t<T>>(d);
    const T sum = x + static_cast<T>(delta);
    x = delta < 0 && sum > x ? 0 : sum;
}
// Changes one average and its sum, which never falls below what the average needs (PELT-29).
template <class Sum> void update_sa(u64 &avg, Sum &sum, s64 avg_delta, s64 sum_delta) {
    add_positive(avg, avg_delta);
    add_positive(sum, sum_delta);
    sum = std::max(sum, static_cast<Sum>(avg * pelt_min_divider));
}

// Clocks (PELT-40..46). update_rq_clock brings the three clocks of the queue to s.now.
void update_rq_clock(Scheduler &s, Rq &rq);
void update_rq_clock_pelt(Rq &rq, u64 delta); // the last step of it (PELT-42)
inline u64 rq_clock_pelt(const Rq &rq) { return rq.clock_pelt - rq.lost_idle_time; }
u64 cfs_rq_clock_pelt(const CfsRq &cfs);
void update_idle_rq_clock_pelt(Rq &rq);         // the idle task is set next (PELT-44)
void update_idle_cfs_rq_clock_pelt(CfsRq &cfs); // the queue became empty (PELT-46)
// rt, dl, hw and irq to now (PELT-25). Returns whether something of them is left to decay.
bool update_other_load_avgs(Rq &rq);

// One entity or queue to `now` of its PELT clock (PELT-8, -11, -21). Return whether the averages changed.
bool update_load_avg_se(const Scheduler &s, u64 now, const CfsRq &cfs, Entity &se);
bool update_load_avg_blocked_se(u64 now, Entity &se);
bool update_cfs_rq_load_avg(u64 now, CfsRq &cfs);

// Flags of update_load_avg (PELT-20).
enum UpdateFlag : u32 { UPDATE_TG = 1, SKIP_AGE_LOAD = 2, DO_ATTACH = 4, DO_DETACH = 8, UPDATE_UTIL_EST = 16 };
void update_load_avg(Scheduler &s, CfsRq &cfs, Entity &se, u32 flags);
void attach_entity_load_avg(CfsRq &cfs, Entity &se);      // PELT-30
void detach_entity_load_avg(CfsRq &cfs, Entity &se);      // PELT-31
void remove_entity_load_avg(Entity &se);                  // PELT-33
void sync_entity_load_avg(Entity &se);                    // ages a sleeping task to its queue's last update
void migrate_se_pelt_lag(const Scheduler &s, Entity &se); // PELT-34
// The load of an entity enters or leaves the whole path above it (PELT-37): a task's change of group or class,
// a new group.
void attach_entity_cfs_rq(Scheduler &s, Entity &se);
void detach_entity_cfs_rq(Scheduler &s, Entity &se);

// Groups (PELT-50..58): group_load.cpp.
void add_tg_cfs_propagate(CfsRq &cfs, s64 runnable_sum);            // PELT-50
bool propagate_entity_load_avg(Entity &se);                         // PELT-50..53; false for a task
void update_tg_load_avg(const Scheduler &s, CfsRq &cfs);            // PELT-56
void clear_tg_offline_cfs_rqs(Scheduler &s, const Rq &rq);          // PELT-57
void reweight_entity_load(CfsRq &cfs, Entity &se, u64 load_weight); // PELT-58
void list_add_leaf_cfs_rq(CfsRq &cfs);                              // PELT-28

// Brings all averages of an rq up to date, children before parents (PELT-25, -28). The rq clock must be current.
// `decayed`: the root queue crossed a period. Returns true if nothing is left to decay (LB-36).
bool update_blocked_averages(Scheduler &s, Rq &rq, bool *decayed = nullptr);

// New tasks and estimates (PELT-60, -70..72).
inline constexpr u32 util_avg_unchanged = u32{1} << 31;
void init_entity_runnable_average(Entity &se);
void post_init_entity_util_avg(const Scheduler &s, Task &p); // on the CPU it was placed on
void util_est_enqueue(const Scheduler &s, CfsRq &root, const Task &p);
void util_est_dequeue(const Scheduler &s, CfsRq &root, const Task &p);
void util_est_update(const Scheduler &s, Entity &se);

// Readers (PELT-24, -73..75, -80, -81). Values as of the last update; nobody ages them for the reader.
inline u64 cpu_load(const Rq &rq) { return rq.cfs.avg.load_avg; } // LB-3, as all of these
inline u64 cpu_runnable(const Rq &rq) { return rq.cfs.avg.runnable_avg; }
inline u64 task_util(const Task &p) { return p.se.avg.util_avg; }
inline u64 task_util_est_only(const Task &p) { return p.se.avg.util_est & ~util_avg_unchanged; }
inline u64 task_util_est(const Task &p) { return std::max(task_util(p), task_util_est_only(p)); }
// `p` null: as it is. Else as it would be with `p` on `dst`; no_cpu: without `p`.
u64 cpu_util(const Scheduler &s, const Rq &rq, const Task *p, CpuId dst, bool boost);
u64 cpu_util_cfs(const Scheduler &s, const Rq &rq);
u64 cpu_util_cfs_boost(const Scheduler &s, const Rq &rq);
u64 cpu_util_without(const Scheduler &s, const Rq &rq, const Task &p);
inline u64 capacity_of(const Rq &rq) { return rq.cpu_capacity; }
// Without group scheduling (Tunables::group_scheduling off, CONFIG_FAIR_GROUP_SCHED=n) this is load_avg.
u64 task_h_load(Scheduler &s, const Task &p);

} // namespace fairground::fair
