# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs the module storage_benchmark as a host does, with the real fio or a stand-in, and looks for what it left behind."""

from __future__ import annotations

import os
import shutil
import stat

import module_runs
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import storage_folder

FIO = shutil.which("fio")
# In the environment of all that these tests start: other tests on this machine measure as well.
OURS = "GPU_AUDIT_TEST_PROCESS=%d" % os.getpid()
SMALL = {"size_bytes": 1 << 20, "numjobs": 2, "runtime_seconds": 2, "file_count": 20, "sample_bytes": 5000}


def start(before=(), check=False, **options):
    """The module, started; `before`: a program to run it through (setpriv)."""
    return module_runs.start("storage_benchmark", options, check, before, GPU_AUDIT_TEST_PROCESS=str(os.getpid()))


def run(before=(), check=False, **options):
    return module_runs.answered(start(before, check, **options))[0]


def measured(**options):
    answer = run(**options)
    assert not answer.get("failed"), answer["msg"]
    return answer["measurement"]


def stand_in(folder, script):
    """A program `fio` in a folder: `script` is shell, REAL in it the real fio; it answers --version."""
    path = folder / "fio"
    path.write_text('#!/bin/sh\n[ "$1" = --version ] && { echo fio-3.33; exit; }\nREAL=%s\n%s\n' % (FIO, script))
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return str(path)


def programs_left():
    """Programs that a test of ours started and that are still there."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                environment = file.read().decode("utf-8", "replace")
            if OURS in environment and storage_folder.MARK_VARIABLE + "=" in environment:
                found.append(pid)
        except OSError:
            pass
    return found
