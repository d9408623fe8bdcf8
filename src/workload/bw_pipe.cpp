// SPDX-License-Identifier: GPL-2.0-only
//
// lmbench's bw_pipe -P 1: the bandwidth of one pipe. The benchmark process makes two pipes and forks the writer. For
// each pass it tells the writer through the control pipe, then reads `bytes` in reads of `block`; the writer writes
// as many in writes of `block`.
//
// Options
//   block    bytes of one read or write (lmbench -m), default 64K
//   bytes    bytes of one pass (lmbench -M), default 10M
//   passes   passes until the workload is finished; default 0: until the run ends
//   buffers  pages in the pipe, default 16
//   pairs    pairs side by side (lmbench -P), default 1
//   start    CPU of the shell that starts it; default: drawn by the seed
//
// Metrics
//   MB/s         of all pairs, MB = 10^6 bytes, from the first pass to the last read
//   split        share of the pairs whose two tasks were on different nodes for more than half of the time
//   share <near> share of the time at each distance of the two tasks' CPUs: same_cpu, smt, l2, llc, node, package,
//                remote; of all pairs
#include "kernel/pipe.h"
#include "workload/kinds.h"
#include "workload/options.h"

#include <array>
#include <deque>

namespace fairground {

namespace {

using namespace kernel;

struct BwPipe {
    u64 block;
    u64 bytes;
    u64 passes;
};

// Where the two tasks were, over time.
struct Together {
    Time started = 0;
    Time last = 0; // the time up to here is counted
    std::array<u64, nearness_count> near{};
    u64 split = 0;

    // Adds the time since the last call to the tasks' present distance.
    void observe(const Kernel &kernel, TaskId reader, TaskId writer) {
        const CpuId here = kernel.cpu_of(reader);
        const CpuId there = kernel.cpu_of(writer);
        const u64 passed = kernel.now() - last;
        near[static_cast<std::size_t>(kernel.distances().nearness(there, here))] += passed;
        const auto &cpus = kernel.machine().cpus;
        if (cpus[static_cast<u32>(here.value)].node != cpus[static_cast<u32>(there.value)].node)
            split += passed;
        last = kernel.now();
    }
};

struct Pair {
    Pair(Kernel &kernel, u32 buffers) : control(kernel), data(kernel, buffers) {}

    Pipe control;
    Pipe data;
    TaskId reader;
    TaskId writer;
    u64 bytes = 0;
    bool finished = false;
    Together together;
};

constexpr u64 control_message = 8;

Program bw_pipe_writer(Kernel &, Pair &pair, BwPipe bench) {
    while (co_await read(pair.control, control_message) > 0)
        for (u64 done = 0; done < bench.bytes;)
            done += co_await write(pair.data, bench.block);
    co_await close_write_end(pair.data);
}

Program bw_pipe_reader(Kernel &kernel, Pair &pair, BwPipe bench) {
    const TaskSpec writer{.name = "bw_pipe writer"};
    pair.writer = co_await fork(kernel, writer, bw_pipe_writer(kernel, pair, bench));
    pair.together.started = pair.together.last = kernel.now();
    for (u64 pass = 0; bench.passes == 0 || pass < bench.passes; pass++) {
        co_await write(pair.control, control_message);
        for (u64 done = 0; done < bench.bytes;) {
            const u64 got = co_await read(pair.data, bench.block);
            done += got;
            pair.bytes += got;
            pair.together.observe(kernel, pair.reader, pair.writer);
        }
    }
    co_await close_write_end(pair.control);
    pair.finished = true;
}

class BwPipeWorkload final : public Workload {
  public:
    BwPipeWorkload(BwPipe bench, u32 buffers, u64 pairs, s64 start)
        : bench_(bench), buffers_(buffers), pair_count_(pairs), start_(start) {}

    void start(Kernel &kernel) override {
        for (u64 i = 0; i < pair_count_; i++) {
            Pair &pair = pairs_.emplace_back(kernel, buffers_);
            CpuId shell{start_};
            if (!shell.valid()) {
                u64 nth = kernel.random("bw_pipe start", i).below(static_cast<u64>(kernel.online().weight()));
                for (shell = kernel.online().first(); nth > 0; nth--)
                    shell = kernel.online().next(shell + 1);
            }
            pair.reader = kernel.spawn({.name = "bw_pipe"}, bw_pipe_reader(kernel, pair, bench_), shell);
        }
    }

    void start_measuring(const Kernel &kernel) override {
        for (Pair &pair : pairs_) {
            pair.bytes = 0;
            pair.together = {};
            pair.together.started = pair.together.last = kernel.now();
        }
    }

    [[nodiscard]] bool finishes() const override { return bench_.passes != 0; }
    [[nodiscard]] bool finished() const override {
        for (const Pair &pair : pairs_)
            if (!pair.finished)
                return false;
        return true;
    }

    void collect(const Kernel &kernel, std::vector<Metric> &metrics) const override {
        double mb_per_s = 0;
        double split = 0;
        std::array<double, nearness_count> near{};
        double time = 0;
        for (const Pair &pair : pairs_) {
            if (!pair.writer.valid())
                continue;
            Together together = pair.together;
            if (!pair.finished)
                together.observe(kernel, pair.reader, pair.writer);
            const auto ns = static_cast<double>(together.last - together.started);
            if (ns > 0)
                mb_per_s += static_cast<double>(pair.bytes) * 1e3 / ns;
            split += 2 * together.split > together.last - together.started ? 1 : 0;
            time += ns;
            for (std::size_t i = 0; i < nearness_count; i++)
                near[i] += static_cast<double>(together.near[i]);
        }
        metrics.push_back({"MB/s", mb_per_s});
        metrics.push_back({"split", split / static_cast<double>(pair_count_)});
        constexpr std::array names = {"share same_cpu", "share smt",     "share l2",    "share llc",
                                      "share node",     "share package", "share remote"};
        for (std::size_t i = 0; i < nearness_count; i++)
            metrics.push_back({names[i], time > 0 ? near[i] / time : 0});
    }

  private:
    BwPipe bench_;
    u32 buffers_;
    u64 pair_count_;
    s64 start_;
    std::deque<Pair> pairs_;
};

} // namespace

std::unique_ptr<Workload> make_bw_pipe(const Options &options) {
    OptionReader reader("bw_pipe", options);
    BwPipe bench{};
    bench.block = reader.size("block", 64 * 1024, 1);
    bench.bytes = reader.size("bytes", 10 * 1024 * 1024, 1);
    bench.passes = static_cast<u64>(reader.integer("passes", 0, 0, 1000000000));
    u32 buffers = 1; // F_SETPIPE_SZ rounds up to a power of two
    for (const auto wanted = static_cast<u32>(reader.integer("buffers", 16, 1, 4096)); buffers < wanted;)
        buffers *= 2;
    const auto pairs = static_cast<u64>(reader.integer("pairs", 1, 1, 100000));
    const s64 start = reader.integer("start", -1, -1, max_cpus - 1);
    reader.done();
    return std::make_unique<BwPipeWorkload>(bench, buffers, pairs, start);
}

} // namespace fairground
