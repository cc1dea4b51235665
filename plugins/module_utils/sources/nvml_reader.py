# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reads every GPU over an NVML binding: `pynvml` (nvidia-ml-py) or our own nvml_ctypes, which have the same functions.

Each call is on its own: what one answers with an error costs one field. Meant to run in a forked child, as the library may hang or crash.
"""

from __future__ import annotations

import time

from .gpu_record import (FIELDS, NOT_PERMITTED, NOT_SUPPORTED, add_sample, bus_id, device_id, error_code, error_text, finish, new_gpu,
                         program_name, put, set_status, slowed_by_hardware)
from .texts import clean_text

# nvmlReturn_t (nvml.h)
NO_PERMISSION, GPU_IS_LOST, RESET_REQUIRED = 4, 15, 16
# not supported, function not found, argument version mismatch, deprecated
_UNSUPPORTED = (3, 13, 25, 26)
_SWITCH = ("disabled", "enabled")
_COMPUTE_MODES = ("default", "exclusive_thread", "prohibited", "exclusive_process")
_VIRTUALIZATION = ("none", "pass_through", "vgpu", "host_vgpu", "host_vsga")
_RECOVERY = ("none", "reset", "reboot", "drain_p2p", "drain_and_reset")
_FABRIC_STATES = (None, "not_started", "in_progress", "completed")
_NO_VALUE = (1 << 64) - 1
# NVML_FI_DEV_* of nvml.h
_MEMORY_TEMPERATURE, _POWER_AVERAGE, _POWER_INSTANT, _SHUTDOWN_TLIMIT, _SLOWDOWN_TLIMIT = 82, 185, 186, 193, 194
_RESET, _DRAIN, _RECOVERY_ACTION = 226, 227, 230
_COUNTERS = ((74, "sw_power_cap"), (76, "sync_boost"), (269, "sw_thermal_slowdown"), (270, "hw_thermal_slowdown"),
             (271, "hw_power_brake_slowdown"))


def _why(error):
    """An exception of one call -> an `absent` word."""
    code = error_code(error)
    if code in _UNSUPPORTED or isinstance(error, AttributeError):
        return NOT_SUPPORTED
    return NOT_PERMITTED if code == NO_PERMISSION else "failed: %s" % error_text(error)


def _name(table):
    """A number -> its word; one that a newer driver added as "code_7"."""
    return lambda number: table[number] if 0 <= number < len(table) else "code_%d" % number


def _watts(milliwatts):
    return round(milliwatts / 1000.0, 2)


def _percent(value):
    return value / 100.0


def _text(value):
    text = clean_text(value)
    return text if text and text.upper() != "N/A" else None


_SWITCHED = _name(_SWITCH)
# (fields, function, arguments, how each value is turned into the field's)
_CALLS = (
    ("uuid", "nvmlDeviceGetUUID", (), (_text,)),
    ("serial", "nvmlDeviceGetSerial", (), (_text,)),
    ("name", "nvmlDeviceGetName", (), (_text,)),
    ("vbios_version", "nvmlDeviceGetVbiosVersion", (), (_text,)),
    ("utilization_encoder_fraction", "nvmlDeviceGetEncoderUtilization", (), (_percent,)),
    ("utilization_decoder_fraction", "nvmlDeviceGetDecoderUtilization", (), (_percent,)),
    ("temperature_celsius", "nvmlDeviceGetTemperature", (0,), (int,)),
    ("temperature_headroom_celsius", "nvmlDeviceGetMarginTemperature", (), (int,)),
    ("temperature_shutdown_celsius", "nvmlDeviceGetTemperatureThreshold", (0,), (int,)),
    ("temperature_slowdown_celsius", "nvmlDeviceGetTemperatureThreshold", (1,), (int,)),
    ("temperature_max_operating_celsius", "nvmlDeviceGetTemperatureThreshold", (3,), (int,)),
    ("power_limit_watts", "nvmlDeviceGetEnforcedPowerLimit", (), (_watts,)),
    ("power_limit_watts", "nvmlDeviceGetPowerManagementLimit", (), (_watts,)),
    ("power_limit_default_watts", "nvmlDeviceGetPowerManagementDefaultLimit", (), (_watts,)),
    ("power_limit_min_watts power_limit_max_watts", "nvmlDeviceGetPowerManagementLimitConstraints", (), (_watts, _watts)),
    ("clock_graphics_mhz", "nvmlDeviceGetClockInfo", (0,), (int,)),
    ("clock_sm_mhz", "nvmlDeviceGetClockInfo", (1,), (int,)),
    ("clock_memory_mhz", "nvmlDeviceGetClockInfo", (2,), (int,)),
    ("clock_graphics_max_mhz", "nvmlDeviceGetMaxClockInfo", (0,), (int,)),
    ("clock_sm_max_mhz", "nvmlDeviceGetMaxClockInfo", (1,), (int,)),
    ("clock_memory_max_mhz", "nvmlDeviceGetMaxClockInfo", (2,), (int,)),
    ("performance_state", "nvmlDeviceGetPerformanceState", (), (lambda state: "P%d" % state if state < 32 else None,)),
    ("ecc_mode ecc_mode_pending", "nvmlDeviceGetEccMode", (), (_SWITCHED, _SWITCHED)),
    ("ecc_corrected_volatile", "nvmlDeviceGetTotalEccErrors", (0, 0), (int,)),
    ("ecc_uncorrectable_volatile", "nvmlDeviceGetTotalEccErrors", (1, 0), (int,)),
    ("ecc_corrected_aggregate", "nvmlDeviceGetTotalEccErrors", (0, 1), (int,)),
    ("ecc_uncorrectable_aggregate", "nvmlDeviceGetTotalEccErrors", (1, 1), (int,)),
    ("ecc_dram_uncorrectable_volatile", "nvmlDeviceGetMemoryErrorCounter", (1, 0, 2), (int,)),
    ("ecc_dram_uncorrectable_aggregate", "nvmlDeviceGetMemoryErrorCounter", (1, 1, 2), (int,)),
    ("ecc_sram_uncorrectable_volatile", "nvmlDeviceGetMemoryErrorCounter", (1, 0, 7), (int,)),
    ("ecc_sram_uncorrectable_aggregate", "nvmlDeviceGetMemoryErrorCounter", (1, 1, 7), (int,)),
    ("retired_pages_single_bit", "nvmlDeviceGetRetiredPages", (0,), (len,)),
    ("retired_pages_double_bit", "nvmlDeviceGetRetiredPages", (1,), (len,)),
    ("retired_pages_pending", "nvmlDeviceGetRetiredPagesPendingStatus", (), (bool,)),
    ("remapped_rows_correctable remapped_rows_uncorrectable remapped_rows_pending remapped_rows_failure", "nvmlDeviceGetRemappedRows", (),
     (int, int, bool, bool)),
    ("remapped_rows_banks", "nvmlDeviceGetRowRemapperHistogram", (),
     (lambda banks: {name: getattr(banks, name) for name in ("max", "high", "partial", "low", "none")},)),
    ("pcie_generation_current", "nvmlDeviceGetCurrPcieLinkGeneration", (), (lambda number: number or None,)),
    ("pcie_generation_max", "nvmlDeviceGetMaxPcieLinkGeneration", (), (lambda number: number or None,)),
    ("pcie_generation_device_max", "nvmlDeviceGetGpuMaxPcieLinkGeneration", (), (lambda number: number or None,)),
    ("pcie_width_current", "nvmlDeviceGetCurrPcieLinkWidth", (), (int,)),
    ("pcie_width_max", "nvmlDeviceGetMaxPcieLinkWidth", (), (int,)),
    ("pcie_replay_count", "nvmlDeviceGetPcieReplayCounter", (), (int,)),
    ("mig_mode mig_mode_pending", "nvmlDeviceGetMigMode", (), (_SWITCHED, _SWITCHED)),
    ("persistence_mode", "nvmlDeviceGetPersistenceMode", (), (_SWITCHED,)),
    ("compute_mode", "nvmlDeviceGetComputeMode", (), (_name(_COMPUTE_MODES),)),
    ("virtualization_mode", "nvmlDeviceGetVirtualizationMode", (), (_name(_VIRTUALIZATION),)),
    ("display_active", "nvmlDeviceGetDisplayActive", (), (_SWITCHED,)),
)


class _Device(object):
    """One GPU being read: `call` is a function of the binding on its handle, with the error kept as the reason."""

    def __init__(self, api, handle, gpu):
        self.api, self.handle, self.gpu = api, handle, gpu
        self.odd = None

    def call(self, name, *arguments):
        """-> (value, None) or (None, why)."""
        try:
            return getattr(self.api, name)(self.handle, *arguments), None
        except UnicodeDecodeError as error:
            # A binding that decodes names itself stumbles over bytes that are no text; they are in the exception.
            return clean_text(error.object), None
        except Exception as error:  # pylint: disable=broad-except
            # Whatever a binding raises concerns this call alone; its words are the reason.
            if error_code(error) in (GPU_IS_LOST, RESET_REQUIRED):
                set_status(self.gpu, "lost" if error_code(error) == GPU_IS_LOST else "error", error_text(error))
            return None, _why(error)

    def fields(self, fields, name, arguments, converters):
        names = fields.split()
        value, why = self.call(name, *arguments)
        values = list(value)[:len(names)] if isinstance(value, (list, tuple)) and converters[0] is not len else [value]
        for field, convert, one in zip(names, converters, values if value is not None else [None] * len(names)):
            if self.gpu[field] is None:
                try:
                    put(self.gpu, field, None if one is None else convert(one), why)
                except (TypeError, ValueError, AttributeError):
                    put(self.gpu, field, None, "failed: unexpected answer: %s" % clean_text(one, 60))

    def structure(self, fields, value, why):
        """{field: attribute} of a structure."""
        for field, attribute in fields.items():
            put(self.gpu, field, None if value is None else int(getattr(value, attribute)), why)


def _field_values(device, wanted):
    """NVML field values -> {wanted: (value, why)}; wanted is an id or (id, scope)."""
    values, why = device.call("nvmlDeviceGetFieldValues", wanted)
    if values is None:
        return {key: (None, why) for key in wanted}
    answers = {}
    for key, entry in zip(wanted, values):
        if entry.nvmlReturn:
            code = entry.nvmlReturn
            if code == GPU_IS_LOST:
                set_status(device.gpu, "lost", "GPU is lost")
            # An older driver calls the number of a newer field an invalid argument (2).
            answers[key] = (None, NOT_SUPPORTED if code in _UNSUPPORTED + (2,) else NOT_PERMITTED if code == NO_PERMISSION
                            else "failed: %s" % _code_text(device.api, code))
            continue
        kind = entry.valueType
        name = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")[kind if 0 <= kind < 7 else 3]
        value = getattr(entry.value, name)
        answers[key] = (value - (1 << 64) if kind == 3 and value >= 1 << 63 else value, None)
    return answers


def _code_text(api, code):
    try:
        return clean_text(api.nvmlErrorString(code))
    except Exception:  # pylint: disable=broad-except
        # Only the wording is lost: the code itself is told.
        return "NVML error %d" % code


def _memory_info(device):
    """-> (structure or None, why, whether `reserved` is told apart). Before driver 510 `used` has the reserved part in it."""
    memory, why = device.call("nvmlDeviceGetMemoryInfo", getattr(device.api, "nvmlMemory_v2", 0x2000028))
    if memory is not None and hasattr(memory, "reserved"):
        return memory, None, True
    return device.call("nvmlDeviceGetMemoryInfo") + (False,)


def _memory(device):
    memory, why, apart = _memory_info(device)
    device.structure({"memory_total_bytes": "total", "memory_used_bytes": "used", "memory_free_bytes": "free"}, memory, why)
    put(device.gpu, "memory_reserved_bytes", int(memory.reserved) if apart else None, why)


def _clock_events(device, values):
    mask, why = device.call("nvmlDeviceGetCurrentClocksEventReasons")
    if mask is None and why == NOT_SUPPORTED:
        mask, why = device.call("nvmlDeviceGetCurrentClocksThrottleReasons")
    put(device.gpu, "clock_event_reasons_mask", mask, why)
    counters = {name: values[key][0] / 1e9 for key, name in _COUNTERS if values[key][0] is not None}
    reasons = [values[key][1] for key, name in _COUNTERS if values[key][1] not in (None, NOT_SUPPORTED)]
    put(device.gpu, "clock_event_counters_seconds", counters or None, reasons[0] if reasons else None)


def _sram(device):
    api = device.api
    if not hasattr(api, "c_nvmlEccSramErrorStatus_v1_t"):
        return
    from ctypes import byref
    status = api.c_nvmlEccSramErrorStatus_v1_t()
    status.version = api.nvmlEccSramErrorStatus_v1
    dummy, why = device.call("nvmlDeviceGetSramEccErrorStatus", byref(status))
    put(device.gpu, "ecc_sram_threshold_exceeded", None if why else bool(status.bThresholdExceeded), why)
    for period in ("volatile", "aggregate"):
        put(device.gpu, "ecc_sram_uncorrectable_" + period,
            None if why else getattr(status, period + "UncParity") + getattr(status, period + "UncSecDed"), why)


def _fabric(device):
    api = device.api
    info, why = None, NOT_SUPPORTED
    for kind, call, version in (("c_nvmlGpuFabricInfo_v2_t", "nvmlDeviceGetGpuFabricInfoV", "nvmlGpuFabricInfo_v2"),
                                ("c_nvmlGpuFabricInfo_t", "nvmlDeviceGetGpuFabricInfo", None)):
        if why == NOT_SUPPORTED and hasattr(api, kind):
            from ctypes import byref
            info = getattr(api, kind)()
            if version:
                info.version = getattr(api, version)
            dummy, why = device.call(call, byref(info))
    state = _name(_FABRIC_STATES)(info.state & 0xff) if why is None else None
    if state is None:
        why = why or NOT_SUPPORTED
    put(device.gpu, "fabric_state", state, why)
    # The rest means something only then (nvml.h, nvmlGpuFabricInfo_t).
    known = state == "completed"
    put(device.gpu, "fabric_status", _code_text(api, info.status).lower().rstrip(".").replace(" ", "_") if known else None, why)
    uuid = "".join("%02x" % byte for byte in info.clusterUuid) if known else ""
    put(device.gpu, "fabric_cluster_uuid", "-".join((uuid[:8], uuid[8:12], uuid[12:16], uuid[16:20], uuid[20:])) if known else None, why)
    put(device.gpu, "fabric_clique_id", int(info.cliqueId) if known else None, why)


def _nvlinks(device):
    links, why = [], None
    for link in range(64):
        active, why = device.call("nvmlDeviceGetNvLinkState", link)
        if why is not None:
            break
        links.append({"link": link, "active": bool(active), "crc_errors": device.call("nvmlDeviceGetNvLinkErrorCounter", link, 2)[0]})
    # Past the last link, and on some cards without any, the index is called invalid.
    put(device.gpu, "nvlinks", links or None, NOT_SUPPORTED if why and why.lower().endswith("invalid argument") else why)


def _mig(device):
    gpu = device.gpu
    if gpu["mig_mode"] != "enabled":
        why = gpu["absent"].get("mig_mode")
        put(gpu, "mig_devices", [] if why in (None, NOT_SUPPORTED) else None, why)
        return
    limit, why = device.call("nvmlDeviceGetMaxMigDeviceCount")
    found = []
    for index in range(limit or 0):
        handle = device.call("nvmlDeviceGetMigDeviceHandleByIndex", index)[0]
        if handle is None:
            continue
        instance = _Device(device.api, handle, dict(gpu, absent={}))
        memory = _memory_info(instance)[0]
        found.append(dict(
            {"memory_%s_bytes" % name: None if memory is None else int(getattr(memory, name)) for name in ("total", "used", "free")},
            index=index, uuid=_text(instance.call("nvmlDeviceGetUUID")[0] or ""),
            gpu_instance_id=instance.call("nvmlDeviceGetGpuInstanceId")[0],
            compute_instance_id=instance.call("nvmlDeviceGetComputeInstanceId")[0]))
    put(gpu, "mig_devices", None if limit is None else found, why)


def _processes(device):
    found, reasons = {}, []
    for word in ("compute", "graphics"):
        running, why = device.call("nvmlDeviceGet%sRunningProcesses" % word.capitalize())
        if running is None:
            reasons.append(why)
            continue
        for process in running:
            entry = found.get(process.pid)
            if entry:
                entry["type"] = "compute+graphics" if entry["type"] != word else word
                continue
            try:
                name = program_name(device.api.nvmlSystemGetProcessName(process.pid))
            except Exception:  # pylint: disable=broad-except
                # Ended in the meantime, or another user's: an unnamed process is told as such.
                name = None
            used = process.usedGpuMemory
            found[process.pid] = {"pid": process.pid, "name": name, "type": word,
                                  "used_memory_bytes": None if used is None or used == _NO_VALUE else int(used)}
    put(device.gpu, "processes", [found[pid] for pid in sorted(found)] if len(reasons) < 2 else None, reasons[0] if reasons else None)


def _recovery_action(gpu, values):
    action, why = values[_RECOVERY_ACTION]
    if action is None and why == NOT_SUPPORTED:
        # Before driver 570.
        older = [(values[key], word) for key, word in ((_RESET, "reset"), (_DRAIN, "drain_and_reset"))]
        if any(value is not None for (value, dummy), word in older):
            put(gpu, "recovery_action", next((word for (value, dummy), word in older if value), "none"))
            return
    put(gpu, "recovery_action", None if action is None else _name(_RECOVERY)(int(action)), why)


def _read_gpu(api, index):
    """-> a GPU record; one without a handle stays in the list as lost or error."""
    gpu = new_gpu(index)
    try:
        handle = api.nvmlDeviceGetHandleByIndex(index)
    except Exception as error:  # pylint: disable=broad-except
        # The record itself carries the error.
        set_status(gpu, "lost" if error_code(error) == GPU_IS_LOST else "error", error_text(error))
        return finish(gpu), False
    device = _Device(api, handle, gpu)
    for part in _PARTS:
        try:
            part(device)
        except (TypeError, ValueError, AttributeError) as error:
            # The binding's structures are of another shape than the header's: this part is unknown, and the GPU none the worse for it.
            device.odd = device.odd or "failed: %s" % error_text(error)
    for field in FIELDS if device.odd else ():
        if gpu[field] is None:
            gpu["absent"].setdefault(field, device.odd)
    corrupt = device.call("nvmlDeviceValidateInforom")[1]
    return finish(gpu), bool(corrupt and "inforom" in corrupt.lower())


def _identity(device):
    gpu = device.gpu
    pci, why = device.call("nvmlDeviceGetPciInfo")
    put(gpu, "bus_id", None if pci is None else bus_id(clean_text(getattr(pci, "busId", b"") or pci.busIdLegacy)), why)
    put(gpu, "device_id", None if pci is None else device_id(pci.pciDeviceId), why)
    capability, why = device.call("nvmlDeviceGetCudaComputeCapability")
    put(gpu, "compute_capability", None if capability is None else "%d.%d" % tuple(capability), why)


def _table(device):
    for fields, name, arguments, converters in _CALLS:
        device.fields(fields, name, arguments, converters)


def _use(device):
    gpu = device.gpu
    # nvidia-ml-py names the members bar1Total and bar1Used.
    bar1, why = device.call("nvmlDeviceGetBAR1MemoryInfo")
    older = hasattr(bar1, "total")
    device.structure({"bar1_total_bytes": "total" if older else "bar1Total", "bar1_used_bytes": "used" if older else "bar1Used"}, bar1, why)
    rates, why = device.call("nvmlDeviceGetUtilizationRates")
    for field, attribute in (("utilization_gpu_fraction", "gpu"), ("utilization_memory_bandwidth_fraction", "memory")):
        put(gpu, field, None if rates is None else getattr(rates, attribute) / 100.0, why)


def _by_field_values(device):
    gpu = device.gpu
    values = _field_values(device, [_MEMORY_TEMPERATURE, _POWER_INSTANT, _SHUTDOWN_TLIMIT, _SLOWDOWN_TLIMIT, _RESET, _DRAIN,
                                    _RECOVERY_ACTION]
                           + [key for key, name in _COUNTERS])
    for field, key in (("temperature_memory_celsius", _MEMORY_TEMPERATURE), ("temperature_shutdown_tlimit_celsius", _SHUTDOWN_TLIMIT),
                       ("temperature_slowdown_tlimit_celsius", _SLOWDOWN_TLIMIT)):
        value, why = values[key]
        put(gpu, field, None if value is None else int(value - (1 << 32) if value >= 1 << 31 else value), why)
    draw, why = values[_POWER_INSTANT]
    if draw is None:
        draw, why = device.call("nvmlDeviceGetPowerUsage")
    put(gpu, "power_draw_watts", None if draw is None else _watts(draw), why)
    for draw, why in _field_values(device, [(_POWER_INSTANT, 1), (_POWER_AVERAGE, 1)]).values():
        if gpu["module_power_draw_watts"] is None:
            put(gpu, "module_power_draw_watts", None if draw is None else _watts(draw), why)
    _clock_events(device, values)
    _recovery_action(gpu, values)


_PARTS = (_identity, _table, _use, _memory, _by_field_values, _sram, _fabric, _nvlinks, _mig, _processes)


def _versions(api):
    """-> {"driver_version", "cuda_version", "source_version"}"""
    found = {"driver_version": None, "cuda_version": None, "source_version": None}
    for field, names in (("driver_version", ("nvmlSystemGetDriverVersion",)), ("source_version", ("nvmlSystemGetNVMLVersion",)),
                         ("cuda_version", ("nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"))):
        for name in names:
            try:
                value = getattr(api, name)()
            except Exception:  # pylint: disable=broad-except
                # A version that isn't told stays null; the GPUs are read all the same.
                continue
            found[field] = "%d.%d" % (value // 1000, value % 1000 // 10) if field == "cuda_version" else clean_text(value)
            break
    return found


def read(api, sample_gap_seconds=1.0):
    """All GPUs -> {"driver_version", "cuda_version", "source_version", "reported_count", "gpus", "warnings", "samples"}.

    Raises what the binding raises where NVML doesn't start or doesn't count.
    """
    api.nvmlInit()
    count = api.nvmlDeviceGetCount()
    answer = dict(_versions(api), reported_count=count, warnings=[], samples=1)
    read_once = [_read_gpu(api, index) for index in range(count)]
    answer["gpus"] = [gpu for gpu, corrupt in read_once]
    answer["warnings"] = ["GPU %d: infoROM is corrupted" % gpu["index"] for gpu, corrupt in read_once if corrupt]
    if slowed_by_hardware(answer["gpus"]):
        time.sleep(sample_gap_seconds)
        add_sample(answer["gpus"], [_read_gpu(api, gpu["index"])[0] for gpu in answer["gpus"]])
        answer["samples"] = 2
    return answer
