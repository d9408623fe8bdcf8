// SPDX-License-Identifier: GPL-2.0-only
//
// Reading a workload's options. Every option is read once, with its default and its range; done() then refuses what
// nobody asked for. All failures are InputError: "<where>: option 'blok' is unknown, did you mean 'block'?".
//
// Durations are strings with a unit: "50us", "2ms", "1s", "300ns". Sizes are bytes, or strings: "64K", "10M".
#pragma once

#include "base/cpu_mask.h"
#include "workload/workload.h"

#include <string_view>
#include <vector>

namespace fairground {

class OptionReader {
  public:
    OptionReader(std::string_view kind, const Options &options) : kind_(kind), options_(options) {}

    s64 integer(std::string_view name, s64 fallback, s64 low, s64 high);
    bool flag(std::string_view name, bool fallback);
    // ns; `low` included.
    u64 duration(std::string_view name, u64 fallback, u64 low);
    u64 size(std::string_view name, u64 fallback, u64 low);
    double number(std::string_view name, double fallback, double low, double high);
    // CPU list "0-3,8"; empty if not given.
    CpuMask cpus(std::string_view name);

    void done() const;

  private:
    const OptionValue *find(std::string_view name);
    [[noreturn]] void fail(std::string_view name, const std::string &expected) const;

    std::string_view kind_;
    const Options &options_;
    std::vector<std::string_view> known_;
};

} // namespace fairground
