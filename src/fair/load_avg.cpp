// SPDX-License-Identifier: GPL-2.0-only
//
// When the averages of entities and queues are updated, and how load enters and leaves a queue (the load tracking
// part of kernel/sched/fair.c).
#include "fair/cgroup.h"
#include "fair/pelt.h"

namespace fairground::fair {

namespace {

// PELT-9. A signed count: a wrapped copy of a group entity is a large positive one.
u64 se_runnable(const Entity &se) {
    if (se.sched_delayed)
        return 0;
    return se.my_q != nullptr ? se.runnable_weight : u64{se.on_rq};
}

bool has_blocked_load(const CfsRq &cfs) { return cfs.avg.load_avg != 0 || cfs.avg.util_avg != 0; }

// A group entity with nothing left to decay and nothing to be propagated into it (PELT-25).
bool skip_blocked_update(const Entity &group_entity) {
    return group_entity.avg.load_avg == 0 && group_entity.avg.util_avg == 0 && !group_entity.my_q->propagate;
}

// PELT-37: every level above `se` takes over what changed below it.
void propagate_entity_cfs_rq(Scheduler &s, Entity &se) {
    if (!se.cfs_rq->pelt_clock_stopped)
        list_add_leaf_cfs_rq(*se.cfs_rq);
    for (Entity *up = se.parent; up != nullptr; up = up->parent) {
        update_load_avg(s, *up->cfs_rq, *up, UPDATE_TG);
        if (!up->cfs_rq->pelt_clock_stopped)
            list_add_leaf_cfs_rq(*up->cfs_rq);
    }
}

} // namespace

bool update_load_avg_se(const Scheduler &s, u64 now, const CfsRq &cfs, Entity &se) {
    if (!update_load_sum(now, se.avg, se.on_rq ? 1 : 0, se_runnable(se), cfs.h_curr == &se))
        return false;
    update_load_avg_values(se.avg, scale_load_down(se.load_weight)); // PELT-10
    if (s.features[Feature::UTIL_EST])
        se.avg.util_est &= ~util_avg_unchanged; // PELT-11
    return true;
}

bool update_load_avg_blocked_se(u64 now, Entity &se) {
    if (!update_load_sum(now, se.avg, 0, 0, false))
        return false;
    update_load_avg_values(se.avg, scale_load_down(se.load_weight));
    return true;
}

bool update_cfs_rq_load_avg(u64 now, CfsRq &cfs) { // PELT-21
    SchedAvg &sa = cfs.avg;
    bool decayed = false;
    if (cfs.removed.nr != 0) { // PELT-33
        const u64 divider = pelt_divider(sa);
        const auto take_out = [&](u64 &avg, auto &sum, u64 removed) {
            update_sa(avg, sum, static_cast<s64>(0 - removed), static_cast<s64>(0 - removed * divider));
        };
        take_out(sa.load_avg, sa.load_sum, cfs.removed.load_avg);
        take_out(sa.util_avg, sa.util_sum, cfs.removed.util_avg);
        take_out(sa.runnable_avg, sa.runnable_sum, cfs.removed.runnable_avg);
        add_tg_cfs_propagate(cfs, static_cast<s64>(0 - cfs.removed.runnable_avg * divider) >> 10);
        cfs.removed = {};
        decayed = true;
    }
    if (!update_load_sum(now, sa, scale_load_down(cfs.load_weight), cfs.h_nr_runnable, cfs.h_curr != nullptr))
        return decayed;
    update_load_avg_values(sa, 1);
    return true;
}

void update_load_avg(Scheduler &s, CfsRq &cfs, Entity &se, u32 flags) { // PELT-20
    const u64 now = cfs_rq_clock_pelt(cfs);
    if (se.avg.last_update_time != 0 && (flags & SKIP_AGE_LOAD) == 0)
        update_load_avg_se(s, now, cfs, se);
    bool decayed = update_cfs_rq_load_avg(now, cfs);
    decayed |= propagate_entity_load_avg(se);

    if (se.avg.last_update_time == 0 && (flags & DO_ATTACH) != 0) {
        attach_entity_load_avg(cfs, se);
        update_tg_load_avg(s, cfs);
    } else if ((flags & DO_DETACH) != 0) {
        detach_entity_load_avg(cfs, se);
        update_tg_load_avg(s, cfs);
    } else if (decayed && (flags & UPDATE_TG) != 0) {
        update_tg_load_avg(s, cfs);
    }
    if ((flags & UPDATE_UTIL_EST) != 0)
        util_est_update(s, se);
}

void attach_entity_load_avg(CfsRq &cfs, Entity &se) { // PELT-30
    SchedAvg &sa = se.avg;
    const u64 divider = pelt_divider(cfs.avg);
    const u64 weight = scale_load_down(se.load_weight);
    sa.last_update_time = cfs.avg.last_update_time;
    sa.period_contrib = cfs.avg.period_contrib;
    sa.util_sum = static_cast<u32>(sa.util_avg * divider);
    sa.runnable_sum = sa.runnable_avg * divider;
    sa.load_sum = sa.load_avg * divider;
    sa.load_sum = weight < sa.load_sum ? sa.load_sum / weight : 1;

    update_sa(cfs.avg.load_avg, cfs.avg.load_sum, static_cast<s64>(sa.load_avg),
              static_cast<s64>(weight * sa.load_sum));
    cfs.avg.util_avg += sa.util_avg;
    cfs.avg.util_sum += sa.util_sum;
    cfs.avg.runnable_avg += sa.runnable_avg;
    cfs.avg.runnable_sum += sa.runnable_sum;
    add_tg_cfs_propagate(cfs, static_cast<s64>(sa.load_sum));
}

void detach_entity_load_avg(CfsRq &cfs, Entity &se) { // PELT-31
    const SchedAvg &sa = se.avg;
    const u64 weight = scale_load_down(se.load_weight);
    update_sa(cfs.avg.load_avg, cfs.avg.load_sum, -static_cast<s64>(sa.load_avg),
              -static_cast<s64>(weight * sa.load_sum));
    update_sa(cfs.avg.util_avg, cfs.avg.util_sum, -static_cast<s64>(sa.util_avg), -s64{sa.util_sum});
    update_sa(cfs.avg.runnable_avg, cfs.avg.runnable_sum, -static_cast<s64>(sa.runnable_avg),
              -static_cast<s64>(sa.runnable_sum));
    add_tg_cfs_propagate(cfs, -static_cast<s64>(sa.load_sum));
}

void sync_entity_load_avg(Entity &se) { update_load_avg_blocked_se(se.cfs_rq->avg.last_update_time, se); }

void remove_entity_load_avg(Entity &se) { // PELT-33
    CfsRq &cfs = *se.cfs_rq;
    sync_entity_load_avg(se);
    cfs.removed.nr++;
    cfs.removed.util_avg += se.avg.util_avg;
    cfs.removed.load_avg += se.avg.load_avg;
    cfs.removed.runnable_avg += se.avg.runnable_avg;
}

void migrate_se_pelt_lag(const Scheduler &s, Entity &se) { // PELT-34
    const CfsRq &cfs = *se.cfs_rq;
    const Rq &rq = *cfs.rq;
    if (load_avg_is_decayed(se.avg) || rq.current_class != SchedClass::idle || cfs.throttled_pelt_idle == ~u64{0})
        return;
    u64 now = rq.clock_pelt_idle - cfs.throttled_pelt_idle;
    if (now < cfs.avg.last_update_time)
        now = cfs.avg.last_update_time;
    else
        now += s.now - rq.clock_idle;
    update_load_avg_blocked_se(now, se);
}

void attach_entity_cfs_rq(Scheduler &s, Entity &se) { // PELT-36, -37
    CfsRq &cfs = *se.cfs_rq;
    update_load_avg(s, cfs, se, s.features[Feature::ATTACH_AGE_LOAD] ? 0U : u32{SKIP_AGE_LOAD});
    attach_entity_load_avg(cfs, se);
    update_tg_load_avg(s, cfs);
    propagate_entity_cfs_rq(s, se);
}

void detach_entity_cfs_rq(Scheduler &s, Entity &se) { // PELT-37
    if (se.avg.last_update_time == 0)
        return;
    CfsRq &cfs = *se.cfs_rq;
    update_load_avg(s, cfs, se, 0);
    detach_entity_load_avg(cfs, se);
    update_tg_load_avg(s, cfs);
    propagate_entity_cfs_rq(s, se);
}

void list_add_leaf_cfs_rq(CfsRq &cfs) { // PELT-28
    if (cfs.on_list)
        return;
    cfs.on_list = true;
    Rq &rq = *cfs.rq;
    CfsRq *const parent = cfs.group_entity != nullptr ? cfs.group_entity->cfs_rq : nullptr;
    CfsRq *next = nullptr; // the root queue: at the end
    if (parent != nullptr && parent->on_list)
        next = parent;
    else if (parent != nullptr)
        next = rq.leaf_branch != nullptr ? rq.leaf_branch->leaf_next : rq.leaf_head;
    rq.leaf_branch = parent != nullptr && !parent->on_list ? &cfs : nullptr;

    CfsRq *const prev = next != nullptr ? next->leaf_prev : rq.leaf_tail;
    cfs.leaf_prev = prev;
    cfs.leaf_next = next;
    (prev != nullptr ? prev->leaf_next : rq.leaf_head) = &cfs;
    (next != nullptr ? next->leaf_prev : rq.leaf_tail) = &cfs;
}

namespace {

void list_del_leaf_cfs_rq(CfsRq &cfs) {
    Rq &rq = *cfs.rq;
    if (rq.leaf_branch == &cfs)
        rq.leaf_branch = cfs.leaf_prev;
    (cfs.leaf_prev != nullptr ? cfs.leaf_prev->leaf_next : rq.leaf_head) = cfs.leaf_next;
    (cfs.leaf_next != nullptr ? cfs.leaf_next->leaf_prev : rq.leaf_tail) = cfs.leaf_prev;
    cfs.leaf_prev = cfs.leaf_next = nullptr;
    cfs.on_list = false;
}

bool cfs_rq_is_decayed(const CfsRq &cfs) { // PELT-27
    const CfsRq *before = cfs.leaf_prev;
    const bool child_before =
        before != nullptr && before->group_entity != nullptr && before->group_entity->cfs_rq == &cfs;
    return cfs.load_weight == 0 && load_avg_is_decayed(cfs.avg) && !child_before && cfs.tg_load_avg_contrib == 0;
}

} // namespace

bool update_blocked_averages(Scheduler &s, Rq &rq, bool *decayed) { // PELT-25
    rq.last_blocked_load_update_tick = s.jiffies;
    bool done = !update_other_load_avgs(rq);
    bool root_decayed = false;
    if (!s.tunables.group_scheduling) {
        root_decayed = update_cfs_rq_load_avg(cfs_rq_clock_pelt(rq.cfs), rq.cfs);
        done &= !has_blocked_load(rq.cfs);
    }
    CfsRq *next = nullptr;
    for (CfsRq *cfs = s.tunables.group_scheduling ? rq.leaf_head : nullptr; cfs != nullptr; cfs = next) {
        next = cfs->leaf_next;
        if (update_cfs_rq_load_avg(cfs_rq_clock_pelt(*cfs), *cfs)) {
            update_tg_load_avg(s, *cfs);
            if (cfs->nr_queued == 0)
                update_idle_cfs_rq_clock_pelt(*cfs);
            if (cfs == &rq.cfs)
                root_decayed = true;
        }
        Entity *se = cfs->group_entity;
        if (se != nullptr && !skip_blocked_update(*se))
            update_load_avg(s, *se->cfs_rq, *se, UPDATE_TG);
        if (cfs_rq_is_decayed(*cfs))
            list_del_leaf_cfs_rq(*cfs);
        done &= !has_blocked_load(*cfs);
    }
    if (done)
        rq.has_blocked_load = false;
    if (decayed != nullptr)
        *decayed = root_decayed;
    return done;
}

void init_entity_runnable_average(Entity &se) { // PELT-60
    se.avg = {};
    if (se.my_q == nullptr)
        se.avg.load_avg = scale_load_down(se.load_weight);
}

void post_init_entity_util_avg(const Scheduler &s, Task &p) { // PELT-60
    SchedAvg &sa = p.se.avg;
    const SchedAvg &queue = p.se.cfs_rq->avg;
    const s64 cap = static_cast<s64>(s.rq(p.cpu).arch_capacity - queue.util_avg) / 2;
    if (cap > 0) {
        sa.util_avg = static_cast<u64>(cap);
        if (queue.util_avg != 0)
            sa.util_avg =
                std::min(sa.util_avg, queue.util_avg * scale_load_down(p.se.load_weight) / (queue.load_avg + 1));
    }
    sa.runnable_avg = sa.util_avg;
}

} // namespace fairground::fair
