// SPDX-License-Identifier: GPL-2.0-only
//
// XML as written by hwloc 1.x, 2.x and 3.x. The format is small and stable: nested <object> elements with attributes,
// <info> pairs, and distances. It is parsed here rather than by libhwloc, since a library refuses files of a newer
// version (Debian 12's 2.9 refuses 3.0) and drops offline CPUs.
#include "base/error.h"
#include "machine/readers.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace fairground {

namespace {

constexpr int max_depth = 256;

using Attributes = std::map<std::string, std::string, std::less<>>;

struct Tag {
    std::string name;
    Attributes attributes;
    bool opens = false;
    bool closes = false; // "<x/>" both opens and closes
};

// Walks over tags and the text between them; comments, the prolog and the DOCTYPE are skipped.
class Scanner {
  public:
    Scanner(std::string_view xml, const std::string &label) : rest_(xml), label_(label) {}

    std::optional<Tag> next(std::string *text_before = nullptr) {
        for (;;) {
            const auto start = rest_.find('<');
            if (start == std::string_view::npos)
                return {};
            if (text_before != nullptr)
                *text_before += rest_.substr(0, start);
            rest_.remove_prefix(start);
            if (rest_.starts_with("<!--"))
                skip_past("-->");
            else if (rest_.starts_with("<!") || rest_.starts_with("<?"))
                skip_past(">");
            else
                return tag();
        }
    }

    [[nodiscard]] InputError broken(const std::string &what) const {
        return InputError(label_ + ": " + what + " in hwloc XML");
    }

  private:
    void skip_past(std::string_view mark) {
        const auto end = rest_.find(mark);
        if (end == std::string_view::npos)
            throw broken("unexpected end of file");
        rest_.remove_prefix(end + mark.size());
    }

    void skip_blank() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

    std::string name() {
        const auto end = rest_.find_first_of(" \t\r\n=/><");
        if (end == std::string_view::npos)
            throw broken("unexpected end of file");
        if (end == 0)
            throw broken("a missing name");
        std::string word(rest_.substr(0, end));
        rest_.remove_prefix(end);
        return word;
    }

    Tag tag() {
        Tag result;
        rest_.remove_prefix(1);
        if (rest_.starts_with('/')) {
            rest_.remove_prefix(1);
            result.closes = true;
            result.name = name();
            skip_past(">");
            return result;
        }
        result.opens = true;
        result.name = name();
        for (;;) {
            skip_blank();
            if (rest_.starts_with("/>")) {
                rest_.remove_prefix(2);
                result.closes = true;
                return result;
            }
            if (rest_.starts_with(">")) {
                rest_.remove_prefix(1);
                return result;
            }
            const std::string key = name();
            skip_blank();
            if (!rest_.starts_with('='))
                throw broken("attribute '" + key.substr(0, 40) + "' without a value");
            rest_.remove_prefix(1);
            skip_blank();
            if (rest_.empty() || (rest_[0] != '"' && rest_[0] != '\''))
                throw broken("attribute '" + key.substr(0, 40) + "' without quotes");
            const char quote = rest_[0];
            rest_.remove_prefix(1);
            const auto end = rest_.find(quote);
            if (end == std::string_view::npos)
                throw broken("unexpected end of file");
            result.attributes.try_emplace(key, rest_.substr(0, end));
            rest_.remove_prefix(end + 1);
        }
    }

    std::string_view rest_;
    const std::string &label_;
};

// An object we are inside of. A PU takes its place from all objects that enclose it.
struct Object {
    std::string type;
    int os_index = -1;
    int cache_level = 0;   // data or unified caches only
    std::size_t group = 0; // unique number of the object
};

class Reader {
  public:
    Reader(std::string_view xml, const std::string &label) : scan_(xml, label), label_(label) {}

    Machine read() {
        machine_.source = "hwloc xml";
        while (auto tag = scan_.next()) {
            if (!seen_root_ && tag->name != "topology" && tag->name != "root")
                throw InputError(label_ + ": XML that starts with <" + tag->name.substr(0, 40) +
                                 ">, expected <topology> of hwloc");
            seen_root_ = true;
            if (tag->opens)
                open(*tag);
            if (tag->closes)
                close(tag->name);
        }
        if (!open_.empty())
            throw scan_.broken("<" + open_.back().substr(0, 40) + "> is never closed");
        finish();
        return std::move(machine_);
    }

  private:
    int integer(const Tag &tag, const char *key, int missing) const {
        const auto found = tag.attributes.find(key);
        if (found == tag.attributes.end())
            return missing;
        const auto value = parse_number(found->second);
        if (!value || *value < INT32_MIN || *value > UINT32_MAX)
            throw scan_.broken(std::string(key) + "=\"" + found->second.substr(0, 40) + "\", expected a number");
        return *value > INT32_MAX ? -1 : static_cast<int>(*value); // hwloc writes unknown as (unsigned)-1
    }
    static std::string text(const Tag &tag, const char *key) {
        const auto found = tag.attributes.find(key);
        return found == tag.attributes.end() ? std::string() : found->second;
    }

    void open(const Tag &tag) {
        if (open_.size() >= max_depth)
            throw scan_.broken("more than " + std::to_string(max_depth) + " nested elements");
        open_.push_back(tag.name);
        if (tag.name == "object")
            open_object(tag);
        else if (tag.name == "info")
            info(text(tag, "name"), text(tag, "value"));
        else if (tag.name == "distances2")
            open_distances(tag);
        else if (tag.name == "distances")
            open_v1_distances(tag);
        else if (tag.name == "latency" && v1_base_ > 0)
            v1_values_.push_back(decimal(text(tag, "value")) * v1_base_);
        if (reading_distances_ && !tag.closes && (tag.name == "indexes" || tag.name == "u64values"))
            numbers(tag.name == "indexes" ? indexes_ : values_);
    }

    void open_distances(const Tag &tag) {
        constexpr int means_latency = 4; // HWLOC_DISTANCES_KIND_MEANS_LATENCY; others are bandwidths
        reading_distances_ =
            text(tag, "type") == "NUMANode" && (integer(tag, "kind", 0) & means_latency) != 0 && matrix_.empty();
        distances_count_ = integer(tag, "nbobjs", 0);
    }

    // The text of <indexes> or <u64values>; ends at its closing tag.
    void numbers(std::vector<s64> &into) {
        std::string body;
        const auto end = scan_.next(&body);
        if (!end || !end->closes || end->name != open_.back())
            throw scan_.broken("a broken list of distances");
        for (std::string_view rest = trim(body); !rest.empty();) {
            const auto stop = rest.find_first_of(" \t\n");
            const auto value = parse_number(rest.substr(0, stop));
            if (!value)
                throw scan_.broken("'" + std::string(rest.substr(0, std::min<std::size_t>(stop, 40))) +
                                   "' in a list of distances, expected a number");
            into.push_back(*value);
            rest = stop == std::string_view::npos ? std::string_view() : trim(rest.substr(stop));
        }
        close(end->name);
    }

    static double decimal(const std::string &text) {
        // Not strtod: it follows the locale. Values are small decimals such as "2.100000".
        double value = 0, scale = 0;
        for (char c : text)
            if (c == '.')
                scale = 1;
            else if (c >= '0' && c <= '9') {
                value = value * 10 + (c - '0');
                scale *= 10;
            } else
                return 0;
        return scale > 0 ? value / scale : value;
    }

    // hwloc 1.x: a child of the object that holds the nodes; values are multiples of latency_base.
    void open_v1_distances(const Tag &tag) {
        v1_base_ = matrix_.empty() ? decimal(text(tag, "latency_base")) : 0;
        v1_count_ = integer(tag, "nbobjs", 0);
        v1_values_.clear();
    }

    void open_object(const Tag &tag) {
        Object object;
        object.type = text(tag, "type");
        object.os_index = integer(tag, "os_index", -1);
        object.group = ++groups_;
        if (object.os_index < 0) // unknown: only has to differ from other objects
            object.os_index = static_cast<int>(object.group);
        // "L3Cache" since 2.0, type "Cache" with a depth before; cache_type 0 unified, 1 data, 2 instruction.
        if (object.type.ends_with("Cache") && integer(tag, "cache_type", 0) != 2)
            object.cache_level = integer(tag, "depth", 0);
        const std::string subtype = text(tag, "subtype");
        if (object.type == "Group" && subtype == "Cluster")
            object.type = "Cluster";
        if (object.type == "Socket") // hwloc before 1.11
            object.type = "Package";
        if (object.type == "NUMANode")
            open_node(tag, object);
        if (object.type == "Machine" || object.type == "System")
            open_machine(tag);
        if (object.type == "PU")
            open_pu(object);
        objects_.push_back(object);
    }

    void open_machine(const Tag &tag) {
        // What is in the complete set and not in the online (1.x) or plain one is offline.
        const auto set = [&](const char *key) -> std::optional<CpuMask> {
            const std::string value = text(tag, key);
            if (value.empty() || value.find("f...f") != std::string::npos)
                return {};
            return parse_hex_mask(value, label_);
        };
        const auto whole = set("complete_cpuset");
        auto online = set("online_cpuset");
        if (!online)
            online = set("cpuset");
        if (whole && online)
            for (CpuId cpu : *whole - *online)
                add_cpu(machine_, cpu, label_).online = false;
    }

    void open_node(const Tag &tag, const Object &object) {
        if (machine_.nodes.size() >= static_cast<std::size_t>(max_nodes))
            throw InputError(label_ + ": more than " + std::to_string(max_nodes) + " nodes");
        const std::string set = text(tag, "cpuset");
        Node node{object.os_index, {}};
        if (!set.empty() && set.find("f...f") == std::string::npos)
            node.cpus = parse_hex_mask(set, label_);
        machine_.nodes.push_back(node);
    }

    void open_pu(const Object &pu) {
        Cpu &cpu = add_cpu(machine_, pu.os_index, label_);
        if (cpu.online)
            throw InputError(label_ + ": CPU " + std::to_string(pu.os_index) + " occurs twice");
        cpu.online = true;
        const CpuId id{pu.os_index};
        int last = 0;
        for (const Object &outer : objects_) {
            if (outer.type == "Package")
                cpu.package = outer.os_index;
            else if (outer.type == "Die")
                cpu.die = outer.os_index;
            else if (outer.type == "Cluster")
                cpu.cluster = outer.os_index;
            else if (outer.type == "Core")
                cpu.core = outer.os_index;
            if (outer.type == "Package" || outer.type == "Core" || outer.cache_level >= 2)
                masks_[outer.group].set(id);
        }
        auto &[package, core, l2, llc] = place_[pu.os_index];
        for (const Object &outer : objects_) { // outermost first: the last cache of a level is the nearest
            if (outer.type == "Package")
                package = outer.group;
            if (outer.type == "Core")
                core = outer.group;
            if (outer.cache_level == 2)
                l2 = outer.group;
            if (outer.cache_level >= 2 && outer.cache_level >= last) {
                last = outer.cache_level;
                llc = outer.group;
            }
        }
    }

    void close(const std::string &name) {
        if (open_.empty() || open_.back() != name)
            throw scan_.broken("</" + name.substr(0, 40) + "> does not match");
        open_.pop_back();
        if (name == "object") {
            objects_.pop_back();
        } else if (name == "distances2") {
            if (reading_distances_)
                close_distances();
            reading_distances_ = false;
        } else if (name == "distances" && v1_base_ > 0) {
            close_v1_distances();
        }
    }

    void close_distances() {
        if (indexes_.size() != static_cast<std::size_t>(distances_count_) ||
            values_.size() != indexes_.size() * indexes_.size())
            throw scan_.broken("a node distance matrix with " + std::to_string(values_.size()) + " values for " +
                               std::to_string(distances_count_) + " nodes");
        matrix_nodes_ = std::move(indexes_);
        fill_matrix(values_);
        indexes_.clear();
        values_.clear();
    }

    void close_v1_distances() {
        const auto n = static_cast<std::size_t>(std::max(v1_count_, 0));
        if (n > static_cast<std::size_t>(max_nodes) || v1_values_.size() != n * n)
            throw scan_.broken("a node distance matrix with " + std::to_string(v1_values_.size()) + " values for " +
                               std::to_string(v1_count_) + " nodes");
        std::vector<s64> values;
        for (double value : v1_values_)
            values.push_back(value < 1e9 ? std::lround(value) : 1000000000);
        v1_base_ = 0;
        matrix_nodes_.clear();
        fill_matrix(values);
    }

    void fill_matrix(const std::vector<s64> &values) {
        const auto n = static_cast<std::size_t>(std::llround(std::sqrt(static_cast<double>(values.size()))));
        matrix_.assign(n, std::vector<int>(n));
        for (std::size_t i = 0; i < values.size(); i++)
            matrix_[i / n][i % n] = values[i] < 0 || values[i] > 1000000000 ? 1000000000 : static_cast<int>(values[i]);
    }

    void info(const std::string &name, const std::string &value) {
        if (name == "CPUModel" && machine_.model.empty())
            machine_.model = value;
        else if (name == "Architecture")
            machine_.arch = arch_by_name(value);
        else if (name == "CPUVendor")
            identity_.vendor = value;
        else if (name == "CPUFamilyNumber")
            identity_.family = static_cast<int>(parse_number(value).value_or(0) & 0xffff);
        else if (name == "CPUModelNumber")
            identity_.model = static_cast<int>(parse_number(value).value_or(0) & 0xffff);
    }

    void finish() {
        for (const auto &[number, place] : place_) {
            Cpu &cpu = machine_.cpus[static_cast<std::size_t>(number)];
            const auto mask = [&](std::size_t group) { return group == 0 ? CpuMask() : masks_[group]; };
            cpu.package_mask = mask(place.package);
            cpu.smt = mask(place.core);
            cpu.l2 = mask(place.l2);
            cpu.llc = mask(place.llc);
        }
        if (place_.empty())
            throw InputError(label_ + ": hwloc XML without any PU object, expected a machine's topology");
        if (!identity_.vendor.empty() && machine_.arch == Arch::other)
            if (identity_.vendor == "GenuineIntel" || identity_.vendor == "AuthenticAMD" ||
                identity_.vendor == "HygonGenuine")
                machine_.arch = Arch::x86;
        if (machine_.arch == Arch::x86)
            apply_identity(machine_, identity_);
        place_matrix();
        complete(machine_, label_);
    }

    // The matrix names its nodes by os_index (2.x), or is in document order (1.x).
    void place_matrix() {
        const std::size_t n = machine_.nodes.size();
        if (matrix_.size() != n) {
            if (!matrix_.empty())
                machine_.notes.push_back("distances of " + std::to_string(matrix_.size()) +
                                         " nodes ignored, the machine has " + std::to_string(n));
            return;
        }
        std::vector<std::size_t> row(n);
        for (std::size_t i = 0; i < n; i++) {
            row[i] = i;
            if (matrix_nodes_.empty())
                continue;
            std::size_t at = 0;
            while (at < n && matrix_nodes_[at] != machine_.nodes[i].os_index)
                at++;
            if (at == n)
                throw scan_.broken("a distance matrix without node " + std::to_string(machine_.nodes[i].os_index));
            row[i] = at;
        }
        machine_.distance.assign(n, std::vector<int>(n));
        for (std::size_t i = 0; i < n; i++)
            for (std::size_t j = 0; j < n; j++)
                machine_.distance[i][j] = matrix_[row[i]][row[j]];
    }

    struct Place {
        std::size_t package = 0, core = 0, l2 = 0, llc = 0; // Object::group; 0: none
    };

    Scanner scan_;
    const std::string &label_;
    Machine machine_;
    Identity identity_;
    bool seen_root_ = false;
    std::vector<std::string> open_;
    std::vector<Object> objects_;
    std::size_t groups_ = 0;
    std::map<std::size_t, CpuMask> masks_; // by Object::group
    std::map<int, Place> place_;           // by CPU

    bool reading_distances_ = false;
    int distances_count_ = 0;
    std::vector<s64> indexes_, values_;
    double v1_base_ = 0;
    int v1_count_ = 0;
    std::vector<double> v1_values_;
    std::vector<s64> matrix_nodes_;
    std::vector<std::vector<int>> matrix_;
};

} // namespace

Machine read_hwloc_xml(std::string_view xml, const std::string &label) { return Reader(xml, label).read(); }

} // namespace fairground
