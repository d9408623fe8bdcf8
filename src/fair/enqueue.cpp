// SPDX-License-Identifier: GPL-2.0-only
//
// Joining and leaving the queues of a CPU, level by level, and delayed dequeue (eevdf.md sections 8 and 9).
// PELT and share updates stand where the kernel has them: they use the state before the change that follows
// (PELT-23).
#include "fair/cache_aware.h"
#include "fair/cgroup.h"
#include "fair/eevdf.h"
#include "fair/pelt.h"
#include "fair/task_list.h"

namespace fairground::fair {

namespace {

// An entity that stays queued while something below it changes.
void refresh_entity(Scheduler &s, CfsRq &cfs, Entity &se) {
    update_load_avg(s, cfs, se, UPDATE_TG);
    se_update_runnable(se);
    update_cfs_group(s, se);
}

void add_nr_running(Scheduler &s, Rq &rq) {
    rq.nr_running++;
    if (rq.nr_running == 2)
        s.root.overloaded = true; // LB-23
}

// LB-65, NUMA-60: queued tasks with a preferred node, and those of them that are on it. A change of preference goes
// through sched_change_begin() and _end().
void account_numa(Rq &rq, const Task &p, u32 count) {
    if (!p.numa_preferred_nid.valid())
        return;
    rq.nr_numa_running += count;
    if (p.numa_preferred_nid == rq.sd.node)
        rq.nr_preferred_running += count;
}

// EEVDF-72.
void enqueue_entity(Scheduler &s, CfsRq &cfs, Entity &se, u32 flags) {
    update_load_avg(s, cfs, se, UPDATE_TG | DO_ATTACH);
    se_update_runnable(se);
    update_cfs_group(s, se);

    cfs.load_weight += se.load_weight;
    cfs.nr_queued++;
    if (se.task != nullptr) {
        account_numa(*cfs.rq, *se.task, 1);
        account_llc_enqueue(s, *cfs.rq, *se.task); // LB-95
        task_list_add(*cfs.rq, *se.task);
    }
    if ((flags & ENQUEUE_MIGRATED) != 0)
        se.exec_start = 0; // no longer cache hot
    se.on_rq = true;
    if (cfs.nr_queued == 1)
        list_add_leaf_cfs_rq(cfs);
}

// EEVDF-77.
void dequeue_entity(Scheduler &s, CfsRq &cfs, Entity &se, u32 flags) {
    u32 update = UPDATE_TG;
    if (se.task != nullptr) {
        if (se.task->on_rq == OnRq::migrating)
            update |= DO_DETACH;
        if ((flags & DEQUEUE_SLEEP) != 0 && (flags & DEQUEUE_DELAYED) == 0)
            update |= UPDATE_UTIL_EST;
    }
    update_load_avg(s, cfs, se, update);
    se_update_runnable(se);

    se.on_rq = false;
    cfs.load_weight -= se.load_weight;
    cfs.nr_queued--;
    if (se.task != nullptr) {
        account_numa(*cfs.rq, *se.task, u32{0} - 1);
        account_llc_dequeue(*cfs.rq, *se.task);
        task_list_remove(*cfs.rq, *se.task);
    }
    update_cfs_group(s, se);
    if (cfs.nr_queued == 0)
        update_idle_cfs_rq_clock_pelt(cfs); // PELT-46
}

// EEVDF-71. Returns the flattened weight (CG-20).
u64 enqueue_hierarchy(Scheduler &s, Task &p, u32 flags) {
    u64 weight = nice_0_load;
    const bool stays_delayed = p.se.sched_delayed && (flags & ENQUEUE_WAKEUP) == 0;
    const u32 runnable = stays_delayed ? 0 : 1;
    u32 idle = p.policy == Policy::idle ? 1 : 0;

    for (Entity *se = &p.se; se != nullptr; se = se->parent) {
        CfsRq &cfs = *se->cfs_rq;
        update_curr(s, cfs);
        if (!se->on_rq)
            enqueue_entity(s, cfs, *se, flags);
        else
            refresh_entity(s, cfs, *se);

        cfs.h_nr_runnable += runnable;
        cfs.h_nr_queued++;
        cfs.h_nr_idle += idle;
        if (cfs.idle)
            idle = 1;
        weight = fold_weight(weight, *se);
        flags = ENQUEUE_WAKEUP;
    }
    return weight;
}

// EEVDF-76.
void dequeue_hierarchy(Scheduler &s, Task &p, u32 flags) {
    const bool leaves = (flags & (DEQUEUE_SLEEP | DEQUEUE_DELAYED)) != 0;
    const u32 runnable = leaves || !p.se.sched_delayed ? 1 : 0;
    u32 idle = p.policy == Policy::idle ? 1 : 0;
    bool empty_below = true;

    for (Entity *se = &p.se; se != nullptr; se = se->parent) {
        CfsRq &cfs = *se->cfs_rq;
        update_curr(s, cfs);
        if (empty_below) {
            dequeue_entity(s, cfs, *se, flags);
            empty_below = cfs.load_weight == 0;
        } else {
            refresh_entity(s, cfs, *se);
        }

        cfs.h_nr_runnable -= runnable; // u32: may wrap for a moment, EEVDF-84
        cfs.h_nr_queued--;
        cfs.h_nr_idle -= idle;
        if (cfs.idle)
            idle = 1;
        flags = (flags | DEQUEUE_SLEEP) & ~u32{DEQUEUE_DELAYED | DEQUEUE_SPECIAL};
    }
}

// EEVDF-80, -81.
void set_delayed(Entity &task_entity) {
    task_entity.sched_delayed = true;
    llc_delayed(*task_entity.cfs_rq->rq, *task_entity.task); // LB-95
    for (Entity *se = &task_entity; se != nullptr; se = se->parent)
        se->cfs_rq->h_nr_runnable--;
}

void clear_delayed(Entity &task_entity) {
    task_entity.sched_delayed = false;
    llc_delayed(*task_entity.cfs_rq->rq, *task_entity.task);
    for (Entity *se = &task_entity; se != nullptr; se = se->parent)
        se->cfs_rq->h_nr_runnable++;
}

// EEVDF-83.
void requeue_delayed_entity(Scheduler &s, CfsRq &root, Entity &se) {
    if (update_entity_lag(s, root, se)) {
        root.h_nr_queued--;
        const bool in_timeline = &se != root.curr;
        if (in_timeline)
            dequeue_timeline(root, se);
        place_entity(s, root, se, 0);
        if (in_timeline)
            enqueue_timeline(s, root, se);
        root.h_nr_queued++;
    }
    update_load_avg(s, root, se, 0); // the root queue, even for a task in a group
    clear_delayed(se);
}

// EEVDF-75: __dequeue_task. False: the task was delayed instead.
bool dequeue_or_delay(Scheduler &s, Rq &rq, Task &p, u32 flags) {
    CfsRq &root = rq.cfs;
    Entity &se = p.se;
    const bool was_sched_idle = sched_idle_rq(rq);
    const bool sleeps = (flags & DEQUEUE_SLEEP) != 0;

    clear_buddies(root, se);
    update_curr_eevdf(s, root);
    update_entity_lag(s, root, se);

    const bool may_delay = sleeps && (flags & (DEQUEUE_DELAYED | DEQUEUE_SPECIAL | DEQUEUE_THROTTLE)) == 0;
    if (may_delay && s.features[Feature::DELAY_DEQUEUE] && !entity_eligible(root, se)) {
        update_load_avg(s, *se.cfs_rq, se, UPDATE_UTIL_EST);
        set_delayed(se);
        return false;
    }

    dequeue_hierarchy(s, p, flags);

    if (s.features[Feature::PLACE_REL_DEADLINE] && !sleeps) {
        se.deadline -= se.vruntime;
        se.rel_deadline = true;
    }
    if (&se != root.curr)
        dequeue_timeline(root, se);
    rq.nr_running--;
    if (!was_sched_idle && sched_idle_rq(rq))
        rq.next_balance = s.jiffies; // LB-12: only SCHED_IDLE work is left, look for better at once

    if ((flags & DEQUEUE_DELAYED) != 0) {
        clear_delayed(se);
        p.on_rq = OnRq::no;
    }
    return true;
}

} // namespace

// EEVDF-70.
void enqueue_task_fair(Scheduler &s, Rq &rq, Task &p, u32 flags) {
    CfsRq &root = rq.cfs;
    Entity &se = p.se;

    if (!se.sched_delayed || (flags & ENQUEUE_DELAYED) != 0)
        util_est_enqueue(s, root, p);
    update_curr_eevdf(s, root);
    if ((flags & ENQUEUE_DELAYED) != 0) {
        requeue_delayed_entity(s, root, se);
        return;
    }

    const bool is_curr = root.curr == &se; // dequeued while running, back before it was switched out
    if (is_curr)
        place_entity(s, root, se, flags);
    const u64 weight = enqueue_hierarchy(s, p, flags);
    if (!is_curr) { // EEVDF-73: the newcomer counts already
        reweight_eevdf(s, root, se, weight, false);
        place_entity(s, root, se, flags | ENQUEUE_QUEUED);
        enqueue_timeline(s, root, se);
    }
    add_nr_running(s, rq);
    hrtick_update(s, rq);
}

// EEVDF-74.
bool dequeue_task_fair(Scheduler &s, Rq &rq, Task &p, u32 flags) {
    if (!p.se.sched_delayed)
        util_est_dequeue(s, rq.cfs, p);
    return dequeue_or_delay(s, rq, p, flags);
}

// EEVDF-55, -84.
Task *pick_next_entity(Scheduler &s, Rq &rq, bool protect, Rule *rule) {
    const Pick pick = pick_eevdf(s, rq.cfs, protect);
    if (rule != nullptr)
        *rule = pick.rule;
    Task *p = pick.entity->task;
    if (!p->se.sched_delayed)
        return p;
    dequeue_or_delay(s, rq, *p, DEQUEUE_SLEEP | DEQUEUE_DELAYED);
    return nullptr;
}

} // namespace fairground::fair
