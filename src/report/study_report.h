// SPDX-License-Identifier: GPL-2.0-only
//
// What a study found, as text for people and as JSON for programs. Both are functions of the study and its result
// alone: no time of day, no computer name, no thread count.
#pragma once

#include "machine/machine.h"
#include "study/runner.h"

#include <string>

namespace fairground {

// Throws InputError if the study shows or counts a metric that its workload does not measure.
void check_metrics(const Study &study, const StudyResult &result);

std::string study_text(const Study &study, const Machine &machine, const StudyResult &result);
// Indented JSON with a newline at its end; docs/study-format.md names its fields.
std::string study_json(const Study &study, const Machine &machine, const StudyResult &result,
                       const std::string &version);

} // namespace fairground
