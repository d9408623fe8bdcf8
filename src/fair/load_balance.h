// SPDX-License-Identifier: GPL-2.0-only
//
// Periodic, newly-idle and active load balancing. Rules: spec/load-balance.md, spec/numa-pair-variant.md.
#pragma once

#include "fair/scheduler.h"

namespace fairground::fair {

enum class CpuIdle : u8 { not_idle = 0, idle = 1, newly_idle = 2 }; // LB-1

// Wall time during newly-idle balancing (LB-15): the passes take time that the driver's machine defines.
// `read` returns sched_clock() at this moment; it is called where the kernel reads the clock.
struct BalanceClock {
    u64 (*read)(void *context, const Scheduler &s) = nullptr; // null: s.now, plus pass cost below per pass
    void *context = nullptr;
};

// One pass over `sd` on behalf of `this_cpu` (LB-37..43). Returns the number of tasks moved;
// *continue_balancing becomes false for "not my turn".
int sched_balance_rq(Scheduler &s, CpuId this_cpu, Domain &sd, CpuIdle idle, bool *continue_balancing);

// Called by the pick when nothing is queued (LB-16..22). > 0: tasks were pulled; < 0: a higher class has work.
int sched_balance_newidle(Scheduler &s, Rq &rq);

// LB-8..11 for `rq`, possibly on another CPU's behalf.
void sched_balance_domains(Scheduler &s, Rq &rq, CpuIdle idle);

// At the tick (LB-6): appends a balance_softirq effect when due and runs the NOHZ kick test.
void sched_balance_trigger(Scheduler &s, Rq &rq);
// The softirq itself (LB-7).
void sched_balance_softirq(Scheduler &s, CpuId cpu);

// Runs in the stopper of `cpu` (LB-82), which counts in nr_running while it does.
void active_load_balance_cpu_stop(Scheduler &s, CpuId cpu);

// LB-13: the CPU leaves idle.
void update_rq_avg_idle(Rq &rq);

} // namespace fairground::fair
