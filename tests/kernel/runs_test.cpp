// SPDX-License-Identifier: GPL-2.0-only
//
// Whole runs: which of them must be the same, event for event.
#include "kernel/kernel.h"
#include "machine/reader.h"
#include "workload/workload.h"

#include <fstream>
#include <gtest/gtest.h>

namespace fairground::kernel {
namespace {

// A digest of every event and switch, and with it every decision that had a consequence.
u64 digest(const Machine &machine, const std::vector<const char *> &features, u64 seed, Time duration) {
    fair::Features set = default_features(machine);
    for (const char *feature : features)
        set.apply(feature);
    fair::Tunables tunables;
    tunables.hz = 250;
    Kernel kernel(machine, set, tunables, seed);
    Options options;
    options.where = "test";
    const std::unique_ptr<Workload> pair = make_workload("bw_pipe", options);
    const std::unique_ptr<Workload> noise = make_workload("noise", options);
    pair->start(kernel);
    noise->start(kernel);
    kernel.run_until(duration);
    return kernel.digest();
}

Machine toml(const char *name, const char *text) {
    const std::string path = testing::TempDir() + name;
    std::ofstream(path) << text;
    return read_machine(path);
}

// NUMAPAIR-18: with groups of equal weight the difference of busy CPUs is that of idle ones.
TEST(Runs, BusyDifferencesChangeNothingOnGroupsOfEqualWeight) {
    const Machine machine = toml("equal.toml", "arch = \"x86\"\nnodes = 2\ncores = 16\nsmt = 2\n"
                                               "distances = [[10, 21], [21, 10]]\n");
    for (const u64 seed : {1, 2, 3}) {
        const u64 base = digest(machine, {}, seed, 2 * ns_per_s);
        EXPECT_EQ(digest(machine, {"P1"}, seed, 2 * ns_per_s), base);
        EXPECT_EQ(digest(machine, {"P1_LITERAL"}, seed, 2 * ns_per_s), base);
        EXPECT_EQ(digest(machine, {"P1", "P2"}, seed, 2 * ns_per_s), base);
        EXPECT_NE(digest(machine, {}, seed + 10, 2 * ns_per_s), base);
    }
}

// The figure itself means nothing; what counts is that every build type, compiler flag and sanitizer gives the same.
// A change of the model changes it: take the new one from the failure, after seeing it in two build types.
TEST(Runs, EveryBuildTypeGivesTheSameEvents) {
    const Machine machine = toml("unequal.toml", "arch = \"arm64\"\nnodes = 4\ncores = 8\n"
                                                 "distances = [[10, 12, 35, 37], [12, 10, 37, 40], [35, 37, 10, 12], "
                                                 "[37, 40, 12, 10]]\n[costs]\npage_alloc_ns = 600\n");
    EXPECT_EQ(digest(machine, {}, 1, ns_per_s), 5902104786069392541U);
}

} // namespace
} // namespace fairground::kernel
