// SPDX-License-Identifier: GPL-2.0-only
#include "study/study.h"

#include "base/error.h"
#include "base/nearest.h"
#include "base/random.h"
#include "study/toml_table.h"
#include "study/tunables.h"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace fairground {

namespace {

std::string read_file(const std::string &path) {
    std::error_code error;
    if (!std::filesystem::exists(path, error))
        throw InputError(path + ": there is no such file, expected a study file");
    if (std::filesystem::is_directory(path, error))
        throw InputError(path + ": is a directory, expected a study file");
    constexpr std::size_t limit = std::size_t{1} << 24;
    std::ifstream file(path, std::ios::binary);
    std::string text(limit + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad() || (file.fail() && !file.eof()))
        throw InputError(path + ": cannot be read");
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > limit)
        throw InputError(path + ": is larger than 16 MiB, expected a study file");
    if (text.empty())
        throw InputError(path + ": is empty, expected a study file");
    return text;
}

toml::table parse(const std::string &path, const std::string &text) {
    try {
        return toml::parse(text);
    } catch (const toml::parse_error &error) {
        throw InputError(path + ":" + std::to_string(error.source().begin.line) +
                         ": not valid TOML: " + std::string(error.description()));
    }
}

template <class Named> const Named *find_named(const std::vector<Named> &list, std::string_view name) {
    for (const Named &item : list)
        if (item.name == name)
            return &item;
    return nullptr;
}

template <class Named> std::string nearest_name(std::string_view name, const std::vector<Named> &list) {
    std::vector<std::string_view> known;
    for (const Named &item : list)
        known.push_back(item.name);
    return did_you_mean(name, known);
}

// A name that no earlier item of the list has.
template <class Named> std::string new_name(const TomlTable &table, const std::vector<Named> &list) {
    std::string name = table.string("name");
    if (find_named(list, name) != nullptr)
        table.fail("name", "there are two named '" + name + "'");
    return name;
}

// A file name is relative to the study file; everything else ("here", a synthetic string) is taken as it is.
std::string machine_spec(const std::string &study_path, const std::string &written) {
    const std::filesystem::path beside = std::filesystem::path(study_path).parent_path() / written;
    std::error_code error;
    const bool looks_like_file = written.find('/') != std::string::npos || written.ends_with(".toml");
    return looks_like_file || std::filesystem::exists(beside, error) ? beside.lexically_normal().string() : written;
}

std::vector<WorkloadPart> read_parts(const std::string &path, const TomlTable &parent) {
    std::vector<WorkloadPart> parts;
    for (const TomlTable &table : parent.tables("workload")) {
        WorkloadPart part;
        part.kind = table.string("kind");
        part.options =
            table.options(path + ":" + std::to_string(table.line("kind")) + ": workload '" + part.kind + "'", "kind");
        parts.push_back(std::move(part));
    }
    return parts;
}

// [load.set.KIND]: other values for options of the study's own parts of that kind.
void apply_settings(const std::string &path, const TomlTable &load, std::vector<WorkloadPart> &parts) {
    const std::optional<TomlTable> set = load.table("set");
    if (!set)
        return;
    for (const std::string &kind : set->keys()) {
        const std::optional<TomlTable> changes = set->table(kind);
        const Options options =
            changes->options(path + ":" + std::to_string(set->line(kind)) + ": workload '" + kind + "'");
        bool found = false;
        for (WorkloadPart &part : parts) {
            if (part.kind != kind)
                continue;
            found = true;
            part.options.where = options.where;
            for (const auto &[key, value] : options.values)
                part.options.values[key] = value;
        }
        if (!found)
            set->fail(kind, "the study has no [[workload]] of kind '" + kind + "' to set options of");
    }
}

void read_loads(Study &study, const TomlTable &root) {
    const std::vector<WorkloadPart> common = read_parts(study.path, root);
    for (const TomlTable &table : root.tables("load")) {
        table.only({"name", "workload", "set"});
        Load load;
        load.name = new_name(table, study.loads);
        load.parts = common;
        apply_settings(study.path, table, load.parts);
        for (WorkloadPart &part : read_parts(study.path, table))
            load.parts.push_back(std::move(part));
        if (load.parts.empty())
            table.fail({}, "load '" + load.name + "' has nothing to run, expected a [[workload]] table");
        study.loads.push_back(std::move(load));
    }
    if (!root.has("load"))
        study.loads.push_back({"plain", common});
    if (study.loads.empty() || study.loads.front().parts.empty())
        root.fail({}, "there is nothing to run, expected a [[workload]] table");
}

void read_tunables(const TomlTable &variant, fair::Tunables &tunables) {
    const std::optional<TomlTable> table = variant.table("tunables");
    if (!table)
        return;
    for (const std::string &name : table->keys()) {
        const TunableRow *row = nullptr;
        try {
            row = &find_tunable(name);
        } catch (const InputError &error) {
            table->fail(name, error.what());
        }
        set_tunable(tunables, *row, is_flag(*row) ? s64{table->flag(name)} : table->integer(name, row->low, row->high));
    }
}

void read_variants(Study &study, const TomlTable &root, u32 hz) {
    for (const TomlTable &table : root.tables("variant")) {
        table.only({"name", "features", "tunables"});
        Variant variant;
        variant.name = new_name(table, study.variants);
        variant.features = table.strings("features");
        variant.tunables.hz = hz;
        try {
            apply_features({}, variant);
        } catch (const InputError &error) {
            table.fail("features", error.what());
        }
        read_tunables(table, variant.tunables);
        study.variants.push_back(std::move(variant));
    }
    if (study.variants.empty())
        root.fail({}, "there is nothing to compare, expected a [[variant]] table");
}

void read_counts(Study &study, const TomlTable &root) {
    for (const TomlTable &table : root.tables("count")) {
        table.only({"name", "metric", "above"});
        Count count;
        count.name = new_name(table, study.counts);
        count.metric = table.string("metric");
        count.above = table.number("above").value_or(0);
        study.counts.push_back(std::move(count));
    }
}

void read_published(Study &study, const TomlTable &root) {
    for (const TomlTable &table : root.tables("published")) {
        table.only({"variant", "load", "metric", "count", "value", "sd", "of", "note"});
        Published published;
        published.variant = table.string("variant");
        if (find_named(study.variants, published.variant) == nullptr)
            table.fail("variant", "there is no variant '" + published.variant + "'" +
                                      nearest_name(published.variant, study.variants));
        published.load = table.string("load");
        if (find_named(study.loads, published.load) == nullptr)
            table.fail("load", "there is no load '" + published.load + "'" + nearest_name(published.load, study.loads));
        if (table.has("metric") == table.has("count"))
            table.fail({}, "expected either 'metric' or 'count'");
        if (table.has("count")) {
            published.quantity = table.string("count");
            if (find_named(study.counts, published.quantity) == nullptr)
                table.fail("count", "there is no count '" + published.quantity + "'" +
                                        nearest_name(published.quantity, study.counts));
            published.of = table.integer("of", 1, max_repetitions);
            published.value = static_cast<double>(table.integer("value", 0, *published.of));
        } else {
            published.quantity = table.string("metric");
            if (!table.has("value"))
                table.fail({}, "'value' is missing, expected a number");
            published.value = *table.number("value");
            published.sd = table.number("sd");
        }
        published.note = table.string_or("note", "");
        study.published.push_back(std::move(published));
    }
}

} // namespace

Study read_study(const std::string &path) {
    Study study;
    study.path = path;
    study.text = read_file(path);
    const toml::table document = parse(path, study.text);
    const TomlTable root(study.path, document, "");
    root.only({"title", "source", "machine", "hz", "duration", "warmup", "repetitions", "seed", "metrics", "count",
               "workload", "load", "variant", "published"});
    study.title = root.string("title");
    study.source = root.string_or("source", "");
    study.machine_spec = machine_spec(path, root.string("machine"));
    study.machine_line = static_cast<int>(root.line("machine"));
    study.duration = root.duration("duration", ns_per_us);
    study.warmup = root.has("warmup") ? root.duration("warmup", 0) : 0;
    study.repetitions = static_cast<int>(root.integer_or("repetitions", 1, max_repetitions, 10));
    study.seed = static_cast<u64>(root.integer_or("seed", 0, INT64_MAX, 1));
    study.metrics = root.strings("metrics");
    const TunableRow &hz = find_tunable("hz");
    read_counts(study, root);
    read_loads(study, root);
    read_variants(study, root, static_cast<u32>(root.integer_or("hz", hz.low, hz.high, 1000)));
    read_published(study, root);
    return study;
}

fair::Features apply_features(fair::Features defaults, const Variant &variant) {
    for (const std::string &name : variant.features)
        defaults.apply(name);
    return defaults;
}

u64 repetition_seed(u64 study_seed, int repetition) {
    return RandomStream(study_seed, "repetition", static_cast<u64>(repetition)).next() >> 11;
}

} // namespace fairground
