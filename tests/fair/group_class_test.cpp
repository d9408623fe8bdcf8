// SPDX-License-Identifier: GPL-2.0-only
#include "fair/group_class.h"

#include <gtest/gtest.h>

namespace fairground::fair {
namespace {

GroupType classify(u32 nr, u64 util, u64 runnable, u32 weight = 4, u64 capacity = 4096) {
    GroupCapacity sgc;
    SchedGroup group;
    group.sgc = &sgc;
    GroupStats stats;
    stats.sum_nr_running = nr;
    stats.group_util = util;
    stats.group_runnable = runnable;
    stats.group_weight = weight;
    stats.group_capacity = capacity;
    return group_classify(117, group, stats);
}

// WAKE-162..164, LB-49, LB-50: the table of load-balance.md section 6.
TEST(GroupClass, Examples) {
    EXPECT_EQ(classify(3, 4096, 9000), GroupType::has_spare);
    EXPECT_EQ(classify(4, 3500, 3600), GroupType::has_spare);
    EXPECT_EQ(classify(4, 3501, 3600), GroupType::fully_busy);
    EXPECT_EQ(classify(4, 3400, 4800), GroupType::fully_busy);
    EXPECT_EQ(classify(5, 3600, 3600), GroupType::overloaded);
    EXPECT_EQ(classify(5, 3400, 4800), GroupType::overloaded);
    EXPECT_EQ(classify(5, 3400, 4700), GroupType::has_spare);
}

// LB-50: a mark is asked in the order of its class, overloaded before all of them.
TEST(GroupClass, MarksByPriority) {
    GroupCapacity sgc;
    SchedGroup group;
    group.sgc = &sgc;
    GroupStats stats;
    stats.group_weight = 4;
    stats.group_capacity = 4096;
    stats.misfit_task_load = 1;
    EXPECT_EQ(group_classify(117, group, stats), GroupType::misfit_task);
    stats.smt_balance = true;
    EXPECT_EQ(group_classify(117, group, stats), GroupType::smt_balance);
    stats.asym_packing = true;
    EXPECT_EQ(group_classify(117, group, stats), GroupType::asym_packing);
    sgc.imbalance = true;
    EXPECT_EQ(group_classify(117, group, stats), GroupType::imbalanced);
    stats.llc_balance = true;
    EXPECT_EQ(group_classify(117, group, stats), GroupType::llc_balance);
    stats.sum_nr_running = 5;
    stats.group_util = 4096;
    EXPECT_EQ(group_classify(117, group, stats), GroupType::overloaded);
}

struct Allowance {
    int v, r, n, v73, p3;
};

// WAKE-172, LB-64, NUMA-64, NUMAPAIR-11, NUMAPAIR-12.
TEST(AdjustNumaImbalance, Examples) {
    Features v73;
    Features p3;
    p3.apply("P3");
    EXPECT_EQ(adjust_numa_imbalance(v73, 2, 3, 4), 0);
    EXPECT_EQ(adjust_numa_imbalance(v73, 3, 3, 4), 3);
    EXPECT_EQ(adjust_numa_imbalance(v73, 2, 5, 4), 2);
    EXPECT_EQ(adjust_numa_imbalance(v73, 1, 2, 1), 1);
    constexpr Allowance table[] = {{2, 1, 4, 0, 0}, {3, 1, 4, 3, 0}, {4, 1, 8, 4, 0}, {5, 1, 8, 5, 5},
                                   {2, 1, 1, 0, 2}, {3, 5, 4, 3, 3}, {3, 1, 3, 3, 0}, {3, 1, 2, 3, 3}};
    for (const Allowance &row : table) {
        EXPECT_EQ(adjust_numa_imbalance(v73, row.v, row.r, row.n), row.v73) << row.v << ' ' << row.r << ' ' << row.n;
        EXPECT_EQ(adjust_numa_imbalance(p3, row.v, row.r, row.n), row.p3) << row.v << ' ' << row.r << ' ' << row.n;
    }
}

// WAKE-140: margins of 20 % and 5 %, cap and boost.
TEST(UtilFitsCpu, ClampsAndMargin) {
    Rq rq;
    rq.arch_capacity = 512;
    rq.cpu_capacity = 500;
    EXPECT_EQ(util_fits_cpu(399, 0, 1024, rq), 1); // 399 * 1280 < 500 * 1024
    EXPECT_EQ(util_fits_cpu(400, 0, 1024, rq), 0);
    EXPECT_EQ(util_fits_cpu(900, 0, 512, rq), 1); // capped to what the CPU has
    EXPECT_EQ(util_fits_cpu(100, 600, 1024, rq), -1);
    EXPECT_EQ(util_fits_cpu(100, 512, 1024, rq), 1);
    rq.avg_hw.load_avg = 1; // pressure counts against a boost
    EXPECT_EQ(util_fits_cpu(100, 512, 1024, rq), -1);
    EXPECT_TRUE(capacity_greater(1078, 1023));
    EXPECT_FALSE(capacity_greater(1078, 1024));
}

} // namespace
} // namespace fairground::fair
