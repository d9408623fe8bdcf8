// SPDX-License-Identifier: GPL-2.0-only
//
// Decisions: what the scheduler chose and the rule that made the choice. The model writes them only while
// somebody listens (Scheduler::decisions is set); the test for that is one pointer comparison.
#pragma once

#include "base/types.h"

#include <string_view>
#include <vector>

namespace fairground::fair {

// The id of a rule of spec/, e.g. "WAKE-62". Always a string literal, so that one grep walks from a printed
// explanation to the rule, the code and the test; a Rule is as cheap as a pointer.
struct Rule {
    const char *id = "";

    constexpr Rule() = default;
    constexpr Rule(const char *literal) : id(literal) {} // NOLINT(google-explicit-constructor): a literal is a rule
    [[nodiscard]] constexpr std::string_view name() const { return id; }
    friend bool operator==(Rule a, Rule b) { return a.name() == b.name(); }
};

enum class DecisionKind : u8 {
    place,     // select_task_rq: chosen = CPU for `task`
    affine,    // wake_affine: chosen = CPU the search starts at
    preempt,   // wakeup_preempt: chosen = 1 preempt, 0 not
    pick,      // pick_next_task: chosen = task
    turn,      // should_we_balance: chosen = 1 or 0
    busiest,   // sched_balance_find_src_group: chosen = first CPU of the group or -1; amount = imbalance
    pull,      // detach_tasks moved `task`: chosen = destination CPU, from = source CPU
    push,      // active balance queued: chosen = destination CPU, from = source CPU
    dst_group, // sched_balance_find_dst_group: chosen = first CPU of the group or -1 (stay)
};

struct Decision {
    Time time = 0;
    DecisionKind kind{};
    CpuId cpu;   // where the decision was made
    TaskId task; // whom it is about; none for balance decisions
    CpuId from;  // previous or source CPU, none if there is none
    s64 chosen = -1;
    s64 amount = 0;
    Rule rule;

    friend bool operator==(const Decision &, const Decision &) = default;
};

using DecisionLog = std::vector<Decision>;

} // namespace fairground::fair
