// SPDX-License-Identifier: GPL-2.0-only
//
// Tunables by name, for study files and `fairground features`.
#pragma once

#include "fair/features.h"

#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace fairground {

struct TunableRow {
    std::string_view name; // times end in _ns
    std::variant<u32 fair::Tunables::*, u64 fair::Tunables::*, bool fair::Tunables::*> member;
    s64 low; // smallest and largest value allowed; flags: 0 and 1
    s64 high;
    std::string_view rules; // ids in spec/
    std::string_view text;
};

std::span<const TunableRow> tunable_table();

// The row of that name. Throws InputError for an unknown name, naming the nearest one.
const TunableRow &find_tunable(std::string_view name);

// Precondition: row.low <= value <= row.high.
void set_tunable(fair::Tunables &tunables, const TunableRow &row, s64 value);
s64 get_tunable(const fair::Tunables &tunables, const TunableRow &row);
inline bool is_flag(const TunableRow &row) { return std::holds_alternative<bool fair::Tunables::*>(row.member); }

} // namespace fairground
