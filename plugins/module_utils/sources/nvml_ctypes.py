# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A small binding of the driver's own libnvidia-ml.so.1, for hosts without nvidia-ml-py.

It has the functions of `pynvml` that the reader calls, under the same names and with the same results (declarations: nvml.h).
"""

from __future__ import annotations

import ctypes
from ctypes import Structure, Union, byref, c_char, c_double, c_int, c_int64, c_longlong, c_uint, c_uint8, c_ulonglong, c_void_p

LIBRARY = "libnvidia-ml.so.1"
FOLDERS = ("/usr/lib/wsl/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/lib/nvidia",
           "/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/run/nvidia/driver/usr/lib64",
           "/run/nvidia/driver/usr/lib/x86_64-linux-gnu", "/run/opengl-driver/lib", "/home/kubernetes/bin/nvidia/lib64")
nvmlMemory_v2 = 0x2000028
INSUFFICIENT_SIZE = 7
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13


class NVMLError(Exception):
    """`value` is the nvmlReturn_t."""

    def __init__(self, value, text):
        Exception.__init__(self, text)
        self.value = value


def _structure(name, *fields, **options):
    return type(name, (options.get("base", Structure),), {"_fields_": list(fields)})


def _numbers(name, kind, fields):
    return _structure(name, *((field, kind) for field in fields.split()))


_Memory = _numbers("_Memory", c_ulonglong, "total free used")
_MemoryV2 = _structure("_MemoryV2", ("version", c_uint), ("total", c_ulonglong), ("reserved", c_ulonglong), ("free", c_ulonglong),
                       ("used", c_ulonglong))
_Utilization = _numbers("_Utilization", c_uint, "gpu memory")
_Histogram = _numbers("_Histogram", c_uint, "max high partial low none")
_Pci = _structure("_Pci", ("busIdLegacy", c_char * 16), ("domain", c_uint), ("bus", c_uint), ("device", c_uint), ("pciDeviceId", c_uint),
                  ("pciSubSystemId", c_uint), ("busId", c_char * 32))
_Process = _structure("_Process", ("pid", c_uint), ("usedGpuMemory", c_ulonglong), ("gpuInstanceId", c_uint), ("computeInstanceId", c_uint))
_Value = _structure("_Value", ("dVal", c_double), ("siVal", c_int), ("uiVal", c_uint), ("ulVal", ctypes.c_ulong), ("ullVal", c_ulonglong),
                    ("sllVal", c_longlong), ("usVal", ctypes.c_ushort), base=Union)
_Field = _structure("_Field", ("fieldId", c_uint), ("scopeId", c_uint), ("timestamp", c_int64), ("latencyUsec", c_int64),
                    ("valueType", c_uint),
                    ("nvmlReturn", c_uint), ("value", _Value))
_Margin = _structure("_Margin", ("version", c_uint), ("marginTemperature", c_int))
c_nvmlGpuFabricInfo_t = _structure("c_nvmlGpuFabricInfo_t", ("clusterUuid", c_uint8 * 16), ("status", c_uint), ("cliqueId", c_uint),
                                   ("state", c_uint8))
c_nvmlGpuFabricInfo_v2_t = _structure("c_nvmlGpuFabricInfo_v2_t", ("version", c_uint), ("clusterUuid", c_uint8 * 16), ("status", c_uint),
                                      ("cliqueId", c_uint), ("state", c_uint8), ("healthMask", c_uint))
nvmlGpuFabricInfo_v2 = 0x2000000 | ctypes.sizeof(c_nvmlGpuFabricInfo_v2_t)
c_nvmlEccSramErrorStatus_v1_t = _structure("c_nvmlEccSramErrorStatus_v1_t", ("version", c_uint), *(
    [(name, c_ulonglong)
     for name in "aggregateUncParity aggregateUncSecDed aggregateCor volatileUncParity volatileUncSecDed volatileCor aggregateUncBucketL2 "
     "aggregateUncBucketSm aggregateUncBucketPcie aggregateUncBucketMcu aggregateUncBucketOther".split()] + [("bThresholdExceeded",
                                                                                                              c_uint)]))
nvmlEccSramErrorStatus_v1 = 0x1000000 | ctypes.sizeof(c_nvmlEccSramErrorStatus_v1_t)

_OUT = {"u": c_uint, "i": c_int, "q": c_ulonglong, "p": c_void_p, "M": _Memory, "U": _Utilization, "H": _Histogram, "P": _Pci}
# name without the nvml prefix : in (h handle, u unsigned) : out (letters of _OUT; s a string)
_FUNCTIONS = """Shutdown:: SystemGetDriverVersion::s SystemGetNVMLVersion::s SystemGetCudaDriverVersion_v2::i SystemGetProcessName:u:s
DeviceGetCount_v2::u DeviceGetHandleByIndex_v2:u:p DeviceGetName:h:s DeviceGetUUID:h:s DeviceGetSerial:h:s DeviceGetVbiosVersion:h:s
DeviceGetPciInfo_v3:h:P DeviceGetCudaComputeCapability:h:ii DeviceGetMemoryInfo:h:M DeviceGetBAR1MemoryInfo:h:M
DeviceGetUtilizationRates:h:U
DeviceGetEncoderUtilization:h:uu DeviceGetDecoderUtilization:h:uu DeviceGetTemperature:hu:u DeviceGetTemperatureThreshold:hu:u
DeviceGetPowerUsage:h:u DeviceGetEnforcedPowerLimit:h:u DeviceGetPowerManagementLimit:h:u DeviceGetPowerManagementDefaultLimit:h:u
DeviceGetPowerManagementLimitConstraints:h:uu DeviceGetClockInfo:hu:u DeviceGetMaxClockInfo:hu:u DeviceGetPerformanceState:h:u
DeviceGetCurrentClocksEventReasons:h:q DeviceGetCurrentClocksThrottleReasons:h:q DeviceGetEccMode:h:uu DeviceGetTotalEccErrors:huu:q
DeviceGetMemoryErrorCounter:huuu:q DeviceGetRetiredPagesPendingStatus:h:u DeviceGetRemappedRows:h:uuuu DeviceGetRowRemapperHistogram:h:H
DeviceGetCurrPcieLinkGeneration:h:u DeviceGetMaxPcieLinkGeneration:h:u DeviceGetGpuMaxPcieLinkGeneration:h:u DeviceGetCurrPcieLinkWidth:h:u
DeviceGetMaxPcieLinkWidth:h:u DeviceGetPcieReplayCounter:h:u DeviceGetNvLinkState:hu:u DeviceGetNvLinkErrorCounter:huu:q
DeviceGetMigMode:h:uu
DeviceGetMaxMigDeviceCount:h:u DeviceGetMigDeviceHandleByIndex:hu:p DeviceGetGpuInstanceId:h:u DeviceGetComputeInstanceId:h:u
DeviceGetPersistenceMode:h:u DeviceGetComputeMode:h:u DeviceGetVirtualizationMode:h:u DeviceGetDisplayActive:h:u DeviceValidateInforom:h:"""
_ALIASES = {"nvmlDeviceGetCount": "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex": "nvmlDeviceGetHandleByIndex_v2",
            "nvmlDeviceGetPciInfo": "nvmlDeviceGetPciInfo_v3", "nvmlSystemGetCudaDriverVersion": "nvmlSystemGetCudaDriverVersion_v2"}


class Binding(object):
    """The library, loaded; has an attribute for every function above. Raises NVMLError, also where the library isn't there (value 12)."""

    c_nvmlGpuFabricInfo_t = c_nvmlGpuFabricInfo_t
    c_nvmlGpuFabricInfo_v2_t = c_nvmlGpuFabricInfo_v2_t
    nvmlGpuFabricInfo_v2 = nvmlGpuFabricInfo_v2
    c_nvmlEccSramErrorStatus_v1_t = c_nvmlEccSramErrorStatus_v1_t
    nvmlEccSramErrorStatus_v1 = nvmlEccSramErrorStatus_v1
    nvmlMemory_v2 = nvmlMemory_v2

    def __init__(self, path=None):
        self._library = None
        for place in (path,) if path else (LIBRARY,) + tuple("%s/%s" % (folder, LIBRARY) for folder in FOLDERS):
            try:
                self._library = ctypes.CDLL(place)
                break
            except OSError:
                continue
        if self._library is None:
            raise NVMLError(LIBRARY_NOT_FOUND, "NVML Shared Library Not Found")
        self._signatures = {"nvml" + name: (given, out) for name, given, out in (entry.split(":") for entry in _FUNCTIONS.split())}

    def _function(self, name):
        try:
            function = getattr(self._library, name)
        except AttributeError:
            raise NVMLError(FUNCTION_NOT_FOUND, "Function Not Found")
        function.restype = c_uint
        return function

    def _newest(self, names, ask):
        """`ask` of the first of these functions that the library has and knows."""
        for name in names:
            try:
                return ask(self._function(name))
            except NVMLError as error:
                if error.value != FUNCTION_NOT_FOUND:
                    raise
        raise NVMLError(FUNCTION_NOT_FOUND, "Function Not Found")

    def _check(self, status):
        if status:
            raise NVMLError(status, self.nvmlErrorString(status))

    def __getattr__(self, name):
        if name.startswith("_") or _ALIASES.get(name, name) not in self._signatures:
            raise AttributeError(name)
        name = _ALIASES.get(name, name)
        given, out = self._signatures[name]
        function = self._function(name)
        function.argtypes = [c_void_p if kind == "h" else c_uint for kind in given]
        kinds = [_OUT[letter] for letter in out if letter != "s"]

        def text(*values):
            buffer = ctypes.create_string_buffer(256)
            self._check(function(*values, buffer, c_uint(256)))
            return buffer.value

        def call(*values):
            results = [kind() for kind in kinds]
            self._check(function(*values, *map(byref, results)))
            plain = [result.value if letter in "uiq" else result for letter, result in zip(out, results)]
            return plain[0] if len(plain) == 1 else plain
        call = text if out == "s" else call
        setattr(self, name, call)
        return call

    def nvmlInit(self):
        return self._newest(("nvmlInit_v2", "nvmlInit"), lambda function: self._check(function()))

    def nvmlErrorString(self, status):
        try:
            function = self._library.nvmlErrorString
        except AttributeError:
            return "NVML error %d" % status
        function.restype = ctypes.c_char_p
        return (function(c_uint(status)) or b"").decode("utf-8", "replace")

    def nvmlDeviceGetMemoryInfo(self, handle, version=None):
        if not version:
            memory = _Memory()
            self._check(self._function("nvmlDeviceGetMemoryInfo")(handle, byref(memory)))
        else:
            memory = _MemoryV2(version=version)
            self._check(self._function("nvmlDeviceGetMemoryInfo_v2")(handle, byref(memory)))
        return memory

    def nvmlDeviceGetMarginTemperature(self, handle):
        margin = _Margin(version=0x1000008)
        self._check(self._function("nvmlDeviceGetMarginTemperature")(handle, byref(margin)))
        return margin.marginTemperature

    def nvmlDeviceGetGpuFabricInfoV(self, handle, info):
        self._check(self._function("nvmlDeviceGetGpuFabricInfoV")(handle, info))

    def nvmlDeviceGetGpuFabricInfo(self, handle, info):
        self._check(self._function("nvmlDeviceGetGpuFabricInfo")(handle, info))

    def nvmlDeviceGetSramEccErrorStatus(self, handle, status):
        self._check(self._function("nvmlDeviceGetSramEccErrorStatus")(handle, status))

    def nvmlDeviceGetFieldValues(self, handle, fields):
        values = (_Field * len(fields))()
        for value, field in zip(values, fields):
            value.fieldId, value.scopeId = field if isinstance(field, tuple) else (field, 0)
        self._check(self._function("nvmlDeviceGetFieldValues")(handle, c_int(len(fields)), values))
        return values

    def _sized(self, function, kind, before):
        """Calls a function that tells how many elements there are, then again with room for more. -> elements."""
        count = c_uint(0)
        status = function(*(before + [byref(count), None]))
        if status not in (0, INSUFFICIENT_SIZE):
            self._check(status)
        if not status and not count.value:
            return []
        count.value = count.value * 2 + 5
        elements = (kind * count.value)()
        self._check(function(*(before + [byref(count), elements])))
        return list(elements[:count.value])

    def _processes(self, name, handle):
        return self._newest((name + "_v3", name + "_v2"), lambda function: self._sized(function, _Process, [handle]))

    def nvmlDeviceGetComputeRunningProcesses(self, handle):
        return self._processes("nvmlDeviceGetComputeRunningProcesses", handle)

    def nvmlDeviceGetGraphicsRunningProcesses(self, handle):
        return self._processes("nvmlDeviceGetGraphicsRunningProcesses", handle)

    def nvmlDeviceGetRetiredPages(self, handle, cause):
        return self._sized(self._function("nvmlDeviceGetRetiredPages"), c_ulonglong, [handle, c_uint(cause)])
