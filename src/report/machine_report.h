// SPDX-License-Identifier: GPL-2.0-only
//
// A machine for people and for programs (`fairground machine show`): nodes, caches, distances, what the reader guessed.
#pragma once

#include "machine/machine.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace fairground {

// Keys `name`, `source`, `arch`, `model`, `notes` and `input`; `input` has the form of the domain dumps of a real
// kernel.
nlohmann::ordered_json machine_json(const Machine &machine);

std::string machine_text(const Machine &machine);

} // namespace fairground
