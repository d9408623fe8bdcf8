// SPDX-License-Identifier: GPL-2.0-only
#include "report/domains_report.h"

#include "base/error.h"
#include "fair/features.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

namespace fairground {

namespace {

using Json = nlohmann::ordered_json;
using fair::CpuDomains;
using fair::Domain;
using fair::DomainShared;
using fair::DomainTree;
using fair::SchedGroup;

Json flags_list(u32 flags) {
    Json list = Json::array();
    for (u32 bit = 1; bit != 0 && bit <= flags; bit <<= 1)
        if ((flags & bit) != 0)
            list.push_back("SD_" + fair::flag_names(bit));
    return list;
}

std::string hex(u32 value) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "0x%x", value);
    return text.data();
}

Json shared_id(const DomainShared *shared) { return shared == nullptr ? Json() : Json(shared->id); }
int level_of(const Domain *sd) { return sd == nullptr ? -1 : sd->level; }

Json group_json(const SchedGroup &group) {
    Json out;
    out["id"] = group.sgc->id;
    out["span"] = to_list(group.span);
    out["balance_mask"] = to_list(group.sgc->balance_mask);
    out["weight"] = group.weight;
    out["cores"] = group.cores;
    out["flags_hex"] = hex(group.flags);
    out["asym_prefer_cpu"] = std::max(group.asym_prefer_cpu.value, 0); // the kernel's object is zeroed
    out["capacity"] = group.sgc->capacity;
    out["min_capacity"] = group.sgc->min_capacity;
    out["max_capacity"] = group.sgc->max_capacity;
    return out;
}

Json domain_json(const Domain &sd) {
    Json out;
    out["name"] = sd.name;
    out["level"] = sd.level;
    out["span"] = to_list(sd.span);
    out["span_weight"] = sd.span_weight;
    out["flags"] = flags_list(sd.flags);
    out["flags_hex"] = hex(sd.flags);
    out["min_interval"] = sd.min_interval;
    out["max_interval"] = sd.max_interval;
    out["busy_factor"] = sd.busy_factor;
    out["imbalance_pct"] = sd.imbalance_pct;
    out["cache_nice_tries"] = sd.cache_nice_tries;
    out["imb_numa_nr"] = sd.imb_numa_nr;
    out["shared"] = shared_id(sd.shared);
    out["groups_flags"] = flags_list(sd.groups.front()->flags);
    Json &groups = out["groups"] = Json::array();
    for (const SchedGroup *group : sd.groups)
        groups.push_back(group_json(*group));
    return out;
}

Json cpu_json(CpuId id, const CpuDomains &cpu) {
    Json out;
    out["id"] = id.value;
    out["cpu_capacity"] = cpu.capacity;
    out["sd_llc_size"] = cpu.llc_size;
    out["sd_llc_id"] = cpu.llc_id;
    out["sd_share_id"] = cpu.share_id.value;
    out["sd_llc_level"] = level_of(cpu.llc);
    out["sd_numa_level"] = level_of(cpu.numa);
    out["sd_asym_packing_level"] = level_of(cpu.asym_packing);
    out["sd_llc_shared"] = shared_id(cpu.llc_shared);
    out["sd_balance_shared"] = shared_id(cpu.balance_shared);
    Json &domains = out["domains"] = Json::array();
    for (const Domain *sd = cpu.base; sd != nullptr; sd = sd->parent)
        domains.push_back(domain_json(*sd));
    return out;
}

// Text: everything of a chain but the CPU it belongs to, so that equal chains fold. Groups are printed in the order
// of their first CPU there, since list order begins at each CPU's own group.
std::string chain_text(const CpuDomains &cpu) {
    if (cpu.base == nullptr)
        return "  no domain\n";
    std::string text;
    for (const Domain *sd = cpu.base; sd != nullptr; sd = sd->parent) {
        text += "  " + sd->name + " " + to_list(sd->span) + " (" + std::to_string(sd->span_weight) +
                " CPUs), interval " + std::to_string(sd->min_interval) + ".." + std::to_string(sd->max_interval) +
                " ms, imbalance_pct " + std::to_string(sd->imbalance_pct) + ", cache_nice_tries " +
                std::to_string(sd->cache_nice_tries) + ", imb_numa_nr " + std::to_string(sd->imb_numa_nr) + "\n";
        text += "    flags: " + fair::flag_names(sd->flags) + "\n    groups:";
        std::vector<const SchedGroup *> groups(sd->groups.begin(), sd->groups.end());
        std::ranges::sort(groups, {}, [](const SchedGroup *group) {
            return std::pair(group->span.first().value, to_list(group->span));
        });
        for (const SchedGroup *group : groups) {
            text += " {" + to_list(group->span) + "}";
            if (!(group->sgc->balance_mask == group->span))
                text += " (balance mask " + to_list(group->sgc->balance_mask) + ")";
        }
        text += "\n";
    }
    return text;
}

} // namespace

Json domains_json(const Machine &machine, const DomainTree &tree) {
    static constexpr const char *topology_names[] = {"direct", "glueless_mesh", "backplane"};
    Json out;
    out["name"] = machine.name;
    Json &cpus = out["cpus"] = Json::array();
    for (CpuId cpu : machine.online())
        cpus.push_back(cpu_json(cpu, tree.cpus[static_cast<std::size_t>(cpu)]));

    fair::Tunables tunables;
    update_sched_scaling(tunables, machine.scaling_cpus());
    Json &globals = out["globals"];
    globals["nr_cpu_ids"] = machine.cpus.size();
    globals["sched_domains_numa_levels"] = tree.numa_level_distances.size();
    globals["sched_domains_numa_distance"] = tree.numa_level_distances;
    globals["sched_max_numa_distance"] = tree.max_numa_distance;
    globals["sched_numa_topology_type"] = static_cast<int>(tree.numa_topology);
    globals["sched_numa_topology"] = topology_names[static_cast<std::size_t>(tree.numa_topology)];
    globals["sched_domain_level_max"] = tree.level_max;
    globals["sysctl_sched_base_slice"] = tunables.base_slice;
    globals["max_lid"] = tree.max_llc_id;
    globals["node_reclaim_distance"] = tree.node_reclaim_distance;
    globals["sched_cache_present"] = tree.multi_llc ? 1 : 0;
    out["notes"] = tree.notes;
    return out;
}

std::string domains_text(const Machine &machine, const DomainTree &tree, std::optional<CpuId> cpu) {
    const CpuMask online = machine.online();
    if (cpu && !online.test(*cpu))
        throw InputError("CPU " + std::to_string(cpu->value) + " is not online on this machine, expected one of " +
                         to_list(online));
    // Blocks in the order of their lowest CPU.
    std::vector<std::pair<std::string, CpuMask>> blocks;
    std::map<std::string, std::size_t> known;
    for (CpuId id : cpu ? CpuMask::of(*cpu) : online) {
        std::string text = chain_text(tree.cpus[static_cast<std::size_t>(id)]);
        const auto [at, added] = known.emplace(text, blocks.size());
        if (added)
            blocks.emplace_back(std::move(text), CpuMask{});
        blocks[at->second].second.set(id);
    }
    std::string out;
    for (const auto &[text, members] : blocks)
        out += "CPUs " + to_list(members) + "\n" + text;
    for (const std::string &note : tree.notes)
        out += "note: " + note + "\n";
    return out;
}

} // namespace fairground
