// SPDX-License-Identifier: GPL-2.0-only
#include "fair/cache_aware.h"

#include "fair/lb_env.h"
#include "fair/pelt.h"

#include <algorithm>
#include <limits>

namespace fairground::fair {

namespace {

constexpr u64 page_size = 4096;

u64 epoch_period(const Scheduler &s) {
    const u32 period = s.tunables.llc_epoch_period != 0 ? s.tunables.llc_epoch_period : s.tunables.hz / 100;
    return std::max<u64>(period, 1);
}

// scale(m) of LB-94; INT_MAX stands for infinite.
int cache_scale(const Scheduler &s, int multiplier) {
    const u32 tolerance = s.tunables.llc_aggr_tolerance;
    if (tolerance == 0)
        return 0;
    if (tolerance >= 100)
        return std::numeric_limits<int>::max();
    return 1 + static_cast<int>(tolerance - 1) * multiplier;
}

int llc_id(const Scheduler &s, CpuId cpu) { return cpu.valid() ? s.rq(cpu).sd.llc_id : -1; }

// Counts in the runnable part of the preferred LLC (LB-95).
bool pref_llc_runnable(const Task &p) { return p.pref_llc_queued && !p.se.sched_delayed; }

} // namespace

SchedCacheGroup make_cache_group(const Scheduler &s) {
    SchedCacheGroup group;
    group.cpus.resize(s.rqs.size());
    for (std::size_t cpu = 0; cpu < s.rqs.size(); cpu++) {
        group.cpus[cpu].epoch = s.rqs[cpu].cpu_epoch;
        group.epoch = s.rqs[cpu].cpu_epoch;
    }
    group.next_scan = s.jiffies;
    return group;
}

// LB-95.
void count_llc_enqueue(const Scheduler &s, Rq &rq, Task &p) {
    const int llc = p.preferred_llc;
    p.pref_llc_queued = llc == llc_id(s, p.cpu);
    if (pref_llc_runnable(p))
        rq.nr_pref_llc_running++;
    if (rq.sd.base != nullptr && static_cast<u32>(llc) < rq.sd.base->llc_counts.size())
        rq.sd.base->llc_counts[static_cast<u32>(llc)]++;
}

void count_llc_dequeue(Rq &rq, Task &p) {
    const int llc = p.preferred_llc;
    if (pref_llc_runnable(p))
        rq.nr_pref_llc_running--;
    p.pref_llc_queued = false;
    if (llc_count(rq, llc) > 0)
        rq.sd.base->llc_counts[static_cast<u32>(llc)]--;
}

namespace {

// LB-92.
void update_epoch(const Scheduler &s, Rq &rq, SchedCacheGroup::Time &time) {
    const auto halve = [](u64 &value, u64 epochs) { value = epochs < 64 ? value >> epochs : 0; };
    const u64 period = epoch_period(s);
    const auto late = static_cast<s64>(s.jiffies - rq.cpu_epoch_next);
    if (late > 0) {
        const u64 epochs = (static_cast<u64>(late) + period - 1) / period;
        rq.cpu_epoch += epochs;
        rq.cpu_epoch_next += epochs * period;
        halve(rq.cpu_runtime, epochs);
    }
    const u64 behind = rq.cpu_epoch - time.epoch;
    time.epoch += behind;
    halve(time.runtime, behind);
}

// LB-93, WAKE-213; NUMA-65: a preferred node elsewhere overrules it.
int preferred_llc(const Scheduler &s, const SchedCacheGroup &group, const Task &p) {
    if (!group.cpu.valid())
        return -1;
    if (s.tunables.numa_balancing && p.numa_preferred_nid.valid() && s.rq(group.cpu).sd.node != p.numa_preferred_nid)
        return -1;
    return llc_id(s, group.cpu);
}

} // namespace

void account_mm_sched(Scheduler &s, Rq &rq, Task &p, u64 delta_exec) {
    if (!sched_cache_enabled(s) || p.kthread || p.cache_group == nullptr)
        return;
    SchedCacheGroup &group = *p.cache_group;
    SchedCacheGroup::Time &time = group.cpus[static_cast<u32>(rq.cpu.value)];
    update_epoch(s, rq, time);
    time.runtime += delta_exec;
    rq.cpu_runtime += delta_exec;

    if (static_cast<s64>(rq.cpu_epoch - group.epoch) > s64{s.tunables.llc_epoch_affinity_timeout} ||
        invalid_llc_nr(s, group, p, rq.cpu) || exceed_llc_capacity(s, group, rq.cpu))
        group.cpu = no_cpu;

    const int llc = preferred_llc(s, group, p);
    const bool queued_here = p.cpu == rq.cpu && p.se.avg.last_update_time != 0 && p.on_rq == OnRq::queued;
    if (queued_here && p.preferred_llc != llc) {
        account_llc_dequeue(rq, p);
        p.preferred_llc = llc;
        account_llc_enqueue(s, rq, p);
    }
}

// LB-96.
bool task_tick_cache(Scheduler &s, const Rq &rq, const Task &p) {
    if (!sched_cache_enabled(s) || p.kthread || p.cache_group == nullptr)
        return false;
    SchedCacheGroup &group = *p.cache_group;
    if (static_cast<s64>(group.epoch - rq.cpu_epoch) >= 0)
        return false;
    group.epoch = rq.cpu_epoch;
    return true;
}

void task_cache_work(Scheduler &s, const Task &p) {
    if (p.exiting || p.cache_group == nullptr)
        return;
    SchedCacheGroup &group = *p.cache_group;
    if (s.jiffies < group.next_scan)
        return;
    group.next_scan = s.jiffies + epoch_period(s);
    if (invalid_llc_nr(s, group, p, p.cpu) || exceed_llc_capacity(s, group, p.cpu)) {
        group.cpu = no_cpu;
        return;
    }

    CpuMask scan = s.active;
    if (s.tunables.numa_balancing && p.numa_preferred_nid.valid()) {
        const NodeId preferred_cpu_node = group.cpu.valid() ? s.rq(group.cpu).sd.node : NodeId{};
        const NodeId current = s.rq(p.cpu).sd.node;
        for (CpuId cpu : s.active) {
            const NodeId node = s.rq(cpu).sd.node;
            const bool in = node == p.numa_preferred_nid || node == current ||
                            (preferred_cpu_node.valid() && node == preferred_cpu_node);
            if (!in)
                scan.clear(cpu);
        }
    }

    u64 best = 0;
    u64 present = 0; // occupancy of the LLC preferred so far
    CpuId best_cpu;
    u64 running = 0;
    for (CpuId cpu = scan.first(); cpu.valid(); cpu = scan.next(cpu + 1)) {
        const Domain *llc = s.rq(cpu).sd.llc;
        if (llc == nullptr)
            continue;
        u64 sum = 0;
        u64 largest = 0;
        CpuId largest_cpu;
        for (CpuId member : llc->span) {
            Rq &rq = s.rq(member);
            SchedCacheGroup::Time &time = group.cpus[static_cast<u32>(member.value)];
            update_epoch(s, rq, time);
            const u64 occupancy = nice_0_load * time.runtime / (rq.cpu_runtime + 1);
            sum += occupancy;
            if (occupancy > largest) {
                largest = occupancy;
                largest_cpu = member;
            }
            const Task *current = rq.curr;
            if (current != nullptr && !current->exiting && !current->kthread && current->cache_group == &group)
                running++;
        }
        if (sum > best) {
            best = sum;
            best_cpu = largest_cpu;
        }
        if (group.cpu.valid() && llc_id(s, cpu) == llc_id(s, group.cpu))
            present = sum;
        scan -= llc->span;
    }
    if (best > 2 * present)
        group.cpu = best_cpu;

    const auto difference = static_cast<s64>(running - group.nr_running_avg);
    const s64 divisor = std::clamp(s.rq(p.cpu).sd.llc_size >> 2, 2, 8);
    group.nr_running_avg += static_cast<u64>(difference / divisor);
}

// LB-94.
bool invalid_llc_nr(const Scheduler &s, const SchedCacheGroup &group, const Task &p, CpuId cpu) {
    if (p.nr_threads <= 1)
        return true;
    const int scale = cache_scale(s, 1);
    if (scale == std::numeric_limits<int>::max())
        return false;
    return !fits_capacity(group.nr_running_avg * static_cast<u64>(s.smt_num_threads),
                          static_cast<u64>(scale) * static_cast<u64>(s.rq(cpu).sd.llc_size));
}

bool exceed_llc_capacity(const Scheduler &s, const SchedCacheGroup &group, CpuId cpu) {
    const Domain *base = s.rq(cpu).sd.base;
    if (base == nullptr)
        return true;
    if (!s.tunables.numa_balancing)
        return false;
    const int scale = cache_scale(s, 256);
    if (scale == std::numeric_limits<int>::max())
        return false;
    return base->llc_bytes * static_cast<u64>(scale) < group.footprint * page_size;
}

LlcMig can_migrate_llc(const Scheduler &s, LlcLoad src, LlcLoad dst, u64 task_util, bool to_pref) {
    const u32 pct = s.smt_num_threads == 1 ? s.tunables.llc_overaggr_pct * 3 / 2 : s.tunables.llc_overaggr_pct;
    const auto fits = [pct](u64 util, u64 capacity) { return util * 100 < capacity * pct; };
    const auto greater = [&s](u64 a, u64 b) { return a * 100 > b * (100 + s.tunables.llc_imb_pct); };

    const u64 src_util = src.util < task_util ? 0 : src.util - task_util;
    const u64 dst_util = dst.util + task_util;
    const bool src_fits = fits(src_util, src.capacity);
    const bool dst_fits = fits(dst_util, dst.capacity);
    if (!src_fits && !dst_fits)
        return LlcMig::unrestricted;
    if (to_pref ? !dst_fits && greater(dst_util, src_util) : src_fits || !greater(src_util, dst_util))
        return LlcMig::forbid;
    return LlcMig::llc;
}

LlcMig can_migrate_llc(const Scheduler &s, CpuId src, CpuId dst, u64 task_util, bool to_pref) {
    const DomainShared *from = s.rq(src).sd.llc_shared;
    const DomainShared *to = s.rq(dst).sd.llc_shared;
    if (from == nullptr || to == nullptr)
        return LlcMig::unrestricted;
    return can_migrate_llc(s, {from->util_avg, from->capacity}, {to->util_avg, to->capacity}, task_util, to_pref);
}

// LB-97.
void record_sg_llc_stats(const LbEnv &env, const GroupStats &stats, const SchedGroup &group) {
    if (env.idle == CpuIdle::newly_idle || env.sd.child != env.dst_rq().sd.llc)
        return;
    DomainShared *shared = env.s.rq(group.span.first()).sd.llc_shared;
    if (shared == nullptr)
        return;
    shared->util_avg = stats.group_util;
    shared->capacity = stats.group_capacity;
}

// LB-102.
bool llc_balance(const LbEnv &env, const GroupStats &stats, const SchedGroup &group) {
    if (env.has(SD_SHARE_LLC) || (env.has(SD_ASYM_CPUCAPACITY) && stats.misfit_task_load != 0) || stats.asym_packing)
        return false;
    if (env.sd.nr_balance_failed > static_cast<u32>(env.sd.cache_nice_tries) || stats.nr_pref_dst_llc == 0)
        return false;
    return can_migrate_llc(env.s, group.span.first(), env.dst_cpu, 0, true) == LlcMig::llc;
}

namespace {

bool fits_cpu(const Scheduler &s, const Task &p, CpuId cpu) {
    return util_fits_cpu(task_util_est(p), p.uclamp_min, p.uclamp_max, s.rq(cpu)) > 0;
}

bool misfits_asym_cpu(const LbEnv &env, const Task &p) {
    return env.has(SD_ASYM_CPUCAPACITY) && !fits_cpu(env.s, p, env.dst_cpu) && fits_cpu(env.s, p, env.src_cpu);
}

} // namespace

LlcMig can_migrate_llc_task(const LbEnv &env, const Task &p) {
    Scheduler &s = env.s;
    if (misfits_asym_cpu(env, p))
        return LlcMig::forbid;
    if (p.cache_group == nullptr)
        return LlcMig::unrestricted;
    SchedCacheGroup &group = *p.cache_group;
    if (!group.cpu.valid() || cpus_share_cache(s, env.src_cpu, env.dst_cpu))
        return LlcMig::unrestricted;
    if (env.is_idle() && sched_asym(s, env.sd, env.dst_cpu, env.src_cpu))
        return LlcMig::unrestricted;
    if (invalid_llc_nr(s, group, p, env.dst_cpu) || exceed_llc_capacity(s, group, env.dst_cpu)) {
        group.cpu = no_cpu;
        return LlcMig::unrestricted;
    }
    if (cpus_share_cache(s, env.dst_cpu, group.cpu))
        return can_migrate_llc(s, env.src_cpu, env.dst_cpu, task_util(p), true);
    if (cpus_share_cache(s, env.src_cpu, group.cpu))
        return can_migrate_llc(s, env.src_cpu, env.dst_cpu, task_util(p), false);
    return LlcMig::unrestricted;
}

bool migrate_llc_task_wrong_dst(const LbEnv &env, const Task &p) {
    return sched_cache_enabled(env.s) &&
           (env.migration_type == MigrationType::llc_task || (env.flags & LBF_ACTIVE_LB_LLC) != 0) &&
           p.preferred_llc != llc_id(env.s, env.dst_cpu);
}

bool migrate_degrades_llc(const LbEnv &env, const Task &p) {
    if (!sched_cache_enabled(env.s) || env.sd.nr_balance_failed > static_cast<u32>(env.sd.cache_nice_tries))
        return false;
    return migrate_llc_task_wrong_dst(env, p) || can_migrate_llc_task(env, p) == LlcMig::forbid;
}

bool alb_break_llc(const LbEnv &env) {
    const Scheduler &s = env.s;
    if (!sched_cache_enabled(s) || cpus_share_cache(s, env.src_cpu, env.dst_cpu))
        return false;
    const Rq &src = env.src_rq();
    if (src.nr_pref_llc_running == 0 || src.nr_pref_llc_running != src.cfs.h_nr_runnable)
        return false;
    if (env.migration_type == MigrationType::misfit)
        return false;
    if (src.nr_running <= 1)
        return true;
    const Task *current = src.curr;
    if (current != nullptr && misfits_asym_cpu(env, *current))
        return true;
    const u64 util = current != nullptr && src.current_class == SchedClass::fair ? task_util(*current) : 0;
    return can_migrate_llc(s, env.src_cpu, env.dst_cpu, util, false) == LlcMig::forbid;
}

} // namespace fairground::fair
