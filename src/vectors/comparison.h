// SPDX-License-Identifier: GPL-2.0-only
//
// One case against the record: collects the first field that differs.
#pragma once

#include "vectors/vectors.h"

#include <type_traits>

namespace fairground::vectors {

class Comparison {
  public:
    // `got` in the width and sign of the model; recorded numbers are at most 64 bits of either sign.
    template <class T> void field(std::string_view name, T got, const Json &expected, std::string_view rule) {
        using Wide = std::conditional_t<std::is_signed_v<T>, s64, u64>;
        const auto wanted = expected.get<Wide>();
        if (static_cast<Wide>(got) == wanted || !text_.empty())
            return;
        text_ = std::string(name) + " is " + std::to_string(got) + ", expected " + std::to_string(wanted);
        rule_ = rule;
    }
    void report(Report &report, std::string_view where) const {
        if (text_.empty())
            report.equal();
        else
            report.different(where, rule_, text_);
    }

  private:
    std::string text_;
    std::string rule_;
};

} // namespace fairground::vectors
