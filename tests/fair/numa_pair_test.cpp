// SPDX-License-Identifier: GPL-2.0-only
//
// The example matrix of spec/numa-pair-variant.md, section 5: how many tasks a balancing CPU would move when k tasks
// sit on one node and nothing else runs, without and with the variants (NUMAPAIR-13..15, NUMAPAIR-18..20).
#include "fair/domain_machines.h"
#include "fair/lb_env.h"

#include <array>
#include <map>

namespace fairground::fair {
namespace {

Machine pair_matrix(int n) {
    return make_machine({.arch = Arch::arm64,
                         .distance = {{10, 12, 35, 37}, {12, 10, 37, 40}, {35, 37, 10, 12}, {37, 40, 12, 10}},
                         .cores = {n, n, n, n},
                         .cluster = 0});
}

struct Matrix {
    Machine machine;
    Scheduler s;
    int n;

    explicit Matrix(int node_cpus, const Features &features = {})
        : machine(pair_matrix(node_cpus)), s(build_domains(machine), machine.online(), features, {}), n(node_cpus) {}

    // k tasks of one node, each alone on its CPU.
    void tasks(int node, int k) {
        for (int i = 0; i < k; i++) {
            Rq &rq = s.rqs[static_cast<std::size_t>(node * n + i)];
            rq.nr_running = rq.cfs.h_nr_queued = rq.cfs.h_nr_runnable = 1;
            rq.cfs.avg.load_avg = rq.cfs.avg.util_avg = rq.cfs.avg.runnable_avg = 512;
            rq.current_class = SchedClass::fair;
        }
    }
    // Imbalance that the first CPU of `node` finds at its NUMA level `number`, from 0.
    s64 imbalance(int node, int number) {
        const int cpu = node * n;
        Domain *sd = s.rqs[static_cast<std::size_t>(cpu)].sd.base;
        for (;; sd = sd->parent)
            if ((sd->flags & SD_NUMA) != 0 && number-- == 0)
                break;
        LbEnv env{.s = s, .sd = *sd, .dst_cpu = CpuId{cpu}, .idle = CpuIdle::idle, .mover = kernel_mover};
        env.cpus = sd->span;
        sched_balance_find_src_group(env);
        return env.imbalance;
    }
};

using Entry = std::array<s64, 4>; // v7.3, V1, V3, V1 and V3

Features variant(std::size_t column, bool literal = false, bool v2 = false) {
    Features features;
    features.set(literal ? Feature::NUMA_PAIR_P1_LITERAL : Feature::NUMA_PAIR_P1, column == 1 || column == 3);
    features.set(Feature::NUMA_PAIR_P3, column >= 2);
    features.set(Feature::NUMA_PAIR_P2, v2);
    return features;
}

Entry entry(int n, int tasks_on, int k, int node, int level, bool literal = false, bool v2 = false) {
    Entry got{};
    for (std::size_t column = 0; column < got.size(); column++) {
        Matrix m(n, variant(column, literal, v2));
        m.tasks(tasks_on, k);
        got[column] = m.imbalance(node, level);
    }
    return got;
}

// NUMA levels of a node by number: nodes 0 and 2 have 12, 35, 37; nodes 1 and 3 have 12, 37, 40.
struct Row {
    int tasks_on, node, level;
    std::vector<Entry> by_k; // from k = first
};

void check(int n, int first, const std::vector<Row> &rows) {
    for (const Row &row : rows)
        for (std::size_t i = 0; i < row.by_k.size(); i++) {
            const int k = first + static_cast<int>(i);
            const auto where = ::testing::Message() << n << " CPUs per node, " << k << " tasks on node " << row.tasks_on
                                                    << ", node " << row.node << " level " << row.level;
            EXPECT_EQ(entry(n, row.tasks_on, k, row.node, row.level), row.by_k[i]) << where;
            // Node 2 mirrors node 0 and node 3 mirrors node 1.
            EXPECT_EQ(entry(n, (row.tasks_on + 2) % 4, k, (row.node + 2) % 4, row.level), row.by_k[i])
                << "mirrored, " << where;
        }
}

// The table itself, 32 CPUs per node (NUMAPAIR-13, -14, -19). V1 leaves the rows with PREFER_SIBLING as they are
// (NUMAPAIR-4).
TEST(NumaPair, Table32) {
    const std::vector<Entry> equal = {{0, 0, 0, 0}, {1, 1, 0, 0}, {2, 2, 0, 0}};
    const std::vector<Entry> unequal_ps = {{1, 1, 0, 0}, {2, 2, 2, 2}, {3, 3, 3, 3}};
    check(32, 2,
          {{0, 1, 0, equal},
           {0, 2, 1, unequal_ps},
           {0, 3, 1, unequal_ps},
           {0, 2, 2, {{16, 0, 16, 0}, {16, 0, 16, 0}, {16, 0, 16, 0}}},
           {1, 0, 0, equal},
           {1, 2, 2, {{17, 0, 17, 0}, {17, 1, 17, 0}, {18, 2, 18, 0}}},
           {1, 3, 2, equal}});
}

// NUMAPAIR-15.
TEST(NumaPair, Table16) {
    EXPECT_EQ(entry(16, 0, 2, 2, 1), (Entry{1, 1, 1, 1}));
    EXPECT_EQ(entry(16, 0, 3, 1, 0), (Entry{1, 1, 1, 1}));
}

TEST(NumaPair, Table64) {
    for (int k = 2; k <= 4; k++) {
        EXPECT_EQ(entry(64, 0, k, 2, 2), (Entry{32, 0, 32, 0})) << k;
        EXPECT_EQ(entry(64, 1, k, 2, 2)[0], 32 + k / 2) << k;
    }
    EXPECT_EQ(entry(64, 0, 3, 1, 0), (Entry{1, 1, 0, 0}));
    EXPECT_EQ(entry(64, 0, 3, 2, 1), (Entry{2, 2, 2, 2}));
}

TEST(NumaPair, Table8) {
    const std::vector<Entry> level12 = {{0, 0, 0, 0}, {0, 0, 1, 1}, {1, 1, 1, 1}, {2, 2, 2, 2}};
    const std::vector<Entry> unequal_ps = {{0, 0, 1, 1}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}};
    check(8, 1,
          {{0, 1, 0, level12},
           {1, 0, 0, level12},
           {0, 2, 1, unequal_ps},
           {0, 3, 1, unequal_ps},
           {0, 2, 2, {{0, 0, 0, 0}, {4, 0, 4, 0}, {4, 0, 4, 0}, {4, 0, 4, 0}}},
           {1, 2, 2, {{0, 0, 0, 0}, {5, 0, 5, 0}, {5, 1, 5, 1}, {6, 2, 6, 2}}},
           {1, 3, 2, {{0, 0, 0, 0}, {0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}}}});
}

// NUMAPAIR-19: V2 is not asked by periodic balancing.
TEST(NumaPair, V2DoesNotAct) {
    for (int k = 2; k <= 4; k++)
        EXPECT_EQ(entry(32, 1, k, 2, 2, false, true), entry(32, 1, k, 2, 2)) << k;
}

// NUMAPAIR-5, -18: equal weights, where the literal form cannot differ from v7.3.
TEST(NumaPair, EqualWeightsUnchanged) {
    for (int k = 1; k <= 8; k++) {
        const Entry got = entry(32, 0, k, 1, 0, true);
        EXPECT_EQ(got[0], got[1]) << k;
        EXPECT_EQ(got[2], got[3]) << k;
    }
}

// NUMAPAIR-20: without PREFER_SIBLING the single-node groups become cases of V1.
TEST(NumaPair, WithoutPreferSibling) {
    for (int k = 3; k <= 6; k++)
        for (const bool v1 : {false, true}) {
            Matrix m(32, variant(v1 ? 1 : 0));
            for (SchedGroup &group : m.s.domains.groups)
                group.flags &= ~u32{SD_PREFER_SIBLING};
            m.tasks(0, k);
            EXPECT_EQ(m.imbalance(2, 1), (v1 ? k : 32 + k) / 2) << k;
        }
}

// NUMAPAIR-7: CPUs of the group outside the balanced set count as busy.
TEST(NumaPair, ExcludedCpusCountAsBusy) {
    Matrix m(32, variant(1));
    m.tasks(1, 4);
    for (int cpu = 8; cpu < 16; cpu++)
        m.s.active.clear(CpuId{cpu}); // of node 0: in both groups of node 2's top level
    for (int cpu = 40; cpu < 48; cpu++)
        m.s.active.clear(CpuId{cpu}); // of node 1: only in the busiest
    Domain *top = m.s.rqs[64].sd.base;
    while (top->parent != nullptr)
        top = top->parent;
    LbEnv env{.s = m.s, .sd = *top, .dst_cpu = CpuId{64}, .idle = CpuIdle::idle, .mover = kernel_mover};
    env.cpus = top->span & m.s.active;
    sched_balance_find_src_group(env);
    EXPECT_EQ(env.imbalance, (4 + 8) / 2);
}

// NUMAPAIR-16: a bare pair runs on CPUs with one task each, so only the fifth failed pass pushes.
TEST(NumaPair, FifthFailedPassPushes) {
    Matrix m(32);
    m.tasks(1, 2);
    for (int i = 0; i < 2; i++) {
        Task &p = m.s.tasks.emplace_back();
        p.id = TaskId{i};
        p.cpus_allowed = m.machine.online();
        p.on_rq = OnRq::queued;
        m.s.rqs[static_cast<std::size_t>(32 + i)].curr = &p;
    }
    Domain *top = m.s.rqs[64].sd.base;
    while (top->parent != nullptr)
        top = top->parent;
    for (int pass = 1; pass <= 5; pass++) {
        bool go_on = true;
        EXPECT_EQ(sched_balance_rq(m.s, CpuId{64}, *top, CpuIdle::idle, &go_on), 0);
        EXPECT_EQ(top->nr_balance_failed, static_cast<u32>(pass));
        EXPECT_EQ(top->balance_interval, top->min_interval);
        EXPECT_EQ(m.s.effects.size(), pass == 5 ? 1U : 0U) << pass; // LB-78
    }
    EXPECT_EQ(m.s.effects[0].kind, EffectKind::active_push);
    EXPECT_EQ(m.s.effects[0].target, CpuId{64});
}

// NUMAPAIR-17: once split 1 : 1, nothing in balancing pulls the pair together.
TEST(NumaPair, SplitPairStays) {
    for (int node = 0; node < 4; node++) {
        Matrix m(32);
        m.tasks(1, 1);
        m.tasks(2, 1);
        for (int level = 0; level < 3; level++) {
            Rq &first = m.s.rqs[static_cast<std::size_t>(node * 32)];
            if (first.nr_running == 0) {
                EXPECT_EQ(m.imbalance(node, level), 0) << node << ' ' << level;
            }
        }
    }
}

} // namespace
} // namespace fairground::fair
