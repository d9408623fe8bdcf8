// SPDX-License-Identifier: GPL-2.0-only
//
// Entities and tasks. An entity is a task or the per-CPU representative of a task group (EEVDF: "se"). In v7.3
// only tasks have virtual times and a place in the timeline; group entities carry weight, averages and
// counters (EEVDF-1). By kernel profile (issue "the fair class, whole") group entities may have them too, so
// the fields live in Entity.
#pragma once

#include "base/cpu_mask.h"
#include "base/types.h"
#include "fair/sched_avg.h"

#include <array>
#include <vector>

namespace fairground::fair {

struct CfsRq;
struct Entity;
struct SchedCacheGroup; // cache_aware.h
struct Task;
struct TaskGroup;

inline constexpr u64 nice_0_load = u64{1} << 20; // NICE_0_LOAD
inline constexpr u64 idle_prio_weight = u64{3} << 10;

// Node of the augmented timeline (timeline.h).
struct TimelineNode {
    Entity *left = nullptr;
    Entity *right = nullptr;
    Entity *parent = nullptr;
    u32 rank = 0;         // balance information
    u64 min_vruntime = 0; // of the subtree
    u64 min_slice = 0;
    u64 max_slice = 0;
};

struct Entity {
    // Virtual time; u64 values are only compared by difference.
    u64 vruntime = 0;
    u64 deadline = 0;
    s64 vlag = 0;
    u64 vprot = 0;
    u64 slice = 0;       // ns
    u64 h_load = 0;      // flattened weight, h_load.weight (EEVDF-2)
    u64 load_weight = 0; // load.weight: nice or share weight, scaled by 1024
    u64 exec_start = 0;  // ns of rq.clock_task
    u64 sum_exec_runtime = 0;
    u64 prev_sum_exec_runtime = 0;

    bool on_rq = false;
    bool sched_delayed = false;
    bool rel_deadline = false;
    bool custom_slice = false;

    TimelineNode node;

    CfsRq *cfs_rq = nullptr;  // queue the entity is accounted in
    CfsRq *my_q = nullptr;    // group entity: the group's queue on this CPU; null for a task
    Entity *parent = nullptr; // group entity above; null in the root group
    Task *task = nullptr;     // the task this is part of; null for a group entity
    u64 runnable_weight = 0;  // group entity: cached h_nr_runnable of my_q (PELT-9); the kernel's u32 wraps count

    SchedAvg avg;
};

enum class Policy : u8 { normal = 0, batch = 3, idle = 5 };

// task.on_rq
enum class OnRq : u8 { no = 0, queued = 1, migrating = 2 };

// Task state. Of the sleeps only `special` (stopped, parked, frozen, ...) matters to the fair class (EEVDF-78).
// waking: chosen a CPU and waits on its wake list; it cannot be woken again.
enum class TaskState : u8 { running, sleeping, special, dead, waking };

// NUMA faults shared by the tasks that access the same memory (numa-balancing.md). `faults` by NodeId.
struct NumaGroup {
    std::vector<u64> faults;
    u64 total_faults = 0;
    u32 active_nodes = 0;
};

struct Task {
    TaskId id;
    Entity se;

    Policy policy = Policy::normal;
    int nice = 0;
    OnRq on_rq = OnRq::no;
    bool on_cpu = false; // it is some CPU's current task
    TaskState state = TaskState::sleeping;
    bool kthread = false;
    bool per_cpu_kthread = false; // kthread_is_per_cpu(): bound to its CPU for life (LB-71)
    bool exiting = false;
    bool migration_disabled = false;
    bool in_iowait = false;

    CpuId cpu;      // task_cpu(p)
    CpuId wake_cpu; // WAKE-24
    CpuId recent_used_cpu;
    CpuMask cpus_allowed;
    int nr_cpus_allowed = 0;

    TaskId last_wakee;
    u32 wakee_flips = 0;
    u64 wakee_flip_decay_ts = 0; // jiffies

    TaskGroup *group = nullptr; // null: root group

    u32 uclamp_min = 0; // sched_util_min and _max, of 1024; read by asymmetric placement only (WAKE-140)
    u32 uclamp_max = 1024;

    // rq.cfs_tasks, the list that load balancing scans from its tail (EEVDF-72).
    Task *list_prev = nullptr;
    Task *list_next = nullptr;

    // Rq::wake_head, the wake list of the task's CPU (WAKE-28).
    Task *wake_next = nullptr;
    bool wake_migrated = false; // sched_remote_wakeup: WF_MIGRATED as remembered

    NodeId numa_preferred_nid;
    NumaGroup *numa_group = nullptr;
    std::vector<u64> numa_faults; // by NodeId, private and shared together; empty: no statistics
    u64 total_numa_faults = 0;

    // Cache-aware scheduling (LB-91).
    SchedCacheGroup *cache_group = nullptr; // null: kernel thread
    u32 nr_threads = 1;                     // of its process
    int preferred_llc = -1;
    bool pref_llc_queued = false; // queued on its preferred LLC
};

} // namespace fairground::fair
