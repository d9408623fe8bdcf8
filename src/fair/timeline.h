// SPDX-License-Identifier: GPL-2.0-only
//
// Timeline: the queued entities of one queue in deadline order, equal deadlines in order of insertion
// (EEVDF-51). Every node knows the minimum vruntime and the minimum and maximum slice of its subtree.
//
// An intrusive AVL tree over Entity::node: nothing is allocated, every operation is O(log n). The order depends
// only on deadlines and the order of insertion, and the search below only on the order, so no result depends on
// the shape of the tree.
//
// While an entity is in the timeline its vruntime and slice must not change; its deadline may, because removal
// does not compare (EEVDF-52).
#pragma once

#include "fair/entity.h"

namespace fairground::fair {

// a is before b in virtual time (u64 that wraps).
inline bool vtime_before(u64 a, u64 b) { return static_cast<s64>(a - b) < 0; }

class Timeline {
  public:
    [[nodiscard]] bool empty() const { return root_ == nullptr; }
    [[nodiscard]] Entity *first() const { return leftmost_; }
    [[nodiscard]] Entity *root() const { return root_; } // its node holds the minima and maxima of all

    void insert(Entity &se);
    void remove(Entity &se);

    [[nodiscard]] static Entity *next(const Entity &se); // in order; null at the end

    // The first entity in order whose vruntime satisfies `eligible`; null if there is none. `eligible` must hold
    // for every vruntime before one for which it holds (EEVDF-54).
    template <class Predicate> [[nodiscard]] Entity *first_where(Predicate eligible) const {
        if (leftmost_ != nullptr && eligible(leftmost_->vruntime))
            return leftmost_;
        for (Entity *se = root_; se != nullptr;) {
            if (Entity *left = se->node.left; left != nullptr && eligible(left->node.min_vruntime)) {
                se = left;
                continue;
            }
            if (eligible(se->vruntime))
                return se;
            se = se->node.right;
        }
        return nullptr;
    }

  private:
    void replace_child(Entity *parent, Entity *old_child, Entity *new_child);
    Entity *rotate(Entity *top, Entity *TimelineNode::*heavy, Entity *TimelineNode::*light);
    void rebalance_from(Entity *se);

    Entity *root_ = nullptr;
    Entity *leftmost_ = nullptr;
};

} // namespace fairground::fair
