// SPDX-License-Identifier: GPL-2.0-only
#include "base/error.h"
#include "base/nearest.h"
#include "cli/cli.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace fairground;

namespace {

// One sentence on one line, whatever the text of the error holds.
int complain(std::string text) {
    for (char &c : text)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f')
            c = ' ';
    while (text.ends_with(' '))
        text.pop_back();
    std::cerr << "fairground: " << text << '\n';
    return cli::exit_bad_input;
}

// CLI11 reports an unknown command as a stray argument; name the nearest one instead.
std::string usage_error(const CLI::App &app, const CLI::ParseError &error, int argc, char **argv) {
    const CLI::App *level = &app;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        if (word.starts_with('-'))
            break;
        const auto commands = level->get_subcommands([](const CLI::App *) { return true; });
        if (commands.empty())
            break;
        const CLI::App *found = nullptr;
        std::vector<std::string_view> names;
        for (const CLI::App *command : commands) {
            names.push_back(command->get_name());
            if (command->get_name() == word)
                found = command;
        }
        if (found == nullptr)
            return "there is no command '" + word + "'" + did_you_mean(word, names);
        level = found;
    }
    return error.what();
}

// Output to a pipe that its reader closed is fine; output that is lost is not.
int flush_output(int exit_code) {
    errno = 0;
    std::cout.flush();
    if (std::cout.good())
        return exit_code;
    // An earlier write may have failed, and its errno is gone: a pipe that fails is one that nobody reads.
    struct stat status {};
    if (errno == 0 && fstat(STDOUT_FILENO, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)))
        errno = EPIPE;
    if (errno == EPIPE)
        return exit_code;
    return complain(std::string("standard output cannot be written") +
                    (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
}

int dispatch(int argc, char **argv) {
    CLI::App app("A laboratory for the Linux fair scheduler: what a change does on which machine, and why.",
                 "fairground");
    app.footer("Example:\n  fairground run studies/numa-pair.toml\n\n"
               "Exit codes: 0 fine, 1 a check failed, 2 bad usage or input.");
    app.set_version_flag("--version", "fairground " FAIRGROUND_VERSION);
    app.require_subcommand(1);

    int exit_code = cli::exit_ok;
    cli::add_features(app, exit_code);
    cli::add_machine(app, exit_code);
    cli::add_run(app, exit_code);

    try {
        app.parse(argc, argv);
    } catch (const CLI::Success &success) { // --help, --version
        app.exit(success);
        return cli::exit_ok;
    } catch (const CLI::ParseError &error) {
        return complain(usage_error(app, error, argc, argv) + " (--help shows the usage)");
    }
    return exit_code;
}

} // namespace

int main(int argc, char **argv) {
    std::signal(SIGPIPE, SIG_IGN);
    std::ios::sync_with_stdio(false);
    try {
        return flush_output(dispatch(argc, argv));
    } catch (const InputError &error) {
        std::cout.flush();
        return complain(error.what());
    } catch (const std::bad_alloc &) {
        return complain("not enough memory");
    } catch (const std::exception &error) {
        return complain(std::string("internal error: ") + error.what());
    }
}
