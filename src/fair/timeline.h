// SPDX-License-Identifier: GPL-2.0-only
//
// Timeline: the queued entities of one queue in deadline order, equal deadlines in order of insertion
// (EEVDF-51). Every node knows the minimum vruntime and the minimum and maximum slice of its subtree.
#pragma once

#include "fair/entity.h"

namespace fairground::fair {

class Timeline {
  public:
    [[nodiscard]] bool empty() const { return root_ == nullptr; }
    [[nodiscard]] Entity *first() const { return leftmost_; }
    [[nodiscard]] Entity *root() const { return root_; }

  private:
    Entity *root_ = nullptr;
    Entity *leftmost_ = nullptr;
};

} // namespace fairground::fair
