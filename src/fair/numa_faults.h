// SPDX-License-Identifier: GPL-2.0-only
//
// Automatic NUMA balancing: fault statistics, preferred node, NUMA groups and the scan period. Rules: spec/
// numa-balancing.md sections 2 to 4. What a fault leads to (a new preferred node, an attempt to move) is returned;
// the driver carries it out with sched_setnuma and task_numa_migrate (numa_balance.h).
//
// The driver owns one NumaTask per task with user memory, one NumaProcess per address space and the groups. It
// places memory itself: it says which node a page is on and how many pages fault.
#pragma once

#include "fair/numa_balance.h"

#include <array>
#include <vector>

namespace fairground::fair {

// debugfs sched/numa_balancing (NUMA-2). Times in ms, sizes in MiB.
struct NumaTunables {
    u32 scan_delay = 1000;
    u32 scan_period_min = 1000;
    u32 scan_period_max = 60000;
    u32 scan_size = 256;
};

struct NumaProcess {
    u64 rss = 0;       // resident memory, MiB
    u64 next_scan = 0; // jiffies; 0: not set yet
    u32 scan_seq = 0;  // whole passes over the address space
};

// Faults on one node, [0] shared, [1] private (NUMA-13, -31).
struct NumaCounts {
    std::array<u64, 2> mem{};
    std::array<u64, 2> cpu{};
};

// A group with what its weights do not need.
struct NumaFaultGroup : NumaGroup {
    int id = 0; // fixed order for ties between groups of equal size (NUMA-34)
    u32 nr_tasks = 0;
    std::vector<NumaCounts> nodes;
    u64 max_faults_cpu = 0;
};

struct NumaTask {
    Task *task = nullptr;
    NumaProcess *process = nullptr;
    NumaFaultGroup *group = nullptr; // same object as task->numa_group
    std::vector<NumaCounts> nodes;   // averages; empty before the first fault
    std::vector<NumaCounts> buffers; // since the last placement
    struct {
        u64 remote = 0;
        u64 local = 0;
        u64 failed = 0;
    } locality;
    u32 scan_period = 1000; // ms
    u32 scan_period_max = 0;
    u32 scan_seq = 0;
    u64 node_stamp = 0;     // ns of run time
    u64 migrate_retry = 0;  // jiffies
    u64 last_placement = 0; // ns of exec_start; 0: never
    u64 last_sum_exec_runtime = 0;
};

// A new task: `first` of its process, or a thread beside `threads` others whose creator is `parent` (NUMA-10).
void init_numa_balancing(const Scheduler &s, const NumaTunables &tunables, NumaTask &nt, const NumaTask *parent,
                         u32 threads);

// Scan period (NUMA-20..24), ms.
u32 task_scan_min(const NumaTunables &tunables, const NumaTask &nt);
u32 task_scan_start(const NumaTunables &tunables, const NumaTask &nt);
u32 task_scan_max(const NumaTunables &tunables, const NumaTask &nt);
void update_task_scan_period(const Scheduler &s, const NumaTunables &tunables, NumaTask &nt, u64 shared, u64 priv);
// The task moves to `to`; call before its cpu changes (NUMA-24).
void update_scan_period(const Scheduler &s, const NumaTunables &tunables, NumaTask &nt, CpuId to);

// At the tick of the running task: true if it should scan before it returns to user mode (NUMA-10).
bool task_tick_numa(const Scheduler &s, const NumaTunables &tunables, NumaTask &nt);
// The scan itself: true if it is due, then the driver lets up to scan_size MiB fault on next access and calls
// numa_scan_done (NUMA-11).
bool task_numa_work(const Scheduler &s, const NumaTunables &tunables, NumaTask &nt);
// `cost`: run time the scan took, ns; `wrapped`: it reached the end of the address space.
void numa_scan_done(NumaTask &nt, u64 cost, bool wrapped);

// One fault on `pages` pages of one kind.
struct NumaFault {
    NodeId mem_node;                // of the pages after a migration
    u64 pages = 1;                  //
    bool local = false;             // they were on the CPU's node before
    bool migrate_failed = false;    //
    bool first = false;             // never accessed before
    const NumaTask *last = nullptr; // previous faulter, null: unknown
    CpuId last_cpu;                 // where it faulted
    bool group = true;              // not TNF_NO_GROUP: the page is writable
    bool shared_mapping = false;    // TNF_SHARED
};
struct NumaFaultResult {
    NodeId set_preferred; // call sched_setnuma first, if valid
    bool migrate = false; // then task_numa_migrate
};
// task_numa_fault (NUMA-13, -30, -34, -40). `fresh` becomes the task's group if it needs one of its own: an empty
// group with its id, or null to make none.
NumaFaultResult task_numa_fault(Scheduler &s, const NumaTunables &tunables, NumaTask &nt, const NumaFault &fault,
                                NumaFaultGroup *fresh);

// task_numa_placement: once per scan sequence, folds the buffers into the averages (NUMA-31, -32). Returns the new
// preferred node if it changes.
NodeId task_numa_placement(const Scheduler &s, const NumaTunables &tunables, NumaTask &nt);

// The task exits or execs: leaves its group and forgets its faults (NUMA-34).
void task_numa_free(NumaTask &nt);

} // namespace fairground::fair
