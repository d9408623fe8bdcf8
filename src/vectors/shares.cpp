// SPDX-License-Identifier: GPL-2.0-only
//
// eevdf-unit-shares: the weight of a group in the five modes, and the flattened weight; one case per line.
#include "fair/cgroup.h"
#include "vectors/comparison.h"

#include <array>

namespace fairground::vectors {

namespace {

using namespace fairground::fair;

void shares(Scheduler &s, const Json &in, Comparison &c) {
    static constexpr std::array<std::string_view, 5> modes = {"up", "smp", "concur", "max", "tasks"};
    TaskGroup group;
    group.shares = in.at("S");
    group.load_avg = in.at("tl");
    group.runnable_avg = in.at("tr");
    CfsRq queue;
    queue.group = &group;
    queue.load_weight = in.at("lw");
    queue.avg.load_avg = in.at("la");
    queue.tg_load_avg_contrib = in.at("contrib");
    s.nr_online_cpus = in.at("cpus");
    for (std::size_t mode = 0; mode < modes.size(); mode++) {
        s.tunables.cgroup_mode = static_cast<CgroupMode>(mode);
        c.field(modes[mode], calc_group_shares(s, queue), in.at("r").at(mode), "CG-14");
    }
}

// Levels from the task up, each [weight of the entity, weight of its queue, result]; the last is the root queue.
void prop_weight(const Json &in, Comparison &c) {
    const Json &levels = in.at("levels");
    std::vector<CfsRq> queues(levels.size());
    std::vector<Entity> entities(levels.size());
    u64 weight = nice_0_load;
    for (std::size_t i = 0; i < levels.size(); i++) {
        queues[i].load_weight = levels[i].at(1);
        entities[i].load_weight = levels[i].at(0);
        entities[i].cfs_rq = &queues[i];
        entities[i].parent = i + 1 < levels.size() ? &entities[i + 1] : nullptr;
        weight = fold_weight(weight, entities[i]);
        c.field("weight", weight, levels[i].at(2), "CG-20");
    }
    c.field("result", weight, in.at("r"), "CG-20");
}

bool recognises(const Json &first) { return first.contains("unit") && first["unit"] == "shares"; }

void run(const Json &, LineReader &rest, Report &report) {
    Scheduler s({}, {}, {}, {});
    std::string line;
    while (rest.next(line)) {
        const Json in = Json::parse(line);
        if (!in.contains("u")) // header or end of a part
            continue;
        Comparison comparison;
        if (in["u"] == "shares") {
            shares(s, in, comparison);
        } else if (in["u"] == "prop_weight") {
            prop_weight(in, comparison);
        } else {
            report.waiting();
            continue;
        }
        comparison.report(report, "line " + std::to_string(rest.line_number()));
    }
}

} // namespace

const Family shares_family = {"shares", recognises, run};

} // namespace fairground::vectors
