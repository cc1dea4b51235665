# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Quantiles of measured times, exact from all samples, and the knee: how much concurrency keeps an acceptable latency.

The rules for a step of a load test are these; judging and reports on the controller take them from here (plugin_utils/metrics/requests.py).
"""

from __future__ import annotations

import collections
import math

# More failed requests than this and a step doesn't meet a latency, however fast the others were.
MAX_ERROR_FRACTION = 0.01
# Of fewer requests than this the 95th percentile is their slowest, and no percentile.
FEWEST_REQUESTS = 20
# How much of the latencies of a step that meets an acceptable one may lie above it.
SLOW_FRACTION = 0.05
# What happens more rarely than that isn't put down to chance.
CHANCE = 0.01
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


def beyond_chance(count, fraction):
    """How many of `count` samples at least can't be chance where `fraction` of all is usual: as many or more come once in 100 tests
    (binomial).

    >>> beyond_chance(20, 0.05), beyond_chance(200, 0.05), beyond_chance(20, 0.01)
    (5, 19, 3)
    """
    left, found = 1.0, 0
    logs = math.log(fraction), math.log(1 - fraction)
    while left > CHANCE and found <= count:
        ways = math.lgamma(count + 1) - math.lgamma(found + 1) - math.lgamma(count - found + 1)
        left -= math.exp(ways + found * logs[0] + (count - found) * logs[1])
        found += 1
    return found


def p95_at_least(ordered):
    """What the 95th percentile of all answers is at least, chance aside; null of too few. `ordered`: the samples, ascending."""
    rank = beyond_chance(len(ordered), SLOW_FRACTION)
    return ordered[-rank] if 0 < rank <= len(ordered) else None


def misses_surely(low, p50, requests, failed, stopped, grows, seconds):
    """Whether a step that doesn't hold() so many seconds doesn't do so by chance: more of its answers were late, or of its requests
    failed, than chance explains.

    `low`: p95_at_least() of it, where it isn't known its p50 serves; without either a step is believed. `requests`: null where not known.
    """
    if stopped in _BROKEN or grows:
        return True
    if (failed or 0) > MAX_ERROR_FRACTION and (
            not requests or round(failed * requests) >= beyond_chance(int(requests), MAX_ERROR_FRACTION)):
        return True
    known = low if low is not None else p50
    if known is None:
        # Failed requests alone that may be chance: there is no word of the latency.
        return not (failed or 0) > MAX_ERROR_FRACTION
    return known > seconds


Climb = collections.namedtuple("Climb", "best missed held_above")


def climb(steps):
    """How far a latency is kept, of [(load, whether it holds, whether it misses surely)] by rising load -> Climb; null where a step can't
    be told (holds: null) before one that misses.

    best: the highest load that keeps it, all lower ones keeping it too, 0 where the lowest doesn't; missed: the first load that doesn't,
    null for none; held_above: the loads above that kept it although `missed` may have missed it by chance: then nobody knows.
    """
    best = 0
    for at, (load, held, surely) in enumerate(steps):
        if held is None:
            return None
        if not held:
            return Climb(best, load, [] if surely else [higher for higher, kept, _surely in steps[at + 1:] if kept])
        best = load
    return Climb(best, None, [])


def is_known(found):
    """Whether the highest load that keeps a latency is `best` of a Climb: not where chance may have missed it, nor where the lowest step
    misses it and is more than one request at once, with untried ones below.

    >>> is_known(Climb(10, 50, [])), is_known(Climb(0, 1, [10])), is_known(Climb(0, 10, [])), is_known(Climb(0, 1, []))
    (True, False, False, True)
    """
    return not found.held_above and not (found.best == 0 and (found.missed or 0) > 1)


def counted(steps):
    """The steps of a load test that tell something, by rising concurrency."""
    told = [step for step in steps if not too_few(step["requests"], step["concurrency"], step["stopped"])]
    return sorted(told, key=lambda step: step["concurrency"])


def meets(step, slo_seconds):
    """holds() of a step of this test."""
    names = ("latency_p95_seconds", "error_fraction", "stopped", "queue_grows")
    return bool(holds(*([step[name] for name in names] + [slo_seconds])))


def climbed(steps, slo_seconds):
    """climb() of the steps of this test that tell something; null without an acceptable latency or such steps."""
    if slo_seconds is None or not counted(steps):
        return None
    names = ("latency_p95_at_least_seconds", "latency_p50_seconds", "requests", "error_fraction", "stopped", "queue_grows")
    return climb([(step["concurrency"], meets(step, slo_seconds), misses_surely(*([step.get(name) for name in names] + [slo_seconds])))
                  for step in counted(steps)])


def knee(steps, slo_seconds):
    """The highest concurrency that meets `slo_seconds`, all lower ones that were tried meeting it too; 0 where not even one at once
    does.

    Null without an acceptable latency and where the steps don't tell. One that meets it above one that surely doesn't is chance, and no
    plan can be built on it.
    """
    found = climbed(steps, slo_seconds)
    return found.best if found is not None and is_known(found) else None
