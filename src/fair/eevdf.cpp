// SPDX-License-Identifier: GPL-2.0-only
//
// Virtual time, lag, eligibility, protection, pick: what one queue computes about its entities. Joining and
// leaving is in enqueue.cpp, the class's entry points in fair_class.cpp.
#include "fair/eevdf.h"

#include "fair/cgroup.h"

#include <algorithm>
#include <array>

namespace fairground::fair {

namespace {

// EEVDF-3: nice -20..19, unscaled (sched_prio_to_weight).
constexpr std::array<u32, 40> prio_to_weight = {
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906,  3121,  2501,  1991,  1586,  1277,  1024,  820,   655,   526,   423,  335,  272,  215,
    172,   137,   110,   87,    70,    56,    45,    36,    29,    23,    18,   15,
};

s64 as_signed(u64 value) { return static_cast<s64>(value); }
u64 as_unsigned(s64 value) { return static_cast<u64>(value); }

// Signed arithmetic that wraps, as the kernel's does.
s64 multiply(s64 a, u64 b) { return as_signed(as_unsigned(a) * b); }
s64 add(s64 a, s64 b) { return as_signed(as_unsigned(a) + as_unsigned(b)); }

u64 earlier(u64 a, u64 b) { return vtime_before(b, a) ? b : a; }

// Division toward minus infinity; the divisor is positive.
s64 floor_div(s64 value, s64 divisor) {
    if (value < 0)
        value -= divisor - 1;
    return value / divisor;
}

s64 entity_key(const CfsRq &cfs, const Entity &se) { return as_signed(se.vruntime - cfs.zero_vruntime); }

// The running task as far as it counts in the average (EEVDF-32).
const Entity *queued_curr(const CfsRq &cfs) { return cfs.curr != nullptr && cfs.curr->on_rq ? cfs.curr : nullptr; }

u64 sum_weight_of(const CfsRq &cfs, u64 weight) {
    return cfs.sum_shift == 0 ? weight : std::max<u64>(2, weight >> cfs.sum_shift);
}

void add_to_sums(CfsRq &cfs, const Entity &se) {
    const u64 weight = sum_weight_of(cfs, se.h_load);
    cfs.sum_w_vruntime = add(cfs.sum_w_vruntime, multiply(entity_key(cfs, se), weight));
    cfs.sum_weight += weight;
}

// EEVDF-34: on overflow the weights of everybody in the sums lose another bit.
void add_to_sums_paranoid(CfsRq &cfs, const Entity &se) {
    constexpr u32 max_shift = 10; // where the kernel gives up
    for (;;) {
        s64 product = 0;
        s64 sum = 0;
        const s64 weight = as_signed(sum_weight_of(cfs, se.h_load));
        if (!__builtin_mul_overflow(entity_key(cfs, se), weight, &product) &&
            !__builtin_add_overflow(cfs.sum_w_vruntime, product, &sum))
            break;
        if (cfs.sum_shift >= max_shift)
            break;
        cfs.sum_shift++;
        cfs.sum_w_vruntime = 0;
        cfs.sum_weight = 0;
        for (const Entity *other = cfs.timeline.first(); other != nullptr; other = Timeline::next(*other))
            add_to_sums(cfs, *other);
    }
    add_to_sums(cfs, se);
}

// EEVDF-31.
void shift_zero(CfsRq &cfs, s64 delta) {
    cfs.sum_w_vruntime = as_signed(as_unsigned(cfs.sum_w_vruntime) - cfs.sum_weight * as_unsigned(delta));
    cfs.zero_vruntime += as_unsigned(delta);
}

// EEVDF-41.
s64 entity_lag(const Scheduler &s, const CfsRq &cfs, const Entity &se, u64 average) {
    const s64 limit = as_signed(calc_delta_fair(cfs_rq_max_slice(cfs) + s.tunables.tick_nsec(), se));
    const s64 lag = as_signed(average - se.vruntime);
    // In the order of the kernel's clamp(), which matters once a tiny weight makes the limit wrap.
    if (lag >= limit)
        return limit;
    const s64 low = as_signed(u64{0} - as_unsigned(limit));
    return lag <= low ? low : lag;
}

} // namespace

u64 nice_to_weight(int nice) { return u64{prio_to_weight[static_cast<std::size_t>(nice + 20)]} << 10; }

u64 task_weight(Policy policy, int nice) {
    return policy == Policy::idle ? idle_prio_weight : nice_to_weight(nice); // EEVDF-4
}

// EEVDF-5.
u64 calc_delta_fair(u64 delta, const Entity &se) {
    return se.h_load == nice_0_load ? delta : delta * nice_0_load / se.h_load;
}

void enqueue_timeline(const Scheduler &s, CfsRq &cfs, Entity &se) {
    if (s.features[Feature::PARANOID_AVG])
        add_to_sums_paranoid(cfs, se);
    else
        add_to_sums(cfs, se);
    cfs.timeline.insert(se);
}

void dequeue_timeline(CfsRq &cfs, Entity &se) {
    cfs.timeline.remove(se);
    const u64 weight = sum_weight_of(cfs, se.h_load);
    cfs.sum_w_vruntime =
        as_signed(as_unsigned(cfs.sum_w_vruntime) - as_unsigned(multiply(entity_key(cfs, se), weight)));
    cfs.sum_weight -= weight;
}

// EEVDF-32.
u64 avg_vruntime(CfsRq &cfs) {
    const Entity *curr = queued_curr(cfs);
    s64 delta = 0;
    if (cfs.sum_weight != 0) {
        s64 sum = cfs.sum_w_vruntime;
        u64 weight = cfs.sum_weight;
        if (curr != nullptr) {
            const u64 w = sum_weight_of(cfs, curr->h_load);
            sum = add(sum, multiply(entity_key(cfs, *curr), w));
            weight += w;
        }
        delta = floor_div(sum, as_signed(weight));
    } else if (curr != nullptr) {
        delta = entity_key(cfs, *curr);
    }
    shift_zero(cfs, delta);
    return cfs.zero_vruntime;
}

// EEVDF-60: without the running task, whose lag would then be 0.
u64 ineligible_vruntime(const CfsRq &cfs) {
    const s64 delta = cfs.sum_weight == 0 ? 0 : floor_div(cfs.sum_w_vruntime, as_signed(cfs.sum_weight));
    return cfs.zero_vruntime + as_unsigned(delta) + 1;
}

namespace {

// EEVDF-50 with the sums taken once, for searches that ask many times.
struct Eligibility {
    s64 sum;
    u64 weight;
    u64 zero;

    explicit Eligibility(const CfsRq &cfs) : sum(cfs.sum_w_vruntime), weight(cfs.sum_weight), zero(cfs.zero_vruntime) {
        if (const Entity *curr = queued_curr(cfs)) {
            const u64 w = sum_weight_of(cfs, curr->h_load);
            sum = add(sum, multiply(entity_key(cfs, *curr), w));
            weight += w;
        }
    }
    bool operator()(u64 vruntime) const {
        return sum >= static_cast<s128>(as_signed(vruntime - zero)) * as_signed(weight);
    }
};

} // namespace

bool vruntime_eligible(const CfsRq &cfs, u64 vruntime) { return Eligibility(cfs)(vruntime); }
bool entity_eligible(const CfsRq &cfs, const Entity &se) { return vruntime_eligible(cfs, se.vruntime); }

// EEVDF-44.
u64 cfs_rq_min_slice(const CfsRq &cfs) {
    u64 slice = ~u64{0};
    if (const Entity *curr = queued_curr(cfs))
        slice = curr->slice;
    if (const Entity *root = cfs.timeline.root())
        slice = std::min(slice, root->node.min_slice);
    return slice;
}

u64 cfs_rq_max_slice(const CfsRq &cfs) {
    u64 slice = 0;
    if (const Entity *curr = queued_curr(cfs))
        slice = curr->slice;
    if (const Entity *root = cfs.timeline.root())
        slice = std::max(slice, root->node.max_slice);
    return slice;
}

// EEVDF-42.
bool update_entity_lag(Scheduler &s, CfsRq &cfs, Entity &se) {
    const u64 average = avg_vruntime(cfs);
    s64 lag = entity_lag(s, cfs, se, average);
    if (se.sched_delayed) {
        lag = std::max(lag, se.vlag); // it waits for its lag to rise; the clamp must not lower it
        if (s.features[Feature::DELAY_ZERO])
            lag = std::min<s64>(lag, 0);
    }
    se.vlag = lag;
    return average - as_unsigned(lag) != se.vruntime;
}

// EEVDF-27.
bool update_deadline(Scheduler &s, CfsRq &cfs, Entity &se) {
    if (vtime_before(se.vruntime, se.deadline))
        return false;
    if (!se.custom_slice)
        se.slice = s.tunables.base_slice;
    se.deadline = se.vruntime + calc_delta_fair(se.slice, se);
    avg_vruntime(cfs); // keeps zero_vruntime near
    return true;
}

// EEVDF-35..40.
void place_entity(Scheduler &s, CfsRq &cfs, Entity &se, u32 flags) {
    const u64 average = avg_vruntime(cfs);
    const u32 others = cfs.h_nr_queued - ((flags & ENQUEUE_QUEUED) != 0 ? 1 : 0);
    if (!se.custom_slice)
        se.slice = s.tunables.base_slice;
    u64 vslice = calc_delta_fair(se.slice, se);

    s64 lag = 0;
    bool pull_zero = false;
    if (s.features[Feature::PLACE_LAG] && others != 0 && se.vlag != 0) {
        // EEVDF-37: joining moves the average towards the newcomer, so more lag goes in than must come out.
        u64 load = cfs.sum_weight;
        if (const Entity *curr = queued_curr(cfs))
            load += sum_weight_of(cfs, curr->h_load);
        if (load == 0)
            load = 1;
        const u64 weight = sum_weight_of(cfs, se.h_load);
        lag = add(se.vlag, multiply(se.vlag, weight) / as_signed(load));
        pull_zero = weight > load;
    }

    se.vruntime = average - as_unsigned(lag);
    if (pull_zero) // EEVDF-39: a heavy newcomer takes the average with it
        shift_zero(cfs, as_signed(u64{0} - as_unsigned(lag)));

    if (s.features[Feature::PLACE_REL_DEADLINE] && se.rel_deadline) {
        se.deadline += se.vruntime;
        se.rel_deadline = false;
        return;
    }
    if (s.features[Feature::PLACE_DEADLINE_INITIAL] && (flags & ENQUEUE_INITIAL) != 0)
        vslice /= 2;
    se.deadline = se.vruntime + vslice;
}

// EEVDF-120; called at enqueue, when the task is set next, and at its tick (EEVDF-121).
void reweight_eevdf(Scheduler &s, CfsRq &cfs, Entity &se, u64 weight, bool queued) {
    if (se.h_load == weight)
        return;
    const bool is_curr = cfs.curr == &se;
    const auto scale = [old = se.h_load, weight](u64 relative) {
        return as_unsigned(as_signed(relative * old) / as_signed(weight));
    };

    u64 average = 0;
    bool scale_vprot = false;
    bool scale_deadline = se.rel_deadline;
    if (queued) {
        average = avg_vruntime(cfs);
        se.vlag = entity_lag(s, cfs, se, average);
        se.deadline -= average;
        scale_deadline = true;
        if (is_curr && protect_slice(se)) {
            se.vprot -= average;
            scale_vprot = true;
        }
        if (!is_curr)
            dequeue_timeline(cfs, se);
    }

    se.vlag = as_signed(scale(as_unsigned(se.vlag)));
    if (scale_deadline)
        se.deadline = scale(se.deadline);
    if (scale_vprot)
        se.vprot = scale(se.vprot);
    se.h_load = weight;

    if (queued) {
        if (scale_vprot)
            se.vprot += average;
        se.deadline += average;
        se.vruntime = average - as_unsigned(se.vlag);
        if (!is_curr)
            enqueue_timeline(s, cfs, se);
    }
}

// EEVDF-60, -64: without a shorter slice in the queue the protection lasts to the deadline.
void set_protect_slice(Scheduler &s, CfsRq &cfs, Entity &se) {
    u64 slice = s.tunables.normalized_base_slice;
    if (s.features[Feature::RUN_TO_PARITY])
        slice = cfs_rq_min_slice(cfs);
    slice = std::min(slice, se.slice);
    se.vprot = se.deadline;
    if (slice == se.slice)
        return;
    const u64 bound =
        s.features[Feature::PREEMPT_SHORT] ? ineligible_vruntime(cfs) : se.vruntime + calc_delta_fair(slice, se);
    se.vprot = earlier(se.deadline, bound);
}

void update_protect_slice(CfsRq &cfs, Entity &se) {
    const u64 slice = cfs_rq_min_slice(cfs);
    const u64 base = earlier(se.vruntime, avg_vruntime(cfs));
    se.vprot = earlier(se.vprot, base + calc_delta_fair(slice, se));
}

void cancel_protect_slice(Entity &se) {
    if (protect_slice(se))
        se.vprot = se.vruntime;
}

// EEVDF-135; the callers are EEVDF-136.
void set_next_buddy(CfsRq &cfs, Entity &se) {
    if (se.on_rq && !se.sched_delayed && se.task->policy != Policy::idle)
        cfs.next = &se;
}

void clear_buddies(CfsRq &cfs, const Entity &se) {
    if (cfs.next == &se)
        cfs.next = nullptr;
}

// EEVDF-53.
Pick pick_eevdf(const Scheduler &s, const CfsRq &cfs, bool protect) {
    Entity *curr = cfs.curr != nullptr && cfs.curr->on_rq ? cfs.curr : nullptr;
    if (cfs.h_nr_queued == 1)
        return {curr != nullptr ? curr : cfs.timeline.first(), "EEVDF-53.1"};

    const Eligibility eligible(cfs);
    if (s.features[Feature::PICK_BUDDY] && protect && cfs.next != nullptr && eligible(cfs.next->vruntime))
        return {cfs.next, "EEVDF-53.2"};

    if (curr != nullptr && !eligible(curr->vruntime))
        curr = nullptr;
    if (curr != nullptr && protect && protect_slice(*curr))
        return {curr, "EEVDF-53.4"};

    Entity *best = cfs.timeline.first_where(eligible);
    if (best == nullptr)
        return {curr, "EEVDF-53.5"};
    if (curr != nullptr && vtime_before(curr->deadline, best->deadline))
        return {curr, "EEVDF-53.6"};
    return {best, "EEVDF-53.6"};
}

} // namespace fairground::fair
