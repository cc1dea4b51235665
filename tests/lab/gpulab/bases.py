# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Debian trees that all hosts share (debootstrap, minbase)."""
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from . import paths

MIRROR = os.environ.get("GPU_AUDIT_LAB_MIRROR")      # default: debootstrap's own
BUILD_SECONDS = 3600
PACKAGES = "openssh-server,python3,sudo,iproute2,procps,ethtool,util-linux,kmod,pciutils,fio,iperf3,nftables"


def ready(suite: str) -> bool:
    """Finished: debootstrap leaves its own folder behind until the last package is configured."""
    base = paths.BASES / suite
    return (base / "usr/sbin/sshd").exists() and (base / "usr/bin/python3").exists() and not (base / "debootstrap").exists()


def build(suite: str) -> Path:
    """The finished tree of a suite, made if it is missing or half-made; a failed build leaves no tree behind."""
    target = paths.BASES / suite
    if ready(suite):
        return target
    if target.exists():
        shutil.rmtree(target)
    half = paths.BASES / f".{suite}.{os.getpid()}"
    half.mkdir(parents=True)
    command = ["debootstrap", "--variant=minbase", "--include=" + PACKAGES, suite, str(half), *([MIRROR] if MIRROR else [])]
    try:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, timeout=BUILD_SECONDS)
        half.rename(target)
    finally:
        shutil.rmtree(half, ignore_errors=True)
    return target
