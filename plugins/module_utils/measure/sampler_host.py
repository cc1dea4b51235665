# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the kernel counts while a workload runs: CPU time, swap, faults, pressure, bytes read, memory of a process tree.

Readers take a HostFiles, parsers are pure. Sources: proc(5), Documentation/accounting/psi.rst, admin-guide/cgroup-v2.rst.
"""

from __future__ import annotations

import os

from ..sources import cgroup, procfs


def parse_cpu_times(text):
    """The cpu lines of /proc/stat -> {"cpu": (busy, iowait, total), "0": ...} in clock ticks. Guest time is part of user time already."""
    times = {}
    for line in text.splitlines():
        if not line.startswith("cpu"):
            break
        words = line.split()
        numbers = [int(word) for word in words[1:9]]
        numbers += [0] * (8 - len(numbers))
        total = sum(numbers)
        times[words[0][3:] or "cpu"] = (total - numbers[3] - numbers[4], numbers[4], total)
    return times


def cpu_load(before, after, cpus):
    """({"busy", "iowait", "busiest", "iowait_cores"}) between two parse_cpu_times(); fractions over the CPUs in `cpus` (None: all)."""
    names = [name for name in after if name != "cpu" and name in before and (cpus is None or int(name) in cpus)]
    busy = waiting = total = 0
    busiest = None
    for name in names:
        spent = after[name][2] - before[name][2]
        if spent <= 0:
            continue
        used = after[name][0] - before[name][0]
        busy, waiting, total = busy + used, waiting + max(0, after[name][1] - before[name][1]), total + spent
        busiest = max(busiest or 0.0, float(used) / spent)
    if not total:
        return {"busy": None, "iowait": None, "busiest": None, "iowait_cores": None}
    return {"busy": min(1.0, max(0.0, float(busy) / total)), "iowait": min(1.0, float(waiting) / total),
            "busiest": min(1.0, max(0.0, busiest)), "iowait_cores": float(waiting) * len(names) / total}


def parse_pressure(text):
    """/proc/pressure/<resource> -> {"some": stalled microseconds since boot, "full": ...}."""
    stalled = {}
    for line in text.splitlines():
        words = line.split()
        for word in words[1:]:
            if word.startswith("total=") and word[6:].isdigit():
                stalled[words[0]] = int(word[6:])
    return stalled


def parse_io(text):
    """/proc/<pid>/io -> {"rchar": ..., "read_bytes": ..., ...}."""
    values = {}
    for line in text.splitlines():
        name, dummy, value = line.partition(":")
        if value.strip().isdigit():
            values[name.strip()] = int(value)
    return values


def parse_net_dev(text):
    """/proc/net/dev -> {interface: received bytes}, loopback left out."""
    received = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        words = rest.split()
        if colon and words and words[0].isdigit() and name.strip() != "lo":
            received[name.strip()] = int(words[0])
    return received


def parse_process(text):
    """/proc/<pid>/stat -> (parent, clock ticks on a CPU, state); None when it is none."""
    fields = text.rpartition(")")[2].split()
    if len(fields) < 20:
        return None
    return int(fields[1]), int(fields[11]) + int(fields[12]), fields[0]


def processes(host):
    """{pid: parse_process()} of every process that is no zombie; one pass over /proc."""
    found = {}
    for name in os.listdir(host.path("/proc")):
        if name.isdigit():
            fields = parse_process(host.text_or("/proc/%s/stat" % name, "", 1024))
            if fields and fields[2] not in "ZX":
                found[int(name)] = fields
    return found


def process_parents(host):
    """{pid: parent} of every process that is no zombie."""
    return {pid: fields[0] for pid, fields in processes(host).items()}


def descendants(parents, root):
    """All pids below `root`, parents before their children; `root` itself left out."""
    children = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    found, queue = [], [root]
    while queue:
        for child in children.get(queue.pop(0), ()):
            found.append(child)
            queue.append(child)
    return found


def oom_kills(host):
    """{"group": OOM kills counted in this process's memory cgroup, "host": in the whole machine}; null where it isn't counted."""
    counts = {"group": None, "host": None}
    vmstat = procfs.parse_counts(host.text_or("/proc/vmstat", ""))
    counts["host"] = vmstat.get("oom_kill")
    try:
        version, folders = cgroup.folders(host, "memory")
    except OSError:
        return counts
    for folder in folders[:1]:
        name = "/memory.events" if version == 2 else "/memory.oom_control"
        counts["group"] = procfs.parse_counts(host.text_or(folder + name, "")).get("oom_kill")
    return counts


class HostCounters(object):
    """Reads the machine's counters; `read()` costs a handful of small files, whatever runs on it."""

    def __init__(self, host):
        self.host = host
        self.page = os.sysconf("SC_PAGE_SIZE")
        self.pressure = [name for name in ("cpu", "io", "memory") if host.exists("/proc/pressure/" + name)]

    def read(self, slow):
        """The counters now; what changes seldom or costs more (network, pressure) only with `slow`."""
        vmstat = procfs.parse_counts(self.host.text_or("/proc/vmstat", ""))
        meminfo = procfs.parse_counts(self.host.text_or("/proc/meminfo", ""))
        counters = {
            "cpu": parse_cpu_times(self.host.text_or("/proc/stat", "")),
            "swap_in": vmstat.get("pswpin", 0) * self.page, "swap_out": vmstat.get("pswpout", 0) * self.page,
            # In KiB, whatever the page size.
            "read": vmstat["pgpgin"] * 1024 if "pgpgin" in vmstat else None,
            "available": meminfo.get("MemAvailable"), "total": meminfo.get("MemTotal"),
        }
        if slow:
            counters["net"] = parse_net_dev(self.host.text_or("/proc/net/dev", ""))
            counters["pressure"] = {name: parse_pressure(self.host.text_or("/proc/pressure/" + name, "")).get("some")
                                    for name in self.pressure}
        return counters


def tree_usage(host, pids, reaper, page):
    """{"rss", "read_bytes", "rchar"} summed over `pids`; io is null where not one may be read (another user's processes).

    The kernel adds what an ended process read to the one that waited for it, so io counts `reaper`, the tree's root, as well.
    """
    rss, io = 0, {"read_bytes": None, "rchar": None}
    for pid in [reaper] + list(pids):
        if pid != reaper:
            words = host.text_or("/proc/%d/statm" % pid, "", 256).split()
            rss += int(words[1]) * page if len(words) > 1 else 0
        values = parse_io(host.text_or("/proc/%d/io" % pid, "", 1024))
        for name in io:
            if name in values:
                io[name] = (io[name] or 0) + values[name]
    return dict(io, rss=rss)


# A library mapped into a process -> the framework that takes VRAM ahead of need.
_LIBRARIES = (("/vllm/", "vllm"), ("/sglang/", "sglang"), ("libtritonserver", "triton"), ("/jaxlib/", "jax"),
              ("libtensorflow_framework", "tensorflow"), ("libtensorflow_cc", "tensorflow"), ("librmm", "rmm"), ("libtorch_cuda", "torch"))


def mapped_frameworks(text):
    """/proc/<pid>/maps -> names of the frameworks whose libraries are mapped."""
    return {name for part, name in _LIBRARIES if part in text}
