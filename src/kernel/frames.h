// SPDX-License-Identifier: GPL-2.0-only
//
// Memory for coroutine frames. A system call is a coroutine, so frames come and go with every call; they are taken
// from free lists by size and only the first call of each depth reaches the heap. The pool must outlive its frames.
#pragma once

#include "base/types.h"

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace fairground::kernel {

class FramePool {
  public:
    FramePool() = default;
    FramePool(const FramePool &) = delete;
    FramePool &operator=(const FramePool &) = delete;
    ~FramePool() = default;

    void *take(std::size_t size) {
        const std::size_t bucket = (size + sizeof(Header) + grain - 1) / grain;
        if (bucket >= buckets)
            return oversize(size);
        Header *&list = free_[bucket];
        if (list == nullptr)
            grow(bucket);
        Header *header = list;
        list = header->next;
        header->pool = this;
        header->bucket = bucket;
        return header + 1;
    }
    static void give(void *frame) {
        Header *header = static_cast<Header *>(frame) - 1;
        if (header->pool == nullptr) {
            ::operator delete(header);
            return;
        }
        Header *&list = header->pool->free_[header->bucket];
        header->next = list;
        list = header;
    }

  private:
    struct alignas(std::max_align_t) Header {
        FramePool *pool;
        union {
            Header *next;
            std::size_t bucket;
        };
    };
    static constexpr std::size_t grain = 64;
    static constexpr std::size_t buckets = 64; // frames up to 4 KiB

    static void *oversize(std::size_t size) {
        auto *header = static_cast<Header *>(::operator new(size + sizeof(Header)));
        header->pool = nullptr;
        return header + 1;
    }
    void grow(std::size_t bucket) {
        constexpr std::size_t batch = 16;
        slabs_.push_back(std::make_unique<std::byte[]>(bucket * grain * batch));
        for (std::size_t i = 0; i < batch; i++) {
            auto *header = reinterpret_cast<Header *>(slabs_.back().get() + i * bucket * grain);
            header->next = free_[bucket];
            free_[bucket] = header;
        }
    }

    std::array<Header *, buckets> free_{};
    std::vector<std::unique_ptr<std::byte[]>> slabs_;
};

} // namespace fairground::kernel
