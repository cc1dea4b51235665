# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Readers of one leaf of a host's document that survive any value there."""

from __future__ import annotations

from .numbers import is_number

# Longest text of a host that goes into evidence: names are short, a longer one is an error or an attack.
TEXT_LIMIT = 200
# A sentence that is cut is neither understood nor translated.
SENTENCE_LIMIT = 600
NUMBER_LIMIT = 2**80


def number(container, key):
    """container[key] where it is a finite number of sane size and no truth value, else None."""
    value = container.get(key)
    # Neither infinity nor what is no number at all lies between the limits.
    return value if is_number(value) and -NUMBER_LIMIT < value < NUMBER_LIMIT else None


def amount(container, key):
    """Like number(), but None for a negative one: bytes, counts, cores."""
    value = number(container, key)
    return value if value is not None and value >= 0 else None


def text(container, key, limit=TEXT_LIMIT):
    """container[key] where it is text that is not empty, cut at the limit, else None."""
    value = container.get(key)
    return value[:limit] if isinstance(value, str) and value else None


def sentence(container, key):
    """container[key] where it is text that is not empty, cut at SENTENCE_LIMIT: what a tool or a module of ours said, else None."""
    return text(container, key, SENTENCE_LIMIT)


def flag(container, key):
    """container[key] where it is a truth value, else None."""
    value = container.get(key)
    return value if isinstance(value, bool) else None


def maps(container, key):
    """The maps in the list container[key], an empty list where it is no list."""
    value = container.get(key)
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def mapping(container, key):
    """container[key] where it is a map, else an empty one."""
    value = container.get(key)
    return value if isinstance(value, dict) else {}
