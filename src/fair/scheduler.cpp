// SPDX-License-Identifier: GPL-2.0-only
#include "fair/scheduler.h"

#include <algorithm>
#include <utility>

namespace fairground::fair {

Scheduler::Scheduler(DomainTree tree, const CpuMask &online, const Features &feature_set, const Tunables &values)
    : features(feature_set), tunables(values), domains(std::move(tree)), rqs(domains.cpus.size()), active(online),
      random(domains.cpus.size()) {
    for (std::size_t i = 0; i < rqs.size(); i++) {
        Rq &rq = rqs[i];
        rq.cpu = CpuId{static_cast<s64>(i)};
        rq.cfs.rq = &rq;
        rq.asym_priority = -static_cast<s32>(i);
        rq.sd = domains.cpus[i];
        rq.arch_capacity = rq.cpu_capacity = static_cast<u64>(std::max(rq.sd.capacity, 1)); // TOPO-44, at the build
        rq.avg_idle = 2 * tunables.migration_cost;                                          // LB-13
        rq.max_idle_balance_cost = tunables.migration_cost;
        smt_num_threads = std::max(smt_num_threads, rq.sd.smt.weight());
    }
    nr_online_cpus = online.weight();
    nohz.housekeeping = online;
    max_load_balance_interval = u64{tunables.hz} * static_cast<u64>(online.weight()) / 10; // LB-9
}

} // namespace fairground::fair
