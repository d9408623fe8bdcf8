// SPDX-License-Identifier: GPL-2.0-only
//
// NOHZ idle balancing: who balances for CPUs whose tick is stopped. Rules: LB-24..36 of spec/load-balance.md.
//
// What a driver must call, and when:
//   nohz_run_idle_balance     each time a CPU enters its idle loop, before it decides about the tick
//   nohz_balance_enter_idle   when an idle CPU stops its tick, or re-enters idle with the tick still stopped
//   nohz_csd_func             when the interrupt of an EffectKind::nohz_kick arrives at `target`
// The rest is called from inside the model (tick, newly-idle balancing, softirq).
#pragma once

#include "fair/scheduler.h"

namespace fairground::fair {

void nohz_balance_enter_idle(Scheduler &s, Rq &rq); // the CPU stops its tick (LB-24)
void nohz_balance_exit_idle(Scheduler &s, Rq &rq);  // first busy tick (LB-24)
// At a busy tick (LB-25..31). May append a nohz_kick effect: cpu = who kicks, target = the chosen balancer.
void nohz_balancer_kick(Scheduler &s, Rq &rq);
// The idle CPU that would be kicked now, or none (LB-31).
CpuId find_new_ilb(const Scheduler &s);
// The interrupt of a kick arrived (LB-31): appends balance_softirq if the CPU is still idle, else the kick is lost.
void nohz_csd_func(Scheduler &s, Rq &rq);
void nohz_newidle_balance(Scheduler &s, Rq &rq);  // after a fruitless newly-idle attempt (LB-35)
void nohz_run_idle_balance(Scheduler &s, Rq &rq); // the CPU enters the idle loop (LB-35)
// The pass itself (LB-32..34); false if no request was pending or the CPU is not idle.
bool nohz_idle_balance(Scheduler &s, Rq &rq, bool idle);

} // namespace fairground::fair
