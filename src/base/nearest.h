// SPDX-License-Identifier: GPL-2.0-only
//
// "Did you mean": the nearest known word to a misspelt one, by Levenshtein distance.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fairground {

// ", did you mean 'X'?" for the nearest of `known` (first one wins ties, letter case ignored) if at most half
// of the word's letters differ; otherwise an empty string.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

} // namespace fairground
