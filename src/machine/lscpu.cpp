// SPDX-License-Identifier: GPL-2.0-only
//
// `lscpu` in its three layouts. The tables of -e and -p name the node, core and caches of every CPU; the plain summary
// has counts only, and before util-linux 2.37 does not say how many caches there are.
#include "base/error.h"
#include "machine/readers.h"

#include <algorithm>
#include <map>

namespace fairground {

namespace {

std::string lower(std::string_view text) {
    std::string result(text);
    for (char &c : result)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    return result;
}

std::vector<std::string_view> split(std::string_view line, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto end = line.find(separator);
        parts.push_back(trim(line.substr(0, end)));
        if (end == std::string_view::npos)
            return parts;
        line.remove_prefix(end + 1);
    }
}

std::vector<std::string_view> split_blank(std::string_view line) {
    std::vector<std::string_view> parts;
    constexpr std::string_view blank = " \t\r";
    for (auto at = line.find_first_not_of(blank); at != std::string_view::npos;
         at = line.find_first_not_of(blank, at)) {
        const auto end = std::min(line.find_first_of(blank, at), line.size());
        parts.push_back(line.substr(at, end - at));
        at = end;
    }
    return parts;
}

bool is_parsable_header(std::string_view line) {
    return line.starts_with('#') && lower(trim(line.substr(1))).starts_with("cpu,");
}
bool is_extended_header(std::string_view line) {
    const auto words = split_blank(line);
    if (words.size() < 2 || words[0] != "CPU")
        return false;
    // "CPU family: 6" and its like are lines of the summary.
    return std::ranges::all_of(
        words, [](std::string_view word) { return word.find(':') == word.npos || word.starts_with("L1"); });
}

// ---- tables
// ----------------------------------------------------------------------------------------------------------

class Table {
  public:
    Table(std::string_view text, const std::string &label, bool parsable)
        : text_(text), label_(label), parsable_(parsable) {}

    Machine read() {
        machine_.source = parsable_ ? "lscpu -p" : "lscpu -e";
        bool header = false;
        for (std::string_view line : split_lines(text_)) {
            line_++;
            if (trim(line).empty())
                continue;
            if (!header && (parsable_ ? is_parsable_header(line) : is_extended_header(trim(line)))) {
                read_header(line);
                header = true;
            } else if (header && !line.starts_with('#')) {
                read_row(line);
            }
        }
        finish();
        return std::move(machine_);
    }

  private:
    [[nodiscard]] InputError wrong(const std::string &what) const {
        return InputError(label_ + ": line " + std::to_string(line_) + ": " + what);
    }

    void read_header(std::string_view line) {
        const auto names = parsable_ ? split(line.substr(line.find('#') + 1), ',') : split_blank(line);
        for (std::string_view name : names)
            columns_.push_back(lower(name));
        if (columns_.empty() || columns_[0] != "cpu")
            throw wrong("a table whose first column is not CPU");
    }

    void read_row(std::string_view line) {
        const auto cells = parsable_ ? split(line, ',') : split_blank(line);
        // The columns after the last one we know (MHz and so on) do not matter; a short row does.
        if (cells.size() != columns_.size())
            throw wrong(std::to_string(cells.size()) + " fields, expected " + std::to_string(columns_.size()) +
                        " as in the header");
        std::map<std::string, s64> values;
        for (std::size_t i = 0; i < cells.size(); i++)
            read_cell(columns_[i], cells[i], values);
        if (!values.contains("cpu"))
            throw wrong("no CPU number");
        Cpu &cpu = add_cpu(machine_, values["cpu"], label_);
        if (!rows_.emplace(values["cpu"], values).second)
            throw wrong("CPU " + std::to_string(values["cpu"]) + " occurs twice");
        cpu.online = !values.contains("online") || values["online"] == 1;
    }

    void read_cell(const std::string &column, std::string_view cell, std::map<std::string, s64> &values) {
        if (column.find(':') != std::string::npos) {
            read_caches(split(column, ':'), split(cell, ':'), values);
            return;
        }
        if (cell.empty() || cell == "-")
            return;
        static const std::vector<std::string_view> known = {"cpu", "core", "socket", "node", "cluster",
                                                            "l1d", "l1i",  "l2",     "l3"};
        if (column == "online") {
            values[column] = lower(cell).starts_with('y') ? 1 : 0;
        } else if (std::ranges::find(known, column) != known.end()) {
            const auto value = parse_number(cell);
            if (!value || *value < 0 || *value > INT32_MAX)
                throw wrong("'" + std::string(cell.substr(0, 40)) + "' in column " + column + ", expected a number");
            values[column] = *value;
        }
    }

    // lscpu leaves out the fields of caches that a CPU does not have. Where the first two are equal they are the two
    // L1s and the end is missing, else the front is.
    void read_caches(const std::vector<std::string_view> &names, const std::vector<std::string_view> &fields,
                     std::map<std::string, s64> &values) {
        if (fields.size() == 1 && (fields[0].empty() || fields[0] == "-"))
            return;
        if (fields.size() > names.size())
            throw wrong(std::to_string(fields.size()) + " cache fields, expected " + std::to_string(names.size()));
        const bool front = fields.size() < names.size() && (fields.size() < 2 || fields[0] != fields[1]);
        if (fields.size() < names.size())
            short_rows_++;
        const std::size_t skip = front ? names.size() - fields.size() : 0;
        for (std::size_t i = 0; i < fields.size(); i++)
            read_cell(std::string(names[i + skip]), fields[i], values);
    }

    void finish() {
        if (rows_.empty())
            throw InputError(label_ + ": an lscpu table without rows, expected one for each CPU");
        std::map<s64, CpuMask> cores, sockets, l2, l3, nodes;
        const auto get = [](const std::map<std::string, s64> &row, const char *column) {
            const auto found = row.find(column);
            return found == row.end() ? s64{-1} : found->second;
        };
        const auto core_key = [&](const std::map<std::string, s64> &row) {
            // Core numbers are unique in the machine in some versions, in the socket in others.
            return (get(row, "socket") + 1) * (s64{1} << 32) + get(row, "core");
        };
        for (const auto &[number, row] : rows_) {
            const CpuId cpu{number};
            if (!machine_.cpus[static_cast<std::size_t>(number)].online)
                continue;
            if (row.contains("core"))
                cores[core_key(row)].set(cpu);
            if (row.contains("l2"))
                l2[row.at("l2")].set(cpu);
            if (row.contains("l3"))
                l3[row.at("l3")].set(cpu);
            sockets[get(row, "socket")].set(cpu);
            if (row.contains("node"))
                nodes[row.at("node")].set(cpu);
        }
        for (const auto &[number, row] : rows_) {
            Cpu &cpu = machine_.cpus[static_cast<std::size_t>(number)];
            if (!cpu.online)
                continue;
            cpu.package = static_cast<int>(get(row, "socket"));
            cpu.core = static_cast<int>(get(row, "core"));
            cpu.cluster = static_cast<int>(get(row, "cluster"));
            cpu.package_mask = sockets[get(row, "socket")];
            if (row.contains("core"))
                cpu.smt = cores[core_key(row)];
            if (row.contains("l2"))
                cpu.l2 = cpu.llc = l2[row.at("l2")];
            if (row.contains("l3"))
                cpu.llc = l3[row.at("l3")];
        }
        for (const auto &[number, cpus] : nodes)
            machine_.nodes.push_back({static_cast<int>(number), cpus});
        if (nodes.empty())
            machine_.notes.push_back("lscpu table without a NODE column, one node taken");
        if (short_rows_ > 0)
            machine_.notes.push_back("cache fields missing in " + std::to_string(short_rows_) +
                                     " rows, the rest assigned by their order");
        complete(machine_, label_);
    }

    std::string_view text_;
    const std::string &label_;
    bool parsable_;
    Machine machine_;
    std::size_t line_ = 0;
    std::vector<std::string> columns_;
    std::map<s64, std::map<std::string, s64>> rows_;
    int short_rows_ = 0;
};

// ---- the summary
// -----------------------------------------------------------------------------------------------------

class Summary {
  public:
    Summary(std::string_view text, const std::string &label) : label_(label) {
        for (std::string_view line : split_lines(text)) {
            const auto colon = line.find(':');
            if (colon != std::string_view::npos)
                fields_.try_emplace(std::string(trim(line.substr(0, colon))), trim(line.substr(colon + 1)));
        }
    }

    Machine read() {
        machine_.source = "lscpu";
        machine_.arch = arch_by_name(field("Architecture"));
        machine_.model = field("Model name");
        if (machine_.arch == Arch::x86)
            apply_identity(machine_, {std::string(field("Vendor ID")), number("CPU family", 0), number("Model", 0)});
        read_cpus();
        read_nodes();
        Cut how;
        how.smt = threads();
        how.adjacent = siblings_adjacent(how.smt);
        how.packages = packages();
        read_caches(how);
        cut(machine_, how, label_);
        complete(machine_, label_);
        return std::move(machine_);
    }

  private:
    [[nodiscard]] std::string_view field(const std::string &key) const {
        const auto found = fields_.find(key);
        return found == fields_.end() ? std::string_view() : found->second;
    }
    [[nodiscard]] int number(const std::string &key, int missing) const {
        const auto value = parse_number(field(key));
        return value && *value > 0 && *value <= INT32_MAX ? static_cast<int>(*value) : missing;
    }
    [[nodiscard]] CpuMask list(const std::string &key) const {
        const std::string_view text = field(key);
        if (text.empty())
            return {};
        const auto mask = parse_list(text);
        if (!mask)
            throw InputError(label_ + ": '" + key.substr(0, 60) +
                             "' is malformed, expected a CPU list such as 0-3,8 below " + std::to_string(max_cpus));
        return *mask;
    }

    void read_cpus() {
        CpuMask online = list("On-line CPU(s) list");
        if (const auto text = field("On-line CPU(s) mask"); online.empty() && !text.empty())
            online = parse_hex_mask(text, label_);
        const CpuMask offline = list("Off-line CPU(s) list");
        if (online.empty()) {
            const int total = number("CPU(s)", 0);
            if (total > max_cpus)
                throw InputError(label_ + ": " + std::to_string(total) + " CPUs, at most " + std::to_string(max_cpus) +
                                 " are supported");
            online = CpuMask::range(0, total - 1) - offline;
        }
        for (CpuId cpu : online | offline)
            add_cpu(machine_, cpu, label_).online = online.test(cpu);
        if (machine_.cpus.empty())
            throw InputError(label_ + ": lscpu output without CPUs, expected 'CPU(s):' or 'On-line CPU(s) list:'");
    }

    void read_nodes() {
        CpuMask homeless = machine_.present();
        for (const auto &[key, value] : fields_) {
            if (!key.starts_with("NUMA node") || !key.ends_with(" CPU(s)"))
                continue;
            const auto id = parse_number(std::string_view(key).substr(9, key.size() - 9 - 7));
            if (!id || *id < 0 || *id > INT32_MAX)
                continue;
            machine_.nodes.push_back({static_cast<int>(*id), list(key) & machine_.present()});
            homeless -= machine_.nodes.back().cpus;
        }
        std::ranges::sort(machine_.nodes, {}, &Node::os_index);
        const int said = number("NUMA node(s)", 1);
        if (machine_.nodes.empty()) {
            machine_.nodes.push_back({0, machine_.present()});
            if (said > 1)
                machine_.notes.push_back("lscpu says " + std::to_string(said) +
                                         " nodes but lists none, one node taken");
        } else if (homeless.intersects(machine_.online())) {
            machine_.notes.push_back(std::to_string((homeless & machine_.online()).weight()) +
                                     " CPUs in no node list, put into node " +
                                     std::to_string(machine_.nodes[0].os_index));
            machine_.nodes[0].cpus |= homeless & machine_.online();
        }
    }

    // lscpu counts threads of online CPUs only, so one offline CPU can hide SMT; the totals still tell.
    int threads() {
        const int smt = number("Thread(s) per core", 1);
        const int cores = number("Core(s) per socket", 0) * number("Socket(s)", 1);
        const int online = machine_.online().weight();
        const int total = machine_.present().weight();
        if (cores > 0 && smt * cores != online && smt * cores != total && total % cores == 0 && total / cores <= 8) {
            machine_.notes.push_back("lscpu says " + std::to_string(smt) + " threads a core, its totals say " +
                                     std::to_string(total / cores) + ", which is used");
            return total / cores;
        }
        return std::clamp(smt, 1, 64);
    }

    bool siblings_adjacent(int smt) {
        if (smt == 1 || smt_from_node_lists(machine_) == smt)
            return false;
        const bool usual = machine_.arch != Arch::x86;
        const bool fits = cores_fit_nodes(machine_, {.smt = smt, .adjacent = usual});
        const bool adjacent = fits ? usual : !usual;
        machine_.notes.push_back(std::string("numbers of SMT siblings not given, taken as ") +
                                 (adjacent ? "adjacent" : "first threads of all cores first"));
        return adjacent;
    }

    int packages() {
        const int sockets = number("Socket(s)", number("Cluster(s)", 1));
        const auto nodes =
            static_cast<int>(std::ranges::count_if(machine_.nodes, [](const Node &n) { return !n.cpus.empty(); }));
        if (nodes > 0 && (sockets < nodes ? nodes % sockets == 0 : sockets % nodes == 0))
            return sockets;
        machine_.notes.push_back(std::to_string(sockets) + " sockets do not fit " + std::to_string(nodes) +
                                 " nodes, each node taken as a package");
        return 0;
    }

    // "32 MiB (2 instances)" -> 2; 0 if not given.
    [[nodiscard]] int instances(const char *level) const {
        std::string_view text = field(level);
        const auto open = text.find('(');
        if (open == std::string_view::npos)
            return 0;
        text = text.substr(open + 1);
        const auto value = parse_number(text.substr(0, text.find(' ')));
        return value && *value > 0 && *value <= max_cpus ? static_cast<int>(*value) : 0;
    }

    void read_caches(Cut &how) {
        const int cores = std::max(1, machine_.present().weight() / how.smt);
        const auto shared_by = [&](int count) { return std::max(1, (cores + count - 1) / count); };
        const int l2 = instances("L2"), l3 = instances("L3");
        if (l2 > 0)
            how.l2 = shared_by(l2);
        if (l3 > 0 || l2 > 0) {
            how.llc = shared_by(l3 > 0 ? l3 : l2);
        } else if ((machine_.cpu_vendor == "AuthenticAMD" || machine_.cpu_vendor == "HygonGenuine") &&
                   machine_.cpu_family >= 0x17) {
            // A full core complex: four cores up to Zen 2 (and Hygon's Zen 1), eight from Zen 3 on.
            how.llc = machine_.cpu_family <= 0x18 ? 4 : 8;
            machine_.notes.push_back("lscpu does not say how caches are shared: " + std::to_string(how.llc) +
                                     " cores a last-level cache taken, the core complex of this CPU family");
        } else {
            machine_.notes.push_back(
                "lscpu does not say how caches are shared: one last-level cache a node and package, private L2s taken");
        }
    }

    std::map<std::string, std::string_view> fields_;
    const std::string &label_;
    Machine machine_;
};

enum class Layout { none, parsable, extended, summary };

Layout layout(std::string_view text) {
    for (std::string_view line : split_lines(text)) {
        if (is_parsable_header(line))
            return Layout::parsable;
        if (line.starts_with('#') || trim(line).empty())
            continue;
        if (is_extended_header(trim(line)))
            return Layout::extended;
        const std::string_view key = trim(line.substr(0, line.find(':')));
        if (line.find(':') != std::string_view::npos &&
            (key == "Architecture" || key == "CPU(s)" || key == "On-line CPU(s) list"))
            return Layout::summary;
    }
    return Layout::none;
}

} // namespace

bool is_lscpu(std::string_view text) { return layout(text) != Layout::none; }

Machine read_lscpu(std::string_view text, const std::string &label) {
    const Layout form = layout(text);
    if (form == Layout::summary)
        return Summary(text, label).read();
    return Table(text, label, form == Layout::parsable).read();
}

} // namespace fairground
