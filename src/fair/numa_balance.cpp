// SPDX-License-Identifier: GPL-2.0-only
#include "fair/numa_balance.h"

#include "fair/group_class.h"
#include "fair/h_load.h"
#include "fair/pelt.h"

#include <algorithm>
#include <cstdlib>

namespace fairground::fair {

namespace {

constexpr int local_distance = 10;
constexpr s64 small_improvement = 30; // below this a swap is noise (NUMA-47.8)

int node_count(const Scheduler &s) {
    int count = 0;
    for (const CpuDomains &cpu : s.domains.cpus)
        count = std::max(count, cpu.node + 1);
    return std::max(count, static_cast<int>(s.domains.node_distance.size()));
}

CpuMask cpus_of_node(const Scheduler &s, NodeId node) {
    CpuMask mask;
    for (CpuId cpu : s.active)
        if (s.rq(cpu).sd.node == node)
            mask.set(cpu);
    return mask;
}

// Faults on nodes near `node` that count for it, on machines without direct links between all nodes (NUMA-36).
u64 score_nearby_nodes(const Scheduler &s, const std::vector<u64> &faults, NodeId node, int limit) {
    const NumaTopology topology = s.domains.numa_topology;
    if (topology == NumaTopology::direct)
        return 0;
    const int max_distance = s.domains.max_numa_distance;
    u64 score = 0;
    for (std::size_t i = 0; i < faults.size(); i++) {
        const NodeId other{static_cast<s64>(i)};
        const int distance = node_distance(s, node, other);
        if (other == node || distance >= max_distance)
            continue;
        if (topology == NumaTopology::backplane && distance >= limit)
            continue;
        u64 part = faults[i];
        if (topology == NumaTopology::glueless_mesh) // the farther, the less it counts
            part = part * static_cast<u64>(max_distance - distance) / static_cast<u64>(max_distance - local_distance);
        score += part;
    }
    return score;
}

s64 weight_of(const Scheduler &s, const std::vector<u64> &faults, u64 total, NodeId node, int dist) {
    if (faults.empty() || total == 0)
        return 0;
    const auto at = static_cast<std::size_t>(node.value);
    const u64 here = at < faults.size() ? faults[at] : 0;
    return static_cast<s64>(1000 * (here + score_nearby_nodes(s, faults, node, dist)) / total);
}

// The task on a CPU as a partner for a swap; tasks without user memory do not count.
const Task *swap_candidate(const Rq &rq) {
    const Task *curr = rq.curr;
    return curr == nullptr || curr->exiting || curr->kthread ? nullptr : curr;
}

// One search for a better place (task_numa_env).
struct Search {
    const Scheduler &s;
    const Task &p;
    CpuId src_cpu;
    NodeId src_node;
    NodeId dst_node;
    CpuId dst_cpu;
    int dist = 0;
    u32 pct = 0;
    int imb_numa_nr = 0;
    NumaStats src = {};
    NumaStats dst = {};

    const Task *best_task = nullptr;
    s64 best_improvement = 0;
    CpuId best_cpu = {};
    Rule best_rule = {};

    [[nodiscard]] s64 h_load(const Task &task) const {
        return static_cast<s64>(read_task_h_load(s, task.se.avg.load_avg, *task.se.cfs_rq));
    }
    // The best CPU so far is reserved by this very search.
    [[nodiscard]] bool reserved(CpuId cpu) const { return s.rq(cpu).numa_migrate_on || cpu == best_cpu; }
    [[nodiscard]] bool moves_home(const Task &task) const { return task.numa_preferred_nid == src_node; }

    NumaStats node_stats(NodeId node, bool find_idle) const;
    // Moving `load` from the source to the destination would make matters worse.
    [[nodiscard]] bool too_imbalanced(s64 load) const {
        return load_too_imbalanced(src, dst, static_cast<s64>(src.load) - load, static_cast<s64>(dst.load) + load);
    }
    void assign(const Task *partner, s64 improvement, Rule rule);
    void assign_move(s64 improvement);
    bool compare(s64 task_improvement, s64 group_improvement, bool may_move);
    [[nodiscard]] s64 swap_improvement(const Task &cur, s64 improvement, s64 task_improvement, bool *refused) const;
    void find_cpu(s64 task_improvement, s64 group_improvement);
};

// NUMA-42, -43.
NumaStats Search::node_stats(NodeId node, bool find_idle) const {
    NumaStats stats;
    CpuId idle_core;
    const CpuMask cpus = cpus_of_node(s, node);
    for (CpuId cpu : cpus) {
        const Rq &rq = s.rq(cpu);
        stats.load += rq.cfs.avg.load_avg;
        stats.runnable += rq.cfs.avg.runnable_avg;
        stats.util += cpu_util_cfs(s, rq);
        stats.nr_running += rq.cfs.h_nr_runnable;
        stats.capacity += rq.cpu_capacity;
        if (!find_idle || idle_core.valid() || !idle_cpu(rq) || reserved(cpu) || !p.cpus_allowed.test(cpu))
            continue;
        if (!stats.idle_cpu.valid())
            stats.idle_cpu = cpu;
        const DomainShared *shared = rq.sd.balance_shared;
        if (s.domains.smt_active && shared != nullptr && shared->has_idle_cores && is_core_idle(s, cpu))
            idle_core = cpu;
    }
    stats.weight = static_cast<u32>(cpus.weight());
    stats.type = numa_classify(pct, stats);
    if (idle_core.valid())
        stats.idle_cpu = idle_core;
    return stats;
}

// NUMA-48: reserves dst_cpu, or the next idle CPU of the node if somebody else has it.
void Search::assign(const Task *partner, s64 improvement, Rule rule) {
    if (best_cpu != dst_cpu && s.rq(dst_cpu).numa_migrate_on) {
        CpuId other;
        wrap(cpus_of_node(s, dst_node), dst_cpu + 1, [&](CpuId cpu) {
            if (reserved(cpu) || !idle_cpu(s.rq(cpu)) || !p.cpus_allowed.test(cpu))
                return false;
            other = cpu;
            return true;
        });
        if (!other.valid())
            return;
        dst_cpu = other;
    }
    best_task = partner;
    best_improvement = improvement;
    best_cpu = dst_cpu;
    best_rule = rule;
}

// NUMA-47 steps 4 and 5: what both tasks together gain by changing places.
s64 Search::swap_improvement(const Task &cur, s64 improvement, s64 task_improvement, bool *refused) const {
    const auto task_gain = [&] { return task_weight(s, cur, src_node, dist) - task_weight(s, cur, dst_node, dist); };
    if (cur.numa_group == p.numa_group) {
        if (dst.type == NodeType::has_spare) {
            *refused = true;
            return 0;
        }
        improvement = task_improvement + task_gain();
        if (cur.numa_group != nullptr)
            improvement -= improvement / 16;
    } else if (cur.numa_group != nullptr && p.numa_group != nullptr) {
        improvement += group_weight(s, cur, src_node, dist) - group_weight(s, cur, dst_node, dist);
    } else {
        improvement += task_gain();
    }
    if (cur.numa_preferred_nid == dst_node)
        improvement -= improvement / 16;
    if (moves_home(cur))
        improvement += improvement / 8;
    return improvement;
}

// NUMA-48: a plain move goes to the idle CPU of NUMA-43 whatever CPU was compared.
void Search::assign_move(s64 improvement) {
    CpuId cpu = dst.idle_cpu.valid() ? dst.idle_cpu : dst_cpu;
    if (!idle_cpu(s.rq(cpu)) && best_cpu.valid() && idle_cpu(s.rq(best_cpu)))
        cpu = best_cpu;
    dst_cpu = cpu;
    assign(nullptr, improvement, "NUMA-48");
}

// NUMA-47 for dst_cpu. True: stop the search in this node.
bool Search::compare(s64 task_improvement, s64 group_improvement, bool may_move) {
    if (reserved(dst_cpu))
        return false;
    const Task *cur = swap_candidate(s.rq(dst_cpu));
    if (cur == &p)
        return true;
    const s64 move_improvement = p.numa_group != nullptr ? group_improvement : task_improvement;
    s64 improvement = move_improvement;

    const auto stop = [&] {
        if (may_move && cur == nullptr && best_cpu.valid() && idle_cpu(s.rq(best_cpu)))
            return true;
        return !may_move && best_task != nullptr && moves_home(*best_task);
    };
    const auto move = [&] {
        cur = nullptr;
        assign_move(move_improvement);
        return stop();
    };
    const auto swap = [&] {
        assign(cur, improvement, "NUMA-47");
        return stop();
    };

    if (cur == nullptr)
        return may_move && move_improvement >= best_improvement ? move() : false;
    if (!cur->cpus_allowed.test(src_cpu))
        return false;
    if (best_task != nullptr && moves_home(*best_task) && !moves_home(*cur))
        return false;
    bool refused = false;
    improvement = swap_improvement(*cur, improvement, task_improvement, &refused);
    if (refused)
        return false;
    if (may_move && move_improvement > improvement && move_improvement > best_improvement)
        return move();
    if (best_task != nullptr && moves_home(*cur) && !moves_home(*best_task))
        return swap();
    if (improvement < small_improvement || improvement <= best_improvement + small_improvement / 2)
        return false;
    const s64 load = h_load(p) - h_load(*cur);
    if (load != 0 && too_imbalanced(load))
        return false;
    return swap();
}

// NUMA-45.
void Search::find_cpu(s64 task_improvement, s64 group_improvement) {
    bool may_move = false;
    if (dst.type == NodeType::has_spare) {
        const int src_running = static_cast<int>(src.nr_running) - 1;
        const int dst_running = static_cast<int>(dst.nr_running) + 1;
        const int imbalance = std::max(0, dst_running - src_running);
        may_move = adjust_numa_imbalance(s.features, imbalance, dst_running, imb_numa_nr) == 0;
        if (may_move && dst.idle_cpu.valid()) {
            dst_cpu = dst.idle_cpu;
            return assign(nullptr, 0, "NUMA-45");
        }
    } else {
        const s64 load = h_load(p);
        may_move = !too_imbalanced(load);
    }
    for (CpuId cpu : cpus_of_node(s, dst_node)) {
        if (!p.cpus_allowed.test(cpu))
            continue;
        dst_cpu = cpu;
        if (compare(task_improvement, group_improvement, may_move))
            break;
    }
}

} // namespace

NodeType numa_classify(u32 pct, const NumaStats &n) {
    if (n.nr_running > n.weight && (n.capacity * 100 < n.util * pct || n.capacity * pct < n.runnable * 100))
        return NodeType::overloaded;
    if (n.nr_running < n.weight || (n.capacity * 100 > n.util * pct && n.capacity * pct > n.runnable * 100))
        return NodeType::has_spare;
    return NodeType::fully_busy;
}

bool load_too_imbalanced(const NumaStats &src, const NumaStats &dst, s64 src_load, s64 dst_load) {
    const auto src_capacity = static_cast<s64>(src.capacity);
    const auto dst_capacity = static_cast<s64>(dst.capacity);
    const auto apart = [&](s64 at_src, s64 at_dst) { return std::abs(at_dst * src_capacity - at_src * dst_capacity); };
    return apart(src_load, dst_load) > apart(static_cast<s64>(src.load), static_cast<s64>(dst.load));
}

int node_distance(const Scheduler &s, NodeId a, NodeId b) {
    const auto &table = s.domains.node_distance;
    if (table.empty())
        return local_distance;
    return table[static_cast<std::size_t>(a.value)][static_cast<std::size_t>(b.value)];
}

s64 task_weight(const Scheduler &s, const Task &p, NodeId node, int dist) {
    return weight_of(s, p.numa_faults, p.total_numa_faults, node, dist);
}

s64 group_weight(const Scheduler &s, const Task &p, NodeId node, int dist) {
    return p.numa_group == nullptr ? 0 : weight_of(s, p.numa_group->faults, p.numa_group->total_faults, node, dist);
}

NumaMove task_numa_migrate(const Scheduler &s, const Task &p) {
    const NodeId src_node = s.rq(p.cpu).sd.node;
    const Domain *sd = s.rq(p.cpu).sd.numa;
    if (sd == nullptr) // NUMA-41: trapped in one node, so there is no point in trying again
        return {{}, nullptr, src_node, true, "NUMA-41"};

    Search search{s, p, p.cpu, src_node, p.numa_preferred_nid, {}};
    search.pct = static_cast<u32>(100 + (sd->imbalance_pct - 100) / 2);
    search.imb_numa_nr = sd->imb_numa_nr;
    int dist = search.dist = node_distance(s, src_node, search.dst_node);
    s64 task_here = task_weight(s, p, src_node, dist);
    s64 group_here = group_weight(s, p, src_node, dist);
    search.src = search.node_stats(src_node, false);
    search.dst = search.node_stats(search.dst_node, true);
    search.find_cpu(task_weight(s, p, search.dst_node, dist) - task_here,
                    group_weight(s, p, search.dst_node, dist) - group_here);

    const NumaGroup *group = p.numa_group;
    if (!search.best_cpu.valid() || (group != nullptr && group->active_nodes > 1)) { // NUMA-49
        const int nodes = node_count(s);
        for (int i = 0; i < nodes; i++) {
            const NodeId node{i};
            if (node == src_node || node == p.numa_preferred_nid || cpus_of_node(s, node).empty())
                continue;
            // As in the kernel the distance is that of the node looked at before.
            dist = node_distance(s, src_node, search.dst_node);
            if (s.domains.numa_topology == NumaTopology::backplane && dist != search.dist) {
                task_here = task_weight(s, p, src_node, dist);
                group_here = group_weight(s, p, src_node, dist);
            }
            const s64 task_gain = task_weight(s, p, node, dist) - task_here;
            const s64 group_gain = group_weight(s, p, node, dist) - group_here;
            if (task_gain < 0 && group_gain < 0)
                continue;
            search.dist = dist;
            search.dst_node = node;
            search.dst = search.node_stats(node, true);
            search.find_cpu(task_gain, group_gain);
        }
    }

    NumaMove move{search.best_cpu, search.best_task, {}, false, search.best_rule, search.best_improvement};
    if (!search.best_cpu.valid())
        move.rule = "NUMA-49";
    if (group != nullptr) { // NUMA-50: let the workload settle where it got to
        const NodeId node = search.best_cpu.valid() ? s.rq(search.best_cpu).sd.node : src_node;
        move.preferred = node;
        move.set_preferred = node != p.numa_preferred_nid;
    }
    return move;
}

} // namespace fairground::fair
