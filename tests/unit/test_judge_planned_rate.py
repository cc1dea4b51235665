# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a finding on concurrent requests says of the rate that the service can be planned with."""

from __future__ import annotations

import judging
import network_samples as samples
import pytest

RATIO = "network.concurrency_ratio"


def finding(steps, language="en", **changed):
    pair = samples.host(samples.requests(steps, **changed), form={"concurrency": 50, "latency_seconds": 2, "leans_on": ["latency"]})
    return judging.finding(judging.judged(*pair, language=language), RATIO)


def step(clients, seconds, **changed):
    """`clients` at once, each answered after `seconds`."""
    return samples.step(clients, seconds, 1.2, **changed)


# 40 answers a second from ten clients on.
FULL = [step(1, 0.1), step(10, 0.25), step(50, 1.25 * 2), step(100, 2.5 * 2)]


def test_a_full_service_is_told_what_to_plan_with():
    said = finding(FULL)["message"]
    assert (
        finding(FULL)["status"] == "fail" and "it answers at most 40 requests a second, so plan with 32 a second (80 % of that)" in said
    ), said
    assert "每秒最多应答 40 个请求，规划时每个这样的服务按每秒 32 个计（其 80%）" in finding(FULL, "zh")["message"]


@pytest.mark.parametrize(
    "steps, changed",
    [
        # Each client more brings answers more.
        ([step(1, 1.0), step(10, 1.1), step(50, 3.0)], {}),
        (FULL, {"stand_in": True}),
        (FULL, {"loop": "open"}),
        # Beside a step that failed, or was cut, only one is left.
        ([step(1, 0.1), step(50, 3, errors={"timeout": 400})], {}),
        ([step(1, 0.1), step(50, 3, stopped="time")], {}),
    ],
)
def test_what_the_test_does_not_tell_is_not_said(steps, changed):
    found = finding(steps, **changed)
    assert found["status"] == "fail" and "plan with" not in found["message"], found["message"]


def test_one_that_holds_is_told_nothing():
    found = finding([step(1, 0.1), step(50, 1), step(100, 2)])
    assert found["status"] == "pass" and "plan with" not in found.get("message", "")
