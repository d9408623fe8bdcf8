// SPDX-License-Identifier: GPL-2.0-only
//
// A sleeping lock with optimistic spinning (WAKER-25). A contender spins while the owner runs on another CPU, and
// sleeps when the owner does not run or its own CPU must reschedule. At unlock the first spinner gets the lock, the
// line travelling to its CPU; without a spinner the first sleeper does and is woken without the sync hint.
//
// Simpler than the kernel's: ownership is always handed over, never left to a race with a newcomer.
#pragma once

#include "kernel/wait_queue.h"

namespace fairground::kernel {

struct Mutex {
    Thread *owner = nullptr;
    WaitQueue waiters; // spinners and sleepers in order of arrival
};

Call<> lock(Kernel &kernel, Mutex &mutex);
void unlock(Kernel &kernel, Mutex &mutex); // by the current task, which owns it

} // namespace fairground::kernel
