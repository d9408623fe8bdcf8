// SPDX-License-Identifier: GPL-2.0-only
//
// Machine: the hardware as the scheduler and the simulated kernel see it. Nothing here asks the host; the
// readers (reader.h) make one from a file, a short text or the running machine.
//
// CPU numbers are the kernel's. `cpus` is indexed by them and may have holes (present = false). Nodes are dense
// positions 0..n-1 in ascending order of the firmware's node number, which `Node::os_index` keeps (sparse node
// numbers occur). Masks of an online CPU and of nodes hold online CPUs only, as the kernel's; those of an offline CPU
// hold just itself, but for `llc`, which may tell with whom it shared one before.
#pragma once

#include "base/cpu_mask.h"
#include "base/types.h"
#include "machine/costs.h"

#include <string>
#include <vector>

namespace fairground {

enum class Arch : u8 { x86, arm64, power, other };

struct Cpu {
    bool present = false;
    bool online = false;
    NodeId node;     // none only while a reader is at work
    int package = 0; // firmware ids, only compared
    int die = -1;
    int core = 0;         // unique within the package
    int cluster = -1;     // arm64 cluster id; -1: unknown
    int capacity = 1024;  // arch_scale_cpu_capacity: 1024 = the biggest CPU of the machine
    CpuMask smt;          // hardware threads of the core (cpu_sibling_map)
    CpuMask l2;           // CPUs sharing the L2 (cpu_l2c_shared_map; x86 CLS level). Just smt where unknown.
    CpuMask llc;          // CPUs sharing the last-level cache, not cut at node borders
    CpuMask package_mask; // CPUs of the package (core_sibling)
};

struct Node {
    int os_index = 0;
    CpuMask cpus; // may be empty (memory only)
};

struct Machine {
    std::string name;   // file stem or the name given in TOML
    std::string source; // how it was read: "hwloc xml", "sysfs", "numactl -H", ...
    std::string model;  // CPU model name, may be empty
    Arch arch = Arch::other;
    std::string cpu_vendor; // x86 CPUID vendor, family and model; empty and 0 where unknown
    int cpu_family = 0;
    int cpu_model = 0;

    std::vector<Cpu> cpus;
    std::vector<Node> nodes;
    std::vector<std::vector<int>> distance; // firmware SLIT in node order, square; local 10

    // Facts that change how the kernel builds domains.
    bool amd_zen = false;      // node_reclaim_distance 32 instead of 30 (TOPO-25)
    bool snc_average = false;  // GRANITERAPIDS_X or ATOM_DARKMONT_X: inter-package distances averaged (TOPO-17)
    int split_llc = 0;         // boot option split_llc=k (TOPO-6); 0: off
    int threads_per_core = 0;  // as counted at boot; 0: as the present CPUs have (TOPO-8)
    int nodes_per_package = 0; // the same: nodes with CPUs per package, rounded up (TOPO-8, TOPO-17)
    bool asym_packing = false; // ITMT on: CLS, MC and PKG carry SD_ASYM_PACKING (TOPO-8)

    Costs costs;

    // Named counters of what the reader guessed or dropped, for the user: "no L2 given, SMT siblings used".
    std::vector<std::string> notes;

    [[nodiscard]] CpuMask online() const {
        CpuMask mask;
        for (std::size_t cpu = 0; cpu < cpus.size(); cpu++)
            if (cpus[cpu].present && cpus[cpu].online)
                mask.set(CpuId{static_cast<s64>(cpu)});
        return mask;
    }
    // CPUs that counted when the kernel last scaled its tunables (EEVDF-6): a CPU that goes offline still counts
    // itself.
    [[nodiscard]] int scaling_cpus() const {
        const int online_cpus = online().weight();
        return present().weight() > online_cpus ? online_cpus + 1 : online_cpus;
    }
    // CPUs that counted when the kernel last computed the upper limit of balance intervals (LB-9): a booting CPU does
    // so before it is online itself, a CPU that goes offline does so afterwards.
    [[nodiscard]] int interval_cpus() const {
        const int online_cpus = online().weight();
        return present().weight() > online_cpus || online_cpus <= 1 ? online_cpus : online_cpus - 1;
    }
    [[nodiscard]] CpuMask present() const {
        CpuMask mask;
        for (std::size_t cpu = 0; cpu < cpus.size(); cpu++)
            if (cpus[cpu].present)
                mask.set(CpuId{static_cast<s64>(cpu)});
        return mask;
    }
};

// How far apart two online CPUs are. SMT siblings; then CPUs of one L2 or one Arm cluster; of one LLC; of one node and
// package; `package`: another node of the package, or another package in the node; `remote`: neither in common.
Nearness nearness(const Machine &machine, CpuId a, CpuId b);

// The costs a machine has unless its file sets them: a function of the architecture, the CPU model and the distances.
Costs default_costs(Arch arch, const Machine &machine);

} // namespace fairground
