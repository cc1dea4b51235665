# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""An ordinary user on the hosts: the audit works, says what it couldn't see, and `become` follows the inventory."""
from __future__ import annotations

import json

import pytest
from ansible_matrix import MAIN, PYTHONS, Core
from fleet_runs import Controller, lab, ready, why_no_lab
from gpulab.host import from_row
from gpulab.roots import USER

pytestmark = pytest.mark.skipif(bool(why_no_lab()), reason=why_no_lab() or "-")
HOSTS = {
    "plain": {"base": "bookworm", "vars": {"ansible_user": USER}},
    "becomes": {"base": "trixie", "vars": {"ansible_user": USER, "ansible_become": True}},
    "forbidden": {"base": "bullseye", "vars": {"ansible_user": USER}, "faults": ["no-permission"]},
}


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    core = ready(Core(MAIN, PYTHONS[MAIN][0]))
    with lab([from_row({"name": name, **fields}, index) for index, (name, fields) in enumerate(HOSTS.items())]):
        done = Controller(core, tmp_path_factory.mktemp("user")).play("audit", seconds=120)
        assert done.code == 0, done.out[-3000:]
        yield done


def facts(done, name: str) -> dict:
    return json.loads((done.directory / "latest" / "hosts" / f"{name}.json").read_text())["facts"]


def test_become_follows_the_inventory(audited):
    assert {name: facts(audited, name)["platform"]["user_is_root"] for name in HOSTS} == {"plain": False, "becomes": True, "forbidden": False}


@pytest.mark.parametrize("name", ["plain", "becomes"])
def test_a_user_without_rights_sees_the_gpus_and_the_machine(audited, name):
    seen = facts(audited, name)
    assert seen["gpu"]["state"] == "ok" and len(seen["gpu"]["gpus"]) == 8
    assert seen["cpu"]["usable_cores"] == 64 and seen["memory"]["total_bytes"] == 2048 << 30
    assert audited.hosts()[name]["verdict"] == "unproven"


def test_what_may_not_be_seen_is_unknown_and_not_a_fault(audited):
    gpu = facts(audited, "forbidden")["gpu"]
    assert gpu["state"] == "not_permitted" and gpu["hint"] == "use_become"
    host = audited.hosts()["forbidden"]
    assert host["verdict"] == "unproven"
    assert [finding for finding in host["findings"] if finding["check"] == "gpu.driver_state"][0]["status"] == "unknown"
