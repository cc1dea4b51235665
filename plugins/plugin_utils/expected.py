# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the inventory expects of a host (gpu_audit_expected): a wrong entry is a problem, never one that is left out."""

from __future__ import annotations

import re

from .numbers import is_number
from .words import nearest

# What some metric asks for; a test holds that it is all of it.
FIELDS = (
    "fabric_busbw_bytes_per_second",
    "gpu_count",
    "gpu_name",
    "network_port_bits_per_second",
    "network_ports",
    "nvlinks",
    "pcie_width",
    "rdma_port_bits_per_second",
    "rdma_ports",
)
_TEXTS = ("gpu_name",)
_BYTE_RATES = ("fabric_busbw_bytes_per_second",)
_RATES = ("network_port_bits_per_second", "rdma_port_bits_per_second")
# Bits, never bytes: a capital B is refused, so that nobody is judged by eight times the speed.
_RATE = re.compile(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([kKMGT]?)\s*(?:b(?:its?)?(?:ps|/s|/sec)?)?\s*")
# And the other way round.
_BYTE_RATE = re.compile(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*(?:([kKMGT]?)(i?)B(?:ps|/s|/sec)?)?\s*")
_PREFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_LARGEST_RATE = 10**15


def parse_rate(value):
    """Bits per second as int of a number or of text like "400 Gb/s", "100Gbit/s", "25G" (decimal prefixes); None where it is none."""
    if isinstance(value, str):
        match = _RATE.fullmatch(value) if len(value) <= 64 else None
        if not match:
            return None
        value = float(match[1]) * _PREFIXES[match[2]]
    if not is_number(value) or not 1 <= value <= _LARGEST_RATE:
        return None
    return int(round(value))


def parse_byte_rate(value):
    """Bytes per second as int of a number or of text like "460 GB/s", "400 GiB/s"; None where it is none."""
    if isinstance(value, str):
        match = _BYTE_RATE.fullmatch(value) if len(value) <= 64 else None
        if not match or match[3] and not match[2]:
            return None
        power = "KMGT".find((match[2] or "").upper()) + 1 if match[2] else 0
        value = float(match[1]) * (1024 if match[3] else 1000) ** power
    if not is_number(value) or not 1 <= value <= _LARGEST_RATE:
        return None
    return int(round(value))


def normalise(value):
    """({field: int or text}, problems [str]), rates of ports in bits per second, others in bytes per second.

    Inventories in INI form give figures as text. An empty field is as good as none.
    """
    if value in (None, ""):
        return {}, []
    if not isinstance(value, dict):
        return {}, ["must be a mapping, not %s" % repr(value)[:80]]
    found, problems = {}, []
    for key in sorted(value, key=str):
        entry = value[key]
        if key not in FIELDS:
            problems.append("no field %s%s; there are: %s" % (str(key)[:80], nearest(key, FIELDS), ", ".join(FIELDS)))
        elif entry is None or isinstance(entry, str) and not entry.strip():
            continue
        elif key in _TEXTS:
            if isinstance(entry, str):
                found[key] = entry
            else:
                problems.append("%s must be text, not %s" % (key, repr(entry)[:80]))
        elif key in _RATES:
            found[key] = parse_rate(entry)
            if found[key] is None:
                del found[key]
                problems.append('%s must be a rate in bits per second such as "400 Gb/s", not %s' % (key, repr(entry)[:80]))
        elif key in _BYTE_RATES:
            found[key] = parse_byte_rate(entry)
            if found[key] is None:
                del found[key]
                problems.append('%s must be a rate in bytes per second such as "460 GB/s", not %s' % (key, repr(entry)[:80]))
        else:
            figure = int(entry) if isinstance(entry, str) and entry.strip().isdecimal() and len(entry) < 10 else entry
            if is_number(figure) and 0 <= figure < 2**31 and figure == int(figure):
                found[key] = int(figure)
            else:
                problems.append("%s must be a whole number that is not negative, not %s" % (key, repr(entry)[:80]))
    return found, problems
