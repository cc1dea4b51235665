# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The network part of a host: its record, transfers over time, latency against load, its own pairs; each chart beside a key in words."""

from __future__ import annotations

from ..metrics.transfer import DIRECTIONS
from . import closing, fabric_chart, line_charts, link_grid, link_map
from .clean import for_html
from .figures import human, short_time
from .measured_charts import figure, rate_ticks
from .network_record import Measured, acceptable, ascending_steps, knee_of, knee_words, load_words, rate_of, record, remarks
from .network_words import FASTEST, LONGEST, amount, count, errors_of, joined, kind_of, maps, resent_of, weak_words, words_of

_RATES = "bytes_per_second"
MOST_ATTEMPTS, MOST_SECONDS, MOST_WORDS = 12, 100_000, 6
QUANTILES = ("p50", "p95", "p99")
# Above this span a linear axis shows nothing of its small values.
_SPAN = 25


def fragment(view, host, document, form=None):
    """The record, the charts and the table of load steps as HTML; "" for a host whose network was never measured."""
    measured = Measured(document)
    rows = record(view, host, measured, form)
    if not rows:
        return ""
    form = form if isinstance(form, dict) else {}
    html = (
        f'<section class="closing network"><h4>{for_html(view.text("net_title"))}</h4>{closing.cells(rows)}'
        f'<p class="quiet">{closing.taken(view.language, *measured.sources())}</p></section>'
    )
    drawn = [
        _transfer(view, measured.upload, "upload", form),
        _transfer(view, measured.download, "download", form),
        _latency(view, measured.requests, form),
    ]
    charts = "".join(figure(*chart) for chart in drawn if chart) + link_map.strip(view, host, measured.links)
    charts += "".join(figure(*chart) for chart in fabric_chart.charts(view, host, measured.fabric))
    if charts:
        html += f'<div class="charts plots">{charts}</div>'
    return html + _steps(view, measured.requests)


# ------------------------------------------------------------------ transfers


def needed_of(form, direction):
    """(bytes per second that the form asks of a transfer, the field whose bytes those are); (None, None) where it doesn't say."""
    _speed, _ratio, field, unit, sizes = DIRECTIONS[direction]
    name = next((name for name in sizes if amount(form, name)), None)
    allowed = amount(form, field)
    rate = amount(form, name) / (allowed * unit) if name and allowed else None
    return (rate, name) if rate and 0 < rate < FASTEST else (None, None)


def _transfer(view, measurement, direction, form):
    """The rate in each whole second of each attempt, the average and the need."""
    if measurement is None:
        return None
    result, language = measurement["result"], view.language
    attempts = maps(result.get("attempts"))
    segments = [
        (_attempt_labels(view, number, attempt), _series(attempt), bool(attempt.get("error")))
        for number, attempt in enumerate(attempts[:MOST_ATTEMPTS], 1)
    ]
    values = [value for _labels, series, _failed in segments for value in series if value is not None]
    average, (needed, sized) = rate_of(measurement), needed_of(form, direction)
    if not values:
        # Nothing to draw: why is said all the same.
        key = _told(view, attempts, len(segments))
        return (view.text("net_chart_" + direction), "", key) if key else None
    key, limits = [("line", view.text("net_key_line", n=len(attempts)))], []
    if average is not None:
        shown = human(average, _RATES, language)
        key.append(("average", view.text("net_key_average", rate=shown)))
        limits.append(("average", average, view.text("net_average")))
    if needed:
        text = "net_key_need_" + ("checkpoint" if sized == "checkpoint_bytes" else direction)
        said = view.text(text, rate=human(needed, _RATES, language))
        # A need far above what was measured would press the rates to the ground: the words tell it then.
        if needed <= 4 * max(values):
            key.append(("needed", said))
            limits.append(("needed", needed, view.text("net_need")))
        else:
            key.append(("none", view.text("net_key_beyond", said=said)))
    key += _told(view, attempts, len(segments))
    key += [("none", words) for words in remarks(view, result) if words]
    title = view.text("net_chart_" + direction)
    top = max([*values, *(limit[1] for limit in limits)]) or 1.0
    said = "; ".join(text for _kind, text in key)
    end = view.text("net_axis_attempt")
    return title, line_charts.transfers(title, segments, rate_ticks(view, top), limits, end, said), key


def _series(attempt):
    """The rates of an attempt's whole seconds; one that had none has its average alone."""
    series = attempt.get("series")
    known = [amount({"rate": value}, "rate") for value in series[:MOST_SECONDS]] if isinstance(series, list) else []
    if not known and not attempt.get("error"):
        known = [amount(attempt, "bytes_per_second")]
    return known


def _attempt_labels(view, number, attempt):
    """What may stand below an attempt, the first that there is room for: its number and how long it took, or its number alone."""
    seconds = amount(attempt, "seconds", LONGEST)
    return ([f"{number} · {human(round(seconds, 1), 'seconds', view.language)}"] if seconds else []) + [str(number)]


def _told(view, attempts, drawn):
    """The attempts that failed, those of one reason together, and those that were tried again, as far as there is room."""
    failed, said = {}, []
    for number, attempt in enumerate(attempts, 1):
        error, retries = attempt.get("error"), maps(attempt.get("retries"))
        if error:
            failed.setdefault(_fault(view, error), []).append(number)
        if retries:
            words = ", ".join(dict.fromkeys(_fault(view, retry) for retry in retries[:3]))
            said.append(("none", view.text("net_attempt_retries", number=number, n=len(retries), words=words)))
    joint = "、" if view.language == "zh" else ", "
    said = [
        ("cross", view.text("net_attempt_failed", n=len(numbers), which=joint.join(map(str, numbers)), words=words))
        for words, numbers in failed.items()
    ] + said
    left = len(said) - MOST_WORDS
    said = said[:MOST_WORDS] + ([("none", view.text("net_more", n=left))] if left > 0 else [])
    return said + ([("none", view.text("net_first_attempts", n=drawn))] if len(attempts) > drawn else [])


def _fault(view, error):
    """What happened, in the words of the error; of one without words its kind."""
    return (words_of(error, view.language) if isinstance(error, dict) and error.get("message") else "") or kind_of(view, error)


# ------------------------------------------------------------------- requests


def _latency(view, measurement, form):
    """p50, p95 and p99 against the load, the acceptable latency across, the knee upright, failed requests as crosses."""
    if measurement is None:
        return None
    result, language = measurement["result"], view.language
    steps, by_rate = ascending_steps(result)
    lines = [(name, [amount(step, f"latency_{name}_seconds", LONGEST) for _load, step in steps]) for name in QUANTILES]
    values = [value for _name, line in lines for value in line if value is not None]
    limit, knee = acceptable(result, form), knee_of(result, form)
    if not values:
        return None
    key = []
    for name, line in lines:
        # Of the highest load that had answers.
        last = next((at for at in reversed(range(len(line))) if line[at] is not None), None)
        if last is not None:
            load = load_words(view, result, steps[last][1])
            key.append(("line " + name, view.text("net_key_quantile", name=name, seconds=short_time(line[last], language), load=load)))
    if limit:
        key.append(("fail", view.text("net_key_acceptable", seconds=short_time(limit, language))))
    if knee:
        at = next(step for load, step in steps if load == knee)
        key.append(("knee", view.text("net_key_knee", load=load_words(view, result, at))))
    elif knee_words(view, result, form):
        key.append(("none", knee_words(view, result, form)))
    columns = [(load, human(load, "", language), _failed_share(view, step)) for load, step in steps]
    for _load, step in steps:
        errors = errors_of(view, step)
        if errors:
            key.append(("cross", view.text("named", name=load_words(view, result, step), said=errors)))
    key += [("none", words) for words in (*_loop_words(view, result, by_rate), *weak_words(view, result))]
    positive = [value for value in values if value > 0]
    top = max(values + ([limit] if limit and limit <= 4 * max(values) else [])) or 1.0
    is_wide = bool(positive) and max(positive) > _SPAN * min(positive)
    ticks = line_charts.round_ticks(top, 1.0, min(positive) if is_wide else 0.0)
    ticks = [(value, short_time(value, language) if value else "0") for value in ticks]
    title = view.text("net_chart_latency_rate" if by_rate else "net_chart_latency")
    said = "; ".join([*(_step_words(view, result, step) for _load, step in steps[:20]), *(text for _kind, text in key)])
    axis = view.text("net_axis_rate" if by_rate else "net_axis_concurrency")
    limits = [("fail", limit, short_time(limit, language))] if limit else []
    drawn = line_charts.over_log(title, columns, lines, ticks, limits, knee, axis, said)
    return title, drawn, key


def _failed_share(view, step):
    share = amount(step, "error_fraction")
    if not share:
        errors = step.get("errors") if isinstance(step.get("errors"), dict) else {}
        return view.text("net_failed_some") if any(count(errors, kind) for kind in list(errors)[:20]) else ""
    return human(round(min(share, 1.0), 3), "fraction", view.language)


def _step_words(view, result, step):
    values = [(name, amount(step, f"latency_{name}_seconds", LONGEST)) for name in QUANTILES]
    shown = [f"{name} {short_time(value, view.language)}" for name, value in values if value is not None]
    return view.text("named", name=load_words(view, result, step), said=", ".join(shown) or "–")


def _loop_words(view, result, by_rate):
    """How the requests were sent."""
    rate = next((amount(step, "arrival_rate_per_second") for step in maps(result.get("steps"))), None)
    if result.get("loop") != "open":
        yield view.text("net_closed")
    elif by_rate or not rate:
        yield view.text("net_open")
    else:
        yield view.text("net_open_at", rate=human(rate, "", view.language))
    if any(step.get("queue_grows") is True for step in maps(result.get("steps"))):
        yield view.text("net_queue_grows")


_COLUMNS = (
    ("net_col_p50", "latency_p50_seconds"),
    ("net_col_p95", "latency_p95_seconds"),
    ("net_col_p99", "latency_p99_seconds"),
    ("net_col_max", "latency_max_seconds"),
    ("net_col_first", "time_to_first_token_p95_seconds"),
)


def _steps(view, measurement):
    """The steps of the load test as a table, folded."""
    if measurement is None:
        return ""
    result = measurement["result"]
    steps, _by_rate = ascending_steps(result)
    columns = [column for column in _COLUMNS if any(amount(step, column[1], LONGEST) is not None for _load, step in steps)]
    has_tokens = any(amount(step, "tokens_per_second_per_request") is not None for _load, step in steps)
    rows = []
    for _load, step in steps:
        cells = [("th", load_words(view, result, step)), ("num", human(amount(step, "requests"), "", view.language))]
        cells.append(("num", _figure(amount(step, "requests_per_second"), "", view)))
        cells += [("num", short_time(amount(step, key, LONGEST), view.language)) for _title, key in columns]
        if has_tokens:
            cells.append(("num", _figure(amount(step, "tokens_per_second_per_request"), "", view)))
        cells.append(("", joined(view, [errors_of(view, step) or view.text("none"), resent_of(view, step)])))
        rows.append(cells)
    heads = ["net_col_load", "net_col_requests", "net_col_per_second", *(title for title, _key in columns)]
    heads += ["net_col_tokens"] if has_tokens else []
    return link_grid.table(view, view.text("net_steps", n=len(rows)), [*heads, "net_col_errors"], rows) if rows else ""


def _figure(value, unit, view):
    return human(round(value, 2) if value is not None else None, unit, view.language)
