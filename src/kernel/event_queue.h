// SPDX-License-Identifier: GPL-2.0-only
//
// The event queue. Every source of events (a CPU's interrupt lines, timer, tick, running work) owns one slot, and a
// slot has at most one event pending: arming it again moves the event, so nothing stale is ever left behind and the
// queue never grows past the number of slots.
//
// Order of events: by time; at the same instant by kind (interrupts before the work they interrupt); then in the
// order in which they were armed. That order is the whole tie rule and makes runs reproducible.
//
// A flat 4-ary heap with a table of positions: arm and cancel are O(log n) and allocate nothing. The event being
// handled stays in the heap between begin() and end(): most handlers arm their own slot again, which then is one move
// instead of a removal and an insertion.
#pragma once

#include "base/types.h"

#include <compare>
#include <vector>

namespace fairground::kernel {

// In order of precedence at one instant.
enum class EventKind : u8 {
    jiffy,   // global: the tick of every CPU that ticks
    timer,   // a CPU's next hrtimer (nanosleep)
    tick,    // a tick that found its CPU in an idle state, delivered when the CPU is awake
    hrtick,  // end of a slice
    call,    // function-call interrupt: wake list
    kick,    // function-call interrupt: NOHZ balance
    resched, // reschedule interrupt
    work,    // what the CPU is doing now ends
};
inline constexpr u32 event_kinds = 8;

struct Event {
    Time time = 0;
    u64 order = 0; // kind in the top byte, then the sequence number
    s32 cpu = -1;
    u32 slot = 0;

    [[nodiscard]] EventKind kind() const { return static_cast<EventKind>(order >> 56); }
    static constexpr u64 make_order(EventKind kind, u64 sequence) { return static_cast<u64>(kind) << 56 | sequence; }

    // One wide comparison: which of two events comes first is as good as random, so no branch should depend on it.
    friend bool operator<(const Event &a, const Event &b) { return a.key() < b.key(); }

  private:
    [[nodiscard]] u128 key() const { return static_cast<u128>(time) << 64 | order; }
};

class EventQueue {
  public:
    explicit EventQueue(std::size_t cpus) : position_(cpus * event_kinds, none) { heap_.reserve(cpus * event_kinds); }

    // Sets the event of (kind, cpu) for `time`, replacing a pending one.
    void arm(EventKind kind, s32 cpu, Time time) {
        const u32 slot = slot_of(kind, cpu);
        const Event event{time, Event::make_order(kind, sequence_++), cpu, slot};
        if (slot == current_)
            current_ = none;
        u32 at = position_[slot];
        if (at == none) {
            at = static_cast<u32>(heap_.size());
            heap_.push_back(event);
            sift_up(at, event);
        } else if (event < heap_[at]) {
            sift_up(at, event);
        } else {
            sift_down(at, event);
        }
    }
    void cancel(EventKind kind, s32 cpu) {
        const u32 slot = slot_of(kind, cpu);
        if (position_[slot] != none && slot != current_)
            remove(position_[slot]);
    }
    [[nodiscard]] bool armed(EventKind kind, s32 cpu) const {
        const u32 slot = slot_of(kind, cpu);
        return position_[slot] != none && slot != current_;
    }
    // Precondition: armed.
    [[nodiscard]] Time time_of(EventKind kind, s32 cpu) const { return heap_[position_[slot_of(kind, cpu)]].time; }

    [[nodiscard]] bool empty() const { return heap_.empty(); }
    [[nodiscard]] std::size_t size() const { return heap_.size(); }
    [[nodiscard]] const Event &first() const { return heap_.front(); }
    // The first event is due: between begin() and end() it counts as not armed.
    Event begin() {
        current_ = heap_.front().slot;
        return heap_.front();
    }
    void end() {
        if (current_ != none)
            remove(position_[current_]);
        current_ = none;
    }
    Event pop() {
        const Event event = begin();
        end();
        return event;
    }

  private:
    static constexpr u32 none = ~u32{0};

    static u32 slot_of(EventKind kind, s32 cpu) { return static_cast<u32>(cpu) * event_kinds + static_cast<u32>(kind); }
    void place(u32 at, const Event &event) {
        heap_[at] = event;
        position_[event.slot] = at;
    }
    void sift_up(u32 at, Event event);
    void sift_down(u32 at, Event event);
    void remove(u32 at);

    std::vector<Event> heap_;
    std::vector<u32> position_; // by slot
    u64 sequence_ = 0;
    u32 current_ = none; // slot of the event being handled, until it is armed again
};

} // namespace fairground::kernel
