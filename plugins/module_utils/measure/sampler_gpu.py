# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reads the few values of every GPU that a probe samples, over our own binding of the driver's library.

A GPU (with MIG: each instance) is a Device. What one call answers with an error costs that value alone; a value that isn't supported is
not asked for again. SM activity comes from the GPM functions (nvml.h; Hopper and newer), which need two samples.
"""

from __future__ import annotations

import ctypes
import math

from ..sources.gpu_record import error_code, error_text, program_name
from ..sources.nvml_ctypes import LIBRARY_NOT_FOUND
from ..sources.texts import clean_text

# nvmlReturn_t: not supported, function not found, argument version mismatch, deprecated
_UNSUPPORTED = (3, 13, 25, 26)
_NO_VALUE = (1 << 64) - 1
_GPM_SM_UTIL = 2
# NVML_GPM_METRIC_MAX grows with the driver; the array is the last member, so room to spare does no harm.
_GPM_METRICS = 512


class _GpmMetric(ctypes.Structure):
    _fields_ = [("metricId", ctypes.c_uint), ("nvmlReturn", ctypes.c_uint), ("value", ctypes.c_double), ("names", ctypes.c_char_p * 3)]


class _GpmMetrics(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("numMetrics", ctypes.c_uint), ("sample1", ctypes.c_void_p), ("sample2", ctypes.c_void_p),
                ("metrics", _GpmMetric * _GPM_METRICS)]


class _GpmSupport(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("isSupportedDevice", ctypes.c_uint)]


class SmActivity(object):
    """Share of SMs at work between two readings of one GPU; `read()` is None the first time. Raises OSError where there is no GPM."""

    def __init__(self, handle):
        try:
            self.library = ctypes.CDLL("libnvidia-ml.so.1")
            support = _GpmSupport(1, 0)
            self._call("nvmlGpmQueryDeviceSupport", handle, ctypes.byref(support))
        except AttributeError:
            raise OSError("the driver has no GPM functions")
        if not support.isSupportedDevice:
            raise OSError("GPM is not supported by this GPU")
        self.handle, self.samples, self.metrics = handle, [], _GpmMetrics()
        for dummy in range(2):
            sample = ctypes.c_void_p()
            self._call("nvmlGpmSampleAlloc", ctypes.byref(sample))
            self.samples.append(sample)
        self.filled = False

    def _call(self, name, *arguments):
        function = getattr(self.library, name)
        function.restype = ctypes.c_uint
        status = function(*[ctypes.c_void_p(value) if isinstance(value, int) else value for value in arguments])
        if status:
            raise OSError("%s: NVML error %d" % (name, status))

    def read(self):
        self.samples.reverse()
        self._call("nvmlGpmSampleGet", self.handle, self.samples[1])
        if not self.filled:
            self.filled = True
            return None
        self.metrics.version, self.metrics.numMetrics = 1, 1
        self.metrics.sample1, self.metrics.sample2 = self.samples[0], self.samples[1]
        self.metrics.metrics[0].metricId = _GPM_SM_UTIL
        self._call("nvmlGpmMetricsGet", ctypes.byref(self.metrics))
        answer = self.metrics.metrics[0]
        # What isn't finite is no share: max() would make 0 of it.
        return None if answer.nvmlReturn or not math.isfinite(answer.value) else min(1.0, max(0.0, answer.value / 100.0))


class Device(object):
    """One GPU or MIG instance. `about` is what doesn't change: index, uuid, mig_uuid, name, memory_total_bytes, memory_reserved_bytes."""

    def __init__(self, api, handle, index, parent=None):
        self.api, self.handle, self.parent = api, handle, parent
        self.gone, self.errors = set(), {}
        uuid = self._text("nvmlDeviceGetUUID")
        total, dummy, reserved = self._memory() or (None, None, None)
        self.about = {
            "index": index, "uuid": uuid if parent is None else parent.about["uuid"], "mig_uuid": None if parent is None else uuid,
            "name": self._text("nvmlDeviceGetName"), "memory_total_bytes": total, "memory_reserved_bytes": reserved}
        self.sm = None
        if parent is None:
            try:
                self.sm = SmActivity(handle)
            except OSError as error:
                self.errors["sm_activity"] = clean_text(error)

    def _call(self, name, *arguments):
        """A function of the binding on this GPU; None where it fails, and not asked again where it isn't supported."""
        if name in self.gone:
            return None
        try:
            return getattr(self.api, name)(self.handle, *arguments)
        except Exception as error:  # pylint: disable=broad-except
            # Whatever a binding raises concerns this value alone; its words are kept and told once.
            if error_code(error) in _UNSUPPORTED or isinstance(error, AttributeError):
                self.gone.add(name)
            else:
                self.errors[name] = error_text(error)
            return None

    def _text(self, name):
        value = self._call(name)
        return None if value is None else clean_text(value) or None

    def _memory(self):
        """(total, used, reserved): before driver 510 `used` has the reserved part in it and reserved is None."""
        memory = self._call("nvmlDeviceGetMemoryInfo", self.api.nvmlMemory_v2) if "memory_v2" not in self.gone else None
        if memory is not None:
            return int(memory.total), int(memory.used), int(memory.reserved)
        self.gone.discard("nvmlDeviceGetMemoryInfo")
        memory = self._call("nvmlDeviceGetMemoryInfo")
        if memory is None:
            return None
        self.gone.add("memory_v2")
        return int(memory.total), int(memory.used), None

    def read(self):
        """What every sample has: used bytes, utilisation."""
        memory = self._memory()
        rates = self._call("nvmlDeviceGetUtilizationRates")
        return {"used": memory[1] if memory else None, "util": rates.gpu / 100.0 if rates is not None else None}

    def read_clocks(self):
        """Watts and the mask of clock-event reasons."""
        power = self._call("nvmlDeviceGetPowerUsage") if self.parent is None else None
        mask = self._call("nvmlDeviceGetCurrentClocksEventReasons")
        if mask is None:
            mask = self._call("nvmlDeviceGetCurrentClocksThrottleReasons")
        return {"watts": power / 1000.0 if power is not None else None, "mask": mask}

    def read_slow(self):
        """What changes slowly or costs more: temperature, encoder, SM activity, bytes by process."""
        encoder = self._call("nvmlDeviceGetEncoderUtilization")
        sm = None
        if self.sm is not None:
            try:
                sm = self.sm.read()
            except OSError as error:
                self.errors["sm_activity"], self.sm = clean_text(error), None
        processes, asked = {}, False
        for name in ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses"):
            running = self._call(name)
            asked = asked or running is not None
            for process in running or ():
                used = process.usedGpuMemory
                processes[int(process.pid)] = None if used is None or used == _NO_VALUE else int(used)
        return {"celsius": self._call("nvmlDeviceGetTemperature", 0), "encoder": encoder[0] / 100.0 if encoder else None, "sm": sm,
                "processes": processes if asked else None}

    def process_name(self, pid):
        try:
            return program_name(self.api.nvmlSystemGetProcessName(pid))
        except Exception:  # pylint: disable=broad-except
            # Ended in the meantime, or another user's: an unnamed process is told as such.
            return None


def driver_words(error):
    """Why GPUs can't be read, in the driver's words, but for the library that isn't there."""
    if error_code(error) == LIBRARY_NOT_FOUND:
        return "no NVIDIA driver library (libnvidia-ml.so.1) is installed on this host"
    return error_text(error)


def open_devices(api):
    """Starts NVML. -> ([Device], [notes], [uuid of every GPU]); with MIG on, the instances instead of their GPU. Raises NVMLError."""
    api.nvmlInit()
    devices, notes, uuids = [], [], []
    for index in range(api.nvmlDeviceGetCount()):
        try:
            gpu = Device(api, api.nvmlDeviceGetHandleByIndex(index), index)
        except Exception as error:  # pylint: disable=broad-except
            # A lost GPU must not keep the others from being watched.
            notes.append("GPU %d is not sampled: %s" % (index, error_text(error)))
            continue
        if gpu.about["uuid"]:
            uuids.append(gpu.about["uuid"])
        instances = _instances(api, gpu, index)
        devices += instances or [gpu]
    return devices, notes, uuids


def _instances(api, gpu, index):
    mode = gpu._call("nvmlDeviceGetMigMode")
    if not mode or not mode[0]:
        return []
    found = []
    for number in range(gpu._call("nvmlDeviceGetMaxMigDeviceCount") or 0):
        handle = gpu._call("nvmlDeviceGetMigDeviceHandleByIndex", number)
        if handle is not None:
            found.append(Device(api, handle, index, gpu))
    return found
