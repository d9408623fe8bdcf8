// SPDX-License-Identifier: GPL-2.0-only
//
// The JSON of `machine show` against recorded dumps: the same names, the same notation, the same values.
#include "report/domains_report.h"

#include "base/error.h"
#include "base/lines.h"
#include "machine/reader.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

namespace fairground {

namespace {

using nlohmann::json;

json load(const std::string &path) {
    LineReader reader(path);
    std::string text;
    for (std::string line; reader.next(line);)
        text += line;
    return json::parse(text);
}

// Every key of `want` but those that a running kernel changes is in `got`, with the same value.
void compare(const json &want, const json &got, const std::string &at) {
    static const std::set<std::string> live{"log_cap", "llc_bytes", "cpu_capacity"};
    ASSERT_EQ(want.type_name(), std::string(got.type_name())) << at;
    if (want.is_array()) {
        ASSERT_EQ(want.size(), got.size()) << at;
        for (std::size_t i = 0; i < want.size(); i++)
            compare(want[i], got[i], at + "/" + std::to_string(i));
    } else if (want.is_object()) {
        for (const auto &[key, value] : want.items()) {
            if (live.contains(key))
                continue;
            ASSERT_TRUE(got.contains(key)) << at << "/" << key;
            compare(value, got.at(key), at + "/" + key);
        }
    } else {
        EXPECT_EQ(want, got) << at;
    }
}

TEST(DomainsReport, JsonIsThatOfTheDumps) {
    for (const char *name :
         {"2n-4c2t-far", "snc3-2pkg-gnr-24c", "4n-diam3-seed-4c", "uma-8c-off3", "uma-1", "rnd-10"}) {
        SCOPED_TRACE(name);
        const std::string path = std::string(FAIRGROUND_SOURCE_DIR "/tests/data/domains/") + name + ".json.gz";
        const json want = load(path);
        const Machine machine = read_machine(path);
        const json got = json::parse(domains_json(machine, fair::build_domains(machine)).dump());
        compare(want.at("cpus"), got.at("cpus"), "cpus");
        for (const auto &[key, value] : got.at("globals").items()) {
            if (want.at("globals").contains(key)) {
                EXPECT_EQ(value, want.at("globals").at(key)) << key;
            }
        }
    }
}

TEST(DomainsReport, TextFoldsEqualChains) {
    const Machine machine = read_machine(FAIRGROUND_SOURCE_DIR "/tests/data/domains/2n-4c.json.gz");
    const fair::DomainTree tree = fair::build_domains(machine);
    EXPECT_EQ(domains_text(machine, tree, {}),
              "CPUs 0-3\n"
              "  MC 0-3 (4 CPUs), interval 4..8 ms, imbalance_pct 117, cache_nice_tries 1, imb_numa_nr 0\n"
              "    flags: BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK WAKE_AFFINE SHARE_LLC PREFER_SIBLING\n"
              "    groups: {0} {1} {2} {3}\n"
              "  NUMA 0-7 (8 CPUs), interval 8..16 ms, imbalance_pct 117, cache_nice_tries 2, imb_numa_nr 1\n"
              "    flags: BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK WAKE_AFFINE SERIALIZE NUMA\n"
              "    groups: {0-3} {4-7}\n"
              "CPUs 4-7\n"
              "  MC 4-7 (4 CPUs), interval 4..8 ms, imbalance_pct 117, cache_nice_tries 1, imb_numa_nr 0\n"
              "    flags: BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK WAKE_AFFINE SHARE_LLC PREFER_SIBLING\n"
              "    groups: {4} {5} {6} {7}\n"
              "  NUMA 0-7 (8 CPUs), interval 8..16 ms, imbalance_pct 117, cache_nice_tries 2, imb_numa_nr 1\n"
              "    flags: BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK WAKE_AFFINE SERIALIZE NUMA\n"
              "    groups: {0-3} {4-7}\n");
    EXPECT_EQ(domains_text(machine, tree, CpuId{5}).substr(0, 7), "CPUs 5\n");
    EXPECT_THROW(domains_text(machine, tree, CpuId{8}), InputError);
}

} // namespace

} // namespace fairground
