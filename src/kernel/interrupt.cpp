// SPDX-License-Identifier: GPL-2.0-only
//
// Interrupts: ticks, timers, inter-processor interrupts, softirqs, and the effects that libfair asks for.
//
// An interrupt that meets a sleeping CPU first wakes it: the CPU is awake after the exit latency of its idle state,
// and the interrupt is delivered again at that moment. Its handler takes effect at one instant; the time it costs
// delays what the CPU was doing.
#include "fair/load_balance.h"
#include "fair/nohz.h"
#include "kernel/kernel.h"

#include <algorithm>

namespace fairground::kernel {

void Kernel::handle(const Event &event) {
    if (event.kind() == EventKind::jiffy)
        return on_jiffy();
    CpuState &c = cpus_[static_cast<u32>(event.cpu)];
    if (event.kind() == EventKind::work) {
        this_ = &c;
        return on_work(c);
    }
    if (!enter_interrupt(c, event.kind()))
        return;
    switch (event.kind()) {
    case EventKind::timer:
        expire_timers(c);
        charge(c, machine_.costs.tick_ns);
        break;
    case EventKind::tick:
        do_tick(c);
        break;
    case EventKind::hrtick:
        fair::hrtick(scheduler_, c.id);
        charge(c, machine_.costs.tick_ns);
        break;
    case EventKind::call:
        fair::sched_ttwu_pending(scheduler_, c.id); // WAKE-30
        charge(c, machine_.costs.wakeup_local_ns);
        break;
    case EventKind::kick:
        fair::nohz_csd_func(scheduler_, rq(c));
        c.kicked = true;
        break;
    case EventKind::resched: // the flag is set already
    case EventKind::jiffy:
    case EventKind::work:
        break;
    }
    exit_interrupt(c);
}

// False: the CPU is not awake yet, the interrupt comes again when it is.
bool Kernel::enter_interrupt(CpuState &c, EventKind kind) {
    if (c.mode == Mode::idle) {
        // Before progress_from the CPU was still on its way into the idle state: no exit latency.
        const bool asleep = now() >= c.progress_from;
        if (asleep)
            c.governor.record(now() - c.progress_from);
        c.tick_woke = kind == EventKind::tick;
        c.mode = Mode::waking;
        c.progress_from = asleep ? now() + c.exit_latency : c.progress_from;
        rq(c).exit_latency = -1;
        queue_.arm(EventKind::work, c.id, c.progress_from);
    }
    if (c.mode == Mode::waking && now() < c.progress_from) {
        queue_.arm(kind, c.id, c.progress_from);
        return false;
    }
    this_ = &c;
    in_task_ = false;
    c.deferred = now() < c.progress_from;
    settle(c);
    return true;
}

// Softirqs, then the preemption check on the way back (WAKER-77).
void Kernel::exit_interrupt(CpuState &c) {
    apply_effects();
    while (c.softirq)
        run_softirq(c);
    if (c.mode == Mode::task && should_resched(c)) {
        if (!c.deferred)
            return reschedule(c, fair::TaskState::running);
        c.recheck = true;
    }
    arm_work(c);
}

void Kernel::on_jiffy() {
    for (const CpuId id : ticking_) {
        CpuState &c = cpu(id);
        if (enter_interrupt(c, EventKind::tick)) {
            do_tick(c);
            exit_interrupt(c);
        }
    }
    if (!ticking_.empty())
        queue_.arm(EventKind::jiffy, 0, next_jiffy_);
}

void Kernel::do_tick(CpuState &c) {
    counters_.ticks++;
    expire_timers(c);
    fair::sched_tick(scheduler_, c.id);
    charge(c, machine_.costs.tick_ns);
}

// All timers whose window has begun (WAKER-62).
void Kernel::expire_timers(CpuState &c) {
    if (c.timers.empty())
        return;
    while (!c.timers.empty() && c.timers.first().soft <= now()) {
        const Timer timer = c.timers.first();
        c.timers.pop();
        Thread &thread = threads_[static_cast<u32>(timer.task.value)];
        if (thread.timer_generation == timer.generation)
            wake_up_process(thread, 0);
    }
    arm_timer(c);
}

void Kernel::arm_timer(CpuState &c) {
    if (c.timers.empty())
        queue_.cancel(EventKind::timer, c.id);
    else
        queue_.arm(EventKind::timer, c.id, std::max(c.timers.first().hard, now()));
}

void Kernel::arm_sleep(u64 ns) {
    Thread &thread = current();
    this_->timers.push({.hard = now() + ns + thread.timer_slack,
                        .soft = now() + ns,
                        .task = thread.id,
                        .generation = ++thread.timer_generation});
    arm_timer(*this_);
}

// SCHED_SOFTIRQ. Its cost: the domains of this CPU that were balanced, or a walk over the idle CPUs for them (LB-32).
void Kernel::run_softirq(CpuState &c) {
    c.softirq = false;
    fair::Rq &queue = rq(c);
    u64 cost = 0;
    if (std::exchange(c.kicked, false) && queue.idle_balance)
        cost = machine_.costs.balance_pass_ns +
               machine_.costs.balance_per_cpu_ns * static_cast<u64>(scheduler_.nohz.idle_cpus.weight());
    u64 balanced = 0; // domains balanced in this jiffy before, as a set
    int level = 0;
    for (const fair::Domain *domain = queue.sd.base; domain != nullptr; domain = domain->parent)
        balanced |= static_cast<u64>(domain->last_balance == scheduler_.jiffies) << level++;
    fair::sched_balance_softirq(scheduler_, c.id);
    level = 0;
    for (const fair::Domain *domain = queue.sd.base; domain != nullptr; domain = domain->parent)
        if (domain->last_balance == scheduler_.jiffies && (balanced >> level++ & 1) == 0) {
            cost += machine_.costs.balance_pass_ns +
                    machine_.costs.balance_per_cpu_ns * static_cast<u64>(domain->span_weight);
            counters_.balance_passes++;
        }
    charge(c, cost);
    apply_effects();
}

void Kernel::send(EventKind kind, CpuId to, Time depart) {
    counters_.interrupts++;
    u64 latency = distances_.ipi_ns(this_->id, to);
    // A polling idle CPU sees its need_resched flag without an interrupt (WAKE-29): 1200 of 1600 cycles (COSTS.md,
    // cross-call to an idle CPU).
    if (machine_.costs.idle_polls && cpu(to).mode == Mode::idle)
        latency = latency * 3 / 4;
    const Time arrival = depart + latency;
    if (!queue_.armed(kind, to) || queue_.time_of(kind, to) > arrival)
        queue_.arm(kind, to, arrival);
}

// What libfair wants done to CPUs. Requests to the executing CPU are seen by it on its way out.
void Kernel::apply_effects() {
    if (scheduler_.effects.empty()) [[likely]]
        return;
    const Time depart = this_->mode == Mode::idle ? now() : std::max(now(), this_->progress_from);
    for (std::size_t i = 0; i < scheduler_.effects.size(); i++) { // handling one may append others
        const fair::Effect effect = scheduler_.effects[i];
        switch (effect.kind) {
        case fair::EffectKind::resched: // EEVDF-141, WAKE-32: lazy requests send nothing
            if (effect.cpu != this_->id)
                send(EventKind::resched, effect.cpu, depart);
            break;
        case fair::EffectKind::resched_lazy:
            break;
        case fair::EffectKind::hrtick:
            queue_.arm(EventKind::hrtick, effect.cpu, std::max(effect.time, now()));
            break;
        case fair::EffectKind::hrtick_cancel:
            queue_.cancel(EventKind::hrtick, effect.cpu);
            break;
        case fair::EffectKind::nohz_kick:
            send(EventKind::kick, effect.target, depart);
            break;
        case fair::EffectKind::balance_softirq:
            cpu(effect.cpu).softirq = true;
            break;
        case fair::EffectKind::active_push:
            cpu(effect.cpu).push_pending = true;
            fair::stopper_queue(scheduler_, effect.cpu);
            break;
        }
    }
    scheduler_.effects.clear();
}

} // namespace fairground::kernel
