// SPDX-License-Identifier: GPL-2.0-only
#include "kstep/harness.h"

#include "base/lines.h"
#include "fair/load_balance.h"
#include "fair/nohz.h"
#include "fair/pelt.h"

namespace fairground::kstep {

using namespace fair;

namespace {

constexpr Time epoch = 10 * ns_per_s; // kSTEP's clock at timestamp 0

CpuMask pair_of(CpuId cpu, const std::vector<Pair> &pairs) {
    for (const Pair &pair : pairs)
        if (pair.a == cpu || pair.b == cpu)
            return CpuMask::of(pair.a) | CpuMask::of(pair.b);
    return CpuMask::of(cpu);
}

} // namespace

Machine machine(int cpus, const std::vector<Pair> &smt, const std::vector<Pair> &clusters) {
    Machine m;
    m.name = "kstep";
    m.arch = Arch::x86;
    m.cpus.resize(static_cast<std::size_t>(cpus));
    m.nodes.push_back({0, CpuMask::range(0, cpus - 1)});
    m.distance = {{10}};
    for (int i = 0; i < cpus; i++) {
        Cpu &cpu = m.cpus[static_cast<std::size_t>(i)];
        const CpuId id{i};
        cpu.present = cpu.online = true;
        cpu.node = NodeId{0};
        cpu.smt = pair_of(id, smt);
        cpu.core = cpu.smt.first();
        cpu.l2 = cpu.smt | pair_of(id, clusters);
        cpu.llc = cpu.package_mask = CpuMask::range(0, cpus - 1);
    }
    return m;
}

Harness::Harness(const Machine &machine, bool isolated)
    : test_cpus_(CpuMask::range(1, static_cast<int>(machine.cpus.size()) - 1)) {
    Tunables tunables;
    tunables.hz = 1000;
    tunables.lazy_preempt = false; // PREEMPT_NONE
    tunables.preemptible = false;
    update_sched_scaling(tunables, static_cast<int>(machine.cpus.size()));
    Features features;
    features.set(Feature::HRTICK, false);
    s_ = std::make_unique<Scheduler>(build_domains(machine, {isolated ? test_cpus_ : machine.online()}),
                                     machine.online(), features, tunables);
    s_->now = epoch;
    s_->max_load_balance_interval = u64{tunables.hz} * static_cast<u64>(machine.interval_cpus()) / 10;
    for (Rq &rq : s_->rqs) {
        rq.cfs.zero_vruntime = 0;
        update_rq_clock(*s_, rq);
    }
}

Task &Harness::create(int nice, bool kthread) {
    TaskInit init;
    init.nice = nice;
    init.kthread = kthread;
    init.cpus_allowed = test_cpus_;
    Task &task = sched_fork(*s_, init, nullptr, CpuId{1});
    task.cpu = task.wake_cpu = CpuId{1};
    task.on_rq = OnRq::no;
    task.state = TaskState::sleeping;
    return task;
}

void Harness::wake(Task &task, u32 flags, const Task *waker) {
    Waker context;
    context.cpu = waker != nullptr ? waker->cpu : CpuId{0};
    context.current = waker;
    context.in_task = true;
    const Wake wake = try_to_wake_up(*s_, task, flags, context);
    if (wake.result == WakeResult::queued)
        sched_ttwu_pending(*s_, wake.cpu);
    settle();
}

void Harness::pause(Task &task) {
    schedule(*s_, task.cpu, TaskState::sleeping);
    settle();
}

void Harness::allow(Task &task, const std::string &cpus) {
    const CpuMask mask = parse_list(cpus).value();
    if (set_cpus_allowed(*s_, task, mask)) {
        // Running where it may not be: the stopper moves it.
        const CpuId from = task.cpu;
        stopper_queue(*s_, from);
        schedule(*s_, from);
        move_queued_task(*s_, task, mask.first());
        stopper_done(*s_, from);
        schedule(*s_, from);
    }
    settle();
}

Task &Harness::fork(Task &task) {
    TaskInit init;
    init.cpus_allowed = task.cpus_allowed;
    Task &child = sched_fork(*s_, init, &task, task.cpu);
    wake_up_new_task(*s_, child, {task.cpu, &task, true, false});
    settle();
    return child;
}

void Harness::reschedule(CpuId cpu) {
    if (rq(cpu).need_resched || rq(cpu).need_resched_lazy)
        schedule(*s_, cpu);
}

void Harness::settle() {
    while (!s_->effects.empty()) {
        const std::vector<Effect> effects = std::exchange(s_->effects, {});
        for (const Effect &effect : effects) {
            switch (effect.kind) {
            case EffectKind::resched:
            case EffectKind::resched_lazy:
                reschedule(effect.cpu);
                break;
            case EffectKind::balance_softirq:
                softirqs_.push_back({timestamp_, effect.cpu});
                sched_balance_softirq(*s_, effect.cpu);
                reschedule(effect.cpu);
                break;
            case EffectKind::nohz_kick:
                nohz_csd_func(*s_, rq(effect.cpu));
                break;
            case EffectKind::active_push:
                stopper_queue(*s_, effect.cpu);
                schedule(*s_, effect.cpu);
                active_load_balance_cpu_stop(*s_, effect.cpu);
                stopper_done(*s_, effect.cpu);
                schedule(*s_, effect.cpu);
                break;
            case EffectKind::hrtick:
            case EffectKind::hrtick_cancel:
                break;
            }
        }
    }
}

void Harness::tick() {
    if (on_tick_begin)
        on_tick_begin();
    timestamp_++;
    s_->now += ns_per_ms;
    s_->jiffies++;
    for (const CpuId cpu : test_cpus_) {
        sched_tick(*s_, cpu);
        settle();
        reschedule(cpu);
        settle();
    }
}

void Harness::ticks(int n) {
    for (int i = 0; i < n; i++)
        tick();
}

std::vector<std::string> lines(const std::string &file) {
    LineReader reader(std::string(FAIRGROUND_SOURCE_DIR "/tests/data/kstep/") + file);
    std::vector<std::string> all;
    std::string line;
    while (reader.next(line))
        if (!line.empty())
            all.push_back(line);
    return all;
}

} // namespace fairground::kstep
