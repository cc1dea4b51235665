# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Facts about the processors, and how much of them this process may use."""

from __future__ import annotations

import math
import os

from ..sources import cgroup, procfs, sysfs
from ..sources.host_files import reason
from .subject import Subject

# One block of an x86 /proc/cpuinfo with its flags is below 4 KB; the file of a big machine is slow to make.
_ENOUGH = 16384


def collect(host):
    """The cpu document of a HostFiles.

    `numa_nodes[].cpus` is the kernel's list ('0-31,64-95'), '' for a node of memory alone. `quota_cores` null: no quota.
    `affinity_threads` counts the CPU set of the control group and taskset as well. `usable_threads` and `usable_cores` are
    whole numbers, a quota rounded up. In a VM a vCPU counts as a core.
    """
    cpu = Subject(
        "model", "vendor", "architecture", "sockets", "cores_physical", "threads_logical", "threads_per_core", "numa_nodes",
        "affinity_threads", "quota_cores", "usable_threads", "usable_cores", "governor", "load_1m", "load_5m", "load_15m", "virtual")
    online, topology = sysfs.online_cpus(host), {}
    if online:
        topology = sysfs.cpu_topology(host, online)
    text = host.text_or("/proc/cpuinfo", "", _ENOUGH)
    # On arm64 every core says its kind; without sysfs the whole file is the only count.
    if not topology or "CPU implementer" in text[:4096]:
        text = host.text_or("/proc/cpuinfo", "", 1 << 22)
    info = procfs.parse_cpuinfo(text)
    topology_source = "/sys/devices/system/cpu"
    if not topology and info["cores"]:
        topology, topology_source = info["cores"], "/proc/cpuinfo"
    cpu.put("/proc/cpuinfo", {"model": info["model"], "vendor": info["vendor"]})
    cpu.put("uname", {"architecture": _architecture(host, text)})
    cpu.put("/sys/devices/system/cpu/online" if online else "/proc/cpuinfo",
            {"threads_logical": len(online) if online else info["processors"] or None})
    cpu.put(topology_source, _counts(topology))
    if not topology and not host.root:
        from ..sources import psutil_answers
        cpu.put("psutil", {"cores_physical": psutil_answers.ask("cpu_count", logical=False)})
    cpu.put("/sys/devices/system/node", {"numa_nodes": [
        dict((key, node[key]) for key in ("node", "cpus", "memory_total_bytes")) for node in sysfs.numa_nodes(host)] or None})
    cpu.put("/sys/devices/system/cpu", {"governor": sysfs.governor(host)})
    machine = sysfs.virtualization(host, info["hypervisor"])
    cpu.put("/proc/cpuinfo, /sys/class/dmi/id", {"virtual": machine and machine != "none"})
    cpu.read("/proc/loadavg", ("load_1m", "load_5m", "load_15m"), _load, host)
    _put_usable(cpu, host, online, topology)
    return cpu.document()


def _architecture(host, cpuinfo):
    if not host.root:
        return os.uname().machine
    for word, name in (("CPU implementer", "aarch64"), ("POWER", "ppc64le"), ("vendor_id", "x86_64")):
        if word in cpuinfo:
            return name
    return None


def _counts(topology):
    if not topology:
        return {"sockets": None, "cores_physical": None, "threads_per_core": None}
    threads = {}
    for place in topology.values():
        threads[place] = threads.get(place, 0) + 1
    # With hybrid cores some have two threads and some one: the most.
    return {
        "sockets": len(set(package for package, _core in threads)),
        "cores_physical": len(threads),
        "threads_per_core": max(threads.values()),
    }


def _load(host):
    text = host.text("/proc/loadavg")
    try:
        one, five, fifteen = (float(word) for word in text.split()[:3])
    except ValueError:
        raise ValueError("no load averages: %r" % text[:100])
    return {"load_1m": one, "load_5m": five, "load_15m": fifteen}


def _affinity(host):
    """The CPUs this process may run on, None where nobody says."""
    cpus = procfs.parse_status_list(host.text_or("/proc/self/status", ""), "Cpus_allowed_list")
    if cpus is None and not host.root:
        cpus = os.sched_getaffinity(0)
    return cpus


def _put_usable(cpu, host, online, topology):
    try:
        allowed = _affinity(host)
    except (OSError, ValueError) as error:
        cpu.absent.update(dict.fromkeys(("affinity_threads", "usable_threads", "usable_cores"), reason(error)))
        return
    if allowed is not None and online:
        allowed = allowed & online
    source = "affinity"
    cpu.put("/proc/self/status", {"affinity_threads": len(allowed) if allowed else None})
    try:
        quota, where = cgroup.cpu_quota(host)
        cpu.put(where, quota, may_be_none=("quota_cores",) if where else ())
    except OSError as error:
        cpu.absent["quota_cores"] = reason(error)
    if not allowed:
        cpu.put(None, {"usable_threads": None, "usable_cores": None})
        return
    cores = len(allowed)
    if not cpu.values["virtual"] and topology:
        # A thread that the topology doesn't know counts as a core of its own.
        cores = len(set(topology.get(number, number) for number in allowed))
        source += ", topology"
    most = cpu.values["quota_cores"]
    if most is not None:
        most = max(1, math.ceil(most))
        source += ", quota"
    cpu.put(source, {
        "usable_threads": len(allowed) if most is None else min(len(allowed), most),
        "usable_cores": cores if most is None else min(cores, most),
    })
