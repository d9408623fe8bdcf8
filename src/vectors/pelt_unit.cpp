// SPDX-License-Identifier: GPL-2.0-only
//
// pelt-unit: functions of load tracking on single random states, one case per line.
#include "fair/cgroup.h"
#include "fair/pelt.h"
#include "vectors/comparison.h"

#include <functional>
#include <map>

namespace fairground::vectors {

namespace {

using namespace fairground::fair;

SchedAvg read_avg(const Json &json) {
    return {.last_update_time = json.at("lut"),
            .load_sum = json.at("ls"),
            .runnable_sum = json.at("rs"),
            .util_sum = json.at("us"),
            .period_contrib = json.at("pc"),
            .load_avg = json.at("la"),
            .runnable_avg = json.at("ra"),
            .util_avg = json.at("ua"),
            .util_est = json.at("ue")};
}

void compare_avg(Comparison &c, const SchedAvg &sa, const Json &expected, std::string_view rule) {
    c.field("last_update_time", sa.last_update_time, expected.at("lut"), rule);
    c.field("load_sum", sa.load_sum, expected.at("ls"), rule);
    c.field("runnable_sum", sa.runnable_sum, expected.at("rs"), rule);
    c.field("util_sum", sa.util_sum, expected.at("us"), rule);
    c.field("period_contrib", sa.period_contrib, expected.at("pc"), rule);
    c.field("load_avg", sa.load_avg, expected.at("la"), rule);
    c.field("runnable_avg", sa.runnable_avg, expected.at("ra"), rule);
    c.field("util_avg", sa.util_avg, expected.at("ua"), rule);
    c.field("util_est", sa.util_est, expected.at("ue"), rule);
}

// One CPU with a root queue, its entity and one group on it. Every case starts from a fresh one.
struct World {
    static DomainTree one_cpu() {
        DomainTree tree;
        tree.cpus.resize(1);
        return tree;
    }
    static CpuMask cpu0() {
        CpuMask mask;
        mask.set(CpuId{0});
        return mask;
    }

    Scheduler s{one_cpu(), cpu0(), {}, {}};
    Rq &rq = s.rqs[0];
    CfsRq &root = rq.cfs;
    TaskGroup group;
    CfsRq queue; // of the group
    Entity ge;   // stands for `queue` in the root queue
    Task task;

    World() {
        queue.rq = &rq;
        queue.group = &group;
        queue.group_entity = &ge;
        ge.my_q = &queue;
        ge.cfs_rq = &root;
        task.cpu = CpuId{0};
        task.se.task = &task;
        task.se.cfs_rq = &root;
    }
};

void read_queue(CfsRq &cfs, const Json &json) {
    cfs.avg = read_avg(json.at("avg"));
    cfs.propagate = json.at("propagate").get<int>() != 0;
    cfs.prop_runnable_sum = json.at("prop");
}

void compare_queue(Comparison &c, const CfsRq &cfs, const Json &expected, std::string_view rule) {
    compare_avg(c, cfs.avg, expected.at("avg"), rule);
    c.field("propagate", u32{cfs.propagate}, expected.at("propagate"), "PELT-50");
    c.field("prop_runnable_sum", cfs.prop_runnable_sum, expected.at("prop"), "PELT-50");
}

void decay(World &, const Json &in, Comparison &c) {
    for (std::size_t i = 0; i < in.at("x").size(); i++)
        c.field("decayed value", decay_load(in["x"][i], in.at("n")), in.at("r").at(i), "PELT-3");
}

void segments(World &, const Json &in, Comparison &c) {
    c.field("segments", accumulate_pelt_segments(in.at("p"), in.at("d1"), in.at("d3")), in.at("r"), "PELT-4");
}

void update_sum(World &, const Json &in, Comparison &c) {
    SchedAvg sa = read_avg(in.at("in"));
    const bool crossed =
        update_load_sum(in.at("now"), sa, in.at("load"), in.at("runnable"), in.at("running").get<int>() != 0);
    if (crossed)
        update_load_avg_values(sa, in.at("weight"));
    c.field("result", u32{crossed}, in.at("ret"), "PELT-6");
    compare_avg(c, sa, in.at("out"), "PELT-6");
}

void attach_or_detach(World &w, const Json &in, Comparison &c) {
    const bool attach = in.at("u") == "attach";
    const std::string_view rule = attach ? "PELT-30" : "PELT-31";
    w.task.se.load_weight = in.at("w");
    w.task.se.avg = read_avg(in.at("se"));
    read_queue(w.root, in.at("q"));
    (attach ? attach_entity_load_avg : detach_entity_load_avg)(w.root, w.task.se);
    compare_avg(c, w.task.se.avg, in.at("se_out"), rule);
    compare_queue(c, w.root, in.at("q_out"), rule);
}

void removed(World &w, const Json &in, Comparison &c) {
    read_queue(w.root, in.at("q"));
    w.root.load_weight = in.at("lw");
    w.root.h_nr_runnable = in.at("hr");
    w.root.removed = {.nr = 1, .load_avg = in.at("rl"), .util_avg = in.at("ru"), .runnable_avg = in.at("rr")};
    const bool decayed = update_cfs_rq_load_avg(in.at("now"), w.root);
    c.field("result", u32{decayed}, in.at("ret"), "PELT-21");
    compare_queue(c, w.root, in.at("q_out"), "PELT-33");
}

void tg_propagate(World &w, const Json &in, Comparison &c) {
    w.ge.load_weight = in.at("w");
    w.ge.avg = read_avg(in.at("ge"));
    w.queue.load_weight = in.at("glw");
    w.queue.avg = read_avg(in.at("G"));
    w.queue.propagate = true;
    w.queue.prop_runnable_sum = in.at("prop");
    w.root.avg = read_avg(in.at("P"));
    propagate_entity_load_avg(w.ge);
    compare_avg(c, w.ge.avg, in.at("ge_out"), "PELT-53");
    compare_avg(c, w.root.avg, in.at("P_out"), "PELT-53");
    c.field("prop_runnable_sum", w.queue.prop_runnable_sum, in.at("prop_out"), "PELT-53");
}

void reweight(World &w, const Json &in, Comparison &c) {
    w.task.se.load_weight = in.at("w");
    w.task.se.on_rq = in.at("on").get<int>() != 0;
    w.task.se.avg = read_avg(in.at("se"));
    w.root.load_weight = in.at("lw");
    w.root.avg = read_avg(in.at("q"));
    reweight_entity_load(w.root, w.task.se, in.at("w2"));
    compare_avg(c, w.task.se.avg, in.at("se_out"), "PELT-58");
    compare_avg(c, w.root.avg, in.at("q_out"), "PELT-58");
    c.field("load.weight", w.root.load_weight, in.at("lw_out"), "PELT-58");
}

void estimate(World &w, const Json &in, Comparison &c) {
    w.task.se.avg.util_est = in.at("e");
    w.task.se.avg.util_avg = in.at("util");
    w.task.se.avg.runnable_avg = in.at("runnable");
    util_est_update(w.s, w.task.se);
    c.field("util_est", w.task.se.avg.util_est, in.at("r"), "PELT-71");
}

void fork_avg(World &w, const Json &in, Comparison &c) {
    w.rq.arch_capacity = in.at("capacity");
    w.root.avg.util_avg = in.at("q_util");
    w.root.avg.load_avg = in.at("q_load");
    w.task.se.load_weight = in.at("w");
    init_entity_runnable_average(w.task.se);
    post_init_entity_util_avg(w.s, w.task);
    c.field("load_avg", w.task.se.avg.load_avg, in.at("load"), "PELT-60");
    c.field("util_avg", w.task.se.avg.util_avg, in.at("util"), "PELT-60");
    c.field("runnable_avg", w.task.se.avg.runnable_avg, in.at("runnable"), "PELT-60");
}

void tg_load(World &w, const Json &in, Comparison &c) {
    w.rq.clock = in.at("clock");
    w.queue.last_update_tg_load_avg = in.at("last");
    w.queue.avg.load_avg = in.at("la");
    w.queue.avg.runnable_avg = in.at("ra");
    w.queue.tg_load_avg_contrib = in.at("tc");
    w.queue.tg_runnable_avg_contrib = in.at("trc");
    w.group.load_avg = in.at("tl");
    w.group.runnable_avg = in.at("tr");
    update_tg_load_avg(w.s, w.queue);
    c.field("last_update_tg_load_avg", w.queue.last_update_tg_load_avg, in.at("last_out"), "PELT-56");
    c.field("tg_load_avg_contrib", w.queue.tg_load_avg_contrib, in.at("tc_out"), "PELT-56");
    c.field("tg_runnable_avg_contrib", w.queue.tg_runnable_avg_contrib, in.at("trc_out"), "PELT-56");
    c.field("tg.load_avg", w.group.load_avg, in.at("tl_out"), "PELT-56");
    c.field("tg.runnable_avg", w.group.runnable_avg, in.at("tr_out"), "PELT-56");
}

void clock_scale(World &w, const Json &in, Comparison &c) {
    w.rq.current_class = SchedClass::fair;
    w.rq.arch_capacity = in.at("capacity");
    w.rq.freq = in.at("freq");
    update_rq_clock_pelt(w.rq, in.at("delta"));
    c.field("clock_pelt", w.rq.clock_pelt, in.at("r"), "PELT-42");
}

void idle_clock(World &w, const Json &in, Comparison &c) {
    w.rq.clock_task = in.at("clock_task");
    w.rq.clock_pelt = in.at("clock_pelt");
    w.rq.lost_idle_time = in.at("lost");
    w.root.avg.util_sum = in.at("util_sum");
    update_idle_rq_clock_pelt(w.rq);
    c.field("clock_pelt", w.rq.clock_pelt, in.at("clock_pelt_out"), "PELT-44");
    c.field("lost_idle_time", w.rq.lost_idle_time, in.at("lost_out"), "PELT-44");
    c.field("rq_clock_pelt", rq_clock_pelt(w.rq), in.at("reported"), "PELT-43");
}

void h_load(World &w, const Json &in, Comparison &c) {
    const Json &levels = in.at("levels"); // from the root down: load of the group entity, of its queue
    std::vector<CfsRq> queues(levels.size());
    std::vector<Entity> entities(levels.size());
    w.root.avg.load_avg = in.at("root");
    CfsRq *parent = &w.root;
    for (std::size_t i = 0; i < levels.size(); i++) {
        entities[i].cfs_rq = parent;
        entities[i].my_q = &queues[i];
        entities[i].avg.load_avg = levels[i].at(0);
        queues[i].group_entity = &entities[i];
        queues[i].avg.load_avg = levels[i].at(1);
        parent = &queues[i];
    }
    w.task.se.cfs_rq = parent;
    w.task.se.avg.load_avg = in.at("task");
    c.field("task_h_load", task_h_load(w.s, w.task), in.at("r"), "PELT-81");
}

using Check = void (*)(World &, const Json &, Comparison &);
const std::map<std::string, Check, std::less<>> checks = {
    {"decay", decay},       {"segments", segments},         {"update_sum", update_sum},
    {"removed", removed},   {"attach", attach_or_detach},   {"detach", attach_or_detach},
    {"util_est", estimate}, {"tg_propagate", tg_propagate}, {"reweight_entity", reweight},
    {"fork_avg", fork_avg}, {"tg_load", tg_load},           {"clock_scale", clock_scale},
    {"h_load", h_load},     {"idle_clock", idle_clock},
};

bool recognises(const Json &first) { return first.contains("unit") && first["unit"] == "pelt"; }

void run(const Json &, LineReader &rest, Report &report) {
    std::string line;
    while (rest.next(line)) {
        const Json in = Json::parse(line);
        if (!in.contains("u")) // header or end of a part
            continue;
        const auto check = checks.find(in["u"].get<std::string>());
        if (check == checks.end()) {
            report.waiting();
            continue;
        }
        World world;
        Comparison comparison;
        check->second(world, in, comparison);
        comparison.report(report, "line " + std::to_string(rest.line_number()) + ", " + check->first);
    }
}

} // namespace

const Family pelt_unit_family = {"pelt_unit", recognises, run};

} // namespace fairground::vectors
