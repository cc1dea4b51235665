# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which driver a CUDA version needs, from roles/audit/files/reference/compat.yml; which CUDA a Python environment brings."""

from __future__ import annotations

import functools
import re

from .metrics.catalogue import load_reference
from .metrics.registry import mapping, text

ORDER = ("ok", "below_toolkit", "too_old")
_VERSION = re.compile(r"^\d{1,6}(?:\.\d{1,6}){0,3}")
_LOCAL_CUDA = re.compile(r"\+cu(\d{2,3})\b")


def parse_version(value):
    """A version as a tuple of ints ("550.54.15" -> (550, 54, 15)), None when it doesn't begin with one."""
    match = _VERSION.match(value)
    return tuple(int(part) for part in match.group(0).split(".")) if match else None


@functools.lru_cache(maxsize=1)
def _tables():
    reference = load_reference("compat.yml")
    exact = {}
    for row in reference["cuda_min_linux_driver"]["rows"]:
        version = parse_version(str(row["cuda"]))
        # The first release of a minor version is what its whole family needs.
        minor = version[:2]
        driver = parse_version(str(row["driver"]))
        exact[minor] = min(driver, exact.get(minor, driver))
    floors = {
        int(str(row["cuda_major"]).split(".", maxsplit=1)[0]): parse_version(str(row["driver_min"]))
        for row in reference["minor_version_compatibility"]["rows"]
    }
    return exact, floors


def _dotted(version):
    # Driver versions are written with two digits after the first point (525.60.13, 580.65.06).
    return ".".join([str(version[0])] + ["%02d" % part for part in version[1:]])


@functools.lru_cache(maxsize=4096)
def judge_driver(driver, cuda):
    """("ok" | "below_toolkit" | "too_old", driver it takes) of driver and CUDA version texts, None when the CUDA version is not in the
    table.
    """
    have, wanted = parse_version(driver), parse_version(cuda)
    exact, floors = _tables()
    minor = (wanted + (0,))[:2]
    needed, floor = exact.get(minor), floors.get(wanted[0])
    if needed is None and floor is None:
        return None
    if floor is None:
        # Before CUDA 11 there is no compatibility within a major version: the toolkit's own driver is the floor.
        return ("ok" if have >= needed else "too_old"), _dotted(needed)
    if have < floor:
        return "too_old", _dotted(floor)
    if needed is not None and have < needed:
        return "below_toolkit", _dotted(needed)
    return "ok", _dotted(needed or floor)


def cuda_of_environment(environment):
    """[(CUDA version text, what brings it)] of one Python environment of the software facts."""
    packages = mapping(environment, "packages")
    path = text(environment, "path") or "python"
    found = []
    torch = text(packages, "torch")
    cuda = text(environment, "torch_cuda_version")
    if torch and not cuda:
        match = _LOCAL_CUDA.search(torch)
        cuda = "%s.%s" % (match.group(1)[:-1], match.group(1)[-1]) if match else None
    if torch and cuda:
        found.append((cuda, "torch %s in %s" % (torch, path)))
    for name in sorted(packages, key=str):
        if isinstance(name, str) and re.match(r"nvidia[-_]cuda[-_]runtime", name) and text(packages, name) and not (torch and cuda):
            found.append((".".join(text(packages, name).split(".")[:2]), "%s in %s" % (name, path)))
    return found
