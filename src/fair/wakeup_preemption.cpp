// SPDX-License-Identifier: GPL-2.0-only
#include "fair/wakeup_preemption.h"
