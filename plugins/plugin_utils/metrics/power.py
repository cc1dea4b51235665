# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Power of the GPUs: limits against the boards' defaults, and what they draw at the moment."""

from __future__ import annotations

from .per_gpu import evidence, read
from .registry import amount, define

define(
    "power.limit_fraction",
    "fraction",
    "lowest power_limit_watts / power_limit_default_watts over the GPUs",
    ("gpu.gpus[].power_limit_watts", "gpu.gpus[].power_limit_default_watts"),
    "各 GPU 的 power_limit_watts / power_limit_default_watts 的最小值",
)
define(
    "power.draw_watts",
    "watts",
    "sum of power_draw_watts over the GPUs at the moment of the audit",
    ("gpu.gpus[].power_draw_watts",),
    "审计时刻各 GPU 的 power_draw_watts 之和",
)


def derive(state):
    """Every power.* metric."""
    reading = read(state, "power.limit_fraction", "power_limit_watts", amount)
    if reading:
        known = [
            (gpu, limit / amount(gpu, "power_limit_default_watts"), limit)
            for gpu, limit in reading.pairs
            if amount(gpu, "power_limit_default_watts")
        ]
        if known:
            worst = min(fraction for _gpu, fraction, _limit in known)
            state.value(
                "power.limit_fraction", worst, evidence(state, [(gpu, limit) for gpu, fraction, limit in known if fraction < 1])[:8]
            )
        else:
            state.not_applicable("power.limit_fraction", "absent.not_supported")
    reading = read(state, "power.draw_watts", "power_draw_watts", amount)
    if reading and reading.failed:
        reading.mark(state, "power.draw_watts")
    elif reading:
        state.value("power.draw_watts", round(sum(draw for _gpu, draw in reading.pairs), 2))
