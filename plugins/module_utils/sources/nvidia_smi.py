# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs nvidia-smi, and what its exit status means."""

from __future__ import annotations

import os
import re

from .gpu_record import bus_id
from .run_program import run_program
from .texts import clean_text

# Exit status (man nvidia-smi, "RETURN VALUE"; 18 and others are nvmlReturn_t) -> (error_kind, hint). The words on the output may be
# translated, so the status comes first.
EXITS = {
    2: ("other", "check_nvidia_smi"),
    3: ("other", "check_nvidia_smi"),
    4: ("no_permission", "use_become"),
    6: ("other", "check_kernel_log"),
    8: ("other", "check_power_cables"),
    9: ("driver_not_loaded", "load_driver"),
    10: ("other", "check_kernel_log"),
    12: ("tool_missing", "install_driver"),
    13: ("version_mismatch", "reload_driver"),
    14: ("other", "replace_gpu"),
    15: ("other", "reset_gpu"),
    17: ("no_permission", "use_become"),
    18: ("version_mismatch", "reload_driver"),
    126: ("no_permission", "use_become"),
    127: ("tool_missing", "install_driver"),
}
# Where the status says nothing (1, 255).
_WORDS = (("version mismatch", 18), ("insufficient permissions", 4), ("couldn't communicate with the nvidia driver", 9),
          ("driver not loaded", 9),
          ("no devices were found", 6), ("gpu is lost", 15), ("device handle", 15), ("library not found", 12))
NO_DEVICES = 6
FOLDERS = ("/usr/bin", "/usr/lib/wsl/lib", "/usr/local/nvidia/bin", "/run/nvidia/driver/usr/bin", "/run/current-system/sw/bin",
           "/home/kubernetes/bin/nvidia/bin")


def locate(program):
    """`program` itself, or where a bare "nvidia-smi" lies on systems that don't have it on the PATH."""
    if "/" not in program and not any(os.access(os.path.join(folder, program), os.X_OK)
                                      for folder in os.environ.get("PATH", "").split(os.pathsep)):
        for folder in FOLDERS:
            if os.access(os.path.join(folder, program), os.X_OK):
                return os.path.join(folder, program)
    return program


def meaning(text):
    """The exit status that an error message stands for, None where none is known."""
    lower = text.lower()
    return next((code for words, code in _WORDS if words in lower), None)


def explain(result, timeout_seconds=None):
    """A ProgramResult that is no success -> {"kind", "hint", "text", "code"}; code is the exit status or the one that the words mean."""
    said = clean_text(result.stdout if not result.stdout.lstrip().startswith("<?xml") else "", 300)
    text = " ".join(part for part in (said, clean_text(result.stderr, 300)) if part)
    if result.timed_out:
        late = "nvidia-smi gave no answer within %g s" % (timeout_seconds or round(result.duration_seconds, 1))
        return {"kind": "timeout", "hint": "reboot" if result.stuck else "check_kernel_log", "code": None,
                "text": late + ("; the process can't be ended (state D)" if result.stuck else "")}
    if result.truncated:
        return {"kind": "other", "hint": "check_nvidia_smi", "code": None,
                "text": "nvidia-smi wrote more than %d bytes and was ended" % len(result.stdout)}
    code = result.rc
    if code is None:
        kind, hint = EXITS[127 if result.missing else 126 if result.not_permitted else 2]
        return {"kind": kind, "hint": hint, "text": text, "code": None}
    if code < 0 or code > 128 and code < 160:
        from .forked import signal_name
        return {"kind": "crashed", "hint": "check_kernel_log",
                "text": "nvidia-smi was ended by %s" % signal_name(-code if code < 0 else code - 128), "code": None}
    if code not in EXITS or code == 1:
        code = meaning(text) or code
    kind, hint = EXITS.get(code, ("other", "check_kernel_log"))
    return {"kind": kind, "hint": hint, "text": text or "nvidia-smi ended with status %d" % result.rc, "code": code}


def query(program, timeout_seconds, bus=None):
    """`nvidia-smi -q -x`, for one GPU where `bus` (a PCI address) is given. -> ProgramResult"""
    return run_program([program, "-q", "-x"] + (["-i", bus] if bus else []), timeout_seconds)


def query_capabilities(program, timeout_seconds):
    """What -q -x doesn't tell: compute capability by bus id, and the infoROM warning that only other queries print. -> ({bus_id: "9.0"},
    [warning])
    """
    result = run_program([program, "--query-gpu=pci.bus_id,compute_cap", "--format=csv,noheader"], timeout_seconds)
    found, warnings = {}, []
    for line in result.stdout.splitlines():
        match = re.match(r"\s*([0-9A-Fa-f:.]+)\s*,\s*(\d+\.\d+)\s*$", line)
        if match and bus_id(match.group(1)):
            found[bus_id(match.group(1))] = match.group(2)
        elif re.search(r"inforom is corrupted", line, re.I):
            warnings.append(clean_text(line))
    if result.rc == 14 and not warnings:
        warnings.append("nvidia-smi: exit status 14, infoROM is corrupted")
    if result.timed_out:
        warnings.append("nvidia-smi --query-gpu gave no answer within %g s" % timeout_seconds)
    return found, warnings


def parse_nvlink_status(text):
    """`nvidia-smi nvlink -s` -> {GPU index: [{"link", "active", "crc_errors": null}]}; [] where all are inactive, no entry without NVLink.

    >>> parse_nvlink_status("GPU 0: X (UUID: GPU-1)\\n\\t Link 0: 26.562 GB/s\\n\\t Link 1: <inactive>")[0][1]
    {'link': 1, 'active': False, 'crc_errors': None}
    """
    found, index = {}, None
    for line in text.splitlines():
        gpu, link = re.match(r"GPU (\d+):", line), re.match(r"\s+Link (\d+):\s*(\S+)", line)
        if gpu:
            index = int(gpu.group(1))
        elif index is not None and link:
            active = "inactive" not in link.group(2).lower()
            found.setdefault(index, []).append({"link": int(link.group(1)), "active": active, "crc_errors": None})
        elif index is not None and "all links are inactive" in line.lower():
            found[index] = []
    return found


def query_nvlinks(program, timeout_seconds):
    """-> what parse_nvlink_status gives, {} where the program can't tell."""
    return parse_nvlink_status(run_program([program, "nvlink", "-s"], timeout_seconds).stdout)


def named_bus_ids(text):
    """The PCI addresses in an error message: "... device handle for GPU0000:BA:00.0: Unknown Error" -> ["0000:ba:00.0"]."""
    return [bus_id(word) for word in re.findall(r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])", text)]
