// SPDX-License-Identifier: GPL-2.0-only
//
// What kernel/sched/core.c does around the fair class: the scheduling step, wake-ups, fork, tick, changes of
// parameters and affinity. Rules: eevdf.md sections 10..13, wake-placement.md sections 3, 10 and 11,
// wakeup-preemption.md section 5.
//
// Every function takes effect at once at s.now; interrupts and timers it would cause are in s.effects.
#pragma once

#include "fair/eevdf.h"
#include "fair/scheduler.h"
#include "fair/wake_placement.h"
#include "fair/wakeup_preemption.h"

namespace fairground::fair {

void resched_curr(Scheduler &s, Rq &rq); // EEVDF-100
void resched_curr_lazy(Scheduler &s, Rq &rq);

// The scheduling step of one CPU (EEVDF-90). `state` other than running: the running task goes to sleep in that
// state first; dead: it never comes back and its load leaves with it. Both resched flags are clear afterwards.
// Returns the task that runs next: null with rq.current_class idle (idle thread) or higher (the stopper, when
// rq.stopper_queued).
//
// A driver in which wake-ups can come between the decision to sleep and schedule() sets p.state itself at the
// former point, as set_current_state() does, and passes p.state here: a wake-up in between makes it running
// again and the task does not block.
Task *schedule(Scheduler &s, CpuId cpu, TaskState state = TaskState::running);

// Regular tick: class tick and the balance trigger (EEVDF-103, LB-6). s.jiffies is already the new value.
void sched_tick(Scheduler &s, CpuId cpu);
// The timer of an hrtick effect expired (EEVDF-113). After an hrtick_cancel or a later hrtick effect of the same
// CPU the earlier timer must not fire.
void hrtick(Scheduler &s, CpuId cpu);
void hrtick_start(Scheduler &s, Rq &rq, u64 delay); // EEVDF-110, -111; delay in ns

// The stopper thread of a CPU: queue marks it runnable and requests a resched; the driver calls schedule(), runs
// the stopper's work, then done, then schedule() again.
void stopper_queue(Scheduler &s, CpuId cpu);
void stopper_done(Scheduler &s, CpuId cpu);

// try_to_wake_up (WAKE-20..33).
enum class WakeResult : u8 {
    no,       // it was not asleep
    running,  // it is current somewhere or still queued: state changed, maybe requeued (WAKE-21, -22)
    enqueued, // on a run queue by the waker itself
    queued,   // on the wake list of its CPU: the driver delivers it with sched_ttwu_pending (WAKE-28)
};
struct Wake {
    WakeResult result = WakeResult::no;
    CpuId cpu;             // where to
    bool migrated = false; // WF_MIGRATED, remembered for the wake list
    bool first = false;    // queued: the list was empty, so the CPU must be notified (WAKE-28, -29)
    Placement placement;   // what the class was asked; empty if it was not
};
Wake try_to_wake_up(Scheduler &s, Task &p, u32 wake_flags, const Waker &waker);

// The target processes its wake list in order of arrival (WAKE-30, PREEMPT-42).
void sched_ttwu_pending(Scheduler &s, CpuId cpu);

// Parts of the above for drivers that know the outcome already (lock-step check, vectors).
// WAKE-22: `p` is queued. WAKE-31: `p` is off every queue and p.cpu is where it goes; the rq clock is current.
void ttwu_runnable(Scheduler &s, Task &p, u32 wake_flags);
void ttwu_do_activate(Scheduler &s, Rq &rq, Task &p, u32 wake_flags);

// Tasks.
struct TaskInit {
    Policy policy = Policy::normal;
    int nice = 0;
    u64 slice = 0; // ns; 0: base slice
    CpuMask cpus_allowed;
    bool kthread = false;
    TaskGroup *group = nullptr;
};
// A new task, not yet woken. `parent` null: made by the boot CPU's context on `cpu`.
Task &sched_fork(Scheduler &s, const TaskInit &init, const Task *parent, CpuId cpu);
void wake_up_new_task(Scheduler &s, Task &p, const Waker &waker);         // WAKE-190
void activate_new_task(Scheduler &s, Task &p, CpuId cpu, u32 wake_flags); // the same, CPU known
// The CPU an exec would move to; the driver moves through the stopper (WAKE-191).
CpuId sched_exec(Scheduler &s, Task &p, const Waker &waker);

// Change of parameters (EEVDF-122): begin takes the task off its queue, end puts it back and runs prio_changed.
struct SchedChange {
    Task *task = nullptr;
    bool queued = false;
    bool running = false;
    int old_prio = 0;
};
SchedChange sched_change_begin(Scheduler &s, Task &p);
void sched_change_end(Scheduler &s, const SchedChange &change);

void set_user_nice(Scheduler &s, Task &p, int nice);
void set_scheduler(Scheduler &s, Task &p, Policy policy, int nice, u64 runtime_slice); // sched_setattr; EEVDF-8
void sched_move_task(Scheduler &s, Task &p, TaskGroup *group);                         // CG-45
// yield_to() without the schedule() that follows; false if refused (EEVDF-131). The caller is current on `cpu`.
bool yield_to(Scheduler &s, CpuId cpu, Task &p, bool preempt);

// Changes the mask; moves the task at once if it is queued and not running, and returns true if it is running
// on a CPU that is no longer allowed (the driver then moves it through the stopper).
bool set_cpus_allowed(Scheduler &s, Task &p, const CpuMask &mask);
void move_queued_task(Scheduler &s, Task &p, CpuId to); // EEVDF-132; `p` is queued and not running
void set_task_cpu(Scheduler &s, Task &p, CpuId to);     // migrate hook included (WAKE-195..197)

// Enqueue, dequeue with the task's on_rq (EEVDF-70). The rq clock must be current. A deactivated task is
// `migrating`: its load is detached from the queue that it leaves.
void activate_task(Scheduler &s, Rq &rq, Task &p, u32 flags);
void deactivate_task(Scheduler &s, Rq &rq, Task &p, u32 flags = 0);

} // namespace fairground::fair
