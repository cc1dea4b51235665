# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Every report format of an ordinary fleet and of a hostile one: well-formed, complete, escaped, the same each time."""

from __future__ import annotations

import base64
import copy
import csv
import html
import html.parser
import io
import json
import re
import shutil
import string
import subprocess
from xml.etree import ElementTree
import zlib

import fleet_maker
import hypothesis
import pytest
import report_samples as samples
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import findings
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import report as renderer
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.report import clean, figures, json_report, texts, view

FORMATS = ("html", "csv", "markdown", "junit", "prometheus")


def render(tmp_path, report, language="en", **more):
    """{format: bytes} of a report."""
    paths = renderer.render(report, tmp_path, language, **more)
    assert set(paths) == set(FORMATS)
    return {name: (tmp_path / path.rsplit("/", 1)[-1]).read_bytes() for name, path in paths.items()}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return render(tmp_path_factory.mktemp("plain"), samples.sample_report(16, 1))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return render(tmp_path_factory.mktemp("hostile"), samples.hostile_report(), documents=samples.hostile_document)


def csv_rows(content):
    assert content.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))


# --- all formats


@pytest.mark.parametrize("language", ["en", "zh"])
def test_identical_input_gives_identical_output(tmp_path, language):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    report = samples.sample_report(45, 2, language)
    assert render(tmp_path / "a", copy.deepcopy(report), language) == render(tmp_path / "b", report, language)


def test_nothing_but_the_reports_is_left(tmp_path):
    render(tmp_path, samples.sample_report(2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gpu_audit.prom", "junit.xml", "report.csv", "report.html", "report.md"]


def test_a_failed_writer_leaves_the_old_file_and_no_other(tmp_path):
    (tmp_path / "report.csv").write_text("old")
    report = samples.sample_report(2)
    report["hosts"][1]["findings"] = 5
    with pytest.raises(TypeError):
        renderer.render(report, tmp_path, "en", formats=("csv",))
    assert [path.name for path in tmp_path.iterdir()] == ["report.csv"]
    assert (tmp_path / "report.csv").read_text() == "old"


def test_an_unknown_format_is_named(tmp_path):
    with pytest.raises(ValueError, match="'pdf'.*html"):
        renderer.render(samples.sample_report(1), tmp_path, "en", formats=("pdf",))


def test_every_host_is_in_every_format_whatever_it_is_called(hostile):
    names = clean.display_names(samples.HOSTILE_NAMES)
    assert len(set(names)) == len(samples.HOSTILE_NAMES)
    rows = {row["host"].removeprefix("'") for row in csv_rows(hostile["csv"])}
    assert rows == set(names)
    suites = [suite.get("name") for suite in ElementTree.fromstring(hostile["junit"]).iter("testsuite")]
    assert suites == names
    shown = Page(hostile["html"].decode()).matrix_names
    # An HTML reader folds white space; all else is as displayed.
    assert sorted(" ".join(name.split()) for name in shown) == sorted(" ".join(name.split()) for name in names)
    labels = {
        unescape_label(label) for label in re.findall(r'gpu_audit_host_verdict\{host="((?:[^"\\]|\\.)*)"', hostile["prometheus"].decode())
    }
    # An empty or blank label is a label that isn't there.
    assert labels == set(names)
    table = [line for line in hostile["markdown"].decode().splitlines() if line.startswith("| `")]
    assert len(table) == len(names)


def unescape_label(label):
    return re.sub(r"\\(.)", lambda match: {"n": "\n"}.get(match.group(1), match.group(1)), label)


def test_no_format_holds_an_invisible_character(hostile):
    for name, content in hostile.items():
        text = content.decode("utf-8")
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u2028\u2029\u200b\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", text), name


def test_serials_uuids_and_macs_can_be_left_out(tmp_path):
    uuid, mac, serial = "GPU-8f6b3c52-1f0e-4f0a-9a41-0c0e5d0a1b2c", "02:00:5e:10:00:01", "1560921004711"
    report = samples.sample_report(3)
    for finding in report["hosts"][0]["findings"]:
        finding["message"] = f"{uuid} behind {mac}"
        finding["evidence"] = [{"what": "gpu.uuid", "value": uuid, "source": f"nvml {uuid}"}]
    report["hosts"][0]["metrics"]["serial"] = serial

    def documents(name):
        return {
            "facts": {"gpu": {"gpus": [{"uuid": uuid, "serial": serial, "name": "kept"}]}, "network": {"interfaces": [{"mac": mac}]}},
            "measurements": [{"gpu_uuids": [uuid], "machine_id": "f" * 32}],
        }

    content = render(tmp_path, report, documents=documents, hide_serials=True)
    content["json"] = (tmp_path / "report.json").read_bytes()
    content["facts"] = b"".join(zlib.decompress(base64.b64decode(part)) for part in Page(content["html"].decode()).packed)
    assert b"kept" in content["facts"]
    for name, text in content.items():
        for secret in (uuid, mac, serial, "f" * 32):
            assert secret.encode() not in text, (name, secret)
    named = samples.sample_report(2, names=["02:00:5e:10:00:01", "02:00:5e:10:00:02"])
    assert b'name="02:00:5e:10:00:02"' in render(tmp_path, named, hide_serials=True)["junit"]
    (tmp_path / "open").mkdir()
    assert uuid.encode() in render(tmp_path / "open", report)["csv"]


@hypothesis.settings(max_examples=40, deadline=None, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture])
@hypothesis.given(
    hypothesis.strategies.lists(
        hypothesis.strategies.text(hypothesis.strategies.characters(codec=None), max_size=40), min_size=1, max_size=4, unique=True
    )
)
def test_any_names_at_all(tmp_path, names):
    content = render(tmp_path, samples.sample_report(len(names), 1, names=names))
    assert [suite.get("name") for suite in ElementTree.fromstring(content["junit"]).iter("testsuite")] == clean.display_names(names)
    assert len({row["host"] for row in csv_rows(content["csv"])}) == len(names)
    for line in content["prometheus"].decode().split("\n")[:-1]:
        assert line.startswith("# ") or _SAMPLE.match(line), line
    assert Page(content["html"].decode()).tags["script"] == 4


# --- HTML


class Page(html.parser.HTMLParser):
    """Elements, attributes and the matrix's names of a page, as a browser would read them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.matrix_names, self.scripts = {}, [], [], {}
        self._name = self._script = None
        self.feed(text)
        self.packed = [part for line in self.scripts["packed"].split("\n") for part in line.split(" ") if len(part) > 1]

    def handle_starttag(self, tag, attrs):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes += [key for key, _value in attrs]
        attributes = dict(attrs)
        if tag == "th" and attributes.get("scope") == "row":
            self._name = ""
        if tag == "script":
            self._script = attributes.get("id", "code%d" % len(self.scripts))
            self.scripts[self._script] = ""

    def handle_endtag(self, tag):
        if tag == "th" and self._name is not None and len(self.matrix_names) < 1000:
            self.matrix_names.append(self._name)
        if tag == "th":
            self._name = None
        if tag == "table":
            self.handle_endtag = lambda tag: setattr(self, "_script", None) if tag == "script" else None
        if tag == "script":
            self._script = None

    def handle_data(self, data):
        if self._name is not None:
            self._name += data
        if self._script:
            self.scripts[self._script] += data


def test_the_page_runs_nothing_that_a_host_said(hostile):
    page = Page(hostile["html"].decode())
    assert page.tags["script"] == 4
    assert "img" not in page.tags and "iframe" not in page.tags
    assert not [key for key in page.attributes if key.startswith("on") or key == "style" or key == "src"]
    json.loads(page.scripts["index"])


def test_the_page_fetches_nothing_and_its_policy_forbids_it(plain):
    text = plain["html"].decode()
    assert not re.findall(r"""(?:src|href)=["'](?!#|data:)|url\((?!["']?data:)|@import|https?://(?!www\.w3\.org)""", text)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
    assert policy.startswith("default-src 'none';") and "unsafe" not in policy


def test_the_policys_hashes_are_those_of_the_blocks(plain):
    import hashlib

    text = plain["html"].decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
    blocks = re.findall(r"<style>(.*?)</style>", text, re.S) + re.findall(r"<script>(.*?)</script>", text, re.S)
    assert len(blocks) == 3
    for block in blocks:
        assert "'sha256-" + base64.b64encode(hashlib.sha256(block.encode()).digest()).decode() + "'" in policy


@pytest.mark.parametrize("language, tag", [("en", "en"), ("zh", "zh-CN")])
def test_the_page_is_in_the_language_asked_for(tmp_path, language, tag):
    text = html.unescape(render(tmp_path, samples.sample_report(3, 0, language), language)["html"].decode())
    assert f'<html lang="{tag}">' in text
    assert texts.text(language, "next_title") in text and texts.text(language, "unanswered_title") in text
    other = "zh" if language == "en" else "en"
    assert texts.text(other, "next_title") not in text


def test_first_screen_has_headline_causes_matrix_and_unanswered_in_this_order(plain):
    text = plain["html"].decode()
    report = samples.sample_report(16, 1)
    marks = [
        "<h1>" + report["headline"].split(".")[0],
        'class="verdicts"',
        'id="next-title"',
        report["causes"][0]["title"],
        'id="matrix-title"',
        'id="open-title"',
        'id="charts-title"',
        'id="hosts-title"',
    ]
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)


def test_a_large_fleet_packs_each_hosts_findings_and_loses_none(tmp_path):
    report = samples.sample_report(60, 5)
    report["hosts"][59]["findings"] = [{"check": "gpu.count", "status": "fail", "message": "a message like no other"}]
    page = Page(render(tmp_path, report)["html"].decode())
    lines = page.scripts["packed"].split("\n")
    assert len(lines) == 60
    body = zlib.decompress(base64.b64decode(lines[59].split(" ")[1])).decode()
    assert "a message like no other" in body
    index = json.loads(page.scripts["index"])
    assert [entry["n"] for entry in index["hosts"]] == [host["name"] for host in report["hosts"]]


def test_facts_too_big_for_the_page_are_left_out_with_a_note(tmp_path):
    def documents(name):
        return {"facts": {"gpu": {"gpus": [{"name": "%d" % number} for number in range(100_000)]}}}

    page = Page(render(tmp_path, samples.sample_report(1), documents=documents)["html"].decode())
    assert page.scripts["packed"] == "+"


def test_exact_values_stand_beside_those_for_people(tmp_path):
    report = samples.sample_report(1)
    report["checks"]["memory.ram_to_vram_ratio"]["unit"] = "bytes"
    report["hosts"][0]["metrics"]["memory.ram_to_vram_ratio"] = 1209462790144
    text = render(tmp_path, report)["html"].decode()
    assert "1.10 TiB" in text and "1209462790144 bytes" in text


# --- CSV


def test_csv_has_a_row_a_host_and_check(plain):
    report = samples.sample_report(16, 1)
    rows = csv_rows(plain["csv"])
    assert len(rows) == sum(max(len(host["findings"]), 1) for host in report["hosts"])
    cores = next(row for row in rows if row["check"] == "compute.cores_per_gpu" and row["status"] == "fail")
    assert (cores["actual"], cores["required"], cores["unit"], cores["verdict"], cores["item"]) == (
        "0.25",
        "4 to 8",
        "cores",
        "not_ready",
        "compute",
    )


def test_csv_has_a_row_for_a_host_that_was_not_judged(plain):
    rows = [row for row in csv_rows(plain["csv"]) if row["verdict"] == "unreachable"]
    assert len(rows) == 1 and "Connection refused" in rows[0]["message"] and rows[0]["check"] == ""


def test_csv_holds_no_cell_that_a_spreadsheet_would_run(hostile):
    for row in csv_rows(hostile["csv"]):
        for key, cell in row.items():
            assert not cell.lstrip().startswith(("=", "+", "-", "@", "\t", "\r", "＝")), (key, cell[:40])
            assert "\n" not in cell and "\r" not in cell


def test_csv_keeps_a_negative_number_a_number(tmp_path):
    rows = csv_rows(render(tmp_path, samples.sample_report(16, 1))["csv"])
    assert "-0.2" in [row["actual"] for row in rows]


# --- Markdown


def test_markdown_texts_carry_no_markup(hostile):
    text = hostile["markdown"].decode()
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert "<" not in outside and "](" not in re.sub(r"\\\]", "", outside)
    assert "@" not in outside and "://" not in outside and "www." not in outside


def test_markdown_table_rows_all_have_the_same_cells(hostile):
    table = [line for line in hostile["markdown"].decode().splitlines() if line.startswith("|")]
    counts = {len(re.findall(r"(?<!\\)\|", line)) for line in table}
    assert len(counts) == 1


def test_markdown_of_a_large_fleet_stays_readable_and_loses_no_host(tmp_path):
    report = samples.sample_report(1000, 1)
    text = render(tmp_path, report)["markdown"].decode()
    assert all("| `%s` |" % host["name"] in text for host in report["hosts"])
    assert len(text) < 200_000
    assert "more hosts have findings" in text


# --- JUnit


def test_junit_kinds_and_counts(plain):
    root = ElementTree.fromstring(plain["junit"])
    report = samples.sample_report(16, 1)
    suites = {suite.get("name"): suite for suite in root.iter("testsuite")}
    assert list(suites) == [host["name"] for host in report["hosts"]]
    for host in report["hosts"]:
        suite = suites[host["name"]]
        cases = suite.findall("testcase")
        for counted, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.get(counted)) == len(suite.findall(f"testcase/{element}")), (host["name"], counted)
        assert int(suite.get("tests")) == len(cases)
        kinds = {case.get("name"): [child.tag for child in case] for case in cases}
        for finding in host["findings"]:
            expected = {"fail": ["failure"], "pass": [], "warn": ["system-out"], "unknown": ["error"]}[finding["status"]]
            assert kinds[finding["check"]] == expected
        if host["verdict"] in ("unreachable", "error", "not_tried"):
            assert kinds == {"host": ["error"]}
    assert int(root.get("tests")) == sum(int(suite.get("tests")) for suite in suites.values())


def test_junit_of_a_judged_fleet_agrees_with_itself_and_the_report(tmp_path):
    """Judging leaves out of a finding what the report says elsewhere; the kinds must come out the same."""
    report = fleet_maker.make_report(40, 4)
    root = ElementTree.fromstring(render(tmp_path, report)["junit"])
    for host, suite in zip(report["hosts"], root.iter("testsuite")):
        for counted, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.get(counted)) == len(suite.findall(f"testcase/{element}")), (host["name"], counted)
        whole = [findings.complete(finding, host, report["checks"]) for finding in host["findings"]]
        if whole:
            assert int(suite.get("errors")) == sum(1 for finding in whole if finding["status"] == "unknown" and finding["answers"])
            assert int(suite.get("failures")) == sum(1 for finding in whole if finding["status"] == "fail")


@pytest.mark.parametrize(
    "status, answers, expected",
    [
        ("unknown", True, "error"),
        ("unknown", False, "skipped"),
        ("waived", True, "skipped"),
        ("not_applicable", True, "skipped"),
        ("fail", False, "failure"),
        ("warn", True, "system-out"),
    ],
)
def test_junit_kind_of_each_status(tmp_path, status, answers, expected):
    report = samples.sample_report(1)
    finding = next(entry for entry in report["hosts"][0]["findings"] if entry["check"] == "gpu.count")
    finding.update(status=status, answers=answers, waiver={"reason": "spare part ordered", "expires": "2027-01-31"})
    root = ElementTree.fromstring(render(tmp_path, report)["junit"])
    case = next(case for case in root.iter("testcase") if case.get("name") == "gpu.count")
    assert [child.tag for child in case] == [expected]
    if status == "waived":
        assert "2027-01-31" in case[0].get("message") and "spare part" in case[0].get("message")


def test_junit_reads_with_junitparser(plain, hostile, tmp_path):
    junitparser = pytest.importorskip("junitparser")
    for name, content in (("plain", plain), ("hostile", hostile)):
        path = tmp_path / (name + ".xml")
        path.write_bytes(content["junit"])
        read = junitparser.JUnitXml.fromfile(str(path))
        assert read.tests == sum(suite.tests for suite in read) > 0


# --- Prometheus


_SAMPLE = re.compile(r'\A(gpu_audit_[a-z_]+)(\{(?:[a-z_]+="(?:[^"\\\n]|\\\\|\\"|\\n)*",?)+\})? (-?[0-9.e+-]+)\Z')


@pytest.mark.parametrize("which", ["plain", "hostile"])
def test_prometheus_format(which, request):
    lines = request.getfixturevalue(which)["prometheus"].decode().splitlines()
    typed, seen, last = set(), set(), None
    for line in lines:
        if line.startswith("# TYPE"):
            name = line.split()[2]
            assert name not in typed
            typed.add(name)
        elif not line.startswith("# HELP"):
            match = _SAMPLE.match(line)
            assert match, line
            assert match.group(1) in typed and (match.group(1) == last or match.group(1) not in seen)
            series = match.group(1) + (match.group(2) or "")
            assert series not in seen, series
            seen.update((series, match.group(1)))
            last = match.group(1)
            float(match.group(3))


def test_prometheus_values(plain):
    text = plain["prometheus"].decode()
    report = samples.sample_report(16, 1)
    assert "gpu_audit_run_finished_timestamp_seconds 1796040000\n" in text
    for host in report["hosts"]:
        assert f'gpu_audit_host_verdict{{host="{host["name"]}",verdict="{host["verdict"]}"}} 1\n' in text
    absent = next(host for host in report["hosts"] if "vram.peak_fraction" in host["absent"])
    assert f'gpu_audit_metric{{host="{absent["name"]}",metric="vram.peak_fraction"' not in text
    assert f'gpu_audit_check_status{{check="vram.peak_fraction",host="{absent["name"]}",item="vram"}} 3\n' in text


def test_prometheus_leaves_out_what_is_no_number(tmp_path):
    report = samples.sample_report(1)
    report["hosts"][0]["metrics"] = {
        "word": "x",
        "nothing": None,
        "not_a_number": float("nan"),
        "endless": float("inf"),
        "truth": True,
        "number": 1.5,
    }
    text = render(tmp_path, report)["prometheus"].decode()
    assert sorted(re.findall(r'metric="(\w+)"', text)) == ["number", "truth"]


def test_prometheus_reads_with_its_own_parser(plain, hostile):
    parser = pytest.importorskip("prometheus_client.parser")
    for content in (plain, hostile):
        assert list(parser.text_string_to_metric_families(content["prometheus"].decode()))


@pytest.mark.parametrize("which", ["plain", "hostile"])
def test_prometheus_pleases_promtool(which, request):
    promtool = shutil.which("promtool")
    if not promtool:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    done = subprocess.run(
        [promtool, "check", "metrics"], input=request.getfixturevalue(which)["prometheus"], capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr.decode()


# --- JSON


def test_json_is_streamed_and_complete(tmp_path):
    report = samples.sample_report(5)
    told = []

    def hosts():
        for host in report["hosts"]:
            told.append(host["name"])
            yield host

    path = tmp_path / "report.json"
    json_report.write(path, {"schema": report["schema"], "run": report["run"]}, hosts(), lambda: {"count": len(told)})
    read = json.loads(path.read_bytes())
    assert read["hosts"] == report["hosts"] and read["count"] == 5 and read["run"] == report["run"]


def test_json_keeps_odd_text_and_turns_impossible_numbers_to_null(tmp_path):
    path = tmp_path / "report.json"
    json_report.write(path, {}, [{"name": "\udcff", "metrics": {"a": float("nan"), "b": [float("inf")]}, "zh": "显存"}], {})
    assert json.loads(path.read_bytes())["hosts"] == [{"name": "\udcff", "metrics": {"a": None, "b": [None]}, "zh": "显存"}]


def test_json_of_no_host_at_all(tmp_path):
    json_report.write(tmp_path / "report.json", {"schema": "x"}, [], {"summary": {}})
    assert json.loads((tmp_path / "report.json").read_bytes()) == {"schema": "x", "hosts": [], "summary": {}}


def test_an_empty_run_renders(tmp_path):
    content = render(tmp_path, samples.finish([]))
    assert ElementTree.fromstring(content["junit"]).get("tests") == "0"


# --- texts and figures


def test_every_text_is_there_in_both_languages_with_the_same_placeholders():
    def fields(text):
        return sorted({name for _literal, name, _format, _conversion in string.Formatter().parse(text) if name})

    for key, (english, chinese) in texts.keys().items():
        for one in english if isinstance(english, tuple) else (english,):
            assert one.strip() and chinese.strip(), key
            assert fields(one) == fields(chinese), key


@pytest.mark.parametrize(
    "value, unit, shown",
    [
        (1209462790144, "bytes", "1.10 TiB"),
        (0.8123, "fraction", "81.2 %"),
        (2.02, "ratio", "2.02×"),
        (90061, "seconds", "1 d 1 h"),
        (5400, "seconds", "1 h 30 min"),
        (0.35, "seconds", "0.35 s"),
        (25_000_000_000, "bits_per_second", "25 Gbit/s"),
        (999_999_999_999, "bits_per_second", "1 Tbit/s"),
        (None, "bytes", "–"),
        (True, "", "yes"),
        ([1, 2], "count", "1, 2"),
        ("\u202e", "", "‹U+202E›"),
        (3.5, "samples/s", "3.5 samples/s"),
    ],
)
def test_numbers_for_people(value, unit, shown):
    assert figures.human(value, unit, "en") == shown


def test_a_limit_is_shown_as_what_passes_it():
    assert figures.requirement({"below": 4}, "cores", "en") == "≥ 4"
    assert figures.requirement("at least 4", "cores", "en") == "at least 4"


def test_each_cause_says_what_its_place_goes_by():
    shown = view.View(fleet_maker.make_report(8), "en")
    assert view.counts(shown, [0, 1], 4, 2) == "2 hosts · 4 GPUs · frees 2"
    assert view.counts(shown, [0, 1], 0, 0) == "2 hosts · frees none by itself" and view.counts(shown, [0]) == "1 host"
    made = {"hosts": [], "causes": [{"check": "a", "status": "warn", "hosts": [], "frees": 0}, {"check": "b", "status": "fail", "hosts": [], "frees": 0}]}
    assert [cause["frees"] for cause in view.causes(view.View(made, "en"))] == [None, 0]


@pytest.mark.parametrize("state, label", [(None, "no GPU"), ("no_hardware", "no GPU"), ("driver_broken", "driver does not answer")])
def test_no_gpu_is_said_only_where_something_could_have_told(state, label):
    assert view.View({"hosts": []}, "en").gpu_label({"hardware": {"gpu_count": 0, "gpu_state": state}}) == label
