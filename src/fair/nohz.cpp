// SPDX-License-Identifier: GPL-2.0-only
#include "fair/nohz.h"

#include "fair/lb_env.h"
#include "fair/pelt.h"

#include <algorithm>
#include <utility>

namespace fairground::fair {

namespace {

constexpr u8 kick_mask = NOHZ_BALANCE_KICK | NOHZ_STATS_KICK | NOHZ_NEXT_KICK;
constexpr u64 next_blocked_ms = 32; // LOAD_AVG_PERIOD

u64 msecs_to_jiffies(const Scheduler &s, u64 ms) { return (ms * s.tunables.hz + 999) / 1000; }

// The per-domain mark guards the counter against being changed twice (LB-24).
void set_cpu_sd_state(Rq &rq, bool idle) {
    Domain *sd = rq.sd.llc;
    if (sd == nullptr || sd->shared == nullptr || sd->nohz_idle == idle)
        return;
    sd->nohz_idle = idle;
    sd->shared->nr_busy_cpus += idle ? -1 : 1; // SYNC-20..22
}

} // namespace

void nohz_balance_enter_idle(Scheduler &s, Rq &rq) {
    if (!s.active.test(rq.cpu))
        return;
    rq.has_blocked_load = true;
    if (!rq.nohz_tick_stopped) {
        if (rq.sd.base == nullptr)
            return;
        rq.nohz_tick_stopped = true;
        s.nohz.idle_cpus.set(rq.cpu);
        set_cpu_sd_state(rq, true);
        s.nohz.needs_update = true;
    }
    s.nohz.has_blocked = true;
}

void nohz_balance_exit_idle(Scheduler &s, Rq &rq) {
    if (!rq.nohz_tick_stopped)
        return;
    rq.nohz_tick_stopped = false;
    s.nohz.idle_cpus.clear(rq.cpu);
    set_cpu_sd_state(rq, false);
}

// LB-31.
CpuId find_new_ilb(const Scheduler &s) {
    CpuMask candidates = s.nohz.idle_cpus & s.nohz.housekeeping;
    CpuId fallback;
    for (CpuId cpu = candidates.first(); cpu.valid(); cpu = candidates.next(cpu + 1)) {
        const bool smt = s.domains.smt_active;
        if (!idle_cpu(s.rq(cpu))) {
            if (smt && fallback.valid())
                candidates -= s.rq(cpu).sd.smt;
            continue;
        }
        if (smt && !is_core_idle(s, cpu)) {
            if (!fallback.valid())
                fallback = cpu;
            candidates -= s.rq(cpu).sd.smt;
            continue;
        }
        return cpu;
    }
    return fallback;
}

namespace {

void kick_ilb(Scheduler &s, const Rq &rq, u8 flags) {
    if ((flags & NOHZ_BALANCE_KICK) != 0)
        s.nohz.next_balance = s.jiffies + 1;
    const CpuId target = find_new_ilb(s);
    if (!target.valid())
        return;
    u8 &pending = s.rq(target).nohz_flags;
    const u8 before = pending;
    pending |= flags;
    if ((before & kick_mask) == 0)
        s.effects.push_back({EffectKind::nohz_kick, rq.cpu, target, s.now});
}

// LB-26..30: why this CPU wants somebody to balance. False: drop the kick altogether.
bool kick_reasons(Scheduler &s, const Rq &rq, u8 &flags) {
    constexpr u8 both = NOHZ_STATS_KICK | NOHZ_BALANCE_KICK;
    if (s.nohz.idle_cpus.empty())
        return false;
    if (rq.nr_running >= 2) {
        flags = both;
        return true;
    }
    if (rq.sd.base != nullptr && rq.cfs.h_nr_runnable >= 1 && check_cpu_capacity(rq, *rq.sd.base)) {
        flags |= both;
        return true;
    }
    if (const Domain *sd = rq.sd.asym_packing; sd != nullptr) {
        const CpuMask idle = sd->span & s.nohz.idle_cpus;
        for (CpuId cpu : idle)
            if (sched_asym(s, *sd, cpu, rq.cpu)) {
                flags |= both;
                return true;
            }
    }
    if (rq.sd.asym_cpucapacity != nullptr) {
        if (rq.misfit_task_load != 0)
            flags |= both;
        return true;
    }
    if (rq.sd.balance_shared != nullptr && rq.sd.balance_shared->nr_busy_cpus > 1) // SYNC-26
        flags |= both;
    return true;
}

} // namespace

void nohz_balancer_kick(Scheduler &s, Rq &rq) {
    if (rq.idle_balance)
        return;
    nohz_balance_exit_idle(s, rq);
    u8 flags = 0;
    if (s.nohz.has_blocked && s.jiffies > s.nohz.next_blocked)
        flags = NOHZ_STATS_KICK; // LB-25
    if (s.jiffies >= s.nohz.next_balance && !kick_reasons(s, rq, flags))
        return;
    if (s.nohz.needs_update)
        flags |= NOHZ_NEXT_KICK;
    if (flags != 0)
        kick_ilb(s, rq, flags);
}

void nohz_csd_func(Scheduler &s, Rq &rq) {
    const u8 flags = std::exchange(rq.nohz_flags, u8{0});
    rq.idle_balance = idle_cpu(rq);
    if (!rq.idle_balance)
        return;
    rq.nohz_idle_balance = flags;
    s.effects.push_back({EffectKind::balance_softirq, rq.cpu, {}, s.now});
}

namespace {

// LB-33: true if the CPU still has averages to decay.
bool update_nohz_stats(Scheduler &s, Rq &rq) {
    if (!rq.has_blocked_load || !s.nohz.idle_cpus.test(rq.cpu))
        return false;
    if (s.jiffies <= rq.last_blocked_load_update_tick)
        return true;
    sched_balance_update_blocked_averages(s, rq);
    return rq.has_blocked_load;
}

// LB-32..34.
void nohz_pass(Scheduler &s, Rq &this_rq, u8 flags) {
    const u64 now = s.jiffies;
    const bool stats = (flags & NOHZ_STATS_KICK) != 0;
    u64 next_balance = now + u64{60} * s.tunables.hz;
    bool has_blocked = false;
    bool update_next = false;
    if (stats)
        s.nohz.has_blocked = false;
    if ((flags & NOHZ_NEXT_KICK) != 0)
        s.nohz.needs_update = false;

    const bool aborted = wrap(s.nohz.idle_cpus, this_rq.cpu + 1, [&](CpuId cpu) {
        Rq &rq = s.rq(cpu);
        if (!idle_cpu(rq))
            return false;
        if (!idle_cpu(this_rq) && this_rq.need_resched) {
            has_blocked |= stats;
            if ((flags & NOHZ_NEXT_KICK) != 0)
                s.nohz.needs_update = true;
            return true;
        }
        if (stats)
            has_blocked |= update_nohz_stats(s, rq);
        if (s.jiffies >= rq.next_balance) {
            update_rq_clock(s, rq);
            if ((flags & NOHZ_BALANCE_KICK) != 0)
                sched_balance_domains(s, rq, CpuIdle::idle);
        }
        if (next_balance > rq.next_balance) {
            next_balance = rq.next_balance;
            update_next = true;
        }
        return false;
    });
    if (!aborted) {
        if (update_next)
            s.nohz.next_balance = next_balance;
        if (stats)
            s.nohz.next_blocked = now + msecs_to_jiffies(s, next_blocked_ms);
    }
    if (has_blocked)
        s.nohz.has_blocked = true;
}

} // namespace

bool nohz_idle_balance(Scheduler &s, Rq &rq, bool idle) {
    const u8 flags = std::exchange(rq.nohz_idle_balance, u8{0});
    if (flags == 0 || !idle)
        return false;
    nohz_pass(s, rq, flags);
    return true;
}

void nohz_newidle_balance(Scheduler &s, Rq &rq) { // LB-35
    if (rq.avg_idle < s.tunables.migration_cost || !s.nohz.has_blocked || s.jiffies < s.nohz.next_blocked)
        return;
    rq.nohz_flags |= NOHZ_NEWILB_KICK;
}

void nohz_run_idle_balance(Scheduler &s, Rq &rq) { // LB-35
    const u8 flags = rq.nohz_flags;
    rq.nohz_flags &= static_cast<u8>(~NOHZ_NEWILB_KICK);
    if (flags == NOHZ_NEWILB_KICK && !rq.need_resched)
        nohz_pass(s, rq, NOHZ_STATS_KICK);
}

} // namespace fairground::fair
