// SPDX-License-Identifier: GPL-2.0-only
//
// `numactl -H`: nodes, their CPUs and distances, nothing below. CPU lists may be wrapped by a mail program.
#include "base/error.h"
#include "machine/readers.h"

#include <algorithm>
#include <map>
#include <span>

namespace fairground {

namespace {

constexpr std::string_view blank = " \t\r";

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    for (auto at = line.find_first_not_of(blank); at != std::string_view::npos;
         at = line.find_first_not_of(blank, at)) {
        const auto end = std::min(line.find_first_of(blank, at), line.size());
        words.push_back(line.substr(at, end - at));
        at = end;
    }
    return words;
}

class Reader {
  public:
    Reader(std::string_view text, const std::string &label) : text_(text), label_(label) {}

    Machine read() {
        machine_.source = "numactl -H";
        read_lines();
        if (machine_.nodes.empty())
            throw InputError(label_ +
                             ": holds node distances but no CPUs, expected 'node N cpus:' lines as numactl -H prints "
                             "(or use it as `distances` in a machine file with a `base`)");
        if (!rows_.empty())
            place_matrix(machine_);
        Cut how;
        how.smt = smt_from_node_lists(machine_);
        machine_.notes.push_back(
            "numactl prints no packages, caches or threads: each node taken as a package with one last-level "
            "cache" +
            std::string(how.smt > 1 ? ", second runs of CPU numbers taken as SMT siblings" : ""));
        cut(machine_, how, label_);
        complete(machine_, label_);
        return std::move(machine_);
    }

    void read_distances(Machine &machine) {
        read_lines();
        if (rows_.empty())
            throw InputError(label_ + ": no node distances, expected a matrix as numactl -H prints");
        machine.distance.clear();
        place_matrix(machine);
    }

  private:
    void read_lines() {
        for (std::string_view line : split_lines(text_)) {
            line_++;
            read_line(trim(line));
        }
    }
    [[nodiscard]] InputError wrong(const std::string &what) const {
        return InputError(label_ + ": line " + std::to_string(line_) + ": " + what);
    }
    s64 number(std::string_view word) const {
        const auto value = parse_number(word);
        if (!value || *value < 0 || *value > INT32_MAX)
            throw wrong("'" + std::string(word.substr(0, 40)) + "', expected a number");
        return *value;
    }

    void read_line(std::string_view line) {
        const auto words = words_of(line);
        if (words.empty())
            return;
        const bool numbers_only = words[0][0] >= '0' && words[0][0] <= '9';
        if (words[0] == "node" && words.size() >= 3 && words[2] == "cpus:") {
            if (machine_.nodes.size() >= static_cast<std::size_t>(max_nodes))
                throw wrong("more than " + std::to_string(max_nodes) + " nodes");
            machine_.nodes.push_back({static_cast<int>(number(words[1])), {}});
            in_cpus_ = true;
            add_cpus(std::span(words).subspan(3));
        } else if (in_cpus_ && numbers_only) {
            add_cpus(words);
        } else if (words[0] == "node" && in_matrix_ && columns_.empty()) {
            for (std::string_view word : std::span(words).subspan(1))
                columns_.push_back(number(word));
        } else if (words.size() >= 2 && words[0] == "node" && words[1] == "distances:") {
            in_cpus_ = false;
            in_matrix_ = true;
        } else if (in_matrix_ && numbers_only) {
            add_row(words);
        } else {
            in_cpus_ = false; // sizes, free memory, prose
        }
    }

    void add_cpus(std::span<const std::string_view> words) {
        for (std::string_view word : words) {
            const s64 cpu = number(word);
            add_cpu(machine_, cpu, label_).online = true;
            machine_.nodes.back().cpus.set(CpuId{cpu});
        }
    }

    void add_row(std::span<const std::string_view> words) {
        if (!words[0].ends_with(':'))
            throw wrong("'" + std::string(words[0].substr(0, 40)) + "', expected a matrix row such as '0: 10 20'");
        const s64 node = number(words[0].substr(0, words[0].size() - 1));
        std::vector<int> row;
        for (std::string_view word : words.subspan(1))
            row.push_back(static_cast<int>(number(word)));
        if (row.size() != columns_.size())
            throw wrong("a matrix row with " + std::to_string(row.size()) + " values, expected " +
                        std::to_string(columns_.size()));
        if (!rows_.emplace(node, std::move(row)).second)
            throw wrong("a second matrix row for node " + std::to_string(node));
    }

    void place_matrix(Machine &machine) {
        std::map<s64, std::size_t> column;
        for (std::size_t i = 0; i < columns_.size(); i++)
            column[columns_[i]] = i;
        for (const Node &from : machine.nodes) {
            std::vector<int> row;
            for (const Node &to : machine.nodes) {
                const auto values = rows_.find(from.os_index);
                const auto at = column.find(to.os_index);
                if (values == rows_.end() || at == column.end())
                    throw InputError(label_ + ": the distance matrix has no value from node " +
                                     std::to_string(from.os_index) + " to node " + std::to_string(to.os_index));
                row.push_back(values->second[at->second]);
            }
            machine.distance.push_back(std::move(row));
        }
    }

    std::string_view text_;
    const std::string &label_;
    Machine machine_;
    std::size_t line_ = 0;
    bool in_cpus_ = false;
    bool in_matrix_ = false;
    std::vector<s64> columns_;
    std::map<s64, std::vector<int>> rows_;
};

} // namespace

bool is_numactl(std::string_view text) {
    for (std::string_view line : split_lines(text)) {
        const auto words = words_of(line);
        if (words.size() >= 2 && words[0] == "node" &&
            (words[1] == "distances:" || (words.size() >= 3 && words[2] == "cpus:")))
            return true;
        if (words.size() >= 3 && words[0] == "available:" && words[2] == "nodes")
            return true;
    }
    return false;
}

void read_numactl_distances(std::string_view text, const std::string &label, Machine &machine) {
    Reader(text, label).read_distances(machine);
}

Machine read_numactl(std::string_view text, const std::string &label) { return Reader(text, label).read(); }

} // namespace fairground
