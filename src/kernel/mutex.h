// SPDX-License-Identifier: GPL-2.0-only
//
// A sleeping lock with optimistic spinning (WAKER-25; kernel/locking/mutex.c). A contender spins while the owner runs
// on another CPU, and sleeps when the owner does not run or its own CPU must reschedule. At unlock the first spinner
// gets the lock, the line travelling to its CPU. Without a spinner the first sleeper is woken without the sync hint and
// has to compete: whoever comes first takes the lock, so a task that locks again at once wins. A sleeper that lost
// such a race waits at the head, and the next unlock hands the lock to it.
#pragma once

#include "kernel/wait_queue.h"

namespace fairground::kernel {

struct Mutex {
    Thread *owner = nullptr;
    WaitQueue waiters; // spinners and sleepers in order of arrival, those that lost a race first
};

Call<> lock(Kernel &kernel, Mutex &mutex);
void unlock(Kernel &kernel, Mutex &mutex); // by the current task, which owns it

} // namespace fairground::kernel
