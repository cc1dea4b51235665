# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""VRAM: what there is, and the peak that a workload probe saw. What happens to be in use during a light audit is never the peak."""

from __future__ import annotations

from . import gpu as gpu_metrics
from . import probe
from .measurements import find_measurement, source_of
from .registry import amount, define, flag, gpu_label, maps, text

define(
    "vram.total_bytes",
    "bytes",
    "sum of memory_total_bytes over the GPUs; with unified memory the host's memory, labelled",
    ("gpu.gpus[].memory_total_bytes", "memory.total_bytes"),
    "所有 GPU 的 memory_total_bytes 之和；统一内存时取主机内存并注明",
)
define(
    "vram.peak_fraction",
    "fraction",
    "worst GPU (with MIG: instance) of a workload probe: memory_used_peak_bytes (reserved left out) / "
    "(memory_total_bytes - memory_reserved_bytes); of a framework that reserves VRAM on purpose its own peak instead, unknown "
    "where it gives none; "
    "unknown where the command ended badly before its first iteration",
    (
        "workload_probe.result.gpus[].memory_used_peak_bytes",
        "…memory_total_bytes",
        "…memory_reserved_bytes",
        "workload_probe.result.reservation",
        "workload_probe.result.framework_peak_bytes",
        "workload_probe.result.outcome",
    ),
    "工作负载探测中最差的 GPU（MIG 时为实例）：峰值已用显存（不含保留）/（总显存 − 保留显存）；框架有意预留显存时改用其自报峰值，没有则为未知；命令在首次迭代前异常结束时为未知",
)

TARGET_LOW, TARGET_HIGH = 0.70, 0.80


def derive(state):
    """vram.total_bytes and vram.peak_fraction."""
    _derive_total(state)
    _derive_peak(state)


def is_unified(state):
    """True when the GPUs share the host's memory (GB10, Tegra)."""
    return bool(state.live) and all(text(gpu, "memory_kind") == "unified" for gpu in state.live)


def _derive_total(state):
    name = "vram.total_bytes"
    if not state.live:
        gpu_metrics.absent_everywhere(state, name)
        return
    if is_unified(state):
        memory, problem = state.subject("memory")
        total = amount(memory, "total_bytes") if memory else None
        if total is None:
            state.unread([name], problem, "memory.total_bytes")
        else:
            state.value(name, total, [{"what": "unified memory (shared with the host)", "value": total, "source": "memory.total_bytes"}])
        return
    totals = [(gpu, amount(gpu, "memory_total_bytes")) for gpu in state.gpus]
    known = [total for _gpu, total in totals if total]
    missing = [gpu for gpu, total in totals if not total]
    if missing and known and all(gpu.get("status") == "lost" for gpu in missing) and len(set(known)) == 1:
        # A lost GPU doesn't tell its memory; among equal siblings it is the same.
        state.value(
            name, known[0] * len(totals), [{"what": gpu_label(gpu), "value": known[0], "source": "like its siblings"} for gpu in missing]
        )
    elif missing:
        state.unknown(name, "absent.unreadable", field="memory_total_bytes: " + ", ".join(gpu_label(gpu) for gpu in missing[:4]))
    else:
        state.value(name, sum(known), [{"what": "gpu.gpus[].memory_total_bytes", "value": sum(known), "source": state.source}])


def _peak_of(entry):
    """(used / usable, usable bytes) of one probe entry, None when it lacks a figure. Without a reserved figure usable is the total:
    old drivers count the reserved part as used, so both sides still agree."""
    used, total = amount(entry, "memory_used_peak_bytes"), amount(entry, "memory_total_bytes")
    usable = None if total is None else total - (amount(entry, "memory_reserved_bytes") or 0)
    if used is None or not usable or usable <= 0:
        return None
    return used / usable


def _derive_peak(state):
    name = "vram.peak_fraction"
    measurement = find_measurement(state, name, "workload_probe")
    if measurement is None:
        return
    absence = probe.peak_absence(measurement)
    if absence:
        state.unknown(name, absence[0], **absence[1])
        return
    if text(measurement["result"], "reservation"):
        _derive_framework_peak(state, measurement)
        return
    entries = maps(measurement["result"], "gpus")
    mig = {text(gpu, "uuid") for gpu in state.live if text(gpu, "mig_mode") == "enabled"}
    judged = []
    for entry in entries:
        # With MIG on, the whole GPU's figure mixes instances: only the instances' own entries count.
        if text(entry, "uuid") in mig and not (text(entry, "mig_uuid") or flag(entry, "mig")):
            continue
        judged.append((entry, _peak_of(entry)))
    peaks = [(fraction, gpu_label(entry), entry) for entry, fraction in judged if fraction is not None]
    if not peaks or len(peaks) < len(judged):
        state.unknown(name, "absent.measurement_incomplete", module="workload_probe", field="memory_used_peak_bytes")
        return
    worst, label, entry = max(peaks, key=lambda peak: peak[0])
    source = source_of(measurement)
    used = amount(entry, "memory_used_peak_bytes")
    usable = amount(entry, "memory_total_bytes") - (amount(entry, "memory_reserved_bytes") or 0)
    sizes = (("memory_used_peak_bytes", used), ("usable_bytes", usable))
    _put_peak(state, worst, [{"what": "%s %s" % (label, what), "value": size, "source": source} for what, size in sizes])


def _put_peak(state, worst, evidence):
    """The peak and the band that it lies in: 0.70 to 0.80 is what a batch size is chosen for."""
    state.value("vram.peak_fraction", worst, evidence)
    if worst < TARGET_HIGH:
        state.values["vram.peak_fraction"]["note"] = "finding.peak_in_zone" if worst >= TARGET_LOW else "finding.peak_below_zone"


def _derive_framework_peak(state, measurement):
    """The peak that a reserving framework says of itself, on the smallest GPU that it uses: what it reserved says nothing."""
    result = measurement["result"]
    peak = amount(result, "framework_peak_bytes")
    sizes = [
        (amount(entry, "memory_total_bytes") - (amount(entry, "memory_reserved_bytes") or 0), gpu_label(entry))
        for entry in probe.used_gpus(result)
        if amount(entry, "memory_total_bytes")
    ]
    sizes = [pair for pair in sizes if pair[0] > 0]
    if not sizes:
        state.unknown("vram.peak_fraction", "absent.measurement_incomplete", module="workload_probe", field="memory_total_bytes")
        return
    usable, label = min(sizes)
    _put_peak(
        state,
        peak / usable,
        [
            {"what": label + " framework_peak_bytes", "value": peak, "source": "%s itself" % text(result, "reservation")},
            {"what": label + " usable_bytes", "value": usable, "source": source_of(measurement)},
        ],
    )
