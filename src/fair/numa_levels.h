// SPDX-License-Identifier: GPL-2.0-only
//
// NUMA distances as the domain builder sees them (sched_init_numa). Nodes are Machine positions; a node without
// online CPUs takes no part. Rules: spec/topology.md section 2.
#pragma once

#include "fair/domains.h"

namespace fairground::fair {

struct NumaLevels {
    std::vector<std::vector<int>> firmware;  // d, square; defaults where the machine has none
    std::vector<int> levels;                 // D: distinct scheduler distances, ascending; empty: no NODE, no NUMA
    std::vector<int> firmware_levels;        // the same for d (TOPO-16)
    std::vector<std::vector<CpuMask>> masks; // [level][node]: CPUs of nodes at most D[level] away
    NumaTopology type = NumaTopology::direct;
};

// `node_cpus`: online CPUs of each node. What a kernel would log is appended to `notes`.
NumaLevels numa_levels(const Machine &machine, const std::vector<CpuMask> &node_cpus, std::vector<std::string> &notes);

} // namespace fairground::fair
