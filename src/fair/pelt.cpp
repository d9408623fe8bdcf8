// SPDX-License-Identifier: GPL-2.0-only
//
// The decaying sum and the clocks (kernel/sched/pelt.c, pelt.h).
#include "fair/pelt.h"

#include <array>

namespace fairground::fair {

namespace {

constexpr u32 load_avg_period = 32; // y^32 = 1/2
constexpr u32 load_avg_max = 47742; // limit of 1024 * sum y^n, n from 0
constexpr u64 stopped = ~u64{0};    // throttled_pelt_idle: the clock of the queue stands still (PELT-46)
constexpr u32 saturated_util_sum = (pelt_min_divider << 10) - load_avg_max; // PELT-44

// y^n * 2^32 (PELT-2).
constexpr std::array<u32, load_avg_period> decay_factor = {
    0xffffffff, 0xfa83b2da, 0xf5257d14, 0xefe4b99a, 0xeac0c6e6, 0xe5b906e6, 0xe0ccdeeb, 0xdbfbb796,
    0xd744fcc9, 0xd2a81d91, 0xce248c14, 0xc9b9bd85, 0xc5672a10, 0xc12c4cc9, 0xbd08a39e, 0xb8fbaf46,
    0xb504f333, 0xb123f581, 0xad583ee9, 0xa9a15ab4, 0xa5fed6a9, 0xa2704302, 0x9ef5325f, 0x9b8d39b9,
    0x9837f050, 0x94f4efa8, 0x91c3d373, 0x8ea4398a, 0x8b95c1e3, 0x88980e80, 0x85aac367, 0x82cd8698,
};

// What is `now` unaccounted of a counter, at most `limit` (PELT-41).
u64 take(u64 now, u64 &taken, u64 limit) {
    const u64 part = std::min(now - taken, limit);
    taken += part;
    return part;
}

// PELT-48. The time is taken to lie at the end of the span.
void update_irq_load_avg(Rq &rq, u64 running) {
    running = running * rq.freq >> 10;
    running = running * rq.arch_capacity >> 10;
    const bool before = update_load_sum(rq.clock - running, rq.avg_irq, 0, 0, false);
    const bool after = update_load_sum(rq.clock, rq.avg_irq, 1, 1, true);
    if (before || after)
        update_load_avg_values(rq.avg_irq, 1);
}

// PELT-42, the idle case.
void sync_idle_clocks(Rq &rq) {
    rq.clock_pelt = rq.clock_task;
    rq.clock_idle = rq.clock;
    rq.clock_pelt_idle = rq_clock_pelt(rq);
}

} // namespace

u64 decay_load(u64 value, u64 periods) { // PELT-3
    if (periods > u64{load_avg_period} * 63)
        return 0;
    value >>= periods / load_avg_period;
    return static_cast<u64>(u128{value} * decay_factor[periods % load_avg_period] >> 32);
}

u32 accumulate_pelt_segments(u64 periods, u32 d1, u32 d3) { // PELT-4
    const auto first = static_cast<u32>(decay_load(d1, periods));
    const auto full = static_cast<u32>(load_avg_max - decay_load(load_avg_max, periods) - 1024);
    return first + full + d3;
}

bool update_load_sum(u64 now, SchedAvg &sa, u64 load, u64 runnable, bool running) {
    u64 delta = now - sa.last_update_time; // PELT-5
    if (static_cast<s64>(delta) < 0) {
        sa.last_update_time = now;
        return false;
    }
    delta >>= 10;
    if (delta == 0)
        return false;
    sa.last_update_time += delta << 10;

    auto contrib = static_cast<u32>(delta); // PELT-6
    delta += sa.period_contrib;
    const u64 periods = delta / 1024;
    if (periods != 0) {
        sa.load_sum = decay_load(sa.load_sum, periods);
        sa.runnable_sum = decay_load(sa.runnable_sum, periods);
        sa.util_sum = static_cast<u32>(decay_load(sa.util_sum, periods));
        delta %= 1024;
        if (load != 0)
            contrib = accumulate_pelt_segments(periods, 1024 - sa.period_contrib, static_cast<u32>(delta));
    }
    sa.period_contrib = static_cast<u32>(delta);
    if (load != 0) {
        sa.load_sum += load * contrib;
        sa.runnable_sum += runnable * contrib << 10;
        if (running)
            sa.util_sum += contrib << 10;
    }
    return periods != 0;
}

void update_load_avg_values(SchedAvg &sa, u64 weight) { // PELT-7
    const u32 divider = pelt_divider(sa);
    sa.load_avg = weight * sa.load_sum / divider;
    sa.runnable_avg = sa.runnable_sum / divider;
    sa.util_avg = sa.util_sum / divider;
}

void update_rq_clock_pelt(Rq &rq, u64 delta) { // PELT-42, -47
    if (rq.current_class == SchedClass::idle) {
        sync_idle_clocks(rq);
        return;
    }
    delta = delta * rq.arch_capacity >> 10;
    delta = delta * rq.freq >> 10;
    rq.clock_pelt += delta;
}

void update_rq_clock(Scheduler &s, Rq &rq) {
    u64 delta = s.now - rq.clock; // PELT-40; each CPU's moves at its own updates only (EEVDF-140)
    if (static_cast<s64>(delta) < 0)
        return;
    rq.clock += delta;

    const u64 irq = take(rq.irq_time, rq.prev_irq_time, delta); // PELT-41
    delta -= irq;
    const u64 steal = std::min(rq.steal_time - rq.prev_steal_time, delta);
    rq.prev_steal_time = rq.steal_time; // unlike interrupt time, an excess is forgotten
    delta -= steal;
    rq.clock_task += delta;
    if (irq + steal != 0 && s.features[Feature::NONTASK_CAPACITY])
        update_irq_load_avg(rq, irq + steal);
    update_rq_clock_pelt(rq, delta);
}

void update_idle_rq_clock_pelt(Rq &rq) { // PELT-44
    const u32 util_sum = rq.cfs.avg.util_sum + rq.avg_rt.util_sum + rq.avg_dl.util_sum;
    if (util_sum >= saturated_util_sum)
        rq.lost_idle_time += rq.clock_task - rq.clock_pelt;
    sync_idle_clocks(rq);
}

u64 cfs_rq_clock_pelt(const CfsRq &cfs) { // PELT-45
    if (cfs.pelt_clock_stopped)
        return cfs.throttled_clock_pelt - cfs.throttled_clock_pelt_time;
    return rq_clock_pelt(*cfs.rq) - cfs.throttled_clock_pelt_time;
}

void update_idle_cfs_rq_clock_pelt(CfsRq &cfs) { // PELT-46
    cfs.throttled_pelt_idle = cfs.pelt_clock_stopped ? stopped : cfs.throttled_clock_pelt_time;
}

bool update_other_load_avgs(Rq &rq) { // PELT-25, -49
    // Of the classes above fair only the stopper is modelled, and no average is charged for it.
    const u64 now = rq_clock_pelt(rq);
    for (SchedAvg *sa : {&rq.avg_rt, &rq.avg_dl})
        if (update_load_sum(now, *sa, 0, 0, false))
            update_load_avg_values(*sa, 1);
    const u64 lost = rq.hw_pressure;
    if (update_load_sum(rq.clock_task, rq.avg_hw, lost, lost, lost != 0))
        update_load_avg_values(rq.avg_hw, 1);
    update_irq_load_avg(rq, 0);
    return rq.avg_rt.util_avg != 0 || rq.avg_dl.util_avg != 0 || rq.avg_hw.load_avg != 0 || rq.avg_irq.util_avg != 0;
}

} // namespace fairground::fair
