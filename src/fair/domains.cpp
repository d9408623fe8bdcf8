// SPDX-License-Identifier: GPL-2.0-only
//
// build_sched_domains: chains of all CPUs of a partition, groups (domain_groups.cpp), removal of what is redundant
// (domain_attach.cpp).
#include "fair/domains.h"

#include "fair/domain_build.h"
#include "machine/machine.h"

#include <algorithm>
#include <array>

namespace fairground::fair {

namespace {

constexpr std::array<std::string_view, 14> flag_table{
    "BALANCE_NEWIDLE",  "BALANCE_EXEC",          "BALANCE_FORK",      "BALANCE_WAKE", "WAKE_AFFINE",
    "ASYM_CPUCAPACITY", "ASYM_CPUCAPACITY_FULL", "SHARE_CPUCAPACITY", "CLUSTER",      "SHARE_LLC",
    "SERIALIZE",        "ASYM_PACKING",          "PREFER_SIBLING",    "NUMA"};

} // namespace

std::string flag_names(u32 flags) {
    std::string text;
    for (std::size_t bit = 0; bit < flag_table.size(); bit++)
        if ((flags >> bit & 1) != 0)
            text.append(text.empty() ? "" : " ").append(flag_table[bit]);
    return text;
}

u32 flag_by_name(std::string_view name) {
    if (name.starts_with("SD_"))
        name.remove_prefix(3);
    for (std::size_t bit = 0; bit < flag_table.size(); bit++)
        if (flag_table[bit] == name)
            return u32{1} << bit;
    return 0;
}

Build::Build(const Machine &from, const std::vector<TopologyLevel> &table, const CpuMask &partition)
    : machine(from), map(partition), levels(table.size()), first(from.cpus.size(), -1), depth(from.cpus.size(), 0),
      base(from.cpus.size(), -1), shared(from.cpus.size()) {
    for (std::size_t level = 0; level < table.size(); level++) {
        levels[level].table = &table[level];
        levels[level].cut.assign(static_cast<std::size_t>(table[level].masks.size()), -1);
        levels[level].group_at.assign(from.cpus.size(), -1);
        levels[level].sgc_at.assign(from.cpus.size(), -1);
    }
}

// TOPO-26: which of the machine's capacity classes a span touches, compared with those that occur in the partition.
int LevelDraft::add_span(const CpuMask &span, const std::vector<CpuMask> &classes, const CpuMask &map) {
    const int number = spans.add(span);
    if (static_cast<std::size_t>(number) < weights.size())
        return number;
    int touched = 0;
    bool missed = false;
    for (const CpuMask &members : classes)
        if (members.intersects(span))
            touched++;
        else if (members.intersects(map))
            missed = true;
    u32 flags = 0;
    if (touched >= 2)
        flags = missed ? u32{SD_ASYM_CPUCAPACITY} : u32{SD_ASYM_CPUCAPACITY} | SD_ASYM_CPUCAPACITY_FULL;
    weights.push_back(span.weight());
    asym.push_back(flags);
    list_of.push_back(-1);
    return number;
}

namespace {

// One mask per value of arch_scale_cpu_capacity, if there are several (TOPO-26).
std::vector<CpuMask> capacity_classes(const Machine &machine) {
    std::vector<int> values;
    std::vector<CpuMask> classes;
    for (CpuId cpu : machine.present()) {
        const int capacity = machine.cpus[static_cast<std::size_t>(cpu)].capacity;
        const auto at = static_cast<std::size_t>(std::ranges::find(values, capacity) - values.begin());
        if (at == values.size()) {
            values.push_back(capacity);
            classes.emplace_back();
        }
        classes[at].set(cpu);
    }
    if (classes.size() < 2)
        classes.clear();
    return classes;
}

// topology_span_sane (TOPO-5): the name of a level whose masks overlap without being equal, or null.
const char *insane_level(const std::vector<TopologyLevel> &table, const CpuMask &map) {
    for (const TopologyLevel &level : table) {
        if ((level.flags & SD_NUMA) != 0)
            continue;
        std::vector<bool> seen(static_cast<std::size_t>(level.masks.size()));
        CpuMask covered;
        for (CpuId cpu : map) {
            const int mask = level.mask_of[static_cast<std::size_t>(cpu)];
            if (seen[static_cast<std::size_t>(mask)])
                continue;
            seen[static_cast<std::size_t>(mask)] = true;
            if (covered.intersects(level.masks[mask]))
                return level.name;
            covered |= level.masks[mask];
        }
    }
    return nullptr;
}

// sd_init (TOPO-22..25, TOPO-27).
u32 domain_flags(const TopologyLevel &level, int number, u32 asym, int reclaim_distance, int relax) {
    u32 flags = SD_BALANCE_NEWIDLE | SD_BALANCE_EXEC | SD_BALANCE_FORK | SD_WAKE_AFFINE | SD_PREFER_SIBLING |
                level.flags | asym;
    if ((level.flags & SD_NUMA) != 0) { // TOPO-24
        flags &= ~u32{SD_PREFER_SIBLING};
        flags |= SD_SERIALIZE;
        if (level.distance > reclaim_distance) // TOPO-25
            flags &= ~(u32{SD_BALANCE_EXEC} | SD_BALANCE_FORK | SD_WAKE_AFFINE);
    }
    if (relax >= 0 && number >= relax) // TOPO-27
        flags &= ~(u32{SD_BALANCE_NEWIDLE} | SD_BALANCE_WAKE);
    return flags;
}

// TOPO-20..25: the full chain of every CPU.
void build_chains(Build &b, const std::vector<CpuMask> &classes, int reclaim_distance, int relax,
                  std::vector<std::string> &notes) {
    const int map_weight = b.map.weight();
    const char *broken = nullptr;
    for (CpuId cpu : b.map) {
        const auto i = static_cast<std::size_t>(cpu);
        b.first[i] = static_cast<int>(b.chains.size());
        for (std::size_t number = 0; number < b.levels.size(); number++) {
            LevelDraft &level = b.levels[number];
            const int mask = level.table->mask_of[i];
            int &cut = level.cut[static_cast<std::size_t>(mask)];
            if (cut < 0)
                cut = level.add_span(level.table->masks[mask] & b.map, classes, b.map);
            DomainDraft sd;
            sd.span = cut;
            sd.weight = level.weights[static_cast<std::size_t>(cut)];
            sd.flags = domain_flags(*level.table, static_cast<int>(number), level.asym[static_cast<std::size_t>(cut)],
                                    reclaim_distance, relax);
            if (number > 0) {
                sd.child = static_cast<int>(number) - 1;
                b.chains.back().parent = static_cast<int>(number);
                const CpuMask &child = b.span(sd.child, b.chains.back());
                if (!child.subset_of(level.spans[sd.span])) { // TOPO-21
                    sd.span = level.add_span(level.spans[sd.span] | child, classes, b.map);
                    broken = level.table->name;
                }
            }
            sd.span_weight = level.weights[static_cast<std::size_t>(sd.span)];
            b.chains.push_back(sd);
            b.depth[i]++;
            if (sd.span_weight == map_weight)
                break;
        }
    }
    if (broken != nullptr)
        notes.push_back(std::string("arch topology borken: a child domain is not a subset of ") + broken);
}

// init_sched_domain_shared: the object of the first CPU of the span that is free or has the same tag.
void claim_shared(Build &b, int level, DomainDraft &sd, u32 tag) {
    int number = -1;
    for (CpuId cpu : b.span(level, sd)) {
        number = cpu;
        const u32 has = b.shared[static_cast<std::size_t>(cpu)].tag;
        if (has == 0 || has == tag || sd.span_weight == 1) {
            b.shared[static_cast<std::size_t>(cpu)].tag = tag;
            break;
        }
    }
    sd.shared = number;
    b.shared[static_cast<std::size_t>(number)].nr_busy_cpus = sd.span_weight;
}

// TOPO-47..50, TOPO-54, TOPO-56, TOPO-57. True if the CPU's LLC is one of several in the partition.
bool init_llc(Build &b, CpuId cpu, bool asym) {
    for (int level = 0; asym && b.at(level, cpu) != nullptr; level++) {
        DomainDraft &sd = *b.at(level, cpu);
        if ((sd.flags & SD_ASYM_CPUCAPACITY_FULL) == 0)
            continue;
        if (!b.numa(level))
            claim_shared(b, level, sd, SD_ASYM_CPUCAPACITY);
        break;
    }
    int top = 0;
    while (b.at(top + 1, cpu) != nullptr && (b.at(top + 1, cpu)->flags & SD_SHARE_LLC) != 0)
        top++;
    DomainDraft &llc = *b.at(top, cpu);
    if ((llc.flags & SD_SHARE_LLC) == 0)
        return false;
    claim_shared(b, top, llc, SD_SHARE_LLC);
    if (b.at(top + 1, cpu) == nullptr)
        return false;
    adjust_numa_imbalance([&b, cpu](int level) { return b.at(level, cpu); }, top);
    const int last = b.depth[static_cast<std::size_t>(cpu)] - 1;
    return llc.span_weight > 1 && b.at(last, cpu)->span_weight != llc.span_weight;
}

// TOPO-53: numbers follow the hardware mask, were given at boot to all CPUs and survive rebuilds.
void number_llcs(const Machine &machine, DomainTree &tree) {
    const CpuMask present = machine.present();
    const CpuMask online = machine.online();
    const SiblingMasks masks(machine, present);
    // An offline CPU alone in its mask is mostly one of which nothing is known.
    bool lone = true;
    for (CpuId cpu : online)
        lone &= masks.core_group(cpu).weight() == 1;
    int next = 0;
    for (CpuId cpu : present) {
        int &own = tree.cpus[static_cast<std::size_t>(cpu)].llc_id;
        const CpuMask sharers = masks.core_group(cpu);
        if (own < 0 && (online.test(cpu) || sharers.weight() > 1 || lone)) {
            for (CpuId sibling : sharers)
                if (own < 0)
                    own = tree.cpus[static_cast<std::size_t>(sibling)].llc_id;
            if (own < 0)
                own = next++;
            for (CpuId sibling : sharers) // also those whose own mask lacks this CPU, as it is offline
                if (int &id = tree.cpus[static_cast<std::size_t>(sibling)].llc_id; id < 0)
                    id = own;
        }
        if (online.test(cpu))
            tree.max_llc_id = std::max(tree.max_llc_id, own);
    }
}

void build_partition(const Machine &machine, const std::vector<TopologyLevel> &table, const CpuMask &map, int relax,
                     DomainTree &tree) {
    if (const char *level = insane_level(table, map)) {
        tree.notes.push_back("CPUs " + to_list(map) + ": masks of level " + level +
                             " overlap without being equal, so these CPUs get no domains");
        return;
    }
    Build b(machine, table, map);
    build_chains(b, capacity_classes(machine), tree.node_reclaim_distance, relax, tree.notes);
    build_groups(b);
    bool asym = false;
    for (const DomainDraft &sd : b.chains)
        asym |= (sd.flags & SD_ASYM_CPUCAPACITY) != 0;
    tree.asym_cpucapacity |= asym;
    for (CpuId cpu : map) {
        tree.multi_llc |= init_llc(b, cpu, asym);
        tree.level_max = std::max(tree.level_max, b.depth[static_cast<std::size_t>(cpu)] - 1);
    }
    update_capacities(b);
    attach_domains(b, tree);
}

} // namespace

DomainTree build_domains(const Machine &machine, const std::vector<CpuMask> &partitions, int relax_domain_level) {
    DomainTree tree; // TOPO-59: nothing of an earlier tree lives on
    const CpuMask online = machine.online();
    tree.cpus.resize(machine.cpus.size());
    tree.node_reclaim_distance = machine.amd_zen ? 32 : 30; // TOPO-25
    const NumaLevels numa = numa_levels(machine, node_cpus(machine, online), tree.notes);
    tree.numa_level_distances = numa.levels;
    tree.firmware_distances = numa.firmware_levels;
    tree.max_numa_distance = numa.firmware_levels.empty() ? 0 : numa.firmware_levels.back();
    tree.numa_topology = numa.type;
    if (machine.nodes.size() > 1)
        tree.node_distance = numa.firmware;

    const SiblingMasks masks(machine, online);
    for (CpuId cpu : machine.present()) {
        CpuDomains &own = tree.cpus[static_cast<std::size_t>(cpu)];
        own.share_id = cpu;
        own.node = NodeId{static_cast<s64>(node_of(machine, cpu))};
        own.capacity = machine.cpus[static_cast<std::size_t>(cpu)].capacity;
        if (!online.test(cpu))
            continue;
        own.smt = masks.smt(cpu);
        tree.smt_active |= own.smt.weight() > 1;
    }
    number_llcs(machine, tree);

    const std::vector<TopologyLevel> table = topology_levels(machine, online, numa);
    for (const CpuMask &partition : partitions) // TOPO-1
        if (const CpuMask map = partition & online; !map.empty())
            build_partition(machine, table, map, relax_domain_level, tree);
    if (tree.multi_llc) // LB-95; every level 0 shares an LLC
        for (CpuDomains &own : tree.cpus)
            if (own.base != nullptr)
                own.base->llc_counts.resize(static_cast<std::size_t>(tree.max_llc_id) + 1);
    return tree;
}

DomainTree build_domains(const Machine &machine) { return build_domains(machine, {machine.online()}); }

} // namespace fairground::fair
