// SPDX-License-Identifier: GPL-2.0-only
//
// Worked examples of spec/load-balance.md, section 15, and the counters of cache-aware scheduling.
#include "fair/cache_aware.h"

#include "fair/balance_world.h"

namespace fairground::fair::test {
namespace {

// LB-98, LB-99: LLCs of capacity 16384.
TEST(CacheAware, MayLoadMove) {
    struct {
        u64 src, dst, task;
        bool to_pref, smt;
        LlcMig mig;
    } const examples[] = {
        {4000, 4000, 100, true, true, LlcMig::llc},          {3000, 8100, 200, true, true, LlcMig::forbid},
        {9000, 8000, 200, true, true, LlcMig::unrestricted}, {9000, 8000, 200, true, false, LlcMig::llc},
        {9900, 4000, 100, false, true, LlcMig::llc},         {8200, 4000, 100, false, true, LlcMig::forbid},
        {9900, 8100, 100, false, true, LlcMig::unrestricted}};
    for (const auto &e : examples) {
        BalanceWorld w(1);
        w.s.smt_num_threads = e.smt ? 2 : 1;
        EXPECT_EQ(can_migrate_llc(w.s, {e.src, 16384}, {e.dst, 16384}, e.task, e.to_pref), e.mig)
            << e.src << ' ' << e.dst << ' ' << e.task;
    }
}

// LB-94.
TEST(CacheAware, TooMany) {
    const auto too_many = [](u32 threads, u64 average, int per_core, int cpus_of_llc, u32 tolerance) {
        BalanceWorld w(1);
        w.s.smt_num_threads = per_core;
        w.s.tunables.llc_aggr_tolerance = tolerance;
        w.rq(0).sd.llc_size = cpus_of_llc;
        SchedCacheGroup group;
        group.nr_running_avg = average;
        Task p;
        p.nr_threads = threads;
        return invalid_llc_nr(w.s, group, p, CpuId{0});
    };
    EXPECT_FALSE(too_many(8, 8, 1, 32, 1));
    EXPECT_FALSE(too_many(30, 25, 1, 32, 1));
    EXPECT_TRUE(too_many(30, 26, 1, 32, 1));
    EXPECT_TRUE(too_many(30, 13, 2, 32, 1));
    EXPECT_FALSE(too_many(30, 26, 1, 32, 2));
    EXPECT_TRUE(too_many(8, 0, 1, 32, 0));
    EXPECT_FALSE(too_many(8, 1000, 1, 32, 100));
    EXPECT_TRUE(too_many(1, 0, 1, 32, 100));
}

TEST(CacheAware, TooBig) {
    BalanceWorld w(1);
    w.sd.llc_bytes = u64{32} << 20;
    SchedCacheGroup group;
    EXPECT_TRUE(exceed_llc_capacity(w.s, group, CpuId{0})); // no domain
    w.rq(0).sd.base = &w.sd;
    group.footprint = 8192;
    EXPECT_FALSE(exceed_llc_capacity(w.s, group, CpuId{0}));
    group.footprint = 8193;
    EXPECT_TRUE(exceed_llc_capacity(w.s, group, CpuId{0}));
    w.s.tunables.numa_balancing = false;
    EXPECT_FALSE(exceed_llc_capacity(w.s, group, CpuId{0}));
}

// Two LLCs of two CPUs, a process of two threads.
struct TwoLlcs : BalanceWorld {
    Domain base[4];
    SchedCacheGroup group;
    Task &p;

    TwoLlcs() : BalanceWorld(4), p(s.tasks.emplace_back()) {
        s.domains.multi_llc = true;
        for (int cpu = 0; cpu < 4; cpu++) {
            Domain &own = base[cpu];
            own.span = CpuMask::range(cpu / 2 * 2, cpu / 2 * 2 + 1);
            own.llc_counts.assign(2, 0);
            CpuDomains &to = rq(cpu).sd;
            to.base = to.llc = &own;
            to.llc_id = cpu / 2;
            to.llc_size = 32;
            to.node = NodeId{0};
        }
        group = make_cache_group(s);
        p.cache_group = &group;
        p.nr_threads = 2;
        p.cpu = CpuId{0};
        p.on_rq = OnRq::queued;
        p.se.avg.last_update_time = 1;
    }
};

// LB-91, LB-92, WAKE-211: k = 3 epochs late.
TEST(CacheAware, Epochs) {
    TwoLlcs w;
    w.s.jiffies = 1025;
    w.rq(0).cpu_epoch_next = 1000;
    w.rq(0).cpu_runtime = 9000000;
    w.group.cpus[0].runtime = 800;
    account_mm_sched(w.s, w.rq(0), w.p, 7);
    EXPECT_EQ(w.rq(0).cpu_epoch_next, 1030U);
    EXPECT_EQ(w.rq(0).cpu_epoch, 3U);
    EXPECT_EQ(w.rq(0).cpu_runtime, 1125000U + 7);
    EXPECT_EQ(w.group.cpus[0].runtime, 100U + 7);
}

// LB-93, LB-95, WAKE-213: a queued task follows the preference of its process, its counters with it.
TEST(CacheAware, Counts) {
    TwoLlcs w;
    Rq &rq = w.rq(0);
    w.group.cpu = CpuId{1};
    account_mm_sched(w.s, rq, w.p, 1000);
    EXPECT_EQ(w.p.preferred_llc, 0);
    EXPECT_EQ(llc_count(rq, 0), 1U);
    EXPECT_EQ(rq.nr_pref_llc_running, 1U);
    w.p.se.sched_delayed = true;
    llc_delayed(rq, w.p);
    EXPECT_EQ(rq.nr_pref_llc_running, 0U);
    w.p.se.sched_delayed = false;
    llc_delayed(rq, w.p);
    w.group.cpu = CpuId{2};
    account_mm_sched(w.s, rq, w.p, 1000);
    EXPECT_EQ(w.p.preferred_llc, 1);
    EXPECT_EQ(llc_count(rq, 0), 0U);
    EXPECT_EQ(llc_count(rq, 1), 1U);
    EXPECT_EQ(rq.nr_pref_llc_running, 0U);
    account_llc_dequeue(rq, w.p);
    EXPECT_EQ(llc_count(rq, 1), 0U);
    w.p.nr_threads = 1; // no longer steered
    account_mm_sched(w.s, rq, w.p, 1000);
    EXPECT_EQ(w.group.cpu, no_cpu);
    EXPECT_EQ(w.p.preferred_llc, -1);
}

// LB-96.
TEST(CacheAware, Scan) {
    TwoLlcs w;
    w.s.jiffies = 1000;
    for (int cpu = 0; cpu < 4; cpu++)
        w.rq(cpu).cpu_epoch_next = 1010;
    w.rq(3).curr = &w.p;
    account_mm_sched(w.s, w.rq(3), w.p, 5000);
    account_mm_sched(w.s, w.rq(0), w.p, 1); // alone on its CPU too, but the fraction is halved by the + 1
    EXPECT_FALSE(task_tick_cache(w.s, w.rq(3), w.p));
    w.rq(3).cpu_epoch = w.group.cpus[3].epoch = 1;
    EXPECT_TRUE(task_tick_cache(w.s, w.rq(3), w.p));
    EXPECT_FALSE(task_tick_cache(w.s, w.rq(3), w.p)); // once per epoch
    w.group.nr_running_avg = 2;
    task_cache_work(w.s, w.p);
    EXPECT_EQ(w.group.cpu, CpuId{3});
    EXPECT_EQ(w.group.next_scan, 1010U);
    EXPECT_EQ(w.group.nr_running_avg, 2U); // (1 - 2) / 8 is 0 in C
    w.group.cpu = no_cpu;
    task_cache_work(w.s, w.p); // not yet due
    EXPECT_EQ(w.group.cpu, no_cpu);
}

// LB-96: 16 members running, LLC of 32 CPUs: 0 -> 2 -> 3.
TEST(CacheAware, AverageOfMembers) {
    BalanceWorld w(32);
    w.s.domains.multi_llc = true;
    SchedCacheGroup group = make_cache_group(w.s);
    Task &p = w.s.tasks.emplace_back();
    p.cache_group = &group;
    p.nr_threads = 16;
    p.cpu = CpuId{0};
    for (int cpu = 0; cpu < 32; cpu++) {
        w.rq(cpu).sd.base = w.rq(cpu).sd.llc = &w.sd;
        w.rq(cpu).sd.llc_size = 32;
        if (cpu < 16)
            w.rq(cpu).curr = &p;
    }
    task_cache_work(w.s, p);
    EXPECT_EQ(group.nr_running_avg, 2U);
    w.s.jiffies = 100;
    task_cache_work(w.s, p);
    EXPECT_EQ(group.nr_running_avg, 3U);
}

// LB-97, LB-101, LB-102, LB-103, LB-104: a periodic pass stores LLC loads and marks the group that holds tasks
// preferring the destination's LLC; only those may be pulled.
TEST(CacheAware, PassTowardsPreferredLlc) {
    TwoLlcs w;
    DomainShared shared[2];
    for (int cpu = 0; cpu < 4; cpu++)
        w.rq(cpu).sd.llc_shared = &shared[cpu / 2];
    w.group.cpu = CpuId{0};
    w.BalanceWorld::group("0-1");
    w.BalanceWorld::group("2-3", SD_PREFER_SIBLING); // LB-56
    for (int cpu = 0; cpu < 4; cpu++)
        w.base[cpu].parent = &w.sd;
    w.sd.child = &w.base[0];
    w.busy("2", 2);
    w.rq(2).cfs.avg.util_avg = 300;
    w.p.preferred_llc = 0;
    w.p.cpu = CpuId{2};
    account_llc_enqueue(w.s, w.rq(2), w.p);
    shared[0].capacity = shared[1].capacity = 2048;
    GroupCapacity below;
    below.capacity = 1024;
    below.min_capacity = below.max_capacity = 1024;
    SchedGroup halves[2];
    std::vector<SchedGroup *> list = {&halves[0], &halves[1]};
    for (SchedGroup &half : halves)
        half.sgc = &below;
    w.base[0].groups = list;

    LbEnv env = w.env(0, CpuIdle::idle);
    SdStats sds;
    update_sd_lb_stats(env, sds);
    EXPECT_EQ(sds.busiest_stat.nr_pref_dst_llc, 1U);
    EXPECT_EQ(sds.busiest_stat.group_type, GroupType::llc_balance);
    EXPECT_EQ(shared[1].util_avg, 300U);
    find_src_group(env, sds);
    EXPECT_EQ(env.migration_type, MigrationType::llc_task);
    env.src_cpu = sched_balance_find_src_rq(env, *sds.busiest);
    ASSERT_EQ(env.src_cpu, CpuId{2});
    EXPECT_FALSE(migrate_degrades_llc(env, w.p));
    w.p.preferred_llc = 1;
    EXPECT_TRUE(migrate_degrades_llc(env, w.p));
    w.sd.nr_balance_failed = 2;
    EXPECT_FALSE(migrate_degrades_llc(env, w.p));
}

// LB-100, LB-105: away from the preferred LLC only when it is crowded; a push of its last task is vetoed.
TEST(CacheAware, AwayFromPreferredLlc) {
    TwoLlcs w;
    DomainShared shared[2];
    shared[0] = {.util_avg = 200, .capacity = 2048};
    shared[1] = {.util_avg = 100, .capacity = 2048};
    for (int cpu = 0; cpu < 4; cpu++)
        w.rq(cpu).sd.llc_shared = &shared[cpu / 2];
    w.group.cpu = CpuId{0};
    w.p.preferred_llc = 0;
    LbEnv env = w.env(2, CpuIdle::idle);
    env.src_cpu = CpuId{0};
    EXPECT_EQ(can_migrate_llc_task(env, w.p), LlcMig::forbid);
    w.busy("0");
    account_llc_enqueue(w.s, w.rq(0), w.p);
    EXPECT_TRUE(alb_break_llc(env));
    env.migration_type = MigrationType::misfit;
    EXPECT_FALSE(alb_break_llc(env));
    shared[0].util_avg = 2000;
    EXPECT_EQ(can_migrate_llc_task(env, w.p), LlcMig::llc);
    w.p.nr_threads = 1;
    EXPECT_EQ(can_migrate_llc_task(env, w.p), LlcMig::unrestricted);
    EXPECT_EQ(w.group.cpu, no_cpu);
}

} // namespace
} // namespace fairground::fair::test
