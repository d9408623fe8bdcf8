// SPDX-License-Identifier: GPL-2.0-only
//
// Worked examples of spec/wakeup-preemption.md, columns v73_off and v73_on.
#include "fair/core.h"
#include "fair/one_cpu.h"

#include <gtest/gtest.h>
#include <optional>
#include <string>

namespace fairground::fair {
namespace {

struct Sketch {
    s64 vruntime;
    s64 deadline;
    u64 slice = 2800000;
    Policy policy = Policy::normal;
    s64 vprot = 2800000; // of the running task
};

enum class Outcome { preempt, update, none };

struct Result {
    Outcome outcome;
    s64 vprot; // of the running task
    char next; // '-', W or O
};

struct Example {
    const char *id;
    Sketch c, w;
    std::optional<Sketch> o = {};
    std::optional<Sketch> q = {};
    u32 extra_flags = 0; // SYNC; FORK replaces TTWU
    u64 migration_cost = 500000;
    bool o_is_next = false;
    Result off, on;
};

constexpr Sketch C3{-200000, 2800000};
constexpr Sketch O3{900000, 3700000};
constexpr auto P = Outcome::preempt;
constexpr auto U = Outcome::update;
constexpr auto N = Outcome::none;

const Example examples[] = {
    {.id = "PREEMPT-X1",
     .c = {600000, 2800000},
     .w = {-100000, 2700000},
     .off = {P, 600000, '-'},
     .on = {P, 600000, 'W'}},
    {.id = "PREEMPT-X2",
     .c = {600000, 2800000},
     .w = {-100000, 2700000},
     .extra_flags = WF_SYNC,
     .off = {P, 600000, '-'},
     .on = {N, 2800000, 'W'}},
    {.id = "PREEMPT-X3", .c = C3, .w = {-100000, 2700000}, .o = O3, .off = {U, 2600000, '-'}, .on = {P, -200000, 'W'}},
    {.id = "PREEMPT-X4",
     .c = C3,
     .w = {-100000, 2700000},
     .o = O3,
     .extra_flags = WF_SYNC,
     .off = {U, 2600000, '-'},
     .on = {N, 2800000, 'W'}},
    {.id = "PREEMPT-X5",
     .c = C3,
     .w = {-100000, 2700000},
     .o = O3,
     .extra_flags = WF_SYNC,
     .migration_cost = 0,
     .off = {U, 2600000, '-'},
     .on = {P, -200000, 'W'}},
    {.id = "PREEMPT-X6",
     .c = C3,
     .w = {500000, 2700000},
     .o = Sketch{300000, 3700000},
     .off = {U, 2600000, '-'},
     .on = {U, 2600000, 'W'}},
    {.id = "PREEMPT-X7",
     .c = {900000, 3000000, 2800000, Policy::normal, 3000000},
     .w = {-100000, 2900000},
     .o = Sketch{-100000, 2700000},
     .off = {U, 3000000, '-'},
     .on = {P, 900000, 'W'}},
    {.id = "PREEMPT-X8",
     .c = C3,
     .w = {-100000, 1300000},
     .o = O3,
     .extra_flags = WF_FORK,
     .off = {U, 2600000, '-'},
     .on = {U, 2600000, '-'}},
    {.id = "PREEMPT-X9",
     .c = C3,
     .w = {-100000, 400000, 500000},
     .o = O3,
     .off = {P, -200000, 'W'},
     .on = {P, -200000, 'W'}},
    {.id = "PREEMPT-X10",
     .c = C3,
     .w = {-250000, 400000, 500000},
     .o = Sketch{-300000, 300000},
     .off = {P, -200000, 'W'},
     .on = {P, -200000, 'W'}},
    {.id = "PREEMPT-X11",
     .c = C3,
     .w = {500000, 1000000, 500000},
     .o = Sketch{300000, 3700000},
     .off = {U, 300000, '-'},
     .on = {U, 300000, '-'}},
    {.id = "PREEMPT-X12",
     .c = {-200000, 2800000, 2800000, Policy::idle},
     .w = {500000, 3300000},
     .off = {P, -200000, '-'},
     .on = {P, -200000, '-'}},
    {.id = "PREEMPT-X13",
     .c = C3,
     .w = {-100000, 2700000, 2800000, Policy::batch},
     .o = O3,
     .off = {U, 2600000, '-'},
     .on = {U, 2600000, '-'}},
    {.id = "PREEMPT-X14",
     .c = C3,
     .w = {-100000, 2700000},
     .o = Sketch{-50000, 2600000},
     .q = O3,
     .o_is_next = true,
     .off = {U, 2600000, 'O'},
     .on = {U, 2600000, 'O'}},
    {.id = "PREEMPT-X15",
     .c = C3,
     .w = {-250000, 100000, 2800000, Policy::idle},
     .o = O3,
     .off = {U, 2600000, '-'},
     .on = {U, 2600000, '-'}},
    {.id = "PREEMPT-X16",
     .c = C3,
     .w = {-250000, 0, 500000},
     .o = O3,
     .extra_flags = WF_FORK,
     .off = {P, -200000, 'W'},
     .on = {P, -200000, 'W'}},
};

// All weights are 2^20 whatever the policy, as the table says.
struct Stage : Cpus {
    explicit Stage(bool next_buddy) {
        root.zero_vruntime = 0;
        s.features.set(Feature::HRTICK, false);
        s.features.set(Feature::NEXT_BUDDY, next_buddy);
        s.decisions = &decisions;
    }
    Task &add(const Sketch &sketch) {
        Task &p = add_task();
        p.policy = sketch.policy;
        p.on_rq = OnRq::queued;
        p.state = TaskState::running;
        Entity &se = p.se;
        se.vruntime = static_cast<u64>(sketch.vruntime);
        se.deadline = static_cast<u64>(sketch.deadline);
        se.vprot = static_cast<u64>(sketch.vprot);
        se.slice = sketch.slice;
        se.custom_slice = true;
        se.h_load = nice_0_load;
        se.on_rq = true;
        root.h_nr_queued++;
        root.h_nr_runnable++;
        root.nr_queued++;
        root.load_weight += nice_0_load;
        rq.nr_running++;
        return p;
    }
    Task &run(const Sketch &sketch) {
        Task &p = add(sketch);
        p.on_cpu = true;
        rq.curr = &p;
        rq.current_class = rq.next_class = SchedClass::fair;
        root.curr = root.h_curr = &p.se;
        return p;
    }
    Task &queue(const Sketch &sketch) {
        Task &p = add(sketch);
        enqueue_timeline(s, root, p.se);
        return p;
    }
    DecisionLog decisions;
};

void check(const Example &e, bool next_buddy) {
    SCOPED_TRACE(std::string(e.id) + (next_buddy ? " v73_on" : " v73_off"));
    const Result &expected = next_buddy ? e.on : e.off;
    Stage stage(next_buddy);
    stage.s.tunables.migration_cost = e.migration_cost;
    Task &c = stage.run(e.c);
    Task &w = stage.queue(e.w);
    Task *o = e.o ? &stage.queue(*e.o) : nullptr;
    if (e.q)
        stage.queue(*e.q);
    if (e.o_is_next)
        stage.root.next = &o->se;

    const u32 kind = (e.extra_flags & WF_FORK) != 0 ? 0 : u32{WF_TTWU};
    wakeup_preempt(stage.s, stage.rq, w, kind | WF_RQ_SELECTED | e.extra_flags);

    EXPECT_EQ(stage.rq.need_resched_lazy, expected.outcome == P);
    EXPECT_FALSE(stage.rq.need_resched);
    EXPECT_EQ(static_cast<s64>(c.se.vprot), expected.vprot);
    const Entity *next = expected.next == '-' ? nullptr : expected.next == 'W' ? &w.se : &o->se;
    EXPECT_EQ(stage.root.next, next);
    ASSERT_EQ(stage.decisions.size(), 1u);
    EXPECT_EQ(stage.decisions[0].kind, DecisionKind::preempt);
    EXPECT_EQ(stage.decisions[0].chosen, expected.outcome == P ? 1 : 0);
    EXPECT_TRUE(stage.decisions[0].rule.name().starts_with("PREEMPT-"));
    if (expected.outcome == N) {
        EXPECT_EQ(stage.decisions[0].rule.name(), "PREEMPT-16");
    }
}

// PREEMPT-4, PREEMPT-10..13, -15..17, -19, -20, EEVDF-63, -135, -136.
TEST(Preemption, X1ToX16) {
    for (const Example &e : examples)
        for (const bool next_buddy : {false, true})
            check(e, next_buddy);
}

// PREEMPT-14, EEVDF-55, EEVDF-84.
TEST(Preemption, X17ThePickDropsDelayedTasks) {
    for (const bool next_buddy : {false, true}) {
        SCOPED_TRACE(next_buddy ? "v73_on" : "v73_off");
        Stage stage(next_buddy);
        stage.run({-200000, 2800000, 2800000, Policy::normal, -200000});
        Task &d = stage.queue({-300000, 300000});
        d.se.sched_delayed = true;
        d.se.vlag = -50000;
        d.state = TaskState::sleeping;
        stage.root.h_nr_runnable--;
        stage.rq.tasks_head = stage.rq.tasks_tail = &d;
        Task &w = stage.queue({-250000, 400000});

        wakeup_preempt(stage.s, stage.rq, w, WF_TTWU | WF_RQ_SELECTED);

        EXPECT_TRUE(stage.rq.need_resched_lazy);
        EXPECT_EQ(stage.root.next, next_buddy ? &w.se : nullptr);
        EXPECT_EQ(d.se.on_rq, next_buddy);
        EXPECT_EQ(stage.rq.nr_running, next_buddy ? 3u : 2u);
        EXPECT_EQ(stage.root.h_nr_queued, next_buddy ? 3u : 2u);
        EXPECT_EQ(stage.root.h_nr_runnable, 2u);
        if (!next_buddy) {
            EXPECT_EQ(d.se.vlag, 0);
            EXPECT_EQ(d.on_rq, OnRq::no);
        }
    }
}

} // namespace
} // namespace fairground::fair
