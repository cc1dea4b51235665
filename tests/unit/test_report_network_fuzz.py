# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Network measurements of any shape, judged and rendered in every format: no traceback, nothing that runs, a bounded size."""

from __future__ import annotations

import copy

import measured_samples
import network_samples
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.report import link_map
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.report.view import View
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from report_fuzz import DEEP, SCRIPT, TEXTS, changed, changes_of, check, places_of, render, replaced

SAMPLE = network_samples.fleet(4, {"gpu03": 0.3}, more=network_samples.whole())[0]
LINKS, UPLOAD, REQUESTS = 0, 1, 3
PLACES = places_of(SAMPLE[0]["measurements"])


@given(changes_of(PLACES), st.sampled_from(("en", "zh")))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_shape_of_a_result_breaks_a_format(changes, language):
    shown = render(*changed(SAMPLE, changes), language)
    check(shown)
    assert len(shown["html"]) < 700_000


@pytest.mark.parametrize("odd", [*TEXTS, None, True, -1, 10**400, 1e308, 5e-324, float("nan"), float("inf"), [], {}, DEEP], ids=repr)
def test_every_place_at_once_with_one_oddity(odd):
    for depth in (0, 1, 2, 3, 4):
        check(render(*replaced(SAMPLE, PLACES, depth, odd), "en"))


@pytest.mark.parametrize("field", ["finished", "target", "module", "options", "error"])
@pytest.mark.parametrize(
    "value", [SCRIPT, None, 10**400, ["x"], {"session": SCRIPT, "direction": [1], "message": SCRIPT, "kind": {}}], ids=repr
)
def test_what_surrounds_a_result(field, value):
    document, inputs = copy.deepcopy(SAMPLE)
    for entry in document["measurements"]:
        entry[field] = value
        if field == "error":
            del entry["result"]
    check(render(document, inputs, "zh"))


@pytest.mark.parametrize("name", [text for text in TEXTS if text], ids=repr)
def test_a_partner_and_an_error_with_odd_names(name):
    document, inputs = copy.deepcopy(SAMPLE)
    result = document["measurements"][LINKS]["result"]
    result["pairs"] = [dict(pair, peer=name, error={"kind": name, "message": name}) for pair in result["pairs"]]
    result["undecided_with"] = name
    for entry in document["measurements"][UPLOAD:REQUESTS]:
        entry["result"]["attempts"] = [dict(each, error={"kind": name, "message": name}) for each in entry["result"]["attempts"]]
    document["measurements"][REQUESTS]["result"]["steps"] = [
        dict(step, errors={name: 3}, error_fraction=0.1) for step in document["measurements"][REQUESTS]["result"]["steps"]
    ]
    shown = render(document, inputs, "en")
    check(shown)
    assert "This host" in shown["html"] and "Latency against concurrency" in shown["html"]


@pytest.mark.parametrize("odd", [["group"], {}, {"line_rate": 1}], ids=repr)
def test_no_list_or_map_of_one_host_takes_the_others_map_away(odd):
    fleet = network_samples.fleet(4, {"gpu03": 0.3})
    for path in places_of(fleet[1][0]["measurements"]):
        pairs = [fleet[0], changed(fleet[1], [(path, odd)]), *fleet[2:]]
        report, documents, _inputs = measured_samples.report(pairs, "en")
        links = link_map.FleetLinks(View(report, "en"))
        for index, host in enumerate(report["hosts"]):
            links.add(index, host, documents(host["name"]))
        assert "gpu03" in links.html(), path


def test_huge_lists_stay_small():
    document, inputs = copy.deepcopy(SAMPLE)
    attempt = document["measurements"][UPLOAD]["result"]["attempts"][0]
    document["measurements"][UPLOAD]["result"]["attempts"] = [dict(attempt, retries=[{"kind": "reset", "message": "x" * 500}] * 50)] * 2000
    steps = document["measurements"][REQUESTS]["result"]
    steps["steps"] = [dict(steps["steps"][0], concurrency=number) for number in range(1, 5000)]
    pair = document["measurements"][LINKS]["result"]["pairs"][0]
    document["measurements"][LINKS]["result"]["pairs"] = [dict(pair, peer="gpu%05d" % number) for number in range(20_000)]
    shown = render(document, inputs, "en")
    check(shown)
    assert len(shown["html"]) < 900_000
