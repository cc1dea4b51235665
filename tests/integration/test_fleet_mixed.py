# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The fleet of 16 with mixed troubles: every host in the report under its true status, on the oldest, the main and the newest ansible-core.

One fleet for the whole file; each test is a playbook run over real ssh in a working folder of its own. GPU_AUDIT_MATRIX chooses the cores.
"""
from __future__ import annotations

import json
import re
import shutil

import pytest
from fleet_runs import Controller, advice, cores, failed, findings, lab, ready, recap, why_no_lab
from gpulab import paths
from gpulab.host import from_file

pytestmark = pytest.mark.skipif(bool(why_no_lab()), reason=why_no_lab() or "-")

HEALTHY = ["healthy-book-1", "healthy-book-2", "healthy-trixie-1", "healthy-trixie-2", "healthy-bull-1", "healthy-bull-2"]
# name -> verdict, the check that says why (None: an error of the host says it), a word of what is to be done
TROUBLED = {
    "ssh-closed": ("unreachable", "unreachable", "refused"),
    "ssh-dropped": ("unreachable", "unreachable", "timed out"),
    "no-python": ("error", "no_python", "not found"),
    "smi-hangs": ("not_ready", "gpu.driver_state", "kernel log"),
    "smi-dstate": ("not_ready", "gpu.driver_state", "reboot"),
    "driver-mismatch": ("not_ready", "gpu.driver_state", "reboot"),
    "seven-of-eight": ("not_ready", "gpu.lost", "reboot"),
    "pending-remap": ("not_ready", "gpu.remap_pending", "reset"),
    "two-core-quota": ("not_ready", "compute.cores_per_gpu", "quota"),
    "disk-full": ("not_ready", "storage.capacity_headroom_fraction", "free space"),
}
DEAD = ["ssh-closed", "ssh-dropped"]
EVERYONE = HEALTHY + list(TROUBLED)
REFUSED = [name for name in EVERYONE if name not in HEALTHY]
# ssh gives up after 5 s, a program after 6: the slowest host takes a few of these, a fleet little more than its slowest host.
RUN_SECONDS = 120


@pytest.fixture(scope="module")
def fleet_of_16():
    with lab(from_file(paths.SPECS / "mixed16.json")):
        yield


@pytest.fixture(params=cores())
def controller(request, fleet_of_16, tmp_path):
    return Controller(ready(request.param), tmp_path)


def truth(name: str) -> str:
    return TROUBLED[name][0] if name in TROUBLED else "unproven"


def verdicts(done) -> dict[str, str]:
    return {name: host["verdict"] for name, host in done.hosts().items()}


def put_first(controller: Controller, hosts: dict) -> None:
    """An inventory before the lab's: its hosts come first in every play, its host variables count."""
    path = controller.folder / "first.yml"
    path.write_text(json.dumps({"all": {"hosts": hosts}}))
    controller.inventories.append(path)


def test_all_sixteen_under_their_true_status(controller):
    done = controller.play("audit", seconds=RUN_SECONDS)
    assert done.code == 0, done.out[-3000:]
    report = done.report()
    hosts = done.hosts()
    assert verdicts(done) == {name: truth(name) for name in EVERYONE}
    for name, (verdict, why, word) in TROUBLED.items():
        if verdict == "not_ready":
            finding = findings(hosts[name], "fail")[why]
            assert finding["message"] and word in advice(report, finding).lower(), (name, advice(report, finding))
        else:
            [error] = hosts[name]["errors"]
            assert error["kind"] == why and word in error["message"], (name, error)
    for name in HEALTHY:
        assert findings(hosts[name], "fail", "warn") == {}, name
        assert hosts[name]["hardware"]["gpu_count"] == 8
    assert all(counts.get("changed") == 0 for counts in recap(done.out).values())
    assert "Traceback" not in done.out
    for name in ("report.html", "report.csv", "report.md", "junit.xml", "gpu_audit.prom"):
        assert (done.directory / "latest" / name).stat().st_size > 0


def test_the_gate_fails_exactly_the_hosts_below_it(controller):
    done = controller.play("gate", seconds=RUN_SECONDS)
    assert done.code == 2
    assert failed(done.out) == set(REFUSED)
    assert set(verdicts(done)) == set(EVERYONE)


def test_limit_leaves_the_others_out(controller):
    asked = ["healthy-book-1", "ssh-closed", "pending-remap"]
    done = controller.play("gate", "--limit", ",".join(asked), seconds=RUN_SECONDS)
    assert done.code == 2 and failed(done.out) == {"ssh-closed", "pending-remap"}
    assert verdicts(done) == {name: truth(name) for name in asked}


def test_batches_with_a_wholly_dead_one_lose_nobody(controller):
    """Batches of two in inventory order: the two that ssh can't reach are one batch."""
    asked = [*HEALTHY, *DEAD, "no-python", "pending-remap"]
    done = controller.play("gate", "--limit", ",".join(asked), "-e", "gpu_audit_serial=2", seconds=RUN_SECONDS)
    assert done.code == 2 and failed(done.out) == {*DEAD, "no-python", "pending-remap"}
    assert verdicts(done) == {name: truth(name) for name in asked}


def test_first_host_dead(controller):
    put_first(controller, {"ssh-closed": {}})
    done = controller.play("gate", "--limit", "ssh-closed,healthy-book-1,healthy-bull-1", seconds=RUN_SECONDS)
    assert "[ssh-closed -> localhost]" in done.out         # the steps that run once do so in its name
    assert done.code == 2 and failed(done.out) == {"ssh-closed"}
    assert verdicts(done) == {"ssh-closed": "unreachable", "healthy-book-1": "unproven", "healthy-bull-1": "unproven"}


def test_every_host_dead(controller):
    done = controller.play("gate", "--limit", ",".join(DEAD), seconds=RUN_SECONDS)
    assert done.code == 2 and failed(done.out) == set(DEAD)
    assert verdicts(done) == {name: "unreachable" for name in DEAD}
    audit = controller.play("audit", "--limit", ",".join(DEAD), seconds=RUN_SECONDS)
    assert audit.code == 0 and verdicts(audit) == {name: "unreachable" for name in DEAD}


def test_a_host_variable_that_does_not_template(controller):
    """First in the inventory, so that a step that runs once would meet it."""
    bad = {"healthy-trixie-1": {"gpu_audit_workload": {"model": "{{ nobody_defined_this }}"}}}
    # The lab's own group variables lie beside its inventory; a host's variables win.
    put_first(controller, bad)
    done = controller.play("gate", "--limit", "healthy-trixie-1,healthy-book-1", seconds=RUN_SECONDS)
    assert done.code == 2 and failed(done.out) == {"healthy-trixie-1"}
    hosts = done.hosts()
    assert {name: host["verdict"] for name, host in hosts.items()} == {"healthy-trixie-1": "error", "healthy-book-1": "unproven"}
    [error] = hosts["healthy-trixie-1"]["errors"]
    assert error["kind"] == "settings" and "gpu_audit_workload" in error["message"] and "nobody_defined_this" in error["message"]


def test_interrupted_then_judged_again(controller):
    """Ctrl-C once a healthy host's document is there: it stays, the slow ones are not tried or unreachable, and rejudge reports all."""
    asked = ["healthy-book-1", "healthy-bull-1", "ssh-dropped", "smi-hangs"]

    def half_way(output):
        return list(output.glob("*/hosts/healthy-*.json"))

    for _attempt in range(3):
        done = controller.play("audit", "--limit", ",".join(asked), seconds=RUN_SECONDS, interrupt_when=half_way)
        if done.code != 0:
            break
        # On a busy machine the play can be over before the key is pressed: that was no interruption.
        shutil.rmtree(done.directory)
    assert done.code != 0
    finished = {path.stem for path in done.directory.glob("*/hosts/*.json")}
    assert finished & {"healthy-book-1", "healthy-bull-1"}
    [run] = [path for path in done.directory.iterdir() if path.is_dir() and not path.is_symlink() and (path / "run.json").exists()]
    again = controller.play("rejudge", "-e", f"gpu_audit_run={run.name}", seconds=RUN_SECONDS)
    assert again.code == 0, again.out[-2000:]
    hosts = {host["name"]: host["verdict"] for host in json.loads((run / "report.json").read_text())["hosts"]}
    assert set(hosts) == set(asked)
    for name, verdict in hosts.items():
        assert verdict in ((truth(name),) if name in finished else (truth(name), "not_tried")), (name, verdict)


def test_rejudging_under_another_policy_touches_no_host(controller):
    asked = "healthy-book-1,pending-remap"
    controller.play("audit", "--limit", asked, seconds=RUN_SECONDS)
    before = {path.name: path.read_bytes() for path in (controller.output / "latest" / "hosts").iterdir()}
    done = controller.play("rejudge", "-e", "gpu_audit_policy=inference", seconds=RUN_SECONDS)
    assert done.code == 0, done.out[-2000:]
    assert set(recap(done.out)) == {"localhost"}
    assert {path.name: path.read_bytes() for path in (controller.output / "latest" / "hosts").iterdir()} == before
    assert {host["policy"] for host in done.report()["hosts"]} == {"inference"}


def test_a_users_serial_play_reports_the_rest_as_not_tried(controller):
    """Ansible ends a play after a wholly refused batch; what never had its turn is in the report all the same."""
    play = controller.folder / "own.yml"
    play.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "serial": 1, "roles": [
        {"role": "trainops.gpu_audit.audit"}, {"role": "trainops.gpu_audit.gate"}]}]))
    put_first(controller, {"ssh-closed": {}})
    done = controller.play(str(play), "--limit", "ssh-closed,healthy-book-1,healthy-bull-1", seconds=RUN_SECONDS)
    assert done.code == 2
    assert verdicts(done) == {"ssh-closed": "unreachable", "healthy-book-1": "not_tried", "healthy-bull-1": "not_tried"}


def test_check_mode_collects_and_reports(controller):
    done = controller.play("audit", "--check", "--limit", "healthy-book-1,two-core-quota", seconds=RUN_SECONDS)
    assert done.code == 0 and verdicts(done) == {"healthy-book-1": "unproven", "two-core-quota": "not_ready"}


def test_chinese_report_has_every_message_in_chinese(controller):
    done = controller.play("audit", "-e", "gpu_audit_language=zh", "--limit", "pending-remap,disk-full,no-python", seconds=RUN_SECONDS)
    report = done.report()
    for host in report["hosts"]:
        for finding in findings(host, "fail", "warn").values():
            assert re.search("[\u4e00-\u9fff]", finding["message"]) and re.search("[\u4e00-\u9fff]", advice(report, finding)), finding
        assert re.search("[\u4e00-\u9fff]", host["reason"])
