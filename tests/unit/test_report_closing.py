# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The closing record and the charts of a measured host."""

from __future__ import annotations

import re
import xml.etree.ElementTree as etree

import judging
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import judge
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.report import closing, line_charts
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.report.view import View

SCALING = {"seconds": {"1": 800, "2": 415, "4": 225}}


def measured(samples=200, **result):
    """(document, inputs) with a probe that has a series of `samples` for each of eight GPUs."""
    document, inputs = judging.host()
    probe = document["measurements"][0]
    total = probe["result"]["gpus"][0]["memory_total_bytes"]
    for entry in probe["result"]["gpus"]:
        entry.update(utilization_mean_fraction=0.9)
    series = {"t": [0.5 * at for at in range(samples)], "gpu": {
        str(gpu): {"memory_used_bytes": [int(total * 0.7)] * samples, "utilization_fraction": [0.9 - gpu / 100] * samples}
        for gpu in range(8)}}
    probe["result"].update(dict({"outcome": "stopped", "iterations": 50, "epoch_seconds": 845.0, "duration_seconds": 100.0,
                                 "read_bytes_per_second": 2e8, "series": series, "scaling": SCALING}, **result))
    return document, inputs


def fragment(document, inputs, language="en"):
    entry = judging.judged(document, inputs, language=language)
    run = {"id": "x", "started": judging.NOW, "finished": judging.NOW}
    whole = judge.judge_run([entry], {"training": judging.shipped("training")}, run, language)
    return closing.fragment(View(whole, language), whole["hosts"][0], document, inputs["workload"])


def charts_of(html):
    """{label's first words: SVG element}; each is well-formed and says its numbers."""
    found = {}
    for svg in re.findall(r"<svg.*?</svg>", html):
        element = etree.fromstring(svg)
        assert element.get("role") == "img" and re.search(r"\d", element.get("aria-label"))
        found[element.get("aria-label").split(":")[0]] = element
    return found


def test_the_guides_closing_record():
    html = fragment(*measured())
    text = " ".join(re.sub(r"<[^>]+>", " ", html).split())
    for words in ("VRAM peak", "70 %", "GPU utilisation", "90 %", "One epoch", "14 min 5 s", "Data read speed", "191 MiB/s",
                  "Cost of the task", "no prices given", "workload_probe train.py 2026-11-29 12:10:00 UTC"):
        assert words in text, words


@pytest.mark.parametrize("language", ["en", "zh"])
def test_four_charts(language):
    charts = charts_of(fragment(*measured(), language=language))
    assert len(charts) == 4
    if language == "en":
        points = [element.get("points") for element in charts["VRAM in use over time"].iter("polyline")]
        assert len(points[0].split()) <= 2 * line_charts.SLICES
        assert len(list(charts["Scaling efficiency"].iter("circle"))) == 3
        assert "the GPUs take" in charts["Read speed"].get("aria-label")


def test_a_long_series_stays_small():
    assert len(fragment(*measured(samples=20000))) < 30000


def test_a_light_audit_has_no_record():
    document, inputs = judging.host(measured=False)
    assert fragment(document, inputs) == ""


def test_a_record_is_shown_without_the_hosts_document():
    document, inputs = measured()
    entry = judging.judged(document, inputs)
    run = {"id": "x", "started": judging.NOW, "finished": judging.NOW}
    whole = judge.judge_run([entry], {"training": judging.shipped("training")}, run, "en")
    html = closing.fragment(View(whole, "en"), whole["hosts"][0], None)
    assert "14 min 5 s" in html and set(charts_of(html)) == {"Read speed"}


def test_the_forms_own_times_give_the_curve():
    document, inputs = measured(scaling=None)
    inputs["workload"]["scaling_seconds"] = {1: 800, 2: 500}
    assert "Scaling efficiency" in charts_of(fragment(document, inputs))


@pytest.mark.parametrize("series", [
    None, 5, [], {}, {"t": [], "gpu": {}}, {"t": [1], "gpu": {"0": {}}}, {"t": [2, 1], "gpu": {"0": {"utilization_fraction": [1, 1]}}},
    {"t": [1, "x"], "gpu": {"0": {"utilization_fraction": [1, 1]}}}, {"t": [0, 1], "gpu": {"0": {"utilization_fraction": [1]}}},
    {"t": [0, 1], "gpu": {"0": "<script>"}}])
def test_odd_series_are_left_out(series):
    html = fragment(*measured(series=series))
    assert "over time" not in html and "<script" not in html


def test_gaps_are_gaps():
    document, inputs = measured()
    for line in document["measurements"][0]["result"]["series"]["gpu"].values():
        line["utilization_fraction"][5:9] = [None, "x", True, float("nan")]
    charts = charts_of(fragment(document, inputs))
    assert "nan" not in etree.tostring(charts["GPU utilisation over time"]).decode().lower()


def test_what_a_host_says_is_escaped():
    document, inputs = measured()
    document["measurements"][0]["target"] = "<img src=x>"
    document["measurements"][0]["finished"] = "2026-11-29T12:10:00Z"
    assert "<img" not in fragment(document, inputs)


@pytest.mark.parametrize("odd", [10**400, -(10**400), 1e308, float("nan"), float("inf"), None, "x"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_odd_figures_of_a_series_are_gaps_and_never_zero(odd, language):
    document, inputs = measured(samples=4)
    result = document["measurements"][0]["result"]
    for line in result["series"]["gpu"].values():
        line.update(utilization_fraction=[odd] * 4, memory_used_bytes=[odd] * 4)
    result.update(epoch_seconds=odd, read_bytes_per_second=odd)
    html = fragment(document, inputs, language)
    assert not re.search(r'"[^"]*\b(nan|inf)\b', html)
    assert all(words not in " ".join(charts_of(html)) for words in ("over time", "随时间"))
