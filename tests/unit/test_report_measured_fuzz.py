# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Measurement results of any shape, judged and rendered in every format: no traceback, nothing that runs, a bounded size."""

from __future__ import annotations

import copy
import csv
import html.parser
import io
import json
import re
import tempfile
import xml.etree.ElementTree as etree

import judging
import measured_samples
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import judge
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import report as renderer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SCRIPT = "<script>window.attacked=1</script>"
TEXTS = (
    SCRIPT,
    "=cmd()",
    "+1+1",
    "@SUM(1)",
    "\u202egnp.exe",
    "\x00\x07\x1b[31m",
    "</svg><img src=x onerror=a()>",
    '\'" onload="x',
    "]]>",
    "\ud800",
    "x" * 5000,
    "{{ 7*7 }}",
    "nan",
    "12",
    "",
    "GPU 0: thermal",
    "2026-11-29T12:10:00Z\n# HELP x",
    "%s{0}",
    "名字",
)
DEEP = []
for _level in range(60):
    DEEP = [DEEP, {"deep": DEEP}] if _level < 8 else [DEEP]
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(TEXTS),
    st.sampled_from((0, -1, 1, 10**400, -(10**400), 1e308, -1e308, 5e-324)),
    st.floats(),
    st.sampled_from(
        ([], {}, DEEP, [SCRIPT], {SCRIPT: SCRIPT}, {"mean": "x"}, [[1]], {"1": 800, "2": SCRIPT}, {"seconds": {"1": 1e308, "2": 1e-9}})
    ),
)
PLAIN_SAMPLES = measured_samples.host()


def places(value, path=()):
    """Every path of a nested value, itself among them; of a list its first two entries."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def put(value, path, odd):
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = odd


def places_of(measurements):
    """[(number of the measurement, path in its result)]"""
    return [(number, path) for number, entry in enumerate(measurements) for path in places(entry["result"]) if path]


def changes_of(chosen):
    """Some of these places and what is put there."""
    return st.lists(st.tuples(st.sampled_from(chosen), ODD), min_size=1, max_size=6)


PLACES = places_of(PLAIN_SAMPLES[0]["measurements"][:2])


def changed(sample, changes):
    """The sample with these places of its results replaced; a place that an earlier change took away is skipped."""
    document, inputs = copy.deepcopy(sample)
    for (number, path), odd in changes:
        try:
            put(document["measurements"][number]["result"], path, copy.deepcopy(odd))
        except (KeyError, IndexError, TypeError):
            pass
    return document, inputs


def replaced(sample, chosen, depth, odd):
    """The sample with one thing in each of these places of a depth; depth 0: in place of each result."""
    document, inputs = copy.deepcopy(sample)
    for number, path in chosen:
        if len(path) == depth:
            put(document["measurements"][number]["result"], path, copy.deepcopy(odd))
    if depth == 0:
        for number in {number for number, _path in chosen}:
            document["measurements"][number]["result"] = odd
    return document, inputs


class Elements(html.parser.HTMLParser):
    """The elements of a page and their attributes' names."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes = [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.update(name for name, _value in attrs)


def render(document, inputs, language):
    """{format: text} with "json": report.json."""
    report, documents, forms = measured_samples.report([(document, inputs)], language)
    with tempfile.TemporaryDirectory() as folder:
        paths = renderer.render(report, folder, language, documents=documents, inputs=forms)
        shown = {name: open(path, encoding="utf-8", newline="").read() for name, path in paths.items()}
    return dict(shown, json=json.dumps(report))


def check(shown):
    """Nothing of a measurement runs in any reader, every file is well-formed."""
    page = Elements()
    page.feed(shown["html"])
    assert not {"img", "iframe", "object", "embed"} & set(page.tags) and page.tags.count("script") == CALM_SCRIPTS
    assert not [name for name in page.attributes if name.startswith("on")]
    for svg in re.findall(r"<svg.*?</svg>", shown["html"], re.S):
        element = etree.fromstring(svg)
        for part in element.iter():
            for name, value in part.items():
                assert not re.search(r"\b(nan|inf|None)\b", value) or name == "aria-label", (name, value)
    etree.fromstring(shown["junit"])
    for row in csv.reader(io.StringIO(shown["csv"].lstrip("\ufeff"), newline="")):
        assert not [cell for cell in row if cell.startswith(("=", "+", "@", "\t", "\r")) or cell.startswith("-") and not _is_number(cell)]
    assert not re.search("[\u202e\x00\x07\x1b]", "".join(shown[name] for name in ("html", "csv", "markdown", "junit", "prometheus")))
    assert "<script" not in shown["markdown"] and "<img" not in shown["markdown"]
    for line in shown["prometheus"].splitlines():
        assert line.startswith("#") or re.fullmatch(r"gpu_audit_\w+(\{.*\})? \S+", line), line


def _is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True


def count_scripts():
    page = Elements()
    page.feed(render(*copy.deepcopy(PLAIN_SAMPLES), "en")["html"])
    return page.tags.count("script")


CALM_SCRIPTS = count_scripts()


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
