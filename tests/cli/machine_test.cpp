// SPDX-License-Identifier: GPL-2.0-only
//
// fairground machine show, as a user runs it.
#include <array>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/wait.h>

namespace {

const std::string machines = FAIRGROUND_SOURCE_DIR "/tests/data/machines/";

struct Result {
    int exit_code = -1; // -1: killed by a signal
    std::string out, err;
};

Result run(const std::string &arguments) {
    const std::string errors = testing::TempDir() + "fairground-stderr-" + std::to_string(getpid());
    Result result;
    FILE *pipe = popen(("'" FAIRGROUND_BINARY_DIR "/fairground' " + arguments + " 2>'" + errors + "'").c_str(), "r");
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

TEST(MachineShow, bad_input_is_one_sentence_and_exit_code_2) {
    for (const char *arguments :
         {"machine show /nowhere", "machine show /", "machine show ''", "machine show 'core:99999'", "machine",
          "machin show here", "machine show here --cpu -1", "machine show here --cpu 4095", "machine show here --cpu x",
          ""}) {
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

TEST(MachineShow, a_closed_pipe_is_no_error_but_a_full_disk_is) {
    // The shell's status is that of the last command: print ours where the reader cannot lose it.
    const std::string big = "machine show --json '" + machines + "uv2000-24n384t.xml'";
    const Result closed = run(big + " | true; echo");
    EXPECT_EQ(closed.err, "");
    const Result status = run(big + " 1>&- || echo $?");
    EXPECT_EQ(status.out, "2\n") << "output is closed before it starts";
    const Result full = run(big + " >/dev/full; echo $?");
    EXPECT_EQ(full.out, "2\n");
    EXPECT_NE(full.err.find("standard output cannot be written"), std::string::npos) << full.err;
}

} // namespace
