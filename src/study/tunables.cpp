// SPDX-License-Identifier: GPL-2.0-only
#include "study/tunables.h"

#include "base/error.h"
#include "base/nearest.h"

#include <array>
#include <vector>

namespace fairground {

namespace {

using fair::Tunables;

constexpr std::array table = {
    TunableRow{"hz", &Tunables::hz, 24, 1200, "EEVDF-9", "timer ticks a second"},
    TunableRow{"normalized_base_slice_ns", &Tunables::normalized_base_slice, 100000, 1000000000, "EEVDF-6",
               "base_slice for one CPU; scaled by 1 + log2 of the online CPUs, 8 at most"},
    TunableRow{"migration_cost_ns", &Tunables::migration_cost, 0, 1000000000, "EEVDF-9 LB-74",
               "a task that ran less long ago counts as cache hot"},
    TunableRow{"nr_migrate", &Tunables::nr_migrate, 1, 1000000, "LB-41", "tasks looked at in one balance pass"},
    TunableRow{"lazy_preempt", &Tunables::lazy_preempt, 0, 1, "EEVDF-100",
               "fair preemption waits for the tick or the return to user space (PREEMPT_LAZY)"},
    TunableRow{"group_scheduling", &Tunables::group_scheduling, 0, 1, "PELT-81", "CONFIG_FAIR_GROUP_SCHED"},
    TunableRow{"preemptible", &Tunables::preemptible, 0, 1, "LB-70",
               "CONFIG_PREEMPTION: a newly-idle pass stops after one task"},
};

} // namespace

std::span<const TunableRow> tunable_table() { return table; }

const TunableRow &find_tunable(std::string_view name) {
    for (const TunableRow &row : table)
        if (row.name == name)
            return row;
    std::vector<std::string_view> known;
    for (const TunableRow &row : table)
        known.push_back(row.name);
    throw InputError("unknown tunable '" + std::string(name) + "'" + did_you_mean(name, known));
}

void set_tunable(Tunables &tunables, const TunableRow &row, s64 value) {
    if (const auto *narrow = std::get_if<u32 Tunables::*>(&row.member))
        tunables.*(*narrow) = static_cast<u32>(value);
    else if (const auto *wide = std::get_if<u64 Tunables::*>(&row.member))
        tunables.*(*wide) = static_cast<u64>(value);
    else
        tunables.*std::get<bool Tunables::*>(row.member) = value != 0;
}

s64 get_tunable(const Tunables &tunables, const TunableRow &row) {
    return std::visit([&](auto member) { return static_cast<s64>(tunables.*member); }, row.member);
}

} // namespace fairground
