// SPDX-License-Identifier: GPL-2.0-only
//
// The hrtimers of one CPU, each with a window [soft, hard]: the interrupt is programmed for the earliest hard end,
// and when an interrupt of the CPU falls into a timer's window the timer fires early with it (WAKER-62).
//
// A timer is cancelled by raising its owner's generation; what is left of it is dropped when it comes up.
#pragma once

#include "base/types.h"

#include <algorithm>
#include <vector>

namespace fairground::kernel {

struct Timer {
    Time hard = 0;
    u64 sequence = 0; // order among equal ends
    Time soft = 0;
    TaskId task;
    u32 generation = 0;
};

class TimerHeap {
  public:
    void push(Timer timer) {
        timer.sequence = sequence_++;
        heap_.push_back(timer);
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
    [[nodiscard]] bool empty() const { return heap_.empty(); }
    [[nodiscard]] const Timer &first() const { return heap_.front(); }
    void pop() {
        std::pop_heap(heap_.begin(), heap_.end(), later);
        heap_.pop_back();
    }

  private:
    static bool later(const Timer &a, const Timer &b) {
        return a.hard != b.hard ? a.hard > b.hard : a.sequence > b.sequence;
    }

    std::vector<Timer> heap_;
    u64 sequence_ = 0;
};

} // namespace fairground::kernel
