// SPDX-License-Identifier: GPL-2.0-only
//
// fairground machine show, as a user runs it.
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace {

const std::string machines = FAIRGROUND_SOURCE_DIR "/tests/data/machines/";

struct Result {
    int exit_code = -1; // -1: killed by a signal
    std::string out, err;
};

// A shell command in which $F is the program.
Result shell(const std::string &command) {
    const std::string errors = testing::TempDir() + "fairground-stderr-" + std::to_string(getpid());
    Result result;
    FILE *pipe =
        popen(("F='" FAIRGROUND_BINARY_DIR "/fairground'; { " + command + "; } 2>'" + errors + "'").c_str(), "r");
    std::array<char, 4096> buffer{};
    while (const std::size_t got = fread(buffer.data(), 1, buffer.size(), pipe))
        result.out.append(buffer.data(), got);
    const int status = pclose(pipe);
    if (WIFEXITED(status))
        result.exit_code = WEXITSTATUS(status);
    std::ifstream file(errors);
    std::stringstream text;
    text << file.rdbuf();
    result.err = text.str();
    std::remove(errors.c_str());
    return result;
}

Result run(const std::string &arguments) { return shell("\"$F\" " + arguments); }

TEST(MachineShow, prints_nodes_and_distances) {
    const Result result = run("machine show '" + machines + "numactl/kunpeng920-128c-uneven-mem.txt'");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.out.find("128 online: 0-127"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("      3   22   24   12   10\n"), std::string::npos) << result.out;
    EXPECT_EQ(result.err, "");
}

TEST(MachineShow, json_describes_the_same_machine) {
    const Result result = run("machine show --json '" + machines + "xeonmp-4s8c16t-offlines.tar.bz2'");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto json = nlohmann::json::parse(result.out);
    EXPECT_EQ(json["source"], "sysfs");
    EXPECT_EQ(json["input"]["cpus"].size(), 16u);
    EXPECT_EQ(json["input"]["cpus"][2]["online"], false);
    EXPECT_EQ(json["input"]["distance"], nlohmann::json::parse("[[10]]"));
}

TEST(MachineShow, json_has_the_domains_of_one_cpu_or_all) {
    const std::string command = "machine show --json '" + machines + "kunpeng920-2s4n128c.tar.bz2'";
    const auto all = nlohmann::json::parse(run(command).out);
    ASSERT_EQ(all["cpus"].size(), 128u);
    const auto one = nlohmann::json::parse(run(command + " --cpu 77").out);
    ASSERT_EQ(one["cpus"].size(), 1u);
    EXPECT_EQ(one["cpus"][0], all["cpus"][77]);
    EXPECT_EQ(one["cpus"][0]["id"], 77);
    const auto &domains = one["cpus"][0]["domains"];
    ASSERT_FALSE(domains.empty());
    EXPECT_EQ(domains[0]["name"], "CLS");
    EXPECT_EQ(domains[0]["span"], "76-79");
    EXPECT_EQ(domains.back()["span"], "0-127");
    for (const char *key :
         {"flags", "imbalance_pct", "cache_nice_tries", "min_interval", "max_interval", "imb_numa_nr"})
        EXPECT_TRUE(domains[0].contains(key)) << key;
    for (const char *key : {"span", "balance_mask", "weight", "capacity"})
        EXPECT_TRUE(domains[0]["groups"][0].contains(key)) << key;
}

// Domain spans that a 5.14 kernel printed for this machine (tests/data/machines/EXPECTED.md).
TEST(MachineShow, kunpeng_domains_are_those_a_kernel_printed) {
    const auto json =
        nlohmann::json::parse(run("machine show --json '" + machines + "numactl/kunpeng920-128c-uneven-mem.txt'").out);
    const auto spans = [&](std::size_t cpu) {
        std::vector<std::string> list;
        for (const auto &domain : json["cpus"][cpu]["domains"])
            list.push_back(domain["span"]);
        return list;
    };
    EXPECT_EQ(spans(0), (std::vector<std::string>{"0-31", "0-63", "0-95", "0-127"}));
    EXPECT_EQ(spans(32), (std::vector<std::string>{"32-63", "0-63", "0-95", "0-127"}));
    EXPECT_EQ(spans(64), (std::vector<std::string>{"64-95", "64-127", "0-31,64-127", "0-127"}));
    EXPECT_EQ(spans(96), (std::vector<std::string>{"96-127", "64-127", "0-31,64-127", "0-127"}));
}

TEST(MachineShow, bad_input_is_one_sentence_and_exit_code_2) {
    for (const char *arguments :
         {"machine show /nowhere", "machine show '" FAIRGROUND_SOURCE_DIR "/docs'", "machine show ''",
          "machine show 'core:99999'", "machine", "machin show here", "machine show here --cpu -1",
          "machine show here --cpu 4095", "machine show here --cpu x", ""}) {
        const Result result = run(arguments);
        EXPECT_EQ(result.exit_code, 2) << arguments;
        EXPECT_EQ(result.out, "") << arguments;
        EXPECT_TRUE(result.err.starts_with("fairground: ")) << arguments << ": " << result.err;
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << arguments << ": " << result.err;
    }
    EXPECT_NE(run("machin show here").err.find("did you mean 'machine'?"), std::string::npos);
}

TEST(MachineShow, help_and_version_are_fine) {
    for (const char *arguments : {"--help", "--version", "machine --help", "machine show --help"}) {
        const Result result = run(arguments);
        EXPECT_EQ(result.exit_code, 0) << arguments;
        EXPECT_NE(result.out, "") << arguments;
    }
    EXPECT_NE(run("machine show --help").out.find("Examples:"), std::string::npos);
}

TEST(MachineShow, a_closed_pipe_is_no_error_but_lost_output_is) {
    const std::string big = "\"$F\" machine show --json '" + machines + "uv2000-24n384t.xml'";
    EXPECT_EQ(shell("{ " + big + "; echo $? >&2; } | true").err, "0\n");
    const Result full = shell(big + " >/dev/full");
    EXPECT_EQ(full.exit_code, 2);
    EXPECT_NE(full.err.find("standard output cannot be written"), std::string::npos) << full.err;
    EXPECT_EQ(shell(big + " >&-").exit_code, 2) << "output is closed before it starts";
}

} // namespace
