// SPDX-License-Identifier: GPL-2.0-only
//
// Scratch of one build_sched_domains(): the full chains of a partition, before redundant domains are removed, as
// small records. Only what survives becomes a Domain. Not for use outside domain*.cpp and the vector driver.
//
// A span is a number into the SpanSet of its level, so that the many comparisons of spans are of two integers.
#pragma once

#include "fair/domain_levels.h"

#include <algorithm>

namespace fairground::fair {

// A group as a domain of the build sees it. `sgc` numbers CapacityDraft.
struct GroupDraft {
    int sgc = -1;
    u32 flags = 0;
};

struct CapacityDraft {
    GroupCapacity value;
    CpuMask span;
    int weight = 0;
};

// One record of a chain. parent and child are level numbers of the same CPU, -1: none.
struct DomainDraft {
    int span = -1;
    int weight = 0; // before TOPO-21 adds CPUs: what intervals are made of (TOPO-22)
    int span_weight = 0;
    u32 flags = 0;
    int parent = -1;
    int child = -1;
    int imb_numa_nr = 0;
    int shared = -1; // number of the shared object it owns

    // Groups: `list` numbers a list of GroupDrafts. Non-NUMA lists are rings that all CPUs of a span share (TOPO-29),
    // entered at `local`; those of a NUMA domain begin with the local group, of which only the flags are its own.
    int list = -1;
    int local = 0;
    u32 local_flags = 0; // NUMA
};

// A shared object of sched_domain_shared before it is known whether a domain keeps it (TOPO-54..56).
struct SharedDraft {
    u32 tag = 0;
    int nr_busy_cpus = 0;
    DomainShared *object = nullptr;
};

struct LevelDraft {
    const TopologyLevel *table = nullptr;
    SpanSet spans;             // cut to the partition
    std::vector<int> weights;  // by span number
    std::vector<u32> asym;     // flags of TOPO-26 by span number
    std::vector<int> cut;      // by mask number of the table: span number
    std::vector<int> group_at; // by CPU: number of the shared (non-NUMA) group whose key it is, -1: none
    std::vector<int> sgc_at;   // by CPU: the capacity object that would be its
    std::vector<int> list_of;  // last list built, by span number; of NUMA levels by span number of the child

    int add_span(const CpuMask &span, const std::vector<CpuMask> &classes, const CpuMask &map);
};

// Groups in list order.
struct GroupList {
    std::vector<int> groups; // numbers into Build::groups
};

struct Build {
    Build(const Machine &machine, const std::vector<TopologyLevel> &table, const CpuMask &map);

    const Machine &machine;
    CpuMask map;
    std::vector<LevelDraft> levels;
    std::vector<DomainDraft> chains; // of CPU after CPU, bottom up
    std::vector<int> first;          // by CPU: its first record in chains
    std::vector<int> depth;          // by CPU: number of records
    std::vector<int> base;           // by CPU: level of the base domain once attached, -1: none

    std::vector<GroupDraft> groups;
    std::vector<GroupList> lists;
    std::deque<CapacityDraft> capacities;
    std::vector<SharedDraft> shared; // by CPU (sd_data.sds)

    // The domain of a CPU at a level, null if its chain ends below.
    DomainDraft *at(int level, CpuId cpu) {
        const auto i = static_cast<std::size_t>(cpu);
        return level >= 0 && level < depth[i] ? &chains[static_cast<std::size_t>(first[i] + level)] : nullptr;
    }
    [[nodiscard]] const CpuMask &span(int level, const DomainDraft &sd) const {
        return levels[static_cast<std::size_t>(level)].spans[sd.span];
    }
    [[nodiscard]] bool numa(int level) const {
        return (levels[static_cast<std::size_t>(level)].table->flags & SD_NUMA) != 0;
    }
    // Flags of the first group of a domain.
    u32 &local_flags(DomainDraft &sd) {
        return (sd.flags & SD_NUMA) != 0 ? sd.local_flags : groups[static_cast<std::size_t>(local_group(sd))].flags;
    }
    [[nodiscard]] int local_group(const DomainDraft &sd) const {
        return lists[static_cast<std::size_t>(sd.list)].groups[static_cast<std::size_t>(sd.local)];
    }
    [[nodiscard]] CapacityDraft &local_capacity(const DomainDraft &sd) {
        return capacities[static_cast<std::size_t>(groups[static_cast<std::size_t>(local_group(sd))].sgc)];
    }
};

// adjust_numa_imbalance of topology.c (TOPO-47..50) on one CPU's chain. at(level): its record, null above the last;
// `top`: level of the topmost one with SHARE_LLC, which has one above.
template <class At> void adjust_numa_imbalance(At at, int top) {
    const int parent_weight = at(top + 1)->span_weight;
    const int llcs = parent_weight / at(top)->span_weight;
    const int imb = std::max(1, llcs == 1 ? parent_weight >> 3 : llcs);
    int imb_span = parent_weight;
    for (int level = top + 2; at(level) != nullptr; level++)
        if ((at(level)->flags & SD_NUMA) != 0) {
            imb_span = at(level)->span_weight;
            break;
        }
    for (int level = top + 1; at(level) != nullptr; level++)
        at(level)->imb_numa_nr = imb * std::max(1, at(level)->span_weight / imb_span);
}

void build_groups(Build &build);                     // TOPO-28..35, and capacities as at build (TOPO-43)
void update_capacities(Build &build);                // TOPO-46
void attach_domains(Build &build, DomainTree &tree); // TOPO-36..41, TOPO-51..56

} // namespace fairground::fair
