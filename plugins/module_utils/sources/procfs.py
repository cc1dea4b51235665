# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Pure parsers of /proc texts; see proc(5) and the kernel's Documentation/filesystems/proc.rst."""

from __future__ import annotations

import re

# Implementer and part numbers of MIDR_EL1, where /proc/cpuinfo has no model name.
ARM_VENDORS = {
    0x41: "ARM", 0x42: "Broadcom", 0x43: "Cavium", 0x46: "Fujitsu", 0x48: "HiSilicon", 0x4E: "NVIDIA", 0x50: "APM", 0x51: "Qualcomm",
    0x61: "Apple", 0x6D: "Microsoft", 0x70: "Phytium", 0xC0: "Ampere",
}
ARM_PARTS = {
    (0x41, 0xD03): "Cortex-A53", (0x41, 0xD05): "Cortex-A55", (0x41, 0xD07): "Cortex-A57", (0x41, 0xD08): "Cortex-A72",
    (0x41, 0xD0B): "Cortex-A76", (0x41, 0xD0C): "Neoverse-N1", (0x41, 0xD40): "Neoverse-V1", (0x41, 0xD41): "Cortex-A78",
    (0x41, 0xD42): "Cortex-A78AE", (0x41, 0xD49): "Neoverse-N2", (0x41, 0xD4F): "Neoverse-V2", (0x41, 0xD83): "Neoverse-V3AE",
    (0x41, 0xD84): "Neoverse-V3", (0x41, 0xD85): "Cortex-X925", (0x41, 0xD87): "Cortex-A725", (0x41, 0xD8E): "Neoverse-N3",
    (0x43, 0x0AF): "ThunderX2", (0x46, 0x001): "A64FX", (0x48, 0xD01): "Kunpeng-920", (0x4E, 0x003): "Denver 2",
    (0x4E, 0x004): "Carmel", (0xC0, 0xAC3): "Ampere-1", (0xC0, 0xAC4): "Ampere-1a",
}


def parse_cpu_list(text):
    """'0-3,8' -> {0, 1, 2, 3, 8}; '' -> set(). ValueError with the text where it is no CPU list."""
    cpus = set()
    for part in text.strip().split(","):
        if not part.strip():
            continue
        try:
            first, dash, last = part.partition("-")
            low, high = int(first), int(last) if dash else int(first)
            if not 0 <= low <= high < 1 << 16:
                raise ValueError(part)
        except ValueError:
            raise ValueError("no CPU list: %r" % text[:100])
        cpus.update(range(low, high + 1))
    return cpus


def parse_cpuinfo(text):
    """/proc/cpuinfo of x86, aarch64 or ppc64le.

    -> {"model", "vendor", "hypervisor" (bool), "processors" (how many blocks), "cores" {processor: (physical id, core id)}}.
    Texts that aren't there are None. aarch64 has no model name: the core's name by implementer and part, several joined by ' + '.
    """
    first, cores, arm, processor = {}, {}, [], None
    processors, place, part = 0, {}, {}
    for line in text.splitlines() + [""]:
        key, colon, value = line.partition(":")
        key, value = key.strip(), value.strip()
        if not colon:
            if processor is not None and "physical id" in place and "core id" in place:
                cores[processor] = (place["physical id"], place["core id"])
            processor, place = (None, {}) if not line.strip() else (processor, place)
            continue
        if key == "processor" and value.isdigit():
            processor, place = int(value), {}
            processors += 1
        elif key in ("physical id", "core id") and value.isdigit():
            place[key] = int(value)
        elif key in ("CPU implementer", "CPU part"):
            part[key] = value
            if key == "CPU part" and part not in arm:
                arm.append(part)
            if key == "CPU part":
                part = {}
        first.setdefault(key, value)
    vendor, model = first.get("vendor_id"), first.get("model name")
    if arm:
        vendor, names = vendor or None, []
        for each in arm:
            implementer, number = _hexadecimal(each.get("CPU implementer")), _hexadecimal(each["CPU part"])
            vendor = vendor or ARM_VENDORS.get(implementer, each.get("CPU implementer"))
            names.append(ARM_PARTS.get((implementer, number)) or "part %s" % each["CPU part"])
        model = model or " + ".join(names)
    elif "cpu" in first and not model:
        model = first["cpu"]
        vendor = vendor or ("IBM" if model.startswith("POWER") else None)
    flags = (" %s " % first.get("flags", ""))
    machine = " ".join((first.get("platform", ""), first.get("model", ""), first.get("machine", ""))).lower()
    return {
        "model": model or first.get("Processor") or first.get("uarch") or None,
        "vendor": vendor,
        "hypervisor": " hypervisor " in flags or "emulated by qemu" in machine,
        "processors": processors,
        "cores": cores,
    }


def _hexadecimal(text):
    try:
        return int(text, 16)
    except (TypeError, ValueError):
        return None


def parse_counts(text):
    """'MemTotal:  16 kB' (/proc/meminfo) or 'pswpin 3' (/proc/vmstat) lines -> {name: int}; 'kB' becomes bytes."""
    counts = {}
    for line in text.splitlines():
        words = line.split()
        # /sys/devices/system/node/nodeN/meminfo puts 'Node N' in front.
        if words[:1] == ["Node"]:
            words = words[2:]
        if len(words) >= 2 and words[1].isdigit():
            counts[words[0].rstrip(":")] = int(words[1]) * (1024 if words[2:3] == ["kB"] else 1)
    return counts


def parse_status_list(text, field):
    """The value of 'field:' in /proc/self/status as a set of CPUs, None where the field is missing."""
    for line in text.splitlines():
        if line.startswith(field + ":"):
            return parse_cpu_list(line.partition(":")[2])
    return None


def unescape(text):
    r"""A mountinfo field with its octal escapes undone: '/mnt/my\040disk' -> '/mnt/my disk'."""
    if "\\" not in text:
        return text
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), text)


def parse_mountinfo(text):
    """/proc/self/mountinfo -> [{"device_number", "root", "mount_point", "options", "type", "device", "super_options"}] in mount order.

    Lines that aren't mountinfo lines are left out.
    """
    mounts = []
    for line in text.splitlines():
        before, dash, after = line.partition(" - ")
        left, right = before.split(" "), after.split(" ")
        if not dash or len(left) < 6 or len(right) < 2:
            continue
        mounts.append({
            "device_number": left[2],
            "root": unescape(left[3]),
            "mount_point": unescape(left[4]),
            "options": left[5].split(","),
            "type": unescape(right[0]),
            "device": unescape(right[1]),
            "super_options": right[2].split(",") if len(right) > 2 else [],
        })
    return mounts


def parse_assignments(text):
    """os-release's KEY=value lines -> {KEY: value}, quotes removed."""
    values = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and not key.startswith("#"):
            if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
                value = value[1:-1]
            values[key] = re.sub(r'\\(["$`\\])', r"\1", value)
    return values
