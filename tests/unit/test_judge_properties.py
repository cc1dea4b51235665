# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whatever a host's document holds, judging gives the same valid entry and never crashes."""

from __future__ import annotations

import copy
import json
import math

import fleet_maker
import judging
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import judge, metrics, verdict
from damage import FEW, ODD, damaged, places
from hypothesis import given
from hypothesis import strategies as st

DOCUMENT, INPUTS = judging.host("t4")
PLACES = places(DOCUMENT)
INPUT_PLACES = places(INPUTS)


def check_entry(entry):
    assert entry["verdict"] in verdict.VERDICTS and isinstance(entry["reason"], str)
    for name, value in entry["metrics"].items():
        assert isinstance(value, (bool, int, str)) or math.isfinite(value), name
    for found in entry["findings"]:
        assert found["status"] in ("pass", "warn", "fail", "unknown", "not_applicable", "waived")
        assert "actual" not in found or found["actual"] is not None
    json.dumps(entry, allow_nan=False)


@FEW
@given(st.lists(st.tuples(st.sampled_from(PLACES), ODD), min_size=1, max_size=12))
def test_a_damaged_document_is_judged_the_same_way_twice(changes):
    document = damaged(DOCUMENT, changes)
    entry = judging.judged(document, INPUTS)
    check_entry(entry)
    assert json.dumps(judging.judged(copy.deepcopy(document), INPUTS)) == json.dumps(entry)
    report = judge.judge_run([entry], {"training": judging.shipped("training")}, fleet_maker.make_run(["node-01"], {}), "zh")
    json.dumps(report, allow_nan=False)


@FEW
@given(st.lists(st.tuples(st.sampled_from(INPUT_PLACES), ODD), min_size=1, max_size=6))
def test_damaged_inputs_are_judged(changes):
    check_entry(judging.judged(DOCUMENT, damaged(INPUTS, changes)))


@FEW
@given(ODD, ODD)
def test_a_document_that_is_anything_at_all(document, inputs):
    check_entry(judging.judged(document, inputs))


@pytest.mark.parametrize("odd", [None, True, -1, 10**400, float("nan"), float("inf"), "x", "", [], {}, [{}], {"error": "boom"}])
def test_every_single_place_with_every_kind_of_value(odd):
    for path in PLACES:
        document = damaged(DOCUMENT, [(path, odd)])
        check_entry(judging.judged(document, INPUTS))


def test_every_metric_is_in_exactly_one_of_the_two_maps():
    for inputs, document in fleet_maker.make_documents(60, seed=5):
        if document is None or document["facts"] is None:
            continue
        derived = metrics.derive(document, inputs, judging.NOW)
        assert set(derived["values"]) | set(derived["absent"]) == set(metrics.DEFINITIONS)
        assert not set(derived["values"]) & set(derived["absent"])
        assert not [name for name, why in derived["absent"].items() if why["reason"] == "absent.not_derived"]


def test_judging_changes_neither_document_nor_inputs_nor_policy():
    for inputs, document in fleet_maker.make_documents(30, seed=7):
        before = json.dumps([inputs, document, judging.shipped("training")], sort_keys=True)
        judging.judged(document, inputs)
        assert json.dumps([inputs, document, judging.shipped("training")], sort_keys=True) == before


def test_the_order_of_hosts_does_not_matter():
    pairs = list(fleet_maker.make_documents(40, seed=9))
    policies = {"training": judging.shipped("training")}
    run = fleet_maker.make_run([], policies)

    def report(order):
        return json.dumps(judge.judge_run([judging.judged(document, inputs) for inputs, document in order], policies, run, "en"))

    assert report(pairs) == report(pairs[::-1])


def test_a_report_stays_within_five_kilobytes_a_host():
    size = len(json.dumps(fleet_maker.make_report(200, seed=1), separators=(",", ":"), ensure_ascii=False).encode())
    assert size / 200 <= 5 * 1024
