# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Drivers that hang, seen through the whole audit: the library and the program, and what a second audit finds of the first."""
from __future__ import annotations

import json

import pytest
from ansible_matrix import MAIN, PYTHONS, Core
from fleet_runs import Controller, advice, findings, lab, ready, why_no_lab
from gpulab.host import from_row
from test_fleet_lab import inside

pytestmark = pytest.mark.skipif(bool(why_no_lab()), reason=why_no_lab() or "-")

# name -> the fields of the host, and the word of gpu.driver_state in a first audit
HOSTS = {
    "library-hangs": ({"faults": ["hang"]}, "timeout"),
    "library-dstate": ({"faults": ["dstate"], "base": "bullseye"}, "timeout"),
    "program-hangs": ({"faults": ["hang"], "nvml": False, "base": "trixie"}, "timeout"),
    "program-dstate": ({"faults": ["dstate"], "nvml": False}, "timeout"),
    "not-loaded": ({"faults": ["not-loaded"]}, "driver_not_loaded"),
    "program-mismatch": ({"faults": ["mismatch"], "nvml": False}, "version_mismatch"),
    "only-program-hangs": ({"faults": ["smi-hang"], "base": "bullseye"}, None),
}
STUCK = ["library-dstate", "program-dstate"]
RUN_SECONDS = 120


@pytest.fixture(scope="module")
def audits(tmp_path_factory):
    """Two audits of the same hosts, one after the other."""
    core = ready(Core(MAIN, PYTHONS[MAIN][0]))
    rows = [{"name": name, **fields} for name, (fields, _word) in HOSTS.items()]
    with lab([from_row(row, index) for index, row in enumerate(rows)]):
        controller = Controller(core, tmp_path_factory.mktemp("driver"))
        first = controller.play("audit", seconds=RUN_SECONDS)
        left = {name: inside(name, "ps", "-eo", "pid=,stat=,comm=") for name in HOSTS}
        first_report = first.report()
        second = controller.play("audit", seconds=RUN_SECONDS)
        later = {name: inside(name, "ps", "-eo", "pid=,stat=,comm=") for name in HOSTS}
        yield {"first": (first, first_report, left), "second": (second, second.report(), later)}


def driver_state(report: dict, name: str) -> dict | None:
    [host] = [host for host in report["hosts"] if host["name"] == name]
    return findings(host, "fail", "warn").get("gpu.driver_state")


def hanging(listing: str) -> list[str]:
    """Processes of an audit that still sit in the driver."""
    return [line for line in listing.splitlines() if "nvidia-smi" in line or "gpu-audit-nvml" in line]


@pytest.mark.parametrize("name", HOSTS)
def test_first_audit_says_what_is_wrong(audits, name):
    done, report, _left = audits["first"]
    assert done.code == 0
    finding = driver_state(report, name)
    word = HOSTS[name][1]
    if word is None:
        assert finding is None
    else:
        assert (finding["status"], finding["actual"]) == ("fail", word)
        assert advice(report, finding) and finding["evidence"]


@pytest.mark.parametrize("name", [name for name in HOSTS if name not in STUCK])
def test_what_can_be_ended_is_ended(audits, name):
    assert hanging(audits["first"][2][name]) == []


@pytest.mark.parametrize("name", STUCK)
def test_a_stuck_process_is_found_and_no_other_is_started(audits, name):
    before, after = hanging(audits["first"][2][name]), hanging(audits["second"][2][name])
    assert len(before) == 1 and before[0].split()[1].startswith("D")
    assert after == before
    finding = driver_state(audits["second"][1], name)
    assert (finding["status"], finding["actual"]) == ("fail", "stuck")
    assert before[0].split()[0] in json.dumps(finding["evidence"])


@pytest.mark.parametrize("name", HOSTS)
def test_the_other_subjects_are_read_all_the_same(audits, name):
    done, _report, _left = audits["second"]
    document = json.loads((done.directory / "latest" / "hosts" / f"{name}.json").read_text())
    assert document["facts"]["cpu"]["cores_physical"] == 64
    assert document["facts"]["memory"]["total_bytes"] == 2048 << 30
    assert not [subject for subject, value in document["facts"].items() if subject != "gpu" and isinstance(value, dict) and "error" in value]
