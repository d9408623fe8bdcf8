// SPDX-License-Identifier: GPL-2.0-only
//
// CpuMask: a set of CPU numbers, as the kernel's cpumask. No allocation; work is proportional to the highest
// member ever set, so masks of small machines stay cheap although the type reaches max_cpus.
//
// Iteration is in ascending order: `for (CpuId cpu : mask)`. `wrap(mask, start)` visits members >= start first,
// then the rest (for_each_cpu_wrap in the kernel; WAKE-7).
#pragma once

#include "base/types.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <string_view>

namespace fairground {

inline constexpr int max_cpus = 4096;

class CpuMask {
  public:
    CpuMask() = default;
    CpuMask(const CpuMask &other) { copy(other); }
    CpuMask &operator=(const CpuMask &other) {
        if (this != &other)
            copy(other);
        return *this;
    }
    ~CpuMask() = default;

    static CpuMask of(CpuId cpu) {
        CpuMask mask;
        mask.set(cpu);
        return mask;
    }
    // CPUs first .. last, both included; empty when last < first.
    static CpuMask range(int first, int last);

    // Precondition of set: 0 <= cpu < max_cpus. clear and test accept any number.
    void set(CpuId cpu) {
        const auto word = static_cast<u32>(cpu.value) / 64;
        while (words_ <= word)
            bits_[words_++] = 0;
        bits_[word] |= u64{1} << (static_cast<u32>(cpu.value) % 64);
    }
    void clear(CpuId cpu) {
        const auto word = static_cast<u32>(cpu.value) / 64;
        if (word < words_)
            bits_[word] &= ~(u64{1} << (static_cast<u32>(cpu.value) % 64));
    }
    [[nodiscard]] bool test(CpuId cpu) const {
        const auto word = static_cast<u32>(cpu.value) / 64;
        return word < words_ && ((bits_[word] >> (static_cast<u32>(cpu.value) % 64)) & 1) != 0;
    }

    [[nodiscard]] bool empty() const {
        for (u32 i = 0; i < words_; i++)
            if (bits_[i] != 0)
                return false;
        return true;
    }
    [[nodiscard]] int weight() const {
        int sum = 0;
        for (u32 i = 0; i < words_; i++)
            sum += std::popcount(bits_[i]);
        return sum;
    }
    [[nodiscard]] CpuId first() const { return next(0); }
    [[nodiscard]] CpuId last() const;
    // Lowest member >= from, or none.
    [[nodiscard]] CpuId next(int from) const {
        auto word = static_cast<u32>(from) / 64;
        if (word >= words_)
            return {};
        u64 bits = bits_[word] & (~u64{0} << (static_cast<u32>(from) % 64));
        while (bits == 0) {
            if (++word >= words_)
                return {};
            bits = bits_[word];
        }
        return CpuId{static_cast<s64>(word) * 64 + std::countr_zero(bits)};
    }

    CpuMask &operator&=(const CpuMask &other) {
        words_ = std::min(words_, other.words_);
        for (u32 i = 0; i < words_; i++)
            bits_[i] &= other.bits_[i];
        return *this;
    }
    CpuMask &operator|=(const CpuMask &other) {
        while (words_ < other.words_)
            bits_[words_++] = 0;
        for (u32 i = 0; i < other.words_; i++)
            bits_[i] |= other.bits_[i];
        return *this;
    }
    // Set difference.
    CpuMask &operator-=(const CpuMask &other) {
        const u32 n = std::min(words_, other.words_);
        for (u32 i = 0; i < n; i++)
            bits_[i] &= ~other.bits_[i];
        return *this;
    }
    friend CpuMask operator&(CpuMask a, const CpuMask &b) { return a &= b; }
    friend CpuMask operator|(CpuMask a, const CpuMask &b) { return a |= b; }
    friend CpuMask operator-(CpuMask a, const CpuMask &b) { return a -= b; }

    friend bool operator==(const CpuMask &a, const CpuMask &b);
    [[nodiscard]] bool intersects(const CpuMask &other) const {
        const u32 n = std::min(words_, other.words_);
        for (u32 i = 0; i < n; i++)
            if ((bits_[i] & other.bits_[i]) != 0)
                return true;
        return false;
    }
    [[nodiscard]] bool subset_of(const CpuMask &other) const;

    class iterator {
      public:
        iterator(const CpuMask *mask, CpuId at) : mask_(mask), at_(at) {}
        CpuId operator*() const { return at_; }
        iterator &operator++() {
            at_ = mask_->next(at_ + 1);
            return *this;
        }
        friend bool operator==(const iterator &a, const iterator &b) { return a.at_.value == b.at_.value; }

      private:
        const CpuMask *mask_;
        CpuId at_;
    };
    [[nodiscard]] iterator begin() const { return {this, first()}; }
    [[nodiscard]] iterator end() const { return {this, CpuId{}}; }

  private:
    void copy(const CpuMask &other) {
        words_ = other.words_;
        std::copy_n(other.bits_.begin(), words_, bits_.begin());
    }

    u32 words_ = 0; // bits_[words_..] are unspecified and count as 0
    std::array<u64, max_cpus / 64> bits_;
};

// Calls visit(cpu) for members >= start, then for members < start, each part ascending. start may exceed the
// highest member. visit returns true to stop; the result tells whether it did.
template <class Visit> bool wrap(const CpuMask &mask, int start, Visit visit) {
    for (CpuId cpu = mask.next(start); cpu.valid(); cpu = mask.next(cpu + 1))
        if (visit(cpu))
            return true;
    for (CpuId cpu = mask.first(); cpu.valid() && cpu < start; cpu = mask.next(cpu + 1))
        if (visit(cpu))
            return true;
    return false;
}

// The kernel's list notation: "0-3,8". An empty mask is "".
std::string to_list(const CpuMask &mask);
// Reads list notation, with or without white space around it; also "0-31:2/4" strides as the kernel accepts.
// Nothing on a malformed list or a number >= max_cpus.
std::optional<CpuMask> parse_list(std::string_view text);

} // namespace fairground
