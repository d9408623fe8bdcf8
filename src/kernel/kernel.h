// SPDX-License-Identifier: GPL-2.0-only
//
// Kernel: one simulated machine with its kernel around libfair. One object per run; a run is a function of
// (machine, features, tunables, workloads, seed).
//
//     Kernel kernel(machine, default_features(machine), {}, seed);
//     workload->start(kernel);
//     kernel.run_until(10 * ns_per_s);
//
// It owns simulated time and everything that libfair leaves to its driver: CPUs with idle states, ticks, interrupts
// and their latency, softirqs, stoppers, timers, and the work of the tasks (program.h).
//
// Time model. State changes at one instant; what it costs comes after: a CPU's `progress_from` is when its present
// task goes on, and every overhead (interrupt, wake-up path, switch, balancing) moves it on. So the clock of the
// scheduler sees overhead as run time of the task it delays, as a kernel without interrupt accounting does.
//
// All CPUs tick at the same instants k * TICK_NSEC, in CPU order; jiffies = now / TICK_NSEC. CPUs start idle with
// their ticks stopped.
#pragma once

#include "base/random.h"
#include "fair/core.h"
#include "fair/scheduler.h"
#include "kernel/distance.h"
#include "kernel/event_queue.h"
#include "kernel/idle.h"
#include "kernel/thread.h"
#include "kernel/timer_heap.h"
#include "kernel/wait_queue.h"
#include "machine/machine.h"

#include <deque>
#include <string_view>
#include <vector>

namespace fairground::kernel {

struct Counters {
    u64 events = 0;
    u64 switches = 0; // changes of the running thread, idle threads included
    u64 wakeups = 0;  // of sleeping tasks
    u64 forks = 0;
    std::array<u64, nearness_count> migrations{}; // of a task between two turns, by distance
    u64 ticks = 0;
    u64 interrupts = 0; // inter-processor, sent
    u64 balance_passes = 0;
    u64 pushes = 0; // active balance
    u64 lock_sleeps = 0;
};

// One successful wake-up.
struct WakeRecord {
    Time time = 0;
    TaskId waker; // none: an idle thread, or a timer or other interrupt on an idle CPU
    TaskId wakee;
    u32 flags = 0;       // as handed to try_to_wake_up
    bool in_task = true; // false: from an interrupt
    CpuId from;          // where the waker's code ran
    CpuId to;
    fair::WakeResult result{};
};

// Features of v7.3 as built for the machine's architecture: HRTICK is off on arm64 (EEVDF-110).
fair::Features default_features(const Machine &machine);

class Kernel {
  public:
    // `tunables.base_slice` left at its default is scaled to the number of online CPUs (EEVDF-6). Throws InputError
    // if the machine has no online CPU.
    Kernel(const Machine &machine, const fair::Features &features, const fair::Tunables &tunables, u64 seed);
    Kernel(const Kernel &) = delete;
    Kernel &operator=(const Kernel &) = delete;
    ~Kernel();

    // Processes every event up to and including `end`, then sets now() = end.
    void run_until(Time end);

    [[nodiscard]] Time now() const { return scheduler_.now; }
    // Running digest of every event and switch (time, kind, CPU, task): equal digests mean equal runs.
    [[nodiscard]] u64 digest() const { return digest_; }
    [[nodiscard]] const Counters &counters() const { return counters_; }
    [[nodiscard]] u64 seed() const { return seed_; }
    [[nodiscard]] const Machine &machine() const { return machine_; }
    [[nodiscard]] const Distances &distances() const { return distances_; }
    [[nodiscard]] const CpuMask &online() const { return online_; }
    fair::Scheduler &scheduler() { return scheduler_; }
    [[nodiscard]] const fair::Scheduler &scheduler() const { return scheduler_; }
    [[nodiscard]] RandomStream random(std::string_view part, u64 index = 0) const { return {seed_, part, index}; }

    // Records every wake-up while set; null: nobody listens.
    std::vector<WakeRecord> *wakes = nullptr;

    // A task made outside of any program, as from a shell on `cpu`; it is placed like a fork from that CPU.
    TaskId spawn(const TaskSpec &spec, Program program, CpuId cpu);

    [[nodiscard]] std::size_t thread_count() const { return threads_.size(); }
    [[nodiscard]] const Thread &thread(TaskId id) const { return threads_[static_cast<u32>(id.value)]; }
    // The accounts up to now.
    [[nodiscard]] Account account(TaskId id) const;
    // CPU where the task runs, or ran or was placed last.
    [[nodiscard]] CpuId cpu_of(TaskId id) const { return thread(id).task->cpu; }

    // For Calls: the task and the CPU whose code is executing.
    [[nodiscard]] Thread &current() { return *this_->thread; }
    [[nodiscard]] CpuId this_cpu() const { return this_->id; }
    FramePool &frames() { return frames_; }
    [[nodiscard]] const Costs &costs() const { return machine_.costs; }

    // A pass over a wait queue (WAKER-11): all non-exclusive waiters met and `exclusive` exclusive ones are woken and
    // leave the queue. `flags`: fair::WF_SYNC or 0. Takes the waker's time. Returns the number woken.
    int wake_up(WaitQueue &queue, u32 flags, int exclusive = 1);
    bool wake_up_process(Thread &thread, u32 flags);
    // Arms the current task's sleep timer for [now + ns, now + ns + slack].
    void arm_sleep(u64 ns);
    TaskId fork_current(const TaskSpec &spec, Program program);
    // Ends the wait of a thread that spins: it goes on after `ns`.
    void release_spinner(Thread &thread, u64 ns);

  private:
    enum class Mode : u8 { offline, idle, waking, task, stopper };

    struct CpuState {
        CpuId id;
        Mode mode = Mode::offline;
        bool recheck = false;  // look at the resched flags when progress_from is reached
        bool deferred = false; // the interrupt being handled came before progress_from
        bool softirq = false;
        bool kicked = false;       // the softirq is due to a NOHZ kick
        bool push_pending = false; // stopper work: active balance
        bool tick_woke = false;    // the last idle period was ended by the tick
        Thread *thread = nullptr;
        Time progress_from = 0; // task, stopper: work goes on; waking: awake; idle: asleep
        u64 exit_latency = 0;   // of the present idle state
        u64 stopper_ns = 0;     // left of the stopper's work
        TimerHeap timers;
        IdleGovernor governor;
    };

    CpuState &cpu(CpuId id) { return cpus_[static_cast<u32>(id.value)]; }
    fair::Rq &rq(const CpuState &c) { return scheduler_.rqs[static_cast<u32>(c.id.value)]; }

    void handle(const Event &event);
    void update_jiffies();
    void mix(u64 value) { digest_ = (digest_ ^ value) * 0x9e3779b97f4a7c15 ^ digest_ >> 29; }

    // Time on a CPU.
    void settle(CpuState &c);
    void charge(CpuState &c, u64 ns);
    void arm_work(CpuState &c);

    // Interrupts (interrupt.cpp).
    bool enter_interrupt(CpuState &c, EventKind kind);
    void exit_interrupt(CpuState &c);
    void on_jiffy();
    void do_tick(CpuState &c);
    void expire_timers(CpuState &c);
    void arm_timer(CpuState &c);
    void run_softirq(CpuState &c);
    void send(EventKind kind, CpuId to, Time depart);
    void apply_effects();

    // Running (kernel.cpp).
    void on_work(CpuState &c);
    void step(CpuState &c);
    void resume(CpuState &c);
    bool should_resched(const CpuState &c);
    void reschedule(CpuState &c, fair::TaskState state);
    void switch_to(CpuState &c, fair::Task *next, Thread *prev);
    void enter_idle(CpuState &c);
    void idle_loop(CpuState &c);
    void stop_spinners(Thread &owner);
    Thread &make_thread(const TaskSpec &spec, Program program, const fair::Task *parent, CpuId cpu);
    void start_thread(Thread &thread);
    static u64 read_balance_clock(void *context, const fair::Scheduler &s, CpuId cpu, const fair::Domain *passed);

    Machine machine_;
    u64 seed_;
    CpuMask online_;
    FramePool frames_; // before everything that holds coroutines
    fair::Scheduler scheduler_;
    Distances distances_;
    EventQueue queue_;
    std::vector<CpuState> cpus_;
    std::deque<Thread> threads_; // by TaskId
    CpuMask ticking_;
    Time next_jiffy_;
    u64 balance_ns_ = 0; // newly-idle balancing inside the present schedule()
    CpuState *this_ = nullptr;
    bool in_task_ = false;
    u64 digest_ = 0;
    Counters counters_;
};

Call<> nanosleep(Kernel &kernel, u64 ns);
Call<> sched_yield(Kernel &kernel);
Call<TaskId> fork(Kernel &kernel, const TaskSpec &spec, Program program);
Call<TaskId> fork(Kernel &kernel, TaskSpec &&spec, Program program) = delete; // see program.h: name it first

inline Call<>::System Program::promise_type::await_transform(Sleep s) {
    return {nanosleep(*thread->kernel, s.ns), thread};
}
inline Call<>::System Program::promise_type::await_transform(Yield) { return {sched_yield(*thread->kernel), thread}; }

} // namespace fairground::kernel
