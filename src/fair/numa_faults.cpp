// SPDX-License-Identifier: GPL-2.0-only
#include "fair/numa_faults.h"

#include <algorithm>

namespace fairground::fair {

namespace {

constexpr u32 max_scan_window = 2560;                // MiB/s, NUMA-2
constexpr u64 period_slots = 10;                     // NUMA-23
constexpr u64 period_threshold = 7;                  //
constexpr u64 active_node_fraction = 3;              // NUMA-35
constexpr u64 load_avg_max = 47742;                  // PELT's sum for a task that always runs
constexpr std::array<std::size_t, 2> kinds = {0, 1}; // shared, private

u64 msecs_to_jiffies(const Scheduler &s, u64 ms) {
    const u64 hz = s.tunables.hz;
    return (ms * hz + 999) / 1000;
}

bool time_after(u64 a, u64 b) { return static_cast<s64>(b - a) < 0; }

NodeId node_of(const Scheduler &s, const NumaTask &nt) { return s.rq(nt.task->cpu).sd.node; }

std::size_t node_count(const Scheduler &s) {
    std::size_t count = s.domains.node_distance.size();
    for (const CpuDomains &cpu : s.domains.cpus)
        count = std::max(count, static_cast<std::size_t>(cpu.node.value + 1));
    return count;
}

bool has_cpus(const Scheduler &s, NodeId node) {
    for (CpuId cpu : s.active)
        if (s.rq(cpu).sd.node == node)
            return true;
    return false;
}

u64 sum(const std::array<u64, 2> &faults) { return faults[0] + faults[1]; }

// NUMA-20.
u32 scan_windows(const NumaTunables &tunables, const NumaTask &nt) {
    const u64 rss = nt.process->rss;
    return rss == 0 ? 1 : static_cast<u32>((rss + tunables.scan_size - 1) / tunables.scan_size);
}

// NUMA-21: shared memory is scanned by all tasks of the group.
u64 group_factor(const NumaTask &nt, u64 value) {
    if (nt.group == nullptr)
        return value;
    u64 shared = 0;
    u64 priv = 0;
    for (const NumaCounts &node : nt.group->nodes) {
        shared += node.mem[0];
        priv += node.mem[1];
    }
    return value * nt.group->nr_tasks * (shared + 1) / (priv + shared + 1);
}

// The sums that task_weight and group_weight read follow the detailed counts.
void publish(const NumaTask &nt) {
    const auto copy = [](const std::vector<NumaCounts> &nodes, std::vector<u64> &out) {
        out.resize(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); i++)
            out[i] = sum(nodes[i].mem);
    };
    copy(nt.nodes, nt.task->numa_faults);
    if (nt.group != nullptr)
        copy(nt.group->nodes, nt.group->faults);
}

// Share of the wall time that the task ran since the last placement, in 1/65536; load statistics before there was
// one (NUMA-31).
u64 runtime_share(NumaTask &nt) {
    const Entity &se = nt.task->se;
    u64 run = se.avg.load_sum;
    u64 wall = load_avg_max;
    if (nt.last_placement != 0) {
        run = se.sum_exec_runtime - nt.last_sum_exec_runtime;
        wall = se.exec_start - nt.last_placement;
        if (static_cast<s64>(wall) < 0)
            wall = 0;
    }
    nt.last_sum_exec_runtime = se.sum_exec_runtime;
    nt.last_placement = se.exec_start;
    return (run << 16) / (wall + 1);
}

// NUMA-35.
void count_active_nodes(const Scheduler &s, NumaFaultGroup &group) {
    group.max_faults_cpu = 0;
    group.active_nodes = 0;
    const auto each = [&](auto visit) {
        for (std::size_t i = 0; i < group.nodes.size(); i++)
            if (has_cpus(s, NodeId{static_cast<s64>(i)}))
                visit(sum(group.nodes[i].cpu));
    };
    each([&](u64 faults) { group.max_faults_cpu = std::max(group.max_faults_cpu, faults); });
    each([&](u64 faults) { group.active_nodes += faults * active_node_fraction > group.max_faults_cpu ? 1 : 0; });
}

bool is_active_node(const NumaFaultGroup &group, NodeId node) {
    return sum(group.nodes[static_cast<std::size_t>(node.value)].cpu) * active_node_fraction > group.max_faults_cpu;
}

// NUMA-32: a node without CPUs is replaced by the nearest with some.
NodeId nearest_node_with_cpus(const Scheduler &s, NodeId node) {
    if (!node.valid() || has_cpus(s, node))
        return node;
    NodeId best = node;
    int best_distance = 0;
    for (std::size_t i = 0; i < node_count(s); i++) {
        const NodeId other{static_cast<s64>(i)};
        const int distance = node_distance(s, node, other);
        if (has_cpus(s, other) && (best == node || distance < best_distance)) {
            best = other;
            best_distance = distance;
        }
    }
    return best;
}

// Adds (or takes away) a task's averages to (from) a group.
void account(NumaFaultGroup &group, const NumaTask &nt, bool add) {
    group.nodes.resize(std::max(group.nodes.size(), nt.nodes.size()));
    const auto change = [add](u64 &to, u64 by) { to = add ? to + by : to - by; };
    for (std::size_t node = 0; node < nt.nodes.size(); node++)
        for (std::size_t kind : kinds) {
            change(group.nodes[node].mem[kind], nt.nodes[node].mem[kind]);
            change(group.nodes[node].cpu[kind], nt.nodes[node].cpu[kind]);
        }
    change(group.total_faults, nt.task->total_numa_faults);
    group.nr_tasks += add ? 1U : ~0U;
}

void set_group(NumaTask &nt, NumaFaultGroup *group) {
    nt.group = group;
    nt.task->numa_group = group;
    publish(nt);
}

// NUMA-34, a shared fault. Returns false if it turns out to count as private.
bool task_numa_group(const Scheduler &s, NumaTask &nt, const NumaFault &fault, NumaFaultGroup *fresh) {
    if (nt.group == nullptr) {
        if (fresh == nullptr)
            return true;
        fresh->active_nodes = 1;
        account(*fresh, nt, true);
        set_group(nt, fresh);
    }
    if (fault.last == nullptr || s.rq(fault.last_cpu).curr != fault.last->task)
        return true;
    NumaFaultGroup *theirs = fault.last->group;
    NumaFaultGroup *ours = nt.group;
    if (theirs == nullptr || theirs == ours || ours->nr_tasks > theirs->nr_tasks)
        return true; // the smaller group joins the larger one
    if (ours->nr_tasks == theirs->nr_tasks && ours->id > theirs->id)
        return true;
    if (fault.last->process != nt.process && !fault.shared_mapping)
        return false;
    account(*ours, nt, false);
    publish(nt);
    account(*theirs, nt, true);
    set_group(nt, theirs);
    return true;
}

// NUMA-40: is it time for, and worth, an attempt to move?
bool numa_migrate_preferred(const Scheduler &s, NumaTask &nt, NodeId preferred) {
    if (!preferred.valid() || nt.nodes.empty())
        return false;
    nt.migrate_retry = s.jiffies + std::min(u64{s.tunables.hz}, msecs_to_jiffies(s, nt.scan_period) / 16);
    return node_of(s, nt) != preferred;
}

} // namespace

void init_numa_balancing(const Scheduler &s, const NumaTunables &tunables, NumaTask &nt, const NumaTask *parent,
                         u32 threads) {
    NumaProcess &process = *nt.process;
    if (parent == nullptr) {
        process.next_scan = s.jiffies + msecs_to_jiffies(s, tunables.scan_delay);
        process.scan_seq = 0;
        nt.task->numa_preferred_nid = {};
    } else {
        // The kernel means to stagger the threads, but takes the smaller of a time in ms and one in ns, so that
        // little more than two ticks remains.
        const u64 stagger = u64{parent->scan_period} * threads * ns_per_ms;
        nt.node_stamp = std::min(u64{task_scan_max(tunables, *parent)}, u64{static_cast<u32>(stagger)}) +
                        2 * s.tunables.tick_nsec();
        nt.task->numa_preferred_nid = parent->task->numa_preferred_nid;
    }
    nt.scan_seq = process.scan_seq;
    nt.scan_period = tunables.scan_delay;
}

u32 task_scan_min(const NumaTunables &tunables, const NumaTask &nt) {
    const u32 windows = tunables.scan_size < max_scan_window ? max_scan_window / tunables.scan_size : 1;
    return std::max(1000 / windows, tunables.scan_period_min / scan_windows(tunables, nt));
}

u32 task_scan_start(const NumaTunables &tunables, const NumaTask &nt) { // NUMA-22
    const u64 smin = task_scan_min(tunables, nt);
    return static_cast<u32>(std::max(smin, group_factor(nt, smin)));
}

u32 task_scan_max(const NumaTunables &tunables, const NumaTask &nt) {
    const u64 smin = task_scan_min(tunables, nt);
    const u64 smax = tunables.scan_period_max / scan_windows(tunables, nt);
    return static_cast<u32>(std::max({smin, smax, group_factor(nt, smax)}));
}

void update_task_scan_period(const Scheduler &s, const NumaTunables &tunables, NumaTask &nt, u64 shared, u64 priv) {
    const u64 local = nt.locality.local;
    const u64 remote = nt.locality.remote;
    const bool slow_down = local + shared == 0 || nt.locality.failed != 0; // NUMA-23 (a)
    nt.locality = {};
    if (slow_down) {
        nt.scan_period = std::min(nt.scan_period_max, nt.scan_period << 1);
        nt.process->next_scan = s.jiffies + msecs_to_jiffies(s, nt.scan_period);
        return;
    }
    // NUMA-23 (b). Shares in tenths; without any fault of a kind the kernel would divide by zero, which its callers
    // cannot reach.
    const u64 slot = (nt.scan_period + period_slots - 1) / period_slots;
    const u64 local_share = local * period_slots / std::max(u64{1}, local + remote);
    const u64 private_share = priv * period_slots / std::max(u64{1}, priv + shared);
    const auto above = [](u64 share) { return static_cast<s64>(std::max(u64{1}, share - period_threshold)); };
    s64 slots = 0;
    if (private_share >= period_threshold)
        slots = above(private_share);
    else if (local_share >= period_threshold)
        slots = above(local_share);
    else
        slots = static_cast<s64>(std::max(local_share, private_share)) - static_cast<s64>(period_threshold);
    const s64 period = s64{nt.scan_period} + slots * static_cast<s64>(slot);
    nt.scan_period =
        static_cast<u32>(std::clamp(period, s64{task_scan_min(tunables, nt)}, s64{task_scan_max(tunables, nt)}));
}

void update_scan_period(const Scheduler &s, const NumaTunables &tunables, NumaTask &nt, CpuId to) {
    if (nt.nodes.empty() || nt.task->exiting)
        return;
    const NodeId from_node = node_of(s, nt);
    const NodeId to_node = s.rq(to).sd.node;
    const NodeId preferred = nt.task->numa_preferred_nid;
    if (from_node == to_node)
        return;
    if (nt.scan_seq != 0 && (to_node == preferred || (preferred.valid() && from_node != preferred)))
        return;
    nt.scan_period = task_scan_start(tunables, nt);
}

bool task_tick_numa(const Scheduler &s, const NumaTunables &tunables, NumaTask &nt) {
    if (nt.task->exiting || nt.task->kthread)
        return false;
    const u64 period = nt.scan_period * ns_per_ms;
    if (nt.task->se.sum_exec_runtime <= nt.node_stamp + period)
        return false;
    if (nt.node_stamp == 0)
        nt.scan_period = task_scan_start(tunables, nt);
    nt.node_stamp += period;
    return !time_after(nt.process->next_scan, s.jiffies);
}

bool task_numa_work(const Scheduler &s, const NumaTunables &tunables, NumaTask &nt) {
    NumaProcess &process = *nt.process;
    if (nt.task->exiting)
        return false;
    if (process.next_scan == 0)
        process.next_scan = s.jiffies + msecs_to_jiffies(s, tunables.scan_delay);
    if (time_after(process.next_scan, s.jiffies))
        return false;
    if (nt.scan_period == 0) {
        nt.scan_period_max = task_scan_max(tunables, nt);
        nt.scan_period = task_scan_start(tunables, nt);
    }
    process.next_scan = s.jiffies + msecs_to_jiffies(s, nt.scan_period);
    nt.node_stamp += 2 * s.tunables.tick_nsec();
    return true;
}

void numa_scan_done(NumaTask &nt, u64 cost, bool wrapped) {
    nt.node_stamp += 32 * cost;
    if (wrapped)
        nt.process->scan_seq++;
}

NodeId task_numa_placement(const Scheduler &s, const NumaTunables &tunables, NumaTask &nt) {
    if (nt.scan_seq == nt.process->scan_seq)
        return {};
    nt.scan_seq = nt.process->scan_seq;
    nt.scan_period_max = task_scan_max(tunables, nt);

    const u64 total = nt.locality.remote + nt.locality.local;
    const u64 share = runtime_share(nt);
    std::array<u64, 2> recorded{};
    u64 max_faults = 0;
    NodeId max_node;
    for (std::size_t node = 0; node < nt.nodes.size(); node++) {
        NumaCounts &average = nt.nodes[node];
        NumaCounts &buffer = nt.buffers[node];
        for (std::size_t kind : kinds) {
            // Differences may be negative; unsigned sums wrap back (NUMA-31).
            const u64 mem = buffer.mem[kind] - average.mem[kind] / 2;
            const u64 cpu = share * buffer.cpu[kind] / (total + 1) - average.cpu[kind] / 2;
            recorded[kind] += buffer.mem[kind];
            average.mem[kind] += mem;
            average.cpu[kind] += cpu;
            nt.task->total_numa_faults += mem;
            if (nt.group != nullptr) {
                nt.group->nodes[node].mem[kind] += mem;
                nt.group->nodes[node].cpu[kind] += cpu;
                nt.group->total_faults += mem;
            }
        }
        buffer = {};
        const u64 faults = sum(nt.group != nullptr ? nt.group->nodes[node].mem : average.mem);
        if (faults > max_faults) { // NUMA-32
            max_faults = faults;
            max_node = NodeId{static_cast<s64>(node)};
        }
    }
    publish(nt);
    if (nt.group != nullptr)
        count_active_nodes(s, *nt.group);
    max_node = nearest_node_with_cpus(s, max_node);
    update_task_scan_period(s, tunables, nt, recorded[0], recorded[1]);
    return max_faults != 0 && max_node != nt.task->numa_preferred_nid ? max_node : NodeId{};
}

NumaFaultResult task_numa_fault(Scheduler &s, const NumaTunables &tunables, NumaTask &nt, const NumaFault &fault,
                                NumaFaultGroup *fresh) {
    const NodeId cpu_node = node_of(s, nt);
    if (nt.nodes.empty()) {
        nt.nodes.resize(node_count(s));
        nt.buffers.resize(nt.nodes.size());
        nt.locality = {};
        nt.task->total_numa_faults = 0;
        publish(nt);
    }
    bool priv = fault.first || fault.last == &nt;
    if (!priv && fault.group)
        priv = !task_numa_group(s, nt, fault, fresh);

    // A shared fault between nodes that the group works on is as good as local.
    bool local = fault.local;
    if (!priv && nt.group != nullptr && nt.group->active_nodes > 1 && is_active_node(*nt.group, cpu_node) &&
        is_active_node(*nt.group, fault.mem_node))
        local = true;

    NumaFaultResult result;
    if (time_after(s.jiffies, nt.migrate_retry)) { // NUMA-30
        result.set_preferred = task_numa_placement(s, tunables, nt);
        result.migrate = numa_migrate_preferred(
            s, nt, result.set_preferred.valid() ? result.set_preferred : nt.task->numa_preferred_nid);
    }

    const std::size_t kind = priv ? 1 : 0;
    if (fault.migrate_failed)
        nt.locality.failed += fault.pages;
    nt.buffers[static_cast<std::size_t>(fault.mem_node.value)].mem[kind] += fault.pages;
    nt.buffers[static_cast<std::size_t>(cpu_node.value)].cpu[kind] += fault.pages;
    (local ? nt.locality.local : nt.locality.remote) += fault.pages;
    return result;
}

void task_numa_free(NumaTask &nt) {
    if (nt.nodes.empty())
        return;
    if (NumaFaultGroup *group = nt.group) {
        account(*group, nt, false);
        publish(nt);
        nt.group = nullptr;
        nt.task->numa_group = nullptr;
    }
    nt.nodes.assign(nt.nodes.size(), {});
    nt.buffers.assign(nt.buffers.size(), {});
    nt.task->total_numa_faults = 0;
    publish(nt);
}

} // namespace fairground::fair
