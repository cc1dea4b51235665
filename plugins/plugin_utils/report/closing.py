# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The closing record of a measured host, as the audit guide ends with it, and the charts of what was measured. Escaped HTML."""

from __future__ import annotations

from ..scaling import ScalingError, summarise
from . import charts, line_charts
from .clean import for_html, is_number
from ..numbers import format_duration as duration
from .figures import human

PEAK, PEAK_LIMIT, TARGET = "vram.peak_fraction", 0.80, (0.70, 0.80)
# VRAM peak, utilisation, one epoch, data read speed, cost: the guide's five.
_RATES = "bytes_per_second"


def fragment(view, host, document, form=None):
    """The card and the charts; "" for a host that was never measured."""
    probe, storage = _newest(document, "workload_probe"), _newest(document, "storage_benchmark")
    metrics = host.get("metrics") or {}
    if probe is None and storage is None and not any(name.startswith("workload.") or name == PEAK for name in metrics):
        return ""
    card = _card(view, host, probe, storage)
    drawn = [chart for chart in (*_time_charts(view, probe), _need(view, metrics), _efficiency(view, probe, form)) if chart]
    figures = "".join(f"<figure><figcaption>{for_html(title)}</figcaption>{svg}</figure>" for title, svg in drawn)
    return card + (f'<div class="charts">{figures}</div>' if figures else "")


def _newest(document, module):
    """The newest measurement of a module that has a result; documents are trusted no further than being maps."""
    entries = (document or {}).get("measurements")
    found = [
        entry
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and entry.get("module") == module and isinstance(entry.get("result"), dict)
    ]
    return max(found, key=lambda entry: str(entry.get("finished")), default=None)


# --------------------------------------------------------------------- card


def _card(view, host, probe, storage):
    metrics, absent = host.get("metrics") or {}, host.get("absent") or {}
    statuses = {finding.get("check"): finding.get("status") for finding in host.get("findings") or [] if isinstance(finding, dict)}
    rows = [
        _row(view, "closing_peak", metrics.get(PEAK), "fraction", statuses.get(PEAK), _peak_bytes(view, probe), absent.get(PEAK)),
        _row(view, "closing_utilization", metrics.get("workload.gpu_utilization_mean_fraction"), "fraction"),
        _row(view, "closing_epoch", metrics.get("workload.epoch_seconds"), "seconds"),
        _row(view, "closing_read", metrics.get("workload.read_bytes_per_second"), _RATES, None, _storage_rate(view, metrics)),
        _row(view, "closing_cost", metrics.get("cost.task_amount"), "", None, "", view.text("closing_no_price")),
    ]
    return (
        f'<section class="closing"><h4>{for_html(view.text("closing_title"))}</h4><dl>{"".join(rows)}</dl>'
        f'<p class="quiet">{_taken(view, probe, storage)}</p></section>'
    )


def _row(view, key, value, unit, status=None, more="", missing=""):
    shown = human(value, unit, view.language) if is_number(value) else "–"
    if unit == "seconds" and is_number(value):
        shown = duration(value, view.language)
    mark = f'<span class="m {for_html(status, 40)}" aria-hidden="true"></span>' if status in ("pass", "warn", "fail", "unknown") else ""
    said = more if is_number(value) else (more or missing or view.text("closing_not_measured"))
    small = f"<small>{for_html(said, 300)}</small>" if said else ""
    return f"<div><dt>{for_html(view.text(key))}</dt><dd>{mark}<b>{for_html(shown, 80)}</b>{small}</dd></div>"


def _gpus(probe):
    entries = probe["result"].get("gpus") if probe else None
    return [entry for entry in (entries if isinstance(entries, list) else ()) if isinstance(entry, dict)]


def _share(entry):
    used, total = entry.get("memory_used_peak_bytes"), entry.get("memory_total_bytes")
    return used / total if is_number(used) and is_number(total) and total > 0 else -1


def _peak_bytes(view, probe):
    """59.2 GiB of 79.6 GiB on GPU 3."""
    worst = max(_gpus(probe), key=_share, default=None)
    if worst is None or _share(worst) < 0 or probe["result"].get("reservation"):
        return ""
    reserved = worst.get("memory_reserved_bytes")
    usable = worst["memory_total_bytes"] - (reserved if is_number(reserved) else 0)
    return view.text(
        "closing_peak_of",
        used=human(worst["memory_used_peak_bytes"], "bytes", view.language),
        total=human(usable, "bytes", view.language),
        gpu=worst.get("index") if worst.get("index") is not None else "?",
    )


def _storage_rate(view, metrics):
    rate = metrics.get("storage.read_bytes_per_second")
    return view.text("closing_storage", rate=human(rate, _RATES, view.language)) if is_number(rate) else ""


def _taken(view, probe, storage):
    """What the record is made from, and when it was taken."""
    said = []
    for entry in (probe, storage):
        if entry is not None:
            moment = str(entry.get("finished") or "").replace("T", " ").replace("Z", " UTC")
            what = " ".join(str(part) for part in (entry.get("module"), entry.get("target")) if part)
            said.append(f"{for_html(what, 120)} <time>{for_html(moment, 40)}</time>")
    return " · ".join(said)


# ------------------------------------------------------------------- charts


def _time_charts(view, probe):
    """[(title, SVG)]: VRAM of the fullest GPU and the mean utilisation over time, with the span over all GPUs."""
    series = probe["result"].get("series") if probe else None
    lines = series.get("gpu") if isinstance(series, dict) else None
    times = series.get("t") if isinstance(series, dict) else None
    if not isinstance(lines, dict) or not isinstance(times, list) or len(times) < 2 or not all(is_number(time) for time in times):
        return []
    if any(after < before for before, after in zip(times, times[1:])):
        return []
    totals = {str(entry.get("index")): entry.get("memory_total_bytes") for entry in _gpus(probe)}
    memory, busy = [], []
    for key in sorted(lines, key=str):
        line = lines[key] if isinstance(lines[key], dict) else {}
        total = totals.get(str(key))
        used = _column(line, "memory_used_bytes", len(times))
        if used and is_number(total) and total >= 1:
            memory.append([value / total if value is not None else None for value in used])
        share = _column(line, "utilization_fraction", len(times))
        if share:
            busy.append(share)
    end, drawn = duration(times[-1] - times[0], view.language), []
    if memory:
        worst = max(memory, key=lambda column: max((value for value in column if value is not None), default=-1))
        top = max((value for value in worst if value is not None), default=0)
        title = view.text("chart_vram_time")
        said = view.text("chart_vram_said", peak=human(top, "fraction", view.language), seconds=end)
        limits = [(PEAK_LIMIT, human(PEAK_LIMIT, "fraction", view.language))]
        drawn.append((title, line_charts.over_time(title, times, worst, _band(memory), limits, TARGET, end, said)))
    if busy:
        mean = [_mean(row) for row in zip(*busy)]
        title = view.text("chart_busy_time")
        said = view.text("chart_busy_said", mean=human(_mean(mean) or 0, "fraction", view.language), seconds=end)
        drawn.append((title, line_charts.over_time(title, times, mean, _band(busy), (), None, end, said)))
    return drawn


def _column(line, key, count):
    """The values of one series, None where it has another length than the times or no number; what is no number is a gap."""
    values = line.get(key)
    if not isinstance(values, list) or len(values) != count:
        return None
    known = [value if is_number(value) else None for value in values]
    return known if any(value is not None for value in known) else None


def _mean(values):
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _band(columns):
    """(lowest, highest) over the columns at each moment; None for a single one."""
    if len(columns) < 2:
        return None
    rows = [[value for value in row if value is not None] for row in zip(*columns)]
    return [min(row, default=None) for row in rows], [max(row, default=None) for row in rows]


def _need(view, metrics):
    """Bars of what the GPUs need beside what was measured."""
    needed = metrics.get("storage.needed_bytes_per_second")
    rows = [
        (view.text(key), metrics[name], name == "storage.needed_bytes_per_second")
        for key, name in (
            ("bar_needed", "storage.needed_bytes_per_second"),
            ("bar_sequential", "storage.read_bytes_per_second"),
            ("bar_small", "storage.small_file_bytes_per_second"),
            ("bar_job", "workload.read_bytes_per_second"),
        )
        if is_number(metrics.get(name))
    ]
    if not is_number(needed) or len(rows) < 2:
        return None
    title = view.text("chart_need")
    return title, charts.bars(title, rows, lambda value: human(value, _RATES, view.language), mark=needed)


def _efficiency(view, probe, form):
    """The efficiency curve of times on several numbers of GPUs: the probe's, else the form's."""
    scaling = probe["result"].get("scaling") if probe else None
    if isinstance(scaling, dict) and scaling.get("seconds"):
        times, basis = scaling.get("seconds"), scaling.get("basis") or "epoch"
    else:
        times, basis = (form or {}).get("scaling_seconds"), (form or {}).get("scaling_basis") or "epoch"
    try:
        points = summarise(times, basis)["points"] if times else []
    except ScalingError:
        return None
    if len(points) < 2:
        return None
    shown = [(point["gpus"], point["efficiency"], human(round(point["efficiency"], 3), "fraction", view.language)) for point in points]
    title = view.text("chart_efficiency")
    said = "; ".join(f"{count}: {label}" for count, _fraction, label in shown)
    return title, line_charts.over_counts(title, shown, [(0.8, "80 %"), (0.6, "60 %")], view.text("axis_gpus"), said)
