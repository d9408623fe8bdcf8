// SPDX-License-Identifier: GPL-2.0-only
//
// Worked examples of spec/cgroups.md and the rules that no example covers.
#include "fair/core.h"
#include "fair/one_cpu.h"

#include <array>
#include <vector>

namespace fairground::fair {
namespace {

constexpr std::array modes = {CgroupMode::up, CgroupMode::smp, CgroupMode::concur, CgroupMode::max, CgroupMode::tasks};

TEST(Cgroup, X1CpuWeight) { // CG-4
    struct {
        u64 weight, shares;
    } const examples[] = {{1, 10240}, {33, 346112}, {50, 524288}, {100, 1048576}, {200, 2097152}, {10000, 104857600}};
    for (const auto &e : examples) {
        EXPECT_EQ(shares_of_cpu_weight(e.weight), e.shares);
        EXPECT_EQ(cpu_weight_of_shares(e.shares), e.weight);
    }
}

struct Situation {
    u64 shares, weight, load_avg, tg_load, contrib, tg_runnable;
    int cpus;
    std::array<u64, 5> result; // by mode
};

void check(const Situation &e) {
    Cpus one;
    TaskGroup &group = sched_create_group(one.s, nullptr);
    CfsRq &queue = group.queues[0];
    one.s.nr_online_cpus = e.cpus;
    group.shares = e.shares;
    group.load_avg = e.tg_load;
    group.runnable_avg = e.tg_runnable;
    queue.load_weight = e.weight << 10;
    queue.avg.load_avg = e.load_avg;
    queue.tg_load_avg_contrib = e.contrib;
    for (std::size_t mode = 0; mode < modes.size(); mode++) {
        one.s.tunables.cgroup_mode = modes[mode];
        EXPECT_EQ(calc_group_shares(one.s, queue), e.result[mode]) << "mode " << mode << ", " << e.cpus << " CPUs";
    }
}

TEST(Cgroup, X2SharesByMode) { // CG-11..16
    const u64 s = nice_0_load;
    check({s, 1024, 0, 0, 0, 0, 4, {1048576, 1048576, 1048576, 4194304, 1048576}});
    check({s, 1024, 1023, 8184, 1023, 8184, 8, {1048576, 131184, 918288, 1049472, 918288}});
    check({s, 2048, 2046, 16368, 2046, 16368, 8, {1048576, 131184, 1049472, 1049472, 1967761}});
    check({s, 2048, 2046, 392832, 2046, 392832, 192, {1048576, 5466, 1049595, 1049595, 2093724}});
    check({s, 2048, 2046, 3069, 2046, 3069, 64, {1048576, 699278, 1398556, 44753810, 1398556}});
    check({s, 1024, 1023, 1023, 1023, 1023, 512, {1048576, 1048576, 1048576, 90891264, 1048576}});
}

TEST(Cgroup, X3SmallShares) {
    check({2048, 1024, 1023, 65472, 1023, 65472, 64, {2048, 32, 2017, 2049, 2017}});
    check({2048, 3, 2, 192000, 2, 65472, 64, {2048, 2, 2, 2, 2}});
}

// Entities of one path from the task up, each with its weight and the weight of the queue it is in.
u64 flattened(std::vector<std::array<u64, 2>> levels) {
    std::vector<CfsRq> queues(levels.size());
    std::vector<Entity> entities(levels.size());
    u64 weight = nice_0_load;
    for (std::size_t i = 0; i < levels.size(); i++) {
        entities[i].load_weight = levels[i][0];
        queues[i].load_weight = levels[i][1];
        entities[i].cfs_rq = &queues[i];
        entities[i].parent = i + 1 < levels.size() ? &entities[i + 1] : nullptr;
        weight = fold_weight(weight, entities[i]);
    }
    return weight;
}

TEST(Cgroup, X4FlattenedWeight) { // CG-20, -21
    const u64 nice0 = nice_0_load;
    const u64 nice5 = 335 << 10;
    const u64 nice_minus_20 = u64{88761} << 10;
    EXPECT_EQ(flattened({{nice5, 12345678}}), 343040U); // the root's load.weight does not enter
    EXPECT_EQ(flattened({{nice0, nice0 + nice5}, {nice0, nice0}}), 790097U);
    EXPECT_EQ(flattened({{nice5, nice0 + nice5}, {nice0, nice0}}), 258478U);
    EXPECT_EQ(flattened({{nice0, nice0}, {2 * nice0, 3 * nice0}, {nice0, nice0}}), 699050U);
    EXPECT_EQ(flattened({{nice0, 3 * nice0}, {nice0, nice0}}), 349525U);
    EXPECT_EQ(flattened({{idle_prio_weight, nice_minus_20 + idle_prio_weight}, {nice0, nice0}}), 35U);
    EXPECT_EQ(flattened({{idle_prio_weight, nice_minus_20 + idle_prio_weight}, {2, nice0}}), 2U);
}

// One queue for all tasks, two weights each (EEVDF-1, -2, -73, CG-2, CG-22).
TEST(Cgroup, X5NineTasks) { // CG-23, EEVDF-121
    Cpus one;
    one.s.tunables.cgroup_mode = CgroupMode::up; // the entity's weight stays at the group's shares
    TaskInit init;
    init.cpus_allowed = all_cpus(1);
    init.group = &sched_create_group(one.s, nullptr);
    constexpr std::array<u64, 9> joined = {1048576, 524288, 349525, 262144, 209715, 174762, 149796, 131072, 116508};
    u64 sum = 0;
    for (const u64 weight : joined) {
        Task &p = sched_fork(one.s, init, nullptr, CpuId{0});
        activate_new_task(one.s, p, CpuId{0}, WF_FORK);
        EXPECT_EQ(p.se.h_load, weight);
        sum += p.se.h_load;
    }
    EXPECT_EQ(sum, 2966386U);

    // The weight follows when a task is picked or ticked; until all had a turn some are too heavy.
    for (int tick = 1; tick <= 200; tick++) {
        one.s.now = static_cast<u64>(tick) * ns_per_ms;
        one.s.jiffies = static_cast<u64>(tick);
        sched_tick(one.s, CpuId{0});
        schedule(one.s, CpuId{0});
    }
    sum = 0;
    for (const Task &p : one.s.tasks) {
        EXPECT_EQ(p.se.h_load, 116508U);
        sum += p.se.h_load;
    }
    EXPECT_EQ(sum, 1048572U);
}

TEST(Cgroup, X6NestedGroups) { // CG-17, CG-40: loads of 192 equal CPUs, seen from one
    struct {
        CgroupMode mode;
        int depth;
        u64 ge_weight;
        std::vector<u64> h;
        u64 task_h_load, cpu_load;
    } const examples[] = {
        {CgroupMode::smp, 1, 5, {5, 4}, 1, 5},
        {CgroupMode::smp, 2, 5, {5, 4, 3}, 1, 5},
        {CgroupMode::smp, 3, 5, {5, 4, 3, 2}, 0, 5},
        {CgroupMode::concur, 1, 1024, {1024, 1023}, 511, 1024},
        {CgroupMode::concur, 2, 1024, {1024, 1023, 1022}, 510, 1024},
        {CgroupMode::concur, 3, 1024, {1024, 1023, 1022, 1021}, 510, 1024},
    };
    constexpr u64 cpus = 192;
    for (const auto &e : examples) {
        Cpus one;
        one.s.tunables.cgroup_mode = e.mode;
        one.s.nr_online_cpus = cpus;
        std::vector<TaskGroup *> path; // outermost first
        for (int level = 0; level < e.depth; level++)
            path.push_back(&sched_create_group(one.s, path.empty() ? nullptr : path.back()));

        u64 queue_weight = 2 * nice_0_load; // of the innermost queue: two tasks
        u64 queue_load = 2046;
        for (std::size_t level = path.size(); level-- > 0;) {
            TaskGroup &group = *path[level];
            CfsRq &queue = group.queues[0];
            queue.load_weight = queue_weight;
            queue.avg.load_avg = queue.tg_load_avg_contrib = queue_load;
            group.load_avg = cpus * queue_load;
            group.runnable_avg = cpus * 2046;
            Entity &ge = group.entities[0];
            update_cfs_group(one.s, ge);
            EXPECT_EQ(ge.load_weight >> 10, e.ge_weight);
            ge.avg.load_avg = scale_load_down(ge.load_weight);
            queue_weight = ge.load_weight;
            queue_load = ge.avg.load_avg;
        }
        one.root.avg.load_avg = queue_load;
        Task &p = one.add_task();
        p.se.avg.load_avg = 1023;
        p.se.cfs_rq = &path.back()->queues[0];
        EXPECT_EQ(task_h_load(one.s, p), e.task_h_load);
        EXPECT_EQ(one.root.h_load, e.h[0]);
        for (std::size_t level = 0; level < path.size(); level++)
            EXPECT_EQ(path[level]->queues[0].h_load, e.h[level + 1]);
        EXPECT_EQ(cpu_load(one.rq), e.cpu_load);
    }
}

TEST(Cgroup, Shares) { // CG-3, -5, -6, -10
    Cpus one;
    TaskGroup &group = sched_create_group(one.s, nullptr);
    EXPECT_EQ(group.shares, nice_0_load);
    EXPECT_TRUE(sched_group_set_shares(one.s, group, 1));
    EXPECT_EQ(group.shares, 2U << 10);
    EXPECT_TRUE(sched_group_set_shares(one.s, group, ~u64{0}));
    EXPECT_EQ(group.shares, u64{1} << 28);
    EXPECT_EQ(group.entities[0].load_weight, nice_0_load); // an emptied group keeps its weight

    group.queues[0].load_weight = nice_0_load;
    EXPECT_TRUE(sched_group_set_shares(one.s, group, 3 * nice_0_load));
    EXPECT_EQ(group.entities[0].load_weight, 3 * nice_0_load); // at once (CG-6)

    sched_group_set_idle(one.s, group, true);
    EXPECT_EQ(group.shares, idle_prio_weight);
    EXPECT_FALSE(sched_group_set_shares(one.s, group, nice_0_load));
    sched_group_set_idle(one.s, group, false);
    EXPECT_EQ(group.shares, nice_0_load);
}

TEST(Cgroup, NewGroup) { // CG-8
    Cpus one;
    one.s.now = 5000000;
    TaskGroup &group = sched_create_group(one.s, nullptr);
    EXPECT_EQ(one.rq.clock, 5000000U);
    EXPECT_EQ(group.entities[0].load_weight, nice_0_load);
    EXPECT_EQ(group.entities[0].avg.load_sum, 1U);
    EXPECT_EQ(one.root.avg.load_sum, 1024U);
    EXPECT_EQ(one.root.prop_runnable_sum, 1);
}

TEST(Cgroup, CpusetSize) { // CG-12
    Cpus one;
    TaskGroup &group = sched_create_group(one.s, nullptr);
    group.queues[0].load_weight = nice_0_load;
    one.s.tunables.cgroup_mode = CgroupMode::max;
    one.s.nr_online_cpus = 4;
    EXPECT_EQ(calc_group_shares(one.s, group.queues[0]), 4 * nice_0_load);
    group.cpuset_cpus = 2;
    EXPECT_EQ(calc_group_shares(one.s, group.queues[0]), 2 * nice_0_load);
}

TEST(Cgroup, IdleCounts) { // CG-9: three tasks, one of them idle, two levels down
    Cpus one;
    TaskGroup &outer = sched_create_group(one.s, nullptr);
    TaskGroup &inner = sched_create_group(one.s, &outer);
    for (CfsRq *cfs : {&one.root, &outer.queues[0], &inner.queues[0]}) {
        cfs->h_nr_queued = 3;
        cfs->h_nr_idle = 1;
    }
    inner.entities[0].on_rq = outer.entities[0].on_rq = true;
    sched_group_set_idle(one.s, inner, true);
    EXPECT_EQ(inner.queues[0].h_nr_idle, 1U);
    EXPECT_EQ(outer.queues[0].h_nr_idle, 3U);
    EXPECT_EQ(one.root.h_nr_idle, 3U);
    sched_group_set_idle(one.s, outer, true); // nothing of it is left to count
    EXPECT_EQ(one.root.h_nr_idle, 3U);
    sched_group_set_idle(one.s, inner, false); // stops at the first idle group
    EXPECT_EQ(outer.queues[0].h_nr_idle, 1U);
    EXPECT_EQ(one.root.h_nr_idle, 3U);
    sched_group_set_idle(one.s, outer, false);
    EXPECT_EQ(one.root.h_nr_idle, 1U);
}

TEST(Cgroup, ChangeOfGroup) { // PELT-20, -37: the load leaves one path and joins the other
    Cpus one;
    TaskGroup &from = sched_create_group(one.s, nullptr);
    TaskGroup &to = sched_create_group(one.s, nullptr);
    Task &p = one.add_task();
    p.group = &from;
    set_task_rq(one.s, p, one.rq);
    EXPECT_EQ(p.se.parent, &from.entities[0]);
    one.s.now = 2000000;
    update_rq_clock(one.s, one.rq);
    p.se.avg.load_avg = 1024;
    p.se.avg.util_avg = p.se.avg.runnable_avg = 400;
    attach_entity_cfs_rq(one.s, p.se);
    EXPECT_EQ(from.queues[0].avg.util_avg, 400U);
    EXPECT_EQ(one.root.avg.util_avg, 400U);
    one.s.now = 4000000;
    update_rq_clock(one.s, one.rq);
    task_change_group_fair(one.s, p, &to);
    EXPECT_EQ(p.se.cfs_rq, &to.queues[0]);
    EXPECT_EQ(p.se.parent, &to.entities[0]);
    EXPECT_EQ(from.queues[0].avg.util_avg, 0U);
    EXPECT_EQ(from.entities[0].avg.util_avg, 0U);
    EXPECT_EQ(to.queues[0].avg.util_avg, p.se.avg.util_avg);
    EXPECT_EQ(to.entities[0].avg.util_avg, p.se.avg.util_avg);
    EXPECT_EQ(one.root.avg.util_avg, p.se.avg.util_avg);
}

} // namespace
} // namespace fairground::fair
