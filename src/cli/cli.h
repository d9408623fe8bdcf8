// SPDX-License-Identifier: GPL-2.0-only
//
// The command line: one function per subcommand, each in a file of its name. A function adds its subcommand to the
// app and sets a callback that does the work and stores the exit code:
//
//   void add_run(CLI::App &app, int &exit_code) {
//       auto options = std::make_shared<Options>();
//       CLI::App *command = app.add_subcommand("run", "Run a study");
//       command->add_option("study", options->path, "study file")->required();
//       command->footer("Example:\n  fairground run studies/pipe.toml");
//       command->callback([options, &exit_code] { exit_code = run(*options); });
//   }
//
// Exit codes: exit_ok, exit_check_failed, exit_bad_input, exit_interrupted. Callbacks throw InputError for bad input;
// main() turns it into one sentence on standard error and exit_bad_input. Results go to std::cout, progress to
// std::cerr; main() flushes and checks std::cout. SIGPIPE is ignored: a reader that closes the pipe early is no error.
#pragma once

#include <CLI/CLI.hpp>

namespace fairground::cli {

inline constexpr int exit_ok = 0;
inline constexpr int exit_check_failed = 1;
inline constexpr int exit_bad_input = 2;
inline constexpr int exit_interrupted = 130; // as a shell reports SIGINT

void add_features(CLI::App &app, int &exit_code);
void add_machine(CLI::App &app, int &exit_code);
void add_run(CLI::App &app, int &exit_code);

} // namespace fairground::cli
