// SPDX-License-Identifier: GPL-2.0-only
//
// Every machine of tests/data/machines is read, or refused with the sentence one expects.
#include "base/error.h"
#include "machine/reader.h"

#include <cctype>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

using namespace fairground;

namespace {

const std::string folder = FAIRGROUND_SOURCE_DIR "/tests/data/machines/";

int distinct(const Machine &machine, CpuMask Cpu::*mask) {
    std::set<std::string> seen;
    for (CpuId cpu : machine.online())
        seen.insert(to_list(machine.cpus[static_cast<std::size_t>(cpu.value)].*mask));
    return static_cast<int>(seen.size());
}

int nodes_with_cpus(const Machine &machine) {
    int count = 0;
    for (const Node &node : machine.nodes)
        count += !node.cpus.empty();
    return count;
}

// CPUs and nodes as tests/data/machines/README.md states them; LLCs and packages as lstopo prints them, or as the
// README says ("two L3s per package", ...), or where no cache is known one for each package and node.
struct Expected {
    const char *file;
    int online, offline, nodes, nodes_with_cpus, llcs, packages;
};

const Expected expected[] = {
    {"altix-64n256c.tar.bz2", 256, 0, 64, 64, 128, 128},
    {"altixxe320-buggynuma.tar.bz2", 8, 0, 8, 1, 4, 2},
    {"dgx-spark-gb10-arm.tar.bz2", 20, 0, 1, 1, 2, 1},
    {"fake-heterocpu-asymslit.tar.bz2", 24, 0, 6, 5, 5, 2},
    {"hp-integrity-17n-cpuless.tar.bz2", 128, 0, 17, 16, 64, 64},
    {"hp-integrity-8n16c.tar.bz2", 16, 0, 8, 8, 16, 16},
    {"i7-1370p-hybrid.tar.bz2", 20, 0, 1, 1, 1, 1},
    {"kunpeng920-2s4n128c.tar.bz2", 128, 0, 4, 4, 4, 2},
    {"mop500-arm-2c.tar.bz2", 2, 0, 1, 1, 1, 1},
    {"opteron6134-magnycours-cpuset.tar.bz2", 32, 0, 8, 8, 8, 4},
    {"opteron6276-bulldozer-4s8n.tar.bz2", 64, 0, 8, 8, 8, 4},
    {"opteron8347-4s-cpuset.tar.bz2", 16, 0, 4, 4, 4, 4},
    {"opteron865-8s16c.tar.bz2", 16, 0, 8, 8, 16, 8},
    {"pa8-vm-2vcpu.tar.bz2", 2, 0, 1, 1, 2, 2},
    {"pe2950-8c.tar.bz2", 8, 0, 1, 1, 4, 2},
    {"pe2950-asymcaches.tar.bz2", 8, 0, 1, 1, 4, 2},
    {"power7-8n256c-sparse.tar.bz2", 256, 0, 8, 8, 64, 64},
    {"power9-ac922-gpu-nodes.tar.bz2", 32, 0, 8, 2, 4, 2},
    {"ps3-2t-minimal.tar.bz2", 2, 0, 1, 1, 1, 1},
    {"qemu-4p8d16n.tar.bz2", 64, 0, 16, 16, 8, 4},
    {"qemu-cpuless-memtiers.tar.bz2", 6, 0, 7, 3, 1, 1},
    {"r740-snc-memcache.tar.bz2", 80, 0, 4, 4, 2, 2},
    {"r910-roundrobin.tar.bz2", 40, 0, 4, 4, 4, 4},
    {"s390x-20c-books.tar.bz2", 20, 0, 1, 1, 8, 8},
    {"ucsb200m4-cod-buggysiblings.tar.bz2", 28, 0, 4, 4, 4, 4},
    {"x3950m2-4n96c.tar.bz2", 96, 0, 4, 4, 16, 16},
    {"xeon4108-2s-smt.tar.bz2", 32, 0, 2, 2, 2, 2},
    {"xeonmp-4s8c16t-offlines.tar.bz2", 12, 4, 1, 1, 4, 4},
    {"epyc9654-2s384t.xml", 384, 0, 1, 1, 24, 2},
    {"haswell-cod-28c.v1.xml", 28, 0, 4, 4, 4, 2},
    {"knl7210-256t.xml", 256, 0, 1, 1, 32, 1},
    {"power8nvl-2n16t.xml", 16, 0, 2, 2, 8, 2},
    {"uv2000-24n384t.xml", 384, 0, 24, 24, 24, 24},
    {"numactl/cxl-asymmetric-255.txt", 8, 0, 2, 1, 1, 1},
    {"numactl/epyc7413-nps4-96t.txt", 96, 0, 8, 8, 8, 8},
    {"numactl/gh200-9n-wrapped.txt", 72, 0, 9, 1, 1, 1},
    {"numactl/gnr-snc3-2s6n.ADAPTED.txt", 24, 0, 6, 6, 6, 6},
    {"numactl/hygon5280-64t.txt", 64, 0, 4, 4, 4, 4},
    {"numactl/ibm-p730-memoryless-cpunode.txt", 32, 0, 2, 1, 1, 1},
    {"numactl/knl-flat-272t.txt", 272, 0, 2, 1, 1, 1},
    {"numactl/kunpeng920-128c-uneven-mem.txt", 128, 0, 4, 4, 4, 4},
    {"numactl/kunpeng920-96c.txt", 96, 0, 4, 4, 4, 4},
    {"numactl/ppc-emptynode0.txt", 32, 0, 2, 1, 1, 1},
    {"numactl/ppc-lpar-7n-mixed.txt", 16, 0, 7, 2, 2, 2},
    {"numactl/pseries-no-distance-info.txt", 1, 0, 1, 1, 1, 1},
    {"numactl/spr8480-snc4-112c.txt", 112, 0, 8, 8, 8, 8},
    {"lscpu/coreultra-16c-extended.txt", 16, 0, 1, 1, 2, 1},
    {"lscpu/epyc7742-cpu255-offline.txt", 255, 1, 1, 1, 32, 2},
    {"lscpu/ft2500-128c.txt", 128, 0, 16, 16, 16, 2},
    {"lscpu/hygon5280-64t.txt", 64, 0, 4, 4, 8, 2},
    {"lscpu/i7-12xxx-6p4e-extended.txt", 16, 0, 1, 1, 1, 1},
    {"lscpu/i7-2600-parsable.txt", 8, 0, 1, 1, 1, 1},
    {"lscpu/jetson-nano-2-offline-comma.txt", 2, 2, 1, 1, 1, 1},
    {"lscpu/kunpeng920-96c-numa-off.txt", 96, 0, 1, 1, 2, 2},
    {"lscpu/power9-128t-gpu-nodes.txt", 128, 0, 8, 2, 2, 2},
    {"lscpu/ryzen3500x-2l3.txt", 6, 0, 1, 1, 2, 1},
    {"lscpu/spr8480-112c-extended-cols.txt", 112, 0, 8, 8, 8, 2},
};

class EveryMachine : public testing::TestWithParam<Expected> {};

TEST_P(EveryMachine, has_the_cpus_nodes_and_caches_of_its_description) {
    const Expected &want = GetParam();
    const Machine machine = read_machine(folder + want.file);
    EXPECT_EQ(machine.online().weight(), want.online);
    EXPECT_EQ((machine.present() - machine.online()).weight(), want.offline);
    EXPECT_EQ(machine.nodes.size(), static_cast<std::size_t>(want.nodes));
    EXPECT_EQ(nodes_with_cpus(machine), want.nodes_with_cpus);
    EXPECT_EQ(distinct(machine, &Cpu::llc), want.llcs);
    EXPECT_EQ(distinct(machine, &Cpu::package_mask), want.packages);
}

// What every other floor relies on.
TEST_P(EveryMachine, is_consistent) {
    const Machine machine = read_machine(folder + GetParam().file);
    const CpuMask online = machine.online();
    CpuMask all;
    ASSERT_EQ(machine.distance.size(), machine.nodes.size());
    for (std::size_t i = 0; i < machine.nodes.size(); i++) {
        EXPECT_EQ(machine.distance[i].size(), machine.nodes.size());
        EXPECT_FALSE(all.intersects(machine.nodes[i].cpus));
        all |= machine.nodes[i].cpus;
        if (i > 0) {
            EXPECT_LT(machine.nodes[i - 1].os_index, machine.nodes[i].os_index);
        }
    }
    EXPECT_TRUE(all == online);
    for (CpuId id : machine.present()) {
        const Cpu &cpu = machine.cpus[static_cast<std::size_t>(id.value)];
        ASSERT_TRUE(cpu.node.valid());
        EXPECT_EQ(machine.nodes[static_cast<std::size_t>(cpu.node.value)].cpus.test(id), cpu.online);
        for (auto mask : {&Cpu::smt, &Cpu::l2, &Cpu::llc, &Cpu::package_mask}) {
            EXPECT_TRUE((cpu.*mask).test(id));
            if (cpu.online) {
                EXPECT_TRUE((cpu.*mask).subset_of(online));
                for (CpuId other : cpu.*mask)
                    EXPECT_TRUE(machine.cpus[static_cast<std::size_t>(other.value)].*mask == cpu.*mask)
                        << id << ' ' << other;
            }
        }
        EXPECT_GE(cpu.capacity, 1);
        EXPECT_LE(cpu.capacity, 1024);
    }
    EXPECT_EQ(machine.costs.memory_ratio_permille.size(), machine.nodes.size() * machine.nodes.size());
}

INSTANTIATE_TEST_SUITE_P(machines, EveryMachine, testing::ValuesIn(expected), [](const auto &one) {
    std::string name = one.param.file;
    for (char &c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0)
            c = '_';
    return name;
});

// The second opinion: hwloc's own text for the same input.
TEST(Snapshots, agree_with_lstopo) {
    struct Pair {
        const char *stem;
        bool packages, l2, cores; // false where hwloc deliberately differs from the kernel's masks
    };
    for (const Pair &pair : std::vector<Pair>{
             {"altix-64n256c", true, true, true},
             {"altixxe320-buggynuma", true, true, true},
             {"hp-integrity-17n-cpuless", true, true, true},
             {"hp-integrity-8n16c", true, true, true},
             {"i7-1370p-hybrid", true, true, true},
             {"kunpeng920-2s4n128c", true, true, true},
             {"mop500-arm-2c", true, true, true},
             {"opteron6276-bulldozer-4s8n", true, true, false}, // the old kernel calls the module's cores siblings
             {"opteron865-8s16c", true, true, true},
             {"pa8-vm-2vcpu", true, true, true},
             {"pe2950-8c", true, true, true},
             {"power7-8n256c-sparse", true, true, true},
             {"power9-ac922-gpu-nodes", true, true, true},
             {"qemu-4p8d16n", true, true, true},
             {"qemu-cpuless-memtiers", true, true, true},
             {"r740-snc-memcache", true, true, true},
             {"s390x-20c-books", true, true, true},
             {"x3950m2-4n96c", true, true, true},
             {"xeon4108-2s-smt", true, true, true},
             {"xeonmp-4s8c16t-offlines", true, true, true},
         }) {
        SCOPED_TRACE(pair.stem);
        std::ifstream text(folder + pair.stem + ".lstopo.txt");
        ASSERT_TRUE(text);
        std::map<std::string, int> count;
        for (std::string line; std::getline(text, line);) {
            std::istringstream words(line);
            std::string first, second;
            words >> first >> second;
            if (second.starts_with("L#"))
                count[first]++;
        }
        const Machine machine = read_machine(folder + pair.stem + ".tar.bz2");
        EXPECT_EQ(machine.online().weight(), count["PU"]);
        if (pair.cores) {
            EXPECT_EQ(distinct(machine, &Cpu::smt), count["Core"]);
        }
        EXPECT_EQ(distinct(machine, &Cpu::package_mask), count["Package"]);
        if (count["L2Cache"] > 0) {
            EXPECT_EQ(distinct(machine, &Cpu::l2), count["L2Cache"]);
        }
        if (const int last = count["L3Cache"] > 0 ? count["L3Cache"] : count["L2Cache"]; last > 0) {
            EXPECT_EQ(distinct(machine, &Cpu::llc), last);
        }
    }
}

TEST(Snapshots, keep_the_facts_that_hwloc_drops) {
    const Machine offline = read_machine(folder + "xeonmp-4s8c16t-offlines.tar.bz2");
    EXPECT_EQ(to_list(offline.present() - offline.online()), "2,5,13-14");

    const Machine sparse = read_machine(folder + "power9-ac922-gpu-nodes.tar.bz2");
    std::vector<int> ids;
    for (const Node &node : sparse.nodes)
        ids.push_back(node.os_index);
    EXPECT_EQ(ids, (std::vector<int>{0, 8, 250, 251, 252, 253, 254, 255}));
    EXPECT_EQ(to_list(sparse.nodes[0].cpus), "0-15");
    EXPECT_EQ(to_list(sparse.nodes[1].cpus), "88-103");

    const Machine big_little = read_machine(folder + "dgx-spark-gb10-arm.tar.bz2");
    std::set<int> capacities;
    for (const Cpu &cpu : big_little.cpus)
        capacities.insert(cpu.capacity);
    EXPECT_EQ(capacities, (std::set<int>{718, 731, 997, 1017, 1024}));

    const Machine clusters = read_machine(folder + "kunpeng920-2s4n128c.tar.bz2");
    EXPECT_EQ(clusters.arch, Arch::arm64);
    EXPECT_GE(clusters.cpus[0].cluster, 0);
    EXPECT_EQ(clusters.cpus[0].cluster, clusters.cpus[3].cluster);
    EXPECT_NE(clusters.cpus[0].cluster, clusters.cpus[4].cluster);
    EXPECT_EQ(clusters.distance,
              (std::vector<std::vector<int>>{{10, 16, 32, 33}, {16, 10, 25, 32}, {32, 25, 10, 16}, {33, 32, 16, 10}}));

    const Machine asymmetric = read_machine(folder + "fake-heterocpu-asymslit.tar.bz2");
    EXPECT_EQ(asymmetric.distance[2][4], 40);
    EXPECT_EQ(asymmetric.distance[4][2], 50);
    EXPECT_EQ(asymmetric.cpus[0].capacity, 234);
    EXPECT_EQ(asymmetric.cpus[12].capacity, 1024) << "1025 in the file";

    // The cpuset of the gathering task restricts lstopo, not the machine.
    EXPECT_EQ(read_machine(folder + "opteron8347-4s-cpuset.tar.bz2").online().weight(), 16);
}

TEST(Xml, of_all_versions_has_its_distances) {
    EXPECT_EQ(read_machine(folder + "haswell-cod-28c.v1.xml").distance,
              (std::vector<std::vector<int>>{{10, 21, 31, 31}, {21, 10, 31, 31}, {31, 31, 10, 21}, {31, 31, 21, 10}}));
    EXPECT_EQ(read_machine(folder + "power8nvl-2n16t.xml").distance,
              (std::vector<std::vector<int>>{{10, 40}, {40, 10}}));
    const Machine uv = read_machine(folder + "uv2000-24n384t.xml");
    std::set<int> values;
    for (const auto &row : uv.distance)
        values.insert(row.begin(), row.end());
    EXPECT_EQ(values, (std::set<int>{10, 50, 65, 79}));
}

TEST(Xml, tells_the_cpu_model) {
    const Machine zen = read_machine(folder + "epyc9654-2s384t.xml");
    EXPECT_TRUE(zen.amd_zen);
    EXPECT_EQ(to_list(zen.cpus[0].smt), "0,192");
    EXPECT_EQ(to_list(zen.cpus[0].llc), "0-7,192-199");
}

TEST(Text, layout_quirks_are_understood) {
    EXPECT_EQ(to_list(read_machine(folder + "numactl/gh200-9n-wrapped.txt").nodes[0].cpus), "0-71");
    const Machine nps4 = read_machine(folder + "numactl/epyc7413-nps4-96t.txt");
    EXPECT_EQ(to_list(nps4.cpus[0].smt), "0,48");
    EXPECT_EQ(nps4.distance[0][4], 32);
    const Machine cxl = read_machine(folder + "numactl/cxl-asymmetric-255.txt");
    EXPECT_EQ(cxl.distance[0][1], 50);
    EXPECT_EQ(cxl.distance[1][0], 255);
    const Machine power = read_machine(folder + "lscpu/power9-128t-gpu-nodes.txt");
    EXPECT_EQ(to_list(power.cpus[0].smt), "0-3");
    const Machine epyc = read_machine(folder + "lscpu/epyc7742-cpu255-offline.txt");
    EXPECT_EQ(to_list(epyc.cpus[0].smt), "0,128");
    EXPECT_EQ(to_list(epyc.cpus[127].smt), "127") << "its sibling is offline";
    // The LP-E cores have no L3, which the cache column shows by a missing last field only.
    const Machine ultra = read_machine(folder + "lscpu/coreultra-16c-extended.txt");
    EXPECT_EQ(to_list(ultra.cpus[0].llc), "0-13");
    EXPECT_EQ(to_list(ultra.cpus[14].llc), "14-15");
    EXPECT_EQ(to_list(ultra.cpus[6].l2), "6-9");
    const Machine alder = read_machine(folder + "lscpu/i7-12xxx-6p4e-extended.txt");
    EXPECT_EQ(to_list(alder.cpus[13].l2), "12-15");
    EXPECT_EQ(to_list(alder.cpus[13].smt), "13");
}

TEST(Text, with_distances_only_is_refused) {
    try {
        read_machine(folder + "numactl/ft2500-16n-distances-only.txt");
        FAIL() << "was read";
    } catch (const InputError &error) {
        EXPECT_NE(std::string(error.what()).find("holds node distances but no CPUs"), std::string::npos)
            << error.what();
    }
}

} // namespace
