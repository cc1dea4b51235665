# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What state a host's GPUs are in: what PCI shows against what the driver says, and text that is not what it should be."""

from __future__ import annotations

import doctest
import json
import os
import signal
import sys
import types
from random import Random

import pytest

from ansible_collections.trainops.gpu_audit.plugins.module_utils.facts import gpu as module
from ansible_collections.trainops.gpu_audit.plugins.module_utils.facts.gpu import collect, parse_captured
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources import nvidia_smi as smi
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources import gpu_record, nvidia_smi_xml, nvml_reader, run_program
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.gpu_record import (
    absence, add_sample, bus_id, clean_text, error_code, program_name, reason_names)
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.host_files import HostFiles
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.pci import read_pci
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.run_program import ProgramResult


def xml(*gpus, attached=None, head="", tail="</nvidia_smi_log>\n"):
    bodies = "".join('<gpu id="00000000:%02X:00.0">%s</gpu>\n' % (0x10 + number, body) for number, body in enumerate(gpus))
    return ('<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n%s'
            '<driver_version>570.00</driver_version>\n'
            '<attached_gpus>%d</attached_gpus>\n%s%s' % (head, len(gpus) if attached is None else attached, bodies, tail))


GPU = ("<product_name>NVIDIA TEST</product_name><uuid>GPU-1</uuid>"
       "<fb_memory_usage><total>1024 MiB</total><used>1 MiB</used></fb_memory_usage><temperature><gpu_temp>31 C</gpu_temp></temperature>")


@pytest.fixture
def smi_only(monkeypatch):
    """Neither pynvml nor the driver's library, whatever this machine has."""
    monkeypatch.setattr(module, "_bindings", lambda: ())
    monkeypatch.setattr(module, "_read_nvml",
                        lambda gap: {"source": "nvml-ctypes", "code": 12, "text": "NVML Shared Library Not Found", "notes": []})


def program(tmp_path, text, name="nvidia-smi"):
    path = tmp_path / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def machine(tmp_path, gpus=(), extra=(), files=None):
    """A made-up root: PCI functions (bus, class, driver), and files."""
    root = tmp_path / "root"
    (root / "sys/bus/pci/devices").mkdir(parents=True)
    for bus, class_code, driver in [(bus, "0x030200", "nvidia") for bus in gpus] + list(extra):
        folder = root / "sys/bus/pci/devices" / bus
        folder.mkdir()
        for name, text in (("vendor", "0x10de"), ("class", class_code), ("device", "0x2330")):
            (folder / name).write_text(text + "\n")
        if driver == "virtual":
            (folder / "physfn").symlink_to("../0000:10:00.0")
        elif driver:
            (folder / "driver").symlink_to("/sys/bus/pci/drivers/" + driver)
    for path, text in (files or {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return str(root)


EIGHT = ["0000:%x:00.0" % number for number in range(0x10, 0x18)]


# --- PCI -----------------------------------------------------------------------------

def test_pci_shows_gpus_and_nothing_else(tmp_path):
    root = machine(tmp_path, EIGHT[:2], [("0000:c4:00.0", "0x068000", "nvidia-nvswitch"), ("0000:01:00.1", "0x040300", "snd_hda_intel"),
                                         ("0000:10:00.4", "0x030200", "virtual"), ("0000:20:00.0", "0x030000", "vfio-pci"),
                                         ("0000:21:00.0", "0x030000", None)])
    here, passed = read_pci(HostFiles(root))
    assert [function["bus_id"] for function in here] == ["0000:10:00.0", "0000:11:00.0", "0000:21:00.0"]
    assert here[0] == {"bus_id": "0000:10:00.0", "vendor_id": "0x10de", "device_id": "0x2330", "class_code": "0x030200", "driver": "nvidia"}
    assert here[2]["driver"] is None and [function["bus_id"] for function in passed] == ["0000:20:00.0"]
    assert read_pci(HostFiles(str(tmp_path / "nothing"))) == (None, None)


# --- state ---------------------------------------------------------------------------

def test_no_hardware_is_no_error(smi_only, tmp_path):
    document = collect(nvidia_smi=str(tmp_path / "none"), sys_root=machine(tmp_path))
    assert (document["state"], document["error"], document["error_kind"], document["pci_device_count"],
            document["gpus"]) == ("no_hardware", None, None, 0, [])


@pytest.mark.parametrize("drivers, files, state, kind, hint", [
    ("nouveau", {}, "driver_broken", "driver_not_loaded", "replace_nouveau"),
    (None, {}, "driver_broken", "driver_not_loaded", "install_driver"),
    ("nvidia", {"proc/driver/nvidia/version": "NVRM version: x"}, "tool_missing", "tool_missing", "install_driver"),
])
def test_missing_tool_with_a_gpu_on_pci(smi_only, tmp_path, drivers, files, state, kind, hint):
    root = machine(tmp_path, extra=[("0000:10:00.0", "0x030200", drivers)], files=files)
    document = collect(nvidia_smi=str(tmp_path / "none"), sys_root=root)
    assert (document["state"], document["error_kind"], document["hint"]) == (state, kind, hint)
    assert document["error"]


@pytest.mark.parametrize("name, state, kind, hint", [
    ("mismatch", "driver_broken", "version_mismatch", "reload_driver"),
    ("nodriver", "driver_broken", "driver_not_loaded", "load_driver"),
    ("localised", "driver_broken", "driver_not_loaded", "load_driver"),
    ("nodevices", "driver_broken", "other", "check_kernel_log"),
    ("noperm", "not_permitted", "no_permission", "use_become"),
    ("nvml-unknown", "driver_broken", "other", "check_kernel_log"),
    ("segv", "driver_broken", "crashed", "check_kernel_log"),
    ("hang", "driver_broken", "timeout", "check_kernel_log"),
])
def test_each_way_nvidia_smi_fails(smi_only, traps, tmp_path, name, state, kind, hint):
    timeout = 1 if name == "hang" else 20
    document = collect(nvidia_smi=str(traps / "inputs/fakebin" / name / "nvidia-smi"), timeout_seconds=timeout,
                       sys_root=machine(tmp_path, EIGHT))
    assert (document["state"], document["error_kind"], document["hint"]) == (state, kind, hint)
    assert document["pci_device_count"] == 8 and document["error"] and document["driver_version"] is None
    assert document["gpus"] == [] and document["source"] == ("nvidia-smi" if name == "nodevices" else None)


def test_b25_onelost_names_the_lost_gpu(smi_only, traps, tmp_path):
    buses = ["0000:%s:00.0" % bus for bus in ("ba", "bb")]
    document = collect(nvidia_smi=str(traps / "inputs/fakebin/onelost/nvidia-smi"), sys_root=machine(tmp_path, buses))
    assert document["state"] == "driver_broken" and "Unknown Error" in document["error"]
    assert [(gpu["index"], gpu["bus_id"], gpu["status"]) for gpu in document["gpus"]] == [(0, "0000:ba:00.0", "lost"),
                                                                                          (1, "0000:bb:00.0", "lost")]


def test_b25_partial_output_keeps_whole_gpus(smi_only, traps, tmp_path):
    document = collect(nvidia_smi=str(traps / "inputs/fakebin/partial-then-die/nvidia-smi"), sys_root=machine(tmp_path, EIGHT))
    assert document["state"] == "partial" and "1 of 8 GPUs answer" in document["error"] and document["reported_count"] == 8
    assert len(document["gpus"]) == 8 and document["gpus"][0]["memory_total_bytes"] == 81920 << 20
    assert any("cut off" in warning for warning in document["warnings"])


def test_b16_corrupt_inforom_is_told(smi_only, traps, tmp_path):
    document = collect(nvidia_smi=str(traps / "inputs/fakebin/inforom/nvidia-smi"), sys_root=machine(tmp_path))
    assert document["state"] == "ok" and document["warnings"] == ["WARNING: infoROM is corrupted at gpu 00000000:10:00.0"]


def test_slow_is_not_broken(smi_only, traps, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_DELAY", "1")
    document = collect(nvidia_smi=str(traps / "inputs/fakebin/slow/nvidia-smi"), timeout_seconds=30, sys_root=machine(tmp_path))
    assert document["state"] == "ok" and len(document["gpus"]) == 1


def test_each_gpu_is_asked_by_its_bus_id_when_the_whole_fails(smi_only, tmp_path):
    one = xml(GPU, attached=3).replace("00000000:10:00.0", "$BUS")
    tool = program(tmp_path, """case "$*" in
"-q -x") echo "Unable to determine the device handle for GPU0000:11:00.0: Unknown Error"; exit 15;;
"-q -x -i 0000:11:00.0") exit 1;;
"-q -x -i "*) BUS=$4; cat <<END
%s
END
esac
""" % one)
    document = collect(nvidia_smi=tool, sys_root=machine(tmp_path, EIGHT[:3]))
    assert [(gpu["index"], gpu["bus_id"], gpu["status"], gpu["temperature_celsius"]) for gpu in document["gpus"]] == [
        (0, "0000:10:00.0", "ok", 31), (1, "0000:11:00.0", "lost", None), (2, "0000:12:00.0", "ok", 31)]
    assert (document["state"], document["hint"]) == ("partial", "reset_gpu")
    assert "2 of 3 GPUs answer; not: 0000:11:00.0" in document["error"]


def test_what_the_xml_lacks_is_asked_for(smi_only, tmp_path):
    (tmp_path / "out.xml").write_text(xml(GPU, GPU))
    tool = program(tmp_path, """case "$*" in
"-q -x") cat %s;;
"--query-gpu=pci.bus_id,compute_cap --format=csv,noheader") echo "00000000:10:00.0, 9.0"; echo "00000000:11:00.0, [N/A]";;
"nvlink -s") printf 'GPU 0: A (UUID: GPU-1)\\n\\t Link 0: 26.562 GB/s\\n\\t Link 1: <inactive>\\n'
    printf 'GPU 1: B (UUID: GPU-2)\\nDevice does not have or support Nvlink\\n';;
*) exit 2;; esac
""" % (tmp_path / "out.xml"))
    gpus = collect(nvidia_smi=tool, sys_root=machine(tmp_path, EIGHT[:2]))["gpus"]
    assert [gpu["compute_capability"] for gpu in gpus] == ["9.0", None] and [gpu["nvlinks_active_count"] for gpu in gpus] == [1, None]
    assert gpus[1]["absent"]["nvlinks"] == gpus[1]["absent"]["compute_capability"] == "not_supported" and "nvlinks" not in gpus[0]["absent"]


def test_a_stuck_nvidia_smi_keeps_another_from_starting(smi_only, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "find_stuck", lambda name,
                        own=None: {"pid": 77, "state": "D", "age_seconds": 900} if name == "nvidia-smi" else None)
    monkeypatch.setattr(smi, "query", lambda *arguments: pytest.fail("started another"))
    document = collect(sys_root=machine(tmp_path, EIGHT))
    assert (document["state"], document["error_kind"], document["hint"]) == ("driver_broken", "stuck",
                                                                             "reboot") and "77" in document["error"]


def test_a_stuck_reader_of_an_earlier_audit(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "find_stuck", lambda name,
                        own=None: {"pid": 78, "state": "D", "age_seconds": 900} if name == module.CHILD_NAME else None)
    monkeypatch.setattr(module, "run_forked", lambda *arguments: pytest.fail("started another"))
    document = collect(sys_root=machine(tmp_path, EIGHT), nvidia_smi=program(tmp_path, "exit 99\n"))
    assert (document["state"], document["error_kind"]) == ("driver_broken", "stuck") and "78" in document["error"]


def test_a_crashing_library_leaves_nvidia_smi_to_try(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_read_nvml", lambda gap: os.kill(os.getpid(), signal.SIGSEGV))
    (tmp_path / "out.xml").write_text(xml(GPU))
    tool = program(tmp_path, 'case "$*" in *-x*) cat %s;; *) exit 2;; esac\n' % (tmp_path / "out.xml"))
    document = collect(nvidia_smi=tool, sys_root=machine(tmp_path, EIGHT[:1]))
    assert (document["state"], document["source"]) == ("ok", "nvidia-smi") and document["warnings"] == ["NVML: ended by SIGSEGV"]
    broken = collect(source="nvml", sys_root=machine(tmp_path / "other", EIGHT[:1]))
    assert (broken["state"], broken["error_kind"], broken["error"]) == ("driver_broken", "crashed", "NVML: ended by SIGSEGV")


@pytest.mark.parametrize("files, expected", [
    ({"proc/sys/kernel/osrelease": "5.15.90.1-microsoft-standard-WSL2"}, "wsl"), ({"etc/nv_tegra_release": "# R36"}, "tegra"),
    ({".dockerenv": ""}, "container"), ({"proc/1/cgroup": "0::/kubepods/burstable/pod1\n"}, "container"),
    ({"proc/1/cgroup": "0::/init.scope\n"}, None)])
def test_where_pci_is_only_informational(tmp_path, files, expected):
    assert module._surroundings(HostFiles(machine(tmp_path, files=files))) == expected


def state_of(gpus=(), surroundings=None, loaded=True, **fields):
    document = dict(module._document(), **fields)
    document["gpus"] = [{"status": status, "error": None if status == "ok" else "x", "bus_id": None, "index": index} for index,
                        status in enumerate(gpus)]
    return module.decide_state(document, surroundings, loaded), document


PCI8 = [{"bus_id": bus, "driver": "nvidia"} for bus in EIGHT]


@pytest.mark.parametrize("state, gpus, surroundings, loaded, fields", [
    ("ok", ["ok"] * 8, None, True, {"pci": PCI8, "reported_count": 8, "source": "nvml"}),
    ("partial", ["ok"] * 7, None, True, {"pci": PCI8, "reported_count": 7, "source": "nvml"}),
    ("ok", ["ok"] * 2, "container", True, {"pci": PCI8, "reported_count": 2, "source": "nvml"}),
    ("partial", ["ok", "lost"], "container", True, {"pci": None, "reported_count": 2, "source": "nvml"}),
    ("ok", ["ok"], "wsl", False, {"pci": [], "reported_count": 1, "source": "nvml"}),
    ("driver_broken", ["lost"] * 8, None, True, {"pci": PCI8, "reported_count": 8, "source": "nvml"}),
    ("driver_broken", [], None, True, {"pci": PCI8, "reported_count": 0, "source": "nvml"}),
    ("no_hardware", [], None, True, {"pci": [], "reported_count": 0, "source": "nvml"}),
    ("no_hardware", [], "container", True, {"pci": PCI8, "reported_count": 0, "source": "nvml"}),
    ("no_hardware", [], None, False, {"pci": [], "error_kind": "driver_not_loaded", "error": "x"}),
    ("no_hardware", [], None, False, {"pci": None, "error_kind": "tool_missing", "error": "x"}),
    ("driver_broken", [], None, True, {"pci": [], "error_kind": "timeout", "error": "x"}),
    ("driver_broken", [], None, True, {"pci": [], "error_kind": "version_mismatch", "error": "x"}),
    ("tool_missing", [], None, True, {"pci": PCI8, "error_kind": "tool_missing", "error": "x"}),
    ("tool_missing", [], "container", False, {"pci": PCI8, "error_kind": "tool_missing", "error": "x"}),
    ("tool_missing", [], "wsl", False, {"pci": [], "error_kind": "tool_missing", "error": "x"}),
    ("not_permitted", [], None, True, {"pci": PCI8, "error_kind": "no_permission", "error": "x"}),
])
def test_states(state, gpus, surroundings, loaded, fields):
    assert state_of(gpus, surroundings, loaded, **fields)[0] == state


def test_a_driver_without_gpus_against_pci_says_so():
    document = state_of([], pci=PCI8, reported_count=0, source="nvml")[1]
    assert document["error"] == "the driver reports no GPU, PCI shows 8" and document["hint"] == "check_kernel_log"


# --- the words of absence ----------------------------------------------------------------

def test_b02_every_spelling_of_absence(traps):
    header, *lines = [[cell.strip() for cell in line.split(",")]
                      for line in (traps / "inputs/B02-absent-spellings.csv").read_text().splitlines()]
    said = {name: [absence(cell) for cell in cells[2:]] for name, cells in zip("ABC", lines)}
    assert said["A"] == ["not_supported", "not_supported", None, "not_supported", "not_supported", None]
    assert said["B"] == ["failed: Unknown Error", "failed: ERR!", "not_permitted", "failed: GPU is lost", None, "not_supported"]
    assert said["C"] == [None, None, None, None, None, "not_supported"]
    assert len(header) == 8


@pytest.mark.parametrize("text, reason", [("Unknown", "failed: Unknown"), ("", "not_supported"),
                                          ("GPU requires reset", "failed: GPU requires reset"),
                                          ("[N/A]", "not_supported"), ("0 MiB", None), ("NVIDIA H100", None), ("P0", None)])
def test_absence(text, reason):
    assert absence(text) == reason


@pytest.mark.parametrize("documented", [gpu_record, run_program, smi])
def test_examples_in_the_docstrings(documented):
    assert doctest.testmod(documented)[0] == 0


def test_small_readers_of_text():
    assert [bus_id(text) for text in ("00000000:1B:00.0", "0000:1b:00.0", "00000008:01:00.0", "10000:01:00.0", "GPU", "")] == [
        "0000:1b:00.0", "0000:1b:00.0", "0008:01:00.0", "10000:01:00.0", None, None]
    assert clean_text(b"\xf8\x00ab\n") == "\ufffd ab" and len(clean_text("x" * 10000000)) == 200
    assert [program_name(text) for text in ("/usr/bin/python3 -c secret", "python", "C:\\a\\b.exe", "[Not Found]", "-", "")] == [
        "python3", "python", "b.exe", None, None, None]
    assert reason_names(0) == [] and reason_names(0x84) == ["hw_power_brake_slowdown",
                                                            "sw_power_cap"] and reason_names(0x401) == ["gpu_idle", "0x400"]


def test_b43_a_counter_that_fell_was_reset():
    def gpu(mask, **counters):
        return {"index": 0, "clock_event_reasons_mask": mask, "clock_event_reasons_masks": [mask], "clock_event_counters_seconds": counters,
                "clock_event_counters_growth_seconds": None, "absent": {"clock_event_counters_growth_seconds": "not_supported"}}
    first = gpu(8, sw_power_cap=0.00135, hw_thermal_slowdown=1.0)
    add_sample([first], [gpu(0, sw_power_cap=0.00002, hw_thermal_slowdown=1.5)])
    assert first["clock_event_counters_growth_seconds"] == {"hw_thermal_slowdown": 0.5} and first["clock_event_reasons_masks"] == [8, 0]
    assert first["absent"] == {}


# --- text that isn't what it should be ------------------------------------------------------

@pytest.mark.parametrize("text, part", [
    ("", "it is empty"), ("hello", "begins: hello"), ("<html><body>Log in</body></html>", "begins: <html>"),
    (b"\x00\xff\xfe\x80", "no <nvidia_smi_log>"),
    ("<!DOCTYPE nvidia_smi_log [<!ENTITY a 'b'>]><nvidia_smi_log></nvidia_smi_log>", "entities"),
    ("<!DOCTYPE x SYSTEM 'y' [ ]><nvidia_smi_log></nvidia_smi_log>", "entities"),
])
def test_no_output_of_nvidia_smi(text, part):
    document = parse_captured(text)
    assert (document["state"], document["error_kind"], document["gpus"]) == ("tool_missing", "tool_missing", [])
    assert part in document["error"] and document["hint"] == "check_nvidia_smi"


def test_captured_error_messages_keep_their_meaning():
    kinds = {text: (parse_captured(text)["state"], parse_captured(text)["error_kind"]) for text in (
        "Failed to initialize NVML: Driver/library version mismatch", "Failed to initialize NVML: Insufficient Permissions",
        "No devices were found",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest driver is installed.")}
    assert list(kinds.values()) == [("driver_broken", "version_mismatch"), ("not_permitted", "no_permission"), ("no_hardware", None),
                                    ("driver_broken", "driver_not_loaded")]


def test_too_big_a_text_is_refused(monkeypatch):
    monkeypatch.setattr(nvidia_smi_xml, "MAX_TEXT", 1000)
    assert "more than the 1000" in parse_captured(xml(GPU, GPU, GPU, GPU))["error"]


@pytest.mark.parametrize("text", [
    "WARNING: something\n" + xml(GPU) + "\ntrailing words", xml(GPU).encode("utf-16"), xml(GPU).encode(), xml(GPU).replace("\n", "\r\n"),
    xml(GPU + "<supported_clocks><a></b></supported_clocks>"), xml(GPU + "<supported_clocks><a>"), "\ufeff" + xml(GPU),
    xml(GPU + "<processes><process_info><pid>7</pid><process_name>a & b <c> < d</process_name></process_info></processes>"),
])
def test_junk_around_and_inside(text):
    document = parse_captured(text)
    assert document["state"] == "ok" and document["warnings"] == []
    assert (document["gpus"][0]["name"], document["gpus"][0]["temperature_celsius"]) == ("NVIDIA TEST", 31)


def test_names_that_are_no_text_or_too_long():
    raw = xml(GPU).encode().replace(b"NVIDIA TEST", b"\xf8\x00\x01 GPU").replace(b"GPU-1", b"G" * 1000000)
    gpu = parse_captured(raw)["gpus"][0]
    assert gpu["name"] == "\ufffd GPU" and len(gpu["uuid"]) == 200
    assert parse_captured(xml(GPU.replace("NVIDIA TEST", "&lt;script&gt;&#65;&amp;")))["gpus"][0]["name"] == "<script>A&"


@pytest.mark.parametrize("cut", [30, 120, 200, 330, 420, 500, -10])
def test_a_text_cut_anywhere(cut):
    document = parse_captured(xml(GPU, GPU)[:cut])
    whole = xml(GPU, GPU)[:cut].count("</gpu>")
    assert len(document["gpus"]) == whole and document["state"] == ("tool_missing", "partial", "ok")[whole]
    assert "cut off" in str(document["error"]) or whole != 1
    assert "<nvidia_smi_log" not in xml(GPU, GPU)[:cut] or any("cut off" in warning for warning in document["warnings"])


def test_a_tool_that_prints_something_else(smi_only, tmp_path):
    tool = program(tmp_path, "echo hello\n")
    document = collect(nvidia_smi=tool, sys_root=machine(tmp_path, EIGHT[:1]))
    assert (document["state"], document["hint"]) == ("tool_missing", "check_nvidia_smi") and "hello" in document["error"]


@pytest.mark.parametrize("inside", ["<a>" * 300000, "<" * 1000000, "<supported_clocks>" * 50000, "<!--" * 200000, "<a></a>" * 200000,
                                    "</gpu><gpu>" * 50000,
                                    "<product_name>" + "x" * 5000000 + "</product_name>"],
                         ids=["deep", "open", "clocks", "comments", "wide", "gpus", "name"])
def test_text_made_to_be_costly_is_bounded(inside):
    document = parse_captured("<nvidia_smi_log><gpu>" + inside + "</gpu></nvidia_smi_log>")
    assert len(document["gpus"]) <= nvidia_smi_xml.MAX_GPUS and max(len(str(gpu)) for gpu in document["gpus"]) < 20000


@pytest.mark.parametrize("seed", range(5))
def test_damaged_text_never_raises(seed):
    text = bytearray(xml(GPU, GPU, GPU).encode())
    random = Random(seed)
    for dummy in range(100):
        at = random.randrange(len(text))
        piece = random.choice([b"<", b">", b"&#99999999;", b"</gpu>", b"<gpu id='x'>", b"<processes>", b"9" * 50, b"\xff", b"<mig_device>"])
        text[at:at + random.randrange(3)] = piece
        document = parse_captured(bytes(text))
        assert document["state"] in ("ok", "partial", "no_hardware", "driver_broken", "tool_missing", "not_permitted")
        json.dumps(document, allow_nan=False)


def test_no_gpus_in_whole_output():
    assert parse_captured(xml())["state"] == "no_hardware"


def test_a_gpu_of_which_nothing_is_known_is_no_healthy_gpu():
    document = parse_captured(xml(GPU, ""))
    assert (document["state"], document["gpus"][1]["status"]) == ("partial", "error") and document["gpus"][1]["bus_id"] == "0000:11:00.0"


def test_some_of_the_gpus_in_whole_output_is_no_fault():
    document = parse_captured(xml(GPU, attached=4))
    assert document["state"] == "ok" and document["warnings"] == ["the text holds 1 of 4 GPUs"] and document["reported_count"] == 4


def test_a_gpu_that_requires_reset_is_an_error():
    document = parse_captured(xml(GPU, GPU.replace("31 C", "GPU requires reset")))
    gpu = document["gpus"][1]
    assert (document["state"], gpu["status"], gpu["error"]) == ("partial", "error", "GPU requires reset")


def test_one_unreadable_part_makes_a_sum_unknown():
    ecc = "<ecc_errors><volatile><sram_correctable>1</sram_correctable><dram_correctable>%s</dram_correctable></volatile></ecc_errors>"
    read = {said: parse_captured(xml(GPU + ecc % said))["gpus"][0] for said in ("2", "N/A", "Unknown Error")}
    assert [gpu["ecc_corrected_volatile"] for gpu in read.values()] == [3, 1, None]
    assert read["Unknown Error"]["absent"]["ecc_corrected_volatile"] == "failed: Unknown Error"


OLDER = ("<gpu_reset_status><reset_required>%s</reset_required>"
         "<drain_and_reset_recommended>%s</drain_and_reset_recommended></gpu_reset_status>")


@pytest.mark.parametrize("element, action", [
    ("<gpu_recovery_action>None</gpu_recovery_action>", "none"), ("<gpu_recovery_action>Reset</gpu_recovery_action>", "reset"),
    ("<gpu_recovery_action>Drain and Reset</gpu_recovery_action>", "drain_and_reset"),
    ("<gpu_recovery_action>Drain P2P</gpu_recovery_action>", "drain_p2p"),
    ("<gpu_recovery_action>Something New</gpu_recovery_action>", "something_new"), ("<gpu_recovery_action>N/A</gpu_recovery_action>", None),
    (OLDER % ("Yes", "No"), "reset"),
    (OLDER % ("No", "Yes"), "drain_and_reset"),
    (OLDER % ("No", "N/A"), "none")])
def test_b26_recovery_action(element, action):
    assert parse_captured(xml(GPU + element))["gpus"][0]["recovery_action"] == action


# --- nvidia-smi's exit status ---------------------------------------------------------------

def result(rc, stdout="", stderr="", **flags):
    fields = dict({"timed_out": False, "stuck": False, "truncated": False, "missing": False, "not_permitted": False}, **flags)
    return ProgramResult(["nvidia-smi"], rc, stdout, stderr, duration_seconds=2.0, **fields)


@pytest.mark.parametrize("given, kind, hint", [
    (result(4), "no_permission", "use_become"), (result(8), "other", "check_power_cables"), (result(9), "driver_not_loaded", "load_driver"),
    (result(12), "tool_missing", "install_driver"), (result(15), "other", "reset_gpu"), (result(18), "version_mismatch", "reload_driver"),
    (result(255, "Failed to initialize NVML: Driver/library version mismatch"), "version_mismatch", "reload_driver"),
    (result(1, "GPU is lost"), "other", "reset_gpu"), (result(77), "other", "check_kernel_log"),
    (result(-11), "crashed", "check_kernel_log"),
    (result(139), "crashed", "check_kernel_log"), (result(None, missing=True), "tool_missing", "install_driver"),
    (result(127, missing=True), "tool_missing", "install_driver"), (result(126, not_permitted=True), "no_permission", "use_become"),
    (result(None, not_permitted=True), "no_permission", "use_become"), (result(-9, timed_out=True), "timeout", "check_kernel_log"),
    (result(None, timed_out=True, stuck=True), "timeout", "reboot"), (result(-15, truncated=True), "other", "check_nvidia_smi")])
def test_exit_status(given, kind, hint):
    told = smi.explain(given, 30)
    assert (told["kind"], told["hint"]) == (kind, hint) and (told["text"] or given.rc is None)


# --- bindings that are not what they should be ------------------------------------------------

@pytest.mark.parametrize("name", ["functionnotfound", "garbage-name", "mismatch"])
def test_odd_pynvml_modules(traps, monkeypatch, tmp_path, name):
    monkeypatch.syspath_prepend(str(traps / "inputs/fakepy" / name))
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    document = collect(source="nvml", sys_root=machine(tmp_path))
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    if name == "mismatch":
        assert (document["state"], document["error_kind"], document["hint"]) == ("driver_broken", "version_mismatch", "reload_driver")
        assert "version mismatch" in document["error"]
        return
    gpu = document["gpus"][0]
    assert document["source"] == "nvml" and gpu["status"] == "ok"
    if name == "garbage-name":
        assert gpu["name"].startswith("\ufffd") and gpu["absent"]["uuid"] == "not_supported"
        return
    assert [entry["status"] for entry in document["gpus"]] == ["ok", "lost", "ok"] and document["state"] == "partial"
    assert [entry["name"] for entry in document["gpus"]] == ["NVIDIA TEST", None, "NVIDIA TEST"] and document["driver_version"] == "440.59"
    assert gpu["memory_total_bytes"] == 80 << 30 and gpu["memory_reserved_bytes"] is None and gpu["temperature_celsius"] == 31
    assert gpu["utilization_gpu_fraction"] is None and gpu["absent"]["utilization_gpu_fraction"] == "not_supported"
    assert gpu["processes"] is None


def test_another_module_of_that_name_is_not_used(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pynvml", types.ModuleType("pynvml"))
    answer = module._read_nvml(0)
    assert answer["notes"] == ["the module pynvml on this host is not nvidia-ml-py"] and answer["source"] == "nvml-ctypes"


def test_a_broken_binding_is_told_and_the_next_one_asked(monkeypatch):
    class Broken(object):
        def nvmlInit(self):
            raise TypeError("no such thing")
    monkeypatch.setattr(module, "_bindings", lambda: (("nvml", Broken), ("nvml-ctypes", Broken)))
    answer = module._read_nvml(0)
    assert (answer["source"], answer["code"], answer["text"]) == ("nvml-ctypes", None, "TypeError: no such thing")
    assert answer["notes"] == ["nvml: TypeError: no such thing", "nvml-ctypes: TypeError: no such thing"]


def test_a_structure_of_another_shape_costs_its_own_fields_only():
    api = types.SimpleNamespace(
        nvmlInit=lambda: None, nvmlDeviceGetCount=lambda: 1, nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetName=lambda handle: "NVIDIA TEST", nvmlDeviceGetTemperature=lambda handle, kind: 31,
        nvmlDeviceGetUtilizationRates=lambda handle: object())
    gpu = nvml_reader.read(api, 0)["gpus"][0]
    assert (gpu["status"], gpu["name"], gpu["temperature_celsius"], gpu["utilization_gpu_fraction"]) == ("ok", "NVIDIA TEST", 31, None)
    assert gpu["absent"]["utilization_gpu_fraction"].startswith("failed: AttributeError")
    assert gpu["absent"]["power_limit_watts"] == "not_supported"


@pytest.mark.parametrize("name, code", [("NVMLError_GpuIsLost", 15), ("NVMLError_LibRmVersionMismatch", 18), ("NVMLError_NoPermission", 4),
                                        ("ValueError", None)])
def test_error_codes_without_a_value(name, code):
    assert error_code(type(name, (Exception,), {})()) == code
