// SPDX-License-Identifier: GPL-2.0-only
//
// Input files, and /sys and /proc of a machine: the running one, an unpacked snapshot or a snapshot in an archive.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fairground {

// A tree of small text files. Paths are relative to its root: "sys/devices/system/cpu/online".
class Snapshot {
  public:
    Snapshot() = default;
    // Files below a folder, read when asked for.
    explicit Snapshot(std::string root) : root_(std::move(root)) {}

    void add(const std::string &path, std::string text) { files_[path] = std::move(text); }
    [[nodiscard]] bool empty() const { return files_.empty(); }

    // Nothing if there is no such file or it cannot be read.
    [[nodiscard]] std::optional<std::string> read(const std::string &path) const;
    // Numbers n, ascending, for which folder/<prefix>n is a folder: numbered("sys/devices/system/cpu", "cpu").
    [[nodiscard]] std::vector<int> numbered(const std::string &folder, const std::string &prefix) const;
    [[nodiscard]] bool has_folder(const std::string &path) const;

  private:
    std::optional<std::string> root_; // else everything is in files_
    std::map<std::string, std::string> files_;
};

// What a file holds: text (decompressed if it was compressed with gzip, bzip2, xz or zstd) or a tar archive, of which
// the regular files that matter to a Snapshot are kept.
struct Content {
    bool is_archive = false;
    std::string text;
    Snapshot files;
};

// `path` may be a pipe; "-" is standard input. Throws InputError: cannot be opened, empty, damaged, a folder, or too
// large.
Content read_content(const std::string &path);

// The folder `path` if it is or holds (in one sub-folder) a snapshot.
std::optional<Snapshot> find_snapshot(const std::string &path);

} // namespace fairground
