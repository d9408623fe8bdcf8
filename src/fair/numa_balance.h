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
