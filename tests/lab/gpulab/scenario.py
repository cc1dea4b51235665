# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Scenario files: put together for a host, and read for what the kernel shows of the GPUs (PCI, /proc, /dev).

The same text answers NVML and nvidia-smi (native/scenario.h reads it), so all sources agree.
"""
from __future__ import annotations

from . import paths
from .host import Host, SpecError


def text_for(host: Host) -> str:
    """The host's whole scenario; '' for a machine without a GPU."""
    if not host.scenario:
        return ""
    names = [host.scenario] + [f"fault-{fault}" for fault in host.faults]
    parts = []
    for name in names:
        path = paths.SCENARIOS / f"{name}.conf"
        if not path.is_file():
            raise SpecError(f"{host.name}: no scenario {path}")
        parts.append(path.read_text())
    return personal("\n".join(parts), host.ident, host.index)


def personal(text: str, ident: str, index: int) -> str:
    """Serial numbers and UUIDs of one machine: no two hosts of a fleet share them."""
    return text.replace("%HOST%", ident).replace("%INDEX%", f"{index:06d}")


def parse(text: str) -> tuple[dict, list]:
    """(system, gpus): the keys of [system], and for each GPU that PCI shows its keys, [gpu *] included."""
    sections: dict = {}
    where = ["system"]
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            inner = line.strip("[]").split()
            if inner[0] == "system":
                where = ["system"]
            else:
                first, _dash, last = inner[1].partition("-")
                where = ["*"] if first == "*" else [str(n) for n in range(int(first), int(last or first) + 1)]
            continue
        key, _equals, value = line.partition("=")
        for section in where:
            sections.setdefault(section, {})[key.strip()] = value.strip()
    system = sections.get("system", {})
    count = int(system.get("pci_count", system.get("count", "0")))
    return system, [{**sections.get("*", {}), **sections.get(str(n), {})} for n in range(count)]
