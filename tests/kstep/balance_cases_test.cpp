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
    void compare(const std::string &file) {
        std::vector<Json> recorded;
        for (const std::string &line : lines(file))
            recorded.push_back(Json::parse(line));
        take_passes();
        int shown = 0;
        for (std::size_t i = 0; i < std::min(recorded.size(), lines_.size()) && shown < 10; i++) {
            if (lines_[i] == recorded[i])
                continue;
            ADD_FAILURE() << "line " << i + 1 << ": " << lines_[i] << "\n  expected " << recorded[i];
            shown++;
        }
        EXPECT_EQ(lines_.size(), recorded.size());
    }

  private:
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
TEST(Kstep, OnlyOneCpuOfAGroupBalances) {
    Harness h(machine(5, {{CpuId{1}, CpuId{2}}, {CpuId{3}, CpuId{4}}}));
    const std::vector<Task *> tasks = start(h, {1, 3, 3, 3, 4});
    Recorder recorder(h);
    h.ticks(500);
    for (std::size_t i = 1; i <= 3; i++)
        h.allow(*tasks[i], "1-3");
    h.ticks(500);
    recorder.compare("extra_balance.fixed.jsonl.gz");
}

// LB-57, LB-61: with equal numbers of idle CPUs the imbalance of 1 is halved to 0, so CPU 2 stays idle next to two
// tasks on CPU 3. Plain v6.17 does that, and so must a faithful model.
TEST(Kstep, AnIdleCpuStaysIdleBesideTwoTasks) {
    Machine m = machine(5, {}, {{CpuId{1}, CpuId{2}}, {CpuId{3}, CpuId{4}}});
    m.cpus[2].capacity = m.cpus[4].capacity = 512;
    Harness h(m);
    const std::vector<Task *> tasks = start(h, {1, 3, 3, 4});
    Recorder recorder(h);
    h.ticks(50);
    h.allow(*tasks[1], "2-3");
    h.allow(*tasks[2], "2-3");
    h.ticks(250);
    recorder.compare("even_idle_cpu.buggy.jsonl.gz");
}

// LB-41, LB-69: at most nr_migrate tasks are looked at in a pass, whatever the length of the queue; nothing can move
// (LBF_ALL_PINNED), so the interval doubles.
TEST(Kstep, APassLooksAtNoMoreThan32Tasks) {
    Harness h(machine(3));
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
    std::vector<u64> passes_of_cpu2;
    std::size_t longest = 0;
    for (int i = 0; i < 2000; i++) {
        h.tick();
        for (const BalanceTrace::Pass &pass : trace.passes) {
            if (pass.this_cpu == CpuId{2} && passes_of_cpu2.size() < 1000)
                passes_of_cpu2.push_back(h.timestamp());
            for (const BalanceTrace::Round &round : pass.rounds)
                for (const BalanceTrace::Detach &detach : round.detach)
                    longest = std::max(longest, detach.events.size());
        }
        trace.passes.clear();
    }
    EXPECT_EQ(longest, 32U);
    std::vector<u64> expected;
    for (const Json &line : recorded)
        if (line["cpu"] == 2)
            expected.push_back(line["timestamp"].get<u64>());
    EXPECT_EQ(passes_of_cpu2, expected);
}

} // namespace
} // namespace fairground::kstep
