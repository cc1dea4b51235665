# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""After the fleet tests, and after a lab that was killed, nothing is left. The name puts this file after the other fleet tests."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fleet_runs import LAB, why_no_lab
from gpulab import fleet, kernel, paths

needs_lab = pytest.mark.skipif(bool(why_no_lab()), reason=why_no_lab() or "-")


@needs_lab
def test_down_ends_everything_after_a_killed_up():
    """`up` is ended while it waits: what it started is in state.json and goes with `down`."""
    process = subprocess.Popen([sys.executable, str(LAB / "fleet.py"), "up", "2", "--set", '{"ssh": "up", "loss": 1.0}'],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 20
        while len(fleet.load()["pids"]) < 2 and time.monotonic() < end:
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(10)
    pids = [pid for pid, _born in fleet.load()["pids"].values()]
    assert len(pids) == 2 and all(os.path.exists(f"/proc/{pid}") for pid in pids)
    assert fleet.down().endswith("left: nothing")
    assert not any(kernel.start_time(pid) for pid in pids)     # a zombie waits for its parent, it runs no more


@needs_lab
def test_nothing_of_any_fleet_is_left():
    assert fleet.leftovers() == []
    run = str(paths.RUN).encode()
    holding = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if run in words and b"pytest" not in words:
                holding.append(words.replace(b"\0", b" ").decode(errors="replace"))
    assert holding == []
