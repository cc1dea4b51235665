# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Odd values in results of measurements, and what must hold of every format that is rendered of them."""

from __future__ import annotations

import copy
import csv
import functools
import html.parser
import io
import json
import re
import tempfile
import xml.etree.ElementTree as etree

import measured_samples
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import report as renderer
from damage import damaged, places
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


# How long the path of a whole result is.
_RESULT = len(("measurements", 0, "result"))


def places_of(measurements):
    """[path] of every place in the results of these first measurements of a document, of lists in their first two entries."""
    return [path for number, entry in enumerate(measurements) for path in places(entry["result"], ("measurements", number, "result"), 2)]


def changes_of(chosen):
    """Some of the places within the results, and what is put there."""
    inside = [path for path in chosen if len(path) > _RESULT]
    return st.lists(st.tuples(st.sampled_from(inside), ODD), min_size=1, max_size=6)


def changed(sample, changes):
    """A (document, inputs) with these places of its results replaced."""
    document, inputs = sample
    return damaged(document, changes), copy.deepcopy(inputs)


def replaced(sample, chosen, depth, odd):
    """A (document, inputs) with one thing in each of these places of a depth; depth 0: in place of each result."""
    return changed(sample, [(path, odd) for path in chosen if len(path) == _RESULT + depth])


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
    assert not {"img", "iframe", "object", "embed"} & set(page.tags) and page.tags.count("script") == calm_scripts()
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


@functools.lru_cache(maxsize=1)
def calm_scripts():
    """How many scripts the page of a host has that says nothing odd."""
    page = Elements()
    page.feed(render(*measured_samples.host(), "en")["html"])
    return page.tags.count("script")
