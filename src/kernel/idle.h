// SPDX-License-Identifier: GPL-2.0-only
//
// Which idle state a CPU enters and whether it stops its tick. Simple relative of the kernel's menu governor, and as
// deterministic: the predicted idle time is the smaller of the time to the CPU's next timer and the typical length
// of its last idle periods (their mean, without the longest one if that is over three times the mean). The deepest
// state whose target residency fits is taken.
#pragma once

#include "machine/costs.h"

#include <array>
#include <span>

namespace fairground::kernel {

class IdleGovernor {
  public:
    void record(u64 idle_ns) {
        recent_[next_] = idle_ns;
        next_ = (next_ + 1) % periods;
        if (count_ < periods)
            count_++;
    }
    // `timer`: ns to the next timer of the CPU, ~0 without one. Nothing is learnt from fewer than four periods.
    [[nodiscard]] u64 predict(u64 timer) const;

  private:
    static constexpr u32 periods = 8;

    std::array<u64, periods> recent_{};
    u32 next_ = 0;
    u32 count_ = 0;
};

// Index of the state for a predicted idle time; -1 if the machine has none. States are in order of depth.
int choose_idle_state(std::span<const IdleState> states, u64 predicted_ns);

} // namespace fairground::kernel
