// SPDX-License-Identifier: GPL-2.0-only
//
// Private to load balancing: the environment of one pass (struct lb_env) and the steps that share it.
#pragma once

#include "fair/balance_trace.h"
#include "fair/group_class.h"
#include "fair/load_balance.h"

namespace fairground::fair {

// Values as the kernel's LBF_*, since traces show them.
enum LbFlag : u32 {
    LBF_ALL_PINNED = 0x01,
    LBF_NEED_BREAK = 0x02,
    LBF_DST_PINNED = 0x04,
    LBF_SOME_PINNED = 0x08,
    LBF_ACTIVE_LB = 0x10,
    LBF_LLC_PINNED = 0x20,
    LBF_ACTIVE_LB_LLC = 0x40,
};

// How a task leaves one queue and joins another. The kernel's way is kernel_mover; the vector driver has one that
// changes only counters, because its queues are made-up numbers.
struct TaskMover {
    // Takes `p` off `src` and its task list and sets its CPU to `dst`.
    void (*detach)(Scheduler &s, Rq &src, Task &p, CpuId dst) = nullptr;
    void (*attach)(Scheduler &s, Rq &dst, Task &p) = nullptr;
};
extern const TaskMover kernel_mover;

struct LbEnv {
    Scheduler &s;
    Domain &sd;
    CpuId dst_cpu;
    CpuIdle idle = CpuIdle::not_idle;
    const TaskMover &mover;

    CpuId src_cpu{};
    bool dst_core_idle = false;
    CpuId new_dst_cpu{};
    CpuMask cpus{}; // CPUs the pass considers
    u32 flags = 0;  // LbFlag
    u32 loop = 0;
    u32 loop_break = 0;
    u32 loop_max = 0;
    s64 imbalance = 0; // in the unit of migration_type
    FbqType fbq_type = FbqType::all;
    MigrationType migration_type = MigrationType::load;
    Task *detached = nullptr; // stack through list_next (LB-77)
    Rule rule{};              // that decided the last step

    BalanceTrace::Pass *pass = nullptr; // null: nobody listens
    std::vector<BalanceTrace::Event> *events = nullptr;

    [[nodiscard]] bool is_idle() const { return idle != CpuIdle::not_idle; }
    [[nodiscard]] Rq &src_rq() const { return s.rq(src_cpu); }
    [[nodiscard]] Rq &dst_rq() const { return s.rq(dst_cpu); }
    // Mask of the CPUs of the local group that may be a destination.
    [[nodiscard]] const CpuMask &dst_grpmask() const { return sd.groups.front()->sgc->balance_mask; }
    [[nodiscard]] bool has(u32 sd_flag) const { return (sd.flags & sd_flag) != 0; }
    void note(const Task &p, DetachOutcome outcome) {
        if (events != nullptr) [[unlikely]]
            events->push_back({p.id, outcome});
    }
};

// struct sd_lb_stats.
struct SdStats {
    SchedGroup *busiest = nullptr;
    SchedGroup *local = nullptr;
    u64 total_load = 0;
    u64 total_capacity = 0;
    u64 avg_load = 0;
    bool prefer_sibling = false;
    GroupStats busiest_stat;
    GroupStats local_stat;
};

// LB-5: pressure of other classes left the CPU noticeably less than it has.
inline bool check_cpu_capacity(const Rq &rq, const Domain &sd) {
    return rq.cpu_capacity * static_cast<u64>(sd.imbalance_pct) < rq.arch_capacity * 100;
}
inline bool has_smt(const SchedGroup &group) { return (group.flags & SD_SHARE_CPUCAPACITY) != 0; }
inline bool smt_vs_nonsmt_groups(const SchedGroup *a, const SchedGroup *b) {
    return a != nullptr && b != nullptr && has_smt(*a) != has_smt(*b);
}

// LB-88, LB-89.
bool sched_asym_prefer(const Scheduler &s, CpuId a, CpuId b);
bool sched_use_asym_prio(const Scheduler &s, const Domain &sd, CpuId cpu);
bool sched_asym(const Scheduler &s, const Domain &sd, CpuId dst, CpuId src);

// lb_stats.cpp: LB-44..53.
void update_sd_lb_stats(LbEnv &env, SdStats &sds);
// LB-52, LB-53: true if `group` is busier than the busiest so far.
bool update_sd_pick_busiest(const LbEnv &env, const SdStats &sds, const SchedGroup &group, const GroupStats &stats);
FbqType fbq_classify_group(const GroupStats &stats); // LB-65
FbqType fbq_classify_rq(const Rq &rq);

// lb_imbalance.cpp. The group to pull from, or null; env.imbalance, env.migration_type and env.rule are set.
SchedGroup *sched_balance_find_src_group(LbEnv &env);                 // LB-40
SchedGroup *find_src_group(LbEnv &env, SdStats &sds);                 // LB-54..57, the statistics given
void calculate_imbalance(LbEnv &env, SdStats &sds);                   // LB-59..63
CpuId sched_balance_find_src_rq(LbEnv &env, const SchedGroup &group); // LB-66, LB-67; none if there is no source

// lb_detach.cpp. can_migrate_task returns `moved` for a task that may move.
DetachOutcome can_migrate_task(LbEnv &env, const Task &p); // LB-71..73
int detach_tasks(LbEnv &env);                              // LB-68..70; number detached
Task *detach_one_task(LbEnv &env);                         // LB-82
void attach_tasks(LbEnv &env);                             // LB-77

// load_balance.cpp: the pass and the push with a choice of mover.
int balance_pass(Scheduler &s, CpuId this_cpu, Domain &sd, CpuIdle idle, bool *continue_balancing,
                 const TaskMover &mover);
void active_push(Scheduler &s, CpuId cpu, const TaskMover &mover);

} // namespace fairground::fair
