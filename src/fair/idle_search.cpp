// SPDX-License-Identifier: GPL-2.0-only
#include "fair/idle_search.h"

#include "fair/group_class.h"

#include <limits>

namespace fairground::fair {

namespace {

constexpr int unlimited = std::numeric_limits<int>::max();

// WAKE-103: CPUs that a search may look at, plus one.
int scan_limit(const Scheduler &s, const Domain &sd) {
    if (s.features[Feature::SIS_UTIL] && sd.shared != nullptr)
        return sd.shared->nr_idle_scan + 1;
    return unlimited;
}

// One search of an LLC domain: what is left to look at and what was found on the way.
struct LlcScan {
    const Scheduler &s;
    const Task &p;
    bool has_idle_cores;
    int nr;
    CpuMask cpus; // the working mask M
    CpuId first;  // F of WAKE-101

    enum class Step : u8 { next, found, exhausted };

    // WAKE-101, -102: true if the whole core of `cpu` is idle; if not, the core leaves the mask.
    bool select_idle_core(CpuId cpu) {
        const CpuMask &core = s.rq(cpu).sd.smt;
        bool idle = true;
        for (CpuId sibling : core) {
            const Rq &rq = s.rq(sibling);
            if (idle_cpu(rq)) {
                if (!first.valid() && cpus.test(sibling))
                    first = sibling;
                continue;
            }
            idle = false;
            if (first.valid())
                break;
            if (choose_sched_idle_rq(rq, p) && cpus.test(sibling)) {
                first = sibling;
                break;
            }
        }
        if (!idle)
            cpus -= core;
        return idle;
    }

    // WAKE-107, -108.
    Step look_at(CpuId cpu) {
        if (has_idle_cores)
            return select_idle_core(cpu) ? Step::found : Step::next;
        if (--nr <= 0)
            return Step::exhausted;
        return choose_idle_cpu(s.rq(cpu), p) ? Step::found : Step::next;
    }

    // Goes through `order`, which may be `cpus` itself, from the CPU after `target`, skipping what is not (or, after
    // a busy core was dropped, no longer) in the working mask. WAKE-105, -106.
    Step scan(const CpuMask &order, CpuId target, CpuId &found) {
        Step step = Step::next;
        wrap(order, target + 1, [&](CpuId cpu) {
            if (!cpus.test(cpu))
                return false;
            step = look_at(cpu);
            if (step == Step::found)
                found = cpu;
            return step != Step::next;
        });
        return step;
    }
};

} // namespace

CpuId select_idle_smt(const Scheduler &s, const Task &p, const Domain &llc, CpuId cpu) {
    for (CpuId sibling : s.rq(cpu).sd.smt)
        if (sibling != cpu && p.cpus_allowed.test(sibling) && llc.span.test(sibling) &&
            choose_idle_cpu(s.rq(sibling), p))
            return sibling;
    return {};
}

IdleSearch select_idle_cpu(const Scheduler &s, const Task &p, const Domain &llc, bool has_idle_cores, CpuId target) {
    LlcScan scan{s, p, has_idle_cores, scan_limit(s, llc), {}, {}};
    if (scan.nr == 1)
        return {}; // WAKE-103: an overloaded LLC, not even an idle core is looked for
    scan.cpus = llc.span & p.cpus_allowed;
    if (scan.cpus.empty())
        return {}; // WAKE-104

    CpuId found;
    if (s.domains.cluster_active && (llc.groups.front()->flags & SD_CLUSTER) != 0) {
        const CpuMask &cluster = llc.groups.front()->span;
        switch (scan.scan(cluster, target, found)) {
        case LlcScan::Step::found:
            return {found, "WAKE-105", nullptr};
        case LlcScan::Step::exhausted:
            return {};
        case LlcScan::Step::next:
            break;
        }
        scan.cpus -= cluster;
    }
    switch (scan.scan(scan.cpus, target, found)) {
    case LlcScan::Step::found:
        return {found, has_idle_cores ? "WAKE-107" : "WAKE-108", nullptr};
    case LlcScan::Step::exhausted:
        return {};
    case LlcScan::Step::next:
        break;
    }
    if (!has_idle_cores)
        return {};
    return {scan.first, "WAKE-109", s.rq(target).sd.balance_shared};
}

IdleSearch select_idle_capacity(const Scheduler &s, const Task &p, u64 task_util, const Domain &sd, CpuId target) {
    // WAKE-143, lower is better. On an idle core the thread ranks move down by three.
    constexpr int thread_fits = -2;
    constexpr int thread_misfit = 0;
    constexpr int idle_core_bias = -3;
    constexpr int core_misfit = thread_misfit + idle_core_bias;

    const bool has_idle_cores = s.domains.smt_active && test_idle_cores(s.rq(target));
    int nr = scan_limit(s, sd);
    if (nr == 1)
        return {};

    IdleSearch best;
    int best_rank = thread_misfit;
    u64 best_capacity = 0;
    wrap(sd.span & p.cpus_allowed, target, [&](CpuId cpu) {
        const Rq &rq = s.rq(cpu);
        const bool preferred = !has_idle_cores || is_core_idle(s, cpu);
        if (!has_idle_cores && --nr <= 0)
            return true; // WAKE-141
        if (!choose_idle_cpu(rq, p))
            return false;
        int rank = util_fits_cpu(task_util, p.uclamp_min, p.uclamp_max, rq);
        if (rank > 0 && preferred) {
            best = {cpu, "WAKE-142", nullptr};
            return true;
        }
        const u64 capacity = rank < 0 ? actual_cpu_capacity(rq) : rq.cpu_capacity;
        if (rank > 0)
            rank = thread_fits;
        if (preferred)
            rank += idle_core_bias;
        if (rank < best_rank || (rank == best_rank && capacity > best_capacity)) {
            best = {cpu, "WAKE-143", nullptr};
            best_rank = rank;
            best_capacity = capacity;
        }
        return false;
    });
    const bool fits = best.rule == Rule("WAKE-142");
    if (has_idle_cores && !fits && best_rank > core_misfit)
        best.clear_idle_cores = s.rq(target).sd.balance_shared; // WAKE-144
    return best;
}

} // namespace fairground::fair
