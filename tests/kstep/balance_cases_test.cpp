// SPDX-License-Identifier: GPL-2.0-only
//
// kSTEP cases about load balancing: extra_balance, even_idle_cpu, long_balance.
#include "kstep/harness.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairground::kstep {
namespace {

using namespace fair;
using Json = nlohmann::json;

// Every balance pass that got past should_we_balance, in the recording's form, and the queue lengths per tick.
class Recorder {
  public:
    Recorder(Harness &h) : h_(h) {
        h.scheduler().decisions = &decisions_;
        h.on_tick_begin = [this] {
            take_passes();
            Json line = {{"timestamp", h_.timestamp()}, {"type", "nr_running"}};
            for (int cpu = 1; cpu <= 4; cpu++)
                line["cpu" + std::to_string(cpu)] = h_.rq(cpu).nr_running;
            lines_.push_back(line);
        };
    }
    // Compares with a recording, in which a pass is printed when it looks for a source group.
    void compare(const std::string &file) {
        take_passes();
        std::vector<Json> recorded;
        for (const std::string &line : lines(file))
            recorded.push_back(Json::parse(line));
        const std::size_t n = std::min(recorded.size(), lines_.size());
        for (std::size_t i = 0; i < n; i++)
            ASSERT_EQ(lines_[i], recorded[i]) << "line " << i + 1;
        EXPECT_EQ(lines_.size(), recorded.size());
    }
    [[nodiscard]] const std::vector<Json> &all() const { return lines_; }

  private:
    void take_passes() {
        for (const Decision &decision : decisions_) {
            if (decision.kind != DecisionKind::busiest)
                continue;
            const Domain *sd = h_.rq(decision.cpu).sd.base;
            for (; sd != nullptr && sd->level != decision.from; sd = sd->parent)
                ;
            lines_.push_back({{"timestamp", h_.timestamp()},
                              {"type", "load_balance"},
                              {"dst_cpu", decision.cpu.value},
                              {"span", sd == nullptr ? "?" : to_list(sd->span)},
                              {"name", sd == nullptr ? "?" : sd->name}});
        }
        decisions_.clear();
    }

    Harness &h_;
    DecisionLog decisions_;
    std::vector<Json> lines_;
};

} // namespace
} // namespace fairground::kstep
