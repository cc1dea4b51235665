# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Who was slowest where one source served several hosts at once: a sentence for each run, hosts of different runs never compared."""

from __future__ import annotations

import datetime

from ..link_judging import CERTAINLY_SLOW, upper_median
from . import closing
from .figures import human
from .measured_charts import moment
from .network_record import TRANSFER, rate_of
from .network_words import amount, count, joined

MOST_RUNS = 5
# Runs that don't say when they were to begin belong together within so many seconds; the role's own lie at least 30 apart.
_SAME_SECONDS = 10


class Together:
    """Downloads of several hosts at once, filled a host at a time; `lines()` once."""

    def __init__(self):
        self._found = []

    def add(self, index, document):
        """Takes in the newest download at once that a host's document holds."""
        entry = closing.newest(
            document, TRANSFER, lambda result: result.get("direction") == "download" and count(result, "hosts_at_once") > 1
        )
        rate = rate_of(entry)
        if rate is not None:
            options = entry.get("options") if isinstance(entry.get("options"), dict) else {}
            begun = amount(options, "start_at")
            kind = (count(entry["result"], "hosts_at_once"), str(entry.get("target")), begun is not None)
            self._found.append((kind, begun if begun is not None else _begun(entry["result"]), rate, index, entry))

    def lines(self, view):
        """[(status, words, index of the slowest host)], the newest run first; none for a run of which one host alone is known."""
        runs = sorted((run for run in self._runs() if len(run) > 1), key=lambda run: run[0][1], reverse=True)[:MOST_RUNS]
        return [_line(view, run, is_only=len(runs) == 1) for run in runs]

    def _runs(self):
        """The downloads by the run that they were part of."""
        runs = []
        for found in sorted(self._found, key=lambda found: found[:4]):
            last = runs[-1][-1] if runs else None
            if last and last[0] == found[0] and found[1] - last[1] <= (0 if found[0][2] else _SAME_SECONDS):
                runs[-1].append(found)
            else:
                runs.append([found])
        return runs


def _begun(result):
    """Seconds since 1970 at which a download began by its host's own clock, 0.0 where it doesn't say."""
    try:
        return datetime.datetime.fromisoformat(str(result.get("local_time"))).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def _line(view, run, is_only):
    (hosts, _target, _told), _begun_at, rate, index, entry = min(run, key=lambda found: found[2:4])
    middle = upper_median(found[2] for found in run)
    others = view.text("map_other" if len(run) == 2 else "map_middle", rate=human(middle, "bytes_per_second", view.language))
    text = view.text(
        "map_together" if len(run) >= hosts else "map_together_some",
        n=len(run),
        hosts=hosts,
        rate=_of_alone(view, rate, amount(entry["result"], "alone_bytes_per_second")),
        others=joined(view, [others, "" if is_only else moment(view, entry)]),
    )
    return "warn" if rate < CERTAINLY_SLOW * middle else "pass", text, index


def _of_alone(view, rate, alone):
    """A rate, and its share of what the same host reached alone: that tells a slow host from a source that is too small."""
    said = human(rate, "bytes_per_second", view.language)
    return view.text("map_of_alone", rate=said, share=human(rate / alone, "fraction", view.language)) if alone else said
