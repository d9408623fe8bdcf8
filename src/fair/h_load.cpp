// SPDX-License-Identifier: GPL-2.0-only
#include "fair/h_load.h"

namespace fairground::fair {

namespace {

bool is_current(const Scheduler &s, const CfsRq &queue) {
    return queue.h_load_valid && queue.last_h_load_update == s.jiffies;
}

// PELT-80: a group's queue gets the part of its parent's load that its entity has there.
u64 fraction(u64 parent_h_load, const CfsRq &parent, const Entity &group_entity) {
    return parent_h_load * group_entity.avg.load_avg / (parent.avg.load_avg + 1);
}

} // namespace

u64 read_h_load(const Scheduler &s, const CfsRq &queue) {
    if (is_current(s, queue))
        return queue.h_load;
    if (queue.group_entity == nullptr)
        return queue.avg.load_avg;
    const CfsRq &parent = *queue.group_entity->cfs_rq;
    return fraction(read_h_load(s, parent), parent, *queue.group_entity);
}

void update_cfs_rq_h_load(const Scheduler &s, CfsRq &queue) {
    if (is_current(s, queue))
        return;
    if (queue.group_entity == nullptr) {
        queue.h_load = queue.avg.load_avg;
    } else {
        CfsRq &parent = *queue.group_entity->cfs_rq;
        update_cfs_rq_h_load(s, parent);
        queue.h_load = fraction(parent.h_load, parent, *queue.group_entity);
    }
    queue.last_h_load_update = s.jiffies;
    queue.h_load_valid = true;
}

u64 read_task_h_load(const Scheduler &s, u64 load_avg, const CfsRq &queue) {
    if (!s.tunables.group_scheduling)
        return load_avg;
    return load_avg * read_h_load(s, queue) / (queue.avg.load_avg + 1);
}

} // namespace fairground::fair
