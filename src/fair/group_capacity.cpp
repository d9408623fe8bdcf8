// SPDX-License-Identifier: GPL-2.0-only
//
// Capacity of CPUs and groups as fair tasks see it, and the task that does not fit its CPU.
#include "fair/group_class.h"
#include "fair/load_balance.h"
#include "fair/pelt.h"

#include <algorithm>
#include <limits>

namespace fairground::fair {

// TOPO-45: what irq time and the higher classes leave.
u64 scale_rt_capacity(const Rq &rq) {
    const u64 max = actual_cpu_capacity(rq);
    const u64 irq = rq.avg_irq.util_avg;
    if (irq >= max)
        return 1;
    const u64 used = rq.avg_rt.util_avg + rq.avg_dl.util_avg;
    if (used >= max)
        return 1;
    return std::max<u64>((max - used) * (max - irq) / max, 1);
}

// TOPO-44. Always refreshes the first group, whatever local group the caller met (LB-44).
void update_group_capacity(Scheduler &s, Domain &sd, CpuId cpu) {
    GroupCapacity &own = *sd.groups.front()->sgc;
    const u64 interval = (u64{sd.balance_interval} * s.tunables.hz + 999) / 1000;
    own.next_update = s.jiffies + std::min(std::max<u64>(interval, 1), s.max_load_balance_interval);

    if (sd.child == nullptr) {
        const u64 capacity = scale_rt_capacity(s.rq(cpu));
        s.rq(cpu).cpu_capacity = capacity;
        own.capacity = own.min_capacity = own.max_capacity = capacity;
        return;
    }

    u64 sum = 0;
    u64 low = std::numeric_limits<u64>::max();
    u64 high = 0;
    if ((sd.child->flags & SD_NUMA) != 0) {
        // Groups of a NUMA child overlap, so its objects cannot be added up.
        for (CpuId member : sd.groups.front()->span) {
            const u64 capacity = s.rq(member).cpu_capacity;
            sum += capacity;
            low = std::min(low, capacity);
            high = std::max(high, capacity);
        }
    } else {
        for (const SchedGroup *group : sd.child->groups) {
            sum += group->sgc->capacity;
            low = std::min(low, group->sgc->min_capacity);
            high = std::max(high, group->sgc->max_capacity);
        }
    }
    own.capacity = sum;
    own.min_capacity = low;
    own.max_capacity = high;
}

// LB-90.
void update_misfit_status(Scheduler &s, const Task *p, Rq &rq) {
    if (!s.domains.asym_cpucapacity)
        return;
    rq.misfit_task_load = 0;
    if (p == nullptr || p->nr_cpus_allowed == 1)
        return;
    u64 max_allowed_capacity = 0;
    for (CpuId cpu : p->cpus_allowed &s.active)
        max_allowed_capacity = std::max(max_allowed_capacity, s.rq(cpu).arch_capacity);
    if (rq.arch_capacity == max_allowed_capacity ||
        util_fits_cpu(task_util_est(*p), p->uclamp_min, p->uclamp_max, rq) > 0)
        return;
    rq.misfit_task_load = std::max<u64>(task_h_load(s, *p), 1);
}

// LB-36.
void sched_balance_update_blocked_averages(Scheduler &s, Rq &rq) {
    update_rq_clock(s, rq);
    rq.last_blocked_load_update_tick = s.jiffies;
    if (update_blocked_averages(s, rq))
        rq.has_blocked_load = false;
}

} // namespace fairground::fair
