// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/event_queue.h"

namespace fairground::kernel {

void EventQueue::sift_up(u32 at, Event event) {
    while (at > 0) {
        const u32 parent = (at - 1) / 4;
        if (!(event < heap_[parent]))
            break;
        place(at, heap_[parent]);
        at = parent;
    }
    place(at, event);
}

void EventQueue::sift_down(u32 at, Event event) {
    const auto size = static_cast<u32>(heap_.size());
    for (;;) {
        const u32 first = at * 4 + 1;
        if (first >= size)
            break;
        const auto lesser = [this](u32 a, u32 b) { return heap_[b] < heap_[a] ? b : a; };
        u32 least = first;
        if (first + 4 <= size) [[likely]]
            least = lesser(lesser(first, first + 1), lesser(first + 2, first + 3));
        else
            for (u32 child = first + 1; child < size; child++)
                least = lesser(least, child);
        if (!(heap_[least] < event))
            break;
        place(at, heap_[least]);
        at = least;
    }
    place(at, event);
}

void EventQueue::remove(u32 at) {
    position_[heap_[at].slot] = none;
    const Event last = heap_.back();
    heap_.pop_back();
    if (at == heap_.size())
        return;
    if (at > 0 && last < heap_[(at - 1) / 4])
        sift_up(at, last);
    else
        sift_down(at, last);
}

} // namespace fairground::kernel
