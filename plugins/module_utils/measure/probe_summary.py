# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Makes the figures of a probe's result out of the sampler's lines, as they come; keeps statistics and a capped series, no samples."""

from __future__ import annotations

from ..sources.gpu_record import reason_names
from . import probe_outcome, sampler_host
from .sampler_series import Histogram, Mean, Series

SERIES_POINTS = 180
# Before the first iteration is known, this long counts as the start.
START_SECONDS = 30.0
# Fewer samples after the first iteration than this say less than those of the whole run.
ENOUGH_SAMPLES = 5


class Window(object):
    """What is averaged over a stretch of the run: all of it, or from the first iteration on."""

    def __init__(self, gpus):
        self.util, self.sm = [Histogram() for dummy in range(gpus)], [Histogram() for dummy in range(gpus)]
        self.watts = [Mean() for dummy in range(gpus)]
        self.busy, self.iowait, self.busiest, self.iowait_cores = Mean(), Mean(), Mean(), Mean()
        self.seconds = 0.0


class GpuPeaks(object):
    """What is kept of one GPU over the whole run."""

    def __init__(self, before):
        self.other = before["used"]
        self.used = self.start = self.loading = self.job = self.celsius = self.encoder = self.last = None
        self.job_seen = False
        # Seconds of the whole run during which each clock-event reason was on.
        self.events = {}


def _greater(old, new):
    return old if new is None else new if old is None else max(old, new)


def _rounded(value, digits=4):
    return None if value is None else round(value, digits)


class Summary(object):
    """`hello`: the sampler's first line; `is_job(pid)`: whether a process belongs to the workload; `cpus`: those it may use."""

    def __init__(self, hello, interval_seconds, is_job, cpus=None):
        self.hello, self.interval, self.is_job, self.cpus = hello, interval_seconds, is_job, cpus
        count = len(hello["gpus"])
        self.keys = [_key(about, number, hello["gpus"]) for number, about in enumerate(hello["gpus"])]
        self.peaks = [GpuPeaks(before) for before in hello["before"]]
        self.run, self.steady = Window(count), None
        columns = {"cpu": "mean", "iowait": "mean"}
        for key in self.keys:
            columns.update({key + " used": "peak", key + " util": "mean", key + " peak": "peak"})
        self.series = Series(SERIES_POINTS, columns)
        self.samples, self.cpu_seconds, self.longest = 0, 0.0, interval_seconds
        self.started = self.last = self.clocks_at = None
        self.first_host = self.last_host = None
        self.first_slow = self.last_slow = None
        self.tree_steady = self.tree_last = None
        self.rss = self.available = None
        self.frameworks = set()
        self.load = {}

    def begin(self, moment):
        """The workload starts now (monotonic seconds)."""
        self.started = self.last = self.clocks_at = moment

    def first_iteration(self, moment):
        """From here on the steady window counts."""
        if self.steady is None:
            self.steady = Window(len(self.peaks))
            self.tree_steady = None

    def _windows(self):
        return [self.run] if self.steady is None else [self.run, self.steady]

    def add(self, line):
        """One sample of the sampler, taken while the workload ran."""
        moment = line["m"]
        seconds = max(0.0, min(moment - self.last, 3 * line["every"]))
        self.last = moment
        self.samples += 1
        self.cpu_seconds = line["cpu"]
        self.longest = max(self.longest, line["every"])
        for window in self._windows():
            window.seconds += seconds
        if line.get("host"):
            self._host(line["host"], moment)
        if line.get("tree"):
            self._tree(line["tree"], moment)
        row = {"cpu": self.load.get("busy"), "iowait": self.load.get("iowait")}
        clocks = 0.0
        if line.get("host"):
            # Watts and clock events come with the machine's counters.
            clocks, self.clocks_at = max(0.0, min(moment - self.clocks_at, 3 * max(1.0, line["every"]))), moment
        starting = self.steady is None and moment - self.started <= START_SECONDS
        for number, values in enumerate(line["gpus"]):
            self._gpu(number, values, seconds, clocks, starting)
            key = self.keys[number]
            row.update({key + " used": values["used"], key + " util": values["util"], key + " peak": values["util"]})
        self.series.add(round(moment - self.started, 2), row)

    def _gpu(self, number, values, seconds, clocks, starting):
        peak = self.peaks[number]
        peak.last = values["used"]
        peak.used = _greater(peak.used, values["used"])
        if starting:
            peak.start = _greater(peak.start, values["used"])
        if self.steady is None:
            peak.loading = _greater(peak.loading, values["used"])
        peak.celsius, peak.encoder = _greater(peak.celsius, values.get("celsius")), _greater(peak.encoder, values.get("encoder"))
        processes = values.get("processes")
        if processes:
            mine = [size for pid, size in processes.items() if self.is_job(int(pid))]
            if mine:
                peak.job_seen = True
                peak.job = _greater(peak.job, sum(size for size in mine if size) or None)
        for name in reason_names(values["mask"]) if values.get("mask") else ():
            peak.events[name] = peak.events.get(name, 0.0) + clocks
        for window in self._windows():
            window.util[number].add(values["util"], seconds)
            window.sm[number].add(values.get("sm"), seconds)
            window.watts[number].add(values.get("watts"), clocks)

    def _host(self, counters, moment):
        counters = dict(counters, m=moment)
        if self.last_host is not None:
            self.load = sampler_host.cpu_load(self.last_host["cpu"], counters["cpu"], self.cpus)
            for window in self._windows():
                for name in ("busy", "iowait", "busiest", "iowait_cores"):
                    getattr(window, name).add(self.load[name], moment - self.last_host["m"])
        self.first_host = self.first_host or counters
        self.last_host = counters
        if counters["available"] is not None:
            self.available = counters["available"] if self.available is None else min(self.available, counters["available"])
        if "net" in counters:
            self.first_slow = self.first_slow or counters
            self.last_slow = counters

    def _tree(self, usage, moment):
        usage = dict(usage, m=moment)
        self.tree_last = usage
        if self.steady is not None and self.tree_steady is None:
            self.tree_steady = usage
        self.rss = _greater(self.rss, usage["rss"])
        self.frameworks |= set(usage.get("frameworks") or ())

    def window(self):
        """(the window that counts, its name)"""
        if self.steady is not None and (not self.peaks or max(one.count for one in self.steady.util) >= ENOUGH_SAMPLES):
            if self.peaks or self.steady.seconds >= ENOUGH_SAMPLES * self.interval:
                return self.steady, "iterations"
        return self.run, "run"

    def gpus(self, visible=None):
        """Result entries of the GPUs whose number is in `visible` (None: all)."""
        window, dummy = self.window()
        found = []
        iterated = self.steady is not None
        for number, (about, peak) in enumerate(zip(self.hello["gpus"], self.peaks)):
            if visible is not None and number not in visible:
                continue
            util = window.util[number]
            entry = {name: about[name] for name in ("uuid", "index", "mig_uuid", "name", "memory_total_bytes", "memory_reserved_bytes")}
            entry.update(
                memory_used_peak_bytes=peak.used, memory_start_peak_bytes=peak.loading if iterated else peak.start,
                memory_other_bytes=peak.other, memory_job_peak_bytes=peak.job, used_by_job=peak.job_seen or None,
                utilization_mean_fraction=_rounded(util.mean()), utilization_p10_fraction=util.quantile(0.10),
                utilization_p50_fraction=util.quantile(0.50), utilization_p90_fraction=util.quantile(0.90),
                idle_fraction=None if util.mean() is None else round(1 - util.mean(), 4),
                sm_activity_mean_fraction=_rounded(window.sm[number].mean()),
                utilization_encoder_peak_fraction=peak.encoder, power_mean_watts=_rounded(window.watts[number].mean(), 1),
                power_peak_watts=_rounded(window.watts[number].peak, 1), temperature_max_celsius=peak.celsius,
                clock_event_seconds={name: round(seconds, 2) for name, seconds in sorted(peak.events.items())})
            entry["in_use"] = probe_outcome.in_use(entry)
            found.append(entry)
        return found

    def leftovers(self):
        """Processes that held VRAM before the workload began: [{"index", "pid", "name", "used_memory_bytes"}]."""
        return [dict(process, index=about["index"]) for about, before in zip(self.hello["gpus"], self.hello["before"])
                for process in before["processes"]]

    def cpu(self):
        window, dummy = self.window()
        return {"busy_fraction": _rounded(window.busy.mean()), "busiest_core_fraction": _rounded(window.busiest.mean()),
                "iowait_fraction": _rounded(window.iowait.mean()), "iowait_cores": _rounded(window.iowait_cores.mean()),
                "busy_peak_fraction": _rounded(window.busy.peak)}

    def swap(self):
        """(bytes in, bytes out, seconds between) of the machine over the run; None where it wasn't read twice."""
        if self.first_host is None or self.last_host is self.first_host:
            return None, None, 0.0
        first = self.first_host
        return (self.last_host["swap_in"] - first["swap_in"], self.last_host["swap_out"] - first["swap_out"],
                self.last_host["m"] - first["m"])

    def host_read_bytes(self):
        """Bytes that the whole machine read from block devices meanwhile; None where it wasn't read twice."""
        if self.first_host is None or self.last_host is self.first_host or self.first_host["read"] is None:
            return None
        return self.last_host["read"] - self.first_host["read"]

    def pressure(self):
        """{resource: share of the time in which something waited for it}; {} where the kernel doesn't tell."""
        if self.first_slow is None or self.last_slow is self.first_slow:
            return {}
        seconds = self.last_slow["m"] - self.first_slow["m"]
        found = {}
        for name, value in (self.last_slow["pressure"] or {}).items():
            before = self.first_slow["pressure"].get(name)
            if value is not None and before is not None and seconds > 0:
                found[name] = round(min(1.0, (value - before) / 1e6 / seconds), 4)
        return found

    def received(self):
        """{interface: received bytes per second}"""
        if self.first_slow is None or self.last_slow is self.first_slow:
            return {}
        seconds = self.last_slow["m"] - self.first_slow["m"]
        return {name: max(0, value - self.first_slow["net"].get(name, value)) / seconds
                for name, value in self.last_slow["net"].items() if seconds > 0}

    def compact_series(self, visible=None):
        """{"interval_seconds", "t", "gpu": {key: {"memory_used_bytes", "utilization_fraction", ...}}, "cpu_busy_fraction", ...}"""
        def rounded(name):
            return [_rounded(value) for value in self.series.column(name)]
        document = {"interval_seconds": round(self.interval * self.series.stride, 3), "t": self.series.times(), "gpu": {},
                    "cpu_busy_fraction": rounded("cpu"), "iowait_fraction": rounded("iowait")}
        for number, key in enumerate(self.keys):
            if visible is None or number in visible:
                document["gpu"][key] = {"memory_used_bytes": self.series.column(key + " used"),
                                        "utilization_fraction": rounded(key + " util")}
                if self.series.stride > 1:
                    document["gpu"][key]["utilization_peak_fraction"] = rounded(key + " peak")
        return document


def _key(about, number, everyone):
    """A GPU's index as text; an instance's place among those of its GPU behind it."""
    if about["mig_uuid"] is None:
        return "%d" % about["index"]
    return "%d.%d" % (about["index"], sum(1 for one in everyone[:number] if one["index"] == about["index"]))


def visible_numbers(gpus, environment):
    """Numbers of the entries that CUDA_VISIBLE_DEVICES leaves to the workload; None where it says nothing or can't be followed here."""
    text = environment.get("CUDA_VISIBLE_DEVICES")
    if text is None:
        return None
    if len({about["name"] for about in gpus}) > 1 and environment.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID":
        # CUDA then numbers the faster boards first, NVML by PCI address.
        return None
    found = set()
    for word in text.split(","):
        word = word.strip()
        chosen = [number for number, about in enumerate(gpus)
                  if word == str(about["index"]) or word.startswith("GPU-") and (about["uuid"] or "").startswith(word)
                  or word.startswith("MIG-") and (about["mig_uuid"] or "").startswith(word)]
        if not chosen:
            # CUDA too stops at the first that isn't there.
            break
        found.update(chosen)
    return found
