// SPDX-License-Identifier: GPL-2.0-only
#include "report/machine_report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace fairground {

namespace {

const char *arch_name(Arch arch) {
    switch (arch) {
    case Arch::x86:
        return "x86";
    case Arch::arm64:
        return "arm64";
    case Arch::power:
        return "power";
    case Arch::other:
        break;
    }
    return "other";
}

std::string pad(const std::string &text, std::size_t width) {
    return std::string(width - std::min(width, text.size()), ' ') + text;
}

// The distinct masks of a kind, ascending by their first CPU, and how many there are of each weight: "4 x 8 + 1 x 2
// CPUs".
std::string sharing(const Machine &machine, CpuMask Cpu::*mask) {
    std::map<int, int, std::greater<>> count; // by weight
    for (CpuId id : machine.online()) {
        const CpuMask &one = machine.cpus[static_cast<std::size_t>(id.value)].*mask;
        if (one.first() == id)
            count[one.weight()]++;
    }
    std::string text;
    for (const auto &[weight, number] : count)
        text += (text.empty() ? "" : " + ") + std::to_string(number) + " x " + std::to_string(weight);
    return text + (count.size() == 1 && count.begin()->first == 1 ? " CPU" : " CPUs");
}

std::string capacities(const Machine &machine) {
    std::map<int, CpuMask, std::greater<>> cpus;
    for (CpuId id : machine.online())
        cpus[machine.cpus[static_cast<std::size_t>(id.value)].capacity].set(id);
    std::string text;
    for (const auto &[capacity, mask] : cpus)
        text += (text.empty() ? "" : ", ") + std::to_string(capacity) + " on " + to_list(mask);
    return cpus.size() > 1 ? text : "";
}

std::string flags(const Machine &machine) {
    std::string text;
    const auto add = [&](bool on, const std::string &what) {
        if (on)
            text += (text.empty() ? "" : ", ") + what;
    };
    add(machine.amd_zen, "amd_zen (node_reclaim_distance 32)");
    add(machine.snc_average, "snc_average (distances between packages averaged)");
    add(machine.split_llc > 0, "split_llc=" + std::to_string(machine.split_llc));
    add(machine.asym_packing, "asym_packing");
    return text;
}

std::string distances(const Machine &machine) {
    std::string text = "distances\n";
    const auto row = [&](const std::string &head, auto value) {
        text += "  " + pad(head, 5);
        for (std::size_t j = 0; j < machine.nodes.size(); j++)
            text += pad(std::to_string(value(j)), 5);
        text += '\n';
    };
    row("", [&](std::size_t j) { return machine.nodes[j].os_index; });
    for (std::size_t i = 0; i < machine.nodes.size(); i++)
        row(std::to_string(machine.nodes[i].os_index), [&](std::size_t j) { return machine.distance[i][j]; });
    return text;
}

} // namespace

nlohmann::ordered_json machine_json(const Machine &machine) {
    nlohmann::ordered_json json, input;
    json["name"] = machine.name;
    json["source"] = machine.source;
    json["arch"] = arch_name(machine.arch);
    json["model"] = machine.model;
    json["notes"] = machine.notes;
    input["cpus"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < machine.cpus.size(); i++) {
        const Cpu &cpu = machine.cpus[i];
        if (!cpu.present)
            continue;
        nlohmann::ordered_json one;
        one["id"] = i;
        one["online"] = cpu.online;
        if (cpu.online) {
            one["node"] = machine.nodes[static_cast<std::size_t>(cpu.node.value)].os_index;
            one["pkg"] = cpu.package;
            one["die"] = cpu.die;
            one["core"] = cpu.core;
            one["cluster"] = cpu.cluster;
            one["capacity"] = cpu.capacity;
            one["smt"] = to_list(cpu.smt);
            one["l2"] = to_list(cpu.l2);
            one["llc"] = to_list(cpu.llc);
            one["pkg_mask"] = to_list(cpu.package_mask);
        }
        input["cpus"].push_back(std::move(one));
    }
    input["nodes"] = nlohmann::ordered_json::array();
    for (const Node &node : machine.nodes) {
        nlohmann::ordered_json one;
        one["id"] = node.os_index;
        one["cpus"] = to_list(node.cpus);
        input["nodes"].push_back(std::move(one));
    }
    input["distance"] = machine.distance;
    json["input"] = std::move(input);
    return json;
}

std::string machine_text(const Machine &machine) {
    const CpuMask online = machine.online();
    const CpuMask offline = machine.present() - online;
    std::string text = machine.name + ": " + machine.source + ", " + arch_name(machine.arch);
    if (!machine.model.empty())
        text += ", " + machine.model;
    text += "\nCPUs       " + std::to_string(online.weight()) + " online: " + to_list(online);
    if (!offline.empty())
        text += "; " + std::to_string(offline.weight()) + " offline: " + to_list(offline);
    text += "\npackages   " + sharing(machine, &Cpu::package_mask);
    text += "\nLLC        " + sharing(machine, &Cpu::llc);
    text += "\nL2         " + sharing(machine, &Cpu::l2);
    text += "\ncores      " + sharing(machine, &Cpu::smt);
    if (const std::string list = capacities(machine); !list.empty())
        text += "\ncapacity   " + list;
    if (const std::string list = flags(machine); !list.empty())
        text += "\nfacts      " + list;
    text += '\n';
    for (const Node &node : machine.nodes)
        text += "node " + pad(std::to_string(node.os_index), 4) + "  " +
                (node.cpus.empty() ? "no CPUs" : to_list(node.cpus)) + '\n';
    text += distances(machine);
    for (const std::string &note : machine.notes)
        text += "note: " + note + '\n';
    return text;
}

} // namespace fairground
