// SPDX-License-Identifier: GPL-2.0-only
//
// Statistics of repeated runs. All sums run in the order of the values, so the same values give the same bits
// whatever the number of threads that produced them.
#pragma once

#include <optional>
#include <span>

namespace fairground {

struct Summary {
    std::size_t n = 0;
    double mean = 0;          // 0 when n is 0
    std::optional<double> sd; // of the sample (n - 1); none below two values
};

Summary summarise(std::span<const double> values);

// A variant against the base, repetition by repetition: both ran the same random streams, so the difference of a
// pair is the variant's effect plus what it stirred up, and far less noisy than the difference of two means.
struct PairedDifference {
    std::size_t n = 0;
    double mean = 0;                // of variant - base
    std::optional<double> relative; // mean / mean of the base; none when that is 0
    // Confidence interval of the mean difference after Student's t with n - 1 degrees of freedom; none below two
    // pairs. It assumes nearly normal differences: with few repetitions of a two-valued metric read it as a hint.
    std::optional<double> low;
    std::optional<double> high;
    int sign = 0; // +1 or -1 when the whole interval lies on one side of 0, else 0
};

inline constexpr double confidence = 0.95;

// Precondition: both have the same length.
PairedDifference compare_paired(std::span<const double> base, std::span<const double> variant);

// Two-sided Student's t factor: the mean lies within factor * sd / sqrt(n) with the given confidence.
// Precondition: degrees >= 1, 0 < level < 1.
double t_factor(std::size_t degrees, double level);

} // namespace fairground
