// SPDX-License-Identifier: GPL-2.0-only
//
// The eevdf family: sequences of operations on one CPU, and single functions on given queues. The format is
// described in tests/data/vectors/README.md.
#include "vectors/eevdf_setup.h"

#include <utility>

namespace fairground::vectors {

namespace {

bool recognises(const Json &first) {
    return first.contains("seq") || (first.contains("unit") && first["unit"] == "eevdf");
}

void run(const Json &first, LineReader &rest, Report &report) {
    if (first.contains("seq"))
        run_sequences(first, rest, report);
    else
        run_eevdf_units(first, rest, report);
}

} // namespace

std::unique_ptr<fair::Scheduler> scheduler_of(const Json &header) {
    fair::Features features;
    features.set(fair::Feature::HRTICK, false);
    if (const auto names = header.at("feat").get<std::string>(); names != "-") {
        for (std::size_t from = 0; from <= names.size();) {
            const std::size_t to = std::min(names.find(',', from), names.size());
            features.apply(std::string_view(names).substr(from, to - from));
            from = to + 1;
        }
    }
    fair::Tunables tunables;
    tunables.hz = header.at("hz").get<u32>();
    tunables.base_slice = header.at("base_slice").get<u64>();
    tunables.normalized_base_slice = header.at("normalized_base_slice").get<u64>();
    tunables.migration_cost = header.value("migration_cost", tunables.migration_cost);
    tunables.cgroup_mode = static_cast<fair::CgroupMode>(header.value("cgroup_mode", 2));

    fair::DomainTree tree;
    tree.cpus.resize(2);
    CpuMask online = CpuMask::range(here, elsewhere);
    auto s = std::make_unique<fair::Scheduler>(std::move(tree), online, features, tunables);
    s->nr_online_cpus = header.value("cpus", 1); // as the share code sees it
    s->now = header.value("clock0", u64{0});
    for (fair::Rq &rq : s->rqs) {
        rq.clock = rq.clock_task = rq.clock_pelt = s->now;
        rq.arch_capacity = header.value("capacity", u64{1024});
        rq.cfs.zero_vruntime = static_cast<u64>(header.value("z0", s64{0}));
    }
    return s;
}

const Family eevdf_family = {"eevdf", recognises, run};

} // namespace fairground::vectors
