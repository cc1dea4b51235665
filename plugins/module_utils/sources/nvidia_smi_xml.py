# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parses the text of `nvidia-smi -q -x`, pure: any driver's layout, whole or cut off, with junk around it.

The layout is chosen by which elements are there, never by the DTD's name. Tags are read one by one instead of by an XML parser: unbalanced
tags, bare "&" and bytes that are no text occur in the field, and without a DTD no entity can be expanded.
"""

from __future__ import annotations

import itertools
import re

from .gpu_record import (CLOCK_EVENT_REASONS, LOST, NOT_SUPPORTED, absence, bus_id, device_id, finish, new_gpu, program_name, put,
                         set_status, words)
from .texts import clean_text

MAX_TEXT = 16 << 20
# Far more than any real output has; text made to be costly ends here.
MAX_DEPTH, MAX_TAGS, MAX_GPUS = 16, 20000, 1024
_TAG = re.compile(r"<(/?)([A-Za-z_][\w.\-]*)([^<>]*)>([^<]*)")
_GPU = re.compile(r"<gpu(?:\s+id\s*=\s*[\"']([^\"'<>]*)[\"'])?\s*>")
_GROUPS = ("process_info", "mig_device")
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)\s*(?:MiB|%|C|W|MHz|us|x|bank\(s\))?$")
_ENTITY = re.compile(r"&(?:#(\d{1,7})|#x([0-9A-Fa-f]{1,6})|(amp|lt|gt|quot|apos));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_MIB = 1 << 20


class NotNvidiaSmi(ValueError):
    """The text is no output of `nvidia-smi -q -x`; the message says what it is."""


def _unescape(text):
    def character(match):
        decimal, hexadecimal, name = match.groups()
        if name:
            return _NAMED[name]
        number = int(decimal) if decimal else int(hexadecimal, 16)
        return chr(number) if 31 < number < 0x110000 else " "
    return _ENTITY.sub(character, text) if "&" in text else text


def _leaves(text):
    """One GPU's elements -> ({"fb_memory_usage/total": "81920 MiB"}, {"process_info": [{"pid": "42"}], "mig_device": [...]})."""
    leaves, groups = {}, {name: [] for name in _GROUPS}
    target, stack, outer = leaves, [], None
    for match in itertools.islice(_TAG.finditer(text), MAX_TAGS):
        closing, name, rest, content = match.groups()
        if not closing:
            if name in _GROUPS and outer is None:
                outer = (stack, name)
                stack, target = [], {}
                groups[name].append(target)
                continue
            if len(stack) == MAX_DEPTH:
                continue
            stack.append(name)
            target.setdefault("/".join(stack), _unescape(content).strip())
            if rest.endswith("/"):
                stack.pop()
        elif outer and name == outer[1]:
            stack, target, outer = outer[0], leaves, None
        elif name in stack:
            # Also closes what was left open inside: a tag that isn't balanced costs its own element only.
            while stack.pop() != name:
                pass
    return leaves, groups


def _raw(leaves, path):
    """An element's text; where only a parent is there with a text (<remapped_rows>N/A</remapped_rows>), the parent's. None: no such
    element.
    """
    while path:
        text = leaves.get(path)
        if text:
            return text
        if text == "" and not any(other.startswith(path + "/") for other in leaves):
            return ""
        path = path.rpartition("/")[0]
    return None


def _read(leaves, paths, convert):
    """-> (value, None) from the first of `paths` that has one, else (None, why)."""
    reason = None
    for path in paths.split():
        text = _raw(leaves, path)
        if text is None:
            continue
        why = absence(text)
        if why is None:
            try:
                return convert(text), None
            except ValueError:
                why = "failed: unexpected text: %s" % clean_text(text, 60)
        if reason is None or reason == NOT_SUPPORTED:
            reason = why
    return None, reason or NOT_SUPPORTED


def _number(text):
    match = _NUMBER.match(text.strip())
    # No counter has more than 20 digits (64 bits); more is no number of a driver, and infinity once it is a float.
    if not match or len(match.group(1)) > 30:
        raise ValueError(text)
    return float(match.group(1))


def _integer(text):
    return int(_number(text))


def _mebibytes(text):
    return int(_number(text)) * _MIB


def _percent(text):
    return _number(text) / 100


def _generation(text):
    # A mocked or virtual link says 0: there is none.
    return _integer(text) or None


def _yes(text):
    lower = text.lower()
    if lower not in ("yes", "no", "true", "false"):
        raise ValueError(text)
    return lower in ("yes", "true")


def _switch(text):
    lower = text.lower()
    if lower not in ("enabled", "disabled"):
        raise ValueError(text)
    return lower


def _device(text):
    if not re.match(r"(0x)?[0-9a-f]{8}$", text, re.I):
        raise ValueError(text)
    return device_id(int(text, 16))


_FIELDS = (
    (clean_text, """uuid=uuid serial=serial name=product_name vbios_version=vbios_version
        performance_state=performance_state,gpu_power_readings/power_state,power_readings/power_state
        fabric_cluster_uuid=fabric/clusterUuid"""),
    (words, """compute_mode=compute_mode virtualization_mode=gpu_virtualization_mode/virtualization_mode fabric_state=fabric/state
        fabric_status=fabric/status
        recovery_action=gpu_recovery_action"""),
    (_switch, """persistence_mode=persistence_mode display_active=display_active mig_mode=mig_mode/current_mig
        mig_mode_pending=mig_mode/pending_mig
        ecc_mode=ecc_mode/current_ecc ecc_mode_pending=ecc_mode/pending_ecc"""),
    (_mebibytes, """memory_total_bytes=fb_memory_usage/total memory_reserved_bytes=fb_memory_usage/reserved
        memory_used_bytes=fb_memory_usage/used
        memory_free_bytes=fb_memory_usage/free bar1_total_bytes=bar1_memory_usage/total bar1_used_bytes=bar1_memory_usage/used"""),
    (_percent, """utilization_gpu_fraction=utilization/gpu_util utilization_memory_bandwidth_fraction=utilization/memory_util
        utilization_encoder_fraction=utilization/encoder_util utilization_decoder_fraction=utilization/decoder_util"""),
    (_integer, """temperature_celsius=temperature/gpu_temp temperature_memory_celsius=temperature/memory_temp
        temperature_headroom_celsius=temperature/gpu_temp_tlimit
        temperature_slowdown_celsius=temperature/gpu_temp_slow_threshold temperature_shutdown_celsius=temperature/gpu_temp_max_threshold
        temperature_max_operating_celsius=temperature/gpu_temp_max_gpu_threshold
        temperature_slowdown_tlimit_celsius=temperature/gpu_temp_slow_tlimit_threshold
        temperature_shutdown_tlimit_celsius=temperature/gpu_temp_max_tlimit_threshold
        clock_graphics_mhz=clocks/graphics_clock clock_sm_mhz=clocks/sm_clock clock_memory_mhz=clocks/mem_clock
        clock_graphics_max_mhz=max_clocks/graphics_clock
        clock_sm_max_mhz=max_clocks/sm_clock clock_memory_max_mhz=max_clocks/mem_clock
        retired_pages_single_bit=retired_pages/multiple_single_bit_retirement/retired_count
        retired_pages_double_bit=retired_pages/double_bit_retirement/retired_count
        remapped_rows_correctable=remapped_rows/remapped_row_corr remapped_rows_uncorrectable=remapped_rows/remapped_row_unc
        pcie_width_current=pci/pci_gpu_link_info/link_widths/current_link_width
        pcie_width_max=pci/pci_gpu_link_info/link_widths/max_link_width
        pcie_replay_count=pci/replay_counter fabric_clique_id=fabric/cliqueId"""),
    (_generation, """pcie_generation_current=pci/pci_gpu_link_info/pcie_gen/current_link_gen
        pcie_generation_max=pci/pci_gpu_link_info/pcie_gen/max_link_gen
        pcie_generation_device_max=pci/pci_gpu_link_info/pcie_gen/max_device_link_gen
        pcie_generation_host_max=pci/pci_gpu_link_info/pcie_gen/max_host_link_gen"""),
    (_number, """power_draw_watts=@instant_power_draw,@average_power_draw,@power_draw,power_readings/power_draw
        power_limit_watts=@current_power_limit,power_readings/enforced_power_limit,power_readings/power_limit
        power_limit_default_watts=@default_power_limit,power_readings/default_power_limit
        power_limit_min_watts=@min_power_limit,power_readings/min_power_limit
        power_limit_max_watts=@max_power_limit,power_readings/max_power_limit
        module_power_draw_watts=#instant_power_draw,#average_power_draw,#power_draw""".replace("@", "gpu_power_readings/").replace(
        "#", "module_power_readings/")),
    (_yes, """remapped_rows_pending=remapped_rows/remapped_row_pending remapped_rows_failure=remapped_rows/remapped_row_failure
        retired_pages_pending=retired_pages/pending_retirement,retired_pages/pending_blacklist
        ecc_sram_threshold_exceeded=ecc_errors/aggregate/sram_threshold_exceeded"""),
    (_device, "device_id=pci/pci_device_id"),
)
_TABLE = tuple((pair.split("=")[0], pair.split("=")[1].replace(",", " "), convert) for convert, pairs in _FIELDS for pair in pairs.split())
# (field, the elements it is the sum of, the older layout's own sum), "%s" for volatile and aggregate
_SRAM_UNCORRECTABLE = "sram_uncorrectable sram_uncorrectable_parity sram_uncorrectable_secded"
_ECC = (("ecc_corrected_%s", "sram_correctable dram_correctable", "single_bit/total"),
        ("ecc_uncorrectable_%s", _SRAM_UNCORRECTABLE + " dram_uncorrectable", "double_bit/total"),
        ("ecc_sram_uncorrectable_%s", _SRAM_UNCORRECTABLE, ""),
        ("ecc_dram_uncorrectable_%s", "dram_uncorrectable", "double_bit/device_memory"))
_COUNTERS = (("sw_power_cap", "sw_power_cap"), ("sync_boost", "sync_boost"), ("sw_therm_slowdown", "sw_thermal_slowdown"),
             ("hw_therm_slowdown", "hw_thermal_slowdown"), ("hw_power_brake", "hw_power_brake_slowdown"))


def _sum(leaves, paths):
    """The sum of the parts that are supported; one part that failed to read makes the whole unknown. -> (value, why)."""
    total, reason = None, None
    for path in paths:
        value, why = _read(leaves, path, _integer)
        if value is not None:
            total = (total or 0) + value
        elif why != NOT_SUPPORTED:
            return None, why
        elif path in leaves:
            reason = why
    return total, reason


def _clock_events(gpu, leaves):
    prefix = "clocks_event_reason" if any(path.startswith("clocks_event_reasons") for path in leaves) else "clocks_throttle_reason"
    mask, reason = None, _read(leaves, prefix + "s", clean_text)[1]
    for bit, name in CLOCK_EVENT_REASONS:
        value, why = _read(leaves, "%ss/%s_%s" % (prefix, prefix, name), words)
        if value is not None:
            mask = (mask or 0) | (bit if value == "active" else 0)
        elif why != NOT_SUPPORTED:
            reason = why
    put(gpu, "clock_event_reasons_mask", mask, reason)
    counters = {}
    base = "clocks_event_reasons_counters"
    for element, name in _COUNTERS:
        value, why = _read(leaves, "%s/%s_%s" % (base, base, element), _number)
        if value is not None:
            counters[name] = value / 1e6
        elif why != NOT_SUPPORTED:
            put(gpu, "clock_event_counters_seconds", None, why)
    put(gpu, "clock_event_counters_seconds", counters or None, gpu["absent"].get("clock_event_counters_seconds"))


def _processes(gpu, leaves, entries):
    text = leaves.get("processes")
    if not entries and (text is None or text and absence(text)):
        put(gpu, "processes", None, absence(text or ""))
        return
    found = {}
    for entry in entries:
        pid = _read(entry, "pid", _integer)[0]
        if pid is None:
            continue
        kind = "+".join(word for letter, word in (("C", "compute"), ("G", "graphics")) if letter in entry.get("type", "").upper())
        found.setdefault(pid, {"pid": pid, "name": program_name(entry.get("process_name", "")), "type": kind or "compute",
                               "used_memory_bytes": _read(entry, "used_memory", _mebibytes)[0]})
    put(gpu, "processes", [found[pid] for pid in sorted(found)])


def _mig_device(entry):
    device = {name: _read(entry, name, _integer)[0] for name in ("index", "gpu_instance_id", "compute_instance_id")}
    device["uuid"] = _read(entry, "uuid", clean_text)[0]
    for name in ("total", "used", "free"):
        device["memory_%s_bytes" % name] = _read(entry, "fb_memory_usage/" + name, _mebibytes)[0]
    return device


def _older_recovery_action(gpu, leaves):
    """Before recovery_action (driver 570) there was gpu_reset_status."""
    asked = [(_read(leaves, "gpu_reset_status/" + path, _yes), action) for path, action in
             (("drain_and_reset_recommended", "drain_and_reset"), ("reset_required", "reset"))]
    known = [(value[0], action) for value, action in asked if value[0] is not None]
    if known:
        put(gpu, "recovery_action", next((action for value, action in reversed(known) if value), "none"))


def parse_gpu(text, index, identity):
    """One <gpu> element's inside -> a GPU record."""
    leaves, groups = _leaves(text)
    gpu = new_gpu(index)
    for field, paths, convert in _TABLE:
        put(gpu, field, *_read(leaves, paths, convert))
    put(gpu, "bus_id", bus_id(leaves.get("pci/pci_bus_id", "")) or bus_id(identity or ""))
    for period in ("volatile", "aggregate"):
        base = "ecc_errors/%s/" % period
        for field, parts, older in _ECC:
            value, reason = _sum(leaves, [base + part for part in parts.split()])
            if value is None and reason in (None, NOT_SUPPORTED) and older:
                value, reason = _read(leaves, base + older, _integer)
            put(gpu, field % period, value, reason)
    if gpu["recovery_action"] is None and "gpu_recovery_action" not in leaves:
        _older_recovery_action(gpu, leaves)
    said = leaves.get("fabric/status", "")
    if gpu["fabric_state"] == "completed" and (absence(said) or "").startswith("failed") and absence(said) != LOST:
        # Here an error is the answer: with what the GPU's registration with the fabric ended (nvml.h, nvmlGpuFabricInfo_t).
        put(gpu, "fabric_status", words(said))
    banks = {name: _read(leaves, "remapped_rows/row_remapper_histogram/row_remapper_histogram_" + name, _integer)[0]
             for name in ("max", "high", "partial", "low", "none")}
    put(gpu, "remapped_rows_banks", banks if None not in banks.values() else None, _read(leaves, "remapped_rows", clean_text)[1])
    _clock_events(gpu, leaves)
    _processes(gpu, leaves, groups["process_info"])
    if "mig_devices" in leaves or groups["mig_device"]:
        put(gpu, "mig_devices", [_mig_device(entry) for entry in groups["mig_device"]])
    for value in leaves.values():
        if len(value) < 40:
            lower = value.strip("[] ").lower()
            if lower == "gpu is lost":
                set_status(gpu, "lost", LOST[8:])
            elif lower.startswith("gpu requires reset"):
                set_status(gpu, "error", value)
    gpu = finish(gpu)
    if not any(path.startswith("fb_memory_usage") for path in leaves):
        # A layout without the element says nothing about the kind of memory.
        gpu["memory_kind"] = None
        gpu["absent"]["memory_kind"] = NOT_SUPPORTED
    return gpu


def _header(text, name):
    match = re.search(r"<%s>([^<]{0,200})</%s>" % (name, name), text)
    value = clean_text(match.group(1)) if match else ""
    return None if absence(value) else value


def parse_query_xml(text):
    """`nvidia-smi -q -x` (str or bytes) -> {"driver_version", "cuda_version", "source_version", "reported_count", "gpus", "warnings"}.

    Whole GPUs of a text that was cut off are kept, with a warning. Raises NotNvidiaSmi where there is nothing of the kind in it.
    """
    if isinstance(text, bytes):
        if text[:2] in (b"\xff\xfe", b"\xfe\xff"):
            text = text.decode("utf-16", "replace")
        else:
            text = text.decode("utf-8", "replace")
    if len(text) > MAX_TEXT:
        raise NotNvidiaSmi("the text has %d characters, more than the %d of any real output" % (len(text), MAX_TEXT))
    if re.search(r"<!ENTITY|<!DOCTYPE[^<>]*\[", text):
        raise NotNvidiaSmi("the text declares XML entities, which nvidia-smi never does: refused")
    start = text.find("<nvidia_smi_log")
    if start < 0:
        raise NotNvidiaSmi("no <nvidia_smi_log> in the text" + (
            ", which begins: %s" % clean_text(text, 120) if text.strip() else ": it is empty"))
    version = re.search(r"<!DOCTYPE\s+nvidia_smi_log\s+SYSTEM\s+[\"']([\w.]{1,60}?)(?:\.dtd)?[\"']", text)
    body = text[start:]
    end = body.find("</nvidia_smi_log>")
    warnings = [] if end >= 0 else ["the text ends before </nvidia_smi_log>: it was cut off"]
    body = body[:end] if end >= 0 else body
    opens = list(itertools.islice(_GPU.finditer(body), MAX_GPUS))
    head = body[:opens[0].start()] if opens else body
    gpus = []
    for number, match in enumerate(opens):
        chunk = body[match.end():opens[number + 1].start() if number + 1 < len(opens) else len(body)]
        chunk, closed, dummy = chunk.partition("</gpu>")
        if not closed:
            warnings.append("GPU %s is incomplete in the text and left out" % (bus_id(match.group(1) or "") or number))
            continue
        # Never needed, three quarters of the text, and unbalanced in some drivers' output.
        chunk = re.sub(r"<supported_clocks>.*?(</supported_clocks>|(?=<processes>)|$)", "", chunk, flags=re.S)
        gpus.append(parse_gpu(chunk, number, match.group(1)))
    attached = _header(head, "attached_gpus") or ""
    return {"driver_version": _header(head, "driver_version"), "cuda_version": _header(head, "cuda_version"),
            "source_version": version.group(1) if version else None,
            "reported_count": int(attached) if re.match(r"\d{1,4}$", attached) else None, "gpus": gpus, "warnings": warnings}
