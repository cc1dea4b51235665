# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Saved `nvidia-smi -q -x` output of real cards, of mocks and of faults: the values checked by hand against the files."""

from __future__ import annotations

import json
import pathlib
import re
from xml.etree import ElementTree

import pytest

from ansible_collections.trainops.gpu_audit.plugins.module_utils.facts.gpu import parse_captured
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources import nvml_reader
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.gpu_record import (
    FIELDS, absence, new_gpu, program_name, reason_names)
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.nvidia_smi import parse_nvlink_status

MIB = 1 << 20
FOLDER = "nvidia-smi-xml"


def document_of(folder, name):
    return parse_captured((folder / name).read_bytes())


# (file, state, GPUs, driver, CUDA, then fields of one GPU)
REAL = [
    ("hw-qx-h100.xml", "ok", 8, "580.105.08", "13.0", 0, {
        "name": "NVIDIA H100 80GB HBM3", "device_id": "0x2330", "memory_total_bytes": 81559 * MIB, "memory_reserved_bytes": 480 * MIB,
        "memory_used_bytes": 0, "memory_free_bytes": 81080 * MIB, "memory_kind": "framebuffer", "temperature_slowdown_celsius": None,
        "temperature_slowdown_tlimit_celsius": -2, "temperature_shutdown_tlimit_celsius": -8, "power_limit_watts": 700.0,
        "ecc_mode": "enabled",
        "ecc_sram_threshold_exceeded": False, "remapped_rows_pending": False, "remapped_rows_failure": False, "fabric_state": "completed",
        "fabric_status": "success", "fabric_clique_id": 0, "pcie_generation_max": 5, "pcie_width_current": 16, "mig_mode": "disabled",
        "mig_devices": [],
        "persistence_mode": "enabled", "recovery_action": "none", "clock_event_reasons": ["gpu_idle"], "processes": [], "status": "ok"}),
    ("hw-qx-a100.xml", "ok", 1, "570.148.08", "12.8", 0, {
        "name": "NVIDIA A100-SXM4-40GB", "device_id": "0x20b0", "memory_total_bytes": 40960 * MIB, "memory_reserved_bytes": 518 * MIB,
        "memory_free_bytes": 40443 * MIB, "temperature_slowdown_celsius": 89, "temperature_shutdown_celsius": 92,
        "temperature_slowdown_tlimit_celsius": None,
        "virtualization_mode": "pass_through", "power_limit_watts": 400.0, "fabric_state": None, "recovery_action": "none",
        "status": "ok"}),
    ("hw-qx-gb200.xml", "ok", 4, "580.173.02", "13.0", 0, {
        "name": "NVIDIA GB200", "serial": "0495441151393", "bus_id": "0000:29:00.0", "device_id": "0x2941",
        "memory_total_bytes": 189471 * MIB,
        "memory_reserved_bytes": 742 * MIB, "memory_free_bytes": 188730 * MIB, "temperature_celsius": 27,
        "temperature_headroom_celsius": 60,
        "temperature_memory_celsius": 27, "power_draw_watts": 165.93, "power_limit_watts": 1200.0, "module_power_draw_watts": 467.68,
        "fabric_cluster_uuid": "27692956-30fa-227d-70fa-b96b4a1418fd", "fabric_clique_id": 2, "pcie_generation_current": 5,
        "pcie_generation_max": 5,
        "pcie_generation_device_max": 6, "pcie_generation_host_max": None, "clock_memory_mhz": 3996, "remapped_rows_banks":
        {"max": 3968, "high": 0, "partial": 0, "low": 0, "none": 0}, "status": "ok"}),
    ("hw-qx-gb300.xml", "ok", 4, "580.173.02", "13.0", 0, {
        "name": "NVIDIA GB300", "device_id": "0x31c2", "memory_total_bytes": 284208 * MIB, "memory_reserved_bytes": 947 * MIB,
        "power_limit_watts": 1400.0, "fabric_state": "completed", "status": "ok"}),
    ("hw-qx-t4.xml", "ok", 1, "595.91.07", "13.2", 0, {
        "name": "Tesla T4", "device_id": "0x1eb8", "bus_id": "0000:00:1e.0", "retired_pages_single_bit": 0, "retired_pages_double_bit": 0,
        "retired_pages_pending": False, "remapped_rows_pending": None, "remapped_rows_banks": None, "temperature_slowdown_celsius": 93,
        "power_limit_watts": 70.0, "fabric_state": None, "mig_mode": None, "status": "ok"}),
    ("telegraf-a100-sxm4-v12.xml", "ok", 1, "535.54.03", "12.2", 0, {
        "mig_mode": "enabled", "utilization_gpu_fraction": None, "power_draw_watts": 67.03, "recovery_action": "none",
        "memory_used_bytes": 50 * MIB,
        "remapped_rows_pending": None, "ecc_uncorrectable_volatile": 0, "pcie_generation_host_max": 4, "persistence_mode": "disabled",
        "mig_devices": [{"index": index, "uuid": None, "gpu_instance_id": index + 3, "compute_instance_id": 0,
                         "memory_total_bytes": 19968 * MIB,
                         "memory_used_bytes": 12 * MIB, "memory_free_bytes": 19955 * MIB} for index in range(4)]}),
    ("telegraf-rtx-3060-v12.xml", "ok", 1, "570.124.04", "12.8", 0, {"display_active": "disabled", "ecc_mode": None, "status": "ok"}),
    ("telegraf-rtx-3090-v12.xml", "ok", 1, "525.147.05", "12.0", 0,
     {"pcie_generation_current": 1, "pcie_generation_max": 4, "performance_state": "P8"}),
    ("telegraf-quadro-p2000-v12.xml", "ok", 1, "525.125.06", "12.0", 0, {"power_limit_watts": 75.0, "status": "ok"}),
    ("telegraf-gtx-1070-ti.xml", "ok", 1, None, None, 0, {"uuid": "GPU-026dffe9-2193-6182-3cbf-6279e6383d06", "clock_memory_mhz": 405}),
    ("pai-nvidia_smi_out_of_order.xml", "ok", 4, "430.26", None, 3,
     {"index": 3, "name": "Tesla K80", "bus_id": "f8d6:00:00.0", "power_limit_watts": 149.0}),
    ("mock-qx-gb200-lost.xml", "partial", 2, "580.65.06", "13.0", 1, {
        "status": "lost", "name": "NVIDIA GB200", "memory_total_bytes": None, "utilization_gpu_fraction": None,
        "ecc_uncorrectable_volatile": None}),
    ("mock-qx-gb200-throttle-counters.xml", "ok", 2, "580.65.06", "13.0", 0, {"clock_event_counters_growth_seconds": None, "status": "ok"}),
]


@pytest.mark.parametrize("name, state, count, driver, cuda, index, fields", REAL, ids=[entry[0] for entry in REAL])
def test_hand_checked(captures, name, state, count, driver, cuda, index, fields):
    document = document_of(captures / FOLDER, name)
    assert (document["state"], len(document["gpus"]), document["driver_version"], document["cuda_version"]) == (state, count, driver, cuda)
    assert (document["source"], document["pci_device_count"], document["pci"],
            document["clock_event_samples"]) == ("nvidia-smi", None, None, 1)
    gpu = document["gpus"][index]
    assert {field: gpu[field] for field in fields} == fields


def test_every_capture_is_read_whole(captures):
    files = sorted((captures / FOLDER).glob("*.xml"))
    assert files
    for path in files:
        document = document_of(path.parent, path.name)
        assert document["source"] == "nvidia-smi", path.name
        text = re.sub(r"<supported_clocks>.*?</supported_clocks>", "", path.read_text("utf-8", "replace"), flags=re.S)
        root = ElementTree.fromstring(text)
        assert len(document["gpus"]) == len(root.findall("gpu")), path.name
        for element, gpu in zip(root.findall("gpu"), document["gpus"]):
            assert gpu["name"] == element.findtext("product_name"), path.name
            total = element.findtext("fb_memory_usage/total") or "N/A"
            assert gpu["memory_total_bytes"] == (int(total.split()[0]) * MIB if total.endswith("MiB") else None), path.name
            assert gpu["temperature_celsius"] == (int(element.findtext("temperature/gpu_temp").split()[0])
                                                  if element.findtext("temperature/gpu_temp", "").endswith(" C") else None), path.name
            assert len(gpu["processes"] or []) == len({entry.findtext("pid")
                                                       for entry in element.findall("processes/process_info")}), path.name
            assert len(gpu["mig_devices"] or []) == len(element.findall("mig_devices/mig_device")), path.name
            assert set(gpu) == set(FIELDS) | {"status", "error", "absent"}
            assert all((gpu[field] is None) == (field in gpu["absent"]) for field in FIELDS), path.name


def test_no_healthy_capture_has_a_trouble(captures):
    for path in sorted((captures / FOLDER).glob("*.xml")):
        if "lost" in path.name:
            continue
        document = document_of(path.parent, path.name)
        assert document["state"] == "ok" and document["error"] is None, path.name
        for gpu in document["gpus"]:
            troubles = {field: why for field, why in gpu["absent"].items() if why != "not_supported"}
            # One capture was masked where it was taken.
            assert not {field for field in troubles if "[REDACTED]" not in troubles[field]}, path.name


def test_counters_are_seconds(captures):
    gpu = document_of(captures / FOLDER, "hw-qx-gb200.xml")["gpus"][0]
    assert gpu["clock_event_counters_seconds"] == {"sw_power_cap": 2.354613, "sync_boost": 0.0, "sw_thermal_slowdown": 0.0,
                                                   "hw_thermal_slowdown": 0.0,
                                                   "hw_power_brake_slowdown": 0.0}


def test_older_ecc_layout(captures):
    # K80: single_bit and double_bit totals; the sample has aggregate 7 and 7.
    gpus = document_of(captures / FOLDER, "pai-nvidia_smi_sample.xml")["gpus"]
    text = (captures / FOLDER / "pai-nvidia_smi_sample.xml").read_text()
    root = ElementTree.fromstring(re.sub(r"<supported_clocks>.*?</supported_clocks>", "", text, flags=re.S))
    for element, gpu in zip(root.findall("gpu"), gpus):
        for field, path in (("ecc_corrected_volatile", "volatile/single_bit"), ("ecc_uncorrectable_volatile", "volatile/double_bit"),
                            ("ecc_corrected_aggregate", "aggregate/single_bit"), ("ecc_uncorrectable_aggregate", "aggregate/double_bit")):
            said = element.findtext("ecc_errors/%s/total" % path)
            assert gpu[field] == (int(said) if said.isdigit() else None)


def test_serial_of_a_module_is_shared_by_its_gpus(captures):
    serials = [gpu["serial"] for gpu in document_of(captures / FOLDER, "hw-qx-gb200.xml")["gpus"]]
    assert len(serials) == 4 and len(set(serials)) == 2


def test_process_names_hold_no_arguments(captures):
    names = [entry["name"] for path in (captures / FOLDER).glob("*.xml") for gpu in document_of(path.parent, path.name)["gpus"]
             for entry in gpu["processes"] or []]
    assert {"python", "gnome-shell", "Xorg", "msedge", "ethminer"} <= set(names)
    assert not [name for name in names if name and (" " in name or "/" in name)]


def test_document_is_plain_json(captures):
    document = document_of(captures / FOLDER, "hw-qx-h100.xml")
    assert json.loads(json.dumps(document)) == document


# --- traps ---------------------------------------------------------------------------

def trap(traps, name):
    return document_of(traps / "inputs", name)


def test_b01_absent_is_null_with_a_reason_and_the_rest_is_read(traps):
    gpu = trap(traps, "B01-na-everywhere.xml")["gpus"][0]
    for field in ("power_draw_watts", "utilization_gpu_fraction", "ecc_mode", "power_limit_watts"):
        assert gpu[field] is None and gpu["absent"][field] == "not_supported"
    assert (gpu["temperature_celsius"], gpu["memory_total_bytes"], gpu["status"], gpu["processes"]) == (44, 2000 * MIB, "ok", None)


@pytest.mark.parametrize("name, draw, limit, module", [
    ("B06-power-layout-535.xml", 61.20, 300.0, None),
    ("B06-power-layout-570.xml", 63.90, 300.0, 812.0),
    ("B06-power-layout-v11.xml", 61.20, 300.0, None),
])
def test_b07_b08_power_layout_by_elements_not_by_dtd(traps, name, draw, limit, module):
    document = trap(traps, name)
    gpu = document["gpus"][0]
    assert document["source_version"] == "nvsmi_device_v12"
    assert (gpu["power_draw_watts"], gpu["power_limit_watts"], gpu["module_power_draw_watts"]) == (draw, limit, module)
    # These layouts say nothing about memory: neither unified nor 0.
    assert gpu["memory_kind"] is None and gpu["memory_total_bytes"] is None


def test_b19_broken_supported_clocks(traps):
    document = trap(traps, "B19-supported-clocks-broken.xml")
    assert document["state"] == "ok" and document["gpus"][0]["memory_free_bytes"] == 81316 * MIB and document["warnings"] == []


def test_b25_lost_gpu_and_seven_of_eight(traps):
    document = trap(traps, "B25-eight-one-lost.xml")
    assert (document["state"], document["error"]) == ("partial", "7 of 8 GPUs answer; not: 0000:15:00.0")
    assert document["hint"] == "reset_gpu"
    assert [gpu["status"] for gpu in document["gpus"]] == ["ok"] * 5 + ["lost"] + ["ok"] * 2
    assert document["gpus"][5]["absent"]["serial"] == "failed: GPU is lost"
    seven = trap(traps, "B25-seven-of-eight.xml")
    assert (seven["state"], seven["reported_count"], len(seven["gpus"])) == ("ok", 7, 7)


def test_b40_fabric_status_is_kept_beside_its_state(traps):
    gpus = trap(traps, "B40-fabric-insufficient.xml")["gpus"]
    assert [(gpu["fabric_state"], gpu["fabric_status"]) for gpu in gpus] == [("completed", "insufficient_resources"), (None, None),
                                                                             ("completed", "success")]
    assert gpus[1]["absent"]["fabric_state"] == "not_supported"


def test_b20_process_names_are_opaque(traps):
    lines = (traps / "inputs/B20-process-name-comma.csv").read_text().splitlines()[1:]
    assert [program_name(line.split(",", 3)[3].rpartition(",")[0]) for line in lines] == ["python", None]


def test_b42_each_hardware_slowdown_has_its_own_name(traps):
    cells = [line.split(",")[1].strip() for line in (traps / "inputs/B42-event-reasons.csv").read_text().splitlines()[1:]]
    assert [reason_names(int(cell, 16)) for cell in cells if not absence(cell)] == [
        [], ["gpu_idle"], ["sw_power_cap"], ["hw_slowdown"], ["hw_thermal_slowdown"], ["hw_power_brake_slowdown"], ["sw_thermal_slowdown"],
        ["hw_power_brake_slowdown", "sw_power_cap"]]
    assert absence(cells[-1]) == "not_supported"


@pytest.mark.parametrize("versions, used, reserved", [((2, 1), "v2", "v2"), ((1,), "v1", None)])
def test_b54_reserved_memory_is_told_apart_where_the_driver_does(traps, versions, used, reserved):
    said = json.loads((traps / "inputs/B54-memory-accounting.json").read_text())

    class Unknown(Exception):
        value = 13

    class Api(object):
        def nvmlDeviceGetMemoryInfo(self, handle, version=None):
            number = 2 if version else 1
            if number not in versions:
                raise Unknown()
            return type("Memory", (), said["nvml_v%d" % number])

    device = nvml_reader._Device(Api(), None, new_gpu(0))
    nvml_reader._memory(device)
    assert device.gpu["memory_used_bytes"] == said["nvml_" + used]["used"] and device.gpu["memory_total_bytes"] == 85520809984
    assert device.gpu["memory_reserved_bytes"] == (said["nvml_v2"]["reserved"] if reserved else None)


def test_b38_nvlinks(traps, captures):
    links = parse_nvlink_status((traps / "inputs/B38-nvlink-mixed.txt").read_text())
    assert [link["link"] for link in links[0] if not link["active"]] == [4, 5, 10, 11, 16, 17] and len(links[0]) == 18 and links[1] == []
    read = {path.name: parse_nvlink_status(path.read_text()) for path in (captures / "nvidia-smi-nvlink").glob("*.txt")}
    assert {name: [len(found) for found in links.values()] for name, links in read.items()} == {
        "azhc-bad_nvlink_status.txt": [0], "gpud-nvlink-a100.txt": [12] * 8,
        "linux__h200-mig__590.48.01__capabilities__nvlink-s.txt": [], "linux__h200__590.48.01__capabilities__nvlink-s.txt": [18],
        "linux__rtx-2080-super__595.71.05__capabilities__nvlink-s.txt": [0],
        "linux__rtx-4080-super__595.71.05__capabilities__nvlink-s.txt": [],
        "windows__rtx-2080-super__610.62__capabilities__nvlink-s.txt": [0]}
    assert all(link["active"] for found in read["gpud-nvlink-a100.txt"].values() for link in found)


def test_folders_are_what_the_tests_expect(captures, traps):
    assert isinstance(captures, pathlib.Path) and (captures / FOLDER).is_dir() and (traps / "inputs").is_dir()


@pytest.mark.parametrize("folder", ["nvidia-smi-q-text", "nvidia-smi-table", "nvidia-smi-L", "nvidia-smi-csv", "nvidia-smi-topo"])
def test_other_outputs_of_nvidia_smi_are_refused_with_the_one_that_is_wanted(captures, folder):
    files = sorted((captures / folder).iterdir())
    assert files
    for path in files:
        document = parse_captured(path.read_bytes())
        assert (document["state"], document["error_kind"], document["gpus"]) == ("tool_missing", "tool_missing", []), path.name
        assert document["error"].endswith("save what `nvidia-smi -q -x` prints (XML)"), path.name
        assert ("`nvidia-smi -q`" in document["error"]) == (b"=NVSMI LOG=" in path.read_bytes()[:200]), path.name
