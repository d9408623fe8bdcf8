// SPDX-License-Identifier: GPL-2.0-only
#include "study/statistics.h"

#include <array>
#include <cmath>
#include <gtest/gtest.h>

using namespace fairground;

namespace {

TEST(Summary, MeanAndSampleDeviationByHand) {
    // Squares of the deviations from 5: 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32; 32 / 7.
    const Summary summary = summarise(std::array{2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0});
    EXPECT_EQ(summary.n, 8U);
    EXPECT_DOUBLE_EQ(summary.mean, 5.0);
    EXPECT_DOUBLE_EQ(summary.sd.value(), std::sqrt(32.0 / 7.0));
}

TEST(Summary, OneValueHasNoDeviation) {
    const Summary summary = summarise(std::array{3.0});
    EXPECT_EQ(summary.mean, 3.0);
    EXPECT_FALSE(summary.sd.has_value());
    EXPECT_EQ(summarise({}).n, 0U);
}

TEST(StudentT, FactorsOfThePrintedTables) {
    EXPECT_NEAR(t_factor(1, 0.95), 12.706, 0.0005);
    EXPECT_NEAR(t_factor(4, 0.95), 2.776, 0.0005);
    EXPECT_NEAR(t_factor(9, 0.95), 2.262, 0.0005);
    EXPECT_NEAR(t_factor(9, 0.99), 3.250, 0.0005);
    EXPECT_NEAR(t_factor(1000000, 0.95), 1.960, 0.0005);
}

TEST(PairedDifference, IntervalByHand) {
    // Differences 1, 2, 3, 4: mean 2.5, sd sqrt(5 / 3), t(3) = 3.18245.
    const PairedDifference difference =
        compare_paired(std::array{10.0, 20.0, 30.0, 40.0}, std::array{11.0, 22.0, 33.0, 44.0});
    const double half = 3.18245 * std::sqrt(5.0 / 3.0) / 2;
    EXPECT_DOUBLE_EQ(difference.mean, 2.5);
    EXPECT_DOUBLE_EQ(difference.relative.value(), 0.1);
    EXPECT_NEAR(difference.low.value(), 2.5 - half, 1e-5);
    EXPECT_NEAR(difference.high.value(), 2.5 + half, 1e-5);
    EXPECT_EQ(difference.sign, 1);
}

TEST(PairedDifference, SignNeedsTheWholeIntervalOnOneSide) {
    EXPECT_EQ(compare_paired(std::array{1.0, 2.0, 3.0}, std::array{0.0, 1.1, 1.9}).sign, -1);
    EXPECT_EQ(compare_paired(std::array{1.0, 2.0, 3.0}, std::array{9.0, 1.0, 2.0}).sign, 0);
}

TEST(PairedDifference, EqualRunsDifferByNothing) {
    const PairedDifference difference = compare_paired(std::array{5.0, 6.0}, std::array{5.0, 6.0});
    EXPECT_EQ(difference.mean, 0.0);
    EXPECT_EQ(difference.low.value(), 0.0);
    EXPECT_EQ(difference.high.value(), 0.0);
    EXPECT_EQ(difference.sign, 0);
}

TEST(PairedDifference, OnePairHasNoInterval) {
    const PairedDifference difference = compare_paired(std::array{0.0}, std::array{2.0});
    EXPECT_EQ(difference.mean, 2.0);
    EXPECT_FALSE(difference.low.has_value());
    EXPECT_FALSE(difference.relative.has_value()); // a base of 0 has no ratio
    EXPECT_EQ(difference.sign, 0);
}

} // namespace
