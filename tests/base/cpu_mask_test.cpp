// SPDX-License-Identifier: GPL-2.0-only
#include "base/cpu_mask.h"

#include <gtest/gtest.h>

namespace fairground {
namespace {

CpuMask list(std::string_view text) { return parse_list(text).value(); }

std::string wrapped(std::string_view mask, int start) {
    std::string out;
    wrap(list(mask), start, [&](CpuId cpu) {
        out += std::to_string(cpu.value) + ' ';
        return false;
    });
    return out;
}

TEST(CpuMask, ListNotationRoundTrips) {
    for (const char *text : {"", "0", "0-3", "0-3,8", "1,3,5", "63-64", "0-127,4095"})
        EXPECT_EQ(to_list(list(text)), text);
    EXPECT_EQ(to_list(list("0-31:2/8\n")), "0-1,8-9,16-17,24-25");
}

TEST(CpuMask, MalformedListsAreRefused) {
    for (const char *text : {"x", "3-1", "0,,1", "0-", "-1", "0-3:0/4", "0-3:5/4", "4096", "99999999999", "0 1"})
        EXPECT_FALSE(parse_list(text)) << text;
}

// WAKE-7
TEST(CpuMask, WrapStartsAtTheGivenCpuAndComesRound) {
    EXPECT_EQ(wrapped("0,1,2,3,6", 3), "3 6 0 1 2 ");
    EXPECT_EQ(wrapped("0,1", 8), "0 1 ");
    EXPECT_EQ(wrapped("", 0), "");
}

TEST(CpuMask, SetOperationsIgnoreWhatLiesBeyondTheShorterMask) {
    EXPECT_EQ(to_list(list("0-200") & list("3,70")), "3,70");
    EXPECT_EQ(to_list(list("3") | list("70,199")), "3,70,199");
    EXPECT_EQ(to_list(list("0-5") - list("2-300")), "0-1");
    CpuMask shrunk = list("1,200");
    shrunk.clear(CpuId{200});
    EXPECT_EQ(shrunk, list("1"));
    EXPECT_TRUE(shrunk.subset_of(list("0-1")));
    EXPECT_FALSE(list("200").subset_of(list("0-1")));
    CpuMask regrown = list("0-200") & list("3");
    regrown.set(CpuId{130}); // words between were cut off and must read as empty
    EXPECT_EQ(to_list(regrown), "3,130");
}

} // namespace
} // namespace fairground
