# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Host memory against the GPUs' memory."""

from __future__ import annotations

from .registry import amount, define
from .vram import is_unified

define("memory.total_bytes", "bytes", "memory of NUMA nodes with CPUs", ("memory.total_bytes",), "带 CPU 的 NUMA 节点的内存总量")
define(
    "memory.usable_bytes",
    "bytes",
    "the smaller of memory.total_bytes and the cgroup limit",
    ("memory.usable_bytes", "memory.limit_bytes"),
    "memory.total_bytes 与 cgroup 上限中的较小者",
)
define(
    "memory.ram_to_vram_ratio",
    "ratio",
    "memory.usable_bytes / vram.total_bytes; not applicable with unified memory",
    ("memory.usable_bytes", "vram.total_bytes"),
    "memory.usable_bytes / vram.total_bytes；统一内存时不适用",
)
define(
    "memory.swap_used_fraction",
    "fraction",
    "swap_used_bytes / swap_total_bytes",
    ("memory.swap_used_bytes", "memory.swap_total_bytes"),
    "swap_used_bytes / swap_total_bytes",
)


def derive(state):
    """Every memory.* metric."""
    memory, problem = state.subject("memory")
    for field in ("total_bytes", "usable_bytes"):
        size = amount(memory, field) if memory else None
        if field == "usable_bytes" and memory:
            known = [entry for entry in (size, amount(memory, "total_bytes"), amount(memory, "limit_bytes")) if entry is not None]
            size = min(known) if known else None
        name = "memory." + field
        if size is None:
            state.unread([name], problem, name)
        else:
            evidence = [{"what": name, "value": size, "source": "/proc/meminfo"}]
            limit = amount(memory, "limit_bytes")
            if field == "usable_bytes" and limit is not None and limit == size:
                evidence = [{"what": "memory.limit_bytes", "value": limit, "source": "cgroup"}]
            state.value(name, size, evidence)
    _derive_ratio(state)
    _derive_swap(state, memory)


def _derive_ratio(state):
    name = "memory.ram_to_vram_ratio"
    usable, vram = state.get("memory.usable_bytes"), state.get("vram.total_bytes")
    if is_unified(state):
        state.not_applicable(name, "absent.unified_memory")
    elif not vram:
        state.copy_absence(name, "vram.total_bytes")
    elif usable is None:
        state.copy_absence(name, "memory.usable_bytes")
    else:
        state.value(
            name,
            usable / vram,
            [
                {"what": "memory.usable_bytes", "value": usable, "source": "memory"},
                {"what": "vram.total_bytes", "value": vram, "source": state.source},
            ],
        )


def _derive_swap(state, memory):
    name = "memory.swap_used_fraction"
    total = amount(memory, "swap_total_bytes") if memory else None
    used = amount(memory, "swap_used_bytes") if memory else None
    if total == 0:
        state.not_applicable(name, "absent.no_swap")
    elif total is None or used is None or used > total:
        state.unknown(name, "absent.unreadable", field="memory.swap_used_bytes")
    else:
        state.value(name, used / total, [{"what": "memory.swap_used_bytes", "value": used, "source": "/proc/meminfo"}])
