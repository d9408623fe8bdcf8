// SPDX-License-Identifier: GPL-2.0-only
//
// Scheduling domains for people and for programs (`fairground machine show`).
#pragma once

#include "fair/domains.h"
#include "machine/machine.h"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace fairground {

// `cpus` and `globals` with the names and the notation of the domain dumps of a real kernel (tests/data/domains), so
// that the two can be compared key by key. Online CPUs only, lowest domain first, groups in list order.
nlohmann::ordered_json domains_json(const Machine &machine, const fair::DomainTree &tree);

// One block per set of CPUs with the same chain, or only the block of `cpu`. Throws InputError if `cpu` is not online.
std::string domains_text(const Machine &machine, const fair::DomainTree &tree, std::optional<CpuId> cpu);

} // namespace fairground
