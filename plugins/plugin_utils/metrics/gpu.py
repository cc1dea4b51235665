# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""GPU presence: how many answer, which are lost, whether they are of one kind, and the driver's own state."""

from __future__ import annotations

import re

from ..numbers import is_whole
from .registry import amount, define, gpu_label, maps, text

define(
    "gpu.count",
    "count",
    "GPUs that answer the driver; 0 where neither PCI nor the driver shows one",
    ("gpu.gpus[].status", "gpu.state"),
    "驱动能够应答的 GPU 数量；PCI 与驱动均未发现时为 0",
)
define(
    "gpu.count_difference",
    "count",
    "GPUs that answer or are known to be lost, less the expected gpu_count",
    ("gpu.gpus", "expected.gpu_count"),
    "能应答或已知掉卡的 GPU 数量减去期望的 gpu_count",
)
define(
    "gpu.lost",
    "count",
    "GPUs that PCI or the driver knows and that don't answer",
    ("gpu.gpus[].status", "gpu.pci", "gpu.reported_count"),
    "PCI 或驱动已知但不应答的 GPU 数量",
)
define(
    "gpu.errors",
    "count",
    "GPUs that answer with an error of their own",
    ("gpu.gpus[].status", "gpu.gpus[].error"),
    "应答但自身报错的 GPU 数量",
)
define("gpu.kinds", "count", "different product names among the GPUs that answer", ("gpu.gpus[].name",), "应答的 GPU 中不同型号的数量")
define(
    "gpu.unexpected",
    "count",
    "GPUs whose name isn't the expected gpu_name",
    ("gpu.gpus[].name", "expected.gpu_name"),
    "型号与期望的 gpu_name 不符的 GPU 数量",
)
define(
    "gpu.driver_state",
    "word",
    "ok, partial, or the kind of failure: timeout, stuck, version_mismatch, driver_not_loaded, crashed, other",
    ("gpu.state", "gpu.error_kind"),
    "ok、partial 或故障类型：timeout、stuck、version_mismatch、driver_not_loaded、crashed、other",
    good="ok",
)

_BROKEN_KINDS = ("timeout", "stuck", "version_mismatch", "driver_not_loaded", "crashed", "other")


def silent_reason(state):
    """(status, reason key, params) why there is no GPU to ask: used by every metric over GPUs."""
    subject, problem = state.subject("gpu")
    if problem:
        return ("unknown",) + problem
    # A whole gpu subject that crashed has an error and no state.
    kind = text(subject, "state")
    error = text(subject, "error") or "?"
    if kind == "no_hardware":
        return "not_applicable", "absent.no_gpu", {}
    if kind == "tool_missing":
        return "unknown", "absent.tool_missing", {}
    if kind == "not_permitted":
        return "unknown", "absent.not_permitted", {"field": "gpu", "error": error}
    return "unknown", "absent.driver_silent", {}


def absent_everywhere(state, *names):
    """Marks metrics over GPUs absent because no GPU answers."""
    status, reason, params = silent_reason(state)
    for name in names:
        state.absent[name] = {"status": status, "reason": reason, "params": params}


def _unlisted_pci(state):
    """PCI GPUs that the driver doesn't list; none inside containers, where PCI shows the whole host, nor under WSL or Tegra."""
    if state.container or state.platform.get("wsl") is True or state.platform.get("tegra") is True:
        return []
    listed = {(text(gpu, "bus_id") or "").lower()[-12:] for gpu in state.gpus}
    return [entry for entry in maps(state.gpu_document, "pci") if (text(entry, "bus_id") or "").lower()[-12:] not in listed]


def derive(state):
    """Every gpu.* metric."""
    _derive_driver(state)
    kind = text(state.gpu_document, "state")
    names = ("gpu.count", "gpu.count_difference", "gpu.lost", "gpu.errors", "gpu.kinds", "gpu.unexpected")
    if kind == "no_hardware":
        _derive_without_hardware(state)
        return
    if not state.gpus:
        absent_everywhere(state, *names)
        if not isinstance(state.expected.get("gpu_count"), int):
            state.not_applicable("gpu.count_difference", "absent.no_expectation", field="gpu_count")
        if text(state.expected, "gpu_name") is None:
            state.not_applicable("gpu.unexpected", "absent.no_expectation", field="gpu_name")
        return
    state.value("gpu.count", len(state.live), [{"what": "gpu.gpus", "value": len(state.live), "source": state.source}])
    _derive_lost(state)
    errors = [gpu for gpu in state.live if gpu.get("status") == "error"]
    state.value(
        "gpu.errors", len(errors), [{"what": gpu_label(gpu), "value": text(gpu, "error"), "source": state.source} for gpu in errors]
    )
    _derive_names(state)


def _derive_without_hardware(state):
    passthrough = maps(state.gpu_document, "pci_passthrough")
    evidence = [{"what": "PCI", "value": 0, "source": "/sys/bus/pci/devices"}]
    evidence += [
        {"what": "vfio %s" % text(entry, "bus_id"), "value": text(entry, "device_id"), "source": "/sys/bus/pci/devices"}
        for entry in passthrough
    ]
    state.value("gpu.count", 0, evidence)
    state.values["gpu.count"]["cause"] = {"key": "absent.no_gpu", "params": {}}
    _difference(state, 0)
    for name in ("gpu.lost", "gpu.errors", "gpu.kinds", "gpu.unexpected"):
        state.not_applicable(name, "absent.no_gpu")


def _difference(state, present):
    wanted = state.expected.get("gpu_count")
    if not is_whole(wanted):
        state.not_applicable("gpu.count_difference", "absent.no_expectation", field="gpu_count")
        return
    state.value(
        "gpu.count_difference",
        present - wanted,
        [
            {"what": "gpu_audit_expected.gpu_count", "value": wanted, "source": "inventory"},
            {"what": "gpu.gpus", "value": present, "source": state.source},
        ],
    )


def _derive_lost(state):
    lost = [gpu for gpu in state.gpus if gpu.get("status") == "lost"]
    evidence = [{"what": gpu_label(gpu), "value": text(gpu, "error") or "lost", "source": state.source} for gpu in lost]
    unlisted = _unlisted_pci(state)
    # Without a bus id on either side nothing can be matched: the plain difference of the counts stands in, never below zero.
    if unlisted and not any(text(gpu, "bus_id") for gpu in state.gpus):
        unlisted = unlisted[: max(0, len(maps(state.gpu_document, "pci")) - len(state.gpus))]
    evidence += [
        {"what": "PCI %s" % text(entry, "bus_id"), "value": "not listed by the driver", "source": "/sys/bus/pci/devices"}
        for entry in unlisted
    ]
    state.value("gpu.lost", len(lost) + len(unlisted), evidence)
    _difference(state, len(state.gpus) + len(unlisted))


def _derive_names(state):
    named = [(gpu, text(gpu, "name")) for gpu in state.live if text(gpu, "name")]
    if not named:
        for name in ("gpu.kinds", "gpu.unexpected"):
            state.unknown(name, "absent.unreadable", field="name")
        return
    kinds = sorted({name for _gpu, name in named})
    state.value(
        "gpu.kinds",
        len(kinds),
        [{"what": name, "value": sum(1 for _gpu, other in named if other == name), "source": state.source} for name in kinds]
        if len(kinds) > 1
        else (),
    )
    wanted = text(state.expected, "gpu_name")
    if wanted is None:
        state.not_applicable("gpu.unexpected", "absent.no_expectation", field="gpu_name")
        return
    others = [(gpu, name) for gpu, name in named if not _names(wanted, name)]
    state.value("gpu.unexpected", len(others), [{"what": gpu_label(gpu), "value": name, "source": state.source} for gpu, name in others])


def _names(wanted, name):
    """Whether a product name holds the wanted one as whole words: "A10" is no "A100", "H100" is an "H100 80GB HBM3"."""
    return re.search(r"(?<![a-z0-9])%s(?![a-z0-9])" % re.escape(wanted.strip().lower()), name.lower()) is not None


def _module_missing(state):
    """A GPU on PCI and no NVIDIA kernel module: nothing on the host could answer, whatever tool is installed."""
    software = state.facts.get("software")
    pci = maps(state.gpu_document, "pci")
    if state.container or not pci or not isinstance(software, dict) or "driver_module_version" not in software:
        return False
    return (
        software["driver_module_version"] is None
        and not software.get("driver_version")
        and all((text(entry, "driver") or "") != "nvidia" for entry in pci)
    )


def _derive_driver(state):
    name = "gpu.driver_state"
    subject, problem = state.subject("gpu")
    if problem:
        state.unread([name], problem)
        return
    kind, error_kind, error = text(subject, "state"), text(subject, "error_kind"), text(subject, "error")
    # The kind is the metric's value; the evidence is what the driver or its tool said.
    evidence = [{"what": error, "value": None, "source": state.source}] if error else []
    if kind in ("ok", "partial"):
        state.value(name, kind, evidence)
    elif kind == "driver_broken":
        broken = error_kind if error_kind in _BROKEN_KINDS else "other"
        state.value(name, broken, evidence)
        state.values[name]["advice"] = "advice.driver." + broken
    elif kind in ("tool_missing", "not_permitted") and (
        error_kind == "driver_not_loaded" and amount(subject, "pci_device_count") or _module_missing(state)
    ):
        state.value(name, "driver_not_loaded", evidence)
        state.values[name]["advice"] = "advice.driver.driver_not_loaded"
    elif kind == "no_hardware":
        state.not_applicable(name, "absent.no_gpu")
    elif kind in ("tool_missing", "not_permitted"):
        status, reason, params = silent_reason(state)
        state.absent[name] = {"status": status, "reason": reason, "params": params}
    elif subject.get("error") and kind is None:
        state.unknown(name, "absent.subject_failed", subject="gpu", error=error or "?")
    else:
        state.unknown(name, "absent.unreadable", field="gpu.state")


def is_virtual_gpu(gpu):
    """A vGPU or passed-through slice names itself so; its PCIe link is the hypervisor's."""
    mode = text(gpu, "virtualization_mode")
    return mode is not None and mode.lower() not in ("none", "host_vgpu", "host_vsga", "n/a")


def under_load(gpu):
    """True when the GPU ran at full clocks and did work while it was read: only then does the link run at full generation."""
    busy = amount(gpu, "utilization_gpu_fraction")
    return text(gpu, "performance_state") in ("P0", "P1", "P2") and busy is not None and busy >= 0.5
