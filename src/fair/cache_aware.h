// SPDX-License-Identifier: GPL-2.0-only
//
// Cache-aware scheduling: threads of one process are steered to one LLC. Rules: LB-91..105 of spec/load-balance.md.
//
// It acts only on machines with several LLCs, and only on processes with two or more threads. Who calls what:
//   account_llc_enqueue/_dequeue   account_entity_enqueue/_dequeue of a task (LB-95)
//   llc_delayed                    a queued task becomes delayed or stops being it
//   account_mm_sched               update_curr, with the executed time (LB-93)
//   task_tick_cache                the tick of a fair task; true: the driver runs task_cache_work when the task next
//                                  returns to user mode (LB-96)
#pragma once

#include "fair/scheduler.h"

#include <vector>

namespace fairground::fair {

struct GroupStats;
struct LbEnv;

// One per process (LB-91).
struct SchedCacheGroup {
    // Executed time on one CPU, halved every epoch.
    struct Time {
        u64 runtime = 0; // ns
        u64 epoch = 0;
    };
    std::vector<Time> cpus; // by CPU number
    CpuId cpu;              // its LLC is the preferred one; none: no preference
    u64 epoch = 0;
    u64 next_scan = 0; // jiffies
    u64 nr_running_avg = 0;
    u64 footprint = 0; // pages, from NUMA faults
    bool scan_queued = false;
};

// A group for a new process on this machine.
SchedCacheGroup make_cache_group(const Scheduler &s);

inline bool sched_cache_enabled(const Scheduler &s) { return s.domains.multi_llc && s.tunables.sched_cache; }

// Queued tasks on `rq` that prefer LLC `llc`; 0 where nobody counts.
inline u32 llc_count(const Rq &rq, int llc) {
    if (rq.sd.base == nullptr || static_cast<u32>(llc) >= rq.sd.base->llc_counts.size())
        return 0;
    return rq.sd.base->llc_counts[static_cast<u32>(llc)];
}

// LB-95. Most tasks have no preference, so the test is inline.
void count_llc_enqueue(const Scheduler &s, Rq &rq, Task &p);
void count_llc_dequeue(Rq &rq, Task &p);
inline void account_llc_enqueue(const Scheduler &s, Rq &rq, Task &p) {
    if (p.preferred_llc >= 0)
        count_llc_enqueue(s, rq, p);
}
inline void account_llc_dequeue(Rq &rq, Task &p) {
    if (p.preferred_llc >= 0)
        count_llc_dequeue(rq, p);
}
// Call after p.se.sched_delayed changed while p stays queued.
inline void llc_delayed(Rq &rq, const Task &p) {
    if (p.preferred_llc >= 0 && p.pref_llc_queued)
        rq.nr_pref_llc_running += p.se.sched_delayed ? u32{0} - 1 : 1;
}
void account_mm_sched(Scheduler &s, Rq &rq, Task &p, u64 delta_exec);
bool task_tick_cache(Scheduler &s, const Rq &rq, const Task &p);
void task_cache_work(Scheduler &s, const Task &p);

// LB-94.
bool invalid_llc_nr(const Scheduler &s, const SchedCacheGroup &group, const Task &p, CpuId cpu);
bool exceed_llc_capacity(const Scheduler &s, const SchedCacheGroup &group, CpuId cpu);

// LB-98, LB-99.
enum class LlcMig : u8 { forbid = 0, llc = 1, unrestricted = 2 };
struct LlcLoad {
    u64 util = 0;
    u64 capacity = 0;
};
LlcMig can_migrate_llc(const Scheduler &s, LlcLoad src, LlcLoad dst, u64 task_util, bool to_pref);
LlcMig can_migrate_llc(const Scheduler &s, CpuId src, CpuId dst, u64 task_util, bool to_pref);

// Questions of a balance pass. They expect cache-aware scheduling to be enabled.
void record_sg_llc_stats(const LbEnv &env, const GroupStats &stats, const SchedGroup &group); // LB-97
bool llc_balance(const LbEnv &env, const GroupStats &stats, const SchedGroup &group);         // LB-102
LlcMig can_migrate_llc_task(const LbEnv &env, const Task &p);                                 // LB-100
bool migrate_llc_task_wrong_dst(const LbEnv &env, const Task &p);                             // LB-104
bool migrate_degrades_llc(const LbEnv &env, const Task &p);                                   // LB-103
bool alb_break_llc(const LbEnv &env);                                                         // LB-105

} // namespace fairground::fair
