# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The register of metrics and the working state of one derivation; readers that survive any leaf value."""

from __future__ import annotations

from .. import workload
from ..leaves import NUMBER_LIMIT, TEXT_LIMIT, amount, flag, mapping, maps, number, sentence, text

__all__ = (
    "DEFINITIONS", "Derivation", "NUMBER_LIMIT", "TEXT_LIMIT", "amount", "define", "definition", "flag", "gpu_label", "mapping", "maps", "number", "sentence",
    "text",
)

DEFINITIONS = {}


def define(name, unit, formula, inputs=(), formula_zh="", good=None):
    """Registers a metric once, at import. `unit` is a key of numbers.UNITS; `good` is the word (of unit "word") that nothing is wrong
    with.
    """
    if name in DEFINITIONS:
        raise ValueError("metric %s is defined twice" % name)
    DEFINITIONS[name] = {"name": name, "unit": unit, "formula": formula, "formula_zh": formula_zh, "inputs": tuple(inputs), "good": good}


def definition(name):
    """The registered metric, KeyError when there is none."""
    return DEFINITIONS[name]


def gpu_label(gpu):
    """How people find the GPU again: "GPU 3 (00000000:41:00.0)"."""
    index = number(gpu, "index")
    bus_id = text(gpu, "bus_id")
    return "GPU %s%s" % ("?" if index is None else index, " (%s)" % bus_id if bus_id else "")


class Derivation:
    """Everything one derivation reads and writes. Metric modules call value(), unknown() or not_applicable() once for each of their
    names.
    """

    def __init__(self, document, inputs, now):
        facts = document.get("facts")
        self.facts = facts if isinstance(facts, dict) else {}
        self.document = document
        self.now = now
        self.form = workload.normalise(inputs.get("workload"))[0]
        self.expected = mapping(inputs, "expected")
        self.values = {}
        self.absent = {}
        self.gpu_document = mapping(self.facts, "gpu")
        self.gpus = maps(self.gpu_document, "gpus")
        self.live = [gpu for gpu in self.gpus if gpu.get("status") != "lost"]
        self.source = text(self.gpu_document, "source") or "gpu"
        platform = mapping(self.facts, "platform")
        self.platform = platform
        virtualization = text(platform, "virtualization")
        self.virtual = bool(virtualization and virtualization != "none") or platform.get("wsl") is True
        self.container = text(platform, "container")

    def value(self, name, value, evidence=()):
        self.values[name] = {"value": value, "evidence": list(evidence)}

    def unknown(self, name, reason, **params):
        self.absent[name] = {"status": "unknown", "reason": reason, "params": params}

    def unread(self, names, problem, field=None):
        """Unknown for what subject() said is wrong; where it said nothing, since this field of the facts holds nothing that is of use."""
        reason, params = problem or ("absent.unreadable", {"field": field})
        for name in names:
            self.unknown(name, reason, **params)

    def not_applicable(self, name, reason, **params):
        self.absent[name] = {"status": "not_applicable", "reason": reason, "params": params}

    def get(self, name):
        """The value of a metric derived before, None where it is absent."""
        found = self.values.get(name)
        return None if found is None else found["value"]

    def copy_absence(self, name, other, default=("unknown", "absent.needs_metric")):
        """Makes `name` absent for the same reason as `other`."""
        found = self.absent.get(other)
        self.absent[name] = dict(found) if found else {"status": default[0], "reason": default[1], "params": {"metric": other}}

    def subject(self, name):
        """(facts of a subject, None) or (None, (reason, params)) where it wasn't collected or crashed."""
        subject = self.facts.get(name)
        if not isinstance(subject, dict):
            return None, ("absent.not_collected", {"subject": name})
        if set(subject) == {"error"} or ("error" in subject and isinstance(subject["error"], str) and name != "gpu"):
            return None, ("absent.subject_failed", {"subject": name, "error": str(subject.get("error"))[:TEXT_LIMIT]})
        return subject, None

    def finish(self):
        """The two maps; a metric no module spoke of is unknown, which a test forbids for the shipped ones."""
        for name in DEFINITIONS:
            if name not in self.values and name not in self.absent:
                self.unknown(name, "absent.not_derived")
        return {"values": self.values, "absent": self.absent}
