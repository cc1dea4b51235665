# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The part of the page about one host: form, checklist, findings worst first, metrics, and a place for the facts.

Gives finished, escaped HTML; the page holds it as it is (small fleets) or packed until somebody opens the host (large ones).
"""

from __future__ import annotations

from .. import numbers, workload
from . import closing, network_charts
from .clean import breakable, for_html, pick
from .figures import exact, human
from .view import FIVE, item_text, status_text

_OPEN = ("fail", "unknown", "warn", "waived")


def fragment(view, host, document, inputs):
    """The HTML of one host's body. `document` and `inputs` may be None."""
    parts = [
        _facts_line(view, host, document),
        _errors(view, host),
        _checklist(view, host),
        closing.fragment(view, host, document, (inputs or {}).get("workload")),
        network_charts.fragment(view, host, document, (inputs or {}).get("workload")),
        _findings(view, host, (document or {}).get("facts")),
        _form(view, host, inputs),
    ]
    parts += [_metrics(view, host), _absent(view, host)]
    return "".join(part for part in parts if part)


def time_html(moment):
    """A moment as it is stored, marked so that the browser adds how long ago it was."""
    shown = for_html(str(moment).replace("T", " ").replace("Z", " UTC"), 60)
    return f'<time datetime="{for_html(moment, 60)}">{shown}</time>'


def _facts_line(view, host, document):
    said = [view.text("policy_line", policy=host.get("policy") or "–")]
    if host.get("groups"):
        said.append(view.text("groups_line", groups=", ".join(map(str, host["groups"]))))
    line = " · ".join(for_html(text) for text in said)
    if document and document.get("collected_at"):
        line += f" · {for_html(view.text('collected'))} {time_html(document['collected_at'])}"
    return f'<p class="meta">{line}</p>'


def _errors(view, host):
    errors = host.get("errors") or []
    if not errors:
        return ""
    lines = "".join(
        f"<li><code>{for_html(error.get('kind'), 60)}</code> {for_html(pick(error.get('message'), view.language))}</li>" for error in errors
    )
    return f'<h4>{for_html(view.text("errors"))}</h4><ul class="errors">{lines}</ul>'


def _checklist(view, host):
    checklist = host.get("checklist") or {}
    shown = [item for item in view.items if item in FIVE or item in checklist]
    if not checklist:
        return ""
    cells = "".join(
        f'<li><span class="m {for_html(checklist.get(item, "not_applicable"), 40)}" aria-hidden="true"></span>'
        f"<b>{for_html(item_text(view.language, item))}</b> "
        f"{for_html(status_text(view.language, checklist.get(item, 'not_applicable')))}</li>"
        for item in shown
    )
    return f'<h4>{for_html(view.text("checklist"))}</h4><ul class="checklist">{cells}</ul>'


def figure(value, unit, language):
    """A number for people; the stored value under the pointer."""
    shown = human(value, unit, language)
    stored = exact(value, unit)
    if numbers.is_number(value) and stored != shown:
        return f'<data value="{for_html(value)}" title="{for_html(stored)}">{for_html(shown)}</data>'
    return for_html(shown, 300)


def _finding_row(view, check, finding, facts):
    status = finding.get("status")
    row = (
        f'<tr class="f"><td><span class="m {for_html(status, 40)}" aria-hidden="true"></span>'
        f"{for_html(status_text(view.language, status))}</td>"
        f'<th scope="row">{for_html(check.title)} <code>{for_html(check.key, 120)}</code></th>'
        f'<td class="num" data-l="{view.text("actual")}">{figure(finding.get("actual"), check.unit, view.language)}</td>'
        f'<td class="num" data-l="{view.text("required")}">{for_html(view.required(check, finding) or "–", 300)}</td>'
        f'<td class="src" data-l="{view.text("source")}">{for_html(view.sources(finding, check, facts) or "–", 300)}</td></tr>'
    )
    if status not in _OPEN and not view.message(finding):
        return row
    advice = view.advice(check, finding)
    row += f'<tr class="say"><td></td><td colspan="4"><p>{for_html(view.message(finding))}</p>'
    if advice:
        row += f'<p class="advice">{for_html(advice)}</p>'
    if view.command(check, finding):
        row += command(view, check.command)
    return row + "</td></tr>"


def command(view, text):
    """A command with its copy button."""
    shown = for_html(text)
    return (
        f'<div class="cmd"><code>{shown}</code>'
        f'<button type="button" class="copy" aria-label="{for_html(view.text("copy_label", command=text))}">'
        f"{for_html(view.text('copy'))}</button></div>"
    )


def _table(view, rows):
    heads = "".join(f'<th scope="col">{for_html(view.text(key))}</th>' for key in ("status", "check", "actual", "required", "source"))
    return f'<div class="wide"><table class="findings"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'


def _findings(view, host, facts):
    found = view.findings(host)
    if not found:
        return "" if host.get("errors") else f'<p class="quiet">{for_html(view.text("findings_none"))}</p>'
    loud = [_finding_row(view, *pair, facts) for pair in found if pair[1].get("status") in _OPEN]
    calm = [_finding_row(view, *pair, facts) for pair in found if pair[1].get("status") not in _OPEN]
    html = f"<h4>{for_html(view.text('findings'))}</h4>"
    if loud:
        html += _table(view, "".join(loud))
    if calm:
        title = for_html(view.text("passed_checks", n=len(calm)))
        html += f'<details class="fold"><summary>{title}</summary>{_table(view, "".join(calm))}</details>'
    return html


def _form(view, host, inputs):
    form = (inputs or {}).get("workload") or {}
    missing = host.get("missing_form") or []
    if not form and not missing:
        return ""
    html = f"<h4>{for_html(view.text('form'))}</h4>"
    if form:
        lines = ""
        for key, value in form.items():
            field = workload.ARGUMENT_SPEC.get(key) or {}
            about = pick(field.get("description"), view.language)
            shown = figure(value, field.get("unit"), view.language)
            lines += f'<div><dt title="{for_html(about)}">{for_html(key, 80)}</dt><dd>{shown}</dd></div>'
        html += f'<dl class="form">{lines}</dl>'
    elif inputs is not None:
        html += f'<p class="quiet">{for_html(view.text("form_none"))}</p>'
    if missing:
        html += f'<p class="quiet">{for_html(view.text("form_missing", fields=", ".join(map(str, missing))))}</p>'
    return html


def _metrics(view, host):
    rows = ""
    metrics = host.get("metrics") or {}
    for name, value in metrics.items():
        unit = view.unit(name)
        rows += f'<tr><th scope="row"><code>{breakable(for_html(name, 120))}</code></th>'
        rows += f'<td class="num">{for_html(human(value, unit, view.language), 300)}</td>'
        # Its unit may be as long as a name.
        rows += f'<td class="num">{for_html(exact(value, unit), 300).replace("_", "_<wbr>")}</td></tr>'
    return _folded(view, "metrics_title", ("metric", "value", "exact"), rows, len(metrics))


def _absent(view, host):
    rows = ""
    absent = host.get("absent") or {}
    for name, reason in absent.items():
        rows += f'<tr><th scope="row"><code>{breakable(for_html(name, 120))}</code></th><td>{for_html(pick(reason, view.language))}</td></tr>'
    return _folded(view, "absent_title", ("metric", "reason"), rows, len(absent))


def _folded(view, title, heads, rows, count):
    """A folded table with its count in the title, nothing where there are no rows."""
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{for_html(view.text(key))}</th>' for key in heads)
    return (
        f'<details class="fold"><summary>{for_html(view.text(title))} ({count})</summary>'
        # Wider than a phone where a value is one long word: the keyboard scrolls it too.
        f'<div class="wide" tabindex="0"><table class="plain"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>'
    )
