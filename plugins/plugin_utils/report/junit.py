# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""junit.xml for a pipeline: a suite a host, a case a check.

fail -> failure; unknown -> error where the check answers its item, else skipped; waived and not_applicable -> skipped;
warn -> passed, with the warning under system-out. A host that was not judged has one case, `host`, with an error.
"""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from .clean import display, is_number
from .figures import exact, human
from .view import NOT_JUDGED


def pieces(view):
    """The text of the file, a suite at a time. The totals stand first, so every suite is counted before the first is written."""
    totals = [_counts(view, host) for host in view.report["hosts"]]
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    name = _attribute("gpu_audit " + str(view.report["run"].get("id") or ""))
    yield f"<testsuites name={name}{_numbers([sum(column) for column in zip(*totals)] or [0] * 4)}>\n"
    for name, host, counts in zip(view.names, view.report["hosts"], totals):
        yield "".join(_suite(view, name, host, counts))
    yield "</testsuites>\n"


def _attribute(value):
    return quoteattr(display(value))


def _numbers(counts):
    return ' tests="{}" failures="{}" errors="{}" skipped="{}" time="0"'.format(*counts)


def _kind(finding):
    status = finding.get("status")
    if status == "fail":
        return "failure"
    if status == "unknown":
        return "error" if finding.get("answers") else "skipped"
    if status in ("waived", "not_applicable"):
        return "skipped"
    return status if status in ("pass", "warn") else "error"


def _counts(view, host):
    if host.get("verdict") in NOT_JUDGED or not host.get("findings"):
        return [1, 0, 1 if host.get("verdict") in NOT_JUDGED else 0, 0]
    kinds = [_kind(finding) for _check, finding in view.findings(host)]
    return [len(kinds), kinds.count("failure"), kinds.count("error"), kinds.count("skipped")]


def _suite(view, name, host, counts):
    stamp = str(view.report["run"].get("finished") or "").removesuffix("Z")
    yield f"  <testsuite name={_attribute(name)}{_numbers(counts)} timestamp={_attribute(stamp)}>\n    <properties>\n"
    hardware = host.get("hardware") or {}
    properties = {
        "verdict": host.get("verdict"),
        "reason": view.reason(host),
        "policy": host.get("policy"),
        "groups": ", ".join(map(str, host.get("groups") or [])),
        "gpus": view.gpu_label(host),
        "driver_version": hardware.get("driver_version"),
    }
    for key, value in properties.items():
        if value:
            yield f"      <property name={_attribute(key)} value={_attribute(value)}/>\n"
    yield "    </properties>\n"
    if host.get("verdict") in NOT_JUDGED or not host.get("findings"):
        yield f'    <testcase classname={_attribute(name)} name="host" time="0">'
        if host.get("verdict") in NOT_JUDGED:
            yield f"<error type={_attribute(host.get('verdict'))} message={_attribute(view.reason(host) or view.verdict(host))}/>"
        yield "</testcase>\n"
    else:
        for check, finding in view.findings(host):
            yield _case(view, name, check, finding)
    yield "  </testsuite>\n"


def _case(view, name, check, finding):
    kind = _kind(finding)
    head = f'    <testcase classname={_attribute(name)} name={_attribute(check.key)} time="0">'
    if kind == "pass":
        return head + "</testcase>\n"
    message = str(view.message(finding) or check.title)
    if kind == "skipped":
        return f"{head}<skipped message={_attribute(message)}/></testcase>\n"
    actual = human(finding.get("actual"), check.unit, view.language)
    lines = [message, f"{view.text('actual')}: {display(actual)}", f"{view.text('required')}: {view.required(check, finding)}"]
    stored = exact(finding.get("actual"), check.unit)
    if is_number(finding.get("actual")) and stored != actual:
        lines[1] += f" ({stored})"
    for label, value in (
        ("advice", view.advice(check, finding)),
        ("run_it", view.command(check, finding)),
        ("source", view.sources(finding)),
    ):
        if value:
            lines.append(f"{view.text(label)}: {value}")
    body = escape("\n".join(display(line) for line in lines))
    if kind == "warn":
        return f"{head}<system-out>{body}</system-out></testcase>\n"
    return f"{head}<{kind} type={_attribute(finding.get('status'))} message={_attribute(message)}>{body}</{kind}></testcase>\n"
