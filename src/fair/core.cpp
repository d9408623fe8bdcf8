// SPDX-License-Identifier: GPL-2.0-only
//
// Resched requests, the scheduling step, ticks. Wake-ups and new tasks are in core_wakeup.cpp, changes of
// parameters, affinity and CPU in core_change.cpp.
#include "fair/core.h"

#include "fair/invariants.h"
#include "fair/load_balance.h"
#include "fair/pelt.h"

#include <algorithm>

namespace fairground::fair {

namespace {

constexpr u64 hrtick_min_delay = 10000; // ns, EEVDF-110
constexpr u64 hrtick_slack = 5000;      // ns, EEVDF-111

// EEVDF-100: nothing happens if the flag or the stronger one is set.
void set_resched(Scheduler &s, Rq &rq, bool lazy) {
    if (rq.need_resched || (lazy && rq.need_resched_lazy))
        return;
    (lazy ? rq.need_resched_lazy : rq.need_resched) = true;
    s.effects.push_back({lazy ? EffectKind::resched_lazy : EffectKind::resched, rq.cpu, {}, 0});
}

// EEVDF-111: left alone if it is queued for nearly the same time.
void hrtick_cond_restart(Scheduler &s, Rq &rq, u64 expiry) {
    if (rq.hrtick_queued) {
        const u64 apart = std::max(expiry, rq.hrtick_expiry) - std::min(expiry, rq.hrtick_expiry);
        if (apart <= hrtick_slack)
            return;
    }
    rq.hrtick_queued = true;
    rq.hrtick_expiry = expiry;
    s.effects.push_back({EffectKind::hrtick, rq.cpu, {}, expiry});
}

void hrtick_schedule_exit(Scheduler &s, Rq &rq) {
    rq.hrtick_deferred = false;
    if (rq.hrtick_requested) {
        hrtick_cond_restart(s, rq, s.now + rq.hrtick_delay);
    } else if (rq.current_class == SchedClass::idle && rq.hrtick_queued) {
        rq.hrtick_queued = false;
        rq.hrtick_expiry = 0;
        s.effects.push_back({EffectKind::hrtick_cancel, rq.cpu, {}, 0});
    }
}

// EEVDF-78, -90: block_task.
void block_task(Scheduler &s, Rq &rq, Task &p, TaskState state) {
    p.state = state;
    u32 flags = DEQUEUE_SLEEP;
    if (state == TaskState::special || state == TaskState::dead)
        flags |= DEQUEUE_SPECIAL;
    if (dequeue_task_fair(s, rq, p, flags))
        p.on_rq = OnRq::no;
}

// put_prev and set_next of EEVDF-92..95; `next` null with class idle or higher.
void switch_to(Scheduler &s, Rq &rq, Task *next, SchedClass next_class) {
    Task *prev = rq.curr;
    const SchedClass prev_class = rq.current_class;
    rq.next_class = next_class;
    if (next == prev && next_class == prev_class)
        return;

    if (prev != nullptr)
        put_prev_task_fair(s, rq, *prev, next);
    else if (prev_class == SchedClass::idle)
        update_rq_avg_idle(rq); // LB-13

    rq.curr = next;
    rq.current_class = next_class;
    if (prev != nullptr)
        prev->on_cpu = false;
    if (next != nullptr) {
        next->on_cpu = true;
        set_next_task_fair(s, rq, *next, true);
    } else if (next_class == SchedClass::idle) {
        update_idle_core(s, rq);       // WAKE-130
        update_idle_rq_clock_pelt(rq); // PELT-44
    }
}

} // namespace

void resched_curr(Scheduler &s, Rq &rq) {
    rq.calls.resched++;
    set_resched(s, rq, false);
}

void resched_curr_lazy(Scheduler &s, Rq &rq) {
    const bool idle = rq.current_class == SchedClass::idle;
    (idle ? rq.calls.resched : rq.calls.resched_lazy)++;
    set_resched(s, rq, !idle && s.tunables.lazy_preempt);
}

Task *schedule(Scheduler &s, CpuId cpu, TaskState state) {
    Rq &rq = s.rq(cpu);
    rq.hrtick_deferred = true;
    rq.hrtick_requested = false;

    if (!rq.skip_clock_update) // EEVDF-98
        update_rq_clock(s, rq);
    rq.skip_clock_update = false;

    Task *prev = rq.curr;
    if (prev != nullptr && state != TaskState::running)
        block_task(s, rq, *prev, state);

    Task *next = nullptr;
    SchedClass next_class = SchedClass::idle;
    if (rq.stopper_queued) {
        next_class = SchedClass::higher;
    } else if (rq.current_class != SchedClass::idle || rq.nr_running != 0) {
        // An idle thread that finds nothing queued stays without another newly-idle balance.
        next = pick_task_fair(s, rq);
        if (next != nullptr)
            next_class = SchedClass::fair;
        else if (rq.stopper_queued) // came during newly-idle balance
            next_class = SchedClass::higher;
    }
    switch_to(s, rq, next, next_class);

    rq.need_resched = false;
    rq.need_resched_lazy = false;
    hrtick_schedule_exit(s, rq);
    if (prev != nullptr && prev->state == TaskState::dead)
        remove_entity_load_avg(prev->se); // task_dead_fair, PELT-33
    check_rq(s, rq);
    return next;
}

void sched_tick(Scheduler &s, CpuId cpu) {
    Rq &rq = s.rq(cpu);
    update_rq_clock(s, rq);
    if (rq.need_resched_lazy) // EEVDF-103
        resched_curr(s, rq);
    if (rq.curr != nullptr)
        task_tick_fair(s, rq, *rq.curr, false);
    check_rq(s, rq);
    rq.idle_balance = idle_cpu(rq);
    sched_balance_trigger(s, rq);
}

void hrtick(Scheduler &s, CpuId cpu) {
    Rq &rq = s.rq(cpu);
    rq.hrtick_queued = false;
    rq.hrtick_expiry = 0;
    update_rq_clock(s, rq);
    if (rq.curr != nullptr)
        task_tick_fair(s, rq, *rq.curr, true);
    check_rq(s, rq);
}

void hrtick_start(Scheduler &s, Rq &rq, u64 delay) {
    rq.calls.hrtick++;
    const u64 at_least = static_cast<s64>(delay) < static_cast<s64>(hrtick_min_delay) ? hrtick_min_delay : delay;
    if (rq.hrtick_deferred) {
        rq.hrtick_requested = true;
        rq.hrtick_delay = at_least;
        return;
    }
    hrtick_cond_restart(s, rq, s.now + at_least);
}

void stopper_queue(Scheduler &s, CpuId cpu) {
    Rq &rq = s.rq(cpu);
    if (rq.stopper_queued)
        return;
    update_rq_clock(s, rq);
    rq.stopper_queued = true;
    rq.nr_running++;
    if (rq.nr_running == 2)
        s.root.overloaded = true;              // LB-23
    if (rq.next_class != SchedClass::higher) { // EEVDF-97
        resched_curr(s, rq);
        rq.next_class = SchedClass::higher;
    }
    const bool current_queued = rq.curr == nullptr || rq.curr->on_rq == OnRq::queued;
    if (current_queued && rq.need_resched)
        rq.skip_clock_update = true;
}

void stopper_done(Scheduler &s, CpuId cpu) {
    Rq &rq = s.rq(cpu);
    rq.stopper_queued = false;
    rq.nr_running--;
}

} // namespace fairground::fair
