// SPDX-License-Identifier: GPL-2.0-only
#include "base/random.h"

#include <cmath>
#include <gtest/gtest.h>

namespace fairground {
namespace {

TEST(RandomStream, DependsOnEveryPartOfItsKey) {
    const u64 base = RandomStream(1, "task", 0).next();
    EXPECT_EQ(RandomStream(1, "task", 0).next(), base);
    EXPECT_NE(RandomStream(2, "task", 0).next(), base);
    EXPECT_NE(RandomStream(1, "noise", 0).next(), base);
    EXPECT_NE(RandomStream(1, "task", 1).next(), base);
}

TEST(RandomStream, ExponentialHasItsMeanAndItsShape) {
    RandomStream stream(7, "test");
    constexpr int n = 200000;
    double sum = 0;
    int above_mean = 0;
    for (int i = 0; i < n; i++) {
        const u64 x = stream.exponential(1000000);
        sum += static_cast<double>(x);
        above_mean += x > 1000000 ? 1 : 0;
    }
    EXPECT_NEAR(sum / n, 1e6, 1e4);
    EXPECT_NEAR(static_cast<double>(above_mean) / n, std::exp(-1.0), 0.005);
}

} // namespace
} // namespace fairground
