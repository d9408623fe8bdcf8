// SPDX-License-Identifier: GPL-2.0-only
#include "base/random.h"

#include <array>
#include <bit>

namespace fairground {

RandomStream::RandomStream(u64 seed, std::string_view name, u64 index) : state_(seed) {
    // Each part goes through the output function once, so that close keys give distant states (FNV-1a for the name).
    u64 hash = 0xcbf29ce484222325;
    for (const char c : name)
        hash = (hash ^ static_cast<u8>(c)) * 0x100000001b3;
    state_ = next() ^ hash;
    state_ = next() ^ index;
    state_ = next();
}

namespace {

// -ln(x / 2^32) * 2^32 for 0 < x <= 2^32, by the shift-and-add method: x is raised to [2^31, 2^32] by
// doublings, then multiplied by factors 1 + 2^-k. Integer only, so every machine gets the same bits.
constexpr std::array<u64, 17> ln_one_plus = {
    // ln(1 + 2^-k) * 2^32, k = 1..17
    1741459379, 958394255, 505874286, 260380768, 132163268, 66589974, 33424039, 16744533, 8380427,
    4192257,    2096640,   1048448,   524256,    262136,    131070,   65536,    32768};
constexpr u64 ln_two = 2977044472;

u64 negative_log(u64 x) {
    const int shift = 32 - (63 - std::countl_zero(x));
    u64 value = x << shift; // in [2^32, 2^33)
    u64 log = static_cast<u64>(shift) * ln_two;
    // Now value / 2^32 is in [1, 2): bring it up to 2 by known factors, ln 2 - their sum is its logarithm.
    u64 up = 0;
    for (u32 k = 1; k <= ln_one_plus.size();) {
        const u64 candidate = value + (value >> k);
        if (candidate <= (u64{1} << 33)) {
            value = candidate;
            up += ln_one_plus[k - 1];
        } else {
            k++;
        }
    }
    const u64 ln_value = ln_two > up ? ln_two - up : 0;
    return log > ln_value ? log - ln_value : 0;
}

} // namespace

u64 RandomStream::exponential(u64 mean) {
    const u64 uniform = (next() >> 32) + 1; // 1 .. 2^32
    return static_cast<u64>((static_cast<u128>(negative_log(uniform)) * mean) >> 32);
}

} // namespace fairground
