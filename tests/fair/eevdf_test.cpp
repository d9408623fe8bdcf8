// SPDX-License-Identifier: GPL-2.0-only
//
// Worked examples of spec/eevdf.md on one queue: averages, placement, lag, eligibility, pick, protection, reweight.
#include "fair/eevdf.h"

#include "fair/core.h"
#include "fair/one_cpu.h"

#include <gtest/gtest.h>
#include <vector>

namespace fairground::fair {
namespace {

constexpr u64 W = nice_0_load;
constexpr u64 nice5 = 343040;
constexpr u64 base_slice = 2800000;

u64 v(s64 value) { return static_cast<u64>(value); }
s64 s64_of(u64 value) { return static_cast<s64>(value); }

// A queue with `zero` 0 and the base slice of 8 CPUs.
struct Queue : Cpus {
    Queue() {
        root.zero_vruntime = 0;
        s.tunables.base_slice = base_slice;
    }
    Entity &make(s64 vruntime, s64 deadline = 0, u64 weight = W, u64 slice = base_slice) {
        Entity &se = add_task(weight).se;
        se.vruntime = v(vruntime);
        se.deadline = v(deadline);
        se.h_load = weight;
        se.slice = slice;
        se.custom_slice = slice != base_slice;
        return se;
    }
    Entity &queue(s64 vruntime, s64 deadline = 0, u64 weight = W, u64 slice = base_slice) {
        Entity &se = make(vruntime, deadline, weight, slice);
        se.on_rq = true;
        root.h_nr_queued++;
        enqueue_timeline(s, root, se);
        return se;
    }
    Entity &run(s64 vruntime, s64 deadline = 0, u64 weight = W, u64 slice = base_slice) {
        Entity &se = make(vruntime, deadline, weight, slice);
        se.on_rq = true;
        root.h_nr_queued++;
        root.curr = &se;
        return se;
    }
    s64 V() { return s64_of(avg_vruntime(root)); }
    s64 zero() const { return s64_of(root.zero_vruntime); }
};

// EEVDF-3..5.
TEST(Eevdf, X1CalcDeltaFair) {
    struct {
        u64 delta, weight, result;
    } const examples[] = {{1000000, nice_to_weight(-20), 11536},
                          {1000000, nice_to_weight(19), 68266666},
                          {1000000, task_weight(Policy::idle, 0), 341333333},
                          {2800000, nice_to_weight(5), 8558805},
                          {4000000, nice_to_weight(-5), 1312399},
                          {999, nice_to_weight(1), 1247},
                          {1000000, 2, 524288000000}};
    for (const auto &e : examples) {
        Entity se;
        se.h_load = e.weight;
        EXPECT_EQ(calc_delta_fair(e.delta, se), e.result) << e.delta << " at " << e.weight;
    }
}

TEST(Eevdf, X2BaseSlice) {
    const std::pair<int, u64> examples[] = {{1, 700000},  {2, 1400000}, {3, 1400000},  {4, 2100000},
                                            {7, 2100000}, {8, 2800000}, {192, 2800000}};
    for (const auto &[cpus, slice] : examples) {
        Tunables tunables;
        update_sched_scaling(tunables, cpus);
        EXPECT_EQ(tunables.base_slice, slice) << cpus;
    }
}

// EEVDF-30..32.
TEST(Eevdf, X3AverageOfTheTree) {
    Queue q;
    q.queue(1000);
    q.queue(-500);
    q.queue(200);
    EXPECT_EQ(q.root.sum_w_vruntime, 734003200);
    EXPECT_EQ(q.root.sum_weight, 3145728u);
    EXPECT_EQ(q.V(), 233);
    EXPECT_EQ(q.zero(), 233);
    EXPECT_EQ(q.root.sum_w_vruntime, 1048576);
}

// EEVDF-32.
TEST(Eevdf, X4AverageIsFloored) {
    Queue q;
    q.queue(-1000);
    q.queue(-1001);
    EXPECT_EQ(q.V(), -1001);
    EXPECT_EQ(q.root.sum_w_vruntime, 1048576);
}

// EEVDF-32.
TEST(Eevdf, X5AverageWithTheRunningTask) {
    Queue q;
    q.run(1000);
    q.queue(-500, 0, nice5);
    EXPECT_EQ(q.V(), 630);
    EXPECT_EQ(q.root.sum_w_vruntime, -387635200);
    EXPECT_EQ(q.root.sum_weight, nice5);
}

TEST(Eevdf, X6AverageOfUnlikeWeights) {
    Queue q;
    q.run(0);
    q.queue(10, 0, nice_to_weight(-20));
    q.queue(-100000, 0, nice_to_weight(19));
    EXPECT_EQ(q.root.sum_w_vruntime, -627087360);
    EXPECT_EQ(q.root.sum_weight, 90906624u);
    EXPECT_EQ(q.V(), -7);
    EXPECT_EQ(q.root.sum_w_vruntime, 9259008);
}

// EEVDF-35..40.
TEST(Eevdf, X7PlacementKeepsTheLag) {
    struct {
        s64 vlag;
        u64 weight;
        s64 vruntime, deadline;
    } const examples[] = {{600000, W, -900000, 1900000},
                          {-600000, W, 900000, 3700000},
                          {1, W, -1, 2799999},
                          {600000, nice_to_weight(-10), -3397265, -3096972},
                          {-600000, nice_to_weight(10), 632226, 26697680}};
    for (const auto &e : examples) {
        Queue q;
        q.queue(0, 2800000);
        q.queue(0, 2800000);
        Entity &x = q.make(0, 0, e.weight);
        x.vlag = e.vlag;
        place_entity(q.s, q.root, x, 0);
        EXPECT_EQ(s64_of(x.vruntime), e.vruntime);
        EXPECT_EQ(s64_of(x.deadline), e.deadline);
        if (e.weight == nice_to_weight(-10)) { // EEVDF-39: heavier than the rest
            EXPECT_EQ(q.zero(), -3397265);
            EXPECT_EQ(q.root.sum_w_vruntime, 7124581089280);
        }
        if (e.vlag == 600000 && e.weight == W) { // the lag comes out again
            enqueue_timeline(q.s, q.root, x);
            EXPECT_EQ(q.V(), -300000);
        }
    }
    Queue empty;
    Entity &x = empty.make(77);
    x.vlag = 600000;
    place_entity(empty.s, empty.root, x, 0);
    EXPECT_EQ(s64_of(x.vruntime), empty.zero());
}

// EEVDF-40.
TEST(Eevdf, X8InitialPlacement) {
    Queue q;
    q.run(1000);
    Entity &x = q.make(0, 0, nice5);
    place_entity(q.s, q.root, x, ENQUEUE_INITIAL);
    EXPECT_EQ(s64_of(x.vruntime), 1000);
    EXPECT_EQ(s64_of(x.deadline), 4280402);

    Queue other;
    other.run(0);
    Entity &y = other.make(0);
    place_entity(other.s, other.root, y, ENQUEUE_INITIAL);
    EXPECT_EQ(s64_of(y.vruntime), 0);
    EXPECT_EQ(s64_of(y.deadline), 1400000);
}

// EEVDF-33, -41, -42.
TEST(Eevdf, X9LagIsClamped) {
    struct {
        u32 hz;
        u64 weight;
        s64 average, lag;
    } const examples[] = {
        {1000, W, -10000000, 3800000}, {250, W, -10000000, 6800000}, {1000, nice5, -4930096, 11615522}};
    for (const auto &e : examples) {
        Queue q;
        q.s.tunables.hz = e.hz;
        q.queue(0, 0, W, 2800000);
        Entity &b = q.queue(-20000000, 0, e.weight, 500000);
        EXPECT_TRUE(update_entity_lag(q.s, q.root, b));
        EXPECT_EQ(q.zero(), e.average);
        EXPECT_EQ(b.vlag, e.lag);
    }
}

// EEVDF-53, EEVDF-61: X10 with who is current, its protection, the buddy and `protect`; names by position A B C D.
TEST(Eevdf, X10Pick) {
    struct {
        int curr;
        s64 vprot;
        int next;
        bool protect;
        int result;
        const char *rule;
    } const examples[] = {{-1, 0, -1, true, 2, "EEVDF-53.6"},    {1, -200, -1, true, 1, "EEVDF-53.4"},
                          {1, -200, -1, false, 2, "EEVDF-53.6"}, {1, -300, -1, true, 2, "EEVDF-53.6"},
                          {0, 1000, -1, true, 2, "EEVDF-53.6"},  {1, 1000, 2, true, 2, "EEVDF-53.2"},
                          {1, 1000, 0, true, 1, "EEVDF-53.4"}};
    const std::pair<s64, s64> abcd[] = {{100, 1000}, {-300, 1500}, {-50, 1200}, {250, 900}};
    for (const auto &e : examples) {
        Queue q;
        std::vector<Entity *> all;
        for (int i = 0; i < 4; i++) {
            const auto [vruntime, deadline] = abcd[i];
            all.push_back(i == e.curr ? &q.run(vruntime, deadline) : &q.queue(vruntime, deadline));
        }
        if (e.curr >= 0)
            all[static_cast<std::size_t>(e.curr)]->vprot = v(e.vprot);
        if (e.next >= 0)
            q.root.next = all[static_cast<std::size_t>(e.next)];
        const Pick pick = pick_eevdf(q.s, q.root, e.protect);
        EXPECT_EQ(pick.entity, all[static_cast<std::size_t>(e.result)]);
        EXPECT_EQ(pick.rule.name(), e.rule);
    }
}

// EEVDF-51, EEVDF-53.
TEST(Eevdf, X11EqualDeadlines) {
    struct {
        int curr;
        s64 vprot;
        int result;
    } const examples[] = {{-1, 0, 0}, {2, 0, 0}, {0, 0, 1}, {0, 1, 0}};
    for (const auto &e : examples) {
        Queue q;
        std::vector<Entity *> all;
        for (int i = 0; i < 3; i++) {
            all.push_back(i == e.curr ? &q.run(0, 1000) : &q.queue(0, 1000));
            all.back()->vprot = v(e.vprot);
        }
        EXPECT_EQ(pick_eevdf(q.s, q.root, true).entity, all[static_cast<std::size_t>(e.result)]);
    }
}

// EEVDF-33, EEVDF-50.
TEST(Eevdf, X12Eligibility) {
    Queue q;
    Entity &a = q.queue(0);
    Entity &b = q.queue(1);
    EXPECT_TRUE(entity_eligible(q.root, a));
    EXPECT_FALSE(entity_eligible(q.root, b));
    EXPECT_EQ(q.zero(), 0); // asking does not move it

    Queue other;
    Entity &d = other.queue(0, 0, 2);
    Entity &e = other.queue(3, 0, 1);
    Entity &f = other.queue(1, 0, 1);
    EXPECT_TRUE(entity_eligible(other.root, d));
    EXPECT_FALSE(entity_eligible(other.root, e));
    EXPECT_TRUE(entity_eligible(other.root, f));
    EXPECT_EQ(other.V(), 1);
}

// EEVDF-44, -60, -64.
TEST(Eevdf, X13SetProtectSlice) {
    const auto protection = [](const std::vector<std::array<s64, 3>> &tree, bool parity, bool preempt_short) {
        Queue q;
        q.s.features.set(Feature::RUN_TO_PARITY, parity);
        q.s.features.set(Feature::PREEMPT_SHORT, preempt_short);
        Entity &a = q.run(0, 2800000);
        for (const auto &[vruntime, weight, slice] : tree)
            q.queue(vruntime, 0, v(weight), v(slice));
        set_protect_slice(q.s, q.root, a);
        return s64_of(a.vprot);
    };
    const std::vector<std::array<s64, 3>> two = {{400001, s64_of(W), 500000}, {-7, s64_of(nice5), 500000}};
    EXPECT_EQ(protection({{400000, s64_of(W), 2800000}}, true, true), 2800000);
    EXPECT_EQ(protection({{400000, s64_of(W), 500000}}, true, true), 400001);
    EXPECT_EQ(protection(two, true, true), 301398);
    EXPECT_EQ(protection(two, true, false), 500000);
    EXPECT_EQ(protection(two, false, false), 700000);
    EXPECT_EQ(protection(two, false, true), 301398);
}

// EEVDF-33, -44, -62.
TEST(Eevdf, X14UpdateProtectSlice) {
    Queue q;
    Entity &a = q.run(1000000, 2800000);
    a.vprot = 2800000;
    q.queue(400000, 0, W, 500000);
    update_protect_slice(q.root, a);
    EXPECT_EQ(q.zero(), 700000);
    EXPECT_EQ(a.vprot, 1200000u);

    Queue other;
    Entity &b = other.run(100000, 2800000, nice5);
    b.vprot = 2800000;
    other.queue(400000, 0, W, 500000);
    update_protect_slice(other.root, b);
    EXPECT_EQ(other.zero(), 326048);
    EXPECT_EQ(b.vprot, 1628358u);
}

// EEVDF-120.
TEST(Eevdf, X25Reweight) {
    Queue q;
    q.run(0);
    Entity &x = q.queue(1000000, 3800000);
    reweight_eevdf(q.s, q.root, x, nice5, true);
    EXPECT_EQ(x.vlag, -1528358);
    EXPECT_EQ(x.vruntime, 2028358u);
    EXPECT_EQ(x.deadline, 10587164u);
    EXPECT_EQ(q.V(), 499999);

    Queue running;
    running.queue(0);
    Entity &y = running.run(1000000, 3800000);
    y.vprot = 3800000;
    reweight_eevdf(running.s, running.root, y, 2 * W, true);
    EXPECT_EQ(y.vlag, -250000);
    EXPECT_EQ(y.vruntime, 750000u);
    EXPECT_EQ(y.deadline, 2150000u);
    EXPECT_EQ(y.vprot, 2150000u);
}

TEST(Eevdf, X25UnprotectedRunningTaskKeepsItsMark) {
    Queue q;
    q.queue(-333333 + 333333);
    Entity &x = q.run(-333333, 2466667);
    x.vprot = v(-400000);
    reweight_eevdf(q.s, q.root, x, 3 * W, true);
    EXPECT_EQ(s64_of(x.vruntime), -222222);
    EXPECT_EQ(s64_of(x.deadline), 711111);
    EXPECT_EQ(s64_of(x.vprot), -400000);
}

// EEVDF-34: two entities whose sum does not fit s64 share their weights by a shift.
TEST(Eevdf, ParanoidAverageShiftsTheWeights) {
    Queue q;
    q.s.features.set(Feature::PARANOID_AVG, true);
    const s64 far = s64{1} << 36; // times the weight of nice -20: over 2^62
    q.queue(far, 0, nice_to_weight(-20));
    q.queue(far, 0, nice_to_weight(-20));
    EXPECT_EQ(q.root.sum_shift, 1u);
    EXPECT_EQ(q.root.sum_weight, nice_to_weight(-20));
    EXPECT_EQ(q.V(), far);
}

} // namespace
} // namespace fairground::fair
