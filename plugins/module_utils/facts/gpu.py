# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The gpu subject: which source answers, what PCI shows beside it, and what state the two make."""

from __future__ import annotations

import os
import sys
import time

from ..sources.forked import run_forked
from ..sources.gpu_record import add_sample, error_code, error_text, finish, new_gpu, put, set_status, slowed_by_hardware
from ..sources.host_files import HostFiles
from ..sources.pci import read_pci
from ..sources.run_program import find_stuck
from ..sources.texts import clean_text

# The sources themselves are imported where they are asked: a host compiles only what it needs.
CHILD_NAME = "gpu-audit-nvml"
SAMPLE_GAP_SECONDS = 1.0
# Where the role prepare keeps nvidia-ml-py on hosts whose distribution has no package of it.
PREPARED_PACKAGES = "/opt/trainops-gpu-audit/python"
# nvmlReturn_t -> (error_kind, hint)
_NVML_ERRORS = {4: ("no_permission", "use_become"), 9: ("driver_not_loaded", "load_driver"), 12: ("tool_missing", "install_driver"),
                15: ("other", "reset_gpu"), 17: ("no_permission", "use_become"), 18: ("version_mismatch", "reload_driver")}
# What nvidia-smi, a program over the same library, could not say better.
_FINAL_KINDS = ("timeout", "stuck", "version_mismatch", "no_permission")


def _document():
    return {"source": None, "source_version": None, "driver_version": None, "cuda_version": None, "pci_device_count": None, "state": None,
            "error": None, "error_kind": None, "hint": None, "warnings": [], "reported_count": None, "pci": None, "pci_passthrough": None,
            "clock_event_samples": None, "gpus": [], "sources": {}, "absent": {}}


def _take(document, source, answer):
    """Puts what a source answered into the document."""
    for name in ("driver_version", "cuda_version", "source_version", "reported_count", "gpus"):
        document[name] = answer[name]
    document["source"] = source
    document["warnings"] += answer["warnings"]
    document["clock_event_samples"] = answer.get("samples", 1)


def _fail(document, error_kind, hint, error):
    document.update(error_kind=error_kind, hint=hint, error=error)


def _bindings():
    """Makers of an NVML binding, in the order they are asked: (source, function)."""
    def package():
        # Behind the interpreter's own packages; this runs in a child of its own.
        sys.path.append(PREPARED_PACKAGES)
        import pynvml
        if not hasattr(pynvml, "nvmlInit"):
            raise ImportError("the module pynvml on this host is not nvidia-ml-py")
        from ..sources.nvml_package import Completed
        return Completed(pynvml)

    def own():
        from ..sources.nvml_ctypes import Binding
        return Binding()
    return ("nvml", package), ("nvml-ctypes", own)


def _read_nvml(gap_seconds):
    """In the child: -> {"source", "answer"} or {"source", "code", "text"}, both with "notes" [str]."""
    notes, failure = [], None
    for source, binding in _bindings():
        try:
            api = binding()
            from ..sources import nvml_reader
            return {"source": source, "answer": nvml_reader.read(api, gap_seconds), "notes": notes}
        except ImportError as error:
            failure = {"source": source, "code": 12, "text": clean_text(error), "notes": notes}
            if type(error) is ImportError:  # pylint: disable=unidiomatic-typecheck
                notes.append(clean_text(error))
        except Exception as error:  # pylint: disable=broad-except
            # Whatever a binding raises is what this source says: kept with its words.
            code = error_code(error)
            failure = {"source": source, "code": code, "text": error_text(error), "notes": notes}
            if code is None:
                notes.append("%s: %s" % (source, failure["text"]))
            elif code not in (12, 13):
                # Neither "library not found" nor "function not found": the driver's own answer.
                break
    return failure


def _collect_nvml(document, timeout_seconds):
    """-> whether another source could still say more."""
    stuck = find_stuck(CHILD_NAME, timeout_seconds + 5)
    if stuck:
        _fail(document, "stuck", "reboot",
              "process %(pid)d of an earlier audit still hangs in the driver (state %(state)s, %(age_seconds)d s)" % stuck)
        return False
    ok, value, kind = run_forked(lambda: _read_nvml(SAMPLE_GAP_SECONDS), timeout_seconds, CHILD_NAME)
    if not ok:
        hint = "reboot" if kind == "timeout" and "uninterruptible" in value else "check_kernel_log"
        _fail(document, kind if kind in ("timeout", "crashed") else "other", hint, "NVML: %s" % value)
        return kind != "timeout"
    document["warnings"] += value["notes"]
    if "answer" in value:
        _take(document, value["source"], value["answer"])
        return False
    error_kind, hint = _NVML_ERRORS.get(value["code"], ("other", "check_kernel_log"))
    _fail(document, error_kind, hint, "NVML: %s" % value["text"])
    return error_kind not in _FINAL_KINDS


def _query_each(answer, document, program, deadline):
    """One query for each GPU that PCI shows and a broken answer left out."""
    from ..sources import nvidia_smi as smi
    from ..sources.nvidia_smi_xml import NotNvidiaSmi, parse_query_xml
    known = {gpu["bus_id"] for gpu in answer["gpus"]}
    named = set(smi.named_bus_ids(document["error"] or ""))
    for function in document["pci"] or []:
        bus = function["bus_id"]
        if bus in known:
            continue
        left = deadline - time.monotonic()
        result = smi.query(program, left, bus) if left > 0.5 and bus not in named else None
        found = None
        if result is not None and not result.timed_out:
            try:
                parsed = parse_query_xml(result.stdout)
                found = next((gpu for gpu in parsed["gpus"] if gpu["bus_id"] == bus), None)
                for name in ("driver_version", "cuda_version", "source_version", "reported_count"):
                    answer[name] = answer[name] or parsed[name]
            except NotNvidiaSmi:
                pass
        if found is None:
            lost = bus in named or result is not None and smi.explain(result)["code"] == 15
            found = new_gpu(None)
            put(found, "bus_id", bus)
            put(found, "device_id", function["device_id"])
            set_status(found, "lost" if lost else "error",
                       "GPU is lost" if lost else smi.explain(result)["text"] if result is not None else "not asked: no time left")
            found = finish(found)
        answer["gpus"].append(found)
    for bus in sorted(named - known - {function["bus_id"] for function in document["pci"] or []}):
        gpu = new_gpu(None)
        put(gpu, "bus_id", bus)
        set_status(gpu, "lost", "GPU is lost")
        answer["gpus"].append(finish(gpu))
    if not named and not any(gpu["status"] == "ok" for gpu in answer["gpus"]):
        # Each query fails as the whole did: the driver's trouble, not one of its GPUs.
        answer["gpus"] = []
    answer["gpus"].sort(key=lambda gpu: gpu["bus_id"] or "")
    for index, gpu in enumerate(answer["gpus"]):
        put(gpu, "index", index)


def _add_what_xml_lacks(answer, program, deadline):
    """Compute capability, NVLink states and the infoROM warning are in other answers of nvidia-smi."""
    from ..sources import nvidia_smi as smi
    left = deadline - time.monotonic()
    capabilities, warnings = smi.query_capabilities(program, left) if left > 0.5 else ({}, [])
    answer["warnings"] += warnings
    left = deadline - time.monotonic()
    links = smi.query_nvlinks(program, left) if left > 0.5 else {}
    for gpu in answer["gpus"]:
        put(gpu, "compute_capability", capabilities.get(gpu["bus_id"]))
        if gpu["index"] in links:
            put(gpu, "nvlinks", links[gpu["index"]])
            put(gpu, "nvlinks_active_count", sum(1 for link in gpu["nvlinks"] if link["active"]))


def _collect_smi(document, program, timeout_seconds):
    from ..sources import nvidia_smi as smi
    from ..sources.nvidia_smi_xml import NotNvidiaSmi, parse_query_xml
    program = smi.locate(program)
    stuck = find_stuck(program)
    if stuck:
        _fail(document, "stuck", "reboot",
              "nvidia-smi (process %(pid)d) hangs in the driver (state %(state)s, for %(age_seconds)d s); no other was started" % stuck)
        return
    deadline = time.monotonic() + timeout_seconds
    result = smi.query(program, timeout_seconds)
    answer = None
    try:
        answer = parse_query_xml(result.stdout)
    except NotNvidiaSmi as error:
        if result.rc == 0 and not result.truncated:
            _fail(document, "tool_missing", "check_nvidia_smi", "%s -q -x is not usable: %s" % (clean_text(program), error))
            return
    broken = answer is None or bool(answer["warnings"]) or result.timed_out
    if result.rc != 0 or result.truncated:
        why = smi.explain(result, timeout_seconds)
        if not broken:
            # Whole output all the same, so a warning about one GPU: 14 is a corrupt infoROM.
            answer["warnings"].append("nvidia-smi ended with status %s: %s" % (result.rc, clean_text(result.stderr) or why["text"]))
        elif why["code"] == smi.NO_DEVICES:
            document.update(source="nvidia-smi", reported_count=0)
            return
        else:
            _fail(document, why["kind"], why["hint"], why["text"])
            if why["kind"] in ("timeout", "tool_missing"):
                return
    if broken and document["error_kind"] not in ("driver_not_loaded", "version_mismatch", "no_permission"):
        answer = answer or {"driver_version": None, "cuda_version": None, "source_version": None, "reported_count": None, "gpus": [],
                            "warnings": []}
        _query_each(answer, document, program, deadline)
    if not answer or broken and not answer["gpus"]:
        return
    if slowed_by_hardware(answer["gpus"]) and deadline - time.monotonic() > SAMPLE_GAP_SECONDS + 0.5:
        time.sleep(SAMPLE_GAP_SECONDS)
        again = smi.query(program, deadline - time.monotonic())
        try:
            add_sample(answer["gpus"], parse_query_xml(again.stdout)["gpus"])
            answer["samples"] = 2
        except NotNvidiaSmi as error:
            answer["warnings"].append("second look at the clock-event reasons failed: %s" % error)
    if not broken:
        _add_what_xml_lacks(answer, program, deadline)
    _take(document, "nvidia-smi", answer)


def _place_lost_gpus(document):
    """A GPU that gave no bus id gets it from PCI, where only one assignment fits."""
    known = {gpu["bus_id"] for gpu in document["gpus"]}
    nameless = [gpu for gpu in document["gpus"] if gpu["bus_id"] is None]
    missing = [function for function in document["pci"] or [] if function["bus_id"] not in known]
    if nameless and len(nameless) == len(missing):
        for gpu, function in zip(nameless, missing):
            put(gpu, "bus_id", function["bus_id"])
            put(gpu, "device_id", function["device_id"])


def _runs(host, pid):
    """Whether there is such a process; with /proc mounted hidepid it is there though not shown."""
    if host.exists("/proc/%d" % pid):
        return True
    if host.root:
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass
    return True


def _check_processes(document, host):
    """Drops entries whose pid is no process here: a binding of another version reads garbage, a container sees the host's numbers."""
    dropped = 0
    for gpu in document["gpus"]:
        if gpu["processes"]:
            kept = [entry for entry in gpu["processes"] if _runs(host, entry["pid"])]
            dropped += len(gpu["processes"]) - len(kept)
            gpu["processes"] = kept
    if dropped:
        document["warnings"].append("%d GPU process entries name no running process here and are left out" % dropped)


def _surroundings(host):
    """Where PCI is only informational: "container", "wsl", "tegra" or None."""
    kernel = host.text_or("/proc/sys/kernel/osrelease", "").lower()
    if "microsoft" in kernel or host.exists("/dev/dxg"):
        return "wsl"
    if host.exists("/etc/nv_tegra_release") or "tegra" in kernel or "nvidia,tegra" in host.text_or("/proc/device-tree/compatible", ""):
        return "tegra"
    if (host.exists("/.dockerenv") or host.exists("/run/.containerenv") or host.exists("/run/systemd/container")
            or any(word in host.text_or("/proc/1/cgroup", "") for word in ("docker", "kubepods", "/lxc", "containerd", "libpod"))):
        return "container"
    return None


def decide_state(document, surroundings, module_loaded):
    """The document's state, from what the driver said and what PCI shows; sets error, error_kind and hint where they follow from it.

    surroundings: None, "container", "wsl" or "tegra" (PCI doesn't count there); module_loaded: the NVIDIA kernel module is there.
    """
    shown = len(document["pci"] or []) if surroundings is None else 0
    answering = [gpu for gpu in document["gpus"] if gpu["status"] == "ok"]
    kind = document["error_kind"]
    if answering:
        known = max(document["reported_count"] or 0, len(document["gpus"]), shown)
        if len(answering) == known and kind is None:
            return "ok"
        if len(answering) < known:
            listed = {gpu["bus_id"] for gpu in document["gpus"]}
            silent = [gpu["bus_id"] or "index %s" % gpu["index"] for gpu in document["gpus"] if gpu["status"] != "ok"]
            silent += [function["bus_id"] for function in document["pci"] or [] if shown and function["bus_id"] not in listed]
            count = "%d of %d GPUs answer%s" % (len(answering), known, "; not: " + ", ".join(silent) if silent else "")
            document["error"] = "%s; %s" % (document["error"], count) if document["error"] else count
        document["error_kind"], document["hint"] = kind or "other", document["hint"] or "reset_gpu"
        return "partial"
    if document["gpus"]:
        document["error"] = document["error"] or "none of %d GPUs answers: %s" % (len(document["gpus"]), document["gpus"][0]["error"])
        document["error_kind"], document["hint"] = kind or "other", document["hint"] or "reset_gpu"
        return "driver_broken"
    if kind == "no_permission":
        return "not_permitted"
    said_none = document["source"] is not None or kind in ("tool_missing", "driver_not_loaded")
    if not shown and said_none:
        if kind == "tool_missing" and (surroundings in ("wsl", "tegra") or module_loaded or surroundings == "container"
                                       and document["pci"]):
            return "tool_missing"
        if kind == "driver_not_loaded" and surroundings == "container" and document["pci"]:
            return "driver_broken"
        return "no_hardware"
    if kind == "tool_missing":
        if module_loaded or document["hint"] == "check_nvidia_smi":
            return "tool_missing"
        drivers = {function["driver"] for function in document["pci"]}
        _fail(document, "driver_not_loaded", "replace_nouveau" if "nouveau" in drivers else "install_driver",
              "no NVIDIA kernel module is loaded, and neither libnvidia-ml nor nvidia-smi is there")
        return "driver_broken"
    if document["source"] is not None and kind is None:
        _fail(document, "other", "check_kernel_log", "the driver reports no GPU, PCI shows %d" % shown)
    return "driver_broken"


def _what_it_is(words, error):
    """People save what they read: nvidia-smi's other outputs are named, and the command that is wanted."""
    for mark, command in (("=NVSMI LOG=", "nvidia-smi -q"), ("| NVIDIA-SMI ", "nvidia-smi"), ("(UUID: ", "nvidia-smi -L or nvlink -s")):
        if mark in words:
            return "this is the text of `%s`; save what `nvidia-smi -q -x` prints (XML)" % command
    return "%s; save what `nvidia-smi -q -x` prints (XML)" % error


def parse_captured(text):
    """Saved output of `nvidia-smi -q -x` -> the gpu document; PCI is unknown. Text that tells nothing of the machine: `tool_missing`."""
    from ..sources import nvidia_smi as smi
    from ..sources.nvidia_smi_xml import NotNvidiaSmi, parse_query_xml
    document = _document()
    try:
        answer = parse_query_xml(text)
    except NotNvidiaSmi as error:
        # A saved error message is an answer too.
        words = clean_text(text, 300)
        meant = smi.meaning(words)
        kind, hint = smi.EXITS.get(meant, ("tool_missing", "check_nvidia_smi"))
        _fail(document, kind, hint, words if meant else "not the output of nvidia-smi -q -x: %s" % _what_it_is(words, error))
        document["state"] = {"no_permission": "not_permitted", "tool_missing": "tool_missing"}.get(kind, "driver_broken")
        if meant == smi.NO_DEVICES:
            document["state"] = "no_hardware"
        return _finish(document)
    _take(document, "nvidia-smi", answer)
    if answer["warnings"] and not answer["gpus"]:
        _fail(document, "tool_missing", "check_nvidia_smi", "no GPU is whole in the text: it was cut off")
        document["state"] = "tool_missing"
    elif not answer["gpus"]:
        document["state"] = "no_hardware"
    elif not answer["warnings"] and (answer["reported_count"] or 0) > len(answer["gpus"]):
        # `-i` shows some GPUs and still counts all: nothing says that the others don't answer.
        document["warnings"].append("the text holds %d of %d GPUs" % (len(answer["gpus"]), answer["reported_count"]))
        alone = dict(document, reported_count=None)
        document["state"] = decide_state(alone, "container", True)
        _fail(document, alone["error_kind"], alone["hint"], alone["error"])
    else:
        if (answer["reported_count"] or 0) > len(answer["gpus"]):
            document["error"] = answer["warnings"][0]
        document["state"] = decide_state(document, "container", True)
    return _finish(document)


def _finish(document):
    source = document["source"]
    if document["state"] == "no_hardware":
        # That no driver answers where there is nothing to drive is no error.
        document.update(error=None, error_kind=None, hint=None, warnings=[])
    for gpu in document["gpus"]:
        # A driver or binding that answers with bytes that are no text may answer other things wrongly as well.
        garbled = [field for field in ("name", "uuid", "serial", "vbios_version") if "\ufffd" in (gpu[field] or "")]
        if garbled:
            document["warnings"].append("GPU %s: %s is no text as the driver gives it" % (gpu["index"], ", ".join(garbled)))
    if source:
        document["sources"]["gpus"] = source
    if document["pci"] is not None:
        document["sources"]["pci"] = "sysfs"
        document["pci_device_count"] = len(document["pci"])
    reason = "not_supported"
    if document["state"] == "not_permitted":
        reason = "not_permitted"
    elif document["error"] and not source:
        reason = "failed: %s" % document["error"]
    for name in ("driver_version", "cuda_version", "source_version", "reported_count", "pci", "pci_device_count"):
        if document[name] is None:
            document["absent"][name] = "not_supported" if name.startswith("pci") else reason
    return document


def collect(source="auto", nvidia_smi="nvidia-smi", captured_xml=None, timeout_seconds=30, sys_root="/"):
    """The gpu document (docs/architecture.md, Facts); raises nothing for what a host can be.

    source: "auto" (NVML, then nvidia-smi), "nvml" or "nvidia_smi"; nvidia_smi: program name or path; captured_xml: saved output to
    parse instead;
    timeout_seconds: for NVML and for nvidia-smi each; sys_root: where /sys and /proc are.
    """
    if captured_xml is not None:
        return parse_captured(captured_xml)
    host = HostFiles(sys_root)
    document = _document()
    document["pci"], document["pci_passthrough"] = read_pci(host)
    more = True
    if source in ("auto", "nvml"):
        more = _collect_nvml(document, timeout_seconds)
    if source == "nvidia_smi" or source == "auto" and more:
        nvml = (document["error_kind"], document["hint"], document["error"])
        _fail(document, None, None, None)
        _collect_smi(document, nvidia_smi, timeout_seconds)
        if document["error_kind"] == "tool_missing" and nvml[0] not in (None, "tool_missing"):
            # NVML said more than that there is no program.
            _fail(document, *nvml)
        elif document["source"] and nvml[0] not in (None, "tool_missing"):
            document["warnings"].append(nvml[2])
    _place_lost_gpus(document)
    _check_processes(document, host)
    document["state"] = decide_state(document, _surroundings(host),
                                     host.exists("/proc/driver/nvidia/version") or host.exists("/sys/module/nvidia"))
    return _finish(document)
