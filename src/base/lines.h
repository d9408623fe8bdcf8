// SPDX-License-Identifier: GPL-2.0-only
//
// LineReader: the lines of a text file, plain or gzip, one after the other in bounded memory.
#pragma once

#include "base/types.h"

#include <memory>
#include <string>

namespace fairground {

class LineReader {
  public:
    // Throws InputError if the file cannot be opened or is a directory.
    explicit LineReader(const std::string &path);
    ~LineReader();
    LineReader(const LineReader &) = delete;
    LineReader &operator=(const LineReader &) = delete;

    // The next line without its newline; false at the end. Throws InputError on a damaged gzip stream.
    bool next(std::string &line);
    [[nodiscard]] u64 line_number() const { return number_; } // of the line last returned, from 1

  private:
    struct File;
    std::unique_ptr<File> file_;
    std::string path_;
    u64 number_ = 0;
};

} // namespace fairground
