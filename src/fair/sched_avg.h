// SPDX-License-Identifier: GPL-2.0-only
//
// One set of PELT averages (struct sched_avg). Rules: spec/pelt.md; arithmetic in pelt.h.
#pragma once

#include "base/types.h"

namespace fairground::fair {

struct SchedAvg {
    u64 last_update_time = 0; // ns of the queue's PELT clock; 0: not attached
    u64 load_sum = 0;
    u64 runnable_sum = 0;
    u32 util_sum = 0;
    u32 period_contrib = 0;
    u64 load_avg = 0;
    u64 runnable_avg = 0;
    u64 util_avg = 0;
    u32 util_est = 0; // tasks: bit 31 is the UNCHANGED mark (PELT-70); root queue: a sum
};

} // namespace fairground::fair
