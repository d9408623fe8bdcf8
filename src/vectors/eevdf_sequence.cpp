// SPDX-License-Identifier: GPL-2.0-only
//
// Sequences: every line is one operation on one CPU and the state after it, of which only the changes are
// written. The whole known state is compared after every operation, so a field that moved without being mentioned
// is a difference, too. A sequence is followed to its first difference; what comes after counts as different.
#include "base/error.h"
#include "fair/cgroup.h"
#include "fair/core.h"
#include "fair/pelt.h"
#include "vectors/eevdf_setup.h"

#include <array>
#include <span>
#include <vector>

namespace fairground::vectors {

namespace {

using namespace fair;

// One named value of an entity or queue, the rule that gives it, and how to read it.
template <class Owner> struct Field {
    std::string_view key;
    std::string_view rule;
    s64 (*get)(const Owner &);
};

#define FIELD(Owner, key, rule, expression)                                                                            \
    Field<Owner> {                                                                                                     \
        key, rule, [](const Owner &o) { return static_cast<s64>(expression); }                                         \
    }

constexpr std::array task_fields = {
    FIELD(Task, "v", "EEVDF-21", o.se.vruntime),
    FIELD(Task, "d", "EEVDF-27", o.se.deadline),
    FIELD(Task, "vlag", "EEVDF-42", o.se.vlag),
    FIELD(Task, "slice", "EEVDF-36", o.se.slice),
    FIELD(Task, "vprot", "EEVDF-60", o.se.vprot),
    FIELD(Task, "cs", "EEVDF-8", o.se.custom_slice),
    FIELD(Task, "dl", "EEVDF-80", o.se.sched_delayed),
    FIELD(Task, "rd", "EEVDF-75", o.se.rel_deadline),
    FIELD(Task, "pon", "EEVDF-70", o.on_rq),
    FIELD(Task, "hw", "CG-20", o.se.h_load),
    FIELD(Task, "on", "EEVDF-72", o.se.on_rq),
    FIELD(Task, "w", "EEVDF-4", o.se.load_weight),
    FIELD(Task, "ex", "EEVDF-20", o.se.exec_start),
    FIELD(Task, "sx", "EEVDF-20", o.se.sum_exec_runtime),
    FIELD(Task, "psx", "EEVDF-93", o.se.prev_sum_exec_runtime),
    FIELD(Task, "lut", "PELT-5", o.se.avg.last_update_time),
    FIELD(Task, "ls", "PELT-6", o.se.avg.load_sum),
    FIELD(Task, "rs", "PELT-6", o.se.avg.runnable_sum),
    FIELD(Task, "us", "PELT-6", o.se.avg.util_sum),
    FIELD(Task, "pc", "PELT-6", o.se.avg.period_contrib),
    FIELD(Task, "la", "PELT-7", o.se.avg.load_avg),
    FIELD(Task, "ra", "PELT-7", o.se.avg.runnable_avg),
    FIELD(Task, "ua", "PELT-7", o.se.avg.util_avg),
    FIELD(Task, "ue", "PELT-71", o.se.avg.util_est),
};

constexpr std::array group_entity_fields = {
    FIELD(Entity, "on", "EEVDF-72", o.on_rq),
    FIELD(Entity, "w", "CG-10", o.load_weight),
    FIELD(Entity, "ex", "EEVDF-20", o.exec_start),
    FIELD(Entity, "sx", "EEVDF-20", o.sum_exec_runtime),
    FIELD(Entity, "psx", "EEVDF-93", o.prev_sum_exec_runtime),
    FIELD(Entity, "lut", "PELT-5", o.avg.last_update_time),
    FIELD(Entity, "ls", "PELT-53", o.avg.load_sum),
    FIELD(Entity, "rs", "PELT-52", o.avg.runnable_sum),
    FIELD(Entity, "us", "PELT-51", o.avg.util_sum),
    FIELD(Entity, "pc", "PELT-6", o.avg.period_contrib),
    FIELD(Entity, "la", "PELT-53", o.avg.load_avg),
    FIELD(Entity, "ra", "PELT-52", o.avg.runnable_avg),
    FIELD(Entity, "ua", "PELT-51", o.avg.util_avg),
    FIELD(Entity, "ue", "PELT-71", o.avg.util_est),
    FIELD(Entity, "rw", "PELT-9", o.runnable_weight),
};

constexpr std::array group_queue_fields = {
    FIELD(CfsRq, "lw", "CG-2", o.load_weight),
    FIELD(CfsRq, "nq", "EEVDF-72", o.nr_queued),
    FIELD(CfsRq, "hq", "EEVDF-71", o.h_nr_queued),
    FIELD(CfsRq, "hr", "EEVDF-71", o.h_nr_runnable),
    FIELD(CfsRq, "hi", "EEVDF-71", o.h_nr_idle),
    FIELD(CfsRq, "lut", "PELT-5", o.avg.last_update_time),
    FIELD(CfsRq, "ls", "PELT-6", o.avg.load_sum),
    FIELD(CfsRq, "rs", "PELT-6", o.avg.runnable_sum),
    FIELD(CfsRq, "us", "PELT-6", o.avg.util_sum),
    FIELD(CfsRq, "pc", "PELT-6", o.avg.period_contrib),
    FIELD(CfsRq, "la", "PELT-7", o.avg.load_avg),
    FIELD(CfsRq, "ra", "PELT-7", o.avg.runnable_avg),
    FIELD(CfsRq, "ua", "PELT-7", o.avg.util_avg),
    FIELD(CfsRq, "tc", "PELT-56", o.tg_load_avg_contrib),
    FIELD(CfsRq, "trc", "PELT-56", o.tg_runnable_avg_contrib),
    FIELD(CfsRq, "prop", "PELT-50", o.propagate),
    FIELD(CfsRq, "prs", "PELT-50", o.prop_runnable_sum),
    FIELD(CfsRq, "rnr", "PELT-33", o.removed.nr),
    FIELD(CfsRq, "rl", "PELT-33", o.removed.load_avg),
    FIELD(CfsRq, "rr", "PELT-33", o.removed.runnable_avg),
    FIELD(CfsRq, "ru", "PELT-33", o.removed.util_avg),
    FIELD(CfsRq, "tl", "CG-7", o.group->load_avg),
    FIELD(CfsRq, "tr", "CG-7", o.group->runnable_avg),
    FIELD(CfsRq, "sh", "CG-3", o.group->shares),
};

s64 task_number(const Entity *se) { return se == nullptr ? -1 : se->task->id.value; }

// What avg_vruntime() would return, without moving zero_vruntime.
s64 average_of(const CfsRq &cfs) {
    CfsRq copy = cfs;
    return static_cast<s64>(avg_vruntime(copy));
}

constexpr std::array root_queue_fields = {
    FIELD(Rq, "cur", "EEVDF-53", o.curr == nullptr ? -1 : o.curr->id.value),
    FIELD(Rq, "z", "EEVDF-32", o.cfs.zero_vruntime),
    FIELD(Rq, "S", "EEVDF-30", o.cfs.sum_w_vruntime),
    FIELD(Rq, "W", "EEVDF-30", o.cfs.sum_weight),
    FIELD(Rq, "V", "EEVDF-32", average_of(o.cfs)),
    FIELD(Rq, "hq", "EEVDF-71", o.cfs.h_nr_queued),
    FIELD(Rq, "hr", "EEVDF-71", o.cfs.h_nr_runnable),
    FIELD(Rq, "hi", "EEVDF-71", o.cfs.h_nr_idle),
    FIELD(Rq, "nr", "EEVDF-70", o.nr_running),
    FIELD(Rq, "nx", "EEVDF-136", task_number(o.cfs.next)),
    FIELD(Rq, "lw", "EEVDF-72", o.cfs.load_weight),
};

constexpr std::array root_average_fields = {
    FIELD(Rq, "ct", "PELT-41", o.clock_task),
    FIELD(Rq, "cp", "PELT-42", o.clock_pelt),
    FIELD(Rq, "lost", "PELT-44", o.lost_idle_time),
    FIELD(Rq, "lut", "PELT-5", o.cfs.avg.last_update_time),
    FIELD(Rq, "ls", "PELT-6", o.cfs.avg.load_sum),
    FIELD(Rq, "rs", "PELT-6", o.cfs.avg.runnable_sum),
    FIELD(Rq, "us", "PELT-6", o.cfs.avg.util_sum),
    FIELD(Rq, "pc", "PELT-6", o.cfs.avg.period_contrib),
    FIELD(Rq, "la", "PELT-7", o.cfs.avg.load_avg),
    FIELD(Rq, "ra", "PELT-7", o.cfs.avg.runnable_avg),
    FIELD(Rq, "ua", "PELT-7", o.cfs.avg.util_avg),
    FIELD(Rq, "ue", "PELT-72", o.cfs.avg.util_est),
    FIELD(Rq, "rnr", "PELT-33", o.cfs.removed.nr),
    FIELD(Rq, "rl", "PELT-33", o.cfs.removed.load_avg),
    FIELD(Rq, "rr", "PELT-33", o.cfs.removed.runnable_avg),
    FIELD(Rq, "ru", "PELT-33", o.cfs.removed.util_avg),
};

constexpr std::array hrtick_fields = {
    FIELD(Rq, "on", "EEVDF-111", o.hrtick_queued),
    FIELD(Rq, "exp", "EEVDF-111", o.hrtick_expiry),
};

#undef FIELD

// The values that have been written so far for one owner.
template <std::size_t N> struct Known {
    std::array<bool, N> known{};
    std::array<s64, N> value{};

    template <class Owner> void merge(const std::array<Field<Owner>, N> &fields, const Json &changes) {
        for (const auto &[key, change] : changes.items()) {
            std::size_t i = 0;
            while (i < N && fields[i].key != key)
                i++;
            if (i == N)
                throw InputError("unknown field \"" + key + "\", expected one of README-eevdf-pelt");
            known[i] = true;
            value[i] = number(change);
        }
    }
    template <class Owner>
    void compare(const std::array<Field<Owner>, N> &fields, const Owner &owner, const std::string &whose,
                 Difference &difference) const {
        for (std::size_t i = 0; i < N && !difference; i++)
            if (known[i])
                difference.expect(fields[i].rule, whose + std::string(fields[i].key), fields[i].get(owner), value[i]);
    }
};

struct KnownGroup {
    Known<group_entity_fields.size()> entity;
    Known<group_queue_fields.size()> queue;
};

class Sequence {
  public:
    explicit Sequence(const Json &header) : s_(scheduler_of(header)), rq_(s_->rq(here)) {}

    // Performs the operation and returns the first difference of the state after it.
    Difference step(const Json &line);

  private:
    Task &task(const Json &line) { return s_->task(TaskId{line.at("k").get<s64>()}); }
    TaskGroup *group(s64 number) { return number == 0 ? nullptr : &s_->groups[static_cast<std::size_t>(number - 1)]; }
    void perform(const Json &line, Difference &difference);
    void fork(const Json &line);
    void arrive(Task &p, const Json &fields);
    void compare(const Json &line, Difference &difference);

    std::unique_ptr<Scheduler> s_;
    Rq &rq_;
    u32 resched_before_ = 0;
    u32 lazy_before_ = 0;
    u32 hrtick_before_ = 0;
    std::vector<Known<task_fields.size()>> tasks_;
    std::vector<KnownGroup> groups_;
};

void Sequence::fork(const Json &line) {
    TaskInit init;
    init.policy = static_cast<Policy>(line.at("pol").get<int>());
    init.nice = line.at("nice").get<int>();
    init.slice = line.at("cslice").get<u64>();
    init.cpus_allowed = CpuMask::range(here, elsewhere);
    init.group = group(line.at("grp").get<s64>());
    Task &p = sched_fork(*s_, init, nullptr, here);
    if (p.id.value != line.at("k").get<s64>())
        throw InputError("task " + line.at("k").dump() + " is forked out of order, expected " + std::to_string(p.id));
    p.se.h_load = line.at("hw0").get<u64>();
    p.se.deadline = static_cast<u64>(number(line.at("d0")));
    p.se.vprot = static_cast<u64>(number(line.at("vp0")));
    activate_new_task(*s_, p, here, line.at("wf").get<u32>());
}

// A task comes from another CPU with these fields.
void Sequence::arrive(Task &p, const Json &in) {
    const auto get = [&in](const char *key) { return static_cast<u64>(number(in.at(key))); };
    Entity &se = p.se;
    se.vruntime = get("v");
    se.deadline = get("d");
    se.vlag = number(in.at("vlag"));
    se.slice = get("slice");
    se.vprot = get("vprot");
    se.custom_slice = get("cs") != 0;
    se.sched_delayed = get("dl") != 0;
    se.rel_deadline = get("rd") != 0;
    se.h_load = get("hw");
    se.load_weight = get("w");
    se.exec_start = get("ex");
    se.sum_exec_runtime = get("sx");
    se.prev_sum_exec_runtime = get("psx");
    p.on_rq = static_cast<OnRq>(get("pon"));
    p.cpu = p.wake_cpu = here;
    set_task_rq(*s_, p, rq_);
    se.avg = {get("lut"), get("ls"), get("rs"), static_cast<u32>(get("us")), static_cast<u32>(get("pc")),
              get("la"),  get("ra"), get("ua"), static_cast<u32>(get("ue"))};
}

void Sequence::perform(const Json &line, Difference &difference) {
    Scheduler &s = *s_;
    const auto op = line.at("op").get<std::string>();
    if (op == "fork") {
        fork(line);
    } else if (op == "tick") {
        sched_tick(s, here);
    } else if (op == "hrtick") {
        hrtick(s, here);
    } else if (op == "sched") {
        schedule(s, here);
    } else if (op == "block") {
        schedule(s, here, line.at("sp").get<int>() != 0 ? TaskState::special : TaskState::sleeping);
    } else if (op == "exit") {
        schedule(s, here, TaskState::dead);
    } else if (op == "wake") {
        Task &p = task(line);
        if (p.on_rq == OnRq::queued) {
            ttwu_runnable(s, p, line.at("wf").get<u32>());
        } else {
            update_rq_clock(s, rq_);
            ttwu_do_activate(s, rq_, p, line.at("wf").get<u32>());
        }
    } else if (op == "wake_away") {
        Task &p = task(line);
        p.state = TaskState::waking;
        set_task_cpu(s, p, elsewhere);
    } else if (op == "wake_in") {
        Task &p = task(line);
        arrive(p, line.at("in"));
        update_rq_clock(s, rq_);
        ttwu_do_activate(s, rq_, p, line.at("wf").get<u32>() | WF_MIGRATED);
    } else if (op == "mig_out") {
        Task &p = task(line);
        update_rq_clock(s, rq_);
        deactivate_task(s, rq_, p);
        set_task_cpu(s, p, elsewhere);
    } else if (op == "mig_in") {
        Task &p = task(line);
        arrive(p, line.at("in"));
        update_rq_clock(s, rq_);
        activate_task(s, rq_, p, 0);
        wakeup_preempt(s, rq_, p, 0);
    } else if (op == "nice") {
        set_user_nice(s, task(line), line.at("nice").get<int>());
    } else if (op == "attr") {
        set_scheduler(s, task(line), static_cast<Policy>(line.at("pol").get<int>()), line.at("nice").get<int>(),
                      line.at("runtime").get<u64>());
    } else if (op == "yield") {
        yield_task_fair(s, rq_);
    } else if (op == "yield_to") {
        difference.expect("EEVDF-131", "ret", yield_to(s, here, task(line), false), number(line.at("ret")));
    } else if (op == "blocked") {
        bool decayed = false;
        update_rq_clock(s, rq_);
        const bool done = update_blocked_averages(s, rq_, &decayed);
        difference.expect("PELT-25", "ret", decayed, number(line.at("ret")));
        difference.expect("PELT-27", "done", done, number(line.at("done")));
    } else if (op == "base_slice") {
        s.tunables.base_slice = line.at("v").get<u64>();
    } else if (op == "newgroup") {
        sched_create_group(s, group(line.at("parent").get<s64>()));
    } else if (op == "shares") {
        const bool done = sched_group_set_shares(s, *group(line.at("grp").get<s64>()), line.at("shares").get<u64>());
        difference.expect("CG-5", "ret", done ? 0 : -22, line.contains("ret") ? number(line["ret"]) : 0);
    } else if (op == "gidle") {
        sched_group_set_idle(s, *group(line.at("grp").get<s64>()), line.at("idle").get<int>() != 0);
    } else if (op == "move") {
        sched_move_task(s, task(line), group(line.at("grp").get<s64>()));
    } else if (op == "mode") {
        s.tunables.cgroup_mode = static_cast<CgroupMode>(line.at("mode").get<int>());
    } else if (op == "tgext") {
        TaskGroup &g = *group(line.at("grp").get<s64>());
        g.load_avg += static_cast<u64>(number(line.at("load")));
        g.runnable_avg += static_cast<u64>(number(line.at("runnable")));
    } else if (op == "h_load") {
        difference.expect("PELT-81", "ret", static_cast<s64>(task_h_load(s, task(line))), number(line.at("ret")));
    } else {
        throw InputError("unknown operation \"" + op + "\", expected one of README-eevdf-pelt");
    }
}

void Sequence::compare(const Json &line, Difference &difference) {
    const auto compare_all = [&](const auto &fields, const char *key) {
        Known<std::tuple_size_v<std::remove_cvref_t<decltype(fields)>>> now;
        if (!line.contains(key))
            return;
        Json changes = line[key];
        changes.erase("n"); // a count of calls, below
        now.merge(fields, changes);
        now.compare(fields, rq_, std::string(key) + ".", difference);
    };
    compare_all(root_queue_fields, "q");

    const Json &r = line.at("r");
    difference.expect("EEVDF-100", "r.lz", rq_.calls.resched_lazy - lazy_before_, number(r.at("lz")));
    difference.expect("EEVDF-100", "r.im", rq_.calls.resched - resched_before_, number(r.at("im")));
    const int flags = (rq_.need_resched_lazy ? 1 : 0) | (rq_.need_resched ? 2 : 0);
    difference.expect("EEVDF-100", "r.fl", flags, number(r.at("fl")));

    if (line.contains("e"))
        for (const auto &[key, changes] : line["e"].items()) {
            const auto k = static_cast<std::size_t>(std::stoul(key));
            tasks_.resize(std::max(tasks_.size(), k + 1));
            tasks_[k].merge(task_fields, changes);
        }
    for (std::size_t k = 0; k < tasks_.size() && !difference; k++)
        tasks_[k].compare(task_fields, s_->tasks[k], "e." + std::to_string(k) + ".", difference);

    compare_all(root_average_fields, "p");
    if (line.contains("g"))
        for (const auto &[key, changes] : line["g"].items()) {
            const auto k = static_cast<std::size_t>(std::stoul(key));
            groups_.resize(std::max(groups_.size(), k + 1));
            groups_[k].entity.merge(group_entity_fields, changes.at("ge"));
            groups_[k].queue.merge(group_queue_fields, changes.at("gq"));
        }
    for (std::size_t k = 1; k < groups_.size() && !difference; k++) {
        const TaskGroup &g = s_->groups[k - 1];
        groups_[k].queue.compare(group_queue_fields, g.queues[0], "gq." + std::to_string(k) + ".", difference);
        groups_[k].entity.compare(group_entity_fields, g.entities[0], "ge." + std::to_string(k) + ".", difference);
    }

    compare_all(hrtick_fields, "h");
    if (line.contains("h"))
        difference.expect("EEVDF-110", "h.n", rq_.calls.hrtick - hrtick_before_, number(line["h"].at("n")));

    if (line.contains("tr")) {
        const Entity *se = rq_.cfs.timeline.first();
        for (const Json &k : line["tr"]) {
            difference.expect("EEVDF-51", "tree order", task_number(se), number(k));
            if (difference)
                return;
            se = Timeline::next(*se);
        }
        difference.expect("EEVDF-51", "task after the tree's last", task_number(se), -1);
    }
}

Difference Sequence::step(const Json &line) {
    s_->now = line.at("t").get<u64>();
    s_->jiffies = s_->now * s_->tunables.hz / ns_per_s;
    resched_before_ = rq_.calls.resched;
    lazy_before_ = rq_.calls.resched_lazy;
    hrtick_before_ = rq_.calls.hrtick;
    s_->effects.clear();
    Difference difference;
    perform(line, difference);
    compare(line, difference);
    return difference;
}

} // namespace

void run_sequences(const Json &header, LineReader &rest, Report &report) {
    std::unique_ptr<Sequence> sequence = std::make_unique<Sequence>(header);
    std::string name = "seq " + header["seq"].dump();
    bool lost = false; // a difference was seen: the model is in another state
    std::string text;
    while (rest.next(text)) {
        const Json line = Json::parse(text);
        if (line.contains("end"))
            continue;
        if (line.contains("seq")) {
            sequence = std::make_unique<Sequence>(line);
            name = "seq " + line["seq"].dump();
            lost = false;
            continue;
        }
        const std::string where = name + " op " + line.at("i").dump() + " " + line.at("op").get<std::string>();
        if (lost) {
            report.different(where, "-", "follows a difference");
            continue;
        }
        if (const Difference difference = sequence->step(line)) {
            report.different(where, difference.rule, difference.text);
            lost = true;
        } else {
            report.equal();
        }
    }
}

} // namespace fairground::vectors
