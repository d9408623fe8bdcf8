// SPDX-License-Identifier: GPL-2.0-only
//
// Scheduling domains and groups as kernel/sched/topology.c builds them. Rules: spec/topology.md.
//
// A DomainTree owns everything; pointers between its objects stay valid for its life, so it is not copied.
// Run-time values (balance_interval, nr_busy_cpus, group capacity, ...) live here too, as in the kernel: one
// tree belongs to one simulation.
#pragma once

#include "base/cpu_mask.h"
#include "base/types.h"

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairground {
struct Machine;
}

namespace fairground::fair {

// Flag values as in v7.3 (include/linux/sched/sd_flags.h), since dumps print them as a number.
enum SdFlag : u32 {
    SD_BALANCE_NEWIDLE = 0x0001,
    SD_BALANCE_EXEC = 0x0002,
    SD_BALANCE_FORK = 0x0004,
    SD_BALANCE_WAKE = 0x0008,
    SD_WAKE_AFFINE = 0x0010,
    SD_ASYM_CPUCAPACITY = 0x0020,
    SD_ASYM_CPUCAPACITY_FULL = 0x0040,
    SD_SHARE_CPUCAPACITY = 0x0080,
    SD_CLUSTER = 0x0100,
    SD_SHARE_LLC = 0x0200,
    SD_SERIALIZE = 0x0400,
    SD_ASYM_PACKING = 0x0800,
    SD_PREFER_SIBLING = 0x1000,
    SD_NUMA = 0x2000,
};

// "SHARE_LLC" and so on; the inverse gives 0 for an unknown name.
std::string flag_names(u32 flags); // separated by blanks, without SD_
u32 flag_by_name(std::string_view name);

// Capacity object of a group, shared between equal groups seen from different CPUs (TOPO-33, TOPO-43).
struct GroupCapacity {
    int id = 0;
    u64 capacity = 0;
    u64 min_capacity = 0;
    u64 max_capacity = 0;
    u64 next_update = 0;    // jiffies
    bool imbalance = false; // some task could not be moved for affinity (LB-41 d)
    CpuMask balance_mask;
};

struct SchedGroup {
    CpuMask span;
    int weight = 0;
    int cores = 0;
    u32 flags = 0;
    CpuId asym_prefer_cpu;
    GroupCapacity *sgc = nullptr;
};

// sched_domain_shared: one per LLC span (TOPO-54, WAKE-6), a second one on asymmetric machines (TOPO-56).
struct DomainShared {
    int id = 0;
    int nr_busy_cpus = 0;
    bool has_idle_cores = false;
    int nr_idle_scan = 512; // TOPO-55, WAKE-123
    u64 util_avg = 0;       // cache-aware scheduling (LB-97)
    u64 capacity = 0;
};

struct Domain {
    std::string name; // "SMT", "MC", "NUMA", ...
    int level = 0;    // position in the topology table before degeneration
    Domain *parent = nullptr;
    Domain *child = nullptr;
    CpuMask span;
    int span_weight = 0;
    u32 flags = 0;
    std::span<SchedGroup *const> groups; // in list order, the local one first; equal lists share their storage
    DomainShared *shared = nullptr;      // only where the domain owns one (sd->shared)

    int imbalance_pct = 0;
    int cache_nice_tries = 0;
    u32 min_interval = 0; // ms
    u32 max_interval = 0;
    u32 busy_factor = 0;
    int imb_numa_nr = 0;
    bool nohz_idle = false; // nr_busy_cpus has been decremented for this CPU (LB-24)

    // Run-time values, reset at every build (TOPO-22).
    u64 last_balance = 0; // jiffies
    u32 balance_interval = 0;
    u32 nr_balance_failed = 0;
    u32 newidle_call = 0;
    u32 newidle_success = 0;
    u32 newidle_ratio = 0;
    u64 newidle_stamp = 0; // ns
    u64 max_newidle_lb_cost = 0;
    u64 last_decay_max_lb_cost = 0; // jiffies

    std::vector<u32> llc_counts; // base domain: queued tasks by preferred LLC (LB-95)
    u64 llc_bytes = 0;
};

// Per-CPU pointers of update_top_cache_domain (TOPO-51..53).
struct CpuDomains {
    Domain *base = nullptr; // null: the CPU has no domain
    Domain *llc = nullptr;
    int llc_size = 1;
    int llc_id = -1;
    CpuId share_id;
    DomainShared *llc_shared = nullptr;
    DomainShared *balance_shared = nullptr; // TOPO-56
    Domain *numa = nullptr;
    Domain *asym_packing = nullptr;
    Domain *asym_cpucapacity = nullptr;
    CpuMask smt; // online siblings, for the idle searches
    NodeId node;
    int capacity = 1024; // arch_scale_cpu_capacity (TOPO-26)
};

enum class NumaTopology : u8 { direct, glueless_mesh, backplane };

struct DomainTree {
    DomainTree() = default;
    DomainTree(const DomainTree &) = delete;
    DomainTree &operator=(const DomainTree &) = delete;
    DomainTree(DomainTree &&) = default;
    DomainTree &operator=(DomainTree &&) = default;
    ~DomainTree() = default;

    std::deque<Domain> domains;
    std::deque<SchedGroup> groups;
    std::deque<GroupCapacity> capacities;
    std::deque<DomainShared> shared;
    std::deque<std::vector<SchedGroup *>> group_lists; // what Domain::groups point into
    std::vector<CpuDomains> cpus;                      // by CPU number

    bool smt_active = false;     // some core has two or more active threads
    bool cluster_active = false; // TOPO-52
    bool asym_cpucapacity = false;
    bool multi_llc = false; // TOPO-57

    // Scheduler's view of distances (TOPO-12..18).
    std::vector<int> numa_level_distances; // D, ascending, local included; empty: no NUMA levels
    std::vector<int> firmware_distances;   // distinct values that NUMA balancing knows (TOPO-16), ascending
    int max_numa_distance = 0;             // the last of them
    int level_max = 0;                     // sched_domain_level_max: number of the highest level ever built
    int max_llc_id = -1;                   // largest sd_llc_id in use
    NumaTopology numa_topology = NumaTopology::direct;
    int node_reclaim_distance = 30;
    std::vector<std::vector<int>> node_distance; // by NodeId, firmware values (node_distance()); empty: one node

    std::vector<std::string> notes; // what a kernel would have logged, e.g. an insane span
};

// The tree of one partition that holds all online CPUs of the machine (TOPO-1). Never fails: where the kernel
// would give up (TOPO-5), the CPUs have no domain and a note says why.
DomainTree build_domains(const Machine &machine);

// The same for several cpuset partitions; CPUs in none of them have no domain. Offline CPUs of a partition are left
// out. relax_domain_level: from this level on domains take no part in newly-idle balance (TOPO-27); -1: unused.
DomainTree build_domains(const Machine &machine, const std::vector<CpuMask> &partitions, int relax_domain_level = -1);

} // namespace fairground::fair
