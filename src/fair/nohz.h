// SPDX-License-Identifier: GPL-2.0-only
//
// NOHZ idle balancing: who balances for CPUs whose tick is stopped. Rules: LB-24..36 of spec/load-balance.md.
#pragma once

#include "fair/scheduler.h"

namespace fairground::fair {

void nohz_balance_enter_idle(Scheduler &s, Rq &rq); // the CPU stops its tick (LB-24)
void nohz_balance_exit_idle(Scheduler &s, Rq &rq);  // first busy tick (LB-24)
void nohz_balancer_kick(Scheduler &s, Rq &rq);      // at a busy tick (LB-25..31); may append nohz_kick
// The interrupt of a kick arrived (LB-31): appends balance_softirq if the CPU is still idle.
void nohz_csd_func(Scheduler &s, Rq &rq);
void nohz_newidle_balance(Scheduler &s, Rq &rq);  // after a fruitless newly-idle attempt (LB-35)
void nohz_run_idle_balance(Scheduler &s, Rq &rq); // the CPU enters the idle loop (LB-35)
// The pass itself (LB-32..34); false if no request was pending or the CPU is not idle.
bool nohz_idle_balance(Scheduler &s, Rq &rq, bool idle);

} // namespace fairground::fair
