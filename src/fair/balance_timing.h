// SPDX-License-Identifier: GPL-2.0-only
//
// Private to load balancing: the walks over a CPU's domains that decide when a pass runs (LB-8..11, LB-16..22).
//
// A walk is a template over the steps that leave its hands (the pass itself, the clock, the random numbers), so that
// the vector driver can script them; in the model they are inlined.
#pragma once

#include "fair/load_balance.h"

#include <algorithm>

namespace fairground::fair {

// LB-14: one newly-idle call that was worth `success`.
void update_newidle_stats(const Scheduler &s, Domain &sd, u32 success);
// LB-15: true if the largest cost of the domain decayed.
bool update_newidle_cost(const Scheduler &s, Domain &sd, u64 cost, u32 success);

// Steps: int pass(Domain &, CpuIdle, bool *continue_balancing).
template <class Steps> void walk_domains(Scheduler &s, Rq &rq, CpuIdle idle, Steps steps) {
    bool busy = idle != CpuIdle::idle && !sched_idle_rq(rq);
    bool continue_balancing = true;
    bool need_decay = false;
    bool update_next = false;
    u64 next_balance = s.jiffies + u64{60} * s.tunables.hz;
    u64 max_cost = 0;

    for (Domain *sd = rq.sd.base; sd != nullptr; sd = sd->parent) { // LB-10
        need_decay = update_newidle_cost(s, *sd, 0, 0);
        max_cost += sd->max_newidle_lb_cost;
        if (!continue_balancing) {
            if (need_decay)
                continue;
            break;
        }
        u64 interval = get_sd_balance_interval(s, *sd, busy);
        if (s.jiffies >= sd->last_balance + interval) {
            if (steps.pass(*sd, idle, &continue_balancing) != 0) {
                idle = idle_cpu(rq) ? CpuIdle::idle : CpuIdle::not_idle;
                busy = idle == CpuIdle::not_idle && !sched_idle_rq(rq);
            }
            sd->last_balance = s.jiffies;
            interval = get_sd_balance_interval(s, *sd, busy);
        }
        if (next_balance > sd->last_balance + interval) {
            next_balance = sd->last_balance + interval;
            update_next = true;
        }
    }
    if (need_decay) // LB-11
        rq.max_idle_balance_cost = std::max(s.tunables.migration_cost, max_cost);
    if (update_next)
        rq.next_balance = next_balance;
}

// Steps: pass as above, void update_blocked(), u64 clock(const Domain *passed), u64 draw() uniform in 0..1023,
// void nohz_newidle().
template <class Steps> int walk_newidle(Scheduler &s, Rq &rq, Steps steps) {
    update_misfit_status(s, nullptr, rq); // LB-16
    if (rq.ttwu_pending)
        return 0;
    rq.idle_stamp = rq.clock;
    if (!s.active.test(rq.cpu))
        return 0;

    u64 next_balance = s.jiffies + s.tunables.hz;
    const auto note_next = [&](const Domain &sd) {
        next_balance = std::min(next_balance, sd.last_balance + get_sd_balance_interval(s, sd, false));
    };
    int pulled = 0;
    Domain *base = rq.sd.base;
    if (base != nullptr && (!s.root.overloaded || rq.avg_idle < base->max_newidle_lb_cost)) { // LB-17
        note_next(*base);
    } else if (base != nullptr) {
        bool continue_balancing = true;
        u64 mark = steps.clock(nullptr);
        u64 curr_cost = 0;
        rq.next_class = std::min(rq.next_class, SchedClass::fair); // from here on, note higher classes (LB-21)
        steps.update_blocked();                                    // LB-18

        for (Domain *sd = base; sd != nullptr; sd = sd->parent) {
            note_next(*sd);
            if (rq.avg_idle < curr_cost + sd->max_newidle_lb_cost)
                break;
            if ((sd->flags & SD_BALANCE_NEWIDLE) != 0) {
                u32 weight = 1;
                if (s.features[Feature::NI_RANDOM] && sd->newidle_ratio < 1024) { // LB-19
                    weight = 1 + sd->newidle_ratio;
                    if (steps.draw() > weight) {
                        update_newidle_stats(s, *sd, 0);
                        continue;
                    }
                    weight = (1024 + weight / 2) / weight;
                }
                pulled = steps.pass(*sd, CpuIdle::newly_idle, &continue_balancing); // LB-20
                const u64 now = steps.clock(sd);
                const u64 cost = now - mark;
                mark = now;
                curr_cost += cost;
                update_newidle_cost(s, *sd, cost, pulled != 0 ? weight : 0);
            }
            if (pulled != 0 || !continue_balancing)
                break;
        }
        rq.max_idle_balance_cost = std::max(rq.max_idle_balance_cost, curr_cost); // LB-21
        if (rq.cfs.h_nr_queued > 0 && pulled == 0)
            pulled = 1;
        if (rq.next_class > SchedClass::fair)
            pulled = -1;
    }

    rq.next_balance = std::min(rq.next_balance, next_balance); // LB-22
    if (pulled != 0)
        rq.idle_stamp = 0;
    else
        steps.nohz_newidle();
    return pulled;
}

} // namespace fairground::fair
