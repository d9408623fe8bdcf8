// SPDX-License-Identifier: GPL-2.0-only
//
// Hierarchical load: how much of the root queue's load a queue stands for (WAKE-9, PELT-80, PELT-81). The kernel
// caches it per queue and jiffy; here reading (const) and renewing the cache are two calls, so that asking where a
// task would go changes nothing (WAKE-51).
#pragma once

#include "fair/scheduler.h"

namespace fairground::fair {

// h_load of the queue at s.jiffies: what the cache holds if it is of this jiffy, else computed from the averages.
u64 read_h_load(const Scheduler &s, const CfsRq &queue);
// Brings the caches of the queue and its ancestors to s.jiffies.
void update_cfs_rq_h_load(const Scheduler &s, CfsRq &queue);

// Part of the root queue's load that an entity with `load_avg` in `queue` makes up. Without group scheduling
// this is load_avg itself.
u64 read_task_h_load(const Scheduler &s, u64 load_avg, const CfsRq &queue);

} // namespace fairground::fair
