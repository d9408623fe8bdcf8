// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/pipe.h"

#include <algorithm>
#include <limits>

namespace fairground::kernel {

u64 Pipe::bytes() const {
    u64 sum = 0;
    for (u32 i = tail_; i != head_; i++)
        sum += ring_[i & (ring_.size() - 1)].length;
    return sum;
}

// Pages: a pool in the pipe, filled by the writer before it takes the mutex, and by the reader with what it has
// consumed. A page that the writer allocates comes from its own CPU's list.
u64 Pipe::missing_pages(u64 bytes) const {
    const u64 want = std::min<u64>((bytes + page_size - 1) / page_size, pool_max);
    return want - std::min<u64>(want, pool_count_);
}

void Pipe::fill_pool(u64 pages) {
    for (; pages > 0 && pool_count_ < pool_max; pages--)
        pool_[pool_count_++] = {kernel_.this_cpu()};
}

Pipe::Page Pipe::take_page() { return pool_[--pool_count_]; }

void Pipe::give_page(Page page) {
    if (pool_count_ < pool_max)
        pool_[pool_count_++] = page;
}

void Pipe::trim_and_unlock() {
    pool_count_ = std::min(pool_count_, pool_keep);
    unlock(kernel_, mutex_);
}

void Pipe::wake_readers(int exclusive) {
    reader_wakes_++;
    kernel_.wake_up(rd_wait_, fair::WF_SYNC, exclusive);
}

void Pipe::wake_writers(int exclusive) {
    writer_wakes_++;
    kernel_.wake_up(wr_wait_, fair::WF_SYNC, exclusive);
}

Call<u64> write(Pipe &pipe, u64 bytes) {
    constexpr u64 page_size = Pipe::page_size;
    Kernel &kernel = pipe.kernel_;
    u64 left = bytes;
    if (left == 0)
        co_return 0;
    // The time this takes outside of the mutex decides whether the writer finds the reader it has just woken asleep
    // still or already holding the mutex: the two regimes of a bandwidth test.
    if (const u64 pages = pipe.missing_pages(left); pages > 0) {
        co_await spend(pages * kernel.costs().page_alloc_ns);
        pipe.fill_pool(pages);
    }
    co_await lock(kernel, pipe.mutex_);
    bool was_empty = pipe.empty();
    bool wake_next_writer = false;

    // WAKER-21: what does not fill a page is appended to the last buffer if it fits there.
    const u64 odd = left % page_size;
    if (odd > 0 && !was_empty && pipe.readers_ > 0) {
        Pipe::Buffer &last = pipe.slot(pipe.head_ - 1);
        if (last.offset + last.length + odd <= page_size) {
            co_await spend(kernel.distances().copy_ns(last.page.touched, kernel.this_cpu(), odd));
            last.page.touched = kernel.this_cpu();
            last.length += static_cast<u32>(odd);
            pipe.written_ += odd;
            left -= odd;
        }
    }
    while (left > 0 && pipe.readers_ > 0) {
        if (!pipe.full()) {
            if (pipe.pool_count_ == 0) {
                co_await spend(kernel.costs().page_alloc_ns);
                pipe.fill_pool(1);
            }
            Pipe::Page page = pipe.take_page();
            const u64 chunk = std::min(left, page_size);
            co_await spend(kernel.distances().copy_ns(page.touched, kernel.this_cpu(), chunk));
            page.touched = kernel.this_cpu();
            pipe.slot(pipe.head_++) = {.page = page, .offset = 0, .length = static_cast<u32>(chunk)};
            pipe.written_ += chunk;
            left -= chunk;
            continue;
        }
        // WAKER-23
        unlock(kernel, pipe.mutex_);
        if (was_empty)
            pipe.wake_readers();
        while (pipe.full() && pipe.readers_ > 0) {
            pipe.wr_wait_.add(kernel.current(), true);
            co_await block();
        }
        co_await lock(kernel, pipe.mutex_);
        was_empty = pipe.empty();
        wake_next_writer = true;
    }
    if (pipe.full())
        wake_next_writer = false;
    pipe.trim_and_unlock();
    // WAKER-22: only a write that found the pipe empty wakes a reader.
    if (was_empty)
        pipe.wake_readers();
    if (wake_next_writer)
        pipe.wake_writers();
    co_return bytes - left;
}

// WAKER-24
Call<u64> read(Pipe &pipe, u64 bytes) {
    Kernel &kernel = pipe.kernel_;
    u64 got = 0;
    if (bytes == 0)
        co_return 0;
    bool wake_writer = false;
    bool wake_next_reader = false;
    co_await lock(kernel, pipe.mutex_);
    for (;;) {
        if (!pipe.empty()) {
            Pipe::Buffer &buffer = pipe.slot(pipe.tail_);
            const u64 chunk = std::min<u64>(buffer.length, bytes - got);
            co_await spend(kernel.distances().copy_ns(buffer.page.touched, kernel.this_cpu(), chunk));
            buffer.page.touched = kernel.this_cpu();
            buffer.offset += static_cast<u32>(chunk);
            buffer.length -= static_cast<u32>(chunk);
            pipe.read_ += chunk;
            got += chunk;
            if (buffer.length == 0) {
                wake_writer |= pipe.full();
                pipe.give_page(buffer.page);
                pipe.tail_++;
            }
            if (got == bytes)
                break;
            if (!pipe.empty())
                continue;
        }
        if (pipe.writers_ == 0 || got > 0)
            break;
        unlock(kernel, pipe.mutex_);
        while (pipe.empty() && pipe.writers_ > 0) {
            pipe.rd_wait_.add(kernel.current(), true);
            co_await block();
        }
        wake_next_reader = true;
        co_await lock(kernel, pipe.mutex_);
    }
    if (pipe.empty())
        wake_next_reader = false;
    pipe.trim_and_unlock();
    if (wake_writer)
        pipe.wake_writers();
    if (wake_next_reader)
        pipe.wake_readers();
    co_return got;
}

Call<> close_read_end(Pipe &pipe) {
    co_await lock(pipe.kernel_, pipe.mutex_);
    pipe.readers_--;
    unlock(pipe.kernel_, pipe.mutex_);
    if (pipe.readers_ == 0)
        pipe.wake_writers(std::numeric_limits<int>::max());
}

Call<> close_write_end(Pipe &pipe) {
    co_await lock(pipe.kernel_, pipe.mutex_);
    pipe.writers_--;
    unlock(pipe.kernel_, pipe.mutex_);
    if (pipe.writers_ == 0)
        pipe.wake_readers(std::numeric_limits<int>::max());
}

} // namespace fairground::kernel
