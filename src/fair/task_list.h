// SPDX-License-Identifier: GPL-2.0-only
//
// rq.cfs_tasks: the queued tasks of a CPU, most recently enqueued or picked first. Load balancing scans it from
// its tail (EEVDF-72, LB-41).
#pragma once

#include "fair/rq.h"

namespace fairground::fair {

inline void task_list_add(Rq &rq, Task &p) {
    p.list_prev = nullptr;
    p.list_next = rq.tasks_head;
    (rq.tasks_head != nullptr ? rq.tasks_head->list_prev : rq.tasks_tail) = &p;
    rq.tasks_head = &p;
}

inline void task_list_remove(Rq &rq, Task &p) {
    (p.list_prev != nullptr ? p.list_prev->list_next : rq.tasks_head) = p.list_next;
    (p.list_next != nullptr ? p.list_next->list_prev : rq.tasks_tail) = p.list_prev;
    p.list_prev = nullptr;
    p.list_next = nullptr;
}

inline void task_list_move_to_head(Rq &rq, Task &p) {
    if (rq.tasks_head == &p)
        return;
    task_list_remove(rq, p);
    task_list_add(rq, p);
}

} // namespace fairground::fair
