// SPDX-License-Identifier: GPL-2.0-only
//
// Domain dumps: the JSON files in which a running kernel's view of its hardware (`input`) and the scheduling
// domains it built were recorded. Only the hardware is read here; tests/data/domains/README.md describes the rest.
#pragma once

#include "machine/machine.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace fairground {

// The machine of a dump. `name` is given by the caller (file stem). Throws InputError if there is no usable `input`
// block. A dump tells nothing about offline CPUs; they are placed as the recorded topology request (`spec`)
// numbers them where it is there, since a kernel booted with them (TOPO-53).
Machine read_oracle_dump(const nlohmann::json &dump, const std::string &name);

} // namespace fairground
