// SPDX-License-Identifier: GPL-2.0-only
#include "fair/load_balance.h"

namespace fairground::fair {
int sched_balance_newidle(Scheduler &, Rq &) { return 0; }
void sched_balance_trigger(Scheduler &, Rq &) {}
void update_rq_avg_idle(Rq &) {}
} // namespace fairground::fair
