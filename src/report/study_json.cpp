// SPDX-License-Identifier: GPL-2.0-only
#include "report/study_report.h"

#include "study/fingerprint.h"
#include "study/statistics.h"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace fairground {

namespace {

// Keys keep the order in which they are set.
using Json = nlohmann::ordered_json;

Json optional(const std::optional<double> &value) { return value ? Json(*value) : Json(nullptr); }

std::string hex(u64 value) {
    std::array<char, 16> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16);
    const std::string text(digits.data(), end);
    return std::string(16 - text.size(), '0') + text;
}

Json metric_json(const Series &series, const Series *base) {
    const Summary summary = summarise(series.values);
    Json json;
    json["mean"] = summary.mean;
    json["sd"] = optional(summary.sd);
    json["n"] = summary.n;
    json["values"] = series.values;
    if (base != nullptr) {
        const PairedDifference difference = compare_paired(base->values, series.values);
        Json &to_base = json["to_base"];
        to_base["mean"] = difference.mean;
        to_base["relative"] = optional(difference.relative);
        to_base["low"] = optional(difference.low);
        to_base["high"] = optional(difference.high);
        to_base["confidence"] = confidence;
        to_base["sign"] = difference.sign;
    }
    return json;
}

Json published_json(const Study &study, const std::string &variant, const std::string &load) {
    Json list = Json::array();
    for (const Published &published : study.published) {
        if (published.variant != variant || published.load != load)
            continue;
        Json json;
        json["quantity"] = published.quantity;
        json["value"] = published.value;
        if (published.sd)
            json["sd"] = *published.sd;
        if (published.of)
            json["of"] = *published.of;
        if (!published.note.empty())
            json["note"] = published.note;
        list.push_back(std::move(json));
    }
    return list;
}

Json load_json(const Study &study, const StudyResult &result, std::size_t variant, std::size_t load) {
    const Cell &cell = result.cell(variant, load);
    const Cell &base = result.cell(0, load);
    Json json;
    json["name"] = study.loads[load].name;
    Json &metrics = json["metrics"] = Json::object();
    for (const Series &series : cell.metrics)
        metrics[series.name] = metric_json(series, variant == 0 ? nullptr : find_series(base, series.name));
    Json &counts = json["counts"] = Json::object();
    for (const Count &count : study.counts)
        counts[count.name] = {{"runs", runs_above(*find_series(cell, count.metric), count.above)},
                              {"of", study.repetitions}};
    json["identical_to_base"] = cell.digests == base.digests;
    Json &digests = json["digests"] = Json::array();
    for (const u64 digest : cell.digests)
        digests.push_back(hex(digest));
    json["published"] = published_json(study, study.variants[variant].name, study.loads[load].name);
    return json;
}

} // namespace

std::string study_json(const Study &study, const Machine &machine, const StudyResult &result,
                       const std::string &version) {
    Json json;
    json["program"] = {{"name", "fairground"}, {"version", version}};
    json["study"] = {{"title", study.title},
                     {"source", study.source},
                     {"sha256", sha256(study.text)},
                     {"duration_ns", study.duration},
                     {"warmup_ns", study.warmup}};
    json["machine"] = {{"name", machine.name},
                       {"cpus", machine.online().weight()},
                       {"nodes", machine.nodes.size()},
                       {"sha256", fingerprint(machine)}};
    json["seed"] = study.seed;
    json["repetitions"] = study.repetitions;
    json["seeds"] = result.seeds;
    Json &variants = json["variants"] = Json::array();
    for (std::size_t v = 0; v < study.variants.size(); v++) {
        Json variant;
        variant["name"] = study.variants[v].name;
        variant["features"] = study.variants[v].features;
        Json &loads = variant["loads"] = Json::array();
        for (std::size_t l = 0; l < study.loads.size(); l++)
            loads.push_back(load_json(study, result, v, l));
        variants.push_back(std::move(variant));
    }
    // Replace: a title that is no UTF-8 must not end the program.
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

} // namespace fairground
