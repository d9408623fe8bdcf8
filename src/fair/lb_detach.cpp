// SPDX-License-Identifier: GPL-2.0-only
//
// Which tasks of the source queue move, and their way to the destination (LB-68..77).
#include "fair/cache_aware.h"
#include "fair/core.h"
#include "fair/lb_env.h"
#include "fair/numa_balance.h"
#include "fair/pelt.h"
#include "fair/task_list.h"

#include <algorithm>

namespace fairground::fair {

std::string_view migration_type_name(MigrationType type) {
    constexpr std::array<std::string_view, 5> names = {"migrate_load", "migrate_util", "migrate_task", "migrate_misfit",
                                                       "migrate_llc_task"};
    return names[static_cast<std::size_t>(type)];
}

std::string_view fbq_type_name(FbqType type) {
    constexpr std::array<std::string_view, 3> names = {"regular", "remote", "all"};
    return names[static_cast<std::size_t>(type)];
}

std::string_view detach_outcome_name(DetachOutcome outcome) {
    constexpr std::array<std::string_view, 11> names = {
        "moved",    "amount",  "delayed",  "throttled", "ineligible", "per_cpu_kthread",
        "affinity", "running", "locality", "llc",       "hot"};
    return names[static_cast<std::size_t>(outcome)];
}

namespace {

// LB-74.
bool task_hot(const LbEnv &env, const Task &p) {
    const Scheduler &s = env.s;
    const Rq &src = env.src_rq();
    if (p.policy == Policy::idle || env.has(SD_SHARE_CPUCAPACITY))
        return false;
    if (s.features[Feature::CACHE_HOT_BUDDY] && env.dst_rq().nr_running > 0 && src.cfs.next == &p.se)
        return true;
    const u64 cost = s.tunables.migration_cost;
    if (static_cast<u32>(cost) == ~u32{0})
        return true;
    if (cost == 0)
        return false;
    return static_cast<s64>(src.clock_task - p.se.exec_start) < static_cast<s64>(cost);
}

// LB-75, NUMA-62: > 0 the move degrades locality, < 0 it improves it.
s64 migrate_degrades_locality(const LbEnv &env, const Task &p) {
    const Scheduler &s = env.s;
    if (!s.tunables.numa_balancing || p.numa_faults.empty() || !env.has(SD_NUMA))
        return 0;
    const Rq &src = env.src_rq();
    const NodeId from = src.sd.node;
    const NodeId to = env.dst_rq().sd.node;
    if (from == to)
        return 0;
    if (from == p.numa_preferred_nid)
        return src.nr_running > src.nr_preferred_running ? 1 : 0;
    if (to == p.numa_preferred_nid)
        return -1;
    if (env.idle == CpuIdle::idle)
        return 0;
    const int distance = node_distance(s, from, to);
    if (p.numa_group != nullptr)
        return group_weight(s, p, from, distance) - group_weight(s, p, to, distance);
    return task_weight(s, p, from, distance) - task_weight(s, p, to, distance);
}

bool throttled_on(const Task &p, CpuId cpu) {
    return p.group != nullptr && p.group->queues[static_cast<u32>(cpu.value)].throttle_count > 0;
}

// LB-72 (6): remember another CPU of the destination group where the task may run.
void note_pinned(LbEnv &env, const Task &p) {
    env.flags |= LBF_SOME_PINNED;
    if (env.idle == CpuIdle::newly_idle || (env.flags & (LBF_DST_PINNED | LBF_ACTIVE_LB)) != 0)
        return;
    const CpuId other = (env.dst_grpmask() & env.cpus & p.cpus_allowed).first();
    if (other.valid()) {
        env.flags |= LBF_DST_PINNED;
        env.new_dst_cpu = other;
    }
}

} // namespace

DetachOutcome can_migrate_task(LbEnv &env, const Task &p) {
    const Scheduler &s = env.s;
    const Rq &src = env.src_rq();
    // LB-71.
    if (p.se.sched_delayed && env.migration_type != MigrationType::load)
        return DetachOutcome::delayed;
    if (throttled_on(p, env.dst_cpu))
        return DetachOutcome::throttled;
    if (env.sd.nr_balance_failed == 0 && s.features[Feature::PLACE_LAG] && env.dst_rq().cfs.h_nr_queued > 0 &&
        !entity_eligible(src.cfs, p.se))
        return DetachOutcome::ineligible;
    if (p.per_cpu_kthread)
        return DetachOutcome::per_cpu_kthread;
    // LB-72.
    if (!p.cpus_allowed.test(env.dst_cpu)) {
        note_pinned(env, p);
        return DetachOutcome::affinity;
    }
    env.flags &= ~u32{LBF_ALL_PINNED};
    if (p.on_cpu || &p == src.curr)
        return DetachOutcome::running;
    // LB-73.
    if ((env.flags & LBF_ACTIVE_LB) != 0)
        return migrate_llc_task_wrong_dst(env, p) ? DetachOutcome::llc : DetachOutcome::moved;

    const bool tired = env.sd.nr_balance_failed > static_cast<u32>(env.sd.cache_nice_tries); // LB-76, NUMA-63
    const s64 degrades = migrate_degrades_locality(env, p);
    if (degrades != 0)
        return degrades > 0 && !tired ? DetachOutcome::locality : DetachOutcome::moved;
    if (migrate_degrades_llc(env, p)) {
        if (env.migration_type != MigrationType::llc_task)
            env.flags |= LBF_LLC_PINNED;
        return DetachOutcome::llc;
    }
    return task_hot(env, p) && !tired ? DetachOutcome::hot : DetachOutcome::moved;
}

namespace {

// LB-70: true if the task's share of the imbalance is not too much; it is then subtracted.
bool charge(LbEnv &env, const Task &p) {
    Scheduler &s = env.s;
    const u32 failed = env.sd.nr_balance_failed;
    // Repeated failures relax the limit.
    const auto too_much = [&](u64 amount) {
        return static_cast<s64>(amount >> std::min<u32>(failed, 63)) > env.imbalance;
    };
    switch (env.migration_type) {
    case MigrationType::load: {
        const u64 load = std::max<u64>(task_h_load(s, p), 1);
        if ((s.features[Feature::LB_MIN] && load < 16 && failed == 0) || too_much(load))
            return false;
        env.imbalance -= static_cast<s64>(load);
        return true;
    }
    case MigrationType::util: {
        const u64 util = task_util_est(p);
        if (too_much(util))
            return false;
        env.imbalance -= static_cast<s64>(util);
        return true;
    }
    case MigrationType::task:
    case MigrationType::llc_task:
        env.imbalance--;
        return true;
    case MigrationType::misfit:
        if (util_fits_cpu(task_util_est(p), p.uclamp_min, p.uclamp_max, env.src_rq()) > 0)
            return false;
        env.imbalance = 0;
        return true;
    }
    return false;
}

void detach(LbEnv &env, Task &p, Rule rule) {
    Scheduler &s = env.s;
    s.decide({.time = s.now,
              .kind = DecisionKind::pull,
              .cpu = env.dst_cpu,
              .task = p.id,
              .from = env.src_cpu,
              .chosen = env.dst_cpu,
              .amount = env.imbalance,
              .rule = rule});
    env.mover.detach(s, env.src_rq(), p, env.dst_cpu);
    p.list_next = env.detached;
    env.detached = &p;
}

int detach_loop(LbEnv &env) {
    Rq &src = env.src_rq();
    int detached = 0;
    if (src.nr_running <= 1) { // LB-68
        env.flags &= ~u32{LBF_ALL_PINNED};
        return 0;
    }
    if (env.imbalance <= 0)
        return 0;
    while (src.tasks_tail != nullptr) { // LB-69
        if (env.is_idle() && src.nr_running <= 1)
            break;
        env.loop++;
        if (env.loop > env.loop_max)
            break;
        if (env.loop > env.loop_break) {
            env.loop_break += 32;
            env.flags |= LBF_NEED_BREAK;
            break;
        }
        Task &p = *src.tasks_tail;
        DetachOutcome outcome = can_migrate_task(env, p);
        if (outcome == DetachOutcome::moved && !charge(env, p))
            outcome = DetachOutcome::amount;
        env.note(p, outcome);
        if (outcome != DetachOutcome::moved) {
            task_list_move_to_head(src, p);
            continue;
        }
        detach(env, p, "LB-70");
        detached++;
        if (env.idle == CpuIdle::newly_idle && env.s.tunables.preemptible)
            break;
        if (env.imbalance <= 0)
            break;
    }
    return detached;
}

} // namespace

int detach_tasks(LbEnv &env) {
    if (env.pass == nullptr) [[likely]]
        return detach_loop(env);

    std::vector<BalanceTrace::Detach> &calls = env.pass->rounds.back().detach;
    BalanceTrace::Detach &call = calls.emplace_back();
    call.dst_cpu = env.dst_cpu;
    call.imbalance_before = env.imbalance;
    env.events = &call.events;
    call.detached = detach_loop(env);
    env.events = nullptr;
    call.imbalance_after = env.imbalance;
    call.flags = env.flags;
    return call.detached;
}

Task *detach_one_task(LbEnv &env) {
    for (Task *p = env.src_rq().tasks_tail; p != nullptr; p = p->list_prev) {
        const DetachOutcome outcome = can_migrate_task(env, *p);
        env.note(*p, outcome);
        if (outcome != DetachOutcome::moved)
            continue;
        detach(env, *p, "LB-82");
        return p;
    }
    return nullptr;
}

void attach_tasks(LbEnv &env) {
    Rq &dst = env.dst_rq();
    update_rq_clock(env.s, dst);
    while (env.detached != nullptr) {
        Task &p = *env.detached;
        env.detached = p.list_next;
        p.list_next = nullptr;
        env.mover.attach(env.s, dst, p);
    }
}

namespace {

void kernel_detach(Scheduler &s, Rq &src, Task &p, CpuId dst) {
    deactivate_task(s, src, p, 0);
    set_task_cpu(s, p, dst);
}

void kernel_attach(Scheduler &s, Rq &dst, Task &p) {
    activate_task(s, dst, p, 0);
    wakeup_preempt(s, dst, p, 0);
}

} // namespace

const TaskMover kernel_mover = {kernel_detach, kernel_attach};

} // namespace fairground::fair
