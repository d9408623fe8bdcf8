// SPDX-License-Identifier: GPL-2.0-only
//
// The defaults reproduce the rows of docs/costs.md they are derived from.
#include "machine/reader.h"

#include <gtest/gtest.h>

using namespace fairground;

namespace {

const std::string data = FAIRGROUND_SOURCE_DIR "/tests/data/machines/";

u64 whole_wake(const Costs &costs, Nearness distance) {
    return costs.wakeup_remote_ns + costs.ipi_ns[static_cast<std::size_t>(distance)] + costs.context_switch_ns;
}

TEST(Nearness, follows_the_hardware) {
    const Machine kunpeng = read_machine(data + "kunpeng920-2s4n128c.tar.bz2");
    const auto between = [](const Machine &machine, int a, int b) { return nearness(machine, CpuId{a}, CpuId{b}); };
    EXPECT_EQ(between(kunpeng, 5, 5), Nearness::same_cpu);
    EXPECT_EQ(between(kunpeng, 0, 3), Nearness::l2) << "one cluster";
    EXPECT_EQ(between(kunpeng, 0, 4), Nearness::llc);
    EXPECT_EQ(between(kunpeng, 0, 32), Nearness::package);
    EXPECT_EQ(between(kunpeng, 0, 64), Nearness::remote);
    const Machine epyc = read_machine(data + "epyc9654-2s384t.xml");
    EXPECT_EQ(between(epyc, 0, 192), Nearness::smt);
    EXPECT_EQ(between(epyc, 0, 1), Nearness::llc);
    EXPECT_EQ(between(epyc, 0, 8), Nearness::node);
    EXPECT_EQ(between(epyc, 0, 96), Nearness::package) << "one node by CPUID, but two sockets";
}

TEST(Nearness, is_symmetric) {
    for (const char *file : {"i7-1370p-hybrid.tar.bz2", "power9-ac922-gpu-nodes.tar.bz2", "x3950m2-4n96c.tar.bz2"}) {
        const Machine machine = read_machine(data + file);
        const CpuMask online = machine.online();
        for (CpuId a : online)
            for (CpuId b : online)
                ASSERT_EQ(nearness(machine, a, b), nearness(machine, b, a)) << file << ' ' << a << ' ' << b;
    }
}

TEST(Costs, whole_wakes_are_those_of_section_7) {
    const Machine machine = read_machine("core:4 pu:1");
    const Costs x86 = default_costs(Arch::x86, machine);
    EXPECT_EQ(whole_wake(x86, Nearness::llc), 1500u);
    EXPECT_EQ(whole_wake(x86, Nearness::node), 2000u);
    EXPECT_EQ(whole_wake(x86, Nearness::package), 2500u);
    EXPECT_EQ(whole_wake(x86, Nearness::remote), 3500u);
    const Costs arm = default_costs(Arch::arm64, machine);
    EXPECT_EQ(whole_wake(arm, Nearness::l2), 2900u);
    EXPECT_EQ(whole_wake(arm, Nearness::llc), 3800u);
    EXPECT_EQ(whole_wake(arm, Nearness::remote), 6450u);
    EXPECT_EQ(whole_wake(default_costs(Arch::power, machine), Nearness::remote), 5000u);
}

TEST(Costs, never_fall_with_distance) {
    const Machine machine = read_machine("core:4 pu:1");
    for (Arch arch : {Arch::x86, Arch::arm64, Arch::power, Arch::other}) {
        const Costs costs = default_costs(arch, machine);
        for (std::size_t i = 1; i < nearness_count; i++) {
            EXPECT_GE(costs.ipi_ns[i], costs.ipi_ns[i - 1]);
            EXPECT_LE(costs.copy_mb_per_s[i], costs.copy_mb_per_s[i - 1]);
            EXPECT_LE(costs.refill_mb_per_s[i], costs.refill_mb_per_s[i - 1]);
            EXPECT_GT(costs.copy_mb_per_s[i], 0u);
            EXPECT_GT(costs.refill_mb_per_s[i], 0u);
        }
    }
}

// COSTS 5: "The firmware's distance is not a latency (21 for 1.6 to 1.7; 12 for 1.09; 22 for 1.66)".
TEST(Costs, memory_ratios_are_measured_ones_not_distances) {
    const Machine kunpeng = read_machine(data + "numactl/kunpeng920-96c.txt");
    const Costs arm = default_costs(Arch::arm64, kunpeng);
    EXPECT_EQ((std::vector<u64>(arm.memory_ratio_permille.begin(), arm.memory_ratio_permille.begin() + 4)),
              (std::vector<u64>{1000, 1090, 1450, 1660}));
    const Machine xeon = read_machine(data + "xeon4108-2s-smt.tar.bz2");
    EXPECT_EQ(xeon.costs.memory_ratio_permille, (std::vector<u64>{1000, 1680, 1680, 1000}));
    for (u64 ratio : read_machine(data + "uv2000-24n384t.xml").costs.memory_ratio_permille)
        EXPECT_LE(ratio, 1750u);
}

TEST(Costs, idle_states_follow_the_cpu_model) {
    Machine machine = read_machine("core:4 pu:1");
    machine.cpu_vendor = "GenuineIntel";
    machine.cpu_family = 6;
    machine.cpu_model = 0x8f;
    EXPECT_EQ(default_costs(Arch::x86, machine).idle_states.back().exit_latency_ns, 290 * ns_per_us);
    machine.cpu_model = 0xad;
    EXPECT_EQ(default_costs(Arch::x86, machine).idle_states.size(), 4u);
    EXPECT_EQ(default_costs(Arch::arm64, machine).idle_states.front().exit_latency_ns, 0u);
}

} // namespace
