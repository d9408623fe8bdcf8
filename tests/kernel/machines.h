// SPDX-License-Identifier: GPL-2.0-only
//
// Small machines with round costs, so that tests can work out times by hand.
#pragma once

#include "machine/machine.h"

namespace fairground::kernel {

// `nodes` nodes of `cores` cores with `threads` threads each; one LLC and one package per node; remote distance 20.
inline Machine grid(int nodes, int cores, int threads = 1) {
    Machine machine;
    machine.name = "grid";
    machine.arch = Arch::x86;
    const int per_node = cores * threads;
    machine.cpus.resize(static_cast<std::size_t>(nodes * per_node));
    for (int node = 0; node < nodes; node++) {
        Node &n = machine.nodes.emplace_back();
        n.os_index = node;
        n.cpus = CpuMask::range(node * per_node, (node + 1) * per_node - 1);
        for (int i = 0; i < per_node; i++) {
            Cpu &cpu = machine.cpus[static_cast<std::size_t>(node * per_node + i)];
            cpu.present = cpu.online = true;
            cpu.node = NodeId{node};
            cpu.package = node;
            cpu.core = i / threads;
            const int first = node * per_node + i / threads * threads;
            cpu.smt = cpu.l2 = CpuMask::range(first, first + threads - 1);
            cpu.llc = cpu.package_mask = n.cpus;
        }
        machine.distance.emplace_back(static_cast<std::size_t>(nodes), 20);
        machine.distance.back()[static_cast<std::size_t>(node)] = 10;
    }
    Costs &costs = machine.costs;
    costs.context_switch_ns = 1000;
    costs.syscall_ns = 100;
    costs.wakeup_local_ns = 500;
    costs.wakeup_remote_ns = 700;
    costs.migration_ns = 1000;
    costs.tick_ns = 1000;
    costs.balance_pass_ns = 2000;
    costs.balance_per_cpu_ns = 100;
    costs.ipi_ns = {100, 500, 500, 1000, 2000, 3000, 4000};
    costs.copy_mb_per_s = {5000, 2500, 2500, 2000, 2000, 1000, 500};
    costs.refill_mb_per_s = {0, 10000, 10000, 10000, 8000, 5000, 4000};
    costs.idle_states = {{"C1", 1000, 2000}, {"C6", 100000, 600000}};
    return machine;
}

} // namespace fairground::kernel
