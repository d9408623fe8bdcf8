// SPDX-License-Identifier: GPL-2.0-only
#include "fair/wake_placement.h"

#include "fair/group_class.h"
#include "fair/h_load.h"
#include "fair/idle_search.h"
#include "fair/pelt.h"
#include "fair/slow_path.h"

#include <algorithm>

namespace fairground::fair {

namespace {

constexpr u32 sd_flag_mask = 0xF; // WAKE-12: flags that name a domain flag

// The wake-up record of whoever is current; the idle thread's lives in its Rq.
struct WakeeRecord {
    TaskId last_wakee;
    u32 flips;
    u64 decay_ts;
};

WakeeRecord wakee_record(const Scheduler &s, const Waker &waker) {
    if (const Task *current = waker.current)
        return {current->last_wakee, current->wakee_flips, current->wakee_flip_decay_ts};
    const Rq &rq = s.rq(waker.cpu);
    return {rq.idle_last_wakee, rq.idle_wakee_flips, rq.idle_wakee_flip_decay_ts};
}

// WAKE-43. One halving, however long ago the last one was.
WakeeRecord record_wakee(const Scheduler &s, WakeeRecord record, const Task &p) {
    if (static_cast<s64>(s.jiffies - (record.decay_ts + s.tunables.hz)) > 0) {
        record.flips >>= 1;
        record.decay_ts = s.jiffies;
    }
    if (record.last_wakee != p.id)
        record.flips++;
    return record;
}

// WAKE-46.
bool wake_wide(const Scheduler &s, u32 waker_flips, u32 wakee_flips, CpuId this_cpu) {
    const auto factor = static_cast<u32>(s.rq(this_cpu).sd.llc_size);
    const auto [low, high] = std::minmax(waker_flips, wakee_flips);
    return low >= factor && high >= low * factor;
}

// WAKE-84: a kernel thread bound to one CPU. The idle thread is one, too.
bool is_per_cpu_kthread(const Task *current) {
    return current == nullptr || (current->kthread && current->nr_cpus_allowed == 1);
}

// WAKE-66; for the idle thread WAKE-11.
u64 current_h_load(const Scheduler &s, const Waker &waker) {
    if (const Task *current = waker.current)
        return read_task_h_load(s, current->se.avg.load_avg, *current->se.cfs_rq);
    return read_task_h_load(s, waker.boot_idle ? 0 : 1024, s.rq(waker.cpu).cfs);
}

// p's averages at the last update of the queue they are part of (sync_entity_load_avg, PELT-33).
SchedAvg aged_average(const Task &p) {
    SchedAvg avg = p.se.avg;
    if (update_load_sum(p.se.cfs_rq->avg.last_update_time, avg, 0, 0, false))
        update_load_avg_values(avg, p.se.load_weight >> 10);
    return avg;
}

// WAKE-61..64: what idleness and the sync hint say; no CPU if nothing.
AffineChoice wake_affine_idle(const Scheduler &s, CpuId this_cpu, CpuId prev, bool sync) {
    const Rq &rq = s.rq(this_cpu);
    if (idle_cpu(rq) && cpus_share_cache(s, this_cpu, prev))
        return {idle_cpu(s.rq(prev)) ? prev : this_cpu, "WAKE-61"};
    const u32 delayed = rq.cfs.h_nr_queued - rq.cfs.h_nr_runnable;
    if (sync && rq.nr_running - delayed == 1 &&
        !(s.features[Feature::WF_SYNC_LLC] && busier_llc(s, this_cpu, prev))) // SYNC-11
        return {this_cpu, "WAKE-62"};
    if (idle_cpu(s.rq(prev)))
        return {prev, "WAKE-63"};
    return {};
}

// WAKE-65..69, CG-41, CG-42: the loads with the task on either side, each scaled by the other CPU's capacity.
AffineChoice wake_affine_weight(const Scheduler &s, const Domain &sd, const Task &p, CpuId prev, bool sync,
                                const Waker &waker) {
    const Rq &this_rq = s.rq(waker.cpu);
    const Rq &prev_rq = s.rq(prev);
    // A sleeper's load is that of its last update (WAKE-10), a queue's that of its own (WAKE-8).
    const auto task_load = static_cast<s64>(read_task_h_load(s, p.se.avg.load_avg, *p.se.cfs_rq));
    auto this_load = static_cast<s64>(this_rq.cfs.avg.load_avg);
    AffineChoice choice{prev, "WAKE-69", 0, true, false};
    if (sync && !(s.features[Feature::WF_SYNC_LLC] && busier_llc(s, waker.cpu, prev))) { // SYNC-12
        choice.read_current_load = true;
        const auto current_load = static_cast<s64>(current_h_load(s, waker));
        if (current_load > this_load)
            return {waker.cpu, "WAKE-66", 0, s.features[Feature::WA_SYNC_WEIGHT], true};
        if (s.features[Feature::WA_SYNC_WEIGHT] && current_load >= task_load) // SYNC-41, CG-43
            return {waker.cpu, "SYNC-41", 0, true, true};
        this_load -= current_load;
    }
    const bool bias = s.features[Feature::WA_BIAS];
    this_load = (this_load + task_load) * (bias ? 100 : 1) * static_cast<s64>(prev_rq.cpu_capacity);
    s64 prev_load = static_cast<s64>(prev_rq.cfs.avg.load_avg) - task_load;
    prev_load *= (bias ? 100 + (sd.imbalance_pct - 100) / 2 : 1) * static_cast<s64>(this_rq.cpu_capacity);
    if (sync)
        prev_load += 1; // SYNC-13: whether or not the hint was declined
    choice.difference = this_load - prev_load;
    if (this_load < prev_load)
        choice.cpu = waker.cpu;
    return choice;
}

// Does the task fit a candidate of select_idle_sibling (WAKE-140)? Always, on symmetric machines.
struct AsymFit {
    const Scheduler &s;
    const Task &p;
    u64 task_util;

    bool operator()(CpuId cpu) const {
        if (!s.domains.asym_cpucapacity)
            return true;
        if (s.domains.smt_active && !is_core_idle(s, cpu))
            return false;
        return util_fits_cpu(task_util, p.uclamp_min, p.uclamp_max, s.rq(cpu)) > 0;
    }
};

// WAKE-80..94. Fills cpu, rule, recent_used_cpu and clear_idle_cores.
void select_idle_sibling(const Scheduler &s, const Task &p, CpuId prev, CpuId target, const Waker &waker,
                         Placement &out) {
    const auto choose = [&](CpuId cpu) { return choose_idle_cpu(s.rq(cpu), p); };
    const auto near = [&](CpuId cpu) { return !s.domains.cluster_active || cpus_share_resources(s, cpu, target); };
    const auto go = [&](CpuId cpu, Rule rule) {
        out.cpu = cpu;
        out.rule = rule;
    };
    u64 task_util = 0;
    if (s.domains.asym_cpucapacity) { // WAKE-80
        const SchedAvg avg = aged_average(p);
        task_util = std::max(avg.util_avg, u64{avg.util_est & ~util_avg_unchanged});
        out.aged = true;
    }
    const AsymFit fits{s, p, task_util};

    out.target = target;
    if (choose(target) && fits(target))
        return go(target, "WAKE-81");

    CpuId prev_aff;
    if (prev != target && cpus_share_cache(s, prev, target) && choose(prev) && fits(prev)) {
        if (near(prev))
            return go(prev, "WAKE-82");
        prev_aff = prev; // WAKE-83
    }

    if (is_per_cpu_kthread(waker.current) && waker.in_task && prev == waker.cpu && s.rq(waker.cpu).nr_running <= 1 &&
        fits(prev))
        return go(prev, "WAKE-84");

    const CpuId recent = p.recent_used_cpu;
    CpuId recent_aff;
    out.recent_used_cpu = prev;
    if (recent != prev && recent != target && cpus_share_cache(s, recent, target) && choose(recent) &&
        p.cpus_allowed.test(recent) && fits(recent)) {
        if (near(recent))
            return go(recent, "WAKE-85");
        recent_aff = recent; // WAKE-86
    }

    const Rq &target_rq = s.rq(target);
    if (s.domains.asym_cpucapacity && target_rq.sd.asym_cpucapacity != nullptr) {
        const IdleSearch found = select_idle_capacity(s, p, task_util, *target_rq.sd.asym_cpucapacity, target);
        out.clear_idle_cores = found.clear_idle_cores;
        return found.cpu.valid() ? go(found.cpu, found.rule) : go(target, "WAKE-87");
    }

    const Domain *llc = target_rq.sd.llc;
    if (llc == nullptr)
        return go(target, "WAKE-88");

    bool has_idle_cores = false;
    if (s.domains.smt_active) { // WAKE-89
        has_idle_cores = test_idle_cores(target_rq);
        if (!has_idle_cores && cpus_share_cache(s, prev, target))
            if (const CpuId sibling = select_idle_smt(s, p, *llc, prev); sibling.valid())
                return go(sibling, "WAKE-100");
    }

    const IdleSearch found = select_idle_cpu(s, p, *llc, has_idle_cores, target);
    out.clear_idle_cores = found.clear_idle_cores;
    if (found.cpu.valid())
        return go(found.cpu, found.rule);
    if (prev_aff.valid())
        return go(prev_aff, "WAKE-91");
    if (recent_aff.valid())
        return go(recent_aff, "WAKE-92");
    go(target, "WAKE-93");
}

// WAKE-150, -151.
void slow_path(const Scheduler &s, const Task &p, Domain *sd, CpuId prev, u32 sd_flag, CpuId this_cpu, Placement &out) {
    if (!sd->span.intersects(p.cpus_allowed)) {
        out.cpu = prev;
        out.rule = "WAKE-150";
        return;
    }
    SchedAvg avg = p.se.avg;
    if ((sd_flag & SD_BALANCE_FORK) == 0) {
        avg = aged_average(p);
        out.aged = true;
    }
    out.read_task_load = avg.last_update_time != 0 && sd->span.test(p.cpu) && p.cpus_allowed.test(p.cpu);
    const DstCpu found = sched_balance_find_dst_cpu(s, sd, {p, avg}, this_cpu, sd_flag);
    out.cpu = found.cpu;
    out.rule = found.rule;
}

// WAKE-48: the lowest domain of `this` to ask wake_affine about, and the slow path's domain. At most one is set.
struct DomainWalk {
    const Domain *affine = nullptr;
    Domain *slow = nullptr;
};

// WAKE-50: a far node lacks SD_WAKE_AFFINE, a wide wake does not want it; both search around prev.
DomainWalk walk_domains(const Scheduler &s, CpuId this_cpu, CpuId prev, u32 sd_flag, bool want_affine) {
    DomainWalk walk;
    for (Domain *sd = s.rq(this_cpu).sd.base; sd != nullptr; sd = sd->parent) {
        if (want_affine && (sd->flags & SD_WAKE_AFFINE) != 0 && sd->span.test(prev))
            return {sd, nullptr};
        if ((sd->flags & sd_flag) != 0)
            walk.slow = sd;
        else if (!want_affine)
            break;
    }
    return walk;
}

void place(const Scheduler &s, const Task &p, CpuId prev, u32 wake_flags, const Waker &waker, Placement &out) {
    const u32 sd_flag = wake_flags & sd_flag_mask;
    const bool ttwu = (wake_flags & WF_TTWU) != 0;
    bool want_affine = false;
    if (ttwu) {
        const WakeeRecord record = record_wakee(s, wakee_record(s, waker), p);
        out.record_wakee = true;
        out.waker_flips = record.flips;
        out.waker_decay_ts = record.decay_ts;

        const bool this_allowed = p.cpus_allowed.test(waker.cpu);
        if ((wake_flags & WF_CURRENT_CPU) != 0 && this_allowed) {
            out.cpu = waker.cpu;
            out.rule = "WAKE-44";
            return;
        }
        // WAKE-47. (WAKE-45, energy-aware placement, is not modelled: WAKE-200.)
        want_affine = this_allowed && !wake_wide(s, record.flips, p.wakee_flips, waker.cpu);
    }

    const DomainWalk walk = walk_domains(s, waker.cpu, prev, sd_flag, want_affine);
    CpuId target = prev;
    if (walk.affine != nullptr && waker.cpu != prev) {
        const bool exiting = waker.current != nullptr && waker.current->exiting;
        const bool sync = (wake_flags & WF_SYNC) != 0 && !exiting; // WAKE-42, SYNC-1
        const AffineChoice choice = wake_affine(s, *walk.affine, p, prev, sync, waker);
        target = choice.cpu;
        out.affine_rule = choice.rule;
        out.read_task_load = choice.read_task_load;
        out.read_current_load = choice.read_current_load;
        s.decide({s.now, DecisionKind::affine, waker.cpu, p.id, prev, target.value, choice.difference, choice.rule});
    }

    if (walk.slow != nullptr)
        return slow_path(s, p, walk.slow, prev, sd_flag, waker.cpu, out);
    if (ttwu)
        return select_idle_sibling(s, p, prev, target, waker, out);
    out.cpu = target; // fork or exec without a domain for it
    out.rule = "WAKE-49";
}

// is_cpu_allowed of core.c, as far as CPUs go away here at all.
bool usable(const Scheduler &s, const Task &p, CpuId cpu) { return p.cpus_allowed.test(cpu) && s.active.test(cpu); }

// WAKE-41.
CpuId select_fallback_rq(const Scheduler &s, const Task &p) {
    const NodeId node = s.rq(p.cpu).sd.node;
    for (CpuId cpu : p.cpus_allowed)
        if (usable(s, p, cpu) && s.rq(cpu).sd.node == node)
            return cpu;
    for (CpuId cpu : p.cpus_allowed)
        if (usable(s, p, cpu))
            return cpu;
    return s.active.first(); // the kernel would widen the mask; the model keeps it
}

} // namespace

// Nothing else of wake placement looks at how busy an LLC is (SYNC-2). The 1 is the waker's own CPU, which a sync
// wake-up is about to free.
bool busier_llc(const Scheduler &s, CpuId a, CpuId b) {
    if (cpus_share_cache(s, a, b))
        return false;
    const CpuDomains &sda = s.rq(a).sd;
    const CpuDomains &sdb = s.rq(b).sd;
    if (sda.llc_shared == nullptr || sda.llc_size - sda.llc_shared->nr_busy_cpus > 1 || sdb.llc_shared == nullptr)
        return false;
    const auto busy_a = static_cast<u64>(sda.llc_shared->nr_busy_cpus);
    const auto busy_b = static_cast<u64>(sdb.llc_shared->nr_busy_cpus);
    return busy_a * static_cast<u64>(sdb.llc_size) > busy_b * static_cast<u64>(sda.llc_size);
}

AffineChoice wake_affine(const Scheduler &s, const Domain &sd, const Task &p, CpuId prev, bool sync,
                         const Waker &waker) {
    AffineChoice choice;
    if (s.features[Feature::WA_IDLE])
        choice = wake_affine_idle(s, waker.cpu, prev, sync);
    if (s.features[Feature::WA_WEIGHT] && !choice.cpu.valid())
        choice = wake_affine_weight(s, sd, p, prev, sync, waker);
    if (!choice.cpu.valid())
        return {prev, "WAKE-60"};
    return choice;
}

// WAKE-52: no randomness.
Placement select_task_rq_fair(const Scheduler &s, const Task &p, CpuId prev, u32 wake_flags, const Waker &waker) {
    Placement out;
    out.waker = waker.cpu;
    out.recent_used_cpu = p.recent_used_cpu;
    place(s, p, prev, wake_flags, waker, out);
    s.decide({s.now, DecisionKind::place, waker.cpu, p.id, prev, out.cpu.value, 0, out.rule});
    return out;
}

void commit_placement(Scheduler &s, Task &p, Task *current, const Placement &placement) {
    if (s.tunables.group_scheduling) {
        if (placement.read_task_load)
            update_cfs_rq_h_load(s, *p.se.cfs_rq);
        if (placement.read_current_load)
            update_cfs_rq_h_load(s, current != nullptr ? *current->se.cfs_rq : s.rq(placement.waker).cfs);
    }
    if (placement.aged)
        p.se.avg = aged_average(p);
    if (placement.record_wakee && current != nullptr) {
        current->last_wakee = p.id;
        current->wakee_flips = placement.waker_flips;
        current->wakee_flip_decay_ts = placement.waker_decay_ts;
    } else if (placement.record_wakee) {
        Rq &rq = s.rq(placement.waker);
        rq.idle_last_wakee = p.id;
        rq.idle_wakee_flips = placement.waker_flips;
        rq.idle_wakee_flip_decay_ts = placement.waker_decay_ts;
    }
    p.recent_used_cpu = placement.recent_used_cpu;
    if (placement.clear_idle_cores != nullptr)
        placement.clear_idle_cores->has_idle_cores = false; // WAKE-131
}

CpuId select_task_rq(Scheduler &s, Task &p, CpuId prev, u32 &wake_flags, const Waker &waker, Task *current,
                     Placement &placement) {
    placement = {};
    CpuId cpu;
    if (p.nr_cpus_allowed > 1 && !p.migration_disabled) {
        placement = select_task_rq_fair(s, p, prev, wake_flags, waker);
        commit_placement(s, p, current, placement);
        wake_flags |= WF_RQ_SELECTED;
        cpu = placement.cpu;
    } else {
        cpu = p.migration_disabled ? p.cpu : p.cpus_allowed.first();
    }
    return usable(s, p, cpu) ? cpu : select_fallback_rq(s, p);
}

CpuId select_task_rq(Scheduler &s, Task &p, CpuId prev, u32 &wake_flags, const Waker &waker, Task *current) {
    Placement placement;
    return select_task_rq(s, p, prev, wake_flags, waker, current, placement);
}

void update_idle_core(Scheduler &s, Rq &rq) {
    DomainShared *shared = rq.sd.balance_shared;
    if (!s.domains.smt_active || shared == nullptr || shared->has_idle_cores)
        return;
    if (is_core_idle(s, rq.cpu))
        shared->has_idle_cores = true;
}

} // namespace fairground::fair
