// SPDX-License-Identifier: GPL-2.0-only
//
// Thread: what the simulated kernel keeps of a task besides the scheduler's fair::Task: its program, the work in
// flight and where its time went.
#pragma once

#include "base/cpu_mask.h"
#include "fair/entity.h"
#include "kernel/program.h"

#include <string>

namespace fairground::kernel {

struct Mutex;
struct WaitQueue;

struct TaskSpec {
    std::string name{};
    fair::Policy policy = fair::Policy::normal;
    int nice = 0;
    u64 slice = 0;  // ns; 0: the base slice
    CpuMask cpus{}; // allowed CPUs; empty: all online ones
    bool kthread = false;
    fair::TaskGroup *group = nullptr;
    u64 footprint = 32 * 1024;        // bytes of working set that a migration must fetch again
    u64 timer_slack = 50 * ns_per_us; // WAKER-62
};

// For the accounts: running includes the switch to the task; waiting is runnable but not running.
enum class Phase : u8 { sleeping, waiting, running, dead };

struct Account {
    u64 run = 0; // ns
    u64 wait = 0;
    u64 sleep = 0;
};

struct Thread {
    Kernel *kernel = nullptr;
    fair::Task *task = nullptr;
    TaskId id;
    std::string name;
    Program program;
    std::coroutine_handle<> leaf; // innermost coroutine, resumed next

    Request request = Request::user;
    u64 remaining = 0; // ns of the request
    bool user_mode = true;

    CpuId last_cpu; // where it ran last
    u64 footprint = 0;
    u64 timer_slack = 0;
    u32 timer_generation = 0;

    Time born = 0;
    Phase phase = Phase::waiting;
    Time phase_since = 0;
    Account account; // up to phase_since

    Mutex *holds = nullptr; // sleeping lock held, at most one at a time

    // Position in a wait queue.
    WaitQueue *queue = nullptr;
    Thread *queue_prev = nullptr;
    Thread *queue_next = nullptr;
    bool exclusive = false;

    void enter(Phase next, Time now) {
        (phase == Phase::running   ? account.run
         : phase == Phase::waiting ? account.wait
                                   : account.sleep) += now - phase_since;
        phase = next;
        phase_since = now;
    }
};

inline void PromiseBase::Pause::await_suspend(std::coroutine_handle<> here) const noexcept {
    thread->leaf = here;
    thread->request = request;
    thread->remaining = ns;
}

} // namespace fairground::kernel
