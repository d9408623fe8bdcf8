// SPDX-License-Identifier: GPL-2.0-only
//
// Every recorded topology: what build_domains() makes of the `input` block is what Linux 7.3.4 built.
#include "base/lines.h"
#include "fair/domains.h"
#include "fair/features.h"
#include "machine/reader.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairground::fair {

namespace {

using nlohmann::json;

const std::filesystem::path folder = FAIRGROUND_SOURCE_DIR "/tests/data/domains";

std::vector<std::string> dumps() {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(folder))
        if (entry.path().extension() == ".gz")
            names.push_back(entry.path().stem().stem());
    std::ranges::sort(names);
    return names;
}

json load(const std::string &name) {
    LineReader reader(folder / (name + ".json.gz"));
    std::string text;
    for (std::string line; reader.next(line);)
        text += line;
    return json::parse(text);
}

u32 flag_mask(const json &names) {
    u32 flags = 0;
    for (const json &name : names) {
        EXPECT_NE(flag_by_name(name.get<std::string>()), 0U) << name;
        flags |= flag_by_name(name.get<std::string>());
    }
    return flags;
}

int level_of(const Domain *sd) { return sd == nullptr ? -1 : sd->level; }
json shared_id(const DomainShared *shared) { return shared == nullptr ? json() : json(shared->id); }

// TOPO-28..35, TOPO-40..46.
void compare_groups(const json &want, const Domain &sd) {
    ASSERT_EQ(sd.groups.size(), want.at("groups").size());
    EXPECT_EQ(sd.groups.front()->flags, flag_mask(want.at("groups_flags")));
    for (std::size_t i = 0; i < sd.groups.size(); i++) {
        SCOPED_TRACE("group " + std::to_string(i));
        const json &group = want.at("groups")[i];
        const SchedGroup &got = *sd.groups[i];
        EXPECT_EQ(to_list(got.span), group.at("span"));
        EXPECT_EQ(to_list(got.sgc->balance_mask), group.at("balance_mask"));
        EXPECT_EQ(got.sgc->id, group.at("id"));
        EXPECT_EQ(got.weight, group.at("weight"));
        EXPECT_EQ(got.cores, group.at("cores"));
        EXPECT_EQ(got.flags, std::stoul(group.at("flags_hex").get<std::string>(), nullptr, 16));
        EXPECT_EQ(got.sgc->capacity, group.at("capacity"));
        EXPECT_EQ(got.sgc->min_capacity, group.at("min_capacity"));
        EXPECT_EQ(got.sgc->max_capacity, group.at("max_capacity"));
    }
}

// TOPO-20..27, TOPO-36..39, TOPO-47..50.
void compare_domain(const json &want, const Domain &sd) {
    EXPECT_EQ(sd.name, want.at("name"));
    EXPECT_EQ(sd.level, want.at("level"));
    EXPECT_EQ(to_list(sd.span), want.at("span"));
    EXPECT_EQ(sd.span_weight, want.at("span_weight"));
    EXPECT_EQ(flag_names(sd.flags), flag_names(flag_mask(want.at("flags"))));
    EXPECT_EQ(sd.min_interval, want.at("min_interval"));
    EXPECT_EQ(sd.max_interval, want.at("max_interval"));
    EXPECT_EQ(sd.busy_factor, want.at("busy_factor"));
    EXPECT_EQ(sd.imbalance_pct, want.at("imbalance_pct"));
    EXPECT_EQ(sd.cache_nice_tries, want.at("cache_nice_tries"));
    EXPECT_EQ(sd.imb_numa_nr, want.at("imb_numa_nr"));
    EXPECT_EQ(shared_id(sd.shared), want.at("shared"));
    compare_groups(want, sd);
}

// TOPO-51..56.
void compare_cpu(const json &want, const CpuDomains &cpu) {
    EXPECT_GE(cpu.capacity, want.at("cpu_capacity")); // live: less what interrupts and RT tasks took
    EXPECT_EQ(cpu.llc_size, want.at("sd_llc_size"));
    EXPECT_EQ(cpu.llc_id, want.at("sd_llc_id"));
    EXPECT_EQ(cpu.share_id.value, want.at("sd_share_id"));
    EXPECT_EQ(level_of(cpu.llc), want.at("sd_llc_level"));
    EXPECT_EQ(level_of(cpu.numa), want.at("sd_numa_level"));
    EXPECT_EQ(level_of(cpu.asym_packing), want.at("sd_asym_packing_level"));
    EXPECT_EQ(shared_id(cpu.llc_shared), want.at("sd_llc_shared"));
    EXPECT_EQ(shared_id(cpu.balance_shared), want.at("sd_balance_shared"));
    const Domain *sd = cpu.base;
    for (const json &domain : want.at("domains")) {
        SCOPED_TRACE("domain " + domain.at("name").get<std::string>() + " " + domain.at("span").get<std::string>());
        ASSERT_NE(sd, nullptr);
        compare_domain(domain, *sd);
        sd = sd->parent;
    }
    EXPECT_EQ(sd, nullptr) << "a domain too many: " << sd->name << ' ' << to_list(sd->span);
}

std::string test_name(const testing::TestParamInfo<std::string> &dump) {
    std::string name = dump.param;
    std::ranges::replace_if(
        name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return name;
}

class DomainsOracle : public testing::TestWithParam<std::string> {};

TEST_P(DomainsOracle, EqualsTheKernel) {
    const json dump = load(GetParam());
    const Machine machine = read_machine(folder / (GetParam() + ".json.gz"));
    const DomainTree tree = build_domains(machine);

    const json &globals = dump.at("globals");
    EXPECT_EQ(json(tree.numa_level_distances), globals.at("sched_domains_numa_distance"));
    EXPECT_EQ(tree.numa_level_distances.size(), globals.at("sched_domains_numa_levels"));
    EXPECT_EQ(static_cast<int>(tree.numa_topology), globals.at("sched_numa_topology_type"));
    EXPECT_EQ(tree.max_numa_distance, globals.at("sched_max_numa_distance"));
    EXPECT_EQ(tree.node_reclaim_distance, globals.at("node_reclaim_distance"));
    EXPECT_EQ(tree.level_max, globals.at("sched_domain_level_max"));
    EXPECT_EQ(tree.max_llc_id, globals.at("max_lid"));
    EXPECT_EQ(tree.multi_llc ? 1 : 0, globals.at("sched_cache_present")); // TOPO-57
    Tunables tunables;
    update_sched_scaling(tunables, machine.scaling_cpus()); // EEVDF-6
    EXPECT_EQ(tunables.base_slice, globals.at("sysctl_sched_base_slice"));

    ASSERT_EQ(static_cast<std::size_t>(machine.online().weight()), dump.at("cpus").size());
    for (const json &cpu : dump.at("cpus")) {
        SCOPED_TRACE("CPU " + cpu.at("id").dump());
        compare_cpu(cpu, tree.cpus[cpu.at("id").get<std::size_t>()]);
        if (HasFailure())
            return; // one CPU tells enough
    }
}

INSTANTIATE_TEST_SUITE_P(Dumps, DomainsOracle, testing::ValuesIn(dumps()), test_name);

} // namespace

} // namespace fairground::fair
