// SPDX-License-Identifier: GPL-2.0-only
//
// EEVDF on one CPU: charging, placement, lag, eligibility, pick, enqueue and dequeue. Rules: spec/eevdf.md.
#pragma once

#include "fair/scheduler.h"
#include "fair/timeline.h"

namespace fairground::fair {

enum EnqueueFlag : u32 {
    ENQUEUE_WAKEUP = 1,
    ENQUEUE_MIGRATED = 2,
    ENQUEUE_INITIAL = 4,
    ENQUEUE_DELAYED = 8,
    ENQUEUE_QUEUED = 16, // place_entity: already counted in h_nr_queued
};
enum DequeueFlag : u32 {
    DEQUEUE_SLEEP = 1,
    DEQUEUE_SPECIAL = 2,
    DEQUEUE_DELAYED = 4,
    DEQUEUE_THROTTLE = 8,
    DEQUEUE_MIGRATING = 16, // the task leaves for another CPU: detach its load
};

u64 nice_to_weight(int nice); // -20..19, scaled (EEVDF-3, -4)
u64 task_weight(Policy policy, int nice);
u64 calc_delta_fair(u64 delta, const Entity &se); // EEVDF-5

// Virtual time of the root queue.
u64 avg_vruntime(CfsRq &cfs);                             // moves zero_vruntime (EEVDF-32, -33)
bool entity_eligible(const CfsRq &cfs, const Entity &se); // EEVDF-50; does not move it
bool vruntime_eligible(const CfsRq &cfs, u64 vruntime);
u64 ineligible_vruntime(const CfsRq &cfs); // smallest vruntime at which the running task is not eligible (EEVDF-60)
u64 cfs_rq_min_slice(const CfsRq &cfs);    // ~0 if there is nobody (EEVDF-44)
u64 cfs_rq_max_slice(const CfsRq &cfs);    // EEVDF-41
void enqueue_timeline(const Scheduler &s, CfsRq &cfs, Entity &se); // __enqueue_entity: sums and tree (EEVDF-30)
void dequeue_timeline(CfsRq &cfs, Entity &se);

void place_entity(Scheduler &s, CfsRq &cfs, Entity &se, u32 flags);
bool update_entity_lag(Scheduler &s, CfsRq &cfs, Entity &se);                       // EEVDF-42
bool update_deadline(Scheduler &s, CfsRq &cfs, Entity &se);                         // EEVDF-27
void reweight_eevdf(Scheduler &s, CfsRq &cfs, Entity &se, u64 weight, bool queued); // EEVDF-120

void set_protect_slice(Scheduler &s, CfsRq &cfs, Entity &se);                               // EEVDF-60
void update_protect_slice(CfsRq &cfs, Entity &se);                                          // EEVDF-62
inline bool protect_slice(const Entity &se) { return vtime_before(se.vruntime, se.vprot); } // EEVDF-61
void cancel_protect_slice(Entity &se);                                                      // EEVDF-63

void set_next_buddy(CfsRq &cfs, Entity &se); // EEVDF-135
void clear_buddies(CfsRq &cfs, const Entity &se);

// Whom the queue would run next, with the step of EEVDF-53 that chose it. Asking changes nothing. The queue is
// not empty.
struct Pick {
    Entity *entity = nullptr;
    Rule rule;
};
Pick pick_eevdf(const Scheduler &s, const CfsRq &cfs, bool protect);

// EEVDF-55; null: a delayed task was picked and dequeued instead, repeat.
Task *pick_next_entity(Scheduler &s, Rq &rq, bool protect, Rule *rule = nullptr);

void update_curr(Scheduler &s, CfsRq &cfs);       // EEVDF-20
void update_curr_fair(Scheduler &s, Rq &rq);      // the whole path of the running task (EEVDF-23)
void update_curr_eevdf(Scheduler &s, CfsRq &cfs); // only its own queue

// The rq clock must be current. dequeue returns false when the task was delayed instead (EEVDF-75).
void enqueue_task_fair(Scheduler &s, Rq &rq, Task &p, u32 flags);
bool dequeue_task_fair(Scheduler &s, Rq &rq, Task &p, u32 flags);

Task *pick_task_fair(Scheduler &s, Rq &rq); // EEVDF-91, newly-idle balance included; null: nothing to run
void put_prev_task_fair(Scheduler &s, Rq &rq, Task &prev, const Task *next); // next null: not fair
void set_next_task_fair(Scheduler &s, Rq &rq, Task &p, bool first);
void task_tick_fair(Scheduler &s, Rq &rq, Task &p, bool queued); // EEVDF-104
void yield_task_fair(Scheduler &s, Rq &rq);                      // EEVDF-130; schedule() follows

void hrtick_start_fair(Scheduler &s, Rq &rq, Task &p); // EEVDF-110
void hrtick_update(Scheduler &s, Rq &rq);

} // namespace fairground::fair
