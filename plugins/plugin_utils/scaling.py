# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Does another GPU help? Speed-up, efficiency and serial fraction from times of the same command on 1, 2, 4, 8 ... GPUs.

docs/scaling.md has the definitions and where they come from.
"""

from __future__ import annotations

from .words import shown

# epoch: the same whole work each time, so more GPUs should take less time. step: each GPU has a batch of its own, so that a step on n GPUs
# is n times the samples and should take as long: the speed-up is in samples per second.
BASES = ("epoch", "step")
# No time or rate lies outside; quotients of such ones are finite.
_SMALLEST, _LARGEST = 1e-12, 10**100
NOTED_BELOW = 0.8
WARNED_BELOW = 0.6
# A speed-up this much above the number of GPUs speaks of a bad base: another batch, a cold cache, a first step that compiles.
SUPERLINEAR = 1.05
# Serial fractions of one job differ by this much from run to run; only a larger growth is called growth.
GROWTH = 1.25
GROWTH_FLOOR = 0.01


class ScalingError(ValueError):
    """Times or rates from which nothing can be said: what, and what is wanted."""


def _positive(value, what):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not _SMALLEST <= value <= _LARGEST:
        raise ScalingError("%s must be a number above 0, not %s" % (what, shown(value, 100)))
    return value


def rate_efficiency(rate, base_rate):
    """What each GPU does as a share of what each did before: of two rates per GPU (samples/s, tokens/s, TFLOPS) or two MFU figures."""
    return _positive(rate, "the rate") / _positive(base_rate, "the base rate")


def amdahl(serial_fraction, gpus):
    """The speed-up that a serial fraction leaves at best: 1 / (f + (1 - f) / N)."""
    if isinstance(serial_fraction, bool) or not isinstance(serial_fraction, (int, float)) or not 0 <= serial_fraction <= 1:
        raise ScalingError("a serial fraction lies between 0 and 1, not %s" % shown(serial_fraction))
    return 1.0 / (serial_fraction + (1.0 - serial_fraction) / _positive(gpus, "the number of GPUs"))


def karp_flatt(gpus, speedup):
    """The serial fraction that a measured speed-up speaks of: (1/S - 1/N) / (1 - 1/N); negative where it is above N."""
    if _positive(gpus, "the number of GPUs") <= 1:
        raise ScalingError("a serial fraction needs more than one GPU")
    return (1.0 / _positive(speedup, "the speed-up") - 1.0 / gpus) / (1.0 - 1.0 / gpus)


def read_times(times):
    """{GPUs: seconds} with whole numbers as keys, in their order. Keys may be text, as JSON and YAML give them. ScalingError else."""
    if not isinstance(times, dict):
        raise ScalingError("times are a map of seconds by number of GPUs, for example {1: 400, 2: 210}, not %s" % type(times).__name__)
    found = {}
    for key, value in times.items():
        label = key.strip() if isinstance(key, str) else shown(key)
        count = int(label) if label.isdecimal() and len(label) < 6 else 0
        if count < 1:
            raise ScalingError("%s is no number of GPUs" % shown(key))
        if count in found:
            raise ScalingError("%d GPUs are given twice" % count)
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                pass
        found[count] = float(_positive(value, "the seconds on %d GPUs" % count))
    return dict(sorted(found.items()))


def worth(efficiency):
    """Is it worth adding GPUs: "yes", "marginal" below an efficiency of 0.8, "no" below 0.6."""
    return "no" if efficiency < WARNED_BELOW else "marginal" if efficiency < NOTED_BELOW else "yes"


def summarise(times, basis="epoch"):
    """What times on different numbers of GPUs say.

    `times`: {GPUs: seconds}. `basis`: "epoch" where each time is the same whole work, "step" where each GPU had the same share of its own.
    Gives {"basis", "base_gpus", "points": [{"gpus", "seconds", "speedup", "efficiency", "serial_fraction", "added_efficiency"}],
    "efficiency_fraction", "serial_fraction", "speedup_limit", "worth_adding": "yes" | "marginal" | "no", "best_gpus", "notes": [key]}.
    Speed-up is relative to the smallest number measured; efficiency_fraction and worth_adding are those of the largest. `added_efficiency`
    is what the GPUs added since the point before bring, as a share of what they would at best. `best_gpus` is the most GPUs that were
    still worth it. With one number measured these are null. Notes: "superlinear", "communication" (the serial fraction grows with the
    number: traffic, not a serial part), "slower", "base_not_one", "one_number".
    ScalingError when a time is no number above 0.
    """
    if basis not in BASES:
        raise ScalingError("the basis is one of %s, not %s" % (", ".join(BASES), shown(basis)))
    seconds = read_times(times)
    if not seconds:
        raise ScalingError("no times: give seconds for at least two numbers of GPUs, for example {1: 400, 2: 210}")
    base = next(iter(seconds))
    points, before = [], None
    for gpus, taken in seconds.items():
        factor = gpus / base
        speedup = seconds[base] / taken * (factor if basis == "step" else 1.0)
        point = {
            "gpus": gpus,
            "seconds": taken,
            "speedup": speedup,
            "efficiency": speedup / factor,
            "serial_fraction": karp_flatt(factor, speedup) if factor > 1 else None,
            "added_efficiency": (speedup - before["speedup"]) / ((gpus - before["gpus"]) / base) if before else None,
        }
        points.append(point)
        before = point
    last = points[-1]
    measured = len(points) > 1
    serial = last["serial_fraction"]
    return {
        "basis": basis,
        "base_gpus": base,
        "points": points,
        "efficiency_fraction": last["efficiency"] if measured else None,
        "serial_fraction": serial,
        "speedup_limit": 1.0 / serial if serial and serial > 0 else None,
        "worth_adding": worth(last["efficiency"]) if measured else None,
        "best_gpus": max(point["gpus"] for point in points if worth(point["efficiency"]) == "yes") if measured else None,
        "notes": _notes(points, base),
    }


def _notes(points, base):
    notes = ["base_not_one"] if base != 1 else []
    if len(points) < 2:
        return notes + ["one_number"]
    if any(point["efficiency"] > SUPERLINEAR for point in points):
        notes.append("superlinear")
    serials = [point["serial_fraction"] for point in points[1:]]
    if len(serials) > 1 and serials[-1] > GROWTH_FLOOR and serials[-1] > GROWTH * max(serials[0], 0.0):
        notes.append("communication")
    if any(after["speedup"] < before["speedup"] for before, after in zip(points, points[1:])):
        notes.append("slower")
    return notes
