# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""From findings to checklist items and from those to the one word that a host is."""

from __future__ import annotations

from .words import CHECKLIST, ITEMS

VERDICTS = ("ready", "ready_with_warnings", "unproven", "not_ready", "unreachable", "error", "not_tried")
# Worst last; the gate refuses from a level on.
GATES = {
    "fail": frozenset(("not_ready", "error", "not_tried", "unreachable")),
    "unproven": frozenset(("not_ready", "error", "not_tried", "unreachable", "unproven")),
    "warn": frozenset(("not_ready", "error", "not_tried", "unreachable", "unproven", "ready_with_warnings")),
}


def refuses(gate, verdict):
    """Whether a gate level (fail, unproven, warn) refuses a verdict. KeyError for another level."""
    return verdict in GATES[gate]


def item_status(findings, asked=True):
    """The status of one item of [finding]: fail, unknown, warn, pass or not_applicable. A waived finding counts as pass.

    Unknown where an answering check is, or where nothing of the item is known at all: unknown is never folded into pass. `asked`: whether
    the policy has a check that answers the item; what nobody asks isn't answered either.
    """
    statuses = [finding["status"] for finding in findings]
    known = [status for status in statuses if status != "not_applicable"]
    if "fail" in known:
        return "fail"
    if not asked:
        return "unknown"
    if not known:
        return "not_applicable"
    if any(finding["status"] == "unknown" and finding.get("answers") for finding in findings) or all(
        status == "unknown" for status in known
    ):
        return "unknown"
    return "warn" if "warn" in known else "pass"


def asked(checks):
    """Those of the five items that a policy's checks ({id: check}) ask: some check of them is on and answers, if only for other work."""
    return frozenset(check["item"] for check in checks.values() if check["enabled"] and check["answers"]).intersection(CHECKLIST)


def checklist(findings, items, asked_items=CHECKLIST):
    """{item: status}: always the five, others where the policy has checks on them.

    `items` maps check id to item; `asked_items` is what asked() gives.
    """
    grouped = {}
    for finding in findings:
        grouped.setdefault(items[finding["check"]], []).append(finding)
    return {
        item: item_status(grouped.get(item, ()), item not in CHECKLIST or item in asked_items)
        for item in ITEMS
        if item in CHECKLIST or item in grouped
    }


def decide(findings, statuses, items):
    """The verdict of a host that was judged: not_ready, unproven, ready_with_warnings or ready."""
    kinds = {finding["status"] for finding in findings}
    if "fail" in kinds:
        return "not_ready"
    unknown = sum(1 for item in CHECKLIST if statuses.get(item) == "unknown")
    health_unknown = any(
        finding["status"] == "unknown" and finding.get("answers") and items[finding["check"]] == "health" for finding in findings
    )
    if unknown >= 2 or health_unknown:
        return "unproven"
    if "warn" in kinds or "waived" in kinds or unknown:
        return "ready_with_warnings"
    return "ready"
