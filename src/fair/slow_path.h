// SPDX-License-Identifier: GPL-2.0-only
//
// Inside of the slow path for fork and exec (WAKE-150..184, LB-83..87), between wake_placement.cpp and slow_path.cpp.
#pragma once

#include "fair/group_class.h"
#include "fair/scheduler.h"

namespace fairground::fair {

struct DstCpu {
    CpuId cpu;
    Rule rule;
};

// The placed task with its averages as of the search: aged for exec, as they are for fork.
struct Newcomer {
    const Task &p;
    const SchedAvg &avg;
};

// WAKE-151: descends from `sd` to the idlest CPU. The caller has made sure that sd holds an allowed CPU.
DstCpu sched_balance_find_dst_cpu(const Scheduler &s, Domain *sd, const Newcomer &task, CpuId cpu, u32 sd_flag);

// WAKE-160..165: sums over the allowed CPUs of a group without the task's own part.
GroupStats wakeup_stats(const Scheduler &s, const Domain &sd, const SchedGroup &group, const Newcomer &task);

// WAKE-180..184.
DstCpu sched_balance_find_dst_group_cpu(const Scheduler &s, const SchedGroup &group, const Task &p, CpuId this_cpu);

} // namespace fairground::fair
