// SPDX-License-Identifier: GPL-2.0-only
#include "machine/oracle_dump.h"

#include "base/error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

namespace fairground {

namespace {

using nlohmann::json;

CpuMask mask_of(const json &text, const std::string &where) {
    const auto mask = parse_list(text.get<std::string>());
    if (!mask)
        throw InputError(where + ": '" + text.get<std::string>() + "' is not a CPU list such as 0-3,8");
    return *mask;
}

Cpu read_cpu(const json &entry, const std::string &where, std::size_t nodes) {
    Cpu cpu;
    cpu.present = true;
    cpu.online = entry.at("online").get<bool>();
    if (!cpu.online)
        return cpu;
    cpu.node = NodeId{entry.at("node").get<int>()};
    if (!cpu.node.valid() || static_cast<std::size_t>(cpu.node) >= nodes)
        throw InputError(where + ": node " + std::to_string(cpu.node.value) + " is not in input.nodes");
    cpu.package = entry.at("pkg").get<int>();
    cpu.die = entry.at("die").get<int>();
    cpu.core = entry.at("core").get<int>();
    cpu.smt = mask_of(entry.at("smt"), where);
    cpu.l2 = mask_of(entry.at("l2"), where);
    cpu.llc = mask_of(entry.at("llc"), where);
    cpu.package_mask = mask_of(entry.at("pkg_mask"), where);
    return cpu;
}

// The recorded request: how QEMU numbers CPUs, and at which level they share caches.
struct Request {
    std::array<int, 5> smp{}; // packages, dies, modules, cores, threads, each per its parent
    std::vector<int> order;   // by CPU number: QEMU's index
    std::string l2 = "core";
    std::string l3 = "die";

    [[nodiscard]] int index(int cpu) const { return order.empty() ? cpu : order[static_cast<std::size_t>(cpu)]; }
    // Number of the thing at `level` that holds `cpu`; equal numbers: shared.
    [[nodiscard]] int unit(int cpu, std::string_view level) const {
        static constexpr std::array<std::string_view, 5> names{"socket", "die", "module", "core", "thread"};
        int size = 1;
        for (std::size_t i = names.size(); i-- > 0 && names[i] != level;)
            size *= smp[i];
        return index(cpu) / size;
    }
};

std::optional<Request> read_request(const json &dump, std::size_t cpus) {
    if (!dump.contains("spec") || !dump.at("spec").contains("smp"))
        return {};
    const json &spec = dump.at("spec");
    Request request;
    request.smp = spec.at("smp").get<std::array<int, 5>>();
    std::size_t total = 1;
    for (int part : request.smp)
        total *= static_cast<std::size_t>(std::max(part, 0));
    if (spec.contains("order"))
        request.order = spec.at("order").get<std::vector<int>>();
    if (total != cpus || (!request.order.empty() && request.order.size() != cpus))
        return {};
    if (spec.contains("cache")) {
        request.l2 = spec.at("cache").value("l2", request.l2);
        request.l3 = spec.at("cache").value("l3", request.l3);
    }
    return request;
}

// Joins `cpu` and everybody in `sharers` in one of their masks.
void share(Machine &machine, CpuId cpu, const CpuMask &sharers, CpuMask Cpu::*mask) {
    for (CpuId other : sharers) {
        machine.cpus[static_cast<std::size_t>(other)].*mask |= sharers;
        machine.cpus[static_cast<std::size_t>(other)].*mask |= CpuMask::of(cpu);
    }
}

// TOPO-53: LLC numbers were given while these CPUs were still online, so the machine has to know their place.
void place_offline(Machine &machine, const json &dump) {
    CpuMask offline = machine.present() - machine.online();
    if (offline.empty())
        return;
    const auto request = read_request(dump, machine.cpus.size());
    if (!request) {
        machine.notes.emplace_back("the dump does not tell where its offline CPUs are: left out");
        for (CpuId cpu : offline)
            machine.cpus[static_cast<std::size_t>(cpu)].present = false;
        return;
    }
    const json nodes = dump.at("spec").value("nodes", json::array());
    // Requested node of a CPU; the kernel's number for it is that of the CPUs it shares it with.
    const auto requested_node = [&](int cpu) {
        for (std::size_t node = 0; node < nodes.size(); node++)
            for (const json &member : nodes[node])
                if (member.get<int>() == request->index(cpu))
                    return static_cast<int>(node);
        return 0;
    };
    for (CpuId id : offline) {
        Cpu &cpu = machine.cpus[static_cast<std::size_t>(id)];
        cpu.node = NodeId{std::min(requested_node(id), static_cast<int>(machine.nodes.size()) - 1)};
        cpu.package = request->unit(id, "socket");
        cpu.die = request->unit(id, "die");
        cpu.core = request->unit(id, "core") % (request->smp[1] * request->smp[2] * request->smp[3]);
        CpuMask smt = CpuMask::of(id);
        CpuMask l2 = smt;
        CpuMask llc = smt;
        CpuMask package = smt;
        for (CpuId other : machine.present()) {
            const Cpu &sibling = machine.cpus[static_cast<std::size_t>(other)];
            const bool same_node = requested_node(other) == requested_node(id);
            if (same_node && sibling.online)
                cpu.node = sibling.node;
            if (request->unit(other, "socket") == request->unit(id, "socket")) {
                package.set(other);
                if (sibling.online)
                    cpu.package = sibling.package;
            }
            if (same_node && request->unit(other, "core") == request->unit(id, "core"))
                smt.set(other);
            if (same_node && request->unit(other, request->l2) == request->unit(id, request->l2))
                l2.set(other);
            if (same_node && request->unit(other, request->l3) == request->unit(id, request->l3))
                llc.set(other);
        }
        share(machine, id, smt, &Cpu::smt);
        share(machine, id, l2, &Cpu::l2);
        share(machine, id, llc, &Cpu::llc);
        share(machine, id, package, &Cpu::package_mask);
        machine.nodes[static_cast<std::size_t>(cpu.node)].cpus.set(id);
    }
    machine.notes.push_back("offline CPUs " + to_list(offline) + " placed as the recorded request numbers them");
}

// "CPU topo: Max. threads per core: 2" and the like; 0 if the boot log has no such line.
int boot_fact(const json &dump, std::string_view key) {
    for (const json &note : dump.value("kernel_notes", json::array())) {
        const auto line = note.get<std::string>();
        const auto at = line.find(key);
        if (at == std::string::npos)
            continue;
        const auto digit = line.find_first_of("0123456789", at + key.size());
        int value = 0;
        if (digit != std::string::npos)
            std::from_chars(line.data() + digit, line.data() + line.size(), value);
        return value;
    }
    return 0;
}

void read_model(Machine &machine, const json &dump) {
    machine.model = dump.value("spec", json::object()).value("cpu", std::string());
    // QEMU's model names. TOPO-25: Zen and its Hygon sibling; TOPO-17: GRANITERAPIDS_X, ATOM_DARKMONT_X.
    machine.amd_zen = machine.model.starts_with("EPYC") || machine.model.starts_with("Dhyana");
    machine.snc_average = machine.model.starts_with("GraniteRapids") || machine.model.starts_with("ClearwaterForest");
    for (const json &note : dump.value("kernel_notes", json::array()))
        machine.snc_average |= note.get<std::string>().find("Fixing up SNC SLIT table") != std::string::npos;
    machine.threads_per_core = boot_fact(dump, "Max. threads per core:");
    machine.nodes_per_package = boot_fact(dump, "Num. nodes per package:");
}

Machine read(const json &dump, const std::string &name) {
    const json &input = dump.at("input");
    Machine machine;
    machine.name = name;
    machine.source = "domain dump";
    machine.arch = dump.value("kernel", std::string()).ends_with("arm64") ? Arch::arm64 : Arch::x86;
    for (const json &entry : input.at("nodes")) {
        Node node;
        node.os_index = entry.at("id").get<int>();
        node.cpus = mask_of(entry.at("cpus"), name + ": input.nodes");
        machine.nodes.push_back(node);
    }
    machine.distance = input.at("distance").get<std::vector<std::vector<int>>>();
    const auto square = [&](const std::vector<int> &row) { return row.size() == machine.nodes.size(); };
    if (machine.nodes.empty() || !square(std::vector<int>(machine.distance.size())) ||
        !std::ranges::all_of(machine.distance, square))
        throw InputError(name + ": input.distance is not a square matrix over input.nodes");
    for (const json &entry : input.at("cpus")) {
        const int id = entry.at("id").get<int>();
        if (id < 0 || id >= max_cpus)
            throw InputError(name + ": input.cpus: CPU number " + std::to_string(id) + " is not in 0.." +
                             std::to_string(max_cpus - 1));
        if (machine.cpus.size() <= static_cast<std::size_t>(id))
            machine.cpus.resize(static_cast<std::size_t>(id) + 1);
        machine.cpus[static_cast<std::size_t>(id)] =
            read_cpu(entry, name + ": input.cpus, CPU " + std::to_string(id), machine.nodes.size());
    }
    if (machine.online().empty())
        throw InputError(name + ": input.cpus has no online CPU");
    read_model(machine, dump);
    place_offline(machine, dump);
    return machine;
}

} // namespace

Machine read_oracle_dump(const json &dump, const std::string &name) {
    try {
        return read(dump, name);
    } catch (const json::exception &error) {
        throw InputError(name + ": not a domain dump with an input block: " + error.what());
    }
}

} // namespace fairground
