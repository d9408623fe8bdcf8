// SPDX-License-Identifier: GPL-2.0-only
//
// Pipes: the worked examples of wakers.md section 3, and what must always hold.
#include "kernel/machines.h"
#include "kernel/pipe.h"

#include <gtest/gtest.h>

namespace fairground::kernel {
namespace {

Program writes(Kernel &, Pipe &pipe, u64 size, u64 count, u64 &done) {
    for (u64 i = 0; i < count; i++) {
        co_await write(pipe, size);
        done++;
    }
}

Program reads(Kernel &, Pipe &pipe, u64 size, u64 count, u64 &bytes) {
    for (u64 i = 0; i < count; i++)
        bytes += co_await read(pipe, size);
}

// Two CPUs: the writer's tasks on 0, the reader's on 1.
struct PipeTest : ::testing::Test {
    explicit PipeTest(u32 buffers = 16)
        : kernel(grid(1, 2), default_features(grid(1, 2)), {}, 1), pipe(kernel, buffers) {
        kernel.wakes = &wakes;
    }
    TaskId writer(u64 size, u64 count = 1) {
        const TaskId id = kernel.spawn({.name = "writer", .cpus = CpuMask::of(CpuId{0})},
                                       writes(kernel, pipe, size, count, written), CpuId{0});
        settle();
        return id;
    }
    TaskId reader(u64 size, u64 count = 1) {
        const TaskId id = kernel.spawn({.name = "reader", .cpus = CpuMask::of(CpuId{1})},
                                       reads(kernel, pipe, size, count, bytes), CpuId{1});
        settle();
        return id;
    }
    void settle() { kernel.run_until(kernel.now() + 20 * ns_per_ms); }
    Phase phase(TaskId id) { return kernel.thread(id).phase; }

    Kernel kernel;
    Pipe pipe;
    std::vector<WakeRecord> wakes;
    u64 written = 0; // writes that returned
    u64 bytes = 0;   // read
};

// WAKER-21, -22: 40 messages of 100 bytes in each of 16 pages; the first finds the pipe empty.
TEST_F(PipeTest, HundredByteWritesNobodyReading) {
    const TaskId w = writer(100, 641);
    EXPECT_EQ(written, 640U);
    EXPECT_EQ(pipe.written(), 64000U);
    EXPECT_EQ(pipe.buffers(), 16U);
    EXPECT_EQ(pipe.reader_wakes(), 1U);
    EXPECT_EQ(phase(w), Phase::sleeping);

    // WAKER-24: only the read that frees the first page of the full ring wakes the writer.
    reader(100, 39);
    EXPECT_EQ(pipe.writer_wakes(), 0U);
    EXPECT_EQ(written, 640U);
    wakes.clear();
    const TaskId last = reader(100);
    EXPECT_EQ(pipe.writer_wakes(), 1U);
    EXPECT_EQ(written, 641U);
    ASSERT_EQ(wakes.size(), 1U);
    EXPECT_EQ(wakes[0].waker, last);
    EXPECT_EQ(wakes[0].wakee, w);
    EXPECT_EQ(wakes[0].flags, u32{fair::WF_SYNC});
    EXPECT_TRUE(wakes[0].in_task);
    EXPECT_EQ(wakes[0].from, CpuId{1});
    EXPECT_EQ(wakes[0].to, CpuId{0});
}

struct SmallPipeTest : PipeTest {
    SmallPipeTest() : PipeTest(2) {}
};

// WAKER-20: what an unprivileged user past the limit gets.
TEST_F(SmallPipeTest, TwoBuffersHoldEightyMessages) {
    writer(100, 100);
    EXPECT_EQ(written, 80U);
}

// WAKER-23
TEST_F(PipeTest, OneByteMoreThanThePipeHolds) {
    const TaskId w = writer(65537);
    EXPECT_EQ(pipe.bytes(), 65536U);
    EXPECT_EQ(pipe.reader_wakes(), 1U) << "woken before the writer sleeps";
    EXPECT_EQ(phase(w), Phase::sleeping);
    reader(65536, 2);
    EXPECT_EQ(bytes, 65537U);
    EXPECT_EQ(phase(w), Phase::dead);
}

TEST_F(PipeTest, ReadOfAPageFromAFullPipeWakesTheWriter) {
    writer(4096, 17);
    EXPECT_EQ(written, 16U);
    reader(4095);
    EXPECT_EQ(pipe.writer_wakes(), 0U);
    reader(1);
    EXPECT_EQ(pipe.writer_wakes(), 1U);
    EXPECT_EQ(written, 17U);
}

// WAKER-21
TEST_F(PipeTest, SmallWritesShareAPageWhileTheyFit) {
    writer(4000);
    writer(96);
    EXPECT_EQ(pipe.buffers(), 1U);
    writer(1);
    EXPECT_EQ(pipe.buffers(), 2U);
}

TEST_F(PipeTest, RoomThatWasReadDoesNotComeBack) {
    writer(4000);
    reader(3999);
    writer(97);
    EXPECT_EQ(pipe.buffers(), 2U);
    EXPECT_EQ(pipe.bytes(), 98U);
}

// WAKER-22: the sleeping reader is woken by the write that found the pipe empty, in task context, with the hint.
TEST_F(PipeTest, AWriteToAnEmptyPipeWakesTheReader) {
    const TaskId r = reader(4096);
    EXPECT_EQ(phase(r), Phase::sleeping);
    const TaskId w = writer(10);
    ASSERT_EQ(wakes.size(), 1U);
    EXPECT_EQ(wakes[0].waker, w);
    EXPECT_EQ(wakes[0].wakee, r);
    EXPECT_EQ(wakes[0].flags, u32{fair::WF_SYNC});
    EXPECT_EQ(bytes, 10U) << "a read that got anything returns";
    EXPECT_EQ(phase(r), Phase::dead);
}

// WAKER-24: readers sleep exclusively; the woken one passes the baton while there is something left.
TEST_F(PipeTest, TheWokenReaderWakesTheNext) {
    const TaskId first = reader(50);
    const TaskId second = reader(50);
    const TaskId third = reader(50);
    const TaskId w = writer(100);
    ASSERT_EQ(wakes.size(), 2U);
    EXPECT_EQ(wakes[0].waker, w);
    EXPECT_EQ(wakes[0].wakee, first);
    EXPECT_EQ(wakes[1].waker, first);
    EXPECT_EQ(wakes[1].wakee, second);
    EXPECT_EQ(wakes[1].flags, u32{fair::WF_SYNC});
    EXPECT_EQ(phase(third), Phase::sleeping) << "the second found the pipe empty afterwards";
}

TEST_F(PipeTest, NothingIsLostWhateverTheSizes) {
    u64 sent = 0;
    u64 got = 0;
    for (const u64 size : {1U, 100U, 4095U, 4096U, 4097U, 65536U, 70000U}) {
        kernel.spawn({.name = "w", .cpus = {}}, writes(kernel, pipe, size, 300, sent), CpuId{0});
        kernel.spawn({.name = "r", .cpus = {}}, reads(kernel, pipe, size, 200, got), CpuId{1});
    }
    for (int i = 0; i < 500; i++) {
        kernel.run_until(kernel.now() + 97000);
        ASSERT_EQ(pipe.written(), pipe.read() + pipe.bytes());
        ASSERT_LE(pipe.buffers(), 16U);
    }
    EXPECT_GT(pipe.read(), 1000000U);
}

Program closes(Kernel &, Pipe &pipe, bool read_end) {
    if (read_end)
        co_await close_read_end(pipe);
    else
        co_await close_write_end(pipe);
}

TEST_F(PipeTest, EndOfFileAndBrokenPipe) {
    const TaskId r = reader(100);
    kernel.spawn({.name = "closer"}, closes(kernel, pipe, false), CpuId{0});
    settle();
    EXPECT_EQ(phase(r), Phase::dead);
    EXPECT_EQ(bytes, 0U);

    Pipe other(kernel);
    const TaskId w = kernel.spawn({.name = "writer"}, writes(kernel, other, 70000, 1, written), CpuId{0});
    settle();
    EXPECT_EQ(phase(w), Phase::sleeping);
    kernel.spawn({.name = "closer"}, closes(kernel, other, true), CpuId{0});
    settle();
    EXPECT_EQ(phase(w), Phase::dead);
    EXPECT_EQ(other.written(), 65536U);
}

} // namespace
} // namespace fairground::kernel
