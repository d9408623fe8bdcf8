// SPDX-License-Identifier: GPL-2.0-only
//
// Placement of new and exec'ing tasks (LB-83, LB-84): EX-WAKE 60..69 and the P2, P3 tables of
// spec/numa-pair-variant.md.
#include "fair/slow_path.h"
#include "wake_world.h"

#include <array>
#include <gtest/gtest.h>

namespace fairground::fair::test {
namespace {

// A forking parent runs on CPU 0 of machine A.
struct Forking : World {
    explicit Forking(int imb, DomainTree tree = machine_a()) : World(std::move(tree)) {
        busy("0");
        imb_numa_nr(imb);
    }
};

// EX-WAKE 60, 61: WAKE-171..173.
TEST(SlowPath, Spread) {
    Forking one(1);
    EXPECT_EQ(one.fork(), 8);
    Forking two(2);
    EXPECT_EQ(two.fork(), 2);
}

// EX-WAKE 62..64: WAKE-171, WAKE-172.
TEST(SlowPath, NumaAllowance) {
    Forking w(4);
    w.busy("2");
    EXPECT_EQ(w.fork(), 4);
    w.imb_numa_nr(2);
    EXPECT_EQ(w.fork(), 8);
    w.imb_numa_nr(4);
    w.busy("4");
    EXPECT_EQ(w.fork(), 8); // 63
    w.busy("8");
    EXPECT_EQ(w.fork(), 6); // 64
    World::allow(w.p, World::list("0-1,8-9"));
    EXPECT_EQ(w.fork(), 1); // 65: only allowed CPUs count, WAKE-160
}

// EX-WAKE 66: WAKE-170.
TEST(SlowPath, PreferredNode) {
    Forking w(1);
    w.p.numa_preferred_nid = NodeId{0};
    EXPECT_EQ(w.fork(), 2);
    w.p.numa_preferred_nid = NodeId{1};
    w.imb_numa_nr(8);
    EXPECT_EQ(w.fork(), 8);
}

// EX-WAKE 67: WAKE-162, WAKE-165, WAKE-168.
TEST(SlowPath, Overloaded) {
    for (const u64 remote : {u64{1700}, u64{1900}}) {
        Forking w(1);
        w.busy("0-7", 2, 2048);
        w.busy("8-15", 2, remote);
        for (Rq &rq : w.s.rqs) {
            rq.cfs.avg.util_avg = 1024;
            rq.cfs.avg.runnable_avg = 2048;
        }
        EXPECT_EQ(w.fork(), remote == 1700 ? 8 : 0);
    }
}

// EX-WAKE 68: WAKE-160, the task itself does not count.
TEST(SlowPath, Exec) {
    Forking w(1);
    Task &self = w.waker;
    self.se.avg.load_avg = 1024;
    self.se.avg.last_update_time = w.rq(0).cfs.avg.last_update_time = 5;
    EXPECT_EQ(select_task_rq_fair(w.s, self, CpuId{0}, WF_EXEC, w.asking).cpu, CpuId{0});
    w.busy("1");
    EXPECT_EQ(select_task_rq_fair(w.s, self, CpuId{0}, WF_EXEC, w.asking).cpu, CpuId{8});
}

// EX-WAKE 69: WAKE-182, WAKE-184.
TEST(SlowPath, ExitLatency) {
    Forking w(1, one_llc());
    const s64 latency[] = {-1, -1, 10, 2, 2, 10, -1, -1};
    for (int cpu = 0; cpu < 8; cpu++)
        w.rq(cpu).exit_latency = latency[cpu];
    EXPECT_EQ(w.fork(), 3);
}

// WAKE-180..184 one by one.
TEST(SlowPath, CpuInGroup) {
    World w(machine_b());
    SchedGroup group;
    group.span = World::list("4-7");
    group.weight = 4;
    const auto pick = [&] { return sched_balance_find_dst_group_cpu(w.s, group, w.p, CpuId{0}); };
    const auto expect = [&](int cpu, std::string_view rule) {
        const DstCpu found = pick();
        EXPECT_EQ(found.cpu, CpuId{cpu});
        EXPECT_EQ(found.rule.name(), rule);
    };
    expect(4, "WAKE-182"); // equal stamps: the first
    w.rq(6).idle_stamp = 200;
    expect(6, "WAKE-182"); // no states known: the latest stamp
    w.rq(5).exit_latency = 7;
    expect(6, "WAKE-182"); // 5 is taken for its latency, then 6 for its stamp
    w.rq(6).exit_latency = 8;
    expect(5, "WAKE-182");
    w.rq(7).exit_latency = 7;
    w.rq(7).idle_stamp = 101;
    expect(7, "WAKE-182"); // as shallow, more recent
    w.sched_idle(6);
    expect(6, "WAKE-181");
    w.p.policy = Policy::idle;
    expect(7, "WAKE-182");
    w.busy("4-7", 1, 500);
    w.rq(6).cfs.avg.load_avg = 400;
    w.rq(7).cfs.avg.load_avg = 400;
    expect(6, "WAKE-183");
    World::allow(w.p, World::list("0-3"));
    expect(0, "WAKE-184");
    group.weight = 1;
    group.span = World::list("5");
    expect(5, "WAKE-180");
}

// WAKE-150, WAKE-49.
TEST(SlowPath, NoDomain) {
    Forking w(1);
    World::allow(w.p, CpuMask());
    EXPECT_EQ(w.ask(3, WF_FORK).cpu, CpuId{3});
    EXPECT_EQ(w.ask(3, WF_FORK).rule.name(), "WAKE-150");
    World::allow(w.p, w.s.active);
    for (Domain &sd : w.s.domains.domains)
        sd.flags &= ~u32{SD_BALANCE_FORK};
    EXPECT_EQ(w.ask(3, WF_FORK).cpu, CpuId{3});
    EXPECT_EQ(w.ask(3, WF_FORK).rule.name(), "WAKE-49");
}

// WAKE-151: the walk follows the flags; a NUMA level without them is left out (WAKE-50).
TEST(SlowPath, FlaggedLevelsOnly) {
    Forking w(1);
    for (Domain &sd : w.s.domains.domains)
        if ((sd.flags & SD_NUMA) != 0)
            sd.flags &= ~u32{SD_BALANCE_FORK | SD_BALANCE_EXEC};
    EXPECT_EQ(w.fork(), 2);
}

// WAKE-166, -167: classes and ties between groups.
TEST(SlowPath, GroupChoice) {
    World w(one_llc());
    Rule rule;
    const auto find = [&]() -> int {
        const SchedGroup *group = sched_balance_find_dst_group(w.s, *w.rq(0).sd.llc, w.p, CpuId{0}, &rule);
        return group != nullptr ? group->span.first().value : -1;
    };
    EXPECT_EQ(find(), -1); // all spare and alike
    EXPECT_EQ(rule.name(), "WAKE-173");
    w.busy("0");
    EXPECT_EQ(find(), 2);
    w.rq(2).cfs.avg.util_avg = 100;
    w.rq(4).cfs.avg.util_avg = 90;
    w.rq(6).cfs.avg.util_avg = 90;
    EXPECT_EQ(find(), 4); // as many idle CPUs: strictly less utilisation
    for (SchedGroup *group : w.rq(0).sd.llc->groups)
        if (group->span.first() != 6)
            group->sgc->imbalance = true;
    EXPECT_EQ(find(), 6); // WAKE-164: the marked ones are class 5
    EXPECT_EQ(rule.name(), "WAKE-167");
    World::allow(w.p, World::list("2-5"));
    EXPECT_EQ(find(), 2); // equals of class 5: the first; local is out by affinity
    EXPECT_EQ(rule.name(), "WAKE-167");
}

// Two groups of a NUMA domain: `local` and `idlest` CPUs, of which some run one task each.
struct TwoGroups {
    World w;
    SchedGroup local, idlest;
    GroupCapacity local_capacity, idlest_capacity;
    std::array<SchedGroup *, 2> list{&local, &idlest};
    Domain sd;

    TwoGroups(int local_weight, int local_running, int idlest_weight, int idlest_running, int imb)
        : w(regular_tree(local_weight + idlest_weight, {}, 1, 1, 1, local_weight + idlest_weight)) {
        w.p.numa_preferred_nid = NodeId{}; // none
        local.span = CpuMask::range(0, local_weight - 1);
        idlest.span = CpuMask::range(local_weight, local_weight + idlest_weight - 1);
        local.weight = local_weight;
        idlest.weight = idlest_weight;
        local_capacity.capacity = static_cast<u64>(local_weight) * 1024;
        idlest_capacity.capacity = static_cast<u64>(idlest_weight) * 1024;
        local.sgc = &local_capacity;
        idlest.sgc = &idlest_capacity;
        sd.flags = numa_flags;
        sd.imbalance_pct = 117;
        sd.imb_numa_nr = imb;
        sd.groups = list;
        run(0, local_running);
        run(local_weight, idlest_running);
    }
    void run(int first, int count) {
        for (int cpu = first; cpu < first + count; cpu++) {
            w.rq(cpu).nr_running = w.rq(cpu).cfs.h_nr_runnable = w.rq(cpu).cfs.h_nr_queued = 1;
            w.rq(cpu).current_class = SchedClass::fair;
        }
    }
    // True: the task moves to the idlest group; `amount` as the decision records it.
    bool moves(Rule &rule, s64 &amount) {
        DecisionLog log;
        w.s.decisions = &log;
        const bool moved = sched_balance_find_dst_group(w.s, sd, w.p, CpuId{0}, &rule) != nullptr;
        amount = log.back().amount;
        w.s.decisions = nullptr;
        return moved;
    }
};

// NUMAPAIR-8..12, LB-86, LB-87: the table of numa-pair-variant.md section 3.
TEST(NumaPair, ForkSearch) {
    struct Case {
        int wl, running, wi, i_running, n;
        bool v73;
        std::string_view v73_rule;
        bool p2;
        std::string_view p2_rule;
        bool p2p3;
    };
    constexpr Case table[] = {
        {64, 2, 32, 0, 4, false, "WAKE-173", false, "WAKE-171", false},
        {32, 2, 64, 0, 4, true, "WAKE-173", false, "WAKE-171", false},
        {64, 3, 96, 3, 8, true, "WAKE-173", false, "WAKE-171", false},
        {64, 3, 96, 0, 8, true, "WAKE-173", true, "WAKE-173", false},
        {64, 9, 96, 0, 8, true, "WAKE-173", true, "WAKE-173", true},
        {32, 2, 32, 0, 4, false, "WAKE-171", false, "WAKE-171", false}, // load-balance.md, section 13
        {32, 3, 32, 0, 4, true, "WAKE-173", true, "WAKE-173", false},
        {32, 4, 32, 0, 4, true, "WAKE-173", true, "WAKE-173", true},
    };
    for (const Case &c : table) {
        TwoGroups g(c.wl, c.running, c.wi, c.i_running, c.n);
        Rule rule;
        s64 amount = 0;
        EXPECT_EQ(g.moves(rule, amount), c.v73) << c.wl << ' ' << c.running << ' ' << c.wi;
        EXPECT_EQ(rule.name(), c.v73_rule) << c.wl << ' ' << c.running << ' ' << c.wi;
        g.w.s.features.apply("P2");
        EXPECT_EQ(g.moves(rule, amount), c.p2) << c.wl << ' ' << c.running << ' ' << c.wi;
        EXPECT_EQ(rule.name(), c.p2_rule) << c.wl << ' ' << c.running << ' ' << c.wi;
        g.w.s.features.apply("P3");
        EXPECT_EQ(g.moves(rule, amount), c.p2p3) << c.wl << ' ' << c.running << ' ' << c.wi;
    }
}

// NUMAPAIR-9: CPUs outside the affinity count as busy, so P2 can create a difference.
TEST(NumaPair, AffinityCountsAsBusy) {
    TwoGroups g(64, 1, 32, 0, 4);
    World::allow(g.w.p, World::list("0-3,64-67"));
    Rule rule;
    s64 amount = 0;
    EXPECT_FALSE(g.moves(rule, amount));
    EXPECT_EQ(rule.name(), "WAKE-171");
    EXPECT_EQ(amount, 1);
    g.w.s.features.apply("P2");
    EXPECT_TRUE(g.moves(rule, amount));
}

// LB-85: averages at which fully busy or overloaded groups differ enough.
TEST(SlowPath, LoadMargins) {
    struct Case {
        u64 local, idlest;
        bool numa, moves;
    };
    constexpr Case table[] = {{1160, 1000, false, false},
                              {1170, 1000, false, false},
                              {1171, 1000, false, true},
                              {1174, 1000, true, false},
                              {1175, 1000, true, true}};
    for (const Case &c : table) {
        TwoGroups g(2, 2, 2, 2, 1);
        if (!c.numa)
            g.sd.flags &= ~u32{SD_NUMA};
        for (int cpu = 0; cpu < 4; cpu++) {
            g.w.rq(cpu).cfs.avg.util_avg = 1024;
            g.w.rq(cpu).cfs.avg.runnable_avg = 1024;
            g.w.rq(cpu).cfs.avg.load_avg = cpu < 2 ? c.local : c.idlest;
        }
        Rule rule;
        s64 amount = 0;
        EXPECT_EQ(g.moves(rule, amount), c.moves) << c.local << ' ' << c.idlest << ' ' << c.numa;
        EXPECT_EQ(rule.name(), "WAKE-168");
    }
}

} // namespace
} // namespace fairground::fair::test
