// SPDX-License-Identifier: GPL-2.0-only
#include "fair/slow_path.h"

#include "fair/h_load.h"
#include "fair/idle_search.h"
#include "fair/pelt.h"
#include "fair/wake_placement.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace fairground::fair {

namespace {

u64 without(u64 sum, u64 part) { return sum > part ? sum - part : 0; }

// What a CPU carries apart from the task. `mine`: the task's averages are part of the CPU's (WAKE-160).
struct CpuStats {
    u64 load;
    u64 util;
    u64 runnable;
};

CpuStats cpu_stats_without(const Scheduler &s, const Rq &rq, const Newcomer &task, bool mine) {
    const SchedAvg &avg = rq.cfs.avg;
    CpuStats stats{avg.load_avg, avg.util_avg, avg.runnable_avg};
    u64 estimate = avg.util_est;
    if (mine) {
        stats.load = without(stats.load, read_task_h_load(s, task.avg.load_avg, *task.p.se.cfs_rq));
        stats.util = without(stats.util, task.avg.util_avg);
        stats.runnable = without(stats.runnable, task.avg.runnable_avg);
        if (task.p.on_rq == OnRq::queued || task.p.on_cpu)
            estimate = without(estimate, task.avg.util_est & ~util_avg_unchanged);
    }
    if (s.features[Feature::UTIL_EST])
        stats.util = std::max(stats.util, estimate);
    stats.util = std::min(stats.util, rq.arch_capacity);
    return stats;
}

// The CPU would have nothing to run if the task were elsewhere; its counters have been looked at already.
bool idle_cpu_without(const Rq &rq, const Task &p) {
    return (rq.current_class == SchedClass::idle || rq.curr == &p) && !rq.ttwu_pending;
}

bool task_fits_cpu(const Newcomer &task, const Rq &rq) {
    const u64 util = std::max(task.avg.util_avg, u64{task.avg.util_est & ~util_avg_unchanged});
    return util_fits_cpu(util, task.p.uclamp_min, task.p.uclamp_max, rq) > 0;
}

struct RankedGroup {
    SchedGroup *group = nullptr;
    GroupStats stats;
};

// WAKE-166: does a non-local group replace the best one so far?
bool is_idler(const RankedGroup &candidate, const RankedGroup &best) {
    const GroupStats &a = candidate.stats;
    const GroupStats &b = best.stats;
    if (a.group_type != b.group_type)
        return a.group_type < b.group_type;
    switch (a.group_type) {
    case GroupType::overloaded:
    case GroupType::fully_busy:
        return a.avg_load < b.avg_load;
    case GroupType::misfit_task:
        return candidate.group->sgc->max_capacity > best.group->sgc->max_capacity;
    case GroupType::has_spare:
        if (a.idle_cpus != b.idle_cpus)
            return a.idle_cpus > b.idle_cpus;
        return a.group_util < b.group_util;
    default:
        return false; // the other classes do not occur here, or never win
    }
}

// WAKE-171, NUMAPAIR-8..10: by how much two spare groups differ, in idle or (P2) in busy CPUs.
int spare_imbalance(const Scheduler &s, const GroupStats &local, const GroupStats &idlest) {
    if (s.features[Feature::NUMA_PAIR_P2]) {
        const int local_busy = static_cast<int>(local.group_weight - local.idle_cpus);
        const int idlest_busy = static_cast<int>(idlest.group_weight - idlest.idle_cpus);
        return std::abs(idlest_busy - local_busy);
    }
    return std::abs(static_cast<int>(local.idle_cpus) - static_cast<int>(idlest.idle_cpus));
}

struct Verdict {
    bool move;
    Rule rule;
    s64 amount = 0; // what was compared with the allowance
};

// WAKE-168.
Verdict compare_loads(const Domain &sd, const GroupStats &local, const GroupStats &idlest) {
    const auto pct = static_cast<u64>(sd.imbalance_pct);
    const u64 imbalance = 1024 * (pct - 100) / 100;
    // Across nodes the margin must work against moving, not for it.
    const bool near_enough = (sd.flags & SD_NUMA) != 0 && idlest.avg_load + imbalance >= local.avg_load;
    const bool stay =
        near_enough || idlest.avg_load >= local.avg_load + imbalance || 100 * local.avg_load <= pct * idlest.avg_load;
    return {!stay, "WAKE-168", static_cast<s64>(local.avg_load) - static_cast<s64>(idlest.avg_load)};
}

// WAKE-170..173, LB-86, LB-87.
Verdict compare_spare(const Scheduler &s, const Domain &sd, const Task &p, CpuId this_cpu, const RankedGroup &local,
                      const RankedGroup &idlest) {
    if ((sd.flags & SD_NUMA) != 0) {
        const auto preferred = [&](CpuId cpu) {
            return p.numa_preferred_nid.valid() && s.rq(cpu).sd.node == p.numa_preferred_nid;
        };
        if (preferred(this_cpu))
            return {false, "WAKE-170"};
        if (preferred(idlest.group->span.first()))
            return {true, "WAKE-170"};
        const int allowed = (p.cpus_allowed & local.group->span).weight();
        const int imbalance = spare_imbalance(s, local.stats, idlest.stats);
        if (adjust_numa_imbalance(s.features, imbalance, static_cast<int>(local.stats.sum_nr_running) + 1,
                                  std::min(allowed, sd.imb_numa_nr)) == 0)
            return {false, "WAKE-171", imbalance};
    }
    const auto difference = static_cast<s64>(idlest.stats.idle_cpus) - static_cast<s64>(local.stats.idle_cpus);
    return {difference > 0, "WAKE-173", difference};
}

Verdict compare(const Scheduler &s, const Domain &sd, const Task &p, CpuId this_cpu, const RankedGroup &local,
                const RankedGroup &idlest) {
    if (idlest.group == nullptr || local.group == nullptr)
        return {idlest.group != nullptr, "WAKE-167"};
    const GroupType type = local.stats.group_type;
    if (type != idlest.stats.group_type)
        return {type > idlest.stats.group_type, "WAKE-167"};
    switch (type) {
    case GroupType::overloaded:
    case GroupType::fully_busy:
        return compare_loads(sd, local.stats, idlest.stats);
    case GroupType::misfit_task:
        return {local.group->sgc->max_capacity < idlest.group->sgc->max_capacity, "WAKE-169"};
    case GroupType::has_spare:
        return compare_spare(s, sd, p, this_cpu, local, idlest);
    default:
        return {false, "WAKE-169"};
    }
}

SchedGroup *find_dst_group(const Scheduler &s, const Domain &sd, const Newcomer &task, CpuId this_cpu, Rule *rule) {
    RankedGroup local;
    RankedGroup idlest;
    idlest.stats.group_type = GroupType::overloaded;
    idlest.stats.avg_load = std::numeric_limits<u32>::max();

    for (SchedGroup *group : sd.groups) {
        if (!group->span.intersects(task.p.cpus_allowed))
            continue;
        const RankedGroup candidate{group, wakeup_stats(s, sd, *group, task)};
        if (group->span.test(this_cpu))
            local = candidate;
        else if (is_idler(candidate, idlest))
            idlest = candidate;
    }

    const Verdict verdict = compare(s, sd, task.p, this_cpu, local, idlest);
    if (rule != nullptr)
        *rule = verdict.rule;
    SchedGroup *chosen = verdict.move ? idlest.group : nullptr;
    s.decide({s.now, DecisionKind::dst_group, this_cpu, task.p.id, this_cpu,
              chosen != nullptr ? chosen->span.first().value : -1, verdict.amount, verdict.rule});
    return chosen;
}

} // namespace

GroupStats wakeup_stats(const Scheduler &s, const Domain &sd, const SchedGroup &group, const Newcomer &task) {
    const bool asymmetric = (sd.flags & SD_ASYM_CPUCAPACITY) != 0;
    const bool attached = task.avg.last_update_time != 0;
    GroupStats stats;
    stats.misfit_task_load = asymmetric ? 1 : 0; // until it fits somewhere
    for (CpuId cpu : group.span) {
        if (!task.p.cpus_allowed.test(cpu))
            continue;
        const Rq &rq = s.rq(cpu);
        const bool mine = attached && cpu == task.p.cpu;
        const u32 local = mine && task.p.on_rq == OnRq::queued ? 1 : 0;
        const CpuStats sums = cpu_stats_without(s, rq, task, mine);
        const u32 nr_running = rq.nr_running - local;
        stats.group_load += sums.load;
        stats.group_util += sums.util;
        stats.group_runnable += sums.runnable;
        stats.sum_h_nr_running += rq.cfs.h_nr_runnable - local;
        stats.sum_nr_running += nr_running;
        if (nr_running == 0 && idle_cpu_without(rq, task.p))
            stats.idle_cpus++;
        if (stats.misfit_task_load != 0 && task_fits_cpu(task, rq))
            stats.misfit_task_load = 0;
    }
    stats.group_capacity = group.sgc->capacity; // WAKE-161
    stats.group_weight = static_cast<u32>(group.weight);
    stats.group_type = group_classify(static_cast<u32>(sd.imbalance_pct), group, stats);
    if (stats.group_type == GroupType::fully_busy || stats.group_type == GroupType::overloaded) // WAKE-165
        stats.avg_load = stats.group_load * 1024 / stats.group_capacity;
    return stats;
}

SchedGroup *sched_balance_find_dst_group(const Scheduler &s, const Domain &sd, const Task &p, CpuId this_cpu,
                                         Rule *rule) {
    return find_dst_group(s, sd, {p, p.se.avg}, this_cpu, rule);
}

DstCpu sched_balance_find_dst_group_cpu(const Scheduler &s, const SchedGroup &group, const Task &p, CpuId this_cpu) {
    if (group.weight == 1)
        return {group.span.first(), "WAKE-180"};
    constexpr s64 infinite = std::numeric_limits<s64>::max();
    s64 min_exit_latency = infinite;
    u64 latest_idle_stamp = 0;
    u64 min_load = std::numeric_limits<u64>::max();
    CpuId shallowest;
    CpuId least_loaded = this_cpu;
    Rule least_rule = "WAKE-184"; // no CPU taken

    for (CpuId cpu : group.span) {
        if (!p.cpus_allowed.test(cpu))
            continue;
        const Rq &rq = s.rq(cpu);
        if (choose_sched_idle_rq(rq, p))
            return {cpu, "WAKE-181"};
        if (idle_cpu(rq)) {
            const bool in_state = rq.exit_latency >= 0;
            if (in_state && rq.exit_latency < min_exit_latency) {
                min_exit_latency = rq.exit_latency;
                latest_idle_stamp = rq.idle_stamp;
                shallowest = cpu;
            } else if ((!in_state || rq.exit_latency == min_exit_latency) && rq.idle_stamp > latest_idle_stamp) {
                latest_idle_stamp = rq.idle_stamp;
                shallowest = cpu;
            }
        } else if (!shallowest.valid() && rq.cfs.avg.load_avg < min_load) {
            min_load = rq.cfs.avg.load_avg;
            least_loaded = cpu;
            least_rule = "WAKE-183";
        }
    }
    if (shallowest.valid())
        return {shallowest, "WAKE-182"};
    return {least_loaded, least_rule};
}

DstCpu sched_balance_find_dst_cpu(const Scheduler &s, Domain *sd, const Newcomer &task, CpuId cpu, u32 sd_flag) {
    DstCpu result{cpu, "WAKE-151"};
    while (sd != nullptr) {
        const SchedGroup *group = nullptr;
        if ((sd->flags & sd_flag) != 0)
            group = find_dst_group(s, *sd, task, cpu, nullptr);
        if (group == nullptr) {
            sd = sd->child;
            continue;
        }
        result = sched_balance_find_dst_group_cpu(s, *group, task.p, cpu);
        if (result.cpu == cpu) {
            sd = sd->child;
            continue;
        }
        cpu = result.cpu;
        const int weight = sd->span_weight;
        sd = nullptr;
        for (Domain *lower = s.rq(cpu).sd.base; lower != nullptr && lower->span_weight < weight; lower = lower->parent)
            if ((lower->flags & sd_flag) != 0)
                sd = lower;
    }
    return result;
}

} // namespace fairground::fair
