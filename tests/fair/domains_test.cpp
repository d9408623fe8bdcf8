// SPDX-License-Identifier: GPL-2.0-only
//
// The worked examples of the rules for scheduling domains, and facts printed by kernels on known machines.
#include "domain_machines.h"
#include "fair/scheduler.h"

#include <gtest/gtest.h>

namespace fairground::fair {

namespace {

using Matrix = std::vector<std::vector<int>>;

const Matrix diam3{{10, 12, 35, 37}, {12, 10, 37, 40}, {35, 37, 10, 12}, {37, 40, 12, 10}};
const Matrix ring{{10, 20, 30, 20}, {20, 10, 20, 30}, {30, 20, 10, 20}, {20, 30, 20, 10}};
const Matrix line{{10, 20, 30, 40}, {20, 10, 20, 30}, {30, 20, 10, 20}, {40, 30, 20, 10}};

std::string numa(const Machine &m, const DomainTree &tree, int cpu, int number) {
    return groups(m, find(tree, cpu, "NUMA", number));
}

// 10.1: TOPO-13, -14, -18, -23..25, -30..35, -37, -40, -43, -48..50.
TEST(Domains, FourNodesOfDiameterThree) {
    for (int n : {4, 8, 16, 24, 32, 48, 64}) {
        const Machine m = make_machine({.distance = diam3, .cores = {n, n, n, n}});
        const DomainTree tree = build_domains(m);
        EXPECT_EQ(tree.numa_level_distances, (std::vector{10, 12, 35, 37, 40}));
        EXPECT_EQ(tree.numa_topology, NumaTopology::glueless_mesh);
        const int i = std::max(1, n >> 3);
        const std::array<std::array<const char *, 3>, 4> want{{
            {"{0}ps@0 {1}ps@1", "{0+1}@0+1 {2}ps@2", "{0+1+2}@0 {2+3}@3"},
            {"{1}ps@1 {0}ps@0", "{0+1}@1 {2}ps@2", "{0+1+2}@1 {0+2+3}@3"},
            {"{2}ps@2 {3}ps@3", "{2+3}@2+3 {0}ps@0", "{0+2+3}@2 {0+1}@1"},
            {"{3}ps@3 {2}ps@2", "{2+3}@3 {0}ps@0", "{0+2+3}@3 {0+1+2}@1"},
        }};
        for (int node = 0; node < 4; node++) {
            const int cpu = node * n;
            EXPECT_EQ(names(tree, cpu), "MC NUMA NUMA NUMA");
            const Domain *mc = find(tree, cpu, "MC");
            EXPECT_EQ(mc->groups.size(), static_cast<std::size_t>(n));
            EXPECT_EQ(mc->imb_numa_nr, 0);
            for (int level = 0; level < 3; level++) {
                SCOPED_TRACE("node " + std::to_string(node) + " level " + std::to_string(level));
                const Domain *sd = find(tree, cpu, "NUMA", level);
                EXPECT_EQ(groups(m, sd), want[static_cast<std::size_t>(node)][static_cast<std::size_t>(level)]);
                EXPECT_EQ(sd->imb_numa_nr, level == 2 ? 2 * i : i);
                EXPECT_EQ(flag_names(sd->flags), level == 0 ? "BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK WAKE_AFFINE "
                                                              "SERIALIZE NUMA"
                                                            : "BALANCE_NEWIDLE SERIALIZE NUMA");
                EXPECT_EQ(sd->imbalance_pct, 117);
                EXPECT_EQ(sd->cache_nice_tries, 2);
                EXPECT_EQ(sd->min_interval, static_cast<u32>((level + 2) * n));
                EXPECT_EQ(sd->max_interval, 2 * sd->min_interval);
            }
        }
        // TOPO-33: equal groups, one capacity object, whoever looks and from whichever level.
        EXPECT_EQ(find(tree, 0, "NUMA", 1)->groups[1]->sgc, find(tree, 2 * n, "NUMA", 0)->groups[0]->sgc);
        EXPECT_EQ(find(tree, n, "NUMA", 2)->groups[1]->sgc, find(tree, 3 * n, "NUMA", 2)->groups[0]->sgc);
        EXPECT_NE(find(tree, 0, "NUMA", 2)->groups[0]->sgc, find(tree, n, "NUMA", 2)->groups[0]->sgc);
    }
}

// 10.1, last item: TOPO-36, -48.
TEST(Domains, SeveralCachesPerNodeKeepPkg) {
    const Machine m = make_machine({.distance = diam3, .cores = {32, 32, 32, 32}, .llc = 8});
    const DomainTree tree = build_domains(m);
    EXPECT_EQ(names(tree, 0), "MC PKG NUMA NUMA NUMA");
    const Domain *pkg = find(tree, 0, "PKG");
    EXPECT_EQ(pkg->groups.size(), 4U);
    EXPECT_EQ(pkg->imb_numa_nr, 4);
    EXPECT_NE(pkg->groups[3]->flags & SD_PREFER_SIBLING, 0U);
    EXPECT_EQ(numa(m, tree, 0, 2), "{0+1+2}@0 {2+3}@3");
    EXPECT_EQ(find(tree, 0, "NUMA", 0)->imb_numa_nr, 4);
    EXPECT_EQ(find(tree, 0, "NUMA", 2)->imb_numa_nr, 8);
}

// TOPO-2, -4, -15: positions in the full table, which removal does not change. TOPO-3: PKG is the node.
TEST(Domains, LevelNumbers) {
    const Matrix two{{10, 20}, {20, 10}};
    const auto levels = [](const Machine &m) {
        const DomainTree tree = build_domains(m);
        std::string text;
        for (const Domain *sd = tree.cpus[0].base; sd != nullptr; sd = sd->parent)
            text.append(sd->name).append(std::to_string(sd->level)).append(" ");
        return text;
    };
    // The generic table always has SMT; x86 has it only with threads (TOPO-8).
    EXPECT_EQ(levels(make_machine({.distance = two, .cores = {8, 8}, .llc = 4})), "MC2 PKG3 NUMA5 ");
    EXPECT_EQ(levels(make_machine({.arch = Arch::x86, .distance = two, .cores = {8, 8}, .llc = 4})), "MC1 PKG2 NUMA4 ");
    EXPECT_EQ(levels(make_machine({.arch = Arch::x86, .distance = two, .cores = {8, 8}, .smt = 2, .llc = 4})),
              "SMT0 MC2 PKG3 NUMA5 ");
    // Threads switched off after boot leave the table as it is.
    Machine m = make_machine({.arch = Arch::x86, .distance = two, .cores = {8, 8}, .llc = 4});
    m.threads_per_core = 2;
    EXPECT_EQ(levels(m), "MC2 PKG3 NUMA5 ");

    Machine sockets = make_machine({.arch = Arch::x86, .cores = {8}, .llc = 4});
    for (std::size_t cpu = 4; cpu < 8; cpu++)
        sockets.cpus[cpu].package = 1;
    EXPECT_EQ(to_list(find(build_domains(sockets), 0, "PKG")->span), "0-7");
}

// TOPO-7: CPUs of one L2 on x86; SMT siblings where the L2 is unknown, which then says nothing new.
TEST(Domains, L2ClustersOnX86) {
    Machine m = make_machine({.arch = Arch::x86, .cores = {8}, .l2 = 4});
    EXPECT_EQ(names(build_domains(m), 0), "CLS MC");
    for (Cpu &cpu : m.cpus)
        cpu.l2 = CpuMask();
    EXPECT_EQ(names(build_domains(m), 0), "MC");
}

// 10.2: TOPO-25 (30 is not above 30), TOPO-33, TOPO-50.
TEST(Domains, Ring) {
    const Machine m = make_machine({.distance = ring, .cores = {4, 4, 4, 4}});
    const DomainTree tree = build_domains(m);
    EXPECT_EQ(tree.numa_topology, NumaTopology::glueless_mesh);
    const std::array<std::array<const char *, 2>, 4> want{{{"{0}ps@0 {1}ps@1 {3}ps@3", "{0+1+3}@0 {1+2+3}@2"},
                                                           {"{1}ps@1 {2}ps@2 {0}ps@0", "{0+1+2}@1 {0+2+3}@3"},
                                                           {"{2}ps@2 {3}ps@3 {1}ps@1", "{1+2+3}@2 {0+1+3}@0"},
                                                           {"{3}ps@3 {0}ps@0 {2}ps@2", "{0+2+3}@3 {0+1+2}@1"}}};
    for (int node = 0; node < 4; node++)
        for (int level = 0; level < 2; level++) {
            const Domain *sd = find(tree, 4 * node, "NUMA", level);
            EXPECT_EQ(groups(m, sd), want[static_cast<std::size_t>(node)][static_cast<std::size_t>(level)]);
            EXPECT_EQ(sd->imb_numa_nr, 1);
            EXPECT_NE(sd->flags & SD_WAKE_AFFINE, 0U);
        }
}

// 10.3: TOPO-31 and unequal chains (TOPO-20).
TEST(Domains, LineOfFour) {
    const Machine m = make_machine({.distance = line, .cores = {4, 4, 4, 4}});
    const DomainTree tree = build_domains(m);
    EXPECT_EQ(numa(m, tree, 0, 0), "{0}ps@0 {1}ps@1");
    EXPECT_EQ(numa(m, tree, 0, 1), "{0+1}@0 {2}ps@2");
    EXPECT_EQ(numa(m, tree, 0, 2), "{0+1+2}@0 {1+2+3}@3");
    EXPECT_EQ(numa(m, tree, 4, 0), "{1}ps@1 {2}ps@2 {0}ps@0");
    EXPECT_EQ(numa(m, tree, 4, 1), "{0+1+2}@1 {2+3}@3");
    EXPECT_EQ(numa(m, tree, 4, 2), "none");
    EXPECT_EQ(find(tree, 0, "NUMA", 1)->imb_numa_nr, 1);
    EXPECT_EQ(find(tree, 0, "NUMA", 2)->imb_numa_nr, 2);
    EXPECT_EQ(find(tree, 4, "NUMA", 1)->imb_numa_nr, 1);
}

// 10.4: TOPO-20, TOPO-30.
TEST(Domains, UnequalDepth) {
    const Machine m = make_machine(
        {.distance = {{10, 20, 20, 30}, {20, 10, 20, 20}, {20, 20, 10, 20}, {30, 20, 20, 10}}, .cores = {4, 4, 4, 4}});
    const DomainTree tree = build_domains(m);
    EXPECT_EQ(numa(m, tree, 0, 1), "{0+1+2}@0 {1+2+3}@3");
    EXPECT_EQ(numa(m, tree, 4, 0), "{1}ps@1 {2}ps@2 {3}ps@3 {0}ps@0");
    EXPECT_EQ(numa(m, tree, 8, 0), "{2}ps@2 {3}ps@3 {0}ps@0 {1}ps@1");
    EXPECT_EQ(numa(m, tree, 4, 1), "none");
}

Machine snc3(bool average) {
    Matrix d{{10, 15, 17, 20, 27, 25}, {15, 10, 15, 22, 25, 22}, {17, 15, 10, 25, 22, 20},
             {20, 27, 25, 10, 15, 17}, {22, 25, 22, 15, 10, 15}, {25, 22, 20, 17, 15, 10}};
    Machine m =
        make_machine({.arch = Arch::x86, .distance = d, .cores = {8, 8, 8, 8, 8, 8}, .smt = 2, .nodes_per_package = 3});
    m.snc_average = average;
    return m;
}

// 10.5: TOPO-8, TOPO-16, TOPO-17, TOPO-34.
TEST(Domains, SubNumaClusters) {
    const Machine fixed = snc3(true);
    const DomainTree tree = build_domains(fixed);
    EXPECT_EQ(tree.numa_level_distances, (std::vector{10, 15, 17, 23}));
    EXPECT_EQ(tree.max_numa_distance, 27);
    EXPECT_EQ(names(tree, 0), "SMT MC NUMA NUMA NUMA");
    EXPECT_EQ(numa(fixed, tree, 0, 0), "{0}ps@0 {1}ps@1");
    EXPECT_EQ(numa(fixed, tree, 0, 1), "{0+1}@0 {1+2}@2");
    EXPECT_EQ(groups(fixed, find(tree, 0, "NUMA", 2)).substr(0, 8), "{0+1+2}@");
    EXPECT_EQ(find(tree, 0, "NUMA", 2)->groups.size(), 2U);
    EXPECT_EQ(find(tree, 0, "NUMA", 2)->imb_numa_nr, 6);
    EXPECT_EQ(numa(fixed, tree, 16, 0), "{1}ps@1 {2}ps@2 {0}ps@0");
    EXPECT_EQ(find(tree, 16, "NUMA", 1)->imb_numa_nr, 4);

    const Machine raw = snc3(false);
    const DomainTree unfixed = build_domains(raw);
    EXPECT_EQ(unfixed.numa_level_distances, (std::vector{10, 15, 17, 20, 22, 25, 27}));
    const Domain *top = tree.cpus[0].base;
    for (const Domain *sd = unfixed.cpus[0].base; sd != nullptr; sd = sd->parent)
        top = sd;
    EXPECT_EQ(top->span_weight, 96);
    ASSERT_EQ(top->groups.size(), 1U);
    EXPECT_EQ(nodes_in(raw, top->groups[0]->span), "0+1+2+3+5");
}

// TOPO-17 is off where the table has not the expected form.
TEST(Domains, SncAverageNeedsSymmetricBlocks) {
    Machine m = snc3(true);
    m.distance[0][1] = 16;
    const DomainTree tree = build_domains(m);
    EXPECT_EQ(tree.numa_level_distances, (std::vector{10, 15, 16, 17, 20, 22, 25, 27}));
    EXPECT_FALSE(tree.notes.empty());
}

// Granite Rapids SNC-3 as v7.3 averages it: both directions, all remote entries 24.
TEST(Domains, GraniteRapids) {
    Machine m = snc3(true);
    m.distance = {{10, 15, 17, 21, 28, 26}, {15, 10, 15, 23, 26, 23}, {17, 15, 10, 26, 23, 21},
                  {21, 28, 26, 10, 15, 17}, {23, 26, 23, 15, 10, 15}, {26, 23, 21, 17, 15, 10}};
    const DomainTree tree = build_domains(m);
    EXPECT_EQ(tree.numa_level_distances, (std::vector{10, 15, 17, 24}));
    EXPECT_EQ(tree.max_numa_distance, 28);
    EXPECT_EQ(numa(m, tree, 64, 0), "{4}ps@4 {5}ps@5 {3}ps@3");
    EXPECT_EQ(find(tree, 64, "NUMA", 1)->groups.size(), 2U);
}

// 10.6: TOPO-1, TOPO-40, TOPO-49.
TEST(Domains, PartitionOfTwoFarNodes) {
    const Machine m = make_machine({.distance = diam3, .cores = {8, 8, 8, 8}});
    const DomainTree tree = build_domains(m, {m.nodes[0].cpus | m.nodes[2].cpus, m.nodes[1].cpus});
    EXPECT_EQ(names(tree, 0), "MC NUMA");
    EXPECT_EQ(numa(m, tree, 0, 0), "{0}ps@0 {2}@2");
    EXPECT_EQ(find(tree, 0, "NUMA")->span_weight, 16);
    EXPECT_EQ(find(tree, 0, "NUMA")->imb_numa_nr, 2);
    EXPECT_EQ(names(tree, 8), "MC");
    EXPECT_EQ(tree.cpus[24].base, nullptr); // outside every partition
    EXPECT_EQ(tree.cpus[24].llc_size, 1);
    EXPECT_EQ(tree.cpus[24].share_id.value, 24);
}

// 10.7: TOPO-28, -29, -40, -42, -57.
TEST(Domains, TwoSocketsWithSmt) {
    const Machine m =
        make_machine({.arch = Arch::x86, .distance = {{10, 21}, {21, 10}}, .cores = {8, 8}, .smt = 2, .far = true});
    const DomainTree tree = build_domains(m);
    EXPECT_EQ(names(tree, 0), "SMT MC NUMA");
    EXPECT_EQ(to_list(find(tree, 0, "SMT")->groups[1]->span), "16");
    const Domain *mc = find(tree, 0, "MC");
    ASSERT_EQ(mc->groups.size(), 8U);
    for (int k = 0; k < 8; k++) {
        const SchedGroup &group = *mc->groups[static_cast<std::size_t>(k)];
        EXPECT_EQ(to_list(group.span), std::to_string(k) + "," + std::to_string(k + 16));
        EXPECT_EQ(group.weight, 2);
        EXPECT_EQ(group.cores, 1);
        EXPECT_EQ(group.flags & (SD_PREFER_SIBLING | SD_SHARE_CPUCAPACITY), SD_PREFER_SIBLING | SD_SHARE_CPUCAPACITY);
    }
    EXPECT_EQ(numa(m, tree, 0, 0), "{0}ps@0 {1}ps@1");
    EXPECT_EQ(numa(m, tree, 9, 0), "{1}ps@1 {0}ps@0");
    EXPECT_EQ(find(tree, 0, "NUMA")->groups[0]->cores, 8);
    EXPECT_EQ(find(tree, 0, "NUMA")->imb_numa_nr, 2);
    EXPECT_TRUE(tree.multi_llc);
    EXPECT_TRUE(tree.smt_active);
    EXPECT_EQ(tree.cpus[0].base->llc_counts.size(), 2U);

    const DomainTree single = build_domains(make_machine({.arch = Arch::x86, .cores = {4}, .smt = 2}));
    EXPECT_EQ(names(single, 0), "SMT MC");
    EXPECT_FALSE(single.multi_llc);
}

// 10.7, last sentence: TOPO-9..11, TOPO-52.
TEST(Domains, ArmClusters) {
    const Machine m = make_machine({.distance = {{10, 20}, {20, 10}}, .cores = {16, 16}, .cluster = 4});
    const DomainTree tree = build_domains(m);
    EXPECT_EQ(names(tree, 0), "CLS MC NUMA");
    EXPECT_EQ(to_list(find(tree, 0, "CLS")->span), "0-3");
    ASSERT_EQ(find(tree, 0, "MC")->groups.size(), 4U);
    EXPECT_NE(find(tree, 0, "MC")->groups[2]->flags & SD_CLUSTER, 0U);
    EXPECT_EQ(find(tree, 0, "NUMA")->imb_numa_nr, 2);
    EXPECT_TRUE(tree.cluster_active);
    EXPECT_EQ(tree.cpus[6].share_id.value, 4);
    EXPECT_EQ(tree.cpus[6].llc_size, 16);

    // A cluster that is the whole LLC collapses (TOPO-11).
    const DomainTree whole = build_domains(make_machine({.cores = {8}, .llc = 4, .cluster = 4}));
    EXPECT_EQ(names(whole, 0), "MC PKG");
    EXPECT_FALSE(whole.cluster_active);
    EXPECT_EQ(whole.cpus[6].share_id.value, 4);
}

// TOPO-47..50, WAKE-174, WAKE-175: the table of allowed imbalances.
TEST(Domains, AllowedImbalance) {
    const Matrix two{{10, 20}, {20, 10}};
    const auto tree = [&](int cores, int smt, int llc, const Matrix &d) {
        return build_domains(
            make_machine({.distance = d, .cores = std::vector<int>(d.size(), cores), .smt = smt, .llc = llc}));
    };
    EXPECT_EQ(find(tree(8, 2, 0, two), 0, "NUMA")->imb_numa_nr, 2);
    EXPECT_EQ(find(tree(32, 2, 8, two), 0, "PKG")->imb_numa_nr, 4);
    EXPECT_EQ(find(tree(32, 2, 8, two), 0, "NUMA")->imb_numa_nr, 4);
    EXPECT_EQ(find(tree(64, 2, 8, two), 0, "PKG")->imb_numa_nr, 8);
    EXPECT_EQ(find(tree(64, 2, 8, two), 0, "NUMA")->imb_numa_nr, 8);
    EXPECT_EQ(find(tree(16, 1, 0, two), 0, "NUMA")->imb_numa_nr, 2);
    EXPECT_EQ(find(tree(8, 1, 4, {{10}}), 0, "PKG")->imb_numa_nr, 2);
    EXPECT_EQ(find(tree(1, 1, 0, two), 0, "NUMA")->imb_numa_nr, 1);
}

// Kunpeng 920: spans as /proc/schedstat printed them (linux-kernel, 14 Sep 2021).
TEST(Domains, Kunpeng920) {
    const Machine m =
        make_machine({.distance = {{10, 12, 20, 22}, {12, 10, 22, 24}, {20, 22, 10, 12}, {22, 24, 12, 10}},
                      .cores = {32, 32, 32, 32}});
    const DomainTree tree = build_domains(m);
    const auto spans = [&](int cpu) {
        std::string text;
        for (const Domain *sd = tree.cpus[static_cast<std::size_t>(cpu)].base; sd != nullptr; sd = sd->parent)
            text.append(to_list(sd->span)).append("|");
        return text;
    };
    EXPECT_EQ(spans(0), "0-31|0-63|0-95|0-127|");
    EXPECT_EQ(spans(32), "32-63|0-63|0-95|0-127|");
    EXPECT_EQ(spans(64), "64-95|64-127|0-31,64-127|0-127|");
    EXPECT_EQ(spans(96), "96-127|64-127|0-31,64-127|0-127|");
}

// TOPO-22: values by kind of level. TOPO-23: flags of every domain. TOPO-59: a build starts with fresh state.
TEST(Domains, InitialValues) {
    const DomainTree tree = build_domains(
        make_machine({.arch = Arch::x86, .distance = {{10, 20}, {20, 10}}, .cores = {8, 8}, .smt = 2, .llc = 4}));
    ASSERT_EQ(names(tree, 0), "SMT MC PKG NUMA");
    const std::array pct{110, 117, 117, 117};
    const std::array tries{0, 1, 1, 2};
    std::size_t i = 0;
    for (const Domain *sd = tree.cpus[0].base; sd != nullptr; sd = sd->parent, i++) {
        EXPECT_EQ(sd->imbalance_pct, pct[i]);
        EXPECT_EQ(sd->cache_nice_tries, tries[i]);
        EXPECT_EQ(sd->balance_interval, static_cast<u32>(sd->span_weight));
        EXPECT_EQ(sd->busy_factor, 16U);
        EXPECT_EQ(sd->newidle_call, 512U);
        EXPECT_EQ(sd->newidle_success, 256U);
        EXPECT_EQ(sd->newidle_ratio, 512U);
        EXPECT_EQ(sd->flags & SD_BALANCE_WAKE, 0U);
        EXPECT_EQ(sd->nr_balance_failed, 0U);
        EXPECT_EQ(sd->max_newidle_lb_cost, 0U);
    }
    EXPECT_EQ(tree.cpus[0].base->parent->groups[0]->sgc->capacity, 2048U); // TOPO-43, -44: no SMT discount
}

// TOPO-27.
TEST(Domains, RelaxDomainLevel) {
    const Machine m = make_machine({.distance = {{10, 20}, {20, 10}}, .cores = {4, 4}});
    const DomainTree tree = build_domains(m, {m.online()}, 3);
    EXPECT_NE(find(tree, 0, "MC")->flags & SD_BALANCE_NEWIDLE, 0U);
    EXPECT_EQ(find(tree, 0, "NUMA")->flags & SD_BALANCE_NEWIDLE, 0U);
}

// TOPO-26, TOPO-42, TOPO-44..46, TOPO-55, TOPO-56, WAKE-6, WAKE-123: a phone-like machine, two LLCs, little and big
// CPUs.
TEST(Domains, AsymmetricCapacity) {
    Machine m = make_machine({.cores = {8}, .llc = 4});
    for (std::size_t cpu = 0; cpu < 4; cpu++)
        m.cpus[cpu].capacity = 400;
    const DomainTree tree = build_domains(m);
    EXPECT_TRUE(tree.asym_cpucapacity);
    ASSERT_EQ(names(tree, 0), "MC PKG");
    const Domain *pkg = find(tree, 0, "PKG");
    EXPECT_EQ(find(tree, 0, "MC")->flags & SD_ASYM_CPUCAPACITY, 0U);
    EXPECT_NE(pkg->flags & SD_ASYM_CPUCAPACITY_FULL, 0U);
    EXPECT_EQ(pkg->groups[0]->sgc->capacity, 1600U);
    EXPECT_EQ(pkg->groups[0]->sgc->max_capacity, 400U);
    EXPECT_EQ(pkg->groups[1]->sgc->min_capacity, 1024U);
    const CpuDomains &cpu = tree.cpus[0];
    EXPECT_EQ(cpu.asym_cpucapacity, pkg);
    EXPECT_EQ(cpu.capacity, 400);
    ASSERT_NE(cpu.balance_shared, cpu.llc_shared);
    EXPECT_EQ(cpu.balance_shared, pkg->shared);
    EXPECT_EQ(cpu.balance_shared, tree.cpus[7].balance_shared);
    EXPECT_EQ(cpu.balance_shared->nr_idle_scan, 32);
    EXPECT_EQ(cpu.balance_shared->nr_busy_cpus, 8);
    EXPECT_EQ(cpu.llc_shared->nr_idle_scan, 512);
    EXPECT_EQ(cpu.llc_shared->nr_busy_cpus, 4);

    // Run queues begin with what the build found.
    const Scheduler s(build_domains(m), m.online(), Features(), Tunables());
    EXPECT_EQ(s.rqs[0].arch_capacity, 400U);
    EXPECT_EQ(s.rqs[0].cpu_capacity, 400U);
    EXPECT_EQ(s.rqs[7].cpu_capacity, 1024U);

    // Only part of the classes in a span: ASYM_CPUCAPACITY without FULL.
    m.cpus[0].capacity = 300;
    const DomainTree partial = build_domains(m);
    EXPECT_EQ(find(partial, 0, "MC")->flags & (SD_ASYM_CPUCAPACITY | SD_ASYM_CPUCAPACITY_FULL), SD_ASYM_CPUCAPACITY);
    EXPECT_EQ(partial.cpus[0].asym_cpucapacity, find(partial, 0, "PKG"));
}

// TOPO-8, TOPO-42, TOPO-51: ITMT.
TEST(Domains, AsymPacking) {
    Machine m = make_machine({.arch = Arch::x86, .cores = {8}, .smt = 2, .llc = 4});
    m.asym_packing = true;
    const DomainTree tree = build_domains(m);
    EXPECT_EQ(find(tree, 0, "SMT")->flags & SD_ASYM_PACKING, 0U);
    EXPECT_NE(find(tree, 0, "MC")->flags & SD_ASYM_PACKING, 0U);
    EXPECT_EQ(tree.cpus[0].asym_packing, find(tree, 0, "PKG"));
    EXPECT_EQ(find(tree, 0, "PKG")->groups[1]->asym_prefer_cpu.value, 8);
}

// TOPO-5, TOPO-12, TOPO-21.
TEST(Domains, BrokenFirmware) {
    Machine overlap = make_machine({.arch = Arch::x86, .cores = {4}});
    overlap.cpus[1].llc = CpuMask::range(0, 1);
    const DomainTree none = build_domains(overlap);
    EXPECT_EQ(none.cpus[0].base, nullptr);
    EXPECT_FALSE(none.notes.empty());

    const DomainTree far = build_domains(make_machine({.distance = {{10, 300}, {300, 10}}, .cores = {4, 4}}));
    EXPECT_EQ(names(far, 0), "MC"); // neither NODE nor NUMA, so the nodes stay apart
    EXPECT_EQ(far.max_numa_distance, 0);

    Machine split = make_machine({.distance = {{10, 20}, {20, 10}}, .cores = {2, 2}}); // a core across two nodes
    split.cpus[1].smt = split.cpus[2].smt = CpuMask::range(1, 2);
    const DomainTree grown = build_domains(split);
    EXPECT_NE(grown.cpus[1].base, nullptr);
    EXPECT_FALSE(grown.notes.empty());
}

// TOPO-53: an LLC number is bound to the hardware, whatever the partitions.
TEST(Domains, LlcNumbersIgnorePartitions) {
    const Machine m = make_machine({.cores = {8}, .llc = 4});
    const DomainTree tree = build_domains(m, {CpuMask::range(0, 1), CpuMask::range(2, 7)});
    EXPECT_EQ(tree.cpus[1].llc_id, 0);
    EXPECT_EQ(tree.cpus[3].llc_id, 0);
    EXPECT_EQ(tree.cpus[4].llc_id, 1);
    EXPECT_EQ(tree.cpus[3].llc_size, 2);
    EXPECT_EQ(tree.cpus[3].share_id.value, 2);
}

// TOPO-6: split_llc. TOPO-18, NUMA-3: backplane.
TEST(Domains, SplitLlcAndBackplane) {
    Machine m = make_machine({.arch = Arch::x86, .cores = {8}});
    m.split_llc = 2;
    EXPECT_EQ(to_list(find(build_domains(m), 1, "MC")->span), "1,3,5,7");
    const Matrix blades{{10, 15, 30, 30}, {15, 10, 30, 30}, {30, 30, 10, 15}, {30, 30, 15, 10}};
    EXPECT_EQ(build_domains(make_machine({.distance = blades, .cores = {2, 2, 2, 2}})).numa_topology,
              NumaTopology::backplane);
}

// TOPO-29: the ring that the highest CPU of the span links is everybody's.
TEST(Domains, SharedRingIsTheHighestCpus) {
    Machine m = make_machine({.arch = Arch::x86, .cores = {5}});
    const auto core = [&](std::initializer_list<int> members) {
        CpuMask mask;
        for (int cpu : members)
            mask.set(CpuId{cpu});
        for (CpuId cpu : mask)
            m.cpus[static_cast<std::size_t>(cpu)].smt = m.cpus[static_cast<std::size_t>(cpu)].l2 = mask;
    };
    core({0, 3});
    core({1});
    core({2, 4});
    const DomainTree tree = build_domains(m);
    const auto order = [&](int cpu) {
        std::string text;
        for (const SchedGroup *group : find(tree, cpu, "MC")->groups)
            text.append("{").append(to_list(group->span)).append("}");
        return text;
    };
    EXPECT_EQ(order(0), "{0,3}{1}{2,4}");
    EXPECT_EQ(order(3), "{0,3}{1}{2,4}"); // not {0,3}{2,4}{1}, its own wrap order
}

// The inverse of each other.
TEST(Domains, FlagNames) {
    for (u32 bit = 1; bit <= SD_NUMA; bit <<= 1)
        EXPECT_EQ(flag_by_name(flag_names(bit)), bit);
    EXPECT_EQ(flag_by_name("SD_SHARE_LLC"), u32{SD_SHARE_LLC});
    EXPECT_EQ(flag_by_name("LLC"), 0U);
}

} // namespace

} // namespace fairground::fair
