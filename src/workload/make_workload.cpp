// SPDX-License-Identifier: GPL-2.0-only
#include "base/error.h"
#include "base/nearest.h"
#include "workload/kinds.h"

#include <array>
#include <vector>

namespace fairground {

namespace {

struct Kind {
    std::string_view name;
    std::unique_ptr<Workload> (*make)(const Options &options);
};
constexpr std::array kinds = {
    Kind{"bw_pipe", make_bw_pipe},
    Kind{"noise", make_noise},
    Kind{"hog", make_hog},
    Kind{"periodic", make_periodic},
};

} // namespace

std::unique_ptr<Workload> make_workload(std::string_view kind, const Options &options) {
    std::vector<std::string_view> known;
    for (const Kind &entry : kinds) {
        if (entry.name == kind)
            return entry.make(options);
        known.push_back(entry.name);
    }
    throw InputError(options.where + ": workload kind '" + std::string(kind) + "' is unknown" +
                     did_you_mean(kind, known));
}

} // namespace fairground
