// SPDX-License-Identifier: GPL-2.0-only
#include "fair/numa_levels.h"

#include "fair/domain_levels.h"
#include "machine/machine.h"

#include <array>
#include <optional>

namespace fairground::fair {

namespace {

using Matrix = std::vector<std::vector<int>>;

constexpr int local_distance = 10;
constexpr int remote_distance = 20;
constexpr int distance_end = 256; // TOPO-12: distances are 8 bits wide

Matrix firmware_distance(const Machine &machine, std::size_t nodes) {
    if (machine.distance.size() == nodes)
        return machine.distance;
    Matrix d(nodes, std::vector<int>(nodes, remote_distance));
    for (std::size_t node = 0; node < nodes; node++)
        d[node][node] = local_distance;
    return d;
}

// The firmware's view by node number, which is what packages are counted in (TOPO-17).
struct Slit {
    const Machine &machine;
    const Matrix &d;
    const std::vector<CpuMask> &node_cpus;
    std::vector<int> position; // by the firmware's node number; -1: no such node
    int u;                     // nodes per package

    [[nodiscard]] int at(int number) const {
        return number < static_cast<int>(position.size()) ? position[static_cast<std::size_t>(number)] : -1;
    }
    [[nodiscard]] int distance(int a, int b) const {
        const int from = at(a);
        const int to = at(b);
        if (from < 0 || to < 0)
            return a == b ? local_distance : remote_distance;
        return d[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
    }
    // The package that holds all CPUs of the block of nodes from `first` on.
    [[nodiscard]] std::optional<int> package(int first) const {
        std::optional<int> found;
        for (int number = first; number < first + u; number++) {
            if (at(number) < 0)
                continue;
            for (CpuId cpu : node_cpus[static_cast<std::size_t>(at(number))]) {
                const int package = machine.cpus[static_cast<std::size_t>(cpu)].package;
                if (found && *found != package)
                    return {};
                found = package;
            }
        }
        return found;
    }
    [[nodiscard]] bool symmetric(int first) const {
        for (int a = first; a < first + u; a++)
            for (int b = a + 1; b < first + u; b++)
                if (distance(a, b) != distance(b, a))
                    return false;
        return true;
    }
    [[nodiscard]] bool valid(int packages) const {
        std::optional<int> previous;
        for (int block = 0; block < packages; block++) {
            const auto holder = package(block * u);
            if (!symmetric(block * u) || !holder || holder == previous)
                return false;
            previous = holder;
        }
        return true;
    }
    [[nodiscard]] int average(int a, int b) const {
        int sum = 0;
        for (int x = a - a % u; x < a - a % u + u; x++)
            for (int y = b - b % u; y < b - b % u + u; y++)
                sum += distance(x, y) + distance(y, x);
        return sum / (2 * u * u);
    }
};

// arch_sched_node_distance of x86 (TOPO-17); d elsewhere.
Matrix scheduler_distance(const Machine &machine, const Matrix &d, const std::vector<CpuMask> &node_cpus,
                          std::vector<std::string> &notes) {
    const BootFacts boot = boot_facts(machine);
    if (machine.arch != Arch::x86 || !machine.snc_average || boot.packages <= 1 || boot.nodes_per_package < 3 ||
        machine.nodes.empty())
        return d;
    Slit slit{machine, d, node_cpus, {}, boot.nodes_per_package};
    for (std::size_t node = 0; node < machine.nodes.size(); node++) {
        const auto number = static_cast<std::size_t>(machine.nodes[node].os_index);
        if (slit.position.size() <= number)
            slit.position.resize(number + 1, -1);
        slit.position[number] = static_cast<int>(node);
    }
    if (!slit.valid(boot.packages)) {
        notes.emplace_back("SLIT table doesn't have the expected form for SNC: distances are used as they are");
        return d;
    }
    notes.emplace_back("SNC: distances between packages are averaged");
    Matrix s = d;
    for (std::size_t a = 0; a < d.size(); a++)
        for (std::size_t b = 0; b < d.size(); b++) {
            const int from = machine.nodes[a].os_index;
            const int to = machine.nodes[b].os_index;
            if (from / slit.u != to / slit.u)
                s[a][b] = slit.average(from, to);
        }
    return s;
}

// Distinct distances between nodes with CPUs, ascending (TOPO-12, -13); nothing if a value is out of range.
std::vector<int> distinct(const Matrix &distance, const std::vector<int> &nodes) {
    std::array<bool, distance_end> seen{};
    for (int a : nodes)
        for (int b : nodes) {
            const int value = distance[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
            if (value < local_distance || value >= distance_end)
                return {};
            seen[static_cast<std::size_t>(value)] = true;
        }
    std::vector<int> values;
    for (int value = 0; value < distance_end; value++)
        if (seen[static_cast<std::size_t>(value)])
            values.push_back(value);
    return values;
}

// TOPO-18, NUMA-3: only the first pair at maximum distance decides.
NumaTopology topology_type(const Matrix &d, const std::vector<int> &nodes, std::size_t levels, int max) {
    if (levels <= 2)
        return NumaTopology::direct;
    const auto at = [&](int a, int b) { return d[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)]; };
    for (int a : nodes)
        for (int b : nodes) {
            if (at(a, b) < max)
                continue;
            for (int c : nodes)
                if (at(a, c) < max && at(b, c) < max)
                    return NumaTopology::glueless_mesh;
            return NumaTopology::backplane;
        }
    return NumaTopology::direct;
}

} // namespace

NumaLevels numa_levels(const Machine &machine, const std::vector<CpuMask> &node_cpus, std::vector<std::string> &notes) {
    NumaLevels numa;
    std::vector<int> nodes;
    for (std::size_t node = 0; node < node_cpus.size(); node++)
        if (!node_cpus[node].empty())
            nodes.push_back(static_cast<int>(node));
    numa.firmware = firmware_distance(machine, node_cpus.size());
    const Matrix s = scheduler_distance(machine, numa.firmware, node_cpus, notes);
    numa.firmware_levels = distinct(numa.firmware, nodes);
    numa.levels = distinct(s, nodes);
    if (numa.firmware_levels.empty() || numa.levels.empty()) {
        numa.firmware_levels.clear();
        numa.levels.clear();
        notes.emplace_back("Invalid distance value range: no NODE and NUMA domains");
        return numa;
    }
    numa.type = topology_type(numa.firmware, nodes, numa.levels.size(), numa.firmware_levels.back());

    bool symmetric = true;
    numa.masks.assign(numa.levels.size(), std::vector<CpuMask>(node_cpus.size()));
    for (int a : nodes)
        for (int b : nodes) {
            const auto from = static_cast<std::size_t>(a);
            const auto to = static_cast<std::size_t>(b);
            symmetric &= s[from][to] == s[to][from];
            for (std::size_t level = 0; level < numa.levels.size(); level++) // TOPO-14
                if (s[from][to] <= numa.levels[level])
                    numa.masks[level][from] |= node_cpus[to];
        }
    if (!symmetric)
        notes.emplace_back("Node-distance not symmetric");
    return numa;
}

} // namespace fairground::fair
