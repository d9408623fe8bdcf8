// SPDX-License-Identifier: GPL-2.0-only
//
// What a balance pass saw and did, step by step, for whoever wants to explain or check it. Set
// Scheduler::balance_trace to record; each pass appends itself. Recording allocates, so it is off in normal runs.
#pragma once

#include "fair/decision.h"
#include "fair/group_class.h"

#include <string_view>
#include <vector>

namespace fairground::fair {

enum class MigrationType : u8 { load = 0, util = 1, task = 2, misfit = 3, llc_task = 4 };
// Which queues may be a source (LB-65).
enum class FbqType : u8 { regular = 0, remote = 1, all = 2 };
// What happened to a task that a pass looked at (LB-68..73).
enum class DetachOutcome : u8 {
    moved,
    amount, // too much load or utilisation for the imbalance, LB_MIN, or not a misfit (LB-70)
    delayed,
    throttled,
    ineligible,
    per_cpu_kthread,
    affinity,
    running,
    locality,
    llc,
    hot,
};

std::string_view migration_type_name(MigrationType type); // "migrate_load", ...
std::string_view fbq_type_name(FbqType type);
std::string_view detach_outcome_name(DetachOutcome outcome);

struct BalanceTrace {
    struct Event {
        TaskId task;
        DetachOutcome outcome{};
    };
    // One call of detach_tasks.
    struct Detach {
        CpuId dst_cpu;
        s64 imbalance_before = 0;
        s64 imbalance_after = 0;
        u32 flags = 0; // LBF_* afterwards
        int detached = 0;
        std::vector<Event> events;
    };
    // One search for a source; a pass has several when all tasks of a source were pinned (LB-41 e).
    struct Round {
        CpuId dst_cpu;
        CpuMask cpus;
        std::vector<GroupStats> groups; // in list order of the domain
        int local = -1;                 // positions in that list
        int busiest = -1;               // the best candidate, before the question whether there is an imbalance
        u64 total_load = 0;
        u64 total_capacity = 0;
        bool prefer_sibling = false;
        FbqType fbq = FbqType::all;
        bool calculated = false; // calculate_imbalance ran
        s64 imbalance = 0;
        int group = -1; // the group returned
        MigrationType type = MigrationType::load;
        Rule rule; // that ended the search
        CpuId src_cpu;
        std::vector<Detach> detach;
    };
    struct Pass {
        CpuId this_cpu;
        const Domain *domain = nullptr;
        std::vector<bool> turn; // should_we_balance, one answer per round
        std::vector<Round> rounds;
        bool asked_active = false;
        bool need_active = false;
        Rule active_rule;
        bool push_queued = false;
        CpuId push_src;
    };
    struct Push {
        CpuId src_cpu;
        CpuId dst_cpu;
        std::vector<Event> events;
    };

    std::vector<Pass> passes;
    std::vector<Push> pushes;
};

} // namespace fairground::fair
