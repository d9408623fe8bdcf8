// SPDX-License-Identifier: GPL-2.0-only
//
// fairground machine show: a machine as the scheduler sees it.
#include "base/error.h"
#include "cli/cli.h"
#include "fair/domains.h"
#include "machine/reader.h"
#include "report/domains_report.h"
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

// The machine and its domains in one object. `notes`: first the reader's, then what a kernel would have logged.
nlohmann::ordered_json show_json(const Machine &machine, const fair::DomainTree &tree, std::optional<CpuId> only) {
    nlohmann::ordered_json json = machine_json(machine);
    nlohmann::ordered_json domains = domains_json(machine, tree);
    for (auto &note : domains["notes"])
        json["notes"].push_back(std::move(note));
    json["globals"] = std::move(domains["globals"]);
    json["cpus"] = nlohmann::ordered_json::array();
    for (auto &cpu : domains["cpus"])
        if (!only || cpu["id"] == only->value)
            json["cpus"].push_back(std::move(cpu));
    return json;
}

int show(const Options &options) {
    const Machine machine = read_machine(options.machine);
    std::optional<CpuId> only;
    if (options.cpu) {
        only = CpuId{*options.cpu};
        if (!machine.online().test(*only))
            throw InputError("--cpu " + std::to_string(*options.cpu) + ": not online in " + machine.name +
                             ", expected one of " + to_list(machine.online()));
    }
    const fair::DomainTree tree = fair::build_domains(machine);
    if (options.json) // names may hold bytes that are not UTF-8
        std::cout << show_json(machine, tree, only).dump(1, ' ', false, nlohmann::json::error_handler_t::replace)
                  << '\n';
    else
        std::cout << machine_text(machine) << '\n' << domains_text(machine, tree, only);
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
