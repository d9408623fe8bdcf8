// SPDX-License-Identifier: GPL-2.0-only
#include "study/toml_table.h"

#include "base/nearest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace fairground {

namespace {

std::string_view type_name(const toml::node &node) {
    switch (node.type()) {
    case toml::node_type::table:
        return "a table";
    case toml::node_type::array:
        return "an array";
    case toml::node_type::string:
        return "a string";
    case toml::node_type::integer:
        return "an integer";
    case toml::node_type::floating_point:
        return "a number with a decimal point";
    case toml::node_type::boolean:
        return "a truth value";
    default:
        return "a date or time";
    }
}

std::string wrong_type(std::string_view key, std::string_view expected, const toml::node &node) {
    return "'" + std::string(key) + "' must be " + std::string(expected) + ", not " + std::string(type_name(node));
}

std::optional<Time> parse_duration(std::string_view text) {
    struct Unit {
        std::string_view name;
        u64 ns;
    };
    static constexpr std::array units = {Unit{"ns", 1}, Unit{"us", ns_per_us}, Unit{"ms", ns_per_ms},
                                         Unit{"s", ns_per_s}, Unit{"min", 60 * ns_per_s}};
    u64 number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{})
        return std::nullopt;
    std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
    while (rest.starts_with(' '))
        rest.remove_prefix(1);
    for (const Unit &unit : units)
        if (rest == unit.name && number <= UINT64_MAX / 4 / unit.ns)
            return number * unit.ns;
    return std::nullopt;
}

std::string join(std::string_view list, s64 low, s64 high) {
    return std::string(list) + " from " + std::to_string(low) + " to " + std::to_string(high);
}

} // namespace

s64 TomlTable::line(std::string_view key) const {
    // A key's own position: that of its value is another line for a table under a header.
    for (const auto &[name, node] : *table_)
        if (name == key)
            return name.source().begin.line;
    return std::max<s64>(table_->source().begin.line, 1);
}

void TomlTable::fail(std::string_view key, const std::string &text) const {
    throw InputError(*path_ + ":" + std::to_string(line(key)) + ": " + (what_.empty() ? "" : what_ + ": ") + text);
}

const toml::node &TomlTable::need(std::string_view key, std::string_view expected) const {
    const toml::node *node = find(key);
    if (node == nullptr)
        fail({}, "'" + std::string(key) + "' is missing, expected " + std::string(expected));
    return *node;
}

std::string TomlTable::string(std::string_view key) const {
    const toml::node &node = need(key, "a string");
    if (!node.is_string())
        fail(key, wrong_type(key, "a string", node));
    if (node.as_string()->get().empty())
        fail(key, "'" + std::string(key) + "' must not be empty");
    return node.as_string()->get();
}

std::string TomlTable::string_or(std::string_view key, std::string_view otherwise) const {
    return has(key) ? string(key) : std::string(otherwise);
}

s64 TomlTable::integer(std::string_view key, s64 low, s64 high) const {
    const toml::node &node = need(key, join("an integer", low, high));
    if (!node.is_integer())
        fail(key, wrong_type(key, join("an integer", low, high), node));
    const s64 value = node.as_integer()->get();
    if (value < low || value > high)
        fail(key,
             "'" + std::string(key) + "' must be " + join("an integer", low, high) + ", not " + std::to_string(value));
    return value;
}

s64 TomlTable::integer_or(std::string_view key, s64 low, s64 high, s64 otherwise) const {
    return has(key) ? integer(key, low, high) : otherwise;
}

std::optional<double> TomlTable::number(std::string_view key) const {
    const toml::node *node = find(key);
    if (node == nullptr)
        return std::nullopt;
    const std::optional<double> value = node->is_number() ? node->value<double>() : std::nullopt;
    if (!value)
        fail(key, wrong_type(key, "a number", *node));
    if (!std::isfinite(*value))
        fail(key, "'" + std::string(key) + "' must be a finite number");
    return value;
}

bool TomlTable::flag(std::string_view key) const {
    const toml::node &node = need(key, "true or false");
    if (!node.is_boolean())
        fail(key, wrong_type(key, "true or false", node));
    return node.as_boolean()->get();
}

Time TomlTable::duration(std::string_view key, Time low) const {
    constexpr std::string_view expected = "a time such as \"10 s\" or \"250 ms\"";
    const toml::node &node = need(key, expected);
    if (!node.is_string())
        fail(key, wrong_type(key, expected, node));
    const std::string &text = node.as_string()->get();
    const std::optional<Time> time = parse_duration(text);
    if (!time)
        fail(key, "'" + std::string(key) + "' must be " + std::string(expected) + ", not \"" + text + "\"");
    if (*time < low)
        fail(key, "'" + std::string(key) + "' must be at least " + std::to_string(low) + " ns, not \"" + text + "\"");
    return *time;
}

std::vector<std::string> TomlTable::strings(std::string_view key) const {
    std::vector<std::string> result;
    const toml::node *node = find(key);
    if (node == nullptr)
        return result;
    if (!node->is_array())
        fail(key, wrong_type(key, "an array of strings", *node));
    for (const toml::node &element : *node->as_array()) {
        if (!element.is_string())
            fail(key, "'" + std::string(key) + "' must hold strings only, not " + std::string(type_name(element)));
        result.push_back(element.as_string()->get());
    }
    return result;
}

std::vector<TomlTable> TomlTable::tables(std::string_view key) const {
    std::vector<TomlTable> result;
    const toml::node *node = find(key);
    if (node == nullptr)
        return result;
    const std::string name = "[[" + std::string(key) + "]]";
    if (!node->is_array())
        fail(key, "'" + std::string(key) + "' must be an array of tables, written " + name);
    for (const toml::node &element : *node->as_array()) {
        if (!element.is_table())
            fail(key, "'" + std::string(key) + "' must be an array of tables, written " + name);
        result.emplace_back(*path_, *element.as_table(), name);
    }
    return result;
}

std::optional<TomlTable> TomlTable::table(std::string_view key) const {
    const toml::node *node = find(key);
    if (node == nullptr)
        return std::nullopt;
    if (!node->is_table())
        fail(key, wrong_type(key, "a table", *node));
    return TomlTable(*path_, *node->as_table(), what_.empty() ? std::string(key) : what_ + " " + std::string(key));
}

Options TomlTable::options(std::string where, std::string_view except) const {
    Options options;
    options.where = std::move(where);
    for (const auto &[name, node] : *table_) {
        const std::string key(name.str());
        if (key == except)
            continue;
        if (node.is_boolean())
            options.values[key] = node.as_boolean()->get();
        else if (node.is_integer())
            options.values[key] = s64{node.as_integer()->get()};
        else if (node.is_floating_point())
            options.values[key] = node.as_floating_point()->get();
        else if (node.is_string())
            options.values[key] = node.as_string()->get();
        else
            fail(key, wrong_type(key, "a single value", node));
    }
    return options;
}

void TomlTable::only(std::initializer_list<std::string_view> known) const {
    // The first in the file, not in the alphabet.
    const toml::key *unknown = nullptr;
    for (const auto &[name, node] : *table_)
        if (std::find(known.begin(), known.end(), name.str()) == known.end() &&
            (unknown == nullptr || name.source().begin.line < unknown->source().begin.line))
            unknown = &name;
    if (unknown == nullptr)
        return;
    const std::string key(unknown->str());
    fail(key, "unknown key '" + key + "'" + did_you_mean(key, std::span(known.begin(), known.size())));
}

std::vector<std::string> TomlTable::keys() const {
    std::vector<std::string> result;
    for (const auto &[name, node] : *table_)
        result.emplace_back(name.str());
    return result;
}

} // namespace fairground
