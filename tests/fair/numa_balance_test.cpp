// SPDX-License-Identifier: GPL-2.0-only
//
// Automatic NUMA balancing, spec/numa-balancing.md. Machine A: node 0 is CPUs 0-7, node 1 is CPUs 8-15.
#include "fair/numa_faults.h"
#include "wake_world.h"

#include <gtest/gtest.h>

namespace fairground::fair::test {
namespace {

// NUMA-42: the examples of section 5.
TEST(NumaMigrate, NodeClass) {
    const auto classify = [](u32 running, u64 util, u64 runnable) {
        NumaStats stats;
        stats.nr_running = running;
        stats.weight = 8;
        stats.capacity = 8192;
        stats.util = util;
        stats.runnable = runnable;
        return numa_classify(108, stats);
    };
    EXPECT_EQ(classify(9, 8000, 8000), NodeType::overloaded);
    EXPECT_EQ(classify(8, 8192, 9000), NodeType::fully_busy);
    EXPECT_EQ(classify(7, 8192, 20000), NodeType::has_spare);
    EXPECT_EQ(classify(8, 7000, 8000), NodeType::has_spare);
}

// NUMA-46: the examples of section 5.
TEST(NumaMigrate, Worse) {
    const auto worse = [](s64 new_src, s64 new_dst, u64 src_load, u64 dst_load) {
        NumaStats src;
        NumaStats dst;
        src.capacity = dst.capacity = 8192;
        src.load = src_load;
        dst.load = dst_load;
        return load_too_imbalanced(src, dst, new_src, new_dst);
    };
    EXPECT_FALSE(worse(5000, 3000, 6000, 2000));
    EXPECT_FALSE(worse(2500, 3500, 3500, 2500));
    EXPECT_TRUE(worse(1000, 5000, 3500, 2500));
}

struct NumaWorld : World {
    NumaProcess process;
    NumaTask nt;
    NumaTunables tunables;

    NumaWorld() : World(machine_a()) {
        s.domains.node_distance = {{10, 20}, {20, 10}};
        s.domains.max_numa_distance = 20;
        s.jiffies = 100;
        p.cpu = CpuId{0};
        rq(0).curr = &p;
        busy("0");
        rq(0).curr = &p;
        process.rss = 1024;
        nt.task = &p;
        nt.process = &process;
        init_numa_balancing(s, tunables, nt, nullptr, 0);
    }
    NumaFaultResult fault(int node, u64 pages, const NumaTask *last = nullptr, NumaFaultGroup *fresh = nullptr) {
        NumaFault f;
        f.mem_node = NodeId{node};
        f.pages = pages;
        f.first = last == nullptr;
        f.last = last;
        f.last_cpu = last != nullptr ? last->task->cpu : CpuId{};
        f.local = node == 0;
        return task_numa_fault(s, tunables, nt, f, fresh);
    }
    // A pass over the address space is complete.
    void sequence() { process.scan_seq++; }
};

// NUMA-41.
TEST(NumaMigrate, TrappedInOneNode) {
    NumaWorld w;
    w.rq(0).sd.numa = nullptr;
    w.p.numa_preferred_nid = NodeId{1};
    const NumaMove move = task_numa_migrate(w.s, w.p);
    EXPECT_FALSE(move.cpu.valid());
    EXPECT_TRUE(move.set_preferred);
    EXPECT_EQ(move.preferred, NodeId{0});
    EXPECT_EQ(move.rule.name(), "NUMA-41");
}

// NUMA-43, NUMA-45: an idle CPU of a node with room is taken at once; reserved ones are not.
TEST(NumaMigrate, IdleCpu) {
    NumaWorld w;
    w.busy("0-3"); // more than node 1 ever runs here: no imbalance
    w.imb_numa_nr(2);
    w.p.numa_preferred_nid = NodeId{1};
    w.p.numa_faults = {10, 90};
    w.p.total_numa_faults = 100;
    EXPECT_EQ(task_numa_migrate(w.s, w.p).cpu, CpuId{8});
    EXPECT_EQ(task_numa_migrate(w.s, w.p).rule.name(), "NUMA-45");
    w.rq(8).numa_migrate_on = true;
    EXPECT_EQ(task_numa_migrate(w.s, w.p).cpu, CpuId{9});
    w.busy("10");
    w.shared(1).has_idle_cores = true;
    EXPECT_EQ(task_numa_migrate(w.s, w.p).cpu, CpuId{9}); // core (8,9): both idle although 8 is reserved
    w.busy("8");
    EXPECT_EQ(task_numa_migrate(w.s, w.p).cpu, CpuId{12}); // a whole core before the siblings 9 and 11
    World::allow(w.p, World::list("0-7"));
    EXPECT_FALSE(task_numa_migrate(w.s, w.p).cpu.valid());
}

// NUMA-44, NUMA-47, NUMA-48: a swap with a task that gains, too, when the node has no room.
TEST(NumaMigrate, Swap) {
    NumaWorld w;
    w.busy("0-15");
    for (Rq &rq : w.s.rqs) {
        rq.cfs.avg.util_avg = 1024;
        rq.cfs.avg.runnable_avg = 1200;
    }
    w.rq(0).curr = &w.p;
    w.p.numa_preferred_nid = NodeId{1};
    w.p.numa_faults = {10, 90};
    w.p.total_numa_faults = 100;
    w.p.se.avg.load_avg = w.waker.se.avg.load_avg = 1024;
    w.waker.cpu = CpuId{11};
    w.waker.se.cfs_rq = &w.rq(11).cfs;
    w.rq(11).curr = &w.waker;
    w.waker.numa_preferred_nid = NodeId{0};
    w.waker.numa_faults = {80, 20};
    w.waker.total_numa_faults = 100;
    const NumaMove move = task_numa_migrate(w.s, w.p);
    EXPECT_EQ(move.cpu, CpuId{11});
    EXPECT_EQ(move.swap, &w.waker);
    EXPECT_EQ(move.improvement, 800 + 600 + 1400 / 8); // both gain, and the partner goes home
    EXPECT_FALSE(move.set_preferred);
    World::allow(w.waker, World::list("8-15")); // step 3
    EXPECT_EQ(task_numa_migrate(w.s, w.p).swap, nullptr);
}

// NUMA-2, NUMA-20..22: the examples of section 3.
TEST(NumaScan, Limits) {
    NumaWorld w;
    struct Case {
        u64 rss;
        u32 smin, smax;
    };
    for (const Case &c :
         {Case{256, 1000, 60000}, Case{1024, 250, 15000}, Case{8192, 100, 1875}, Case{0, 1000, 60000}}) {
        w.process.rss = c.rss;
        EXPECT_EQ(task_scan_min(w.tunables, w.nt), c.smin) << c.rss;
        EXPECT_EQ(task_scan_start(w.tunables, w.nt), c.smin) << c.rss;
        EXPECT_EQ(task_scan_max(w.tunables, w.nt), c.smax) << c.rss;
    }
    w.process.rss = 1024;
    NumaFaultGroup group;
    group.nodes.resize(2);
    w.nt.group = &group;
    const auto check = [&](u32 tasks, u64 shared, u64 priv, u32 start, u32 max) {
        group.nr_tasks = tasks;
        group.nodes[0].mem = {shared, 0};
        group.nodes[1].mem = {0, priv};
        EXPECT_EQ(task_scan_start(w.tunables, w.nt), start);
        EXPECT_EQ(task_scan_max(w.tunables, w.nt), max);
    };
    check(4, 300, 700, 300, 18041);
    check(16, 900, 100, 3600, 216023);
}

// NUMA-23: the examples of section 3.
TEST(NumaScan, PeriodAdapts) {
    struct Case {
        u64 remote, local, failed, shared, priv;
        u32 period;
    };
    constexpr Case table[] = {{10, 90, 0, 50, 50, 1200},
                              {90, 10, 0, 80, 20, 500},
                              {90, 10, 0, 20, 80, 1100},
                              {0, 0, 0, 0, 0, 2000},
                              {10, 90, 5, 50, 50, 2000}};
    for (const Case &c : table) {
        NumaWorld w;
        w.nt.scan_period = 1000;
        w.nt.scan_period_max = 15000;
        w.nt.locality = {c.remote, c.local, c.failed};
        update_task_scan_period(w.s, w.tunables, w.nt, c.shared, c.priv);
        EXPECT_EQ(w.nt.scan_period, c.period);
        EXPECT_EQ(w.nt.locality.remote + w.nt.locality.local + w.nt.locality.failed, 0U);
        if (c.period == 2000) {
            EXPECT_EQ(w.process.next_scan, w.s.jiffies + 2000);
        }
    }
}

// NUMA-24.
TEST(NumaScan, MoveToAnotherNode) {
    NumaWorld w;
    const auto move = [&](int to) {
        w.nt.scan_period = 7777;
        update_scan_period(w.s, w.tunables, w.nt, CpuId{to});
        return w.nt.scan_period;
    };
    EXPECT_EQ(move(8), 7777U); // no statistics
    (void)w.fault(1, 1);
    EXPECT_EQ(move(7), 7777U); // same node
    EXPECT_EQ(move(8), 250U);  // before the first sequence
    w.nt.scan_seq = 1;
    EXPECT_EQ(move(8), 250U); // no preferred node
    w.p.numa_preferred_nid = NodeId{1};
    EXPECT_EQ(move(8), 7777U); // to the preferred one
    w.p.numa_preferred_nid = NodeId{0};
    EXPECT_EQ(move(8), 250U); // away from it
}

// NUMA-10, NUMA-11: scans follow run time, limited by wall time.
TEST(NumaScan, Tick) {
    NumaWorld w;
    EXPECT_EQ(w.process.next_scan, 1100U);
    w.p.se.sum_exec_runtime = 1000 * ns_per_ms;
    EXPECT_FALSE(task_tick_numa(w.s, w.tunables, w.nt)); // must exceed
    w.p.se.sum_exec_runtime++;
    EXPECT_FALSE(task_tick_numa(w.s, w.tunables, w.nt)); // the process may not scan yet
    EXPECT_EQ(w.nt.scan_period, 250U);                   // the first expiry sets `start`
    EXPECT_EQ(w.nt.node_stamp, 1000 * ns_per_ms);
    w.s.jiffies = 1100;
    w.p.se.sum_exec_runtime = 1251 * ns_per_ms;
    EXPECT_TRUE(task_tick_numa(w.s, w.tunables, w.nt));
    EXPECT_TRUE(task_numa_work(w.s, w.tunables, w.nt));
    EXPECT_EQ(w.process.next_scan, 1350U);
    EXPECT_EQ(w.nt.node_stamp, 1252 * ns_per_ms);
    EXPECT_FALSE(task_numa_work(w.s, w.tunables, w.nt));
    numa_scan_done(w.nt, 1000, true);
    EXPECT_EQ(w.nt.node_stamp, 1252 * ns_per_ms + 32000);
    EXPECT_EQ(w.process.scan_seq, 1U);

    NumaTask thread;
    thread.task = &w.waker;
    thread.process = &w.process;
    init_numa_balancing(w.s, w.tunables, thread, &w.nt, 2);
    EXPECT_EQ(thread.node_stamp, 15000 + 2 * w.s.tunables.tick_nsec()); // about two ticks
    EXPECT_EQ(thread.scan_period, 1000U);
    EXPECT_EQ(thread.scan_seq, 1U);
}

// NUMA-13, NUMA-30..32, NUMA-40: faults are averaged once per sequence and lead to a preferred node.
TEST(NumaPlacement, PreferredNode) {
    NumaWorld w;
    w.p.se.avg.load_sum = 47742; // always running
    NumaFaultResult result = w.fault(1, 80);
    EXPECT_FALSE(result.set_preferred.valid()); // the same sequence
    EXPECT_FALSE(result.migrate);
    (void)w.fault(0, 20);
    w.sequence();
    w.s.jiffies++;
    result = w.fault(1, 8);
    EXPECT_EQ(result.set_preferred, NodeId{1});
    EXPECT_TRUE(result.migrate);
    EXPECT_EQ(w.p.numa_faults, (std::vector<u64>{20, 80}));
    EXPECT_EQ(w.p.total_numa_faults, 100U);
    // ps = 10: period 1000 + 3 slots of 100 (NUMA-23); retry after period / 16 (NUMA-40).
    EXPECT_EQ(w.nt.scan_period, 1300U);
    EXPECT_EQ(w.nt.migrate_retry, w.s.jiffies + 1300 / 16);
    // CPU faults: all on node 0, weighted by ((run << 16) / (wall + 1)) = 65534 and 100 / 101 of the faults.
    EXPECT_EQ(w.nt.nodes[0].cpu[1], u64{65534} * 100 / 101);
    EXPECT_EQ(w.nt.nodes[1].cpu[1], 0U);
    EXPECT_EQ(task_weight(w.s, w.p, NodeId{1}, 20), 800); // NUMA-36

    w.p.numa_preferred_nid = NodeId{1};
    w.sequence();
    w.s.jiffies++;
    EXPECT_FALSE(w.fault(0, 1).migrate); // not before the retry
    w.s.jiffies += 82;
    result = w.fault(0, 100); // counted after this placement
    EXPECT_FALSE(result.set_preferred.valid());
    EXPECT_TRUE(result.migrate);
    EXPECT_EQ(w.p.numa_faults, (std::vector<u64>{11, 48})); // 20 - 10 + 1, 80 - 40 + 8
}

// NUMA-32: a node without CPUs is replaced by the nearest one.
TEST(NumaPlacement, NodeWithoutCpus) {
    NumaWorld w;
    w.s.domains.node_distance = {{10, 20, 40}, {20, 10, 30}, {40, 30, 10}};
    (void)w.fault(2, 50);
    w.sequence();
    w.s.jiffies++;
    EXPECT_EQ(w.fault(2, 1).set_preferred, NodeId{1});
}

// NUMA-34, NUMA-35.
TEST(NumaGroups, JoinTheLarger) {
    NumaWorld w;
    NumaTask other;
    other.task = &w.waker;
    other.process = &w.process;
    w.waker.cpu = CpuId{8};
    NumaFaultGroup ours;
    NumaFaultGroup theirs;
    ours.id = 1;
    theirs.id = 2;
    w.nt.nodes = {{{0, 5}, {0, 7}}, {{3, 0}, {1, 0}}};
    w.nt.buffers.resize(2);
    w.p.total_numa_faults = 8;
    other.nodes = {{{1, 0}, {0, 0}}, {{0, 0}, {0, 30}}};

    (void)w.fault(0, 1, &other, &ours); // a group of its own; the other one has none
    EXPECT_EQ(w.nt.group, &ours);
    EXPECT_EQ(ours.nr_tasks, 1U);
    EXPECT_EQ(ours.total_faults, 8U);
    EXPECT_EQ(w.p.numa_group, &ours);
    EXPECT_EQ(group_weight(w.s, w.p, NodeId{1}, 20), 1000 * 3 / 8);

    other.group = &theirs;
    theirs.nr_tasks = 1;
    theirs.nodes = other.nodes;
    theirs.total_faults = 1;
    (void)w.fault(0, 1, &other, nullptr);
    EXPECT_EQ(w.nt.group, &ours); // the other task does not run on that CPU now
    w.rq(8).curr = &w.waker;
    NumaProcess elsewhere;
    other.process = &elsewhere;
    const u64 before = w.nt.buffers[0].mem[1];
    (void)w.fault(0, 1, &other, nullptr);
    EXPECT_EQ(w.nt.group, &ours); // neither process nor mapping shared: counts as private
    EXPECT_EQ(w.nt.buffers[0].mem[1], before + 1);
    other.process = &w.process;
    (void)w.fault(0, 1, &other, nullptr);
    EXPECT_EQ(w.nt.group, &theirs); // equal size: the order of ids decides
    EXPECT_EQ(theirs.nr_tasks, 2U);
    EXPECT_EQ(theirs.total_faults, 9U);
    EXPECT_EQ(theirs.nodes[0].mem[1], 5U);
    EXPECT_EQ(ours.nr_tasks, 0U);
    EXPECT_EQ(ours.total_faults, 0U);

    task_numa_free(w.nt);
    EXPECT_EQ(theirs.nr_tasks, 1U);
    EXPECT_EQ(theirs.total_faults, 1U);
    EXPECT_EQ(w.p.numa_group, nullptr);
    EXPECT_EQ(w.p.total_numa_faults, 0U);
}

// NUMA-31, NUMA-35: the group's sums move with the task's; a third of the busiest node is active.
TEST(NumaGroups, ActiveNodes) {
    NumaWorld w;
    NumaFaultGroup group;
    group.nodes = {{{0, 0}, {0, 99}}, {{0, 0}, {0, 33}}};
    group.nr_tasks = 1;
    w.nt.nodes.resize(2);
    w.nt.buffers.resize(2);
    w.nt.group = &group;
    w.sequence();
    w.nt.buffers[1].mem = {4, 0};
    EXPECT_EQ(task_numa_placement(w.s, w.tunables, w.nt), NodeId{1});
    EXPECT_EQ(group.active_nodes, 1U); // 33 * 3 = 99 is not above 99
    EXPECT_EQ(group.total_faults, 4U);
    group.nodes[1].cpu[1] = 34;
    w.sequence();
    (void)task_numa_placement(w.s, w.tunables, w.nt);
    EXPECT_EQ(group.active_nodes, 2U);
    EXPECT_FALSE(task_numa_placement(w.s, w.tunables, w.nt).valid()); // once per sequence
}

} // namespace
} // namespace fairground::fair::test
