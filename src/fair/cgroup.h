// SPDX-License-Identifier: GPL-2.0-only
//
// Task groups: shares, per-CPU queues and entities, flattened weight. Rules: spec/cgroups.md.
#pragma once

#include "fair/scheduler.h"

#include <memory>

namespace fairground::fair {

struct TaskGroup {
    GroupId id;
    TaskGroup *parent = nullptr; // null: child of the root group
    u64 shares = nice_0_load;    // scaled (CG-3)
    bool idle = false;
    u64 load_avg = 0; // sums over CPUs (CG-7)
    u64 runnable_avg = 0;
    std::deque<CfsRq> queues; // by CPU number
    std::deque<Entity> entities;
};

u64 scale_load_down(u64 weight); // EEVDF-4

// Weight of the group's entity for its queue by the mode in force (CG-10..18); no-op for a task.
void update_cfs_group(Scheduler &s, Entity &se);
// One step of the flattened weight: `weight` from the level below, times the entity's part of its queue (CG-20).
u64 fold_weight(u64 weight, const Entity &se);

} // namespace fairground::fair
