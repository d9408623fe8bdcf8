// SPDX-License-Identifier: GPL-2.0-only
//
// Small machines for the placement tests: the example machines A and B of spec/wake-placement.md and others of the
// same regular kind, with a waker and a wakee. Every CPU is idle, load 0, capacity 1024, idle_stamp 100.
#pragma once

#include "fair/wake_placement.h"

#include <string_view>
#include <utility>
#include <vector>

namespace fairground::fair::test {

inline constexpr u32 common_flags = SD_BALANCE_NEWIDLE | SD_BALANCE_EXEC | SD_BALANCE_FORK | SD_WAKE_AFFINE;
inline constexpr u32 smt_flags = common_flags | SD_SHARE_CPUCAPACITY | SD_SHARE_LLC;
inline constexpr u32 cluster_flags = common_flags | SD_CLUSTER | SD_SHARE_LLC;
inline constexpr u32 llc_flags = common_flags | SD_SHARE_LLC;
inline constexpr u32 numa_flags = common_flags | SD_NUMA;

struct Level {
    u32 flags;
    int size; // CPUs per domain; a multiple of the level below
    int pct;
};

// Domains of equal size on every level, groups in ring order. `smt`, `cluster` and `llc` are CPUs per core, cluster
// and cache; 1 means none.
inline DomainTree regular_tree(int cpus, const std::vector<Level> &levels, int smt, int cluster, int llc, int node) {
    DomainTree tree;
    tree.smt_active = smt > 1;
    tree.cluster_active = cluster > 1;
    tree.cpus.resize(static_cast<std::size_t>(cpus));
    const auto block = [](int cpu, int size) {
        return CpuMask::range(cpu / size * size, cpu / size * size + size - 1);
    };
    for (int i = 0; i < cpus; i += llc) {
        DomainShared &shared = tree.shared.emplace_back();
        shared.nr_idle_scan = llc;
        shared.nr_busy_cpus = llc;
    }
    for (int cpu = 0; cpu < cpus; cpu++) {
        CpuDomains &sd = tree.cpus[static_cast<std::size_t>(cpu)];
        sd.smt = block(cpu, smt);
        sd.llc_id = cpu / llc;
        sd.llc_size = llc;
        sd.share_id = cluster > 1 ? block(cpu, cluster).first() : block(cpu, llc).first();
        sd.node = NodeId{cpu / node};
        Domain *below = nullptr;
        for (const Level &level : levels) {
            Domain &domain = tree.domains.emplace_back();
            domain.flags = level.flags;
            domain.imbalance_pct = level.pct;
            domain.imb_numa_nr = 1;
            domain.span = block(cpu, level.size);
            domain.span_weight = level.size;
            domain.child = below;
            (below != nullptr ? below->parent : sd.base) = &domain;
            const int part = below != nullptr ? below->span_weight : 1;
            const int first = domain.span.first();
            std::vector<SchedGroup *> &list = tree.group_lists.emplace_back();
            for (int i = 0; i < level.size; i += part) {
                const int at = first + (cpu / part * part - first + i) % level.size;
                GroupCapacity &sgc = tree.capacities.emplace_back();
                sgc.capacity = static_cast<u64>(part) * 1024;
                sgc.min_capacity = sgc.max_capacity = 1024;
                SchedGroup &group = tree.groups.emplace_back();
                group.span = CpuMask::range(at, at + part - 1);
                group.weight = part;
                group.flags = below != nullptr ? below->flags : 0;
                group.sgc = &sgc;
                list.push_back(&group);
            }
            domain.groups = list;
            if ((level.flags & SD_SHARE_LLC) != 0)
                sd.llc = &domain;
            if ((level.flags & SD_NUMA) != 0 && sd.numa == nullptr)
                sd.numa = &domain;
            below = &domain;
        }
        if (sd.llc != nullptr) {
            sd.llc->shared = &tree.shared[static_cast<std::size_t>(cpu / llc)];
            sd.llc_shared = sd.balance_shared = sd.llc->shared;
        }
    }
    return tree;
}

// 16 CPUs, 2 nodes, one LLC each, SMT-2.
inline DomainTree machine_a() {
    return regular_tree(16, {{smt_flags, 2, 110}, {llc_flags, 8, 117}, {numa_flags, 16, 117}}, 2, 1, 8, 8);
}
// 8 CPUs, one LLC, two clusters.
inline DomainTree machine_b() { return regular_tree(8, {{cluster_flags, 4, 117}, {llc_flags, 8, 117}}, 1, 4, 8, 8); }
// 8 CPUs, one LLC, SMT-2.
inline DomainTree one_llc() { return regular_tree(8, {{smt_flags, 2, 110}, {llc_flags, 8, 117}}, 2, 1, 8, 8); }

struct World {
    Scheduler s;
    Task &p;      // the wakee
    Task &waker;  // runs on CPU 0
    Waker asking; // task context on CPU 0

    explicit World(DomainTree tree, bool group_scheduling = false)
        : s(std::move(tree), CpuMask(), Features(), tunables(group_scheduling)), p(s.tasks.emplace_back()),
          waker(s.tasks.emplace_back()) {
        const int last = static_cast<int>(s.rqs.size()) - 1;
        s.active = CpuMask::range(0, last);
        s.jiffies = 1;
        for (Rq &rq : s.rqs)
            rq.idle_stamp = 100;
        for (Task *task : {&p, &waker}) {
            task->id = TaskId{task == &p ? 0 : 1};
            allow(*task, s.active);
            task->cpu = task->wake_cpu = task->recent_used_cpu = CpuId{0};
            task->se.cfs_rq = &s.rqs[0].cfs;
        }
        waker.on_cpu = true;
        waker.on_rq = OnRq::queued;
        asking = {CpuId{0}, &waker, true, false};
    }

    static Tunables tunables(bool group_scheduling) {
        Tunables values;
        values.group_scheduling = group_scheduling;
        return values;
    }
    static void allow(Task &task, const CpuMask &cpus) {
        task.cpus_allowed = cpus;
        task.nr_cpus_allowed = cpus.weight();
    }
    static CpuMask list(std::string_view text) { return *parse_list(text); }

    Rq &rq(int cpu) { return s.rqs[static_cast<std::size_t>(cpu)]; }
    DomainShared &shared(int llc) { return s.domains.shared[static_cast<std::size_t>(llc)]; }

    // nr_running 1 and load 1024, as the specification's examples say.
    void busy(std::string_view cpus, u32 tasks = 1, u64 load = 1024) {
        for (CpuId cpu : list(cpus)) {
            Rq &it = s.rq(cpu);
            it.nr_running = it.cfs.h_nr_queued = it.cfs.h_nr_runnable = tasks;
            it.cfs.avg.load_avg = load;
            it.current_class = SchedClass::fair;
            if (cpu == asking.cpu && asking.current == &waker)
                it.curr = &waker;
        }
    }
    // Two SCHED_IDLE tasks and nothing else.
    void sched_idle(int cpu) {
        rq(cpu).nr_running = rq(cpu).cfs.h_nr_queued = rq(cpu).cfs.h_nr_runnable = rq(cpu).cfs.h_nr_idle = 2;
        rq(cpu).current_class = SchedClass::fair;
    }
    // The wake-up comes from an interrupt on the idle CPU 0.
    void interrupt() {
        asking = {CpuId{0}, nullptr, false, false};
        waker.on_cpu = false;
    }
    void imb_numa_nr(int value) {
        for (Domain &sd : s.domains.domains)
            sd.imb_numa_nr = value;
    }

    [[nodiscard]] Placement ask(int prev, u32 flags) const {
        return select_task_rq_fair(s, p, CpuId{prev}, flags, asking);
    }
    [[nodiscard]] Placement wake(int prev, u32 flags = 0) {
        p.cpu = CpuId{prev};
        p.se.cfs_rq = &rq(prev).cfs;
        return ask(prev, flags | WF_TTWU);
    }
    void commit(const Placement &placement) {
        commit_placement(s, p, asking.current != nullptr ? &waker : nullptr, placement);
    }
    // wake_affine between CPU 0 and `prev`, in the lowest domain that holds both.
    [[nodiscard]] AffineChoice affine(int prev, bool sync, int pct) {
        p.se.cfs_rq = &rq(prev).cfs;
        Domain *sd = rq(0).sd.base;
        while (!sd->span.test(CpuId{prev}))
            sd = sd->parent;
        sd->imbalance_pct = pct;
        return wake_affine(s, *sd, p, CpuId{prev}, sync, asking);
    }
    [[nodiscard]] int fork() { return ask(0, WF_FORK).cpu; }
};

} // namespace fairground::fair::test
