// SPDX-License-Identifier: GPL-2.0-only
#include "fair/core.h"

namespace fairground::fair {

// WAKE-191.
CpuId sched_exec(Scheduler &s, Task &p, const Waker &waker) {
    const Placement placement = select_task_rq_fair(s, p, p.cpu, WF_EXEC, waker);
    Task *current = waker.current == nullptr ? nullptr : &s.task(waker.current->id);
    commit_placement(s, p, current, placement);
    return s.active.test(placement.cpu) ? placement.cpu : p.cpu;
}

} // namespace fairground::fair
