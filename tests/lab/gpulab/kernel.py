# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The system calls that namespaces and mounts need, and telling a live process from a reused pid."""
from __future__ import annotations

import ctypes
import os
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWPID, NEWNET = 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2


def call(function: str, *args) -> None:
    """A libc call that returns 0 on success; OSError with its arguments otherwise."""
    args = tuple(a.encode() if isinstance(a, str) else a for a in args)
    if getattr(libc, function)(*args) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function}{args}: {os.strerror(number)}")


def mount(source, target, kind=None, flags=0, data=None) -> None:
    call("mount", str(source), str(target), kind, ctypes.c_ulong(flags), data)


def bind_read_only(source, target) -> None:
    mount(source, target, None, MS_BIND)
    mount("none", target, None, MS_BIND | MS_REMOUNT | MS_RDONLY)


def start_time(pid: int) -> str:
    """Kernel start time of a process, '' if it ended: a reused pid has another one."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]
