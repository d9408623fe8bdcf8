// SPDX-License-Identifier: GPL-2.0-only
//
// How the load of a group's queue reaches its entity, the queues above and the group's sums (PELT-50..58).
#include "fair/cgroup.h"
#include "fair/pelt.h"

namespace fairground::fair {

namespace {

u64 distance(u64 a, u64 b) { return static_cast<s64>(a - b) < 0 ? b - a : a - b; }

// PELT-51, -52: the entity takes the queue's average; the parent queue changes by as much.
template <class Sum> void take_over(u64 &parent_avg, Sum &parent_sum, u64 &avg, Sum &sum, u64 queue_avg, u32 divider) {
    const auto avg_delta = static_cast<s64>(queue_avg - avg);
    if (avg_delta == 0)
        return;
    const auto new_sum = static_cast<Sum>(queue_avg * divider);
    const auto sum_delta = static_cast<s64>(u64{new_sum} - u64{sum});
    avg = queue_avg;
    sum = new_sum;
    update_sa(parent_avg, parent_sum, avg_delta, sum_delta);
}

// PELT-53.
void take_over_load(SchedAvg &parent, Entity &se, CfsRq &queue) {
    s64 x = queue.prop_runnable_sum;
    if (x == 0)
        return;
    queue.prop_runnable_sum = 0;
    SchedAvg &sa = se.avg;
    const u32 divider = pelt_divider(parent);
    if (x > 0) {
        x = std::min(x + static_cast<s64>(sa.load_sum), s64{divider});
    } else {
        const u64 weight = scale_load_down(queue.load_weight);
        x = static_cast<s64>(std::min(sa.load_sum, weight != 0 ? queue.avg.load_sum / weight : 0));
    }
    x = std::max(x, s64{sa.util_sum >> 10});

    const u64 weight = scale_load_down(se.load_weight);
    const u64 load_sum = weight * static_cast<u64>(x);
    const u64 load_avg = load_sum / divider;
    const auto avg_delta = static_cast<s64>(load_avg - sa.load_avg);
    if (avg_delta == 0)
        return;
    const auto sum_delta = static_cast<s64>(load_sum - weight * sa.load_sum);
    sa.load_sum = static_cast<u64>(x);
    sa.load_avg = load_avg;
    update_sa(parent.load_avg, parent.load_sum, avg_delta, sum_delta);
}

// Adds to the sums of the group what brings this queue's part of them to `load`, `runnable`.
void set_tg_contrib(CfsRq &cfs, u64 load, u64 runnable) {
    cfs.group->load_avg += load - cfs.tg_load_avg_contrib;
    cfs.group->runnable_avg += runnable - cfs.tg_runnable_avg_contrib;
    cfs.tg_load_avg_contrib = load;
    cfs.tg_runnable_avg_contrib = runnable;
    cfs.last_update_tg_load_avg = cfs.rq->clock;
}

} // namespace

void add_tg_cfs_propagate(CfsRq &cfs, s64 runnable_sum) { // PELT-50
    cfs.propagate = true;
    cfs.prop_runnable_sum += runnable_sum;
}

bool propagate_entity_load_avg(Entity &se) { // PELT-50, -54
    if (se.my_q == nullptr || !se.my_q->propagate)
        return false;
    CfsRq &queue = *se.my_q;
    CfsRq &parent = *se.cfs_rq;
    queue.propagate = false;
    add_tg_cfs_propagate(parent, queue.prop_runnable_sum);

    SchedAvg &up = parent.avg;
    const u32 divider = pelt_divider(up);
    take_over(up.util_avg, up.util_sum, se.avg.util_avg, se.avg.util_sum, queue.avg.util_avg, divider);
    take_over(up.runnable_avg, up.runnable_sum, se.avg.runnable_avg, se.avg.runnable_sum, queue.avg.runnable_avg,
              divider);
    take_over_load(up, se, queue);
    return true;
}

void update_tg_load_avg(const Scheduler &s, CfsRq &cfs) { // PELT-56
    if (cfs.group == nullptr || !s.active.test(cfs.rq->cpu))
        return;
    if (cfs.rq->clock - cfs.last_update_tg_load_avg < ns_per_ms)
        return;
    if (distance(cfs.avg.load_avg, cfs.tg_load_avg_contrib) > cfs.tg_load_avg_contrib / 64 ||
        distance(cfs.avg.runnable_avg, cfs.tg_runnable_avg_contrib) > cfs.tg_runnable_avg_contrib / 64)
        set_tg_contrib(cfs, cfs.avg.load_avg, cfs.avg.runnable_avg);
}

void clear_tg_offline_cfs_rqs(Scheduler &s, const Rq &rq) { // PELT-57
    for (TaskGroup &group : s.groups)
        set_tg_contrib(group.queues[static_cast<u32>(rq.cpu.value)], 0, 0);
}

void reweight_entity_load(CfsRq &cfs, Entity &se, u64 load_weight) { // PELT-58
    if (se.load_weight == load_weight)
        return;
    SchedAvg &sa = se.avg;
    if (se.on_rq)
        cfs.load_weight -= se.load_weight;
    update_sa(cfs.avg.load_avg, cfs.avg.load_sum, -static_cast<s64>(sa.load_avg),
              -static_cast<s64>(scale_load_down(se.load_weight) * sa.load_sum));
    se.load_weight = load_weight;
    const u64 weighted_sum = scale_load_down(load_weight) * sa.load_sum;
    sa.load_avg = weighted_sum / pelt_divider(sa);
    update_sa(cfs.avg.load_avg, cfs.avg.load_sum, static_cast<s64>(sa.load_avg), static_cast<s64>(weighted_sum));
    if (se.on_rq)
        cfs.load_weight += load_weight;
}

} // namespace fairground::fair
