# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A probe against the lab's driver: one interpreter a probe, as the library is loaded once and reads its place from the environment."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKLOAD = ROOT / "tests" / "lab" / "workload.py"
HELPER = ROOT / "roles" / "probe_workload" / "files"
sys.path.insert(0, str(ROOT / "tests" / "lab"))

from gpulab import native

needs_compiler = pytest.mark.skipif(not (shutil.which("cc") or shutil.which("gcc")), reason="no C compiler for the stand-ins")
TOTAL = 80 << 30
SCENARIO = """[system]
count = {count}
live = {live}
[gpu *]
name = Lab GPU
memory.total = {total}
memory.used = {used}
memory.reserved = {reserved}
utilization = 0 0
utilization.encoder = 0 100000
temperature = @ramp 0:40; 2:70
power.mw = 60000
throttle = 0x1
processes.compute = {processes}
{extra}
[gpu 0]
uuid = GPU-00000000-0000-4000-8000-000000000000
[gpu 1]
uuid = GPU-11111111-0000-4000-8000-000000000000
"""
RUN = """
import json, sys
from gpu_audit_utils.measure import probe
try:
    given = json.loads(sys.argv[1] if sys.argv[1][0] == "{" else open(sys.argv[1]).read())
    once = lambda options: probe.run(options, unread=lambda: False)
    print(json.dumps(probe.measure(given, once) if given.pop("measure", False) else once(given)))
except probe.ProbeError as error:
    print(json.dumps({"probe_error": str(error)}))
"""


def marked(mark, looks=1):
    """Pids of the processes with this text in their environment. One that forks all the time is seen in some looks only."""
    found = set()
    for _look in range(looks):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if mark.encode("ascii") in pathlib.Path("/proc", pid, "environ").read_bytes():
                    found.add(int(pid))
            except OSError:
                pass
    return found


class Lab:
    """A folder with a scenario, a live file and the package under test."""

    def __init__(self, folder):
        self.folder, self.live = folder, folder / "live.conf"
        (folder / "package").mkdir()
        (folder / "package" / "gpu_audit_utils").symlink_to(ROOT / "plugins" / "module_utils")
        self.scenario()

    def scenario(self, count=1, used=0, reserved=500 << 20, processes="", extra=""):
        text = SCENARIO.format(count=count, live=self.live, total=TOTAL, used=used, reserved=reserved, processes=processes, extra=extra)
        (self.folder / "scenario.conf").write_text(text)

    def environment(self):
        return {**os.environ, "LD_LIBRARY_PATH": str(native.build()), "NVML_STUB_SCENARIO": str(self.folder / "scenario.conf"),
                "PYTHONPATH": str(self.folder / "package"), "TMPDIR": str(self.folder)}

    def start(self, argv, **options):
        given = json.dumps({"argv": argv, "interval_seconds": 0.1, **options})
        if len(given) > 64 << 10:
            # The kernel takes no longer word.
            (self.folder / "options.json").write_text(given)
            given = str(self.folder / "options.json")
        return subprocess.Popen([sys.executable, "-c", RUN, given], env=self.environment(), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, argv, **options):
        """The probe's answer."""
        process = self.start(argv, **options)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0 and out, err
        return json.loads(out)

    def workload(self, *words, **options):
        """The result of a probe of tests/lab/workload.py."""
        argv = [sys.executable, str(WORKLOAD), "--live", str(self.live), "--total", str(TOTAL), *words]
        answer = self.run(argv, **{"iteration_pattern": r"step (?P<iteration>\d+)/", **options})
        return answer["measurement"]
