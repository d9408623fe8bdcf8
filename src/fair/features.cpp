// SPDX-License-Identifier: GPL-2.0-only
#include "fair/features.h"

#include "base/error.h"
#include "base/nearest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace fairground::fair {

namespace {

constexpr std::array table = {
#define FEATURE(name, default_73, rules, text) FeatureRow{Feature::name, #name, default_73, rules, text},
#include "fair/features.def"
#undef FEATURE
};
static_assert(table.size() <= 64, "Features keeps one bit per row");

struct ShortName {
    std::string_view short_name;
    Feature feature;
};
constexpr std::array short_names = {
    ShortName{"P1", Feature::NUMA_PAIR_P1},
    ShortName{"P1_LITERAL", Feature::NUMA_PAIR_P1_LITERAL},
    ShortName{"P2", Feature::NUMA_PAIR_P2},
    ShortName{"P3", Feature::NUMA_PAIR_P3},
};

} // namespace

std::span<const FeatureRow> feature_table() { return table; }

Features::Features() {
    for (const FeatureRow &row : table)
        set(row.feature, row.default_73);
}

void Features::apply(std::string_view name) {
    const bool on = !name.starts_with("NO_");
    const std::string_view bare = on ? name : name.substr(3);
    for (const ShortName &entry : short_names)
        if (entry.short_name == bare)
            return set(entry.feature, on);
    for (const FeatureRow &row : table)
        if (row.name == bare)
            return set(row.feature, on);
    std::vector<std::string_view> known;
    for (const FeatureRow &row : table)
        known.push_back(row.name);
    for (const ShortName &entry : short_names)
        known.push_back(entry.short_name);
    throw InputError("unknown feature '" + std::string(name) + "'" + did_you_mean(bare, known));
}

void update_sched_scaling(Tunables &tunables, int online_cpus) {
    const auto cpus = static_cast<u32>(std::clamp(online_cpus, 1, 8));
    const u64 factor = static_cast<u64>(std::bit_width(cpus)); // 1 + floor(log2)
    tunables.base_slice = tunables.normalized_base_slice * factor;
}

} // namespace fairground::fair
