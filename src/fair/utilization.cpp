// SPDX-License-Identifier: GPL-2.0-only
//
// Estimates of utilisation, and the readers of the averages that placement and balancing use.
#include "fair/h_load.h"
#include "fair/pelt.h"

namespace fairground::fair {

namespace {

constexpr u32 util_est_margin = 1024 / 100;
constexpr u32 util_est_weight_shift = 2; // a new sample counts 1/4

u64 sub_positive(u64 x, u64 d) { return x - std::min(x, d); }

} // namespace

void util_est_enqueue(const Scheduler &s, CfsRq &root, const Task &p) { // PELT-72
    if (s.features[Feature::UTIL_EST])
        root.avg.util_est += static_cast<u32>(task_util_est_only(p));
}

void util_est_dequeue(const Scheduler &s, CfsRq &root, const Task &p) {
    if (s.features[Feature::UTIL_EST])
        root.avg.util_est = static_cast<u32>(sub_positive(root.avg.util_est, task_util_est_only(p)));
}

void util_est_update(const Scheduler &s, Entity &se) { // PELT-71
    u32 estimate = se.avg.util_est;
    if (!s.features[Feature::UTIL_EST] || (estimate & util_avg_unchanged) != 0)
        return;
    const auto util = static_cast<u32>(se.avg.util_avg);
    if (estimate <= util) {
        estimate = util;
    } else {
        const u32 above = estimate - util;
        if (above >= util_est_margin && u64{util + util_est_margin} >= se.avg.runnable_avg)
            estimate = ((estimate << util_est_weight_shift) - above) >> util_est_weight_shift;
    }
    se.avg.util_est = estimate | util_avg_unchanged;
}

u64 cpu_util(const Scheduler &s, const Rq &rq, const Task *p, CpuId dst, bool boost) { // PELT-74
    const SchedAvg &sa = rq.cfs.avg;
    const bool added = p != nullptr && p->cpu != rq.cpu && dst == rq.cpu;
    const bool removed = p != nullptr && p->cpu == rq.cpu && dst != rq.cpu;
    const auto with = [&](u64 value, u64 part) {
        return added ? value + part : removed ? sub_positive(value, part) : value;
    };
    u64 util = p != nullptr ? with(sa.util_avg, task_util(*p)) : sa.util_avg;
    if (boost)
        util = std::max(util, p != nullptr ? with(sa.runnable_avg, p->se.avg.runnable_avg) : sa.runnable_avg);
    if (s.features[Feature::UTIL_EST]) {
        u64 estimate = sa.util_est;
        if (p != nullptr && dst == rq.cpu)
            estimate += task_util_est_only(*p);
        else if (p != nullptr && (p->on_rq == OnRq::queued || p->on_cpu))
            estimate = sub_positive(estimate, task_util_est_only(*p));
        util = std::max(util, estimate);
    }
    return std::min(util, rq.arch_capacity);
}

u64 cpu_util_cfs(const Scheduler &s, const Rq &rq) { return cpu_util(s, rq, nullptr, no_cpu, false); }
u64 cpu_util_cfs_boost(const Scheduler &s, const Rq &rq) { return cpu_util(s, rq, nullptr, no_cpu, true); }

u64 cpu_util_without(const Scheduler &s, const Rq &rq, const Task &p) {
    const bool counted = rq.cpu == p.cpu && p.se.avg.last_update_time != 0;
    return cpu_util(s, rq, counted ? &p : nullptr, no_cpu, false);
}

u64 task_h_load(Scheduler &s, const Task &p) { // PELT-81
    if (!s.tunables.group_scheduling)
        return p.se.avg.load_avg;
    update_cfs_rq_h_load(s, *p.se.cfs_rq);
    return read_task_h_load(s, p.se.avg.load_avg, *p.se.cfs_rq);
}

} // namespace fairground::fair
