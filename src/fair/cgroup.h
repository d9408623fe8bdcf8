// SPDX-License-Identifier: GPL-2.0-only
//
// Task groups: shares, per-CPU queues and entities, flattened weight. Rules: spec/cgroups.md.
#pragma once

#include "fair/scheduler.h"

#include <algorithm>

namespace fairground::fair {

inline constexpr u64 min_shares = 2; // unscaled (CG-3); also the floor of any group entity's weight (CG-11)
inline constexpr u64 max_shares = u64{1} << 18;

// EEVDF-4.
inline u64 scale_load_down(u64 weight) { return weight == 0 ? 0 : std::max<u64>(2, weight >> 10); }

inline CfsRq &group_queue(Rq &rq, TaskGroup *group) {
    return group == nullptr ? rq.cfs : group->queues[static_cast<u32>(rq.cpu.value)];
}
inline bool se_is_idle(const Entity &se) {
    return se.my_q != nullptr ? se.my_q->idle : se.task->policy == Policy::idle;
}
inline void se_update_runnable(Entity &se) { // PELT-9
    if (se.my_q != nullptr)
        se.runnable_weight = se.my_q->h_nr_runnable;
}

// Weight of a queue's entity by the mode in force (CG-11..18), scaled; loads follow from it (CG-40).
u64 calc_group_shares(const Scheduler &s, const CfsRq &group_queue);
// Gives the group's entity that weight (CG-10); no-op for a task.
void update_cfs_group(const Scheduler &s, Entity &se);

// One step of the flattened weight: `weight` from the level below, times the entity's part of its queue (CG-20, -21);
// the tree of weights stays (CG-22), and a task's weight is that of its last enqueue, pick or tick (CG-23).
inline u64 fold_weight(u64 weight, const Entity &se) {
    weight *= se.load_weight;
    weight /= se.parent != nullptr ? se.cfs_rq->load_weight : nice_0_load;
    return std::max(weight, min_shares);
}

// A new empty group on all CPUs (CG-8). `parent` null: below the root group.
TaskGroup &sched_create_group(Scheduler &s, TaskGroup *parent);
// cpu.shares, scaled; clamped (CG-3, -6). False: refused, the group is idle (CG-5).
bool sched_group_set_shares(Scheduler &s, TaskGroup &group, u64 shares);
void sched_group_set_idle(Scheduler &s, TaskGroup &group, bool idle); // CG-5, CG-9

// cpu.weight, 1 to 10000, to scaled shares and back (CG-4).
u64 shares_of_cpu_weight(u64 weight);
u64 cpu_weight_of_shares(u64 shares);

// Points the task at its group's queue on `cpu` (PELT-36); accounts nothing.
void set_task_rq(const Scheduler &s, Task &p, Rq &rq);
// The averages of a task follow it to another group (PELT-37). It is not queued, or its caller requeues it.
void task_change_group_fair(Scheduler &s, Task &p, TaskGroup *group);

} // namespace fairground::fair
