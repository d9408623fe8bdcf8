// SPDX-License-Identifier: GPL-2.0-only
//
// Worked examples of spec/load-balance.md, section 4: who is kicked, for what, and what it does then.
#include "fair/nohz.h"

#include "fair/balance_world.h"

namespace fairground::fair::test {
namespace {

const std::vector<std::string_view> four_cores = {"0,4", "1,5", "2,6", "3,7"};

// The balancer chosen on four SMT-2 cores. CPUs outside `idle` are busy.
int balancer(std::string_view mask, std::string_view idle) {
    BalanceWorld w(8, four_cores);
    w.s.nohz.idle_cpus = cpus(mask);
    w.busy(to_list(CpuMask::range(0, 7) - cpus(idle)));
    return find_new_ilb(w.s);
}

// LB-31.
TEST(Nohz, ChoiceOfBalancer) {
    EXPECT_EQ(balancer("1,2,6", "1,2,6"), 2);
    EXPECT_EQ(balancer("1,3,5", "3,5"), 3); // both on half busy cores: the first one is the fallback
    EXPECT_EQ(balancer("0,4", ""), -1);
}

// LB-25..30: a busy CPU 1 with its tick, CPU 0 in the mask.
struct Kick {
    BalanceWorld w{4};
    DomainShared shared;

    Kick() {
        w.rq(1).sd.base = &w.sd;
        w.rq(1).sd.balance_shared = &shared;
        shared.nr_busy_cpus = 1;
        w.busy("1");
        w.s.jiffies = 5000;
        w.s.nohz.idle_cpus = cpus("0");
        w.s.nohz.next_balance = 5000;
        w.s.nohz.next_blocked = 4990;
        w.s.nohz.has_blocked = true;
    }
    u8 flags() {
        nohz_balancer_kick(w.s, w.rq(1));
        return w.rq(0).nohz_flags;
    }
};

TEST(Nohz, KickReasons) {
    constexpr u8 both = NOHZ_STATS_KICK | NOHZ_BALANCE_KICK;
    Kick one;
    EXPECT_EQ(one.flags(), NOHZ_STATS_KICK);
    EXPECT_EQ(one.w.s.nohz.next_balance, 5000U);
    Kick busy_llc; // LB-30, SYNC-26
    busy_llc.shared.nr_busy_cpus = 2;
    EXPECT_EQ(busy_llc.flags(), both);
    EXPECT_EQ(busy_llc.w.s.nohz.next_balance, 5001U);
    Kick two; // LB-26
    two.w.busy("1", 2);
    EXPECT_EQ(two.flags(), both);
    EXPECT_EQ(two.w.s.nohz.next_balance, 5001U);
    Kick nobody;
    nobody.w.s.nohz.idle_cpus = {};
    EXPECT_EQ(nobody.flags(), 0);
    Kick reduced; // LB-27
    reduced.w.rq(1).cpu_capacity = 800;
    EXPECT_EQ(reduced.flags(), both);
    Kick packing; // LB-28
    Domain packed;
    packed.flags = SD_ASYM_PACKING;
    packed.span = cpus("0-3");
    packing.w.rq(1).sd.asym_packing = &packed;
    EXPECT_EQ(packing.flags(), both); // CPU 0 has the higher priority
    Kick misfit;                      // LB-29: and nothing after it counts
    misfit.w.rq(1).sd.asym_cpucapacity = &packed;
    misfit.shared.nr_busy_cpus = 2;
    EXPECT_EQ(misfit.flags(), NOHZ_STATS_KICK);
    misfit.w.rq(1).misfit_task_load = 5;
    EXPECT_EQ(misfit.flags(), both);
    Kick stale;
    stale.w.s.nohz.needs_update = true;
    stale.w.s.nohz.has_blocked = false;
    EXPECT_EQ(stale.flags(), NOHZ_NEXT_KICK);
    Kick idle; // an idle CPU does not ask
    idle.w.rq(1).idle_balance = true;
    EXPECT_EQ(idle.flags(), 0);
}

// LB-31: one interrupt per set of requests; lost if the target became busy.
TEST(Nohz, InterruptOnce) {
    Kick k;
    k.flags();
    k.flags();
    ASSERT_EQ(k.w.s.effects.size(), 1U);
    EXPECT_EQ(k.w.s.effects[0].kind, EffectKind::nohz_kick);
    EXPECT_EQ(k.w.s.effects[0].target, CpuId{0});
    k.w.s.effects.clear();
    nohz_csd_func(k.w.s, k.w.rq(0));
    ASSERT_EQ(k.w.s.effects.size(), 1U);
    EXPECT_EQ(k.w.s.effects[0].kind, EffectKind::balance_softirq);
    EXPECT_EQ(k.w.rq(0).nohz_idle_balance, NOHZ_STATS_KICK);

    Kick late;
    late.flags();
    late.w.busy("0");
    late.w.s.effects.clear();
    nohz_csd_func(late.w.s, late.w.rq(0));
    EXPECT_TRUE(late.w.s.effects.empty());
    EXPECT_EQ(late.w.rq(0).nohz_flags, 0);
}

// LB-24, SYNC-21, SYNC-22.
TEST(Nohz, EnterAndLeave) {
    BalanceWorld w(2);
    DomainShared shared;
    shared.nr_busy_cpus = 2;
    w.sd.shared = &shared;
    w.rq(0).sd.base = w.rq(0).sd.llc = &w.sd;
    nohz_balance_enter_idle(w.s, w.rq(0));
    nohz_balance_enter_idle(w.s, w.rq(0)); // again while the tick is still stopped
    EXPECT_EQ(shared.nr_busy_cpus, 1);
    EXPECT_TRUE(w.s.nohz.idle_cpus.test(CpuId{0}));
    EXPECT_TRUE(w.s.nohz.needs_update && w.s.nohz.has_blocked && w.rq(0).has_blocked_load);
    nohz_balance_exit_idle(w.s, w.rq(0));
    nohz_balance_exit_idle(w.s, w.rq(0));
    EXPECT_EQ(shared.nr_busy_cpus, 2);
    EXPECT_FALSE(w.s.nohz.idle_cpus.test(CpuId{0}));
    nohz_balance_enter_idle(w.s, w.rq(1)); // no domain: takes no part
    EXPECT_FALSE(w.s.nohz.idle_cpus.test(CpuId{1}));
}

// LB-32: from t = 5 on 8 CPUs.
TEST(Nohz, WalkOrder) {
    std::vector<int> order;
    wrap(CpuMask::range(0, 7), 5 + 1, [&order](CpuId cpu) {
        order.push_back(cpu);
        return false;
    });
    EXPECT_EQ(order, (std::vector<int>{6, 7, 0, 1, 2, 3, 4, 5}));
}

// LB-32, LB-33, LB-34, LB-36, PELT-26: blocked load decays, and the next dates come from the idle queues.
TEST(Nohz, Pass) {
    BalanceWorld w(4);
    w.s.jiffies = 1000;
    w.s.nohz.idle_cpus = cpus("0-3");
    w.s.nohz.has_blocked = w.s.nohz.needs_update = true;
    w.busy("3");
    for (int cpu = 0; cpu < 4; cpu++) {
        w.rq(cpu).next_balance = 1100 + static_cast<u64>(cpu);
        w.rq(cpu).has_blocked_load = true;
    }
    w.rq(3).next_balance = 1001; // busy, so it does not count
    w.rq(2).last_blocked_load_update_tick = 1000;
    w.rq(0).nohz_idle_balance = NOHZ_STATS_KICK | NOHZ_NEXT_KICK;
    EXPECT_TRUE(nohz_idle_balance(w.s, w.rq(0), true));
    EXPECT_FALSE(w.rq(0).has_blocked_load);
    EXPECT_FALSE(w.rq(1).has_blocked_load);
    EXPECT_TRUE(w.rq(2).has_blocked_load); // updated in this jiffy already
    EXPECT_TRUE(w.s.nohz.has_blocked);
    EXPECT_FALSE(w.s.nohz.needs_update);
    EXPECT_EQ(w.s.nohz.next_balance, 1100U);
    EXPECT_EQ(w.s.nohz.next_blocked, 1032U);
    EXPECT_FALSE(nohz_idle_balance(w.s, w.rq(0), true)); // nothing pending
}

// LB-32: the balancer got work of its own.
TEST(Nohz, PassAborts) {
    BalanceWorld w(4);
    w.s.jiffies = 1000;
    w.s.nohz.idle_cpus = cpus("0-3");
    w.busy("0");
    w.rq(0).need_resched = true;
    w.rq(0).nohz_idle_balance = NOHZ_STATS_KICK | NOHZ_NEXT_KICK;
    EXPECT_TRUE(nohz_idle_balance(w.s, w.rq(0), true));
    EXPECT_TRUE(w.s.nohz.has_blocked && w.s.nohz.needs_update);
    EXPECT_EQ(w.s.nohz.next_blocked, 0U);
}

// LB-35.
TEST(Nohz, AfterFruitlessAttempt) {
    BalanceWorld w(2);
    Rq &rq = w.rq(0);
    w.s.jiffies = 1000;
    w.s.nohz.has_blocked = true;
    w.s.nohz.next_blocked = 1000;
    rq.avg_idle = w.s.tunables.migration_cost - 1;
    nohz_newidle_balance(w.s, rq);
    EXPECT_EQ(rq.nohz_flags, 0);
    rq.avg_idle++;
    nohz_newidle_balance(w.s, rq);
    EXPECT_EQ(rq.nohz_flags, NOHZ_NEWILB_KICK);
    nohz_run_idle_balance(w.s, rq);
    EXPECT_EQ(rq.nohz_flags, 0);
    EXPECT_EQ(w.s.nohz.next_blocked, 1032U);
}

} // namespace
} // namespace fairground::fair::test
