# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A link that goes down while a probe runs on a lab host: the probe goes on, and its measurement arrives."""

from __future__ import annotations

import json
import subprocess
import threading
import time

import pytest
from ansible_matrix import MAIN, PYTHONS, Core
from fleet_runs import Controller, lab, ready, why_no_lab
from gpulab.host import from_row

pytestmark = pytest.mark.skipif(bool(why_no_lab()), reason=why_no_lab() or "-")

SECONDS, AWAY_SECONDS = 25, 15
HOST = from_row({"name": "cut", "vars": {"probe_workload_argv": ["python3", "-c", "import time; time.sleep(%d)" % SECONDS]}}, 0)


def set_link(state: str) -> None:
    subprocess.run(["ip", "link", "set", HOST.link, state], check=True, timeout=20)


def take_away(controller, done: threading.Event, taken: list) -> None:
    """The link is down for a while once the job runs."""
    while not done.wait(0.1):
        if list((controller.output / "measurements" / "cut").glob(".pending-*")):
            set_link("down")
            try:
                time.sleep(AWAY_SECONDS)
            finally:
                set_link("up")
            taken.append(True)
            return


def test_a_link_that_goes_down_loses_nothing(tmp_path):
    core = ready(Core(MAIN, PYTHONS[MAIN][0]))
    with lab([HOST]):
        controller, done, taken = Controller(core, tmp_path), threading.Event(), []
        cutter = threading.Thread(target=take_away, args=(controller, done, taken))
        cutter.start()
        try:
            play = controller.play("measure", seconds=240)
        finally:
            done.set()
            cutter.join()
        assert taken and play.code == 0, play.out[-3000:]
        (path,) = (controller.output / "measurements" / "cut").glob("workload_probe-*.json")
        result = json.loads(path.read_text())["result"]
        assert result["outcome"] == "completed" and result["duration_seconds"] >= SECONDS
        assert not list(path.parent.glob(".pending-*"))
