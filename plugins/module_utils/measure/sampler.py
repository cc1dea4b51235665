# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The sampler of a probe: one forked process that reads GPUs, machine and process tree at a fixed rate, and starts no program.

It writes one JSON line for each sample to a pipe: {"t": seconds since 1970, "m": monotonic seconds, "gpus": [...], "cpu": CPU seconds
spent so far, "every": seconds between samples}, now and then with "host" and "tree". The first line is {"hello": ...}. In a process of
its own a driver call that hangs or crashes costs the samples, never the watch over the workload.
"""

from __future__ import annotations

import json
import os
import time

from ..sources.host_files import HostFiles
from ..sources.texts import clean_text
from . import sampler_host

# What is read less often than every sample, in seconds.
HOST_SECONDS, SLOW_SECONDS, MAPS_SECONDS = 1.0, 2.0, 5.0
# What each part may take of one core; together below one hundredth. A part that costs more is read less often.
SHARES = {"sample": 0.003, "host": 0.0012, "slow": 0.0012, "tree": 0.0008}
LONGEST_SECONDS = 60.0


def describe(device):
    return dict(device.about, errors=dict(device.errors))


class Sampler(object):
    """`tree_root`: the process whose descendants are the workload; `own`: pids below it that aren't. `write(text)` takes each line."""

    def __init__(self, interval_seconds, tree_root, write, host=None, api=None, clock=time.monotonic):
        self.interval, self.root, self.write, self.clock = interval_seconds, tree_root, write, clock
        self.host, self.api = host or HostFiles(), api
        self.counters = sampler_host.HostCounters(self.host)
        self.page = os.sysconf("SC_PAGE_SIZE")
        self.devices, self.error = [], None
        self.asked = interval_seconds
        self.due = {"host": 0.0, "slow": 0.0, "tree": 0.0, "maps": 0.0}
        # CPU seconds that one reading of each part takes, smoothed.
        self.costs = {}
        self.count = 0
        self.opened = 0.0

    def _spent(self, part, seconds):
        self.costs[part] = seconds if part not in self.costs else 0.8 * self.costs[part] + 0.2 * seconds

    def every(self, part, seconds):
        """Seconds between two readings of a part: `seconds`, or as many as keep it within its share."""
        return min(max(seconds, self.costs.get(part, 0.0) / SHARES[part]), max(seconds, LONGEST_SECONDS))

    def _pace(self, part, seconds, now):
        """When a part is read next: at first more often than it will be, so that a short run isn't missed."""
        every = self.every(part, seconds)
        return now + min(every, max(self.interval, 0.2 * (now - self.opened), 0.15 * every)) - self.interval / 4

    def open(self):
        """Opens the driver's library and says what is there. A driver that doesn't answer is told in the first line's `error`."""
        uuids, notes = [], []
        from . import sampler_gpu
        try:
            if self.api is None:
                from ..sources.nvml_ctypes import Binding
                self.api = Binding()
            self.devices, notes, uuids = sampler_gpu.open_devices(self.api)
        except Exception as error:  # pylint: disable=broad-except
            # No library, no driver, no right: the workload is watched all the same, and the words are told.
            self.error = sampler_gpu.driver_words(error)
        before = []
        for device in self.devices:
            used, slow = device.read(), device.read_slow()
            before.append({"used": used["used"], "processes": [
                {"pid": pid, "name": device.process_name(pid), "used_memory_bytes": size}
                for pid, size in sorted((slow["processes"] or {}).items())], "processes_known": slow["processes"] is not None})
        self.opened = self.clock()
        self._line({"hello": {"error": self.error, "notes": notes, "gpu_uuids": uuids, "gpus": [describe(one) for one in self.devices],
                              "before": before}})

    def _line(self, value):
        self.write(json.dumps(value, separators=(",", ":")) + "\n")

    def _tree(self, now):
        """RSS and bytes read of the workload; walked less often the longer a walk takes."""
        if now < self.due["tree"]:
            return None
        began = time.process_time()
        table = sampler_host.processes(self.host)
        parents = {pid: fields[0] for pid, fields in table.items()}
        pids = [pid for pid in sampler_host.descendants(parents, self.root) if pid != os.getpid()]
        usage = sampler_host.tree_usage(self.host, pids, self.root, self.page)
        usage["ticks"] = sum(table[pid][1] for pid in pids)
        if now >= self.due["maps"]:
            found = set()
            for pid in pids[:8]:
                found |= sampler_host.mapped_frameworks(self.host.text_or("/proc/%d/maps" % pid, "", 4 << 20))
            usage["frameworks"] = sorted(found)
            self.due["maps"] = now + MAPS_SECONDS * (1 if self.count < 40 else 6)
        self._spent("tree", time.process_time() - began)
        self.due["tree"] = self._pace("tree", HOST_SECONDS, now)
        return usage

    def sample(self):
        """One sample, written as one line."""
        now = self.clock()
        marks = [time.process_time()]
        line = {"t": round(time.time(), 3), "m": round(now, 4), "gpus": [device.read() for device in self.devices]}
        marks.append(time.process_time())
        slow = now >= self.due["slow"]
        if now >= self.due["host"]:
            for device, values in zip(self.devices, line["gpus"]):
                values.update(device.read_clocks())
            line["host"] = self.counters.read(slow)
            self._spent("host", time.process_time() - marks[1])
            self.due["host"] = self._pace("host", HOST_SECONDS, now)
        if slow:
            marks.append(time.process_time())
            for device, values in zip(self.devices, line["gpus"]):
                values.update(device.read_slow())
            self._spent("slow", time.process_time() - marks[2])
            self.due["slow"] = self._pace("slow", SLOW_SECONDS, now)
        tree = self._tree(now)
        if tree is not None:
            line["tree"] = tree
        self.count += 1
        line["cpu"], line["every"] = round(time.process_time(), 6), round(self.interval, 3)
        marks.append(time.process_time())
        self._line(line)
        self._spent("sample", marks[1] - marks[0] + time.process_time() - marks[-1])
        self.interval = self.every("sample", self.asked)

    def loop(self):
        """Samples until the pipe is closed."""
        self.open()
        due = self.clock()
        while True:
            try:
                self.sample()
            except BrokenPipeError:
                return
            due = max(due + self.interval, self.clock())
            time.sleep(max(0.0, due - self.clock()))


def run(interval_seconds, tree_root, descriptor, host=None, api=None):
    """The whole life of the sampling process; returns when nobody reads `descriptor` any more."""
    def write(text):
        data = text.encode("ascii")
        while data:
            data = data[os.write(descriptor, data):]
    sampler = Sampler(interval_seconds, tree_root, write, host, api)
    try:
        sampler.loop()
    except Exception as error:  # pylint: disable=broad-except
        # Said in the stream: the one who reads it tells that sampling ended, and why.
        try:
            write(json.dumps({"failed": "%s: %s" % (type(error).__name__, clean_text(error))}) + "\n")
        except OSError:
            pass
