// SPDX-License-Identifier: GPL-2.0-only
#include "study/study.h"

#include "base/error.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace fairground;

namespace {

// A study file in the test's own folder.
class StudyFile : public testing::Test {
  protected:
    void SetUp() override {
        folder_ =
            std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
        std::filesystem::create_directories(folder_ / "machines");
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    Study read(const std::string &text) {
        const std::string path = (folder_ / "s.toml").string();
        std::ofstream(path) << text;
        return read_study(path);
    }
    // The error without the folder's name in front.
    std::string error(const std::string &text) {
        try {
            read(text);
        } catch (const InputError &error) {
            const std::string what = error.what();
            const std::string prefix = folder_.string() + "/";
            return what.starts_with(prefix) ? what.substr(prefix.size()) : what;
        }
        return "no error";
    }

    std::filesystem::path folder_;
};

const std::string head = "title = 'T'\n"        // line 1
                         "machine = 'node:2'\n" // line 2
                         "duration = '2 s'\n";  // line 3
const std::string work = "[[workload]]\n"       // line 4
                         "kind = 'bw_pipe'\n"   // line 5
                         "block = 65536\n";     // line 6
const std::string base = "[[variant]]\n"        // line 7
                         "name = 'base'\n";     // line 8

TEST_F(StudyFile, TheLeastHasDefaults) {
    const Study study = read(head + work + base);
    EXPECT_EQ(study.title, "T");
    EXPECT_EQ(study.machine_spec, "node:2");
    EXPECT_EQ(study.duration, 2 * ns_per_s);
    EXPECT_EQ(study.warmup, 0U);
    EXPECT_EQ(study.repetitions, 10);
    EXPECT_EQ(study.seed, 1U);
    ASSERT_EQ(study.loads.size(), 1U);
    ASSERT_EQ(study.loads[0].parts.size(), 1U);
    EXPECT_EQ(study.loads[0].parts[0].kind, "bw_pipe");
    EXPECT_EQ(std::get<s64>(study.loads[0].parts[0].options.values.at("block")), 65536);
    EXPECT_EQ(apply_features({}, study.variants[0]), fair::Features());
    EXPECT_EQ(study.variants[0].tunables.hz, 1000U);
}

TEST_F(StudyFile, VariantsSwitchFeaturesAndTunables) {
    const Study study = read("hz = 250\n" + head + work + base +
                             "[[variant]]\nname = 'x'\nfeatures = ['P1', 'NO_WA_WEIGHT']\n"
                             "tunables = { migration_cost_ns = 0, lazy_preempt = false }\n");
    const Variant &x = study.variants[1];
    const fair::Features features = apply_features({}, x);
    EXPECT_TRUE(features[fair::Feature::NUMA_PAIR_P1]);
    EXPECT_FALSE(features[fair::Feature::WA_WEIGHT]);
    EXPECT_EQ(x.tunables.migration_cost, 0U);
    EXPECT_FALSE(x.tunables.lazy_preempt);
    EXPECT_EQ(x.tunables.hz, 250U);
    EXPECT_EQ(study.variants[0].tunables.migration_cost, 500000U);
}

TEST_F(StudyFile, LoadsAddPartsAndSetOptions) {
    const Study study = read(head + work + base +
                             "[[load]]\nname = 'alone'\n"
                             "[[load]]\nname = 'noise'\nset.bw_pipe.block = 4096\n"
                             "[[load.workload]]\nkind = 'noise'\nperiod = 0.5\n");
    ASSERT_EQ(study.loads.size(), 2U);
    EXPECT_EQ(study.loads[0].parts.size(), 1U);
    EXPECT_EQ(std::get<s64>(study.loads[0].parts[0].options.values.at("block")), 65536);
    ASSERT_EQ(study.loads[1].parts.size(), 2U);
    EXPECT_EQ(std::get<s64>(study.loads[1].parts[0].options.values.at("block")), 4096);
    EXPECT_EQ(study.loads[1].parts[1].kind, "noise");
    EXPECT_EQ(std::get<double>(study.loads[1].parts[1].options.values.at("period")), 0.5);
}

TEST_F(StudyFile, AMachineFileIsRelativeToTheStudy) {
    const Study study = read("title = 'T'\nmachine = 'machines/m.toml'\nduration = '2 s'\n" + work + base);
    EXPECT_EQ(study.machine_spec, (folder_ / "machines/m.toml").string());
}

TEST_F(StudyFile, PublishedFigures) {
    const Study study = read(head + work + base +
                             "[[count]]\nname = 'split'\nmetric = 'apart'\nabove = 0.5\n"
                             "[[published]]\nvariant = 'base'\nload = 'plain'\ncount = 'split'\nvalue = 8\nof = 10\n"
                             "[[published]]\nvariant = 'base'\nload = 'plain'\nmetric = 'MB/s'\nvalue = 760\n");
    ASSERT_EQ(study.published.size(), 2U);
    EXPECT_EQ(study.published[0].quantity, "split");
    EXPECT_EQ(study.published[0].of, 10);
    EXPECT_EQ(study.published[1].value, 760.0);
}

TEST_F(StudyFile, ErrorsNameFileLineAndWhatWasExpected) {
    EXPECT_EQ(error(head + "seeed = 3\n" + work + base), "s.toml:4: unknown key 'seeed', did you mean 'seed'?");
    EXPECT_EQ(error(head + work + base + "feature = ['P1']\n"),
              "s.toml:9: [[variant]]: unknown key 'feature', did you mean 'features'?");
    EXPECT_EQ(error(head + work + base + "features = ['PLACE_LAGG']\n"),
              "s.toml:9: [[variant]]: unknown feature 'PLACE_LAGG', did you mean 'PLACE_LAG'?");
    EXPECT_EQ(error(head + work + base + "features = 'P1'\n"),
              "s.toml:9: [[variant]]: 'features' must be an array of strings, not a string");
    EXPECT_EQ(error(head + work + base + "[variant.tunables]\nmigration_cost = 1\n"),
              "s.toml:10: [[variant]] tunables: unknown tunable 'migration_cost', did you mean 'migration_cost_ns'?");
    EXPECT_EQ(error(head + work + base + "[variant.tunables]\nnr_migrate = 0\n"),
              "s.toml:10: [[variant]] tunables: 'nr_migrate' must be an integer from 1 to 1000000, not 0");
    EXPECT_EQ(error("repetitions = -1\n" + head + work + base),
              "s.toml:1: 'repetitions' must be an integer from 1 to 100000, not -1");
    EXPECT_EQ(error("repetitions = 'ten'\n" + head + work + base),
              "s.toml:1: 'repetitions' must be an integer from 1 to 100000, not a string");
    EXPECT_EQ(error("title = 'T'\nmachine = 'm'\nduration = 10\n" + work + base),
              "s.toml:3: 'duration' must be a time such as \"10 s\" or \"250 ms\", not an integer");
    EXPECT_EQ(error("title = 'T'\nmachine = 'm'\nduration = '10 h'\n" + work + base),
              "s.toml:3: 'duration' must be a time such as \"10 s\" or \"250 ms\", not \"10 h\"");
    EXPECT_EQ(error("title = 'T'\nduration = '1 s'\n" + work + base),
              "s.toml:1: 'machine' is missing, expected a string");
    EXPECT_EQ(error(head + base), "s.toml:1: there is nothing to run, expected a [[workload]] table");
    EXPECT_EQ(error(head + work), "s.toml:1: there is nothing to compare, expected a [[variant]] table");
    EXPECT_EQ(error(head + work + base + base), "s.toml:10: [[variant]]: there are two named 'base'");
    EXPECT_EQ(error(head + work + base + "[[load]]\nname = 'a'\nset.noise.tasks = 3\n"),
              "s.toml:11: [[load]] set: the study has no [[workload]] of kind 'noise' to set options of");
    EXPECT_EQ(error(head + work + base + "[[published]]\nvariant = 'bass'\nload = 'plain'\nmetric = 'x'\nvalue = 1\n"),
              "s.toml:10: [[published]]: there is no variant 'bass', did you mean 'base'?");
    EXPECT_EQ(error(head + "workload = 3\n" + base),
              "s.toml:4: 'workload' must be an array of tables, written [[workload]]");
    EXPECT_EQ(error(""), "s.toml: is empty, expected a study file");
    EXPECT_TRUE(error(head + "[[workload\n").starts_with("s.toml:4: not valid TOML: ")) << error(head + "[[workload\n");
}

TEST_F(StudyFile, NoFileAndFolder) {
    EXPECT_THROW(read_study((folder_ / "none.toml").string()), InputError);
    EXPECT_THROW(read_study(folder_.string()), InputError);
}

} // namespace
