// SPDX-License-Identifier: GPL-2.0-only
//
// Small machines for the balance tests: idle CPUs of capacity 1024 with given cores, and one domain over groups.
#pragma once

#include "fair/lb_env.h"

#include <deque>
#include <string_view>
#include <utility>
#include <vector>

namespace fairground::fair::test {

inline CpuMask cpus(std::string_view list) { return *parse_list(list); }

// `cores`: CPU lists of the SMT cores; CPUs in none are cores of their own.
inline DomainTree flat_tree(int count, const std::vector<std::string_view> &cores = {}) {
    DomainTree tree;
    tree.cpus.resize(static_cast<std::size_t>(count));
    tree.smt_active = !cores.empty();
    for (int i = 0; i < count; i++) {
        CpuDomains &sd = tree.cpus[static_cast<std::size_t>(i)];
        sd.smt = CpuMask::of(CpuId{i});
        sd.node = NodeId{0};
        sd.llc_id = 0;
    }
    for (std::string_view core : cores)
        for (CpuId cpu : cpus(core))
            tree.cpus[static_cast<std::size_t>(cpu.value)].smt = cpus(core);
    return tree;
}

struct BalanceWorld {
    Scheduler s;
    Domain sd;
    std::deque<SchedGroup> groups;
    std::deque<GroupCapacity> capacities;
    std::vector<SchedGroup *> group_list;

    explicit BalanceWorld(int count, const std::vector<std::string_view> &cores = {}, const Tunables &tunables = {})
        : s(flat_tree(count, cores), CpuMask::range(0, count - 1), Features(), tunables) {
        sd.span = CpuMask::range(0, count - 1);
        sd.span_weight = count;
        sd.imbalance_pct = 117;
        sd.cache_nice_tries = 1;
        sd.balance_interval = sd.min_interval = 8;
        sd.max_interval = 16;
        sd.busy_factor = 16;
    }

    SchedGroup &group(std::string_view list, u32 flags = 0) {
        GroupCapacity &sgc = capacities.emplace_back();
        SchedGroup &made = groups.emplace_back();
        made.span = sgc.balance_mask = cpus(list);
        made.weight = made.cores = made.span.weight();
        made.flags = flags;
        made.sgc = &sgc;
        sgc.capacity = u64{1024} * static_cast<u64>(made.weight);
        sgc.min_capacity = sgc.max_capacity = 1024;
        sgc.next_update = ~u64{0};
        group_list.push_back(&made);
        sd.groups = group_list;
        return made;
    }
    Rq &rq(int cpu) { return s.rqs[static_cast<std::size_t>(cpu)]; }
    // One runnable fair task runs on each, or more.
    void busy(std::string_view list, u32 tasks = 1) {
        for (CpuId cpu : cpus(list)) {
            Rq &it = s.rq(cpu);
            it.nr_running = it.cfs.h_nr_queued = it.cfs.h_nr_runnable = tasks;
            it.current_class = SchedClass::fair;
        }
    }
    LbEnv env(int dst, CpuIdle idle) {
        LbEnv made{.s = s, .sd = sd, .dst_cpu = CpuId{dst}, .idle = idle, .mover = kernel_mover};
        made.cpus = sd.span;
        return made;
    }
};

} // namespace fairground::fair::test
