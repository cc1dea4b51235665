# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a link test of a group will do, for the announcement: its settings as the module takes them, bytes at most. Pure."""

from __future__ import annotations

from ..module_utils.measure import figures, link
from .numbers import format_bytes

# Seconds that a pair keeps its link busy, and that its test takes at most: options() -> float.
usual, longest = link.usual, link.longest
# How long a host may be out of reach.
GRACE = "grace_seconds"
# Numbers beyond are said as 1e+30.
_LONG = 1e15
_DEFAULTS = {"seconds": 10, "omit_seconds": 1, "parallel": 0, "udp_bits_per_second": 10000000}
_RANGES = dict({name: link.RANGES[name] for name in _DEFAULTS}, **{GRACE: (0, 86400)})


def options(settings):
    """A session's settings as module_utils/measure/link.py takes them; what Ansible's templates made of a number may be text."""
    numbers = {name: int(float(default if settings.get(name) is None else settings[name])) for name, default in _DEFAULTS.items()}
    return dict(numbers, udp=str(settings.get("udp")).lower() in ("true", "yes", "on", "1"), directions=link.DIRECTIONS)


def grace(settings):
    """Seconds that a host may be out of reach, beyond its test's own."""
    return 60.0 if settings.get(GRACE) is None else float(settings[GRACE])


def check(settings):
    """ValueError for a number among a session's settings that no host's module takes, or that is none."""
    given = {name: settings[name] for name in (*_DEFAULTS, GRACE) if settings.get(name) is not None}
    for name, value in given.items():
        try:
            number = float("" if isinstance(value, bool) else value)
            given[name] = int(number) if number.is_integer() and abs(number) < _LONG else number
        except (TypeError, ValueError, OverflowError):
            raise ValueError("%s is no number" % name) from None
    figures.check_ranges(given, _RANGES)


def moved(hosts, rounds, asked):
    """(bytes that all tests move at most, None where a pair's line rate isn't known; the sentences that say so).

    hosts: {name: {"line_rate_bits_per_second"}}; rounds: link_rounds.rounds(); asked: options().
    """
    total, seconds, unknown = 0, 0, 0
    for client, server in (pair for pairs in rounds for pair in pairs):
        known = [hosts[name]["line_rate_bits_per_second"] for name in (client, server) if hosts[name].get("line_rate_bits_per_second")]
        most, seconds = link.most_moved(asked, min(known) if known else None)
        total, unknown = total + (most or 0), unknown + (most is None)
    told = []
    if total:
        told.append("moves up to %s: line rate x %d s for each pair" % (format_bytes(total), seconds))
    if unknown:
        told.append("of %d pairs the line rate isn't known: each moves as much as its link carries in up to %d s" % (unknown, seconds))
    return (None if unknown else total), told
