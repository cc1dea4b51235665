# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a service that was loaded by more and more clients can answer a second, and what to plan with."""

from __future__ import annotations

# Above this share of what it can do, a service's waiting times grow fast with every further request: with random arrivals by
# 1 / (1 - utilisation), so five times as long as idle.
PLANNED_UTILISATION = 0.8
# So many times the clients without so much more answered: what it answers is all that it can.
_MORE_CLIENTS, _MORE_ANSWERS = 1.5, 1.1


def capacity(steps):
    """The most that a service answers a second, from [(clients at once, answers a second)] of closed loops; None where it isn't reached:
    as long as more clients bring more answers it may do better still.

    >>> capacity([(1, 10.0), (10, 90.0), (50, 120.0), (100, 118.0)])
    120.0
    >>> capacity([(1, 10.0), (10, 90.0), (50, 300.0)]) is None
    True
    """
    steps = sorted(steps)
    for before, (clients, answers) in enumerate(steps):
        fewer = [entry for entry in steps[:before] if clients >= _MORE_CLIENTS * entry[0]]
        # A service that needs several clients to get going isn't full while it still grows.
        if fewer and answers < _MORE_ANSWERS * fewer[-1][1] and all(later < _MORE_ANSWERS * answers for _clients, later in steps[before:]):
            return max(done for _clients, done in steps)
    return None


def planned_rate(answers_per_second):
    """How many requests a second to plan with for a service that can answer so many."""
    return PLANNED_UTILISATION * answers_per_second
