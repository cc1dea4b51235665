# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Judging what fabric_benchmark measured: against the owner's figure, against the reference, wrong values, and nothing where nobody asked."""

from __future__ import annotations

import json

import judging
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import expected, metrics
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.metrics import catalogue, fabric
from damage import damaged, places

GB, GIB = 10**9, 2**30
CHECKS = (fabric.RATE, fabric.RATIO, fabric.WRONG)


def measured(busbw=480 * GB, wish=None, target="all_reduce_perf", pair=None, **changed):
    """A host with eight H100 and one test of NCCL on it, as `changed` changes its result."""
    document, inputs = pair or judging.host("h100")
    inputs["expected"].update({"fabric_busbw_bytes_per_second": wish} if wish else {})
    result = {
        "tool": "nccl",
        "tool_version": "nccl-tests 2.17.1",
        "library_version": "2.27.3",
        "operation": "all_reduce",
        "nodes": 1,
        "ranks": 8,
        "busbw_bytes_per_second": busbw,
        "message_bytes": 16 * GIB,
        "wrong_values": 0,
        "device": None,
        "rows": [],
        "notes": [],
    }
    judging.measure(document, "fabric_benchmark", target, **dict(result, **changed))
    return document, inputs


def write(rate, **changed):
    """What measured() takes for one port's test with perftest."""
    return dict(
        {
            "tool": "perftest",
            "operation": "write",
            "busbw": rate,
            "message_bytes": 8388608,
            "ranks": None,
            "wrong_values": None,
            "device": "mlx5_0",
            "library_version": None,
            "tool_version": None,
            "target": "ib_write_bw",
        },
        **changed,
    )


def found(pair, check, **how):
    return judging.finding(judging.judged(*pair, **how), check)


def rows(bus, algorithm):
    return [{"bytes": 16 * GIB, "busbw_bytes_per_second": bus * GB, "algbw_bytes_per_second": algorithm * GB}]


@pytest.mark.parametrize(
    "operation, ranks, bus, algorithm, fits",
    [
        ("all_reduce", 8, 481.04, 274.88, True),
        ("all_reduce", 8, 274.88, 274.88, False),
        ("all_gather", 16, 93.75, 100, True),
        ("all_gather", 16, 187.5, 100, False),
        ("sendrecv", 2, 20, 20, True),
        ("hypercube", 8, 20, 99, True),
        (None, 8, 20, 99, True),
    ],
)
def test_figures_that_contradict_their_own_operation_are_no_answer(operation, ranks, bus, algorithm, fits):
    entry = judging.judged(*measured(bus * GB, 400 * GB, operation=operation, ranks=ranks, rows=rows(bus, algorithm)))
    assert (judging.status(entry, fabric.RATIO) == "unknown") is not fits
    assert fits or str(operation) in entry["absent"][fabric.RATIO]


def test_nobody_ran_it_and_nobody_hears_of_it():
    entry = judging.judged(*judging.host("h100"))
    assert not set(CHECKS) & {finding["check"] for finding in entry["findings"]} and not set(CHECKS) & set(entry["absent"])


@pytest.mark.parametrize(
    "busbw, wish, status",
    [
        (480 * GB, None, "pass"),
        (459 * GB, None, "warn"),
        (460 * GB, None, "pass"),
        (480 * GB, 481 * GB, "warn"),
        (300 * GB, 300 * GB, "pass"),
    ],
)
def test_against_the_reference_and_against_the_owners_figure(busbw, wish, status):
    finding = found(measured(busbw, wish), fabric.RATIO)
    assert finding["status"] == status
    entry = judging.judged(*measured(busbw, wish))
    assert entry["metrics"][fabric.RATIO] == pytest.approx(busbw / (wish or 460 * GB), rel=1e-4) and entry["metrics"][fabric.RATE] == busbw


def test_what_is_said_of_a_slow_fabric():
    message = found(measured(300 * GB), fabric.RATIO)["message"]
    for words in (
        "The fabric carries 279 GiB/s where healthy hosts reach 428 GiB/s",
        "messages of 16.0 GiB, nodes: 1, GPUs: 8, nccl-tests 2.17.1 / NCCL 2.27.3",
        "Measured 2026-11-29 12:20 UTC with all_reduce_perf.",
    ):
        assert words in message, message
    message = found(measured(300 * GB, 450 * GB), fabric.RATIO, language="zh")["message"]
    for words in ("互联带宽 279 GiB/s，期望 419 GiB/s", "消息大小 16.0 GiB，节点数 1，GPU 数 8"):
        assert words in message, message


@pytest.mark.parametrize(
    "changed",
    [
        {"nodes": 2, "ranks": 16},
        {"nodes": None},
        {"ranks": 4},
        {"message_bytes": 8 * GIB},
        {"operation": "all_gather"},
        {"operation": None},
        {"tool": "perftest"},
    ],
)
def test_a_limit_holds_for_what_it_was_found_with_only(changed):
    entry = judging.judged(*measured(100 * GB, **changed))
    finding = judging.finding(entry, fabric.RATIO)
    assert finding["status"] == "not_applicable" and "gpu_audit_expected.fabric_busbw_bytes_per_second" in entry["absent"][fabric.RATIO]
    # The owner's own figure holds for whatever was run.
    assert found(measured(100 * GB, 110 * GB, **changed), fabric.RATIO)["status"] == "warn"


def test_another_board_has_its_own_limit():
    pair = measured(229 * GB, pair=judging.host("a100"), message_bytes=8 * GIB)
    assert judging.judged(*pair)["metrics"][fabric.RATIO] == pytest.approx(229 / 228, rel=1e-4)
    assert found(measured(229 * GB, pair=judging.host("l40s")), fabric.RATIO)["status"] == "not_applicable"


@pytest.mark.parametrize("count, status", [(0, "pass"), (1, "fail"), (10**9, "fail")])
def test_a_single_wrong_value_fails(count, status):
    finding = found(measured(wrong_values=count), fabric.WRONG)
    assert finding["status"] == status and (not count or "values arrived wrong" in finding["message"])


def test_without_validation_nobody_knows_whether_values_were_wrong():
    entry = judging.judged(*measured(wrong_values=None))
    assert judging.finding(entry, fabric.WRONG)["status"] == "not_applicable" and "-c 0" in entry["absent"][fabric.WRONG]


def port(pair, rate, device="mlx5_0"):
    pair[0]["facts"]["network"]["rdma_ports"] = [
        {"device": device, "port": 1, "state": "active", "rate_bits_per_second": rate, "link_layer": "InfiniBand", "counters": {}}
    ]
    return pair


@pytest.mark.parametrize(
    "rate, line, device, status",
    [
        (48 * GB, 400 * GB, "mlx5_0", "pass"),
        (47 * GB, 400 * GB, "mlx5_0", "warn"),
        (24 * GB, 200 * GB, "mlx5_0", "not_applicable"),
        (47 * GB, 400 * GB, "mlx5_1", "not_applicable"),
    ],
)
def test_a_port_is_held_to_a_limit_of_its_own_speed(rate, line, device, status):
    given = write(rate)
    pair = port(measured(**given), line, device)
    assert found(pair, fabric.RATIO)["status"] == status
    assert fabric.WRONG not in {finding["check"] for finding in judging.judged(*pair)["findings"]}


def test_of_several_tests_the_worst_counts_and_the_owners_figure_is_for_nccl():
    given = write(40 * GB)
    pair = port(measured(470 * GB, 475 * GB, pair=measured(**given)), 400 * GB)
    entry = judging.judged(*pair)
    assert entry["metrics"][fabric.RATIO] == pytest.approx(40 / 47.5) and entry["metrics"][fabric.RATE] == 470 * GB
    assert "ib_write_bw" in judging.finding(entry, fabric.RATIO)["message"]


def test_a_test_that_failed_is_unknown_once():
    pair = measured()
    measurement = next(entry for entry in pair[0]["measurements"] if entry["module"] == "fabric_benchmark")
    del measurement["result"]
    measurement["error"] = "all_reduce_perf ended with status 2: the test failed: node-1: Test CUDA failure common.cu:892 'out of memory'"
    entry = judging.judged(*pair)
    assert judging.finding(entry, fabric.RATIO)["status"] == "unknown" and "out of memory" in entry["absent"][fabric.RATIO]
    assert {finding["check"] for finding in entry["findings"]} & set(CHECKS) == {fabric.RATIO}


def test_every_limit_is_whole_and_of_known_boards():
    keys, sources = {board["key"] for board in catalogue.boards()}, catalogue.load_reference("fabric.yml")["sources"]
    seen = set()
    for limit in fabric.limits():
        assert set(limit["boards"]) <= keys and limit["source"] in sources and limit["message_bytes"] > 0 and "tool_version" in limit
        assert (
            limit["nodes"] >= 1
            and (limit["tool"] == "perftest") is ("link_bits_per_second" in limit)
            and limit["limit_bytes_per_second"] > GB
        )
        same = [
            (limit["tool"], limit["operation"], board, limit["nodes"], limit["ranks"], limit["message_bytes"]) for board in limit["boards"]
        ]
        assert not seen & set(same)
        seen |= set(same)
        if "link_bits_per_second" in limit:
            assert 0.85 < limit["limit_bytes_per_second"] * 8 / limit["link_bits_per_second"] < 1


@pytest.mark.parametrize(
    "given, rate", [(460e9, 460 * GB), ("460 GB/s", 460 * GB), ("400GiB/s", 400 * GIB), ("460000000000", 460 * GB), ("0.4 TB/s", 400 * GB)]
)
def test_the_owners_figure_as_people_write_it(given, rate):
    assert expected.normalise({"fabric_busbw_bytes_per_second": given}) == ({"fabric_busbw_bytes_per_second": rate}, [])


@pytest.mark.parametrize("given", ["400 Gb/s", "fast", 0, -1, True, [], "1 iB", "460 GB/h"])
def test_bits_and_other_things_are_refused_for_it(given):
    values, problems = expected.normalise({"fabric_busbw_bytes_per_second": given})
    assert values == {} and "fabric_busbw_bytes_per_second must be a rate in bytes per second" in problems[0]


def _everything():
    given = write(40 * GB, tool_version="6.06")
    pair = port(measured(470 * GB, 475 * GB, pair=measured(**dict(given.items())), rows=rows(481.04, 274.88)), 400 * GB)
    kept = [entry for entry in pair[0]["measurements"] if entry["module"] == "fabric_benchmark"]
    return dict(pair[0], facts={key: pair[0]["facts"][key] for key in ("network", "platform")}, measurements=kept), pair[1]


@pytest.mark.parametrize("odd", [None, True, -1, 0, 10**400, 5e-324, 1e300, float("nan"), float("inf"), "x", [], {}, [{}], {"a": None}])
def test_every_place_of_a_measurement_with_every_kind_of_value(odd):
    document, inputs = _everything()
    for path in places(document["measurements"], ("measurements",)):
        found = metrics.derive(damaged(document, [(path, odd)]), inputs, judging.NOW)
        json.dumps([found["values"], found["absent"]], allow_nan=False)
    for wish in (odd, 475 * GB):
        found = metrics.derive(document, dict(inputs, expected={"fabric_busbw_bytes_per_second": wish}), judging.NOW)
        json.dumps([found["values"], found["absent"]], allow_nan=False)
