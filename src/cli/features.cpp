// SPDX-License-Identifier: GPL-2.0-only
//
// fairground features: what a variant may change.
#include "fair/features.h"
#include "cli/cli.h"
#include "report/table.h"
#include "study/tunables.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace fairground::cli {

namespace {

std::string tunable_text(const TunableRow &row) {
    const s64 value = get_tunable(fair::Tunables(), row);
    return is_flag(row) ? value != 0 ? "true" : "false" : std::to_string(value);
}

void print_text() {
    Table features;
    for (const char *heading : {"feature", "v7.3", "rules", "what it does"})
        features.column(heading, Align::left);
    for (const fair::FeatureRow &row : fair::feature_table())
        features.row(
            {std::string(row.name), row.default_73 ? "on" : "off", std::string(row.rules), std::string(row.text)});

    Table tunables;
    for (const char *heading : {"tunable", "v7.3", "rules", "what it is"})
        tunables.column(heading, Align::left);
    for (const TunableRow &row : tunable_table())
        tunables.row({std::string(row.name), tunable_text(row), std::string(row.rules), std::string(row.text)});

    std::cout << features.text() << '\n' << tunables.text();
}

void print_json() {
    nlohmann::ordered_json json;
    for (const fair::FeatureRow &row : fair::feature_table())
        json["features"].push_back(
            {{"name", row.name}, {"default", row.default_73}, {"rules", row.rules}, {"text", row.text}});
    for (const TunableRow &row : tunable_table()) {
        const s64 value = get_tunable(fair::Tunables(), row);
        nlohmann::ordered_json entry{{"name", row.name}};
        if (is_flag(row))
            entry["default"] = value != 0;
        else
            entry["default"] = value;
        entry["rules"] = row.rules;
        entry["text"] = row.text;
        json["tunables"].push_back(std::move(entry));
    }
    std::cout << json.dump(2) << '\n';
}

} // namespace

void add_features(CLI::App &app, int &exit_code) {
    auto json = std::make_shared<bool>(false);
    CLI::App *command = app.add_subcommand("features", "List what a variant may change: features and tunables");
    command->add_flag("--json", *json, "print JSON");
    command->footer("P1, P1_LITERAL, P2 and P3 are short for NUMA_PAIR_*. NO_X switches X off.\n\n"
                    "Example:\n  fairground features --json");
    command->callback([json, &exit_code] {
        if (*json)
            print_json();
        else
            print_text();
        exit_code = exit_ok;
    });
}

} // namespace fairground::cli
