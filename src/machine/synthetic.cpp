// SPDX-License-Identifier: GPL-2.0-only
#include "base/error.h"
#include "machine/readers.h"

#include <algorithm>
#include <cstdlib>
#include <hwloc.h>
#include <memory>

namespace fairground {

namespace {

using Topology = std::unique_ptr<hwloc_topology, decltype([](hwloc_topology *t) { hwloc_topology_destroy(t); })>;

// The product of the arities, so that libhwloc never builds a topology that is too large. Attributes in parentheses and
// attached memory in brackets count nothing.
s64 count_cpus(std::string_view text) {
    s64 product = 1;
    int nested = 0;
    for (std::size_t i = 0; i < text.size(); i++) {
        if (text[i] == '(' || text[i] == '[')
            nested++;
        else if (text[i] == ')' || text[i] == ']')
            nested--;
        const bool starts = i == 0 || text[i - 1] == ':' || text[i - 1] == ' ';
        if (nested != 0 || !starts || text[i] < '0' || text[i] > '9')
            continue;
        s64 arity = 0;
        for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; i++)
            arity = std::min<s64>(arity * 10 + (text[i] - '0'), s64{1} << 30);
        i--;
        product = std::min<s64>(product * arity, s64{1} << 30);
    }
    return product;
}

} // namespace

bool is_synthetic(std::string_view text) {
    // "type:count" words, or plain counts.
    text = trim(text);
    if (text.empty() || text.find('\n') != std::string_view::npos || text.size() > 1000)
        return false;
    const std::string_view word = text.substr(0, text.find(' '));
    const auto colon = word.find(':');
    const std::string_view number = colon == std::string_view::npos ? word : word.substr(colon + 1);
    return !number.empty() && number[0] >= '0' && number[0] <= '9' && word.find('/') == std::string_view::npos;
}

Machine read_synthetic(const std::string &text) {
    const std::string label = "synthetic '" + text + "'";
    if (count_cpus(text) > max_cpus)
        throw InputError(label + ": more than " + std::to_string(max_cpus) + " CPUs");
    setenv("HWLOC_HIDE_ERRORS", "2", 1);
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0)
        throw InputError(label + ": libhwloc cannot start");
    const Topology topology(raw);
    if (hwloc_topology_set_synthetic(topology.get(), text.c_str()) != 0 || hwloc_topology_load(topology.get()) != 0)
        throw InputError(label +
                         ": libhwloc does not understand it, expected levels such as 'pack:2 l3:4 core:4 pu:2'");
    // One path for all that hwloc describes.
    char *xml = nullptr;
    int size = 0;
    if (hwloc_topology_export_xmlbuffer(topology.get(), &xml, &size, 0) != 0)
        throw InputError(label + ": libhwloc cannot export it");
    const std::string copy(xml, static_cast<std::size_t>(std::max(size - 1, 0)));
    hwloc_free_xmlbuffer(topology.get(), xml);
    Machine machine = read_hwloc_xml(copy, label);
    machine.source = "hwloc synthetic";
    return machine;
}

} // namespace fairground
