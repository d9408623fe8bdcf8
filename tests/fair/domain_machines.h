// SPDX-License-Identifier: GPL-2.0-only
//
// Machines for domain tests, built directly: nodes of equal shape, CPUs numbered node by node.
#pragma once

#include "fair/domains.h"
#include "machine/machine.h"

namespace fairground::fair {

struct Shape {
    Arch arch = Arch::arm64;
    std::vector<std::vector<int>> distance{{10}};
    std::vector<int> cores; // per node
    int smt = 1;            // threads; siblings have neighbouring numbers unless `far`
    bool far = false;       // all first threads of the machine before all second ones
    int llc = 0;            // cores per LLC; 0: the node
    int l2 = 1;             // cores per L2
    int cluster = 0;        // cores per Arm cluster; 0: no cluster ids
    int nodes_per_package = 1;
};

inline Machine make_machine(const Shape &shape) {
    Machine m;
    m.arch = shape.arch;
    m.distance = shape.distance;
    int total = 0;
    for (int cores : shape.cores)
        total += cores;
    m.cpus.resize(static_cast<std::size_t>(total * shape.smt));
    struct Place {
        int core, llc, l2, cluster, package;
    };
    std::vector<Place> places(m.cpus.size());
    int core = 0;
    for (std::size_t node = 0; node < shape.cores.size(); node++) {
        m.nodes.push_back({static_cast<int>(node), {}});
        for (int i = 0; i < shape.cores[node]; i++, core++)
            for (int thread = 0; thread < shape.smt; thread++) {
                const auto id = static_cast<std::size_t>(shape.far ? thread * total + core : core * shape.smt + thread);
                Cpu &cpu = m.cpus[id];
                cpu.present = cpu.online = true;
                cpu.node = NodeId{static_cast<s64>(node)};
                cpu.package = static_cast<int>(node) / shape.nodes_per_package;
                cpu.core = core;
                const int home = static_cast<int>(node) * 100000;
                cpu.cluster = shape.cluster > 0 ? home + i / shape.cluster : -1;
                places[id] = {core, home + (shape.llc > 0 ? i / shape.llc : 0), home + i / shape.l2, cpu.cluster,
                              cpu.package};
                m.nodes[node].cpus.set(CpuId{static_cast<s64>(id)});
            }
    }
    for (std::size_t a = 0; a < places.size(); a++)
        for (std::size_t b = 0; b < places.size(); b++) {
            const CpuId other{static_cast<s64>(b)};
            if (places[a].core == places[b].core)
                m.cpus[a].smt.set(other);
            if (places[a].l2 == places[b].l2)
                m.cpus[a].l2.set(other);
            if (places[a].llc == places[b].llc)
                m.cpus[a].llc.set(other);
            if (places[a].package == places[b].package)
                m.cpus[a].package_mask.set(other);
        }
    return m;
}

// Domain of a CPU by name and number among those of that name, null if there is none.
inline const Domain *find(const DomainTree &tree, int cpu, std::string_view name, int number = 0) {
    for (const Domain *sd = tree.cpus[static_cast<std::size_t>(cpu)].base; sd != nullptr; sd = sd->parent)
        if (sd->name == name && number-- == 0)
            return sd;
    return nullptr;
}

// "MC NUMA NUMA".
inline std::string names(const DomainTree &tree, int cpu) {
    std::string text;
    for (const Domain *sd = tree.cpus[static_cast<std::size_t>(cpu)].base; sd != nullptr; sd = sd->parent)
        text.append(text.empty() ? "" : " ").append(sd->name);
    return text;
}

// Nodes that a mask consists of: "0+2"; "?" if it cuts through a node.
inline std::string nodes_in(const Machine &machine, const CpuMask &mask) {
    std::string text;
    CpuMask left = mask;
    for (std::size_t node = 0; node < machine.nodes.size(); node++) {
        const CpuMask &cpus = machine.nodes[node].cpus;
        if (cpus.empty() || !cpus.subset_of(mask))
            continue;
        text.append(text.empty() ? "" : "+").append(std::to_string(node));
        left -= cpus;
    }
    return left.empty() ? text : "?";
}

// Groups in list order: "{0+1}ps@0 {2}@2": nodes of the group, ps with PREFER_SIBLING, nodes of the balance mask.
inline std::string groups(const Machine &machine, const Domain *sd) {
    if (sd == nullptr)
        return "none";
    std::string text;
    for (const SchedGroup *group : sd->groups) {
        text.append(text.empty() ? "{" : " {").append(nodes_in(machine, group->span)).append("}");
        text.append((group->flags & SD_PREFER_SIBLING) != 0 ? "ps@" : "@");
        text.append(nodes_in(machine, group->sgc->balance_mask));
    }
    return text;
}

} // namespace fairground::fair
