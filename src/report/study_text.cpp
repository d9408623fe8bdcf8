// SPDX-License-Identifier: GPL-2.0-only
#include "report/study_report.h"

#include "base/error.h"
#include "base/nearest.h"
#include "report/table.h"
#include "study/statistics.h"

#include <algorithm>
#include <span>

namespace fairground {

namespace {

const Published *find_published(const Study &study, const std::string &variant, const std::string &load,
                                const std::string &quantity) {
    for (const Published &published : study.published)
        if (published.variant == variant && published.load == load && published.quantity == quantity)
            return &published;
    return nullptr;
}

std::string of_text(s64 part, s64 whole) { return std::to_string(part) + " of " + std::to_string(whole); }

std::string mean_text(const Summary &summary) {
    const int decimals = decimals_for(summary.mean);
    std::string text = fixed(summary.mean, decimals);
    if (summary.sd)
        text += " +/- " + fixed(*summary.sd, decimals);
    return text;
}

// "+315.2 (+41.5%, 120.1 to 510.3)"; the interval is absent below two repetitions.
std::string difference_text(const Cell &base, const Cell &cell, const Series &base_series, const Series &series) {
    if (base.digests == cell.digests)
        return "identical runs";
    const PairedDifference difference = compare_paired(base_series.values, series.values);
    const int decimals = decimals_for(std::max(difference.mean, -difference.mean));
    std::string detail;
    if (difference.relative)
        detail = with_sign(*difference.relative * 100, 1) + "%";
    if (difference.low)
        detail += (detail.empty() ? "" : ", ") + with_sign(*difference.low, decimals) + " to " +
                  with_sign(*difference.high, decimals);
    return with_sign(difference.mean, decimals) + (detail.empty() ? "" : " (" + detail + ")");
}

std::string published_text(const Published *published) {
    if (published == nullptr)
        return {};
    if (published->of)
        return of_text(static_cast<s64>(published->value), *published->of);
    const int decimals = std::min(decimals_for(published->value), 3);
    std::string text = fixed(
        published->value, published->value == static_cast<double>(static_cast<s64>(published->value)) ? 0 : decimals);
    if (published->sd)
        text += " +/- " + fixed(*published->sd, decimals);
    return text;
}

// A row per variant and load; the counts, then the metrics given.
std::string table(const Study &study, const StudyResult &result, std::span<const Count> counts,
                  std::span<const std::string> metrics) {
    Table table;
    table.column("load", Align::left);
    table.column("variant", Align::left);
    for (const Count &count : counts) {
        table.column(count.name, Align::right);
        table.column("published", Align::right);
    }
    for (const std::string &metric : metrics) {
        table.column(metric, Align::right);
        table.column("to " + study.variants.front().name, Align::left);
        table.column("published", Align::right);
    }
    for (std::size_t l = 0; l < study.loads.size(); l++) {
        for (std::size_t v = 0; v < study.variants.size(); v++) {
            const Cell &base = result.cell(0, l);
            const Cell &cell = result.cell(v, l);
            const std::string &load = study.loads[l].name;
            const std::string &variant = study.variants[v].name;
            std::vector<std::string> cells{load, variant};
            for (const Count &count : counts) {
                const Series *series = find_series(cell, count.metric);
                cells.push_back(of_text(static_cast<s64>(runs_above(*series, count.above)), study.repetitions));
                cells.push_back(published_text(find_published(study, variant, load, count.name)));
            }
            for (const std::string &metric : metrics) {
                const Series *series = find_series(cell, metric);
                cells.push_back(mean_text(summarise(series->values)));
                cells.push_back(v == 0 ? "" : difference_text(base, cell, *find_series(base, metric), *series));
                cells.push_back(published_text(find_published(study, variant, load, metric)));
            }
            table.row(std::move(cells));
        }
    }
    return table.text();
}

std::string time_text(Time time) {
    const double seconds = static_cast<double>(time) / static_cast<double>(ns_per_s);
    return time % ns_per_s == 0 ? fixed(seconds, 0) + " s"
                                : fixed(seconds * 1000, time % ns_per_ms == 0 ? 0 : 3) + " ms";
}

} // namespace

void check_metrics(const Study &study, const StudyResult &result) {
    const Cell &cell = result.cell(0, 0);
    std::vector<std::string_view> known;
    for (const Series &series : cell.metrics)
        known.push_back(series.name);
    const auto check = [&](const std::string &metric) {
        for (std::size_t l = 0; l < study.loads.size(); l++)
            if (find_series(result.cell(0, l), metric) == nullptr)
                throw InputError(study.path + ": load '" + study.loads[l].name + "' measures no '" + metric + "'" +
                                 did_you_mean(metric, known));
    };
    for (const std::string &metric : study.metrics)
        check(metric);
    for (const Count &count : study.counts)
        check(count.metric);
}

std::string study_text(const Study &study, const Machine &machine, const StudyResult &result) {
    std::string text = study.title + '\n';
    text += machine.name + ": " + std::to_string(machine.online().weight()) + " CPUs, " +
            std::to_string(machine.nodes.size()) + (machine.nodes.size() == 1 ? " node; " : " nodes; ");
    text += std::to_string(study.repetitions) + (study.repetitions == 1 ? " run of " : " runs of ") +
            time_text(study.duration) + " each, seed " + std::to_string(study.seed) + "\n\n";

    std::vector<std::string> metrics = study.metrics;
    if (metrics.empty())
        for (const Series &series : result.cell(0, 0).metrics)
            metrics.push_back(series.name);
    // Wide tables do not read well: the counts with up to two metrics, else one table for each.
    if (metrics.size() <= 2) {
        text += table(study, result, study.counts, metrics);
    } else {
        if (!study.counts.empty())
            text += table(study, result, study.counts, {}) + '\n';
        for (std::size_t i = 0; i < metrics.size(); i++)
            text += (i == 0 ? "" : "\n") + table(study, result, {}, std::span(metrics).subspan(i, 1));
    }

    if (study.repetitions > 1 && study.variants.size() > 1)
        text += "\nmean +/- standard deviation; difference of paired runs to " + study.variants.front().name +
                " with its 95% confidence interval.\n";
    for (const Published &published : study.published)
        if (!published.note.empty())
            text += published.variant + ", " + published.load + ": " + published.note + '\n';
    if (!study.source.empty())
        text += "Published figures: " + study.source + '\n';
    return text;
}

} // namespace fairground
