// SPDX-License-Identifier: GPL-2.0-only
//
// What a pass counts and asks (spec/load-balance.md, sections 1, 6, 8, 10, 12, 14), on hand-made states. The
// numbers of whole passes are compared with the kernel's in tests/data/vectors/balance-*.
#include "fair/balance_world.h"
#include "fair/core.h"

namespace fairground::fair::test {
namespace {

// LB-1, LB-2, LB-4.
TEST(BalanceStats, IdleAndSchedIdle) {
    BalanceWorld w(4, {"0,1", "2,3"});
    EXPECT_EQ(static_cast<int>(CpuIdle::newly_idle), 2);
    EXPECT_TRUE(idle_cpu(w.rq(0)));
    w.rq(0).ttwu_pending = true;
    EXPECT_FALSE(idle_cpu(w.rq(0)));
    EXPECT_TRUE(is_core_idle(w.s, CpuId{0})); // the CPU itself is not asked
    EXPECT_FALSE(is_core_idle(w.s, CpuId{1}));
    w.busy("2", 2);
    EXPECT_FALSE(sched_idle_rq(w.rq(2)));
    w.rq(2).cfs.h_nr_idle = 2;
    EXPECT_TRUE(sched_idle_rq(w.rq(2)));
    EXPECT_FALSE(sched_idle_rq(w.rq(3)));
}

// LB-3, LB-46, LB-51: sums over the reduced set, weight and capacity of the whole group.
TEST(BalanceStats, SumsOfGroup) {
    BalanceWorld w(6);
    w.sd.flags = SD_NUMA;
    w.group("0-1");
    w.group("2-5");
    w.busy("2-4", 3);
    for (int cpu = 2; cpu < 6; cpu++) {
        w.rq(cpu).cfs.avg = {.load_avg = 3000, .runnable_avg = 2500, .util_avg = 900};
        w.rq(cpu).cfs.avg.util_est = cpu == 2 ? 2000 : 0; // cut to the CPU's 1024
        w.rq(cpu).nr_numa_running = 2;
        w.rq(cpu).nr_preferred_running = 1;
    }
    w.rq(3).cfs.h_nr_runnable = 2; // one is delayed
    LbEnv env = w.env(0, CpuIdle::idle);
    env.cpus.clear(CpuId{4});
    SdStats sds;
    update_sd_lb_stats(env, sds);
    const GroupStats &stats = sds.busiest_stat;
    EXPECT_EQ(stats.sum_nr_running, 6U);
    EXPECT_EQ(stats.sum_h_nr_running, 5U);
    EXPECT_EQ(stats.idle_cpus, 1U);
    EXPECT_EQ(stats.group_weight, 4U);
    EXPECT_EQ(stats.group_capacity, 4096U);
    EXPECT_EQ(stats.group_load, 9000U);
    EXPECT_EQ(stats.group_util, 1024U + 900 + 900);
    EXPECT_EQ(stats.nr_numa_running, 4U); // of CPUs that are not idle
    EXPECT_EQ(stats.nr_preferred_running, 2U);
    EXPECT_EQ(stats.group_type, GroupType::overloaded);
    EXPECT_EQ(stats.avg_load, 9000U * 1024 / 4096);
    EXPECT_EQ(sds.total_load, 9000U);
    EXPECT_EQ(env.fbq_type, FbqType::regular); // LB-65
    EXPECT_TRUE(w.s.root.overloaded);          // LB-44: no parent
}

// LB-44: the first group is refreshed, and periodically; the mark of the root is cleared too.
TEST(BalanceStats, RefreshOfLocalGroup) {
    for (const CpuIdle idle : {CpuIdle::idle, CpuIdle::newly_idle}) {
        BalanceWorld w(2);
        SchedGroup &local = w.group("0");
        w.group("1");
        w.s.jiffies = 50;
        w.s.root.overloaded = true;
        w.rq(0).avg_rt.util_avg = 100;
        LbEnv env = w.env(0, idle);
        SdStats sds;
        update_sd_lb_stats(env, sds);
        EXPECT_EQ(local.sgc->capacity, idle == CpuIdle::idle ? 924U : 1024U);
        EXPECT_FALSE(w.s.root.overloaded);
        if (idle == CpuIdle::idle) {
            EXPECT_EQ(local.sgc->next_update, 58U); // TOPO-44
            local.sgc->next_update = 50;
            w.rq(0).avg_rt.util_avg = 200;
            env.idle = CpuIdle::newly_idle; // due
            SdStats again;
            update_sd_lb_stats(env, again);
            EXPECT_EQ(local.sgc->capacity, 824U);
        }
    }
}

// TOPO-44: capacity of a group from the groups below, or from the CPUs where those overlap.
TEST(BalanceStats, CapacityFromBelow) {
    BalanceWorld w(4);
    SchedGroup &whole = w.group("0-3");
    Domain child;
    GroupCapacity parts[2];
    parts[0].capacity = 900;
    parts[0].min_capacity = 400;
    parts[0].max_capacity = 500;
    parts[1].capacity = 1500;
    parts[1].min_capacity = 700;
    parts[1].max_capacity = 800;
    SchedGroup groups[2];
    groups[0].sgc = &parts[0];
    groups[1].sgc = &parts[1];
    std::vector<SchedGroup *> list = {&groups[0], &groups[1]};
    child.groups = list;
    w.sd.child = &child;
    update_group_capacity(w.s, w.sd, CpuId{0});
    EXPECT_EQ(whole.sgc->capacity, 2400U);
    EXPECT_EQ(whole.sgc->min_capacity, 400U);
    EXPECT_EQ(whole.sgc->max_capacity, 800U);
    child.flags = SD_NUMA;
    w.rq(2).cpu_capacity = 1000;
    update_group_capacity(w.s, w.sd, CpuId{0});
    EXPECT_EQ(whole.sgc->capacity, 3 * 1024U + 1000);
    EXPECT_EQ(whole.sgc->min_capacity, 1000U);
}

SdStats stats_of(LbEnv &env) {
    SdStats sds;
    update_sd_lb_stats(env, sds);
    EXPECT_NE(sds.busiest, nullptr);

    return sds;
}

// LB-47: a lone task on a CPU whose capacity others eat, and a misfit on an asymmetric machine.
TEST(BalanceStats, Misfit) {
    BalanceWorld w(2);
    w.group("0");
    SchedGroup &other = w.group("1");
    w.busy("1");
    w.rq(1).cfs.avg.load_avg = 700;
    w.rq(1).cpu_capacity = 800;
    LbEnv env = w.env(0, CpuIdle::idle);
    EXPECT_EQ(stats_of(env).busiest_stat.misfit_task_load, 700U);
    env.idle = CpuIdle::not_idle;
    EXPECT_EQ(stats_of(env).busiest_stat.misfit_task_load, 0U);

    w.sd.flags = SD_ASYM_CPUCAPACITY;
    w.rq(1).misfit_task_load = 300;
    other.sgc->max_capacity = 500;
    EXPECT_EQ(stats_of(env).busiest_stat.misfit_task_load, 300U);
    EXPECT_TRUE(w.s.root.overloaded); // LB-44
    other.sgc->max_capacity = 1024;
    EXPECT_EQ(stats_of(env).busiest_stat.misfit_task_load, 0U); // the destination is not bigger
}

// LB-48: two tasks on one core.
TEST(BalanceStats, SmtBalance) {
    BalanceWorld w(4, {"0,1", "2,3"});
    w.group("0-1", SD_SHARE_CPUCAPACITY);
    w.group("2-3", SD_SHARE_CPUCAPACITY);
    w.busy("2-3");
    LbEnv env = w.env(0, CpuIdle::idle);
    EXPECT_EQ(stats_of(env).busiest_stat.group_type, GroupType::smt_balance);
    env.idle = CpuIdle::not_idle;
    EXPECT_FALSE(stats_of(env).busiest_stat.smt_balance);
}

// LB-54, LB-59: which types force a move, and in which unit.
TEST(BalanceStats, UnitByType) {
    const auto unit = [](GroupType type, u32 flags) {
        BalanceWorld w(1);
        w.sd.flags = flags;
        SchedGroup &group = w.group("0");
        LbEnv env = w.env(0, CpuIdle::idle);
        SdStats sds;
        sds.local = sds.busiest = &group;
        sds.local_stat.idle_cpus = 4;
        sds.busiest_stat.group_type = type;
        sds.busiest_stat.group_weight = 4;
        sds.busiest_stat.sum_h_nr_running = 3;
        sds.busiest_stat.misfit_task_load = 77;
        EXPECT_EQ(find_src_group(env, sds), &group);
        return std::pair{env.migration_type, env.imbalance};
    };
    EXPECT_EQ(unit(GroupType::misfit_task, SD_ASYM_CPUCAPACITY), (std::pair{MigrationType::misfit, s64{1}}));
    EXPECT_EQ(unit(GroupType::misfit_task, 0), (std::pair{MigrationType::load, s64{77}}));
    EXPECT_EQ(unit(GroupType::asym_packing, 0), (std::pair{MigrationType::task, s64{3}}));
    EXPECT_EQ(unit(GroupType::smt_balance, 0), (std::pair{MigrationType::task, s64{1}}));
    EXPECT_EQ(unit(GroupType::imbalanced, 0), (std::pair{MigrationType::task, s64{1}}));
    EXPECT_EQ(unit(GroupType::llc_balance, 0), (std::pair{MigrationType::llc_task, s64{1}}));
    BalanceWorld w(1);
    LbEnv env = w.env(0, CpuIdle::idle);
    SdStats none;
    EXPECT_EQ(find_src_group(env, none), nullptr);
    EXPECT_EQ(env.rule, Rule("LB-54"));
}

// LB-65, LB-66, NUMA-61: queues whose tasks all sit on their preferred node are spared while others exist.
TEST(BalanceStats, ClassesOfQueues) {
    BalanceWorld w(4);
    w.group("0");
    SchedGroup &other = w.group("1-3");
    w.busy("1-3", 2);
    w.rq(1).nr_numa_running = 2;
    w.rq(1).nr_preferred_running = 2;
    w.rq(2).nr_numa_running = 2;
    EXPECT_EQ(fbq_classify_rq(w.rq(1)), FbqType::all);
    EXPECT_EQ(fbq_classify_rq(w.rq(2)), FbqType::remote);
    EXPECT_EQ(fbq_classify_rq(w.rq(3)), FbqType::regular);
    LbEnv env = w.env(0, CpuIdle::idle);
    env.migration_type = MigrationType::task;
    env.fbq_type = FbqType::all;
    EXPECT_EQ(sched_balance_find_src_rq(env, other), CpuId{1}); // a tie: the lowest
    env.fbq_type = FbqType::remote;
    EXPECT_EQ(sched_balance_find_src_rq(env, other), CpuId{2});
    env.fbq_type = FbqType::regular;
    EXPECT_EQ(sched_balance_find_src_rq(env, other), CpuId{3});
    w.rq(3).cfs.h_nr_runnable = 0; // only delayed tasks
    EXPECT_EQ(sched_balance_find_src_rq(env, other), no_cpu);
}

// LB-66: a lone task is left on a CPU that is no smaller, and on one that it should be packed on.
TEST(BalanceStats, LoneTasks) {
    BalanceWorld w(2);
    w.group("0");
    SchedGroup &other = w.group("1");
    w.busy("1");
    LbEnv env = w.env(0, CpuIdle::idle);
    env.migration_type = MigrationType::task;
    EXPECT_EQ(sched_balance_find_src_rq(env, other), CpuId{1});
    w.sd.flags = SD_ASYM_CPUCAPACITY;
    EXPECT_EQ(sched_balance_find_src_rq(env, other), no_cpu);
    w.s.domains.cluster_active = true; // equal actual capacity in clusters
    EXPECT_EQ(sched_balance_find_src_rq(env, other), CpuId{1});
    w.s.domains.cluster_active = false;
    w.rq(1).cpu_capacity = 500;
    EXPECT_EQ(sched_balance_find_src_rq(env, other), CpuId{1});
    w.sd.flags = SD_ASYM_PACKING;
    EXPECT_EQ(sched_balance_find_src_rq(env, other), CpuId{1});
    w.rq(1).asym_priority = 5;
    EXPECT_EQ(sched_balance_find_src_rq(env, other), no_cpu);
}

// LB-88.
TEST(BalanceStats, PackingPriority) {
    BalanceWorld w(4, {"0,1", "2,3"});
    EXPECT_FALSE(sched_use_asym_prio(w.s, w.sd, CpuId{0}));
    w.sd.flags = SD_ASYM_PACKING;
    EXPECT_TRUE(sched_use_asym_prio(w.s, w.sd, CpuId{0}));
    w.busy("1");
    EXPECT_FALSE(sched_use_asym_prio(w.s, w.sd, CpuId{0}));
    w.sd.flags |= SD_SHARE_CPUCAPACITY;
    EXPECT_TRUE(sched_use_asym_prio(w.s, w.sd, CpuId{0}));
    EXPECT_TRUE(sched_asym(w.s, w.sd, CpuId{0}, CpuId{2}));
    EXPECT_FALSE(sched_asym(w.s, w.sd, CpuId{2}, CpuId{0}));
}

// LB-42, LB-79, LB-80: a lone task that cannot be pulled is pushed when the destination is clearly better.
TEST(BalanceStats, PushWhenNeeded) {
    struct {
        u32 flags;
        u64 src_capacity;
        bool pushed;
    } const examples[] = {{0, 1024, false}, {0, 870, true}, {0, 880, false}, {SD_ASYM_PACKING, 1024, true}};
    for (const auto &e : examples) {
        BalanceWorld w(2);
        w.sd.flags = e.flags;
        w.group("0");
        w.group("1").asym_prefer_cpu = CpuId{1};
        w.busy("1");
        w.rq(1).cfs.avg.load_avg = 600;
        w.rq(1).cpu_capacity = e.src_capacity;
        Task &p = w.s.tasks.emplace_back();
        p.on_rq = OnRq::queued;
        p.cpus_allowed = cpus("0-1");
        w.rq(1).curr = &p;
        bool go_on = true;
        EXPECT_EQ(sched_balance_rq(w.s, CpuId{0}, w.sd, CpuIdle::idle, &go_on), 0);
        EXPECT_EQ(w.rq(1).active_balance, e.pushed) << e.flags << ' ' << e.src_capacity;
        EXPECT_EQ(w.s.effects.size(), e.pushed ? 1U : 0U);
        if (e.pushed) {
            EXPECT_EQ(w.sd.nr_balance_failed, 1U);
            sched_balance_rq(w.s, CpuId{0}, w.sd, CpuIdle::idle, &go_on); // already being pushed
            EXPECT_EQ(w.s.effects.size(), 1U);
        }
    }
}

// LB-90.
TEST(BalanceStats, MisfitOfQueue) {
    BalanceWorld w(2);
    w.s.domains.asym_cpucapacity = true;
    w.s.tunables.group_scheduling = false;
    w.rq(1).arch_capacity = w.rq(1).cpu_capacity = 400;
    Task p;
    p.cpus_allowed = cpus("0-1");
    p.nr_cpus_allowed = 2;
    p.se.avg.util_avg = 500;
    p.se.avg.load_avg = 900;
    update_misfit_status(w.s, &p, w.rq(1));
    EXPECT_EQ(w.rq(1).misfit_task_load, 900U);
    p.se.avg.load_avg = 0;
    update_misfit_status(w.s, &p, w.rq(1));
    EXPECT_EQ(w.rq(1).misfit_task_load, 1U);
    update_misfit_status(w.s, &p, w.rq(0)); // already the biggest
    EXPECT_EQ(w.rq(0).misfit_task_load, 0U);
    p.se.avg.util_avg = 100; // fits
    update_misfit_status(w.s, &p, w.rq(1));
    EXPECT_EQ(w.rq(1).misfit_task_load, 0U);
    p.se.avg.util_avg = 500;
    update_misfit_status(w.s, &p, w.rq(1));
    EXPECT_EQ(w.rq(1).misfit_task_load, 1U);
    p.cpus_allowed = cpus("1");
    p.nr_cpus_allowed = 1;
    update_misfit_status(w.s, &p, w.rq(1));
    EXPECT_EQ(w.rq(1).misfit_task_load, 0U);
    w.rq(1).misfit_task_load = 9;
    update_misfit_status(w.s, nullptr, w.rq(1));
    EXPECT_EQ(w.rq(1).misfit_task_load, 0U);
}

// LB-12, LB-23: on a real queue. A second task marks the root; when only SCHED_IDLE work stays, balancing is due.
TEST(BalanceStats, QueueMarks) {
    BalanceWorld w(1);
    Scheduler &s = w.s;
    s.jiffies = 42;
    s.now = 10 * ns_per_ms;
    Rq &rq = w.rq(0);
    const auto start = [&](Policy policy) -> Task & {
        TaskInit init;
        init.policy = policy;
        init.cpus_allowed = cpus("0");
        Task &p = sched_fork(s, init, nullptr, CpuId{0});
        activate_task(s, rq, p, ENQUEUE_INITIAL);
        return p;
    };
    start(Policy::idle);
    EXPECT_FALSE(s.root.overloaded);
    Task &normal = start(Policy::normal);
    EXPECT_TRUE(s.root.overloaded);
    rq.next_balance = 1000;
    deactivate_task(s, rq, normal);
    EXPECT_TRUE(sched_idle_rq(rq));
    EXPECT_EQ(rq.next_balance, 42U);
}

} // namespace
} // namespace fairground::fair::test
