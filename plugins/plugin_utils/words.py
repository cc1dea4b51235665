# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The few words that every layer shares: checklist items, comparisons, and which name somebody may have meant.

Imports nothing of the judgement layer: every process that collects imports this, and Ansible keeps no bytecode of a collection.
"""

from __future__ import annotations

import difflib

LANGUAGES = ("en", "zh")
CHECKLIST = ("vram", "compute", "memory", "storage", "network")
ITEMS = CHECKLIST + ("health", "software", "power", "cost", "utilisation")
# These judge spending or code, not the machine.
NEVER_FAIL_ITEMS = ("cost", "utilisation")
NUMERIC_COMPARISONS = ("below", "above", "at_least", "at_most")
COMPARISONS = NUMERIC_COMPARISONS + ("equals", "not_equals", "one_of", "none_of")


def nearest(name, names):
    """(did you mean "x"?) with the most similar valid name, an empty text when none is similar."""
    found = difflib.get_close_matches(str(name)[:100], [str(entry) for entry in names], n=1, cutoff=0.6)
    return ' (did you mean "%s"?)' % found[0] if found else ""


def shown(value, length=80):
    """A value of any type as a complaint shows it, in one line. Python writes no whole number of thousands of digits."""
    try:
        return " ".join(repr(value).split())[:length]
    except (ValueError, RecursionError):
        return "a number of %d bits" % value.bit_length() if isinstance(value, int) else "a %s" % type(value).__name__
