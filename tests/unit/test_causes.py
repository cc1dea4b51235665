# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Causes instead of hosts: order, what follows from what, the headline, what isn't answered."""

from __future__ import annotations

import fleet_maker
import judging
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import judge


def report(troubles, language="en", **more):
    entries = []
    for number, trouble in enumerate(troubles):
        inputs, document = fleet_maker.make_host(
            "node-%02d" % number, more.get("model", "a100"), trouble.replace("fine", "none"), seed=number
        )
        if document and document["facts"]:
            document["measurements"] = fleet_maker.make_measurements(document["facts"], inputs["name"], peak=0.7)
        entries.append(judging.judged(document, inputs, language=language))
    policies = {"training": judging.shipped("training")}
    return judge.judge_run(entries, policies, fleet_maker.make_run([], policies, language), language)


def causes(made):
    return [cause["check"] for cause in made["causes"]]


def test_the_cause_that_frees_most_hosts_comes_first():
    made = report(["ecc", "few_cores", "few_cores", "fine", "unreachable", "unreachable", "unreachable"])
    assert causes(made) == ["host.unreachable", "compute.cores_per_gpu", "gpu.ecc_uncorrectable"]
    assert [cause["frees"] for cause in made["causes"]] == [3, 2, 1]
    assert made["causes"][1]["hosts"] == [1, 2] and made["causes"][1]["gpus"] == 16
    assert made["summary"] == {
        "hosts": 7,
        "ready": 1,
        "ready_with_warnings": 0,
        "unproven": 0,
        "not_ready": 3,
        "unreachable": 3,
        "error": 0,
        "not_tried": 0,
    }


def test_every_cause_of_a_failure_has_a_remedy_and_a_command():
    made = report(
        ["ecc", "few_cores", "disk_full", "driver_hang", "old_driver", "hot", "one_lost", "remap_pending", "narrow_link", "no_hardware"]
    )
    assert len(made["causes"]) == 10
    for cause in made["causes"]:
        assert cause["advice"] and cause["command"] and cause["detail"] and cause["frees"] == 1, cause


def test_what_follows_from_another_failure_is_no_cause_of_its_own():
    assert causes(report(["hot"])) == ["gpu.hw_thermal"]
    assert causes(report(["remap_pending"])) == ["gpu.remap_pending"]
    assert causes(report(["no_hardware"])) == ["gpu.count"]
    assert causes(report(["one_lost"])) == ["gpu.lost"]


def test_failures_of_the_driver_are_told_apart():
    made = report(["driver_hang", "driver_broken", "driver_hang"])
    assert [(cause["check"], len(cause["hosts"])) for cause in made["causes"]] == [("gpu.driver_state", 2), ("gpu.driver_state", 1)]
    assert made["causes"][0]["advice"] != made["causes"][1]["advice"]


def test_a_host_with_two_causes_is_freed_by_neither_alone():
    inputs, document = fleet_maker.make_host("node-1", "a100", "few_cores")
    document["facts"]["memory"].update(usable_bytes=2**30, total_bytes=2**30)
    document["measurements"] = []
    policies = {"training": judging.shipped("training")}
    made = judge.judge_run([judging.judged(document, inputs)], policies, fleet_maker.make_run([], policies), "en")
    assert [cause["frees"] for cause in made["causes"]] == [0, 0]


def test_warnings_come_after_failures_and_free_nothing():
    made = report(["no_persistence", "no_persistence", "ecc"])
    assert [(cause["check"], cause["status"], cause["frees"]) for cause in made["causes"]] == [
        ("gpu.ecc_uncorrectable", "fail", 1),
        ("gpu.persistence_off", "warn", 0),
    ]


def test_headline_with_one_reason():
    made = report(["fine", "fine", "old_driver", "old_driver", "unreachable", "not_collected"])
    assert made["headline"] == (
        "2 of 6 hosts are ready for training. 1 can't be reached. 1 not tried. "
        "2 fail for one reason: driver 470 is too old for the CUDA 12 that is installed."
    )


def test_headline_in_chinese():
    made = report(["fine", "old_driver", "ecc", "ecc"], language="zh")
    assert (
        made["headline"]
        == "4 台主机中有 1 台可用于训练。3 台未通过，其中最多（2 台）的原因是：驱动加载以来不可纠正的 ECC 错误：2；要求：0。"
    )


def test_headline_of_nothing_and_of_an_interrupted_run():
    policies = {"training": judging.shipped("training")}
    assert judge.judge_run([], policies, fleet_maker.make_run([], policies), "en")["headline"] == "No host was audited."
    made = judge.judge_run([judging.judged(*judging.host())], policies, dict(fleet_maker.make_run([], policies), partial=True), "en")
    assert made["headline"].endswith("The run was interrupted.") and made["run"]["partial"] is True


def test_unanswered_questions_are_grouped_and_leave_out_what_a_broken_driver_explains():
    entries = [judging.judged(*judging.host(measured=False)), judging.judged(*judging.host(trouble="driver_hang", measured=False))]
    policies = {"training": judging.shipped("training")}
    made = judge.judge_run(entries, policies, fleet_maker.make_run([], policies), "en")
    by_check = {entry["check"]: entry for entry in made["unanswered"]}
    assert by_check["vram.peak_fraction"]["hosts"] == [0, 1] and "docs/measurements.md" in by_check["vram.peak_fraction"]["advice"]
    assert "gpu.count" not in by_check and "compute.cores_per_gpu" not in by_check


def test_errors_of_different_kinds_are_different_causes():
    made = report(["no_python", "no_python"])
    assert causes(made) == ["host.error"] and "python3" in made["causes"][0]["detail"]
