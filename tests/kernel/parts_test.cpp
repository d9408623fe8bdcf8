// SPDX-License-Identifier: GPL-2.0-only
//
// The small parts: distances, idle governor, timers, frames.
#include "kernel/distance.h"
#include "kernel/frames.h"
#include "kernel/idle.h"
#include "kernel/machines.h"
#include "kernel/timer_heap.h"

#include <gtest/gtest.h>
#include <set>

namespace fairground::kernel {
namespace {

TEST(Distances, AreOrderedByWhatCpusShare) {
    const Distances distances(grid(2, 4, 2));
    EXPECT_EQ(distances.nearness(CpuId{3}, CpuId{3}), Nearness::same_cpu);
    EXPECT_EQ(distances.nearness(CpuId{2}, CpuId{3}), Nearness::smt);
    EXPECT_EQ(distances.nearness(CpuId{2}, CpuId{4}), Nearness::llc);
    EXPECT_EQ(distances.nearness(CpuId{2}, CpuId{9}), Nearness::remote);
    EXPECT_EQ(distances.ipi_ns(CpuId{2}, CpuId{9}), 4000U);
}

TEST(Distances, TwoCopiesGiveThePipeItsBandwidth) {
    const Distances distances(grid(2, 4));
    // 5000 MB/s on one CPU, each byte copied twice: 4 MB take 400 us for each copy.
    EXPECT_EQ(distances.copy_ns(CpuId{0}, CpuId{0}, 4000000), 400000U);
    // 500 MB/s between nodes: 8 ms in all, of which the writer's copy on its own CPU takes 400 us.
    EXPECT_EQ(distances.copy_ns(CpuId{0}, CpuId{4}, 4000000), 8000000U - 400000U);
}

TEST(Distances, AMeasuredNodePairReplacesTheFigureByNearness) {
    Machine machine = grid(2, 2);
    machine.costs.memory_ratio_permille = {1000, 1600, 1600, 1000};
    const Distances distances(machine);
    // node figure 2000 MB/s times 1.6: 0.8 ns a byte, less 0.1 for the writer's copy
    EXPECT_EQ(distances.copy_ns(CpuId{0}, CpuId{2}, 1000), 700U);
    EXPECT_EQ(distances.copy_ns(CpuId{0}, CpuId{1}, 1000), 400U) << "within a node the ratio has no say";
}

TEST(IdleGovernor, FollowsTheTimerUntilItHasAHistory) {
    IdleGovernor governor;
    EXPECT_EQ(governor.predict(7000), 7000U);
    for (int i = 0; i < 4; i++)
        governor.record(1000);
    EXPECT_EQ(governor.predict(7000), 1000U);
    EXPECT_EQ(governor.predict(500), 500U);
}

TEST(IdleGovernor, OneLongPeriodDoesNotCount) {
    IdleGovernor governor;
    for (int i = 0; i < 7; i++)
        governor.record(1000);
    governor.record(ns_per_s);
    EXPECT_EQ(governor.predict(~u64{0}), 1000U);
}

TEST(IdleGovernor, TakesTheDeepestStateThatPays) {
    const Machine machine = grid(1, 1);
    EXPECT_EQ(choose_idle_state(machine.costs.idle_states, 599999), 0);
    EXPECT_EQ(choose_idle_state(machine.costs.idle_states, 600000), 1);
    EXPECT_EQ(choose_idle_state({}, 600000), -1);
}

TEST(TimerHeap, OrderIsTheHardEndThenTheOrderOfArming) {
    TimerHeap timers;
    timers.push({.hard = 20, .task = TaskId{1}});
    timers.push({.hard = 10, .task = TaskId{2}});
    timers.push({.hard = 20, .task = TaskId{3}});
    timers.push({.hard = 10, .task = TaskId{4}});
    for (const s32 expected : {2, 4, 1, 3}) {
        EXPECT_EQ(timers.first().task.value, expected);
        timers.pop();
    }
    EXPECT_TRUE(timers.empty());
}

TEST(FramePool, GivesDistinctMemoryAndTakesItBack) {
    FramePool pool;
    std::set<void *> live;
    for (std::size_t i = 0; i < 100; i++)
        EXPECT_TRUE(live.insert(pool.take(200)).second);
    void *huge = pool.take(100000);
    EXPECT_FALSE(live.contains(huge));
    FramePool::give(huge);
    void *one = *live.begin();
    FramePool::give(one);
    EXPECT_EQ(pool.take(190), one) << "a frame of the same size class comes from the free list";
}

} // namespace
} // namespace fairground::kernel
