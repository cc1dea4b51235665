# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a lab host is: the fields of a spec file, each with a healthy default."""
from __future__ import annotations

import dataclasses
import difflib
import json
from pathlib import Path

from . import paths

CHOICES = {"base": ("bookworm", "trixie", "bullseye"), "ssh": ("up", "closed", "drop", "hang"), "upper": ("disk", "tmpfs")}


class SpecError(Exception):
    """A spec file that can't be used; the text says where and what to write instead."""


@dataclasses.dataclass
class Host:
    """One host. Sizes are in the unit their name says; an empty value means "none"."""

    name: str
    index: int = 0
    base: str = "bookworm"        # bookworm: Python 3.11 | trixie: 3.13 | bullseye: 3.9
    ssh: str = "up"               # up | closed (RST) | drop (times out) | hang (no banner)
    python: bool = True           # False: no interpreter at all
    scenario: str = "h100x8"      # a file of scenarios/; "" = a machine without a GPU
    faults: list = dataclasses.field(default_factory=list)     # fault-*.conf put after it, by the part after "fault-"
    smi: bool = True              # nvidia-smi is installed
    nvml: bool = True             # the driver's library is installed
    sockets: int = 2
    cores: int = 64               # physical cores, all sockets together
    threads_per_core: int = 2
    memory_gib: int = 2048
    cpu_quota: float = 0.0        # CPU limit in cores (cgroup), 0 = none
    memory_limit_mib: int = 0     # memory limit (cgroup), 0 = none
    disk_mib: int = 0             # a loop-mounted file system of this size ...
    disk_fs: str = "ext4"         # ... of this kind (xfs needs >= 300 MiB)
    disk_at: str = "/data"        # ... mounted here
    disk_full: bool = False       # ... and filled to the last block
    upper: str = "disk"           # disk | tmpfs: where what the host writes goes
    rate: str = ""                # e.g. "100mbit": tbf on both ends of the link
    loss: float = 0.0             # share of packets dropped on input, 0..1
    delay_ms: float = 0.0         # one way, each way; the link becomes a TAP relay
    use_pam: bool = True
    vars: dict = dataclasses.field(default_factory=dict)       # inventory variables of this host
    groups: list = dataclasses.field(default_factory=list)     # inventory groups, besides the base's
    files: dict = dataclasses.field(default_factory=dict)      # path -> text, in the root
    binds: dict = dataclasses.field(default_factory=dict)      # path -> text, over /proc or /sys files
    shadow: dict = dataclasses.field(default_factory=dict)     # dir -> {rel: text}: tmpfs over a dir

    @property
    def ip(self) -> str:
        return f"{paths.NET}.{1 + self.index // 250}.{1 + self.index % 250}"

    @property
    def dir(self) -> Path:
        return paths.RUN / "hosts" / self.name

    @property
    def link(self) -> str:
        return f"{paths.PREFIX}{self.index}"

    @property
    def ident(self) -> str:
        """Eight hex digits that no other host of the fleet has."""
        return f"{0xF1EE7000 + self.index:08x}"

    @property
    def threads(self) -> int:
        return self.cores * self.threads_per_core


def from_row(row: dict, index: int) -> Host:
    """A spec's row as a Host; raises SpecError that names the row, the key and the nearest valid one."""
    fields = {f.name for f in dataclasses.fields(Host)}
    where = f"host {index + 1} ({row.get('name', 'unnamed')})"
    for key in row:
        if key not in fields:
            near = difflib.get_close_matches(key, fields, 1)
            raise SpecError(f"{where}: no field '{key}'" + (f"; did you mean '{near[0]}'?" if near else ""))
    for key, allowed in CHOICES.items():
        if row.get(key, allowed[0]) not in allowed:
            raise SpecError(f"{where}: {key} is '{row[key]}', not one of {', '.join(allowed)}")
    return Host(**{"name": f"gpu{index + 1:03d}", "index": index, **row})


def from_file(path: Path) -> list[Host]:
    """The hosts of a spec: a JSON list, one object a host."""
    try:
        rows = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise SpecError(f"{path}: {error}") from None
    hosts = [from_row(row, index) for index, row in enumerate(rows)]
    names = [h.name for h in hosts]
    if len(set(names)) != len(names):
        raise SpecError(f"{path}: two hosts have the same name")
    return hosts
