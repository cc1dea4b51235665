# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Measurement results of any shape, judged and rendered in every format: no traceback, nothing that runs, a bounded size."""

from __future__ import annotations

import copy
import json

import judging
import measured_samples
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import judge
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from report_fuzz import DEEP, SCRIPT, TEXTS, changed, changes_of, check, places_of, render, replaced

PLAIN_SAMPLES = measured_samples.host()
PLACES = places_of(PLAIN_SAMPLES[0]["measurements"][:2])


@given(changes_of(PLACES), st.sampled_from(("en", "zh")))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_shape_of_a_result_breaks_a_format(changes, language):
    shown = render(*changed(PLAIN_SAMPLES, changes), language)
    check(shown)
    assert len(shown["json"]) < 120_000 and len(shown["html"]) < 700_000


@pytest.mark.parametrize("odd", [*TEXTS, None, True, -1, 10**400, 1e308, float("nan"), float("inf"), [], {}, DEEP], ids=repr)
def test_every_place_at_once_with_one_oddity(odd):
    """The whole result, each of its fields, and each field of its parts replaced by the same thing."""
    for depth in (0, 1, 2, 3):
        check(render(*replaced(PLAIN_SAMPLES, PLACES, depth, odd), "en"))


@pytest.mark.parametrize(
    "field, value", [("finished", SCRIPT), ("target", "=cmd()"), ("module", ["x"]), ("finished", None), ("target", 10**400)]
)
def test_what_surrounds_a_result(field, value):
    document, inputs = copy.deepcopy(PLAIN_SAMPLES)
    for entry in document["measurements"][:2]:
        entry[field] = value
    check(render(document, inputs, "zh"))


@pytest.mark.parametrize("name", [text for text in TEXTS if text])
def test_a_gpu_with_an_odd_name(name):
    document, inputs = copy.deepcopy(PLAIN_SAMPLES)
    result = document["measurements"][0]["result"]
    result["gpus"] = [dict(result["gpus"][0], index=name, name=name, uuid=name)]
    result["series"]["gpu"] = {name: result["series"]["gpu"]["0"]}
    result.update(reservation=name, framework_peak_bytes=5 * 2**30, notes=[name], outcome="failed", error=name, limiter=name)
    shown = render(document, inputs, "en")
    check(shown)
    assert "VRAM in use over time" in shown["html"]


def test_a_series_of_a_hundred_thousand_points_stays_small():
    document, inputs = copy.deepcopy(PLAIN_SAMPLES)
    result, count = document["measurements"][0]["result"], 100_000
    total = result["gpus"][0]["memory_total_bytes"]
    line = {"memory_used_bytes": [total // 2] * count, "utilization_fraction": [at % 97 / 100 for at in range(count)]}
    line["memory_used_bytes"][77_777] = int(total * 0.99)
    result["series"] = {"t": list(range(count)), "gpu": {"0": line}}
    shown = render(document, inputs, "en")
    check(shown)
    assert len(shown["html"]) < 500_000
    # Its one high sample is drawn and told.
    assert "GPU 0: peak 99" in shown["html"].replace("\u00a0", " ")


def test_the_fault_is_named():
    document, inputs = copy.deepcopy(PLAIN_SAMPLES)
    for gpu in document["measurements"][0]["result"]["gpus"]:
        gpu["memory_used_peak_bytes"] = SCRIPT
    document["measurements"][0]["result"]["scaling"]["seconds"] = {"1": "x", "2": -1}
    document["measurements"][1]["result"]["read_bytes_per_second"] = "fast"
    absent = judging.judged(document, inputs)["absent"]
    assert "memory_used_peak_bytes" in absent["vram.peak_fraction"]
    assert "read_bytes_per_second" in absent["storage.read_headroom_ratio"]
    assert "workload_probe" in absent["scaling.efficiency_fraction"]
    shown = render(document, inputs, "en")
    assert "memory_used_peak_bytes" in shown["html"] and "memory_used_peak_bytes" in shown["csv"]


def test_a_report_holds_little_of_a_measurement():
    """report.json keeps figures and findings; the series stay in the host's document."""
    sizes = {}
    for name, pair in (
        ("measured", measured_samples.host()),
        ("troubled", measured_samples.troubled()),
        ("light", judging.host(measured=False)),
    ):
        entry = judging.judged(*pair)
        run = {"id": "x", "started": judging.NOW, "finished": judging.NOW}
        whole = judge.judge_run([entry], {"training": judging.shipped("training")}, run, "en")
        sizes[name] = len(json.dumps(whole["hosts"][0], separators=(",", ":")))
    assert sizes["measured"] < 8_000 and sizes["troubled"] < 14_000, sizes
    assert sizes["measured"] < sizes["light"] + 4_000, sizes
