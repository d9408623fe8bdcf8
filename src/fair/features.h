// SPDX-License-Identifier: GPL-2.0-only
//
// Features and tunables: what a variant may change. Nothing else differs between two variants.
#pragma once

#include "base/types.h"

#include <span>
#include <string>
#include <string_view>

namespace fairground::fair {

enum class Feature : u8 {
#define FEATURE(name, default_73, rules, text) name,
#include "fair/features.def"
#undef FEATURE
};

struct FeatureRow {
    Feature feature;
    std::string_view name;
    bool default_73;
    std::string_view rules; // ids in spec/, separated by blanks
    std::string_view text;
};

// The whole table, in the order of features.def.
std::span<const FeatureRow> feature_table();

class Features {
  public:
    Features(); // defaults of linux-7.3

    [[nodiscard]] bool operator[](Feature feature) const { return (bits_ >> static_cast<u32>(feature) & 1) != 0; }
    void set(Feature feature, bool on) {
        const u64 bit = u64{1} << static_cast<u32>(feature);
        bits_ = on ? bits_ | bit : bits_ & ~bit;
    }
    // "X" switches X on, "NO_X" off, as the kernel's debugfs file does. P1, P1_LITERAL, P2 and P3 are short for
    // NUMA_PAIR_*. Throws InputError for an unknown name, naming the nearest one.
    void apply(std::string_view name);

    friend bool operator==(const Features &, const Features &) = default;

  private:
    u64 bits_ = 0;
};

// How a group's shares are divided among CPUs; the order is that of debugfs sched/cgroup_mode (CG-14).
enum class CgroupMode : u8 { up, smp, concur, max, tasks };

// sysctl and debugfs values; defaults as in v7.3. Times in ns.
struct Tunables {
    u32 hz = 1000;
    u64 normalized_base_slice = 700000; // EEVDF-6, -7
    u64 base_slice = 700000;            // set by update_sched_scaling() from the number of online CPUs
    u64 migration_cost = 500000;        // EEVDF-9, LB-74
    u32 nr_migrate = 32;                // LB-41
    bool lazy_preempt = true;           // PREEMPT_LAZY: EEVDF-100
    bool group_scheduling = true;       // CONFIG_FAIR_GROUP_SCHED: task_h_load scales by the queue (PELT-81)
    CgroupMode cgroup_mode = CgroupMode::concur;
    bool preemptible = true;    // PREEMPTION: a newly-idle pass detaches one task (LB-70)
    bool numa_balancing = true; // kernel.numa_balancing; tasks without fault statistics do not notice

    // Cache-aware scheduling (LB-91); acts only on machines with several LLCs.
    bool sched_cache = true;
    u32 llc_aggr_tolerance = 1;
    u32 llc_epoch_period = 0; // jiffies; 0: HZ / 100
    u32 llc_epoch_affinity_timeout = 5;
    u32 llc_imb_pct = 20;
    u32 llc_overaggr_pct = 50;

    [[nodiscard]] u64 tick_nsec() const { return (ns_per_s + hz / 2) / hz; } // EEVDF-9
};

// base_slice for a number of online CPUs with logarithmic scaling (EEVDF-6).
void update_sched_scaling(Tunables &tunables, int online_cpus);

} // namespace fairground::fair
