# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What every report format needs of report.json: orders, shown names, findings joined with their checks, serials taken out."""

from __future__ import annotations

import re

from .. import findings as judged, messages, verdict_table
from ..metrics.registry import DEFINITIONS
from ..words import LANGUAGES
from . import texts
from .clean import display, display_names, pick
from .figures import requirement

FIVE = ("vram", "compute", "memory", "storage", "network")
AROUND = ("health", "software", "power", "cost", "utilisation")
ITEMS = FIVE + AROUND
VERDICTS = ("not_ready", "error", "unreachable", "not_tried", "unproven", "ready_with_warnings", "ready")
STATUSES = ("fail", "unknown", "warn", "waived", "pass", "not_applicable")
NOT_JUDGED = ("unreachable", "error", "not_tried")

_SECRET_KEYS = frozenset(("uuid", "serial", "mac", "machine_id", "boot_id", "fabric_cluster_uuid", "gpu_uuids", "serial_number"))
_SECRET_TEXT = re.compile(
    r"\b(?:GPU|MIG)-(?:GPU-)?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?:/\d+/\d+)?"
    r"|\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"
    r"|(?<![0-9a-fA-F:])[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}(?:(?::[0-9a-fA-F]{2}){2}|(?::[0-9a-fA-F]{2}){14})?(?![0-9a-fA-F:])"
)
HIDDEN = "[hidden]"


def status_rank(status):
    """Worst first; a status nobody knows comes with the unknown ones."""
    return STATUSES.index(status) if status in STATUSES else 1


def verdict_rank(verdict):
    """Worst first; a verdict nobody knows comes with the errors."""
    return VERDICTS.index(verdict) if verdict in VERDICTS else 1


def _capital(text):
    return text[:1].upper() + text[1:]


def verdict_text(language, verdict):
    return _capital(messages.text(language, "verdict." + verdict)) if verdict in VERDICTS else display(verdict, 40)


def status_text(language, status):
    return messages.text(language, "status." + status) if status in STATUSES else display(status, 40)


def _item_rank(item):
    return ITEMS.index(item) if item in ITEMS else len(ITEMS)


def item_text(language, item):
    return _capital(messages.text(language, "item." + item)) if item in ITEMS else display(item, 40)


def items_shown(report):
    """The five, then those around them that any host has an answer for, then items that a user's own policy invented."""
    present = {}
    for host in report["hosts"]:
        for item, status in (host.get("checklist") or {}).items():
            if status != "not_applicable":
                present[item] = True
    return list(FIVE) + [item for item in AROUND if item in present] + sorted(item for item in present if item not in ITEMS)


def short_model(name):
    """A GPU's name without the maker's: every one here is the same maker's."""
    return " + ".join(part.removeprefix("NVIDIA ") for part in display(name, 160).split(" + "))


class Check:
    """One entry of `checks`, its texts chosen for the language."""

    def __init__(self, key, entry, language):
        entry = entry or {}
        self.key = key
        self.item = entry.get("item") or ""
        self.title = pick(entry.get("title"), language) or key
        self.advice = pick(entry.get("advice"), language)
        self.command = pick(entry.get("command"), language)
        self.unit = entry.get("unit") or ""
        self.metric = entry.get("metric") or key
        self.source = pick(entry.get("source"), language)


class View:
    """A report read once for one language: `.report .language .names .checks .items`."""

    def __init__(self, report, language):
        self.report = report
        self.language = language if language in LANGUAGES else "en"
        self.names = display_names([host.get("name") for host in report["hosts"]])
        self.items = items_shown(report)
        self._checks = {key: Check(key, entry, self.language) for key, entry in (report.get("checks") or {}).items()}
        self._units = {check.metric: check.unit for check in self._checks.values()}

    def text(self, key, **params):
        return texts.text(self.language, key, **params)

    def check(self, key):
        """The check of a finding; one that the report doesn't describe is shown by its id."""
        if key not in self._checks:
            self._checks[key] = Check(key, {}, self.language)
        return self._checks[key]

    def unit(self, metric):
        """The unit of a metric: of the report's own checks, else of the register; "" for one that neither knows."""
        return self._units.get(metric) or (DEFINITIONS.get(metric) or {}).get("unit", "")

    def findings(self, host):
        """(check, whole finding), worst first, then in checklist order."""
        checks = self.report.get("checks") or {}
        pairs = [(self.check(finding.get("check")), judged.complete(finding, host, checks)) for finding in host.get("findings") or []]
        return sorted(pairs, key=lambda pair: (status_rank(pair[1].get("status")), _item_rank(pair[0].item)))

    def required(self, check, finding):
        required = finding.get("required")
        return "" if required is None else requirement(required, check.unit, self.language)

    def advice(self, check, finding):
        """What to do. A check's own advice is for one that failed: it answers nothing that is unknown."""
        own = pick(finding.get("advice"), self.language)
        return own or (check.advice if finding.get("status") in ("fail", "warn") else "")

    def command(self, check, finding):
        """The command that belongs to the advice, where there is one."""
        return check.command if finding.get("status") in ("fail", "warn") else ""

    def message(self, finding):
        """What judging said, with the waiver where there is one."""
        said = pick(finding.get("message"), self.language)
        waiver = finding.get("waiver")
        if not waiver:
            return said
        reason = waiver.get("reason") or "" if isinstance(waiver, dict) else str(waiver)
        expires = waiver.get("expires") if isinstance(waiver, dict) else None
        note = self.text("waiver_until", expires=expires, reason=reason) if expires else self.text("waiver", reason=reason)
        return f"{said} {note}".strip()

    def sources(self, finding, check=None, facts=None):
        """Where the numbers came from, each place once.

        The evidence of a finding that passes isn't kept: there the facts that its metric is made of stand, with the host's own sources of
        them where `facts` are at hand.
        """
        seen = {}
        for entry in finding.get("evidence") or []:
            if isinstance(entry, dict) and entry.get("source"):
                seen[display(entry["source"], 200)] = True
            elif isinstance(entry, str):
                seen[display(entry, 200)] = True
        if not seen and check is not None and finding.get("status") == "pass":
            for source in (DEFINITIONS.get(check.metric) or {}).get("inputs", ()):
                seen[_source_of(source, facts)] = True
        return ", ".join(seen)

    def reason(self, host):
        """One line of why the host has its verdict."""
        reason = pick(host.get("reason"), self.language)
        if reason:
            return reason
        return "; ".join(str(pick(error.get("message"), self.language)) for error in host.get("errors") or [])

    def gpu_label(self, host):
        """`8 × NVIDIA H100`, or what is known of it."""
        hardware = host.get("hardware") or {}
        name, count = hardware.get("gpu_name"), hardware.get("gpu_count")
        if count == 0:
            # What doesn't answer isn't proved absent by a PCI that shows nothing.
            state = hardware.get("gpu_state")
            return self.text("no_gpu") if state in (None, "no_hardware") else verdict_table.describe_gpus(0, None, state, self.language)
        if name:
            return f"{count} × {short_model(name)}" if count else short_model(name)
        return self.text("gpus", n=count) if count else ""

    def verdict(self, host):
        return verdict_text(self.language, host.get("verdict"))


def _source_of(source, facts):
    """The place that a metric's input ("gpu.gpus[].ecc_mode") came from on this host, the input's own name where that isn't known."""
    subject, _dot, field = source.partition(".")
    document = facts.get(subject) if isinstance(facts, dict) else None
    if not isinstance(document, dict):
        return source
    places = document.get("sources")
    place = document.get("source") if subject == "gpu" else places.get(re.split(r"[.\[]", field)[0]) if isinstance(places, dict) else None
    return display(place, 200) if isinstance(place, str) and place else source


def report_without_serials(report):
    """The report without serial numbers, UUIDs and MAC addresses; a host keeps its inventory name and groups, whatever they look like."""
    hidden = without_serials(report)
    for bare, host in zip(hidden["hosts"], report["hosts"]):
        bare.update({key: host[key] for key in ("name", "groups") if key in host})
    return hidden


def without_serials(value):
    """A copy without serial numbers, UUIDs and MAC addresses: such fields become null, such words in texts become a mark."""
    if isinstance(value, dict):
        return {key: None if key in _SECRET_KEYS else without_serials(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_serials(item) for item in value]
    if isinstance(value, str) and len(value) >= 17:
        return _SECRET_TEXT.sub(HIDDEN, value)
    return value


def causes(view):
    """`causes` of the report for reading: [{"key", "status", "title", "detail", "advice", "command", "hosts", "gpus", "frees"}]."""
    said = []
    for number, cause in enumerate(view.report.get("causes") or []):
        said.append(
            {
                "key": f"c{number}",
                "status": cause.get("status") if cause.get("status") in STATUSES else "fail",
                "title": pick(cause.get("title"), view.language) or str(cause.get("check") or ""),
                "hosts": _indexes(view, cause),
                "gpus": cause.get("gpus") or 0,
                # A warning holds nobody back.
                "frees": None if cause.get("status") == "warn" else cause.get("frees") or 0,
                **{key: pick(cause.get(key), view.language) or "" for key in ("detail", "advice", "command")},
            }
        )
    return said


def unanswered(view):
    """What couldn't be answered, joined by what would answer it: [{"key", "items", "checks", "reasons", "advice", "command", "hosts"}]."""
    joined = {}
    for entry in view.report.get("unanswered") or []:
        check = view.check(entry.get("check"))
        advice, command = pick(entry.get("advice"), view.language) or "", pick(entry.get("command"), view.language) or ""
        said = joined.setdefault(
            (advice or check.key, command), {"items": {}, "checks": {}, "reasons": {}, "advice": advice, "command": command, "hosts": {}}
        )
        said["items"][entry.get("item") or check.item] = True
        if check.key:
            said["checks"][check.title] = True
        said["reasons"][pick(entry.get("reason"), view.language) or ""] = True
        said["hosts"].update(dict.fromkeys(_indexes(view, entry)))
    ordered = sorted(joined.values(), key=lambda said: -len(said["hosts"]))
    return [
        {
            **said,
            "key": f"u{number}",
            "items": [item_text(view.language, item) for item in sorted(said["items"], key=_item_rank)],
            "checks": list(said["checks"]),
            "reasons": [text for text in said["reasons"] if text],
            "hosts": sorted(said["hosts"]),
        }
        for number, said in enumerate(ordered)
    ]


def _indexes(view, entry):
    return [index for index in entry.get("hosts") or [] if isinstance(index, int) and 0 <= index < len(view.names)]


def counts(view, hosts, gpus=0, frees=None):
    """`3 hosts · 14 GPUs · frees 2`: the causes are ordered by that; without it where `frees` is None."""
    said = [view.text("hosts", n=len(hosts))]
    if gpus:
        said.append(view.text("gpus", n=gpus))
    if frees is not None:
        said.append(view.text("frees", n=frees) if frees else view.text("frees_none"))
    return " · ".join(said)
