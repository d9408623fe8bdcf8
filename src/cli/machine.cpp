// SPDX-License-Identifier: GPL-2.0-only
//
// fairground machine show: a machine as the scheduler sees it.
#include "base/error.h"
#include "cli/cli.h"
#include "machine/reader.h"
#include "report/machine_report.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace fairground::cli {

namespace {

struct Options {
    std::string machine;
    std::optional<int> cpu;
    bool json = false;
};

int show(const Options &options) {
    const Machine machine = read_machine(options.machine);
    if (options.json)
        std::cout << machine_json(machine).dump(1) << '\n';
    else
        std::cout << machine_text(machine);
    return exit_ok;
}

} // namespace

void add_machine(CLI::App &app, int &exit_code) {
    CLI::App *group = app.add_subcommand("machine", "Look at machines");
    group->require_subcommand(1);
    group->footer("Example:\n  fairground machine show here");

    auto options = std::make_shared<Options>();
    CLI::App *command =
        group->add_subcommand("show", "Nodes, caches, distances, and the scheduling domains of every CPU");
    command
        ->add_option("machine", options->machine, "a machine file, sysfs snapshot, hwloc synthetic string, or 'here'")
        ->required();
    command->add_option("--cpu", options->cpu, "domains of this CPU only");
    command->add_flag("--json", options->json, "print JSON");
    command->footer("Examples:\n  fairground machine show here --cpu 0\n"
                    "  fairground machine show 'node:2 l3:4 core:4 pu:2' --json");
    command->callback([options, &exit_code] { exit_code = show(*options); });
}

} // namespace fairground::cli
