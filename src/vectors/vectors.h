// SPDX-License-Identifier: GPL-2.0-only
//
// Vector files: cases that the kernel's own functions computed (tests/data/vectors/README.md). Each family reads
// the cases it knows, feeds the model and reports what differs.
#pragma once

#include "base/lines.h"
#include "base/types.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace fairground::vectors {

using Json = nlohmann::json;

// Counts per file. A case is one line for independent cases, one operation for sequences.
class Report {
  public:
    explicit Report(u64 show) : show_(show) {}

    void equal() { cases_++, equal_++; }
    void waiting() { waiting_++; } // needs a rule that is not built yet; never counted as equal
    // `where` names the case ("case 12", "seq 1001 op 7"), `rule` the rule that decides the field, `text` what
    // differs: "cpu is 3, expected 5".
    void different(std::string_view where, std::string_view rule, std::string_view text);

    [[nodiscard]] u64 cases() const { return cases_; }
    [[nodiscard]] u64 equal_cases() const { return equal_; }
    [[nodiscard]] u64 waiting_cases() const { return waiting_; }

  private:
    u64 show_;
    u64 cases_ = 0;
    u64 equal_ = 0;
    u64 waiting_ = 0;
};

// A family of files. recognises() sees the first line of a file; run() gets that line and reads the rest.
struct Family {
    std::string_view name;
    bool (*recognises)(const Json &first);
    void (*run)(const Json &first, LineReader &rest, Report &report);
};

extern const Family wake_family;
extern const Family eevdf_family; // sequences and units of EEVDF
extern const Family pelt_unit_family;
extern const Family shares_family;
extern const Family balance_family;
extern const Family balance_unit_family;
extern const Family numa_move_family;

} // namespace fairground::vectors
