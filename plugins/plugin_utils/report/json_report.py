# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Writes report.json as a stream: a thousand hosts never lie in memory together."""

from __future__ import annotations

import json
import math

from .files import write_text


def write(path, report_head, host_entries, tail):
    """Write `{**report_head, "hosts": [...], **tail}`, a line a host.

    `host_entries` is any iterable; `tail` a dictionary, or a function without arguments that gives it once the last host is
    written (summary, headline, causes, unanswered). A number that JSON can't hold (NaN, infinity) is written as null: it is
    unknown. Text that isn't valid Unicode is written with escapes, so that nothing of it is lost.
    """
    write_text(path, _pieces(report_head, host_entries, tail))


def write_all(path, report):
    """Write a report dictionary that is in memory already."""
    late = ("causes", "unanswered", "summary", "headline")
    head = {key: value for key, value in report.items() if key != "hosts" and key not in late}
    write(path, head, report["hosts"], {key: report[key] for key in late if key in report})


def _pieces(head, hosts, tail):
    yield "{"
    for key, value in head.items():
        yield f"{encode(key)}:{encode(value)},\n"
    yield '"hosts":['
    separator = "\n"
    for host in hosts:
        yield separator + encode(host)
        separator = ",\n"
    yield "\n]"
    for key, value in (tail() if callable(tail) else tail).items():
        yield f",\n{encode(key)}:{encode(value)}"
    yield "}\n"


def encode(value):
    """Compact JSON that can be written as UTF-8."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        value = _finite(value)
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text


def _finite(value):
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
