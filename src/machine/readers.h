// SPDX-License-Identifier: GPL-2.0-only
//
// The readers behind read_machine(), one per form, and what they share. Inside src/machine only.
//
// A reader fills in what its form says and calls complete(), which checks the result and fills in the rest. `label`
// names the input in error messages. All throw InputError.
#pragma once

#include "machine/machine.h"
#include "machine/snapshot.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairground {

Machine read_sysfs(const Snapshot &snapshot, const std::string &label);
Machine read_hwloc_xml(std::string_view xml, const std::string &label);
Machine read_synthetic(const std::string &text);
Machine read_numactl(std::string_view text, const std::string &label);
// The matrix alone, for the nodes that `machine` has already.
void read_numactl_distances(std::string_view text, const std::string &label, Machine &machine);
Machine read_lscpu(std::string_view text, const std::string &label);
Machine read_domain_dump(std::string_view json, const std::string &label);

// `folder`: where relative names in it start. `depth`: how many files led here through `base`.
Machine read_machine_toml(std::string_view text, const std::string &label, const std::string &folder, int depth);
// read_machine() with the place and depth of the file that names `spec`.
Machine read_machine_from(const std::string &spec, const std::string &folder, int depth);

// True if the text looks like the form.
bool is_numactl(std::string_view text);
bool is_lscpu(std::string_view text);
bool is_synthetic(std::string_view text);

inline constexpr int max_nodes = 1024; // MAX_NUMNODES of the largest kernel configurations

// The CPU's entry, made present (but not online); refuses numbers outside 0 .. max_cpus - 1.
Cpu &add_cpu(Machine &machine, s64 number, const std::string &label);

// How the CPUs of each node fall into cores, L2s, LLCs and packages where a form does not tell CPU by CPU.
struct Cut {
    int smt = 1;           // threads of a core
    bool adjacent = false; // siblings have neighbouring numbers; else all first threads come first
    int l2 = 1;            // cores that share an L2
    int cluster = 0;       // cores of a cluster in the sense of arm64; 0: none known
    int llc = 0;           // cores that share a last-level cache; 0: those of a node in one package
    int packages = 0;      // all packages, equal in nodes or cores; 0: one per node with CPUs
};
void cut(Machine &machine, const Cut &cut, const std::string &label);
// True if no core would have threads in two nodes.
bool cores_fit_nodes(const Machine &machine, const Cut &cut);

// Threads of a core as the CPU lists of the nodes suggest: two or more equal runs of numbers, equally far apart in all
// nodes, as in "0-5,48-53", mean that the later runs hold the second threads. 1 if there is no such pattern.
int smt_from_node_lists(const Machine &machine);

// Identity of the CPU model, where the form tells it, and the facts of Machine that follow from it.
struct Identity {
    std::string vendor; // "AuthenticAMD", "GenuineIntel", ...
    int family = 0;
    int model = 0;
};
void apply_identity(Machine &machine, const Identity &identity);
// "x86_64", "aarch64", "ppc64le", ... as uname prints it.
Arch arch_by_name(std::string_view name);

// The last step: checks everything and makes the machine consistent. Nodes ascending by os_index, each CPU in one node,
// masks and node lists without CPUs that are absent or offline (an offline CPU's masks hold itself), distances
// complete, capacities at most 1024, unknown caches by rule, default costs. Notes say what was changed.
void complete(Machine &machine, const std::string &label);

// "0x0000000f,,0x1", "00000000,0000000f" (32 bits a word, highest first). Throws on CPUs >= max_cpus.
CpuMask parse_hex_mask(std::string_view text, const std::string &label);

std::string_view trim(std::string_view text); // also NUL bytes, which some kernels append
std::optional<s64> parse_number(std::string_view text);
std::vector<std::string_view> split_lines(std::string_view text);

} // namespace fairground
