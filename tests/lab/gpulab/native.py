# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The compiled stand-ins: the driver's library, nvidia-smi, and what no file can cover of the kernel.

Built once per source text with the machine's own compiler. The libraries use only symbols that glibc 2.31
(bullseye) has, and nvidia-smi is linked statically, so one build runs on every base.
"""
from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from . import paths

NVML, SMI, ANSWERS = "libnvidia-ml.so.1", "nvidia-smi", "libgpulab-kernel.so"
SHARED = ["-shared", "-fPIC"]
RECIPES = {
    NVML: ("nvml_stub.c", [*SHARED, "-Wl,-soname," + NVML]),
    SMI: ("fake_smi.c", ["-static"]),
    ANSWERS: ("kernel_answers.c", SHARED),
}


def build() -> Path:
    """The folder with all three, compiled if these sources haven't been yet."""
    digest = hashlib.sha256()
    for source in sorted(paths.NATIVE.iterdir()):
        digest.update(source.read_bytes())
    folder = paths.BUILT / digest.hexdigest()[:12]
    if folder.is_dir():
        return folder
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise SystemExit("the lab needs a C compiler with static libc (apt-get install gcc libc6-dev)")
    half = folder.with_name(f"{folder.name}.{os.getpid()}")
    half.mkdir(parents=True)
    for name, (source, flags) in RECIPES.items():
        subprocess.run([compiler, "-O1", "-Wall", *flags, "-o", str(half / name), str(paths.NATIVE / source)], check=True)
    try:
        half.rename(folder)
    except OSError:                        # another process was first
        shutil.rmtree(half)
    return folder
