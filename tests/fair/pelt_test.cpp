// SPDX-License-Identifier: GPL-2.0-only
//
// Worked examples of spec/pelt.md (computed there with the kernel's arithmetic) and the rules that no example
// covers.
#include "fair/one_cpu.h"

#include <array>
#include <vector>

namespace fairground::fair {
namespace {

constexpr u32 contrib_300 = 300; // with it the divider is 47018
constexpr u64 div_300 = 47018;

// Sums that go with the averages where the examples give only the latter.
SchedAvg at_300(u64 load, u64 runnable, u64 util) {
    return {.load_sum = load * div_300,
            .runnable_sum = runnable * div_300,
            .util_sum = static_cast<u32>(util * div_300),
            .period_contrib = contrib_300,
            .load_avg = load,
            .runnable_avg = runnable,
            .util_avg = util};
}

// PELT-1..3.
TEST(Pelt, X1Decay) {
    struct {
        u64 value, periods, result;
    } const examples[] = {{1024, 1, 1002},    {1024, 31, 523},   {1024, 32, 511},    {1024, 33, 501},
                          {47742, 0, 47741},  {47742, 1, 46718}, {47742, 16, 33758}, {47742, 32, 23870},
                          {47742, 64, 11934}, {1, 1, 0},         {2, 1, 1},          {~u64{0}, 2017, 0}};
    for (const auto &e : examples)
        EXPECT_EQ(decay_load(e.value, e.periods), e.result) << e.value << " over " << e.periods;
}

// PELT-4.
TEST(Pelt, X2Segments) {
    struct {
        u64 periods;
        u32 d1, d3, result;
    } const examples[] = {{1, 1024, 0, 1002},   {1, 24, 100, 123},    {2, 1024, 0, 1981},       {10, 500, 500, 9176},
                          {32, 1024, 0, 23359}, {64, 1, 1023, 35807}, {2017, 1024, 1023, 47741}};
    for (const auto &e : examples)
        EXPECT_EQ(accumulate_pelt_segments(e.periods, e.d1, e.d3), e.result) << e.periods;
}

// A running task of weight 1024 to `now`.
bool run_to(SchedAvg &sa, u64 now) {
    if (!update_load_sum(now, sa, 1, 1, true))
        return false;
    update_load_avg_values(sa, 1024);
    return true;
}

// PELT-5..7.
TEST(Pelt, X3RunningTask) {
    SchedAvg sa;
    for (u64 i = 1; i <= 345; i++) {
        const bool crossed = run_to(sa, i * 1000000);
        switch (i) {
        case 1:
            EXPECT_FALSE(crossed);
            EXPECT_EQ(sa.load_sum, 976U);
            EXPECT_EQ(sa.runnable_sum, 999424U);
            EXPECT_EQ(sa.util_sum, 999424U);
            EXPECT_EQ(sa.period_contrib, 976U);
            EXPECT_EQ(sa.load_avg, 0U);
            break;
        case 2:
            EXPECT_EQ(sa.load_sum, 1930U);
            EXPECT_EQ(sa.runnable_sum, 1976408U);
            EXPECT_EQ(sa.period_contrib, 929U);
            EXPECT_EQ(sa.load_avg, 41U);
            break;
        case 4:
            EXPECT_EQ(sa.load_sum, 3772U);
            EXPECT_EQ(sa.util_avg, 81U);
            break;
        case 8:
            EXPECT_EQ(sa.load_sum, 7215U);
            EXPECT_EQ(sa.load_avg, 155U);
            EXPECT_EQ(sa.runnable_avg, 156U);
            EXPECT_EQ(sa.util_avg, 156U);
            break;
        case 32:
            EXPECT_EQ(sa.load_sum, 22851U);
            EXPECT_EQ(sa.load_avg, 495U);
            break;
        case 64:
            EXPECT_EQ(sa.load_sum, 34287U);
            EXPECT_EQ(sa.load_avg, 750U);
            EXPECT_EQ(sa.util_avg, 751U);
            break;
        case 345:
            EXPECT_EQ(sa.load_sum, 46695U);
            EXPECT_EQ(sa.load_avg, 1023U);
            EXPECT_EQ(sa.util_sum, 47840778U);
            break;
        default:
            break;
        }
    }
}

// PELT-5..7.
TEST(Pelt, X4Edges) {
    SchedAvg sa;
    struct {
        u64 now, load_sum, util_avg;
    } const examples[] = {{500, 0, 0},         {1024, 1, 0},        {1047552, 1023, 0},
                          {1048576, 1001, 21}, {1049600, 1002, 21}, {34603008, 23858, 522}};
    for (const auto &e : examples) {
        run_to(sa, e.now);
        EXPECT_EQ(sa.load_sum, e.load_sum) << e.now;
        EXPECT_EQ(sa.util_avg, e.util_avg) << e.now;
    }
}

// PELT-8.
TEST(Pelt, X5BlockedDecay) {
    Cpus one;
    Entity &se = one.add_task().se;
    run_to(se.avg, 10000000);
    EXPECT_EQ(se.avg.load_sum, 8824U);
    EXPECT_EQ(se.avg.util_sum, 9035776U);
    EXPECT_EQ(se.avg.period_contrib, 549U);
    EXPECT_EQ(se.avg.util_avg, 191U);
    struct {
        u64 now, util_avg, util_sum;
    } const examples[] = {{20000000, 155, 7276014}, {42000000, 98, 4616816}, {74000000, 50, 2410609}};
    for (const auto &e : examples) {
        update_load_avg_blocked_se(e.now, se);
        EXPECT_EQ(se.avg.util_avg, e.util_avg) << e.now;
        EXPECT_EQ(se.avg.util_sum, e.util_sum) << e.now;
    }
}

TEST(Pelt, X6PeriodicTask) {
    Cpus one;
    Entity &se = one.add_task().se;
    u64 peak = 0;
    for (u64 round = 0; round < 100; round++) {
        run_to(se.avg, round * 10000000 + 2000000);
        peak = se.avg.util_avg;
        EXPECT_EQ(se.avg.runnable_avg, peak);
        update_load_avg_blocked_se(round * 10000000 + 10000000, se);
    }
    EXPECT_EQ(peak, 222U);
    EXPECT_EQ(se.avg.util_avg, 188U);
}

// PELT-7, -8.
TEST(Pelt, X7Queue) {
    Cpus one;
    one.root.load_weight = (1024 + 1024 + 335) << 10;
    one.root.h_nr_runnable = 3;
    one.root.h_curr = &one.add_task().se;
    EXPECT_TRUE(update_cfs_rq_load_avg(5000000, one.root));
    const SchedAvg &sa = one.root.avg;
    EXPECT_EQ(sa.load_sum, 11114312U);
    EXPECT_EQ(sa.runnable_sum, 14327808U);
    EXPECT_EQ(sa.util_sum, 4775936U);
    EXPECT_EQ(sa.load_avg, 233U);
    EXPECT_EQ(sa.runnable_avg, 301U);
    EXPECT_EQ(sa.util_avg, 100U);
}

// PELT-10, -30, -31, -50.
TEST(Pelt, X8AttachDetach) {
    Cpus one;
    Entity &se = one.add_task().se;
    one.root.avg.period_contrib = contrib_300;
    se.avg = {.load_avg = 1024, .runnable_avg = 512, .util_avg = 512};
    attach_entity_load_avg(one.root, se);
    EXPECT_EQ(se.avg.load_sum, 47018U);
    EXPECT_EQ(se.avg.util_sum, 24073216U);
    EXPECT_EQ(one.root.avg.load_sum, 48146432U);
    EXPECT_EQ(one.root.avg.load_avg, 1024U);
    EXPECT_EQ(one.root.avg.runnable_avg, 512U);
    EXPECT_EQ(one.root.avg.util_avg, 512U);
    detach_entity_load_avg(one.root, se);
    EXPECT_TRUE(load_avg_is_decayed(one.root.avg));
    EXPECT_EQ(one.root.avg.load_avg + one.root.avg.runnable_avg + one.root.avg.util_avg, 0U);
    EXPECT_EQ(one.root.prop_runnable_sum, 0); // +47018 and -47018 (PELT-50)
}

TEST(Pelt, X9Removal) {
    Cpus one;
    one.root.avg = at_300(1500, 900, 700);
    one.root.avg.load_sum += 123;
    one.root.avg.util_sum += 55;
    one.root.avg.runnable_sum += 7;
    one.root.removed = {.nr = 1, .load_avg = 1000, .util_avg = 400, .runnable_avg = 500};
    EXPECT_TRUE(update_cfs_rq_load_avg(0, one.root)); // no time passes, yet it changed (PELT-21)
    EXPECT_EQ(one.root.avg.load_avg, 500U);
    EXPECT_EQ(one.root.avg.load_sum, 23509123U);
    EXPECT_EQ(one.root.avg.util_avg, 300U);
    EXPECT_EQ(one.root.avg.util_sum, 14105455U);
    EXPECT_EQ(one.root.avg.runnable_avg, 400U);
    EXPECT_EQ(one.root.avg.runnable_sum, 18807207U);
    EXPECT_EQ(one.root.prop_runnable_sum, -22959);
    EXPECT_EQ(one.root.removed.nr, 0U);
    EXPECT_FALSE(update_cfs_rq_load_avg(0, one.root));
}

// PELT-29.
TEST(Pelt, X10Floor) {
    Cpus one;
    Entity &se = one.add_task().se;
    one.root.avg = {.load_sum = 467180,
                    .runnable_sum = 233590,
                    .util_sum = 233600,
                    .period_contrib = contrib_300,
                    .load_avg = 10,
                    .runnable_avg = 5,
                    .util_avg = 5};
    se.avg = {
        .load_sum = 450, .runnable_sum = 188072, .util_sum = 188072, .load_avg = 7, .runnable_avg = 4, .util_avg = 4};
    detach_entity_load_avg(one.root, se);
    EXPECT_EQ(one.root.avg.load_avg, 3U);
    EXPECT_EQ(one.root.avg.load_sum, 140154U);
    EXPECT_EQ(one.root.avg.util_avg, 1U);
    EXPECT_EQ(one.root.avg.util_sum, 46718U);
    EXPECT_EQ(one.root.avg.runnable_avg, 1U);
    EXPECT_EQ(one.root.avg.runnable_sum, 46718U);
}

TEST(Pelt, X11LagOfAnIdleSource) {
    Cpus one;
    Entity &se = one.add_task().se;
    const SchedAvg before = {.last_update_time = 10000000,
                             .load_sum = 40000,
                             .runnable_sum = 40960000,
                             .util_sum = 20480000,
                             .period_contrib = 300};
    se.avg = before;
    one.root.avg.last_update_time = 10000000;
    one.rq.clock_pelt_idle = 12000000;
    one.rq.clock_idle = 13000000;
    one.s.now = 33000000;
    migrate_se_pelt_lag(one.s, se);
    EXPECT_EQ(se.avg.load_sum, 25381U);
    EXPECT_EQ(se.avg.runnable_sum, 25990163U);
    EXPECT_EQ(se.avg.util_sum, 12995081U);
    EXPECT_EQ(se.avg.load_avg, 553U);
    EXPECT_EQ(se.avg.runnable_avg, 553U);
    EXPECT_EQ(se.avg.util_avg, 276U);

    se.avg = before; // PELT-34: only where the source is idle
    one.rq.current_class = SchedClass::fair;
    migrate_se_pelt_lag(one.s, se);
    EXPECT_EQ(se.avg.load_sum, 40000U);
    one.rq.current_class = SchedClass::idle; // and its clock was not stopped (PELT-46)
    one.root.pelt_clock_stopped = true;
    update_idle_cfs_rq_clock_pelt(one.root);
    migrate_se_pelt_lag(one.s, se);
    EXPECT_EQ(se.avg.load_sum, 40000U);
}

// PELT-40, -42, -47.
TEST(Pelt, X12ScaledClock) {
    struct {
        u64 delta, capacity;
        u32 freq;
        u64 result;
    } const examples[] = {{1000000, 1024, 1024, 1000000},
                          {1000000, 512, 1024, 500000},
                          {1000000, 512, 512, 250000},
                          {1000000, 446, 700, 297736},
                          {999999, 1023, 1023, 998046}};
    for (const auto &e : examples) {
        Cpus one;
        one.rq.current_class = SchedClass::fair;
        one.rq.arch_capacity = e.capacity;
        one.rq.freq = e.freq;
        one.s.now = e.delta;
        update_rq_clock(one.s, one.rq);
        EXPECT_EQ(one.rq.clock, e.delta);
        EXPECT_EQ(one.rq.clock_task, e.delta);
        EXPECT_EQ(one.rq.clock_pelt, e.result);
    }
}

// PELT-42..44.
TEST(Pelt, X13IdleSync) {
    for (const bool saturated : {false, true}) {
        Cpus one;
        one.rq.current_class = SchedClass::fair;
        one.rq.arch_capacity = 512;
        one.s.now = 10000000;
        update_rq_clock(one.s, one.rq);
        EXPECT_EQ(one.rq.clock_pelt, 5000000U);
        one.root.avg.util_sum = saturated ? 47791490 : 47791489;
        update_idle_rq_clock_pelt(one.rq);
        EXPECT_EQ(one.rq.clock_pelt, 10000000U);
        EXPECT_EQ(one.rq.lost_idle_time, saturated ? 5000000U : 0U);
        EXPECT_EQ(rq_clock_pelt(one.rq), saturated ? 5000000U : 10000000U);
    }
}

// A group `G` below the root, its entity of weight 512.
struct OneGroup : Cpus {
    TaskGroup &group;
    CfsRq &queue;
    Entity &ge;

    OneGroup() : group(sched_create_group(s, nullptr)), queue(group.queues[0]), ge(group.entities[0]) {
        ge.load_weight = 512 << 10;
        ge.avg = {};
        root.avg = {};
        root.avg.period_contrib = contrib_300;
        queue.propagate = true;
    }
};

// PELT-50, -51, -54.
TEST(Pelt, X14PropagateUtil) {
    OneGroup one;
    one.root.avg = at_300(0, 0, 500);
    one.ge.avg = at_300(0, 0, 200);
    one.queue.avg.util_avg = 350;
    EXPECT_TRUE(propagate_entity_load_avg(one.ge));
    EXPECT_EQ(one.root.avg.util_avg, 650U);
    EXPECT_EQ(one.root.avg.util_sum, 30561700U);
    EXPECT_EQ(one.ge.avg.util_avg, 350U);
    EXPECT_EQ(one.ge.avg.util_sum, 16456300U);
    EXPECT_FALSE(propagate_entity_load_avg(one.ge)); // only once
}

// PELT-53.
TEST(Pelt, X15PropagateLoad) {
    struct {
        u64 load_sum, load_avg;
        s64 x;
        u64 weight;
        u64 ge_sum, ge_avg, parent_avg, parent_sum;
    } const examples[] = {
        {10000, 108, 20000, 2048, 30000, 326, 1118, 52556200},
        {40000, 435, 20000, 2048, 47018, 512, 977, 45909416},
        {40000, 435, -20000, 2048, 16070, 174, 639, 30064040},
        {40000, 435, -20000, 0, 16070, 174, 639, 30064040},
    };
    for (const auto &e : examples) {
        OneGroup one;
        one.root.avg = at_300(900, 0, 0);
        one.ge.avg.load_sum = e.load_sum;
        one.ge.avg.load_avg = e.load_avg;
        one.ge.avg.util_avg = one.queue.avg.util_avg = 350;
        one.ge.avg.util_sum = 350 * div_300;
        one.queue.avg.load_sum = 1024 * 30000;
        one.queue.load_weight = e.weight << 10;
        one.queue.prop_runnable_sum = e.x;
        propagate_entity_load_avg(one.ge);
        EXPECT_EQ(one.ge.avg.load_sum, e.ge_sum);
        EXPECT_EQ(one.ge.avg.load_avg, e.ge_avg);
        EXPECT_EQ(one.root.avg.load_avg, e.parent_avg);
        EXPECT_EQ(one.root.avg.load_sum, e.parent_sum);
        EXPECT_EQ(one.queue.prop_runnable_sum, 0);
    }
}

// PELT-56, CG-7, CG-18.
TEST(Pelt, X16SumsOfTheGroup) {
    struct {
        u64 contrib, window, load, runnable;
        s64 load_delta, runnable_delta;
    } const examples[] = {{1000, 1000000, 1015, 1000, 0, 0},   {1000, 1000000, 1016, 1000, 16, 0},
                          {1000, 1000000, 1015, 1016, 15, 16}, {1000, 999999, 2000, 2000, 0, 0},
                          {62, 1000000, 63, 63, 1, 1},         {1000, 1000000, 984, 1000, -16, 0}};
    for (const auto &e : examples) {
        OneGroup one;
        one.group.load_avg = one.group.runnable_avg = 5000;
        one.queue.tg_load_avg_contrib = one.queue.tg_runnable_avg_contrib = e.contrib;
        one.queue.last_update_tg_load_avg = 7000000;
        one.rq.clock = 7000000 + e.window;
        one.queue.avg.load_avg = e.load;
        one.queue.avg.runnable_avg = e.runnable;
        update_tg_load_avg(one.s, one.queue);
        EXPECT_EQ(static_cast<s64>(one.group.load_avg) - 5000, e.load_delta);
        EXPECT_EQ(static_cast<s64>(one.group.runnable_avg) - 5000, e.runnable_delta);
        const bool published = e.load_delta != 0 || e.runnable_delta != 0; // a refusal keeps the window open
        EXPECT_EQ(one.queue.last_update_tg_load_avg, published ? one.rq.clock : 7000000);
    }
}

// PELT-58.
TEST(Pelt, X17Reweight) {
    Cpus one;
    Entity &se = one.add_task().se;
    se.avg = {.load_sum = 30000, .period_contrib = contrib_300, .load_avg = 653};
    se.on_rq = true;
    one.root.load_weight = 3 * nice_0_load;
    one.root.avg = at_300(3000, 0, 0);
    reweight_entity_load(one.root, se, 2 * nice_0_load);
    EXPECT_EQ(se.avg.load_avg, 1306U);
    EXPECT_EQ(one.root.avg.load_avg, 3653U);
    EXPECT_EQ(one.root.avg.load_sum, 171774000U);
    EXPECT_EQ(one.root.load_weight, 4 * nice_0_load);
}

// PELT-60.
TEST(Pelt, X18NewTask) {
    struct {
        u64 capacity, util, load, weight, result;
    } const examples[] = {{1024, 0, 0, 1024, 512},    {1024, 300, 900, 1024, 340}, {1024, 300, 100, 1024, 362},
                          {1024, 300, 900, 335, 111}, {512, 600, 900, 1024, 0},    {512, 0, 0, 1024, 256}};
    for (const auto &e : examples) {
        Cpus one;
        Task &p = one.add_task(e.weight << 10);
        one.rq.arch_capacity = e.capacity;
        one.root.avg.util_avg = e.util;
        one.root.avg.load_avg = e.load;
        init_entity_runnable_average(p.se);
        EXPECT_EQ(p.se.avg.load_avg, e.weight); // PELT-60
        post_init_entity_util_avg(one.s, p);
        EXPECT_EQ(p.se.avg.util_avg, e.result);
        EXPECT_EQ(p.se.avg.runnable_avg, e.result);
    }
}

// PELT-71.
TEST(Pelt, X19UtilEst) {
    Cpus one;
    Task &p = one.add_task();
    const auto sample = [&](u32 estimate, u64 util, u64 runnable) {
        p.se.avg.util_est = estimate;
        p.se.avg.util_avg = util;
        p.se.avg.runnable_avg = runnable;
        util_est_update(one.s, p.se);
        EXPECT_NE(p.se.avg.util_est & util_avg_unchanged, 0U);
        return task_util_est_only(p);
    };
    EXPECT_EQ(sample(0, 300, 300), 300U);
    EXPECT_EQ(sample(300, 200, 200), 275U);
    EXPECT_EQ(sample(275, 200, 200), 256U);
    EXPECT_EQ(sample(300, 295, 295), 300U);
    EXPECT_EQ(sample(300, 200, 250), 300U);
    EXPECT_EQ(sample(300, 200, 205), 275U);
    u64 estimate = 300;
    for (const u64 next : {250U, 212U, 184U, 163U, 147U, 135U}) {
        estimate = sample(static_cast<u32>(estimate), 100, 100);
        EXPECT_EQ(estimate, next);
    }
    EXPECT_EQ(sample(300 | util_avg_unchanged, 900, 900), 300U); // PELT-70: once per activation
}

// PELT-80, -81.
TEST(Pelt, X20TaskHLoad) {
    Cpus one;
    one.s.jiffies = 1;
    Task &p = one.add_task();
    p.se.avg.load_avg = 1023;
    TaskGroup *group = nullptr;
    std::vector<TaskGroup *> path;
    for (int depth = 0; depth < 3; depth++)
        path.push_back(group = &sched_create_group(one.s, group));

    p.se.cfs_rq = &path[0]->queues[0];
    one.root.avg.load_avg = 1024;
    path[0]->entities[0].avg.load_avg = 1024;
    path[0]->queues[0].avg.load_avg = 2046;
    EXPECT_EQ(task_h_load(one.s, p), 511U);
    EXPECT_EQ(path[0]->queues[0].h_load, 1023U);

    one.root.avg.load_avg = 5;
    EXPECT_EQ(task_h_load(one.s, p), 511U); // PELT-80: h holds for the jiffy
    one.s.jiffies = 2;
    for (TaskGroup *level : path) {
        level->entities[0].avg.load_avg = 5;
        level->queues[0].avg.load_avg = 5;
    }
    path[2]->queues[0].avg.load_avg = 2046;
    p.se.cfs_rq = &path[2]->queues[0];
    EXPECT_EQ(task_h_load(one.s, p), 0U);
    EXPECT_EQ(one.root.h_load, 5U);
    EXPECT_EQ(path[0]->queues[0].h_load, 4U);
    EXPECT_EQ(path[1]->queues[0].h_load, 3U);
    EXPECT_EQ(path[2]->queues[0].h_load, 2U);

    one.s.tunables.group_scheduling = false;
    EXPECT_EQ(task_h_load(one.s, p), 1023U);
}

std::vector<const CfsRq *> leaf_order(const Rq &rq) {
    std::vector<const CfsRq *> order;
    for (const CfsRq *cfs = rq.leaf_head; cfs != nullptr; cfs = cfs->leaf_next)
        order.push_back(cfs);
    return order;
}

TEST(Pelt, LeafListOrder) { // PELT-28
    Cpus one;
    TaskGroup &a = sched_create_group(one.s, nullptr);
    TaskGroup &b = sched_create_group(one.s, nullptr);
    TaskGroup &aa = sched_create_group(one.s, &a);
    // A new group puts its parent's queue and those above on the list, not its own (CG-8).
    EXPECT_EQ(leaf_order(one.rq), (std::vector<const CfsRq *>{&a.queues[0], &one.root}));
    list_add_leaf_cfs_rq(b.queues[0]);
    list_add_leaf_cfs_rq(aa.queues[0]);
    EXPECT_EQ(leaf_order(one.rq), (std::vector<const CfsRq *>{&aa.queues[0], &a.queues[0], &b.queues[0], &one.root}));
}

TEST(Pelt, LeafListBranch) { // PELT-28: a branch joins bottom up before its parent is on the list
    Cpus one;
    TaskGroup &a = sched_create_group(one.s, nullptr);
    TaskGroup &aa = sched_create_group(one.s, &a);
    TaskGroup &b = sched_create_group(one.s, nullptr);
    one.root.avg = a.queues[0].avg = {}; // let all decay at once
    for (TaskGroup &group : one.s.groups)
        group.entities[0].avg = {};
    one.root.propagate = a.queues[0].propagate = false;
    update_blocked_averages(one.s, one.rq);
    update_blocked_averages(one.s, one.rq);
    ASSERT_TRUE(leaf_order(one.rq).empty()); // PELT-27
    list_add_leaf_cfs_rq(aa.queues[0]);
    list_add_leaf_cfs_rq(a.queues[0]);
    list_add_leaf_cfs_rq(one.root);
    list_add_leaf_cfs_rq(b.queues[0]);
    EXPECT_EQ(leaf_order(one.rq), (std::vector<const CfsRq *>{&aa.queues[0], &a.queues[0], &b.queues[0], &one.root}));
}

TEST(Pelt, QueueStaysBehindItsChild) { // PELT-27: the root has nothing left, but its child has
    Cpus one;
    TaskGroup &group = sched_create_group(one.s, nullptr);
    CfsRq &child = group.queues[0];
    one.root.avg = {};
    group.entities[0].avg = {};
    list_add_leaf_cfs_rq(child);
    child.tg_load_avg_contrib = 5;
    update_blocked_averages(one.s, one.rq);
    EXPECT_EQ(leaf_order(one.rq), (std::vector<const CfsRq *>{&child, &one.root}));
    child.tg_load_avg_contrib = 0;
    update_blocked_averages(one.s, one.rq);
    EXPECT_TRUE(leaf_order(one.rq).empty());
}

TEST(Pelt, BlockedUpdate) { // PELT-25
    Cpus one;
    one.root.avg = at_300(1024, 1024, 512);
    list_add_leaf_cfs_rq(one.root);
    one.rq.has_blocked_load = true;
    bool decayed = true;
    one.s.now = 500;
    update_rq_clock(one.s, one.rq);
    EXPECT_FALSE(update_blocked_averages(one.s, one.rq, &decayed));
    EXPECT_FALSE(decayed);
    EXPECT_TRUE(one.rq.has_blocked_load);
    one.s.now = 2000000000;
    one.s.jiffies = 2000;
    update_rq_clock(one.s, one.rq);
    EXPECT_FALSE(one.root.avg.load_avg == 0); // nobody ages it for the reader (PELT-24)
    EXPECT_TRUE(update_blocked_averages(one.s, one.rq, &decayed));
    EXPECT_TRUE(decayed);
    EXPECT_EQ(cpu_load(one.rq), 0U);
    EXPECT_FALSE(one.rq.has_blocked_load);
    EXPECT_EQ(one.rq.last_blocked_load_update_tick, 2000U);
}

TEST(Pelt, OfflineCpuLeavesTheSums) { // PELT-56, -57
    Cpus two(2);
    TaskGroup &group = sched_create_group(two.s, nullptr);
    two.s.now = 10000000;
    for (Rq &rq : two.s.rqs) {
        update_rq_clock(two.s, rq);
        CfsRq &queue = group.queues[static_cast<u32>(rq.cpu.value)];
        queue.avg.load_avg = 1000;
        queue.avg.runnable_avg = 2000;
        update_tg_load_avg(two.s, queue);
    }
    EXPECT_EQ(group.load_avg, 2000U);
    EXPECT_EQ(group.runnable_avg, 4000U);
    two.s.active.clear(CpuId{1});
    clear_tg_offline_cfs_rqs(two.s, two.s.rqs[1]);
    EXPECT_EQ(group.load_avg, 1000U);
    EXPECT_EQ(group.runnable_avg, 2000U);
    two.s.now = 20000000;
    update_rq_clock(two.s, two.s.rqs[1]);
    update_tg_load_avg(two.s, group.queues[1]);
    EXPECT_EQ(group.load_avg, 1000U);
}

TEST(Pelt, InterruptTime) { // PELT-41, -48
    Cpus one;
    one.rq.current_class = SchedClass::fair;
    one.rq.irq_time = 300000;
    one.rq.steal_time = 5000000;
    one.s.now = 1000000;
    update_rq_clock(one.s, one.rq);
    EXPECT_EQ(one.rq.clock, 1000000U);
    EXPECT_EQ(one.rq.clock_task, 0U); // the rest was stolen, and what was stolen beyond it is forgotten
    one.rq.irq_time = 600000;
    one.s.now = 1200000;
    update_rq_clock(one.s, one.rq); // 300 us of interrupts in 200 us: 100 us wait for the next update
    EXPECT_EQ(one.rq.clock_task, 0U);
    one.s.now = 1400000;
    update_rq_clock(one.s, one.rq);
    EXPECT_EQ(one.rq.clock_task, 100000U);
    EXPECT_EQ(one.rq.clock_pelt, 100000U);
    EXPECT_GT(one.rq.avg_irq.util_sum, 0U);

    Cpus off;
    off.s.features.set(Feature::NONTASK_CAPACITY, false);
    off.rq.irq_time = 300000;
    off.s.now = 1000000;
    update_rq_clock(off.s, off.rq);
    EXPECT_EQ(off.rq.clock_task, 700000U);
    EXPECT_EQ(off.rq.avg_irq.util_sum, 0U);
}

TEST(Pelt, CpuUtil) { // PELT-72..74
    Cpus two(2);
    Task &p = two.add_task();
    Rq &here = two.rq;
    Rq &there = two.s.rqs[1];
    p.se.avg = {.last_update_time = 1, .runnable_avg = 250, .util_avg = 200, .util_est = 300 | util_avg_unchanged};
    here.cfs.avg.util_avg = there.cfs.avg.util_avg = 150;
    here.cfs.avg.runnable_avg = 400;
    EXPECT_EQ(task_util_est(p), 300U);
    EXPECT_EQ(cpu_util_cfs(two.s, here), 150U);
    EXPECT_EQ(cpu_util_cfs_boost(two.s, here), 400U);
    EXPECT_EQ(cpu_util(two.s, there, &p, CpuId{1}, false), 350U); // 150 + 200 against 0 + 300
    EXPECT_EQ(cpu_util_without(two.s, here, p), 0U);              // floored
    EXPECT_EQ(cpu_util_without(two.s, there, p), 150U);
    util_est_enqueue(two.s, here.cfs, p);
    EXPECT_EQ(here.cfs.avg.util_est, 300U);
    EXPECT_EQ(cpu_util_cfs(two.s, here), 300U);
    p.on_rq = OnRq::queued;
    EXPECT_EQ(cpu_util_without(two.s, here, p), 0U);
    here.arch_capacity = 256;
    EXPECT_EQ(cpu_util_cfs(two.s, here), 256U);
    p.se.avg.util_est = 301;
    util_est_dequeue(two.s, here.cfs, p);
    EXPECT_EQ(here.cfs.avg.util_est, 0U);
}

} // namespace
} // namespace fairground::fair
