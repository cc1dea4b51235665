# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The network in the report: the map of links, each host's record, charts and strip, in every format and in both languages."""

from __future__ import annotations

import copy
import csv
import io
import json
import re
from html import unescape

import judging
import measured_samples
import network_samples as samples
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import link_store, metrics
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import report as renderer
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.report import (
    charts,
    line_charts,
    link_grid,
    link_map,
    network_charts,
    network_record,
)
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.report.view import View
from test_report_closing import charts_of, plain_text


MIB = samples.MIB


def fleet(pairs, language="en"):
    """(FleetLinks filled, its HTML) of these hosts."""
    report, documents, _inputs = measured_samples.report(pairs, language)
    links = link_map.FleetLinks(View(report, language))
    for index, host in enumerate(report["hosts"]):
        links.add(index, host, documents(host["name"]))
    return links, links.html()


def fragment(pair, language="en"):
    """The network part of one host."""
    report, documents, inputs = measured_samples.report([pair], language)
    name = report["hosts"][0]["name"]
    return network_charts.fragment(View(report, language), report["hosts"][0], documents(name), inputs(name)["workload"])


def map_cells(html):
    """[[text of each cell, shade first]] of the first map."""
    table = re.search(r'<table class="map.*?</table>', html, re.S)[0]
    return [re.findall(r'<td class="(q\w)">(.*?)</td>', row) for row in re.findall(r"<tr>.*?</tr>", table)[1:]]


# --- the map


@pytest.mark.parametrize(
    "language, words",
    [
        ("en", "gpu05 is slow: 94.2 Mbit/s either way; 9.4 % of the line rate of 1 Gbit/s."),
        ("zh", "gpu05 偏慢：双向 94.2 Mbit/s；线速 1 Gbit/s 的 9.4 %。"),
    ],
)
def test_the_slow_host_is_named_and_its_partners_are_not(language, words):
    html = fleet(samples.fleet(8, {"gpu05": 0.095}), language)[1]
    text = plain_text(html)
    assert words in text
    said = text.partition("28 ")[0]
    assert not [name for name in ("gpu01", "gpu02", "gpu03", "gpu04", "gpu06", "gpu07", "gpu08") if name in said]
    assert html.count('class="slow"') == 2


def test_a_figure_is_that_of_both_directions_only_where_they_are_about_the_same():
    text = plain_text(fleet(samples.fleet(5, {"gpu03": {"receive": 0.8}}))[1])
    assert re.search(r"gpu03 is slow: receives 79\d Mbit/s;", text) and "either way" not in text.partition("Pairs with it")[0]


@pytest.mark.parametrize("count, pairs, shown", [(2, 1, 2), (8, 28, 8), (16, 120, 16), (64, 192, 64)])
def test_every_direction_of_every_pair_stands_once(count, pairs, shown):
    links, html = fleet(samples.fleet(count))
    rows = map_cells(html)
    assert [len(row) for row in rows] == [shown] * shown
    kinds = [kind for row in rows for kind, _text in row]
    assert (
        kinds.count("q0") == 2 * pairs and kinds.count("qs") == shown and sum(len(test.seen) for test in links.tests.values()) == 2 * pairs
    )
    assert "%d pair" % pairs in plain_text(html)


def test_each_direction_is_its_own():
    # gpu03 receives slowly: its column is dark, its row isn't.
    rows = map_cells(fleet(samples.fleet(5, {"gpu03": {"receive": 0.4}}))[1])
    assert [row[2][0] for row in rows] == ["q3", "q3", "qs", "q3", "q3"] and [kind for kind, _text in rows[2]] == [
        "q0",
        "q0",
        "qs",
        "q0",
        "q0",
    ]


def test_what_a_partner_received_fills_in_for_a_host_without_a_document():
    pairs = samples.fleet(4)
    pairs[1][0]["measurements"] = []
    rows = map_cells(fleet(pairs)[1])
    assert [kind for kind, _text in rows[1]] == ["q0", "qs", "q0", "q0"]


def test_two_hosts_alone_accuse_nobody():
    html = fleet(samples.fleet(2, {"gpu02": 0.3}))[1]
    assert "gpu01 and gpu02 are slow between them" in plain_text(html) and "is slow:" not in plain_text(html) and 'class="slow"' not in html
    assert "are slow between them" not in plain_text(fleet(samples.fleet(2))[1])


def test_a_virtual_group_is_measured_by_its_median():
    text = plain_text(fleet(samples.fleet(4, {"gpu03": 0.5}, kind="virtual", line=2e11))[1])
    assert "gpu03 is slow" in text and "of the group's median" in text.replace("&#x27;", "'") and "line rate" not in text


def test_a_pair_that_failed_is_told_once_and_has_a_cell_of_its_own():
    html = fleet(samples.fleet(5, broken=[frozenset(("gpu02", "gpu04"))]))[1]
    text = plain_text(html)
    assert text.count("gpu02 – gpu04 failed: unable to connect to server") == 1 and "refused: unable" not in text
    assert sum(kind == "qe" for row in map_cells(html) for kind, _text in row) == 2


@pytest.mark.parametrize("language, words, addresses", [
    ("en", "gpu02 – gpu04, gpu05, gpu06 failed: unable to connect to server: Connection refused", "failed: connection refused"),
    ("zh", "gpu02 – gpu04、gpu05、gpu06 失败：连接被拒绝：unable to connect to server: Connection refused", "失败：连接被拒绝"),
])
def test_pairs_of_a_host_that_failed_alike_are_one_line(language, words, addresses):
    broken = [frozenset(("gpu02", name)) for name in ("gpu04", "gpu05", "gpu06")]
    pairs = samples.fleet(6, broken=broken)
    text = plain_text(fleet(pairs, language)[1]).replace(" , ", ", ").replace(" 、 ", "、")
    assert text.count(words) == 1 and "gpu05 – gpu02" not in text and "gpu02 – gpu05" not in text
    for document, _inputs in pairs:
        for pair in document["measurements"][0]["result"]["pairs"]:
            if pair["error"]:
                pair["error"] = {"kind": "refused", "message": "192.0.2.%s refuses" % pair["peer"][-1]}
    said = plain_text(fleet(pairs, language)[1].partition("<table")[0])
    assert addresses in said and "192.0.2" not in said


@pytest.mark.parametrize(
    "language, words, partner",
    [
        ("en", "gpu02 loses packets: 5 % of UDP packets lost; 5.1 % of TCP segments sent again.", "3 partners"),
        ("zh", "gpu02 丢包：UDP 丢包 5 %；TCP 重传 5.1 %。", "与 3 台主机对测"),
    ],
)
def test_the_lossy_host_is_named_and_its_partners_are_not(language, words, partner):
    pairs = samples.fleet(4)
    losses = {"lost_fraction": 0.05, "lost_direction": "receive", "retransmit_fraction": 0.051, "retransmit_direction": "receive"}
    pairs[1][0]["measurements"][0]["result"].update(losses)
    html = fleet(pairs, language)[1]
    text = plain_text(html)
    assert words in text and "gpu01 loses" not in text and "gpu01 丢包" not in text
    assert "is the slowest, and fine" not in text and "最慢，但正常" not in text
    pairs[1][0]["measurements"][0]["result"]["loss_undecided_with"] = "gpu01"
    assert ("Tested with gpu01 only" if language == "en" else "只与 gpu01 对测") in plain_text(fleet(pairs, language)[1])
    own = plain_text(fragment(pairs[1], language))
    assert partner in own and words.partition(": " if language == "en" else "：")[2].rstrip(".。") in own


@pytest.mark.parametrize("language, words, hidden", [
    ("en", "gpu01 – gpu02 with each other only: 5 % of UDP packets lost.", "tested only with hosts that are slow themselves (gpu02)"),
    ("zh", "gpu01 – gpu02 仅两者之间：UDP 丢包 5 %。", "仅与自身偏慢的主机（gpu02）对测"),
])
def test_what_two_hosts_lose_with_each_other_only_is_told_of_the_pair(language, words, hidden):
    pairs = samples.fleet(4)
    for (document, _inputs), peer in zip(pairs, ("gpu02", "gpu01")):
        for pair in document["measurements"][0]["result"]["pairs"]:
            pair["only_here"] = {"slow_fraction": None, "retransmit_fraction": None, "lost_fraction": 0.05 if pair["peer"] == peer else None}
    html = fleet(pairs, language)[1]
    text = plain_text(html)
    assert text.count(words) == 1 and "is the slowest, and fine" not in text and "最慢，但正常" not in text
    unknown = {"judged_by": None, "fraction_of_line_rate": None, "fraction_of_group_median": None, "hidden_by": "gpu02"}
    pairs[3][0]["measurements"][0]["result"].update(unknown)
    assert hidden in plain_text(fragment(pairs[3], language))


@pytest.mark.parametrize("language, words", [("en", "no pair of 4 gave a figure"), ("zh", "4 个配对均无数据")])
def test_a_host_whose_every_pair_failed_is_judged_named_and_drawn(language, words):
    names = ["gpu0%d" % number for number in range(1, 6)]
    broken = [frozenset(("gpu03", name)) for name in names if name != "gpu03"]
    pairs = samples.fleet(5, broken=broken)
    measurement = pairs[2][0]["measurements"][0]
    measurement["error"] = link_store.failure_of(measurement.pop("result"))
    report, documents, _inputs = measured_samples.report(pairs, language)
    found = {host["name"]: {each["check"]: each["status"] for each in host["findings"]} for host in report["hosts"]}
    assert [found[name]["network.link_pairs_failed"] for name in names] == ["pass", "pass", "fail", "pass", "pass"]
    assert report["hosts"][2]["verdict"] == "not_ready"
    html = fleet(pairs, language)[1]
    text = plain_text(html)
    assert words in text and "gpu03" in text.partition(words)[0]
    rows = map_cells(html)
    assert [kind for kind, _text in rows[2]] == ["qe", "qe", "qs", "qe", "qe"] and [row[2][0] for row in rows] == ["qe", "qe", "qs", "qe", "qe"]


def test_figures_stand_in_every_cell_as_text():
    for row in map_cells(fleet(samples.fleet(16, {"gpu11": 0.3}))[1]):
        for kind, words in row:
            assert kind == "qs" or re.fullmatch(r"\d+<i> % · [\d.]+ [MG]bit/s( · \d+ retransmits?)?</i>", words), words


def test_a_thousand_hosts_are_a_list_of_the_slowest_and_a_spread():
    names = ["gpu%04d" % number for number in range(1000)]
    found = samples.links(names, {"gpu0500": 0.2})
    view = View({"hosts": [{"name": name} for name in names], "run": {}}, "en")
    links = link_map.FleetLinks(view)
    for index, name in enumerate(names):
        links.add(index, view.report["hosts"][index], {"measurements": [found[name]]})
    html = links.html()
    text = plain_text(html)
    assert '<table class="map' not in html and len(html) < 30_000
    assert "gpu0500 is slow" in text and "The 20 slowest of 1000 hosts" in text and "≥ 90 %: 999" in html
    assert [len(test.seen) for test in links.tests.values()] == [10_000]


def test_a_host_judged_fine_under_its_own_limits_is_not_named():
    report, documents, _inputs = measured_samples.report(samples.fleet(4, {"gpu03": 0.88}))
    for status in ("pass", "warn"):
        host = dict(report["hosts"][2], findings=[{"check": "network.link_fraction_of_line_rate", "status": status, "actual": 0.87}])
        view = View(dict(report, hosts=[*report["hosts"][:2], host, report["hosts"][3]]), "en")
        links = link_map.FleetLinks(view)
        for index, entry in enumerate(view.report["hosts"]):
            links.add(index, entry, documents(entry["name"]))
        assert ("gpu03 is slow" in plain_text(links.html())) is (status == "warn")


def test_hosts_that_were_never_tested_have_no_section(tmp_path):
    report, documents, inputs = measured_samples.report([measured_samples.host()])
    paths = renderer.render(report, tmp_path, "en", ("html",), documents, inputs=inputs)
    assert 'id="links"' not in open(paths["html"], encoding="utf-8").read()


@pytest.mark.parametrize(
    "names, short",
    [
        (["a.example.org", "b.example.org"], ["a", "b"]),
        (["a.example.org", "b.example.net"], ["a.example.org", "b.example.net"]),
        (["a.x", "a.x"], ["a.x", "a.x"]),
        (["training-node-0001"], ["trai…node-0001"]),
        ([], []),
    ],
)
def test_short_names(names, short):
    assert link_grid.short_names(names) == short


# --- a host


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("number", range(5))
def test_no_text_of_a_chart_lies_outside_on_a_line_or_on_another(language, number):
    html = fragment(samples.page()[number], language)
    for svg in charts_of(html).values():
        boxes = []
        for text in svg.iter("text"):
            words, left, bottom = "".join(text.itertext()), float(text.get("x")), float(text.get("y"))
            width = charts.text_width(words) * 11.5 / 12
            left -= {"end": width, "middle": width / 2}.get(text.get("text-anchor"), 0)
            box = (left, bottom - 9, left + width, bottom + 1)
            assert box[0] >= -1 and box[2] <= line_charts.WIDTH + 1, (words, box)
            for other in boxes:
                assert box[2] <= other[0] + 1 or box[0] >= other[2] - 1 or box[3] <= other[1] or box[1] >= other[3], (words, box, other)
            for line in svg.iter("line"):
                one, end, upper, lower = (float(line.get(name)) for name in ("x1", "x2", "y1", "y2"))
                assert box[2] <= one or box[0] >= end or box[3] <= upper or box[1] >= lower, (words, line.attrib)
            boxes.append(box)


def test_the_record_of_a_host_that_was_measured_in_full():
    text = plain_text(fragment(samples.page()[0]))
    for words in (
        "Upload 45.6 MiB/s 1 of 3 attempts failed: connection broken off; 2 retries: 2 × error of the server (HTTP 5xx)",
        "Download 111 MiB/s",
        "8 hosts at once",
        "p99 at the target concurrency 1.8 s with 50 at once; p50 900 ms; p95 1.44 s",
        "Concurrency within the acceptable latency 50 acceptable: p95 up to 2 s; wanted: 50",
        "Link to other hosts 936 Mbit/s 93.6 % of the line rate of 1 Gbit/s",
        "attempt 2 failed: the connection was reset after 470 MiB",
        "attempt 3: 2 retries after 503 Service Unavailable",
        "needed: 48.5 MiB/s, for the data set in the hours allowed",
        "100 at once: 3 % failed: 12 × no answer in time, 3 × error of the server (HTTP 5xx)",
        "bears up to 50 at once",
        "acceptable (p95): 2 s",
    ):
        assert words in text, words


@pytest.mark.parametrize(
    "language, words",
    [
        ("en", "not measured: run playbook trainops.gpu_audit.measure with measure_network_{part}_url"),
        ("zh", "未测量：设置 measure_network_{part}_url 后运行"),
    ],
)
def test_what_is_missing_says_how_to_get_it(language, words):
    text = plain_text(fragment(samples.fleet(3)[0], language))
    for part, times in (("upload", 1), ("download", 1), ("request", 2)):
        assert text.count(words.format(part=part)) == times
    alone = plain_text(fragment(samples.host(samples.requests()), language))
    assert "gpu_audit_link_address" in alone


@pytest.mark.parametrize(
    "attempts, shown",
    [
        # 1.3 s: of the first second less than the average, which the cut second lifts.
        ([dict(samples.attempt(2 * MIB, 1), seconds=1.3, bytes_per_second=4.0 * MIB)], None),
        ([dict(samples.attempt(2 * MIB, 2), seconds=2.9, bytes_per_second=4.0 * MIB)], None),
        ([samples.attempt(4 * MIB, 10)], "4.20 MiB/s"),
        # The best second of a slow attempt says nothing where another's average is above it.
        ([samples.attempt(4 * MIB, 10), dict(samples.attempt(2 * MIB, 1), seconds=1.3, bytes_per_second=9.0 * MIB)], None),
        ([samples.attempt(9 * MIB, 10, error=("reset", "x")), samples.attempt(4 * MIB, 10)], "4.20 MiB/s"),
        ([samples.attempt(0, 0)], None),
    ],
)
def test_the_best_second_is_above_the_average(attempts, shown):
    measured = samples.transfer("upload", attempts, bytes_per_second=4.0 * MIB, peak_bytes_per_second=2.3 * MIB)
    text = plain_text(fragment(samples.host(measured)))
    assert ("best second " + shown in text) if shown else "best second" not in text, text
    evidence = metrics.derive(*samples.host(measured), judging.NOW)["values"]["network.upload_bytes_per_second"]["evidence"]
    assert [entry["what"] for entry in evidence] == ["upload_bytes_per_second"] + ["peak_bytes_per_second"] * bool(shown)


@pytest.mark.parametrize(("language", "words"), [("en", "allowed (far above what the chart shows)"), ("zh", "（远高于图中范围）")])
def test_a_need_far_above_the_chart_is_no_line_and_said_so(language, words):
    measured = samples.transfer("upload", [samples.attempt(4 * MIB, 10)])
    text = fragment(samples.host(measured), language)
    assert words in text and 'class="k needed"' not in text
    near = fragment(samples.host(samples.transfer("upload", [samples.attempt(40 * MIB, 10)])), language)
    assert words not in near and 'class="k needed"' in near


def test_a_test_that_failed_is_no_test_that_was_never_made():
    assert "the last test failed: the name store.example.org isn&#x27;t known" in plain_text(fragment(samples.page()[3]))


def test_an_answer_above_the_acceptable_latency_at_the_lowest_load():
    text = plain_text(fragment(samples.host(samples.requests([samples.step(1, 3.0), samples.step(10, 5.0)]))))
    assert "Concurrency within the acceptable latency 0" in text and "too slow even with 1 at once" in text


@pytest.mark.parametrize("language, words", [("en", "– acceptable: p95 up to 2 s; too slow with 10 at once, the lowest step that counts"),
                                             ("zh", "– 可接受：p95 不超过 2 秒；计入的最低一级（并发 10）已超出")])
def test_a_step_that_does_not_count_is_called_neither_slow_nor_measured(language, words):
    text = plain_text(fragment(samples.host(samples.requests([samples.step(1, 0.1, requests=15), samples.step(10, 5.0)])), language))
    assert words in text and "even with 1" not in text, text


@pytest.mark.parametrize("language, words", [("en", "with 1 at once it was missed by so few of 20 requests that it may be chance, 10, 50 kept it"),
                                             ("zh", "未知：并发 1 的 20 个请求中仅有极少数超限，可能只是偶然，而 10、50 达标")])
def test_steps_that_contradict_each_other_are_named(language, words):
    thin = samples.step(1, 1.0, 2.3, requests=20, latency_p95_at_least_seconds=1.1)
    measured = samples.requests([thin, samples.step(10, 1.0), samples.step(50, 1.1)], knee=None)
    assert plain_text(fragment(samples.host(measured), language)).count(words) == 2


@pytest.mark.parametrize("language, words", [("en", "33 % failed even with 1 at once"), ("zh", "最低负载（并发 1）已有 33 % 失败")])
def test_failed_requests_at_the_lowest_load_are_no_slowness(language, words):
    text = plain_text(fragment(samples.host(samples.requests([samples.step(1, 0.0004, errors={"http_5xx": 165})])), language))
    assert words in text and "too slow" not in text and "已超出" not in text


def test_a_step_with_fewer_requests_than_clients_is_no_knee():
    text = plain_text(fragment(samples.host(samples.requests([samples.step(10, 0.1), samples.step(50, 0.1, requests=1)]))))
    assert "Concurrency within the acceptable latency 10" in text


def test_a_target_beyond_the_test_has_no_figure():
    text = plain_text(fragment(samples.host(samples.requests(), form={"concurrency": 500})))
    assert "– not measured: the form asks for 500 at once, the test ended at 100" in text


def test_the_forms_latency_decides_and_not_the_tests():
    measured = samples.requests(knee=100, slo=60)
    text = plain_text(fragment(samples.host(measured, form={"latency_seconds": 0.35})))
    assert "Concurrency within the acceptable latency 10 acceptable: p95 up to 350 ms" in text


def test_the_chart_of_latencies():
    chart = charts_of(fragment(samples.host(samples.requests())))["Latency against concurrency"]
    lines = {line.get("class"): line.get("points").split() for line in chart.iter("polyline")}
    assert set(lines) == {"line p50", "line p95", "line p99"} and all(len(points) == 4 for points in lines.values())
    across = [float(point.split(",")[0]) for point in lines["line p50"]]
    # Ten times the load is always as far: 1 to 10 as 10 to 100.
    assert abs((across[1] - across[0]) - (across[3] - across[1])) < 0.3 and across == sorted(across)
    knee = [line for line in chart.iter("line") if line.get("class") == "knee"]
    assert len(knee) == 1 and abs(float(knee[0].get("x1")) - across[2]) < 0.1
    assert len([path for path in chart.iter("path") if path.get("class") == "cross"]) == 1
    assert "50 at once: p50 900 ms, p95 1.44 s, p99 1.8 s" in chart.get("aria-label")


def test_steps_of_rising_arrival_rates_are_drawn_by_the_rate():
    text = fragment(samples.page()[1])
    chart = charts_of(text)["Latency against the arrival rate"]
    assert {"5", "20", "60", "80"} <= {"".join(label.itertext()) for label in chart.iter("text")}
    assert "bears up to 20 requests/s" in plain_text(text) and "open loop" in plain_text(text) and "Tokens/s per request" in text


def test_the_chart_of_a_transfer_has_each_attempt_and_both_levels():
    chart = charts_of(fragment(samples.page()[0]))["Upload speed over time"]
    assert len(list(chart.iter("polyline"))) == 3 and len(list(chart.iter("path"))) == 1
    levels = {line.get("class"): float(line.get("y1")) for line in chart.iter("line") if line.get("class").startswith("limit")}
    # The average is below the need, so further down.
    assert levels["limit average"] > levels["limit needed"]
    assert len(fragment(samples.host(samples.transfer("upload", [samples.attempt(1e8, 86400)])))) < 12_000


def test_attempts_that_all_failed_say_why():
    html = fragment(samples.page()[2])
    text = plain_text(html)
    assert "3 of 3 attempts failed: 3 × connection refused" in text and "Upload speed over time" not in charts_of(html)
    assert "attempts 1, 2, 3 failed: nothing listens at 192.0.2.10 port 443" in text


def test_a_need_far_above_what_was_measured_does_not_flatten_the_line():
    html = fragment(samples.host(samples.transfer("upload", [samples.attempt(1e5)])))
    chart = charts_of(html)["Upload speed over time"]
    assert "needed: 48.5 MiB/s" in plain_text(html)
    assert min(float(point.split(",")[1]) for line in chart.iter("polyline") for point in line.get("points").split()) < 60


def test_latencies_of_very_different_size_are_on_a_logarithmic_axis():
    steps = [samples.step(1, 0.004), samples.step(10, 0.02), samples.step(100, 9.0)]
    chart = charts_of(fragment(samples.host(samples.requests(steps))))["Latency against concurrency"]
    assert {"1 ms", "100 ms", "10 s"} <= {"".join(label.itertext()) for label in chart.iter("text")}


@pytest.mark.parametrize("top", [1, 3.2, 59, 100, 118, 1023, 0.02, 7e9])
def test_ticks_are_round_and_hold_the_top(top):
    ticks = line_charts.round_ticks(top)
    assert ticks[0] == 0 and ticks[-1] >= top * 0.999 and 2 <= len(ticks) <= 6 and ticks[-2] < top


def test_a_host_without_network_measurements_has_no_part():
    document, inputs = measured_samples.host()
    document["measurements"] = [
        entry for entry in document["measurements"] if not entry["module"].startswith(("transfer", "request", "link"))
    ]
    assert fragment((document, inputs)) == ""


def test_the_strip_has_both_directions_of_each_partner():
    html = fragment(samples.fleet(5, {"gpu03": {"receive": 0.4}})[0])
    sends, receives = map_cells(html)
    assert [kind for kind, _text in sends] == ["q0", "q3", "q0", "q0"] and [kind for kind, _text in receives] == ["q0"] * 4


# --- the other formats


def test_csv_and_markdown_have_the_figures(tmp_path):
    report, documents, inputs = measured_samples.report(samples.page())
    paths = renderer.render(report, tmp_path, "en", documents=documents, inputs=inputs)
    rows = list(csv.DictReader(io.StringIO(open(paths["csv"], encoding="utf-8-sig", newline="").read())))
    mine = {row["check"]: row["actual"] for row in rows if row["host"] == "gpu01"}
    assert round(float(mine["network.upload_bytes_per_second"]) / 2**20, 1) == 45.6
    assert float(mine["network.request_p99_seconds"]) == pytest.approx(1.8) and float(mine["network.concurrency_within_latency"]) == 50
    assert float(mine["network.link_bytes_per_second"]) == pytest.approx(117.03e6, rel=1e-3)
    checks = [row["check"] for row in rows if row["host"] == "gpu01"]
    assert len(checks) == len(set(checks))
    text = open(paths["markdown"], encoding="utf-8").read()
    assert "Upload: **45.6 MiB/s**" in text and "Link to other hosts: **94.2 Mbit/s**" in text


def test_the_series_and_pairs_stay_out_of_report_json():
    report, _documents, _inputs = measured_samples.report(samples.fleet(8, more=samples.whole()))
    text = json.dumps(report["hosts"][0], separators=(",", ":"))
    assert '"series"' not in text and '"pairs"' not in text and len(text) < 14_000


def test_nothing_of_a_document_is_changed():
    pair = samples.page()[0]
    before = copy.deepcopy(pair[0]["measurements"])
    fragment(pair)
    assert pair[0]["measurements"] == before


def test_a_figure_of_nothing_is_none():
    assert network_record.figures(View({"hosts": [], "run": {}}, "en"), {}, None) == []


# --- how it reads


def test_a_number_stays_with_its_unit_and_a_long_name_may_be_broken():
    html = fragment(samples.page()[0])
    record = re.search(r'<section class="closing network">.*?</section>', html, re.S)[0]
    assert (
        "936\u00a0Mbit/s" in record
        and "93.6\u00a0%" in record
        and not re.search(r"\d (%|[KMG]i?B|[MG]bit/s|ms\b)", record.partition("<p")[0])
    )
    missing = fragment(samples.fleet(3)[0])
    assert "measure_<wbr>network_<wbr>upload_<wbr>url" in missing and "trainops.<wbr>gpu_<wbr>audit.<wbr>measure" in missing


@pytest.mark.parametrize(
    "message, said",
    [
        (
            "the name store.example.org isn't known (Name or service not known)",
            "无法解析主机名 store.example.org（Name or service not known）",
        ),
        ("503 Service Unavailable", "503 Service Unavailable"),
    ],
)
def test_what_a_transfer_failed_with_is_said_in_the_language_of_the_report(message, said):
    failed = samples.transfer("upload", [samples.attempt(0, 0, error=("dns", message)), samples.attempt(1e8)])
    assert "第 1 次尝试失败：" + said in plain_text(fragment(samples.host(failed), "zh"))
    whole = samples.transfer("upload", [])
    del whole["result"]
    text = plain_text(fragment(samples.host(dict(whole, error={"kind": "dns", "message": message})), "zh"))
    assert "最近一次测试失败：" + said in text


def test_each_attempt_says_how_long_it_took_where_there_is_room():
    def names(*seconds):
        attempts = [samples.attempt(1e8, each) for each in seconds]
        chart = charts_of(fragment(samples.host(samples.transfer("upload", attempts))))["Upload speed over time"]
        return ["".join(label.itertext()) for label in chart.iter("text")]

    assert {"1 · 19 s", "2 · 20 s"} <= set(names(19, 20))
    assert {"1", "12"} <= set(names(*[10] * 12))


@pytest.mark.parametrize("form, words", [({}, "for the weights"), ({"weights_bytes": None}, "for a checkpoint")])
def test_what_the_minutes_allowed_are_for_is_named(form, words):
    text = plain_text(fragment(samples.host(samples.transfer("download", [samples.attempt(1e8)]), form=form)))
    assert words + " in the minutes allowed" in text


def test_the_head_of_a_column_of_numbers_stands_over_them():
    html = fragment(samples.page()[0])
    table = re.search(r'<table class="plain figures">.*?</table>', html, re.S)[0]
    heads = re.findall(r"<th (class=\"num\" )?scope=\"col\">(.*?)</th>", table)
    assert [name for mark, name in heads if not mark] == ["Load", "Failed"]


def test_milliseconds_are_chinese_in_chinese():
    text = plain_text(fragment(samples.host(samples.requests()), "zh"))
    assert "900 毫秒" in text and not re.search(r"\d ms\b", text)


@pytest.mark.parametrize(
    "changed, en, zh",
    [
        ({"stand_in": True, "storage": "peer"}, "measured against the audit's own peer, not the real endpoint", "对端为审计自带的服务，并非真实端点"),
        ({"own_address": True}, "measured within this host, without any network", "在本机内部测得，未经过网络"),
    ],
)
def test_what_says_less_than_it_seems_is_told_beside_the_figure(changed, en, zh):
    pair = samples.host(samples.transfer("upload", [samples.attempt(1e8)], **changed), samples.requests(**changed))
    for language, words in (("en", en), ("zh", zh)):
        # Beside each figure and in the key of its chart.
        assert unescape(plain_text(fragment(pair, language))).count(words) >= 4, language
    assert en not in unescape(plain_text(fragment(samples.page()[0])))


def test_the_key_of_latencies_names_the_load_that_had_them():
    steps = [samples.step(1, 0.2), samples.step(50, 0.9), samples.step(100, None, errors={"refused": 500})]
    text = plain_text(fragment(samples.host(samples.requests(steps))))
    assert "p50: 900 ms with 50 at once" in text and "with 100 at once" not in text
    assert "p50：900 毫秒（并发 50）" in plain_text(fragment(samples.host(samples.requests(steps)), "zh"))


@pytest.mark.parametrize("language, words", [("en", "failed: timed out, 2 × own kind"), ("zh", "次失败：timed out、2 × own kind")])
def test_kinds_of_failures_are_words_and_unknown_ones_stay(language, words):
    errors = [("timed out", ""), ("own kind", ""), ("own kind", "")]
    text = plain_text(fragment(samples.host(samples.transfer("upload", [samples.attempt(0, 0, error=each) for each in errors])), language))
    assert words in text
    known = samples.transfer("upload", [samples.attempt(0, 0, error=("stalled", ""))])
    assert {"en": "failed: stood still", "zh": "失败：传输停滞"}[language] in plain_text(fragment(samples.host(known), language))
