# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Storage of lab hosts measured with the real fio, judged and reported: good disks, throttled and full ones, memory, no
permission, hanging and killed tests; and nothing left on a host."""
from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
from ansible_matrix import MAIN, PYTHONS, Core
from fleet_runs import Controller, failed, findings, lab, ready, why_no_lab
from gpulab import cgroups, paths
from gpulab.host import from_row
from gpulab.roots import USER

pytestmark = pytest.mark.skipif(bool(why_no_lab()), reason=why_no_lab() or "-")

VERSION = '#!/bin/sh\n[ "$1" = --version ] && { echo fio-3.33; exit; }\n'
PROGRAMS = {
    "/opt/lab/fills": VERSION + 'head -c 200000000 /dev/zero > /data/filler 2>/dev/null; exec fio "$@"\n',
    "/opt/lab/hangs": VERSION + 'd=${2#*=}; trap "" TERM; echo x > "$d/x"\n' + 'setsid sh -c "while :; do echo x > $d/worker; sleep 0.1; done" & sleep 600\n',
    "/opt/lab/slow": VERSION + 'exec fio "$@" --rate=200k\n',
}
# What 8 GPUs need: 400 samples of 4 KiB a second.
FORM = {"kind": "training", "leans_on": ["compute", "vram", "throughput"], "dataset_layout": "files", "input_sample_bytes": 4096,
        "samples_per_second_per_gpu": 50, "batch_size": 32, "hours_per_day": 20,
        "checkpoint_bytes": "10 MB", "checkpoint_interval_minutes": 30}
ALL_JOBS = ["dataset_read", "small_files", "random_read", "checkpoint_write", "mixed"]
READS_A_SECOND = 200


def variables(path: str, **options) -> dict:
    small = {"size_bytes": "4 MiB", "numjobs": 2, "runtime_seconds": 20, "file_count": 400, **options}
    return {"measure_storage_path": path, **{f"measure_storage_{key}": value for key, value in small.items()},
            "gpu_audit_workload": {**FORM, "dataset_path": path, "checkpoints_path": path}}


HOSTS = {
    "good": {"base": "trixie", "disk_mib": 128, "vars": variables("/data", jobs=ALL_JOBS)},
    "old": {"base": "bullseye", "disk_mib": 128, "vars": variables("/data")},
    # So many that they take seconds: what is over at once is no answer.
    "throttled": {"disk_mib": 128, "vars": variables("/data", file_count=2000)},
    "memory": {"vars": variables("/dev/shm")},
    "overlay": {"vars": variables("/srv")},
    "tight": {"disk_mib": 32, "vars": variables("/data", size_bytes="32 MiB")},
    "fills": {"disk_mib": 64, "vars": variables("/data", fio="/opt/lab/fills")},
    "closed": {"vars": {**variables("/var"), "ansible_user": USER}},
    "hangs": {"disk_mib": 64, "vars": variables("/data", fio="/opt/lab/hangs", timeout_seconds=2)},
    "missing": {"vars": variables("/srv", fio="/opt/lab/nothing")},
    "killed": {"disk_mib": 64, "vars": variables("/data", fio="/opt/lab/slow", runtime_seconds=100)},
}
ERRORS = {"tight": "are free", "fills": "No space left on device", "closed": "can't be written to by this user", "hangs": "was ended",
          "missing": "the fio named, /opt/lab/nothing: No such file or directory", "killed": ""}


# Refused before anything was started: nothing is kept, and these hosts fail the play.
REFUSED = {"tight", "closed", "missing"}


def inside(name: str, *words: str) -> str:
    return subprocess.run(["ssh", "-F", str(paths.RUN / "ssh_config"), name, *words], capture_output=True, text=True, timeout=30,
                          check=False).stdout


@contextlib.contextmanager
def slow_disk(name: str):
    """The host's /data answers only so many reads a second, to everybody in the host."""
    top = Path("/sys/fs/cgroup/blkio")
    if not (top / "blkio.throttle.read_iops_device").exists():
        pytest.skip("no cgroup v1 blkio controller")
    group = top / f"{paths.CGROUP}-storage"
    group.mkdir(exist_ok=True)
    device = inside(name, "stat -c %d /data").strip()
    (group / "blkio.throttle.read_iops_device").write_text(f"{os.major(int(device))}:{os.minor(int(device))} {READS_A_SECOND}")
    processes = (cgroups.directories(name)["cpuacct"] / "cgroup.procs").read_text().split()
    for pid in processes:
        with contextlib.suppress(OSError):
            (group / "cgroup.procs").write_text(pid)
    try:
        yield
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (top / "cgroup.procs").write_text(pid)
        group.rmdir()


def listed(name: str) -> str:
    """What lies in the folder that is measured."""
    return inside(name, "sudo ls -A " + HOSTS[name]["vars"]["measure_storage_path"])


def as_before(name: str, seconds: float = 30) -> bool:
    """Whether, soon, the folder holds what it held before and no program of a test runs."""
    until = time.monotonic() + seconds
    while listed(name) != before[name] or inside(name, "ps ax -o comm= | grep -E '^(fio|gpu-audit-watch|hangs)$'"):
        if time.monotonic() > until:
            return False
        time.sleep(0.5)
    return True


before: dict[str, str] = {}


def kill_module(name: str, done: threading.Event) -> None:
    """SIGKILL to the module of a host as soon as its files lie there."""
    while not done.wait(0.5):
        if inside(name, "ls /data/.gpu-audit-storage-*/dataset_read 2>/dev/null"):
            inside(name, "kill -KILL $(ps -o ppid= -C gpu-audit-watch)")
            return


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """(controller, the finished measuring play) with the lab still up."""
    core = ready(Core(MAIN, PYTHONS[MAIN][0]))
    rows = [from_row({"name": name, "files": PROGRAMS, **fields}, index) for index, (name, fields) in enumerate(HOSTS.items())]
    with lab(rows):
        for name in HOSTS:
            inside(name, "sudo chmod +x /opt/lab/fills /opt/lab/hangs /opt/lab/slow")
        before.update((name, listed(name)) for name in HOSTS)
        controller, done = Controller(core, tmp_path_factory.mktemp("storage")), threading.Event()
        killer = threading.Thread(target=kill_module, args=("killed", done))
        killer.start()
        try:
            with slow_disk("throttled"):
                play = controller.play("measure", seconds=220)
        finally:
            done.set()
            killer.join()
        inside("fills", "rm -f /data/filler")
        yield controller, play


def document(controller, name: str) -> dict:
    path, = (controller.output / "measurements" / name).glob("storage_benchmark-*.json")
    return json.loads(path.read_text())


def result(controller, name: str) -> dict:
    kept = document(controller, name)
    assert "result" in kept, kept["error"]
    return kept["result"]


def test_every_host_is_announced_and_has_its_measurement_or_its_reason(measured):
    controller, play = measured
    assert play.code == 2 and failed(play.out) == REFUSED, play.out[-3000:]
    assert "good: storage_benchmark in /data: at most" in play.out and "writes up to" in play.out
    said = " ".join(play.out.split())
    for name in HOSTS:
        if name in REFUSED:
            assert ERRORS[name] in said and not list((controller.output / "measurements").glob(name + "/*.json")), name
            continue
        kept = document(controller, name)
        assert kept["machine_id"] and ("error" in kept) == (name in ERRORS), (name, kept)
        assert ERRORS.get(name, "") in kept.get("error", ""), kept


def test_all_jobs_give_figures_on_a_disk(measured):
    good = result(measured[0], "good")
    assert good["errors"] == {} and len(good["jobs"]) == 5 and good["file_system"]["type"] == "ext4"
    assert min(good[key] for key in ("read_bytes_per_second", "small_file_bytes_per_second", "checkpoint_write_bytes_per_second",
                                     "mixed_read_bytes_per_second", "random_read_iops")) > 0
    assert result(measured[0], "old")["fio_version"].startswith("3.2")


def test_what_is_no_disk_is_labelled(measured):
    memory, overlay = result(measured[0], "memory"), result(measured[0], "overlay")
    assert memory["cached"] and {job["buffered_label"] for job in memory["jobs"].values()} == {"memory"}
    assert overlay["file_system"]["kind"] == "overlay"
    assert all(any("overlay file system" in note for note in job["notes"]) for job in overlay["jobs"].values())


def test_a_throttled_disk_is_fast_in_sequence_and_slow_with_small_files(measured):
    slow = result(measured[0], "throttled")
    needed = 8 * FORM["samples_per_second_per_gpu"] * FORM["input_sample_bytes"]
    assert slow["small_file_bytes_per_second"] < needed < slow["read_bytes_per_second"] / 2


def test_nothing_is_left_on_any_host(measured):
    for name in HOSTS:
        assert as_before(name), (name, listed(name))


def test_the_report_names_what_is_slow(measured):
    controller, _play = measured
    done = controller.play("audit", seconds=120)
    assert done.code == 0, done.out[-3000:]
    hosts = done.hosts()
    slow = findings(hosts["throttled"], "fail")
    assert "storage.read_headroom_ratio" in slow, findings(hosts["throttled"])
    assert hosts["throttled"]["metrics"]["storage.small_file_bytes_per_second"] < 2e6
    assert "storage.read_headroom_ratio" not in findings(hosts["good"], "fail")
    # Memory is never sold as a disk.
    assert "storage.read_bytes_per_second" not in hosts["memory"]["metrics"]
    page = (done.directory / "latest" / "report.html").read_text()
    assert "throttled" in page


def test_a_controller_that_dies_leaves_the_host_as_it_was(measured):
    controller, _play = measured
    process = subprocess.Popen(controller.command("measure", "--limit", "killed", "-e", json.dumps({"measure_storage_runtime_seconds": 8})),
                               cwd=controller.folder, env=controller.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        until = time.monotonic() + 60
        while not inside("killed", "ls /data/.gpu-audit-storage-*/dataset_read 2>/dev/null"):
            assert time.monotonic() < until and process.poll() is None
            time.sleep(0.3)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
    assert as_before("killed", 60), listed("killed")


def test_hosts_that_share_a_file_system_are_measured_alone_and_all_at_once(measured):
    controller, _play = measured
    switches = {"measure_storage_shared": True, "measure_storage_shared_delay_seconds": 10, "measure_storage_jobs": ["dataset_read"]}
    done = controller.play("measure", "--limit", "good,old", "-e", json.dumps(switches), seconds=120)
    assert done.code == 0, done.out[-3000:]
    for name in ("good", "old"):
        alone, together = [json.loads(path.read_text())["result"] for path in
                           sorted((controller.output / "measurements" / name).glob("storage_benchmark-*.json"))[-2:]]
        assert (alone["hosts_at_once"], alone["shared"], together["hosts_at_once"]) == (1, None, 2)
        shared = together["shared"]
        assert shared["alone_bytes_per_second"] == alone["read_bytes_per_second"]
        assert shared["ratio"] == pytest.approx(shared["together_bytes_per_second"] / shared["alone_bytes_per_second"])
        assert not any("not all of them read at once" in note for note in together["notes"])
        assert as_before(name)
    done = controller.play("audit", "--limit", "good,old", seconds=120)
    assert done.code == 0, done.out[-3000:]
    assert all(host["metrics"].get("storage.shared_read_ratio") or "storage.shared_read_ratio" in findings(host) for host in done.report()["hosts"])
