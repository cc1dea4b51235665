# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tests of the fabric between GPUs in the report: the host's record and the chart of bandwidth over message size."""

from __future__ import annotations

import csv
import io

import measured_samples
import network_samples as samples
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import report as renderer
from test_report_closing import charts_of, plain_text
from test_report_network import fragment

GB, GIB = 10**9, 2**30
CHART = "Bandwidth over message size (all_reduce_perf)"


def of_tests(*entries, wish=None):
    document, inputs = samples.host(*entries)
    if wish:
        inputs["expected"]["fabric_busbw_bytes_per_second"] = wish
    return document, inputs


def heights(chart):
    """The tops of the points of a chart's line."""
    (line,) = chart.iter("polyline")
    return [float(point.split(",")[1]) for point in line.get("points").split()]


def limits(chart):
    return [float(line.get("y1")) for line in chart.iter("line") if (line.get("class") or "").startswith("limit")]


@pytest.mark.parametrize(
    "language, words",
    [
        ("en", ("Bus bandwidth between the GPUs 447 GiB/s", "all_reduce_perf, messages of 16 GiB; 8 GPUs, 1 host; nccl-tests 2.17.1, NCCL 2.27.3",
                "ib_write_bw, messages of 8 MiB: 45.5 GiB/s", "bus bandwidth: 447 GiB/s at 16 GiB", "algorithm bandwidth there: 255 GiB/s")),
        ("zh", ("GPU 间总线带宽 447 GiB/s", "all_reduce_perf，消息大小 16 GiB；8 个 GPU，1 台主机", "ib_write_bw，消息大小 8 MiB：45.5 GiB/s",
                "总线带宽：16 GiB 时 447 GiB/s")),
    ],
)  # fmt: skip
def test_the_record_names_the_figure_and_what_it_is_of(language, words):
    text = plain_text(fragment(of_tests(samples.fabric(), samples.port()), language))
    for part in words:
        assert part in text, part


def test_a_host_whose_fabric_nobody_tested_has_no_empty_place():
    assert "Bus bandwidth" not in plain_text(fragment(samples.fleet(3)[0]))


def test_every_size_is_drawn_at_even_steps_of_its_logarithm():
    chart = charts_of(fragment(of_tests(samples.fabric())))[CHART]
    (line,) = chart.iter("polyline")
    across = [float(point.split(",")[0]) for point in line.get("points").split()]
    steps = [after - before for before, after in zip(across, across[1:])]
    assert len(across) == 32 and max(steps) - min(steps) < 0.3
    # The larger the message the more bandwidth, and further up is smaller.
    assert heights(chart) == sorted(heights(chart), reverse=True)
    names = {"".join(label.itertext()) for label in chart.iter("text")}
    assert {"8 B", "16 GiB", "400 GiB/s", "0"} <= names and "16 GiB: 447 GiB/s" in chart.get("aria-label")


def test_what_is_expected_is_a_line_at_its_height():
    chart = charts_of(fragment(of_tests(samples.fabric(), wish=480 * GB)))[CHART]
    text = plain_text(fragment(of_tests(samples.fabric(), wish=960 * GB)))
    assert abs(limits(chart)[0] - min(heights(chart))) < 1
    assert "50 % of what is expected" in text and "expected at least: 894 GiB/s" in text
    # A test on seven GPUs has no limit of reference.
    assert limits(charts_of(fragment(of_tests(samples.fabric(ranks=7))))[CHART]) == []


def test_of_two_tests_the_one_that_is_judged_has_the_line():
    html = fragment(of_tests(samples.fabric(310 * GB), samples.fabric(target="all_gather_perf nodes=1", operation="all_gather"), wish=480 * GB))
    charts = charts_of(html)
    # Of the other one a report doesn't have what it was held to.
    assert [title for title in charts if title.startswith("Bandwidth over") and limits(charts[title])] == [CHART]
    assert "of what is expected; all_reduce_perf, messages" in plain_text(html)


def test_an_expectation_far_above_the_figures_is_only_said():
    html = fragment(of_tests(samples.fabric(), wish=48000 * GB))
    assert limits(charts_of(html)[CHART]) == [] and "expected at least: " in plain_text(html)


def test_wrong_values_are_crosses_at_their_size():
    html = fragment(of_tests(samples.fabric(wrong=(1 << 20, 16 * GIB))))
    assert len([path for path in charts_of(html)[CHART].iter("path") if path.get("class") == "cross"]) == 2
    assert "2 values arrived wrong" in plain_text(html) and "at 1 MiB: 1 value arrived wrong" in plain_text(html)


def test_a_test_of_one_size_is_told_and_not_drawn():
    html = fragment(of_tests(samples.port()))
    assert "Bandwidth over" not in html
    assert "RDMA bandwidth of a port 45.5 GiB/s ib_write_bw, messages of 8 MiB; 2 hosts, InfiniBand, mlx5_0; perftest 6.06" in plain_text(html)


@pytest.mark.parametrize("language, words", [("en", "gave no result within 600 s and was ended"), ("zh", "最近一次测试失败：")])
def test_a_test_that_failed_says_why(language, words):
    text = plain_text(fragment(samples.page()[3], language))
    assert words in text and "all_reduce_perf" in text


def test_formats_of_figures_have_it_too(tmp_path):
    report, documents, inputs = measured_samples.report([of_tests(samples.fabric())])
    renderer.render(report, tmp_path, "en", ("csv", "markdown"), documents, inputs=inputs)
    rows = list(csv.reader(io.StringIO((tmp_path / "report.csv").read_text(encoding="utf-8-sig"))))
    assert any("network.fabric_busbw_bytes_per_second" in row for row in rows)
    assert "Bus bandwidth between the GPUs: **447 GiB/s**" in (tmp_path / "report.md").read_text(encoding="utf-8")
