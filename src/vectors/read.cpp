// SPDX-License-Identifier: GPL-2.0-only
#include "vectors/read.h"

#include "base/error.h"
#include "fair/domains.h"

#include <algorithm>
#include <array>

namespace fairground::vectors {

using namespace fair;

CpuMask mask_of(const Json &list) {
    const auto mask = parse_list(list.get_ref<const std::string &>());
    if (!mask)
        throw InputError(list.dump() + " is not a CPU list, expected one such as 0-3,8");
    return *mask;
}

namespace {

struct FlagName {
    std::string_view name;
    u32 bit;
};
constexpr std::array flag_table = {
    FlagName{"BALANCE_NEWIDLE", SD_BALANCE_NEWIDLE},
    FlagName{"BALANCE_EXEC", SD_BALANCE_EXEC},
    FlagName{"BALANCE_FORK", SD_BALANCE_FORK},
    FlagName{"BALANCE_WAKE", SD_BALANCE_WAKE},
    FlagName{"WAKE_AFFINE", SD_WAKE_AFFINE},
    FlagName{"ASYM_CPUCAPACITY", SD_ASYM_CPUCAPACITY},
    FlagName{"ASYM_CPUCAPACITY_FULL", SD_ASYM_CPUCAPACITY_FULL},
    FlagName{"SHARE_CPUCAPACITY", SD_SHARE_CPUCAPACITY},
    FlagName{"CLUSTER", SD_CLUSTER},
    FlagName{"SHARE_LLC", SD_SHARE_LLC},
    FlagName{"SERIALIZE", SD_SERIALIZE},
    FlagName{"ASYM_PACKING", SD_ASYM_PACKING},
    FlagName{"PREFER_SIBLING", SD_PREFER_SIBLING},
    FlagName{"NUMA", SD_NUMA},
};

} // namespace

u32 flags_of(const Json &flag_names) {
    u32 flags = 0;
    for (const Json &name : flag_names) {
        const auto *row = std::ranges::find(flag_table, name.get_ref<const std::string &>(), &FlagName::name);
        if (row == flag_table.end())
            throw InputError("unknown domain flag " + name.dump());
        flags |= row->bit;
    }
    return flags;
}

} // namespace fairground::vectors
