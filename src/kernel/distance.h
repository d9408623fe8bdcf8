// SPDX-License-Identifier: GPL-2.0-only
//
// What distance costs on a machine: interrupts, copies and cache refills between two CPUs. The scheduler's view of
// distance (SLIT) is not used here; the work feels the measured figures of Costs.
//
// Between nodes, a machine file may give measured slow-downs by node pair (Costs::memory_ratio_permille): the cost of
// Nearness::node is then multiplied by the pair's ratio. Otherwise the figures of `package` and `remote` count.
//
// Costs::copy_mb_per_s is the bandwidth of a pipe between two CPUs, and a byte in a pipe is copied twice, one copy
// after the other (the pipe's mutex). Within a CPU each copy takes half of the time. Between CPUs the writer copies
// into its own memory, so that what is left of the time is the cost of fetching bytes over that distance.
// A rate of 0 means "costs nothing".
#pragma once

#include "machine/machine.h"

#include <vector>

namespace fairground::kernel {

class Distances {
  public:
    explicit Distances(const Machine &machine);

    [[nodiscard]] Nearness nearness(CpuId a, CpuId b) const {
        return near_[static_cast<std::size_t>(a.value) * cpus_ + static_cast<std::size_t>(b.value)];
    }
    // An interrupt from a to b: sent until its handler starts on a CPU that is awake.
    [[nodiscard]] u64 ipi_ns(CpuId a, CpuId b) const { return ipi_[static_cast<std::size_t>(nearness(a, b))]; }
    // Copying bytes on `here` that `touched` wrote or read last.
    [[nodiscard]] u64 copy_ns(CpuId touched, CpuId here, u64 bytes) const {
        return bytes * rate(copy_, touched, here) / fs_per_ns;
    }
    // Filling the caches of `here` with bytes of a working set that lies around `from`.
    [[nodiscard]] u64 refill_ns(CpuId from, CpuId here, u64 bytes) const {
        return bytes * rate(refill_, from, here) / fs_per_ns;
    }

  private:
    static constexpr u64 fs_per_ns = 1000000;

    struct Rates { // fs per byte
        std::array<u64, nearness_count> near{};
        std::vector<u64> node_pair; // row-major; empty: by nearness
    };
    [[nodiscard]] u64 rate(const Rates &rates, CpuId from, CpuId to) const {
        const Nearness near = nearness(from, to);
        if (near < Nearness::package || rates.node_pair.empty())
            return rates.near[static_cast<std::size_t>(near)];
        return rates.node_pair[node_[static_cast<u32>(from.value)] * nodes_ + node_[static_cast<u32>(to.value)]];
    }
    static Rates make_rates(const Machine &machine, const std::array<u64, nearness_count> &mb_per_s);

    std::size_t cpus_;
    std::size_t nodes_;
    std::vector<Nearness> near_; // row-major
    std::vector<std::size_t> node_;
    std::array<u64, nearness_count> ipi_;
    Rates copy_;
    Rates refill_;
};

} // namespace fairground::kernel
