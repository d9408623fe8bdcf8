// SPDX-License-Identifier: GPL-2.0-only
#include "fair/domain_levels.h"

#include "machine/machine.h"

#include <map>
#include <set>

namespace fairground::fair {

int SpanSet::add(const CpuMask &span) {
    const auto first = static_cast<std::size_t>(span.first() + 1);
    if (by_first_.size() <= first)
        by_first_.resize(first + 1, -1);
    for (int number = by_first_[first]; number >= 0; number = next_[static_cast<std::size_t>(number)])
        if (spans_[static_cast<std::size_t>(number)] == span)
            return number;
    const int number = size();
    spans_.push_back(span);
    next_.push_back(by_first_[first]);
    by_first_[first] = number;
    return number;
}

std::size_t node_of(const Machine &machine, CpuId cpu) {
    const NodeId node = machine.cpus[static_cast<std::size_t>(cpu)].node;
    return node.valid() ? static_cast<std::size_t>(node) : 0;
}

std::vector<CpuMask> node_cpus(const Machine &machine, const CpuMask &population) {
    std::vector<CpuMask> nodes(std::max<std::size_t>(machine.nodes.size(), 1));
    for (CpuId cpu : population)
        nodes[node_of(machine, cpu)].set(cpu);
    return nodes;
}

BootFacts boot_facts(const Machine &machine) {
    BootFacts facts{0, machine.threads_per_core, machine.nodes_per_package};
    std::set<int> packages;
    std::set<std::size_t> nodes;
    int threads = 1;
    for (CpuId cpu : machine.present()) {
        packages.insert(machine.cpus[static_cast<std::size_t>(cpu)].package);
        nodes.insert(node_of(machine, cpu));
        threads = std::max(threads, machine.cpus[static_cast<std::size_t>(cpu)].smt.weight());
    }
    facts.packages = static_cast<int>(packages.size());
    if (facts.threads_per_core == 0)
        facts.threads_per_core = threads;
    if (facts.nodes_per_package == 0 && !packages.empty())
        facts.nodes_per_package = static_cast<int>((nodes.size() + packages.size() - 1) / packages.size());
    return facts;
}

SiblingMasks::SiblingMasks(const Machine &machine, const CpuMask &population)
    : machine_(machine), population_(population), nodes_(node_cpus(machine, population)),
      cluster_of_(machine.cpus.size()) {
    if (machine.arch == Arch::x86)
        return;
    std::map<std::pair<int, int>, CpuMask *> known; // TOPO-9: ids count within a package
    for (CpuId id : population) {
        const Cpu &cpu = machine.cpus[static_cast<std::size_t>(id)];
        if (cpu.cluster < 0)
            continue;
        CpuMask *&mask = known[{cpu.package, cpu.cluster}];
        if (mask == nullptr)
            mask = &clusters_.emplace_back();
        mask->set(id);
        cluster_of_[static_cast<std::size_t>(id)] = mask;
    }
}

// A sibling mask without CPUs outside the population and, on x86, outside the node: topology_sane, and silently on
// SNC parts (TOPO-6, -7).
CpuMask SiblingMasks::cut(const CpuMask &mask, CpuId cpu) const {
    CpuMask out = mask;
    out &= machine_.arch == Arch::x86 ? node(cpu) : population_;
    out.set(cpu);
    return out;
}

CpuMask SiblingMasks::smt(CpuId cpu) const { return cut(machine_.cpus[static_cast<std::size_t>(cpu)].smt, cpu); }

CpuMask SiblingMasks::cluster_group(CpuId id) const {
    const Cpu &cpu = machine_.cpus[static_cast<std::size_t>(id)];
    if (machine_.arch == Arch::x86) // TOPO-7
        return cpu.l2.empty() ? smt(id) : cut(cpu.l2, id);
    const CpuMask *cluster = cluster_of_[static_cast<std::size_t>(id)];
    const CpuMask sibling = cluster != nullptr ? *cluster : CpuMask::of(id);
    return core_group(id).subset_of(sibling) ? smt(id) : sibling; // TOPO-11
}

CpuMask SiblingMasks::core_group(CpuId id) const {
    const Cpu &cpu = machine_.cpus[static_cast<std::size_t>(id)];
    if (machine_.arch == Arch::x86) { // TOPO-6
        CpuMask mask = cut(cpu.llc, id);
        if (machine_.split_llc > 0)
            for (CpuId other : CpuMask(mask))
                if (machine_.cpus[static_cast<std::size_t>(other)].core % machine_.split_llc !=
                    cpu.core % machine_.split_llc)
                    mask.clear(other);
        return mask;
    }
    // TOPO-10: the smallest of node, package and LLC that nest, then the cluster if it holds all of that.
    CpuMask mask = node(id);
    const CpuMask package = cut(cpu.package_mask, id);
    if (package.subset_of(mask))
        mask = package;
    const CpuMask llc = cut(cpu.llc, id);
    if (!cpu.llc.empty() && llc.subset_of(mask))
        mask = llc;
    const CpuMask *cluster = cluster_of_[static_cast<std::size_t>(id)];
    if (cluster != nullptr && mask.subset_of(*cluster))
        mask = *cluster;
    return mask;
}

namespace {

template <class MaskOf>
TopologyLevel level(const char *name, u32 flags, int distance, std::size_t cpus, const CpuMask &online,
                    MaskOf mask_of) {
    TopologyLevel out{name, flags, distance, {}, std::vector<int>(cpus, -1)};
    for (CpuId cpu : online)
        out.mask_of[static_cast<std::size_t>(cpu)] = out.masks.add(mask_of(cpu));
    return out;
}

} // namespace

std::vector<TopologyLevel> topology_levels(const Machine &machine, const CpuMask &online, const NumaLevels &numa) {
    const SiblingMasks masks(machine, online);
    const bool x86 = machine.arch == Arch::x86;
    const BootFacts boot = boot_facts(machine);
    const u32 itmt = x86 && machine.asym_packing ? u32{SD_ASYM_PACKING} : 0; // TOPO-8
    std::vector<TopologyLevel> levels;
    const auto add = [&](const char *name, u32 flags, int distance, auto mask_of) {
        levels.push_back(level(name, flags, distance, machine.cpus.size(), online, mask_of));
    };
    // TOPO-2; x86 leaves SMT and PKG out where they would say nothing (TOPO-8).
    if (!x86 || boot.threads_per_core > 1)
        add("SMT", SD_SHARE_CPUCAPACITY | SD_SHARE_LLC, 0, [&](CpuId cpu) { return masks.smt(cpu); });
    add("CLS", SD_CLUSTER | SD_SHARE_LLC | itmt, 0, [&](CpuId cpu) { return masks.cluster_group(cpu); });
    add("MC", SD_SHARE_LLC | itmt, 0, [&](CpuId cpu) { return masks.core_group(cpu); });
    if (!x86 || boot.nodes_per_package <= 1)
        add("PKG", itmt, 0, [&](CpuId cpu) -> const CpuMask & { return masks.node(cpu); }); // TOPO-3
    // TOPO-4, TOPO-15.
    for (std::size_t k = 0; k < numa.levels.size(); k++)
        add(k == 0 ? "NODE" : "NUMA", k == 0 ? 0 : u32{SD_NUMA}, k == 0 ? 0 : numa.levels[k],
            [&](CpuId cpu) -> const CpuMask & { return numa.masks[k][node_of(machine, cpu)]; });
    return levels;
}

} // namespace fairground::fair
