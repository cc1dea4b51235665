# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Metrics: named numbers and words derived from one host document and its inputs, by pure functions."""

from __future__ import annotations

from . import compute, gpu, health, memory, network, power, probe, scaling, software, storage, storage_speed, vram
from .registry import DEFINITIONS, Derivation, definition

__all__ = ["DEFINITIONS", "definition", "derive"]


def derive(document, inputs, now):
    """{"values": {name: {"value", "evidence"}}, "absent": {name: {"status", "reason", "params"}}} of one host.

    `document` is a host document whose `facts` is a map, `inputs` its inputs; `now` is kept for metrics that age (unused where none does).
    Every registered metric is in exactly one of the two maps. Never raises on odd leaf values: they count as unreadable.
    """
    state = Derivation(document, inputs, now)
    for part in (gpu, vram, compute, memory, storage, probe, storage_speed, network, health, power, software, scaling):
        part.derive(state)
    return state.finish()
