// SPDX-License-Identifier: GPL-2.0-only
//
// A scheduler without domains, for tests of what one CPU does alone.
#pragma once

#include "fair/cgroup.h"
#include "fair/pelt.h"
#include "fair/scheduler.h"

namespace fairground::fair {

inline DomainTree bare_cpus(int cpus) {
    DomainTree tree;
    tree.cpus.resize(static_cast<std::size_t>(cpus));
    return tree;
}

inline CpuMask all_cpus(int cpus) {
    CpuMask mask;
    for (int cpu = 0; cpu < cpus; cpu++)
        mask.set(CpuId{cpu});
    return mask;
}

struct Cpus {
    Scheduler s;
    Rq &rq;
    CfsRq &root;

    explicit Cpus(int cpus = 1, const Tunables &tunables = {})
        : s(bare_cpus(cpus), all_cpus(cpus), Features{}, tunables), rq(s.rqs[0]), root(rq.cfs) {}

    // A sleeping task of the root group on CPU 0, all averages 0.
    Task &add_task(u64 weight = nice_0_load) {
        Task &p = s.tasks.emplace_back();
        p.id = TaskId{static_cast<s64>(s.tasks.size()) - 1};
        p.cpu = CpuId{0};
        p.se.task = &p;
        p.se.cfs_rq = &root;
        p.se.load_weight = weight;
        return p;
    }
};

} // namespace fairground::fair
