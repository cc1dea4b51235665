# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The report's figures: `plugin_utils.numbers`, and what only a report shows: durations, exact values."""

from __future__ import annotations

from .. import messages, numbers
from . import texts
from .clean import display, is_number


def short_time(seconds, language):
    """Seconds of an answer: three figures in milliseconds below one second; None is a dash."""
    return "–" if seconds is None else numbers.format_short_duration(seconds, language)


def human(value, unit, language):
    """A value with its unit, for reading. Lists are joined, maps written out; None is a dash."""
    unit = (unit or "").lower()
    if value is None or value == "":
        return "–"
    if isinstance(value, (list, tuple)):
        return ", ".join(human(item, unit, language) for item in value) or texts.text(language, "none")
    if isinstance(value, dict):
        return ", ".join(f"{display(key, 60)}: {human(item, unit, language)}" for key, item in value.items())
    if unit == "word" and isinstance(value, str):
        return display(messages.word(language, value))
    if not is_number(value):
        return display(numbers.format_value(value, unit, language))
    if unit == "seconds":
        return numbers.format_duration(value, language)
    if unit == "bits_per_second":
        return numbers.format_bit_rate(value)
    if unit in numbers.UNITS:
        return numbers.format_value(value, unit, language)
    named = texts.unit(language, unit)
    return f"{numbers.format_number(value)} {named or display(unit.replace('_per_', '/').replace('_', ' '), 40)}".rstrip()


def exact(value, unit):
    """The stored value and its unit, unrounded."""
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return ", ".join(exact(item, "") for item in value)
    shown = display(value)
    if not is_number(value):
        return shown
    # Units that have a sign have it here too; those that are scaled for reading (bytes, fractions) are named as they are stored.
    sign = numbers.UNITS.get(unit, unit)
    return f"{shown} {unit if sign is None else sign}".rstrip()


def requirement(required, unit, language):
    """What a finding asks for: a text as it is, a value in its unit, or a limit (`{"below": 4}`) turned into what passes it."""
    if isinstance(required, dict) and len(required) == 1 and next(iter(required)) in _LIMITS:
        return numbers.format_required(required, unit, language)
    return human(required, unit, language)


_LIMITS = ("below", "above", "at_least", "at_most", "equals", "not_equals", "one_of", "none_of")
