// SPDX-License-Identifier: GPL-2.0-only
//
// A task group (cgroup) of the fair class (CG-1). The root group has no object: a null TaskGroup is the root
// group, and its queue on a CPU is Rq::cfs.
#pragma once

#include "fair/rq.h"

#include <vector>

namespace fairground::fair {

struct TaskGroup {
    GroupId id;                  // position in Scheduler::groups
    TaskGroup *parent = nullptr; // null: child of the root group
    u64 shares = nice_0_load;    // scaled (CG-3)
    bool idle = false;           // cpu.idle (CG-5)
    int cpuset_cpus = 0;         // size of the effective cpuset; 0: all online CPUs (CG-12)
    u64 load_avg = 0;            // sums over CPUs (CG-7)
    u64 runnable_avg = 0;
    std::vector<CfsRq> queues; // by CPU number; never resized, so addresses are stable
    std::vector<Entity> entities;
};

} // namespace fairground::fair
