// SPDX-License-Identifier: GPL-2.0-only
#include "base/error.h"
#include "fair/numa_balance.h"
#include "vectors/comparison.h"

namespace fairground::vectors {

using namespace fair;

namespace {

bool recognises(const Json &first) { return first.contains("sd_numa"); }

bool flag(const Json &object, const char *key) { return object.at(key).get<int>() != 0; }

CpuMask mask_of(const Json &text) {
    const auto mask = parse_list(text.get_ref<const std::string &>());
    if (!mask)
        throw InputError(text.dump() + " is not a CPU list");
    return *mask;
}

DomainTree read_tree(const Json &json) {
    DomainTree tree;
    tree.smt_active = flag(json, "sched_smt_active");
    Domain &sd = tree.domains.emplace_back();
    sd.flags = SD_NUMA;
    sd.imbalance_pct = json.at("sd_numa").at("imbalance_pct");
    sd.imb_numa_nr = json.at("sd_numa").at("imb_numa_nr");
    const auto nodes = json.at("nr_nodes").get<std::size_t>();
    if (nodes < 1 || nodes > static_cast<std::size_t>(max_cpus))
        throw InputError("nr_nodes is " + std::to_string(nodes) + ", expected 1 to " + std::to_string(max_cpus));
    for (const Json &entry : json.at("cpu")) {
        CpuDomains &cpu = tree.cpus.emplace_back();
        cpu.base = cpu.numa = &sd;
        cpu.node = NodeId{entry.at("node").get<s64>()};
        if (cpu.node < 0 || static_cast<std::size_t>(cpu.node) >= nodes)
            throw InputError("a CPU is on node " + std::to_string(cpu.node) + ", expected 0 to " +
                             std::to_string(nodes - 1));
        cpu.smt = mask_of(entry.at("smt_mask"));
        DomainShared &shared = tree.shared.emplace_back();
        shared.has_idle_cores = flag(entry, "has_idle_cores");
        cpu.balance_shared = &shared;
    }
    tree.node_distance.assign(nodes, std::vector<int>(nodes, 20));
    for (std::size_t node = 0; node < nodes; node++)
        tree.node_distance[node][node] = 10;
    tree.max_numa_distance = 20;
    return tree;
}

void read_rq(Rq &rq, const Json &json, std::deque<Task> &tasks) {
    rq.nr_running = json.at("nr_running");
    rq.cfs.h_nr_runnable = json.at("h_nr_runnable");
    rq.current_class = flag(json, "idle") ? SchedClass::idle : SchedClass::fair;
    rq.numa_migrate_on = flag(json, "numa_migrate_on");
    rq.cfs.avg.load_avg = json.at("load_avg");
    rq.cfs.avg.runnable_avg = json.at("runnable_avg");
    rq.cfs.avg.util_avg = json.at("util_avg");
    rq.cpu_capacity = json.at("cpu_capacity");
    if (const int curr = json.at("curr"); curr >= 0)
        rq.curr = &tasks.at(static_cast<std::size_t>(curr));
}

void read_task(Scheduler &s, Task &task, const Json &json, std::vector<NumaGroup> &groups) {
    task.id = TaskId{json.at("id").get<s64>()};
    task.kthread = flag(json, "kthread");
    task.exiting = flag(json, "exiting") || !flag(json, "has_mm"); // who is exiting has given its memory back
    task.cpus_allowed = mask_of(json.at("cpus_allowed"));
    task.numa_preferred_nid = NodeId{json.at("numa_preferred_nid").get<s64>()};
    if (const int group = json.at("numa_group"); group >= 0)
        task.numa_group = &groups.at(static_cast<std::size_t>(group));
    if (flag(json, "has_faults"))
        task.numa_faults = json.at("faults").get<std::vector<u64>>();
    task.total_numa_faults = json.at("total_numa_faults");
    task.se.avg.load_avg = json.at("task_h_load");
    task.se.cfs_rq = &s.rqs.front().cfs;
}

void check_case(const Json &json, Report &report) {
    const Json &cpus = json.at("cpu");
    Tunables tunables;
    tunables.group_scheduling = false; // load_avg of a task is its task_h_load
    Scheduler s(read_tree(json), CpuMask::range(0, static_cast<int>(cpus.size()) - 1), Features(), tunables);

    std::vector<NumaGroup> groups;
    for (const Json &entry : json.at("numa_groups")) {
        NumaGroup &group = groups.emplace_back();
        group.faults = entry.at("faults").get<std::vector<u64>>();
        group.total_faults = entry.at("total_faults");
        group.active_nodes = entry.at("active_nodes");
    }
    const Json &tasks = json.at("task");
    s.tasks.resize(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); i++)
        read_task(s, s.tasks[i], tasks[i], groups);
    for (std::size_t cpu = 0; cpu < cpus.size(); cpu++)
        read_rq(s.rqs[cpu], cpus[cpu], s.tasks);

    const auto number = json.at("migrate_task").get<std::size_t>();
    Task &task = s.tasks.at(number);
    task.cpu = CpuId{static_cast<s64>(number)};
    const NumaMove move = task_numa_migrate(s, task);

    const Json &result = json.at("result");
    Comparison compare;
    const s64 swap = move.swap != nullptr ? move.swap->id.value : -1;
    const s64 preferred = move.set_preferred ? move.preferred.value : -2;
    compare.field("moved_to_cpu", move.cpu.value, result.at("moved_to_cpu"), move.rule.name());
    compare.field("swapped_with_task", swap, result.at("swapped_with_task"), move.rule.name());
    compare.field("new_preferred_nid", preferred, result.at("new_preferred_nid"), "NUMA-50");
    for (std::size_t cpu = 0; cpu < cpus.size(); cpu++)
        compare.field("numa_migrate_on of CPU " + std::to_string(cpu), s.rqs[cpu].numa_migrate_on ? 1 : 0,
                      result.at("numa_migrate_on").at(cpu), "NUMA-48");
    compare.report(report, std::string("case ").append(json.at("case").dump()));
}

void run(const Json &first, LineReader &rest, Report &report) {
    check_case(first, report);
    for (std::string line; rest.next(line);)
        check_case(Json::parse(line), report);
}

} // namespace

const Family numa_move_family = {"numa_move", recognises, run};

} // namespace fairground::vectors
