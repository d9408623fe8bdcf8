// SPDX-License-Identifier: GPL-2.0-only
//
// What the fair class does for the core: charge the running task, pick, put, set, tick, yield, hrtick.
#include "fair/cache_aware.h"
#include "fair/cgroup.h"
#include "fair/core.h"
#include "fair/eevdf.h"
#include "fair/load_balance.h"
#include "fair/pelt.h"
#include "fair/task_list.h"

#include <algorithm>

namespace fairground::fair {

// EEVDF-20..22.
void update_curr(Scheduler &s, CfsRq &cfs) {
    Entity *curr = cfs.h_curr;
    if (curr == nullptr)
        return;
    Rq &rq = *cfs.rq;
    const s64 delta = static_cast<s64>(rq.clock_task - curr->exec_start);
    if (delta <= 0)
        return;
    curr->exec_start = rq.clock_task;
    curr->sum_exec_runtime += static_cast<u64>(delta);
    if (curr->task == nullptr)
        return;
    if (curr->task->cache_group != nullptr)
        account_mm_sched(s, rq, *curr->task, static_cast<u64>(delta)); // LB-93

    CfsRq &root = rq.cfs;
    curr->vruntime += calc_delta_fair(static_cast<u64>(delta), *curr);
    const bool slice_over = update_deadline(s, root, *curr);
    if (root.h_nr_queued == 1)
        return;
    if (slice_over || !protect_slice(*curr)) { // PREEMPT-21
        resched_curr_lazy(s, rq);
        clear_buddies(root, *curr);
    }
}

void update_curr_fair(Scheduler &s, Rq &rq) {
    if (rq.curr == nullptr)
        return;
    for (Entity *se = &rq.curr->se; se != nullptr; se = se->parent)
        update_curr(s, *se->cfs_rq);
}

void update_curr_eevdf(Scheduler &s, CfsRq &cfs) {
    if (cfs.curr != nullptr)
        update_curr(s, *cfs.curr->cfs_rq);
}

// EEVDF-91.
Task *pick_task_fair(Scheduler &s, Rq &rq) {
    CfsRq &root = rq.cfs;
    for (;;) {
        if (root.h_nr_queued == 0) {
            if (sched_balance_newidle(s, rq) > 0)
                continue;
            return nullptr; // also when a higher class has work: the caller looks there
        }
        if (root.curr != nullptr && root.curr->on_rq)
            update_curr_eevdf(s, root);
        Rule rule;
        if (Task *p = pick_next_entity(s, rq, true, &rule)) {
            s.decide({s.now, DecisionKind::pick, rq.cpu, p->id, {}, p->id.value, 0, rule});
            return p;
        }
        s.decide({s.now, DecisionKind::pick, rq.cpu, {}, {}, -1, 0, "EEVDF-84"}); // a delayed task was dropped
    }
}

namespace {

// The timer exists where the CPU is active and the feature is on.
bool hrtick_enabled(const Scheduler &s, const Rq &rq) { return s.features[Feature::HRTICK] && s.active.test(rq.cpu); }

int depth(const Entity &se) {
    int levels = 0;
    for (const Entity *up = se.parent; up != nullptr; up = up->parent)
        levels++;
    return levels;
}

void put_prev_entity(Scheduler &s, CfsRq &cfs, Entity &se) {
    if (se.on_rq) {
        update_curr(s, cfs);
        update_load_avg(s, cfs, se, 0);
    }
    cfs.h_curr = nullptr;
}

} // namespace

// EEVDF-94. Queues that the paths of both tasks go through keep their h_curr, except the lowest of them.
void put_prev_task_fair(Scheduler &s, Rq &rq, Task &prev, const Task *next) {
    const CfsRq *common = nullptr;
    if (next != nullptr) {
        const Entity *a = &prev.se;
        const Entity *b = &next->se;
        int ahead = depth(*a) - depth(*b);
        for (; ahead > 0; ahead--)
            a = a->parent;
        for (; ahead < 0; ahead++)
            b = b->parent;
        for (; a->cfs_rq != b->cfs_rq; a = a->parent, b = b->parent) {
        }
        common = a->cfs_rq;
    }
    for (Entity *se = &prev.se; se != nullptr; se = se->parent) {
        put_prev_entity(s, *se->cfs_rq, *se);
        if (se->cfs_rq == common)
            break;
    }

    rq.cfs.curr = nullptr;
    if (prev.se.on_rq)
        enqueue_timeline(s, rq.cfs, prev.se);
}

// EEVDF-93, -96.
void set_next_task_fair(Scheduler &s, Rq &rq, Task &p, bool first) {
    CfsRq &root = rq.cfs;
    Entity &se = p.se;
    const bool on_rq = se.on_rq;

    clear_buddies(root, se);
    if (on_rq)
        dequeue_timeline(root, se);

    u64 weight = nice_0_load;
    for (Entity *level = &se; level != nullptr; level = level->parent) {
        CfsRq &cfs = *level->cfs_rq;
        if (!first || cfs.h_curr == nullptr) {
            if (level->on_rq)
                update_load_avg(s, cfs, *level, UPDATE_TG);
            level->exec_start = rq.clock_task;
            cfs.h_curr = level;
            level->prev_sum_exec_runtime = level->sum_exec_runtime;
        }
        if (on_rq)
            weight = fold_weight(weight, *level);
    }

    root.curr = &se;
    if (on_rq) {
        reweight_eevdf(s, root, se, weight, true);
        if (first)
            set_protect_slice(s, root, se);
        task_list_move_to_head(rq, p);
    }
    if (!first)
        return;
    hrtick_start_fair(s, rq, p);
    update_misfit_status(s, &p, rq); // LB-90
}

// EEVDF-104, -105.
void task_tick_fair(Scheduler &s, Rq &rq, Task &p, bool queued) {
    if (!p.se.on_rq)
        return;
    u64 weight = nice_0_load;
    for (Entity *se = &p.se; se != nullptr; se = se->parent) {
        CfsRq &cfs = *se->cfs_rq;
        update_curr(s, cfs);
        update_load_avg(s, cfs, *se, UPDATE_TG);
        update_cfs_group(s, *se);
        if (queued)
            resched_curr(s, rq);
        weight = fold_weight(weight, *se);
    }
    reweight_eevdf(s, rq.cfs, p.se, weight, true);
    update_misfit_status(s, &p, rq); // LB-90
}

// EEVDF-130.
void yield_task_fair(Scheduler &s, Rq &rq) {
    if (rq.nr_running == 1 || rq.curr == nullptr)
        return;
    CfsRq &root = rq.cfs;
    Entity &se = rq.curr->se;
    clear_buddies(root, se);
    update_rq_clock(s, rq);
    update_curr_eevdf(s, root);
    rq.skip_clock_update = true;
    if (entity_eligible(root, se)) {
        se.vruntime = se.deadline;
        update_deadline(s, root, se);
    }
}

// EEVDF-110.
void hrtick_start_fair(Scheduler &s, Rq &rq, Task &p) {
    if (!hrtick_enabled(s, rq) || rq.cfs.h_nr_queued <= 1)
        return;
    const u64 vdelta = p.se.deadline - p.se.vruntime;
    if (static_cast<s64>(vdelta) < 0) {
        if (rq.cfs.curr == &p.se)
            resched_curr(s, rq);
        return;
    }
    const u64 delta = p.se.h_load * vdelta / nice_0_load;
    u64 scale = 1024;
    const u64 util = rq.avg_irq.util_avg; // time the task will not get
    if (util != 0 && util < 1024)
        scale = 1024 * 1024 / (1024 - util);
    hrtick_start(s, rq, scale * delta / 1024);
}

// EEVDF-112.
void hrtick_update(Scheduler &s, Rq &rq) {
    if (hrtick_enabled(s, rq) && rq.curr != nullptr && !rq.hrtick_queued)
        hrtick_start_fair(s, rq, *rq.curr);
}

} // namespace fairground::fair
