// SPDX-License-Identifier: GPL-2.0-only
//
// Worked examples of spec/load-balance.md, sections 1 and 6 to 10: capacity, the busiest group, the imbalance, the
// source queue.
#include "fair/balance_world.h"

#include <array>

namespace fairground::fair::test {
namespace {

// LB-5.
TEST(Balance, Margins) {
    EXPECT_TRUE(fits_capacity(819, 1024));
    EXPECT_FALSE(fits_capacity(820, 1024));
    EXPECT_TRUE(capacity_greater(1024, 972));
    EXPECT_FALSE(capacity_greater(1024, 973));
    EXPECT_TRUE(capacity_greater(1079, 1024));
    EXPECT_FALSE(capacity_greater(1078, 1024));
    BalanceWorld w(1);
    const auto reduced = [&w](int pct, u64 capacity) {
        w.sd.imbalance_pct = pct;
        w.rq(0).cpu_capacity = capacity;
        return check_cpu_capacity(w.rq(0), w.sd);
    };
    EXPECT_TRUE(reduced(117, 875));
    EXPECT_FALSE(reduced(117, 876));
    EXPECT_TRUE(reduced(110, 930));
    EXPECT_FALSE(reduced(110, 931));
}

// TOPO-45, PELT-75.
TEST(Balance, CapacityOfCpu) {
    struct {
        u64 max, irq, rt, dl, capacity;
    } const examples[] = {{1024, 0, 0, 0, 1024},
                          {1024, 102, 200, 0, 741},
                          {1024, 1024, 0, 0, 1},
                          {1024, 10, 1024, 0, 1},
                          {512, 1, 511, 0, 1}};
    for (const auto &e : examples) {
        Rq rq;
        rq.arch_capacity = e.max;
        rq.avg_irq.util_avg = e.irq;
        rq.avg_rt.util_avg = e.rt;
        rq.avg_dl.util_avg = e.dl;
        EXPECT_EQ(scale_rt_capacity(rq), e.capacity) << e.max << ' ' << e.irq << ' ' << e.rt << ' ' << e.dl;
    }
}

// LB-45, WAKE-121, WAKE-122.
TEST(Balance, IdleScan) {
    EXPECT_EQ(idle_cpu_scan(16, 117, 0), 16);
    EXPECT_EQ(idle_cpu_scan(16, 117, 4096), 14);
    EXPECT_EQ(idle_cpu_scan(16, 117, 8192), 10);
    EXPECT_EQ(idle_cpu_scan(16, 117, 12288), 3);
    EXPECT_EQ(idle_cpu_scan(16, 117, 14003), 0);
    EXPECT_EQ(idle_cpu_scan(8, 117, 2000), 7);
    EXPECT_EQ(idle_cpu_scan(32, 117, 16384), 21);
}

struct Candidate {
    GroupType type;
    u32 idle_cpus, sum_nr;
    u32 flags = 0;
    u64 avg_load = 0;
};

// The position of the candidate that wins, in list order.
int busiest_of(const std::vector<Candidate> &candidates) {
    BalanceWorld w(16);
    w.group("0");
    LbEnv env = w.env(0, CpuIdle::idle);
    SdStats sds;
    sds.busiest_stat.idle_cpus = ~u32{0};
    int winner = -1;
    for (std::size_t i = 0; i < candidates.size(); i++) {
        const Candidate &c = candidates[i];
        SchedGroup &group = w.group("1", c.flags);
        GroupStats stats;
        stats.group_type = c.type;
        stats.idle_cpus = c.idle_cpus;
        stats.sum_nr_running = stats.sum_h_nr_running = c.sum_nr;
        stats.avg_load = c.avg_load;
        if (update_sd_pick_busiest(env, sds, group, stats)) {
            sds.busiest = &group;
            sds.busiest_stat = stats;
            winner = static_cast<int>(i);
        }
    }
    return winner;
}

// LB-52, LB-53.
TEST(Balance, BusiestGroup) {
    constexpr auto spare = GroupType::has_spare;
    constexpr auto busy = GroupType::fully_busy;
    constexpr auto over = GroupType::overloaded;
    constexpr u32 smt = SD_SHARE_CPUCAPACITY;
    EXPECT_EQ(busiest_of({{spare, 1, 3}, {spare, 1, 4}, {spare, 2, 2}}), 1);
    EXPECT_EQ(busiest_of({{spare, 1, 3}, {spare, 1, 3}}), 0);
    EXPECT_EQ(busiest_of({{busy, 0, 4}, {busy, 0, 4}}), 1);
    EXPECT_EQ(busiest_of({{busy, 0, 4, smt}, {busy, 0, 4}}), 0);
    EXPECT_EQ(busiest_of({{over, 0, 9, 0, 1400}, {over, 0, 9, 0, 1500}, {over, 0, 9, 0, 1500}}), 1);
    EXPECT_EQ(busiest_of({{spare, 0, 1}, {spare, 1, 1, smt}}), 0);
    EXPECT_EQ(busiest_of({{spare, 0, 1}, {spare, 0, 2, smt}}), 1);
    EXPECT_EQ(busiest_of({{spare, 0, 2, smt}, {spare, 3, 1}}), 1);
    EXPECT_EQ(busiest_of({{spare, 4, 0}}), -1);
}

// LB-58.
TEST(Balance, SiblingImbalance) {
    struct {
        int busiest_cores;
        u32 busiest_running;
        int local_cores;
        u32 local_running;
        s64 v;
    } const examples[] = {{8, 4, 8, 1, 3},   {8, 1, 8, 4, 0},   {32, 1, 64, 0, 2}, {32, 2, 64, 0, 3},
                          {32, 3, 64, 0, 5}, {32, 4, 64, 4, 3}, {64, 2, 32, 0, 2}, {64, 2, 32, 1, 1},
                          {1, 1, 4, 0, 2},   {1, 2, 4, 3, 3},   {4, 3, 1, 0, 2},   {128, 2, 32, 0, 2}};
    for (const auto &e : examples)
        EXPECT_EQ(sibling_imbalance(true, e.busiest_cores, e.busiest_running, e.local_cores, e.local_running), e.v)
            << e.busiest_cores << ' ' << e.busiest_running << ' ' << e.local_cores << ' ' << e.local_running;
    EXPECT_EQ(sibling_imbalance(false, 8, 4, 8, 1), 0);
}

struct Side {
    u32 weight, sum_nr;
    u64 util = 0, runnable = 0, load = 0;
    int idle_cpus = -1; // all without a task of their own
};
struct Setting {
    u32 flags = 0;
    bool prefer_sibling = false;
    CpuIdle idle = CpuIdle::idle;
    int imb_numa_nr = 0;
    Feature variant = Feature::PLACE_LAG; // on anyway
};
struct Amount {
    MigrationType type;
    s64 imbalance; // 0: no group
    friend bool operator==(const Amount &, const Amount &) = default;
    friend void PrintTo(const Amount &a, std::ostream *out) {
        *out << migration_type_name(a.type) << ' ' << a.imbalance;
    }
};

// What the pair of groups of full capacity comes to. The type of "none" is left as it was: load.
Amount amount(const Setting &setting, const Side &local, const Side &busiest) {
    BalanceWorld w(1);
    w.sd.flags = setting.flags;
    w.sd.imb_numa_nr = setting.imb_numa_nr;
    w.s.features.set(setting.variant, true);
    w.group("0");
    LbEnv env = w.env(0, setting.idle);
    const auto fill = [&w](const Side &side, u32 flags, GroupStats &stats) {
        SchedGroup &group = w.group("0", flags);
        group.weight = group.cores = static_cast<int>(side.weight);
        stats.group_weight = side.weight;
        stats.group_capacity = u64{1024} * side.weight;
        stats.sum_nr_running = stats.sum_h_nr_running = side.sum_nr;
        stats.group_util = side.util;
        stats.group_runnable = side.runnable;
        stats.group_load = side.load;
        stats.idle_cpus =
            side.idle_cpus >= 0 ? static_cast<u32>(side.idle_cpus) : side.weight - std::min(side.weight, side.sum_nr);
        stats.group_type = group_classify(117, group, stats);
        if (stats.group_type == GroupType::overloaded)
            stats.avg_load = stats.group_load * 1024 / stats.group_capacity;
        return &group;
    };
    SdStats sds;
    sds.local = fill(local, 0, sds.local_stat);
    sds.busiest = fill(busiest, setting.prefer_sibling ? u32{SD_PREFER_SIBLING} : 0, sds.busiest_stat);
    sds.prefer_sibling = setting.prefer_sibling;
    sds.total_load = local.load + busiest.load;
    sds.total_capacity = sds.local_stat.group_capacity + sds.busiest_stat.group_capacity;
    find_src_group(env, sds);
    return {env.migration_type, env.imbalance};
}

constexpr auto load = MigrationType::load;
constexpr auto util = MigrationType::util;
constexpr auto task = MigrationType::task;

// LB-55, LB-60, LB-62, LB-63: the examples of section 9 with averages.
TEST(Balance, AmountByLoad) {
    const Side busy20 = {16, 20, 15800, 21000, 20000};
    EXPECT_EQ(amount({}, {16, 6, 5000, 5200, 6000}, busy20), (Amount{util, 11384}));
    EXPECT_EQ(amount({}, {16, 15, 16900, 17000, 16000}, busy20), (Amount{task, 1}));
    EXPECT_EQ(amount({.idle = CpuIdle::not_idle}, {16, 15, 16900, 17000, 16000}, busy20), (Amount{util, 0}));
    const Setting not_idle = {.idle = CpuIdle::not_idle};
    EXPECT_EQ(amount(not_idle, {16, 20, 15000, 20000, 20000}, {16, 30, 16384, 30000, 30000}), (Amount{load, 4992}));
    EXPECT_EQ(amount(not_idle, {16, 20, 15000, 20000, 20000}, {16, 30, 16384, 30000, 23000}), (Amount{load, 0}));
    EXPECT_EQ(amount(not_idle, {4, 4, 3800, 4000, 4000}, {4, 8, 4096, 8000, 8000}), (Amount{load, 2000}));
}

// LB-56, LB-57, LB-61: those with numbers of tasks.
TEST(Balance, AmountByTasks) {
    EXPECT_EQ(amount({.prefer_sibling = true}, {4, 1}, {4, 3}), (Amount{task, 1}));
    EXPECT_EQ(amount({}, {16, 4}, {16, 10}), (Amount{task, 3}));
    const Setting llc = {.flags = SD_SHARE_LLC};
    EXPECT_EQ(amount(llc, {1, 0}, {1, 2}), (Amount{task, 1}));
    EXPECT_EQ(amount(llc, {1, 0}, {1, 1}), (Amount{load, 0}));
    const Setting numa = {.flags = SD_NUMA, .prefer_sibling = true, .imb_numa_nr = 4};
    EXPECT_EQ(amount(numa, {32, 1}, {32, 3}), (Amount{task, 0}));
    EXPECT_EQ(amount(numa, {32, 4}, {32, 6}), (Amount{task, 1}));
}

// LB-61: an overloaded group with more idle CPUs than the local one makes the difference wrap.
TEST(Balance, IdleDifferenceWraps) {
    const Setting cls = {.flags = SD_SHARE_LLC};
    const Side local = {2, 2, 0, 0, 0, 0};
    const Side busiest = {2, 6, 2048, 6000, 6000, 1};
    EXPECT_EQ(amount(cls, local, busiest), (Amount{task, 2147483647}));
    EXPECT_EQ(amount({.flags = SD_SHARE_LLC, .variant = Feature::NUMA_PAIR_P1}, local, busiest), (Amount{task, 0}));
}

// NUMAPAIR-3, NUMAPAIR-6. The local group of a test has sum_nr_running = r - 1.
TEST(Balance, BusyDifference) {
    struct {
        u32 busiest_weight, busiest_idle, local_weight, local_idle, r;
        s64 clamped, literal;
    } const examples[] = {{64, 54, 96, 76, 21, 0, -5}, {64, 54, 96, 90, 7, 2, 2}, {64, 62, 96, 96, 1, 0, 0}};
    for (const auto &e : examples) {
        const Side local = {e.local_weight, e.r - 1, 0, 0, 0, static_cast<int>(e.local_idle)};
        const Side busiest = {
            e.busiest_weight, e.busiest_weight - e.busiest_idle, 0, 0, 0, static_cast<int>(e.busiest_idle)};
        Setting setting = {.flags = SD_NUMA, .imb_numa_nr = 8, .variant = Feature::NUMA_PAIR_P1};
        EXPECT_EQ(amount(setting, local, busiest), (Amount{task, e.clamped}));
        setting.variant = Feature::NUMA_PAIR_P1_LITERAL;
        EXPECT_EQ(amount(setting, local, busiest), (Amount{task, e.literal}));
    }
    // Without SD_NUMA nothing turns the wrapped value negative: clusters of 8 and 2.
    const Side local = {8, 4, 0, 0, 0, 4};
    const Side busiest = {2, 3, 2048, 3000, 3000, 1};
    EXPECT_EQ(amount({.flags = SD_SHARE_LLC}, local, busiest), (Amount{task, 1}));
    EXPECT_EQ(amount({.flags = SD_SHARE_LLC, .variant = Feature::NUMA_PAIR_P1}, local, busiest), (Amount{task, 0}));
    EXPECT_EQ(amount({.flags = SD_SHARE_LLC, .variant = Feature::NUMA_PAIR_P1_LITERAL}, local, busiest),
              (Amount{task, 2147483646}));
}

// LB-67 for loads: nr, load, capacity of each CPU.
int source(s64 imbalance, const std::vector<std::array<u64, 3>> &queues) {
    BalanceWorld w(8);
    w.group("7");
    SchedGroup &group = w.group("0-6");
    for (std::size_t i = 0; i < queues.size(); i++) {
        w.busy(std::to_string(i), static_cast<u32>(queues[i][0]));
        w.rq(static_cast<int>(i)).cfs.avg.load_avg = queues[i][1];
        w.rq(static_cast<int>(i)).cpu_capacity = queues[i][2];
    }
    LbEnv env = w.env(7, CpuIdle::idle);
    env.imbalance = imbalance;
    env.migration_type = load;
    return sched_balance_find_src_rq(env, group);
}

TEST(Balance, SourceQueue) {
    EXPECT_EQ(source(1000, {{2, 2000, 1024}, {1, 1500, 1024}, {2, 1900, 900}}), 2);
    EXPECT_EQ(source(1600, {{2, 2000, 1024}, {1, 1500, 1024}}), 0);
    EXPECT_EQ(source(1000, {{1, 1500, 1024}, {1, 1500, 800}}), 1);
}

// LB-89: default priorities, group {2} prefers CPU 2.
TEST(Balance, AsymPacking) {
    for (const auto &[dst, packing] : {std::pair{0, true}, {3, false}}) {
        BalanceWorld w(4);
        w.sd.flags = SD_ASYM_PACKING;
        w.group(std::to_string(dst));
        SchedGroup &other = w.group("2");
        other.asym_prefer_cpu = CpuId{2};
        w.busy("2");
        LbEnv env = w.env(dst, CpuIdle::idle);
        SdStats sds;
        update_sd_lb_stats(env, sds);
        EXPECT_EQ(sds.busiest_stat.group_type == GroupType::asym_packing, packing) << dst;
    }
}

} // namespace
} // namespace fairground::fair::test
