// SPDX-License-Identifier: GPL-2.0-only
//
// Changes of parameters, group, affinity and CPU (EEVDF-122..132).
#include "fair/cgroup.h"
#include "fair/core.h"
#include "fair/invariants.h"
#include "fair/pelt.h"

#include <algorithm>

namespace fairground::fair {

namespace {

int static_prio(const Task &p) { return 120 + p.nice; }

// EEVDF-123; the entity is off its queue.
void set_load_weight(Task &p) { reweight_entity_load(*p.se.cfs_rq, p.se, task_weight(p.policy, p.nice)); }

// EEVDF-124.
void prio_changed_fair(Scheduler &s, Rq &rq, Task &p, int old_prio) {
    if (p.on_rq != OnRq::queued || static_prio(p) == old_prio || rq.cfs.h_nr_queued == 1)
        return;
    if (rq.curr != &p)
        wakeup_preempt(s, rq, p, 0);
    else if (static_prio(p) > old_prio)
        resched_curr(s, rq);
}

} // namespace

void activate_task(Scheduler &s, Rq &rq, Task &p, u32 flags) {
    if (p.on_rq == OnRq::migrating)
        flags |= ENQUEUE_MIGRATED;
    enqueue_task_fair(s, rq, p, flags);
    p.on_rq = OnRq::queued;
}

void deactivate_task(Scheduler &s, Rq &rq, Task &p, u32 flags) {
    p.on_rq = OnRq::migrating;
    dequeue_task_fair(s, rq, p, flags);
}

SchedChange sched_change_begin(Scheduler &s, Task &p) {
    Rq &rq = s.rq(p.cpu);
    update_rq_clock(s, rq);
    const SchedChange change = {&p, p.on_rq == OnRq::queued, rq.curr == &p, static_prio(p)};
    if (change.queued)
        dequeue_task_fair(s, rq, p, 0);
    if (change.running)
        put_prev_task_fair(s, rq, p, nullptr);
    return change;
}

void sched_change_end(Scheduler &s, const SchedChange &change) {
    Task &p = *change.task;
    Rq &rq = s.rq(p.cpu);
    if (change.queued)
        enqueue_task_fair(s, rq, p, 0);
    if (change.running)
        set_next_task_fair(s, rq, p, false);
    prio_changed_fair(s, rq, p, change.old_prio);
    check_rq(s, rq);
}

void set_user_nice(Scheduler &s, Task &p, int nice) {
    if (p.nice == nice)
        return;
    const SchedChange change = sched_change_begin(s, p);
    p.nice = nice;
    set_load_weight(p);
    sched_change_end(s, change);
}

void set_scheduler(Scheduler &s, Task &p, Policy policy, int nice, u64 runtime_slice) {
    const SchedChange change = sched_change_begin(s, p);
    p.policy = policy;
    p.nice = nice;
    p.se.custom_slice = runtime_slice != 0; // EEVDF-8
    p.se.slice =
        runtime_slice != 0 ? std::clamp<u64>(runtime_slice, ns_per_ms / 10, ns_per_ms * 100) : s.tunables.base_slice;
    set_load_weight(p);
    sched_change_end(s, change);
}

void sched_move_task(Scheduler &s, Task &p, TaskGroup *group) {
    Rq &rq = s.rq(p.cpu);
    const SchedChange change = sched_change_begin(s, p);
    task_change_group_fair(s, p, group);
    sched_change_end(s, change);
    if (change.running)
        resched_curr(s, rq);
    else if (change.queued)
        wakeup_preempt(s, rq, p, 0);
    check_rq(s, rq);
}

// EEVDF-131.
bool yield_to(Scheduler &s, CpuId cpu, Task &p, bool preempt) {
    Rq &rq = s.rq(cpu);
    Rq &p_rq = s.rq(p.cpu);
    if (rq.curr == nullptr || (rq.nr_running == 1 && p_rq.nr_running == 1))
        return false;
    if (p.on_cpu || p.state != TaskState::running || !p.se.on_rq || p.se.sched_delayed)
        return false;
    set_next_buddy(p_rq.cfs, p.se);
    yield_task_fair(s, rq);
    if (preempt && &rq != &p_rq)
        resched_curr(s, p_rq);
    return true;
}

bool set_cpus_allowed(Scheduler &s, Task &p, const CpuMask &mask) {
    const SchedChange change = sched_change_begin(s, p);
    p.cpus_allowed = mask;
    p.nr_cpus_allowed = mask.weight();
    sched_change_end(s, change);

    if (mask.test(p.cpu) || p.on_rq != OnRq::queued)
        return false; // a sleeper moves when it wakes
    if (p.on_cpu)
        return true;
    // The kernel takes any active CPU of the mask; the first keeps runs reproducible.
    for (CpuId to = mask.first(); to.valid(); to = mask.next(to.value + 1))
        if (s.active.test(to)) {
            move_queued_task(s, p, to);
            break;
        }
    return false;
}

// EEVDF-132.
void move_queued_task(Scheduler &s, Task &p, CpuId to) {
    Rq &from_rq = s.rq(p.cpu);
    update_rq_clock(s, from_rq);
    deactivate_task(s, from_rq, p);
    set_task_cpu(s, p, to);
    check_rq(s, from_rq);

    Rq &to_rq = s.rq(to);
    update_rq_clock(s, to_rq);
    activate_task(s, to_rq, p, 0);
    wakeup_preempt(s, to_rq, p, 0);
    check_rq(s, to_rq);
}

void set_task_cpu(Scheduler &s, Task &p, CpuId to) {
    if (p.cpu != to) {
        if (p.on_rq != OnRq::migrating) { // WAKE-195, -196
            remove_entity_load_avg(p.se);
            migrate_se_pelt_lag(s, p.se);
        }
        p.se.avg.last_update_time = 0; // WAKE-197: attach at enqueue
    }
    p.cpu = to;
    p.wake_cpu = to;
    set_task_rq(s, p, s.rq(to));
}

} // namespace fairground::fair
