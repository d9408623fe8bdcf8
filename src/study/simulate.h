// SPDX-License-Identifier: GPL-2.0-only
//
// One run: a kernel on the study's machine, the load's programs on it, and what they measured.
#pragma once

#include "machine/machine.h"
#include "study/runner.h"

namespace fairground {

// The study and the machine must outlive the function returned. Throws InputError at once if a workload's kind or
// option is wrong, so that a mistake in the last load does not cost the runs before it.
RunFunction simulation(const Study &study, const Machine &machine);

} // namespace fairground
