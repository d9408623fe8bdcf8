// SPDX-License-Identifier: GPL-2.0-only
#include "machine/costs_toml.h"

#include "base/nearest.h"

#include <algorithm>
#include <cmath>

namespace fairground {

namespace {

struct Scalar {
    std::string_view key;
    u64 Costs::*field;
};
constexpr std::array<Scalar, 9> scalars = {{
    {"context_switch_ns", &Costs::context_switch_ns},
    {"syscall_ns", &Costs::syscall_ns},
    {"wakeup_local_ns", &Costs::wakeup_local_ns},
    {"wakeup_remote_ns", &Costs::wakeup_remote_ns},
    {"migration_ns", &Costs::migration_ns},
    {"page_alloc_ns", &Costs::page_alloc_ns},
    {"tick_ns", &Costs::tick_ns},
    {"balance_pass_ns", &Costs::balance_pass_ns},
    {"balance_per_cpu_ns", &Costs::balance_per_cpu_ns},
}};

struct ByNearness {
    std::string_view key;
    std::array<u64, nearness_count> Costs::*field;
    s64 least; // 0 for times, 1 for rates, which are divided by
};
constexpr std::array<ByNearness, 3> arrays = {{
    {"ipi_ns", &Costs::ipi_ns, 0},
    {"copy_mb_per_s", &Costs::copy_mb_per_s, 1},
    {"refill_mb_per_s", &Costs::refill_mb_per_s, 1},
}};

constexpr std::array<std::string_view, nearness_count> nearness_names = {"same_cpu", "smt",     "l2",    "llc",
                                                                         "node",     "package", "remote"};
constexpr std::array<std::string_view, 15> keys = {
    "context_switch_ns", "syscall_ns",      "wakeup_local_ns", "wakeup_remote_ns",   "migration_ns",
    "page_alloc_ns",     "tick_ns",         "balance_pass_ns", "balance_per_cpu_ns", "ipi_ns",
    "copy_mb_per_s",     "refill_mb_per_s", "memory_ratio",    "idle_states",        "idle_polls"};
constexpr s64 max_ns = 10'000'000'000;
constexpr s64 max_rate = 100'000'000;

class Reader {
  public:
    Reader(std::size_t nodes, const std::string &label, Costs &costs) : nodes_(nodes), label_(label), costs_(costs) {}

    void read(const toml::node &node) {
        const toml::table *table = node.as_table();
        if (table == nullptr)
            throw wrong(node, "costs must be a table");
        for (const auto &[key, value] : *table)
            read_key(key.str(), value);
    }

  private:
    [[nodiscard]] InputError wrong(const toml::node &node, const std::string &what) const {
        return toml_error(label_, node, what);
    }
    u64 integer(const toml::node &node, std::string_view what, s64 low, s64 high) const {
        return static_cast<u64>(toml_integer(label_, node, std::string(what), low, high));
    }

    void read_key(std::string_view key, const toml::node &value) {
        if (const auto scalar = std::ranges::find(scalars, key, &Scalar::key); scalar != scalars.end())
            costs_.*scalar->field = integer(value, key, 0, max_ns);
        else if (const auto array = std::ranges::find(arrays, key, &ByNearness::key); array != arrays.end())
            read_by_nearness(*array, value);
        else if (key == "memory_ratio")
            read_memory_ratio(value);
        else if (key == "idle_states")
            read_idle_states(value);
        else if (key == "idle_polls")
            read_idle_polls(value);
        else
            throw wrong(value, "there is no cost '" + std::string(key.substr(0, 60)) + "'" + did_you_mean(key, keys));
    }

    // One number for all, or a table of some: { llc = 400, remote = 2400 }
    void read_by_nearness(const ByNearness &array, const toml::node &value) {
        const s64 high = array.least == 0 ? max_ns : max_rate;
        const toml::table *table = value.as_table();
        if (table == nullptr) {
            (costs_.*array.field).fill(integer(value, array.key, array.least, high));
            return;
        }
        for (const auto &[key, one] : *table) {
            const auto at = std::ranges::find(nearness_names, key.str());
            if (at == nearness_names.end())
                throw wrong(one, std::string(array.key) + " has no '" + std::string(key.str().substr(0, 60)) +
                                     "', expected same_cpu, smt, l2, llc, node, package or remote");
            (costs_.*array.field)[static_cast<std::size_t>(at - nearness_names.begin())] =
                integer(one, array.key, array.least, high);
        }
    }

    void read_memory_ratio(const toml::node &value) {
        const std::string expected = "memory_ratio must be a matrix with a row and a column for each of the " +
                                     std::to_string(nodes_) +
                                     " nodes, each value at least 1, such as [[1.0, 1.6], [1.6, 1.0]]";
        const toml::array *rows = value.as_array();
        if (rows == nullptr || rows->size() != nodes_)
            throw wrong(value, expected);
        std::vector<u64> ratios;
        for (const toml::node &row : *rows) {
            const toml::array *columns = row.as_array();
            if (columns == nullptr || columns->size() != nodes_)
                throw wrong(row, expected);
            for (const toml::node &one : *columns) {
                const auto ratio = one.value<double>();
                if (!one.is_number() || !ratio || !(*ratio >= 1 && *ratio <= 1000))
                    throw wrong(one, expected);
                ratios.push_back(static_cast<u64>(std::llround(*ratio * 1000)));
            }
        }
        costs_.memory_ratio_permille = std::move(ratios);
    }

    void read_idle_states(const toml::node &value) {
        const std::string expected =
            "idle_states must be a list of { name = \"C6\", exit_latency_ns = 170000, target_residency_ns = 600000 }, "
            "shallowest first";
        const toml::array *list = value.as_array();
        if (list == nullptr)
            throw wrong(value, expected);
        std::vector<IdleState> states;
        for (const toml::node &one : *list) {
            const toml::table *table = one.as_table();
            if (table == nullptr || table->size() != 3 || !table->contains("name") ||
                !table->contains("exit_latency_ns") || !table->contains("target_residency_ns") ||
                !table->get("name")->is_string())
                throw wrong(one, expected);
            IdleState state;
            state.name = table->get("name")->value_or(std::string());
            state.exit_latency_ns = integer(*table->get("exit_latency_ns"), "exit_latency_ns", 0, max_ns);
            state.target_residency_ns = integer(*table->get("target_residency_ns"), "target_residency_ns", 0, max_ns);
            if (!states.empty() && state.target_residency_ns < states.back().target_residency_ns)
                throw wrong(one, expected);
            states.push_back(std::move(state));
        }
        costs_.idle_states = std::move(states);
    }

    void read_idle_polls(const toml::node &value) {
        const auto polls = value.value_exact<bool>();
        if (!polls)
            throw wrong(value, "idle_polls must be true or false");
        costs_.idle_polls = *polls;
    }

    std::size_t nodes_;
    const std::string &label_;
    Costs &costs_;
};

bool same_states(const std::vector<IdleState> &a, const std::vector<IdleState> &b) {
    return std::ranges::equal(a, b, [](const IdleState &x, const IdleState &y) {
        return x.name == y.name && x.exit_latency_ns == y.exit_latency_ns &&
               x.target_residency_ns == y.target_residency_ns;
    });
}

} // namespace

void read_costs(const toml::node &node, std::size_t nodes, const std::string &label, Costs &costs) {
    Reader(nodes, label, costs).read(node);
}

Costs keep_set_costs(const Costs &base, const Costs &base_defaults, const Costs &defaults) {
    Costs result = defaults;
    for (const Scalar &scalar : scalars)
        if (base.*scalar.field != base_defaults.*scalar.field)
            result.*scalar.field = base.*scalar.field;
    for (const ByNearness &array : arrays)
        for (std::size_t i = 0; i < nearness_count; i++)
            if ((base.*array.field)[i] != (base_defaults.*array.field)[i])
                (result.*array.field)[i] = (base.*array.field)[i];
    if (base.memory_ratio_permille != base_defaults.memory_ratio_permille)
        result.memory_ratio_permille = base.memory_ratio_permille;
    if (!same_states(base.idle_states, base_defaults.idle_states))
        result.idle_states = base.idle_states;
    if (base.idle_polls != base_defaults.idle_polls)
        result.idle_polls = base.idle_polls;
    return result;
}

} // namespace fairground
