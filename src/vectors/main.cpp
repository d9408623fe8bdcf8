// SPDX-License-Identifier: GPL-2.0-only
//
// vectors [--show K] FILE...: compares the model with recorded cases. Exit 1 if a case differs, 2 on bad input.
#include "base/error.h"
#include "vectors/vectors.h"

#include <CLI/CLI.hpp>
#include <array>
#include <iostream>

namespace fairground::vectors {

void Report::different(std::string_view where, std::string_view rule, std::string_view text) {
    cases_++;
    if (cases_ - equal_ <= show_)
        std::cout << "  " << where << " [" << rule << "]: " << text << '\n';
}

namespace {

const std::array families = {&wake_family,    &eevdf_family,        &pelt_unit_family, &shares_family,
                             &balance_family, &balance_unit_family, &numa_move_family};

Json parse(const std::string &path, const std::string &line) {
    try {
        return Json::parse(line);
    } catch (const Json::exception &) {
        throw InputError(path + ": line 1 is not a JSON object, expected a vector file");
    }
}

// True if every case that was built is equal.
bool check_file(const std::string &path, u64 show) {
    LineReader reader(path);
    std::string line;
    if (!reader.next(line))
        throw InputError(path + ": is empty, expected a vector file");
    const Json first = parse(path, line);
    for (const Family *family : families) {
        if (!first.is_object() || !family->recognises(first))
            continue;
        Report report(show);
        try {
            family->run(first, reader, report);
        } catch (const Json::exception &error) {
            throw InputError(path + ": line " + std::to_string(reader.line_number()) + ": " + error.what());
        }
        std::cout << path << ": " << report.cases() << " cases, " << report.equal_cases() << " equal";
        if (report.waiting_cases() > 0)
            std::cout << ", " << report.waiting_cases() << " waiting";
        std::cout << '\n';
        return report.cases() == report.equal_cases();
    }
    throw InputError(path + ": no known kind of vector file");
}

int run(int argc, char **argv) {
    CLI::App app("Compares the model with cases that Linux 7.3's own functions computed.\n"
                 "Example: vectors --show 5 tests/data/vectors/wake-small.jsonl.gz",
                 "vectors");
    std::vector<std::string> files;
    u64 show = 0;
    app.add_option("files", files, "vector files (JSON lines, plain or gzip)")->required();
    app.add_option("--show", show, "print the first K differences of each file with their rule ids");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    bool all = true;
    for (const std::string &file : files)
        all = check_file(file, show) && all;
    return all ? 0 : 1;
}

} // namespace

} // namespace fairground::vectors

int main(int argc, char **argv) {
    try {
        return fairground::vectors::run(argc, argv);
    } catch (const std::exception &error) {
        std::cerr << "vectors: " << error.what() << '\n';
        return 2;
    }
}
