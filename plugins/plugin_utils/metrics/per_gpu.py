# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reading one field over all GPUs: what answers, what isn't supported and what failed are kept apart."""

from __future__ import annotations

from .gpu import absent_everywhere
from .registry import gpu_label, mapping


def read(state, name, field, reader, gpus=None, none="absent.no_such_gpu"):
    """[(gpu, value)] of the GPUs that give the field, None after marking metric `name` absent.

    A field that no GPU supports makes the metric not applicable. One that failed or isn't permitted on any GPU makes it unknown, with the
    tool's own words, unless the caller already has a bad value from another GPU (see Reading.failed).
    """
    if not state.live:
        absent_everywhere(state, name)
        return None
    chosen = state.live if gpus is None else gpus
    if not chosen:
        state.not_applicable(name, none)
        return None
    reading = Reading(field, reader, chosen)
    if not reading.pairs:
        reading.mark(state, name)
        return None
    return reading


class Reading:
    """pairs [(gpu, value)]; failed: None or (gpu label, the tool's words) of the first GPU whose value could not be read."""

    def __init__(self, field, reader, gpus):
        self.field = field
        self.pairs = []
        self.failed = None
        for gpu in gpus:
            value = reader(gpu, field)
            if value is not None:
                self.pairs.append((gpu, value))
                continue
            why = mapping(gpu, "absent").get(field)
            invalid = gpu.get(field) is not None
            if invalid or (isinstance(why, str) and why != "not_supported"):
                self.failed = self.failed or (gpu_label(gpu), "not a usable value" if invalid else why[:200])

    def mark(self, state, name):
        """Marks the metric absent for what kept the field from being read."""
        if self.failed is None:
            state.not_applicable(name, "absent.not_supported")
        elif self.failed[1] == "not_permitted":
            state.unknown(name, "absent.not_permitted", field=self.field, error=self.failed[0])
        else:
            state.unknown(name, "absent.failed", field=self.field, where=self.failed[0], error=self.failed[1])


def put_count(state, name, reading, is_bad, show=None):
    """The number of GPUs whose value is bad, evidence for each; unknown when none is bad and some could not be read."""
    bad = [(gpu, value) for gpu, value in reading.pairs if is_bad(value)]
    if not bad and reading.failed:
        reading.mark(state, name)
        return
    state.value(name, len(bad), evidence(state, bad, show))


def evidence(state, pairs, show=None):
    """One entry a GPU: which, the value, the source."""
    return [{"what": gpu_label(gpu), "value": show(value) if show else value, "source": state.source} for gpu, value in pairs]
