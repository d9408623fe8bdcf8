// SPDX-License-Identifier: GPL-2.0-only
//
// Reading machines. read_machine() tells the forms apart by their content, never by the file's name:
//
//   here                      the running machine (its sysfs)
//   hwloc XML                 versions 1 and 2, as `lstopo x.xml` writes them
//   sysfs snapshot            archive (.tar.gz, .tar.bz2, ...) of hwloc-gather-topology, or the folder it unpacks to
//   numactl -H, lscpu         text, lscpu plain or with -e or -p
//   domain dump               JSON with an `input` block, plain or gzip
//   TOML                      our own form (docs/machines.md), which may build on any other
//   hwloc synthetic           a string such as "pack:2 l3:4 core:4 pu:2", given in place of a file name
//
// Everything throws InputError with one sentence if the input is broken or holds too little. What a reader had to
// guess or drop is in Machine::notes.
#pragma once

#include "machine/machine.h"

#include <string>

namespace fairground {

Machine read_machine(const std::string &spec);

} // namespace fairground
