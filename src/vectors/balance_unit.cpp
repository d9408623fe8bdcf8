// SPDX-License-Identifier: GPL-2.0-only
//
// Single functions of load balancing: arithmetic, the NOHZ kick, and the walks over a CPU's domains with scripted
// passes.
#include "vectors/balance_case.h"
#include "vectors/comparison.h"

#include "base/error.h"
#include "fair/balance_timing.h"
#include "fair/domain_build.h"
#include "fair/nohz.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace fairground::vectors {

namespace {

using namespace fair;

std::unique_ptr<Scheduler> one_cpu(DomainTree tree, const Tunables &tunables) {
    return std::make_unique<Scheduler>(std::move(tree), CpuMask::of(CpuId{0}), Features(), tunables);
}

DomainTree tree_of(std::size_t cpus) {
    DomainTree tree;
    tree.cpus.resize(cpus);
    for (std::size_t i = 0; i < cpus; i++)
        tree.cpus[i].smt.set(CpuId{static_cast<s64>(i)});
    return tree;
}

Json interval(const Json &in) {
    Tunables tunables;
    tunables.hz = in.at("HZ");
    const auto s = one_cpu(tree_of(1), tunables);
    s->max_load_balance_interval = u64{tunables.hz} * in.at("online_cpus").get<u64>() / 10;
    Domain sd;
    sd.balance_interval = in.at("balance_interval_ms");
    sd.busy_factor = in.at("busy_factor");
    return {{"interval_jiffies", get_sd_balance_interval(*s, sd, in.at("cpu_busy").get<int>() != 0)}};
}

Json numa_imbalance(const Json &in, bool v3) {
    Features features;
    features.set(Feature::NUMA_PAIR_P3, v3);
    return {
        {"imbalance", adjust_numa_imbalance(features, in.at("imbalance"), in.at("dst_running"), in.at("imb_numa_nr"))}};
}

Json sibling(const Json &in) {
    return {{"imbalance",
             sibling_imbalance(in.at("idle").get<int>() != 0, in.at("busiest_cores"), in.at("busiest_sum_nr_running"),
                               in.at("local_cores"), in.at("local_sum_nr_running"))}};
}

Json idle_scan(const Json &in) {
    return {{"nr_idle_scan", idle_cpu_scan(in.at("span_weight"), in.at("imbalance_pct"), in.at("sum_util"))}};
}

Json migrate_llc(const Json &in) {
    const auto s = one_cpu(tree_of(1), Tunables());
    s->smt_num_threads = in.at("cpu_smt_num_threads");
    constexpr std::array names = {"forbid", "llc", "unrestricted"};
    const LlcMig mig =
        can_migrate_llc(*s, {in.at("src_util"), in.at("src_capacity")}, {in.at("dst_util"), in.at("dst_capacity")},
                        in.at("task_util"), in.at("to_pref").get<int>() != 0);
    return {{"mig", names[static_cast<std::size_t>(mig)]}};
}

Json imb_numa_nr(const Json &in) {
    std::vector<DomainDraft> chain;
    for (const Json &level : in.at("levels")) {
        DomainDraft &sd = chain.emplace_back();
        sd.flags = flags_of(level.at("flags"));
        sd.span_weight = level.at("span_weight");
    }
    const auto at = [&chain](int level) {
        const auto i = static_cast<std::size_t>(level);
        return i < chain.size() ? &chain[i] : nullptr;
    };
    if (const int top = in.at("sd_llc_level"); top >= 0 && at(top + 1) != nullptr)
        adjust_numa_imbalance(at, top);
    Json out;
    for (const DomainDraft &sd : chain)
        out["imb_numa_nr"].push_back(sd.imb_numa_nr);
    return out;
}

Json kick(const Json &in) {
    const std::size_t cpus = in.at("nr_running").size();
    DomainTree tree = empty_tree(cpus, Column(in, "core"));
    tree.smt_active = in.at("sched_smt_active").get<int>() != 0;
    const CpuId cpu{in.at("cpu").get<int>()};
    CpuDomains &own = tree.cpus[static_cast<std::size_t>(cpu.value)];
    if (const Json &base = in.at("base_domain"); !base.is_null()) {
        own.base = &tree.domains.emplace_back();
        own.base->imbalance_pct = base.at("imbalance_pct");
    }
    if (const Json &packing = in.at("sd_asym_packing"); !packing.is_null()) {
        own.asym_packing = &tree.domains.emplace_back();
        own.asym_packing->span = mask_of(packing.at("span"));
        own.asym_packing->flags = flags_of(packing.at("flags"));
    }
    if (in.at("sd_asym_cpucapacity").get<bool>())
        own.asym_cpucapacity = &tree.domains.emplace_back();
    if (const Json &shared = in.at("sd_balance_shared"); !shared.is_null()) {
        own.balance_shared = &tree.shared.emplace_back();
        own.balance_shared->nr_busy_cpus = shared.at("nr_busy_cpus");
    }

    Scheduler s(std::move(tree), CpuMask::range(0, static_cast<int>(cpus) - 1), Features(), Tunables());
    s.jiffies = in.at("jiffies");
    const Json &nohz = in.at("nohz");
    s.nohz.idle_cpus = mask_of(nohz.at("idle_cpus_mask"));
    s.nohz.housekeeping = mask_of(nohz.at("housekeeping"));
    s.nohz.has_blocked = nohz.at("has_blocked_load").get<int>() != 0;
    s.nohz.needs_update = nohz.at("needs_update").get<int>() != 0;
    s.nohz.next_balance = nohz.at("next_balance");
    s.nohz.next_blocked = nohz.at("next_blocked");
    for (std::size_t i = 0; i < cpus; i++) {
        Rq &rq = s.rqs[i];
        rq.nr_running = in.at("nr_running").at(i);
        rq.cfs.h_nr_runnable = in.at("h_nr_runnable").at(i);
        rq.current_class = in.at("curr_is_idle").at(i).get<int>() != 0 ? SchedClass::idle : SchedClass::fair;
        rq.cpu_capacity = in.at("cpu_capacity").at(i);
        rq.misfit_task_load = in.at("misfit_task_load").at(i);
        rq.asym_priority = in.at("asym_priority").at(i);
        rq.nohz_flags = in.at("nohz_flags").at(i);
    }
    Rq &rq = s.rq(cpu);
    rq.idle_balance = in.at("idle_balance").get<int>() != 0;

    Json out;
    out["find_new_ilb"] = find_new_ilb(s).value;
    nohz_balancer_kick(s, rq);
    out["ipi"] = -1;
    for (const Effect &effect : s.effects)
        if (effect.kind == EffectKind::nohz_kick)
            out["ipi"] = effect.target.value;
    out["next_balance"] = s.nohz.next_balance;
    for (const Rq &each : s.rqs)
        out["nohz_flags"].push_back(each.nohz_flags);
    // The mask of a case is what the CPU leaves behind, so that it leaves is a question of its own.
    rq.nohz_tick_stopped = true;
    nohz_balancer_kick(s, rq);
    out["exit_idle"] = rq.nohz_tick_stopped ? 0 : 1;
    return out;
}

// The walks: the case says what each pass, clock read and draw returns.
struct Script {
    Scheduler &s;
    Rq &rq;
    const Json &in;
    std::size_t reads = 0;
    std::size_t draws = 0;
    bool nohz_newidle = false;
    Json passes = Json::array();
};

struct ScriptedSteps {
    Script &script;

    int pass(Domain &sd, CpuIdle idle, bool *continue_balancing) {
        const Json &given = script.in.at("domains").at(static_cast<std::size_t>(sd.level)).at("pass");
        const int moved = given.at("moved");
        script.passes.push_back({sd.level, static_cast<int>(idle)});
        *continue_balancing = given.at("continue_balancing").get<int>() != 0;
        sd.balance_interval = given.at("balance_interval_after");
        if (moved != 0 && given.at("cpu_idle_after").get<int>() != 0) {
            script.rq.current_class = SchedClass::idle; // still not idle if tasks are queued
        } else if (moved != 0) {
            script.rq.current_class = SchedClass::fair;
            script.rq.nr_running = std::max(script.rq.nr_running, 1u);
        }
        return moved;
    }
    void update_blocked() {
        if (script.in.at("higher_class_modified").get<int>() != 0)
            script.rq.next_class = SchedClass::higher;
    }
    u64 clock(const Domain *) { return script.in.at("clock_reads").at(script.reads++); }
    u64 draw() { return script.in.at("random").at(script.draws++).get<u64>() % 1024; }
    void nohz_newidle() { script.nohz_newidle = true; }
};

// Calls walk(s, rq, script) on the state of a case and returns what both walks have in common.
template <class Walk> Json on_domains(const Json &in, Walk walk) {
    Tunables tunables;
    tunables.hz = in.at("HZ");
    tunables.migration_cost = in.value("sched_migration_cost_ns", tunables.migration_cost);
    DomainTree tree = tree_of(1);
    Domain *below = nullptr;
    for (const Json &given : in.at("domains")) {
        Domain &sd = tree.domains.emplace_back();
        (below != nullptr ? below->parent : tree.cpus[0].base) = &sd;
        sd.child = below;
        sd.level = below != nullptr ? below->level + 1 : 0;
        below = &sd;
        sd.flags = flags_of(given.at("flags"));
        sd.balance_interval = given.at("balance_interval");
        sd.busy_factor = given.at("busy_factor");
        sd.last_balance = given.at("last_balance");
        sd.newidle_call = given.at("newidle_call");
        sd.newidle_success = given.at("newidle_success");
        sd.newidle_ratio = given.at("newidle_ratio");
        sd.newidle_stamp = given.at("newidle_stamp");
        sd.max_newidle_lb_cost = given.at("max_newidle_lb_cost");
        sd.last_decay_max_lb_cost = given.at("last_decay_max_lb_cost");
    }
    const auto s = one_cpu(std::move(tree), tunables);
    s->features.set(Feature::NI_RANDOM, in.value("NI_RANDOM", 1) != 0);
    s->features.set(Feature::NI_RATE, in.value("NI_RATE", 1) != 0);
    s->jiffies = in.at("jiffies");
    s->now = in.at("sched_clock");
    s->max_load_balance_interval = u64{tunables.hz} * in.at("online_cpus").get<u64>() / 10;

    const Json &given = in.at("rq");
    Rq &rq = s->rqs[0];
    s->root.overloaded = given.at("rd_overloaded").get<int>() != 0;
    if (given.at("cpu_active").get<int>() == 0)
        s->active.clear(CpuId{0});
    rq.nr_running = given.at("nr_running");
    rq.cfs.h_nr_queued = given.at("h_nr_queued");
    rq.cfs.h_nr_runnable = given.at("h_nr_runnable");
    rq.cfs.h_nr_idle = given.at("h_nr_idle");
    rq.current_class = given.at("curr_is_idle").get<int>() != 0 ? SchedClass::idle : SchedClass::fair;
    rq.ttwu_pending = given.at("ttwu_pending").get<int>() != 0;
    rq.next_balance = given.at("next_balance");
    rq.max_idle_balance_cost = given.at("max_idle_balance_cost");
    rq.avg_idle = given.at("avg_idle");
    rq.idle_stamp = given.at("idle_stamp");
    rq.clock = given.at("clock");

    Script script{*s, rq, in};
    Json out = walk(*s, rq, script);
    out["next_balance"] = rq.next_balance;
    out["max_idle_balance_cost"] = rq.max_idle_balance_cost;
    out["passes"] = script.passes;
    out["domains"] = Json::array();
    for (const Domain &sd : s->domains.domains)
        out["domains"].push_back({{"last_balance", sd.last_balance},
                                  {"newidle_call", sd.newidle_call},
                                  {"newidle_success", sd.newidle_success},
                                  {"newidle_ratio", sd.newidle_ratio},
                                  {"newidle_stamp", sd.newidle_stamp},
                                  {"max_newidle_lb_cost", sd.max_newidle_lb_cost},
                                  {"last_decay_max_lb_cost", sd.last_decay_max_lb_cost}});
    return out;
}

Json domains(const Json &in) {
    return on_domains(in, [&in](Scheduler &s, Rq &rq, Script &script) {
        walk_domains(s, rq, static_cast<CpuIdle>(in.at("idle").get<int>()), ScriptedSteps{script});
        return Json::object();
    });
}

Json newidle(const Json &in) {
    return on_domains(in, [](Scheduler &s, Rq &rq, Script &script) {
        const int result = walk_newidle(s, rq, ScriptedSteps{script});
        return Json{{"return", result},
                    {"idle_stamp", rq.idle_stamp},
                    {"rng_draws", script.draws},
                    {"clock_reads", script.reads},
                    {"nohz_newidle", script.nohz_newidle ? 1 : 0}};
    });
}

struct Function {
    std::string_view name;
    std::string_view rule;
    Json (*run)(const Json &in);
};

Json numa_imbalance_73(const Json &in) { return numa_imbalance(in, false); }

constexpr std::array functions = {
    Function{"adjust_numa_imbalance", "LB-64", numa_imbalance_73},
    Function{"get_sd_balance_interval", "LB-9", interval},
    Function{"adjust_numa_imbalance (topology.c)", "TOPO-48", imb_numa_nr},
    Function{"sibling_imbalance", "LB-58", sibling},
    Function{"update_idle_cpu_scan", "LB-45", idle_scan},
    Function{"can_migrate_llc", "LB-99", migrate_llc},
    Function{"nohz_balancer_kick", "LB-25", kick},
    Function{"sched_balance_domains", "LB-10", domains},
    Function{"sched_balance_newidle", "LB-20", newidle},
};

void check(const Json &json, Report &report) {
    const auto name = json.at("function").get<std::string>();
    const std::string where = "case " + json.at("id").dump() + " " + name;
    for (const Function &function : functions) {
        if (function.name != name)
            continue;
        const auto rule = [&function](std::string_view) { return function.rule; };
        bool equal = same_json(where, function.run(json.at("in")), json.at("out"), report, rule);
        if (equal && name == "adjust_numa_imbalance") {
            Json v3 = json.at("out");
            if (json.contains("variants") && json.at("variants").contains("V3"))
                v3.merge_patch(json.at("variants").at("V3"));
            equal = same_json(where + " V3", numa_imbalance(json.at("in"), true), v3, report,
                              [](std::string_view) { return "NUMAPAIR-11"; });
        }
        if (equal)
            report.equal();
        return;
    }
    report.waiting();
}

// Other families have functions too; these are ours.
bool recognises(const Json &first) {
    if (!first.contains("function"))
        return false;
    const auto name = first.at("function").get<std::string>();
    return std::ranges::any_of(functions, [&](const Function &function) { return function.name == name; });
}

void run(const Json &first, LineReader &rest, Report &report) {
    check(first, report);
    for (std::string line; rest.next(line);)
        check(Json::parse(line), report);
}

} // namespace

const Family balance_unit_family = {"balance_unit", recognises, run};

} // namespace fairground::vectors
