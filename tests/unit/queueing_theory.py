# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What queueing theory expects of a service, which load tests are held against: M/M/c (Erlang C), M/G/1 (Pollaczek-Khinchine), loss (Erlang B).

Rates are per second, times in seconds, `service_rate` is of one server. Standard results; rho = arrivals / (servers x service_rate) must be
below 1.
"""

from __future__ import annotations

import math


class Unstable(ValueError):
    """As much arrives as can be served, or more: the queue grows without end, and no mean exists."""


def erlang_b(load, servers):
    """Share of arrivals that find all `servers` busy where none may wait; `load`: arrivals / service_rate.

    >>> round(erlang_b(8, 10), 5)
    0.12166
    """
    if load < 0 or servers < 1:
        raise ValueError("load must not be negative and servers at least 1, not %s and %s" % (load, servers))
    blocked = 1.0
    for number in range(1, servers + 1):
        blocked = load * blocked / (number + load * blocked)
    return blocked


def mmc(arrival_rate, service_rate, servers):
    """{"rho", "p_wait", "wq", "w", "lq", "l", "wait_p95", "wait_p99"} of M/M/c; Unstable at rho >= 1."""
    if not (arrival_rate > 0 and service_rate > 0 and servers >= 1):
        raise ValueError("arrival_rate, service_rate and servers must be above 0, not %s, %s, %s" % (arrival_rate, service_rate, servers))
    load = arrival_rate / service_rate
    rho = load / servers
    if rho >= 1:
        raise Unstable("%g a second arrive and %g can be served" % (arrival_rate, servers * service_rate))
    blocked = erlang_b(load, servers)
    # Erlang C from Erlang B: no factorials that overflow.
    waits = blocked / (1 - rho * (1 - blocked))
    spare = servers * service_rate - arrival_rate
    wq = waits / spare
    return {
        "rho": rho,
        "p_wait": waits,
        "wq": wq,
        "w": wq + 1 / service_rate,
        "lq": arrival_rate * wq,
        "l": arrival_rate * (wq + 1 / service_rate),
        "wait_p95": _wait(waits, spare, 0.95),
        "wait_p99": _wait(waits, spare, 0.99),
    }


def _wait(waits, spare, fraction):
    """The waiting time that `fraction` of all arrivals don't exceed: P(wait > t) = waits x exp(-spare x t)."""
    return max(0.0, math.log(waits / (1 - fraction)) / spare)


def mg1_wait(rho, variation=1.0):
    """Mean waiting time in units of the service time, one server (M/G/1). `variation`: standard deviation of the service time over its
    mean; 1 is M/M/1, 0 a fixed time (M/D/1), which waits half as long. Unstable at rho >= 1."""
    if rho < 0 or variation < 0:
        raise ValueError("rho and variation must not be negative, not %s and %s" % (rho, variation))
    if rho >= 1:
        raise Unstable("as much arrives as can be served, or more (%g)" % rho)
    return rho / (1 - rho) * (1 + variation**2) / 2
