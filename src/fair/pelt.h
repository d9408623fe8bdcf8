// SPDX-License-Identifier: GPL-2.0-only
//
// Per-entity load tracking (kernel/sched/pelt.c and its callers in fair.c). Rules: spec/pelt.md.
#pragma once

#include "fair/scheduler.h"

namespace fairground::fair {

inline constexpr u32 pelt_min_divider = 46718; // LOAD_AVG_MAX - 1024 (PELT-1)

// The arithmetic (PELT-3..7).
u64 decay_load(u64 value, u64 periods);
u32 accumulate_pelt_segments(u64 periods, u32 d1, u32 d3);
// True iff a period boundary was crossed.
bool update_load_sum(u64 now, SchedAvg &sa, u64 load, u64 runnable, bool running);
void update_load_avg_values(SchedAvg &sa, u64 weight);

// Clocks (PELT-40..46). update_rq_clock brings the three clocks of the queue to s.now.
void update_rq_clock(Scheduler &s, Rq &rq);
u64 rq_clock_pelt(const Rq &rq);
u64 cfs_rq_clock_pelt(const CfsRq &cfs);
void update_idle_rq_clock_pelt(Rq &rq); // the idle task is set next (PELT-44)

// Flags of update_load_avg (PELT-20).
enum UpdateFlag : u32 { UPDATE_TG = 1, SKIP_AGE_LOAD = 2, DO_ATTACH = 4, DO_DETACH = 8, UPDATE_UTIL_EST = 16 };
void update_load_avg(Scheduler &s, CfsRq &cfs, Entity &se, u32 flags);
void attach_entity_load_avg(Scheduler &s, CfsRq &cfs, Entity &se);
void detach_entity_load_avg(Scheduler &s, CfsRq &cfs, Entity &se);
void remove_entity_load_avg(Entity &se);                            // PELT-33
void migrate_se_pelt_lag(Scheduler &s, Entity &se);                 // PELT-34
void reweight_entity_load(CfsRq &cfs, Entity &se, u64 load_weight); // PELT-58
void update_tg_load_avg(Scheduler &s, CfsRq &cfs);                  // PELT-56

// Brings all averages of an rq up to date, children before parents (PELT-25, -28). The rq clock must be current.
// `decayed`: the root queue crossed a period. Returns true if nothing is left to decay (LB-36).
bool update_blocked_averages(Scheduler &s, Rq &rq, bool *decayed = nullptr);

void list_add_leaf_cfs_rq(CfsRq &cfs); // PELT-28

// New tasks and estimates (PELT-60, -70..72).
void init_entity_runnable_average(Entity &se);
void post_init_entity_util_avg(Scheduler &s, Task &p);
void util_est_enqueue(const Scheduler &s, CfsRq &root, const Task &p);
void util_est_dequeue(const Scheduler &s, CfsRq &root, const Task &p);
void util_est_update(const Scheduler &s, Task &p);

// Readers (PELT-24, -73..75, -80, -81). Values as of the last update; nobody ages them for the reader.
u64 cpu_load(const Rq &rq);
u64 cpu_runnable(const Rq &rq);
u64 task_util(const Task &p);
u64 task_util_est(const Task &p);
u64 cpu_util_cfs(const Scheduler &s, const Rq &rq);
u64 cpu_util_cfs_boost(const Scheduler &s, const Rq &rq);
u64 capacity_of(const Rq &rq);
// Without group scheduling (Tunables::group_scheduling off, CONFIG_FAIR_GROUP_SCHED=n) this is load_avg.
u64 task_h_load(Scheduler &s, const Task &p);

} // namespace fairground::fair
