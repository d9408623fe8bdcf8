// SPDX-License-Identifier: GPL-2.0-only
#include "vectors/balance_case.h"

#include "fair/task_list.h"

#include <utility>

namespace fairground::vectors {

using namespace fair;

DomainTree empty_tree(std::size_t cpus, const Column &core) {
    DomainTree tree;
    tree.cpus.resize(cpus);
    for (std::size_t a = 0; a < cpus; a++)
        for (std::size_t b = 0; b < cpus; b++)
            if (core.at<int>(a) == core.at<int>(b))
                tree.cpus[a].smt.set(CpuId{static_cast<s64>(b)});
    return tree;
}

namespace {

CpuId cpu_id(std::size_t i) { return CpuId{static_cast<s64>(i)}; }

// `count` groups with a capacity object each, all other fields as default.
void add_groups(DomainTree &tree, BalanceCase &result, Domain &sd, std::size_t count) {
    std::vector<SchedGroup *> &list = result.lists.emplace_back();
    for (std::size_t i = 0; i < count; i++) {
        list.push_back(&tree.groups.emplace_back());
        list.back()->sgc = &tree.capacities.emplace_back();
    }
    sd.groups = list;
}

void read_capacity(const Json &groups, std::size_t i, GroupCapacity &capacity) {
    capacity.capacity = Column(groups, "capacity").at<u64>(i);
    capacity.min_capacity = Column(groups, "min_capacity").at<u64>(i);
    capacity.max_capacity = Column(groups, "max_capacity").at<u64>(i);
}

void read_domain(const Json &json, DomainTree &tree, BalanceCase &result) {
    Domain &sd = *result.domain;
    sd.name = json.at("name");
    sd.flags = flags_of(json.at("flags"));
    sd.span = mask_of(json.at("span"));
    sd.span_weight = sd.span.weight();
    sd.imbalance_pct = json.at("imbalance_pct");
    sd.cache_nice_tries = json.at("cache_nice_tries");
    sd.imb_numa_nr = json.at("imb_numa_nr");
    sd.min_interval = json.at("min_interval");
    sd.max_interval = json.at("max_interval");
    sd.busy_factor = json.at("busy_factor");
    sd.balance_interval = json.at("balance_interval");
    sd.nr_balance_failed = json.at("nr_balance_failed");
    if (json.at("shared").get<int>() != 0) {
        sd.shared = &tree.shared.emplace_back();
        sd.shared->nr_idle_scan = json.at("nr_idle_scan");
    }
    const Json &groups = json.at("groups");
    add_groups(tree, result, sd, groups.at("span").size());
    for (std::size_t i = 0; i < sd.groups.size(); i++) {
        SchedGroup &group = *sd.groups[i];
        group.span = mask_of(groups.at("span").at(i));
        group.weight = Column(groups, "weight").at<int>(i);
        group.cores = Column(groups, "cores").at<int>(i);
        group.flags = flags_of(groups.at("flags").at(i));
        group.asym_prefer_cpu = CpuId{Column(groups, "asym_prefer_cpu").at<int>(i, -1)};
        group.sgc->balance_mask = mask_of(groups.at("balance_mask").at(i));
        group.sgc->imbalance = Column(groups, "imbalance").at<int>(i) != 0;
        group.sgc->next_update = Column(groups, "next_update").at<u64>(i);
        read_capacity(groups, i, *group.sgc);
    }
}

// The chain of the balancing CPU and a base domain for every other one, since that is where LLC preferences are
// counted.
void read_chain(const Json &json, DomainTree &tree, BalanceCase &result) {
    const auto this_cpu = static_cast<std::size_t>(result.this_cpu.value);
    Domain *below = nullptr;
    const auto append = [&]() -> Domain & {
        Domain &sd = tree.domains.emplace_back();
        sd.child = below;
        if (below != nullptr)
            below->parent = &sd;
        else
            tree.cpus[this_cpu].base = &sd;
        below = &sd;
        return sd;
    };
    for (const Json &lower : json.at("lower_domains")) {
        Domain &sd = append();
        sd.span = mask_of(lower.at("span"));
        sd.nr_balance_failed = lower.at("nr_balance_failed");
    }
    Domain *child = below;
    if (const Json &given = json.at("child"); child != nullptr && !given.is_null()) {
        child->flags = flags_of(given.at("flags"));
        const std::size_t groups = given.contains("capacity") ? given.at("capacity").size() : 0;
        add_groups(tree, result, *child, groups);
        for (std::size_t i = 0; i < groups; i++)
            read_capacity(given, i, *child->groups[i]->sgc);
    }
    result.domain = &append();
    read_domain(json.at("domain"), tree, result);
    if (const Json &given = json.at("parent"); !given.is_null()) {
        result.parent = &append();
        result.parent->span = result.domain->span;
        add_groups(tree, result, *result.parent, 1);
        result.parent->groups.front()->sgc->imbalance = given.at("imbalance").get<int>() != 0;
    }

    // sd_llc is the highest domain with SHARE_LLC; below the child flags are not given, and any of them is not the
    // child.
    Domain *&llc = tree.cpus[this_cpu].llc;
    if ((result.domain->flags & SD_SHARE_LLC) != 0)
        llc = result.domain;
    else if (child != nullptr && (child->flags & SD_SHARE_LLC) != 0)
        llc = child;
    else if (child != nullptr && child->child != nullptr)
        llc = tree.cpus[this_cpu].base;
    for (std::size_t cpu = 0; cpu < tree.cpus.size(); cpu++) {
        if (cpu == this_cpu)
            continue;
        Domain &base = tree.domains.emplace_back();
        base.span = CpuMask::of(cpu_id(cpu));
        tree.cpus[cpu].base = &base;
        tree.cpus[cpu].llc = llc != nullptr ? &base : nullptr;
    }
}

DomainTree read_tree(const Json &json, BalanceCase &result) {
    const Json &cpu = json.at("cpu");
    const std::size_t cpus = cpu.at("node").size();
    DomainTree tree = empty_tree(cpus, Column(cpu, "core"));
    const Json &switches = json.at("switches");
    tree.smt_active = switches.at("sched_smt_active").get<int>() != 0;
    tree.cluster_active = switches.at("sched_cluster_active").get<int>() != 0;
    tree.multi_llc = switches.at("sched_cache_active").get<int>() != 0;
    read_chain(json, tree, result);

    if (json.contains("numa")) {
        const Json &numa = json.at("numa");
        tree.node_distance = numa.at("distance").get<std::vector<std::vector<int>>>();
        tree.numa_topology = static_cast<NumaTopology>(numa.at("topology_type").get<int>());
        tree.max_numa_distance = numa.at("max_distance");
    }
    if (json.contains("llc_shared")) {
        for (const Json &llc : json.at("llc_shared")) {
            DomainShared &shared = tree.shared.emplace_back();
            shared.util_avg = llc.at("util_avg");
            shared.capacity = llc.at("capacity");
            result.llc_shared.push_back(&shared);
        }
    }
    for (std::size_t i = 0; i < cpus; i++) {
        CpuDomains &sd = tree.cpus[i];
        sd.node = NodeId{Column(cpu, "node").at<int>(i)};
        sd.llc_id = Column(cpu, "llc").at<int>(i);
        sd.llc_size = Column(cpu, "sd_llc_size").at<int>(i);
        const auto llc = static_cast<std::size_t>(sd.llc_id);
        if (llc < result.llc_shared.size() && json.at("llc_shared").at(llc).at("valid").get<int>() != 0)
            sd.llc_shared = result.llc_shared[llc];
    }
    const auto dst_llc = static_cast<std::size_t>(tree.cpus[static_cast<std::size_t>(result.this_cpu.value)].llc_id);
    for (std::size_t i = 0; i < cpus; i++) {
        Domain &base = *tree.cpus[i].base;
        base.llc_bytes = json.value("llc_bytes", u64{0});
        base.llc_counts.assign(cpus, 0);
        base.llc_counts[dst_llc] = Column(cpu, "llc_count_dst").at<u32>(i);
    }
    return tree;
}

void read_queues(const Json &cpu, Scheduler &s) {
    for (std::size_t i = 0; i < s.rqs.size(); i++) {
        Rq &rq = s.rqs[i];
        const auto value = [&](const char *name) { return Column(cpu, name).at<u64>(i); };
        const auto count = [&](const char *name) { return static_cast<u32>(value(name)); };
        rq.nr_running = count("nr_running");
        rq.cfs.h_nr_queued = count("h_nr_queued");
        rq.cfs.h_nr_runnable = count("h_nr_runnable");
        rq.cfs.h_nr_idle = count("h_nr_idle");
        rq.current_class = value("curr_is_idle") != 0 ? SchedClass::idle : SchedClass::fair;
        rq.ttwu_pending = value("ttwu_pending") != 0;
        rq.cfs.avg.load_avg = value("load_avg");
        rq.cfs.avg.runnable_avg = value("runnable_avg");
        rq.cfs.avg.util_avg = value("util_avg");
        rq.cfs.avg.util_est = count("util_est");
        rq.cpu_capacity = value("cpu_capacity");
        rq.arch_capacity = value("arch_capacity");
        rq.avg_rt.util_avg = value("rt_util");
        rq.avg_dl.util_avg = value("dl_util");
        rq.avg_irq.util_avg = value("irq_util");
        rq.avg_hw.load_avg = value("hw_pressure");
        rq.misfit_task_load = value("misfit_task_load");
        rq.nr_numa_running = count("nr_numa_running");
        rq.nr_preferred_running = count("nr_preferred_running");
        rq.nr_pref_llc_running = count("nr_pref_llc_running");
        rq.active_balance = value("active_balance") != 0;
        rq.asym_priority = Column(cpu, "asym_priority").at<s32>(i);
        rq.clock = rq.clock_task = s.now;
        // A queue on which virtual time stands at 0: a task is eligible iff its vruntime is not above it.
        rq.cfs.zero_vruntime = 0;
        rq.cfs.sum_weight = 1;
    }
}

Task &new_task(BalanceCase &result, int position) {
    Scheduler &s = *result.s;
    Task &p = s.tasks.emplace_back();
    p.id = TaskId{static_cast<s64>(s.tasks.size()) - 1};
    p.se.task = &p;
    result.position.push_back(position);
    return p;
}

void set_allowed(Task &p, const Json &list) {
    p.cpus_allowed = mask_of(list);
    p.nr_cpus_allowed = p.cpus_allowed.weight();
}

void read_task(const Json &queue, std::size_t i, Task &p, BalanceCase &result) {
    const auto value = [&](const char *name) { return Column(queue, name).at<u64>(i); };
    const auto number = [&](const char *name) { return Column(queue, name).at<int>(i, -1); };
    p.on_rq = OnRq::queued;
    p.se.on_rq = true;
    p.se.avg.load_avg = value("h_load");
    p.se.avg.util_avg = value("util_avg");
    p.se.avg.util_est = static_cast<u32>(value("util_est"));
    p.se.sched_delayed = value("sched_delayed") != 0;
    p.se.vruntime = value("eligible") != 0 ? 0 : 1;
    p.se.exec_start = result.s->now - value("since_exec_start");
    p.per_cpu_kthread = p.kthread = value("per_cpu_kthread") != 0;
    p.policy = value("sched_idle") != 0 ? Policy::idle : Policy::normal;
    if (value("throttled_on_dst") != 0)
        p.group = result.throttled.get();
    p.numa_preferred_nid = NodeId{number("numa_preferred_nid")};
    if (const int group = number("numa_group"); group >= 0)
        p.numa_group = &result.numa_groups.at(static_cast<std::size_t>(group));
    if (const Json *faults = Column(queue, "numa_faults").json(i); faults != nullptr && !faults->is_null())
        p.numa_faults = faults->get<std::vector<u64>>();
    p.total_numa_faults = value("total_numa_faults");
    if (const int group = number("cache_group"); group >= 0)
        p.cache_group = &result.cache_groups.at(static_cast<std::size_t>(group));
    p.preferred_llc = number("preferred_llc");
    p.nr_threads = static_cast<u32>(value("nr_threads"));
}

void append_to_list(Rq &rq, Task &p) {
    p.list_prev = rq.tasks_tail;
    if (rq.tasks_tail != nullptr)
        rq.tasks_tail->list_next = &p;
    else
        rq.tasks_head = &p;
    rq.tasks_tail = &p;
}

void read_list(const Json &queue, Rq &rq, BalanceCase &result) {
    const int current = queue.at("curr");
    for (std::size_t i = 0; i < queue.at("h_load").size(); i++) {
        Task &p = new_task(result, static_cast<int>(i));
        read_task(queue, i, p, result);
        set_allowed(p, queue.at("cpus_allowed").at(i));
        p.cpu = rq.cpu;
        p.se.cfs_rq = &rq.cfs;
        append_to_list(rq, p);
        if (Column(queue, "next_buddy").at<int>(i) != 0)
            rq.cfs.next = &p.se;
        if (static_cast<int>(i) == current) {
            rq.curr = &p;
            p.on_cpu = true;
        }
    }
    if (rq.curr == nullptr) { // a task of another class, or the idle thread
        rq.curr = &new_task(result, -1);
        rq.curr->cpu = rq.cpu;
        if (rq.current_class != SchedClass::idle)
            rq.current_class = SchedClass::higher;
    }
    set_allowed(*rq.curr, queue.at("curr_cpus_allowed"));
    rq.curr->on_rq = queue.at("curr_on_rq").get<int>() != 0 ? OnRq::queued : OnRq::no;
}

} // namespace

BalanceCase build_balance_case(const Json &json) {
    BalanceCase result;
    result.this_cpu = CpuId{json.at("call").at("this_cpu").get<int>()};
    result.idle = static_cast<CpuIdle>(json.at("call").at("idle").get<int>());

    Features features;
    for (const auto &[name, on] : json.at("features").items())
        features.apply((on.get<int>() != 0 ? "" : "NO_") + name);
    Tunables tunables;
    const Json &given = json.at("tunables");
    tunables.hz = 1000;
    tunables.group_scheduling = false; // h_load of a task is given
    tunables.migration_cost = given.at("sched_migration_cost_ns");
    tunables.nr_migrate = given.at("sched_nr_migrate");
    tunables.llc_aggr_tolerance = given.at("llc_aggr_tolerance");
    tunables.numa_balancing = json.at("switches").at("sched_numa_balancing").get<int>() != 0;

    DomainTree tree = read_tree(json, result);
    result.s = std::make_unique<Scheduler>(std::move(tree), mask_of(json.at("active_cpus")), features, tunables);
    Scheduler &s = *result.s;
    s.now = 1000 * ns_per_s;
    s.jiffies = json.at("jiffies");
    s.smt_num_threads = json.at("switches").at("cpu_smt_num_threads");
    read_queues(json.at("cpu"), s);

    for (const Json &group : json.value("numa_groups", Json::array()))
        result.numa_groups.push_back(
            {group.at("faults").get<std::vector<u64>>(), group.at("total_faults").get<u64>(), 0});
    for (const Json &group : json.value("cache_groups", Json::array())) {
        SchedCacheGroup &made = result.cache_groups.emplace_back();
        made.cpu = CpuId{group.at("cpu").get<int>()};
        made.nr_running_avg = group.at("nr_running_avg");
        made.footprint = group.at("footprint");
    }
    result.throttled = std::make_unique<TaskGroup>();
    for (std::size_t i = 0; i < s.rqs.size(); i++)
        result.throttled->queues.emplace_back().throttle_count = 1;

    for (const auto &[cpu, queue] : json.at("tasks").items())
        read_list(queue, s.rqs.at(std::stoul(cpu)), result);
    if (json.contains("fork_task")) {
        const Json &fork = json.at("fork_task");
        Task &p = new_task(result, -1);
        set_allowed(p, fork.at("cpus_allowed"));
        p.cpu = result.this_cpu;
        p.se.avg.util_avg = fork.at("util_avg");
        p.numa_preferred_nid = NodeId{fork.at("numa_preferred_nid").get<int>()};
        result.fork_task = &p;
    }
    return result;
}

namespace {

void count_detach(Scheduler &, Rq &src, Task &p, CpuId dst) {
    task_list_remove(src, p);
    src.nr_running--;
    src.cfs.h_nr_queued--;
    src.cfs.h_nr_runnable--;
    p.cpu = dst;
}

void count_attach(Scheduler &, Rq &dst, Task &) {
    dst.nr_running++;
    dst.cfs.h_nr_queued++;
    dst.cfs.h_nr_runnable++;
}

} // namespace

const TaskMover counting_mover = {count_detach, count_attach};

} // namespace fairground::vectors
