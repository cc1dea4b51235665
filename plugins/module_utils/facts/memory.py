# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Facts about main memory, and how much of it this process may use."""

from __future__ import annotations

import os

from ..sources import cgroup, procfs, sysfs
from ..sources.host_files import reason
from .subject import Subject


def collect(host, page_size=None):
    """The memory document of a HostFiles.

    Memory of NUMA nodes without CPUs (a Grace-Hopper's GPU memory, for one) is in the kernel's total but isn't main memory: it is
    taken out of total and available. `limit_bytes` null: no limit. `swap_in_bytes` and `swap_out_bytes` count since boot.
    """
    memory = Subject(
        "total_bytes", "available_bytes", "limit_bytes", "usable_bytes", "swap_total_bytes", "swap_used_bytes", "swap_in_bytes",
        "swap_out_bytes", "huge_pages_total", "huge_page_bytes")
    memory.read("/proc/meminfo", ("total_bytes", "available_bytes", "swap_total_bytes", "swap_used_bytes", "huge_pages_total",
                                  "huge_page_bytes"), _from_meminfo, host)
    if memory.values["available_bytes"] is None and not host.root:
        # Kernels before 3.14 have no MemAvailable.
        from ..sources import psutil_answers
        memory.put("psutil", {"available_bytes": getattr(psutil_answers.ask("virtual_memory"), "available", None)})
    apart = [node for node in sysfs.numa_nodes(host) if not node["cpus"] and node["memory_total_bytes"]]
    if apart and memory.values["total_bytes"]:
        total = memory.values["total_bytes"] - sum(node["memory_total_bytes"] for node in apart)
        if total > 0:
            available = memory.values["available_bytes"]
            if available is not None:
                available = max(0, min(total, available - sum(node["memory_free_bytes"] or 0 for node in apart)))
            memory.put("/proc/meminfo less the NUMA nodes without CPUs", {"total_bytes": total, "available_bytes": available})
    memory.read("/proc/vmstat", ("swap_in_bytes", "swap_out_bytes"), _swap_activity, host, page_size or os.sysconf("SC_PAGE_SIZE"))
    try:
        limit, where = cgroup.memory_limit(host)
        memory.put(where, limit, may_be_none=("limit_bytes",) if where else ())
    except OSError as error:
        memory.absent["limit_bytes"] = reason(error)
    total, limit = memory.values["total_bytes"], memory.values["limit_bytes"]
    memory.put("the smaller of total and limit", {"usable_bytes": total if None in (total, limit) else min(total, limit)})
    return memory.document()


def _from_meminfo(host):
    counts = procfs.parse_counts(host.text("/proc/meminfo"))
    if "MemTotal" not in counts:
        raise ValueError("no MemTotal in /proc/meminfo")
    swap = counts.get("SwapTotal")
    return {
        "total_bytes": counts["MemTotal"],
        "available_bytes": counts.get("MemAvailable"),
        "swap_total_bytes": swap,
        "swap_used_bytes": None if swap is None or "SwapFree" not in counts else max(0, swap - counts["SwapFree"]),
        "huge_pages_total": counts.get("HugePages_Total"),
        "huge_page_bytes": counts.get("Hugepagesize"),
    }


def _swap_activity(host, page_size):
    counts = procfs.parse_counts(host.text("/proc/vmstat"))
    return {
        "swap_in_bytes": counts["pswpin"] * page_size if "pswpin" in counts else None,
        "swap_out_bytes": counts["pswpout"] * page_size if "pswpout" in counts else None,
    }
