// SPDX-License-Identifier: GPL-2.0-only
#include "base/lines.h"

#include "base/error.h"

#include <array>
#include <filesystem>
#include <zlib.h>

namespace fairground {

struct LineReader::File {
    gzFile handle = nullptr;
    std::array<char, 1 << 16> buffer{};
};

LineReader::LineReader(const std::string &path) : file_(std::make_unique<File>()), path_(path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
        throw InputError(path + ": is a directory, expected a file");
    file_->handle = gzopen(path.c_str(), "rb");
    if (file_->handle == nullptr)
        throw InputError(path + ": cannot be opened");
    gzbuffer(file_->handle, 1 << 18);
}

LineReader::~LineReader() {
    if (file_->handle != nullptr)
        gzclose(file_->handle);
}

bool LineReader::next(std::string &line) {
    line.clear();
    while (gzgets(file_->handle, file_->buffer.data(), static_cast<int>(file_->buffer.size())) != nullptr) {
        line += file_->buffer.data();
        if (line.ends_with('\n')) {
            line.pop_back();
            number_++;
            return true;
        }
    }
    int code = Z_OK;
    gzerror(file_->handle, &code);
    if (code != Z_OK && code != Z_STREAM_END)
        throw InputError(path_ + ": damaged gzip data after line " + std::to_string(number_));
    if (line.empty())
        return false;
    number_++;
    return true;
}

} // namespace fairground
