# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Scaling: what the GPUs of this host bring together, from times of the same command on 1, 2, 4, 8 ... of them."""

from __future__ import annotations

from ..scaling import ScalingError, summarise
from .measurements import find_measurement, source_of
from .probe import used_gpus
from .registry import amount, define, mapping, maps, text

EFFICIENCY, WORTH = "scaling.efficiency_fraction", "scaling.worth_adding"
_INPUTS = ("workload_probe.result.scaling", "workload.scaling_seconds", "workload.scaling_basis")
_WORDS = {"yes": "worth_adding", "marginal": "marginal_gain", "no": "not_worth_adding"}

define(
    EFFICIENCY,
    "fraction",
    "speed-up on the largest number of GPUs measured / that number (relative to the smallest measured); unknown where a probe's command "
    "left GPUs that it was given unused",
    _INPUTS,
    "所测最大 GPU 数时的加速比 / GPU 数（相对所测最小 GPU 数）；探测命令有分配到的 GPU 未使用时为未知",
)
define(
    WORTH,
    "word",
    "worth_adding; marginal_gain where scaling.efficiency_fraction is below 0.8; not_worth_adding where it is below 0.6",
    _INPUTS,
    "worth_adding；scaling.efficiency_fraction 低于 0.8 为 marginal_gain，低于 0.6 为 not_worth_adding",
)


def derive(state):
    """Both scaling.* metrics: from the newest probe that ran on several numbers of GPUs, else from the form's own times."""
    measurement = find_measurement(state, EFFICIENCY, "workload_probe", _has_scaling)
    if measurement is not None:
        measured = measurement["result"]["scaling"]
        basis = text(measured, "basis") or "epoch"
        times, source = mapping(measured, "seconds"), source_of(measurement, "workload_probe.scaling")
        unused = left_unused(measurement["result"])
        if unused:
            state.unknown(EFFICIENCY, "absent.scaling_unused", **unused)
            state.copy_absence(WORTH, EFFICIENCY)
            return
    else:
        measurement = None
        times, basis, source = state.form.get("scaling_seconds"), state.form.get("scaling_basis") or "epoch", "workload.scaling_seconds"
        if not times:
            if len(state.gpus) == 1:
                state.not_applicable(EFFICIENCY, "absent.one_gpu")
            elif state.absent[EFFICIENCY]["reason"] == "absent.not_measured":
                # Nobody asked how this work scales; a machine is fit without the answer.
                state.not_applicable(EFFICIENCY, "absent.scaling_not_asked")
            state.copy_absence(WORTH, EFFICIENCY)
            return
        del state.absent[EFFICIENCY]
    try:
        found = summarise(times, basis)
    except ScalingError:
        found = {"efficiency_fraction": None}
    if found["efficiency_fraction"] is None:
        state.unknown(EFFICIENCY, "absent.scaling_unusable", source=source)
        state.copy_absence(WORTH, EFFICIENCY)
        return
    evidence = [_evidence(point, source) for point in reversed(found["points"])]
    state.value(EFFICIENCY, found["efficiency_fraction"], evidence)
    state.value(WORTH, _WORDS[found["worth_adding"]], evidence)
    unseen = measurement is not None and not is_seen(measurement["result"])
    superlinear = ["finding.superlinear"] if "superlinear" in found["notes"] else []
    notes = [*superlinear, *(["finding.gpus_unseen"] if unseen else [])]
    for name in (EFFICIENCY, WORTH) if notes else ():
        state.values[name]["note"] = notes


def _used_on(result):
    """{number of GPUs: how many of them the command used, None where that isn't known} of a probe on several numbers."""
    scaling = mapping(result, "scaling")
    used = mapping(scaling, "used_gpus")
    counts = sorted(int(key) for key in mapping(scaling, "seconds") if isinstance(key, str) and key.isdecimal() and len(key) < 6)
    found = {count: amount(used, str(count)) for count in counts}
    if counts and "used_gpus" not in scaling and maps(result, "gpus"):
        # A measurement of before that was told: its other figures are those of the most GPUs.
        found[counts[-1]] = len(used_gpus(result))
    return found


def left_unused(result):
    """{"gpus", "used"} of the first number of GPUs on which a probe's command used fewer; None where it used all, or nothing tells."""
    return next(({"gpus": count, "used": used} for count, used in _used_on(result).items() if used is not None and used < count), None)


def is_seen(result):
    """Whether it is known that the command used all the GPUs of its largest run."""
    used = _used_on(result)
    return bool(used) and used[max(used)] is not None


def _has_scaling(measurement):
    return bool(mapping(mapping(measurement, "result"), "scaling"))


def _evidence(point, source):
    """The largest number comes first: it is what the finding is about."""
    what = "%d GPU: %.4g s, %.3g x" % (point["gpus"], point["seconds"], point["speedup"])
    if point["serial_fraction"] is not None:
        what += ", serial fraction %.3g" % point["serial_fraction"]
    return {"what": what, "value": round(point["efficiency"], 4), "source": source}
