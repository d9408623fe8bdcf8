// SPDX-License-Identifier: GPL-2.0-only
//
// Random streams. A stream is a function of (seed, name, index), so two variants of one study draw the same
// numbers for the same task whatever else happens between the draws. The generator is splitmix64: its whole
// state is one word, and streams with different keys are independent for our purposes.
//
// Distributions are computed with integers and fixed tables or with operations that IEEE 754 rounds exactly;
// nothing depends on the standard library's distributions, which differ between implementations.
#pragma once

#include "base/types.h"

#include <string_view>

namespace fairground {

class RandomStream {
  public:
    explicit RandomStream(u64 state = 0) : state_(state) {}
    RandomStream(u64 seed, std::string_view name, u64 index = 0);

    u64 next() {
        state_ += 0x9e3779b97f4a7c15;
        u64 z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    // Uniform in [0, bound); bound > 0. Multiplication method: the bias is below bound / 2^64.
    u64 below(u64 bound) { return static_cast<u64>((static_cast<u128>(next()) * bound) >> 64); }
    // Uniform in [low, high].
    u64 between(u64 low, u64 high) { return low + below(high - low + 1); }
    // Exponentially distributed with the given mean, in the mean's unit, truncated to an integer.
    u64 exponential(u64 mean);

  private:
    u64 state_;
};

} // namespace fairground
