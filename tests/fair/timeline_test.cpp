// SPDX-License-Identifier: GPL-2.0-only
#include "fair/timeline.h"

#include "base/random.h"

#include <algorithm>
#include <deque>
#include <gtest/gtest.h>
#include <vector>

namespace fairground::fair {
namespace {

std::vector<const Entity *> order_of(const Timeline &timeline) {
    std::vector<const Entity *> order;
    for (const Entity *se = timeline.first(); se != nullptr; se = Timeline::next(*se))
        order.push_back(se);
    return order;
}

// Height of the subtree; fails the test if a node's own idea of its subtree is wrong.
u32 verify(const Entity *se) {
    if (se == nullptr)
        return 0;
    const u32 left = verify(se->node.left);
    const u32 right = verify(se->node.right);
    EXPECT_LE(std::max(left, right) - std::min(left, right), 1u);
    u64 min_vruntime = se->vruntime;
    u64 min_slice = se->slice;
    u64 max_slice = se->slice;
    for (const Entity *child : {se->node.left, se->node.right}) {
        if (child == nullptr)
            continue;
        EXPECT_EQ(child->node.parent, se);
        min_vruntime = vtime_before(child->node.min_vruntime, min_vruntime) ? child->node.min_vruntime : min_vruntime;
        min_slice = std::min(min_slice, child->node.min_slice);
        max_slice = std::max(max_slice, child->node.max_slice);
    }
    EXPECT_EQ(se->node.min_vruntime, min_vruntime);
    EXPECT_EQ(se->node.min_slice, min_slice);
    EXPECT_EQ(se->node.max_slice, max_slice);
    EXPECT_EQ(se->node.rank, std::max(left, right) + 1);
    return se->node.rank;
}

// EEVDF-51, -54 against a sorted vector, with times around the wrap of u64 and many equal deadlines.
TEST(Timeline, KeepsDeadlineOrderAndFindsTheFirstEligible) {
    RandomStream random(7);
    std::deque<Entity> entities(300);
    std::vector<Entity *> reference;
    std::vector<Entity *> outside;
    for (Entity &se : entities)
        outside.push_back(&se);
    Timeline timeline;

    for (int step = 0; step < 6000; step++) {
        const bool insert = !outside.empty() && (reference.empty() || random.below(100) < (step < 3000 ? 60 : 40));
        auto &from = insert ? outside : reference;
        const auto at = from.begin() + static_cast<std::ptrdiff_t>(random.below(from.size()));
        Entity *se = *at;
        from.erase(at);
        if (insert) {
            se->deadline = random.below(40) - 20;
            se->vruntime = random.below(1000) - 500;
            se->slice = 1 + random.below(50);
            timeline.insert(*se);
            const auto behind = std::ranges::find_if(
                reference, [se](const Entity *other) { return vtime_before(se->deadline, other->deadline); });
            reference.insert(behind, se);
        } else {
            se->deadline = random.below(40); // EEVDF-52: removal does not compare
            timeline.remove(*se);
            outside.push_back(se);
        }
        const auto order = order_of(timeline);
        ASSERT_TRUE(std::ranges::equal(order, reference)) << "step " << step;
        if (step % 50 == 0)
            verify(timeline.root());
        const u64 limit = random.below(1000) - 500;
        const auto eligible = [limit](u64 vruntime) { return !vtime_before(limit, vruntime); };
        const auto expected =
            std::ranges::find_if(reference, [&](const Entity *other) { return eligible(other->vruntime); });
        ASSERT_EQ(timeline.first_where(eligible), expected == reference.end() ? nullptr : *expected);
        ASSERT_FALSE(HasFailure());
    }
}

TEST(Timeline, StaysShallowWithTwentyThousandEntities) {
    std::deque<Entity> entities(20000);
    Timeline timeline;
    for (std::size_t i = 0; i < entities.size(); i++) { // ascending: the worst case of an unbalanced tree
        entities[i].deadline = i;
        timeline.insert(entities[i]);
    }
    EXPECT_LE(verify(timeline.root()), 15u);
    for (Entity &se : entities)
        timeline.remove(se);
    EXPECT_TRUE(timeline.empty());
    EXPECT_EQ(timeline.first(), nullptr);
}

} // namespace
} // namespace fairground::fair
