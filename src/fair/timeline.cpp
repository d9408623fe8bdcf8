// SPDX-License-Identifier: GPL-2.0-only
#include "fair/timeline.h"

#include <algorithm>
#include <utility>

namespace fairground::fair {

namespace {

// TimelineNode::rank is the height of the subtree.
u32 height(const Entity *se) { return se == nullptr ? 0 : se->node.rank; }

// Brings height, minima and maxima up to date with both children; true if any of them changed.
bool refresh(Entity &se) {
    TimelineNode &node = se.node;
    u32 rank = 1;
    u64 min_vruntime = se.vruntime;
    u64 min_slice = se.slice;
    u64 max_slice = se.slice;
    for (const Entity *child : {node.left, node.right}) {
        if (child == nullptr)
            continue;
        rank = std::max(rank, child->node.rank + 1);
        if (vtime_before(child->node.min_vruntime, min_vruntime))
            min_vruntime = child->node.min_vruntime;
        min_slice = std::min(min_slice, child->node.min_slice);
        max_slice = std::max(max_slice, child->node.max_slice);
    }
    const bool changed = rank != node.rank || min_vruntime != node.min_vruntime || min_slice != node.min_slice ||
                         max_slice != node.max_slice;
    node.rank = rank;
    node.min_vruntime = min_vruntime;
    node.min_slice = min_slice;
    node.max_slice = max_slice;
    return changed;
}

} // namespace

void Timeline::replace_child(Entity *parent, Entity *old_child, Entity *new_child) {
    if (parent == nullptr)
        root_ = new_child;
    else if (parent->node.left == old_child)
        parent->node.left = new_child;
    else
        parent->node.right = new_child;
    if (new_child != nullptr)
        new_child->node.parent = parent;
}

// Lifts the child on the heavy side above `top` and returns it.
Entity *Timeline::rotate(Entity *top, Entity *TimelineNode::*heavy, Entity *TimelineNode::*light) {
    Entity *pivot = top->node.*heavy;
    replace_child(top->node.parent, top, pivot);
    top->node.*heavy = pivot->node.*light;
    if (top->node.*heavy != nullptr)
        (top->node.*heavy)->node.parent = top;
    pivot->node.*light = top;
    top->node.parent = pivot;
    refresh(*top);
    refresh(*pivot);
    return pivot;
}

// Restores balance and subtree values from `se` up to the first ancestor that does not change.
void Timeline::rebalance_from(Entity *se) {
    while (se != nullptr) {
        bool changed = refresh(*se);
        const u32 left = height(se->node.left);
        const u32 right = height(se->node.right);
        if (left > right + 1 || right > left + 1) {
            auto heavy = &TimelineNode::left;
            auto light = &TimelineNode::right;
            if (right > left)
                std::swap(heavy, light);
            Entity *child = se->node.*heavy;
            if (height(child->node.*light) > height(child->node.*heavy))
                rotate(child, light, heavy);
            se = rotate(se, heavy, light);
            changed = true;
        }
        if (!changed)
            return;
        se = se->node.parent;
    }
}

void Timeline::insert(Entity &se) {
    Entity *parent = nullptr;
    bool is_first = true;
    bool left = true;
    for (Entity *at = root_; at != nullptr; at = left ? at->node.left : at->node.right) {
        parent = at;
        left = vtime_before(se.deadline, at->deadline); // equal: behind
        is_first = is_first && left;
    }
    se.node = TimelineNode{};
    se.node.parent = parent;
    if (parent == nullptr)
        root_ = &se;
    else if (left)
        parent->node.left = &se;
    else
        parent->node.right = &se;
    if (is_first)
        leftmost_ = &se;
    rebalance_from(&se);
}

void Timeline::remove(Entity &se) {
    if (leftmost_ == &se)
        leftmost_ = next(se);

    TimelineNode &node = se.node;
    Entity *start = nullptr; // lowest entity whose subtree changed
    if (node.left == nullptr || node.right == nullptr) {
        start = node.parent;
        replace_child(node.parent, &se, node.left == nullptr ? node.right : node.left);
    } else {
        // The successor, which has no left child, takes the place of `se`.
        Entity *successor = next(se);
        if (successor->node.parent == &se) {
            start = successor;
        } else {
            start = successor->node.parent;
            replace_child(start, successor, successor->node.right);
            successor->node.right = node.right;
            node.right->node.parent = successor;
        }
        successor->node.left = node.left;
        node.left->node.parent = successor;
        replace_child(node.parent, &se, successor);
        // What the ancestors have seen here so far, so that the walk upwards notices any difference.
        successor->node.rank = node.rank;
        successor->node.min_vruntime = node.min_vruntime;
        successor->node.min_slice = node.min_slice;
        successor->node.max_slice = node.max_slice;
        if (start != successor) {
            rebalance_from(start);
            start = successor;
        }
    }
    rebalance_from(start);
    node = TimelineNode{};
}

Entity *Timeline::next(const Entity &se) {
    if (Entity *at = se.node.right; at != nullptr) {
        while (at->node.left != nullptr)
            at = at->node.left;
        return at;
    }
    const Entity *from = &se;
    Entity *at = se.node.parent;
    while (at != nullptr && at->node.right == from) {
        from = at;
        at = at->node.parent;
    }
    return at;
}

} // namespace fairground::fair
