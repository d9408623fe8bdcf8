// SPDX-License-Identifier: GPL-2.0-only
//
// The topology table: which CPUs belong together at each level, before any partition cuts it. Rules: spec/topology.md
// sections 1 and 2.
#pragma once

#include "fair/numa_levels.h"

#include <deque>

namespace fairground::fair {

// Distinct CPU masks, numbered in order of appearance. References stay valid.
class SpanSet {
  public:
    int add(const CpuMask &span);
    [[nodiscard]] const CpuMask &operator[](int number) const { return spans_[static_cast<std::size_t>(number)]; }
    [[nodiscard]] int size() const { return static_cast<int>(spans_.size()); }

  private:
    std::deque<CpuMask> spans_;
    std::vector<int> next_;     // chain of spans with the same first CPU, -1 ends it
    std::vector<int> by_first_; // by first CPU + 1
};

struct TopologyLevel {
    const char *name = "";
    u32 flags = 0;
    int distance = 0; // D[k] of a NUMA level
    SpanSet masks;
    std::vector<int> mask_of; // by CPU number; -1: not online
};

// What the firmware told at boot about all present CPUs.
struct BootFacts {
    int packages = 0;
    int threads_per_core = 1;
    int nodes_per_package = 1;
};
BootFacts boot_facts(const Machine &machine);

// Node of a CPU, 0 where the machine has no nodes; CPUs of `population` in each node, at least one entry.
std::size_t node_of(const Machine &machine, CpuId cpu);
std::vector<CpuMask> node_cpus(const Machine &machine, const CpuMask &population);

// cpu_coregroup_mask (llc_mask) within `population` (TOPO-6, TOPO-10).
class SiblingMasks {
  public:
    SiblingMasks(const Machine &machine, const CpuMask &population);
    [[nodiscard]] CpuMask smt(CpuId cpu) const;
    [[nodiscard]] CpuMask cluster_group(CpuId cpu) const;
    [[nodiscard]] CpuMask core_group(CpuId cpu) const;
    [[nodiscard]] const CpuMask &node(CpuId cpu) const { return nodes_[node_of(machine_, cpu)]; }

  private:
    [[nodiscard]] CpuMask cut(const CpuMask &mask, CpuId cpu) const;

    const Machine &machine_;
    CpuMask population_;
    std::vector<CpuMask> nodes_;
    std::deque<CpuMask> clusters_;
    std::vector<const CpuMask *> cluster_of_; // by CPU; null: no cluster id
};

std::vector<TopologyLevel> topology_levels(const Machine &machine, const CpuMask &online, const NumaLevels &numa);

} // namespace fairground::fair
