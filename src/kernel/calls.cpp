// SPDX-License-Identifier: GPL-2.0-only
//
// The crossing between user and kernel mode, and the small system calls.
#include "kernel/kernel.h"
#include "kernel/mutex.h"

namespace fairground::kernel {

void enter_call(Thread &thread, std::coroutine_handle<> body) noexcept {
    thread.user_mode = false;
    thread.leaf = body;
    thread.request = Request::kernel;
    thread.remaining = thread.kernel->costs().syscall_ns;
}

void finish_call(PromiseBase &promise) noexcept {
    Thread &thread = *promise.thread;
    thread.leaf = promise.parent;
    thread.request = Request::user_return;
    thread.remaining = 0;
}

Call<> nanosleep(Kernel &kernel, u64 ns) {
    kernel.arm_sleep(ns);
    co_await block();
}

Call<> sched_yield(Kernel &) { co_await yield(); }

Call<TaskId> fork(Kernel &kernel, const TaskSpec &spec, Program program) {
    // Copying an address space: a guess, no row in docs/costs.md.
    constexpr u64 fork_ns = 60 * ns_per_us;
    co_await spend(fork_ns);
    co_return kernel.fork_current(spec, std::move(program));
}

Call<> lock(Kernel &kernel, Mutex &mutex) {
    Thread &self = kernel.current();
    for (bool lost = false; mutex.owner != nullptr && mutex.owner != &self; lost = true) {
        mutex.waiters.add(self, !lost);
        if (mutex.owner->phase == Phase::running)
            co_await spin();
        else
            co_await block();
        while (self.queue != nullptr) // it stopped spinning
            co_await block();
    }
    mutex.owner = &self;
    self.holds = &mutex;
}

void unlock(Kernel &kernel, Mutex &mutex) {
    kernel.current().holds = nullptr;
    mutex.owner = nullptr;
    Thread *next = mutex.waiters.head;
    for (Thread *waiter = next; waiter != nullptr; waiter = waiter->queue_next)
        if (waiter->request == Request::spin && waiter->phase == Phase::running) {
            next = waiter;
            break;
        }
    if (next == nullptr)
        return;
    const bool spins = next->request == Request::spin && next->phase == Phase::running;
    if (spins || !next->exclusive) // added at the head: it lost a race before
        mutex.owner = next;
    mutex.waiters.remove(*next);
    if (spins)
        kernel.release_spinner(*next, kernel.distances().copy_ns(kernel.this_cpu(), next->task->cpu, 64));
    else
        kernel.wake_up_process(*next, 0);
}

} // namespace fairground::kernel
