# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Clock-event reasons: how many samples showed each, and whether its counter grew between two samples.

Bits as in NVML's nvmlClocksEventReason*: 0x8 hardware slowdown, 0x20 software thermal, 0x40 hardware thermal, 0x80 power brake.
"""

from __future__ import annotations

from ..numbers import is_whole
from .per_gpu import evidence, read
from .registry import define, mapping, number

_REASONS = (
    ("gpu.hw_slowdown", 0x8, None, "hardware slowdown (0x8)", "硬件降频（0x8）"),
    ("gpu.sw_thermal", 0x20, "sw_thermal_slowdown", "software thermal slowdown (0x20)", "软件温度降频（0x20）"),
    ("gpu.hw_thermal", 0x40, "hw_thermal_slowdown", "hardware thermal slowdown (0x40)", "硬件温度降频（0x40）"),
    ("gpu.power_brake", 0x80, "hw_power_brake_slowdown", "hardware power brake (0x80)", "硬件功率制动（0x80）"),
    ("gpu.sw_power_cap", 0x4, "sw_power_cap", "software power cap (0x4)", "软件功率上限（0x4）"),
)
# Samples are about a second apart. Boost itself makes a counter creep by microseconds; a brake takes milliseconds.
_MIN_GROWTH_SECONDS = 0.001
for _name, _bit, _counter, _en, _zh in _REASONS:
    define(
        _name,
        "count",
        "samples of the worst GPU that show %s; at least 2 when its counter grew by 1 ms or more between two samples" % _en,
        ("gpu.gpus[].clock_event_reasons_masks", "gpu.gpus[].clock_event_counters_growth_seconds"),
        "最差 GPU 上出现%s的采样次数；两次采样间计数器增长 1 ms 及以上时至少计 2" % _zh,
    )


def _masks(gpu, _field):
    """The masks of all samples, None when there is none that is a whole number."""
    masks = gpu.get("clock_event_reasons_masks")
    if not isinstance(masks, list) or not masks:
        masks = [gpu.get("clock_event_reasons_mask")]
    known = [mask for mask in masks if is_whole(mask) and 0 <= mask < 2**64]
    return known or None


def derive(state):
    """The five metrics of clock-event reasons."""
    names = [entry[0] for entry in _REASONS]
    reading = read(state, names[0], "clock_event_reasons_mask", _masks)
    if not reading:
        for name in names[1:]:
            state.copy_absence(name, names[0])
        return
    for name, bit, counter, _en, _zh in _REASONS:
        found = []
        for gpu, masks in reading.pairs:
            samples = sum(1 for mask in masks if mask & bit)
            growth = number(mapping(gpu, "clock_event_counters_growth_seconds"), counter) if counter else None
            if growth is not None and growth >= _MIN_GROWTH_SECONDS:
                samples = max(samples, 2)
            if samples:
                found.append((gpu, samples))
        if not found and reading.failed:
            reading.mark(state, name)
        else:
            state.value(name, max([samples for _gpu, samples in found] or [0]), evidence(state, found))
