// SPDX-License-Identifier: GPL-2.0-only
#include "vectors/vectors.h"

namespace fairground::vectors {

namespace {

bool recognises(const Json &first) { return first.contains("function"); }

void run(const Json &, LineReader &rest, Report &report) {
    std::string line;
    do
        report.waiting();
    while (rest.next(line));
}

} // namespace

const Family balance_unit_family = {"balance_unit", recognises, run};

} // namespace fairground::vectors
