// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/event_queue.h"

#include "base/random.h"

#include <gtest/gtest.h>
#include <map>
#include <tuple>

namespace fairground::kernel {
namespace {

TEST(Event, OrderIsTimeThenKindThenSequence) {
    const auto at = [](Time time, EventKind kind, u64 sequence) {
        return Event{time, Event::make_order(kind, sequence), 0, 0};
    };
    EXPECT_LT(at(1, EventKind::work, 9), at(2, EventKind::jiffy, 0));
    EXPECT_LT(at(5, EventKind::timer, 9), at(5, EventKind::work, 0)) << "interrupts come before the work they meet";
    EXPECT_LT(at(5, EventKind::jiffy, 9), at(5, EventKind::timer, 0));
    EXPECT_LT(at(5, EventKind::work, 3), at(5, EventKind::work, 4)) << "first armed, first served";
    EXPECT_FALSE(at(5, EventKind::work, 3) < at(5, EventKind::work, 3));
    EXPECT_EQ(at(5, EventKind::resched, 3).kind(), EventKind::resched);
}

TEST(EventQueue, ArmingAgainMovesTheEvent) {
    EventQueue queue(2);
    queue.arm(EventKind::work, 0, 10);
    queue.arm(EventKind::work, 1, 20);
    queue.arm(EventKind::work, 0, 30);
    EXPECT_EQ(queue.size(), 2U);
    EXPECT_EQ(queue.pop().cpu, 1);
    EXPECT_EQ(queue.time_of(EventKind::work, 0), 30U);
    queue.arm(EventKind::work, 0, 5);
    EXPECT_EQ(queue.pop().time, 5U);
    EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, ACancelledEventIsGone) {
    EventQueue queue(3);
    for (s32 cpu = 0; cpu < 3; cpu++)
        queue.arm(EventKind::timer, cpu, static_cast<Time>(10 + cpu));
    queue.cancel(EventKind::timer, 1);
    queue.cancel(EventKind::timer, 1); // again: nothing
    EXPECT_FALSE(queue.armed(EventKind::timer, 1));
    EXPECT_EQ(queue.pop().cpu, 0);
    EXPECT_EQ(queue.pop().cpu, 2);
    EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, TheEventBeingHandledCountsAsGoneUntilItIsArmedAgain) {
    EventQueue queue(2);
    queue.arm(EventKind::work, 0, 10);
    queue.arm(EventKind::timer, 1, 20);
    EXPECT_EQ(queue.begin().cpu, 0);
    EXPECT_FALSE(queue.armed(EventKind::work, 0));
    queue.cancel(EventKind::work, 0);   // nothing to cancel
    queue.arm(EventKind::timer, 0, 10); // sorts before the one being handled
    queue.end();
    EXPECT_EQ(queue.size(), 2U);

    EXPECT_EQ(queue.begin().kind(), EventKind::timer);
    queue.arm(EventKind::timer, 0, 30); // again: moved, not doubled
    queue.end();
    EXPECT_EQ(queue.size(), 2U);
    EXPECT_TRUE(queue.armed(EventKind::timer, 0));
    EXPECT_EQ(queue.pop().time, 20U);
    EXPECT_EQ(queue.begin().time, 30U);
    queue.arm(EventKind::timer, 0, 40);
    queue.cancel(EventKind::timer, 0); // armed again, then not
    queue.end();
    EXPECT_TRUE(queue.empty());
}

// Against an ordered map that does the same.
TEST(EventQueue, AgreesWithASortedReference) {
    constexpr s32 cpus = 37;
    EventQueue queue(cpus);
    using Key = std::tuple<Time, EventKind, u64>; // time, kind, sequence
    std::map<Key, s32> reference;
    std::map<std::pair<EventKind, s32>, Key> armed;
    RandomStream random(1, "event queue");
    u64 sequence = 0;
    for (int i = 0; i < 200000; i++) {
        const auto kind = static_cast<EventKind>(random.below(event_kinds));
        const auto cpu = static_cast<s32>(random.below(cpus));
        const auto found = armed.find({kind, cpu});
        switch (random.below(4)) {
        case 0:
        case 1: {
            const Time time = random.below(50); // many ties
            queue.arm(kind, cpu, time);
            if (found != armed.end())
                reference.erase(found->second);
            armed[{kind, cpu}] = {time, kind, sequence};
            reference[{time, kind, sequence}] = cpu;
            sequence++;
            break;
        }
        case 2:
            queue.cancel(kind, cpu);
            if (found != armed.end()) {
                reference.erase(found->second);
                armed.erase(found);
            }
            break;
        default:
            ASSERT_EQ(queue.empty(), reference.empty());
            if (!queue.empty()) {
                const auto [key, expected_cpu] = *reference.begin();
                const Event event = queue.pop();
                ASSERT_EQ(event.time, std::get<0>(key));
                ASSERT_EQ(event.kind(), std::get<1>(key));
                ASSERT_EQ(event.cpu, expected_cpu);
                armed.erase({event.kind(), event.cpu});
                reference.erase(reference.begin());
            }
        }
        ASSERT_EQ(queue.size(), reference.size());
    }
}

} // namespace
} // namespace fairground::kernel
