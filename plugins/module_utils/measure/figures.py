# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Figures that a measuring module is given, and those in the sentences that it says to people."""

from __future__ import annotations


def bytes_text(count):
    """Bytes in three figures and binary units, as reports have them; "?" for what isn't known.

    >>> bytes_text(4 << 30), bytes_text(10_000_000), bytes_text(512), bytes_text(None)
    ('4.00 GiB', '9.54 MiB', '512 B', '?')
    """
    if count is None:
        return "?"
    size, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    while abs(size) >= 1023.95 and len(units) > 1:
        size /= 1024.0
        del units[0]
    if units[0] == "B":
        return "%d B" % size
    digits = 0 if abs(size) >= 99.95 else 1 if abs(size) >= 9.995 else 2
    return "%.*f %s" % (digits, size, units[0])


def check_ranges(options, ranges):
    """ValueError for an option that lies in no range ({name: (least, most)}); not a number (NaN) lies in none. What isn't given is right."""
    for name, (least, most) in ranges.items():
        value = options.get(name)
        if value is not None and not least <= value <= most:
            raise ValueError("%s must be between %g and %g, not %s" % (name, least, most, value))
