// SPDX-License-Identifier: GPL-2.0-only
#include "fair/cgroup.h"

#include "fair/eevdf.h"
#include "fair/pelt.h"

namespace fairground::fair {

namespace {

// CG-11: `weight` divided among CPUs by load. The sums are signed in the kernel.
u64 smp_shares(const CfsRq &cfs, s64 weight, s64 most) {
    const auto load = static_cast<s64>(std::max(scale_load_down(cfs.load_weight), cfs.avg.load_avg));
    const auto others = static_cast<s64>(cfs.group->load_avg - cfs.tg_load_avg_contrib);
    s64 shares = weight * load;
    if (others + load != 0)
        shares /= others + load;
    return static_cast<u64>(std::min(std::max(shares, static_cast<s64>(min_shares)), most));
}

s64 tg_cpus(const Scheduler &s, const TaskGroup &group) { // CG-12
    return std::max(group.cpuset_cpus != 0 ? group.cpuset_cpus : s.nr_online_cpus, 1);
}

s64 tg_tasks(const TaskGroup &group) { // CG-13
    return std::max(static_cast<s32>(static_cast<s64>(group.runnable_avg) >> 10), 1);
}

// CG-6, without the check of CG-5.
void set_shares(Scheduler &s, TaskGroup &group, u64 shares) {
    shares = std::clamp(shares, min_shares << 10, max_shares << 10);
    if (group.shares == shares)
        return;
    group.shares = shares;
    for (Rq &rq : s.rqs) {
        update_rq_clock(s, rq);
        for (Entity *se = &group.entities[static_cast<u32>(rq.cpu.value)]; se != nullptr; se = se->parent) {
            update_load_avg(s, *se->cfs_rq, *se, UPDATE_TG);
            update_cfs_group(s, *se);
        }
    }
}

// PELT-36: a task of another class carries a time of the old queue.
void set_task_rq_fair(const Scheduler &s, Entity &se, const CfsRq &next) {
    if (!s.features[Feature::ATTACH_AGE_LOAD] || se.avg.last_update_time == 0 || se.cfs_rq == nullptr)
        return;
    update_load_avg_blocked_se(se.cfs_rq->avg.last_update_time, se);
    se.avg.last_update_time = next.avg.last_update_time;
}

} // namespace

u64 calc_group_shares(const Scheduler &s, const CfsRq &queue) { // CG-14
    const TaskGroup &group = *queue.group;
    const auto shares = static_cast<s64>(group.shares);
    switch (s.tunables.cgroup_mode) {
    case CgroupMode::up:
        return group.shares;
    case CgroupMode::smp:
        return smp_shares(queue, shares, shares);
    case CgroupMode::max:
        return smp_shares(queue, tg_cpus(s, group) * shares, static_cast<s64>(nice_to_weight(-20)));
    case CgroupMode::tasks: {
        const s64 all = tg_tasks(group) * shares;
        return smp_shares(queue, all, all);
    }
    case CgroupMode::concur:
        break;
    }
    const s64 all = std::min(tg_tasks(group), tg_cpus(s, group)) * shares;
    return smp_shares(queue, all, all);
}

void update_cfs_group(const Scheduler &s, Entity &se) { // CG-10
    if (se.my_q != nullptr && se.my_q->load_weight != 0)
        reweight_entity_load(*se.cfs_rq, se, calc_group_shares(s, *se.my_q));
}

TaskGroup &sched_create_group(Scheduler &s, TaskGroup *parent) { // CG-8
    TaskGroup &group = s.groups.emplace_back();
    group.id = GroupId{static_cast<s64>(s.groups.size()) - 1};
    group.parent = parent;
    group.queues = std::vector<CfsRq>(s.rqs.size());
    group.entities = std::vector<Entity>(s.rqs.size());
    for (Rq &rq : s.rqs) {
        const auto cpu = static_cast<u32>(rq.cpu.value);
        CfsRq &queue = group.queues[cpu];
        Entity &se = group.entities[cpu];
        queue.rq = &rq;
        queue.group = &group;
        queue.group_entity = &se;
        se.my_q = &queue;
        se.cfs_rq = &group_queue(rq, parent);
        se.parent = parent != nullptr ? &parent->entities[cpu] : nullptr;
        se.load_weight = nice_0_load;
        update_rq_clock(s, rq);
        attach_entity_cfs_rq(s, se);
    }
    return group;
}

bool sched_group_set_shares(Scheduler &s, TaskGroup &group, u64 shares) {
    if (group.idle)
        return false;
    set_shares(s, group, shares);
    return true;
}

void sched_group_set_idle(Scheduler &s, TaskGroup &group, bool idle) { // CG-9
    if (group.idle == idle)
        return;
    group.idle = idle;
    for (std::size_t cpu = 0; cpu < group.queues.size(); cpu++) {
        CfsRq &queue = group.queues[cpu];
        queue.idle = idle;
        const u32 others = queue.h_nr_queued - queue.h_nr_idle;
        for (Entity *se = &group.entities[cpu]; se != nullptr && se->on_rq; se = se->parent) {
            se->cfs_rq->h_nr_idle += idle ? others : 0 - others;
            if (se->cfs_rq->idle)
                break;
        }
    }
    set_shares(s, group, idle ? idle_prio_weight : nice_0_load);
}

u64 shares_of_cpu_weight(u64 weight) { return (weight * 1024 + 50) / 100 << 10; }
u64 cpu_weight_of_shares(u64 shares) { return std::clamp<u64>((scale_load_down(shares) * 100 + 512) / 1024, 1, 10000); }

void set_task_rq(const Scheduler &s, Task &p, Rq &rq) {
    CfsRq &queue = group_queue(rq, p.group);
    set_task_rq_fair(s, p.se, queue);
    p.se.cfs_rq = &queue;
    p.se.parent = queue.group_entity;
}

void task_change_group_fair(Scheduler &s, Task &p, TaskGroup *group) { // PELT-37
    detach_entity_cfs_rq(s, p.se);
    p.se.avg.last_update_time = 0;
    p.group = group;
    set_task_rq(s, p, s.rq(p.cpu));
    attach_entity_cfs_rq(s, p.se);
}

} // namespace fairground::fair
