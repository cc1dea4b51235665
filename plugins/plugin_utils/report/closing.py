# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The closing record of a measured host, as the audit guide ends with it: five figures, and why and how where one is missing."""

from __future__ import annotations

from .. import complaints, storage_jobs
from ..measuring_texts import target as shown_target
from ..metrics.measurements import command_of, newest_result, not_started, with_results
from ..metrics.probe import used_gpus
from . import measured_charts
from .clean import breakable, display, for_html, is_number, unbroken
from .figures import human
from .measured_charts import PEAK, gpus_of, storage_label, storage_words, usable_bytes

# VRAM peak, utilisation, one epoch, data read speed, cost: the guide's five. (text, metric, unit)
FIELDS = (
    ("closing_peak", PEAK, "fraction"),
    ("closing_utilization", "workload.gpu_utilization_mean_fraction", "fraction"),
    ("closing_epoch", "workload.epoch_seconds", "seconds"),
    ("closing_read", "workload.read_bytes_per_second", "bytes_per_second"),
    ("closing_cost", "cost.task_amount", ""),
)
_STORAGE_READ = "storage.read_bytes_per_second"
_OTHERS = 3
# What else of a probe the record needs: the GPUs given to it, whether they were sampled.
_NOT_SAMPLED = "GPUs not sampled: "


def fragment(view, host, document, form=None):
    """The card and the charts as HTML; "" for a host that was never measured."""
    probe, storage = newest(document, "workload_probe"), _sequential(document)
    if not _is_measured(host) and probe is None and storage is None:
        return ""
    scaled = newest_result(_safe(document), "workload_probe", _has_scaling)
    small = storage_jobs.newest_of(_safe(document), "small_files")
    card = _card(view, host, probe, storage, others(view, document))
    return card + measured_charts.figures(view, host, probe, storage, form, scaled, small)


def of_host(view, host, document):
    """record() of a host with what its document holds, [] for a host that was never measured."""
    probe, storage = newest(document, "workload_probe"), _sequential(document)
    return record(view, host, probe, storage) if _is_measured(host) or probe or storage else []


def _is_measured(host):
    """Whether a host's metrics hold anything of a probe or a storage test."""
    names = host.get("metrics") or {}
    return any(name.startswith("workload.") or name in (PEAK, _STORAGE_READ) for name in names)


def _safe(document):
    return document if isinstance(document, dict) else {}


def _has_scaling(entry):
    scaling = entry["result"].get("scaling")
    return isinstance(scaling, dict) and bool(scaling.get("seconds"))


def newest(document, module, matches=None):
    """The measurement of a module that its metrics were derived from: the newest with a result, whose result `matches`."""
    return newest_result(_safe(document), module, matches and (lambda entry: matches(entry["result"])))


def _sequential(document):
    """The storage test whose sequential read counts; without one the newest with a result, which says why there is none."""
    return storage_jobs.newest_of(_safe(document), "dataset_read") or newest(document, "storage_benchmark")


def others(view, document):
    """What other commands were probed, with the figures that the record would have of them; "" for none."""
    said = []
    for entry in with_results(_safe(document), "workload_probe")[1 : 1 + _OTHERS]:
        result, parts = entry["result"], []
        if not_started(entry):
            continue
        for name, key, param, unit in (
            ("epoch_seconds", "closing_other_epoch", "time", "seconds"),
            ("read_bytes_per_second", "closing_other_read", "rate", "bytes_per_second"),
        ):
            if is_number(result.get(name)) and result[name] >= 0:
                parts.append(view.text(key, **{param: human(result[name], unit, view.language)}))
        what = "%s, %s" % (display(command_of(entry), 120), display(_moment(entry), 40))
        said.append(view.text("listed", name=what, note=", ".join(parts)) if parts else what)
    return view.text("closing_others", what="; ".join(said)) if said else ""


def record(view, host, probe=None, storage=None):
    """[(title, figure or "–", what else is to say of it, status or "")] of the five, in the guide's order."""
    metrics = host.get("metrics") or {}
    statuses = {finding.get("check"): finding.get("status") for finding in host.get("findings") or [] if isinstance(finding, dict)}
    rows = []
    for key, name, unit in FIELDS:
        value = metrics.get(name)
        known = is_number(value) and value >= 0
        more = _beside(view, host, name, probe, storage, known) if known or name == FIELDS[3][1] else []
        if not known:
            more.insert(0, _missing(view, host, name, probe))
        said = ("；" if view.language == "zh" else "; ").join(text for text in more if text)
        rows.append((view.text(key), human(value, unit, view.language) if known else "–", said, statuses.get(name) or ""))
    return rows


def _missing(view, host, name, probe):
    """Why a figure of the record is missing and how to get it."""
    if name == "cost.task_amount":
        return view.text("closing_no_price")
    reason = (host.get("absent") or {}).get(name)
    if not _is_probed(host, probe):
        return view.text("closing_no_probe")
    if name in (PEAK, FIELDS[1][1]) and (host.get("hardware") or {}).get("gpu_state") == "no_hardware":
        return view.text("closing_no_gpu")
    if name != PEAK and probe is not None and not_started(probe):
        return view.text("closing_not_started", error=complaints.say(display(probe["result"].get("error"), 300), view.language))
    if name == FIELDS[1][1]:
        return _no_utilization(view, probe)
    if reason:
        return view.text("closing_because", reason=str(reason).rstrip(".。"))
    return view.text("closing_missing_" + name.partition(".")[2]) if name != PEAK else view.text("closing_not_measured")


def _no_utilization(view, probe):
    """Why a host with GPUs has no utilisation: not sampled, none used, or the driver tells none."""
    entries = gpus_of(probe)
    notes = probe["result"].get("notes") if probe else None
    for note in notes if isinstance(notes, list) else ():
        if isinstance(note, str) and note.startswith(_NOT_SAMPLED):
            return view.text("closing_unsampled", why=complaints.say(display(note, 300), view.language))
    if entries and any(is_number(entry.get("utilization_mean_fraction")) for entry in entries):
        return view.text("closing_unused", n=len(entries))
    return view.text("closing_missing_gpu_utilization_mean_fraction")


def _is_probed(host, probe):
    return probe is not None or any(name.startswith("workload.") or name == PEAK for name in host.get("metrics") or {})


def _beside(view, host, name, probe, storage, known):
    """What stands under a figure: the bytes of the peak, what a mean is of, cached reads, the storage test beside the job's own reading."""
    if name == PEAK:
        return [_peak_bytes(view, probe)]
    if name == FIELDS[1][1]:
        return _mean_of(view, probe)
    if name == FIELDS[3][1]:
        return [_cached(view, probe) if known else "", _storage_rate(view, host, storage)]
    return []


def _mean_of(view, probe):
    """How many GPUs a mean utilisation is of, and over which part of the run."""
    if probe is None:
        return []
    used, total = len(used_gpus(probe["result"])), len(gpus_of(probe))
    key = "closing_mean_of" if used == total else "closing_mean_some"
    return [view.text(key, n=used, total=total), measured_charts.window_text(view, probe)]


def _cached(view, probe):
    """That a job which read nothing from a disk read its data out of memory."""
    result = probe["result"] if probe else {}
    calls, stored = result.get("read_call_bytes"), result.get("read_bytes")
    if result.get("read_bytes_per_second") != 0 or not is_number(calls) or calls <= 0:
        return ""
    key = "closing_cached_since" if is_number(stored) and stored > 0 else "closing_cached_all"
    return view.text(key, size=human(calls, "bytes", view.language))


def cells(rows):
    """The figures of a record as a list: rows as record() gives them."""
    html = ""
    for title, shown, said, status in rows:
        mark = f'<span class="m {status}" aria-hidden="true"></span>' if status in ("pass", "warn", "fail", "unknown") else ""
        small = f"<small>{breakable(for_html(unbroken(said), 400))}</small>" if said else ""
        html += f"<div><dt>{for_html(title)}</dt><dd>{mark}<b>{for_html(unbroken(shown), 80)}</b>{small}</dd></div>"
    return f"<dl>{html}</dl>"


def _card(view, host, probe, storage, besides):
    how = "" if _is_probed(host, probe) else f'<p class="quiet">{for_html(view.text("closing_how"))}</p>'
    also = f'<p class="quiet">{for_html(besides, 900)}</p>' if besides else ""
    return (
        f'<section class="closing"><h4>{for_html(view.text("closing_title"))}</h4>{cells(record(view, host, probe, storage))}'
        f'<p class="quiet">{taken(view.language, probe, storage)}</p>{also}{how}</section>'
    )


def _share(entry):
    used, usable = entry.get("memory_used_peak_bytes"), usable_bytes(entry)
    return used / usable if is_number(used) and usable else -1


def _peak_bytes(view, probe):
    """59.2 GiB of 79.6 GiB on GPU 3."""
    worst = max(gpus_of(probe), key=_share, default=None)
    if worst is None or _share(worst) < 0 or probe["result"].get("reservation"):
        return ""
    return view.text(
        "closing_peak_of",
        used=human(worst["memory_used_peak_bytes"], "bytes", view.language),
        total=human(usable_bytes(worst), "bytes", view.language),
        gpu=worst.get("index") if worst.get("index") is not None else "?",
    )


def _storage_rate(view, host, storage):
    """What the storage test read in sequence, with what it really was: cached, memory, buffered, quick."""
    rate, found = (host.get("metrics") or {}).get(_STORAGE_READ), storage_label(storage, "dataset_read")
    words = storage_words(view, storage)
    if not is_number(rate) and found in ("cached", "memory"):
        rate = storage["result"].get("read_bytes_per_second")
    if not is_number(rate) or rate < 0:
        return ""
    words = ([view.text("label_" + found)] if found else []) + words
    shown = view.text("closing_storage", rate=human(rate, "bytes_per_second", view.language))
    return view.text("listed", name=shown, note=("，" if view.language == "zh" else ", ").join(words)) if words else shown


def _moment(entry):
    return str(entry.get("finished") or "").replace("T", " ").replace("Z", " UTC")


def taken(language, *measurements):
    """What a record is made from, and when it was taken; None stands for one that there isn't."""
    said = []
    for entry in measurements:
        if entry is not None:
            where = shown_target(str(entry.get("target") or ""), language)
            what = " ".join(str(part) for part in (entry.get("module"), where) if part)
            said.append(f"{for_html(what, 120)} <time>{for_html(_moment(entry), 40)}</time>")
    return " · ".join(said)
