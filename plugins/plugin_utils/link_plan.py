# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a link test of a group will do, for the announcement: its settings as the module takes them, bytes at most. Pure."""

from __future__ import annotations

from ..module_utils.measure import link
from .numbers import format_bytes

# Seconds that a pair keeps its link busy, and that its test takes at most: options() -> float.
usual, longest = link.usual, link.longest


def options(settings):
    """A session's settings as module_utils/measure/link.py takes them; what Ansible's templates made of a number may be text."""
    return {
        "seconds": int(float(settings.get("seconds") or 10)),
        "omit_seconds": int(float(settings.get("omit_seconds", 1))),
        "parallel": int(float(settings.get("parallel") or 0)),
        "udp": str(settings.get("udp")).lower() in ("true", "yes", "on", "1"),
        "udp_bits_per_second": int(float(settings.get("udp_bits_per_second") or 10000000)),
        "directions": link.DIRECTIONS,
    }


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
