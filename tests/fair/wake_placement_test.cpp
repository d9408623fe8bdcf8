// SPDX-License-Identifier: GPL-2.0-only
//
// select_task_rq_fair for wake-ups: the examples of spec/wake-placement.md, EX-WAKE 1..46.
#include "fair/h_load.h"
#include "wake_world.h"

#include <gtest/gtest.h>

namespace fairground::fair::test {
namespace {

// What a test compares: CPU and the rules of the way there.
#define EXPECT_PLACED(placement, cpu_, rule_)                                                                          \
    do {                                                                                                               \
        const Placement placed_ = (placement);                                                                         \
        EXPECT_EQ(placed_.cpu, CpuId{cpu_});                                                                           \
        EXPECT_EQ(placed_.rule.name(), rule_);                                                                         \
    } while (false)

// WAKE-9: root only, and one group level.
TEST(TaskHLoad, Examples) {
    World w(machine_a(), true);
    CfsRq &root = w.rq(0).cfs;
    const auto in_root = [&](u64 load, u64 queue) {
        root.avg.load_avg = queue;
        return read_task_h_load(w.s, load, root);
    };
    EXPECT_EQ(in_root(1024, 2048), 1023U);
    EXPECT_EQ(in_root(1024, 1024), 1023U);
    EXPECT_EQ(in_root(10, 10), 9U);

    Entity entity;
    entity.cfs_rq = &root;
    CfsRq group;
    group.group_entity = &entity;
    group.avg.load_avg = 2048;
    const auto in_group = [&](u64 entity_load, u64 root_load) {
        entity.avg.load_avg = entity_load;
        root.avg.load_avg = root_load;
        return read_task_h_load(w.s, 1024, group);
    };
    EXPECT_EQ(in_group(64, 1088), 31U);
    EXPECT_EQ(in_group(1024, 2048), 511U);

    // The cache keeps the value of this jiffy although the loads change (WAKE-9).
    update_cfs_rq_h_load(w.s, group);
    EXPECT_EQ(in_group(64, 1088), 511U);
    w.s.jiffies++;
    EXPECT_EQ(in_group(64, 1088), 31U);
}

// EX-WAKE 1..3: WAKE-43, WAKE-46, WAKE-47.
TEST(WakeWide, Examples) {
    World w(machine_a());
    w.busy("0,8");
    w.waker.wakee_flips = 64;
    w.waker.last_wakee = w.p.id;
    w.p.wakee_flips = 8;
    EXPECT_PLACED(w.wake(8), 9, "WAKE-100"); // 1
    EXPECT_EQ(w.wake(8).target, CpuId{8});
    EXPECT_EQ(w.wake(8).affine_rule.name(), "");

    w.waker.wakee_flips = 63;
    EXPECT_PLACED(w.wake(8), 1, "WAKE-108"); // 2
    EXPECT_EQ(w.wake(8).target, CpuId{0});
    EXPECT_EQ(w.wake(8).affine_rule.name(), "WAKE-69");

    w.waker.wakee_flips = 130; // 3
    w.waker.last_wakee = TaskId{};
    w.s.jiffies = 1001;
    const Placement placed = w.wake(8);
    EXPECT_PLACED(placed, 9, "WAKE-100");
    EXPECT_EQ(w.waker.wakee_flips, 130U); // WAKE-51: asking changes nothing
    w.commit(placed);
    EXPECT_EQ(w.waker.wakee_flips, 66U);
    EXPECT_EQ(w.waker.wakee_flip_decay_ts, 1001U);
    EXPECT_EQ(w.waker.last_wakee, w.p.id);

    w.s.jiffies = 1000; // HZ jiffies are not more than HZ: no halving
    w.waker.wakee_flip_decay_ts = 0;
    EXPECT_EQ(w.wake(8).waker_flips, 66U);
}

// WAKE-43: the idle thread keeps a record of its own.
TEST(WakeWide, IdleThreadRecords) {
    World w(machine_a());
    w.interrupt();
    w.rq(0).idle_wakee_flips = 6;
    w.s.jiffies = 5000;
    w.commit(w.wake(3));
    EXPECT_EQ(w.rq(0).idle_wakee_flips, 4U);
    EXPECT_EQ(w.rq(0).idle_wakee_flip_decay_ts, 5000U);
    EXPECT_EQ(w.rq(0).idle_last_wakee, w.p.id);
    EXPECT_EQ(w.wake(3).waker_flips, 4U);
}

// EX-WAKE 4: WAKE-48, WAKE-50.
TEST(SelectTaskRq, FarNodeIsNotAffine) {
    World w(machine_a());
    w.busy("0,8");
    for (Domain &sd : w.s.domains.domains)
        if ((sd.flags & SD_NUMA) != 0)
            sd.flags &= ~u32{SD_WAKE_AFFINE};
    EXPECT_PLACED(w.wake(8, WF_SYNC), 9, "WAKE-100");
    EXPECT_EQ(w.wake(8, WF_SYNC).target, CpuId{8});
}

// WAKE-44.
TEST(SelectTaskRq, CurrentCpuHint) {
    World w(machine_a());
    w.busy("0");
    EXPECT_PLACED(w.wake(8, WF_CURRENT_CPU), 0, "WAKE-44");
    World::allow(w.p, World::list("1-15"));
    EXPECT_PLACED(w.wake(8, WF_CURRENT_CPU), 8, "WAKE-81");
}

struct WeightCase {
    int id;
    u64 this_load, prev_load;
    u64 current; // 0: none
    u64 task;
    int pct;
    u64 this_capacity, prev_capacity;
    bool sync;
    s64 t, p; // 0, 0: not compared
    bool stays;
    std::string_view rule;
};

// EX-WAKE 10..20: WAKE-8, WAKE-10, WAKE-64..69, CG-41, CG-42.
TEST(WakeAffine, Weights) {
    constexpr WeightCase table[] = {
        {10, 1024, 1024, 0, 0, 117, 1024, 1024, false, 104857600, 113246208, true, "WAKE-69"},
        {11, 1024, 1024, 0, 512, 117, 1024, 1024, false, 157286400, 56623104, false, "WAKE-69"},
        {12, 1024, 2048, 0, 512, 117, 1024, 1024, false, 157286400, 169869312, true, "WAKE-69"},
        {13, 1024, 300, 0, 1024, 117, 1024, 1024, false, 209715200, -80068608, false, "WAKE-69"},
        {14, 2048, 1024, 1024, 1024, 117, 1024, 1024, true, 209715200, 1, false, "WAKE-69"},
        {15, 1024, 0, 1024, 0, 117, 1024, 1024, true, 0, 1, true, "WAKE-69"},
        {16, 500, 0, 1024, 0, 117, 1024, 1024, true, 0, 0, true, "WAKE-66"},
        {17, 2048, 2048, 1024, 1000, 117, 1024, 512, true, 103628800, 115900417, true, "WAKE-69"},
        {18, 2048, 2048, 1024, 1000, 117, 512, 1024, true, 207257600, 57950209, false, "WAKE-69"},
        {19, 2000, 953, 1000, 0, 110, 1024, 1024, true, 102400000, 102466561, true, "WAKE-69"},
        {20, 2000, 952, 1000, 0, 110, 1024, 1024, true, 102400000, 102359041, false, "WAKE-69"},
    };
    for (const WeightCase &c : table) {
        World w(machine_a());
        w.busy("0", 2, c.this_load); // two tasks: WAKE-62 stays out of the way
        w.busy("8", 1, c.prev_load);
        w.waker.se.avg.load_avg = c.current;
        w.p.se.avg.load_avg = c.task;
        w.rq(0).cpu_capacity = c.this_capacity;
        w.rq(8).cpu_capacity = c.prev_capacity;
        const AffineChoice choice = w.affine(8, c.sync, c.pct);
        EXPECT_EQ(choice.cpu, CpuId{c.stays ? 0 : 8}) << "EX-WAKE " << c.id;
        EXPECT_EQ(choice.rule.name(), c.rule) << "EX-WAKE " << c.id;
        EXPECT_EQ(choice.difference, c.t - c.p) << "EX-WAKE " << c.id;
    }
}

// WAKE-60, WAKE-67: the feature switches.
TEST(WakeAffine, Switches) {
    World w(machine_a());
    w.busy("0,8");
    w.s.features.apply("NO_WA_BIAS");
    EXPECT_EQ(w.affine(8, false, 117).difference, 0); // equal loads, no bias: not below
    EXPECT_EQ(w.affine(8, false, 117).cpu, CpuId{8});
    EXPECT_EQ(w.affine(8, true, 117).rule.name(), "WAKE-62");
    w.s.features.apply("NO_WA_IDLE");
    EXPECT_EQ(w.affine(8, true, 117).rule.name(), "WAKE-69");
    w.s.features.apply("NO_WA_WEIGHT");
    EXPECT_EQ(w.affine(8, true, 117).rule.name(), "WAKE-60");
    EXPECT_EQ(w.affine(8, true, 117).cpu, CpuId{8});
}

// WAKE-62: delayed tasks are discounted.
TEST(WakeAffine, DelayedTasksDoNotCount) {
    World w(machine_a());
    w.busy("0,8");
    w.rq(0).nr_running = 3;
    w.rq(0).cfs.h_nr_queued = 3;
    EXPECT_EQ(w.affine(8, true, 117).rule.name(), "WAKE-62");
    w.rq(0).cfs.h_nr_runnable = 2;
    EXPECT_NE(w.affine(8, true, 117).rule.name(), "WAKE-62");
}

// EX-WAKE 30..32: WAKE-12, WAKE-89, WAKE-90.
TEST(SelectIdleSibling, OtherLlc) {
    World w(machine_a());
    w.busy("0,8");
    EXPECT_PLACED(w.wake(8, WF_SYNC), 1, "WAKE-108"); // 30
    EXPECT_EQ(w.wake(8, WF_SYNC).affine_rule.name(), "WAKE-62");

    w.shared(0).has_idle_cores = true;
    const Placement placed = w.wake(8, WF_SYNC);
    EXPECT_PLACED(placed, 2, "WAKE-107"); // 31
    w.commit(placed);
    EXPECT_TRUE(w.shared(0).has_idle_cores);

    w.busy("0-7"); // 32
    w.shared(0).has_idle_cores = false;
    w.shared(0).nr_idle_scan = 0;
    EXPECT_PLACED(w.wake(8, WF_SYNC), 0, "WAKE-93");
}

// EX-WAKE 33, 34: WAKE-85, WAKE-100.
TEST(SelectIdleSibling, SameLlc) {
    World w(machine_a());
    w.busy("0,5");
    EXPECT_PLACED(w.wake(5), 4, "WAKE-100"); // 33
    EXPECT_EQ(w.wake(5).target, CpuId{0});

    w.busy("4"); // 34
    w.p.recent_used_cpu = CpuId{3};
    const Placement placed = w.wake(5);
    EXPECT_PLACED(placed, 3, "WAKE-85");
    EXPECT_EQ(w.p.recent_used_cpu, CpuId{3});
    w.commit(placed);
    EXPECT_EQ(w.p.recent_used_cpu, CpuId{5});
}

// EX-WAKE 35: WAKE-101, WAKE-109.
TEST(SelectIdleSibling, NoIdleCoreLeft) {
    World w(machine_a());
    w.busy("0,2,5,6");
    w.p.recent_used_cpu = CpuId{5};
    w.shared(0).has_idle_cores = true;
    const Placement placed = w.wake(5);
    EXPECT_PLACED(placed, 1, "WAKE-109");
    w.commit(placed);
    EXPECT_FALSE(w.shared(0).has_idle_cores);
}

// EX-WAKE 36: WAKE-103, WAKE-106, WAKE-108.
TEST(SelectIdleSibling, ScanLimit) {
    World w(machine_a());
    w.busy("0-5");
    w.p.recent_used_cpu = CpuId{5};
    w.shared(0).nr_idle_scan = 2;
    EXPECT_PLACED(w.wake(5), 0, "WAKE-93");
    w.shared(0).nr_idle_scan = 6; // 1..5 are busy, 6 is the sixth
    EXPECT_PLACED(w.wake(5), 6, "WAKE-108");
    w.shared(0).nr_idle_scan = 5;
    EXPECT_PLACED(w.wake(5), 0, "WAKE-93");
    w.s.features.apply("NO_SIS_UTIL");
    EXPECT_PLACED(w.wake(5), 6, "WAKE-108");
}

// EX-WAKE 37: WAKE-3, WAKE-4.
TEST(SelectIdleSibling, SchedIdleCpu) {
    World w(machine_a());
    w.busy("0-5,7");
    w.sched_idle(6);
    EXPECT_PLACED(w.wake(3), 6, "WAKE-108");
    w.p.policy = Policy::idle;
    EXPECT_PLACED(w.wake(3), 0, "WAKE-93");
}

// WAKE-101: a sched_idle CPU becomes the first candidate of a core search.
TEST(SelectIdleSibling, SchedIdleCpuWithIdleCores) {
    World w(machine_a());
    w.busy("0-5,7");
    w.sched_idle(6);
    w.shared(0).has_idle_cores = true;
    EXPECT_PLACED(w.wake(3), 6, "WAKE-109");
}

// EX-WAKE 38, 39: WAKE-61.
TEST(SelectIdleSibling, Interrupt) {
    World w(machine_a());
    w.interrupt();
    EXPECT_PLACED(w.wake(5), 5, "WAKE-81"); // 38
    EXPECT_EQ(w.wake(5).affine_rule.name(), "WAKE-61");
    w.busy("5");
    EXPECT_PLACED(w.wake(5), 0, "WAKE-81");

    w.busy("8"); // 39
    EXPECT_PLACED(w.wake(8), 0, "WAKE-81");
    EXPECT_EQ(w.wake(8).affine_rule.name(), "WAKE-69");
    w.p.se.avg.load_avg = 1024;
    EXPECT_PLACED(w.wake(8), 9, "WAKE-100");
    EXPECT_EQ(w.wake(8).target, CpuId{8});
}

// WAKE-63.
TEST(SelectIdleSibling, IdlePrevInOtherLlc) {
    World w(machine_a());
    w.busy("0");
    EXPECT_PLACED(w.wake(8), 8, "WAKE-81");
    EXPECT_EQ(w.wake(8).affine_rule.name(), "WAKE-63");
}

// WAKE-82.
TEST(SelectIdleSibling, IdlePrevNearTarget) {
    World w(machine_a());
    w.busy("0");
    EXPECT_PLACED(w.wake(5, WF_SYNC), 5, "WAKE-82");
}

// EX-WAKE 40: WAKE-84.
TEST(SelectIdleSibling, BoundKthread) {
    World w(machine_a());
    w.busy("0");
    w.waker.kthread = true;
    World::allow(w.waker, World::list("0"));
    EXPECT_PLACED(w.wake(0), 0, "WAKE-84");
    EXPECT_EQ(w.wake(0).recent_used_cpu, w.p.recent_used_cpu); // WAKE-94: unchanged
    w.asking.in_task = false;
    EXPECT_PLACED(w.wake(0), 1, "WAKE-100");
    w.asking.in_task = true;
    w.rq(0).nr_running = 2;
    EXPECT_PLACED(w.wake(0), 1, "WAKE-100");
}

// EX-WAKE 41: WAKE-102, siblings outside the affinity count for idleness.
TEST(SelectIdleSibling, SiblingOutsideAffinity) {
    World w(machine_a());
    w.busy("0,3,5");
    w.shared(0).has_idle_cores = true;
    World::allow(w.p, World::list("1-6"));
    EXPECT_PLACED(w.wake(3), 6, "WAKE-107");
}

// EX-WAKE 42..44: WAKE-5, WAKE-83, WAKE-86, WAKE-91, WAKE-92, WAKE-105.
TEST(SelectIdleSibling, Clusters) {
    World w(machine_b());
    w.busy("0");
    EXPECT_PLACED(w.wake(5, WF_SYNC), 1, "WAKE-105"); // 42

    World x(machine_b());
    x.busy("0-4");
    x.shared(0).nr_idle_scan = 3;
    EXPECT_PLACED(x.wake(5, WF_SYNC), 5, "WAKE-91"); // 43

    World y(machine_b());
    y.busy("0-3,5");
    y.p.recent_used_cpu = CpuId{6};
    EXPECT_PLACED(y.wake(5, WF_SYNC), 4, "WAKE-108"); // 44
    y.shared(0).nr_idle_scan = 0;
    EXPECT_PLACED(y.wake(5, WF_SYNC), 6, "WAKE-92");
}

// EX-WAKE 45: WAKE-42, SYNC-1.
TEST(SelectIdleSibling, ExitingWaker) {
    World w(machine_a());
    w.busy("0,8");
    w.p.se.avg.load_avg = 1024;
    EXPECT_PLACED(w.wake(8, WF_SYNC), 1, "WAKE-108");
    w.waker.exiting = true;
    const Placement placed = w.wake(8, WF_SYNC);
    EXPECT_PLACED(placed, 9, "WAKE-100");
    EXPECT_EQ(placed.affine_rule.name(), "WAKE-69");
}

// EX-WAKE 46: WAKE-11, WAKE-66.
TEST(SelectIdleSibling, SyncInterruptOnIdleCpu) {
    World w(machine_a(), true);
    w.interrupt();
    w.busy("8", 1, 10);
    w.p.se.avg.load_avg = 1000;
    w.rq(0).cfs.avg.load_avg = 5;
    EXPECT_PLACED(w.wake(8, WF_SYNC), 0, "WAKE-81");
    EXPECT_EQ(w.wake(8, WF_SYNC).affine_rule.name(), "WAKE-66");
    w.rq(0).cfs.avg.load_avg = 0;
    EXPECT_PLACED(w.wake(8, WF_SYNC), 9, "WAKE-100");
    w.rq(0).cfs.avg.load_avg = 5;
    w.asking.boot_idle = true; // its load_avg is 0
    EXPECT_PLACED(w.wake(8, WF_SYNC), 9, "WAKE-100");
}

// WAKE-88.
TEST(SelectIdleSibling, NoLlcDomain) {
    World w(regular_tree(2, {{common_flags, 2, 117}}, 1, 1, 1, 2));
    w.busy("0");
    EXPECT_PLACED(w.wake(1, WF_SYNC), 0, "WAKE-88");
}

// WAKE-104.
TEST(SelectIdleSibling, NoAllowedCpuInLlc) {
    World w(machine_a());
    w.busy("0,8");
    World::allow(w.p, World::list("0,9"));
    w.busy("0");
    w.p.recent_used_cpu = CpuId{8};
    EXPECT_PLACED(w.wake(8, WF_SYNC), 0, "WAKE-93"); // only 0 itself is left in its LLC, and it is busy
}

// WAKE-51, WAKE-52: asking changes nothing; the same question has the same answer.
TEST(SelectTaskRq, AskingIsPure) {
    World w(machine_a(), true);
    w.busy("0,2,5,6");
    w.shared(0).has_idle_cores = true;
    w.p.se.avg.load_avg = 77;
    const Placement first = w.wake(5);
    EXPECT_TRUE(w.shared(0).has_idle_cores);
    EXPECT_FALSE(w.rq(0).cfs.h_load_valid);
    EXPECT_FALSE(w.rq(5).cfs.h_load_valid);
    EXPECT_EQ(w.waker.wakee_flips, 0U);
    const Placement second = w.wake(5);
    EXPECT_EQ(first.cpu, second.cpu);
    EXPECT_EQ(first.rule, second.rule);
    w.commit(first);
    EXPECT_TRUE(w.rq(5).cfs.h_load_valid);  // K was asked for
    EXPECT_FALSE(w.rq(0).cfs.h_load_valid); // C was not: no sync
    EXPECT_EQ(w.waker.wakee_flips, 1U);
}

// Decisions carry rules, CPUs and the difference of the weights.
TEST(SelectTaskRq, Decisions) {
    World w(machine_a());
    w.busy("0,8");
    DecisionLog log;
    w.s.decisions = &log;
    w.s.now = 42;
    (void)w.wake(8);
    ASSERT_EQ(log.size(), 2U);
    EXPECT_EQ(log[0],
              (Decision{42, DecisionKind::affine, CpuId{0}, w.p.id, CpuId{8}, 0, 104857600 - 113246208, "WAKE-69"}));
    EXPECT_EQ(log[1], (Decision{42, DecisionKind::place, CpuId{0}, w.p.id, CpuId{8}, 1, 0, "WAKE-108"}));
}

// WAKE-40, WAKE-41.
TEST(SelectTaskRq, AffinityAndFallback) {
    World w(machine_a());
    u32 flags = WF_TTWU;
    const auto select = [&](int prev) {
        w.p.cpu = CpuId{prev};
        flags = WF_TTWU;
        return static_cast<int>(select_task_rq(w.s, w.p, CpuId{prev}, flags, w.asking, &w.waker));
    };
    w.busy("0");
    EXPECT_EQ(select(8), 8);
    EXPECT_EQ(flags, WF_TTWU | WF_RQ_SELECTED);
    w.s.active.clear(CpuId{8}); // the class's choice has gone away: another CPU of its node
    EXPECT_EQ(select(8), 9);
    World::allow(w.p, World::list("3"));
    EXPECT_EQ(select(8), 3); // one CPU only: the class is not asked
    EXPECT_EQ(flags, WF_TTWU);
    World::allow(w.p, World::list("3-8"));
    w.p.migration_disabled = true;
    EXPECT_EQ(select(5), 5);
    w.s.active.clear(CpuId{5});
    EXPECT_EQ(select(5), 3); // first allowed active CPU of the node
}

// WAKE-130, WAKE-131.
TEST(UpdateIdleCore, WholeCore) {
    World w(machine_a());
    w.busy("3");
    update_idle_core(w.s, w.rq(2));
    EXPECT_FALSE(w.shared(0).has_idle_cores);
    update_idle_core(w.s, w.rq(5));
    EXPECT_TRUE(w.shared(0).has_idle_cores);
    EXPECT_FALSE(w.shared(1).has_idle_cores);
    w.s.domains.smt_active = false;
    update_idle_core(w.s, w.rq(9));
    EXPECT_FALSE(w.shared(1).has_idle_cores);
}

} // namespace
} // namespace fairground::fair::test
