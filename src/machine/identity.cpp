// SPDX-License-Identifier: GPL-2.0-only
#include "machine/readers.h"

namespace fairground {

void apply_identity(Machine &machine, const Identity &identity) {
    machine.cpu_vendor = identity.vendor;
    machine.cpu_family = identity.family;
    machine.cpu_model = identity.model;
    // TOPO-25: the Zen families; TOPO-17: GRANITERAPIDS_X is model 0xAD, ATOM_DARKMONT_X 0xDD of family 6.
    machine.amd_zen = identity.vendor == "AuthenticAMD" && identity.family >= 0x17;
    machine.snc_average =
        identity.vendor == "GenuineIntel" && identity.family == 6 && (identity.model == 0xad || identity.model == 0xdd);
}

Arch arch_by_name(std::string_view name) {
    if (name == "x86_64" || name == "amd64" || name == "x86" || name == "i386" || name == "i586" || name == "i686")
        return Arch::x86;
    // 32-bit Arm builds its domains with the same generic code.
    if (name == "aarch64" || name.starts_with("arm"))
        return Arch::arm64;
    if (name.starts_with("ppc") || name.starts_with("power"))
        return Arch::power;
    return Arch::other;
}

} // namespace fairground
