// SPDX-License-Identifier: GPL-2.0-only
#include "base/error.h"
#include "machine/readers.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace fairground {

namespace {

struct Core {
    std::vector<CpuId> threads;
    std::size_t node;
    int package = 0;
    int number = 0; // in the package
};

// Number of the core of a CPU, from the CPU's own number: siblings are neighbours, or all first threads come first.
int core_key(CpuId cpu, const Cut &cut, int highest) {
    const int cores = (highest + cut.smt) / cut.smt; // (highest + 1) / smt, rounded up
    return cut.adjacent ? cpu / cut.smt : cpu % cores;
}

std::vector<Core> cores_of_node(const Machine &machine, std::size_t node, const Cut &cut) {
    std::map<int, Core> cores;
    for (CpuId cpu : machine.nodes[node].cpus) {
        Core &core = cores[core_key(cpu, cut, machine.present().last())];
        core.threads.push_back(cpu);
        core.node = node;
    }
    std::vector<Core> list;
    for (auto &[key, core] : cores)
        list.push_back(std::move(core));
    return list;
}

// Packages are runs of nodes, or equal parts of each node where there are more packages than nodes.
void number_packages(std::vector<std::vector<Core>> &nodes, int packages, const std::string &label) {
    const auto n = static_cast<int>(nodes.size());
    if (packages == 0)
        packages = n;
    if (packages < n ? n % packages != 0 : packages % n != 0)
        throw InputError(label + ": " + std::to_string(packages) + " packages do not fit " + std::to_string(n) +
                         " nodes with CPUs, expected one number to divide the other");
    std::vector<int> next(static_cast<std::size_t>(packages));
    for (int node = 0; node < n; node++) {
        const int parts = std::max(1, packages / n);
        auto &cores = nodes[static_cast<std::size_t>(node)];
        const auto size = static_cast<int>(cores.size());
        if (size < parts)
            throw InputError(label + ": a node with " + std::to_string(size) + " cores cannot hold " +
                             std::to_string(parts) + " packages");
        for (int i = 0; i < size; i++) {
            Core &core = cores[static_cast<std::size_t>(i)];
            core.package = packages < n ? node / (n / packages) : node * parts + i * parts / size;
            core.number = next[static_cast<std::size_t>(core.package)]++;
        }
    }
}

} // namespace

bool cores_fit_nodes(const Machine &machine, const Cut &cut) {
    std::map<int, std::size_t> node_of;
    for (std::size_t node = 0; node < machine.nodes.size(); node++)
        for (CpuId cpu : machine.nodes[node].cpus)
            if (node_of.try_emplace(core_key(cpu, cut, machine.present().last()), node).first->second != node)
                return false;
    return true;
}

void cut(Machine &machine, const Cut &cut, const std::string &label) {
    if (!cores_fit_nodes(machine, cut))
        throw InputError(label + ": with " + std::to_string(cut.smt) + " threads a core and " +
                         (cut.adjacent ? "adjacent" : "late") +
                         " numbering of siblings, threads of one core would be in different nodes; expected another "
                         "smt or numbering");
    std::vector<std::vector<Core>> nodes;
    for (std::size_t node = 0; node < machine.nodes.size(); node++)
        if (!machine.nodes[node].cpus.empty())
            nodes.push_back(cores_of_node(machine, node, cut));
    if (nodes.empty())
        throw InputError(label + ": no node has CPUs, expected at least one");
    number_packages(nodes, cut.packages, label);

    using Key = std::tuple<int, int, s64>; // kind of mask, package, number in it
    std::map<Key, CpuMask> masks;
    const auto keys = [&](const Core &core) {
        const s64 llc = cut.llc > 0 ? core.number / cut.llc : static_cast<s64>(core.node);
        return std::array<Key, 4>{Key{0, core.package, core.number}, Key{1, core.package, core.number / cut.l2},
                                  Key{2, core.package, llc}, Key{3, core.package, 0}};
    };
    for (const auto &node : nodes)
        for (const Core &core : node)
            for (const Key &key : keys(core))
                for (CpuId cpu : core.threads)
                    masks[key].set(cpu);
    for (const auto &node : nodes)
        for (const Core &core : node) {
            const auto key = keys(core);
            for (CpuId id : core.threads) {
                Cpu &cpu = machine.cpus[static_cast<std::size_t>(id.value)];
                cpu.package = core.package;
                cpu.core = core.number;
                cpu.cluster = cut.cluster > 0 ? core.number / cut.cluster : -1;
                cpu.smt = masks[key[0]];
                cpu.l2 = masks[key[1]];
                cpu.llc = masks[key[2]];
                cpu.package_mask = masks[key[3]];
            }
        }
}

int smt_from_node_lists(const Machine &machine) {
    int threads = 0;
    int stride = 0;
    for (const Node &node : machine.nodes) {
        std::vector<std::pair<int, int>> runs; // first, length
        for (CpuId cpu : node.cpus)
            if (!runs.empty() && cpu == runs.back().first + runs.back().second)
                runs.back().second++;
            else
                runs.emplace_back(cpu, 1);
        if (runs.empty())
            continue;
        const auto n = static_cast<int>(runs.size());
        if (threads == 0)
            threads = n;
        // Round-robin numbering (node = CPU modulo nodes) has runs of one CPU: it says nothing about threads.
        if (n != threads || n < 2 || n > 8 || runs[0].second == 1)
            return 1;
        for (std::size_t i = 1; i < runs.size(); i++) {
            const int apart = runs[i].first - runs[i - 1].first;
            if (stride == 0)
                stride = apart;
            if (apart != stride || runs[i].second != runs[0].second)
                return 1;
        }
    }
    return threads > 1 && stride * threads == machine.present().weight() ? threads : 1;
}

} // namespace fairground
