// SPDX-License-Identifier: GPL-2.0-only
//
// Checked builds find a damaged queue and say what is wrong; other builds have nothing to test here.
#include "fair/invariants.h"

#ifdef FAIRGROUND_CHECKED

#include "fair/core.h"
#include "fair/one_cpu.h"

#include <gtest/gtest.h>

namespace fairground::fair {
namespace {

struct InvariantsDeathTest : testing::Test, Cpus {
    InvariantsDeathTest() {
        for (int i = 0; i < 3; i++) {
            TaskInit init;
            init.cpus_allowed = all_cpus(1);
            activate_new_task(s, sched_fork(s, init, nullptr, CpuId{0}), CpuId{0}, WF_FORK);
        }
        schedule(s, CpuId{0});
    }
};

TEST_F(InvariantsDeathTest, SumOfWeights) {
    root.sum_weight++;
    EXPECT_DEATH(check_rq(s, rq), "invariant broken on CPU 0 .*sum_weight");
}

TEST_F(InvariantsDeathTest, CounterOfRunnableTasks) {
    root.h_nr_runnable--;
    EXPECT_DEATH(check_rq(s, rq), "h_nr_runnable is 2, a recount gives 3");
}

TEST_F(InvariantsDeathTest, OrderOfTheTimeline) {
    root.timeline.first()->deadline += 1000000000;
    EXPECT_DEATH(check_rq(s, rq), "out of order");
}

TEST_F(InvariantsDeathTest, SubtreeValues) {
    root.timeline.root()->node.min_slice++;
    EXPECT_DEATH(check_rq(s, rq), "slice of a timeline subtree");
}

TEST_F(InvariantsDeathTest, LostTask) {
    rq.tasks_tail = nullptr;
    EXPECT_DEATH(check_rq(s, rq), "cfs_tasks");
}

} // namespace
} // namespace fairground::fair

#endif
