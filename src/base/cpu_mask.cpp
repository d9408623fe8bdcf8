// SPDX-License-Identifier: GPL-2.0-only
#include "base/cpu_mask.h"

#include <charconv>

namespace fairground {

CpuMask CpuMask::range(int first, int last) {
    CpuMask mask;
    for (int cpu = first; cpu <= last; cpu++)
        mask.set(CpuId{cpu});
    return mask;
}

CpuId CpuMask::last() const {
    for (u32 word = words_; word-- > 0;)
        if (bits_[word] != 0)
            return CpuId{static_cast<s64>(word) * 64 + 63 - std::countl_zero(bits_[word])};
    return {};
}

bool operator==(const CpuMask &a, const CpuMask &b) {
    const u32 n = std::min(a.words_, b.words_);
    for (u32 i = 0; i < n; i++)
        if (a.bits_[i] != b.bits_[i])
            return false;
    const CpuMask &longer = a.words_ > b.words_ ? a : b;
    for (u32 i = n; i < longer.words_; i++)
        if (longer.bits_[i] != 0)
            return false;
    return true;
}

bool CpuMask::subset_of(const CpuMask &other) const {
    for (u32 i = 0; i < words_; i++)
        if ((bits_[i] & ~(i < other.words_ ? other.bits_[i] : 0)) != 0)
            return false;
    return true;
}

std::string to_list(const CpuMask &mask) {
    std::string text;
    for (CpuId cpu = mask.first(); cpu.valid();) {
        CpuId last = cpu;
        while (mask.test(CpuId{last + 1}))
            last = CpuId{last + 1};
        if (!text.empty())
            text += ',';
        text += std::to_string(cpu.value);
        if (last != cpu)
            text += '-' + std::to_string(last.value);
        cpu = mask.next(last + 1);
    }
    return text;
}

namespace {

struct Cursor {
    std::string_view rest;

    bool eat(char c) {
        if (rest.empty() || rest.front() != c)
            return false;
        rest.remove_prefix(1);
        return true;
    }
    std::optional<int> number() {
        int value = 0;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
        if (error != std::errc{} || value < 0)
            return {};
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
        return value;
    }
};

// One range of a list: "7", "0-3" or "0-31:2/4" (of every 4 CPUs the first 2).
bool add_range(Cursor &in, CpuMask &mask) {
    const auto first = in.number();
    if (!first)
        return false;
    int last = *first;
    int used = 1;
    int stride = 1;
    if (in.eat('-')) {
        const auto end = in.number();
        if (!end || *end < *first)
            return false;
        last = *end;
        if (in.eat(':')) {
            const auto u = in.number();
            if (!u || !in.eat('/'))
                return false;
            const auto s = in.number();
            if (!s || *u < 1 || *s < *u)
                return false;
            used = *u;
            stride = *s;
        }
    }
    if (last >= max_cpus)
        return false;
    for (int start = *first; start <= last; start += stride)
        for (int cpu = start; cpu < start + used && cpu <= last; cpu++)
            mask.set(CpuId{cpu});
    return true;
}

} // namespace

std::optional<CpuMask> parse_list(std::string_view text) {
    constexpr std::string_view blank = " \t\r\n";
    const auto begin = text.find_first_not_of(blank);
    CpuMask mask;
    if (begin == std::string_view::npos)
        return mask;
    Cursor in{text.substr(begin, text.find_last_not_of(blank) - begin + 1)};
    do {
        if (!add_range(in, mask))
            return {};
    } while (in.eat(','));
    if (!in.rest.empty())
        return {};
    return mask;
}

} // namespace fairground
