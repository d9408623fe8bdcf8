// SPDX-License-Identifier: GPL-2.0-only
//
// The two proposals on WF_SYNC, spec/wf-sync-variants.md.
#include "wake_world.h"

#include <gtest/gtest.h>

namespace fairground::fair::test {
namespace {

// SYNC-10, SYNC-30.
TEST(WfSyncLlc, Predicate) {
    struct Case {
        int b1, s1, b2, s2;
        bool over;
    };
    constexpr Case table[] = {{8, 8, 8, 8, false},   {8, 8, 7, 8, true},     {7, 8, 6, 8, true},
                              {7, 8, 7, 8, false},   {6, 8, 0, 8, false},    {8, 8, 15, 16, true},
                              {8, 8, 16, 16, false}, {7, 8, 14, 16, false},  {3, 4, 12, 16, false},
                              {3, 4, 11, 16, true},  {48, 48, 47, 48, true}, {1, 2, 1, 4, true}};
    for (const Case &c : table) {
        World w(machine_a());
        w.rq(0).sd.llc_size = c.s1;
        w.rq(8).sd.llc_size = c.s2;
        w.shared(0).nr_busy_cpus = c.b1;
        w.shared(1).nr_busy_cpus = c.b2;
        EXPECT_EQ(busier_llc(w.s, CpuId{0}, CpuId{8}), c.over) << c.b1 << '/' << c.s1 << ' ' << c.b2 << '/' << c.s2;
        EXPECT_FALSE(busier_llc(w.s, CpuId{0}, CpuId{1})); // step 1: same cache
    }
    World w(machine_a());
    w.shared(1).nr_busy_cpus = 7;
    ASSERT_TRUE(busier_llc(w.s, CpuId{0}, CpuId{8}));
    w.rq(8).sd.llc_shared = nullptr; // step 4
    EXPECT_FALSE(busier_llc(w.s, CpuId{0}, CpuId{8}));
    w.rq(0).sd.llc_shared = nullptr; // step 2
    EXPECT_FALSE(busier_llc(w.s, CpuId{0}, CpuId{8}));
}

// SYNC-2, SYNC-11..13, SYNC-15, SYNC-16, SYNC-31.
TEST(WfSyncLlc, WholeWakeAffine) {
    struct Case {
        int id;
        u32 nr_running;
        bool prev_idle;
        u64 this_load, prev_load, current;
        int v73, a;
        std::string_view v73_rule, a_rule;
        s64 a_difference;
    };
    constexpr Case table[] = {
        {1, 1, true, 1024, 0, 1024, 0, 8, "WAKE-62", "WAKE-63", 0},
        {2, 1, false, 1024, 948, 1024, 0, 8, "WAKE-62", "WAKE-69", 104857600 - 104841217},
        {3, 1, false, 1024, 949, 1024, 0, 0, "WAKE-62", "WAKE-69", 104857600 - 104951809},
        {4, 2, false, 1024, 948, 1024, 0, 8, "WAKE-69", "WAKE-69", 104857600 - 104841217},
        {5, 1, false, 1024, 1024, 1024, 0, 0, "WAKE-62", "WAKE-69", 104857600 - 113246209},
        {6, 2, false, 500, 0, 1024, 0, 8, "WAKE-66", "WAKE-69", 51200000 - 1},
        {7, 1, false, 0, 0, 0, 0, 0, "WAKE-62", "WAKE-69", -1},
    };
    for (const Case &c : table) {
        World w(machine_a());
        w.busy("0", c.nr_running, c.this_load);
        if (!c.prev_idle)
            w.busy("8", 1, c.prev_load);
        w.waker.se.avg.load_avg = c.current;
        w.shared(1).nr_busy_cpus = 7; // of 8; the waker's LLC counts 8 of 8
        AffineChoice choice = w.affine(8, true, 117);
        EXPECT_EQ(choice.cpu, CpuId{c.v73}) << "case " << c.id;
        EXPECT_EQ(choice.rule.name(), c.v73_rule) << "case " << c.id;
        w.s.features.apply("WF_SYNC_LLC");
        choice = w.affine(8, true, 117);
        EXPECT_EQ(choice.cpu, CpuId{c.a}) << "case " << c.id;
        EXPECT_EQ(choice.rule.name(), c.a_rule) << "case " << c.id;
        EXPECT_EQ(choice.difference, c.a_difference) << "case " << c.id;
    }
}

// SYNC-40..44, SYNC-46, CG-43; SYNC-45: declined by A, B's test is not asked either.
TEST(WaSyncWeight, Examples) {
    struct Case {
        u64 this_load, prev_load, current, task;
        int v73;
        s64 difference;
        int b;
    };
    constexpr Case table[] = {
        {2048, 1024, 1024, 1024, 8, 209715200 - 1, 0},       {2048, 1024, 1023, 1024, 8, 209817600 - 1, 8},
        {3072, 1024, 1024, 512, 8, 262144000 - 56623105, 0}, {2048, 1024, 5, 5, 8, 209715200 - 112693249, 0},
        {2048, 1024, 5, 6, 8, 209817600 - 112582657, 8},     {2048, 8192, 900, 1024, 0, 222412800 - 792723457, 0},
    };
    for (const Case &c : table) {
        World w(machine_a());
        w.busy("0", 2, c.this_load);
        w.busy("8", 1, c.prev_load);
        w.waker.se.avg.load_avg = c.current;
        w.p.se.avg.load_avg = c.task;
        AffineChoice choice = w.affine(8, true, 117);
        EXPECT_EQ(choice.cpu, CpuId{c.v73}) << c.current << ' ' << c.task;
        EXPECT_EQ(choice.difference, c.difference) << c.current << ' ' << c.task;
        w.s.features.apply("WA_SYNC_WEIGHT");
        choice = w.affine(8, true, 117);
        EXPECT_EQ(choice.cpu, CpuId{c.b}) << c.current << ' ' << c.task;
        EXPECT_EQ(choice.rule.name(), c.current >= c.task ? "SYNC-41" : "WAKE-69");

        w.s.features.apply("WF_SYNC_LLC");
        w.shared(1).nr_busy_cpus = 7;
        EXPECT_EQ(w.affine(8, true, 117).rule.name(), "WAKE-69");
    }
}

} // namespace
} // namespace fairground::fair::test
