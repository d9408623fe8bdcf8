// SPDX-License-Identifier: GPL-2.0-only
//
// try_to_wake_up, the wake list, new tasks, exec.
#include "fair/cgroup.h"
#include "fair/core.h"
#include "fair/invariants.h"
#include "fair/pelt.h"

#include <utility>

namespace fairground::fair {

namespace {

// What the waking CPU executes, as the non-const task that placement writes to (WAKE-43).
Task *current_of(Scheduler &s, const Waker &waker) {
    return waker.current == nullptr ? nullptr : &s.task(waker.current->id);
}

// WAKE-26, -27, PREEMPT-40, EEVDF-142.
bool ttwu_queue_cond(const Scheduler &s, const Task &p, CpuId this_cpu, CpuId cpu) {
    if (!s.active.test(cpu) || !p.cpus_allowed.test(cpu))
        return false;
    if (!cpus_share_cache(s, this_cpu, cpu))
        return true;
    return cpu != this_cpu && s.rq(cpu).nr_running == 0;
}

// WAKE-28, PREEMPT-41. True if the list was empty.
bool wake_list_add(Rq &rq, Task &p, bool migrated) {
    p.wake_migrated = migrated;
    p.wake_next = nullptr;
    const bool first = rq.wake_head == nullptr;
    (first ? rq.wake_head : rq.wake_tail->wake_next) = &p;
    rq.wake_tail = &p;
    rq.ttwu_pending = true; // nr_running is still unchanged
    return first;
}

} // namespace

// WAKE-22.
void ttwu_runnable(Scheduler &s, Task &p, u32 wake_flags) {
    Rq &rq = s.rq(p.cpu);
    update_rq_clock(s, rq);
    if (p.se.sched_delayed)
        enqueue_task_fair(s, rq, p, ENQUEUE_DELAYED);
    if (!p.on_cpu)
        wakeup_preempt(s, rq, p, wake_flags);
    p.state = TaskState::running;
    check_rq(s, rq);
}

void ttwu_do_activate(Scheduler &s, Rq &rq, Task &p, u32 wake_flags) {
    activate_task(s, rq, p, ENQUEUE_WAKEUP | ((wake_flags & WF_MIGRATED) != 0 ? u32{ENQUEUE_MIGRATED} : 0));
    wakeup_preempt(s, rq, p, wake_flags);
    p.state = TaskState::running;
    check_rq(s, rq);
}

Wake try_to_wake_up(Scheduler &s, Task &p, u32 wake_flags, const Waker &waker) {
    Wake wake;
    wake.cpu = p.cpu;
    if (p.state == TaskState::running || p.state == TaskState::waking || p.state == TaskState::dead)
        return wake; // WAKE-20
    wake_flags |= WF_TTWU;

    if (waker.current == &p) { // WAKE-21
        p.state = TaskState::running;
        wake.result = WakeResult::running;
        return wake;
    }
    if (p.on_rq == OnRq::queued) {
        ttwu_runnable(s, p, wake_flags);
        wake.result = WakeResult::running;
        return wake;
    }

    p.state = TaskState::waking;
    const CpuId cpu = select_task_rq(s, p, p.wake_cpu, wake_flags, waker, current_of(s, waker), wake.placement);
    if (cpu != p.cpu) { // WAKE-25
        wake_flags |= WF_MIGRATED;
        set_task_cpu(s, p, cpu);
    } else {
        p.wake_cpu = cpu;
    }
    wake.cpu = cpu;
    wake.migrated = (wake_flags & WF_MIGRATED) != 0;

    Rq &rq = s.rq(cpu);
    if (s.features[Feature::TTWU_QUEUE] && ttwu_queue_cond(s, p, waker.cpu, cpu)) {
        wake.first = wake_list_add(rq, p, wake.migrated);
        wake.result = WakeResult::queued;
        return wake;
    }
    update_rq_clock(s, rq);
    ttwu_do_activate(s, rq, p, wake_flags);
    wake.result = WakeResult::enqueued;
    return wake;
}

void sched_ttwu_pending(Scheduler &s, CpuId cpu) {
    Rq &rq = s.rq(cpu);
    Task *p = std::exchange(rq.wake_head, nullptr);
    rq.wake_tail = nullptr;
    if (p == nullptr)
        return;
    update_rq_clock(s, rq);
    while (p != nullptr) {
        Task *next = std::exchange(p->wake_next, nullptr);
        // WF_SYNC and WF_RQ_SELECTED are lost on this path (PREEMPT-43, SYNC-3).
        ttwu_do_activate(s, rq, *p, p->wake_migrated ? u32{WF_MIGRATED} : 0);
        p = next;
    }
    rq.ttwu_pending = false;
}

// EEVDF-134.
Task &sched_fork(Scheduler &s, const TaskInit &init, const Task *parent, CpuId cpu) {
    Task &p = s.tasks.emplace_back();
    p.id = TaskId{static_cast<s64>(s.tasks.size()) - 1};
    p.policy = init.policy;
    p.nice = init.nice;
    p.kthread = init.kthread;
    p.cpus_allowed = init.cpus_allowed;
    p.nr_cpus_allowed = init.cpus_allowed.weight();
    p.group = init.group;
    p.cpu = cpu;
    p.wake_cpu = cpu;
    p.recent_used_cpu = cpu;

    Entity &se = p.se;
    se.task = &p;
    se.load_weight = task_weight(p.policy, p.nice);
    se.custom_slice = init.slice != 0;
    se.slice = init.slice != 0 ? init.slice : s.tunables.base_slice;
    if (parent != nullptr) {
        se.h_load = parent->se.h_load; // as __sched_fork() leaves them
        se.deadline = parent->se.deadline;
        se.vprot = parent->se.vprot;
        p.last_wakee = parent->last_wakee; // WAKE-43
        p.wakee_flips = parent->wakee_flips;
        p.wakee_flip_decay_ts = parent->wakee_flip_decay_ts;
    }
    set_task_rq(s, p, s.rq(cpu));
    init_entity_runnable_average(se);
    return p;
}

void activate_new_task(Scheduler &s, Task &p, CpuId cpu, u32 wake_flags) {
    Rq &rq = s.rq(cpu);
    p.state = TaskState::running;
    p.cpu = cpu; // no migrate hook: nothing is attached yet
    p.wake_cpu = cpu;
    set_task_rq(s, p, rq);
    update_rq_clock(s, rq);
    post_init_entity_util_avg(s, p);
    activate_task(s, rq, p, ENQUEUE_INITIAL);
    wakeup_preempt(s, rq, p, wake_flags);
    check_rq(s, rq);
}

// WAKE-190.
void wake_up_new_task(Scheduler &s, Task &p, const Waker &waker) {
    u32 wake_flags = WF_FORK;
    p.recent_used_cpu = p.cpu;
    const CpuId cpu = select_task_rq(s, p, p.cpu, wake_flags, waker, current_of(s, waker));
    activate_new_task(s, p, cpu, wake_flags);
}

} // namespace fairground::fair
