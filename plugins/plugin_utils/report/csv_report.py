# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""report.csv: a row a host and check, for a spreadsheet. A host that was never judged has one row that says why.

A figure of a network measurement that no check judges has a row too: the metric stands where a check's name does, and the status is empty.

UTF-8 with a byte order mark (Excel reads Chinese only so); a text that a spreadsheet would run as a formula gets a leading
apostrophe (OWASP, CSV injection). Numbers stay numbers, with their unit in a column of their own.
"""

from __future__ import annotations

import csv
import io

from . import network_record
from .clean import display, is_number

COLUMNS = (
    "host",
    "groups",
    "policy",
    "verdict",
    "item",
    "check",
    "title",
    "status",
    "actual",
    "required",
    "unit",
    "message",
    "advice",
    "source",
)
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def pieces(view, documents=None, inputs=None):
    """The text of the file, a few rows at a time. `documents` and `inputs` are functions: host name -> its document or None."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    buffer.write("\ufeff")
    writer.writerow(COLUMNS)
    for name, host in zip(view.names, view.report["hosts"]):
        first = [
            _text(name),
            _text(", ".join(str(group) for group in host.get("groups") or [])),
            _text(host.get("policy")),
            _text(host.get("verdict")),
        ]
        findings = view.findings(host)
        for check, finding in findings:
            writer.writerow(
                first
                + [
                    _text(check.item),
                    _text(check.key),
                    _text(check.title),
                    _text(finding.get("status")),
                    _value(finding.get("actual")),
                    _text(view.required(check, finding)),
                    _text(check.unit),
                    _text(view.message(finding)),
                    _text(view.advice(check, finding)),
                    _text(view.sources(finding, check)),
                ]
            )
        judged = {check.metric for check, _finding in findings}
        form = ((inputs(host.get("name")) if inputs else None) or {}).get("workload")
        figures = network_record.figures(view, host, documents(host.get("name")) if documents else None, form)
        for metric, title, value, unit, said in figures:
            if metric not in judged:
                row = ["network", metric, _text(title), "", _value(value), "", unit, _text(said), "", ""]
                writer.writerow(first + row)
        if not findings and not figures:
            writer.writerow(first + ["", "", "", "", "", "", "", _text(view.reason(host)), "", ""])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()


def _text(value):
    raw = "" if value is None else str(value)
    shown = display(raw)
    return "'" + shown if raw.lstrip(" \u00a0\u3000").startswith(_FORMULA) else shown


def _value(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if is_number(value):
        return value
    if isinstance(value, (list, tuple)):
        return _text(", ".join(str(item) for item in value))
    return _text(value)
