// SPDX-License-Identifier: GPL-2.0-only
//
// Our own machine files; docs/machines.md describes them. A file gives the whole machine in a few counts, or a `base`
// in any form and what differs from it.
#include "base/error.h"
#include "base/nearest.h"
#include "machine/costs_toml.h"
#include "machine/readers.h"

#include <algorithm>
#include <filesystem>
#include <toml++/toml.h>

namespace fairground {

namespace {

constexpr int max_base_depth = 8;

class Reader {
  public:
    Reader(const toml::table &table, const std::string &label, const std::string &folder, int depth)
        : table_(table), label_(label), folder_(folder), depth_(depth) {}

    Machine read() {
        check_keys();
        Machine machine = table_.contains("base") ? read_base() : build();
        const Costs base_costs = machine.costs;
        const Costs base_defaults = default_costs(machine.arch, machine);

        machine.name = string("name", machine.name);
        machine.model = string("model", machine.model);
        if (table_.contains("arch"))
            machine.arch = arch();
        if (table_.contains("base") && regroups())
            regroup(machine);
        read_distances(machine);
        read_cpus(machine);
        machine.amd_zen = boolean("amd_zen", machine.amd_zen);
        machine.snc_average = boolean("snc_average", machine.snc_average);
        machine.asym_packing = boolean("asym_packing", machine.asym_packing);
        machine.split_llc = integer("split_llc", machine.split_llc, 0, max_cpus);
        complete(machine, label_);
        if (table_.contains("base"))
            machine.costs = keep_set_costs(base_costs, base_defaults, machine.costs);
        if (const toml::node *costs = table_.get("costs"))
            read_costs(*costs, machine.nodes.size(), label_, machine.costs);
        return machine;
    }

  private:
    [[nodiscard]] InputError wrong(const toml::node &node, const std::string &what) const {
        return toml_error(label_, node, what);
    }

    void check_keys() const {
        static constexpr std::array<std::string_view, 20> known = {
            "name",    "arch",          "model",   "base",        "nodes",     "node_ids",    "cores",
            "smt",     "smt_numbering", "l2",      "cluster",     "llc",       "packages",    "distances",
            "offline", "capacities",    "amd_zen", "snc_average", "split_llc", "asym_packing"};
        for (const auto &[key, value] : table_)
            if (key != "costs" && std::ranges::find(known, key.str()) == known.end())
                throw wrong(value, "there is no key '" + std::string(key.str()) + "' in a machine file" +
                                       did_you_mean(key.str(), known));
        if (const toml::node *base = table_.get("base"))
            for (const char *key : {"nodes", "node_ids", "cores"})
                if (table_.contains(key))
                    throw wrong(*base, std::string("`base` and `") + key + "` exclude each other");
        if (!table_.contains("base") && !table_.contains("cores"))
            throw InputError(label_ + ": machine file without `cores` and without `base`, expected one of them");
    }

    std::string string(const char *key, const std::string &missing) const {
        const toml::node *node = table_.get(key);
        if (node == nullptr)
            return missing;
        const auto value = node->value_exact<std::string>();
        if (!value)
            throw wrong(*node, std::string(key) + " must be a string");
        return *value;
    }
    bool boolean(const char *key, bool missing) const {
        const toml::node *node = table_.get(key);
        if (node == nullptr)
            return missing;
        const auto value = node->value_exact<bool>();
        if (!value)
            throw wrong(*node, std::string(key) + " must be true or false");
        return *value;
    }
    int integer(const toml::node &node, const std::string &what, s64 low, s64 high) const {
        return static_cast<int>(toml_integer(label_, node, what, low, high));
    }
    int integer(const char *key, int missing, s64 low, s64 high) const {
        const toml::node *node = table_.get(key);
        return node == nullptr ? missing : integer(*node, key, low, high);
    }
    std::vector<int> integers(const toml::node &node, const std::string &what, s64 low, s64 high) const {
        const toml::array *array = node.as_array();
        if (array == nullptr)
            throw wrong(node, what + " must be a list of numbers");
        std::vector<int> values;
        for (const toml::node &value : *array)
            values.push_back(integer(value, "a value of " + what, low, high));
        return values;
    }
    CpuMask cpu_list(const toml::node &node, std::string_view text, const Machine &machine) const {
        const auto mask = parse_list(text);
        if (!mask || mask->empty())
            throw wrong(node,
                        "'" + std::string(text.substr(0, 40)) + "' is no CPU list, expected one such as \"0-3,8\"");
        if (!mask->subset_of(machine.present()))
            throw wrong(node, "CPUs " + to_list(*mask - machine.present()) + " are not in the machine");
        return *mask;
    }

    Arch arch() const {
        const std::string name = string("arch", "");
        static constexpr std::array<std::string_view, 4> names = {"x86", "arm64", "power", "other"};
        const auto found = std::ranges::find(names, name);
        if (found == names.end())
            throw wrong(*table_.get("arch"), "arch '" + name.substr(0, 40) + "', expected x86, arm64, power or other" +
                                                 did_you_mean(name, names));
        return static_cast<Arch>(found - names.begin());
    }

    Machine read_base() const {
        if (depth_ >= max_base_depth)
            throw InputError(label_ + ": more than " + std::to_string(max_base_depth) +
                             " files in a chain of `base`, do they name each other?");
        Machine machine = read_machine_from(string("base", ""), folder_, depth_ + 1);
        machine.name = std::filesystem::path(label_).stem().string();
        machine.source += " + toml";
        return machine;
    }

    // Counts to CPUs. Nodes own cores in order; threads are numbered by `smt_numbering`.
    Machine build() const {
        Machine machine;
        machine.source = "toml";
        machine.arch = table_.contains("arch") ? arch() : Arch::x86;
        const std::vector<int> cores = cores_of_nodes();
        const std::vector<int> ids = node_ids(cores.size());
        const Cut how = read_cut(machine, 1);
        s64 all = 0;
        for (int count : cores)
            all += count;
        if (all == 0)
            throw wrong(*table_.get("cores"), "no node has cores");
        if (all * how.smt > max_cpus)
            throw wrong(*table_.get("cores"), std::to_string(all * how.smt) + " CPUs, at most " +
                                                  std::to_string(max_cpus) + " are supported");
        s64 core = 0;
        for (std::size_t i = 0; i < cores.size(); i++) {
            Node node{ids[i], {}};
            for (int n = 0; n < cores[i]; n++, core++)
                for (int thread = 0; thread < how.smt; thread++) {
                    const s64 cpu = how.adjacent ? core * how.smt + thread : thread * all + core;
                    add_cpu(machine, cpu, label_).online = true;
                    node.cpus.set(CpuId{cpu});
                }
            machine.nodes.push_back(node);
        }
        cut(machine, how, label_);
        complete(machine, label_);
        return machine;
    }

    std::vector<int> cores_of_nodes() const {
        const toml::node &node = *table_.get("cores");
        if (!node.is_array())
            return std::vector<int>(static_cast<std::size_t>(integer("nodes", 1, 1, max_nodes)),
                                    integer(node, "cores", 1, max_cpus));
        std::vector<int> cores = integers(node, "cores", 0, max_cpus);
        if (cores.empty() || cores.size() > static_cast<std::size_t>(max_nodes))
            throw wrong(node, "cores has " + std::to_string(cores.size()) + " values, expected one a node");
        if (integer("nodes", static_cast<int>(cores.size()), 1, max_nodes) != static_cast<int>(cores.size()))
            throw wrong(node,
                        "cores has " + std::to_string(cores.size()) + " values, expected one for each of `nodes`");
        return cores;
    }

    std::vector<int> node_ids(std::size_t count) const {
        std::vector<int> ids;
        if (const toml::node *node = table_.get("node_ids")) {
            ids = integers(*node, "node_ids", 0, 65535);
            if (ids.size() != count)
                throw wrong(*node, "node_ids has " + std::to_string(ids.size()) + " values, expected " +
                                       std::to_string(count));
            return ids;
        }
        for (std::size_t i = 0; i < count; i++)
            ids.push_back(static_cast<int>(i));
        return ids;
    }

    bool regroups() const {
        return std::ranges::any_of(std::array{"smt", "smt_numbering", "l2", "cluster", "llc", "packages"},
                                   [&](const char *key) { return table_.contains(key); });
    }

    Cut read_cut(const Machine &machine, int usual_smt) const {
        Cut how;
        how.smt = integer("smt", usual_smt, 1, 64);
        how.l2 = integer("l2", 1, 1, max_cpus);
        how.cluster = integer("cluster", 0, 1, max_cpus);
        how.llc = integer("llc", 0, 1, max_cpus);
        how.packages = integer("packages", 0, 1, max_cpus);
        // x86 firmware numbers the first threads of all cores first, others number siblings side by side.
        const std::string numbering = string("smt_numbering", machine.arch == Arch::x86 ? "last" : "adjacent");
        if (numbering != "last" && numbering != "adjacent")
            throw wrong(*table_.get("smt_numbering"), "smt_numbering must be \"last\" or \"adjacent\"");
        how.adjacent = numbering == "adjacent";
        return how;
    }

    // What the keys do not give is kept from the base: counted there where it is uniform.
    void regroup(Machine &machine) const {
        const CpuId first = machine.online().first();
        const Cpu old = machine.cpus[static_cast<std::size_t>(first.value)];
        Cut how = read_cut(machine, old.smt.weight());
        if (!table_.contains("smt_numbering") && how.smt > 1) {
            const CpuId sibling = old.smt.next(first + 1);
            if (!table_.contains("smt") && sibling.valid())
                how.adjacent = sibling == first + 1;
            else if (!cores_fit_nodes(machine, how))
                how.adjacent = !how.adjacent;
        }
        const int threads = std::max(1, old.smt.weight());
        if (!table_.contains("l2"))
            how.l2 = std::max(1, old.l2.weight() / threads);
        const CpuMask whole = old.package_mask & machine.nodes[static_cast<std::size_t>(old.node.value)].cpus;
        if (!table_.contains("llc") && !(old.llc == whole))
            how.llc = std::max(1, old.llc.weight() / threads);
        if (!table_.contains("cluster") && old.cluster >= 0)
            how.cluster = std::max(1, cluster_size(machine, old) / threads);
        if (!table_.contains("packages"))
            how.packages = count_packages(machine);
        cut(machine, how, label_);
    }

    static int cluster_size(const Machine &machine, const Cpu &cpu) {
        return static_cast<int>(std::ranges::count_if(machine.cpus, [&](const Cpu &other) {
            return other.online && other.package == cpu.package && other.cluster == cpu.cluster;
        }));
    }

    static int count_packages(const Machine &machine) {
        std::vector<int> ids;
        for (CpuId cpu : machine.online())
            ids.push_back(machine.cpus[static_cast<std::size_t>(cpu.value)].package);
        std::ranges::sort(ids);
        return static_cast<int>(std::ranges::unique(ids).begin() - ids.begin());
    }

    void read_distances(Machine &machine) const {
        const toml::node *node = table_.get("distances");
        if (node == nullptr)
            return;
        machine.distance.clear();
        std::erase(machine.notes, "no node distances given, 10 local and 20 remote used");
        std::erase(machine.notes, "the distance matrix is not symmetric");
        if (const auto file = node->value_exact<std::string>()) {
            const std::string path = (std::filesystem::path(folder_) / *file).string();
            const Content content = read_content(path);
            if (content.is_archive)
                throw wrong(*node,
                            "distances '" + file->substr(0, 60) + "' is an archive, expected the text of numactl -H");
            read_numactl_distances(content.text, path, machine);
            return;
        }
        const toml::array *rows = node->as_array();
        if (rows == nullptr)
            throw wrong(
                *node, "distances must be a matrix such as [[10, 20], [20, 10]] or the name of a file with numactl -H");
        for (const toml::node &row : *rows)
            machine.distance.push_back(integers(row, "distances", 1, 65535));
    }

    void read_cpus(Machine &machine) const {
        if (const toml::node *node = table_.get("offline")) {
            const CpuMask off = cpu_list(*node, string("offline", ""), machine);
            for (CpuId cpu : off)
                machine.cpus[static_cast<std::size_t>(cpu.value)].online = false;
        }
        const toml::node *node = table_.get("capacities");
        if (node == nullptr)
            return;
        const toml::table *capacities = node->as_table();
        if (capacities == nullptr)
            throw wrong(*node, "capacities must be a table such as { \"0-3\" = 446 }");
        for (const auto &[list, value] : *capacities) {
            const int capacity = integer(value, "a capacity", 1, 1024);
            const CpuMask cpus = cpu_list(value, list.str(), machine);
            for (CpuId cpu : cpus)
                machine.cpus[static_cast<std::size_t>(cpu.value)].capacity = capacity;
        }
    }

    const toml::table &table_;
    const std::string &label_;
    const std::string &folder_;
    int depth_;
};

} // namespace

InputError toml_error(const std::string &label, const toml::node &node, const std::string &what) {
    return InputError(label + ": line " + std::to_string(node.source().begin.line) + ": " + what);
}

s64 toml_integer(const std::string &label, const toml::node &node, const std::string &what, s64 low, s64 high) {
    const auto value = node.value_exact<s64>();
    if (!value || *value < low || *value > high)
        throw toml_error(label, node,
                         what + " must be a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    return *value;
}

Machine read_machine_toml(std::string_view text, const std::string &label, const std::string &folder, int depth) {
    toml::table table;
    try {
        table = toml::parse(text);
    } catch (const toml::parse_error &error) {
        throw InputError(label + ": no machine in any known form; as TOML, line " +
                         std::to_string(error.source().begin.line) + ": " + std::string(error.description()));
    }
    return Reader(table, label, folder, depth).read();
}

} // namespace fairground
