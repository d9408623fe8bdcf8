// SPDX-License-Identifier: GPL-2.0-only
//
// What a pass counts in each group of the domain, and which group is the busiest (LB-44..53).
#include "fair/cache_aware.h"
#include "fair/lb_env.h"
#include "fair/pelt.h"

#include <algorithm>
#include <limits>

namespace fairground::fair {

bool sched_asym_prefer(const Scheduler &s, CpuId a, CpuId b) { return s.rq(a).asym_priority > s.rq(b).asym_priority; }

bool sched_use_asym_prio(const Scheduler &s, const Domain &sd, CpuId cpu) {
    if ((sd.flags & SD_ASYM_PACKING) == 0)
        return false;
    return !s.domains.smt_active || (sd.flags & SD_SHARE_CPUCAPACITY) != 0 || is_core_idle(s, cpu);
}

bool sched_asym(const Scheduler &s, const Domain &sd, CpuId dst, CpuId src) {
    return sched_use_asym_prio(s, sd, dst) && sched_asym_prefer(s, dst, src);
}

FbqType fbq_classify_group(const GroupStats &stats) {
    if (stats.sum_h_nr_running > stats.nr_numa_running)
        return FbqType::regular;
    return stats.sum_h_nr_running > stats.nr_preferred_running ? FbqType::remote : FbqType::all;
}

FbqType fbq_classify_rq(const Rq &rq) {
    if (rq.nr_running > rq.nr_numa_running)
        return FbqType::regular;
    return rq.nr_running > rq.nr_preferred_running ? FbqType::remote : FbqType::all;
}

int idle_cpu_scan(int span_weight, int imbalance_pct, u64 sum_util) {
    const u64 x = sum_util / static_cast<u64>(span_weight);
    const auto pct = static_cast<u64>(imbalance_pct);
    const u64 busy = std::min<u64>(x * x * pct * pct / (10000 * 1024), 1024);
    return static_cast<int>((1024 - busy) * static_cast<u64>(span_weight) / 1024);
}

namespace {

// LB-89.
bool group_asym(const LbEnv &env, const GroupStats &stats, const SchedGroup &group) {
    if (has_smt(group) && stats.group_weight - stats.idle_cpus != 1)
        return false;
    return sched_asym(env.s, env.sd, env.dst_cpu, group.asym_prefer_cpu);
}

// LB-47: a task too big for its CPU.
void count_misfit(const LbEnv &env, const SchedGroup &group, const Rq &rq, u64 load, GroupStats &stats,
                  bool &overloaded) {
    if (env.has(SD_ASYM_CPUCAPACITY)) {
        if (rq.misfit_task_load == 0)
            return;
        if (env.sd.parent == nullptr)
            overloaded = true;
        if (capacity_greater(env.dst_rq().cpu_capacity, group.sgc->max_capacity))
            stats.misfit_task_load = std::max(stats.misfit_task_load, rq.misfit_task_load);
    } else if (env.is_idle() && rq.cfs.h_nr_runnable == 1 && check_cpu_capacity(rq, env.sd)) {
        stats.misfit_task_load = std::max(stats.misfit_task_load, load);
    }
}

// update_sg_lb_stats (LB-46..51).
void update_sg_lb_stats(const LbEnv &env, const SchedGroup &group, bool local, GroupStats &stats, bool &overloaded) {
    Scheduler &s = env.s;
    const bool cache_aware = sched_cache_enabled(s);
    const int dst_llc = env.dst_rq().sd.llc_id;
    stats = GroupStats{};

    const CpuMask members = group.span & env.cpus;
    for (CpuId cpu : members) {
        const Rq &rq = s.rq(cpu);
        const u64 load = cpu_load(rq);
        stats.group_load += load;
        stats.group_util += cpu_util_cfs(s, rq);
        stats.group_runnable += cpu_runnable(rq);
        stats.sum_h_nr_running += rq.cfs.h_nr_runnable;
        stats.sum_nr_running += rq.nr_running;
        if (cache_aware && rq.sd.llc_id != dst_llc)
            stats.nr_pref_dst_llc += llc_count(rq, dst_llc); // LB-101

        if (idle_cpu(rq)) {
            stats.idle_cpus++;
            continue;
        }
        if (env.sd.parent == nullptr && rq.nr_running > 1)
            overloaded = true;
        if (env.has(SD_NUMA)) {
            stats.nr_numa_running += rq.nr_numa_running;
            stats.nr_preferred_running += rq.nr_preferred_running;
        }
        if (!local)
            count_misfit(env, group, rq, load, stats, overloaded);
    }

    stats.group_capacity = group.sgc->capacity;
    stats.group_weight = static_cast<u32>(group.weight);
    if (!local) { // LB-48
        stats.asym_packing = env.is_idle() && stats.sum_h_nr_running != 0 && group_asym(env, stats, group);
        stats.smt_balance = env.is_idle() && has_smt(group) && stats.sum_h_nr_running > 1;
        stats.llc_balance = cache_aware && llc_balance(env, stats, group);
    }
    stats.group_type = group_classify(static_cast<u32>(env.sd.imbalance_pct), group, stats);
    if (cache_aware)
        record_sg_llc_stats(env, stats, group);
    if (stats.group_type == GroupType::overloaded)
        stats.avg_load = stats.group_load * 1024 / stats.group_capacity; // LB-51
}

// LB-53, S: fewer idle CPUs wins, then more tasks.
bool busier_spare(const GroupStats &busiest, const GroupStats &stats) {
    if (stats.idle_cpus != busiest.idle_cpus)
        return stats.idle_cpus < busiest.idle_cpus;
    return stats.sum_nr_running > busiest.sum_nr_running;
}

} // namespace

bool update_sd_pick_busiest(const LbEnv &env, const SdStats &sds, const SchedGroup &group, const GroupStats &stats) {
    const GroupStats &busiest = sds.busiest_stat;
    const u64 dst_capacity = env.dst_rq().cpu_capacity;

    if (stats.sum_h_nr_running == 0)
        return false;
    if (env.has(SD_ASYM_CPUCAPACITY)) {
        if (stats.group_type == GroupType::misfit_task &&
            (!env.dst_core_idle || !capacity_greater(dst_capacity, group.sgc->max_capacity) ||
             sds.local_stat.group_type != GroupType::has_spare))
            return false;
        if (stats.group_type <= GroupType::fully_busy && capacity_greater(group.sgc->min_capacity, dst_capacity))
            return false;
    }
    if (stats.group_type != busiest.group_type)
        return stats.group_type > busiest.group_type;

    switch (stats.group_type) {
    case GroupType::overloaded:
        return stats.avg_load > busiest.avg_load;
    case GroupType::llc_balance:
        return stats.nr_pref_dst_llc > busiest.nr_pref_dst_llc;
    case GroupType::imbalanced:
        return false;
    case GroupType::asym_packing:
        return sched_asym_prefer(env.s, sds.busiest->asym_prefer_cpu, group.asym_prefer_cpu);
    case GroupType::misfit_task:
        return stats.misfit_task_load > busiest.misfit_task_load;
    case GroupType::smt_balance:
        if (stats.idle_cpus != 0 || busiest.idle_cpus != 0)
            return busier_spare(busiest, stats);
        [[fallthrough]];
    case GroupType::fully_busy:
        // avg_load is 0 for both: an SMT group is kept, otherwise the last one wins.
        return !has_smt(*sds.busiest);
    case GroupType::has_spare:
        break;
    }
    if (smt_vs_nonsmt_groups(sds.busiest, &group))
        return !has_smt(group) || stats.sum_h_nr_running > 1;
    return busier_spare(busiest, stats);
}

void update_sd_lb_stats(LbEnv &env, SdStats &sds) {
    Scheduler &s = env.s;
    u64 sum_util = 0;
    bool overloaded = false;
    GroupStats scratch;
    BalanceTrace::Round *round = env.pass != nullptr ? &env.pass->rounds.back() : nullptr;

    sds.busiest_stat.idle_cpus = std::numeric_limits<u32>::max(); // LB-52
    env.dst_core_idle = !s.domains.smt_active || is_core_idle(s, env.dst_cpu);

    int position = 0;
    for (SchedGroup *group : env.sd.groups) {
        const bool local = group->span.test(env.dst_cpu);
        GroupStats &stats = local ? sds.local_stat : scratch;
        if (local) {
            sds.local = group;
            if (env.idle != CpuIdle::newly_idle || s.jiffies >= group->sgc->next_update)
                update_group_capacity(s, env.sd, env.dst_cpu); // LB-44
        }
        update_sg_lb_stats(env, *group, local, stats, overloaded);
        if (!local && update_sd_pick_busiest(env, sds, *group, stats)) {
            sds.busiest = group;
            sds.busiest_stat = stats;
            if (round != nullptr)
                round->busiest = position;
        }
        sds.total_load += stats.group_load;
        sds.total_capacity += stats.group_capacity;
        sum_util += stats.group_util;
        if (round != nullptr) [[unlikely]] {
            round->groups.push_back(stats);
            if (local)
                round->local = position;
        }
        position++;
    }

    if (sds.busiest != nullptr)
        sds.prefer_sibling = (sds.busiest->flags & SD_PREFER_SIBLING) != 0;
    if (env.has(SD_NUMA))
        env.fbq_type = fbq_classify_group(sds.busiest_stat); // LB-65, NUMA-61
    if (env.sd.parent == nullptr)
        s.root.overloaded = overloaded; // LB-44
    if (s.features[Feature::SIS_UTIL] && env.idle != CpuIdle::newly_idle && env.sd.shared != nullptr)
        env.sd.shared->nr_idle_scan = idle_cpu_scan(env.sd.span_weight, env.sd.imbalance_pct, sum_util); // LB-45

    if (round != nullptr) [[unlikely]] {
        round->total_load = sds.total_load;
        round->total_capacity = sds.total_capacity;
        round->prefer_sibling = sds.prefer_sibling;
        round->fbq = env.fbq_type;
    }
}

} // namespace fairground::fair
