// SPDX-License-Identifier: GPL-2.0-only
//
// Wait queues (WAKER-10..12): an ordered list of sleepers; exclusive ones join at the tail, others at the head.
//
// Sleeping is two steps in a Call, which runs at one instant, so no wake-up can be lost between them:
//     queue.add(kernel.current(), true);
//     co_await block();
#pragma once

#include "kernel/thread.h"

namespace fairground::kernel {

struct WaitQueue {
    Thread *head = nullptr;
    Thread *tail = nullptr;

    void add(Thread &thread, bool exclusive) {
        thread.queue = this;
        thread.exclusive = exclusive;
        thread.queue_prev = exclusive ? tail : nullptr;
        thread.queue_next = exclusive ? nullptr : head;
        (thread.queue_prev != nullptr ? thread.queue_prev->queue_next : head) = &thread;
        (thread.queue_next != nullptr ? thread.queue_next->queue_prev : tail) = &thread;
    }
    void remove(Thread &thread) {
        (thread.queue_prev != nullptr ? thread.queue_prev->queue_next : head) = thread.queue_next;
        (thread.queue_next != nullptr ? thread.queue_next->queue_prev : tail) = thread.queue_prev;
        thread.queue = nullptr;
    }
};

} // namespace fairground::kernel
