// SPDX-License-Identifier: GPL-2.0-only
//
// Costs of switching, waking and moving data on a machine. Every figure has a row of docs/costs.md as its
// source; all can be set in a machine file. The scheduler never reads them: it
// sees firmware distances, the work feels these.
#pragma once

#include "base/types.h"

#include <array>
#include <string>
#include <vector>

namespace fairground {

// How far two CPUs are apart for the hardware, nearest first.
enum class Nearness : u8 { same_cpu, smt, l2, llc, node, package, remote };
inline constexpr std::size_t nearness_count = 7;

struct IdleState {
    std::string name;
    u64 exit_latency_ns = 0;
    u64 target_residency_ns = 0;
};

struct Costs {
    u64 context_switch_ns = 1200;
    u64 syscall_ns = 300;
    u64 wakeup_local_ns = 600;  // waker's cost of an enqueue on its own CPU
    u64 wakeup_remote_ns = 900; // waker's cost of a wake on another CPU
    u64 migration_ns = 1200;    // fixed cost of moving a task, before any cache refill
    u64 page_alloc_ns = 250;    // one page for kernel data: allocated, accounted and freed again
    u64 tick_ns = 1000;         // timer interrupt with nothing else to do
    u64 balance_pass_ns = 2000; // one balance pass, plus:
    u64 balance_per_cpu_ns = 100;

    std::array<u64, nearness_count> ipi_ns{};          // send to handler start
    std::array<u64, nearness_count> copy_mb_per_s{};   // pipe copy between two CPUs at that distance
    std::array<u64, nearness_count> refill_mb_per_s{}; // filling caches after a migration over that distance
    std::vector<u64> memory_ratio_permille;            // measured slow-down by node pair, row-major; empty: by nearness
    std::vector<IdleState> idle_states;
    bool idle_polls = false; // idle CPUs poll need_resched (x86 MWAIT): no IPI needed (WAKE-29)
};

} // namespace fairground
