// SPDX-License-Identifier: GPL-2.0-only
#include "study/runner.h"

#include "base/error.h"
#include "base/random.h"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <mutex>
#include <set>
#include <thread>

using namespace fairground;

namespace {

Study example() {
    Study study;
    study.repetitions = 7;
    study.seed = 42;
    for (const char *name : {"quiet", "busy"})
        study.loads.push_back({name, {}});
    for (const char *name : {"base", "other", "third"})
        study.variants.push_back({name, {}, {}});
    return study;
}

// A run whose figures depend on everything they may depend on, and whose length is all over the place.
Outcome draw(const Variant &variant, const Load &load, u64 seed, const std::stop_token & /*stop*/) {
    RandomStream random(seed, load.name);
    const auto value = static_cast<double>(random.below(1000));
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(300)));
    Outcome outcome;
    outcome.metrics = {{"drawn", value}, {"with variant", value + static_cast<double>(variant.name.size())}};
    outcome.digest = random.next();
    return outcome;
}

StudyResult with_jobs(const Study &study, unsigned jobs) {
    RunnerOptions options;
    options.jobs = jobs;
    return run_study(study, draw, options);
}

TEST(Runner, SameResultWithAnyNumberOfThreads) {
    const Study study = example();
    const StudyResult one = with_jobs(study, 1);
    for (const unsigned jobs : {2U, 5U, 64U}) {
        const StudyResult many = with_jobs(study, jobs);
        ASSERT_EQ(many.seeds, one.seeds);
        ASSERT_EQ(many.cells.size(), one.cells.size());
        for (std::size_t i = 0; i < one.cells.size(); i++) {
            EXPECT_EQ(many.cells[i].digests, one.cells[i].digests);
            for (std::size_t m = 0; m < 2; m++)
                EXPECT_EQ(many.cells[i].metrics[m].values, one.cells[i].metrics[m].values);
        }
    }
}

TEST(Runner, VariantsOfARepetitionShareTheirStreams) {
    const StudyResult result = with_jobs(example(), 2);
    for (std::size_t load = 0; load < 2; load++)
        for (std::size_t variant = 1; variant < 3; variant++)
            EXPECT_EQ(result.cell(variant, load).metrics[0].values, result.cell(0, load).metrics[0].values);
    EXPECT_NE(result.cell(0, 0).metrics[0].values, result.cell(0, 1).metrics[0].values);
}

TEST(Runner, RepetitionsHaveSeedsOfTheirOwn) {
    std::set<u64> seeds;
    for (int r = 0; r < 1000; r++)
        seeds.insert(repetition_seed(1, r));
    EXPECT_EQ(seeds.size(), 1000U);
    EXPECT_LT(*seeds.rbegin(), u64{1} << 53);
    EXPECT_NE(repetition_seed(1, 0), repetition_seed(2, 0));
    // More repetitions never change the earlier ones.
    EXPECT_EQ(with_jobs(example(), 1).seeds[3], repetition_seed(42, 3));
}

TEST(Runner, TheFirstFailureInOrderIsReported) {
    const Study study = example();
    for (int attempt = 0; attempt < 20; attempt++) {
        try {
            RunnerOptions options;
            options.jobs = 4;
            run_study(
                study,
                [](const Variant &variant, const Load &load, u64 seed, const std::stop_token &stop) {
                    if (variant.name == "base" && load.name == "quiet" && seed == repetition_seed(42, 2)) {
                        std::this_thread::sleep_for(std::chrono::milliseconds(2));
                        throw InputError("the slow one");
                    }
                    if (seed == repetition_seed(42, 3))
                        throw InputError("the quick one");
                    return draw(variant, load, seed, stop);
                },
                options);
            FAIL() << "nothing was thrown";
        } catch (const InputError &error) {
            EXPECT_STREQ(error.what(), "the slow one");
        }
    }
}

TEST(Runner, AnInterruptStopsRunsUnderWay) {
    const Study study = example();
    std::atomic<bool> interrupt = true;
    RunnerOptions options;
    options.jobs = 2;
    options.interrupt = &interrupt;
    const auto endless = [](const Variant &, const Load &, u64, const std::stop_token &stop) {
        while (!stop.stop_requested())
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return Outcome{};
    };
    EXPECT_THROW(run_study(study, endless, options), Interrupted);
}

TEST(Runner, ProgressReachesTheTotal) {
    RunnerOptions options;
    options.jobs = 2;
    std::size_t last = 0;
    options.progress = [&](std::size_t done, std::size_t total) {
        EXPECT_EQ(total, 42U);
        EXPECT_GE(done, last);
        last = done;
    };
    run_study(example(), draw, options);
    EXPECT_EQ(last, 42U);
}

} // namespace
