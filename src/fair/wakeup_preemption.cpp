// SPDX-License-Identifier: GPL-2.0-only
#include "fair/wakeup_preemption.h"

#include "fair/core.h"
#include "fair/eevdf.h"

#include <algorithm>

namespace fairground::fair {

namespace {

enum class Action : u8 { none, shorter, pick, resched };

// What the check comes to: `update` shortens the running task's protection (PREEMPT-13).
enum class Result : u8 { leave, update, preempt };

struct Verdict {
    Result result = Result::leave;
    Rule rule;
    Action action = Action::pick;
};

// PREEMPT-10.11. False: an older buddy with an earlier deadline stays.
bool set_preempt_buddy(CfsRq &cfs, Entity &wakee) {
    if (cfs.next != nullptr && vtime_before(cfs.next->deadline, wakee.deadline))
        return false;
    set_next_buddy(cfs, wakee);
    return true;
}

// PREEMPT-17.
void set_short_buddy(CfsRq &cfs, Entity &wakee) {
    if (cfs.next == nullptr || cfs.next->slice >= wakee.slice)
        set_next_buddy(cfs, wakee);
}

// PREEMPT-16.
Action preempt_sync(const Scheduler &s, const Rq &rq, u32 wake_flags, const Entity &wakee, const Entity &curr) {
    u64 threshold = s.tunables.migration_cost;
    if ((wake_flags & WF_RQ_SELECTED) != 0)
        threshold >>= 2;
    const s64 ran = std::max<s64>(0, static_cast<s64>(rq.clock_task - curr.exec_start));
    const bool earlier = vtime_before(wakee.deadline, curr.deadline);
    return earlier && static_cast<u64>(ran) >= threshold ? Action::resched : Action::none;
}

// PREEMPT-10..12, -14. Changes what the kernel's check changes: buddies, runtime, delayed tasks met by the pick.
Verdict check(Scheduler &s, Rq &rq, Task &p, u32 wake_flags) {
    Task &curr = *rq.curr;
    CfsRq &cfs = rq.cfs;
    const Features &features = s.features;

    if (!features[Feature::PREEMPT_SHORT] && rq.need_resched)
        return {Result::leave, "PREEMPT-10.2"};
    if (!features[Feature::WAKEUP_PREEMPTION])
        return {Result::leave, "PREEMPT-10.3"};
    const bool curr_idle = curr.policy == Policy::idle;
    const bool wakee_idle = p.policy == Policy::idle;
    if (curr_idle && !wakee_idle)
        return {Result::preempt, "PREEMPT-10.4"};

    update_curr_fair(s, rq);
    if (curr_idle != wakee_idle)
        return {Result::update, "PREEMPT-10.6"};
    if (p.policy != Policy::normal)
        return {Result::update, "PREEMPT-10.7"};
    if (p.se.sched_delayed)
        return {Result::update, "PREEMPT-10.8"};

    Action action = Action::pick;
    if (features[Feature::PREEMPT_SHORT] && p.se.slice < curr.se.slice) {
        action = Action::shorter;
    } else {
        if ((wake_flags & WF_FORK) != 0)
            return {Result::update, "PREEMPT-10.10"};
        if (features[Feature::NEXT_BUDDY] && set_preempt_buddy(cfs, p.se) && (wake_flags & WF_SYNC) != 0)
            action = preempt_sync(s, rq, wake_flags, p.se, curr.se);
        if (action == Action::none)
            return {Result::leave, "PREEMPT-16"};
        if (action == Action::resched)
            return {Result::preempt, "PREEMPT-16"};
    }

    while (cfs.h_nr_queued != 0) { // only the wakee is decided on (PREEMPT-19)
        const Task *best = pick_next_entity(s, rq, action != Action::shorter);
        if (best == nullptr)
            continue;
        if (best == &p)
            return {Result::preempt, "PREEMPT-11", action};
        break;
    }
    if (action == Action::shorter && entity_eligible(cfs, p.se))
        return {Result::preempt, "PREEMPT-12", action};
    return {Result::update, "PREEMPT-12", action};
}

// PREEMPT-10.
void wakeup_preempt_fair(Scheduler &s, Rq &rq, Task &p, u32 wake_flags) {
    if (rq.curr == nullptr || rq.curr == &p)
        return;
    CfsRq &cfs = rq.cfs;
    Entity &curr = rq.curr->se;
    const Verdict verdict = check(s, rq, p, wake_flags);
    if (verdict.result == Result::update && s.features[Feature::RUN_TO_PARITY])
        update_protect_slice(cfs, curr); // PREEMPT-13, -20
    if (verdict.result == Result::preempt) {
        cancel_protect_slice(curr); // PREEMPT-15
        if (verdict.action == Action::shorter)
            set_short_buddy(cfs, p.se);
        resched_curr_lazy(s, rq);
    }
    s.decide(
        {s.now, DecisionKind::preempt, rq.cpu, p.id, {}, verdict.result == Result::preempt ? 1 : 0, 0, verdict.rule});
}

} // namespace

// EEVDF-97, -98.
void wakeup_preempt(Scheduler &s, Rq &rq, Task &p, u32 wake_flags) {
    if (rq.next_class == SchedClass::fair) {
        wakeup_preempt_fair(s, rq, p, wake_flags);
    } else if (rq.next_class == SchedClass::idle) {
        resched_curr(s, rq); // the idle class's own check
        resched_curr(s, rq);
        rq.next_class = SchedClass::fair;
        s.decide({s.now, DecisionKind::preempt, rq.cpu, p.id, {}, 1, 0, "EEVDF-97"});
    }
    const bool current_queued = rq.curr == nullptr || rq.curr->on_rq == OnRq::queued;
    if (current_queued && rq.need_resched)
        rq.skip_clock_update = true;
}

} // namespace fairground::fair
