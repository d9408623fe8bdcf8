// SPDX-License-Identifier: GPL-2.0-only
//
// The `input` block of a domain dump: the masks a booted x86 kernel had, CPU by CPU.
#include "base/error.h"
#include "machine/readers.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace fairground {

namespace {

using nlohmann::json;

class Reader {
  public:
    Reader(std::string_view text, const std::string &label) : label_(label) {
        try {
            dump_ = json::parse(text);
        } catch (const json::exception &error) {
            throw InputError(label_ + ": broken JSON: " + std::string(error.what()).substr(0, 200));
        }
    }

    Machine read() {
        machine_.source = "domain dump";
        machine_.arch = Arch::x86;
        try {
            const json &input = dump_.at("input");
            read_nodes(input);
            for (const json &cpu : input.at("cpus"))
                read_cpu(cpu);
            read_facts();
        } catch (const json::exception &error) {
            throw InputError(label_ +
                             ": JSON that is no domain dump, expected `input` with cpus, nodes and distance: " +
                             std::string(error.what()).substr(0, 200));
        }
        complete(machine_, label_);
        place_offline();
        return std::move(machine_);
    }

  private:
    [[nodiscard]] CpuMask list(const json &object, const char *key) const {
        const auto text = object.at(key).get<std::string>();
        const auto mask = parse_list(text);
        if (!mask)
            throw InputError(label_ + ": " + key + " = '" + text.substr(0, 40) +
                             "', expected a CPU list such as 0-3,8 below " + std::to_string(max_cpus));
        return *mask;
    }
    [[nodiscard]] int integer(const json &value, const char *what) const {
        const auto number = value.get<double>();
        if (!(number >= -1e9 && number <= 1e9))
            throw InputError(label_ + ": " + what + " is out of range");
        return static_cast<int>(number);
    }

    void read_nodes(const json &input) {
        for (const json &node : input.at("nodes"))
            machine_.nodes.push_back({integer(node.at("id"), "a node's id"), list(node, "cpus")});
        for (const json &row : input.at("distance")) {
            machine_.distance.emplace_back();
            for (const json &value : row)
                machine_.distance.back().push_back(integer(value, "a distance"));
        }
    }

    void read_cpu(const json &from) {
        Cpu &cpu = add_cpu(machine_, integer(from.at("id"), "a CPU's id"), label_);
        cpu.online = from.value("online", true);
        if (!cpu.online)
            return;
        cpu.package = integer(from.at("pkg"), "pkg");
        cpu.die = integer(from.at("die"), "die");
        cpu.core = integer(from.at("core"), "core");
        cpu.smt = list(from, "smt");
        cpu.l2 = list(from, "l2");
        cpu.llc = list(from, "llc");
        cpu.package_mask = list(from, "pkg_mask");
    }

    // What the boot log and the request for the virtual machine say beyond the masks. A `llc` under split_llc is split
    // already; splitting it again changes nothing (TOPO-6).
    void read_facts() {
        machine_.name = dump_.value("name", std::string());
        const json spec = dump_.value("spec", json::object());
        const json globals = dump_.value("globals", json::object());
        const std::string model = spec.value("cpu", std::string());
        machine_.model = model;
        machine_.amd_zen = globals.value("node_reclaim_distance", 30) == 32;
        // TOPO-17; QEMU's names of GRANITERAPIDS_X and ATOM_DARKMONT_X.
        machine_.snc_average = model.starts_with("GraniteRapids") || model.starts_with("ClearwaterForest");
        machine_.threads_per_core = boot_fact("Max. threads per core:");
        machine_.nodes_per_package = boot_fact("Num. nodes per package:");
        const std::string append = spec.value("append", std::string());
        if (const auto at = append.find("split_llc="); at != std::string::npos) {
            const std::string_view value = std::string_view(append).substr(at + 10);
            machine_.split_llc = static_cast<int>(parse_number(value.substr(0, value.find(' '))).value_or(0));
        }
    }

    // "CPU topo: Max. threads per core: 2"; 0 if the boot log has no such line.
    [[nodiscard]] int boot_fact(std::string_view key) const {
        for (const json &note : dump_.value("kernel_notes", json::array())) {
            const auto line = note.get<std::string>();
            if (const auto at = line.find(key); at != std::string::npos)
                return static_cast<int>(parse_number(trim(std::string_view(line).substr(at + key.size()))).value_or(0));
        }
        return 0;
    }

    // The masks say nothing about CPUs that were offline by then, but the kernel had booted with them and numbered its
    // LLCs (TOPO-53). The request tells their place: QEMU numbers the threads of a core, the cores of a module and so
    // on one after the other, and shares L3 caches per die unless asked otherwise.
    void place_offline() {
        const json spec = dump_.value("spec", json::object());
        const auto smp = spec.value("smp", std::vector<int>()); // packages, dies, modules, cores, threads
        const auto order = spec.value("order", std::vector<int>());
        const auto nodes = spec.value("nodes", std::vector<std::vector<int>>());
        const CpuMask offline = machine_.present() - machine_.online();
        if (smp.size() != 5 || std::ranges::any_of(smp, [](int n) { return n < 1 || n > max_cpus; }) || offline.empty())
            return;
        static constexpr std::array<std::string_view, 5> names{"socket", "die", "module", "core", "thread"};
        const std::string sharing = spec.value("cache", json::object()).value("l3", std::string("die"));
        s64 size = 1; // CPUs under one L3
        for (std::size_t i = names.size(); i-- > 0 && names[i] != sharing;)
            size *= smp[i];
        const auto index = [&](CpuId cpu) {
            const auto at = static_cast<std::size_t>(cpu);
            return at < order.size() ? order[at] : cpu.value;
        };
        const auto node = [&](CpuId cpu) {
            return std::ranges::find_if(nodes,
                                        [&](const auto &row) { return std::ranges::count(row, index(cpu)) > 0; });
        };
        for (CpuId id : offline) {
            Cpu &cpu = machine_.cpus[static_cast<std::size_t>(id)];
            for (CpuId other : machine_.present()) {
                if (node(other) != node(id) || index(other) / size != index(id) / size)
                    continue;
                cpu.llc.set(other);
                if (const Cpu &sharer = machine_.cpus[static_cast<std::size_t>(other)]; sharer.online) {
                    cpu.node = sharer.node;
                    cpu.package = sharer.package;
                }
            }
        }
        machine_.notes.push_back("offline CPUs " + to_list(offline) + ": LLC by the request for the virtual machine");
    }

    json dump_;
    const std::string &label_;
    Machine machine_;
};

} // namespace

Machine read_domain_dump(std::string_view text, const std::string &label) { return Reader(text, label).read(); }

} // namespace fairground
