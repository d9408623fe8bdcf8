// SPDX-License-Identifier: GPL-2.0-only
#include "report/table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace fairground {

void Table::column(std::string heading, Align align) { columns_.push_back({std::move(heading), align}); }

void Table::row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string Table::text() const {
    std::vector<std::size_t> widths(columns_.size(), 0);
    for (const auto &cells : rows_)
        for (std::size_t i = 0; i < cells.size(); i++)
            widths[i] = std::max(widths[i], cells[i].size());
    for (std::size_t i = 0; i < columns_.size(); i++)
        if (widths[i] != 0)
            widths[i] = std::max(widths[i], columns_[i].heading.size());

    std::string text;
    const auto add = [&](auto cell_of) {
        std::string line;
        for (std::size_t i = 0; i < columns_.size(); i++) {
            if (widths[i] == 0)
                continue;
            const std::string &cell = cell_of(i);
            const std::string padding(widths[i] - cell.size(), ' ');
            if (!line.empty())
                line += "  ";
            line += columns_[i].align == Align::left ? cell + padding : padding + cell;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    };
    add([&](std::size_t i) -> const std::string & { return columns_[i].heading; });
    for (const auto &cells : rows_)
        add([&](std::size_t i) -> const std::string & { return cells[i]; });
    return text;
}

int decimals_for(double value) {
    const double size = std::fabs(value);
    int decimals = 3;
    for (double limit = 10; decimals > 0 && size >= limit; limit *= 10)
        decimals--;
    // Small values need more places for their first digits.
    for (double limit = 1; decimals >= 3 && decimals < 9 && size > 0 && size < limit; limit /= 10)
        decimals++;
    return decimals;
}

std::string fixed(double value, int decimals) {
    std::array<char, 400> buffer; // NOLINT(cppcoreguidelines-pro-type-member-init): to_chars fills it
    const auto [end, error] =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value + 0.0, std::chars_format::fixed, decimals);
    return error == std::errc{} ? std::string(buffer.data(), end) : "?";
}

std::string with_sign(double value, int decimals) {
    const std::string text = fixed(value, decimals);
    return text.starts_with('-') ? text : "+" + text;
}

} // namespace fairground
