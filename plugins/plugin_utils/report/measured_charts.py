# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The charts of a measured host, each beside a key in words: VRAM and utilisation over time, need against measured, scaling."""

from __future__ import annotations

import math
import re

from ..measured_texts import label, measured_at
from .. import messages, storage_jobs
from ..metrics.probe import used_gpus
from ..metrics.scaling import is_seen, left_unused
from ..numbers import format_duration, format_required
from ..scaling import NOTED_BELOW, ScalingError, summarise
from . import line_charts
from .clean import display, for_html, is_number, unbroken
from .figures import human

PEAK, HEADROOM, EFFICIENCY = "vram.peak_fraction", "storage.read_headroom_ratio", "scaling.efficiency_fraction"
NEEDED, UTILIZATION = "storage.needed_bytes_per_second", "workload.gpu_utilization_mean_fraction"
TARGET = (0.70, 0.80)
_RATES = "bytes_per_second"
# A rate of bytes that no storage has; a bar of such a one would make all others vanish.
_FASTEST = 1e15
_MOST_TIMES = 200_000


def figures(view, host, probe, storage, form, scaled=None, small=None):
    """The HTML of every chart that there is something to draw for; "" for none.

    `probe` and `storage` are measurements or None, `scaled` the newest probe on several numbers of GPUs, `small` the storage test whose
    small files count, where that is another one.
    """
    drawn = [*_over_time(view, host, probe), _need(view, host, storage, small or storage), _efficiency(view, host, scaled, form)]
    html = "".join(figure(*chart) for chart in drawn if chart)
    return f'<div class="charts plots">{html}</div>' if html else ""


def figure(title, svg, key):
    """A chart with its title and its key in words: [(class of the mark, text)]."""
    lines = "".join(f'<li><span class="k {kind}" aria-hidden="true"></span>{for_html(unbroken(text), 600)}</li>' for kind, text in key)
    return f'<figure><figcaption>{for_html(title)}</figcaption><div class="plot">{svg}<ul class="key">{lines}</ul></div></figure>'


def rate_ticks(view, top):
    """[(value, label)] of an axis of rates, in whole steps of its unit."""
    unit = 1024.0 ** min(6, max(0, int(math.log(top, 1024)))) if top >= 1 else 1.0
    return [(value, short(human(value, _RATES, view.language)) if value else "0") for value in line_charts.round_ticks(top, unit)]


def short(text):
    """120.0 MiB/s without its noughts."""
    number, space, unit = text.partition(" ")
    return (number.rstrip("0").rstrip(".") if "." in number else number) + space + unit


def limits_of(view, host, name):
    """{level: (comparison, bound)} of a check as this host was judged by it; {} where its own limits differ from the report's."""
    check = (view.report.get("checks") or {}).get(name) or {}
    limits = check.get("limits") if isinstance(check.get("limits"), dict) else {}
    found = {}
    for level in ("warn", "fail"):
        limit = limits.get(level)
        if isinstance(limit, dict) and len(limit) == 1 and is_number(next(iter(limit.values()))):
            found[level] = next(iter(limit.items()))
    said = {format_required(dict([limit]), check.get("unit") or "", view.language) for limit in found.values()}
    for finding in host.get("findings") or []:
        if finding.get("check") == name and finding.get("required") is not None and finding["required"] not in said:
            return {}
    return found


def _limit_lines(view, limits):
    """([(class, fraction, label)], [(class, words)]) of the limits of a fraction."""
    lines, key = [], []
    for level, (comparison, bound) in sorted(limits.items(), reverse=True):
        shown = human(bound, "fraction", view.language)
        lines.append((level, bound, shown))
        words = ("key_" + level + "_from") if comparison in ("at_least", "above") else "key_" + level + "_below"
        key.append(("limit " + level, view.text(words, limit=shown)))
    return lines, key


def gpus_of(probe):
    """The GPU entries of a probe; documents are trusted no further than being maps."""
    entries = probe["result"].get("gpus") if probe else None
    return [entry for entry in (entries if isinstance(entries, list) else ()) if isinstance(entry, dict)]


def usable_bytes(entry):
    """What a job can have of a GPU: its memory without what the driver reserves; None where that isn't known."""
    total, reserved = entry.get("memory_total_bytes"), entry.get("memory_reserved_bytes")
    usable = total - (reserved if is_number(reserved) else 0) if is_number(total) else 0
    return usable if usable > 0 else None


# ----------------------------------------------------------------- over time


def _over_time(view, host, probe):
    """VRAM of the fullest GPU and the mean utilisation over time, with the span over all GPUs."""
    series = probe["result"].get("series") if probe else None
    lines = series.get("gpu") if isinstance(series, dict) else None
    times = series.get("t") if isinstance(series, dict) else None
    if not isinstance(lines, dict) or not isinstance(times, list) or not 2 <= len(times) <= _MOST_TIMES or len(lines) > 256:
        return
    if not all(is_number(time) for time in times) or any(after < before for before, after in zip(times, times[1:])):
        return
    sizes = _sizes(gpus_of(probe), lines)
    memory, busy = [], []
    split = {key.partition(".")[0] for key in lines if isinstance(key, str) and "." in key}
    # Of a GPU with MIG instances the instances are drawn: the whole one mixes them.
    for key in sorted((key for key in lines if key not in split), key=str):
        line = lines[key] if isinstance(lines[key], dict) else {}
        used, size = _column(line, "memory_used_bytes", len(times)), sizes.get(str(key))
        if used and size:
            memory.append((str(key), [value / size if value is not None else None for value in used]))
        share = _column(line, "utilization_fraction", len(times))
        if share:
            busy.append((str(key), share))
    end = format_duration(times[-1] - times[0], view.language)
    if memory:
        yield _memory_chart(view, host, times, memory, end, bool(probe["result"].get("reservation")))
    if busy:
        yield _busy_chart(view, host, times, busy, end, probe)


def window_text(view, probe):
    """Which part of the run the means of a probe are taken over."""
    return view.text("window_iterations" if probe["result"].get("window") == "iterations" else "window_run")


def _busy_chart(view, host, times, busy, end, probe):
    """The GPUs that the job uses over time, with the same mean as everywhere: the metric's, never one of the drawn points."""
    used = {str(entry.get("index")) for entry in used_gpus(probe["result"])}
    idle = [key for key, _share in busy if key not in used]
    drawn = [share for key, share in busy if key in used] or [share for _key, share in busy]
    mean, title = [_mean(row) for row in zip(*drawn)], view.text("chart_busy_time")
    known = (host.get("metrics") or {}).get(UTILIZATION)
    if is_number(known):
        words = "key_mean" if len(drawn) > 1 else "key_mean_one"
        said = view.text(words, n=len(drawn), mean=human(known, "fraction", view.language), window=window_text(view, probe))
    else:
        said = view.text("key_no_mean", gpus=_named(key for key, _share in busy))
    key = [("line", said)]
    if len(drawn) > 1:
        key.append(("band", view.text("key_span", n=len(drawn))))
    if idle and len(idle) < len(busy):
        key.append(("none", view.text("key_unused", gpus=_named(idle))))
    said = view.text("chart_said", figures="; ".join(text for _kind, text in key), seconds=end)
    return title, line_charts.over_time(title, times, mean, _band(drawn), (), None, end, said), key


def _named(keys):
    return display(", ".join(sorted(keys, key=lambda key: (len(key), key))[:32]), 200)


def _sizes(gpus, keys):
    """{key of a series: usable bytes of its GPU}. A key is the GPU's index ("0"), of a MIG instance that and a place ("0.2").

    The places of hidden instances are left out in both lists, so instances are paired in their order.
    """
    sizes = {str(entry.get("index")): usable_bytes(entry) for entry in gpus if not entry.get("mig_uuid")}
    placed = [key.split(".") for key in keys if isinstance(key, str) and re.fullmatch(r"\d{1,6}\.\d{1,6}", key)]
    for index in {index for index, _place in placed}:
        places = sorted((place for found, place in placed if found == index), key=int)
        instances = [entry for entry in gpus if entry.get("mig_uuid") and str(entry.get("index")) == index]
        sizes.update(("%s.%s" % (index, place), usable_bytes(entry)) for place, entry in zip(places, instances))
    return sizes


def _memory_chart(view, host, times, memory, end, is_reserved):
    gpu, worst = max(memory, key=lambda pair: max(value for value in pair[1] if value is not None))
    top = human(max(value for value in worst if value is not None), "fraction", view.language)
    # What a framework reserved on purpose is no peak: neither limits nor a target belong to it.
    lines, limit_key = _limit_lines(view, {} if is_reserved else limits_of(view, host, PEAK))
    title = view.text("chart_vram_time")
    words = "key_reserved" if is_reserved else "key_peak" if len(memory) > 1 else "key_peak_one"
    key = [("line", view.text(words, gpu=display(gpu, 40), peak=top))]
    if len(memory) > 1:
        key.append(("band", view.text("key_span", n=len(memory))))
    if not is_reserved:
        low, high = (human(edge, "fraction", view.language) for edge in TARGET)
        key.append(("zone", view.text("key_zone", low=low, high=high)))
    key += limit_key
    said = view.text("chart_said", figures="; ".join(text for _kind, text in key), seconds=end)
    columns = [column for _gpu, column in memory]
    zone = None if is_reserved else TARGET
    return title, line_charts.over_time(title, times, worst, _band(columns), lines, zone, end, said, peak=True), key


def _column(line, key, count):
    """The values of one series, None where it has another length than the times or no number; what is no number is a gap."""
    values = line.get(key)
    if not isinstance(values, list) or len(values) != count:
        return None
    known = [value if is_number(value) and value >= 0 else None for value in values]
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


# ------------------------------------------------------------ need, scaling


def storage_label(storage, job):
    """ "cached" or "memory" where a job's result came out of memory, "buffered" through the page cache; None off the disk, or unknown."""
    result = storage["result"] if storage else {}
    jobs = result.get("jobs") if isinstance(result.get("jobs"), dict) else {}
    entry = jobs.get(job) if isinstance(jobs.get(job), dict) else {}
    system = result.get("file_system") if isinstance(result.get("file_system"), dict) else {}
    found = entry.get("buffered_label")
    if found in ("cached", "memory", "buffered"):
        return "memory" if system.get("kind") == "memory" else found
    if system.get("kind") == "memory":
        return "memory"
    return "cached" if not entry and result.get("cached") is True else None


def storage_words(view, storage):
    """What a reader must know of a storage test: a quick look, hosts that read at once."""
    if storage is None:
        return []
    hosts = storage["result"].get("hosts_at_once")
    words = ["quick"] if storage["result"].get("quick") is True else []
    if is_number(hosts) and hosts > 1:
        words.append("%d hosts at once" % hosts)
    return [label(word, view.language) for word in words]


def moment(view, entry):
    """When a measurement was taken, "" where it doesn't say."""
    found = measured_at("storage_benchmark %s" % (entry.get("finished"),)) if entry else None
    return view.text("key_measured", moment=f"{found[0]} {found[1]} UTC") if found else ""


def _need(view, host, storage, small):
    """Bars of what was measured, the GPUs' need marked on each. Sequential and small-file reads may be of two storage tests."""
    metrics = host.get("metrics") or {}
    needed = metrics.get(NEEDED)
    if not is_number(needed) or not 0 < needed < _FASTEST:
        return None
    limits, buffered = limits_of(view, host, HEADROOM), []
    rows, key = [], [("need", view.text("key_need", needed=human(needed, _RATES, view.language)))]
    for words, name, job in (
        ("bar_sequential", "storage.read_bytes_per_second", "dataset_read"),
        ("bar_small", "storage.small_file_bytes_per_second", "small_files"),
        ("bar_job", "workload.read_bytes_per_second", None),
    ):
        value = metrics.get(name)
        taken = {"dataset_read": storage, "small_files": small}.get(job)
        found = storage_label(taken, job) if job else None
        if is_number(value) and 0 <= value < _FASTEST:
            share = value / needed
            shown = "%s · %s" % (human(value, _RATES, view.language), human(round(share, 2), "ratio", view.language))
            kind = "bar" if job is None else "bar " + _level(limits, share)
            if kind == "bar fail" and taken and storage_jobs.tentative(taken["result"], job):
                # A hint fails nothing.
                kind = "bar warn"
            rows.append((kind.strip(), view.text(words), value, shown))
        elif found in ("cached", "memory"):
            key.append(("none", view.text("key_" + found, job=job)))
        if found == "buffered":
            buffered.append(job)
    if not rows:
        return None
    if limits:
        wanted = limits.get("warn") or limits["fail"]
        key.append(("none", view.text("key_wanted", limit=format_required(dict([wanted]), "ratio", view.language))))
    if buffered:
        key.append(("none", view.text("key_buffered", jobs=", ".join(buffered))))
    if small is storage:
        said = [*storage_words(view, storage), moment(view, storage)]
    else:
        said = [
            view.text("listed", name=text, note=job)
            for job, test in (("dataset_read", storage), ("small_files", small))
            for text in (*storage_words(view, test), moment(view, test))
            if text
        ]
    key += [("none", text) for text in said if text]
    title = view.text("chart_need")
    said = "; ".join([key[0][1], *("%s %s" % (row[1], row[3]) for row in rows)])
    return title, line_charts.against(title, rows, needed, said), key


def _level(limits, share):
    """The class of a bar: "fail" or "warn" where the share is below that limit, else ""."""
    for level in ("fail", "warn"):
        if level in limits and limits[level][0] == "below" and share < limits[level][1]:
            return level
    return ""


def _efficiency(view, host, probe, form):
    """The efficiency curve of times on several numbers of GPUs: the probe's, else the form's."""
    scaling = probe["result"].get("scaling") if probe else None
    is_probed = isinstance(scaling, dict) and bool(scaling.get("seconds"))
    if is_probed:
        times, basis = scaling.get("seconds"), scaling.get("basis") or "epoch"
    else:
        form = form if isinstance(form, dict) else {}
        times, basis = form.get("scaling_seconds"), form.get("scaling_basis") or "epoch"
    try:
        found = summarise(times, basis) if times and (not isinstance(times, dict) or len(times) <= 1000) else {"points": []}
    except (ScalingError, TypeError):
        return None
    if len(found["points"]) < 2:
        return None
    title = view.text("chart_efficiency")
    unused = left_unused(probe["result"]) if is_probed else None
    if unused:
        # No curve: it would show what the command didn't do.
        reason = messages.text(view.language, "absent.scaling_unused", **unused)
        return title, "", [("none", reason), ("none", messages.text(view.language, "answer.scaling_unused"))]
    shown = [
        (point["gpus"], point["efficiency"], human(round(point["efficiency"], 3), "fraction", view.language)) for point in found["points"]
    ]
    lines, limit_key = _limit_lines(view, limits_of(view, host, EFFICIENCY))
    noted = human(NOTED_BELOW, "fraction", view.language)
    last = found["points"][-1]
    key = [
        ("line", view.text("key_speedup", n=last["gpus"], speedup=human(last["speedup"], "ratio", view.language), base=found["base_gpus"]))
    ]
    notes = [note for note in ("superlinear", "communication", "slower") if note in found["notes"]]
    if "superlinear" in notes:
        # The times on the fewest GPUs are what is wrong then; a serial fraction from them says nothing.
        notes = [note for note in notes if note != "communication"]
    elif last["serial_fraction"] is not None:
        key.append(("none", view.text("key_serial", share=human(round(last["serial_fraction"], 3), "fraction", view.language))))
    key += [("none", view.text("scaling_" + note)) for note in notes]
    if is_probed and not is_seen(probe["result"]):
        key.append(("none", messages.text(view.language, "finding.gpus_unseen")))
    key += [("limit note", view.text("key_noted_below", limit=noted)), *limit_key]
    said = "; ".join([f"{count} GPU: {text}" for count, _fraction, text in shown[:20]] + [text for _kind, text in key])
    return title, line_charts.over_counts(title, shown, [("note", NOTED_BELOW, noted), *lines], view.text("axis_gpus"), said), key
