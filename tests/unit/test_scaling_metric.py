# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Scaling as a metric and a check: from a probe or the form, noted and warned, never failed, silent where nobody asked."""

from __future__ import annotations

import pytest
from judging import finding, host, judged, status

METRIC, WORTH = "scaling.efficiency_fraction", "scaling.worth_adding"


def probed(times, basis="epoch"):
    document, inputs = host()
    for measurement in document["measurements"]:
        if measurement["module"] == "workload_probe":
            measurement["result"]["scaling"] = {"seconds": times, "basis": basis}
    return document, inputs


def formed(times, **more):
    return host(inputs_change=lambda inputs: inputs["workload"].update(scaling_seconds=times, **more))


@pytest.mark.parametrize(
    ("last", "expected", "word"),
    [
        (125.0, "pass", "worth_adding"),
        (125.1, "pass", "marginal_gain"),
        (166.6, "pass", "marginal_gain"),
        (170.0, "warn", "not_worth_adding"),
        (800.0, "warn", "not_worth_adding"),
    ],
)
def test_noted_below_080_and_warned_below_060(last, expected, word):
    entry = judged(*probed({"1": 800, "2": 405, "4": 210, "8": last}))
    assert status(entry, METRIC) == expected and entry["metrics"][WORTH] == word
    assert entry["metrics"][METRIC] == pytest.approx(100 / last, rel=1e-5)
    assert entry["verdict"] == ("ready" if expected == "pass" else "ready_with_warnings")


def test_it_never_fails_a_machine_whatever_the_thresholds():
    document, inputs = probed({"1": 100, "8": 100})
    inputs["thresholds"] = [{"variable": "t", "values": {METRIC: {"fail": {"below": 0.5}}}}]
    assert status(judged(document, inputs), METRIC) == "warn"


def test_a_warning_shows_the_whole_curve_and_what_to_do():
    found = finding(judged(*probed({"1": 800, "2": 500, "8": 300})), METRIC)
    assert [row["what"].split(":")[0] for row in found["evidence"]] == ["8 GPU", "2 GPU", "1 GPU"]
    assert "serial fraction" in found["evidence"][0]["what"] and "33.3 %" in found["message"]


def test_times_of_the_form_count_where_nothing_was_measured():
    assert judged(*formed({1: 100, 4: 50}))["metrics"][METRIC] == 0.5
    assert judged(*formed({1: 1.0, 4: 1.25}, scaling_basis="step"))["metrics"][METRIC] == 0.8


def test_what_was_measured_goes_before_the_form():
    document, inputs = probed({"1": 100, "2": 50})
    inputs["workload"]["scaling_seconds"] = {1: 100, 2: 100}
    assert judged(document, inputs)["metrics"][METRIC] == 1.0


@pytest.mark.parametrize(("language", "words", "advice"), [
    ("en", "On 4 GPUs the probed command used only 1", "torchrun, --nproc_per_node=gpu"),
    ("zh", "在 4 个 GPU 上运行时，被探测的命令只使用了 1 个", "torchrun, --nproc_per_node=gpu")])
def test_gpus_that_the_command_left_unused_void_the_figure(language, words, advice):
    document, inputs = probed({"1": 1.0, "4": 1.004}, "step")
    scaling = document["measurements"][0]["result"]["scaling"]
    scaling["used_gpus"] = {"1": 1, "4": 4}
    assert status(judged(document, inputs), METRIC) == "pass"
    scaling["used_gpus"] = {"1": 1, "4": 1}
    entry = judged(document, inputs, language=language)
    found = finding(entry, METRIC)
    assert found["status"] == "unknown" and status(entry, WORTH) == "unknown" and not {METRIC, WORTH} & set(entry["metrics"])
    assert words in (found.get("message") or entry["absent"][METRIC]) and advice in found["advice"]


@pytest.mark.parametrize("basis", ["step", "epoch"])
def test_a_measurement_of_before_is_judged_by_the_gpus_of_its_largest_run(basis):
    document, inputs = probed({"1": 1.0, "4": 1.0 if basis == "step" else 0.25}, basis)
    result = document["measurements"][0]["result"]
    assert status(judged(document, inputs), METRIC) == "pass"
    for gpu in result["gpus"][1:]:
        gpu.update(memory_used_peak_bytes=0, utilization_mean_fraction=0.0)
    assert status(judged(document, inputs), METRIC) == "unknown"


def test_a_smaller_run_that_left_gpus_unused_voids_it_too():
    document, inputs = probed({"1": 1.0, "2": 1.0, "4": 1.0}, "step")
    document["measurements"][0]["result"]["scaling"]["used_gpus"] = {"1": 1, "2": 1, "4": 4}
    assert status(judged(document, inputs), METRIC) == "unknown"


@pytest.mark.parametrize("used", [{"1": 1, "4": None}, {}, {"1": "x", "4": -1}])
def test_gpus_that_were_not_sampled_are_said(used):
    document, inputs = probed({"1": 1.0, "4": 1.0}, "step")
    document["measurements"][0]["result"]["scaling"]["used_gpus"] = used
    entry = judged(document, inputs)
    assert status(entry, METRIC) == "pass" and "isn't known (they were not sampled)" in finding(entry, METRIC)["message"]


def test_where_nobody_asked_the_question_does_not_arise():
    entry = judged(*host())
    assert not {METRIC, WORTH} & {found["check"] for found in entry["findings"]} and METRIC not in entry["absent"]
    assert "utilisation" not in entry["unanswered"]


@pytest.mark.parametrize("times", [{"1": 100}, {"1": 0, "2": 5}, {"one": 5}, {"1": None, "2": 4}])
def test_unusable_times_of_a_probe_are_unknown(times):
    entry = judged(*probed(times))
    assert status(entry, METRIC) == "unknown" and METRIC not in entry["metrics"] and "workload_probe" in entry["absent"][METRIC]


def test_impossible_times_of_the_form_are_named():
    entry = judged(*formed({1: -5}))
    assert "scaling_seconds must be seconds by number of GPUs" in str(entry["errors"])
