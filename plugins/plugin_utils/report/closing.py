# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The closing record of a measured host, as the audit guide ends with it: five figures, and why and how where one is missing."""

from __future__ import annotations

from . import measured_charts
from .clean import for_html, is_number
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


def fragment(view, host, document, form=None):
    """The card and the charts as HTML; "" for a host that was never measured."""
    probe, storage = newest(document, "workload_probe"), newest(document, "storage_benchmark")
    if not _is_measured(host) and probe is None and storage is None:
        return ""
    return _card(view, host, probe, storage) + measured_charts.figures(view, host, probe, storage, form)


def of_host(view, host, document):
    """record() of a host with what its document holds, [] for a host that was never measured."""
    probe, storage = newest(document, "workload_probe"), newest(document, "storage_benchmark")
    return record(view, host, probe, storage) if _is_measured(host) or probe or storage else []


def _is_measured(host):
    """Whether a host's metrics hold anything of a probe or a storage test."""
    names = host.get("metrics") or {}
    return any(name.startswith("workload.") or name in (PEAK, _STORAGE_READ) for name in names)


def newest(document, module, matches=lambda result: True):
    """The newest measurement of a module that has a result, one that `matches`; documents are trusted no further than being maps."""
    entries = (document or {}).get("measurements")
    found = [
        entry
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and entry.get("module") == module and isinstance(entry.get("result"), dict) and matches(entry["result"])
    ]
    return max(found, key=lambda entry: str(entry.get("finished")), default=None)


def record(view, host, probe=None, storage=None):
    """[(title, figure or "–", what else is to say of it, status or "")] of the five, in the guide's order."""
    metrics = host.get("metrics") or {}
    statuses = {finding.get("check"): finding.get("status") for finding in host.get("findings") or [] if isinstance(finding, dict)}
    rows = []
    for key, name, unit in FIELDS:
        value = metrics.get(name)
        known = is_number(value) and value >= 0
        more = [_beside(view, host, name, probe, storage)] if known or name == FIELDS[3][1] else []
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
    if reason:
        return view.text("closing_because", reason=str(reason).rstrip(".。"))
    return view.text("closing_missing_" + name.partition(".")[2]) if name != PEAK else view.text("closing_not_measured")


def _is_probed(host, probe):
    return probe is not None or any(name.startswith("workload.") or name == PEAK for name in host.get("metrics") or {})


def _beside(view, host, name, probe, storage):
    """What stands under a figure: the bytes of the peak, the storage test beside the job's own reading."""
    if name == PEAK:
        return _peak_bytes(view, probe)
    return _storage_rate(view, host, storage) if name == FIELDS[3][1] else ""


def cells(rows):
    """The figures of a record as a list: rows as record() gives them."""
    html = ""
    for title, shown, said, status in rows:
        mark = f'<span class="m {status}" aria-hidden="true"></span>' if status in ("pass", "warn", "fail", "unknown") else ""
        small = f"<small>{for_html(said, 400)}</small>" if said else ""
        html += f"<div><dt>{for_html(title)}</dt><dd>{mark}<b>{for_html(shown, 80)}</b>{small}</dd></div>"
    return f"<dl>{html}</dl>"


def _card(view, host, probe, storage):
    how = "" if _is_probed(host, probe) else f'<p class="quiet">{for_html(view.text("closing_how"))}</p>'
    return (
        f'<section class="closing"><h4>{for_html(view.text("closing_title"))}</h4>{cells(record(view, host, probe, storage))}'
        f'<p class="quiet">{taken(probe, storage)}</p>{how}</section>'
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


def taken(*measurements):
    """What a record is made from, and when it was taken; None stands for one that there isn't."""
    said = []
    for entry in measurements:
        if entry is not None:
            moment = str(entry.get("finished") or "").replace("T", " ").replace("Z", " UTC")
            what = " ".join(str(part) for part in (entry.get("module"), entry.get("target")) if part)
            said.append(f"{for_html(what, 120)} <time>{for_html(moment, 40)}</time>")
    return " · ".join(said)
