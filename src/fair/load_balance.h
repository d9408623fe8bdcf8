// SPDX-License-Identifier: GPL-2.0-only
//
// Periodic, newly-idle and active load balancing. Rules: spec/load-balance.md, spec/numa-pair-variant.md.
//
// Files: group_capacity.cpp, lb_stats.cpp (what a pass counts, which group is busiest), lb_imbalance.cpp (is there
// an imbalance, how much, from which queue), lb_detach.cpp (which tasks move), load_balance.cpp (the pass and the
// push), balance_timing.cpp (when passes run), cache_aware.cpp, nohz.cpp. Their shared, private view: lb_env.h.
//
// A pass touches other CPUs' queues at once; the model has no locks. What happens later than its cause in a kernel
// (LB-106) is a call of its own. What a driver must call, and when:
//   sched_balance_trigger   in sched_tick after the class tick (core.cpp does)
//   sched_balance_softirq   when the softirq of an EffectKind::balance_softirq runs: after the interrupt that raised
//                           it, before the CPU returns to its task or idle loop. Raising twice runs it once
//   sched_balance_newidle   in the pick when the fair class has nothing queued (eevdf.cpp does)
//   active_load_balance_cpu_stop  in the stopper thread of `cpu` after EffectKind::active_push: the driver calls
//                           stopper_queue(cpu), schedule(cpu), this, stopper_done(cpu), schedule(cpu)
//   update_rq_avg_idle      when a CPU switches away from its idle thread (core.cpp does)
#pragma once

#include "fair/scheduler.h"

namespace fairground::fair {

enum class CpuIdle : u8 { not_idle = 0, idle = 1, newly_idle = 2 }; // LB-1

// One pass over `sd` on behalf of `this_cpu` (LB-37..43). Returns the number of tasks moved;
// *continue_balancing becomes false for "not my turn".
int sched_balance_rq(Scheduler &s, CpuId this_cpu, Domain &sd, CpuIdle idle, bool *continue_balancing);

// Called by the pick when nothing is queued (LB-16..22); the rq clock is current. > 0: tasks were pulled; < 0: a
// higher class has work, pick again from the top; 0: nothing to run.
int sched_balance_newidle(Scheduler &s, Rq &rq);

// LB-8..11 for `rq`, possibly on another CPU's behalf.
void sched_balance_domains(Scheduler &s, Rq &rq, CpuIdle idle);

// At the tick, busy or idle (LB-6): notes whether the CPU is idle, appends a balance_softirq effect when a domain is
// due, and runs the NOHZ kick test.
void sched_balance_trigger(Scheduler &s, Rq &rq);
// The softirq itself (LB-7).
void sched_balance_softirq(Scheduler &s, CpuId cpu);

// Runs in the stopper of `cpu` (LB-82), which counts in nr_running while it does and has preempted the task that ran
// (its on_cpu is false). Moves at most one task to rq.push_cpu and always clears the push mark.
void active_load_balance_cpu_stop(Scheduler &s, CpuId cpu);

// LB-13: the CPU leaves idle; the rq clock is current.
void update_rq_avg_idle(Rq &rq);

// LB-90: `p` is the task that runs or was picked, null if there is none. At the tick, at pick, and by newly-idle
// balancing itself.
void update_misfit_status(Scheduler &s, const Task *p, Rq &rq);

// LB-36: brings the averages of `rq` up to date, its clock included, and clears has_blocked_load when all are 0.
void sched_balance_update_blocked_averages(Scheduler &s, Rq &rq); // callers: PELT-26

// Capacity left for fair tasks on a CPU (TOPO-45), and the refresh of the first group of `sd` (TOPO-44).
u64 scale_rt_capacity(const Rq &rq);
void update_group_capacity(Scheduler &s, Domain &sd, CpuId cpu);

// LB-9, in jiffies.
u64 get_sd_balance_interval(const Scheduler &s, const Domain &sd, bool cpu_busy);

// LB-58: how many tasks more the busiest group has, weighed by cores. All counts are of the whole group.
s64 sibling_imbalance(bool idle, int busiest_cores, u32 busiest_running, int local_cores, u32 local_running);
// LB-45, WAKE-120..122: nr_idle_scan of a domain that owns a shared object.
int idle_cpu_scan(int span_weight, int imbalance_pct, u64 sum_util);

} // namespace fairground::fair
