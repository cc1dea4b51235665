# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Causes instead of hosts: order, what follows from what, the headline, what isn't answered."""

from __future__ import annotations

import fleet_maker
import judging
import pytest
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


@pytest.mark.parametrize(("language", "words"), [("en", "2 fail, each for a reason of its own; one of them: "), ("zh", "2 台未通过，原因各不相同；其中一台：")])
def test_headline_where_each_host_fails_for_a_reason_of_its_own(language, words):
    assert words in report(["fine", "old_driver", "ecc"], language=language)["headline"]


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


def errors(*documents, language="en"):
    """The causes of hosts with these errors: (kind, message, variable that the inputs name or None)."""
    entries = []
    for number, (kind, message, variable) in enumerate(documents):
        document, inputs = judging.host("a100")
        inputs["name"] = document["name"] = "node-%02d" % number
        inputs["errors"] = [{"variable": variable, "message": message}] if variable else []
        said = "%s: %s" % (variable, message) if variable else message
        document.update(facts=None, errors=[{"kind": kind, "message": said.replace("NAME", document["name"])}])
        entries.append(judging.judged(document, inputs, language=language))
    policies = {"training": judging.shipped("training")}
    return judge.judge_run(entries, policies, fleet_maker.make_run([], policies, language), language)


def test_errors_are_grouped_by_kind_and_message_with_the_remedy_of_their_kind():
    typo = "no field gpu_cout (did you mean \"gpu_count\"?); there are: gpu_count, gpu_name"
    made = errors(
        ("invalid", typo, "gpu_audit_expected"),
        ("invalid", typo, "gpu_audit_expected"),
        ("invalid", "must be a mapping, not 'x'", "gpu_audit_workload"),
        ("template", "'nope' is undefined", None),
        ("no_python", "/bin/sh: /usr/bin/python3: not found", None),
        ("module_failed", "NAME: no space in /tmp/ansible-tmp-1764-77-2/x", None),
        ("module_failed", "NAME: no space in /tmp/ansible-tmp-1765-78-3/x", None),
        ("timeout", "no answer within gpu_audit_host_timeout (5 s)", None),
        ("invalid", "the module's facts are not JSON: x", None),
    )
    told = [(cause["title"], cause["hosts"], cause["frees"]) for cause in made["causes"]]
    settings = "The audit's own settings are wrong"
    assert sorted(told, key=lambda cause: cause[1]) == [
        (settings, [0, 1], 2),
        (settings, [2], 1),
        (settings, [3], 1),
        ("No Python that runs was found on hosts", [4], 1),
        ("Collecting failed on hosts", [5, 6], 2),
        ("Hosts didn't answer in time", [7], 1),
        ("Hosts gave no valid document", [8], 1),
    ]
    advice = {cause["title"]: cause["advice"] for cause in made["causes"]}
    assert "ansible_python_interpreter" in advice["No Python that runs was found on hosts"] and "python3" not in advice[settings]
    assert "5 gave no valid document. 4 not judged: the audit's own settings are wrong." in made["headline"]


def test_wrong_settings_are_told_in_chinese():
    made = errors(("invalid", "gpu_count must be a whole number that is not negative, not 'x'", "gpu_audit_expected"), language="zh")
    assert made["causes"][0]["title"] == "审计自身的设置有误" and "gpu_count 必须是非负整数，而不是 'x'" in made["causes"][0]["detail"]
    assert "该主机的变量无法使用：gpu_audit_expected：gpu_count" in made["hosts"][0]["reason"]
    assert made["hosts"][0]["errors"][0]["message"].startswith("gpu_audit_expected：gpu_count 必须是")


def test_one_cause_a_remedy_whatever_the_versions():
    entries = []
    for number, driver in enumerate(["470.1.1", "470.2.2", "450.1.1", "440.1.1", "430.1.1", "418.1.1"]):
        document, inputs = judging.host("a100", "old_driver", change=lambda facts, driver=driver: facts["gpu"].update(driver_version=driver))
        inputs["name"] = document["name"] = "node-%02d" % number
        document["facts"]["software"].update(driver_version=driver, driver_module_version=driver)
        entries.append(judging.judged(document, inputs))
    policies = {"training": judging.shipped("training")}
    made = judge.judge_run(entries, policies, fleet_maker.make_run([], policies), "en")
    assert causes(made) == ["software.driver_support"]
    detail = made["causes"][0]["detail"]
    assert detail.startswith("driver 470 is too old for the CUDA 12 that is installed (2 hosts); driver 418") and detail.endswith("and 2 more")
    assert len(made["causes"][0]["hosts"]) == 6 and made["headline"].count("driver 4") == 3


def test_missing_base_figures_make_no_cause_of_their_own():
    entries = []
    for number, field in enumerate(("batch_size", "hours_per_day", None)):
        document, inputs = judging.host("a100", "few_cores")
        inputs["name"] = "node-%02d" % number
        inputs["workload"].pop(field, None)
        entries.append(judging.judged(document, inputs))
    policies = {"training": judging.shipped("training")}
    made = judge.judge_run(entries, policies, fleet_maker.make_run([], policies), "en")
    assert causes(made) == ["compute.cores_per_gpu"] and made["causes"][0]["hosts"] == [0, 1, 2]


def test_errors_of_different_kinds_are_different_causes():
    made = report(["no_python", "no_python"])
    assert causes(made) == ["host.error"] and "python3" in made["causes"][0]["detail"]
