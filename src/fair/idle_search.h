// SPDX-License-Identifier: GPL-2.0-only
//
// The searches for an idle CPU near a target (WAKE-100..110, WAKE-140..144). They only read; a search that would
// clear has_idle_cores says so in its result.
#pragma once

#include "fair/scheduler.h"

namespace fairground::fair {

// WAKE-4: a CPU with SCHED_IDLE tasks only is free for everybody but a SCHED_IDLE task.
inline bool choose_sched_idle_rq(const Rq &rq, const Task &p) { return sched_idle_rq(rq) && p.policy != Policy::idle; }
inline bool choose_idle_cpu(const Rq &rq, const Task &p) { return idle_cpu(rq) || choose_sched_idle_rq(rq, p); }

struct IdleSearch {
    CpuId cpu;                                // none: nothing found
    Rule rule;                                // set if a CPU was found
    DomainShared *clear_idle_cores = nullptr; // its has_idle_cores becomes 0
};

// WAKE-89, WAKE-130: the mark belongs to sd_balance_shared.
inline bool test_idle_cores(const Rq &rq) {
    return rq.sd.balance_shared != nullptr && rq.sd.balance_shared->has_idle_cores;
}

// WAKE-100: an SMT sibling of `cpu` inside the LLC domain, or none.
CpuId select_idle_smt(const Scheduler &s, const Task &p, const Domain &llc, CpuId cpu);
// WAKE-103..110: a CPU of the LLC domain of `target`.
IdleSearch select_idle_cpu(const Scheduler &s, const Task &p, const Domain &llc, bool has_idle_cores, CpuId target);
// WAKE-141..144: the best idle CPU of the asymmetric domain of `target` for a task of utilisation `task_util`.
IdleSearch select_idle_capacity(const Scheduler &s, const Task &p, u64 task_util, const Domain &sd, CpuId target);

} // namespace fairground::fair
