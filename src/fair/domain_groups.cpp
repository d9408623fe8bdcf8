// SPDX-License-Identifier: GPL-2.0-only
//
// Groups of domains and their capacity objects: build_sched_groups, build_overlap_sched_groups and what they call.
#include "fair/domain_build.h"
#include "machine/machine.h"

#include <algorithm>
#include <ranges>

namespace fairground::fair {

namespace {

constexpr u64 capacity_scale = 1024;

class GroupBuilder {
  public:
    explicit GroupBuilder(Build &build) : b_(build), overlap_(build.levels.size()) {}

    void run() {
        for (CpuId cpu : b_.map)
            for (int level = 0; level < b_.depth[static_cast<std::size_t>(cpu)]; level++)
                if (b_.numa(level))
                    overlapping(level, cpu, *b_.at(level, cpu));
                else
                    ring(level, cpu, *b_.at(level, cpu));
    }

  private:
    LevelDraft &level_of(int level) { return b_.levels[static_cast<std::size_t>(level)]; }

    // The capacity object of (level, cpu) (TOPO-29, -33), with the state it has until the first update (TOPO-43).
    int capacity(int level, CpuId cpu, const CpuMask &span, const CpuMask &balance_mask) {
        int &number = level_of(level).sgc_at[static_cast<std::size_t>(cpu)];
        if (number >= 0)
            return number;
        number = static_cast<int>(b_.capacities.size());
        CapacityDraft &draft = b_.capacities.emplace_back();
        draft.span = span;
        draft.weight = span.weight();
        draft.value.id = cpu;
        draft.value.capacity = capacity_scale * static_cast<u64>(draft.weight);
        draft.value.min_capacity = draft.value.max_capacity = capacity_scale;
        draft.value.balance_mask = balance_mask;
        return number;
    }

    int add_group(int sgc, u32 flags) {
        b_.groups.push_back({sgc, flags});
        return static_cast<int>(b_.groups.size()) - 1;
    }

    DomainDraft *child_of(int level, CpuId cpu) {
        return b_.at(level, cpu) != nullptr ? b_.at(level - 1, cpu) : nullptr;
    }

    // get_group: the object of (level, first CPU of the group) (TOPO-29).
    int shared_group(int level, CpuId cpu) {
        const DomainDraft *child = child_of(level, cpu);
        const CpuId key = child != nullptr ? b_.span(level - 1, *child).first() : cpu;
        int &number = level_of(level).group_at[static_cast<std::size_t>(key)];
        if (number < 0) {
            const CpuMask span = child != nullptr ? b_.span(level - 1, *child) : CpuMask::of(cpu);
            number = add_group(capacity(level, key, span, span), child != nullptr ? child->flags : 0);
        }
        return number;
    }

    // Calls add(member), which returns a group, for members of `span` in wrap order that no group covers yet.
    template <class Add> GroupList cover(const CpuMask &span, CpuId start, Add add) {
        GroupList list;
        CpuMask left = span;
        const auto take = [&](CpuId member) {
            const int group = add(member);
            left.clear(member);
            if (group >= 0) {
                list.groups.push_back(group);
                left -= span_of(group);
            }
        };
        for (CpuId member = left.next(start); member.valid(); member = left.next(member))
            take(member);
        for (CpuId member = left.first(); member.valid(); member = left.next(member))
            take(member);
        return list;
    }

    // TOPO-28, -29. The objects and the links between them are shared: every CPU of the span writes the links in its
    // own order, and what the highest CPU wrote stays.
    void ring(int level, CpuId cpu, DomainDraft &sd) {
        const CpuMask &span = b_.span(level, sd);
        const auto add = [&](CpuId member) { return shared_group(level, member); };
        int &list = level_of(level).list_of[static_cast<std::size_t>(sd.span)];
        if (list < 0) {
            list = add_list(cover(span, span.last(), add));
            position_.resize(b_.groups.size());
            int position = 0;
            for (int group : b_.lists[static_cast<std::size_t>(list)].groups) {
                position_[static_cast<std::size_t>(group)] = {list, position++};
            }
        }
        const int mine = shared_group(level, cpu);
        position_.resize(b_.groups.size());
        const auto [home, position] = position_[static_cast<std::size_t>(mine)];
        sd.list = list;
        sd.local = position;
        if (home != list) { // spans that TOPO-21 made overlap: broken firmware only
            sd.list = add_list(cover(span, cpu, add));
            sd.local = 0;
        }
    }

    int add_list(GroupList list) {
        b_.lists.push_back(std::move(list));
        return static_cast<int>(b_.lists.size()) - 1;
    }

    const CpuMask &span_of(int group) {
        return b_.capacities[static_cast<std::size_t>(b_.groups[static_cast<std::size_t>(group)].sgc)].span;
    }

    // TOPO-32, -33: the group of the domain of `cpu` at `level`. One object per (level, span of the child).
    int overlap_group(int level, CpuId cpu) {
        const DomainDraft *child = b_.at(level - 1, cpu);
        if (child == nullptr) { // a base domain: no CPU gets here by a child, the CPU itself stands in
            const CpuMask &span = b_.span(level, *b_.at(level, cpu));
            return add_group(capacity(level, cpu, span, CpuMask::of(cpu)), 0);
        }
        std::vector<int> &known = overlap_[static_cast<std::size_t>(level)];
        known.resize(static_cast<std::size_t>(level_of(level - 1).spans.size()), -1);
        int &group = known[static_cast<std::size_t>(child->span)];
        if (group >= 0)
            return group;
        const CpuMask &span = b_.span(level - 1, *child);
        CpuMask balance_mask;
        for (CpuId member : span)
            if (b_.at(level, member) != nullptr && b_.at(level - 1, member)->span == child->span)
                balance_mask.set(member);
        group = add_group(capacity(level, balance_mask.first(), span, balance_mask), child->flags);
        return group;
    }

    // TOPO-31, find_descended_sibling: the level of `cpu` at which its group fits into `span`.
    int descend(int level, CpuId cpu, const CpuMask &span) {
        const auto child = [&](int of) { return b_.at(of - 1, cpu); };
        const auto sticks_out = [&](int of) {
            return child(of) != nullptr && !b_.span(of - 1, *child(of)).subset_of(span);
        };
        if (!sticks_out(level))
            return level;
        while (sticks_out(level))
            level--;
        while (child(level) != nullptr && b_.span(level - 1, *child(level)) == b_.span(level, *b_.at(level, cpu)))
            level--;
        return level;
    }

    // TOPO-30..34. Lists of CPUs of one node are mostly equal and then stored once.
    void overlapping(int level, CpuId cpu, DomainDraft &sd) {
        const CpuMask &span = b_.span(level, sd);
        GroupList list = cover(span, cpu, [&](CpuId member) {
            return b_.at(level, member) == nullptr ? -1 : overlap_group(descend(level, member, span), member);
        });
        std::vector<int> &known = level_of(level).list_of;
        const DomainDraft *child = b_.at(level - 1, cpu);
        const auto key = static_cast<std::size_t>(child != nullptr ? child->span : 0);
        if (known.size() <= key)
            known.resize(key + 1, -1);
        if (known[key] < 0 || b_.lists[static_cast<std::size_t>(known[key])].groups != list.groups)
            known[key] = add_list(std::move(list));
        sd.list = known[key];
        sd.local_flags = b_.groups[static_cast<std::size_t>(b_.local_group(sd))].flags;
    }

    Build &b_;
    std::vector<std::vector<int>> overlap_; // [level][span of the child]: group
    struct Place {
        int list = -1;
        int position = 0;
    };
    std::vector<Place> position_; // by group: its place in its ring
};

} // namespace

void build_groups(Build &build) { GroupBuilder(build).run(); }

// init_sched_groups_capacity and update_group_capacity as they run during the build: CPUs descending, bottom up, by the
// CPU that balances for the group (TOPO-44, TOPO-46). No pressure yet, so a CPU's capacity is its architecture's.
void update_capacities(Build &build) {
    std::vector<u64> cpu_capacity(build.machine.cpus.size(), capacity_scale); // of run queues as sched_init made them
    std::vector<CpuId> order;
    for (CpuId cpu : build.map)
        order.push_back(cpu);
    for (CpuId cpu : std::views::reverse(order)) {
        for (int level = 0; level < build.depth[static_cast<std::size_t>(cpu)]; level++) {
            const DomainDraft &sd = *build.at(level, cpu);
            CapacityDraft &local = build.local_capacity(sd);
            if (local.value.balance_mask.first() != cpu)
                continue;
            GroupCapacity &sgc = local.value;
            const DomainDraft *child = build.at(level - 1, cpu);
            if (child == nullptr) {
                const auto capacity = static_cast<u64>(build.machine.cpus[static_cast<std::size_t>(cpu)].capacity);
                cpu_capacity[static_cast<std::size_t>(cpu)] = std::max<u64>(capacity, 1); // TOPO-45
                sgc.capacity = sgc.min_capacity = sgc.max_capacity = std::max<u64>(capacity, 1);
                continue;
            }
            u64 sum = 0;
            u64 low = ~u64{0};
            u64 high = 0;
            const auto add = [&](u64 capacity, u64 min_capacity, u64 max_capacity) {
                sum += capacity;
                low = std::min(low, min_capacity);
                high = std::max(high, max_capacity);
            };
            if ((child->flags & SD_NUMA) != 0) {
                for (CpuId member : local.span) {
                    const u64 capacity = cpu_capacity[static_cast<std::size_t>(member)];
                    add(capacity, capacity, capacity);
                }
            } else {
                for (int group : build.lists[static_cast<std::size_t>(child->list)].groups) {
                    const int number = build.groups[static_cast<std::size_t>(group)].sgc;
                    const GroupCapacity &part = build.capacities[static_cast<std::size_t>(number)].value;
                    add(part.capacity, part.min_capacity, part.max_capacity);
                }
            }
            sgc.capacity = sum;
            sgc.min_capacity = low;
            sgc.max_capacity = high;
        }
    }
}

} // namespace fairground::fair
