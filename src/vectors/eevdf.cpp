// SPDX-License-Identifier: GPL-2.0-only
#include "vectors/vectors.h"

namespace fairground::vectors {

namespace {

bool recognises(const Json &first) {
    return first.contains("seq") || (first.contains("unit") && first["unit"] == "eevdf");
}

void run(const Json &, LineReader &rest, Report &report) {
    std::string line;
    do
        report.waiting();
    while (rest.next(line));
}

} // namespace

const Family eevdf_family = {"eevdf", recognises, run};

} // namespace fairground::vectors
