// SPDX-License-Identifier: GPL-2.0-only
//
// "COSTS n": section n of docs/costs.md, which gives every figure's row, source and grade.
#include "machine/costs.h"

#include "machine/machine.h"

#include <algorithm>
#include <span>

namespace fairground {

namespace {

// By Nearness: same_cpu, smt, l2, llc, node, package, remote.
using ByNearness = std::array<u64, nearness_count>;

// COSTS 7 gives whole wakes of an idle CPU: the waker's part, the IPI's flight and the switch to the wakee. What is
// left after the parts that are charged on their own is the flight. On one CPU there is only the self-IPI, which takes
// 9/81 of one to another CPU (COSTS 2, IPI benchmark on ThunderX2).
ByNearness flight(ByNearness wake, const Costs &costs) {
    for (std::size_t i = 1; i < nearness_count; i++)
        wake[i] -= costs.wakeup_remote_ns + costs.context_switch_ns;
    wake[0] = wake[1] * 9 / 81;
    return wake;
}

Costs x86_costs() {
    Costs costs;
    costs.context_switch_ns = 600; // COSTS 7, direct switch, x86 server: 0.6 us
    costs.syscall_ns = 100;        // COSTS 7, call: 0.1 us (0.3 with KPTI)
    costs.wakeup_local_ns = 300;   // COSTS 7, wake, same CPU: 0.3 us
    costs.wakeup_remote_ns =
        500;                   // derived: same CPU + sending (COSTS 2, "IPI send 0.54" traced, which inflates 2 to 3 x)
    costs.migration_ns = 1200; // COSTS 7, moving a task: 1.2 us + refill
    costs.page_alloc_ns = 100; // no row: a guess, the size of a call
    costs.tick_ns = 700;       // COSTS 2, exit for an external interrupt: 0.71 us
    costs.balance_pass_ns = 2000; // COSTS 7, load_balance pass: 2 us + 0.1 us a CPU scanned
    costs.balance_per_cpu_ns = 100;
    // COSTS 7, wake of an idle CPU: same cache 1.5, other CCX of the node 2, other node 2.5, other socket 3.5 us
    costs.ipi_ns = flight({0, 1500, 1500, 1500, 2000, 2500, 3500}, costs);
    // COSTS 7, pipe copy: 7 GB/s one CPU, 1.1 to 3 GB/s two (falling with distance: derived)
    costs.copy_mb_per_s = {7000, 3000, 3000, 3000, 2000, 1500, 1100};
    // COSTS 7, refill: 10 to 20 GB/s shared cache, 8 to 12 GB/s remote node
    costs.refill_mb_per_s = {20000, 20000, 20000, 15000, 12000, 10000, 8000};
    costs.idle_polls = true; // COSTS 7, "wake, idle CPU, same cache (poll or C1)"
    return costs;
}

Costs arm64_costs() {
    Costs costs;
    costs.context_switch_ns = 1200; // COSTS 7, direct switch, Arm 4-node: 1.2 us
    costs.syscall_ns = 300;         // COSTS 7, call: 0.3 us
    costs.wakeup_local_ns = 600;    // COSTS 7, wake, same CPU: 0.6 us
    costs.wakeup_remote_ns = 900;   // derived as for x86, scaled by the same-CPU wake
    costs.migration_ns = 1200;      // COSTS 7, moving a task; Hikey960 row of COSTS 1
    costs.page_alloc_ns = 300;      // no row: a guess, the size of a call
    costs.tick_ns = 700;            // as for x86: no row for Arm
    costs.balance_pass_ns = 3160;   // COSTS 2, load_balance on Kunpeng 920: 3.16 us idle ...
    costs.balance_per_cpu_ns = 34;  // ... 7.56 us loaded, over 128 CPUs
    // COSTS 7: cluster 2.9, other cluster of the node 3.8, other node of the socket 4.3 to 6.4, other socket 6.0 to 6.9
    // us
    costs.ipi_ns = flight({0, 2900, 2900, 3800, 3800, 5350, 6450}, costs);
    // COSTS 7, pipe copy: 1.9 GB/s; over nodes divided by the stream ratios of COSTS 5 (1.09; 1.45 and 1.66)
    costs.copy_mb_per_s = {1900, 1900, 1900, 1900, 1900, 1743, 1222};
    // COSTS 7, refill: 10 GB/s shared cache, 5 GB/s in a busy cluster; over nodes divided by the same ratios
    costs.refill_mb_per_s = {10000, 10000, 10000, 5000, 5000, 4587, 3215};
    costs.idle_polls = false;
    return costs;
}

Costs power_costs() { // COSTS 7, column Power: guesses throughout
    Costs costs;
    costs.context_switch_ns = 1000; // direct switch 1.0 us
    costs.syscall_ns = 300;         // call 0.3 us
    costs.wakeup_local_ns = 500;    // wake, same CPU: 0.5 us
    costs.wakeup_remote_ns = 750;   // derived as for Arm
    costs.migration_ns = 1200;      // "same"
    costs.page_alloc_ns = 300;      // no row: a guess, the size of a call
    costs.tick_ns = 700;            // as for x86: no row
    costs.balance_pass_ns = 3000;   // load_balance pass 3 us
    costs.balance_per_cpu_ns = 100;
    costs.ipi_ns = flight({0, 2000, 2000, 2000, 3000, 3500, 5000}, costs); // 2, 3, 3.5, 5 us
    costs.copy_mb_per_s = x86_costs().copy_mb_per_s;                       // no row for Power
    costs.refill_mb_per_s = x86_costs().refill_mb_per_s;                   // "same"
    costs.idle_polls = true;
    return costs;
}

constexpr u64 us = ns_per_us;

// Idle states by CPU model (COSTS 3): exit latency / target residency.
std::vector<IdleState> idle_states(Arch arch, const Machine &machine) {
    static const std::vector<IdleState> skylake = {
        {"C1", 2 * us, 2 * us}, {"C1E", 10 * us, 20 * us}, {"C6", 133 * us, 600 * us}};
    static const std::vector<IdleState> ice_lake = {
        {"C1", 1 * us, 1 * us}, {"C1E", 4 * us, 4 * us}, {"C6", 170 * us, 600 * us}};
    static const std::vector<IdleState> sapphire = {
        {"C1", 1 * us, 1 * us}, {"C1E", 2 * us, 4 * us}, {"C6", 290 * us, 800 * us}};
    static const std::vector<IdleState> granite = {
        {"C1", 1 * us, 1 * us}, {"C1E", 4 * us, 4 * us}, {"C6", 170 * us, 650 * us}, {"C6P", 210 * us, 1000 * us}};
    static const std::vector<IdleState> sierra = {
        {"C1", 1 * us, 1 * us}, {"C1E", 2 * us, 10 * us}, {"C6S", 270 * us, 700 * us}, {"C6SP", 310 * us, 900 * us}};
    static const std::vector<IdleState> grand_ridge = {
        {"C1", 1 * us, 1 * us}, {"C1E", 2 * us, 10 * us}, {"C6S", 140 * us, 500 * us}};
    // EPYC: about 400 us (grade B); the residency is a guess of twice that.
    static const std::vector<IdleState> epyc = {{"C1", 1 * us, 1 * us}, {"C2", 400 * us, 800 * us}};
    static const std::vector<IdleState> wfi = {{"WFI", 0, 0}}; // COSTS 7: 0 (WFI)
    static const std::vector<IdleState> power = {{"nap", 10 * us, 10 * us},
                                                 {"stop", 100 * us, 200 * us}}; // COSTS 7: 10 to 100 us
    switch (arch) {
    case Arch::arm64:
        return wfi;
    case Arch::power:
        return power;
    case Arch::other:
    case Arch::x86:
        break;
    }
    if (machine.cpu_vendor == "AuthenticAMD" || machine.cpu_vendor == "HygonGenuine")
        return epyc;
    if (machine.cpu_vendor == "GenuineIntel" && machine.cpu_family == 6)
        switch (machine.cpu_model) {
        case 0x6a: // ICELAKE_X, ICELAKE_D
        case 0x6c:
            return ice_lake;
        case 0x8f: // SAPPHIRERAPIDS_X, EMERALDRAPIDS_X
        case 0xcf:
            return sapphire;
        case 0xad: // GRANITERAPIDS_X, _D
        case 0xae:
            return granite;
        case 0xaf: // ATOM_CRESTMONT_X
            return sierra;
        case 0xb6: // ATOM_CRESTMONT
            return grand_ridge;
        default:
            break;
        }
    return skylake; // the oldest of the table, for older and unknown models
}

// The firmware's distance is not a latency (COSTS 5): the slow-down of memory-bound work is interpolated between the
// pairs of distance and ratio that were measured, and stays at the last one beyond them.
struct Measured {
    int distance;
    int permille;
};
constexpr std::array<Measured, 2> x86_memory = {{{10, 1000}, {21, 1680}}}; // COSTS 7: 1.6 to 1.75 x
constexpr std::array<Measured, 4> arm_memory = {
    {{10, 1000}, {12, 1090}, {20, 1450}, {22, 1660}}};                       // COSTS 5, Kunpeng 4 x 24
constexpr std::array<Measured, 2> power_memory = {{{10, 1000}, {20, 1500}}}; // COSTS 7: 1.5 x (guess)

u64 memory_ratio(std::span<const Measured> table, int distance) {
    if (distance <= table.front().distance)
        return static_cast<u64>(table.front().permille);
    for (std::size_t i = 1; i < table.size(); i++)
        if (distance <= table[i].distance) {
            const Measured &low = table[i - 1], &high = table[i];
            return static_cast<u64>(low.permille + (high.permille - low.permille) * (distance - low.distance) /
                                                       (high.distance - low.distance));
        }
    return static_cast<u64>(table.back().permille);
}

std::span<const Measured> memory_table(Arch arch) {
    switch (arch) {
    case Arch::arm64:
        return arm_memory;
    case Arch::power:
        return power_memory;
    case Arch::x86:
    case Arch::other:
        break;
    }
    return x86_memory;
}

} // namespace

Nearness nearness(const Machine &machine, CpuId a, CpuId b) {
    const Cpu &self = machine.cpus[static_cast<std::size_t>(a.value)];
    const Cpu &other = machine.cpus[static_cast<std::size_t>(b.value)];
    if (a == b)
        return Nearness::same_cpu;
    if (self.smt.test(b))
        return Nearness::smt;
    const bool same_package = self.package == other.package;
    if (self.l2.test(b) || (same_package && self.cluster >= 0 && self.cluster == other.cluster))
        return Nearness::l2;
    if (self.llc.test(b))
        return Nearness::llc;
    const bool same_node = self.node == other.node;
    if (same_node && same_package)
        return Nearness::node;
    return same_node || same_package ? Nearness::package : Nearness::remote;
}

Costs default_costs(Arch arch, const Machine &machine) {
    Costs costs = arch == Arch::arm64 ? arm64_costs() : arch == Arch::power ? power_costs() : x86_costs();
    costs.idle_states = idle_states(arch, machine);
    for (const auto &row : machine.distance)
        for (int distance : row)
            costs.memory_ratio_permille.push_back(memory_ratio(memory_table(arch), distance));
    return costs;
}

} // namespace fairground
