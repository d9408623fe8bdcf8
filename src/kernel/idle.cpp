// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/idle.h"

#include <algorithm>

namespace fairground::kernel {

u64 IdleGovernor::predict(u64 timer) const {
    constexpr u64 cap = ns_per_s; // one long sleep must not overflow or drown the sum
    if (count_ < 4)
        return timer;
    u64 sum = 0;
    u64 longest = 0;
    for (u32 i = 0; i < count_; i++) {
        const u64 length = std::min(recent_[i], cap);
        sum += length;
        longest = std::max(longest, length);
    }
    u64 mean = sum / count_;
    if (longest > 3 * mean)
        mean = (sum - longest) / (count_ - 1);
    return std::min(timer, mean);
}

int choose_idle_state(std::span<const IdleState> states, u64 predicted_ns) {
    int chosen = states.empty() ? -1 : 0;
    for (std::size_t i = 1; i < states.size(); i++)
        if (states[i].target_residency_ns <= predicted_ns)
            chosen = static_cast<int>(i);
    return chosen;
}

} // namespace fairground::kernel
