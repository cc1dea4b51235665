# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Memory facts: what counts as main memory, limits, swap."""

from __future__ import annotations

import sys
import types

import pytest
from host_tree import make_host

from ansible_collections.trainops.gpu_audit.plugins.module_utils.facts import memory
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.host_files import HostFiles

KIB = 1024
MEMINFO = ("MemTotal:       1000000 kB\nMemFree:         700000 kB\nMemAvailable:    800000 kB\nSwapTotal:        50000 kB\n"
           "SwapFree:         40000 kB\nHugePages_Total:      16\nHugepagesize:       2048 kB\n")


def _node(number, cpus, total, free):
    base = "/sys/devices/system/node/node%d/" % number
    return {base + "cpulist": cpus + "\n",
            base + "meminfo": "Node %d MemTotal:       %d kB\nNode %d MemFree:        %d kB\n" % (number, total, number, free)}


def test_captured_meminfo(captures, tmp_path):
    host = make_host(tmp_path, {"/proc/meminfo": (captures / "proc" / "sonar-meminfo.txt").read_bytes()})
    found = memory.collect(host)
    assert found["total_bytes"] == 16093776 * KIB
    assert found["available_bytes"] == 8162068 * KIB
    assert (found["swap_total_bytes"], found["swap_used_bytes"]) == (2097148 * KIB, 0)
    assert (found["huge_pages_total"], found["huge_page_bytes"]) == (0, 2048 * KIB)


def test_swap_and_its_activity(tmp_path):
    found = memory.collect(make_host(tmp_path, {"/proc/meminfo": MEMINFO, "/proc/vmstat": "pgpgin 9\npswpin 3\npswpout 7\n"}),
                           page_size=65536)
    assert (found["swap_total_bytes"], found["swap_used_bytes"]) == (50000 * KIB, 10000 * KIB)
    assert (found["swap_in_bytes"], found["swap_out_bytes"]) == (3 * 65536, 7 * 65536)
    assert (found["huge_pages_total"], found["huge_page_bytes"]) == (16, 2048 * KIB)


def test_gpu_memory_of_a_grace_hopper_is_not_main_memory(tmp_path):
    files = {"/proc/meminfo": MEMINFO}
    files.update(_node(0, "0-71", 600000, 500000))
    files.update(_node(1, "", 400000, 390000))
    files.update(_node(2, "", 0, 0))
    found = memory.collect(make_host(tmp_path, files))
    assert found["total_bytes"] == 600000 * KIB
    assert found["available_bytes"] == 410000 * KIB
    assert found["usable_bytes"] == 600000 * KIB
    assert "NUMA" in found["sources"]["total_bytes"]


def test_ordinary_nodes_change_nothing(tmp_path):
    files = {"/proc/meminfo": MEMINFO}
    files.update(_node(0, "0-7", 500000, 1))
    files.update(_node(1, "8-15", 400000, 1))
    assert memory.collect(make_host(tmp_path, files))["total_bytes"] == 1000000 * KIB


def test_available_never_gets_negative(tmp_path):
    files = {"/proc/meminfo": MEMINFO}
    files.update(_node(0, "0-7", 1000, 1000))
    files.update(_node(1, "", 999000, 999000))
    assert memory.collect(make_host(tmp_path, files))["available_bytes"] == 0


def test_limited_container_on_a_big_host(traps):
    found = memory.collect(HostFiles(str(traps / "inputs" / "B92-cgroup")))
    assert (found["total_bytes"], found["limit_bytes"], found["usable_bytes"]) == (527956000 * KIB, 17179869184, 17179869184)


@pytest.mark.parametrize("installed, available, source", [(True, 640 * KIB, "psutil"), (False, None, None)])
def test_an_old_kernels_available_memory_is_psutils_estimate(tmp_path, monkeypatch, installed, available, source):
    host = make_host(tmp_path, {"/proc/meminfo": "MemTotal: 1000 kB\nMemFree: 500 kB\n"})
    # This machine, with another /proc.
    monkeypatch.setattr(host, "path", lambda path: str(tmp_path) + path)
    host.root = ""
    answer = types.SimpleNamespace(virtual_memory=lambda: types.SimpleNamespace(available=640 * KIB)) if installed else None
    monkeypatch.setitem(sys.modules, "psutil", answer)
    found = memory.collect(host)
    assert (found["total_bytes"], found["available_bytes"], found["sources"].get("available_bytes")) == (1000 * KIB, available, source)
    assert ("available_bytes" in found["absent"]) is not installed


def test_a_limit_above_the_memory_binds_nothing(tmp_path):
    host = make_host(tmp_path, {"/proc/meminfo": MEMINFO, "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": str(1 << 50)})
    found = memory.collect(host)
    assert (found["limit_bytes"], found["usable_bytes"]) == (1 << 50, 1000000 * KIB)


def test_nothing_readable_is_null_and_never_0(tmp_path):
    found = memory.collect(HostFiles(str(tmp_path)))
    for field in ("total_bytes", "available_bytes", "usable_bytes", "limit_bytes", "swap_total_bytes", "swap_in_bytes", "huge_pages_total"):
        assert found[field] is None and found["absent"][field] == "not_supported", field


def test_a_broken_meminfo_says_so(tmp_path):
    found = memory.collect(make_host(tmp_path, {"/proc/meminfo": "MemTotal: many kB\n"}))
    assert found["total_bytes"] is None and found["absent"]["total_bytes"] == "failed: no MemTotal in /proc/meminfo"


def test_this_machine():
    found = memory.collect(HostFiles())
    assert found["total_bytes"] >= found["available_bytes"] > 0
    assert found["usable_bytes"] <= found["total_bytes"]
