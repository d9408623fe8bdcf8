// SPDX-License-Identifier: GPL-2.0-only
#include "workload/options.h"

#include "base/error.h"
#include "base/nearest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

namespace fairground {

namespace {

using Unit = std::pair<std::string_view, u64>;
constexpr std::array time_units = {Unit{"ns", 1}, Unit{"us", ns_per_us}, Unit{"ms", ns_per_ms}, Unit{"s", ns_per_s}};
constexpr std::array size_units = {Unit{"", 1}, Unit{"K", 1024}, Unit{"M", 1024 * 1024}, Unit{"G", 1024 * 1024 * 1024}};

// A whole number directly followed by one of the units.
template <std::size_t N> std::optional<u64> parse(std::string_view text, const std::array<Unit, N> &units) {
    u64 number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{})
        return {};
    const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
    for (const auto &[name, factor] : units)
        if (unit == name && number <= static_cast<u64>(std::numeric_limits<s64>::max()) / factor)
            return number * factor;
    return {};
}

std::string show(const OptionValue &value) {
    struct Show {
        std::string operator()(bool b) const { return b ? "true" : "false"; }
        std::string operator()(s64 i) const { return std::to_string(i); }
        std::string operator()(double d) const {
            std::array<char, 32> text{};
            return {text.data(), std::to_chars(text.data(), text.data() + text.size(), d).ptr};
        }
        std::string operator()(const std::string &s) const { return "'" + s + "'"; }
    };
    return std::visit(Show{}, value);
}

} // namespace

const OptionValue *OptionReader::find(std::string_view name) {
    known_.push_back(name);
    const auto found = options_.values.find(name);
    return found == options_.values.end() ? nullptr : &found->second;
}

void OptionReader::fail(std::string_view name, const std::string &expected) const {
    throw InputError(options_.where + ": option '" + std::string(name) + "' of " + std::string(kind_) + " must be " +
                     expected + ", not " + show(options_.values.find(name)->second));
}

s64 OptionReader::integer(std::string_view name, s64 fallback, s64 low, s64 high) {
    const OptionValue *value = find(name);
    if (value == nullptr)
        return fallback;
    const s64 *number = std::get_if<s64>(value);
    if (number == nullptr || *number < low || *number > high)
        fail(name, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    return *number;
}

bool OptionReader::flag(std::string_view name, bool fallback) {
    const OptionValue *value = find(name);
    if (value == nullptr)
        return fallback;
    const bool *on = std::get_if<bool>(value);
    if (on == nullptr)
        fail(name, "true or false");
    return *on;
}

u64 OptionReader::duration(std::string_view name, u64 fallback, u64 low) {
    const OptionValue *value = find(name);
    if (value == nullptr)
        return fallback;
    const std::string *text = std::get_if<std::string>(value);
    const std::optional<u64> ns = text == nullptr ? std::nullopt : parse(*text, time_units);
    if (!ns || *ns < low)
        fail(name, "a duration with its unit such as \"50us\" or \"2ms\", at least " + std::to_string(low) + "ns");
    return *ns;
}

u64 OptionReader::size(std::string_view name, u64 fallback, u64 low) {
    const OptionValue *value = find(name);
    if (value == nullptr)
        return fallback;
    std::optional<u64> bytes;
    if (const std::string *text = std::get_if<std::string>(value))
        bytes = parse(*text, size_units);
    else if (const s64 *number = std::get_if<s64>(value); number != nullptr && *number >= 0)
        bytes = static_cast<u64>(*number);
    if (!bytes || *bytes < low)
        fail(name, "a number of bytes or a size such as \"64K\" or \"10M\", at least " + std::to_string(low));
    return *bytes;
}

double OptionReader::number(std::string_view name, double fallback, double low, double high) {
    const OptionValue *value = find(name);
    if (value == nullptr)
        return fallback;
    double number = low - 1;
    if (const double *real = std::get_if<double>(value))
        number = *real;
    else if (const s64 *whole = std::get_if<s64>(value))
        number = static_cast<double>(*whole);
    if (!(number >= low && number <= high))
        fail(name, "a number from " + show(OptionValue{low}) + " to " + show(OptionValue{high}));
    return number;
}

CpuMask OptionReader::cpus(std::string_view name) {
    const OptionValue *value = find(name);
    if (value == nullptr)
        return {};
    const std::string *text = std::get_if<std::string>(value);
    const std::optional<CpuMask> mask = text == nullptr ? std::nullopt : parse_list(*text);
    if (!mask || mask->empty())
        fail(name, "a CPU list such as \"0-3,8\"");
    return *mask;
}

void OptionReader::done() const {
    for (const auto &[name, value] : options_.values)
        if (std::find(known_.begin(), known_.end(), name) == known_.end())
            throw InputError(options_.where + ": option '" + name + "' of " + std::string(kind_) + " is unknown" +
                             did_you_mean(name, known_));
}

} // namespace fairground
