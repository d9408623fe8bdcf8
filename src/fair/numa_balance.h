// SPDX-License-Identifier: GPL-2.0-only
//
// Automatic NUMA balancing: where a task should go to be near its memory. Rules: spec/numa-balancing.md.
// Fault statistics, preferred node and scan period are in numa_faults.h.
#pragma once

#include "fair/scheduler.h"

namespace fairground::fair {

// Share of a task's (a group's) memory faults on a node and, on machines that are not fully connected, near it:
// 0..1000 of all faults (NUMA-36). `dist`: only nodes nearer than this count as near on a backplane.
s64 task_weight(const Scheduler &s, const Task &p, NodeId node, int dist);
s64 group_weight(const Scheduler &s, const Task &p, NodeId node, int dist);

// Distance as the scheduler uses it; 10 for a machine of one node.
int node_distance(const Scheduler &s, NodeId a, NodeId b);

// Sums over the CPUs of a node and what they make of it (NUMA-42).
enum class NodeType : u8 { has_spare, fully_busy, overloaded };
struct NumaStats {
    u64 load = 0;
    u64 runnable = 0;
    u64 util = 0;
    u64 capacity = 0;
    u32 nr_running = 0;
    u32 weight = 0;
    NodeType type = NodeType::has_spare;
    CpuId idle_cpu;
};
NodeType numa_classify(u32 pct, const NumaStats &stats);
// NUMA-46: with these loads the nodes would, for their capacities, be farther apart than they are.
bool load_too_imbalanced(const NumaStats &src, const NumaStats &dst, s64 src_load, s64 dst_load);

// Where task_numa_migrate would put a task, read only. The driver moves it, or exchanges it with `swap`, each by
// the stopper of the CPU it runs on; until that is done it sets numa_migrate_on of the target CPU (NUMA-43, -50).
struct NumaMove {
    CpuId cpu;                  // none: stays
    const Task *swap = nullptr; // partner, running on `cpu`; null: a plain move
    NodeId preferred;           // new preferred node, if set_preferred
    bool set_preferred = false; // call sched_setnuma
    Rule rule;                  // that found the CPU, or ended the search
    s64 improvement = 0;        // of faults, in 1/1000 (NUMA-44)
};
NumaMove task_numa_migrate(const Scheduler &s, const Task &p);

} // namespace fairground::fair
