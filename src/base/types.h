// SPDX-License-Identifier: GPL-2.0-only
//
// Integer widths and typed ids that every floor uses.
//
// An Id converts to its number (to index an array, to print) but is never made from one silently, so a task
// number cannot pass for a CPU number. A default Id means "none" and is negative.
#pragma once

#include <cstdint>

namespace fairground {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
__extension__ using u128 = unsigned __int128;
__extension__ using s128 = __int128;

template <class Tag> struct Id {
    s32 value = -1;

    constexpr Id() = default;
    constexpr explicit Id(s64 number) : value(static_cast<s32>(number)) {}
    constexpr operator s32() const { return value; } // NOLINT(google-explicit-constructor): an index
    [[nodiscard]] constexpr bool valid() const { return value >= 0; }
};

using CpuId = Id<struct CpuTag>;
using NodeId = Id<struct NodeTag>; // position in Machine::nodes, not the firmware's number
using TaskId = Id<struct TaskTag>;
using GroupId = Id<struct GroupTag>; // task group (cgroup)

inline constexpr CpuId no_cpu{};

// Simulated time, ns since the start of the run.
using Time = u64;

inline constexpr u64 ns_per_us = 1000;
inline constexpr u64 ns_per_ms = 1000000;
inline constexpr u64 ns_per_s = 1000000000;

} // namespace fairground
