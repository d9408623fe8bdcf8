// SPDX-License-Identifier: GPL-2.0-only
//
// /sys/devices/system/{cpu,node} and /proc/cpuinfo. The files are read directly rather than through libhwloc, because
// the masks the kernel publishes are the ones its scheduler uses; hwloc merges levels, repairs masks and has no offline
// CPUs.
#include "base/error.h"
#include "machine/readers.h"

#include <algorithm>
#include <map>

namespace fairground {

namespace {

const std::string cpu_folder = "sys/devices/system/cpu";
const std::string node_folder = "sys/devices/system/node";

class Reader {
  public:
    Reader(const Snapshot &snapshot, const std::string &label) : files_(snapshot), label_(label) {}

    Machine read() {
        machine_.source = "sysfs";
        read_cpuinfo();
        read_presence();
        for (std::size_t i = 0; i < machine_.cpus.size(); i++)
            if (machine_.cpus[i].present)
                read_cpu(CpuId{static_cast<s64>(i)}, machine_.cpus[i]);
        read_nodes();
        complete(machine_, label_);
        return std::move(machine_);
    }

  private:
    static std::string path_of(CpuId cpu) { return cpu_folder + "/cpu" + std::to_string(cpu.value); }

    std::optional<s64> number(const std::string &path) const {
        const auto text = files_.read(path);
        return text ? parse_number(*text) : std::nullopt;
    }

    // A mask in hexadecimal words, or else in list notation. Nothing if neither file is there or holds anything. The
    // words first: some old kernels print wrong lists (shared_cpu_list on Bulldozer).
    std::optional<CpuMask> mask(const std::string &hex_path, const std::string &list_path) const {
        if (const auto text = files_.read(hex_path); text && !trim(*text).empty())
            return parse_hex_mask(*text, label_ + ": " + hex_path);
        return list(list_path);
    }
    std::optional<CpuMask> list(const std::string &path) const {
        const auto text = files_.read(path);
        if (!text || trim(*text).empty())
            return {};
        auto mask = parse_list(trim(*text));
        if (!mask)
            throw InputError(label_ + ": " + path + " is malformed, expected a CPU list such as 0-3,8 below " +
                             std::to_string(max_cpus));
        return mask;
    }

    void read_cpuinfo() {
        const std::string text = files_.read("proc/cpuinfo").value_or("");
        std::map<std::string_view, std::string_view> first;
        for (std::string_view line : split_lines(text)) {
            const auto colon = line.find(':');
            if (colon != std::string_view::npos)
                first.try_emplace(trim(line.substr(0, colon)), trim(line.substr(colon + 1)));
        }
        const auto get = [&](const char *key) {
            const auto found = first.find(key);
            return found == first.end() ? std::string_view() : found->second;
        };
        // hwloc-gather-topology notes the machine's uname.
        const std::string uname = files_.read("proc/hwloc-nofile-info").value_or("");
        for (std::string_view line : split_lines(uname))
            if (line.starts_with("Architecture:"))
                machine_.arch = arch_by_name(trim(line.substr(13)));
        if (machine_.arch == Arch::other) {
            if (first.contains("vendor_id") && first.contains("cpu family"))
                machine_.arch = Arch::x86;
            else if (first.contains("CPU implementer"))
                machine_.arch = Arch::arm64;
            else if (get("cpu").starts_with("POWER") || get("cpu").starts_with("Cell"))
                machine_.arch = Arch::power;
        }
        for (const char *key : {"model name", "cpu", "Processor", "Hardware", "machine"})
            if (machine_.model.empty())
                machine_.model = get(key);
        if (machine_.arch == Arch::x86)
            apply_identity(machine_, {std::string(get("vendor_id")),
                                      static_cast<int>(parse_number(get("cpu family")).value_or(0)),
                                      static_cast<int>(parse_number(get("model")).value_or(0))});
    }

    void read_presence() {
        const std::vector<int> folders = files_.numbered(cpu_folder, "cpu");
        const auto present = list(cpu_folder + "/present");
        if (present)
            for (CpuId cpu : *present)
                add_cpu(machine_, cpu, label_);
        else
            for (int cpu : folders)
                add_cpu(machine_, cpu, label_);
        const auto online = list(cpu_folder + "/online");
        // Old kernels have no list; there an offline CPU has no topology folder.
        const bool any_topology =
            std::ranges::any_of(folders, [&](int cpu) { return files_.has_folder(path_of(CpuId{cpu}) + "/topology"); });
        for (std::size_t i = 0; i < machine_.cpus.size(); i++) {
            Cpu &cpu = machine_.cpus[i];
            const CpuId id{static_cast<s64>(i)};
            if (online)
                cpu.online = cpu.present && online->test(id);
            else
                cpu.online = cpu.present && number(path_of(id) + "/online").value_or(1) == 1 &&
                             (!any_topology || files_.has_folder(path_of(id) + "/topology"));
        }
    }

    void read_cpu(CpuId id, Cpu &cpu) {
        const std::string topology = path_of(id) + "/topology/";
        const auto small = [&](const std::string &path) {
            const s64 value = number(path).value_or(-1);
            return value < 0 || value > INT32_MAX ? -1 : static_cast<int>(value);
        };
        cpu.package = small(topology + "physical_package_id");
        cpu.die = small(topology + "die_id");
        cpu.core = small(topology + "core_id");
        cpu.cluster = small(topology + "cluster_id");
        if (cpu.cluster == 65535) // "none" of x86, where cpu_l2c_id is a 16-bit number
            cpu.cluster = -1;
        cpu.smt = mask(topology + "thread_siblings", topology + "thread_siblings_list").value_or(CpuMask());
        cpu.package_mask = mask(topology + "core_siblings", topology + "core_siblings_list").value_or(CpuMask());
        cpu.capacity = std::max(small(path_of(id) + "/cpu_capacity"), 0);
        if (cpu.capacity == 0)
            cpu.capacity = 1024;
        read_caches(id, cpu);
    }

    void read_caches(CpuId id, Cpu &cpu) {
        const std::string cache = path_of(id) + "/cache";
        s64 last = 0;
        for (int index : files_.numbered(cache, "index")) {
            const std::string path = cache + "/index" + std::to_string(index) + "/";
            const s64 level = number(path + "level").value_or(0);
            const std::string type = files_.read(path + "type").value_or("");
            const auto shared = mask(path + "shared_cpu_map", path + "shared_cpu_list");
            if (trim(type) == "Instruction" || !shared || !shared->test(id))
                continue;
            if (level == 2)
                cpu.l2 = *shared;
            if (level > last) {
                last = level;
                cpu.llc = *shared;
            }
        }
        // An L1 is no last-level cache: where nothing above is listed, the rest was left out.
        if (last < 2)
            cpu.llc = CpuMask();
    }

    void read_nodes() {
        std::vector<int> numbers = files_.numbered(node_folder, "node");
        if (numbers.size() > static_cast<std::size_t>(max_nodes))
            throw InputError(label_ + ": " + std::to_string(numbers.size()) + " nodes, at most " +
                             std::to_string(max_nodes) + " are supported");
        bool complete_matrix = true;
        for (int node : numbers) {
            const std::string path = node_folder + "/node" + std::to_string(node) + "/";
            machine_.nodes.push_back({node, mask(path + "cpumap", path + "cpulist").value_or(CpuMask())});
            std::vector<int> row;
            const std::string distances = files_.read(path + "distance").value_or("");
            for (std::string_view rest = trim(distances); !rest.empty();) {
                const auto end = rest.find_first_of(" \t\n");
                const auto value = parse_number(rest.substr(0, end));
                if (!value || *value > INT32_MAX || *value < INT32_MIN)
                    throw InputError(label_ + ": " + path + "distance is malformed, expected numbers");
                row.push_back(static_cast<int>(*value));
                rest = end == std::string_view::npos ? std::string_view() : trim(rest.substr(end));
            }
            complete_matrix = complete_matrix && !row.empty();
            machine_.distance.push_back(std::move(row));
        }
        if (!complete_matrix)
            machine_.distance.clear();
    }

    const Snapshot &files_;
    const std::string &label_;
    Machine machine_;
};

} // namespace

Machine read_sysfs(const Snapshot &snapshot, const std::string &label) { return Reader(snapshot, label).read(); }

} // namespace fairground
