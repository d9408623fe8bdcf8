// SPDX-License-Identifier: GPL-2.0-only
#include "base/error.h"
#include "fair/wake_placement.h"
#include "vectors/comparison.h"

#include <algorithm>
#include <array>

namespace fairground::vectors {

using namespace fair;

namespace {

bool recognises(const Json &first) { return first.contains("call") && first.contains("sd_shared"); }

bool flag(const Json &object, const char *key) { return object.at(key).get<int>() != 0; }

CpuMask mask_of(const Json &text) {
    const auto mask = parse_list(text.get_ref<const std::string &>());
    if (!mask)
        throw InputError(text.dump() + " is not a CPU list");
    return *mask;
}

struct FlagName {
    std::string_view name;
    u32 bit;
};
constexpr std::array flag_table = {
    FlagName{"BALANCE_NEWIDLE", SD_BALANCE_NEWIDLE},
    FlagName{"BALANCE_EXEC", SD_BALANCE_EXEC},
    FlagName{"BALANCE_FORK", SD_BALANCE_FORK},
    FlagName{"BALANCE_WAKE", SD_BALANCE_WAKE},
    FlagName{"WAKE_AFFINE", SD_WAKE_AFFINE},
    FlagName{"SHARE_CPUCAPACITY", SD_SHARE_CPUCAPACITY},
    FlagName{"CLUSTER", SD_CLUSTER},
    FlagName{"SHARE_LLC", SD_SHARE_LLC},
    FlagName{"SERIALIZE", SD_SERIALIZE},
    FlagName{"PREFER_SIBLING", SD_PREFER_SIBLING},
    FlagName{"NUMA", SD_NUMA},
};

u32 flags_of(const Json &names) {
    u32 flags = 0;
    for (const Json &name : names) {
        const auto &text = name.get_ref<const std::string &>();
        const auto *row = std::ranges::find(flag_table, text, &FlagName::name);
        if (row == flag_table.end())
            throw InputError("unknown domain flag " + name.dump());
        flags |= row->bit;
    }
    return flags;
}

SchedGroup *add_group(DomainTree &tree, const Json &json) {
    GroupCapacity &sgc = tree.capacities.emplace_back();
    sgc.capacity = json.at("capacity");
    sgc.imbalance = flag(json, "imbalance");
    SchedGroup &group = tree.groups.emplace_back();
    group.span = mask_of(json.at("span"));
    group.weight = group.span.weight();
    group.flags = flags_of(json.at("flags"));
    group.sgc = &sgc;
    return &group;
}

void add_chain(DomainTree &tree, CpuDomains &cpu, const Json &chain) {
    Domain *below = nullptr;
    for (const Json &json : chain) {
        Domain &sd = tree.domains.emplace_back();
        sd.flags = flags_of(json.at("flags"));
        sd.imbalance_pct = json.at("imbalance_pct");
        sd.imb_numa_nr = json.at("imb_numa_nr");
        sd.span = mask_of(json.at("span"));
        sd.span_weight = sd.span.weight();
        if (const int shared = json.at("shared"); shared >= 0)
            sd.shared = &tree.shared.at(static_cast<std::size_t>(shared));
        std::vector<SchedGroup *> &list = tree.group_lists.emplace_back();
        for (const Json &group : json.at("groups"))
            list.push_back(add_group(tree, group));
        sd.groups = list;
        sd.child = below;
        if (below != nullptr)
            below->parent = &sd;
        else
            cpu.base = &sd;
        below = &sd;
        if ((sd.flags & SD_SHARE_LLC) != 0)
            cpu.llc = &sd;
        if ((sd.flags & SD_NUMA) != 0 && cpu.numa == nullptr)
            cpu.numa = &sd;
    }
    if (cpu.llc != nullptr)
        cpu.llc_shared = cpu.balance_shared = cpu.llc->shared;
}

DomainTree read_tree(const Json &json) {
    DomainTree tree;
    tree.smt_active = flag(json, "sched_smt_active");
    tree.cluster_active = flag(json, "sched_cluster_active");
    for (const Json &entry : json.at("sd_shared")) {
        DomainShared &shared = tree.shared.emplace_back();
        shared.nr_idle_scan = entry.at("nr_idle_scan");
        shared.has_idle_cores = flag(entry, "has_idle_cores");
        shared.nr_busy_cpus = entry.at("nr_busy_cpus");
    }
    for (const Json &entry : json.at("cpu")) {
        CpuDomains &cpu = tree.cpus.emplace_back();
        cpu.llc_size = entry.at("sd_llc_size");
        cpu.llc_id = entry.at("llc_id");
        cpu.share_id = CpuId{entry.at("sd_share_id").get<s64>()};
        cpu.smt = mask_of(entry.at("smt_mask"));
        cpu.node = NodeId{entry.at("node").get<s64>()};
    }
    for (std::size_t cpu = 0; cpu < tree.cpus.size(); cpu++)
        add_chain(tree, tree.cpus[cpu], json.at("domains").at(cpu));
    return tree;
}

Features read_features(const Json &json) {
    Features features;
    for (const auto &[name, value] : json.items())
        features.apply(value.get<int>() != 0 ? name : std::string("NO_").append(name));
    return features;
}

void read_rq(Rq &rq, const Json &json) {
    rq.nr_running = json.at("nr_running");
    rq.cfs.h_nr_queued = json.at("h_nr_queued");
    rq.cfs.h_nr_runnable = json.at("h_nr_runnable");
    rq.cfs.h_nr_idle = json.at("h_nr_idle");
    rq.current_class = flag(json, "curr_is_idle") ? SchedClass::idle : SchedClass::fair;
    rq.ttwu_pending = flag(json, "ttwu_pending");
    rq.idle_stamp = json.at("idle_stamp");
    rq.exit_latency = json.at("exit_latency");
    rq.cfs.avg.load_avg = json.at("load_avg");
    rq.cfs.avg.util_avg = json.at("util_avg");
    rq.cfs.avg.runnable_avg = json.at("runnable_avg");
    rq.cfs.avg.util_est = json.at("util_est");
    rq.cpu_capacity = json.at("cpu_capacity");
}

void read_task(Scheduler &s, Task &task, const Json &json) {
    task.cpus_allowed = mask_of(json.at("cpus_allowed"));
    task.nr_cpus_allowed = task.cpus_allowed.weight();
    task.cpu = CpuId{json.at("cpu").get<s64>()};
    task.recent_used_cpu = CpuId{json.at("recent_used_cpu").get<s64>()};
    task.wakee_flips = json.at("wakee_flips");
    task.policy = flag(json, "sched_idle_policy") ? Policy::idle : Policy::normal;
    task.numa_preferred_nid = NodeId{json.at("numa_preferred_nid").get<s64>()};
    task.on_rq = flag(json, "on_rq") ? OnRq::queued : OnRq::no;
    SchedAvg &avg = task.se.avg;
    avg.load_avg = json.at("load_avg");
    avg.util_avg = json.at("util_avg");
    avg.runnable_avg = json.at("runnable_avg");
    avg.util_est = json.at("util_est");
    avg.last_update_time = json.at("last_update_time");
    task.se.cfs_rq = &s.rq(task.cpu).cfs;
    // The cases hold the task up to date with its queue.
    task.se.cfs_rq->avg.last_update_time = avg.last_update_time;
}

void read_current(Scheduler &s, Task &current, const Json &json, const Task &wakee, CpuId cpu) {
    current.cpu = cpu;
    current.exiting = flag(json, "exiting");
    current.kthread = flag(json, "kthread");
    current.nr_cpus_allowed = json.at("nr_cpus_allowed");
    current.wakee_flips = json.at("wakee_flips");
    current.wakee_flip_decay_ts = json.at("wakee_flip_decay_ts");
    current.se.avg.load_avg = json.at("load_avg");
    current.se.cfs_rq = &s.rq(cpu).cfs;
    if (flag(json, "last_wakee_is_task"))
        current.last_wakee = wakee.id;
}

u32 wake_flags(const Json &call) {
    const auto &kind = call.at("kind").get_ref<const std::string &>();
    u32 flags = kind == "wake" ? WF_TTWU : kind == "fork" ? WF_FORK : kind == "exec" ? WF_EXEC : WakeFlag{};
    if (flags == 0)
        throw InputError("unknown kind of call " + call.at("kind").dump());
    if (flag(call, "sync"))
        flags |= WF_SYNC;
    if (flag(call, "current_cpu_hint"))
        flags |= WF_CURRENT_CPU;
    return flags;
}

void check_case(const Json &json, Report &report) {
    const Json &cpus = json.at("cpu");
    Tunables tunables;
    tunables.group_scheduling = false; // load_avg of a task is its task_h_load
    Scheduler s(read_tree(json), CpuMask::range(0, static_cast<int>(cpus.size()) - 1),
                read_features(json.at("features")), tunables);
    for (std::size_t cpu = 0; cpu < cpus.size(); cpu++)
        read_rq(s.rqs[cpu], cpus[cpu]);

    const Json &call = json.at("call");
    const CpuId this_cpu{call.at("this_cpu").get<s64>()};
    s.jiffies = call.at("jiffies");
    s.tasks.resize(2);
    Task &task = s.tasks[0];
    task.id = TaskId{0};
    read_task(s, task, json.at("task"));
    Task *current = &task;
    if (!flag(json.at("current"), "is_the_task")) {
        current = &s.tasks[1];
        current->id = TaskId{1};
        read_current(s, *current, json.at("current"), task, this_cpu);
    }
    if (s.rq(this_cpu).current_class != SchedClass::idle)
        s.rq(this_cpu).curr = current;
    current->on_cpu = true;

    const Waker waker{this_cpu, current, flag(call, "in_task"), false};
    const CpuId prev{call.at("prev_cpu").get<s64>()};
    const Placement placement = select_task_rq_fair(s, task, prev, wake_flags(call), waker);
    commit_placement(s, task, current, placement);

    const Json &result = json.at("result");
    Comparison compare;
    compare.field("cpu", placement.cpu.value, result.at("cpu"), placement.rule.name());
    compare.field("recent_used_cpu", task.recent_used_cpu.value, result.at("recent_used_cpu"), "WAKE-85");
    compare.field("wakee_flips", current->wakee_flips, result.at("current_wakee_flips"), "WAKE-43");
    compare.field("wakee_flip_decay_ts", current->wakee_flip_decay_ts, result.at("current_wakee_flip_decay_ts"),
                  "WAKE-43");
    for (std::size_t i = 0; i < s.domains.shared.size(); i++)
        compare.field("has_idle_cores of object " + std::to_string(i), s.domains.shared[i].has_idle_cores ? 1 : 0,
                      result.at("has_idle_cores").at(i), "WAKE-109");
    compare.report(report, std::string("case ").append(json.at("case").dump()));
}

void run(const Json &first, LineReader &rest, Report &report) {
    check_case(first, report);
    for (std::string line; rest.next(line);)
        check_case(Json::parse(line), report);
}

} // namespace

const Family wake_family = {"wake", recognises, run};

} // namespace fairground::vectors
