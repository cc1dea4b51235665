# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The closing record and the charts of a measured host."""

from __future__ import annotations

import re
import xml.etree.ElementTree as etree

import judging
import measured_samples
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import judge
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import report as renderer
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.report import charts, closing, line_charts
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.report.view import View

SCALING = {"seconds": {"1": 800, "2": 415, "4": 225}}


def measured(samples=200, **result):
    """(document, inputs) with a probe that has a series of `samples` for each of eight GPUs."""
    document, inputs = judging.host()
    probe = document["measurements"][0]
    total = probe["result"]["gpus"][0]["memory_total_bytes"]
    for entry in probe["result"]["gpus"]:
        entry.update(utilization_mean_fraction=0.9)
    series = {
        "t": [0.5 * at for at in range(samples)],
        "gpu": {
            str(gpu): {"memory_used_bytes": [int(total * 0.7)] * samples, "utilization_fraction": [0.9 - gpu / 100] * samples}
            for gpu in range(8)
        },
    }
    probe["result"].update(
        dict(
            {
                "outcome": "stopped",
                "iterations": 50,
                "epoch_seconds": 845.0,
                "duration_seconds": 100.0,
                "read_bytes_per_second": 2e8,
                "series": series,
                "scaling": SCALING,
            },
            **result,
        )
    )
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
    for words in (
        "VRAM peak",
        "70 %",
        "GPU utilisation",
        "90 %",
        "One epoch",
        "14 min 5 s",
        "Data read speed",
        "191 MiB/s",
        "Cost of the task",
        "no prices given",
        "workload_probe train.py 2026-11-29 12:10:00 UTC",
    ):
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
    assert "14 min 5 s" in plain_text(html) and set(charts_of(html)) == {"Read speed"}


def test_the_forms_own_times_give_the_curve():
    document, inputs = measured(scaling=None)
    inputs["workload"]["scaling_seconds"] = {1: 800, 2: 500}
    assert "Scaling efficiency" in charts_of(fragment(document, inputs))


@pytest.mark.parametrize(
    "series",
    [
        None,
        5,
        [],
        {},
        {"t": [], "gpu": {}},
        {"t": [1], "gpu": {"0": {}}},
        {"t": [2, 1], "gpu": {"0": {"utilization_fraction": [1, 1]}}},
        {"t": [1, "x"], "gpu": {"0": {"utilization_fraction": [1, 1]}}},
        {"t": [0, 1], "gpu": {"0": {"utilization_fraction": [1]}}},
        {"t": [0, 1], "gpu": {"0": "<script>"}},
    ],
)
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


# --- one definition of utilisation, and figures that are nothing


def of_gpus(used, total=4, **result):
    """(document, inputs) of a host with eight GPUs of which `total` were left to the job and the first `used` are in use, loading at the start."""
    document, inputs = measured_samples.host(busy=0.9, **result)
    probe = document["measurements"][measured_samples.PROBE]["result"]
    probe.update(gpus=probe["gpus"][:total], window="iterations")
    probe["series"]["gpu"] = {key: line for key, line in probe["series"]["gpu"].items() if int(key) < total}
    for number, gpu in enumerate(probe["gpus"]):
        mean = 0.9 if number < used else 0.0
        gpu.update(in_use=number < used, utilization_mean_fraction=mean, idle_fraction=1 - mean)
    for number, line in enumerate(probe["series"]["gpu"].values()):
        # Seen over the whole run it is less.
        line["utilization_fraction"] = [(0.0 if at < 60 else 0.9) if number < used else 0.0 for at in range(len(probe["series"]["t"]))]
    return document, inputs


@pytest.mark.parametrize("used, total, words", [(1, 4, "mean of 1 in use of 4 GPUs"), (4, 4, "mean of 4 GPUs in use"), (1, 1, "mean of 1 GPU in use")])
def test_utilisation_is_one_figure_in_card_chart_and_finding(used, total, words):
    document, inputs = of_gpus(used, total)
    text = plain_text(fragment(document, inputs))
    card, chart = text.partition("GPU utilisation over time")[::2]
    assert "GPU utilisation 90 %" in card and words + "; from the first iteration on" in card
    assert re.search(r"(mean of %d GPUs in use|mean): 90 %% \(from the first iteration on\)" % used, chart) and "GPU idle" not in chart
    assert ("not used by the command and not drawn: GPU 1, 2, 3" in chart) is (used < total)
    entry = judging.judged(document, inputs)
    assert entry["metrics"]["compute.gpu_idle_fraction"] == pytest.approx(0.1)
    assert entry["metrics"]["workload.unused_gpus"] == total - used


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_read_from_a_disk_is_told_as_such(language):
    pair = measured_samples.host(read_bytes=0, read_bytes_per_second=0.0, read_call_bytes=75 * 2**20)
    text = plain_text(fragment(*pair, language=language))
    words = "Data read speed 0 B/s all from the page cache (75.0 MiB read)" if language == "en" else "数据读取速度 0 B/s 全部来自页缓存（共读取 75.0 MiB）"
    assert words in text and "couldn't be read" not in text and "无法读取作业的 I/O" not in text


def test_what_was_read_before_the_first_iteration_is_not_denied():
    text = plain_text(fragment(*measured_samples.host(read_bytes=2**30, read_bytes_per_second=0.0, read_call_bytes=2**31)))
    assert "0 B/s all from the page cache since the first iteration (2.00 GiB read in all)" in text


@pytest.mark.parametrize("language, words", [("en", "there is no NVIDIA GPU in this host"), ("zh", "该主机没有 NVIDIA GPU")])
def test_a_host_without_gpus_has_no_utilisation_for_that_reason(language, words):
    document, inputs = judging.host("a100", "no_hardware")
    probe = next(entry for entry in document["measurements"] if entry["module"] == "workload_probe")
    probe["result"].update(outcome="completed", gpus=[], epoch_seconds=845.0)
    text = plain_text(fragment(document, inputs, language))
    assert text.count(words) == 2 and "MIG" not in text


@pytest.mark.parametrize("change, words", [
    (lambda probe: probe.update(gpus=[], notes=["GPUs not sampled: Driver Not Loaded"]), "not measured: GPUs not sampled: Driver Not Loaded"),
    (lambda probe: [gpu.update(in_use=False) for gpu in probe["gpus"]], "the command used none of the 8 GPUs given to it")])
def test_why_there_is_no_utilisation(change, words):
    pair = measured_samples.host(change=lambda probe, _storage: change(probe))
    assert "GPU utilisation – " + words in plain_text(fragment(*pair))


# --- several probed commands, GPUs that were left unused


def test_the_newest_command_counts_and_the_others_are_told_with_their_figures():
    document, inputs = measured_samples.host(epoch_seconds=None)
    first = document["measurements"][measured_samples.PROBE]
    earlier = dict(first, target="python3 a.py (/w)", finished="2026-11-29T09:00:00Z",
                   result=dict(first["result"], epoch_seconds=845.0, read_bytes_per_second=0))
    document["measurements"].append(earlier)
    text = plain_text(fragment(document, inputs))
    assert "One epoch –" in text
    assert "also probed, not in these figures: python3 a.py (/w), 2026-11-29 09:00:00 UTC (one epoch 14 min 5 s, read 0 B/s)" in text
    # The curve is of the newest that has one.
    del first["result"]["scaling"]
    assert "Scaling efficiency" in charts_of(fragment(document, inputs))


def test_a_command_that_never_started_takes_no_other_s_place():
    document, inputs = measured_samples.host()
    first = document["measurements"][measured_samples.PROBE]
    wrong = {"outcome": "not_started", "error": "argv: the command x isn't there", "gpus": []}
    document["measurements"].append(dict(first, target="x", finished="2026-11-30T09:00:00Z", result=wrong))
    text = plain_text(fragment(document, inputs))
    assert "14 min 5 s" in text and "also probed" not in text


@pytest.mark.parametrize("language, words", [
    ("en", "On 4 GPUs the probed command used only 1"), ("zh", "在 4 个 GPU 上运行时，被探测的命令只使用了 1 个")])
def test_a_curve_of_unused_gpus_is_not_drawn_and_says_why(language, words):
    scaling = {"seconds": {"1": 1.0, "4": 1.004}, "basis": "step", "used_gpus": {"1": 1, "4": 1}}
    html = fragment(*measured_samples.host(scaling=scaling), language=language)
    title = "Scaling efficiency" if language == "en" else "扩展效率"
    assert words in plain_text(html) and "torchrun, --nproc_per_node=gpu" in html and title in html and title not in " ".join(charts_of(html))
    scaling["used_gpus"]["4"] = 4
    assert title in " ".join(charts_of(fragment(*measured_samples.host(scaling=scaling), language=language)))
    scaling["used_gpus"]["4"] = None
    html = fragment(*measured_samples.host(scaling=scaling), language=language)
    assert title in " ".join(charts_of(html)) and ("they were not sampled" if language == "en" else "未采样") in html


# --- the record with parts missing


def plain_text(html):
    return " ".join(re.sub(r"<[^>]+>", " ", html.replace("<wbr>", "")).replace("\u00a0", " ").split())


MISSING = {
    "gpu_utilization": (
        lambda probe, _storage: [gpu.pop("utilization_mean_fraction") for gpu in probe["gpus"]],
        "GPU utilisation – not measured: MIG instances and some drivers tell no utilisation",
        "GPU 利用率 – 未测量：MIG 实例和部分驱动不提供利用率",
    ),
    "epoch": (
        lambda probe, _storage: probe.pop("epoch_seconds"),
        "One epoch – not measured: give the probe epoch_pattern",
        "一个 epoch 耗时 – 未测量：请为探测设置 epoch_pattern",
    ),
    "read": (
        lambda probe, _storage: probe.update(read_bytes=None, read_bytes_per_second=None),
        "Data read speed – not measured: the job&#x27;s I/O couldn&#x27;t be read (probe as its user or as root); storage test: 8.38 GiB/s",
        "数据读取速度 – 未测量：无法读取作业的 I/O 计数",
    ),
    "peak": (
        lambda probe, _storage: probe.update(reservation="vLLM"),
        "VRAM peak – not known: reservation: vLLM reserves VRAM on purpose",
        "显存峰值 – 未知：reservation：vLLM 有意预留显存",
    ),
    "cost": (lambda _probe, _storage: None, "Cost of the task – not reckoned: no prices given", "任务成本 – 未计算：未提供价格"),
}


@pytest.mark.parametrize("part", sorted(MISSING))
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_missing_figure_says_why_and_how(part, language):
    change, english, chinese = MISSING[part]
    document, inputs = measured_samples.host(change=change)
    text = plain_text(fragment(document, inputs, language))
    assert (chinese if language == "zh" else english) in text
    # The other four are still there.
    assert text.partition("workload_probe")[0].count(" – ") == (1 if part == "cost" else 2)


def test_without_a_probe_the_record_says_what_to_run():
    text = plain_text(fragment(*measured_samples.storage_alone()))
    assert text.count("not measured: no workload probe") == 4 and "playbook trainops.gpu_audit.measure" in text
    assert "storage test: 22.4 GiB/s (cached: out of RAM, no disk speed, a quick first look)" in text
    assert "dataset_read was cached: out of RAM, no disk speed" in text


@pytest.mark.parametrize(
    "label, words", [("memory", "in memory, no disk speed"), ("buffered", "through the page cache"), ("cached", "cached: out of RAM")]
)
@pytest.mark.parametrize("quick", [True, False])
def test_labels_stand_in_page_and_markdown(tmp_path, label, words, quick):
    def change(_probe, storage):
        storage["quick"] = quick
        storage["jobs"]["dataset_read"]["buffered_label"] = label

    report, documents, inputs = measured_samples.report([measured_samples.host(change=change)])
    paths = renderer.render(report, tmp_path, "en", documents=documents, inputs=inputs)
    for name in ("html", "markdown"):
        text = open(paths[name], encoding="utf-8").read()
        assert words in text and ("a quick first look" in text) is quick
    with open(paths["csv"], encoding="utf-8") as file:
        row = next(line for line in file if ",storage.read_headroom_ratio," in line)
    assert label in row and (label != "buffered" or ("a quick first look" in row) is quick)


def later_test(document, **result):
    """A newer storage test of the same directory beside the one there is."""
    storage = document["measurements"][measured_samples.STORAGE]
    document["measurements"].append(dict(storage, finished="2026-11-29T20:00:00Z", result=result))


def test_a_later_test_of_other_jobs_changes_no_figure_and_no_label():
    def first(_probe, storage):
        storage["jobs"]["dataset_read"]["buffered_label"] = "buffered"

    document, inputs = measured_samples.host(change=first)
    before = fragment(document, inputs)
    later_test(document, quick=True, random_read_iops=5000, jobs={"random_read": measured_samples.job(2e7)})
    assert fragment(document, inputs) == before


def test_bars_of_two_storage_tests_say_of_when_each_is():
    document, inputs = measured_samples.host()
    later_test(document, small_file_bytes_per_second=5e9, jobs={"small_files": measured_samples.job(5e9, buffered_label="buffered", file_count=20000)})
    text = plain_text(fragment(document, inputs))
    assert "12:10 UTC (dataset_read)" in text and "20:00 UTC (small_files)" in text and "through the page cache (buffered): small_files" in text


@pytest.mark.parametrize("quick, kind", [(False, "bar fail"), (True, "bar warn")])
def test_no_bar_fails_by_a_quick_look(quick, kind):
    def slow(_probe, storage):
        storage.update(read_bytes_per_second=1e9, quick=quick)

    html = fragment(*measured_samples.host(change=slow))
    assert 'class="%s"' % kind in html and ("bar fail" in html) is not quick


# --- the charts


def test_the_policys_limits_are_drawn_and_named():
    html = fragment(*measured_samples.host())
    chart = charts_of(html)["VRAM in use over time"]
    limits = {line.get("class"): line.get("y1") for line in chart.iter("line") if line.get("class").startswith("limit")}
    assert set(limits) == {"limit warn", "limit fail"} and limits["limit warn"] != limits["limit fail"]
    text = plain_text(html)
    assert "warns from 80 %" in text and "fails from 85 %" in text and "GPU 0, the fullest: peak 76 %" in text
    assert "warns from 80 %" in chart.get("aria-label")


def test_a_host_with_limits_of_its_own_has_no_lines_of_others():
    report, documents, inputs = measured_samples.report([measured_samples.host()])
    for finding in report["hosts"][0]["findings"]:
        if finding["check"] == "vram.peak_fraction":
            finding["required"] = "< 90 %"
    html = closing.fragment(View(report, "en"), report["hosts"][0], documents("gpu01"), inputs("gpu01")["workload"])
    assert not [line for line in charts_of(html)["VRAM in use over time"].iter("line") if line.get("class").startswith("limit")]


def test_what_a_framework_reserved_is_no_peak():
    text = plain_text(fragment(*measured_samples.host(reservation="JAX")))
    assert "GPU 0: 76 % reserved by the framework on purpose" in text and "warns from" not in text.partition("GPU utilisation over")[0]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("pair", measured_samples.page())
def test_no_text_of_a_chart_lies_on_a_line_or_another_text(pair, language):
    for svg in charts_of(fragment(*pair, language=language)).values():
        texts = [
            (float(text.get("x")), float(text.get("y")), text.get("text-anchor"), "".join(text.itertext())) for text in svg.iter("text")
        ]
        boxes = []
        for left, bottom, anchor, words in texts:
            width = charts.text_width(words) * 11.5 / 12
            left -= {"end": width, "middle": width / 2}.get(anchor, 0)
            boxes.append((left, bottom - 9, left + width, bottom + 1))
        for number, (left, top, right, bottom) in enumerate(boxes):
            for line in svg.iter("line"):
                one, other, upper, lower = (float(line.get(name)) for name in ("x1", "x2", "y1", "y2"))
                assert right <= one or left >= other or bottom <= upper or top >= lower, (texts[number], line.attrib)
            for path in [*svg.iter("polyline"), *svg.iter("polygon")]:
                for point in path.get("points").split():
                    across, down = map(float, point.split(","))
                    assert not (left < across < right and top < down < bottom), (texts[number], point)
            for a, b, c, d in boxes[:number]:
                assert right <= a + 1 or left >= c - 1 or bottom <= b or top >= d, (texts[number], texts)


def test_super_linear_times_are_told_in_the_page():
    html = fragment(*measured_samples.superlinear())
    assert "Super-linear: suspect caches or a cold first run" in html and "serial fraction" not in plain_text(html)
    heights = [float(dot.get("cy")) for dot in charts_of(html)["Scaling efficiency"].iter("circle")]
    assert min(heights) < heights[0] and min(heights) >= 8
    assert "超线性" in fragment(*measured_samples.superlinear(), language="zh")


def test_a_short_peak_is_drawn():
    document, inputs = measured_samples.host()
    series = document["measurements"][0]["result"]["series"]
    size = document["measurements"][0]["result"]["gpus"][0]["memory_total_bytes"]
    count = 50_000
    series.update(t=list(range(count)), gpu={"0": {"memory_used_bytes": [size // 2] * count}})
    series["gpu"]["0"]["memory_used_bytes"][31_313] = int(size * 0.97)
    chart = charts_of(fragment(document, inputs))["VRAM in use over time"]
    tops = [float(point.split(",")[1]) for line in chart.iter("polyline") for point in line.get("points").split()]
    assert len(tops) < 200 and min(tops) < 15 and "peak 97" in chart.get("aria-label")


def test_a_gap_parts_the_line_and_a_lone_sample_is_seen():
    svg = etree.fromstring(line_charts.over_time("x", list(range(9)), [0.1, 0.2, None, 0.5, None, None, 0.3, 0.4, 0.4], said="1"))
    lines = [line.get("points").split() for line in svg.iter("polyline")]
    assert [len(line) for line in lines] == [2, 2, 3] and lines[1][0] == lines[1][1]


def test_charts_are_small_whatever_was_sampled():
    assert len(fragment(*measured_samples.troubled())) < 16_000


@pytest.mark.parametrize("first", [0, 1, 9])
def test_mig_instances_are_drawn_and_not_their_gpu(first):
    # The first place is another one where the whole GPU or hidden instances come before.
    def change(probe, _storage):
        whole = probe["gpus"][0]
        size = whole["memory_total_bytes"] // 4
        instances = [dict(whole, mig_uuid="MIG-%d" % number, memory_total_bytes=size, memory_reserved_bytes=0) for number in range(2)]
        probe["gpus"] = instances
        count = len(probe["series"]["t"])
        lines = {"0.%d" % (number + first): {"memory_used_bytes": [size * (6 + number) // 10] * count} for number in range(2)}
        probe["series"]["gpu"] = {"0": {"memory_used_bytes": [size] * count}, **lines}

    text = plain_text(fragment(*measured_samples.host(change=change)))
    assert "GPU 0.%d, the fullest: peak 70 %%" % (first + 1) in text and "of 2 GPUs" in text
