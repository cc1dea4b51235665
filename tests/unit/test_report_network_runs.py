# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Several tests of one fleet in the report: each by itself, what failed since told, and nothing compared that wasn't measured together."""

from __future__ import annotations

import re

import network_samples as samples
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.report import link_map
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.report.view import View
from test_report_closing import plain_text
from test_report_network import fleet, fragment, map_cells


def test_the_slowest_of_many_downloads_at_once_is_named():
    def pair(rate):
        return samples.host(samples.transfer("download", [samples.attempt(rate)], hosts_at_once=3))

    html = fleet([pair(1e8), pair(2e7), pair(1.1e8)])[1]
    assert "gpu02 was the slowest of 3 hosts that downloaded at once: 19" in plain_text(html) and "<table" not in html


@pytest.mark.parametrize(
    "language, words",
    [
        (
            "en",
            [
                "gpu03 was the slowest of 3 hosts that downloaded at once: 19.2 MiB/s; the middle one had 95.9 MiB/s; measured 2026-11-30",
                "gpu05 was the slowest of 2 hosts",
            ],
        ),
        (
            "zh",
            [
                "gpu03 是同时下载的 3 台主机中最慢的：19.2 MiB/s；居中者为 95.9 MiB/s；测于 2026-11-30",
                "gpu05 是同时下载的 2 台主机中最慢的",
            ],
        ),
    ],
)
@pytest.mark.parametrize("is_told", [True, False])
def test_hosts_of_different_runs_are_not_compared(language, words, is_told):
    def pair(rate, number, hosts):
        # Two runs, and one whose other host isn't here: it's compared with nobody.
        moment = {"local_time": "2026-11-30T10:%02d:0%d+01:00" % (number, hosts)}
        return samples.host(samples.together(rate, 1796056990.0 + 60 * number if is_told else None, hosts, **moment))

    pairs = [pair(1e8, 1, 3), pair(1.1e8, 1, 3), pair(2e7, 1, 3), pair(5e7, 2, 2), pair(4e7, 2, 2), pair(1e6, 3, 2)]
    html = fleet(pairs, language)[1]
    assert all(said in plain_text(html) for said in words) and html.count("<li>") == 2, html


@pytest.mark.parametrize(("language", "said"), [
    ("en", "gpu01 was the slowest of 2 hosts that downloaded at once: 19.2 MiB/s, 20.1 % of what it reached alone; the other one had 95.9 MiB/s."),
    ("zh", "gpu01 是同时下载的 2 台主机中最慢的：19.2 MiB/s，为其单独下载时的 20.1 %；另一台为 95.9 MiB/s。")])
def test_of_two_hosts_one_is_the_other_and_the_rate_alone_is_told(language, said):
    pairs = [samples.host(samples.together(rate, 1796056990.0, 2, alone_bytes_per_second=1e8)) for rate in (2e7, 1e8)]
    assert said in plain_text(fleet(pairs, language)[1])


def test_hosts_of_one_run_whose_figures_are_missing_are_told():
    pairs = [samples.host(samples.together(rate, 1796056990.0, 8)) for rate in (1e8, 2e7)]
    assert "gpu02 was the slowest of those 2 of the 8 hosts that downloaded at once whose figures are here" in plain_text(fleet(pairs)[1])


def test_sources_are_not_compared():
    pairs = [samples.host(dict(samples.together(rate, 1796056990.0, 2), target=target)) for rate, target in ((1e8, "a"), (2e7, "b"))]
    assert fleet(pairs)[1] == ""


def several(*tests):
    """Hosts of several link tests: each (names, rates, options of links()); of each host the newest test stays, as in an audit."""
    found = {}
    for number, (names, rates, given) in enumerate(tests):
        session, finished = "20261130T0%d0000Z-abc123" % number, "2026-11-30T0%d:12:44Z" % number
        found.update(samples.links(names, rates, **dict({"session": session, "finished": finished}, **given)))
    return [samples.host(found[name]) for name in sorted(found)]


NAMES = ["gpu%02d" % number for number in range(1, 7)]


@pytest.mark.parametrize("language, title", [("en", "Test of 6 hosts; measured 2026-11-30 00:12 UTC"), ("zh", "6 台主机的测试")])
def test_each_test_has_its_own_map_and_base(language, title):
    # The newer group of two runs at a quarter of the older one's speed, and all of its links do what they should.
    virtual = {"kind": "virtual"}
    pairs = several((NAMES, {}, dict(virtual, line=4e8)), (NAMES[:3], {}, dict(virtual, line=1e8)))
    html = fleet(pairs, language)[1]
    maps = re.findall(r'<table class="map.*?</table>', html, re.S)
    assert len(maps) == 2 and title in plain_text(html)
    shades = re.findall(r'<td class="(q\w)">', html)
    assert set(shades) == {"q0", "qs", "qx"} and maps[0].count("qx") == 6 and "qx" not in maps[1]
    assert ("both hosts have a newer test" if language == "en" else "两台主机均有更新的测试") in maps[0]


def test_what_one_test_alone_measured_has_no_title():
    assert "Test of" not in plain_text(fleet(samples.fleet(4))[1])


def test_a_line_rate_that_another_test_found_counts():
    # gpu01's own list is of a newer test; its line of 1 Gbit/s is what bounds its pairs of the older one too.
    older, newer = samples.links(NAMES, {}, line=1e9), samples.links(NAMES[:2], {}, session="20261130T120000Z-abc123")
    for name in NAMES[2:]:
        older[name]["result"]["line_rate_bits_per_second"] = 1e10
    rows = map_cells(fleet([samples.host(newer.get(name, older[name])) for name in NAMES])[1])
    assert [kind for kind, _text in rows[2]][:2] == ["q0", "q0"]


def test_a_newer_test_without_a_figure_of_a_host_is_drawn_and_hides_no_verdict():
    older = samples.links(NAMES, {}, session="20261130T010000Z-abc123", finished="2026-11-30T01:00:00Z")
    broken = [frozenset(("gpu06", name)) for name in NAMES[:5]]
    newer = samples.links(NAMES, {}, broken=broken)
    # A host that got nothing keeps its older measurement.
    html = fleet([samples.host(older[name] if name == "gpu06" else newer[name]) for name in NAMES])[1]
    text = plain_text(html)
    assert html.count('<table class="map') == 1 and text.count("failed: unable") >= 5 and "gpu06 is the slowest, and fine" not in text
    assert sum(kind == "qe" for row in map_cells(html) for kind, _text in row) == 10


@pytest.mark.parametrize("language, words", [("en", "gpu02 the last test failed: no route"), ("zh", "gpu02 最近一次测试失败：no route")])
def test_an_older_pass_hides_no_newer_failure(language, words):
    pairs = samples.fleet(2)
    for document, _inputs in pairs:
        document["measurements"][0]["result"]["failed_since"] = {"finished": "2026-11-30T10:00:00Z", "message": "no route"}
    text = plain_text(fleet(pairs, language)[1])
    assert words in text and "fine" not in text and "正常" not in text and "2026-11-30 10:00 UTC" in text
    assert words[6:] in plain_text(fragment(pairs[1], language))
    lost = dict(pairs[1][0]["measurements"][0], error={"kind": "local", "message": "no route"})
    del lost["result"]
    pairs[1][0]["measurements"] = [lost]
    assert words in plain_text(fleet(pairs, language)[1])


def test_many_tests_stay_small():
    names = ["gpu%03d" % number for number in range(200)]
    groups = [(names[at : at + 4], {}, {"session": "s%d" % at}) for at in range(0, 200, 4)]
    links = link_map.FleetLinks(View({"hosts": [{"name": name} for name in names], "run": {}}, "en"))
    for group, rates, given in groups:
        for name, entry in samples.links(group, rates, **given).items():
            links.add(names.index(name), {"name": name}, {"measurements": [entry]})
    html = links.html()
    assert html.count('<table class="map') == link_map.MOST_MAPS and html.count("<h4>") == link_map.MOST_TESTS
    assert "38 more tests" in html and len(html) < 60_000


LONG = "Open the ports 5201 to 5264 of this host for its partners, " * 6


@pytest.mark.parametrize("message", [LONG, LONG.replace(" ", ""), "端口" * 300])
def test_long_errors_end_in_an_ellipsis_and_not_in_a_stamp(message):
    found = samples.links(NAMES[:4], {}, broken=[frozenset(NAMES[:2])])
    for entry in found.values():
        for pair in entry["result"]["pairs"]:
            if pair["error"]:
                pair["error"]["message"] = message
    pairs = [samples.host(found[name]) for name in NAMES[:4]]
    failed = samples.transfer("upload", [samples.attempt(1e6, error=("reset", message), retries=[("reset", message)])])
    pairs[0][0]["measurements"].append(dict(failed, machine_id=pairs[0][0]["machine_id"]))
    none = dict(samples.transfer("download", []), error={"kind": "dns", "message": message})
    del none["result"]
    pairs[0][0]["measurements"].append(dict(none, machine_id=pairs[0][0]["machine_id"]))
    for html in (fleet(pairs)[1], fragment(pairs[0]), fragment(pairs[0], "zh")):
        assert message[:40].strip() in html and " characters, " not in html and "…" in html


def test_a_failure_before_the_newest_test_is_no_failure_of_now():
    document, inputs = samples.fleet(2)[0]
    by_hand = dict(
        document["measurements"][0], target="gpu09", finished="2026-11-29T10:00:00Z", error={"kind": "local", "message": "no route"}
    )
    del by_hand["result"]
    document["measurements"].append(by_hand)
    assert "no route" not in plain_text(fleet([(document, inputs)])[1])


@pytest.mark.parametrize("language, words, failed", [("en", "sent again: 7", "3 % failed: "), ("zh", "重发 7 次", "失败 3 %：")])
def test_requests_that_were_sent_again_are_told_and_are_no_failures(language, words, failed):
    steps = [samples.step(10, 0.2, resent=7), samples.step(50, 0.4, errors={"reset": 15}, resent=7), samples.step(100, 0.5, resent=0)]
    html = fragment(samples.host(samples.requests(steps)), language).replace("\u00a0", " ")
    table = plain_text(re.search(r'<table class="plain figures">.*?</table>', html, re.S)[0])
    assert table.count(words) == 2 and plain_text(html).count(words) == 3 and table.count(failed) == 1
