// SPDX-License-Identifier: GPL-2.0-only
//
// Pipes as fs/pipe.c has them: a ring of page buffers, who wakes whom and when (WAKER-20..25). Only byte counts
// travel; what is kept of a page is which CPU touched it last, because that decides what copying it costs.
//
// One copy per page is one piece of kernel work, so a long write can be preempted between pages and its reader can
// be delayed by it. The pipe's mutex is held meanwhile: writer and reader of one pipe do not copy at the same time.
#pragma once

#include "kernel/kernel.h"
#include "kernel/mutex.h"

#include <array>
#include <vector>

namespace fairground::kernel {

class Pipe {
  public:
    static constexpr u64 page_size = 4096;

    // `buffers`: max_usage, a power of two (WAKER-20). One reader end and one writer end are open.
    explicit Pipe(Kernel &kernel, u32 buffers = 16) : kernel_(kernel), ring_(buffers) {}
    Pipe(const Pipe &) = delete;
    Pipe &operator=(const Pipe &) = delete;
    ~Pipe() = default;

    FramePool &frames() { return kernel_.frames(); }

    [[nodiscard]] u64 written() const { return written_; }
    [[nodiscard]] u64 read() const { return read_; }
    [[nodiscard]] u64 bytes() const; // in flight
    [[nodiscard]] u32 buffers() const { return head_ - tail_; }
    [[nodiscard]] bool empty() const { return head_ == tail_; }
    [[nodiscard]] bool full() const { return head_ - tail_ >= ring_.size(); }

    // Wake passes over the readers and the writers, whether or not anyone slept.
    [[nodiscard]] u64 reader_wakes() const { return reader_wakes_; }
    [[nodiscard]] u64 writer_wakes() const { return writer_wakes_; }

    friend Call<u64> write(Pipe &pipe, u64 bytes);
    friend Call<u64> read(Pipe &pipe, u64 bytes);
    friend Call<> close_read_end(Pipe &pipe);
    friend Call<> close_write_end(Pipe &pipe);

  private:
    struct Page {
        CpuId touched; // copied to or from there last
    };
    struct Buffer {
        Page page;
        u32 offset = 0;
        u32 length = 0;
    };
    static constexpr std::size_t pool_max = 8;  // pages that a write sets aside before it takes the mutex
    static constexpr std::size_t pool_keep = 2; // and that stay when the mutex is released

    Buffer &slot(u32 index) { return ring_[index & (ring_.size() - 1)]; }
    [[nodiscard]] u64 missing_pages(u64 bytes) const;
    void fill_pool(u64 pages);
    Page take_page();
    void give_page(Page page);
    void trim_and_unlock();
    void wake_readers(int exclusive = 1);
    void wake_writers(int exclusive = 1);

    Kernel &kernel_;
    Mutex mutex_;
    WaitQueue rd_wait_;
    WaitQueue wr_wait_;
    std::vector<Buffer> ring_;
    u32 head_ = 0;
    u32 tail_ = 0;
    std::array<Page, pool_max> pool_{};
    std::size_t pool_count_ = 0;
    u32 readers_ = 1;
    u32 writers_ = 1;
    u64 written_ = 0;
    u64 read_ = 0;
    u64 reader_wakes_ = 0;
    u64 writer_wakes_ = 0;
};

// System calls. write returns less than `bytes` only when the read end was closed, read 0 only at end of file.
Call<u64> write(Pipe &pipe, u64 bytes);
Call<u64> read(Pipe &pipe, u64 bytes);
// The other side is woken and finds the end closed.
Call<> close_read_end(Pipe &pipe);
Call<> close_write_end(Pipe &pipe);

} // namespace fairground::kernel
