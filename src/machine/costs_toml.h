// SPDX-License-Identifier: GPL-2.0-only
//
// The [costs] table of a machine file, and what the TOML readers of src/machine share.
#pragma once

#include "base/error.h"
#include "machine/costs.h"

#include <string>
#include <toml++/toml.h>

namespace fairground {

// "FILE: line N: what"
InputError toml_error(const std::string &label, const toml::node &node, const std::string &what);
s64 toml_integer(const std::string &label, const toml::node &node, const std::string &what, s64 low, s64 high);

// Sets those fields of `costs` that the table names. Throws InputError on unknown keys and values out of range.
void read_costs(const toml::node &node, std::size_t nodes, const std::string &label, Costs &costs);

// For a file over a base: every field that the base had set, i.e. that differs from the base's defaults, stays as it
// is; the others follow the new machine's defaults.
Costs keep_set_costs(const Costs &base, const Costs &base_defaults, const Costs &defaults);

} // namespace fairground
