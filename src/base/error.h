// SPDX-License-Identifier: GPL-2.0-only
//
// InputError: something the user gave cannot be used. The text is one sentence that says what, where (file and
// line or key where known) and what was expected. Only main() catches it: it prints the sentence to standard
// error and exits with 2.
#pragma once

#include <stdexcept>

namespace fairground {

class InputError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace fairground
