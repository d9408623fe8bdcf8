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

// Whole values at once: true if equal, otherwise the first difference is reported. `rule_of` names the rule of a
// JSON path.
template <class RuleOf>
bool same_json(std::string_view where, const Json &model, const Json &expected, Report &report, RuleOf rule_of) {
    if (model == expected)
        return true;
    const auto path = Json::diff(expected, model).at(0).at("path").template get<std::string>();
    const Json::json_pointer at(path);
    const auto show = [&at](const Json &json) {
        return json.contains(at) ? json.at(at).dump() : std::string("missing");
    };
    report.different(where, rule_of(path), path + " is " + show(model) + ", expected " + show(expected));
    return false;
}

} // namespace fairground::vectors
