// SPDX-License-Identifier: GPL-2.0-only
//
// Does a task that was just enqueued preempt the running one? Rules: spec/wakeup-preemption.md.
#pragma once

#include "fair/scheduler.h"

namespace fairground::fair {

// PREEMPT-1, WAKE section 2.
enum WakeFlag : u32 {
    WF_EXEC = 0x02,
    WF_FORK = 0x04,
    WF_TTWU = 0x08,
    WF_SYNC = 0x10,
    WF_MIGRATED = 0x20,
    WF_CURRENT_CPU = 0x40,
    WF_RQ_SELECTED = 0x80,
};

// The outer test of core.c (EEVDF-97, PREEMPT-4) and the fair check behind it (PREEMPT-10). `p` is enqueued on
// `rq` and the rq clock is current.
void wakeup_preempt(Scheduler &s, Rq &rq, Task &p, u32 wake_flags);

} // namespace fairground::fair
