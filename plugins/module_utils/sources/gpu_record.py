# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One GPU's record: its fields, how absence is told, and what is derived the same way whichever source was asked."""

from __future__ import annotations

import re

from .texts import clean_text

FIELDS = """index uuid serial name bus_id device_id vbios_version compute_capability memory_kind memory_total_bytes memory_reserved_bytes
memory_used_bytes memory_free_bytes bar1_total_bytes bar1_used_bytes utilization_gpu_fraction utilization_memory_bandwidth_fraction
utilization_encoder_fraction utilization_decoder_fraction temperature_celsius temperature_memory_celsius temperature_slowdown_celsius
temperature_shutdown_celsius temperature_max_operating_celsius temperature_headroom_celsius temperature_slowdown_tlimit_celsius
temperature_shutdown_tlimit_celsius power_draw_watts power_limit_watts power_limit_default_watts power_limit_min_watts
power_limit_max_watts module_power_draw_watts clock_graphics_mhz clock_sm_mhz clock_memory_mhz clock_graphics_max_mhz clock_sm_max_mhz
clock_memory_max_mhz performance_state clock_event_reasons clock_event_reasons_mask clock_event_reasons_masks clock_event_counters_seconds
clock_event_counters_growth_seconds ecc_mode ecc_mode_pending ecc_corrected_volatile ecc_uncorrectable_volatile ecc_corrected_aggregate
ecc_uncorrectable_aggregate ecc_sram_uncorrectable_volatile ecc_sram_uncorrectable_aggregate ecc_dram_uncorrectable_volatile
ecc_dram_uncorrectable_aggregate ecc_sram_threshold_exceeded retired_pages_single_bit retired_pages_double_bit retired_pages_pending
remapped_rows_correctable remapped_rows_uncorrectable remapped_rows_pending remapped_rows_failure remapped_rows_banks
pcie_generation_current pcie_generation_max pcie_generation_device_max pcie_generation_host_max pcie_width_current pcie_width_max
pcie_replay_count nvlinks nvlinks_active_count mig_mode mig_mode_pending mig_devices persistence_mode compute_mode virtualization_mode
fabric_state fabric_status fabric_cluster_uuid fabric_clique_id recovery_action display_active processes""".split()

NOT_SUPPORTED = "not_supported"
NOT_PERMITTED = "not_permitted"
LOST = "failed: GPU is lost"

# nvmlClocksEventReason* (nvml.h), named as nvidia-smi names them.
CLOCK_EVENT_REASONS = (
    (0x1, "gpu_idle"), (0x2, "applications_clocks_setting"), (0x4, "sw_power_cap"), (0x8, "hw_slowdown"), (0x10, "sync_boost"),
    (0x20, "sw_thermal_slowdown"), (0x40, "hw_thermal_slowdown"), (0x80, "hw_power_brake_slowdown"), (0x100, "display_clocks_setting"))
# The hardware itself slows the clocks down: worth a second look a moment later.
HARDWARE_SLOWDOWN_MASK = 0x8 | 0x40 | 0x80

# nvmlReturn_t of exception classes that don't carry the number.
_CLASS_CODES = (("NotSupported", 3), ("NoPermission", 4), ("DriverNotLoaded", 9), ("LibraryNotFound", 12), ("FunctionNotFound", 13),
                ("CorruptedInfoROM", 14), ("GpuIsLost", 15), ("LibRmVersionMismatch", 18))

_ABSENT = {"": NOT_SUPPORTED, "n/a": NOT_SUPPORTED, "not supported": NOT_SUPPORTED, "not available": NOT_SUPPORTED,
           "deprecated": NOT_SUPPORTED,
           "requested functionality has been deprecated": NOT_SUPPORTED, "function not found": NOT_SUPPORTED, "not found": NOT_SUPPORTED,
           "insufficient permissions": NOT_PERMITTED, "no permission": NOT_PERMITTED, "not permitted": NOT_PERMITTED}
_FAILED = r"err!|error|unknown|fail|lost$|requires reset|timeout|timed out|corrupted|no data|blocked|not ready|invalid|mismatch"
_BUS_ID = re.compile(r"([0-9A-Fa-f]{1,8}):([0-9A-Fa-f]{1,2}):([0-9A-Fa-f]{1,2})(?:\.([0-7]))?$")


def error_code(error):
    """The nvmlReturn_t of a binding's exception, None where it is no NVML error."""
    value = getattr(error, "value", None)
    if isinstance(value, int):
        return value
    name = type(error).__name__
    return next((code for word, code in _CLASS_CODES if word in name), None)


def error_text(error):
    text = clean_text(error)
    if error_code(error) is not None and text:
        return text
    name = type(error).__name__
    return "%s: %s" % (name, text) if text else name


def absence(text):
    """Why a text is no value: an `absent` word, or None when it is a value.

    >>> absence("[N/A]"), absence("ERR!"), absence("[Insufficient Permissions]"), absence("31 C")
    ('not_supported', 'failed: ERR!', 'not_permitted', None)
    """
    word = text.strip()
    if word.startswith("[") and word.endswith("]"):
        word = word[1:-1].strip()
    lower = word.lower()
    if lower in _ABSENT:
        return _ABSENT[lower]
    return "failed: %s" % clean_text(word) if len(lower) < 120 and re.search(_FAILED, lower) else None


def bus_id(text):
    """A PCI address as sysfs spells it, whatever the driver's spelling; None when it is none.

    >>> bus_id("00000000:1B:00.0"), bus_id("00000008:01:00.0")
    ('0000:1b:00.0', '0008:01:00.0')
    """
    match = _BUS_ID.match(text.strip())
    return match and "%04x:%02x:%02x.%s" % (int(match.group(1), 16), int(match.group(2), 16), int(match.group(3), 16),
                                            match.group(4) or "0")


def device_id(number):
    """0x294110de (device and vendor in one number, as NVML gives it) -> "0x2941"."""
    return "0x%04x" % (number >> 16)


def words(text):
    """A state as the documents spell it: "Drain and Reset" -> "drain_and_reset", "Pass-Through" -> "pass_through"."""
    return re.sub(r"[\s\-/]+", "_", clean_text(text).lower())


def program_name(text):
    """The file name of a process's program, never its arguments; None where the driver doesn't tell."""
    parts = clean_text(text).split()
    if not parts or parts[0] == "-" or absence(clean_text(text)):
        return None
    return parts[0].replace("\\", "/").rsplit("/", 1)[-1] or None


def reason_names(mask):
    """The names of a clock-event bit mask, sorted; a bit without a name as hexadecimal."""
    names, rest = [], mask
    for bit, name in CLOCK_EVENT_REASONS:
        if mask & bit:
            names.append(name)
            rest &= ~bit
    return sorted(names) + ([hex(rest)] if rest else [])


def new_gpu(index):
    gpu = dict.fromkeys(FIELDS)
    gpu.update(index=index, status="ok", error=None, absent={})
    return gpu


def put(gpu, field, value, reason=None):
    """Sets a field; None with its reason (an `absent` word) unless it already has a value."""
    if value is not None:
        gpu[field] = value
        gpu["absent"].pop(field, None)
    elif gpu[field] is None and gpu["absent"].get(field, NOT_SUPPORTED) == NOT_SUPPORTED:
        gpu["absent"][field] = reason or NOT_SUPPORTED


def set_status(gpu, status, error):
    """lost wins over error, the first error is kept."""
    if status == "lost" and gpu["status"] != "lost" or gpu["status"] == "ok":
        gpu["status"], gpu["error"] = status, error


def finish(gpu):
    """Fills in what follows from other fields, and a reason for every field that has no value."""
    absent = gpu["absent"]
    if gpu["memory_total_bytes"] == 0:
        # An integrated GPU may say 0 instead of N/A.
        for field in FIELDS:
            if re.match(r"memory_.*_bytes", field):
                gpu[field] = None
                absent[field] = NOT_SUPPORTED
    if gpu["memory_total_bytes"] is not None:
        gpu["memory_kind"] = "framebuffer"
    elif absent.get("memory_total_bytes") == NOT_SUPPORTED and gpu["status"] == "ok":
        gpu["memory_kind"] = "unified"
    slowdown, current = gpu["temperature_slowdown_celsius"], gpu["temperature_celsius"]
    if gpu["temperature_headroom_celsius"] is None and slowdown is not None and current is not None:
        put(gpu, "temperature_headroom_celsius", slowdown - current)
    mask = gpu["clock_event_reasons_mask"]
    if mask is not None:
        put(gpu, "clock_event_reasons", reason_names(mask))
        put(gpu, "clock_event_reasons_masks", [mask])
    if gpu["nvlinks"] is not None:
        put(gpu, "nvlinks_active_count", sum(1 for link in gpu["nvlinks"] if link["active"]))
    if "uuid" in absent and absent["uuid"].startswith("failed") and absent.get("memory_total_bytes", "").startswith("failed"):
        set_status(gpu, "error", absent["uuid"][8:])
    if gpu["uuid"] is None and gpu["name"] is None and gpu["memory_total_bytes"] is None:
        set_status(gpu, "error", "nothing of this GPU can be read")
    source = {"clock_event_reasons": "clock_event_reasons_mask", "clock_event_reasons_masks": "clock_event_reasons_mask",
              "nvlinks_active_count": "nvlinks", "memory_kind": "memory_total_bytes", "temperature_headroom_celsius": "temperature_celsius"}
    default = LOST if gpu["status"] == "lost" else "failed: %s" % gpu["error"] if gpu["status"] == "error" else NOT_SUPPORTED
    for field in FIELDS:
        if gpu[field] is None:
            absent.setdefault(field, absent.get(source.get(field), default))
        else:
            absent.pop(field, None)
    return gpu


def add_sample(gpus, later):
    """Adds a later reading of the clock-event reasons: its mask, and the growth of each counter (one that fell was reset: left out)."""
    by_index = {gpu["index"]: gpu for gpu in later}
    for gpu in gpus:
        second = by_index.get(gpu["index"])
        if not second or gpu["clock_event_reasons_masks"] is None:
            continue
        if second["clock_event_reasons_mask"] is not None:
            gpu["clock_event_reasons_masks"] = gpu["clock_event_reasons_masks"] + [second["clock_event_reasons_mask"]]
        before, after = gpu["clock_event_counters_seconds"], second["clock_event_counters_seconds"]
        if before and after:
            put(gpu, "clock_event_counters_growth_seconds",
                {name: round(after[name] - before[name], 6) for name in sorted(before) if after.get(name, -1) >= before[name]})


def slowed_by_hardware(gpus):
    return any((gpu["clock_event_reasons_mask"] or 0) & HARDWARE_SLOWDOWN_MASK for gpu in gpus)
