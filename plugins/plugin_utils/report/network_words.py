# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reads the values of network measurements, whatever lies there, and says rates and failures in words."""

from __future__ import annotations

import collections

from .. import complaints, messages
from ..measured_texts import kind as kind_words
from ..numbers import format_bit_rate
from .clean import brief, display, is_number
from .figures import human
from .measured_charts import moment

# Nothing moves faster, and nobody waits longer.
FASTEST, LONGEST = 1e15, 1e9


def maps(value, most=1000):
    """The entries of a list that are maps."""
    return [entry for entry in value[:most] if isinstance(entry, dict)] if isinstance(value, list) else []


def amount(entry, key, most=FASTEST):
    """A figure of a map that can be drawn: from 0 to `most`; else None."""
    value = entry.get(key) if isinstance(entry, dict) else None
    return value if is_number(value) and 0 <= value < most else None


def count(entry, key):
    """A whole number of a map, 0 where it has none."""
    value = amount(entry, key)
    return int(value) if value is not None else 0


def joined(view, parts):
    return ("；" if view.language == "zh" else "; ").join(part for part in parts if part)


def percent(view, share):
    return human(round(share, 3), "fraction", view.language)


def bits(rate):
    """Bytes per second as a link's rate in three figures: 9.41 Gbit/s."""
    return format_bit_rate(rate * 8)


def words_of(error, language):
    """What a measurement failed with (text, or a map with the message), on one line in a language: it is stored in English."""
    message = error.get("message") if isinstance(error, dict) else error
    return brief(complaints.say("" if message is None else message, language), 240)


def failure_words(view, failure):
    """That the last test failed, why and when; "" for none. `failure`: {"finished", "message"} or None."""
    return joined(view, [view.text("net_failed", reason=words_of(failure, view.language)), moment(view, failure)]) if failure else ""


def kind_of(view, error):
    """The kind of an error in words."""
    return _kind(view, error.get("kind") if isinstance(error, dict) and error.get("kind") else "?")


def _kind(view, name):
    return kind_words(display(name, 40), view.language)


def _counted(view, errors):
    return _times(view, list(collections.Counter(kind_of(view, error) for error in errors).items()))


def _times(view, counts):
    """connection broken off, 2 × no answer in time"""
    shown = [name if number == 1 else view.text("net_times", name=name, n=number) for name, number in counts]
    return ("、" if view.language == "zh" else ", ").join(shown[:6]) or "?"


def faults(view, result):
    """How many attempts failed and how many were tried again, in words; "" where all went through at once."""
    attempts = maps(result.get("attempts"))
    asked, failed, retries = (
        count(result, "attempts_asked") or len(attempts),
        count(result, "attempts_failed"),
        count(result, "retries_count"),
    )
    kinds = [attempt["error"] for attempt in attempts if attempt.get("error")]
    again = [retry for attempt in attempts for retry in maps(attempt.get("retries"))]
    said = []
    if failed:
        said.append(view.text("net_attempts_failed", failed=failed, asked=asked, kinds=_counted(view, kinds)))
    if retries:
        said.append(view.text("net_retries", n=retries, kinds=_counted(view, again)))
    return joined(view, said)


def errors_of(view, step):
    """3 % failed: 12 × no answer in time, connection broken off; "" where nothing did."""
    errors = step.get("errors") if isinstance(step.get("errors"), dict) else {}
    known = [(_kind(view, kind), count(errors, kind)) for kind in list(errors)[:20] if count(errors, kind)]
    share = amount(step, "error_fraction")
    if not known and not share:
        return ""
    shown = human(round(min(share, 1.0), 3), "fraction", view.language) if share else sum(number for _kind, number in known)
    return view.text("net_errors", share=shown, kinds=_times(view, known))


def resent_of(view, step):
    """How many requests were sent a second time, which is no failure; "" where none was."""
    again = count(step, "resent")
    return view.text("net_resent", n=again) if again else ""


def weak_words(view, result):
    """That a test was made against the audit's own peer, or within the host: such a figure says less."""
    found = (
        ("peer", result.get("storage") == "peer" or result.get("stand_in") is True),
        ("own_address", result.get("own_address") is True),
    )
    return [messages.text(view.language, "finding." + name) for name, is_so in found if is_so]
