// SPDX-License-Identifier: GPL-2.0-only
//
// TomlTable: one table of a study file, read key by key. only() comes first and refuses misspelt keys. All errors
// are InputErrors that begin with "file:line: ".
#pragma once

#include "base/error.h"
#include "base/types.h"
#include "workload/workload.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <toml++/toml.h>
#include <vector>

namespace fairground {

class TomlTable {
  public:
    // `what` names the table in errors: "[[variant]]". Both references must outlive the reader.
    TomlTable(const std::string &path, const toml::table &table, std::string what)
        : path_(&path), table_(&table), what_(std::move(what)) {}

    [[nodiscard]] bool has(std::string_view key) const { return table_->contains(key); }
    [[nodiscard]] const std::string &what() const { return what_; }

    [[nodiscard]] std::string string(std::string_view key) const; // required
    [[nodiscard]] std::string string_or(std::string_view key, std::string_view otherwise) const;
    [[nodiscard]] s64 integer(std::string_view key, s64 low, s64 high) const; // required
    [[nodiscard]] s64 integer_or(std::string_view key, s64 low, s64 high, s64 otherwise) const;
    [[nodiscard]] std::optional<double> number(std::string_view key) const; // integer or float
    [[nodiscard]] bool flag(std::string_view key) const;                    // required
    // A time such as "10 s", "250 ms", "3 us", "700 ns"; at least `low`. Result in ns.
    [[nodiscard]] Time duration(std::string_view key, Time low) const;
    [[nodiscard]] std::vector<std::string> strings(std::string_view key) const; // none: empty
    [[nodiscard]] std::vector<TomlTable> tables(std::string_view key) const;    // array of tables; none: empty
    [[nodiscard]] std::optional<TomlTable> table(std::string_view key) const;

    // Refuses any key that is not listed and names the nearest one that is.
    void only(std::initializer_list<std::string_view> known) const;
    // Every key but `except`, as options.
    [[nodiscard]] Options options(std::string where, std::string_view except = {}) const;

    // All keys, for tables whose keys are free names.
    [[nodiscard]] std::vector<std::string> keys() const;
    // Line of the key, or of the table when it has no such key.
    [[nodiscard]] s64 line(std::string_view key = {}) const;

    [[noreturn]] void fail(std::string_view key, const std::string &text) const;

  private:
    [[nodiscard]] const toml::node *find(std::string_view key) const { return table_->get(key); }
    [[nodiscard]] const toml::node &need(std::string_view key, std::string_view expected) const;

    const std::string *path_;
    const toml::table *table_;
    std::string what_;
};

} // namespace fairground
