// SPDX-License-Identifier: GPL-2.0-only
#include "base/error.h"
#include "kernel/machines.h"
#include "kernel/pipe.h"
#include "workload/workload.h"

#include <gtest/gtest.h>

namespace fairground::kernel {
namespace {

constexpr u64 ms = ns_per_ms;

CpuMask only(int cpu) { return CpuMask::of(CpuId{cpu}); }

Machine without_idle_states(Machine machine) {
    machine.costs.idle_states.clear();
    return machine;
}

Program computes(Kernel &, u64 ns) { co_await run(ns); }

Program sleeps(Kernel &kernel, u64 ns, Time &before, Time &after) {
    co_await run(1000);
    before = kernel.now();
    co_await sleep(ns);
    after = kernel.now();
}

Call<> wait_on(Kernel &kernel, WaitQueue &queue) {
    queue.add(kernel.current(), true);
    co_await block();
}
Call<> wake_one(Kernel &kernel, WaitQueue &queue, Time &when) {
    when = kernel.now();
    kernel.wake_up(queue, 0);
    co_return;
}
Program waits(Kernel &kernel, WaitQueue &queue, Time &resumed) {
    co_await wait_on(kernel, queue);
    resumed = kernel.now();
    co_await run(1000);
}
Program wakes(Kernel &kernel, WaitQueue &queue, u64 after, Time &when) {
    co_await run(after);
    co_await wake_one(kernel, queue, when);
}

struct Mix {
    explicit Mix(u64 seed) : kernel(machine(), default_features(machine()), {}, seed) {
        for (const char *kind : {"bw_pipe", "hog", "periodic", "noise"}) {
            Options options;
            options.where = "test";
            if (std::string_view(kind) == "hog" || std::string_view(kind) == "periodic")
                options.values["tasks"] = s64{6};
            parts.push_back(make_workload(kind, options));
            parts.back()->start(kernel);
        }
    }
    static Machine machine() { return grid(2, 2, 2); }

    std::vector<std::unique_ptr<Workload>> parts; // outlives the kernel
    Kernel kernel;
};

TEST(Kernel, ATaskAloneKeepsItsCpu) {
    const Machine machine = grid(1, 8);
    Kernel kernel(machine, default_features(machine), {}, 1);
    const TaskId task = kernel.spawn({.name = "hog"}, computes(kernel, ns_per_s), CpuId{3});
    kernel.run_until(500 * ms);
    EXPECT_GT(kernel.account(task).run, 499 * ms);
    EXPECT_EQ(kernel.counters().switches, 1U);
    for (const u64 moved : kernel.counters().migrations)
        EXPECT_EQ(moved, 0U);
}

TEST(Kernel, WorkTakesItsTimePlusTheOverheadThatWasCharged) {
    const Machine machine = without_idle_states(grid(1, 1));
    Kernel kernel(machine, default_features(machine), {}, 1);
    const TaskId task = kernel.spawn({.name = "work"}, computes(kernel, 10 * ms), CpuId{0});
    kernel.run_until(100 * ms);
    // Self-interrupt 100 ns, switch 1000 ns, then ten ticks of 1000 ns; the work ends within the eleventh ms.
    EXPECT_EQ(kernel.thread(task).phase, Phase::dead);
    EXPECT_EQ(kernel.account(task).wait, 100U);
    EXPECT_EQ(kernel.account(task).run, 10 * ms + 1000 + 10 * 1000);
}

TEST(Kernel, TwoHogsShareACpuByWeight) {
    const Machine machine = grid(1, 2);
    Kernel kernel(machine, default_features(machine), {}, 1);
    const TaskId a = kernel.spawn({.name = "a", .nice = 0, .cpus = only(0)}, computes(kernel, 10 * ns_per_s), CpuId{0});
    const TaskId b = kernel.spawn({.name = "b", .nice = 5, .cpus = only(0)}, computes(kernel, 10 * ns_per_s), CpuId{0});
    kernel.run_until(4 * ns_per_s);
    const double share = static_cast<double>(kernel.account(a).run) / static_cast<double>(4 * ns_per_s);
    EXPECT_NEAR(share, 1024.0 / (1024 + 335), 0.01);
    EXPECT_GT(kernel.account(b).wait, kernel.account(b).run);
}

TEST(Kernel, TimeOfEveryTaskAddsUp) {
    Mix mix(1);
    for (int i = 0; i < 40; i++) {
        mix.kernel.run_until(mix.kernel.now() + 7777777);
        for (s32 id = 0; id < static_cast<s32>(mix.kernel.thread_count()); id++) {
            const Account account = mix.kernel.account(TaskId{id});
            ASSERT_EQ(account.run + account.wait + account.sleep, mix.kernel.now() - mix.kernel.thread(TaskId{id}).born)
                << mix.kernel.thread(TaskId{id}).name;
        }
    }
    // No CPU gave out more time than there was.
    u64 run = 0;
    for (s32 id = 0; id < static_cast<s32>(mix.kernel.thread_count()); id++)
        run += mix.kernel.account(TaskId{id}).run;
    EXPECT_LE(run, mix.kernel.now() * 8);
    EXPECT_GT(run, mix.kernel.now() * 6);
}

TEST(Kernel, TheSchedulerAndTheAccountsAgreeOnWhoRuns) {
    Mix mix(3);
    for (int i = 0; i < 200; i++) {
        mix.kernel.run_until(mix.kernel.now() + 1234567);
        std::size_t running = 0;
        for (s32 id = 0; id < static_cast<s32>(mix.kernel.thread_count()); id++) {
            const Thread &thread = mix.kernel.thread(TaskId{id});
            const fair::Rq &rq = mix.kernel.scheduler().rq(thread.task->cpu);
            ASSERT_EQ(thread.phase == Phase::running, rq.curr == thread.task) << thread.name;
            running += thread.phase == Phase::running;
        }
        ASSERT_LE(running, 8U);
    }
}

TEST(Kernel, SameSeedSameEvents) {
    Mix one(5);
    Mix two(5);
    Mix other(6);
    one.kernel.run_until(300 * ms);
    two.kernel.run_until(300 * ms);
    other.kernel.run_until(300 * ms);
    EXPECT_EQ(one.kernel.digest(), two.kernel.digest());
    EXPECT_EQ(one.kernel.counters().events, two.kernel.counters().events);
    EXPECT_NE(one.kernel.digest(), other.kernel.digest());
}

TEST(Kernel, StoppingInBetweenChangesNothing) {
    Mix whole(5);
    Mix sliced(5);
    whole.kernel.run_until(100 * ms);
    while (sliced.kernel.now() < 100 * ms)
        sliced.kernel.run_until(std::min(100 * ms, sliced.kernel.now() + 333333));
    EXPECT_EQ(whole.kernel.digest(), sliced.kernel.digest());
}

TEST(Kernel, ListeningChangesNothing) {
    Mix silent(5);
    Mix heard(5);
    std::vector<WakeRecord> wakes;
    fair::DecisionLog decisions;
    heard.kernel.wakes = &wakes;
    heard.kernel.scheduler().decisions = &decisions;
    silent.kernel.run_until(50 * ms);
    heard.kernel.run_until(50 * ms);
    EXPECT_EQ(silent.kernel.digest(), heard.kernel.digest());
    EXPECT_GT(wakes.size(), 100U);
}

// WAKER-62: at the end of the slack, on the CPU where it was armed.
TEST(Kernel, ASleepEndsAfterItsSlack) {
    const Machine machine = without_idle_states(grid(1, 2));
    Kernel kernel(machine, default_features(machine), {}, 1);
    Time before = 0;
    Time after = 0;
    kernel.spawn({.name = "sleeper", .cpus = only(1)}, sleeps(kernel, ms, before, after), CpuId{1});
    kernel.run_until(10 * ms);
    // system call 100, sleep 1 ms + 50 us, then wake-up 500, timer interrupt 1000, switch 1000
    EXPECT_EQ(after - before, 100 + ms + 50000 + 500 + 1000 + 1000);
}

TEST(Kernel, AnInterruptInsideTheSlackEndsTheSleepEarly) {
    const Machine machine = without_idle_states(grid(1, 1));
    Kernel kernel(machine, default_features(machine), {}, 1);
    Time before = 0;
    Time after = 0;
    Time precise_before = 0;
    Time precise_after = 0;
    kernel.spawn({.name = "sleeper"}, sleeps(kernel, ms, before, after), CpuId{0});
    kernel.spawn({.name = "precise", .cpus = {}, .timer_slack = 0},
                 sleeps(kernel, ms + 10000, precise_before, precise_after), CpuId{0});
    kernel.run_until(10 * ms);
    EXPECT_LT(after - before, ms + 50000) << "the other's timer came inside the window";
    EXPECT_GE(after - before, ms);
    EXPECT_GE(precise_after - precise_before, ms + 10000);
}

TEST(Kernel, DeepIdleDelaysTheWakeUp) {
    Machine machine = grid(1, 1);
    Kernel kernel(machine, default_features(machine), {}, 1);
    Time before = 0;
    Time after = 0;
    kernel.spawn({.name = "sleeper"}, sleeps(kernel, 20 * ms, before, after), CpuId{0});
    kernel.run_until(30 * ms);
    // 20 ms to the timer: C6 with its 100 us of exit latency
    EXPECT_EQ(after - before, 100 + 20 * ms + 50000 + 100000 + 500 + 1000 + 1000);
}

// WAKE-28..30, EEVDF-141, WAKER-77: through the wake list of an idle CPU of the same LLC, with an interrupt.
TEST(Kernel, ARemoteWakeUpTakesAnInterrupt) {
    const Machine machine = without_idle_states(grid(1, 2));
    Kernel kernel(machine, default_features(machine), {}, 1);
    WaitQueue queue;
    Time resumed = 0;
    Time woken = 0;
    kernel.spawn({.name = "waiter", .cpus = only(1)}, waits(kernel, queue, resumed), CpuId{1});
    kernel.run_until(5 * ms + 100);
    std::vector<WakeRecord> log;
    kernel.wakes = &log;
    kernel.spawn({.name = "waker", .cpus = only(0)}, wakes(kernel, queue, 20000, woken), CpuId{0});
    kernel.run_until(8 * ms);
    ASSERT_EQ(log.size(), 1U);
    EXPECT_EQ(log[0].result, fair::WakeResult::queued);
    // waker's path 700, interrupt 1000, enqueue on the target 500, switch 1000
    EXPECT_EQ(resumed - woken, 700 + 1000 + 500 + 1000);
}

// EEVDF-102, -103, -141, WAKE-32: a lazy request to a remote CPU sends no interrupt; its user-mode task runs on until
// the tick after the one that turns the request into an immediate one, or that one itself.
TEST(Kernel, ALazyRequestWaitsForTheTick) {
    const Machine machine = without_idle_states(grid(1, 2));
    fair::Features features;
    features.set(fair::Feature::HRTICK, false); // its timer would interrupt the hog earlier
    Kernel kernel(machine, features, {}, 1);
    WaitQueue queue;
    Time resumed = 0;
    Time woken = 0;
    kernel.spawn({.name = "waiter", .cpus = only(1)}, waits(kernel, queue, resumed), CpuId{1});
    kernel.run_until(2 * ms);
    kernel.spawn({.name = "hog", .cpus = only(1)}, computes(kernel, ns_per_s), CpuId{1});
    kernel.run_until(50 * ms + 100);
    kernel.spawn({.name = "waker", .cpus = only(0)}, wakes(kernel, queue, 300000, woken), CpuId{0});
    kernel.run_until(60 * ms);
    ASSERT_GT(woken, 50 * ms);
    ASSERT_LT(woken, 51 * ms);
    EXPECT_EQ(resumed, 51 * ms + 1000 + 1000) << "tick and switch after the boundary";
}

TEST(Kernel, IdleCpusStopTheirTicks) {
    const Machine machine = grid(2, 4);
    Kernel kernel(machine, default_features(machine), {}, 1);
    kernel.run_until(ns_per_s);
    EXPECT_EQ(kernel.counters().events, 0U) << "nothing happens on an idle machine";
    kernel.spawn({.name = "work", .cpus = only(2)}, computes(kernel, 20 * ms), CpuId{2});
    kernel.run_until(2 * ns_per_s);
    EXPECT_GE(kernel.counters().ticks, 20U);
    EXPECT_LE(kernel.counters().ticks, 30U);
    EXPECT_EQ(kernel.scheduler().nohz.idle_cpus.weight(), 8);
    EXPECT_EQ(kernel.scheduler().jiffies, 2000U);
}

// WAKE-190: more tasks than one CPU can run, all started in one place, end up one to a CPU.
TEST(Kernel, HogsSpreadOverAllCpus) {
    const Machine machine = grid(2, 4);
    Kernel kernel(machine, default_features(machine), {}, 1);
    std::vector<TaskId> tasks;
    for (int i = 0; i < 8; i++)
        tasks.push_back(kernel.spawn({.name = "hog"}, computes(kernel, 10 * ns_per_s), CpuId{0}));
    kernel.run_until(2 * ns_per_s);
    CpuMask used;
    for (const TaskId task : tasks) {
        used.set(kernel.cpu_of(task));
        EXPECT_GT(kernel.account(task).run, 1900 * ms);
    }
    EXPECT_EQ(used.weight(), 8);
}

// Eight hogs stacked by affinity, then set free by ending it: idle CPUs must pull them (newly-idle or NOHZ balance).
TEST(Kernel, IdleCpusPullWhatWaits) {
    const Machine machine = grid(1, 4);
    Kernel kernel(machine, default_features(machine), {}, 1);
    std::vector<TaskId> tasks;
    for (int i = 0; i < 3; i++)
        kernel.spawn({.name = "short", .cpus = only(i + 1)}, computes(kernel, 30 * ms), CpuId{i + 1});
    kernel.run_until(ms);
    for (int i = 0; i < 4; i++)
        tasks.push_back(kernel.spawn({.name = "hog"}, computes(kernel, ns_per_s), CpuId{0}));
    kernel.run_until(500 * ms);
    CpuMask used;
    for (const TaskId task : tasks)
        used.set(kernel.cpu_of(task));
    EXPECT_EQ(used.weight(), 4) << "one each once the short tasks are gone";
}

Call<> locked_work(Kernel &kernel, Mutex &mutex, u64 ns) {
    co_await lock(kernel, mutex);
    co_await spend(ns);
    unlock(kernel, mutex);
}
Program locker(Kernel &kernel, Mutex &mutex, u64 ns, int times, int &done) {
    for (int i = 0; i < times; i++) {
        co_await locked_work(kernel, mutex, ns);
        done++;
    }
}

// WAKER-25.
TEST(Mutex, ContendersSpinWhileTheOwnerRuns) {
    const Machine machine = grid(1, 4);
    Kernel kernel(machine, default_features(machine), {}, 1);
    Mutex mutex;
    int done = 0;
    for (int i = 0; i < 4; i++)
        kernel.spawn({.name = "locker", .cpus = only(i)}, locker(kernel, mutex, 5000, 100, done), CpuId{i});
    kernel.run_until(20 * ms);
    EXPECT_EQ(done, 400);
    EXPECT_EQ(kernel.counters().lock_sleeps, 0U);
    EXPECT_EQ(mutex.owner, nullptr);
}

TEST(Mutex, ContendersSleepWhenTheOwnerIsOffItsCpu) {
    const Machine machine = grid(1, 2);
    Kernel kernel(machine, default_features(machine), {}, 1);
    Mutex mutex;
    int done = 0;
    // Three lockers and a hog on one CPU: owners are preempted; a fourth contends from the other CPU.
    for (int i = 0; i < 3; i++)
        kernel.spawn({.name = "locker", .cpus = only(0)}, locker(kernel, mutex, 2 * ms, 20, done), CpuId{0});
    kernel.spawn({.name = "hog", .cpus = only(0)}, computes(kernel, ns_per_s), CpuId{0});
    kernel.spawn({.name = "remote", .cpus = only(1)}, locker(kernel, mutex, 2 * ms, 20, done), CpuId{1});
    kernel.run_until(3 * ns_per_s);
    EXPECT_EQ(done, 80);
    EXPECT_GT(kernel.counters().lock_sleeps, 0U);
    EXPECT_EQ(mutex.waiters.head, nullptr);
}

Call<> locked_sleep(Kernel &kernel, Mutex &mutex, char who, std::string &order) {
    co_await lock(kernel, mutex);
    order += who;
    kernel.arm_sleep(ms);
    co_await block();
    unlock(kernel, mutex);
}
Program sleeping_locker(Kernel &kernel, Mutex &mutex, char who, int times, std::string &order) {
    for (int i = 0; i < times; i++)
        co_await locked_sleep(kernel, mutex, who, order);
}

// The owner sleeps with the lock, so the contender sleeps too. Woken, it is slower than the owner that locks again;
// the second time the lock is handed to it.
TEST(Mutex, ASleeperMayLoseOneRaceAndNoSecond) {
    const Machine machine = grid(1, 2);
    Kernel kernel(machine, default_features(machine), {}, 1);
    Mutex mutex;
    std::string order;
    kernel.spawn({.name = "a", .cpus = only(0)}, sleeping_locker(kernel, mutex, 'a', 4, order), CpuId{0});
    kernel.run_until(500000);
    kernel.spawn({.name = "b", .cpus = only(1)}, sleeping_locker(kernel, mutex, 'b', 1, order), CpuId{1});
    kernel.run_until(20 * ms);
    EXPECT_EQ(order, "aabaa");
    EXPECT_EQ(mutex.owner, nullptr);
}

Program stuck(Kernel &) {
    for (;;)
        co_await run(0);
}

TEST(Kernel, RefusesWhatCannotRun) {
    const Machine machine = grid(1, 2);
    Kernel kernel(machine, default_features(machine), {}, 1);
    EXPECT_THROW(kernel.spawn({.name = "x", .cpus = only(5)}, computes(kernel, 1), CpuId{0}), InputError);
    EXPECT_THROW(kernel.spawn({.name = "x"}, computes(kernel, 1), CpuId{5}), InputError);
    kernel.spawn({.name = "stuck"}, stuck(kernel), CpuId{0});
    EXPECT_THROW(kernel.run_until(ms), InputError);
    Machine off = grid(1, 1);
    off.cpus[0].online = false;
    EXPECT_THROW(Kernel(off, {}, {}, 1), InputError);
}

} // namespace
} // namespace fairground::kernel
