// SPDX-License-Identifier: GPL-2.0-only
//
// Checked builds (FAIRGROUND_CHECKED) verify a CPU's queues after every core operation: sums and counters against
// a recount, order and subtree values of the timeline, the lag bound, the lists. A violation is an error of the
// model: it is described on standard error and the program aborts. Other builds do nothing.
#pragma once

#include "fair/scheduler.h"

namespace fairground::fair {

#ifdef FAIRGROUND_CHECKED
void check_rq(const Scheduler &s, const Rq &rq);
#else
inline void check_rq(const Scheduler &, const Rq &) {}
#endif

} // namespace fairground::fair
