// SPDX-License-Identifier: GPL-2.0-only
#include "machine/reader.h"

#include "base/error.h"
#include "machine/readers.h"

#include <filesystem>
#include <sys/utsname.h>

namespace fairground {

namespace {

namespace fs = std::filesystem;

// "kunpeng920.tar.bz2" -> "kunpeng920", "haswell.v1.xml" -> "haswell.v1"
std::string stem(const std::string &path) {
    fs::path name = fs::path(path).lexically_normal();
    if (!name.has_filename())
        name = name.parent_path();
    name = name.filename();
    for (;;) {
        const std::string extension = name.extension().string();
        bool known = false;
        for (const char *one :
             {".gz", ".bz2", ".xz", ".zst", ".tar", ".tgz", ".tbz2", ".xml", ".json", ".txt", ".toml"})
            known = known || extension == one;
        if (!known)
            return name.string();
        name = name.stem();
    }
}

Machine read_here() {
    Machine machine = read_sysfs(Snapshot("/"), "here");
    machine.source = "this machine";
    if (utsname name{}; machine.arch == Arch::other && uname(&name) == 0) {
        machine.arch = arch_by_name(name.machine);
        machine.costs = default_costs(machine.arch, machine);
    }
    return machine;
}

Machine read_text(const std::string &text, const std::string &path, const std::string &folder, int depth) {
    std::string_view start = trim(text);
    if (start.starts_with("\xef\xbb\xbf"))
        start = trim(start.substr(3));
    if (start.empty())
        throw InputError(path + ": is empty, expected a machine file");
    if (start.starts_with('<'))
        return read_hwloc_xml(start, path);
    if (start.starts_with('{'))
        return read_domain_dump(start, path);
    if (start.find('\0') != std::string_view::npos)
        throw InputError(path + ": holds NUL bytes, expected a machine file in text or a snapshot archive");
    if (is_lscpu(start))
        return read_lscpu(start, path);
    if (is_numactl(start))
        return read_numactl(start, path);
    if (is_synthetic(start))
        return read_synthetic(std::string(start));
    return read_machine_toml(start, path, folder, depth);
}

Machine read_path(const std::string &path, int depth) {
    if (auto snapshot = find_snapshot(path))
        return read_sysfs(*snapshot, path);
    const Content content = read_content(path);
    if (content.is_archive)
        return read_sysfs(content.files, path);
    return read_text(content.text, path, fs::path(path).parent_path().string(), depth);
}

} // namespace

Machine read_machine_from(const std::string &spec, const std::string &folder, int depth) {
    if (spec.empty() || spec.find('\0') != std::string::npos)
        throw InputError("the name of the machine is empty, expected a file, a synthetic string or 'here'");
    Machine machine;
    if (spec == "here") {
        machine = read_here();
        machine.name = spec;
        return machine;
    }
    const std::string path = spec == "-" || fs::path(spec).is_absolute() ? spec : (fs::path(folder) / spec).string();
    std::error_code error;
    if (path == "-" || fs::exists(path, error))
        machine = read_path(path, depth);
    else if (is_synthetic(spec))
        machine = read_synthetic(spec);
    else
        throw InputError(
            path + ": no such file, expected a machine file, a snapshot folder, 'here' or an hwloc synthetic string "
                   "such as 'pack:2 core:4 pu:2'");
    if (machine.name.empty())
        machine.name = path == "-" ? "stdin" : fs::exists(path, error) ? stem(path) : spec;
    if (machine.name.empty())
        machine.name = spec;
    return machine;
}

Machine read_machine(const std::string &spec) { return read_machine_from(spec, "", 0); }

} // namespace fairground
