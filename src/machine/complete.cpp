// SPDX-License-Identifier: GPL-2.0-only
#include "base/error.h"
#include "machine/readers.h"

#include <algorithm>
#include <numeric>

namespace fairground {

namespace {

std::string count(s64 number, const char *what) {
    return std::to_string(number) + ' ' + what + (number == 1 ? "" : "s");
}

// Once only: an overlay completes its base a second time.
void note(Machine &machine, const std::string &text) {
    if (std::ranges::find(machine.notes, text) == machine.notes.end())
        machine.notes.push_back(text);
}

void check_distances(const Machine &machine, const std::string &label) {
    const std::size_t n = machine.nodes.size();
    const std::string expected = ", expected " + std::to_string(n) + " x " + std::to_string(n) + " for as many nodes";
    if (machine.distance.size() != n)
        throw InputError(label + ": the distance matrix has " +
                         count(static_cast<s64>(machine.distance.size()), "row") + expected);
    for (std::size_t row = 0; row < n; row++) {
        if (machine.distance[row].size() != n)
            throw InputError(label + ": row " + std::to_string(row) + " of the distance matrix has " +
                             count(static_cast<s64>(machine.distance[row].size()), "value") + expected);
        for (int value : machine.distance[row])
            if (value < 1 || value > 65535)
                throw InputError(label + ": distance " + std::to_string(value) + " in row " + std::to_string(row) +
                                 ", expected 1 to 65535 (10 is local)");
    }
}

// Nodes ascending by the firmware's number, with the rows and columns of the matrix.
void order_nodes(Machine &machine, const std::string &label) {
    const std::size_t n = machine.nodes.size();
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return machine.nodes[i].os_index; });
    std::vector<Node> nodes;
    std::vector<std::vector<int>> distance(n, std::vector<int>(n));
    for (std::size_t i = 0; i < n; i++) {
        nodes.push_back(machine.nodes[order[i]]);
        if (i > 0 && nodes[i].os_index == nodes[i - 1].os_index)
            throw InputError(label + ": node " + std::to_string(nodes[i].os_index) + " occurs twice");
        for (std::size_t j = 0; j < n; j++)
            distance[i][j] = machine.distance[order[i]][order[j]];
    }
    machine.nodes = std::move(nodes);
    machine.distance = std::move(distance);
}

void complete_nodes(Machine &machine, const CpuMask &present, const CpuMask &online, const std::string &label) {
    if (machine.nodes.empty()) {
        machine.nodes.push_back({0, present});
        machine.distance.clear();
    }
    if (machine.nodes.size() > static_cast<std::size_t>(max_nodes))
        throw InputError(label + ": " + count(static_cast<s64>(machine.nodes.size()), "node") + ", at most " +
                         std::to_string(max_nodes) + " are supported");
    const std::size_t n = machine.nodes.size();
    if (machine.distance.empty()) {
        // LOCAL_DISTANCE and REMOTE_DISTANCE, as the kernel without a SLIT.
        machine.distance.assign(n, std::vector<int>(n, 20));
        for (std::size_t i = 0; i < n; i++)
            machine.distance[i][i] = 10;
        if (n > 1)
            note(machine, "no node distances given, 10 local and 20 remote used");
    }
    check_distances(machine, label);
    order_nodes(machine, label);

    CpuMask taken;
    int absent = 0, repeated = 0;
    for (std::size_t i = 0; i < n; i++) {
        Node &node = machine.nodes[i];
        absent += (node.cpus - present).weight();
        repeated += (node.cpus & taken).weight();
        node.cpus &= present;
        node.cpus -= taken;
        taken |= node.cpus;
        for (CpuId cpu : node.cpus)
            machine.cpus[static_cast<std::size_t>(cpu.value)].node = NodeId{static_cast<s64>(i)};
    }
    if (absent > 0)
        note(machine, count(absent, "CPU") + " in node lists but not present, dropped");
    if (repeated > 0)
        note(machine, "CPUs listed in several nodes, " + count(repeated, "repetition") +
                          " dropped (the first node keeps the CPU)");
    const CpuMask homeless = present - taken;
    for (CpuId cpu : homeless)
        machine.cpus[static_cast<std::size_t>(cpu.value)].node = NodeId{0};
    machine.nodes[0].cpus |= homeless;
    if (const int lost = (homeless & online).weight(); lost > 0)
        note(machine, count(lost, "CPU") + " in no node, put into node " + std::to_string(machine.nodes[0].os_index));
    for (Node &node : machine.nodes)
        node.cpus &= online;
    for (std::size_t i = 0; i < n; i++)
        for (std::size_t j = 0; j < i; j++)
            if (machine.distance[i][j] != machine.distance[j][i]) {
                note(machine, "the distance matrix is not symmetric");
                return;
            }
}

// A mask that is missing for one CPU but names it for another is the other's. Returns how many were found so.
void borrow(Machine &machine, const CpuMask &online, CpuMask Cpu::*mask) {
    for (CpuId cpu : online) {
        Cpu &self = machine.cpus[static_cast<std::size_t>(cpu.value)];
        if (!(self.*mask).empty())
            continue;
        for (CpuId other : online)
            if (const Cpu &lender = machine.cpus[static_cast<std::size_t>(other.value)]; (lender.*mask).test(cpu)) {
                self.*mask = lender.*mask;
                break;
            }
    }
}

void complete_masks(Machine &machine, const CpuMask &online) {
    for (auto mask : {&Cpu::smt, &Cpu::l2, &Cpu::llc, &Cpu::package_mask}) {
        for (Cpu &cpu : machine.cpus)
            cpu.*mask &= online;
        borrow(machine, online, mask);
    }
    int no_l2 = 0, no_llc = 0;
    for (CpuId id : online) {
        Cpu &cpu = machine.cpus[static_cast<std::size_t>(id.value)];
        cpu.smt.set(id);
        if (cpu.package_mask.empty())
            for (CpuId other : online)
                if (machine.cpus[static_cast<std::size_t>(other.value)].package == cpu.package)
                    cpu.package_mask.set(other);
        cpu.package_mask.set(id);
        if (cpu.l2.empty()) {
            cpu.l2 = cpu.smt;
            no_l2++;
        }
        cpu.l2.set(id);
    }
    // CPUs that know their cache do not share one with those that do not: LLCs must not overlap (TOPO-5).
    CpuMask unknown;
    for (CpuId id : online)
        if (machine.cpus[static_cast<std::size_t>(id.value)].llc.empty())
            unknown.set(id);
    for (CpuId id : online) {
        Cpu &cpu = machine.cpus[static_cast<std::size_t>(id.value)];
        if (cpu.llc.empty()) {
            cpu.llc = cpu.package_mask & machine.nodes[static_cast<std::size_t>(cpu.node.value)].cpus & unknown;
            no_llc++;
        }
        cpu.llc.set(id);
    }
    for (std::size_t i = 0; i < machine.cpus.size(); i++)
        if (Cpu &cpu = machine.cpus[i]; !cpu.online)
            cpu.smt = cpu.l2 = cpu.llc = cpu.package_mask =
                cpu.present ? CpuMask::of(CpuId{static_cast<s64>(i)}) : CpuMask();
    if (no_l2 > 0)
        note(machine, "no L2 known for " + count(no_l2, "CPU") + ", hardware threads of the core used");
    if (no_llc > 0)
        note(machine, "no last-level cache known for " + count(no_llc, "CPU") +
                          ", those of a package in a node taken to share one");
}

void complete_capacities(Machine &machine) {
    int odd = 0;
    for (Cpu &cpu : machine.cpus)
        if (cpu.present && (cpu.capacity < 1 || cpu.capacity > 1024)) {
            cpu.capacity = 1024;
            odd++;
        }
    if (odd > 0)
        note(machine, "cpu_capacity outside 1..1024 on " + count(odd, "CPU") + ", 1024 used");
}

// Names end up on terminals and in JSON: no control characters, no padding blanks as in CPUID strings.
void tidy(std::string &text) {
    for (char &c : text)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f')
            c = ' ';
    text = std::string(trim(text).substr(0, 200));
}

} // namespace

Cpu &add_cpu(Machine &machine, s64 number, const std::string &label) {
    if (number < 0 || number >= max_cpus)
        throw InputError(label + ": CPU " + std::to_string(number) + ", expected 0 to " + std::to_string(max_cpus - 1));
    const auto index = static_cast<std::size_t>(number);
    if (machine.cpus.size() <= index)
        machine.cpus.resize(index + 1);
    machine.cpus[index].present = true;
    return machine.cpus[index];
}

void complete(Machine &machine, const std::string &label) {
    const CpuMask present = machine.present();
    const CpuMask online = machine.online();
    if (present.empty())
        throw InputError(label + ": no CPU found, expected at least one");
    if (online.empty())
        throw InputError(label + ": all CPUs are offline, expected at least one online");
    complete_nodes(machine, present, online, label);
    complete_masks(machine, online);
    complete_capacities(machine);
    tidy(machine.name);
    tidy(machine.model);
    machine.costs = default_costs(machine.arch, machine);
}

} // namespace fairground
