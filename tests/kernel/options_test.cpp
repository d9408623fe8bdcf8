// SPDX-License-Identifier: GPL-2.0-only
#include "base/error.h"
#include "workload/options.h"

#include <gtest/gtest.h>

namespace fairground {
namespace {

std::string error(std::string_view kind, const Options &options) {
    try {
        make_workload(kind, options);
    } catch (const InputError &failure) {
        return failure.what();
    }
    return "";
}

TEST(Options, AnUnknownKindOrOptionNamesTheNearest) {
    EXPECT_EQ(error("bwpipe", {.where = "s.toml:4", .values = {}}),
              "s.toml:4: workload kind 'bwpipe' is unknown, did you mean 'bw_pipe'?");
    EXPECT_EQ(error("bw_pipe", {.where = "s.toml:4", .values = {{"blok", s64{1}}}}),
              "s.toml:4: option 'blok' of bw_pipe is unknown, did you mean 'block'?");
}

TEST(Options, ABadValueSaysWhatWasExpected) {
    EXPECT_EQ(error("hog", {.where = "s.toml:4", .values = {{"nice", s64{20}}}}),
              "s.toml:4: option 'nice' of hog must be a whole number from -20 to 19, not 20");
    EXPECT_EQ(error("periodic", {.where = "s.toml:4", .values = {{"run", s64{20}}}}),
              "s.toml:4: option 'run' of periodic must be a duration with its unit such as \"50us\" or \"2ms\", at "
              "least 1ns, not 20");
    EXPECT_EQ(error("hog", {.where = "s.toml:4", .values = {{"cpus", std::string("a")}}}),
              "s.toml:4: option 'cpus' of hog must be a CPU list such as \"0-3,8\", not 'a'");
    EXPECT_EQ(error("noise", {.where = "s.toml:4", .values = {{"bound_rate", -1.5}}}),
              "s.toml:4: option 'bound_rate' of noise must be a number from 0 to 1e+06, not -1.5");
}

TEST(Options, UnitsAreRead) {
    const Options options{.where = "x",
                          .values = {{"a", std::string("64K")}, {"b", std::string("2ms")}, {"c", s64{100}}}};
    OptionReader reader("kind", options);
    EXPECT_EQ(reader.size("a", 0, 1), 65536U);
    EXPECT_EQ(reader.duration("b", 0, 1), 2 * ns_per_ms);
    EXPECT_EQ(reader.size("c", 0, 1), 100U);
    EXPECT_EQ(reader.size("d", 7, 1), 7U);
    EXPECT_NO_THROW(reader.done());
    EXPECT_THROW((void)OptionReader("kind", options).size("b", 0, 1), InputError) << "ms is no size";
    EXPECT_THROW((void)OptionReader("kind", options).duration("a", 0, 1), InputError);
}

} // namespace
} // namespace fairground
