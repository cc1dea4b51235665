# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""report.html: one file that is complete in itself and fetches nothing (its content security policy forbids it).

Matrix rows and everything of the first screen are plain HTML. What one host says in full is plain HTML too in a small fleet;
in a large one it lies deflated in the page until the host is opened. The facts always do.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import pathlib
import re
import zlib

import jinja2
from markupsafe import Markup

from . import charts, host_detail, link_map, marks
from .clean import display, for_html, json_for_script, natural, pick
from .view import (
    STATUSES,
    VERDICTS,
    causes,
    counts,
    item_text,
    short_model,
    status_text,
    unanswered,
    verdict_rank,
    verdict_text,
    without_serials,
)

SMALL_FLEET = 40
CAUSES_SHOWN = 4
HOSTS_NAMED = 60
ROWS_SHOWN = 200
FACTS_LIMIT_CHARACTERS = 1_000_000
PACKED_LIMIT_CHARACTERS = 30_000_000
_ASSETS = pathlib.Path(__file__).parent / "assets"
_SCRIPT_TEXTS = (
    "theme_auto",
    "theme_light",
    "theme_dark",
    "theme",
    "copied",
    "copy",
    "copy_failed",
    "group_other",
    "shown",
    "show_all",
    "cause_filter",
    "no_match",
    "facts_none",
    "facts_big",
    "facts_old_browser",
    "detail_old_browser",
    "loading",
    "yes",
    "no",
    "group_prefix",
    "facts_title",
)


@functools.lru_cache(maxsize=1)
def _environment():
    """Every value that a template prints is made showable, then escaped."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(_ASSETS)),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: value if isinstance(value, (Markup, int)) else display(value),
    )


def pieces(view, documents=None, inputs=None, hide_serials=False):
    """The text of the page, piece by piece. `documents` and `inputs` are functions: host name -> document or None."""
    hosts = view.report["hosts"]
    small = len(hosts) <= SMALL_FLEET
    order = sorted(range(len(hosts)), key=lambda index: (verdict_rank(hosts[index].get("verdict")), natural(view.names[index]), index))
    spread, links = charts.Distributions(view), link_map.FleetLinks(view)
    bodies, packed, room = {}, [""] * len(hosts), PACKED_LIMIT_CHARACTERS
    for index, host in enumerate(hosts):
        document = documents(host.get("name")) if documents else None
        form = inputs(host.get("name")) if inputs else None
        if hide_serials:
            form = without_serials(form)
        body = host_detail.fragment(view, host, document, form)
        facts = (document or {}).get("facts")
        spread.add(host, facts)
        links.add(index, host, document)
        line = _packed_facts(document, hide_serials) if facts else "-"
        if len(line) > room:
            line = "+"
        room -= len(line)
        if small:
            bodies[index] = Markup(body)
        else:
            line = f"{line} {_pack(body)}"
        packed[index] = line
    page = _environment().get_template("page.html.j2")
    cause_lines, open_lines = _cause_lines(view), _unanswered_lines(view)
    style, script = _asset("style.css") + marks.style(), _asset("page.js")
    yield from page.generate(
        view=view,
        t=view.text,
        report=view.report,
        run=view.report["run"],
        language=view.language,
        lang_tag="zh-CN" if view.language == "zh" else "en",
        style=Markup(style),
        style_hash=_hash(style),
        script=Markup(script),
        script_hash=_hash(script),
        early=Markup(_EARLY),
        early_hash=_hash(_EARLY),
        headline=_sentences(pick(view.report.get("headline"), view.language)),
        policies=_policies(view.report["run"]),
        bar=Markup(charts.verdict_bar(view.text("verdict_bar"), _verdict_counts(view, all_of_them=True))),
        verdicts=_verdict_counts(view),
        causes=cause_lines,
        causes_shown=CAUSES_SHOWN,
        hosts_named=HOSTS_NAMED,
        unanswered=open_lines,
        items=[(item, item_text(view.language, item)) for item in view.items],
        rows=_rows(view, order),
        order=order,
        hosts=hosts,
        bodies=bodies,
        statuses=[(status, status_text(view.language, status)) for status in STATUSES],
        charts=[(title, Markup(svg)) for title, svg in spread.charts()],
        links=Markup(links.html()),
        index=Markup(json_for_script(_index(view, order, cause_lines + open_lines))),
        packed=Markup("\n".join(packed)),
        small=small,
        finished=Markup(host_detail.time_html(view.report["run"].get("finished") or "")),
        command=lambda text: Markup(host_detail.command(view, text)),
        rows_shown=ROWS_SHOWN,
    )


# Runs before the first paint, so that a page is never drawn in the wrong colours.
_EARLY = (
    'document.documentElement.classList.add("js");try{var t=localStorage.getItem("gpu-audit-theme");'
    "if(t)document.documentElement.dataset.theme=t}catch(e){}"
)


def _asset(name):
    return (_ASSETS / name).read_text(encoding="utf-8")


def _hash(text):
    """The source expression of an inline block: https://www.w3.org/TR/CSP3/#grammardef-hash-source"""
    return Markup("'sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode() + "'")


def _policies(run):
    policies = run.get("policies") or []
    policies = policies.values() if isinstance(policies, dict) else policies
    return ", ".join(str(policy) for policy in policies)


def _pack(text):
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 6)).decode("ascii")


def _packed_facts(document, hide_serials):
    """The facts and measurements of a host, deflated; "+" where they are too big for a page."""
    kept = {key: document[key] for key in ("facts", "measurements", "stale_measurements") if document.get(key)}
    text = json.dumps(kept, separators=(",", ":"))
    if len(text) > FACTS_LIMIT_CHARACTERS:
        text = json.dumps(_cut(kept), separators=(",", ":"))
        if len(text) > FACTS_LIMIT_CHARACTERS:
            return "+"
    if hide_serials:
        text = json.dumps(without_serials(json.loads(text)), separators=(",", ":"))
    return _pack(text)


def _cut(value):
    """The same with every long text cut, with a mark."""
    if isinstance(value, dict):
        return {display(key, 200): _cut(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cut(item) for item in value]
    return display(value, 2000) if isinstance(value, str) and len(value) > 2000 else value


def _verdict_counts(view, all_of_them=False):
    """[(verdict, label, count)] best first; those that no host has only where asked for."""
    summary = view.report.get("summary") or {}
    counts = [(verdict, verdict_text(view.language, verdict), summary.get(verdict) or 0) for verdict in reversed(VERDICTS)]
    return counts if all_of_them else [entry for entry in counts if entry[2]]


_FIRST_SENTENCE = re.compile(r"(.+?(?:[。！？]|[.!?](?=\s|$)))\s*(.*)", re.S)


def _sentences(text):
    """(first sentence, the rest): the first is shown large or always, the rest small or when opened."""
    match = _FIRST_SENTENCE.fullmatch(text or "")
    return match.groups() if match else (text or "", "")


def _cause_lines(view):
    """What the first screen shows of each cause: what was found and the remedy's first sentence; all of it when opened."""
    lines = []
    for cause in causes(view):
        first, rest = _sentences(cause["advice"])
        lines.append(
            {
                "key": cause["key"],
                "status": cause["status"],
                "title": cause["title"],
                "detail": cause["detail"],
                "says": first,
                "command": cause["command"],
                "counts": counts(view, cause["hosts"], cause["gpus"], cause["frees"]),
                "hosts": cause["hosts"],
                "more": [rest] if rest else [],
            }
        )
    return lines


def _unanswered_lines(view):
    """The same shape for what has no answer: the items, then what to run; which checks and why when opened."""
    joiner = "、" if view.language == "zh" else ", "
    return [
        {
            "key": entry["key"],
            "status": "unknown",
            "title": joiner.join(entry["items"]),
            "detail": "",
            "command": entry["command"],
            "counts": counts(view, entry["hosts"]),
            "hosts": entry["hosts"],
            "more": [joiner.join(entry["checks"]), *entry["reasons"]],
            "says": entry["advice"] or joiner.join(entry["reasons"]),
        }
        for entry in unanswered(view)
    ]


def _rows(view, order):
    """The rows of the matrix as HTML. A mark's word is in the cell; the style sheet draws the shape over it."""
    words = {status: for_html(status_text(view.language, status)) for status in STATUSES}
    for place, index in enumerate(order):
        host = view.report["hosts"][index]
        verdict = host.get("verdict") if host.get("verdict") in VERDICTS else "error"
        checklist = host.get("checklist") or {}
        cells = "".join(
            f'<td class="c {checklist[item]}">{words[checklist[item]]}</td>'
            if checklist.get(item) in words
            else '<td class="c none">–</td>'
            for item in view.items
        )
        late = ' class="late"' if place >= ROWS_SHOWN else ""
        yield Markup(
            f'<tr{late} data-i="{index}"><th scope="row"><a href="#h{index}">{for_html(view.names[index])}</a></th>'
            f'<td class="v"><span class="vm {verdict}" aria-hidden="true"></span>{for_html(view.verdict(host))}</td>'
            f'<td class="g">{for_html(view.gpu_label(host))}</td>{cells}</tr>\n'
        )


def _index(view, order, lines):
    """What filtering, grouping and sorting need of each host, short: the script never reads it out of the table."""
    hosts = view.report["hosts"]
    of_host = {}
    for line in lines:
        for index in line["hosts"]:
            of_host.setdefault(index, []).append(line["key"])
    entries = []
    place = {index: at for at, index in enumerate(order)}
    for index, host in enumerate(hosts):
        loud = [check.title for check, finding in view.findings(host) if finding.get("status") in ("fail", "warn")]
        hardware = host.get("hardware") or {}
        searched = [view.names[index], view.gpu_label(host), view.verdict(host), display(hardware.get("driver_version"), 60), *loud]
        entries.append(
            {
                "n": view.names[index],
                "v": host.get("verdict") if host.get("verdict") in VERDICTS else "error",
                "m": _model(view, hardware),
                "g": [display(group, 80) for group in host.get("groups") or []],
                "o": place[index],
                "c": of_host.get(index, []),
                "s": " ".join(str(part) for part in searched).lower()[:600],
                "p": hardware.get("gpu_count") or 0,
            }
        )
    return {
        "hosts": entries,
        "texts": {key: _template_text(view, key) for key in _SCRIPT_TEXTS},
        "language": "zh-CN" if view.language == "zh" else "en",
        "verdicts": {verdict: verdict_text(view.language, verdict) for verdict in VERDICTS},
        "verdictOrder": list(VERDICTS),
        "statusOrder": [status_text(view.language, status) for status in STATUSES],
        "rowsShown": ROWS_SHOWN,
        "causes": {line["key"]: display(line["title"], 80) for line in lines},
    }


def _model(view, hardware):
    return short_model(hardware["gpu_name"]) if hardware.get("gpu_name") else ""


def _template_text(view, key):
    """A text with its placeholders still in it: the script fills them."""
    return view.text(key, **{name: "{" + name + "}" for name in ("n", "total", "mode", "cause", "prefix")})
