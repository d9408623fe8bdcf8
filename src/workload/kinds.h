// SPDX-License-Identifier: GPL-2.0-only
//
// The makers that make_workload() chooses from; each file says what its options are.
#pragma once

#include "workload/workload.h"

namespace fairground {

std::unique_ptr<Workload> make_bw_pipe(const Options &options);  // bw_pipe.cpp
std::unique_ptr<Workload> make_noise(const Options &options);    // noise.cpp
std::unique_ptr<Workload> make_hog(const Options &options);      // hog.cpp
std::unique_ptr<Workload> make_periodic(const Options &options); // periodic.cpp

} // namespace fairground
