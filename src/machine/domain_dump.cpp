// SPDX-License-Identifier: GPL-2.0-only
//
// The `input` block of a domain dump: the masks a booted x86 kernel had, CPU by CPU.
#include "base/error.h"
#include "machine/readers.h"

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
        machine_.snc_average = model == "GraniteRapids";
        const std::string append = spec.value("append", std::string());
        if (const auto at = append.find("split_llc="); at != std::string::npos) {
            const std::string_view value = std::string_view(append).substr(at + 10);
            machine_.split_llc = static_cast<int>(parse_number(value.substr(0, value.find(' '))).value_or(0));
        }
    }

    json dump_;
    const std::string &label_;
    Machine machine_;
};

} // namespace

Machine read_domain_dump(std::string_view text, const std::string &label) { return Reader(text, label).read(); }

} // namespace fairground
