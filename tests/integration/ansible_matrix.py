# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Several ansible-core versions, each in a virtual environment of its own, made on first use and kept.

GPU_AUDIT_MATRIX selects: "2.19.14" or "2.16.19:3.10,2.21.5:3.13" (core, or core:Python), or "all". Default: main, oldest, newest.
"""
from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from environment import find_python

HOME = Path(os.environ.get("GPU_AUDIT_MATRIX_HOME", "/var/cache/trainops-gpu-audit/venvs"))
MAIN = "2.19.14"
# Controller Pythons from each core's own support table; the first is the default. Host Pythons: docs/compatibility.
PYTHONS = {
    "2.16.19": ("3.10", "3.11"), "2.17.14": ("3.11", "3.10", "3.12"), "2.18.19": ("3.12", "3.11", "3.13"),
    "2.19.14": ("3.11", "3.12", "3.13"), "2.20.10": ("3.12", "3.13"), "2.21.5": ("3.13", "3.12"),
}
DEFAULT = (MAIN, "2.16.19", "2.21.5")
INSTALL_SECONDS = 600


@dataclasses.dataclass(frozen=True)
class Core:
    """One ansible-core on one Python."""

    version: str
    python: str

    def __str__(self) -> str:
        return f"core-{self.version}-py{self.python}"

    @property
    def bin(self) -> Path:
        return HOME / str(self) / "bin"


def selected(text: str | None = None) -> list[Core]:
    """The cores that GPU_AUDIT_MATRIX names; ValueError names a version it doesn't know."""
    text = os.environ.get("GPU_AUDIT_MATRIX", "") if text is None else text
    words = list(PYTHONS) if text == "all" else [word.strip() for word in text.split(",") if word.strip()] or list(DEFAULT)
    cores = []
    for word in words:
        version, _colon, python = word.partition(":")
        if version not in PYTHONS:
            raise ValueError(f"GPU_AUDIT_MATRIX: ansible-core {version} is none of {', '.join(PYTHONS)}")
        cores.append(Core(version, python or PYTHONS[version][0]))
    return cores


def prepare(core: Core) -> str:
    """Make the core's environment unless it is there; returns '' or why it can't be had (for a skip)."""
    if (core.bin / "ansible-playbook").exists():
        return ""
    found = find_python(core.python)
    if not found:
        return f"no Python {core.python} here for ansible-core {core.version}"
    python, target = found[0], HOME / str(core)
    HOME.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    # Scripts carry their environment's path: it is made under its final name, and a marker-less one is made again.
    try:
        subprocess.run([python, "-m", "venv", target], check=True, capture_output=True, timeout=INSTALL_SECONDS)
        subprocess.run([core.bin / "python", "-m", "pip", "install", "-q", f"ansible-core=={core.version}"], check=True, capture_output=True,
                       text=True, timeout=INSTALL_SECONDS)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        shutil.rmtree(target, ignore_errors=True)
        words = re.sub(r"\s+", " ", str(getattr(error, "stderr", "") or error))[-300:]
        return f"ansible-core {core.version} can't be installed: {words}"
    return ""
