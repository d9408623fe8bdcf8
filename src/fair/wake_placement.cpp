// SPDX-License-Identifier: GPL-2.0-only
#include "fair/wake_placement.h"

namespace fairground::fair {
CpuId select_task_rq(Scheduler &, Task &, CpuId prev, u32 &, const Waker &, Task *) { return prev; }
void update_idle_core(Scheduler &, Rq &) {}
} // namespace fairground::fair
