# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""cgroup v1 groups of the hosts: limits, CPU accounting, and the freezer that makes a process unkillable.

Without cgroup v1 hierarchies the lab still runs; hosts with a limit or a D-state program are then refused.
"""
from __future__ import annotations

import json
import os
import time
from pathlib import Path

from . import paths
from .host import Host, SpecError

CONTROLLERS = ("cpu", "cpuacct", "memory", "freezer")


def own_groups() -> dict[str, Path]:
    """controller -> our group in it, below the group this process is already in."""
    out = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _number, kinds, path = line.split(":", 2)
        for kind in kinds.split(","):
            root = Path("/sys/fs/cgroup") / kind
            if kind in CONTROLLERS and (root / "cgroup.procs").exists():
                out[kind] = root / path.strip("/") / paths.CGROUP
    return out


def remember() -> None:
    """Write down where the groups are: 'down' may be run from a process that sits in another group."""
    paths.RUN.mkdir(parents=True, exist_ok=True)
    (paths.RUN / "cgroups.json").write_text(json.dumps({kind: str(group) for kind, group in own_groups().items()}))


def directories(name: str = "") -> dict[str, Path]:
    """controller -> a host's group (or, without a name, the group of the whole fleet)."""
    try:
        tops = {kind: Path(group) for kind, group in json.loads((paths.RUN / "cgroups.json").read_text()).items()}
    except OSError:
        tops = own_groups()
    return {kind: top / name for kind, top in tops.items()}


def needed(host: Host) -> set[str]:
    kinds = {"cpu"} if host.cpu_quota else set()
    kinds |= {"memory"} if host.memory_limit_mib else set()
    return kinds | ({"freezer"} if "dstate" in host.faults else set())


def check(hosts: list[Host]) -> None:
    have = set(own_groups())
    for host in hosts:
        missing = needed(host) - have
        if missing:
            raise SpecError(f"{host.name} needs the cgroup v1 controller {', '.join(sorted(missing))}, which isn't mounted here")


def join(host: Host) -> None:
    """Put this process (the host's launcher) into the host's groups."""
    groups = directories(host.name)
    if not host.cpu_quota:                 # a cpu group counts as one task against all others: only who is limited is in one
        groups.pop("cpu", None)
    for group in groups.values():
        group.mkdir(parents=True, exist_ok=True)
    if host.cpu_quota:
        (groups["cpu"] / "cpu.cfs_period_us").write_text("100000")
        (groups["cpu"] / "cpu.cfs_quota_us").write_text(str(int(host.cpu_quota * 100000)))
    if host.memory_limit_mib:
        (groups["memory"] / "memory.limit_in_bytes").write_text(str(host.memory_limit_mib << 20))
    for group in groups.values():
        (group / "cgroup.procs").write_text(str(os.getpid()))
    if "freezer" in groups:
        frozen = groups["freezer"] / "frozen"
        frozen.mkdir(exist_ok=True)
        (frozen / "freezer.state").write_text("FROZEN")


def thaw() -> None:
    """A frozen process can't die: let all of ours run before they are ended."""
    for state in directories().get("freezer", Path("/nonexistent")).glob("*/frozen/freezer.state"):
        state.write_text("THAWED")


def remove() -> None:
    """Remove our groups; each is empty a moment after its last task."""
    for top in directories().values():
        groups = [top, *(p for p in top.rglob("*") if p.is_dir())] if top.exists() else []
        for group in sorted(groups, key=lambda p: -len(p.parts)):
            for _attempt in range(100):
                try:
                    group.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.02)
                else:
                    break


def cpu_seconds(name: str) -> float:
    """CPU time that all processes of a host used since it came up."""
    return int((directories(name)["cpuacct"] / "cpuacct.usage").read_text()) / 1e9


def left() -> list[str]:
    return [f"cgroup {group}" for group in directories().values() if group.exists()]
