// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/distance.h"

namespace fairground::kernel {

namespace {

Nearness nearness_of(const Machine &machine, CpuId a, CpuId b) {
    const Cpu &cpu = machine.cpus[static_cast<u32>(a.value)];
    const Cpu &other = machine.cpus[static_cast<u32>(b.value)];
    if (a == b)
        return Nearness::same_cpu;
    if (cpu.smt.test(b))
        return Nearness::smt;
    if (cpu.l2.test(b))
        return Nearness::l2;
    if (cpu.llc.test(b))
        return Nearness::llc;
    if (cpu.node == other.node)
        return Nearness::node;
    return cpu.package == other.package ? Nearness::package : Nearness::remote;
}

} // namespace

Distances::Distances(const Machine &machine)
    : cpus_(machine.cpus.size()), nodes_(machine.nodes.size()), near_(cpus_ * cpus_, Nearness::remote), node_(cpus_),
      ipi_(machine.costs.ipi_ns) {
    for (const CpuId a : machine.present()) {
        const NodeId node = machine.cpus[static_cast<u32>(a.value)].node;
        node_[static_cast<u32>(a.value)] = node.valid() ? static_cast<std::size_t>(node.value) : 0;
        for (const CpuId b : machine.present())
            near_[static_cast<std::size_t>(a.value) * cpus_ + static_cast<std::size_t>(b.value)] =
                nearness_of(machine, a, b);
    }
    copy_ = make_rates(machine, machine.costs.copy_mb_per_s);
    const u64 own = copy_.near[static_cast<std::size_t>(Nearness::same_cpu)] / 2;
    for (u64 &rate : copy_.near)
        rate = rate > 2 * own ? rate - own : own;
    for (u64 &rate : copy_.node_pair)
        rate = rate > 2 * own ? rate - own : own;
    refill_ = make_rates(machine, machine.costs.refill_mb_per_s);
}

Distances::Rates Distances::make_rates(const Machine &machine, const std::array<u64, nearness_count> &mb_per_s) {
    constexpr u64 fs_per_us = 1000000000; // one byte at 1 MB/s takes 1 us
    Rates rates;
    for (std::size_t near = 0; near < nearness_count; near++)
        rates.near[near] = mb_per_s[near] == 0 ? 0 : fs_per_us / mb_per_s[near];
    const u64 within_node = rates.near[static_cast<std::size_t>(Nearness::node)];
    for (const u64 ratio : machine.costs.memory_ratio_permille)
        rates.node_pair.push_back(within_node * ratio / 1000);
    return rates;
}

} // namespace fairground::kernel
