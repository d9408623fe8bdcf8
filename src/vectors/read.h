// SPDX-License-Identifier: GPL-2.0-only
//
// Notations that several families of vector files share.
#pragma once

#include "base/cpu_mask.h"
#include "vectors/vectors.h"

namespace fairground::vectors {

CpuMask mask_of(const Json &list);    // "0-3,8"; throws InputError
u32 flags_of(const Json &flag_names); // ["SHARE_LLC", "NUMA", ...], without SD_; throws InputError

} // namespace fairground::vectors
