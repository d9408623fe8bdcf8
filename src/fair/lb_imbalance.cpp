// SPDX-License-Identifier: GPL-2.0-only
//
// Is there an imbalance, how much of what should move, and from which queue (LB-54..67).
#include "fair/cache_aware.h"
#include "fair/lb_env.h"
#include "fair/pelt.h"

#include <algorithm>

namespace fairground::fair {

s64 sibling_imbalance(bool idle, int busiest_cores, u32 busiest_running, int local_cores, u32 local_running) {
    if (!idle || busiest_running == 0)
        return 0;
    const auto positive = [](u32 a, u32 b) { return a > b ? s64{a} - s64{b} : 0; };
    if (busiest_cores == local_cores)
        return positive(busiest_running, local_running);

    // Products in 32 bits, as the kernel has them.
    const s64 difference =
        positive(static_cast<u32>(local_cores) * busiest_running, static_cast<u32>(busiest_cores) * local_running);
    const s64 cores = local_cores + busiest_cores;
    const s64 imbalance = (2 * difference + cores) / cores;
    return imbalance <= 1 && local_running == 0 && busiest_running > 1 ? 2 : imbalance;
}

namespace {

s64 sibling_imbalance(const LbEnv &env, const SdStats &sds) {
    return fair::sibling_imbalance(env.is_idle(), sds.busiest->cores, sds.busiest_stat.sum_nr_running, sds.local->cores,
                                   sds.local_stat.sum_nr_running);
}

void set(LbEnv &env, Rule rule, MigrationType type, s64 imbalance) {
    env.rule = rule;
    env.migration_type = type;
    env.imbalance = imbalance;
}

// LB-61 without LB-58, and what the P1 variants make of it. Differences are taken in 32 bits and clamped in 64, so a
// negative one becomes a huge positive one; only P1 as intended has a working clamp (NUMAPAIR-6).
// Where groups weigh the same, busy and idle CPUs differ by the same number (NUMAPAIR-5, -18); where they do not, v7.3
// counts the difference of the weights as idle CPUs (NUMAPAIR-13, -15, -19).
s64 idle_difference(const Features &features, const GroupStats &local, const GroupStats &busiest, Rule &rule) {
    const u32 local_busy = local.group_weight - local.idle_cpus; // NUMAPAIR-7
    const u32 busiest_busy = busiest.group_weight - busiest.idle_cpus;
    if (features[Feature::NUMA_PAIR_P1_LITERAL]) {
        rule = "NUMAPAIR-6";
        return u32{busiest_busy - local_busy};
    }
    if (features[Feature::NUMA_PAIR_P1]) {
        rule = "NUMAPAIR-3";
        return std::max<s64>(0, s64{busiest_busy} - s64{local_busy});
    }
    rule = "LB-61";
    return u32{local.idle_cpus - busiest.idle_cpus};
}

// LB-60, LB-61: the local group has room.
void imbalance_to_spare(LbEnv &env, const SdStats &sds) {
    const GroupStats &local = sds.local_stat;
    const GroupStats &busiest = sds.busiest_stat;
    if (busiest.group_type > GroupType::fully_busy && !env.has(SD_SHARE_LLC)) {
        set(env, "LB-60", MigrationType::util,
            static_cast<s64>(std::max(local.group_capacity, local.group_util) - local.group_util));
        if (env.is_idle() && env.imbalance == 0)
            set(env, "LB-60", MigrationType::task, 1);
        return;
    }
    // Only the last alternative is a matter of P1 (NUMAPAIR-4); groups with PREFER_SIBLING, single nodes reached by
    // descent among them, compare by cores (NUMAPAIR-14, -20).
    Rule rule = "LB-58";
    s64 imbalance = busiest.group_weight == 1 || sds.prefer_sibling
                        ? sibling_imbalance(env, sds)
                        : idle_difference(env.s.features, local, busiest, rule);
    if (env.has(SD_NUMA)) {
        // The parameter is an int: a wrapped difference turns negative here.
        const int allowed = adjust_numa_imbalance(env.s.features, static_cast<int>(imbalance),
                                                  static_cast<int>(local.sum_nr_running + 1), env.sd.imb_numa_nr);
        if (allowed == 0 && imbalance != 0)
            rule = env.s.features[Feature::NUMA_PAIR_P3] ? "NUMAPAIR-11" : "LB-64";
        imbalance = allowed;
    }
    set(env, rule, MigrationType::task, imbalance >> 1);
}

} // namespace

void calculate_imbalance(LbEnv &env, SdStats &sds) {
    GroupStats &local = sds.local_stat;
    const GroupStats &busiest = sds.busiest_stat;

    switch (busiest.group_type) { // LB-59
    case GroupType::misfit_task:
        if (env.has(SD_ASYM_CPUCAPACITY))
            return set(env, "LB-59", MigrationType::misfit, 1);
        return set(env, "LB-59", MigrationType::load, static_cast<s64>(busiest.misfit_task_load));
    case GroupType::asym_packing:
        return set(env, "LB-59", MigrationType::task, busiest.sum_h_nr_running);
    case GroupType::smt_balance:
    case GroupType::imbalanced:
        return set(env, "LB-59", MigrationType::task, 1);
    case GroupType::llc_balance:
        return set(env, "LB-59", MigrationType::llc_task, 1);
    case GroupType::has_spare:
    case GroupType::fully_busy:
    case GroupType::overloaded:
        break;
    }

    if (local.group_type == GroupType::has_spare)
        return imbalance_to_spare(env, sds);

    if (local.group_type < GroupType::overloaded) { // LB-62
        env.rule = "LB-62";
        env.imbalance = 0;
        local.avg_load = local.group_load * 1024 / local.group_capacity;
        if (local.avg_load >= busiest.avg_load)
            return;
        sds.avg_load = sds.total_load * 1024 / sds.total_capacity;
        if (local.avg_load >= sds.avg_load)
            return;
    }
    // LB-63, unsigned: an average above the busiest's wraps and loses the min.
    const u64 from = (busiest.avg_load - sds.avg_load) * busiest.group_capacity;
    const u64 to = (sds.avg_load - local.avg_load) * local.group_capacity;
    set(env, "LB-63", MigrationType::load, static_cast<s64>(std::min(from, to) / 1024));
}

namespace {

// LB-54..57: true if the pair is out of balance; env.rule is the test that decided.
bool imbalanced(LbEnv &env, SdStats &sds) {
    const GroupStats &local = sds.local_stat;
    const GroupStats &busiest = sds.busiest_stat;
    const auto decided = [&env](Rule rule, bool result) {
        env.rule = rule;
        return result;
    };

    if (sds.busiest == nullptr)
        return decided("LB-54", false);
    if (busiest.group_type == GroupType::misfit_task || busiest.group_type == GroupType::asym_packing ||
        busiest.group_type == GroupType::imbalanced)
        return decided("LB-54", true);
    if (local.group_type > busiest.group_type)
        return decided("LB-54", false);

    if (local.group_type == GroupType::overloaded) { // LB-55
        if (local.avg_load >= busiest.avg_load)
            return decided("LB-55", false);
        sds.avg_load = sds.total_load * 1024 / sds.total_capacity;
        if (local.avg_load >= sds.avg_load ||
            100 * busiest.avg_load <= static_cast<u64>(env.sd.imbalance_pct) * local.avg_load)
            return decided("LB-55", false);
    }

    if (sds.prefer_sibling && local.group_type == GroupType::has_spare &&
        (busiest.group_type == GroupType::llc_balance || sibling_imbalance(env, sds) > 1))
        return decided("LB-56", true);

    if (busiest.group_type != GroupType::overloaded) { // LB-57
        if (!env.is_idle())
            return decided("LB-57", false);
        if (busiest.group_type == GroupType::smt_balance && smt_vs_nonsmt_groups(sds.local, sds.busiest))
            return decided("LB-57", true);
        if (busiest.group_weight > 1 && local.idle_cpus <= busiest.idle_cpus + 1)
            return decided("LB-57", false);
        if (busiest.sum_h_nr_running == 1) // so a pair once split stays split (NUMAPAIR-17)
            return decided("LB-57", false);
    }
    return decided("LB-57", true);
}

} // namespace

SchedGroup *find_src_group(LbEnv &env, SdStats &sds) {
    env.imbalance = 0;
    const bool calculate = imbalanced(env, sds);
    if (calculate)
        calculate_imbalance(env, sds);
    SchedGroup *group = env.imbalance != 0 ? sds.busiest : nullptr;
    if (env.pass != nullptr) [[unlikely]] {
        BalanceTrace::Round &round = env.pass->rounds.back();
        round.calculated = calculate;
        round.imbalance = env.imbalance;
        round.type = env.migration_type;
        round.rule = env.rule;
        if (group != nullptr)
            round.group = round.busiest;
    }
    return group;
}

SchedGroup *sched_balance_find_src_group(LbEnv &env) {
    SdStats sds;
    update_sd_lb_stats(env, sds);
    return find_src_group(env, sds);
}

CpuId sched_balance_find_src_rq(LbEnv &env, const SchedGroup &group) {
    Scheduler &s = env.s;
    const Rq &dst = env.dst_rq();
    CpuId busiest;
    u64 most = 0;
    u64 busiest_capacity = 1;
    const auto take_larger = [&](CpuId cpu, u64 value) {
        if (value > most) {
            most = value;
            busiest = cpu;
        }
    };

    const CpuMask candidates = group.span & env.cpus;
    for (CpuId cpu : candidates) { // LB-66
        const Rq &rq = s.rq(cpu);
        const u32 running = rq.cfs.h_nr_runnable;
        if (fbq_classify_rq(rq) > env.fbq_type || running == 0)
            continue;
        if (env.has(SD_ASYM_CPUCAPACITY) && running == 1) {
            const bool cluster_equal = s.domains.cluster_active && actual_cpu_capacity(dst) == actual_cpu_capacity(rq);
            const bool smt_degraded = s.domains.smt_active && !is_core_idle(s, cpu);
            if (!smt_degraded && !cluster_equal && !capacity_greater(dst.cpu_capacity, rq.cpu_capacity))
                continue;
        }
        if (running == 1 && sched_asym(s, env.sd, cpu, env.dst_cpu))
            continue;

        switch (env.migration_type) { // LB-67
        case MigrationType::load: {
            const u64 load = cpu_load(rq);
            if (running == 1 && static_cast<s64>(load) > env.imbalance && !check_cpu_capacity(rq, env.sd))
                break;
            if (load * busiest_capacity > most * rq.cpu_capacity) {
                most = load;
                busiest_capacity = rq.cpu_capacity;
                busiest = cpu;
            }
            break;
        }
        case MigrationType::util:
            if (running > 1)
                take_larger(cpu, cpu_util_cfs_boost(s, rq));
            break;
        case MigrationType::task:
            take_larger(cpu, running);
            break;
        case MigrationType::misfit:
            take_larger(cpu, rq.misfit_task_load);
            break;
        case MigrationType::llc_task:
            take_larger(cpu, llc_count(rq, dst.sd.llc_id));
            break;
        }
    }
    return busiest;
}

} // namespace fairground::fair
