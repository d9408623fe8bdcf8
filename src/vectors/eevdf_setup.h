// SPDX-License-Identifier: GPL-2.0-only
//
// What the files of the eevdf family share: the scheduler that a header line describes, and comparison.
#pragma once

#include "fair/scheduler.h"
#include "vectors/vectors.h"

#include <memory>
#include <string>

namespace fairground::vectors {

// CPU 0 is the one the vectors are about; CPU 1 is where tasks are that left it.
inline constexpr CpuId here{0};
inline constexpr CpuId elsewhere{1};

// Features, tunables and clocks of a header ("seq" or "unit"). HRTICK is off unless named, as in the oracle.
std::unique_ptr<fair::Scheduler> scheduler_of(const Json &header);

// The first difference of a case; later ones are its consequences.
struct Difference {
    std::string rule;
    std::string text;

    explicit operator bool() const { return !text.empty(); }
    void expect(std::string_view rule_id, std::string_view what, s64 found, s64 expected) {
        if (found == expected || *this)
            return;
        rule = rule_id;
        text = std::string(what) + " is " + std::to_string(found) + ", expected " + std::to_string(expected);
    }
};

// u64 virtual times are written as the signed number with the same bits.
inline s64 number(const Json &value) {
    return value.is_number_unsigned() ? static_cast<s64>(value.get<u64>()) : value.get<s64>();
}

void run_eevdf_units(const Json &header, LineReader &rest, Report &report);
void run_sequences(const Json &header, LineReader &rest, Report &report);

} // namespace fairground::vectors
