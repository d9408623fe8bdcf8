// SPDX-License-Identifier: GPL-2.0-only
//
// Content hashes: two results with the same hashes and the same program version were computed from the same input.
#pragma once

#include "machine/machine.h"

#include <string>
#include <string_view>

namespace fairground {

// SHA-256 of the bytes, 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

// Of everything in a machine that a run can depend on: not its name, its source or the reader's notes.
std::string fingerprint(const Machine &machine);

} // namespace fairground
