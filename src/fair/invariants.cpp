// SPDX-License-Identifier: GPL-2.0-only
#include "fair/invariants.h"

#ifdef FAIRGROUND_CHECKED

#include "fair/cgroup.h"
#include "fair/eevdf.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace fairground::fair {

namespace {

class Checker {
  public:
    Checker(const Scheduler &s, const Rq &rq) : s_(s), rq_(rq), root_(rq.cfs) {}
    void run() {
        check_timeline();
        check_eligible();
        check_current();
        check_task_list();
        check_counters();
        check_rest();
    }

  private:
    // What the queued tasks add up to in one queue.
    struct Counted {
        const CfsRq *cfs;
        u64 load_weight = 0;
        u32 nr_queued = 0;
        u32 queued = 0;
        u32 runnable = 0;
        u32 idle = 0;
    };

    void require(bool holds, const char *what) const {
        if (holds)
            return;
        std::fprintf(stderr, "fairground: invariant broken on CPU %d at %llu ns: %s\n", rq_.cpu.value,
                     static_cast<unsigned long long>(s_.now), what);
        std::abort();
    }
    void equal(s64 found, s64 expected, const char *what) const {
        if (found != expected)
            require(false, (std::string(what) + " is " + std::to_string(found) + ", a recount gives " +
                            std::to_string(expected))
                               .c_str());
    }

    u32 check_subtree(const Entity *se, const Entity *parent) const { // EEVDF-51
        if (se == nullptr)
            return 0;
        const TimelineNode &node = se->node;
        require(node.parent == parent, "a timeline node does not point at its parent");
        const u32 left = check_subtree(node.left, se);
        const u32 right = check_subtree(node.right, se);
        require(left <= right + 1 && right <= left + 1, "the timeline is out of balance");
        u64 min_vruntime = se->vruntime;
        u64 min_slice = se->slice;
        u64 max_slice = se->slice;
        for (const Entity *child : {node.left, node.right}) {
            if (child == nullptr)
                continue;
            if (vtime_before(child->node.min_vruntime, min_vruntime))
                min_vruntime = child->node.min_vruntime;
            min_slice = std::min(min_slice, child->node.min_slice);
            max_slice = std::max(max_slice, child->node.max_slice);
        }
        require(node.min_vruntime == min_vruntime, "the minimum vruntime of a timeline subtree is wrong");
        require(node.min_slice == min_slice && node.max_slice == max_slice,
                "the minimum or maximum slice of a timeline subtree is wrong");
        require(node.rank == std::max(left, right) + 1, "the height of a timeline subtree is wrong");
        return node.rank;
    }

    void check_timeline() {
        check_subtree(root_.timeline.root(), nullptr);
        u64 sum = 0;
        u64 weight = 0;
        const Entity *before = nullptr;
        for (const Entity *se = root_.timeline.first(); se != nullptr; se = Timeline::next(*se)) {
            require(before == nullptr || !vtime_before(se->deadline, before->deadline), "the timeline is out of order");
            require(se->on_rq && se != root_.curr, "the timeline holds an entity that is not queued or is running");
            const u64 w = root_.sum_shift == 0 ? se->h_load : std::max<u64>(2, se->h_load >> root_.sum_shift);
            sum += (se->vruntime - root_.zero_vruntime) * w;
            weight += w;
            in_timeline_++;
            before = se;
        }
        equal(root_.sum_w_vruntime, static_cast<s64>(sum), "sum_w_vruntime"); // EEVDF-30
        equal(static_cast<s64>(root_.sum_weight), static_cast<s64>(weight), "sum_weight");
    }

    void check_eligible() const { // EEVDF-50
        bool some = root_.h_nr_queued == 0 ||
                    (root_.curr != nullptr && root_.curr->on_rq && entity_eligible(root_, *root_.curr));
        for (const Entity *se = root_.timeline.first(); se != nullptr && !some; se = Timeline::next(*se))
            some = entity_eligible(root_, *se);
        require(some, "no queued entity is eligible");
    }

    void check_current() const {
        const Task *curr = rq_.curr;
        require((curr != nullptr) == (rq_.current_class == SchedClass::fair), "curr and current_class disagree");
        require(root_.curr == (curr == nullptr ? nullptr : &curr->se), "rq.curr and cfs.curr disagree");
        if (curr == nullptr) {
            require(root_.h_curr == nullptr, "h_curr is set without a running task");
            return;
        }
        require(curr->on_cpu && curr->cpu == rq_.cpu, "the running task is not on this CPU");
        for (const Entity *se = &curr->se; se != nullptr; se = se->parent)
            require(se->cfs_rq->h_curr == se, "h_curr is not the running task's path");
    }

    Counted &counted(const CfsRq *cfs) {
        const auto at = std::ranges::find(counts_, cfs, &Counted::cfs);
        return at != counts_.end() ? *at : counts_.emplace_back(Counted{cfs});
    }

    void check_task_list() {
        const Task *before = nullptr;
        counted(&root_);
        for (const Task *p = rq_.tasks_head; p != nullptr; p = p->list_next) {
            require(p->list_prev == before, "cfs_tasks is not linked both ways");
            require(p->se.on_rq && p->cpu == rq_.cpu, "cfs_tasks holds a task that is not queued here");
            require(!p->se.sched_delayed || p->se.vlag <= 0 || !s_.features[Feature::DELAY_ZERO],
                    "a delayed task has positive lag"); // EEVDF-42
            before = p;
            bool idle = p->policy == Policy::idle;
            bool is_new = true; // this entity has not been counted in its queue yet
            for (const Entity *se = &p->se; se != nullptr; se = se->parent) {
                Counted &count = counted(se->cfs_rq);
                const bool queue_was_empty = count.queued == 0;
                if (is_new) {
                    count.load_weight += se->load_weight;
                    count.nr_queued++;
                }
                is_new = queue_was_empty;
                count.queued++;
                count.runnable += p->se.sched_delayed ? 0 : 1;
                count.idle += idle ? 1 : 0;
                idle = idle || se->cfs_rq->idle;
            }
        }
        require(rq_.tasks_tail == before, "the tail of cfs_tasks is not its last task");
    }

    void check_counters() const {
        for (const Counted &count : counts_) {
            const CfsRq &cfs = *count.cfs;
            equal(static_cast<s64>(cfs.load_weight), static_cast<s64>(count.load_weight), "load.weight"); // CG-2
            equal(cfs.nr_queued, count.nr_queued, "nr_queued");
            equal(cfs.h_nr_queued, count.queued, "h_nr_queued");
            equal(cfs.h_nr_runnable, count.runnable, "h_nr_runnable"); // EEVDF-81
            equal(cfs.h_nr_idle, count.idle, "h_nr_idle");
        }
        const u32 running = root_.curr != nullptr && root_.curr->on_rq ? 1 : 0;
        equal(root_.h_nr_queued, in_timeline_ + running, "h_nr_queued");
        equal(rq_.nr_running, root_.h_nr_queued + (rq_.stopper_queued ? 1 : 0), "nr_running");
    }

    void check_rest() const {
        require(rq_.clock_task <= rq_.clock, "clock_task is ahead of the rq clock");
        require(root_.next == nullptr || (root_.next->on_rq && !root_.next->sched_delayed),
                "the next buddy is not queued or is delayed"); // EEVDF-135
        require(rq_.wake_head == nullptr || rq_.ttwu_pending, "the wake list is not empty and nothing is pending");
        require((rq_.wake_head == nullptr) == (rq_.wake_tail == nullptr), "the wake list has lost an end");
        require(!rq_.hrtick_queued || rq_.hrtick_expiry != 0, "the hrtick is queued for no time");
    }

    const Scheduler &s_;
    const Rq &rq_;
    const CfsRq &root_;
    u32 in_timeline_ = 0;
    std::vector<Counted> counts_;
};

} // namespace

void check_rq(const Scheduler &s, const Rq &rq) { Checker(s, rq).run(); }

} // namespace fairground::fair

#endif
