# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One scenario, three ways to read it: pynvml, the ctypes binding and nvidia-smi must tell the same, and each fault as what it is."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAB = ROOT / "tests" / "lab"
_SCRIPT = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
from ansible_collections.trainops.gpu_audit.plugins.module_utils.facts import gpu
options = json.loads(sys.argv[2])
if options.pop("own_binding", False):
    bindings = gpu._bindings
    gpu._bindings = lambda: bindings()[1:]
if "lacking" in options:
    import types
    import pynvml
    class Old(types.ModuleType):
        lacking = options.pop("lacking")
        def __getattr__(self, name):
            if name in self.lacking:
                raise AttributeError(name)
            return object if name == "c_nvmlValue_t" else getattr(pynvml, name)
    sys.modules["pynvml"] = Old("pynvml")
print(json.dumps(gpu.collect(**options)))
"""
# What only one source can tell (docs/gpu-sources.md).
_SMI_ONLY_NVML = {"nvlinks", "nvlinks_active_count"}
_NVML_ONLY_SMI = {"pcie_generation_host_max"}


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory):
    """A folder with the lab's libnvidia-ml.so.1 and nvidia-smi, compiled."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not (LAB / "native" / "nvml_stub.c").exists():
        pytest.skip("no C compiler, or no lab in this checkout")
    folder = tmp_path_factory.mktemp("stand-ins")
    native = LAB / "native"
    subprocess.run([compiler, "-O0", "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1", "-o", str(folder / "libnvidia-ml.so.1"),
                    str(native / "nvml_stub.c")], check=True, capture_output=True)
    subprocess.run([compiler, "-O0", "-o", str(folder / "nvidia-smi"), str(native / "fake_smi.c"), "-lpthread"], check=True,
                   capture_output=True)
    return folder


@pytest.fixture
def ask(stand_ins, tmp_path):
    """ask(which, base, *faults) -> the gpu document of that scenario from that source ("nvml", "nvml-ctypes", "nvidia-smi", "auto")."""
    def run(which, base, *faults, text="", **options):
        lines = "\n".join((LAB / "scenarios" / (name + ".conf")).read_text() for name in (base,) + faults) + "\n" + text
        scenario = tmp_path / "scenario.conf"
        scenario.write_text(lines.replace("%HOST%", "00000000").replace("%INDEX%", "00").replace("4242", str(os.getpid())))
        options.setdefault("source", {"nvidia-smi": "nvidia_smi", "auto": "auto"}.get(which, "nvml"))
        options.setdefault("nvidia_smi", str(stand_ins / "nvidia-smi"))
        if which == "nvml-ctypes":
            options["own_binding"] = True
        done = subprocess.run([sys.executable, "-c", _SCRIPT, json.dumps([path for path in sys.path if path]), json.dumps(options)],
                              env=dict(os.environ, LD_LIBRARY_PATH=str(stand_ins), NVML_STUB_SCENARIO=str(scenario)),
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return run


def without(gpu, fields):
    """A GPU record to compare: without these fields, sizes in whole MiB as nvidia-smi prints them."""
    kept = {name: value for name, value in gpu.items() if name not in fields and name != "absent"}
    for name, value in kept.items():
        if name.endswith("_bytes") and value is not None:
            kept[name] = value >> 20
    for entry in kept["processes"] or []:
        entry["used_memory_bytes"] = entry["used_memory_bytes"] and entry["used_memory_bytes"] >> 20
    for device in kept["mig_devices"] or []:
        # nvidia-smi -q -x has no UUID of an instance; free is rounded on its own.
        device.pop("uuid")
        for name in ("memory_total_bytes", "memory_used_bytes", "memory_free_bytes"):
            device[name] >>= 20
    kept["absent"] = {name: why for name, why in gpu["absent"].items() if name not in fields}
    return kept


SCENARIOS = [
    ("h100x8",), ("a100x8",), ("t4",), ("l40sx4",), ("h100x8", "fault-mig"), ("h100x8", "fault-busy"), ("h100x8", "fault-ecc"),
    ("h100x8", "fault-fabric"),
    ("h100x8", "fault-pending-remap"), ("h100x8", "fault-failed-remap"), ("h100x8", "fault-narrow-link"), ("h100x8", "fault-hw-slowdown")]


@pytest.mark.parametrize("scenario", SCENARIOS, ids="+".join)
def test_equal_documents(ask, scenario):
    pytest.importorskip("pynvml")
    package, own, program = (ask(which, *scenario) for which in ("nvml", "nvml-ctypes", "nvidia-smi"))
    assert [document["source"] for document in (package, own, program)] == ["nvml", "nvml-ctypes", "nvidia-smi"]
    assert dict(own, source=None, sources=None) == dict(package, source=None, sources=None)
    for name in ("state", "error", "error_kind", "hint", "warnings", "driver_version", "cuda_version", "reported_count",
                 "clock_event_samples"):
        assert program[name] == package[name], name
    fields = _SMI_ONLY_NVML | _NVML_ONLY_SMI
    assert [without(gpu, fields) for gpu in program["gpus"]] == [without(gpu, fields) for gpu in package["gpus"]]
    assert {gpu["absent"].get("nvlinks") for gpu in program["gpus"]} == {"not_supported"}


# What nvidia-ml-py 7 and 11, which distributions carry, don't have yet.
LACKING = """nvmlMemory_v2 nvmlDeviceGetMarginTemperature c_nvmlGpuFabricInfo_t c_nvmlGpuFabricInfo_v2_t nvmlGpuFabricInfo_v2
nvmlDeviceGetGpuFabricInfo nvmlDeviceGetGpuFabricInfoV c_nvmlEccSramErrorStatus_v1_t nvmlEccSramErrorStatus_v1
nvmlDeviceGetSramEccErrorStatus nvmlDeviceGetComputeRunningProcesses_v3 nvmlDeviceGetGraphicsRunningProcesses_v3 nvmlDeviceGetPciInfo_v3
nvmlDeviceGetCurrentClocksEventReasons nvmlDeviceGetRowRemapperHistogram nvmlDeviceGetRemappedRows nvmlDeviceGetMigMode
nvmlDeviceGetGpuMaxPcieLinkGeneration""".split()


@pytest.mark.parametrize("scenario", [("h100x8",), ("h100x8", "fault-fabric"), ("h100x8", "fault-mig"), ("h100x8", "fault-pending-remap"),
                                      ("h100x8", "fault-lost-gpu")], ids="+".join)
def test_an_old_nvidia_ml_py_tells_as_much_as_a_new_one(ask, scenario):
    pytest.importorskip("pynvml")
    old, own = ask("nvml", *scenario, lacking=LACKING), ask("nvml-ctypes", *scenario)
    assert old["source"] == "nvml" and dict(old, source=None, sources=None) == dict(own, source=None, sources=None)


@pytest.mark.parametrize("which", ["nvml-ctypes", "nvidia-smi"])
def test_values_of_a_healthy_h100(ask, which):
    gpu = ask(which, "h100x8")["gpus"][3]
    expected = {"index": 3, "name": "NVIDIA H100 80GB HBM3", "bus_id": "0000:61:00.0", "device_id": "0x2330", "compute_capability": "9.0",
                "memory_total_bytes": 85520809984, "memory_reserved_bytes": 600 << 20, "memory_used_bytes": 0, "memory_kind": "framebuffer",
                "temperature_celsius": 31, "temperature_memory_celsius": 42, "temperature_headroom_celsius": 56,
                "temperature_slowdown_tlimit_celsius": -2,
                "temperature_shutdown_tlimit_celsius": -8, "power_draw_watts": 71.23, "power_limit_watts": 700.0,
                "power_limit_min_watts": 200.0,
                "clock_event_reasons": ["gpu_idle"], "clock_event_reasons_masks": [1], "performance_state": "P0", "ecc_mode": "enabled",
                "ecc_uncorrectable_volatile": 0, "ecc_sram_threshold_exceeded": False, "remapped_rows_pending": False,
                "remapped_rows_failure": False,
                "pcie_generation_current": 5, "pcie_width_max": 16, "mig_mode": "disabled", "mig_devices": [],
                "persistence_mode": "enabled",
                "compute_mode": "default", "fabric_state": "completed", "fabric_status": "success", "recovery_action": "none",
                "processes": [],
                "status": "ok", "error": None}
    assert {name: gpu[name] for name in expected} == expected
    assert gpu["clock_event_counters_seconds"]["sw_power_cap"] == 7015.662857
    assert gpu["absent"]["retired_pages_pending"] == "not_supported"


@pytest.mark.parametrize("which", ["nvml-ctypes", "nvidia-smi"])
def test_hardware_slowdown_is_looked_at_twice(ask, which):
    document = ask(which, "h100x8", "fault-hw-slowdown")
    assert document["clock_event_samples"] == 2
    assert document["gpus"][1]["clock_event_reasons"] == ["hw_power_brake_slowdown", "hw_slowdown"]
    assert document["gpus"][1]["clock_event_reasons_masks"] == [0x88, 0x88]
    assert document["gpus"][1]["clock_event_counters_growth_seconds"]["hw_power_brake_slowdown"] == 0.0
    assert document["gpus"][0]["clock_event_reasons_masks"] == [1, 1]
    assert ask(which, "h100x8")["gpus"][0]["clock_event_counters_growth_seconds"] is None


def pci_tree(folder, buses, driver="nvidia"):
    for bus in buses:
        device = folder / "sys/bus/pci/devices" / bus
        device.mkdir(parents=True)
        for name, text in (("vendor", "0x10de"), ("class", "0x030200"), ("device", "0x2330")):
            (device / name).write_text(text + "\n")
        if driver:
            (device / "driver").symlink_to("../../../../bus/pci/drivers/" + driver)
    return str(folder)


H100_BUSES = ["0000:%s:00.0" % bus for bus in "1b 43 52 61 9d c3 d1 df".split()]


@pytest.mark.parametrize("which", ["nvml-ctypes", "nvidia-smi"])
def test_a_lost_gpu_stays_in_the_list(ask, which, tmp_path):
    document = ask(which, "h100x8", "fault-lost-gpu", sys_root=pci_tree(tmp_path / "root", H100_BUSES))
    assert document["state"] == "partial" and "7 of 8 GPUs answer; not: 0000:c3:00.0" in document["error"]
    assert [gpu["status"] for gpu in document["gpus"]] == ["ok"] * 5 + ["lost"] + ["ok"] * 2
    assert [gpu["bus_id"] for gpu in document["gpus"]] == H100_BUSES
    assert [gpu["index"] for gpu in document["gpus"]] == list(range(8))
    lost = document["gpus"][5]
    assert lost["memory_total_bytes"] is None and lost["absent"]["memory_total_bytes"] == "failed: GPU is lost"
    assert lost["device_id"] == "0x2330"
    assert document["gpus"][6]["memory_total_bytes"] == 85520809984


@pytest.mark.parametrize("which", ["nvml-ctypes", "nvidia-smi"])
def test_a_gpu_that_the_driver_does_not_list(ask, which, tmp_path):
    document = ask(which, "h100x8", "fault-seven-of-eight", sys_root=pci_tree(tmp_path / "root", H100_BUSES))
    assert (document["state"], document["error"], len(document["gpus"])) == ("partial", "7 of 8 GPUs answer; not: 0000:df:00.0", 7)
    assert document["pci_device_count"] == 8 and document["reported_count"] == 7


@pytest.mark.parametrize("which, fault, state, kind, hint", [
    ("nvml-ctypes", "fault-mismatch", "driver_broken", "version_mismatch", "reload_driver"),
    ("nvidia-smi", "fault-mismatch", "driver_broken", "version_mismatch", "reload_driver"),
    ("nvml-ctypes", "fault-not-loaded", "driver_broken", "driver_not_loaded", "load_driver"),
    ("nvidia-smi", "fault-not-loaded", "driver_broken", "driver_not_loaded", "load_driver"),
    ("nvml-ctypes", "fault-no-permission", "not_permitted", "no_permission", "use_become"),
    ("nvidia-smi", "fault-no-permission", "not_permitted", "no_permission", "use_become"),
])
def test_why_the_driver_does_not_answer(ask, which, fault, state, kind, hint, tmp_path):
    document = ask(which, "h100x8", fault, sys_root=pci_tree(tmp_path / "root", H100_BUSES))
    assert (document["state"], document["error_kind"], document["hint"], document["gpus"]) == (state, kind, hint, [])
    assert document["error"] and document["pci_device_count"] == 8 and document["driver_version"] is None


@pytest.mark.parametrize("which", ["nvml-ctypes", "auto"])
def test_a_hanging_library_is_left_and_nvidia_smi_not_tried(ask, which):
    document = ask(which, "h100x8", "fault-hang", timeout_seconds=1)
    assert (document["state"], document["error_kind"], document["source"]) == ("driver_broken", "timeout", None)
    assert document["error"] == "NVML: no answer within 1 s"


def test_auto_prefers_the_library_when_nvidia_smi_hangs(ask):
    document = ask("auto", "h100x8", "fault-smi-hang", timeout_seconds=20)
    assert (document["state"], len(document["gpus"])) == ("ok", 8)
    assert ask("nvidia-smi", "h100x8", "fault-smi-hang", timeout_seconds=1)["error_kind"] == "timeout"


@pytest.mark.parametrize("text, field, why", [
    ("[gpu 0]\npower.mw = !NO_PERMISSION\nfield.186 = !NO_PERMISSION\nfield.185 = !NO_PERMISSION\n", "power_draw_watts", "not_permitted"),
    ("[gpu 0]\nutilization = !NOT_SUPPORTED\n", "utilization_gpu_fraction", "not_supported"),
    ("[gpu 0]\necc.mode = !UNKNOWN\n", "ecc_mode", "failed: Unknown Error"),
])
@pytest.mark.parametrize("which", ["nvml-ctypes", "nvidia-smi"])
def test_three_states_of_a_field(ask, which, text, field, why):
    document = ask(which, "h100x8", text=text)
    assert document["gpus"][0][field] is None and document["gpus"][0]["absent"][field] == why
    assert document["state"] == "ok" and document["gpus"][1][field] is not None


@pytest.mark.parametrize("which", ["nvml-ctypes", "nvidia-smi"])
def test_a_process_is_told_by_its_file_name_and_only_while_it_runs(ask, which):
    document = ask(which, "h100x8", "fault-busy")
    used = 68182605824 if which == "nvml-ctypes" else 68182605824 >> 20 << 20
    assert document["gpus"][0]["processes"] == [{"pid": os.getpid(), "name": "python3", "type": "compute", "used_memory_bytes": used}]
    gone = ask(which, "h100x8", text="[gpu 0]\nprocesses.compute = 4194999:1024\n")
    assert gone["gpus"][0]["processes"] == [] and "no running process" in gone["warnings"][0]


def test_the_same_process_computing_and_drawing(ask):
    text = "[gpu 0]\nprocesses.compute = 4242:1048576\nprocesses.graphics = 4242:1048576\n"
    assert [entry["type"] for entry in ask("nvml-ctypes", "h100x8", text=text)["gpus"][0]["processes"]] == ["compute+graphics"]


@pytest.mark.parametrize("which", ["nvml-ctypes", "nvidia-smi"])
def test_unified_memory(ask, which):
    text = "[gpu *]\nname = NVIDIA GB10\nmemory.total = !NOT_SUPPORTED\nmemory.used = !NOT_SUPPORTED\nmemory.reserved = !NOT_SUPPORTED\n"
    gpu = ask(which, "l40sx4", text=text)["gpus"][0]
    assert (gpu["memory_kind"], gpu["memory_total_bytes"], gpu["absent"]["memory_total_bytes"],
            gpu["status"]) == ("unified", None, "not_supported", "ok")


@pytest.mark.parametrize("which", ["nvml-ctypes", "nvidia-smi"])
def test_a_host_decides_nothing_but_text_in_its_names(ask, which):
    text = "[gpu 0]\nname = <script>alert(1)</script>\n[gpu 1]\nname = =cmd()|x\n[gpu 2]\nname = \xf8\x01 GPU\n"
    names = [gpu["name"] for gpu in ask(which, "h100x8", text=text)["gpus"][:3]]
    assert names[1] == "=cmd()|x" and names[0] == "<script>alert(1)</script>" and "\x01" not in names[2]


def test_fields_of_the_document(ask):
    from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.gpu_record import FIELDS
    gpu = ask("nvml-ctypes", "h100x8")["gpus"][0]
    assert set(gpu) == set(FIELDS) | {"status", "error", "absent"}
    assert all((gpu[field] is None) == (field in gpu["absent"]) for field in FIELDS)
    contract = (ROOT / "docs" / "architecture.md").read_text()
    assert [field for field in FIELDS if field not in contract] == []
