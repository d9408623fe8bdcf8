// SPDX-License-Identifier: GPL-2.0-only
//
// Table: a text table in aligned columns, two blanks apart, without lines or colours, so that it reads well on a
// terminal and cuts well in a pipe.
#pragma once

#include <string>
#include <vector>

namespace fairground {

enum class Align { left, right };

class Table {
  public:
    void column(std::string heading, Align align);
    // Precondition: as many cells as columns. Columns whose cells are all empty are left out.
    void row(std::vector<std::string> cells);
    [[nodiscard]] std::string text() const; // ends with a newline; no blanks at line ends

  private:
    struct Column {
        std::string heading;
        Align align;
    };
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

// Digits after the point that show `value` with four significant digits: 760 -> "760.0", 1484 -> "1484".
int decimals_for(double value);
// Fixed notation with that many decimals, never in the locale's way.
std::string fixed(double value, int decimals);
// With a sign in front: "+12.5", "-3.0".
std::string with_sign(double value, int decimals);

} // namespace fairground
