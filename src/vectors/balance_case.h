// SPDX-License-Identifier: GPL-2.0-only
//
// State of one balance case (families balance-small, -large, -numapair, -detach, -uneven) as Scheduler and domains.
#pragma once

#include "fair/cache_aware.h"
#include "fair/cgroup.h"
#include "fair/lb_env.h"
#include "vectors/read.h"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace fairground::vectors {

// A column of per-CPU, per-group or per-task values; missing means `absent` for all.
class Column {
  public:
    Column(const Json &table, const char *name) : array_(table.contains(name) ? &table.at(name) : nullptr) {}
    template <class T> [[nodiscard]] T at(std::size_t i, T absent = T{}) const {
        return array_ != nullptr ? array_->at(i).get<T>() : absent;
    }
    [[nodiscard]] const Json *json(std::size_t i) const { return array_ != nullptr ? &array_->at(i) : nullptr; }

  private:
    const Json *array_;
};

CpuMask mask_of(const Json &list);    // "0-3,8"
u32 flags_of(const Json &flag_names); // ["NUMA", ...]

// A tree of `cpus` CPUs without domains; cores from a column of core numbers.
fair::DomainTree empty_tree(std::size_t cpus, const Column &core);

struct BalanceCase {
    std::unique_ptr<fair::Scheduler> s;
    fair::Domain *domain = nullptr;
    fair::Domain *parent = nullptr;
    CpuId this_cpu;
    fair::CpuIdle idle{};
    std::deque<std::vector<fair::SchedGroup *>> lists; // the groups of each domain
    std::vector<fair::DomainShared *> llc_shared;      // by LLC; empty: not given
    std::deque<fair::NumaGroup> numa_groups;
    std::deque<fair::SchedCacheGroup> cache_groups;
    std::unique_ptr<fair::TaskGroup> throttled; // group of the tasks that are throttled on the destination
    std::vector<int> position;                  // by TaskId: place in its queue's list
    fair::Task *fork_task = nullptr;
};

BalanceCase build_balance_case(const Json &json);

// Changes counters only, because the averages of the queues are given, not sums over tasks.
extern const fair::TaskMover counting_mover;

} // namespace fairground::vectors
