# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""gpu_audit.prom for node_exporter's textfile collector: HELP and TYPE once a metric, no timestamps, absent values left out.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
"""

from __future__ import annotations

import datetime

from .clean import display, is_number
from .view import STATUSES, VERDICTS

CODES = {"pass": 0, "waived": 1, "warn": 2, "unknown": 3, "fail": 4}


def pieces(view):
    """The text of the file, one metric family at a time, names and labels sorted."""
    run = view.report["run"]
    rows = sorted(zip(view.names, view.report["hosts"]), key=lambda row: row[0])
    codes = ", ".join(f"{code} {status}" for status, code in CODES.items())
    families = {
        "check_status": (
            f"Result of a check on a host: {codes}; a check that does not apply is left out.",
            lambda: _check_status(view, rows),
        ),
        "checklist_status": (
            f"State of a checklist item on a host: {codes}; an item that does not apply is left out.",
            lambda: _checklist(rows),
        ),
        "findings": ("Findings of a host by status.", lambda: _findings(rows)),
        "host_verdict": ("1 for the verdict that a host has, 0 for the others.", lambda: _host_verdict(rows)),
        "hosts": ("Hosts of the run by verdict.", lambda: _hosts(view)),
        "metric": (
            "Value of a metric on a host, in the unit that the label unit names; one that is not known is left out.",
            lambda: _metric(view, rows),
        ),
        "run_finished_timestamp_seconds": ("When the run was finished, seconds since 1970.", lambda: _moment(run.get("finished"))),
        "run_info": (
            "1; the labels say what was run.",
            lambda: [(_labels(collection_version=run.get("collection_version"), run=run.get("id")), 1)],
        ),
        "run_partial": ("1 when the run was interrupted before every host had been tried.", lambda: [("", 1 if run.get("partial") else 0)]),
        "run_started_timestamp_seconds": ("When the run was started, seconds since 1970.", lambda: _moment(run.get("started"))),
    }
    for name, (description, samples) in families.items():
        lines = [f"gpu_audit_{name}{labels} {_number(value)}\n" for labels, value in samples()]
        if lines:
            yield f"# HELP gpu_audit_{name} {description}\n# TYPE gpu_audit_{name} gauge\n"
            yield "".join(lines)


def _label(value):
    return display(value, 200).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _labels(**labels):
    return "{" + ",".join(f'{key}="{_label(value)}"' for key, value in sorted(labels.items()) if value not in (None, "")) + "}"


def _number(value):
    if isinstance(value, bool):
        return "1" if value else "0"
    return repr(value) if isinstance(value, float) else str(value)


def _moment(text):
    """Seconds since 1970 of an ISO time, nothing where there is none."""
    try:
        moment = datetime.datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return []
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.timezone.utc)
    seconds = moment.timestamp()
    return [("", int(seconds) if seconds == int(seconds) else seconds)]


def _hosts(view):
    summary = view.report.get("summary") or {}
    return [(_labels(verdict=verdict), summary[verdict]) for verdict in sorted(VERDICTS) if is_number(summary.get(verdict))]


def _host_verdict(rows):
    for name, host in rows:
        for verdict in sorted(set(VERDICTS) | ({host["verdict"]} if host.get("verdict") else set())):
            yield _labels(host=name, verdict=verdict), 1 if host.get("verdict") == verdict else 0


def _checklist(rows):
    for name, host in rows:
        for item, status in sorted((host.get("checklist") or {}).items()):
            if status in CODES:
                yield _labels(host=name, item=item), CODES[status]


def _findings(rows):
    for name, host in rows:
        found = [finding.get("status") for finding in host.get("findings") or []]
        for status in sorted(STATUSES):
            if found:
                yield _labels(host=name, status=status), found.count(status)


def _check_status(view, rows):
    for name, host in rows:
        for finding in _once(host):
            if finding.get("status") in CODES:
                check = view.check(finding.get("check"))
                yield _labels(check=check.key, host=name, item=check.item), CODES[finding["status"]]


def _once(host):
    """The findings of a host by check, one each: a series may stand in the file only once."""
    unique = {}
    for finding in host.get("findings") or []:
        kept = unique.get(finding.get("check"))
        if kept is None or CODES.get(finding.get("status"), -1) > CODES.get(kept.get("status"), -1):
            unique[finding.get("check")] = finding
    return [unique[key] for key in sorted(unique, key=str)]


def _metric(view, rows):
    for name, host in rows:
        for metric, value in sorted((host.get("metrics") or {}).items()):
            if is_number(value) or isinstance(value, bool):
                yield _labels(host=name, metric=metric, unit=view.unit(metric)), value
