# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a load test says on the console: latencies at the form's concurrency, the knee beside the acceptable latency, tokens of a stream."""

from __future__ import annotations

import network_samples as samples
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import request_saying

STEPS = [samples.step(1, 0.2), samples.step(10, 0.25), samples.step(50, 0.5)]


def result(steps=None, knee=10, slo=0.4, rate=102.34):
    return {"steps": STEPS if steps is None else steps, "knee_concurrency": knee, "latency_slo_seconds": slo, "requests_per_second": rate}


@pytest.mark.parametrize("wanted, knee, shown", [
    (30, 10, "at 50 at once p50 500 ms, p95 800 ms, p99 1 s"),
    (10, 50, "at 10 at once p50 250 ms, p95 400 ms, p99 500 ms"),
    # Without a concurrency of the form, or above all that was tried: the knee's, else the highest that counts.
    (None, 10, "at 10 at once"), (None, None, "at 50 at once"), (80, 10, "at 10 at once"), (80, 0, "at 50 at once"),
])
def test_the_latencies_are_those_of_the_step_that_matters(wanted, knee, shown):
    assert request_saying.of_test(result(knee=knee), wanted).startswith("answers up to 102.34 requests a second; " + shown)


def test_a_step_that_does_not_count_is_not_told():
    steps = [samples.step(1, 0.2), samples.step(10, 0.25, requests=8)]
    said = request_saying.of_test(result(steps, knee=1), 10)
    assert "at 1 at once p50" in said and "at 10 at once" not in said


@pytest.mark.parametrize("knee, english, chinese", [
    (10, "up to 10 at once keep p95 within the acceptable 400 ms", "并发不超过 10 时 p95 在可接受的 400 毫秒以内"),
    (50, "up to 50 at once, the most that were tried, keep p95 within the acceptable 400 ms", "直到测试的最高并发 50，p95 都在可接受的 400 毫秒以内"),
    (0, "not even 1 at once keeps p95 within the acceptable 400 ms", "并发 1 的 p95 已超过可接受的 400 毫秒"),
    (None, "how many at once keep p95 within the acceptable 400 ms isn't known", "多大并发能使 p95 保持在可接受的 400 毫秒以内未知"),
])
def test_the_knee_stands_beside_what_is_acceptable(knee, english, chinese):
    assert request_saying.of_test(result(knee=knee)).endswith("; " + english)
    assert request_saying.of_test(result(knee=knee), language="zh").endswith("；" + chinese)
    assert "acceptable" not in request_saying.of_test(result(knee=None, slo=None))


def test_a_stream_has_its_first_token_and_its_tokens():
    steps = [samples.step(1, 2.0, time_to_first_token_p50_seconds=0.15, time_to_first_token_p95_seconds=0.3,
                          tokens_per_second=96.04, tokens_per_second_per_request=48.5)]
    said = request_saying.of_test(result(steps, knee=1, slo=3))
    assert "; first token p50 150 ms, p95 300 ms; 48.5 tokens/s in each answer, 96.04 in all; " in said
    chinese = request_saying.of_test(result(steps, knee=1, slo=3), language="zh")
    assert "；首 token p50 150 毫秒，p95 300 毫秒；单请求每秒 48.5 个 token，合计每秒 96.04 个；" in chinese


def test_a_test_without_answers_says_what_is_known():
    nothing = [samples.step(1, None, errors={"refused": 40}, requests=40, stopped="errors")]
    assert request_saying.of_test(result(nothing, knee=0, rate=0.0)) == "failed: not one request was answered (40 x connection refused)"
    assert request_saying.of_test(result([], knee=None, slo=None, rate=None)) == ""


def test_a_test_of_which_no_request_was_answered_reads_failed_with_the_reasons():
    steps = [samples.step(1, None, requests=20, errors={"http_5xx": 20}), samples.step(10, None, requests=30, errors={"http_5xx": 10, "timeout": 20})]
    assert request_saying.of_test(result(steps, knee=0)) == (
        "failed: not one request was answered (30 x error of the server (HTTP 5xx), 20 x no answer in time)")
    assert request_saying.of_test(result(steps, knee=0), language="zh").startswith("失败：没有一个请求得到应答（30 次服务器错误")
    assert "failed" not in request_saying.of_test(result([*STEPS, steps[0]]))
