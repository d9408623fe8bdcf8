// SPDX-License-Identifier: GPL-2.0-only
#include "base/error.h"
#include "machine/readers.h"

#include <charconv>

namespace fairground {

std::string_view trim(std::string_view text) {
    constexpr std::string_view blank(" \t\r\n\v\f\0", 7);
    const auto first = text.find_first_not_of(blank);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::optional<s64> parse_number(std::string_view text) {
    text = trim(text);
    s64 number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size())
        return {};
    return number;
}

std::vector<std::string_view> split_lines(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto end = text.find('\n');
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        lines.push_back(line);
        if (end == std::string_view::npos)
            break;
        text.remove_prefix(end + 1);
    }
    return lines;
}

CpuMask parse_hex_mask(std::string_view text, const std::string &label) {
    text = trim(text);
    const auto refuse = [&](const char *why) {
        return InputError(label + ": CPU mask '" + std::string(text.substr(0, 40)) + "' " + why);
    };
    std::vector<u32> words; // highest first
    std::string_view rest = text;
    for (bool more = !text.empty(); more;) {
        const auto comma = rest.find(',');
        std::string_view word = trim(rest.substr(0, comma));
        more = comma != std::string_view::npos;
        if (more)
            rest.remove_prefix(comma + 1);
        if (word.starts_with("0x"))
            word.remove_prefix(2);
        if (word == "f...f")
            throw refuse("is infinite, expected a list of 32-bit words");
        u32 value = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, 16);
        if (!word.empty() && (error != std::errc() || end != word.data() + word.size()))
            throw refuse("is malformed, expected 32-bit hexadecimal words and commas");
        words.push_back(value);
    }
    CpuMask mask;
    for (std::size_t i = words.size(); i-- > 0;)
        for (int bit = 0; bit < 32; bit++)
            if ((words[i] >> bit & 1) != 0) {
                const std::size_t cpu = (words.size() - 1 - i) * 32 + static_cast<std::size_t>(bit);
                if (cpu >= static_cast<std::size_t>(max_cpus))
                    throw refuse(("has a CPU beyond the limit of " + std::to_string(max_cpus)).c_str());
                mask.set(CpuId{static_cast<s64>(cpu)});
            }
    return mask;
}

} // namespace fairground
