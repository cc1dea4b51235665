# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""report.md: for a chat, a ticket or a wiki. Headline, causes, what is unanswered, a row a host, then the findings that aren't a pass."""

from __future__ import annotations

import re

from . import closing, network_record
from .clean import display, pick
from .figures import human
from .view import VERDICTS, causes, counts, item_text, status_text, unanswered, verdict_text

SMALL_FLEET = 50
FINDINGS_LIMIT = 200
NAMES_LIMIT = 12
# Letters of what a finding says.
MESSAGE_LIMIT = 2000
MARKS = {"pass": "✓", "warn": "▲", "fail": "✗", "unknown": "?", "waived": "◇", "not_applicable": "–"}

_SPECIAL = re.compile(r"[\\`*_{}\[\]|~$]|://|\bwww\.|[<>&@#]")
_ENTITY = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;", "#": "&#35;", "://": "&#58;//", "www.": "www&#46;", "|": "&#124;"}


def plain(value, limit=400):
    """Text that a Markdown reader shows as it is: no link, no mention, no markup, no table cell, no HTML."""
    return _SPECIAL.sub(lambda match: _ENTITY.get(match.group(), "\\" + match.group()), display(value, limit)).strip()


def code(value, limit=400, cell=False):
    """A code span, whatever backticks are in it; in a table cell a bar is written so that it doesn't end the cell."""
    text = display(value, limit)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    if cell:
        text = text.replace("|", "\\|")
    return f"{fence}{pad}{text}{pad}{fence}"


def pieces(view, documents=None, inputs=None):
    """The text of the file, a section at a time. `documents` and `inputs` are functions: host name -> its document or None."""
    report, text = view.report, view.text
    run, summary = report["run"], report.get("summary") or {}
    yield f"# {text('title')}\n\n**{plain(pick(report.get('headline'), view.language), 1000)}**\n\n"
    if run.get("partial"):
        yield f"> {text('partial')}\n\n"
    shown = [f"{verdict_text(view.language, verdict)} {summary[verdict]}" for verdict in reversed(VERDICTS) if summary.get(verdict)]
    colon = text("colon")
    yield f"{text('md_counts')}{colon}{' · '.join(shown)}  \n"
    yield f"{text('run_finished')}{colon}{plain(run.get('finished'))} · {text('run_id')}{colon}{code(run.get('id') or '')}\n\n"
    yield from _causes(view)
    yield from _unanswered(view)
    yield from _matrix(view)
    yield from _records(view, documents)
    yield from _network(view, documents, inputs)
    yield from _findings(view)


def _some_hosts(view, indexes):
    names = [code(view.names[index]) for index in indexes[:NAMES_LIMIT] if 0 <= index < len(view.names)]
    return ", ".join(names) + (" …" if len(indexes) > NAMES_LIMIT else "")


def _causes(view):
    yield f"## {view.text('next_title')}\n\n"
    found = causes(view)
    if not found:
        yield view.text("next_none") + "\n\n"
    for number, cause in enumerate(found, 1):
        title = view.text("listed", name=f"**{plain(cause['title'])}**", note=counts(view, cause["hosts"], cause["gpus"], cause["frees"]))
        yield f"{number}. {title}  \n"
        for value in (cause["detail"], cause["advice"]):
            if value:
                yield f"   {plain(value, 1000)}  \n"
        if cause["command"]:
            yield f"   {view.text('run_it')}{view.text('colon')}{code(cause['command'])}  \n"
        yield f"   {_some_hosts(view, cause['hosts'])}\n"
    yield "\n"


def _unanswered(view):
    yield f"## {view.text('unanswered_title')}\n\n"
    entries = unanswered(view)
    if not entries:
        yield view.text("unanswered_none") + "\n"
    for entry in entries:
        joiner = "、" if view.language == "zh" else ", "
        title = view.text("listed", name=f"**{plain(joiner.join(entry['items']))}**", note=counts(view, entry["hosts"]))
        said = view.text(
            "sentences", first=plain(joiner.join(entry["checks"])), second=plain(entry["advice"] or "; ".join(entry["reasons"]), 1000)
        )
        yield f"- {title}{view.text('colon')}{said}{' ' + code(entry['command']) if entry['command'] else ''}\n"
    yield "\n"


def _matrix(view):
    titles = [view.text("host"), view.text("verdict"), view.text("gpu_column")] + [item_text(view.language, item) for item in view.items]
    yield f"## {view.text('matrix_title')}\n\n"
    yield " · ".join(f"{mark} {status_text(view.language, status)}" for status, mark in MARKS.items()) + "\n\n"
    yield "| " + " | ".join(plain(title) for title in titles) + " |\n|" + "---|" * 3 + ":-:|" * len(view.items) + "\n"
    for name, host in zip(view.names, view.report["hosts"]):
        checklist = host.get("checklist") or {}
        marks = [MARKS.get(checklist.get(item), " ") for item in view.items]
        yield "| " + " | ".join([code(name, cell=True), plain(view.verdict(host)), plain(view.gpu_label(host), 120)] + marks) + " |\n"
    yield "\n"


def _records(view, documents):
    """Of a small fleet: the closing record of each measured host, and what its measurements that pass must say of themselves."""
    if len(view.names) > SMALL_FLEET:
        return
    records = [
        (name, host, closing.of_host(view, host, documents(host.get("name")) if documents else None))
        for name, host in zip(view.names, view.report["hosts"])
    ]
    if any(record for _name, _host, record in records):
        yield f"## {view.text('md_record')}\n\n"
    for name, host, record in records:
        if not record:
            continue
        yield f"- {code(name)}\n"
        for title, shown, more, _status in record:
            yield f"  - {plain(title)}{view.text('colon')}**{plain(shown)}**{' · ' + plain(more) if more else ''}\n"
        for check, finding in view.findings(host):
            if finding.get("status") == "pass" and view.message(finding):
                yield f"  - {MARKS['pass']} {plain(view.text('named', name=check.title, said=view.message(finding)))}\n"
    if any(record for _name, _host, record in records):
        yield "\n"


def _network(view, documents, inputs):
    """Of a small fleet: the network record of each host that has one."""
    if len(view.names) > SMALL_FLEET or not documents:
        return
    begun = False
    for name, host in zip(view.names, view.report["hosts"]):
        measured = network_record.Measured(documents(host.get("name")))
        form = ((inputs(host.get("name")) if inputs else None) or {}).get("workload")
        rows = network_record.record(view, host, measured, form)
        if rows:
            yield ("" if begun else f"## {view.text('md_network')}\n\n") + f"- {code(name)}\n"
            begun = True
        for title, shown, more, status in rows:
            said = f"{plain(title)}{view.text('colon')}**{plain(shown)}**{' · ' + plain(more) if more else ''}"
            yield f"  - {MARKS[status]} {said}\n" if status in MARKS else f"  - {said}\n"
    if begun:
        yield "\n"


def _findings(view):
    """Small fleets: all that isn't a pass. Large ones: failures and warnings, of at most FINDINGS_LIMIT hosts."""
    small = len(view.names) <= SMALL_FLEET
    wanted = ("fail", "unknown", "warn", "waived") if small else ("fail", "warn")
    yield f"## {view.text('md_findings')}\n\n"
    if not small:
        yield view.text("md_unknown_left_out") + "\n\n"
    written = left = 0
    for name, host in zip(view.names, view.report["hosts"]):
        found = [pair for pair in view.findings(host) if pair[1].get("status") in wanted]
        if not found and not host.get("errors"):
            continue
        if written >= FINDINGS_LIMIT:
            left += 1
            continue
        written += 1
        yield f"### {code(name)}{view.text('colon')}{plain(view.verdict(host))}\n\n" + "".join(_host_lines(view, host, found)) + "\n"
    if left:
        yield view.text("md_left_out", n=left) + "\n"


def _host_lines(view, host, found):
    for error in host.get("errors") or []:
        yield f"- {MARKS['fail']} {plain(pick(error.get('message'), view.language))}\n"
    for check, finding in found:
        status = finding.get("status")
        said = view.message(finding)
        # What judging says of a value names the check, the value and the limit; the reason of an unknown doesn't name its check.
        if finding.get("actual") is None or not said:
            said = view.text("named", name=check.title, said=said or human(finding.get("actual"), check.unit, view.language))
        advice = view.advice(check, finding)
        yield (
            f"- {MARKS.get(status, '?')} **{status_text(view.language, status)}** {plain(said, MESSAGE_LIMIT)}"
            + (f" *{plain(advice)}*" if advice else "")
            + "\n"
        )
