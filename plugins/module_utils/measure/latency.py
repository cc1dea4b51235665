# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Quantiles of measured times, exact from all samples, and the knee: how much concurrency keeps an acceptable latency.

The rules for a step of a load test are these; judging and reports on the controller take them from here (plugin_utils/metrics/requests.py).
"""

from __future__ import annotations

import math

# More failed requests than this and a step doesn't meet a latency, however fast the others were.
MAX_ERROR_FRACTION = 0.01
# Of fewer requests than this the 95th percentile is their slowest, and no percentile.
FEWEST_REQUESTS = 20
# What a step was stopped for because of what it saw, and not because it had time or bytes enough.
_BROKEN = ("errors", "queue")


def quantile(ordered, fraction):
    """The smallest sample that `fraction` of all samples don't exceed (nearest rank); null without samples. `ordered`: ascending.

    >>> quantile([1, 2, 3, 4], 0.5), quantile([1, 2, 3, 4], 0.99), quantile([], 0.5)
    (2, 4, None)
    """
    if not len(ordered):
        return None
    # 0.95 x 100 is a little more than 95 in binary fractions.
    return ordered[max(0, int(math.ceil(round(fraction * len(ordered), 9))) - 1)]


def mean(samples):
    """Their mean; null without samples."""
    return math.fsum(samples) / len(samples) if len(samples) else None


def too_few(requests, concurrency, stopped):
    """Whether a step sent fewer requests than it has clients, or than a percentile takes; not where it was stopped because of what it saw.

    `requests`: how many of it ended, null where that isn't known; `stopped`: null or why it was stopped.

    >>> too_few(1, 50, None), too_few(50, 50, None), too_few(12, 50, "errors")
    (True, False, False)
    """
    return requests is not None and stopped not in _BROKEN and requests < max(FEWEST_REQUESTS, concurrency)


def holds(p95, failed, stopped, grows, seconds):
    """Whether a step keeps its 95th percentile within so many seconds, with at most 1 % of its requests `failed` and no queue that grows;
    null where it can't be told.
    """
    if stopped in _BROKEN or grows or (failed or 0) > MAX_ERROR_FRACTION:
        return False
    return None if p95 is None else p95 <= seconds


def counted(steps):
    """The steps of a load test that tell something, by rising concurrency."""
    told = [step for step in steps if not too_few(step["requests"], step["concurrency"], step["stopped"])]
    return sorted(told, key=lambda step: step["concurrency"])


def meets(step, slo_seconds):
    """holds() of a step of this test."""
    names = ("latency_p95_seconds", "error_fraction", "stopped", "queue_grows")
    return bool(holds(*([step[name] for name in names] + [slo_seconds])))


def knee(steps, slo_seconds):
    """The highest concurrency that meets `slo_seconds`, all lower ones that were tried meeting it too; 0 where the lowest doesn't.

    Null without an acceptable latency or without steps that tell something. One that meets it above one that doesn't is chance, and no plan
    can be built on it.
    """
    steps = counted(steps)
    if slo_seconds is None or not steps:
        return None
    found = 0
    for step in steps:
        if not meets(step, slo_seconds):
            break
        found = step["concurrency"]
    return found
