// SPDX-License-Identifier: GPL-2.0-only
//
// Wake placement with asymmetric capacities, spec/wake-placement.md section 8. Machine: CPUs 0-3 of capacity 512,
// 4-7 of 1024, one LLC; the domain over all eight has all capacities.
#include "wake_world.h"

#include "fair/pelt.h"

#include <gtest/gtest.h>

namespace fairground::fair::test {
namespace {

struct BigLittle : World {
    explicit BigLittle(int smt = 1) : World(smt > 1 ? one_llc() : regular_tree(8, {{llc_flags, 8, 117}}, 1, 1, 8, 8)) {
        s.domains.asym_cpucapacity = true;
        for (int cpu = 0; cpu < 8; cpu++) {
            rq(cpu).arch_capacity = rq(cpu).cpu_capacity = cpu < 4 ? 512 : 1024;
            rq(cpu).sd.asym_cpucapacity = rq(cpu).sd.llc;
        }
        busy("0");
    }
    void expect(int prev, int cpu, std::string_view rule) {
        const Placement placed = wake(prev);
        EXPECT_EQ(placed.cpu, CpuId{cpu});
        EXPECT_EQ(placed.rule.name(), rule);
    }
};

// WAKE-80, WAKE-81, WAKE-140: an idle CPU that is too small is passed over.
TEST(AsymCapacity, TargetMustFit) {
    BigLittle w;
    w.p.se.avg.util_avg = 300;
    w.expect(2, 2, "WAKE-81");
    w.p.se.avg.util_avg = 500;
    w.expect(2, 4, "WAKE-142");
    w.p.se.avg.util_avg = 300;
    w.p.se.avg.util_est = 500 | u32{1} << 31; // the estimate counts, its mark does not
    w.expect(2, 4, "WAKE-142");
    w.s.domains.asym_cpucapacity = false;
    w.expect(2, 2, "WAKE-81");
}

// WAKE-80: what is compared is p's utilisation aged to its old queue; committing writes it.
TEST(AsymCapacity, AgesTheTask) {
    BigLittle w;
    SchedAvg &avg = w.p.se.avg;
    avg.util_avg = 500;
    avg.util_sum = 500 * pelt_min_divider;
    avg.last_update_time = u64{1} << 30;
    w.rq(2).cfs.avg.last_update_time = (u64{1} << 30) + (u64{96} << 20); // three half-lives
    const Placement placed = w.wake(2);
    EXPECT_EQ(placed.cpu, CpuId{2});
    EXPECT_EQ(avg.util_avg, 500U);
    w.commit(placed);
    EXPECT_EQ(avg.util_avg, 62U);
    EXPECT_EQ(avg.last_update_time, w.rq(2).cfs.avg.last_update_time);
}

// WAKE-143: nothing fits; the largest capacity wins, the first of equals.
TEST(AsymCapacity, LargestMisfit) {
    BigLittle w;
    w.p.se.avg.util_avg = 1000;
    w.expect(2, 4, "WAKE-143");
    w.rq(6).cpu_capacity = 1024;
    w.rq(4).cpu_capacity = w.rq(5).cpu_capacity = w.rq(7).cpu_capacity = 1000;
    w.expect(2, 6, "WAKE-143");
}

// WAKE-87: no idle CPU.
TEST(AsymCapacity, AllBusy) {
    BigLittle w;
    w.busy("0-7");
    w.expect(0, 0, "WAKE-87");
}

// WAKE-140, WAKE-143: a boost that only misses uclamp_min beats a CPU that does not fit, the largest actual capacity
// first.
TEST(AsymCapacity, UclampMin) {
    BigLittle w;
    w.p.se.avg.util_avg = 100;
    w.p.uclamp_min = 800;
    w.expect(2, 4, "WAKE-142");
    for (int cpu = 4; cpu < 8; cpu++)
        w.rq(cpu).avg_hw.load_avg = 300; // actual 724
    w.rq(5).avg_hw.load_avg = 250;
    w.expect(2, 5, "WAKE-143");
}

// WAKE-141: the search is limited by nr_idle_scan and returns the best so far.
TEST(AsymCapacity, ScanLimit) {
    BigLittle w;
    w.p.se.avg.util_avg = 500;
    w.shared(0).nr_idle_scan = 2; // 2 and 3 only, which are too small
    w.expect(2, 2, "WAKE-143");
    w.shared(0).nr_idle_scan = 3;
    w.expect(2, 4, "WAKE-142");
    w.shared(0).nr_idle_scan = 0;
    w.expect(2, 2, "WAKE-87");
}

// WAKE-142..144: with SMT an idle core is preferred; when none was found the mark goes.
TEST(AsymCapacity, IdleCores) {
    BigLittle w(2);
    w.shared(0).has_idle_cores = true;
    w.p.se.avg.util_avg = 500;
    w.busy("4");
    w.expect(2, 6, "WAKE-142"); // 5 fits, but its sibling is busy
    w.busy("6");
    Placement placed = w.wake(2);
    EXPECT_EQ(placed.cpu, CpuId{2}); // an idle core, even if it does not fit, beats a busy sibling
    EXPECT_EQ(placed.rule.name(), "WAKE-143");
    EXPECT_EQ(placed.clear_idle_cores, nullptr);
    w.busy("2");
    placed = w.wake(3);
    EXPECT_EQ(placed.cpu, CpuId{5}); // no idle core: a thread that fits
    w.commit(placed);
    EXPECT_FALSE(w.shared(0).has_idle_cores);
    w.expect(3, 5, "WAKE-142"); // without the hint every CPU counts as a core
}

// WAKE-140: with SMT the early candidates must sit on an idle core.
TEST(AsymCapacity, EarlyCandidatesNeedIdleCore) {
    BigLittle w(2);
    w.p.se.avg.util_avg = 100;
    w.shared(0).has_idle_cores = true;
    w.expect(2, 2, "WAKE-81");
    w.busy("3");
    w.expect(2, 4, "WAKE-142");
}

// WAKE-164, WAKE-169: the fork search takes the group where the task fits.
TEST(AsymCapacity, ForkMisfit) {
    World w(regular_tree(8, {{llc_flags, 4, 117}, {common_flags | SD_ASYM_CPUCAPACITY, 8, 117}}, 1, 1, 4, 8));
    for (int cpu = 0; cpu < 4; cpu++)
        w.rq(cpu).arch_capacity = w.rq(cpu).cpu_capacity = 512;
    w.p.se.avg.util_avg = 500;
    Rule rule;
    const Domain &sd = *w.rq(0).sd.base->parent;
    const SchedGroup *group = sched_balance_find_dst_group(w.s, sd, w.p, CpuId{0}, &rule);
    ASSERT_NE(group, nullptr);
    EXPECT_EQ(group->span.first(), CpuId{4});
    EXPECT_EQ(rule.name(), "WAKE-167");
    w.p.se.avg.util_avg = 1000; // fits nowhere: both misfit, the larger maximum wins
    sd.groups[0]->sgc->max_capacity = 512;
    group = sched_balance_find_dst_group(w.s, sd, w.p, CpuId{0}, &rule);
    ASSERT_NE(group, nullptr);
    EXPECT_EQ(rule.name(), "WAKE-169");
    sd.groups[0]->sgc->max_capacity = 1024;
    EXPECT_EQ(sched_balance_find_dst_group(w.s, sd, w.p, CpuId{0}, &rule), nullptr);
}

} // namespace
} // namespace fairground::fair::test
