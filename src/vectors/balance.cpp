// SPDX-License-Identifier: GPL-2.0-only
//
// One balance pass with all its rounds, the fork/exec group search on the same state, and the push, for v7.3 and the
// variants of spec/numa-pair-variant.md. The model's answer is written in the shape of the case's `result` and the
// two are compared as a whole.
#include "vectors/balance_case.h"
#include "vectors/comparison.h"

#include "fair/wake_placement.h"

#include <array>
#include <initializer_list>
#include <span>
#include <utility>

namespace fairground::vectors {

namespace {

using namespace fair;

// A column per number of the groups, left out where it is 0 for all.
void add_column(Json &round, const char *name, std::span<const GroupStats> groups, auto number) {
    Json column = Json::array();
    bool any = false;
    for (const GroupStats &stats : groups) {
        const u64 value = number(stats);
        any = any || value != 0;
        column.push_back(value);
    }
    if (any)
        round[name] = std::move(column);
}

Json events_json(const std::vector<BalanceTrace::Event> &events, const BalanceCase &c) {
    Json array = Json::array();
    for (const BalanceTrace::Event &event : events)
        array.push_back({c.position[static_cast<std::size_t>(event.task.value)], detach_outcome_name(event.outcome)});
    return array;
}

Json round_json(const BalanceTrace::Round &round, bool first, const BalanceCase &c) {
    Json json = {{"dst_cpu", round.dst_cpu.value},
                 {"local", round.local},
                 {"busiest", round.busiest},
                 {"total_load", round.total_load},
                 {"total_capacity", round.total_capacity},
                 {"prefer_sibling", round.prefer_sibling ? 1 : 0},
                 {"fbq", fbq_type_name(round.fbq)},
                 {"calculated", round.calculated},
                 {"imbalance", round.imbalance},
                 {"group", round.group},
                 {"migration_type", migration_type_name(round.type)}};
    if (!first) {
        u64 bits = 0;
        for (CpuId cpu : round.cpus)
            bits |= u64{1} << cpu.value;
        json["cpus"] = bits;
    }
    Json types = Json::array();
    for (const GroupStats &stats : round.groups)
        types.push_back(group_type_name(stats.group_type));
    json["group_type"] = types;
    const auto column = [&](const char *name, auto number) { add_column(json, name, round.groups, number); };
    column("group_load", [](const GroupStats &g) { return g.group_load; });
    column("group_util", [](const GroupStats &g) { return g.group_util; });
    column("group_runnable", [](const GroupStats &g) { return g.group_runnable; });
    column("group_capacity", [](const GroupStats &g) { return g.group_capacity; });
    column("sum_nr_running", [](const GroupStats &g) { return u64{g.sum_nr_running}; });
    column("sum_h_nr_running", [](const GroupStats &g) { return u64{g.sum_h_nr_running}; });
    column("idle_cpus", [](const GroupStats &g) { return u64{g.idle_cpus}; });
    column("avg_load", [](const GroupStats &g) { return g.avg_load; });
    column("group_misfit_task_load", [](const GroupStats &g) { return g.misfit_task_load; });
    column("group_asym_packing", [](const GroupStats &g) { return u64{g.asym_packing}; });
    column("group_smt_balance", [](const GroupStats &g) { return u64{g.smt_balance}; });
    column("group_llc_balance", [](const GroupStats &g) { return u64{g.llc_balance}; });
    column("nr_numa_running", [](const GroupStats &g) { return u64{g.nr_numa_running}; });
    column("nr_preferred_running", [](const GroupStats &g) { return u64{g.nr_preferred_running}; });
    column("nr_pref_dst_llc", [](const GroupStats &g) { return u64{g.nr_pref_dst_llc}; });
    if (round.group >= 0)
        json["src_cpu"] = round.src_cpu.value;
    for (const BalanceTrace::Detach &call : round.detach)
        json["detach"].push_back({{"dst_cpu", call.dst_cpu.value},
                                  {"imbalance_before", call.imbalance_before},
                                  {"events", events_json(call.events, c)},
                                  {"detached", call.detached},
                                  {"imbalance_after", call.imbalance_after},
                                  {"lbf", call.flags}});
    return json;
}

// The stopper has preempted whatever ran on the source and counts as a task while it pushes.
Json push_json(BalanceCase &c, CpuId src_cpu, BalanceTrace &trace) {
    Scheduler &s = *c.s;
    Rq &src = s.rq(src_cpu);
    const bool llc = src.push_llc;
    src.curr->on_cpu = false;
    src.curr = nullptr;
    src.current_class = SchedClass::higher;
    src.nr_running++;
    active_push(s, src_cpu, counting_mover);
    src.nr_running--;
    return {{"src_cpu", src_cpu.value},
            {"llc", llc},
            {"events", trace.pushes.empty() ? Json::array() : events_json(trace.pushes.back().events, c)},
            {"nr_balance_failed", c.domain->nr_balance_failed}};
}

int find_dst_group(BalanceCase &c) {
    Rule rule;
    const SchedGroup *group = sched_balance_find_dst_group(*c.s, *c.domain, *c.fork_task, c.this_cpu, &rule);
    for (std::size_t i = 0; i < c.domain->groups.size(); i++)
        if (c.domain->groups[i] == group)
            return static_cast<int>(i);
    return -1;
}

Json answer(const Json &json, std::initializer_list<Feature> variant) {
    BalanceCase c = build_balance_case(json);
    Scheduler &s = *c.s;
    for (Feature feature : variant)
        s.features.set(feature, true);

    Json result;
    if (c.fork_task != nullptr)
        result["find_dst_group"] = find_dst_group(c);

    BalanceTrace trace;
    s.balance_trace = &trace;
    bool continue_balancing = true;
    result["ld_moved"] = balance_pass(s, c.this_cpu, *c.domain, c.idle, &continue_balancing, counting_mover);
    result["continue_balancing"] = continue_balancing;
    const BalanceTrace::Pass &pass = trace.passes.front();
    result["should_we_balance"] = pass.turn;
    result["rounds"] = Json::array();
    for (const BalanceTrace::Round &round : pass.rounds)
        result["rounds"].push_back(round_json(round, &round == pass.rounds.data(), c));
    result["nr_balance_failed"] = c.domain->nr_balance_failed;
    result["balance_interval"] = c.domain->balance_interval;
    result["dst_cpu_capacity"] = s.rq(c.this_cpu).cpu_capacity;
    if (c.parent != nullptr)
        result["parent_imbalance"] = c.parent->groups.front()->sgc->imbalance ? 1 : 0;
    else
        result["rd_overloaded"] = s.root.overloaded ? 1 : 0;
    if (c.domain->shared != nullptr)
        result["nr_idle_scan"] = c.domain->shared->nr_idle_scan;
    if (!c.llc_shared.empty()) {
        for (const DomainShared *shared : c.llc_shared)
            result["llc_stats"].push_back({shared->util_avg, shared->capacity});
        for (const SchedCacheGroup &group : c.cache_groups)
            result["cache_group_cpu"].push_back(group.cpu.value);
    }
    if (pass.asked_active)
        result["need_active_balance"] = pass.need_active;
    if (pass.push_queued)
        result["active_push"] = push_json(c, pass.push_src, trace);
    return result;
}

struct FieldRule {
    std::string_view field; // part of the JSON path
    std::string_view rule;
};

// The innermost matching field wins, so later rows are deeper.
constexpr std::array field_rules = {
    FieldRule{"rounds", "LB-40"},
    FieldRule{"should_we_balance", "LB-38"},
    FieldRule{"find_dst_group", "WAKE-160"},
    FieldRule{"nr_balance_failed", "LB-42"},
    FieldRule{"balance_interval", "LB-43"},
    FieldRule{"need_active_balance", "LB-80"},
    FieldRule{"active_push", "LB-82"},
    FieldRule{"parent_imbalance", "LB-41"},
    FieldRule{"rd_overloaded", "LB-44"},
    FieldRule{"nr_idle_scan", "LB-45"},
    FieldRule{"llc_stats", "LB-97"},
    FieldRule{"cache_group_cpu", "LB-100"},
    FieldRule{"dst_cpu_capacity", "TOPO-45"},
    FieldRule{"group_", "LB-46"},
    FieldRule{"group_type", "LB-50"},
    FieldRule{"group_capacity", "TOPO-44"},
    FieldRule{"misfit", "LB-47"},
    FieldRule{"busiest", "LB-53"},
    FieldRule{"calculated", "LB-57"},
    FieldRule{"imbalance", "LB-61"},
    FieldRule{"fbq", "LB-65"},
    FieldRule{"src_cpu", "LB-67"},
    FieldRule{"detach", "LB-69"},
    FieldRule{"events", "LB-71"},
};

std::string_view rule_of(std::string_view path) {
    std::string_view rule = "LB-37";
    for (const FieldRule &row : field_rules)
        if (path.find(row.field) != std::string_view::npos)
            rule = row.rule;
    return rule;
}

struct Variant {
    const char *key;
    std::initializer_list<Feature> features;
};

bool check(const Json &json, Report &report) {
    const std::string where = "case " + json.at("id").dump();
    const Json &result = json.at("result");
    if (!same_json(where, answer(json, {}), result, report, rule_of))
        return false;
    const Variant variants[] = {
        {"V1", {Feature::NUMA_PAIR_P1_LITERAL}},
        {"V1_clamped", {Feature::NUMA_PAIR_P1}},
        {"V2", {Feature::NUMA_PAIR_P2}},
        {"V3", {Feature::NUMA_PAIR_P3}},
        {"V1_V2_V3", {Feature::NUMA_PAIR_P1_LITERAL, Feature::NUMA_PAIR_P2, Feature::NUMA_PAIR_P3}},
    };
    for (const Variant &variant : variants) {
        Json expected = result;
        if (json.contains("variants") && json.at("variants").contains(variant.key))
            expected.merge_patch(json.at("variants").at(variant.key));
        if (!same_json(where + " " + variant.key, answer(json, variant.features), expected, report, rule_of))
            return false;
    }
    return true;
}

bool recognises(const Json &first) { return first.contains("topology") && first.contains("call"); }

void run(const Json &first, LineReader &rest, Report &report) {
    if (check(first, report))
        report.equal();
    for (std::string line; rest.next(line);)
        if (check(Json::parse(line), report))
            report.equal();
}

} // namespace

const Family balance_family = {"balance", recognises, run};

} // namespace fairground::vectors
