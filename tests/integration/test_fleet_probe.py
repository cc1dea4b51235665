# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Probes of a real program on lab hosts, end to end: probe, measurement, metrics, findings, report; and nothing left on a host."""
from __future__ import annotations

import datetime
import json
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
from ansible_matrix import MAIN, PYTHONS, Core
from fleet_runs import LAB, Controller, findings, lab, ready, why_no_lab
from gpulab import paths
from gpulab.host import from_row

pytestmark = pytest.mark.skipif(bool(why_no_lab()), reason=why_no_lab() or "-")

# The T4 of scenarios/t4.conf: what its driver leaves.
USABLE = 16106127360 - 449839104
PATTERN = r"step (?P<iteration>\d+)/"
FILES = {"/opt/lab/workload.py": (LAB / "workload.py").read_text(), **{f"/data/dataset/{number}.bin": "x" * 200000 for number in range(4)}}
DATA = ("--data", "/data/dataset")


def argv(*words: str) -> list[str]:
    return ["python3", "/opt/lab/workload.py", "--total", str(USABLE), *words]


def variables(*words: str, **options) -> dict:
    return {"probe_workload_argv": argv(*words), "probe_workload_interval_seconds": 0.2, "probe_workload_iteration_pattern": PATTERN,
            **{f"probe_workload_{name}": value for name, value in options.items()}}


HOSTS = {
    "climb79": {"base": "bookworm", "vars": variables("--peak", "0.79", *DATA)},
    "climb82": {"base": "trixie", "vars": variables("--peak", "0.82", *DATA)},
    "climb86": {"base": "bullseye", "vars": variables("--peak", "0.86", *DATA)},
    "fills": {"vars": variables("--mode", "fill", "--step-seconds", "0.4")},
    "slow": {"vars": variables("--steps", "10000", timeout_seconds=5, grace_seconds=1)},
    "stuck": {"vars": variables("--mode", "hang", hang_seconds=3, grace_seconds=1)},
    "killed": {"memory_limit_mib": 400, "vars": variables("--mode", "eat", "--mib", "2000")},
    "breaks": {"vars": variables("--mode", "fail")},
    "reserves": {"files": {"/opt/lab/vllm": "#!/bin/sh\nexec python3 /opt/lab/workload.py \"$@\"\n"},
                 "vars": {**variables(), "probe_workload_argv": ["/bin/sh", "/opt/lab/vllm", "--total", str(USABLE), "--mode", "reserve", "--peak", "0.93"]}},
    "daemons": {"vars": variables("--mode", "daemons", "--steps", "3")},
    "waits": {"vars": variables("--steps", "12", "--wait-seconds", "0.25", "--step-seconds", "0.08", "--utilization", "38", "--peak", "0.75", *DATA,
                                iteration_pattern="", helper=True)},
}
OUTCOMES = {"climb79": "completed", "climb82": "completed", "climb86": "completed", "fills": "oom_cuda", "slow": "timeout", "stuck": "hang",
            "killed": "oom_host", "breaks": "failed", "reserves": "completed", "daemons": "completed", "waits": "completed"}


def rows() -> list:
    found = []
    for index, (name, fields) in enumerate(HOSTS.items()):
        row = {"name": name, "scenario": "t4", "faults": ["live"], **fields}
        found.append(from_row({**row, "files": {**FILES, **fields.get("files", {})}}, index))
    return found


def inside(name: str, *words: str) -> str:
    done = subprocess.run(["ssh", "-F", str(paths.RUN / "ssh_config"), name, *words], capture_output=True, text=True, timeout=30, check=False)
    return done.stdout


@pytest.fixture(scope="module")
def probed(tmp_path_factory):
    """(controller, the finished measuring play) with the lab still up."""
    core = ready(Core(MAIN, PYTHONS[MAIN][0]))
    with lab(rows()):
        controller = Controller(core, tmp_path_factory.mktemp("probe"))
        yield controller, controller.play("measure", seconds=200)


def files(controller, name: str) -> list[Path]:
    return sorted((controller.output / "measurements" / name).glob("workload_probe-*.json"))


def result(controller, name: str) -> dict:
    return json.loads(files(controller, name)[-1].read_text())["result"]


def test_each_end_is_told_from_the_others(probed):
    controller, play = probed
    assert play.code == 0, play.out[-3000:]
    assert {name: result(controller, name)["outcome"] for name in HOSTS} == OUTCOMES, play.out[-2000:]


def test_vram_is_what_the_program_took(probed):
    controller, _play = probed
    for name, share in (("climb79", 0.79), ("climb82", 0.82), ("climb86", 0.86), ("reserves", 0.93)):
        gpu, = result(controller, name)["gpus"]
        assert gpu["memory_used_peak_bytes"] == int(USABLE * share), name
        assert gpu["memory_reserved_bytes"] == 449839104 and gpu["used_by_job"]
    assert result(controller, "reserves")["reservation"] == "vllm"
    assert result(controller, "fills")["out_of_memory"]["at_start"]


def test_the_kernel_counted_the_kill(probed):
    controller, _play = probed
    killed = result(controller, "killed")
    assert killed["signal"] == "SIGKILL" and killed["out_of_memory"]["source"] == "memory cgroup" and killed["memory"]["oom_kills"] >= 1


def test_reads_are_counted_and_waiting_is_told(probed):
    controller, _play = probed
    waits = result(controller, "waits")
    assert waits["read_call_bytes"] >= 12 * 200000 and waits["data_wait_fraction"] > 0.5
    assert waits["epoch_source"] == "measured" and waits["iterations"] == 12


def test_nothing_is_left_running_or_lying_about(probed):
    for name in HOSTS:
        assert inside(name, "sh -c 'ps ax -o args= 2>/dev/null || cat /proc/[0-9]*/cmdline' | tr '\\0' ' '").count("workload.py") == 0, name
        assert inside(name, "ls -d /tmp/gpu-audit-probe-* 2>/dev/null") == ""
    assert any("still running" in note for note in result(probed[0], "daemons")["notes"])


def day_old(controller) -> None:
    """What was measured now is of yesterday."""
    for path in (controller.output / "measurements").glob("*/workload_probe-*.json"):
        document = json.loads(path.read_text())
        for key in ("started", "finished"):
            moment = datetime.datetime.strptime(document[key], "%Y-%m-%dT%H:%M:%SZ") - datetime.timedelta(days=1)
            document[key] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
        path.write_text(json.dumps(document))


@pytest.mark.parametrize("age", ["now", "yesterday"])
def test_bands_are_judged_in_the_report(probed, age):
    controller, _play = probed
    if age == "yesterday":
        day_old(controller)
    done = controller.play("audit", seconds=120)
    assert done.code == 0, done.out[-3000:]
    hosts = done.hosts()
    statuses = {name: findings(hosts[name])["vram.peak_fraction"]["status"] for name in HOSTS}
    assert {name: statuses[name] for name in ("climb79", "climb82", "climb86", "reserves", "breaks")} == {
        "climb79": "pass", "climb82": "warn", "climb86": "fail", "reserves": "unknown", "breaks": "unknown"}, statuses
    assert findings(hosts["waits"], "warn")["workload.data_wait_fraction"]


def test_a_killed_module_leaves_nothing(probed):
    controller, _play = probed
    before = len(files(controller, "climb79"))
    extra = json.dumps({"probe_workload_argv": argv("--mode", "daemons", "--steps", "5000"), "probe_workload_timeout_seconds": 120})
    answers = []
    thread = threading.Thread(target=lambda: answers.append(controller.play("measure", "--limit", "climb79", "-e", extra, seconds=180)))
    thread.start()
    until = time.monotonic() + 60
    while "gpu-audit-guard" not in inside("climb79", "cat /proc/[0-9]*/comm 2>/dev/null") and time.monotonic() < until:
        time.sleep(0.3)
    time.sleep(1)
    killed = inside("climb79", "for p in /proc/[0-9]*; do if [ \"$(cat $p/comm 2>/dev/null)\" = gpu-audit-guard ]; then "
                               "kill -%d $(awk '/^PPid/ {print $2}' $p/status) && echo killed; fi; done" % signal.SIGKILL)
    thread.join(180)
    assert "killed" in killed and answers
    until = time.monotonic() + 15
    while time.monotonic() < until and "workload.py" in inside("climb79", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '"):
        time.sleep(0.3)
    left = inside("climb79", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")
    assert "workload.py" not in left and "gpu-audit-lab-daemon" not in left
    newest = json.loads(files(controller, "climb79")[-1].read_text())
    assert len(files(controller, "climb79")) == before + 1 and newest["error"]
