// SPDX-License-Identifier: GPL-2.0-only
//
// fairground run: all runs of a study, and what they say.
#include "base/error.h"
#include "cli/cli.h"
#include "machine/reader.h"
#include "report/study_report.h"
#include "study/simulate.h"

#include <atomic>
#include <charconv>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>

namespace fairground::cli {

namespace {

struct Options {
    std::string path;
    std::optional<u64> seed;
    std::optional<int> repetitions;
    unsigned jobs = 0;
    bool json = false;
    bool quiet = false;
};

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may set it");

Machine read_study_machine(const Study &study) {
    try {
        return read_machine(study.machine_spec);
    } catch (const InputError &error) {
        throw InputError(study.path + ":" + std::to_string(study.machine_line) + ": machine: " + error.what());
    }
}

u64 read_seed(const std::string &text) {
    u64 seed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size())
        throw InputError("--seed is '" + text + "', expected a whole number from 0 to 18446744073709551615");
    return seed;
}

int run(const Options &options) {
    Study study = read_study(options.path);
    study.seed = options.seed.value_or(study.seed);
    study.repetitions = options.repetitions.value_or(study.repetitions);
    const Machine machine = read_study_machine(study);
    const RunFunction simulate = simulation(study, machine);

    const bool show_progress = !options.quiet && isatty(STDERR_FILENO) != 0;
    RunnerOptions runner;
    runner.jobs = options.jobs;
    runner.interrupt = &interrupted;
    if (show_progress)
        runner.progress = [](std::size_t done, std::size_t total) {
            std::cerr << '\r' << done << " of " << total << " runs" << std::flush;
        };
    const auto clear_progress = [&] {
        if (show_progress)
            std::cerr << "\r\x1b[K" << std::flush;
    };

    std::signal(SIGINT, [](int) { interrupted = true; });
    StudyResult result;
    try {
        result = run_study(study, simulate, runner);
    } catch (const Interrupted &stop) {
        clear_progress();
        std::cerr << "fairground: interrupted after " << stop.done << " of " << stop.total << " runs\n";
        return exit_interrupted;
    } catch (...) {
        clear_progress();
        throw;
    }
    clear_progress();
    std::signal(SIGINT, SIG_DFL);

    check_metrics(study, result);
    std::cout << (options.json ? study_json(study, machine, result, FAIRGROUND_VERSION)
                               : study_text(study, machine, result));
    return exit_ok;
}

} // namespace

void add_run(CLI::App &app, int &exit_code) {
    auto options = std::make_shared<Options>();
    CLI::App *command = app.add_subcommand("run", "Run a study: every variant under every load, several times");
    command->add_option("study", options->path, "study file")->required();
    command->add_option_function<std::string>(
        "--seed", [options](const std::string &text) { options->seed = read_seed(text); },
        "another seed than the study's");
    command->add_option("--repetitions", options->repetitions, "runs of each variant and load")
        ->check(CLI::Range(s64{1}, max_repetitions));
    command->add_option("--jobs", options->jobs, "threads; the result does not depend on them (default: all CPUs)")
        ->check(CLI::Range(1U, 4096U));
    command->add_flag("--json", options->json, "print JSON");
    command->add_flag("--quiet", options->quiet, "no progress on the terminal");
    command->footer("Examples:\n  fairground run studies/numa-pair.toml\n"
                    "  fairground run studies/numa-pair.toml --repetitions 40 --json >result.json");
    command->callback([options, &exit_code] { exit_code = run(*options); });
}

} // namespace fairground::cli
