# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Why pairs of a link test failed, in words, equal ones together."""

from __future__ import annotations

import collections

from .. import complaints
from .clean import brief
from .network_words import kind_of

# Of an error so many characters stand in a list.
MOST_WORDS = 240

# `kind`: what it has in common with others whose addresses differ; `words`: what it says itself.
Fault = collections.namedtuple("Fault", "kind words")


def message(entry):
    """What an entry with an `error` says of it, as it is stored; "" where it has none."""
    error = entry.get("error")
    if isinstance(error, dict):
        return brief(error.get("message") or error.get("kind") or "?", MOST_WORDS)
    return brief(error, MOST_WORDS) if error else ""


def fault(view, pair):
    """The Fault of a pair in the report's language; None where it has no error."""
    error = pair.get("error")
    if not error:
        return None
    kind = kind_of(view, error) if isinstance(error, dict) and error.get("kind") else ""
    said = error.get("message") if isinstance(error, dict) else error
    words = brief(complaints.say(said, view.language), MOST_WORDS) if said else ""
    if kind and words and view.language == "zh" and words == brief(said, MOST_WORDS):
        # A tool's own words.
        words = view.text("named", name=kind, said=words)
    return Fault(kind or words or "?", words or kind or "?")


def together(found):
    """[(one, [others], words)] of {(one, other): Fault}: pairs that share a host and a kind of fault are one line, the longest lines first."""
    kinds = {}
    for pair, each in found.items():
        kinds.setdefault(each.kind, {})[pair] = each.words
    lines = []
    for kind, pairs in kinds.items():
        while pairs:
            counts = collections.Counter(name for pair in pairs for name in pair)
            one = min(counts, key=lambda name: (-counts[name], name))
            taken = {pair: pairs.pop(pair) for pair in sorted(pairs) if one in pair}
            others = [other for pair in taken for other in pair if other != one]
            lines.append((one, others, taken.popitem()[1] if len(set(taken.values())) == 1 else kind))
    return sorted(lines, key=lambda line: (-len(line[1]), line[0], line[1]))
