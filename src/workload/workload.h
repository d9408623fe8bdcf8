// SPDX-License-Identifier: GPL-2.0-only
//
// Workload: programs on the simulated kernel, one file per benchmark. A study file's [[workload]] table gives the
// kind and its options; several parts may run side by side.
#pragma once

#include "base/types.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fairground::kernel {
class Kernel;
}

namespace fairground {

// Option values as the study file has them, and where that is, for error texts ("studies/x.toml: workload 1").
using OptionValue = std::variant<bool, s64, double, std::string>;
struct Options {
    std::string where;
    std::map<std::string, OptionValue, std::less<>> values;
};

struct Metric {
    std::string name; // with its unit: "MB/s"
    double value = 0;
};

class Workload {
  public:
    Workload() = default;
    Workload(const Workload &) = delete;
    Workload &operator=(const Workload &) = delete;
    virtual ~Workload() = default;

    // Creates the tasks. They start at simulated time 0.
    virtual void start(kernel::Kernel &kernel) = 0;
    // Called once, when the study's warm-up is over (at once without one): what collect() reports begins here.
    virtual void start_measuring(const kernel::Kernel & /*kernel*/) {}
    // finishes(): the workload has an end of its own; finished(): it was reached. The run ends when all parts that
    // have an end reached it, or at the study's duration.
    [[nodiscard]] virtual bool finishes() const { return false; }
    [[nodiscard]] virtual bool finished() const { return false; }
    virtual void collect(const kernel::Kernel &kernel, std::vector<Metric> &metrics) const = 0;
};

// Throws InputError for an unknown kind, an unknown option (with the nearest known one) or a bad value.
std::unique_ptr<Workload> make_workload(std::string_view kind, const Options &options);

} // namespace fairground
