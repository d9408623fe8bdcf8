// SPDX-License-Identifier: GPL-2.0-only
//
// One balance pass (sched_balance_rq) and the push that follows when pulling fails. Rules: LB-37..43, LB-78..82.
#include "fair/load_balance.h"

#include "fair/cache_aware.h"
#include "fair/lb_env.h"
#include "fair/pelt.h"

#include <algorithm>
#include <utility>

namespace fairground::fair {

namespace {

constexpr u32 nr_migrate_break = 32;     // SCHED_NR_MIGRATE_BREAK
constexpr u32 max_pinned_interval = 512; // ms

bool should_we_balance(LbEnv &env) {
    const Scheduler &s = env.s;
    env.rule = "LB-37";
    if (!env.cpus.test(env.dst_cpu))
        return false;
    const Rq &dst = env.dst_rq();
    if (env.idle == CpuIdle::newly_idle)
        return dst.nr_running == 0 && !dst.ttwu_pending;

    env.rule = "LB-38";
    CpuMask candidates = env.dst_grpmask() & env.cpus;
    CpuId idle_smt;
    for (CpuId cpu = candidates.first(); cpu.valid(); cpu = candidates.next(cpu + 1)) {
        if (!idle_cpu(s.rq(cpu)))
            continue;
        if (s.domains.smt_active && !env.has(SD_SHARE_CPUCAPACITY) && !is_core_idle(s, cpu)) {
            if (!idle_smt.valid())
                idle_smt = cpu;
            candidates -= s.rq(cpu).sd.smt;
            continue;
        }
        return cpu == env.dst_cpu;
    }
    if (idle_smt.valid())
        return idle_smt == env.dst_cpu;
    return env.dst_grpmask().first() == env.dst_cpu;
}

// LB-79.
bool asym_active_balance(const LbEnv &env) {
    const Scheduler &s = env.s;
    return env.is_idle() && sched_use_asym_prio(s, env.sd, env.dst_cpu) &&
           (sched_asym_prefer(s, env.dst_cpu, env.src_cpu) || !sched_use_asym_prio(s, env.sd, env.src_cpu));
}

bool need_active_balance(LbEnv &env) {
    const Rq &src = env.src_rq();
    env.rule = "LB-79";
    if (asym_active_balance(env))
        return true;
    env.rule = "LB-105";
    if (alb_break_llc(env))
        return false;
    env.rule = "LB-78"; // how a bare pair, which cannot be pulled, is torn (NUMAPAIR-16)
    if (env.migration_type == MigrationType::task &&
        env.sd.nr_balance_failed > static_cast<u32>(env.sd.cache_nice_tries) + 2)
        return true;
    env.rule = "LB-80";
    if (env.is_idle() && src.cfs.h_nr_runnable == 1 && check_cpu_capacity(src, env.sd) &&
        src.cpu_capacity * static_cast<u64>(env.sd.imbalance_pct) < env.dst_rq().cpu_capacity * 100)
        return true;
    return env.migration_type == MigrationType::misfit || env.migration_type == MigrationType::llc_task;
}

void decide(const LbEnv &env, DecisionKind kind, CpuId from, s64 chosen, s64 amount) {
    env.s.decide({.time = env.s.now,
                  .kind = kind,
                  .cpu = env.dst_cpu,
                  .task = {},
                  .from = from,
                  .chosen = chosen,
                  .amount = amount,
                  .rule = env.rule});
}

// How a search for tasks on one source ended (LB-41).
enum class Pull : u8 { done, redo, all_pinned };

Pull pull_tasks(LbEnv &env, int &moved) {
    Scheduler &s = env.s;
    Rq &src = env.src_rq();
    env.loop_max = std::min(s.tunables.nr_migrate, src.nr_running);

    for (;;) {
        update_rq_clock(s, src);
        const int detached = detach_tasks(env); // (a)
        if (detached > 0) {
            attach_tasks(env);
            moved += detached;
        }
        if ((env.flags & LBF_NEED_BREAK) != 0) { // (b)
            env.flags &= ~u32{LBF_NEED_BREAK};
            continue;
        }
        if ((env.flags & LBF_DST_PINNED) != 0 && env.imbalance > 0) { // (c)
            env.cpus.clear(env.dst_cpu);
            env.dst_cpu = env.new_dst_cpu;
            env.flags &= ~u32{LBF_DST_PINNED};
            env.loop = 0;
            env.loop_break = nr_migrate_break;
            continue;
        }
        break;
    }
    if (env.sd.parent != nullptr && (env.flags & LBF_SOME_PINNED) != 0 && env.imbalance > 0) // (d)
        env.sd.parent->groups.front()->sgc->imbalance = true;
    if ((env.flags & LBF_ALL_PINNED) == 0) // (e)
        return Pull::done;
    env.cpus.clear(env.src_cpu);
    if (env.cpus.subset_of(env.dst_grpmask()))
        return Pull::all_pinned;
    env.loop = 0;
    env.loop_break = nr_migrate_break;
    return Pull::redo;
}

// Exits of LB-43.
enum class Exit : u8 { unbalanced, balanced, all_pinned, one_pinned };

// LB-42 once nothing could be pulled.
Exit push_instead(LbEnv &env, CpuId this_cpu) {
    Scheduler &s = env.s;
    if (env.idle != CpuIdle::newly_idle && env.migration_type != MigrationType::misfit &&
        (env.flags & LBF_LLC_PINNED) == 0)
        env.sd.nr_balance_failed++;

    const bool needed = need_active_balance(env);
    if (env.pass != nullptr) [[unlikely]] {
        env.pass->asked_active = true;
        env.pass->need_active = needed;
        env.pass->active_rule = env.rule;
    }
    if (!needed)
        return Exit::unbalanced;

    Rq &src = env.src_rq();
    // The idle thread and per-CPU threads of other classes (null) are allowed nowhere else.
    if (src.curr == nullptr || !src.curr->cpus_allowed.test(this_cpu))
        return Exit::one_pinned;
    env.flags &= ~u32{LBF_ALL_PINNED};
    if (src.active_balance || src.curr->on_rq == OnRq::no)
        return Exit::unbalanced;
    src.active_balance = true;
    src.push_cpu = this_cpu;
    src.push_llc = env.migration_type == MigrationType::llc_task;
    s.effects.push_back({EffectKind::active_push, env.src_cpu, this_cpu, s.now});
    decide(env, DecisionKind::push, env.src_cpu, this_cpu, env.sd.nr_balance_failed);
    if (env.pass != nullptr) [[unlikely]] {
        env.pass->push_queued = true;
        env.pass->push_src = env.src_cpu;
    }
    return Exit::unbalanced;
}

Exit run_pass(LbEnv &env, CpuId this_cpu, int &moved, bool *continue_balancing) {
    for (;;) {
        const bool turn = should_we_balance(env);
        decide(env, DecisionKind::turn, {}, turn ? 1 : 0, static_cast<s64>(env.idle));
        if (env.pass != nullptr) [[unlikely]]
            env.pass->turn.push_back(turn);
        if (!turn) {
            *continue_balancing = false;
            return Exit::balanced;
        }
        // SD_SERIALIZE (LB-39): passes of the model never overlap.
        if (env.pass != nullptr) [[unlikely]] {
            BalanceTrace::Round &round = env.pass->rounds.emplace_back();
            round.dst_cpu = env.dst_cpu;
            round.cpus = env.cpus;
        }

        const SchedGroup *group = sched_balance_find_src_group(env); // LB-40
        decide(env, DecisionKind::busiest, {}, group != nullptr ? group->span.first().value : -1, env.imbalance);
        if (group == nullptr)
            return Exit::balanced;
        env.src_cpu = sched_balance_find_src_rq(env, *group);
        if (env.pass != nullptr) [[unlikely]]
            env.pass->rounds.back().src_cpu = env.src_cpu;
        if (!env.src_cpu.valid())
            return Exit::balanced;

        env.flags |= LBF_ALL_PINNED;
        if (env.src_rq().nr_running > 1) {
            const Pull pull = pull_tasks(env, moved);
            if (pull == Pull::redo)
                continue;
            if (pull == Pull::all_pinned)
                return Exit::all_pinned;
        }
        if (moved == 0)
            return push_instead(env, this_cpu);
        env.sd.nr_balance_failed = 0;
        return Exit::unbalanced;
    }
}

} // namespace

int balance_pass(Scheduler &s, CpuId this_cpu, Domain &sd, CpuIdle idle, bool *continue_balancing,
                 const TaskMover &mover) {
    LbEnv env{.s = s, .sd = sd, .dst_cpu = this_cpu, .idle = idle, .mover = mover};
    env.cpus = sd.span & s.active;
    env.loop_break = nr_migrate_break;
    if (s.balance_trace != nullptr) [[unlikely]] {
        env.pass = &s.balance_trace->passes.emplace_back();
        env.pass->this_cpu = this_cpu;
        env.pass->domain = &sd;
    }

    int moved = 0;
    switch (run_pass(env, this_cpu, moved, continue_balancing)) {
    case Exit::unbalanced:
        sd.balance_interval = sd.min_interval;
        return moved;
    case Exit::balanced:
        if (sd.parent != nullptr && (env.flags & LBF_ALL_PINNED) == 0)
            sd.parent->groups.front()->sgc->imbalance = false;
        [[fallthrough]];
    case Exit::all_pinned:
        sd.nr_balance_failed = 0;
        [[fallthrough]];
    case Exit::one_pinned:
        break;
    }
    if (idle != CpuIdle::newly_idle && env.migration_type != MigrationType::misfit &&
        (((env.flags & LBF_ALL_PINNED) != 0 && sd.balance_interval < max_pinned_interval) ||
         sd.balance_interval < sd.max_interval))
        sd.balance_interval *= 2;
    return 0;
}

int sched_balance_rq(Scheduler &s, CpuId this_cpu, Domain &sd, CpuIdle idle, bool *continue_balancing) {
    return balance_pass(s, this_cpu, sd, idle, continue_balancing, kernel_mover);
}

void active_push(Scheduler &s, CpuId cpu, const TaskMover &mover) {
    Rq &src = s.rq(cpu);
    const bool pending = std::exchange(src.active_balance, false);
    const CpuId target = src.push_cpu;
    if (!pending || !s.active.test(cpu) || !s.active.test(target) || src.nr_running <= 1)
        return;

    Domain *sd = s.rq(target).sd.base;
    while (sd != nullptr && !sd->span.test(cpu))
        sd = sd->parent;
    if (sd == nullptr)
        return;

    LbEnv env{.s = s, .sd = *sd, .dst_cpu = target, .idle = CpuIdle::idle, .mover = mover};
    env.src_cpu = cpu;
    env.flags = LBF_ACTIVE_LB | (src.push_llc ? u32{LBF_ACTIVE_LB_LLC} : 0);
    if (s.balance_trace != nullptr) [[unlikely]] {
        BalanceTrace::Push &push = s.balance_trace->pushes.emplace_back();
        push.src_cpu = cpu;
        push.dst_cpu = target;
        env.events = &push.events;
    }
    update_rq_clock(s, src);
    if (detach_one_task(env) == nullptr)
        return;
    sd->nr_balance_failed = 0;
    attach_tasks(env);
}

void active_load_balance_cpu_stop(Scheduler &s, CpuId cpu) { active_push(s, cpu, kernel_mover); }

} // namespace fairground::fair
