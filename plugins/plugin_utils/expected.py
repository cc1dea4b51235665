# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the inventory expects of a host (gpu_audit_expected): a wrong entry is a problem, never one that is left out."""

from __future__ import annotations

from .numbers import is_number
from .words import nearest

# What some metric asks for; a test holds that it is all of it.
FIELDS = ("gpu_count", "gpu_name", "nvlinks", "pcie_width")
_TEXTS = ("gpu_name",)


def normalise(value):
    """({field: int or text}, problems [str]): inventories in INI form give figures as text. An empty field is as good as none."""
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
        else:
            figure = int(entry) if isinstance(entry, str) and entry.strip().isdecimal() and len(entry) < 10 else entry
            if is_number(figure) and 0 <= figure < 2**31 and figure == int(figure):
                found[key] = int(figure)
            else:
                problems.append("%s must be a whole number that is not negative, not %s" % (key, repr(entry)[:80]))
    return found, problems
