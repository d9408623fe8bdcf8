// SPDX-License-Identifier: GPL-2.0-only
#include "base/error.h"
#include "base/random.h"
#include "machine/reader.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

using namespace fairground;

namespace {

const std::string data = FAIRGROUND_SOURCE_DIR "/tests/data/machines/";

// A folder of its own for each test.
class Files : public testing::Test {
  protected:
    Files() {
        std::string name = (std::filesystem::temp_directory_path() / "fairground-XXXXXX").string();
        root_ = mkdtemp(name.data());
    }
    ~Files() override { std::filesystem::remove_all(root_); }
    std::string write(const std::string &name, const std::string &text) {
        std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
        std::ofstream(path(name), std::ios::binary) << text;
        return path(name);
    }
    [[nodiscard]] std::string path(const std::string &name) const { return root_ + "/" + name; }

    // The sentence with which the text is refused; empty if it is read.
    std::string refusal(const std::string &text, const std::string &name = "m.toml") {
        try {
            read_machine(write(name, text));
        } catch (const InputError &error) {
            const std::string sentence = error.what();
            EXPECT_NE(sentence.find(name), std::string::npos) << sentence;
            return sentence;
        }
        return {};
    }
    void expect_refused(const std::string &text, const std::string &because, const std::string &name = "m.toml") {
        const std::string sentence = refusal(text, name);
        EXPECT_NE(sentence.find(because), std::string::npos) << "for: " << text.substr(0, 80) << "\nsaid: " << sentence;
    }

  private:
    std::string root_;
};

const Cpu &cpu(const Machine &machine, std::size_t number) { return machine.cpus.at(number); }

using Toml = Files;

TEST_F(Toml, counts_make_a_machine) {
    const Machine machine = read_machine(write("m.toml", R"(
name = "two sockets"
nodes = 4
packages = 2
cores = 8
smt = 2
l2 = 2
llc = 4
distances = [[10, 12, 20, 22], [12, 10, 22, 24], [20, 22, 10, 12], [22, 24, 12, 10]]
)"));
    EXPECT_EQ(machine.name, "two sockets");
    EXPECT_EQ(machine.arch, Arch::x86);
    EXPECT_EQ(machine.online().weight(), 64);
    EXPECT_EQ(to_list(machine.nodes[1].cpus), "8-15,40-47");
    EXPECT_EQ(to_list(cpu(machine, 9).smt), "9,41");
    EXPECT_EQ(to_list(cpu(machine, 9).l2), "8-9,40-41");
    EXPECT_EQ(to_list(cpu(machine, 9).llc), "8-11,40-43");
    EXPECT_EQ(to_list(cpu(machine, 9).package_mask), "0-15,32-47");
    EXPECT_EQ(machine.distance[1][3], 24);
}

TEST_F(Toml, siblings_can_be_adjacent) {
    const Machine machine =
        read_machine(write("m.toml", "arch = \"power\"\ncores = [2, 0, 1]\nsmt = 4\nnode_ids = [0, 8, 250]\n"));
    EXPECT_EQ(to_list(cpu(machine, 5).smt), "4-7");
    EXPECT_EQ(to_list(machine.nodes[0].cpus), "0-7");
    EXPECT_TRUE(machine.nodes[1].cpus.empty());
    EXPECT_EQ(machine.nodes[2].os_index, 250);
    EXPECT_EQ(to_list(machine.nodes[2].cpus), "8-11");
}

TEST_F(Toml, packages_divide_a_single_node) {
    const Machine machine = read_machine(write("m.toml", "cores = 8\npackages = 2\n"));
    EXPECT_EQ(to_list(cpu(machine, 0).llc), "0-3");
    EXPECT_EQ(to_list(cpu(machine, 0).package_mask), "0-3");
    EXPECT_EQ(to_list(machine.nodes[0].cpus), "0-7");
}

TEST_F(Toml, overlay_changes_a_base_in_any_form) {
    const Machine machine = read_machine(write("m.toml", "base = \"" + data + R"(numactl/gnr-snc3-2s6n.ADAPTED.txt"
arch = "x86"
packages = 2
snc_average = true
offline = "23"
capacities = { "0-3" = 446 }
[costs]
context_switch_ns = 777
ipi_ns = { remote = 9000 }
memory_ratio = [[1, 1, 1, 2, 2, 2], [1, 1, 1, 2, 2, 2], [1, 1, 1, 2, 2, 2], [2, 2, 2, 1, 1, 1], [2, 2, 2, 1, 1, 1], [2.5, 2, 2, 1, 1, 1]]
idle_states = [{ name = "C1", exit_latency_ns = 1, target_residency_ns = 2 }]
idle_polls = false
)"));
    EXPECT_EQ(machine.arch, Arch::x86);
    EXPECT_TRUE(machine.snc_average);
    EXPECT_EQ(to_list(cpu(machine, 0).package_mask), "0-11");
    EXPECT_EQ(to_list(cpu(machine, 20).llc), "20-22") << "without the offline CPU";
    EXPECT_EQ(cpu(machine, 3).capacity, 446);
    EXPECT_EQ(cpu(machine, 4).capacity, 1024);
    EXPECT_EQ(machine.costs.context_switch_ns, 777u);
    EXPECT_EQ(machine.costs.ipi_ns[static_cast<std::size_t>(Nearness::remote)], 9000u);
    EXPECT_EQ(machine.costs.ipi_ns[static_cast<std::size_t>(Nearness::llc)],
              default_costs(Arch::x86, machine).ipi_ns[static_cast<std::size_t>(Nearness::llc)]);
    EXPECT_EQ(machine.costs.memory_ratio_permille[30], 2500u);
    EXPECT_EQ(machine.costs.idle_states.size(), 1u);
    EXPECT_FALSE(machine.costs.idle_polls);
}

TEST_F(Toml, overlay_of_an_overlay_keeps_its_costs) {
    write("a.toml", "cores = [2, 2]\n[costs]\nsyscall_ns = 123\ncopy_mb_per_s = 999\n");
    write("b/b.toml", "base = \"../a.toml\"\ndistances = [[10, 21], [21, 10]]\n");
    const Machine machine = read_machine(write("b/c.toml", "base = \"b.toml\"\n[costs]\ntick_ns = 5\n"));
    EXPECT_EQ(machine.costs.syscall_ns, 123u);
    EXPECT_EQ(machine.costs.copy_mb_per_s[6], 999u);
    EXPECT_EQ(machine.costs.tick_ns, 5u);
    EXPECT_EQ(machine.costs.memory_ratio_permille[1], 1680u) << "follows the new distance";
}

TEST_F(Toml, distances_come_from_numactl_text) {
    const Machine machine =
        read_machine(write("m.toml", "base = \"" + data + "lscpu/ft2500-128c.txt\"\ndistances = \"" + data +
                                         "numactl/ft2500-16n-distances-only.txt\"\n"));
    EXPECT_EQ(machine.nodes.size(), 16u);
    EXPECT_EQ(machine.distance[0][6], 50);
    EXPECT_EQ(machine.distance[15][0], 100);
}

TEST_F(Toml, wrong_files_are_refused_with_a_reason) {
    expect_refused("cores = 4\nsmtt = 2\n", "line 2: there is no key 'smtt' in a machine file, did you mean 'smt'?");
    expect_refused("name = \"x\"\n", "without `cores` and without `base`");
    expect_refused("cores = 4\nsmt = 2.5\n", "smt must be a whole number");
    expect_refused("cores = 0\n", "cores must be a whole number from 1");
    expect_refused("cores = [0, 0]\n", "no node has cores");
    expect_refused("nodes = 1000\ncores = 1000\n", "1000000 CPUs, at most 4096");
    expect_refused("cores = 99999999999999999999\n", "line 1");
    expect_refused("cores = [2, 2]\ndistances = [[10, 20], [20]]\n", "row 1 of the distance matrix has 1 value");
    expect_refused("cores = [2, 2]\ndistances = [[10, 20]]\n", "the distance matrix has 1 row");
    expect_refused("cores = [2, 2]\ndistances = [[10, 0], [20, 10]]\n", "from 1 to 65535");
    expect_refused("cores = [1, 1]\nnode_ids = [3, 3]\n", "node 3 occurs twice");
    expect_refused("cores = 4\noffline = \"0-3\"\n", "all CPUs are offline");
    expect_refused("cores = 4\noffline = \"9\"\n", "CPUs 9 are not in the machine");
    expect_refused("cores = [2, 2, 2]\npackages = 2\n", "2 packages do not fit 3 nodes");
    expect_refused("base = \"m.toml\"\n", "do they name each other?");
    EXPECT_THROW(read_machine(write("m.toml", "base = \"nowhere\"\n")), InputError);
    expect_refused("cores = 2\nbase = \"here\"\n", "exclude each other");
    expect_refused("cores = 2\n[costs]\nsyscal_ns = 1\n", "there is no cost 'syscal_ns', did you mean 'syscall_ns'?");
    expect_refused("cores = 2\n[costs]\ncopy_mb_per_s = 0\n", "from 1 to");
    expect_refused("cores = 2\n[costs]\nmemory_ratio = [[0.5]]\n", "each value at least 1");
    expect_refused("cores = 2\narch = \"amr64\"\n", "did you mean 'arm64'?");
    expect_refused("just prose\n", "no machine in any known form");
}

TEST_F(Toml, cpu_0_may_be_offline) {
    const Machine machine = read_machine(write("m.toml", "cores = 4\noffline = \"0\"\n"));
    EXPECT_EQ(to_list(machine.online()), "1-3");
    EXPECT_EQ(to_list(cpu(machine, 1).llc), "1-3");
}

using BadInput = Files;

TEST_F(BadInput, is_refused_with_a_reason) {
    expect_refused("", "is empty", "empty");
    expect_refused(std::string("A\0B", 3), "NUL bytes", "nul");
    expect_refused("<topology><object type=\"Machine\">", "is never closed", "x.xml");
    expect_refused("<html></html>", "expected <topology> of hwloc", "x.xml");
    expect_refused("<topology></topology>", "without any PU", "x.xml");
    expect_refused("<topology><object type=\"PU\" os_index=\"4096\"/></topology>", "CPU 4096", "x.xml");
    expect_refused("{\"input\": 3}", "no domain dump", "x.json");
    expect_refused("{", "broken JSON", "x.json");
    expect_refused("node 0 cpus: 0 1 x\n", "'x', expected a number", "n.txt");
    expect_refused("node 0 cpus: 0\nnode 1 cpus: 1\nnode distances:\nnode 0 1\n 0: 10\n 1: 20 10\n",
                   "1 values, expected 2", "n.txt");
    expect_refused("node 0 cpus: 0\nnode 1 cpus: 1\nnode distances:\nnode 0 1\n 0: 10 20\n", "no value from node 1",
                   "n.txt");
    expect_refused("node 0 cpus: 0\nnode 1 cpus: 1\nnode distances:\nnode 0 1\n 0: 10 0\n 1: 20 10\n", "distance 0",
                   "n.txt");
    expect_refused("Architecture: x86_64\nCPU(s): 99999\n", "99999 CPUs, at most", "l.txt");
    expect_refused("CPU NODE SOCKET\n0 0\n", "2 fields, expected 3", "l.txt");
    std::string deep = "<topology>";
    for (int i = 0; i < 100000; i++)
        deep += "<object type=\"Group\">";
    expect_refused(deep, "nested", "deep.xml");
    expect_refused("x = " + std::string(100000, '['), "no machine", "deep.toml");
    expect_refused("{\"input\":" + std::string(100000, '['), "broken JSON", "deep.json");
    EXPECT_THROW(read_machine(path("")), InputError) << "a folder";
    EXPECT_THROW(read_machine(path("none")), InputError);
    EXPECT_THROW(read_machine(""), InputError);
    EXPECT_THROW(read_machine("node:4 core:99999999"), InputError);
}

TEST_F(BadInput, snapshot_folder_with_wrong_files_is_refused) {
    write("s/sys/devices/system/cpu/present", "0-3");
    write("s/sys/devices/system/cpu/online", "0-x");
    EXPECT_THROW(read_machine(path("s")), InputError);
    write("s/sys/devices/system/cpu/online", "0-3");
    EXPECT_EQ(read_machine(path("s")).online().weight(), 4);
    write("s/sys/devices/system/cpu/cpu0/topology/thread_siblings", "zz");
    EXPECT_THROW(read_machine(path("s")), InputError);
    write("s/sys/devices/system/cpu/present", "0-99999");
    EXPECT_THROW(read_machine(path("s")), InputError);
}

// Whatever happens to a real file, it is read or refused: any other exception or a crash fails the test.
TEST_F(BadInput, mutated_files_are_read_or_refused) {
    RandomStream random(1, "mutations");
    int read = 0, refused = 0;
    for (const char *name :
         {"haswell-cod-28c.v1.xml", "power8nvl-2n16t.xml", "numactl/gh200-9n-wrapped.txt", "numactl/hygon5280-64t.txt",
          "lscpu/coreultra-16c-extended.txt", "lscpu/epyc7742-cpu255-offline.txt", "lscpu/i7-2600-parsable.txt",
          "lscpu/power9-128t-gpu-nodes.txt", "kunpeng920-2s4n128c.tar.bz2", "i7-1370p-hybrid.tar.bz2"}) {
        std::ifstream file(data + name, std::ios::binary);
        std::stringstream buffer;
        buffer << file.rdbuf();
        const std::string whole = buffer.str();
        ASSERT_FALSE(whole.empty());
        for (int round = 0; round < 60; round++) {
            std::string text = whole;
            for (u64 changes = random.between(1, 6); changes > 0; changes--) {
                const std::size_t at = random.below(text.size());
                switch (random.below(5)) {
                case 0:
                    text[at] = static_cast<char>(random.below(256));
                    break;
                case 1:
                    text.erase(at, random.below(40));
                    break;
                case 2:
                    text.insert(at, std::to_string(random.next() >> random.below(64)));
                    break;
                case 3:
                    text.insert(at, text.substr(random.below(text.size()), random.below(200)));
                    break;
                default:
                    text.resize(at + 1);
                }
            }
            try {
                read_machine(write("mutant", text));
                read++;
            } catch (const InputError &error) {
                EXPECT_NE(std::string(error.what()), "");
                refused++;
            }
        }
    }
    EXPECT_GT(read, 0);
    EXPECT_GT(refused, 0);
}

TEST(Synthetic, string_is_read_through_hwloc) {
    const Machine machine = read_machine("node:2 l3:2 l2:2 core:1 pu:2");
    EXPECT_EQ(machine.online().weight(), 16);
    EXPECT_EQ(machine.nodes.size(), 2u);
    EXPECT_EQ(to_list(machine.cpus[0].smt), "0-1");
    EXPECT_EQ(to_list(machine.cpus[0].llc), "0-3");
    EXPECT_EQ(to_list(machine.nodes[1].cpus), "8-15");
}

using Dump = Files;

TEST_F(Dump, gives_the_masks_of_the_kernel) {
    const std::string text = R"({"name": "d", "spec": {"cpu": "GraniteRapids", "append": "quiet split_llc=2"},
"globals": {"node_reclaim_distance": 32},
"input": {"cpus": [
{"id": 0, "online": true, "node": 0, "pkg": 0, "die": 0, "core": 0, "smt": "0", "l2": "0-1", "llc": "0-1", "die_mask": "0-1", "pkg_mask": "0-1"},
{"id": 1, "online": true, "node": 0, "pkg": 0, "die": 0, "core": 1, "smt": "1", "l2": "0-1", "llc": "0-1", "die_mask": "0-1", "pkg_mask": "0-1"},
{"id": 2, "online": false}], "nodes": [{"id": 0, "cpus": "0-1"}, {"id": 1, "cpus": ""}], "distance": [[10, 20], [21, 10]]}})";
    const Machine machine = read_machine(write("d.json", text));
    EXPECT_EQ(machine.name, "d");
    EXPECT_EQ(to_list(machine.online()), "0-1");
    EXPECT_EQ(to_list(machine.present()), "0-2");
    EXPECT_EQ(to_list(machine.cpus[0].l2), "0-1");
    EXPECT_EQ(machine.distance[1][0], 21);
    EXPECT_TRUE(machine.snc_average);
    EXPECT_TRUE(machine.amd_zen);
    EXPECT_EQ(machine.split_llc, 2);
}

} // namespace
