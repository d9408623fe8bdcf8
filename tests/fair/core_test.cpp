// SPDX-License-Identifier: GPL-2.0-only
//
// Timelines of spec/eevdf.md, driven through core.h as a kernel would, and the frames of core.c.
#include "fair/core.h"

#include "fair/one_cpu.h"

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

namespace fairground::fair {
namespace {

constexpr CpuId cpu0{0};
constexpr CpuId cpu1{1};

Tunables eight_cpu_tunables(u32 hz) {
    Tunables tunables;
    tunables.hz = hz;
    tunables.base_slice = 2800000;
    return tunables;
}

// One schedule() of the timeline; values of the task picked, where the specification gives them.
struct Turn {
    u64 time;
    std::string who; // "A*": A was running and is picked again
    std::optional<s64> vruntime = {};
    std::optional<s64> deadline = {};
    std::optional<s64> vprot = {};
};

// CPU 0 with tasks in user mode: every flag raised in an interrupt is honoured at its end.
struct Machine : Cpus {
    explicit Machine(u32 hz = 1000, bool with_hrtick = false, int cpus = 1)
        : Cpus(cpus, eight_cpu_tunables(hz)), tick(s.tunables.tick_nsec()) {
        root.zero_vruntime = 0;
        s.features.set(Feature::HRTICK, with_hrtick);
    }
    Task &start(int nice = 0, u64 slice = 0, CpuId cpu = cpu0) {
        TaskInit init;
        init.nice = nice;
        init.slice = slice;
        init.cpus_allowed = all_cpus(static_cast<int>(s.rqs.size()));
        Task &p = sched_fork(s, init, nullptr, cpu);
        update_rq_clock(s, s.rq(cpu));
        ttwu_do_activate(s, s.rq(cpu), p, WF_TTWU);
        return p;
    }
    void reschedule(TaskState state = TaskState::running) {
        const Task *before = rq.curr;
        const Task *p = schedule(s, cpu0, state);
        if (p == nullptr)
            return;
        turns.push_back({s.now, std::string(1, static_cast<char>('A' + p->id.value)) + (p == before ? "*" : ""),
                         static_cast<s64>(p->se.vruntime), static_cast<s64>(p->se.deadline),
                         static_cast<s64>(p->se.vprot)});
    }
    // Ticks and hrticks up to and including `end`.
    void run_until(u64 end) {
        for (;;) {
            const u64 next_tick = (s.now / tick + 1) * tick;
            const bool timer = rq.hrtick_queued && rq.hrtick_expiry < next_tick;
            const u64 next = timer ? rq.hrtick_expiry : next_tick;
            if (next > end)
                break;
            s.now = next;
            s.jiffies = s.now / tick;
            if (timer)
                hrtick(s, cpu0);
            else
                sched_tick(s, cpu0);
            if (rq.need_resched || rq.need_resched_lazy)
                reschedule();
        }
        s.now = end;
    }
    void expect_turns(const std::vector<Turn> &expected) const {
        ASSERT_GE(turns.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); i++) {
            SCOPED_TRACE("turn " + std::to_string(i) + " at " + std::to_string(expected[i].time));
            EXPECT_EQ(turns[i].time, expected[i].time);
            EXPECT_EQ(turns[i].who, expected[i].who);
            if (expected[i].vruntime) {
                EXPECT_EQ(turns[i].vruntime, expected[i].vruntime);
            }
            if (expected[i].deadline) {
                EXPECT_EQ(turns[i].deadline, expected[i].deadline);
            }
            if (expected[i].vprot) {
                EXPECT_EQ(turns[i].vprot, expected[i].vprot);
            }
        }
    }

    u64 tick;
    std::vector<Turn> turns;
};

// A, B, C nice 0; A runs first and blocks at 600000 (EEVDF-X15).
struct AfterBlock : Machine {
    AfterBlock() : a(start()), b(start()), c(start()) {
        reschedule();
        s.now = 600000;
        reschedule(TaskState::sleeping);
    }
    Task &a, &b, &c;
};

// EEVDF-71, -75, -80, -81, -90.
TEST(CoreTimeline, X15AnIneligibleSleeperIsDelayed) {
    AfterBlock m;
    EXPECT_EQ(m.a.se.vruntime, 600000u);
    EXPECT_EQ(m.root.zero_vruntime, 200000u);
    EXPECT_EQ(m.a.se.vlag, -400000);
    EXPECT_TRUE(m.a.se.sched_delayed);
    EXPECT_EQ(m.a.on_rq, OnRq::queued);
    EXPECT_EQ(m.root.h_nr_queued, 3u);
    EXPECT_EQ(m.root.h_nr_runnable, 2u);
    EXPECT_EQ(m.rq.nr_running, 3u);
    EXPECT_EQ(m.rq.curr, &m.b);
}

// EEVDF-83, WAKE-22.
TEST(CoreTimeline, X16DelayedTaskIsWokenInPlace) {
    AfterBlock m;
    m.s.now = 1400000;
    ttwu_runnable(m.s, m.a, WF_TTWU);
    EXPECT_EQ(m.root.zero_vruntime, 466666u);
    EXPECT_EQ(m.a.se.vlag, -133334);
    EXPECT_EQ(m.a.se.vruntime, 600000u);
    EXPECT_EQ(m.a.se.deadline, 2800000u);
    EXPECT_FALSE(m.a.se.sched_delayed);
    EXPECT_EQ(m.root.h_nr_runnable, 3u);
}

// EEVDF-42, -83.
TEST(CoreTimeline, X17DelayedTaskIsPlacedAnewWithoutPositiveLag) {
    AfterBlock m;
    m.s.now = 2400000;
    ttwu_runnable(m.s, m.a, WF_TTWU);
    EXPECT_EQ(m.a.se.vruntime, 900000u);
    EXPECT_EQ(m.a.se.deadline, 3700000u);
    EXPECT_EQ(m.a.se.vlag, 0);
}

// EEVDF-55, -75, -76, -84, -91.
TEST(CoreTimeline, X18DelayedTaskIsDroppedByThePick) {
    AfterBlock m;
    m.run_until(4000000);
    EXPECT_EQ(m.b.se.vruntime, 3400000u);
    EXPECT_EQ(m.b.se.deadline, 6200000u);
    EXPECT_EQ(m.root.zero_vruntime, 1333333u);
    EXPECT_EQ(m.rq.curr, &m.c);
    m.run_until(7000000);
    EXPECT_EQ(m.c.se.vruntime, 3000000u);
    EXPECT_EQ(m.c.se.deadline, 5800000u);
    EXPECT_EQ(m.rq.curr, &m.c);
    EXPECT_EQ(m.a.se.vlag, 0);
    EXPECT_EQ(m.a.on_rq, OnRq::no);
    EXPECT_EQ(m.root.h_nr_queued, 2u);
    EXPECT_EQ(m.root.h_nr_runnable, 2u);
    EXPECT_EQ(m.rq.nr_running, 2u);
    m.run_until(8000000);
    EXPECT_EQ(m.rq.curr, &m.b);
    const std::vector<std::string> expected = {"A", "B", "C", "C*", "B"};
    for (std::size_t i = 0; i < expected.size(); i++)
        EXPECT_EQ(m.turns[i].who, expected[i]);
}

// EEVDF-110.
TEST(CoreTimeline, X19HrtickDelay) {
    struct {
        u64 weight, vdelta, util_irq, delay;
    } const examples[] = {{nice_0_load, 2800000, 0, 2800000},
                          {nice_0_load, 2800000, 100, 3100781},
                          {343040, 8558805, 0, 2799999},
                          {343040, 4, 0, 10000},
                          {116508, 2800000, 0, 311109}};
    for (const auto &e : examples) {
        Machine m(1000, true);
        Task &p = m.add_task();
        p.se.h_load = e.weight;
        p.se.deadline = e.vdelta;
        m.root.h_nr_queued = 2;
        m.rq.avg_irq.util_avg = e.util_irq;
        m.s.now = 1000;
        hrtick_start_fair(m.s, m.rq, p);
        ASSERT_EQ(m.s.effects.size(), 1u);
        EXPECT_EQ(m.s.effects[0].kind, EffectKind::hrtick);
        EXPECT_EQ(m.s.effects[0].time, 1000 + e.delay);
    }
}

// EEVDF-21, -22, -27, -90, -94, -95, -105.
TEST(CoreTimeline, X20ThreeEqualTasks) {
    Machine m;
    m.start(), m.start(), m.start();
    m.reschedule();
    m.run_until(20000000);
    m.expect_turns({{0, "A"},
                    {3000000, "B"},
                    {6000000, "C"},
                    {9000000, "A", 3000000, 5800000},
                    {12000000, "B"},
                    {15000000, "C"},
                    {18000000, "A"}});

    Machine timer(1000, true);
    timer.start(), timer.start(), timer.start();
    timer.reschedule();
    timer.run_until(12000000);
    timer.expect_turns({{0, "A"}, {2800000, "B"}, {5600000, "C"}, {8400000, "A", 2800000, 5600000}, {11200000, "B"}});
}

// EEVDF-21, -22, -92, -105.
TEST(CoreTimeline, X21UnlikeWeights) {
    Machine m;
    m.start(0), m.start(5);
    m.reschedule();
    m.run_until(18000000);
    m.expect_turns({{0, "A"},
                    {3000000, "B", {}, 8558805},
                    {6000000, "A", 3000000, 5800000},
                    {9000000, "A*", 6000000, 8800000, 5800000},
                    {10000000, "A*"},
                    {11000000, "A*"},
                    {12000000, "A*"},
                    {13000000, "B", 9170148, 17728953},
                    {16000000, "A", 10000000, 11800000},
                    {18000000, "A*"}});
}

// EEVDF-110, -111, -113.
TEST(CoreTimeline, X22UnlikeWeightsWithHrtick) {
    Machine m(1000, true);
    m.start(0), m.start(5);
    m.reschedule();
    m.run_until(17700000);
    m.expect_turns({{0, "A"},
                    {2800000, "B"},
                    {5599999, "A", 2800000},
                    {8399999, "A*", 5600000, 8400000},
                    {9000000, "A*"},
                    {10000000, "A*"},
                    {11000000, "A*"},
                    {12000000, "B", 8558801, 8558805},
                    {12010000, "B*"},
                    {13000000, "A", 9200001, 12000001},
                    {15800000, "B"},
                    {17609999, "A"}});
}

// EEVDF-60, PREEMPT-21.
TEST(CoreTimeline, X23ShortSlice) {
    Machine m;
    m.start(0), m.start(0, 500000);
    m.reschedule();
    m.run_until(9000000);
    m.expect_turns({{0, "B"},
                    {1000000, "A", {}, {}, 1000001},
                    {3000000, "B", 1000000, 1500000},
                    {4000000, "B*"},
                    {5000000, "A", 2000000, 2800000, 2800000},
                    {6000000, "B", 3000000},
                    {7000000, "A", 3000000, 5800000, 4000001},
                    {9000000, "B"}});
}

TEST(CoreTimeline, X24SlowTick) {
    Machine m(250);
    m.start(), m.start();
    m.reschedule();
    m.run_until(16000000);
    m.expect_turns({{0, "A"}, {4000000, "B"}, {8000000, "A", 4000000, 6800000}, {12000000, "B"}, {16000000, "A"}});
}

// Queues of X26 are states, not histories.
struct Migration : Machine {
    Migration() : Machine(1000, false, 2) {
        for (Rq &each : s.rqs)
            each.cfs.zero_vruntime = 0;
        a = &put(cpu0, 0, 2800000);
        b = &put(cpu0, 500000, 3300000);
        x = &put(cpu0, 1000000, 3000000);
        make_current(*b);
        p = &put(cpu1, 50000000, 52800000);
        make_current(*p);
        s.rq(cpu1).cfs.zero_vruntime = 49000000;
    }
    Task &put(CpuId cpu, u64 vruntime, u64 deadline) {
        Task &task = start(0, 0, cpu);
        CfsRq &cfs = s.rq(cpu).cfs;
        dequeue_timeline(cfs, task.se);
        task.se.vruntime = vruntime;
        task.se.deadline = deadline;
        enqueue_timeline(s, cfs, task.se);
        return task;
    }
    void make_current(Task &task) {
        Rq &each = s.rq(task.cpu);
        each.curr = &task;
        each.current_class = each.next_class = SchedClass::fair;
        task.on_cpu = true;
        set_next_task_fair(s, each, task, true);
    }
    Task *a, *b, *x, *p;
};

// EEVDF-40, -75, -132.
TEST(CoreTimeline, X26MigrationCarriesLagAndDeadline) {
    Migration m;
    deactivate_task(m.s, m.rq, *m.x);
    EXPECT_EQ(m.x->se.vlag, -500000);
    EXPECT_EQ(m.x->se.deadline, 2000000u);
    EXPECT_TRUE(m.x->se.rel_deadline);
    set_task_cpu(m.s, *m.x, cpu1);
    activate_task(m.s, m.s.rq(cpu1), *m.x, 0);
    EXPECT_EQ(m.x->se.vruntime, 51000000u);
    EXPECT_EQ(m.x->se.deadline, 53000000u);
    EXPECT_EQ(avg_vruntime(m.s.rq(cpu1).cfs), 50500000u);
}

TEST(CoreTimeline, X26HalfTheWeightOnTheTarget) {
    Migration m;
    deactivate_task(m.s, m.rq, *m.x);
    set_task_cpu(m.s, *m.x, cpu1);
    m.x->se.load_weight = nice_0_load / 2;
    activate_task(m.s, m.s.rq(cpu1), *m.x, 0);
    EXPECT_EQ(m.x->se.vlag, -1000000);
    EXPECT_EQ(m.x->se.vruntime, 51500000u);
    EXPECT_EQ(m.x->se.deadline, 55500000u);
    EXPECT_EQ(avg_vruntime(m.s.rq(cpu1).cfs), 50500000u);
}

// WAKE-1, WAKE-20, WAKE-26..30, PREEMPT-4, PREEMPT-40..43, EEVDF-97, EEVDF-140, EEVDF-142, SYNC-3.
TEST(Core, RemoteWakeupsGoThroughTheWakeList) {
    Machine m(1000, false, 2);
    m.s.rq(cpu0).sd.llc_id = 0;
    m.s.rq(cpu1).sd.llc_id = 1;
    Rq &target = m.s.rq(cpu1);
    std::vector<Task *> tasks;
    for (int i = 0; i < 2; i++) {
        TaskInit init;
        init.cpus_allowed = CpuMask::of(cpu1);
        Task &p = sched_fork(m.s, init, nullptr, cpu1);
        activate_new_task(m.s, p, cpu1, WF_FORK);
        schedule(m.s, cpu1);
        tasks.push_back(&p);
        schedule(m.s, cpu1, TaskState::special);
    }
    m.s.effects.clear();
    m.s.now = 5000;

    const Waker waker{.cpu = cpu0};
    const Wake first = try_to_wake_up(m.s, *tasks[1], WF_SYNC, waker);
    EXPECT_EQ(first.result, WakeResult::queued);
    EXPECT_TRUE(first.first);
    EXPECT_TRUE(target.ttwu_pending);
    EXPECT_FALSE(idle_cpu(target));
    EXPECT_EQ(target.nr_running, 0u);
    const Wake second = try_to_wake_up(m.s, *tasks[0], 0, waker);
    EXPECT_EQ(second.result, WakeResult::queued);
    EXPECT_FALSE(second.first);
    EXPECT_EQ(try_to_wake_up(m.s, *tasks[0], 0, waker).result, WakeResult::no);

    m.s.now = 9000;
    sched_ttwu_pending(m.s, cpu1);
    EXPECT_FALSE(target.ttwu_pending);
    EXPECT_EQ(target.nr_running, 2u);
    EXPECT_EQ(target.clock, 9000u);
    EXPECT_TRUE(target.need_resched);
    ASSERT_EQ(m.s.effects.size(), 1u); // one interrupt for both
    EXPECT_EQ(m.s.effects[0].kind, EffectKind::resched);
    EXPECT_EQ(target.tasks_head, tasks[0]); // the last enqueued is at the head
    EXPECT_EQ(target.tasks_tail, tasks[1]);
}

// WAKE-21: woken between the decision to sleep and schedule().
TEST(Core, WakingTheCurrentTaskOnlyMakesItRunning) {
    Machine m;
    Task &a = m.start();
    m.reschedule();
    a.state = TaskState::sleeping;
    EXPECT_EQ(try_to_wake_up(m.s, a, 0, Waker{.cpu = cpu0, .current = &a}).result, WakeResult::running);
    EXPECT_EQ(schedule(m.s, cpu0, a.state), &a);
    EXPECT_EQ(a.on_rq, OnRq::queued);
}

// EEVDF-100..103, WAKE-32.
TEST(Core, LazyRequestsBecomeImmediateAtTheNextTick) {
    Machine m;
    m.start();
    m.reschedule();
    m.s.effects.clear();
    resched_curr_lazy(m.s, m.rq);
    resched_curr_lazy(m.s, m.rq);
    ASSERT_EQ(m.s.effects.size(), 1u);
    EXPECT_EQ(m.s.effects[0].kind, EffectKind::resched_lazy);
    m.s.now = 1000000;
    sched_tick(m.s, cpu0);
    EXPECT_TRUE(m.rq.need_resched);
    schedule(m.s, cpu0);
    EXPECT_FALSE(m.rq.need_resched || m.rq.need_resched_lazy);
    m.s.tunables.lazy_preempt = false;
    resched_curr_lazy(m.s, m.rq);
    EXPECT_TRUE(m.rq.need_resched);
}

TEST(Core, TheStopperRunsBeforeFairTasks) {
    Machine m;
    Task &a = m.start();
    m.reschedule();
    m.s.now = 100;
    stopper_queue(m.s, cpu0);
    EXPECT_TRUE(m.rq.need_resched);
    EXPECT_EQ(m.rq.nr_running, 2u);
    EXPECT_EQ(schedule(m.s, cpu0), nullptr);
    EXPECT_EQ(m.rq.current_class, SchedClass::higher);
    EXPECT_EQ(m.root.curr, nullptr);
    m.s.now = 700;
    stopper_done(m.s, cpu0);
    EXPECT_EQ(schedule(m.s, cpu0), &a);
    EXPECT_EQ(a.se.sum_exec_runtime, 100u);
    EXPECT_EQ(m.rq.nr_running, 1u);
}

TEST(Core, DecisionsAreWrittenOnlyForAListener) {
    Machine m;
    m.start(), m.start();
    m.reschedule();
    DecisionLog log;
    m.s.decisions = &log;
    m.run_until(3000000);
    ASSERT_EQ(log.size(), 1u);
    EXPECT_EQ(log[0].kind, DecisionKind::pick);
    EXPECT_EQ(log[0].chosen, 1);
    EXPECT_EQ(log[0].rule.name(), "EEVDF-53.6");
}

} // namespace
} // namespace fairground::fair
