// SPDX-License-Identifier: GPL-2.0-only
//
// Worked examples of spec/load-balance.md, sections 2 and 3: intervals, the walk over a CPU's domains, newly-idle
// balancing and its statistics.
#include "fair/balance_timing.h"

#include "fair/balance_world.h"

namespace fairground::fair::test {
namespace {

// A CPU with a chain of domains and passes whose results the test chooses.
struct Chain {
    Scheduler s{flat_tree(1), cpus("0"), Features(), Tunables()};
    Rq &rq = s.rqs[0];
    std::deque<Domain> domains;
    std::vector<int> visited; // passes run, by position
    std::vector<u64> costs;   // of each pass, ns; 0 behind the end
    u64 draw = 0;
    int pulled = 0; // by every pass
    bool turn = true;
    u64 clock_now = 1000;

    Domain &add(u32 interval, u64 last_balance = 0) {
        Domain &sd = domains.emplace_back();
        sd.child = domains.size() > 1 ? &domains[domains.size() - 2] : nullptr;
        (sd.child != nullptr ? sd.child->parent : rq.sd.base) = &sd;
        sd.level = static_cast<int>(domains.size()) - 1;
        sd.flags = SD_BALANCE_NEWIDLE;
        sd.balance_interval = interval;
        sd.busy_factor = 16;
        sd.last_balance = last_balance;
        sd.newidle_ratio = 1024;
        return sd;
    }

    struct Steps {
        Chain &c;
        int pass(Domain &sd, CpuIdle, bool *continue_balancing) {
            c.visited.push_back(sd.level);
            *continue_balancing = c.turn;
            return c.pulled;
        }
        void update_blocked() {}
        u64 clock(const Domain *passed) {
            const std::size_t done = c.visited.size() - 1;
            if (passed != nullptr && done < c.costs.size())
                c.clock_now += c.costs[done];
            return c.clock_now;
        }
        u64 draw() { return c.draw; }
        void nohz_newidle() {}
    };
    void periodic(CpuIdle idle) { walk_domains(s, rq, idle, Steps{*this}); }
    int newidle() { return walk_newidle(s, rq, Steps{*this}); }
};

// LB-9.
TEST(BalanceTiming, Intervals) {
    struct {
        u32 interval;
        bool busy;
        u32 hz;
        u64 online, jiffies;
    } const examples[] = {{2, false, 1000, 8, 2},   {2, true, 1000, 8, 31},    {16, true, 1000, 16, 255},
                          {32, false, 250, 128, 8}, {32, true, 250, 128, 127}, {256, true, 1000, 128, 4095},
                          {64, true, 1000, 4, 400}, {1, true, 1000, 4, 15},    {512, false, 100, 2, 20}};
    for (const auto &e : examples) {
        Chain c;
        c.s.tunables.hz = e.hz;
        c.s.max_load_balance_interval = e.hz * e.online / 10;
        EXPECT_EQ(get_sd_balance_interval(c.s, c.add(e.interval), e.busy), e.jiffies) << e.interval << ' ' << e.hz;
    }
}

// LB-8, LB-10, LB-11: an idle CPU, one level due and one not.
TEST(BalanceTiming, WalkOfIdleCpu) {
    Chain c;
    c.s.jiffies = 1020;
    c.s.max_load_balance_interval = 1000;
    const Domain &mc = c.add(16, 1000);
    const Domain &numa = c.add(32, 1000);
    c.periodic(CpuIdle::idle);
    EXPECT_EQ(c.visited, std::vector<int>{0});
    EXPECT_EQ(mc.last_balance, 1020U);
    EXPECT_EQ(numa.last_balance, 1000U);
    EXPECT_EQ(c.rq.next_balance, 1032U);
}

// LB-10 (b): "not my turn" ends the walk, but not where the cost of the next level decays.
TEST(BalanceTiming, NotMyTurnStopsHigherLevels) {
    Chain c;
    c.s.jiffies = 5000;
    c.s.max_load_balance_interval = 1000;
    c.turn = false;
    for (int i = 0; i < 3; i++)
        c.add(16).last_decay_max_lb_cost = 5000;
    c.domains[1].last_decay_max_lb_cost = 3999; // decays
    c.domains[1].max_newidle_lb_cost = 500000;
    c.periodic(CpuIdle::idle);
    EXPECT_EQ(c.visited, std::vector<int>{0});
    EXPECT_EQ(c.domains[1].max_newidle_lb_cost, 494140U);
    EXPECT_EQ(c.domains[1].last_balance, 0U);
}

// LB-13.
TEST(BalanceTiming, AverageIdleTime) {
    Rq rq;
    rq.avg_idle = 1000000;
    rq.max_idle_balance_cost = 500000;
    for (const auto &[sample, average] : {std::pair<u64, u64>{200000, 900000}, {200000, 812500}, {5000000, 1000000}}) {
        rq.idle_stamp = 1000;
        rq.clock = 1000 + sample;
        update_rq_avg_idle(rq);
        EXPECT_EQ(rq.avg_idle, average);
        EXPECT_EQ(rq.idle_stamp, 0U);
    }
    rq.clock += 1000000; // not idle: nothing is averaged
    update_rq_avg_idle(rq);
    EXPECT_EQ(rq.avg_idle, 1000000U);
}

// LB-14: the ratio at the 1024th call.
TEST(BalanceTiming, SuccessRatio) {
    struct {
        u32 successes;
        u64 ms;
        u32 ratio;
    } const examples[] = {{100, 1000, 338}, {0, 2000, 476}, {900, 1000, 1024}, {0, 100, 23}, {256, 0, 256}};
    for (const auto &e : examples) {
        Chain c;
        Domain &sd = c.add(8);
        sd.newidle_call = 1023;
        sd.newidle_success = e.successes;
        c.s.now = e.ms * ns_per_ms;
        update_newidle_stats(c.s, sd, 0);
        EXPECT_EQ(sd.newidle_ratio, e.ratio) << e.successes << ' ' << e.ms;
        EXPECT_EQ(sd.newidle_call, 512U);
        EXPECT_EQ(sd.newidle_success, e.successes / 2);
        EXPECT_EQ(sd.newidle_stamp, c.s.now);
    }
}

// LB-15: decay after a second, a larger cost at once, a zero cost counts as no call.
TEST(BalanceTiming, CostOfPasses) {
    Chain c;
    Domain &sd = c.add(8);
    c.s.jiffies = 2001;
    sd.max_newidle_lb_cost = 500000;
    sd.last_decay_max_lb_cost = 1000;
    EXPECT_TRUE(update_newidle_cost(c.s, sd, 0, 0));
    EXPECT_EQ(sd.max_newidle_lb_cost, 494140U);
    EXPECT_FALSE(update_newidle_cost(c.s, sd, 0, 0));
    EXPECT_EQ(sd.newidle_call, 0U);
    EXPECT_FALSE(update_newidle_cost(c.s, sd, 600000, 3));
    EXPECT_EQ(sd.max_newidle_lb_cost, 600000U);
    EXPECT_EQ(sd.newidle_call, 1U);
    EXPECT_EQ(sd.newidle_success, 3U);
    sd.max_newidle_lb_cost = 1;
    sd.last_decay_max_lb_cost = 1000;
    EXPECT_TRUE(update_newidle_cost(c.s, sd, 0, 0));
    EXPECT_EQ(sd.max_newidle_lb_cost, 0U);
}

// LB-19: a pass runs unless the draw exceeds 1 + ratio, so r + 2 of 1024 draws do, and a success weighs the inverse.
TEST(BalanceTiming, RandomPasses) {
    for (const auto &[ratio, weight] :
         {std::pair<u32, u32>{0, 1024}, {1, 512}, {100, 10}, {238, 4}, {512, 2}, {1023, 1}}) {
        u32 runs = 0;
        for (u64 draw = 0; draw < 1024; draw++) {
            Chain c;
            c.s.root.overloaded = true;
            Domain &sd = c.add(8);
            sd.newidle_ratio = ratio;
            c.costs = {100};
            c.pulled = 1;
            c.draw = draw;
            c.newidle();
            runs += static_cast<u32>(c.visited.size());
            EXPECT_EQ(sd.newidle_call, 1U); // LB-14 either way
            EXPECT_EQ(sd.newidle_success, c.visited.empty() ? 0 : weight);
        }
        EXPECT_EQ(runs, std::min(ratio + 2, 1024U)) << ratio;
    }
}

// LB-16, LB-18, LB-20, LB-21: the third level is cut by what the first two have cost.
TEST(BalanceTiming, NewidleWalk) {
    Chain c;
    c.s.root.overloaded = true;
    c.rq.avg_idle = 400000;
    c.rq.clock = 777;
    c.costs = {4000, 30000};
    c.add(8).max_newidle_lb_cost = 5000;
    c.add(8).max_newidle_lb_cost = 40000;
    c.add(8).max_newidle_lb_cost = 390000;
    c.rq.max_idle_balance_cost = 1000;
    EXPECT_EQ(c.newidle(), 0);
    EXPECT_EQ(c.visited, (std::vector<int>{0, 1}));
    EXPECT_EQ(c.rq.max_idle_balance_cost, 34000U);
    EXPECT_EQ(c.rq.idle_stamp, 777U);
}

// LB-17, LB-20, LB-22: nothing to gain; a pull or a foreign turn ends the walk; a pull means the CPU is not idle.
TEST(BalanceTiming, NewidleEnds) {
    Chain quiet;
    quiet.add(8, 100);
    quiet.s.jiffies = 104;
    quiet.s.max_load_balance_interval = 100;
    quiet.rq.next_balance = 5000;
    EXPECT_EQ(quiet.newidle(), 0);
    EXPECT_TRUE(quiet.visited.empty());
    EXPECT_EQ(quiet.rq.next_balance, 108U);
    for (const bool pull : {false, true}) {
        Chain c;
        c.s.root.overloaded = true;
        c.add(8);
        c.add(8);
        c.rq.clock = 777;
        c.pulled = pull ? 1 : 0;
        c.turn = pull;
        EXPECT_EQ(c.newidle(), pull ? 1 : 0);
        EXPECT_EQ(c.visited, std::vector<int>{0});
        EXPECT_EQ(c.rq.idle_stamp, pull ? 0U : 777U);
    }
}

// LB-6, LB-7: the tick records idleness and raises the softirq when due.
TEST(BalanceTiming, Trigger) {
    Chain c;
    c.add(8);
    c.s.jiffies = 100;
    c.rq.next_balance = 101;
    sched_balance_trigger(c.s, c.rq);
    EXPECT_TRUE(c.rq.idle_balance);
    EXPECT_TRUE(c.s.effects.empty());
    c.s.jiffies = 101;
    sched_balance_trigger(c.s, c.rq);
    ASSERT_EQ(c.s.effects.size(), 1U);
    EXPECT_EQ(c.s.effects[0].kind, EffectKind::balance_softirq);
}

// LB-15, LB-106: without a clock of the driver a pass still costs time.
TEST(BalanceTiming, DefaultClock) {
    BalanceWorld w(2);
    w.group("0");
    w.group("1");
    w.sd.flags = SD_BALANCE_NEWIDLE | SD_SHARE_LLC;
    w.sd.newidle_ratio = 1024;
    w.rq(0).sd.base = &w.sd;
    w.s.root.overloaded = true;
    EXPECT_EQ(sched_balance_newidle(w.s, w.rq(0)), 0);
    EXPECT_EQ(w.sd.max_newidle_lb_cost, ns_per_us);
    EXPECT_EQ(w.sd.newidle_call, 1U);
}

} // namespace
} // namespace fairground::fair::test
