// SPDX-License-Identifier: GPL-2.0-only
#include "machine/snapshot.h"

#include "base/error.h"

#include <algorithm>
#include <archive.h>
#include <archive_entry.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace fairground {

namespace {

// Far above any real input; a bound on what hostile input can make us hold.
constexpr std::size_t max_text = std::size_t{64} << 20;
constexpr std::size_t max_sysfs_file = std::size_t{8} << 20;
constexpr int max_entries = 1000000;

struct Fd {
    int fd;
    explicit Fd(int number) : fd(number) {}
    Fd(const Fd &) = delete;
    Fd &operator=(const Fd &) = delete;
    ~Fd() {
        if (fd > STDIN_FILENO)
            close(fd);
    }
};

using Archive = std::unique_ptr<archive, decltype([](archive *a) { archive_read_free(a); })>;

std::string read_entry(archive *from, const std::string &path, std::size_t limit) {
    std::string text;
    std::array<char, 1 << 16> buffer{};
    for (;;) {
        const la_ssize_t got = archive_read_data(from, buffer.data(), buffer.size());
        if (got < 0)
            throw InputError(path + ": damaged compressed data");
        if (got == 0)
            return text;
        text.append(buffer.data(), static_cast<std::size_t>(got));
        if (text.size() > limit)
            throw InputError(path + ": holds more than " + std::to_string(limit >> 20) +
                             " MiB, expected a machine file");
    }
}

// The part from "sys/" or "proc/" on of a path in an archive, if the scheduler's facts can be in it.
std::string path_in_snapshot(std::string_view path) {
    for (std::string_view root : {"sys/devices/system/cpu/", "sys/devices/system/node/", "proc/"}) {
        const auto at = path.find(root);
        if (at != std::string_view::npos && (at == 0 || path[at - 1] == '/') &&
            path.find("..") == std::string_view::npos)
            return std::string(path.substr(at));
    }
    return {};
}

Snapshot read_archive(archive *from, archive_entry *entry, const std::string &path) {
    Snapshot files;
    std::size_t total = 0;
    int entries = 0;
    for (int code = ARCHIVE_OK; code != ARCHIVE_EOF; code = archive_read_next_header(from, &entry)) {
        if (code < ARCHIVE_WARN)
            throw InputError(path + ": damaged archive");
        if (++entries > max_entries)
            throw InputError(path +
                             ": archive with more than a million entries, expected a snapshot of /sys and /proc");
        const char *name = archive_entry_pathname(entry);
        if (name == nullptr || archive_entry_filetype(entry) != AE_IFREG)
            continue;
        const std::string inside = path_in_snapshot(name);
        if (inside.empty())
            continue;
        std::string text = read_entry(from, path, max_sysfs_file);
        total += text.size();
        if (total > max_text)
            throw InputError(path + ": archive with more than 64 MiB of text, expected a snapshot of /sys and /proc");
        files.add(inside, std::move(text));
    }
    if (files.empty())
        throw InputError(path +
                         ": archive without sys/devices/system/cpu, expected a snapshot by hwloc-gather-topology");
    return files;
}

} // namespace

std::optional<std::string> Snapshot::read(const std::string &path) const {
    if (!root_) {
        const auto found = files_.find(path);
        return found == files_.end() ? std::nullopt : std::optional(found->second);
    }
    // Non-blocking: a hostile folder may hold a FIFO.
    const Fd file(open((*root_ + "/" + path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (file.fd < 0 || fstat(file.fd, &status) != 0 || !S_ISREG(status.st_mode))
        return {};
    std::string text;
    std::array<char, 1 << 14> buffer{};
    for (;;) {
        const ssize_t got = ::read(file.fd, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 || text.size() > max_sysfs_file)
            return {};
        if (got == 0)
            return text;
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
}

std::vector<int> Snapshot::numbered(const std::string &folder, const std::string &prefix) const {
    std::vector<int> numbers;
    auto consider = [&](std::string_view name) {
        int number = 0;
        if (!name.starts_with(prefix))
            return;
        name.remove_prefix(prefix.size());
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
        if (error == std::errc() && end == name.data() + name.size() && number >= 0)
            numbers.push_back(number);
    };
    if (root_) {
        std::error_code error;
        std::filesystem::directory_iterator entry(*root_ + "/" + folder, error);
        for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
            if (entry->is_directory(error))
                consider(entry->path().filename().string());
    } else {
        for (auto file = files_.lower_bound(folder + "/");
             file != files_.end() && file->first.starts_with(folder + "/"); ++file) {
            const std::string_view rest = std::string_view(file->first).substr(folder.size() + 1);
            if (const auto slash = rest.find('/'); slash != std::string_view::npos)
                consider(rest.substr(0, slash));
        }
    }
    std::ranges::sort(numbers);
    const auto repeated = std::ranges::unique(numbers);
    numbers.erase(repeated.begin(), repeated.end());
    return numbers;
}

bool Snapshot::has_folder(const std::string &path) const {
    if (root_) {
        std::error_code error;
        return std::filesystem::is_directory(*root_ + "/" + path, error);
    }
    const auto file = files_.lower_bound(path + "/");
    return file != files_.end() && file->first.starts_with(path + "/");
}

Content read_content(const std::string &path) {
    const Fd file(path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.fd < 0)
        throw InputError(path + ": cannot be opened: " + std::strerror(errno));
    struct stat status {};
    if (fstat(file.fd, &status) == 0 && S_ISDIR(status.st_mode))
        throw InputError(path +
                         ": is a folder without sys/devices/system/cpu, expected a machine file or a sysfs snapshot");

    // Only filters inside the library: the catch-all would also run external programs.
    const Archive reader(archive_read_new());
    archive_read_support_filter_gzip(reader.get());
    archive_read_support_filter_bzip2(reader.get());
    archive_read_support_filter_xz(reader.get());
    archive_read_support_filter_zstd(reader.get());
    archive_read_support_format_tar(reader.get());
    archive_read_support_format_raw(reader.get());
    archive_read_support_format_empty(reader.get());

    archive_entry *entry = nullptr;
    int code = archive_read_open_fd(reader.get(), file.fd, 1 << 16);
    if (code == ARCHIVE_OK)
        code = archive_read_next_header(reader.get(), &entry);
    if (code == ARCHIVE_EOF)
        throw InputError(path + ": is empty, expected a machine file");
    if (code < ARCHIVE_WARN) {
        const char *why = archive_error_string(reader.get());
        throw InputError(path + ": cannot be read: " + (why != nullptr ? why : "unknown error"));
    }
    Content content;
    content.is_archive = (archive_format(reader.get()) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
    if (content.is_archive)
        content.files = read_archive(reader.get(), entry, path);
    else
        content.text = read_entry(reader.get(), path, max_text);
    return content;
}

std::optional<Snapshot> find_snapshot(const std::string &path) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error))
        return {};
    if (Snapshot whole(path); whole.has_folder("sys/devices/system/cpu"))
        return whole;
    std::vector<std::string> folders;
    std::filesystem::directory_iterator entry(path, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
        if (Snapshot(entry->path().string()).has_folder("sys/devices/system/cpu"))
            folders.push_back(entry->path().string());
    if (folders.size() == 1)
        return Snapshot(folders.front());
    return {};
}

} // namespace fairground
