# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Quantiles of measured times, exact from all samples, and the knee: how much concurrency keeps an acceptable latency."""

from __future__ import annotations

import math

# More failed requests than this and a step doesn't meet a latency, however fast the others were.
MAX_ERROR_FRACTION = 0.01


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


def meets(step, slo_seconds):
    """Whether a step of a load test keeps p95 within `slo_seconds`, with at most 1 % of its requests failed and no queue that grows."""
    p95 = step["latency_p95_seconds"]
    whole = step["stopped"] not in ("errors", "queue") and not step["queue_grows"]
    return whole and p95 is not None and p95 <= slo_seconds and step["error_fraction"] <= MAX_ERROR_FRACTION


def knee(steps, slo_seconds):
    """The highest concurrency that meets `slo_seconds`, all lower ones that were tried meeting it too; 0 where the lowest doesn't.

    Null without an acceptable latency or without steps. One that meets it above one that doesn't is chance, and no plan can be built on it.
    """
    if slo_seconds is None or not steps:
        return None
    found = 0
    for step in sorted(steps, key=lambda step: step["concurrency"]):
        if not meets(step, slo_seconds):
            break
        found = step["concurrency"]
    return found
