// SPDX-License-Identifier: GPL-2.0-only
//
// The event loop, and what a CPU does outside of interrupts: run programs, switch, idle.
#include "kernel/kernel.h"

#include "base/error.h"
#include "fair/load_balance.h"
#include "fair/nohz.h"
#include "kernel/mutex.h"

#include <algorithm>

namespace fairground::kernel {

namespace {

CpuMask checked_online(const Machine &machine) {
    CpuMask online = machine.online();
    if (online.empty())
        throw InputError("machine '" + machine.name + "' has no online CPU to simulate");
    return online;
}

fair::Tunables scaled(fair::Tunables tunables, int online_cpus) {
    if (tunables.base_slice == fair::Tunables{}.base_slice)
        fair::update_sched_scaling(tunables, online_cpus);
    return tunables;
}

} // namespace

fair::Features default_features(const Machine &machine) {
    fair::Features features;
    if (machine.arch == Arch::arm64)
        features.set(fair::Feature::HRTICK, false);
    return features;
}

Kernel::Kernel(const Machine &machine, const fair::Features &features, const fair::Tunables &tunables, u64 seed)
    : machine_(machine), seed_(seed), online_(checked_online(machine_)),
      scheduler_(fair::build_domains(machine_), online_, features, scaled(tunables, online_.weight())),
      distances_(machine_), queue_(machine_.cpus.size()), cpus_(machine_.cpus.size()),
      next_jiffy_(tunables.tick_nsec()) {
    scheduler_.balance_clock = {read_balance_clock, this};
    scheduler_.max_load_balance_interval =
        u64{scheduler_.tunables.hz} * static_cast<u64>(machine_.interval_cpus()) / 10; // LB-9
    for (std::size_t i = 0; i < cpus_.size(); i++) {
        cpus_[i].id = CpuId{static_cast<s64>(i)};
        scheduler_.random[i] = random("newidle", i); // LB-19
    }
    // All CPUs are idle; once all are known to be, each stops its tick.
    for (const CpuId id : online_)
        cpu(id).mode = Mode::idle;
    for (const CpuId id : online_) {
        this_ = &cpu(id);
        fair::update_idle_core(scheduler_, rq(*this_));
        enter_idle(*this_);
    }
}

Kernel::~Kernel() = default;

void Kernel::run_until(Time end) {
    while (!queue_.empty() && queue_.first().time <= end) {
        const Event event = queue_.begin();
        scheduler_.now = event.time;
        update_jiffies();
        counters_.events++;
        mix(event.time ^ static_cast<u64>(event.kind()) << 60 ^ static_cast<u64>(event.cpu) << 44);
        handle(event);
        queue_.end();
    }
    scheduler_.now = std::max(scheduler_.now, end);
    update_jiffies();
}

void Kernel::update_jiffies() {
    if (scheduler_.now < next_jiffy_) [[likely]]
        return;
    const u64 tick = scheduler_.tunables.tick_nsec();
    scheduler_.jiffies = scheduler_.now / tick;
    next_jiffy_ = (scheduler_.jiffies + 1) * tick;
}

Account Kernel::account(TaskId id) const {
    Thread copy;
    const Thread &thread = this->thread(id);
    copy.account = thread.account;
    copy.phase = thread.phase;
    copy.phase_since = thread.phase_since;
    if (thread.phase != Phase::dead)
        copy.enter(thread.phase, now());
    return copy.account;
}

// Time on a CPU ------------------------------------------------------------------------------------------------

// Brings the work in flight up to now.
void Kernel::settle(CpuState &c) {
    if (now() <= c.progress_from)
        return;
    const u64 passed = now() - c.progress_from;
    if (c.mode == Mode::task && c.thread->request != Request::spin)
        c.thread->remaining -= std::min(passed, c.thread->remaining);
    else if (c.mode == Mode::stopper)
        c.stopper_ns -= std::min(passed, c.stopper_ns);
    c.progress_from = now();
}

// Overhead: the CPU's own work goes on `ns` later.
void Kernel::charge(CpuState &c, u64 ns) {
    settle(c);
    c.progress_from = std::max(c.progress_from, now()) + ns;
}

void Kernel::arm_work(CpuState &c) {
    Time end = c.progress_from;
    if (c.mode == Mode::task && !c.recheck) {
        if (c.thread->request == Request::spin)
            return queue_.cancel(EventKind::work, c.id);
        end += c.thread->remaining;
    } else if (c.mode == Mode::stopper) {
        end += c.stopper_ns;
    }
    queue_.arm(EventKind::work, c.id, std::max(end, now()));
}

void Kernel::on_work(CpuState &c) {
    if (c.mode == Mode::waking)
        return idle_loop(c);
    settle(c);
    if (c.mode == Mode::stopper) {
        if (c.push_pending) {
            c.push_pending = false;
            counters_.pushes++;
            fair::active_load_balance_cpu_stop(scheduler_, c.id);
            apply_effects();
        }
        fair::stopper_done(scheduler_, c.id);
        return reschedule(c, fair::TaskState::running);
    }
    if (c.recheck) {
        c.recheck = false;
        if (should_resched(c))
            return reschedule(c, fair::TaskState::running);
    }
    if (c.thread->remaining == 0)
        step(c);
    else
        arm_work(c);
}

// Lazy requests wait for the return to user mode (EEVDF-102); full ones act in the kernel as well (EEVDF-101).
bool Kernel::should_resched(const CpuState &c) {
    const fair::Rq &queue = rq(c);
    return queue.need_resched || (queue.need_resched_lazy && c.thread->user_mode);
}

// The request of the running task is due: carry it out and go on until the task needs time.
void Kernel::step(CpuState &c) {
    constexpr int limit = 1000000; // steps at one instant
    in_task_ = true;
    Thread &t = *c.thread;
    for (int steps = 0; steps < limit; steps++) {
        switch (t.request) {
        case Request::user:
        case Request::kernel:
            resume(c);
            break;
        case Request::user_return:
            t.user_mode = true;
            t.request = Request::user;
            break;
        case Request::block:
            t.request = Request::kernel;
            return reschedule(c, fair::TaskState::sleeping);
        case Request::yield:
            t.request = Request::kernel;
            fair::yield_task_fair(scheduler_, rq(c));
            return reschedule(c, fair::TaskState::running);
        case Request::exit:
            return reschedule(c, fair::TaskState::dead);
        case Request::spin:
            break;
        }
        const bool in_overhead = now() < c.progress_from;
        if (should_resched(c)) {
            if (!in_overhead)
                return reschedule(c, fair::TaskState::running);
            c.recheck = true;
        }
        const bool takes_time = t.request == Request::spin || t.remaining > 0;
        if (in_overhead || takes_time)
            return arm_work(c);
    }
    throw InputError("task '" + t.name + "' makes no progress: a million steps without using time");
}

void Kernel::resume(CpuState &c) {
    Thread &t = *c.thread;
    t.leaf.resume();
    apply_effects();
}

// Switching ----------------------------------------------------------------------------------------------------

// The scheduling step of a CPU. `state`: what its task does (running: it is preempted or yields).
void Kernel::reschedule(CpuState &c, fair::TaskState state) {
    this_ = &c;
    settle(c);
    c.recheck = false;
    Thread *prev = c.mode == Mode::task ? c.thread : nullptr;
    const Mode before = c.mode;
    if (prev != nullptr && state == fair::TaskState::running && prev->request == Request::spin) {
        // A spinner that must reschedule stays in the lock's queue and sleeps.
        prev->request = Request::kernel;
        prev->remaining = 0;
        counters_.lock_sleeps++;
        state = fair::TaskState::sleeping;
    }
    if (before == Mode::waking) {
        rq(c).exit_latency = -1;
        ticking_.set(c.id);
        if (!queue_.armed(EventKind::jiffy, 0))
            queue_.arm(EventKind::jiffy, 0, next_jiffy_);
    }
    fair::Task *next = fair::schedule(scheduler_, c.id, state);
    const u64 balance_ns = std::exchange(balance_ns_, 0);
    if (prev != nullptr && (next == nullptr || next != prev->task)) {
        prev->last_cpu = c.id;
        prev->enter(state == fair::TaskState::running ? Phase::waiting
                    : state == fair::TaskState::dead  ? Phase::dead
                                                      : Phase::sleeping,
                    now());
        if (prev->holds != nullptr)
            stop_spinners(*prev);
    }
    charge(c, balance_ns);
    apply_effects();
    switch_to(c, next, prev);
    if (prev != nullptr && state == fair::TaskState::dead) {
        prev->program = Program{};
        prev->leaf = {};
    }
    apply_effects();
}

void Kernel::switch_to(CpuState &c, fair::Task *next, Thread *prev) {
    const Mode before = c.mode;
    if (next != nullptr && prev != nullptr && next == prev->task)
        return arm_work(c);
    Thread *thread = next == nullptr ? nullptr : &threads_[static_cast<u32>(next->id.value)];
    mix(static_cast<u64>(c.id.value) << 32 | static_cast<u64>(next == nullptr ? 0 : next->id.value + 1));
    c.thread = thread;
    const bool stopper = next == nullptr && rq(c).current_class == fair::SchedClass::higher;
    if (thread == nullptr && !stopper) {
        if (before != Mode::waking) {
            counters_.switches++;
            charge(c, machine_.costs.context_switch_ns);
        }
        return enter_idle(c);
    }
    counters_.switches++;
    c.mode = stopper ? Mode::stopper : Mode::task;
    c.progress_from = std::max(c.progress_from, now()) + machine_.costs.context_switch_ns;
    if (stopper) {
        c.stopper_ns = machine_.costs.migration_ns;
    } else {
        thread->enter(Phase::running, now());
        if (thread->last_cpu != c.id) {
            if (thread->last_cpu.valid()) {
                const CpuId from = thread->last_cpu;
                counters_.migrations[static_cast<std::size_t>(distances_.nearness(from, c.id))]++;
                c.progress_from += machine_.costs.migration_ns + distances_.refill_ns(from, c.id, thread->footprint);
            }
            thread->last_cpu = c.id;
        }
    }
    arm_work(c);
}

u64 Kernel::read_balance_clock(void *context, const fair::Scheduler &s, CpuId, const fair::Domain *passed) {
    auto &kernel = *static_cast<Kernel *>(context);
    if (passed != nullptr) {
        const Costs &costs = kernel.machine_.costs;
        kernel.balance_ns_ += costs.balance_pass_ns + costs.balance_per_cpu_ns * static_cast<u64>(passed->span_weight);
        kernel.counters_.balance_passes++;
    }
    return s.now + kernel.balance_ns_;
}

// Idle ---------------------------------------------------------------------------------------------------------

// The CPU's idle thread runs from progress_from on: choose a state, perhaps stop the tick.
void Kernel::enter_idle(CpuState &c) {
    c.mode = Mode::idle;
    c.thread = nullptr;
    queue_.cancel(EventKind::work, c.id);
    fair::Rq &queue = rq(c);
    fair::nohz_run_idle_balance(scheduler_, queue); // LB-35
    c.progress_from = std::max(c.progress_from, now());

    const u64 tick = scheduler_.tunables.tick_nsec();
    const u64 timer = c.timers.empty() ? ~u64{0} : c.timers.first().hard > now() ? c.timers.first().hard - now() : 0;
    const u64 predicted = c.governor.predict(timer);
    // SYNC-21: a timer within a tick keeps the tick, and so does a governor that expects less than one, unless the
    // tick itself has just shown that it expects too little. Without a choice of states the first pass keeps it.
    const bool choice = machine_.costs.idle_states.size() > 1;
    const bool keep_tick =
        ticking_.test(c.id) && (timer < tick || (!c.tick_woke && (choice ? predicted < tick : true)));
    if (!keep_tick) {
        if (ticking_.test(c.id) || now() == 0)
            fair::nohz_balance_enter_idle(scheduler_, queue); // LB-24
        ticking_.clear(c.id);
    }
    const u64 until_tick = keep_tick ? next_jiffy_ - now() : ~u64{0};
    const int state = choose_idle_state(machine_.costs.idle_states, std::min(predicted, until_tick));
    c.tick_woke = false;
    c.exit_latency = state < 0 ? 0 : machine_.costs.idle_states[static_cast<u32>(state)].exit_latency_ns;
    queue.exit_latency = state < 0 ? -1 : static_cast<s64>(c.exit_latency);
    if (queue.need_resched) {
        // Somebody was faster: leave as soon as the way into idle is over.
        c.mode = Mode::waking;
        arm_work(c);
    }
}

// The interrupts that woke the CPU are handled.
void Kernel::idle_loop(CpuState &c) {
    this_ = &c;
    if (rq(c).need_resched)
        return reschedule(c, fair::TaskState::running);
    enter_idle(c);
}

// Tasks --------------------------------------------------------------------------------------------------------

Thread &Kernel::make_thread(const TaskSpec &spec, Program program, const fair::Task *parent, CpuId cpu) {
    fair::TaskInit init;
    init.policy = spec.policy;
    init.nice = spec.nice;
    init.slice = spec.slice;
    init.cpus_allowed = spec.cpus.empty() ? online_ : spec.cpus & online_;
    if (init.cpus_allowed.empty())
        throw InputError("task '" + spec.name + "' may run on CPUs " + to_list(spec.cpus) +
                         " only, of which none is online (online: " + to_list(online_) + ")");
    init.kthread = spec.kthread;
    init.group = spec.group;
    fair::Task &task = fair::sched_fork(scheduler_, init, parent, cpu);
    Thread &thread = threads_.emplace_back();
    thread.kernel = this;
    thread.task = &task;
    thread.id = task.id;
    thread.name = spec.name;
    thread.footprint = spec.footprint;
    thread.timer_slack = spec.timer_slack;
    thread.program = std::move(program);
    thread.program.handle().promise().thread = &thread;
    thread.leaf = thread.program.handle();
    thread.born = thread.phase_since = now();
    counters_.forks++;
    return thread;
}

void Kernel::start_thread(Thread &thread) {
    fair::Task *waker = this_->mode == Mode::task ? this_->thread->task : nullptr;
    fair::wake_up_new_task(scheduler_, *thread.task,
                           {.cpu = this_->id, .current = waker, .in_task = true, .boot_idle = false});
    mix(static_cast<u64>(thread.id.value) << 32 | static_cast<u64>(thread.task->cpu.value));
}

TaskId Kernel::spawn(const TaskSpec &spec, Program program, CpuId cpu_id) {
    if (!online_.test(cpu_id))
        throw InputError("task '" + spec.name + "' cannot start on CPU " + std::to_string(cpu_id.value) +
                         ", which is not online (online: " + to_list(online_) + ")");
    this_ = &cpu(cpu_id);
    Thread &thread = make_thread(spec, std::move(program), nullptr, cpu_id);
    start_thread(thread);
    // The shell that started it is not modelled: a request to its own idle CPU reaches it like a remote one.
    if (rq(*this_).need_resched && this_->mode == Mode::idle)
        send(EventKind::resched, cpu_id, now());
    apply_effects();
    return thread.id;
}

TaskId Kernel::fork_current(const TaskSpec &spec, Program program) {
    Thread &thread = make_thread(spec, std::move(program), current().task, this_->id);
    start_thread(thread);
    charge(*this_, machine_.costs.wakeup_remote_ns);
    apply_effects();
    return thread.id;
}

bool Kernel::wake_up_process(Thread &thread, u32 flags) {
    CpuState &c = *this_;
    const fair::Task *current = c.mode == Mode::task ? c.thread->task : nullptr;
    const auto record = [&](CpuId to, fair::WakeResult result) {
        if (wakes != nullptr) [[unlikely]]
            wakes->push_back(
                {now(), current == nullptr ? TaskId{} : current->id, thread.id, flags, in_task_, c.id, to, result});
    };
    if (thread.request == Request::block && thread.phase != Phase::sleeping) {
        // It has decided to sleep and not got there yet: it finds itself running again (WAKE-21, -22).
        thread.request = Request::kernel;
        record(thread.task->cpu, fair::WakeResult::running);
        return true;
    }
    const fair::Wake wake = fair::try_to_wake_up(
        scheduler_, *thread.task, flags,
        {.cpu = c.id, .current = current, .in_task = in_task_, .boot_idle = c.id == online_.first()});
    if (wake.result == fair::WakeResult::no)
        return false;
    counters_.wakeups++;
    record(wake.cpu, wake.result);
    mix(static_cast<u64>(thread.id.value) << 32 | static_cast<u64>(wake.cpu.value));
    if (thread.phase == Phase::sleeping)
        thread.enter(Phase::waiting, now());
    charge(c, wake.cpu == c.id ? machine_.costs.wakeup_local_ns : machine_.costs.wakeup_remote_ns);
    if (wake.result == fair::WakeResult::queued && wake.first)
        send(EventKind::call, wake.cpu, c.progress_from); // WAKE-29
    apply_effects();
    return true;
}

int Kernel::wake_up(WaitQueue &queue, u32 flags, int exclusive) {
    int woken = 0;
    for (Thread *thread = queue.head; thread != nullptr && exclusive > 0;) {
        Thread *next = thread->queue_next;
        const bool was_exclusive = thread->exclusive;
        queue.remove(*thread);
        if (wake_up_process(*thread, flags)) {
            woken++;
            exclusive -= was_exclusive ? 1 : 0;
        }
        thread = next;
    }
    return woken;
}

// Spinning (mutex.h) -------------------------------------------------------------------------------------------

void Kernel::release_spinner(Thread &thread, u64 ns) {
    CpuState &c = cpu(thread.task->cpu);
    thread.request = Request::kernel;
    thread.remaining = ns;
    c.progress_from = std::max(c.progress_from, now());
    arm_work(c);
}

// The owner of a lock left its CPU: whoever spins for it goes to sleep (mutex_spin_on_owner).
void Kernel::stop_spinners(Thread &owner) {
    for (Thread *waiter = owner.holds->waiters.head; waiter != nullptr; waiter = waiter->queue_next) {
        if (waiter->request != Request::spin || waiter->phase != Phase::running)
            continue;
        CpuState &c = cpu(waiter->task->cpu);
        waiter->request = Request::block;
        waiter->remaining = 0;
        counters_.lock_sleeps++;
        c.progress_from = std::max(c.progress_from, now());
        arm_work(c);
    }
}

} // namespace fairground::kernel
