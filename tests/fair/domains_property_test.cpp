// SPDX-License-Identifier: GPL-2.0-only
//
// Invariants of domain trees on random machines: uneven nodes, nodes without CPUs, offline CPUs, distances without
// any symmetry, several partitions, masks that make no sense.
#include "base/random.h"
#include "domain_machines.h"

#include <gtest/gtest.h>

namespace fairground::fair {

namespace {

int pick(RandomStream &random, int low, int high) {
    return static_cast<int>(random.between(static_cast<u64>(low), static_cast<u64>(high)));
}

Machine random_machine(RandomStream &random) {
    Shape shape;
    const int nodes = pick(random, 1, 8);
    shape.arch = random.below(2) == 0 ? Arch::x86 : Arch::arm64;
    shape.smt = pick(random, 1, 2);
    shape.far = random.below(2) == 0;
    shape.l2 = pick(random, 1, 3);
    shape.llc = shape.l2 * pick(random, 0, 2);
    shape.cluster = shape.l2 * pick(random, 0, 1);
    shape.nodes_per_package = pick(random, 1, 3);
    const bool symmetric = random.below(2) == 0;
    const int values = pick(random, 1, 5);
    shape.distance.assign(static_cast<std::size_t>(nodes), std::vector<int>(static_cast<std::size_t>(nodes), 10));
    for (int a = 0; a < nodes; a++) {
        shape.cores.push_back(a > 0 && random.below(5) == 0 ? 0 : pick(random, 1, 6));
        for (int b = 0; b < nodes; b++)
            if (a != b)
                shape.distance[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] =
                    symmetric && b < a ? shape.distance[static_cast<std::size_t>(b)][static_cast<std::size_t>(a)]
                                       : 10 + 6 * pick(random, 1, values);
    }
    Machine m = make_machine(shape);
    m.snc_average = random.below(2) == 0;
    m.amd_zen = random.below(2) == 0;
    for (std::size_t cpu = 1; cpu < m.cpus.size(); cpu++) {
        m.cpus[cpu].online = random.below(8) != 0;
        m.cpus[cpu].capacity = random.below(4) == 0 ? 512 : 1024;
    }
    return m;
}

void check_group(const Domain &sd, const SchedGroup &group) {
    EXPECT_FALSE(group.span.empty());
    EXPECT_EQ(group.weight, group.span.weight());
    EXPECT_GE(group.cores, 1);
    EXPECT_LE(group.cores, group.weight);
    EXPECT_FALSE(group.sgc->balance_mask.empty());
    EXPECT_TRUE(group.sgc->balance_mask.subset_of(group.span));
    EXPECT_TRUE(group.span.subset_of(sd.span)); // TOPO-31
    EXPECT_GE(group.sgc->capacity, group.sgc->max_capacity);
    EXPECT_LE(group.sgc->min_capacity, group.sgc->max_capacity);
}

void check_domain(const DomainTree &tree, CpuId cpu, const Domain &sd) {
    EXPECT_TRUE(sd.span.test(cpu));
    EXPECT_EQ(sd.span_weight, sd.span.weight());
    EXPECT_GT(sd.span_weight, 1); // TOPO-36
    ASSERT_FALSE(sd.groups.empty());
    const SchedGroup &local = *sd.groups.front();
    EXPECT_TRUE(local.span.test(cpu)); // TOPO-28, -32
    if (sd.child != nullptr) {
        EXPECT_EQ(sd.child->parent, &sd);
        EXPECT_TRUE(sd.child->span.subset_of(sd.span));
        EXPECT_LT(sd.child->level, sd.level);
        // The first group is the span of the child in the full chain. A distant level with a single group is removed
        // although it spans more than its child (TOPO-36), so the child that is left may be smaller.
        EXPECT_TRUE(sd.child->span.subset_of(local.span));
        EXPECT_EQ(local.flags | SD_PREFER_SIBLING, sd.child->flags | SD_PREFER_SIBLING); // TOPO-38
    }
    CpuMask covered;
    for (const SchedGroup *group : sd.groups) {
        check_group(sd, *group);
        if ((sd.flags & SD_NUMA) == 0) {
            EXPECT_FALSE(covered.intersects(group->span));
        }
        covered |= group->span;
    }
    if ((sd.flags & SD_NUMA) == 0) {
        EXPECT_TRUE(covered == sd.span);
    }
    EXPECT_EQ(sd.shared != nullptr,
              tree.cpus[static_cast<std::size_t>(cpu)].llc == &sd ||
                  (tree.cpus[static_cast<std::size_t>(cpu)].asym_cpucapacity == &sd && (sd.flags & SD_NUMA) == 0));
}

TEST(DomainsProperty, RandomMachines) {
    for (u64 seed = 0; seed < 600; seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        RandomStream random(seed, "domains");
        const Machine m = random_machine(random);
        std::vector<CpuMask> partitions{m.online()};
        if (random.below(3) == 0) {
            partitions.assign(3, {});
            for (CpuId cpu : m.online())
                partitions[random.below(3)].set(cpu);
            partitions.pop_back();
        }
        const DomainTree tree = build_domains(m, partitions);
        for (CpuId cpu : m.online()) {
            SCOPED_TRACE("CPU " + std::to_string(cpu.value));
            const CpuDomains &own = tree.cpus[static_cast<std::size_t>(cpu)];
            for (const Domain *sd = own.base; sd != nullptr; sd = sd->parent) {
                SCOPED_TRACE(sd->name + " " + to_list(sd->span));
                check_domain(tree, cpu, *sd);
            }
            EXPECT_GE(own.llc_id, 0);
            EXPECT_LE(own.llc_id, tree.max_llc_id);
            EXPECT_EQ(own.llc_size, own.llc != nullptr ? own.llc->span_weight : 1);
            EXPECT_EQ(own.llc_shared != nullptr, own.llc != nullptr);
        }
        if (HasFailure())
            return;
    }
}

// Whatever the masks, the builder neither crashes nor leaves a CPU outside its own domains.
TEST(DomainsProperty, RandomMasks) {
    for (u64 seed = 0; seed < 600; seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        RandomStream random(seed, "masks");
        Machine m = random_machine(random);
        for (CpuMask Cpu::*mask : {&Cpu::smt, &Cpu::l2, &Cpu::llc, &Cpu::package_mask}) {
            if (random.below(2) == 0)
                continue;
            // Classes of a random function: equal or disjoint, but in no relation to the other levels.
            std::vector<CpuMask> classes(4);
            std::vector<std::size_t> of;
            for (std::size_t cpu = 0; cpu < m.cpus.size(); cpu++) {
                of.push_back(random.below(classes.size()));
                classes[of.back()].set(CpuId{static_cast<s64>(cpu)});
            }
            for (std::size_t cpu = 0; cpu < m.cpus.size(); cpu++)
                m.cpus[cpu].*mask = classes[of[cpu]];
        }
        for (std::size_t node = 0; node < m.nodes.size(); node++)
            if (random.below(4) == 0)
                m.distance[node][node] = pick(random, 9, 20);
        const DomainTree tree = build_domains(m);
        for (CpuId cpu : m.online())
            for (const Domain *sd = tree.cpus[static_cast<std::size_t>(cpu)].base; sd != nullptr; sd = sd->parent) {
                EXPECT_TRUE(sd->span.test(cpu));
                EXPECT_FALSE(sd->groups.empty());
                EXPECT_TRUE(sd->child == nullptr || sd->child->span.subset_of(sd->span));
            }
        if (HasFailure())
            return;
    }
}

} // namespace

} // namespace fairground::fair
