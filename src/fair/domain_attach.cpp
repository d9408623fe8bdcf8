// SPDX-License-Identifier: GPL-2.0-only
//
// cpu_attach_domain: redundant domains are removed from every chain, what is left becomes the objects of the tree, and
// the per-CPU shortcuts are set.
#include "fair/domain_build.h"
#include "machine/machine.h"

#include <map>

namespace fairground::fair {

namespace {

constexpr u32 needs_groups = 0x3fff & ~u32{SD_WAKE_AFFINE}; // TOPO-36: all flags but this one

class Attacher {
  public:
    Attacher(Build &build, DomainTree &tree) : b_(build), tree_(tree), final_lists_(build.lists.size()) {}

    void run() {
        for (CpuId cpu : b_.map)
            remove_redundant(cpu);
        lay_out_capacities();
        for (CpuId cpu : b_.map)
            lay_out_chain(cpu);
    }

  private:
    bool several_groups(const DomainDraft &sd) { return b_.lists[static_cast<std::size_t>(sd.list)].groups.size() > 1; }

    bool degenerate(const DomainDraft &sd) { // TOPO-36
        if (sd.span_weight == 1)
            return true;
        if ((sd.flags & needs_groups) != 0 && several_groups(sd))
            return false;
        return (sd.flags & SD_WAKE_AFFINE) == 0;
    }

    bool redundant(int level, const DomainDraft &sd, int parent_level, const DomainDraft &parent) { // TOPO-37
        if (degenerate(parent))
            return true;
        if (sd.span_weight != parent.span_weight || !(b_.span(level, sd) == b_.span(parent_level, parent)))
            return false;
        const u32 counted = several_groups(parent) ? parent.flags : parent.flags & ~needs_groups;
        return (counted & ~sd.flags) == 0;
    }

    void remove_redundant(CpuId cpu) { // TOPO-38, -39
        int level = 0;
        while (b_.at(level, cpu)->parent >= 0) {
            DomainDraft &sd = *b_.at(level, cpu);
            DomainDraft &parent = *b_.at(sd.parent, cpu);
            if (!redundant(level, sd, sd.parent, parent)) {
                level = sd.parent;
                continue;
            }
            sd.parent = parent.parent;
            if (parent.shared >= 0)
                sd.shared = parent.shared;
            if (sd.parent >= 0) {
                b_.at(sd.parent, cpu)->child = level;
                b_.local_flags(*b_.at(sd.parent, cpu)) = sd.flags;
            }
            sd.flags |= parent.flags & SD_PREFER_SIBLING;
        }
        int &base = b_.base[static_cast<std::size_t>(cpu)];
        base = 0;
        if (degenerate(*b_.at(0, cpu))) {
            base = b_.at(0, cpu)->parent;
            if (base >= 0) {
                b_.at(base, cpu)->child = -1;
                b_.local_flags(*b_.at(base, cpu)) = 0;
            }
        }
    }

    // TOPO-41: weights and capacities are those of the full chains.
    void lay_out_capacities() {
        sgcs_.reserve(b_.capacities.size());
        cores_.reserve(b_.capacities.size());
        counted_.resize(b_.machine.cpus.size(), -1);
        for (const CapacityDraft &draft : b_.capacities) {
            cores_.push_back(count_cores(draft.span, static_cast<int>(sgcs_.size())));
            sgcs_.push_back(nullptr);
        }
    }

    // TOPO-42: a core counts once, at its first CPU in the span.
    int count_cores(const CpuMask &span, int mark) {
        int cores = 0;
        for (CpuId cpu : span) {
            if (counted_[static_cast<std::size_t>(cpu)] == mark)
                continue;
            cores++;
            for (CpuId sibling : tree_.cpus[static_cast<std::size_t>(cpu)].smt)
                counted_[static_cast<std::size_t>(sibling)] = mark;
        }
        return cores;
    }

    SchedGroup *lay_out_group(const GroupDraft &draft, u32 flags, bool packing) {
        const auto number = static_cast<std::size_t>(draft.sgc);
        const CapacityDraft &capacity = b_.capacities[number];
        GroupCapacity *&sgc = sgcs_[number];
        if (sgc == nullptr)
            sgc = &tree_.capacities.emplace_back(capacity.value);
        SchedGroup &group = tree_.groups.emplace_back();
        group.span = capacity.span;
        group.weight = capacity.weight;
        group.cores = cores_[number];
        group.flags = flags;
        if (packing)
            group.asym_prefer_cpu = capacity.span.first(); // TOPO-42: priority -cpu
        group.sgc = sgc;
        return &group;
    }

    // Rings of non-NUMA groups are stored twice in a row, so that every CPU's view of one is contiguous.
    std::span<SchedGroup *const> ring(const DomainDraft &sd) {
        const std::vector<int> &groups = b_.lists[static_cast<std::size_t>(sd.list)].groups;
        std::vector<SchedGroup *> *&stored = final_lists_[static_cast<std::size_t>(sd.list)];
        if (stored == nullptr) {
            stored = &tree_.group_lists.emplace_back();
            shared_groups_.resize(b_.groups.size());
            for (int number : groups) {
                SchedGroup *&group = shared_groups_[static_cast<std::size_t>(number)];
                const GroupDraft &draft = b_.groups[static_cast<std::size_t>(number)];
                if (group == nullptr)
                    group = lay_out_group(draft, draft.flags, (sd.flags & SD_ASYM_PACKING) != 0);
                stored->push_back(group);
            }
            stored->insert(stored->end(), stored->begin(),
                           stored->begin() + static_cast<std::ptrdiff_t>(groups.size()));
        }
        return std::span(*stored).subspan(static_cast<std::size_t>(sd.local), groups.size());
    }

    // Groups of NUMA domains are private in the kernel (TOPO-32); nothing in them changes after the build, so equal
    // ones are one object here.
    SchedGroup *numa_group(const GroupDraft &draft, u32 flags) {
        SchedGroup *&group = numa_groups_[{draft.sgc, flags}];
        if (group == nullptr)
            group = lay_out_group(draft, flags, false);
        return group;
    }

    std::span<SchedGroup *const> overlapping(const DomainDraft &sd) {
        std::vector<SchedGroup *> *&stored = numa_lists_[{sd.list, sd.local_flags}];
        if (stored == nullptr) {
            stored = &tree_.group_lists.emplace_back();
            for (int number : b_.lists[static_cast<std::size_t>(sd.list)].groups) {
                const GroupDraft &draft = b_.groups[static_cast<std::size_t>(number)];
                stored->push_back(numa_group(draft, stored->empty() ? sd.local_flags : draft.flags)); // TOPO-40
            }
        }
        return *stored;
    }

    DomainShared *shared_object(int number) {
        SharedDraft &draft = b_.shared[static_cast<std::size_t>(number)];
        if (draft.object == nullptr) {
            draft.object = &tree_.shared.emplace_back();
            draft.object->id = static_cast<int>(tree_.shared.size()) - 1;
            draft.object->nr_busy_cpus = draft.nr_busy_cpus;
            draft.object->nr_idle_scan = static_cast<int>(draft.tag); // TOPO-55: one storage for both
        }
        return draft.object;
    }

    Domain &lay_out(int level, const DomainDraft &draft) {
        const TopologyLevel &table = *b_.levels[static_cast<std::size_t>(level)].table;
        Domain &sd = tree_.domains.emplace_back();
        sd.name = table.name;
        sd.level = level;
        sd.span = b_.span(level, draft);
        sd.span_weight = draft.span_weight;
        sd.flags = draft.flags;
        sd.groups = (draft.flags & SD_NUMA) != 0 ? overlapping(draft) : ring(draft);
        if (draft.shared >= 0)
            sd.shared = shared_object(draft.shared);
        // TOPO-22.
        sd.imbalance_pct = 117;
        sd.cache_nice_tries = 1;
        if ((table.flags & SD_SHARE_CPUCAPACITY) != 0) {
            sd.imbalance_pct = 110;
            sd.cache_nice_tries = 0;
        } else if ((table.flags & SD_NUMA) != 0) {
            sd.cache_nice_tries = 2;
        }
        sd.min_interval = sd.balance_interval = static_cast<u32>(draft.weight);
        sd.max_interval = 2 * sd.min_interval;
        sd.busy_factor = 16;
        sd.imb_numa_nr = draft.imb_numa_nr;
        sd.newidle_call = 512;
        sd.newidle_success = 256;
        sd.newidle_ratio = 512;
        return sd;
    }

    void lay_out_chain(CpuId cpu) {
        CpuDomains &own = tree_.cpus[static_cast<std::size_t>(cpu)];
        Domain *below = nullptr;
        for (int level = b_.base[static_cast<std::size_t>(cpu)]; level >= 0; level = b_.at(level, cpu)->parent) {
            Domain &sd = lay_out(level, *b_.at(level, cpu));
            sd.child = below;
            (below != nullptr ? below->parent : own.base) = &sd;
            below = &sd;
        }
        set_shortcuts(cpu, own);
    }

    // update_top_cache_domain (TOPO-51, -52, -56).
    void set_shortcuts(CpuId cpu, CpuDomains &own) {
        bool contiguous = true;
        const Domain *cluster = nullptr;
        const Domain *asym = nullptr;
        for (Domain *sd = own.base; sd != nullptr; sd = sd->parent) {
            contiguous &= (sd->flags & SD_SHARE_LLC) != 0;
            if (contiguous)
                own.llc = sd;
            if (cluster == nullptr && (sd->flags & SD_CLUSTER) != 0)
                cluster = sd;
            if (own.numa == nullptr && (sd->flags & SD_NUMA) != 0)
                own.numa = sd;
            if ((sd->flags & SD_ASYM_PACKING) != 0)
                own.asym_packing = sd;
            if (own.asym_cpucapacity == nullptr && (sd->flags & SD_ASYM_CPUCAPACITY_FULL) != 0)
                own.asym_cpucapacity = sd;
        }
        asym = own.asym_cpucapacity;
        own.share_id = cpu;
        if (own.llc != nullptr) {
            own.llc_size = own.llc->span_weight;
            own.llc_shared = own.llc->shared;
            own.share_id = own.llc->span.first();
        }
        if (cluster != nullptr) {
            own.share_id = cluster->span.first();
            tree_.cluster_active = true;
        }
        own.balance_shared = asym != nullptr && asym->shared != nullptr ? asym->shared : own.llc_shared;
    }

    Build &b_;
    DomainTree &tree_;
    std::vector<GroupCapacity *> sgcs_; // by number in Build::capacities
    std::vector<int> cores_;            // the same
    std::vector<int> counted_;          // by CPU
    std::vector<SchedGroup *> shared_groups_;
    std::vector<std::vector<SchedGroup *> *> final_lists_;
    std::map<std::pair<int, u32>, SchedGroup *> numa_groups_;
    std::map<std::pair<int, u32>, std::vector<SchedGroup *> *> numa_lists_;
};

} // namespace

void attach_domains(Build &build, DomainTree &tree) { Attacher(build, tree).run(); }

} // namespace fairground::fair
