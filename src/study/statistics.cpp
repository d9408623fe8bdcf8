// SPDX-License-Identifier: GPL-2.0-only
#include "study/statistics.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <vector>

namespace fairground {

Summary summarise(std::span<const double> values) {
    Summary summary;
    summary.n = values.size();
    if (values.empty())
        return summary;
    double sum = 0;
    for (const double value : values)
        sum += value;
    const auto n = static_cast<double>(values.size());
    summary.mean = sum / n;
    if (values.size() < 2)
        return summary;
    double squares = 0;
    for (const double value : values)
        squares += (value - summary.mean) * (value - summary.mean);
    summary.sd = std::sqrt(squares / (n - 1));
    return summary;
}

double t_factor(std::size_t degrees, double level) {
    // Promotion to long double would give other bits on machines with another long double.
    using Policy = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
    const boost::math::students_t_distribution<double, Policy> student(static_cast<double>(degrees));
    const double factor = boost::math::quantile(boost::math::complement(student, (1 - level) / 2));
    // The C library's logarithms may differ in their last bit from one release to the next; results must not.
    return std::round(factor * 1e9) / 1e9;
}

PairedDifference compare_paired(std::span<const double> base, std::span<const double> variant) {
    std::vector<double> differences(base.size());
    for (std::size_t i = 0; i < base.size(); i++)
        differences[i] = variant[i] - base[i];
    const Summary summary = summarise(differences);

    PairedDifference result;
    result.n = summary.n;
    result.mean = summary.mean;
    if (const double base_mean = summarise(base).mean; base_mean != 0)
        result.relative = summary.mean / base_mean;
    if (!summary.sd)
        return result;
    const double half = t_factor(summary.n - 1, confidence) * *summary.sd / std::sqrt(static_cast<double>(summary.n));
    result.low = summary.mean - half;
    result.high = summary.mean + half;
    result.sign = *result.low > 0 ? 1 : *result.high < 0 ? -1 : 0;
    return result;
}

} // namespace fairground
