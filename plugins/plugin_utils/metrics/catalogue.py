# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What is known of GPU products by heart: class, ECC default, links. Read once from roles/audit/files/reference/gpus.yml."""

from __future__ import annotations

import collections
import functools
import os
import re

import yaml

REFERENCE_DIR = os.path.normpath(
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "roles", "audit", "files", "reference")
)


def load_reference(name):
    """The data of one shipped reference file."""
    with open(os.path.join(REFERENCE_DIR, name), encoding="utf-8") as handle:
        return yaml.load(handle, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def plain_name(name):
    """A product name without the NVIDIA prefix, which drivers before R470 don't print."""
    return name[7:] if name.startswith("NVIDIA ") else name


@functools.lru_cache(maxsize=1)
def boards():
    """Every board of the catalogue, as gpus.yml has it: shared, so not to be changed."""
    return tuple(load_reference("gpus.yml")["gpus"])


_FORM = re.compile(r"(?:sxm\d?|pcie|nvl)")
_SIZE = re.compile(r"(\d+)gb")


@functools.lru_cache(maxsize=1)
def _families():
    return collections.Counter(board["key"].partition("-")[0] for board in boards())


def shown_name(board):
    """A board's product name for people: with the form factor and size that its key has and its name lacks, where a product comes in
    several ("H100" is also the name of the one with 94 GB: "H100 (SXM5, 94 GB)").
    """
    name, missing = plain_name(board["names"][0]), []
    family, *parts = board["key"].split("-")
    for part in parts if _families()[family] > 1 else ():
        size = _SIZE.fullmatch(part)
        if size and size[1] + "g" not in name.lower().replace(" ", ""):
            missing.append(size[1] + " GB")
        elif _FORM.fullmatch(part) and part not in name.lower():
            missing.append(part.upper())
    return "%s (%s)" % (name, ", ".join(missing)) if missing else name


@functools.lru_cache(maxsize=1)
def _index():
    by_name, by_device = {}, {}
    for board in boards():
        for name in board["names"]:
            by_name[plain_name(name)] = board
        for device in board["pci_device_ids"]:
            by_device.setdefault(device, board)
    return by_name, by_device


@functools.lru_cache(maxsize=4096)
def find_board(name, device_id):
    """The catalogue's entry of a product by name, else by PCI device id as nvidia-smi (0x20B210DE) or sysfs (0x20b2) prints it; None
    if new.
    """
    by_name, by_device = _index()
    if name and plain_name(name) in by_name:
        return by_name[plain_name(name)]
    if not device_id:
        return None
    digits = device_id.lower()
    digits = digits[2:] if digits.startswith("0x") else digits
    return by_device.get("10de:" + digits[:4])
