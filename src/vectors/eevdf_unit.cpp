// SPDX-License-Identifier: GPL-2.0-only
//
// Single functions of EEVDF on random queues. A line gives a queue and the results of many calls, each of which
// starts from the given state; a line is one case.
#include "base/error.h"
#include "fair/eevdf.h"
#include "vectors/eevdf_setup.h"

#include <vector>

namespace fairground::vectors {

namespace {

using namespace fair;

constexpr std::size_t newcomer = 64; // number of the entity that joins

u64 unsigned_number(const Json &value) { return static_cast<u64>(number(value)); }

// The queue of one line, built afresh for every call.
class Queue {
  public:
    Queue(Scheduler &s, const Json &line) : rq(s.rq(here)), cfs(rq.cfs), tasks_(line.at("es").size()) {
        cfs = CfsRq{};
        cfs.rq = &rq;
        cfs.zero_vruntime = unsigned_number(line.at("z"));
        const s64 cur = number(line.at("cur"));
        for (std::size_t i = 0; i < tasks_.size(); i++) {
            const Json &values = line["es"][i];
            Entity &se = prepare(tasks_[i], i);
            se.vruntime = unsigned_number(values[0]);
            se.deadline = unsigned_number(values[1]);
            se.vlag = number(values[2]);
            se.slice = unsigned_number(values[3]);
            se.h_load = unsigned_number(values[4]);
            se.vprot = unsigned_number(values[5]);
            se.custom_slice = true;
            se.on_rq = true;
            cfs.h_nr_queued++;
            if (static_cast<s64>(i) == cur)
                cfs.curr = &se;
            else
                enqueue_timeline(s, cfs, se);
        }
        if (const s64 next = number(line.at("next")); next >= 0)
            cfs.next = &entity(static_cast<std::size_t>(next));
    }

    Entity &entity(std::size_t i) { return tasks_.at(i).se; }
    Entity &add_newcomer() { return prepare(newcomer_, newcomer); }

    // Sums and zero_vruntime under the names of the line.
    void expect_sums(Difference &difference, const std::string &what, const Json &values) const {
        difference.expect("EEVDF-32", what + ".z", static_cast<s64>(cfs.zero_vruntime), number(values.at("z")));
        difference.expect("EEVDF-31", what + ".S", cfs.sum_w_vruntime, number(values.at("S")));
        difference.expect("EEVDF-30", what + ".W", static_cast<s64>(cfs.sum_weight), number(values.at("W")));
    }
    void expect_tree(Difference &difference, const std::string &what, const Json &tree) const {
        const Entity *se = cfs.timeline.first();
        for (const Json &k : tree) {
            difference.expect("EEVDF-51", what, se == nullptr ? -1 : se->task->id.value, number(k));
            if (difference)
                return;
            se = Timeline::next(*se);
        }
        difference.expect("EEVDF-51", what + " after its last", se == nullptr ? -1 : se->task->id.value, -1);
    }

    Rq &rq;
    CfsRq &cfs;

  private:
    Entity &prepare(Task &task, std::size_t i) {
        task.id = TaskId{static_cast<s64>(i)};
        task.se.task = &task;
        task.se.cfs_rq = &cfs;
        return task.se;
    }

    std::vector<Task> tasks_;
    Task newcomer_;
};

void expect_entity(Difference &difference, std::string_view rule, const std::string &what, const Entity &se,
                   const Json &out) {
    difference.expect(rule, what + ".v", static_cast<s64>(se.vruntime), number(out.at("v")));
    difference.expect(rule, what + ".d", static_cast<s64>(se.deadline), number(out.at("d")));
    difference.expect(rule, what + ".vlag", se.vlag, number(out.at("vlag")));
    difference.expect(rule, what + ".vprot", static_cast<s64>(se.vprot), number(out.at("vprot")));
    difference.expect(rule, what + ".slice", static_cast<s64>(se.slice), number(out.at("slice")));
    difference.expect(rule, what + ".rd", se.rel_deadline, number(out.at("rd")));
    difference.expect(rule, what + ".hw", static_cast<s64>(se.h_load), number(out.at("hw")));
}

// What only reads the queue.
void check_readers(Scheduler &s, const Json &line, Difference &difference) {
    Queue queue(s, line);
    const CfsRq &cfs = queue.cfs;
    queue.expect_sums(difference, "state", line);
    queue.expect_tree(difference, "tree", line.at("tree"));
    for (std::size_t i = 0; i < line.at("elig").size(); i++)
        difference.expect("EEVDF-50", "elig", entity_eligible(cfs, queue.entity(i)), number(line["elig"][i]));
    difference.expect("EEVDF-44", "min_slice", static_cast<s64>(cfs_rq_min_slice(cfs)), number(line.at("min_slice")));
    difference.expect("EEVDF-41", "max_slice", static_cast<s64>(cfs_rq_max_slice(cfs)), number(line.at("max_slice")));
    for (const bool protect : {true, false}) {
        const Entity *pick = pick_eevdf(s, cfs, protect).entity;
        const char *key = protect ? "pick1" : "pick0";
        difference.expect("EEVDF-53", key, pick == nullptr ? -1 : pick->task->id.value, number(line.at(key)));
    }
    const u64 average = unsigned_number(line.at("V"));
    constexpr s64 offsets[] = {-1, 0, 1, -1000, 1000};
    for (std::size_t i = 0; i < std::size(offsets); i++)
        difference.expect("EEVDF-50", "probe", vruntime_eligible(cfs, average + static_cast<u64>(offsets[i])),
                          number(line.at("probe").at(i)));
    if (line.contains("inelig"))
        difference.expect("EEVDF-60", "inelig", static_cast<s64>(ineligible_vruntime(cfs)), number(line["inelig"]));
    if (line.contains("protected"))
        difference.expect("EEVDF-61", "protected", protect_slice(*cfs.curr), number(line["protected"]));
}

void check_average(Scheduler &s, const Json &line, Difference &difference) {
    Queue queue(s, line);
    const Json &avg = line.at("avg");
    difference.expect("EEVDF-32", "V", static_cast<s64>(avg_vruntime(queue.cfs)), number(line.at("V")));
    difference.expect("EEVDF-32", "avg.V", static_cast<s64>(queue.cfs.zero_vruntime), number(avg.at("V")));
    queue.expect_sums(difference, "avg", avg);
}

void check_protection(Scheduler &s, const Json &line, Difference &difference) {
    if (!line.contains("set_protect"))
        return;
    Queue set(s, line);
    set_protect_slice(s, set.cfs, *set.cfs.curr);
    difference.expect("EEVDF-60", "set_protect", static_cast<s64>(set.cfs.curr->vprot), number(line["set_protect"]));

    Queue update(s, line);
    update_protect_slice(update.cfs, *update.cfs.curr);
    const Json &updated = line.at("update_protect");
    difference.expect("EEVDF-62", "update_protect.vprot", static_cast<s64>(update.cfs.curr->vprot),
                      number(updated.at("vprot")));
    update.expect_sums(difference, "update_protect", updated);

    Queue cancel(s, line);
    cancel_protect_slice(*cancel.cfs.curr);
    difference.expect("EEVDF-63", "cancel_protect", static_cast<s64>(cancel.cfs.curr->vprot),
                      number(line.at("cancel_protect")));
}

void check_place(Scheduler &s, const Json &line, Difference &difference) {
    Queue queue(s, line);
    const Json &place = line.at("place");
    Entity &se = queue.add_newcomer();
    se.vlag = number(place.at("vlag"));
    se.h_load = unsigned_number(place.at("w"));
    se.slice = unsigned_number(place.at("slice"));
    se.custom_slice = number(place.at("cs")) != 0;
    se.rel_deadline = number(place.at("rd")) != 0;
    se.deadline = unsigned_number(place.at("d"));
    u32 flags = 0;
    if (number(place.at("queued")) != 0) {
        flags |= ENQUEUE_QUEUED;
        queue.cfs.h_nr_queued++;
    }
    if (number(place.at("initial")) != 0)
        flags |= ENQUEUE_INITIAL;
    place_entity(s, queue.cfs, se, flags);
    expect_entity(difference, "EEVDF-37", "place.out", se, place.at("out"));
    queue.expect_sums(difference, "place", place);
    enqueue_timeline(s, queue.cfs, se);
    difference.expect("EEVDF-30", "place.S2", queue.cfs.sum_w_vruntime, number(place.at("S2")));
    difference.expect("EEVDF-30", "place.W2", static_cast<s64>(queue.cfs.sum_weight), number(place.at("W2")));
    queue.expect_tree(difference, "place.tree", place.at("tree"));
}

void check_lag(Scheduler &s, const Json &line, Difference &difference) {
    Queue queue(s, line);
    const Json &lag = line.at("lag");
    Entity &se = queue.entity(lag.at("k").get<std::size_t>());
    se.sched_delayed = number(lag.at("delayed")) != 0;
    se.vlag = number(lag.at("vlag"));
    difference.expect("EEVDF-42", "lag.ret", update_entity_lag(s, queue.cfs, se), number(lag.at("ret")));
    difference.expect("EEVDF-42", "lag.out", se.vlag, number(lag.at("out")));
    queue.expect_sums(difference, "lag", lag);
}

void check_reweight(Scheduler &s, const Json &line, Difference &difference) {
    Queue queue(s, line);
    const Json &queued = line.at("reweight");
    Entity &se = queue.entity(queued.at("k").get<std::size_t>());
    reweight_eevdf(s, queue.cfs, se, unsigned_number(queued.at("w2")), true);
    expect_entity(difference, "EEVDF-120", "reweight.out", se, queued.at("out"));
    queue.expect_sums(difference, "reweight", queued);
    queue.expect_tree(difference, "reweight.tree", queued.at("tree"));

    const Json &off = line.at("reweight_off");
    Entity &other = queue.add_newcomer();
    other.vlag = number(off.at("vlag"));
    other.rel_deadline = number(off.at("rd")) != 0;
    other.deadline = unsigned_number(off.at("d"));
    other.h_load = unsigned_number(off.at("w"));
    reweight_eevdf(s, queue.cfs, other, unsigned_number(off.at("w2")), false);
    difference.expect("EEVDF-120", "reweight_off.vlag", other.vlag, number(off.at("vlag_out")));
    difference.expect("EEVDF-120", "reweight_off.d", static_cast<s64>(other.deadline), number(off.at("d_out")));
}

Difference check_unit(Scheduler &s, const Json &line) {
    Difference difference;
    const auto unit = line.at("u").get<std::string>();
    if (unit == "calc_delta") {
        Entity se;
        se.h_load = unsigned_number(line.at("w"));
        difference.expect("EEVDF-5", "calc_delta_fair",
                          static_cast<s64>(calc_delta_fair(unsigned_number(line.at("d")), se)), number(line.at("r")));
    } else if (unit == "state") {
        check_readers(s, line, difference);
        check_average(s, line, difference);
        check_protection(s, line, difference);
        check_place(s, line, difference);
        check_lag(s, line, difference);
        check_reweight(s, line, difference);
    } else {
        throw InputError("unknown unit \"" + unit + "\", expected calc_delta or state");
    }
    return difference;
}

} // namespace

void run_eevdf_units(const Json &header, LineReader &rest, Report &report) {
    std::unique_ptr<Scheduler> s = scheduler_of(header);
    std::string text;
    while (rest.next(text)) {
        const Json line = Json::parse(text);
        if (line.contains("end"))
            continue;
        if (line.contains("unit")) {
            s = scheduler_of(line);
            continue;
        }
        if (const Difference difference = check_unit(*s, line))
            report.different("line " + std::to_string(rest.line_number()), difference.rule, difference.text);
        else
            report.equal();
    }
}

} // namespace fairground::vectors
