// SPDX-License-Identifier: GPL-2.0-only
#include "fair/group_class.h"

#include <algorithm>
#include <array>

namespace fairground::fair {

std::string_view group_type_name(GroupType type) {
    constexpr std::array<std::string_view, 8> names = {"has_spare",    "fully_busy", "misfit_task", "smt_balance",
                                                       "asym_packing", "imbalanced", "llc_balance", "overloaded"};
    return names[static_cast<std::size_t>(type)];
}

// WAKE-162, LB-49. Energy-aware scheduling, which would ask for an overutilised CPU too, is not modelled (WAKE-200).
bool group_is_overloaded(u32 pct, const GroupStats &stats) {
    if (stats.sum_nr_running <= stats.group_weight)
        return false;
    return stats.group_capacity * 100 < stats.group_util * pct ||
           stats.group_capacity * pct < stats.group_runnable * 100;
}

// WAKE-163, LB-49.
bool group_has_capacity(u32 pct, const GroupStats &stats) {
    if (stats.sum_nr_running < stats.group_weight)
        return true;
    return stats.group_capacity * pct >= stats.group_runnable * 100 &&
           stats.group_capacity * 100 > stats.group_util * pct;
}

// WAKE-164, LB-50.
GroupType group_classify(u32 pct, const SchedGroup &group, const GroupStats &stats) {
    if (group_is_overloaded(pct, stats))
        return GroupType::overloaded;
    if (stats.llc_balance)
        return GroupType::llc_balance;
    if (group.sgc->imbalance)
        return GroupType::imbalanced;
    if (stats.asym_packing)
        return GroupType::asym_packing;
    if (stats.smt_balance)
        return GroupType::smt_balance;
    if (stats.misfit_task_load != 0)
        return GroupType::misfit_task;
    return group_has_capacity(pct, stats) ? GroupType::has_spare : GroupType::fully_busy;
}

// WAKE-172, LB-64, NUMA-64, NUMAPAIR-11, NUMAPAIR-12.
int adjust_numa_imbalance(const Features &features, int imbalance, int dst_running, int imb_numa_nr) {
    if (dst_running > imb_numa_nr)
        return imbalance;
    const int tolerated = features[Feature::NUMA_PAIR_P3] ? std::min(imb_numa_nr, 4) : 2;
    return imbalance <= tolerated ? 0 : imbalance;
}

// WAKE-140. A task capped to what the CPU can give at most always fits it; a cap of 1024 caps nothing.
int util_fits_cpu(u64 util, u64 uclamp_min, u64 uclamp_max, const Rq &rq) {
    const bool uncapped = rq.arch_capacity == 1024 && uclamp_max == 1024;
    const bool capped_fits = !uncapped && uclamp_max <= rq.arch_capacity;
    if (!capped_fits && !fits_capacity(util, rq.cpu_capacity))
        return 0;
    const u64 boost = std::min(uclamp_min, uclamp_max);
    return util < boost && boost > actual_cpu_capacity(rq) ? -1 : 1;
}

bool is_core_idle(const Scheduler &s, CpuId cpu) {
    for (CpuId sibling : s.rq(cpu).sd.smt)
        if (sibling != cpu && !idle_cpu(s.rq(sibling)))
            return false;
    return true;
}

} // namespace fairground::fair
