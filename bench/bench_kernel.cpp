// SPDX-License-Identifier: GPL-2.0-only
//
// bench_kernel [runs]: what simulated wake-ups and switches cost on one core of the host, in CPU time of this process.
// The median of `runs` (default 5) runs of each case; every run must have the same digest.
#include "kernel/kernel.h"
#include "machine/reader.h"
#include "workload/workload.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

namespace {

using namespace fairground;

struct Part {
    const char *kind;
    std::map<std::string, OptionValue, std::less<>> options;
};

struct Case {
    const char *name;
    Machine machine;
    u64 duration;
    u32 hz;
    std::vector<Part> parts;
};

double cpu_seconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct Result {
    double seconds = 0;
    u64 digest = 0;
    kernel::Counters counters;
};

// The machine of the numa-pair study, as machines/arm-4n128c.toml.
Machine arm_server() {
    Machine machine = read_machine("pack:2 numa:2 l3:1 core:32 pu:1");
    machine.name = "arm-4n128c";
    machine.arch = Arch::arm64;
    machine.distance = {{10, 12, 35, 37}, {12, 10, 37, 40}, {35, 37, 10, 12}, {37, 40, 12, 10}};
    return machine;
}

Result run_once(const Case &bench) {
    std::vector<std::unique_ptr<Workload>> parts;
    for (const Part &part : bench.parts)
        parts.push_back(make_workload(part.kind, {.where = bench.name, .values = part.options}));
    fair::Tunables tunables;
    tunables.hz = bench.hz;
    kernel::Kernel kernel(bench.machine, kernel::default_features(bench.machine), tunables, 1);
    const double before = cpu_seconds();
    for (const auto &part : parts)
        part->start(kernel);
    kernel.run_until(bench.duration);
    return {cpu_seconds() - before, kernel.digest(), kernel.counters()};
}

void report(const Case &bench, int runs) {
    std::vector<double> seconds;
    Result result;
    for (int i = 0; i < runs; i++) {
        const u64 digest = result.digest;
        result = run_once(bench);
        seconds.push_back(result.seconds);
        if (i > 0 && digest != result.digest) {
            std::fprintf(stderr, "%s: two runs differ\n", bench.name);
            std::exit(1);
        }
    }
    std::sort(seconds.begin(), seconds.end());
    const double median = seconds[seconds.size() / 2];
    const auto &c = result.counters;
    const auto acts = static_cast<double>(c.wakeups + c.switches);
    std::printf("%-30s %7.3f s  %9llu wake-ups %9llu switches %10llu events  %9.0f wake-ups+switches/s %6.0f ns each  "
                "%4.0f ns/event  %6.2fx real time\n",
                bench.name, median, static_cast<unsigned long long>(c.wakeups),
                static_cast<unsigned long long>(c.switches), static_cast<unsigned long long>(c.events), acts / median,
                median * 1e9 / acts, median * 1e9 / static_cast<double>(c.events),
                static_cast<double>(bench.duration) * 1e-9 / median);
}

} // namespace

int main(int argc, char **argv) {
    const int runs = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
    const std::vector<Case> cases = {
        {"numa-pair: bw_pipe, noise", arm_server(), ns_per_s, 250, {{"bw_pipe", {}}, {"noise", {}}}},
        {"pipe storm: 64 pairs, 64 CPUs",
         read_machine("pack:2 l3:1 core:32 pu:1"),
         ns_per_s / 20,
         1000,
         {{"bw_pipe", {{"pairs", s64{64}}, {"block", s64{512}}, {"bytes", s64{512}}}}}},
        {"32 x 2 ms per 10 ms, 8 CPUs",
         read_machine("l3:1 core:8 pu:1"),
         10 * ns_per_s,
         1000,
         {{"periodic", {{"tasks", s64{32}}}}}},
    };
    for (const Case &bench : cases)
        report(bench, runs);
}
