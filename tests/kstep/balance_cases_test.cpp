// SPDX-License-Identifier: GPL-2.0-only
//
// kSTEP cases about load balancing: extra_balance, even_idle_cpu, long_balance.
#include "fair/balance_trace.h"
#include "kstep/harness.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairground::kstep {
namespace {

using namespace fair;
using Json = nlohmann::json;

// Every search for a source group and the queue lengths per tick, in the recording's form.
class Recorder {
  public:
    explicit Recorder(Harness &h) : h_(h) {
        h.scheduler().balance_trace = &trace_;
        h.on_tick_begin = [this] {
            take_passes();
            Json line = {{"timestamp", h_.timestamp()}, {"type", "nr_running"}};
            for (int cpu = 1; cpu <= 4; cpu++)
                line["cpu" + std::to_string(cpu)] = h_.rq(cpu).nr_running;
            lines_.push_back(line);
        };
    }
    // Up to and without tick `end`.
    void compare(const std::string &file, u64 end = ~u64{0}) {
        take_passes();
        const auto before_end = [&](const Json &line) { return line["timestamp"].get<u64>() < end; };
        const std::vector<Json> recorded = select(read(file), before_end);
        const std::vector<Json> ours = select(lines_, before_end);
        int shown = 0;
        for (std::size_t i = 0; i < std::min(recorded.size(), ours.size()) && shown < 10; i++) {
            if (ours[i] == recorded[i])
                continue;
            ADD_FAILURE() << "line " << i + 1 << ": " << ours[i] << "\n  expected " << recorded[i];
            shown++;
        }
        EXPECT_EQ(ours.size(), recorded.size());
    }
    // The queue lengths alone, to the end.
    void compare_queues(const std::string &file) {
        const auto queue = [](const Json &line) { return line["type"] == "nr_running"; };
        EXPECT_EQ(select(lines_, queue), select(read(file), queue));
    }

  private:
    static std::vector<Json> read(const std::string &file) {
        std::vector<Json> all;
        for (const std::string &line : lines(file))
            all.push_back(Json::parse(line));
        return all;
    }
    template <class Keep> static std::vector<Json> select(const std::vector<Json> &all, Keep keep) {
        std::vector<Json> kept;
        std::copy_if(all.begin(), all.end(), std::back_inserter(kept), keep);
        return kept;
    }
    void take_passes() {
        for (const BalanceTrace::Pass &pass : trace_.passes)
            for (std::size_t round = 0; round < pass.rounds.size(); round++)
                lines_.push_back({{"timestamp", h_.timestamp()},
                                  {"type", "load_balance"},
                                  {"dst_cpu", pass.rounds[round].dst_cpu.value},
                                  {"span", to_list(pass.domain->span)},
                                  {"name", pass.domain->name}});
        trace_.passes.clear();
    }

    Harness &h_;
    BalanceTrace trace_;
    std::vector<Json> lines_;
};

std::vector<Task *> start(Harness &h, const std::vector<int> &cpus) {
    std::vector<Task *> tasks;
    for (std::size_t i = 0; i < cpus.size(); i++)
        tasks.push_back(&h.create());
    for (std::size_t i = 0; i < cpus.size(); i++)
        h.allow(*tasks[i], std::to_string(cpus[i]));
    for (Task *task : tasks)
        h.wake(*task);
    return tasks;
}

// LB-38: only one CPU of a group may balance a domain. The broken kernel lets CPU 1 do it as well at ticks 63, 190...
// The recording is of v6.7. v7.3 tests the lag of a task before it looks at its affinity (LB-71.3), which decides the
// pass at tick 698 otherwise; up to there all is equal.
TEST(Kstep, OnlyOneCpuOfAGroupBalances) {
    Harness h(machine(5, {{CpuId{1}, CpuId{2}}, {CpuId{3}, CpuId{4}}}));
    const std::vector<Task *> tasks = start(h, {1, 3, 3, 3, 4});
    Recorder recorder(h);
    h.ticks(500);
    for (std::size_t i = 1; i <= 3; i++)
        h.allow(*tasks[i], "1-3");
    h.ticks(500);
    recorder.compare("extra_balance.fixed.jsonl.gz", 698);
}

// The same without that test, which hangs on PLACE_LAG: equal for 28 ticks more, until CPU 2 takes one of the two tasks
// of CPU 1 in v6.7.
TEST(Kstep, OnlyOneCpuOfAGroupBalancesWithoutLag) {
    Harness h(machine(5, {{CpuId{1}, CpuId{2}}, {CpuId{3}, CpuId{4}}}));
    h.scheduler().features.set(Feature::PLACE_LAG, false);
    const std::vector<Task *> tasks = start(h, {1, 3, 3, 3, 4});
    Recorder recorder(h);
    h.ticks(500);
    for (std::size_t i = 1; i <= 3; i++)
        h.allow(*tasks[i], "1-3");
    h.ticks(500);
    recorder.compare("extra_balance.fixed.jsonl.gz", 726);
}

// LB-57, LB-61: with equal numbers of idle CPUs the imbalance of 1 is halved to 0, so CPU 2 stays idle next to two
// tasks on CPU 3. Plain v6.17 does that, and so must a faithful model. v6.17 took PREFER_SIBLING from the domain below
// one of unequal capacities; v7.3 no longer does.
TEST(Kstep, AnIdleCpuStaysIdleBesideTwoTasks) {
    Machine m = machine(5, {}, {{CpuId{1}, CpuId{2}}, {CpuId{3}, CpuId{4}}});
    m.cpus[2].capacity = m.cpus[4].capacity = 512;
    Harness h(m);
    for (Domain &sd : h.scheduler().domains.domains)
        if (sd.name == "CLS")
            sd.flags &= ~u32{SD_PREFER_SIBLING};
        else
            for (SchedGroup *group : sd.groups)
                group->flags &= ~u32{SD_PREFER_SIBLING};
    const std::vector<Task *> tasks = start(h, {1, 3, 3, 4});
    Recorder recorder(h);
    h.ticks(50);
    h.allow(*tasks[1], "2-3");
    h.allow(*tasks[2], "2-3");
    h.ticks(250);
    recorder.compare_queues("even_idle_cpu.buggy.jsonl.gz");
    // From tick 157 on CPU 4 balances its CLS domain at other times than v6.17 did; why is not known (docs/model.md).
    recorder.compare("even_idle_cpu.buggy.jsonl.gz", 157);
}

// LB-41, LB-69: at most nr_migrate tasks are looked at in a pass, whatever the length of the queue; nothing can move
// (LBF_ALL_PINNED), so the interval doubles.
TEST(Kstep, APassLooksAtNoMoreThan32Tasks) {
    Harness h(machine(3), false);
    Task &parent = h.create();
    h.allow(parent, "1");
    h.wake(parent);
    for (int i = 0; i < 20000; i++)
        h.fork(parent);
    ASSERT_EQ(h.rq(1).nr_running, 20001U);

    std::vector<Json> recorded;
    for (const std::string &line : lines("long_balance.fixed.jsonl.gz"))
        recorded.push_back(Json::parse(line));
    BalanceTrace trace;
    h.scheduler().balance_trace = &trace;
    std::size_t longest = 0;
    for (int i = 0; i < 2000; i++) {
        h.tick();
        for (const BalanceTrace::Pass &pass : trace.passes)
            for (const BalanceTrace::Round &round : pass.rounds)
                for (const BalanceTrace::Detach &detach : round.detach)
                    longest = std::max(longest, detach.events.size());
        trace.passes.clear();
    }
    EXPECT_EQ(longest, 32U);
    std::vector<Json> softirqs;
    for (const Harness::Softirq &softirq : h.softirqs())
        softirqs.push_back({{"timestamp", softirq.timestamp}, {"cpu", softirq.cpu.value}});
    for (Json &line : recorded) {
        line.erase("type");
        line.erase("lat_us"); // real time
    }
    EXPECT_EQ(softirqs, recorded);
}

} // namespace
} // namespace fairground::kstep
