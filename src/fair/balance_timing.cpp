// SPDX-License-Identifier: GPL-2.0-only
//
// When passes run: at ticks, in the softirq, and when a CPU runs out of work. Rules: LB-6..23.
#include "fair/balance_timing.h"

#include "fair/nohz.h"

namespace fairground::fair {

u64 get_sd_balance_interval(const Scheduler &s, const Domain &sd, bool cpu_busy) {
    const u64 ms = u64{sd.balance_interval} * (cpu_busy ? sd.busy_factor : 1);
    u64 jiffies = (ms * s.tunables.hz + 999) / 1000;
    // One less, so that busy CPUs of different levels do not all balance at the same tick.
    if (cpu_busy)
        jiffies -= 1;
    return std::min(std::max<u64>(jiffies, 1), s.max_load_balance_interval);
}

void update_newidle_stats(const Scheduler &s, Domain &sd, u32 success) {
    sd.newidle_call++;
    sd.newidle_success += success;
    if (sd.newidle_call < 1024)
        return;
    const auto delta = std::max<s64>(0, static_cast<s64>(s.now - sd.newidle_stamp));
    sd.newidle_stamp = s.now;
    s32 ratio = 0;
    if (s.features[Feature::NI_RATE])
        ratio = static_cast<s32>(delta >> 22);
    ratio += static_cast<s32>(sd.newidle_success);
    sd.newidle_ratio = static_cast<u32>(std::min(1024, ratio));
    sd.newidle_call /= 2;
    sd.newidle_success /= 2;
}

bool update_newidle_cost(const Scheduler &s, Domain &sd, u64 cost, u32 success) {
    if (cost != 0)
        update_newidle_stats(s, sd, success);
    if (cost > sd.max_newidle_lb_cost) {
        sd.max_newidle_lb_cost = cost;
        sd.last_decay_max_lb_cost = s.jiffies;
        return false;
    }
    if (s.jiffies <= sd.last_decay_max_lb_cost + s.tunables.hz)
        return false;
    sd.max_newidle_lb_cost = sd.max_newidle_lb_cost * 253 / 256;
    sd.last_decay_max_lb_cost = s.jiffies;
    return true;
}

// LB-13: exponential average with C's truncating division.
void update_rq_avg_idle(Rq &rq) {
    if (rq.idle_stamp == 0)
        return;
    const auto difference = static_cast<s64>(rq.clock - rq.idle_stamp - rq.avg_idle);
    rq.avg_idle = std::min(rq.avg_idle + static_cast<u64>(difference / 8), 2 * rq.max_idle_balance_cost);
    rq.idle_stamp = 0;
}

namespace {

struct Passes {
    Scheduler &s;
    Rq &rq;
    int pass(Domain &sd, CpuIdle idle, bool *continue_balancing) {
        return sched_balance_rq(s, rq.cpu, sd, idle, continue_balancing);
    }
};

struct NewidleSteps : Passes {
    u64 passes = 0;
    void update_blocked() { sched_balance_update_blocked_averages(s, rq); }
    u64 clock(const Domain *passed) {
        const BalanceClock &clock = s.balance_clock;
        if (clock.read != nullptr)
            return clock.read(clock.context, s, rq.cpu, passed);
        passes += passed != nullptr ? 1 : 0;
        return s.now + passes * ns_per_us;
    }
    void nohz_newidle() { nohz_newidle_balance(s, rq); }
    u64 draw() { return s.random[static_cast<u32>(rq.cpu.value)].next() % 1024; }
};

} // namespace

void sched_balance_domains(Scheduler &s, Rq &rq, CpuIdle idle) { walk_domains(s, rq, idle, Passes{s, rq}); }

int sched_balance_newidle(Scheduler &s, Rq &rq) { return walk_newidle(s, rq, NewidleSteps{{s, rq}}); }

void sched_balance_trigger(Scheduler &s, Rq &rq) {
    rq.idle_balance = idle_cpu(rq); // LB-6
    if (rq.sd.base == nullptr || !s.active.test(rq.cpu))
        return;
    if (s.jiffies >= rq.next_balance)
        s.effects.push_back({EffectKind::balance_softirq, rq.cpu, {}, s.now});
    nohz_balancer_kick(s, rq);
}

void sched_balance_softirq(Scheduler &s, CpuId cpu) {
    Rq &rq = s.rq(cpu);
    const bool idle = rq.idle_balance; // LB-7: as the tick or the kick found it
    if (nohz_idle_balance(s, rq, idle))
        return;
    sched_balance_update_blocked_averages(s, rq);
    sched_balance_domains(s, rq, idle ? CpuIdle::idle : CpuIdle::not_idle);
}

} // namespace fairground::fair
