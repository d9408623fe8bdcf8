// SPDX-License-Identifier: GPL-2.0-only
#include "study/fingerprint.h"

#include <array>
#include <openssl/evp.h>
#include <stdexcept>

namespace fairground {

namespace {

// "key=value\n" lines; the text only feeds the hash, so its form matters to nobody but must not be ambiguous.
class Canonical {
  public:
    void add(std::string_view key, s64 value) { line(key, std::to_string(value)); }
    void add(std::string_view key, const CpuMask &mask) { line(key, to_list(mask)); }
    template <class List> void add_all(std::string_view key, const List &list) {
        std::string joined;
        for (const auto &value : list)
            joined += std::to_string(value) + ' ';
        line(key, joined);
    }
    [[nodiscard]] const std::string &text() const { return text_; }

  private:
    void line(std::string_view key, std::string_view value) {
        text_.append(key).append("=").append(value).append("\n");
    }
    std::string text_;
};

void add_costs(Canonical &out, const Costs &costs) {
    out.add_all("fixed", std::array{costs.context_switch_ns, costs.syscall_ns, costs.wakeup_local_ns,
                                    costs.wakeup_remote_ns, costs.migration_ns, costs.page_alloc_ns, costs.tick_ns,
                                    costs.balance_pass_ns, costs.balance_per_cpu_ns});
    out.add_all("ipi", costs.ipi_ns);
    out.add_all("copy", costs.copy_mb_per_s);
    out.add_all("refill", costs.refill_mb_per_s);
    out.add_all("memory_ratio", costs.memory_ratio_permille);
    for (const IdleState &state : costs.idle_states)
        out.add_all("idle_state", std::array{state.exit_latency_ns, state.target_residency_ns});
    out.add("idle_polls", costs.idle_polls);
}

} // namespace

std::string sha256(std::string_view bytes) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned length = 0;
    if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1)
        throw std::runtime_error("libcrypto cannot compute SHA-256");
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (unsigned i = 0; i < length; i++) {
        text += digits[digest[i] >> 4];
        text += digits[digest[i] & 15];
    }
    return text;
}

std::string fingerprint(const Machine &machine) {
    Canonical out;
    out.add("arch", static_cast<s64>(machine.arch));
    for (std::size_t i = 0; i < machine.cpus.size(); i++) {
        const Cpu &cpu = machine.cpus[i];
        if (!cpu.present)
            continue;
        out.add("cpu", static_cast<s64>(i));
        out.add_all("place", std::array<s64, 7>{cpu.online, cpu.node, cpu.package, cpu.die, cpu.core, cpu.cluster,
                                                cpu.capacity});
        out.add("smt", cpu.smt);
        out.add("l2", cpu.l2);
        out.add("llc", cpu.llc);
        out.add("package", cpu.package_mask);
    }
    for (const Node &node : machine.nodes) {
        out.add("node", node.os_index);
        out.add("cpus", node.cpus);
    }
    for (const std::vector<int> &row : machine.distance)
        out.add_all("distance", row);
    out.add_all("facts",
                std::array<s64, 4>{machine.amd_zen, machine.snc_average, machine.split_llc, machine.asym_packing});
    add_costs(out, machine.costs);
    return sha256(out.text());
}

} // namespace fairground
