# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What commands, tools and drivers said, in a form that can be stored and that every reader of JSON takes. Pure."""

from __future__ import annotations

import math

from ..sources.texts import clean_text, without_surrogates

# A result has five levels of its own; readers take 64 of a host's whole document.
MAX_DEPTH = 24
# Python 3.11 and newer read no whole number of more than 4,300 digits; no count or size comes near to this.
MAX_BITS = 128


def tame(value, depth=0):
    """The same answer with null for numbers that aren't finite or are out of all proportion, and for what is nested too deeply; with `?`
    in texts and keys for what is no character (lone surrogates: neither UTF-8 nor Ansible can say them).

    >>> tame({"a": [1.5, float("inf")], "\\udc80": "x\\ud800"})
    {'a': [1.5, None], '?': 'x?'}
    """
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if value.bit_length() <= MAX_BITS else None
    if isinstance(value, (dict, list, tuple)) and depth >= MAX_DEPTH:
        return None
    if isinstance(value, dict):
        return {without_surrogates(str(key)): tame(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [tame(item, depth + 1) for item in value]
    return value


def shown(value, limit=60):
    """As much of a text as a sentence can repeat: one line, `...` where it goes on."""
    cleaned = clean_text(value, limit + 1)
    return cleaned if len(cleaned) <= limit else cleaned[:limit - 3] + "..."
