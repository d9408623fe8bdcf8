// SPDX-License-Identifier: GPL-2.0-only
//
// Worked examples of spec/load-balance.md, sections 5, 11 and 12: whose turn it is, the exits of a pass, detaching,
// and the push. Tasks move by counters alone where a test is not about queues.
#include "fair/balance_world.h"
#include "fair/core.h"
#include "fair/task_list.h"

#include <array>
#include <string>

namespace fairground::fair::test {
namespace {

const std::vector<std::string_view> four_cores = {"0,4", "1,5", "2,6", "3,7"};

// The only CPU whose turn it is, -1: none. CPUs outside `idle` are busy.
int turn(std::string_view idle, std::string_view local, u32 flags = 0) {
    int found = -1;
    for (int cpu = 0; cpu < 8; cpu++) {
        BalanceWorld w(8, four_cores);
        w.sd.flags = flags;
        w.group(local);
        w.busy(to_list(CpuMask::range(0, 7) - cpus(idle)));
        bool my_turn = true;
        sched_balance_rq(w.s, CpuId{cpu}, w.sd, CpuIdle::idle, &my_turn);
        if (my_turn) {
            EXPECT_EQ(found, -1) << "CPUs " << found << " and " << cpu;
            found = cpu;
        }
    }
    return found;
}

// LB-37, LB-38.
TEST(BalancePass, Turn) {
    EXPECT_EQ(turn("", "0-7"), 0);
    EXPECT_EQ(turn("5", "0-7"), 5);
    EXPECT_EQ(turn("1,2,6", "0-7"), 2); // 1 is on a busy core
    EXPECT_EQ(turn("4", "0,4", SD_SHARE_CPUCAPACITY), 4);
}

// LB-37: newly idle it is always the CPU's own turn, unless work came meanwhile.
TEST(BalancePass, NewlyIdleTurn) {
    for (const bool pending : {false, true}) {
        BalanceWorld w(8, four_cores);
        w.group("0-7");
        w.rq(7).ttwu_pending = pending;
        bool my_turn = true;
        sched_balance_rq(w.s, CpuId{7}, w.sd, CpuIdle::newly_idle, &my_turn);
        EXPECT_EQ(my_turn, !pending);
    }
}

// Unrelated averages keep the queues as given, so tasks move by counters.
void count_detach(Scheduler &, Rq &src, Task &p, CpuId dst) {
    task_list_remove(src, p);
    src.nr_running--;
    src.cfs.h_nr_queued--;
    src.cfs.h_nr_runnable--;
    p.cpu = dst;
}
void count_attach(Scheduler &, Rq &dst, Task &) {
    dst.nr_running++;
    dst.cfs.h_nr_queued++;
    dst.cfs.h_nr_runnable++;
}
constexpr TaskMover by_counters = {count_detach, count_attach};

Tunables flat() {
    Tunables tunables;
    tunables.group_scheduling = false; // h_load is load_avg
    tunables.migration_cost = 0;       // nothing is hot
    return tunables;
}

// CPU 1 has tasks, head of its list first; CPU 0 is idle and balances.
struct TwoCpus : BalanceWorld {
    TwoCpus() : BalanceWorld(2, {}, flat()) {
        group("0");
        group("1");
        sd.flags = SD_SHARE_LLC;
    }
    // `loads` from the tail of the list; the last one is the running task.
    void tasks(const std::vector<u64> &loads) {
        for (u64 load : loads) {
            Task &p = s.tasks.emplace_back();
            p.id = TaskId{static_cast<s64>(s.tasks.size()) - 1};
            p.se.task = &p;
            p.se.avg.load_avg = load;
            p.se.on_rq = true;
            p.on_rq = OnRq::queued;
            p.cpus_allowed = cpus("0-1");
            p.nr_cpus_allowed = 2;
            p.cpu = CpuId{1};
            p.se.cfs_rq = &rq(1).cfs;
            task_list_add(rq(1), p);
        }
        busy("1", static_cast<u32>(loads.size()));
        rq(1).curr = &s.tasks.back();
        s.tasks.back().on_cpu = true;
    }
    // Letters of the tasks detached, in order; the first task created is A.
    std::string detached(CpuIdle idle, MigrationType type, s64 imbalance) {
        LbEnv env{.s = s, .sd = sd, .dst_cpu = CpuId{0}, .idle = idle, .mover = by_counters};
        env.cpus = sd.span;
        env.src_cpu = CpuId{1};
        env.loop_max = rq(1).nr_running;
        env.loop_break = 32;
        env.migration_type = type;
        env.imbalance = imbalance;
        env.flags = LBF_ALL_PINNED;
        detach_tasks(env);
        flags = env.flags;
        left = env.imbalance;
        std::string order;
        for (const Task *p = env.detached; p != nullptr; p = p->list_next)
            order.insert(order.begin(), static_cast<char>('A' + p->id)); // a stack (LB-77)
        return order;
    }
    u32 flags = 0;
    s64 left = 0;
};

// LB-68..70: the example of section 11.
TEST(BalancePass, DetachByLoad) {
    const std::vector<u64> loads = {700, 300, 400, 250, 60, 1000};
    TwoCpus fresh;
    fresh.tasks(loads);
    EXPECT_EQ(fresh.detached(CpuIdle::idle, MigrationType::load, 600), "BD");
    EXPECT_EQ(fresh.left, 50);
    EXPECT_EQ(fresh.flags, 0U);
    TwoCpus failed;
    failed.tasks(loads);
    failed.sd.nr_balance_failed = 1;
    EXPECT_EQ(failed.detached(CpuIdle::idle, MigrationType::load, 600), "A");
    EXPECT_EQ(failed.left, -100);
    TwoCpus newidle;
    newidle.tasks(loads);
    EXPECT_EQ(newidle.detached(CpuIdle::newly_idle, MigrationType::load, 600), "B");
}

// LB-70: LB_MIN, tasks by number, and an idle destination that leaves one (LB-69).
TEST(BalancePass, DetachByNumber) {
    TwoCpus small;
    small.tasks({10, 300, 1000});
    small.s.features.set(Feature::LB_MIN, true);
    EXPECT_EQ(small.detached(CpuIdle::idle, MigrationType::load, 600), "B");
    TwoCpus number;
    number.tasks({700, 300, 400, 1000});
    EXPECT_EQ(number.detached(CpuIdle::idle, MigrationType::task, 2), "AB");
    TwoCpus all;
    all.tasks({700, 300, 400});
    all.rq(1).curr = nullptr;
    all.s.tasks.back().on_cpu = false;
    EXPECT_EQ(all.detached(CpuIdle::idle, MigrationType::task, 10), "AB");
}

// LB-71, LB-72, LB-73, LB-74, LB-76: why a task stays. B is the running one.
TEST(BalancePass, Refusals) {
    const auto outcome = [](auto change, MigrationType type = MigrationType::task, u32 failed = 0) {
        TwoCpus t;
        t.tasks({500, 600});
        t.sd.nr_balance_failed = failed;
        Task &p = t.s.tasks.front();
        change(t, p);
        LbEnv env{.s = t.s, .sd = t.sd, .dst_cpu = CpuId{0}, .idle = CpuIdle::idle, .mover = by_counters};
        env.cpus = t.sd.span;
        env.src_cpu = CpuId{1};
        env.migration_type = type;
        return can_migrate_task(env, p);
    };
    EXPECT_EQ(outcome([](TwoCpus &, Task &) {}), DetachOutcome::moved);
    const auto delayed = [](TwoCpus &, Task &p) { p.se.sched_delayed = true; };
    EXPECT_EQ(outcome(delayed), DetachOutcome::delayed);
    EXPECT_EQ(outcome(delayed, MigrationType::load), DetachOutcome::moved);
    EXPECT_EQ(outcome([](TwoCpus &, Task &p) { p.per_cpu_kthread = true; }), DetachOutcome::per_cpu_kthread);
    EXPECT_EQ(outcome([](TwoCpus &, Task &p) { p.cpus_allowed = cpus("1"); }), DetachOutcome::affinity);
    EXPECT_EQ(outcome([](TwoCpus &, Task &p) { p.on_cpu = true; }), DetachOutcome::running);
    const auto ineligible = [](TwoCpus &t, Task &p) {
        t.busy("0");
        t.rq(1).cfs.zero_vruntime = 0;
        t.rq(1).cfs.sum_weight = 1;
        p.se.vruntime = 1;
    };
    EXPECT_EQ(outcome(ineligible), DetachOutcome::ineligible);
    EXPECT_EQ(outcome(ineligible, MigrationType::task, 1), DetachOutcome::moved);
    const auto hot = [](TwoCpus &t, Task &p) {
        t.s.tunables.migration_cost = 500000;
        t.rq(1).clock_task = 1000000;
        p.se.exec_start = 500001;
    };
    EXPECT_EQ(outcome(hot), DetachOutcome::hot);
    EXPECT_EQ(outcome(hot, MigrationType::task, 1), DetachOutcome::hot);
    EXPECT_EQ(outcome(hot, MigrationType::task, 2), DetachOutcome::moved);
    EXPECT_EQ(outcome([&](TwoCpus &t, Task &p) { hot(t, p), p.policy = Policy::idle; }), DetachOutcome::moved);
    EXPECT_EQ(outcome([&](TwoCpus &t, Task &p) { hot(t, p), t.sd.flags |= SD_SHARE_CPUCAPACITY; }),
              DetachOutcome::moved);
    // LB-75, NUMA-62, NUMA-63.
    const auto numa = [](NodeId preferred, u32 preferred_running) {
        return [=](TwoCpus &t, Task &p) {
            t.sd.flags |= SD_NUMA;
            t.rq(0).sd.node = NodeId{0};
            t.rq(1).sd.node = NodeId{1};
            t.rq(1).nr_preferred_running = preferred_running;
            p.numa_faults = {1, 1};
            p.numa_preferred_nid = preferred;
        };
    };
    EXPECT_EQ(outcome(numa(NodeId{1}, 0)), DetachOutcome::locality);
    EXPECT_EQ(outcome(numa(NodeId{1}, 2)), DetachOutcome::moved);
    EXPECT_EQ(outcome(numa(NodeId{0}, 0)), DetachOutcome::moved);
}

// LB-43: an idle CPU that finds nothing doubles its interval up to the maximum, pinned tasks raise it further.
TEST(BalancePass, BackOff) {
    const auto intervals = [](u32 start, bool pinned) {
        std::vector<u32> seen;
        TwoCpus t;
        t.sd.balance_interval = t.sd.min_interval = start;
        t.sd.max_interval = 2 * start;
        if (pinned) {
            t.tasks({500, 600});
            for (Task &p : t.s.tasks)
                p.cpus_allowed = cpus("1");
        }
        for (int i = 0; i < 4; i++) {
            bool go_on = true;
            balance_pass(t.s, CpuId{0}, t.sd, CpuIdle::idle, &go_on, by_counters);
            seen.push_back(t.sd.balance_interval);
        }
        return seen;
    };
    EXPECT_EQ(intervals(64, false), (std::vector<u32>{128, 128, 128, 128}));
    EXPECT_EQ(intervals(64, true), (std::vector<u32>{128, 256, 512, 512}));
    EXPECT_EQ(intervals(96, true), (std::vector<u32>{192, 384, 768, 768}));
}

// LB-40, LB-41 (a), LB-42, LB-77, LB-81, LB-82: a real queue; the pass pulls the waiting task, the push the running
// one.
TEST(BalancePass, PullAndPush) {
    TwoCpus t;
    t.rq(0).sd.base = t.rq(1).sd.base = &t.sd;
    Scheduler &s = t.s;
    const auto start = [&s](int cpu) -> Task & {
        TaskInit init;
        init.cpus_allowed = cpus("0-1");
        Task &p = sched_fork(s, init, nullptr, CpuId{cpu});
        set_task_cpu(s, p, CpuId{cpu});
        p.on_rq = OnRq::no;
        Rq &rq = s.rq(CpuId{cpu});
        activate_task(s, rq, p, ENQUEUE_INITIAL);
        p.state = TaskState::running;
        return p;
    };
    s.now = 10 * ns_per_ms;
    start(1);
    start(1);
    Task *running = schedule(s, CpuId{1});
    ASSERT_NE(running, nullptr);
    s.now += 10 * ns_per_ms; // both are cold and the clock is past the first period
    BalanceTrace trace;
    s.balance_trace = &trace;
    DecisionLog log;
    s.decisions = &log;
    bool go_on = true;
    t.sd.nr_balance_failed = 1;
    EXPECT_EQ(sched_balance_rq(s, CpuId{0}, t.sd, CpuIdle::idle, &go_on), 1);
    EXPECT_EQ(t.sd.nr_balance_failed, 0U);
    EXPECT_EQ(t.rq(0).nr_running, 1U);
    EXPECT_EQ(t.rq(1).nr_running, 1U);
    ASSERT_EQ(trace.passes.size(), 1U);
    EXPECT_EQ(trace.passes[0].rounds.at(0).detach.at(0).detached, 1);
    std::string kinds;
    for (const Decision &d : log)
        kinds += d.kind == DecisionKind::turn      ? 't'
                 : d.kind == DecisionKind::busiest ? 'b'
                 : d.kind == DecisionKind::pull    ? 'p'
                                                   : '.';
    EXPECT_EQ(kinds.substr(0, 3), "tbp");

    // The pulled task leaves again; CPU 1's own one is pushed to the idle CPU 0.
    Task &pulled = *t.rq(0).tasks_head;
    ASSERT_EQ(schedule(s, CpuId{0}), &pulled);
    schedule(s, CpuId{0}, TaskState::sleeping);
    ASSERT_EQ(t.rq(0).nr_running, 0U);
    t.rq(1).active_balance = true;
    t.rq(1).push_cpu = CpuId{0};
    stopper_queue(s, CpuId{1});
    EXPECT_EQ(schedule(s, CpuId{1}), nullptr);
    active_load_balance_cpu_stop(s, CpuId{1});
    stopper_done(s, CpuId{1});
    EXPECT_FALSE(t.rq(1).active_balance);
    EXPECT_EQ(running->cpu, CpuId{0});
    EXPECT_EQ(schedule(s, CpuId{0}), running);
    EXPECT_EQ(schedule(s, CpuId{1}), nullptr);
    active_load_balance_cpu_stop(s, CpuId{1}); // no mark: nothing happens
    EXPECT_EQ(trace.pushes.size(), 1U);
}

// LB-41 (c), (d): a pinned task goes to another CPU of the group; what cannot is noted in the parent.
TEST(BalancePass, OtherDestination) {
    BalanceWorld w(4, {}, flat());
    w.group("0-1");
    w.group("2-3");
    w.sd.flags = 0;
    Domain parent;
    GroupCapacity sgc;
    SchedGroup group;
    group.sgc = &sgc;
    std::vector<SchedGroup *> list = {&group};
    parent.groups = list;
    w.sd.parent = &parent;
    for (int i = 0; i < 4; i++) {
        Task &p = w.s.tasks.emplace_back();
        p.id = TaskId{i};
        p.se.on_rq = true;
        p.on_rq = OnRq::queued;
        p.cpus_allowed = cpus(i == 0 ? "1-3" : "2-3");
        p.se.avg.util_avg = 300;
        task_list_add(w.rq(2), p);
    }
    w.busy("2", 4);
    w.busy("3");
    w.rq(2).cfs.avg.util_avg = w.rq(3).cfs.avg.util_avg = 1024;
    w.rq(2).curr = &w.s.tasks.back();
    bool go_on = true;
    EXPECT_EQ(balance_pass(w.s, CpuId{0}, w.sd, CpuIdle::idle, &go_on, by_counters), 1);
    EXPECT_EQ(w.s.tasks[0].cpu, CpuId{1});
    EXPECT_TRUE(sgc.imbalance);
}

} // namespace
} // namespace fairground::fair::test
