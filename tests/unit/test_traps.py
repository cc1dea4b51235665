# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Faults that tools of this kind are known to fall for: the kind of each, from what a host says to what the report says of it.

HELD_BY has every trap of traps/TRAPS.md beside the checkout: the tests that hold it, here or in another file. OUT_OF_REACH has those that
concern what this collection doesn't read yet, each with the reason.
"""

from __future__ import annotations

import ast
import json
import os
import pathlib
import re
import subprocess
import sys

import judging
import pytest
from ansible_collections.trainops.gpu_audit.plugins.module_utils.facts import gpu, network, platform
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.host_files import HostFiles
from host_tree import make_host, run_here
from test_gpu_collect import EIGHT, machine, program

TESTS = pathlib.Path(__file__).resolve().parents[1]

HELD_BY = {
    "B01": "test_a_field_that_is_not_there_costs_nothing_else "
           "unit/test_gpu_captures.py::test_b01_absent_is_null_with_a_reason_and_the_rest_is_read "
           "unit/test_report_formats.py::test_prometheus_leaves_out_what_is_no_number",
    "B02": "test_a_field_that_is_not_there_costs_nothing_else test_a_field_that_could_not_be_read_is_unknown_and_never_a_pass",
    "B04": "test_a_field_that_could_not_be_read_is_unknown_and_never_a_pass",
    "B05": "test_a_field_that_is_not_there_costs_nothing_else",
    "B07": "test_the_power_that_is_there_is_taken unit/test_gpu_captures.py::test_b07_b08_power_layout_by_elements_not_by_dtd",
    "B08": "test_the_power_that_is_there_is_taken",
    "B10": "test_a_field_that_is_not_there_costs_nothing_else",
    "B11": "test_a_driver_that_does_not_answer_fails_and_says_what_to_do",
    "B13": "unit/test_gpu_collect.py::test_odd_pynvml_modules unit/test_gpu_sources.py::test_why_the_driver_does_not_answer",
    "B14": "test_no_hardware_a_broken_driver_and_a_missing_tool_are_three_things",
    "B16": "test_a_corrupt_inforom_shows_however_green_the_rest_is",
    "B17": "test_a_driver_that_does_not_answer_fails_and_says_what_to_do",
    "B19": "unit/test_gpu_captures.py::test_b19_broken_supported_clocks unit/test_gpu_collect.py::test_junk_around_and_inside",
    "B20": "test_names_of_processes_are_opaque",
    "B22": "test_a_missing_permission_is_unknown_and_names_the_remedy",
    "B23": "test_unified_memory_is_the_hosts unit/test_gpu_sources.py::test_unified_memory",
    "B25": "test_a_silent_gpu_is_counted_whatever_the_driver_lists unit/test_gpu_collect.py::test_b25_partial_output_keeps_whole_gpus "
           "unit/test_gpu_collect.py::test_each_gpu_is_asked_by_its_bus_id_when_the_whole_fails",
    "B26": "test_every_recovery_action_but_none_is_told",
    "B28": "unit/test_gpu_collect.py::test_each_way_nvidia_smi_fails unit/test_run_program.py::test_a_forked_call_that_hangs_or_crashes",
    "B29": "unit/test_gpu_collect.py::test_a_stuck_nvidia_smi_keeps_another_from_starting "
           "unit/test_run_program.py::test_what_counts_as_stuck integration/test_fleet_mixed.py::test_all_sixteen_under_their_true_status",
    "B31": "test_what_a_crashed_tool_printed_is_no_data",
    "B32": "test_wsl_without_figures_has_none",
    "B34": "test_more_gpus_than_pci_shows_is_no_huge_number",
    "B35": "test_links_are_judged_under_load_and_widths_always",
    "B37": "test_links_are_judged_under_load_and_widths_always",
    "B38": "test_fewer_nvlinks_are_a_fault_only_against_a_figure unit/test_gpu_captures.py::test_b38_nvlinks",
    "B40": "test_the_fabric_is_whole_only_when_completed_and_successful",
    "B41": "test_without_a_driver_there_is_one_fault_and_not_eight",
    "B43": "test_counters_count_by_their_growth unit/test_gpu_collect.py::test_b43_a_counter_that_fell_was_reset",
    "B44": "test_each_hardware_slowdown_is_a_finding_of_its_own "
           "unit/test_gpu_captures.py::test_b42_each_hardware_slowdown_has_its_own_name",
    "B46": "test_the_fabric_manager_is_not_asked_for_by_name",
    "B47": "test_without_infiniband_nothing_is_wrong_and_nothing_passes",
    "B50": "unit/test_gpu_collect.py::test_odd_pynvml_modules "
           "unit/test_gpu_captures.py::test_b54_reserved_memory_is_told_apart_where_the_driver_does",
    "B52": "unit/test_gpu_sources.py::test_a_process_is_told_by_its_file_name_and_only_while_it_runs",
    "B53": "unit/test_gpu_collect.py::test_odd_pynvml_modules",
    "B55": "test_bandwidth_use_is_not_memory_use",
    "B56": "test_bytes_that_are_no_text_are_marked unit/test_gpu_collect.py::test_odd_pynvml_modules",
    "B58": "unit/test_gpu_collect.py::test_odd_pynvml_modules unit/test_gpu_sources.py::test_three_states_of_a_field",
    "B59": "test_with_mig_the_whole_gpus_use_is_not_known unit/test_judge.py::test_mig_without_utilisation_is_no_fault",
    "B92": "unit/test_cpu_facts.py::test_limited_container_on_a_big_host unit/test_memory_facts.py::test_limited_container_on_a_big_host "
           "unit/test_cgroup.py::test_version_1_takes_the_least_of_all_parents",
    "B94": "unit/test_network_facts.py::test_spellings_of_no_speed unit/test_network_facts.py::test_no_speed_is_null_with_a_reason",
    "B95": "integration/test_playbooks.py::test_every_host_is_in_the_report_under_its_true_status "
           "integration/test_playbooks.py::test_every_host_dead",
    "B97": "integration/test_playbooks.py::test_every_host_is_in_the_report_under_its_true_status "
           "unit/test_auditing.py::test_whoever_is_expected_is_in_the_report",
    "B98": "unit/test_auditing.py::test_whoever_is_expected_is_in_the_report",
    "B100": "integration/test_playbooks.py::test_ansible_gets_less_than_a_kilobyte_back "
            "unit/test_judge_properties.py::test_a_report_stays_within_five_kilobytes_a_host",
    "B101": "integration/test_playbooks.py::test_every_format_is_written",
    "B103": "integration/test_playbooks.py::test_each_document_says_what_was_wrong_in_the_tools_own_words unit/test_collecting.py::"
            "test_a_failure_is_named_and_told",
    "B104": "test_the_module_prints_its_answer_and_nothing_else",
    "B115": "integration/test_playbooks_rejudge.py::test_the_same_run_gives_the_same_bytes unit/test_auditing.py::"
            "test_when_every_host_fails_for_the_audits_own_settings_the_reason_is_given unit/test_judge_properties.py::"
            "test_the_order_of_hosts_does_not_matter",
    "B116": "test_a_tool_that_cannot_be_started_is_no_fault_of_the_host",
}
OUT_OF_REACH = {
    "B49": "Xid messages: no kernel log is read yet",
    "B61": "DCGM's exposition is not read", "B62": "DCGM's exposition is not read; GPU use is never judged as saturation",
    **dict.fromkeys(("B65", "B67", "B68", "B70", "B71", "B73", "B74", "B76", "B77", "B79"), "storage measurements (fio)"),
    **dict.fromkeys(("B82", "B83", "B85", "B86", "B88", "B89", "B91"), "network measurements (iperf3)"),
    **dict.fromkeys(("B106", "B107", "B109"), "power of the chassis (Redfish)"), "B110": "power of the chassis (IPMI)",
    **dict.fromkeys(("B112", "B113"), "health of disks (SMART)"),
}


def test_every_trap_is_held_or_has_its_reason(traps):
    listed = set(re.findall(r"^\| (B\d+) \|", (traps / "TRAPS.md").read_text(), re.M))
    assert listed and listed == set(HELD_BY) | set(OUT_OF_REACH) and not set(HELD_BY) & set(OUT_OF_REACH)


def test_the_tests_named_are_there():
    for trap, names in HELD_BY.items():
        for name in names.split():
            file, _mark, function = ("unit/test_traps.py::" + name if "::" not in name else name).partition("::")
            tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
            assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (trap, name)


# --- a host made of one nvidia-smi text -----------------------------------------------

BODY = """<product_name>NVIDIA H100 80GB HBM3</product_name><uuid>GPU-%(uuid)s</uuid><serial>165%(number)d</serial>
<vbios_version>96.00.74.00.01</vbios_version><persistence_mode>Enabled</persistence_mode><compute_mode>Default</compute_mode>
<mig_mode><current_mig>Disabled</current_mig><pending_mig>Disabled</pending_mig></mig_mode><mig_devices>None</mig_devices>
<pci><pci_device_id>233010DE</pci_device_id><pci_bus_id>00000000:%(bus)X:00.0</pci_bus_id><pci_gpu_link_info>
<pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>5</current_link_gen></pcie_gen>
<link_widths><max_link_width>16x</max_link_width><current_link_width>16x</current_link_width></link_widths></pci_gpu_link_info>
<replay_counter>0</replay_counter></pci><fan_speed>N/A</fan_speed><performance_state>P0</performance_state>
<clocks_event_reasons><clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
<clocks_event_reason_hw_slowdown>Not Active</clocks_event_reason_hw_slowdown>
<clocks_event_reason_hw_thermal_slowdown>Not Active</clocks_event_reason_hw_thermal_slowdown>
<clocks_event_reason_hw_power_brake_slowdown>Not Active</clocks_event_reason_hw_power_brake_slowdown></clocks_event_reasons>
<fb_memory_usage><total>81559 MiB</total><reserved>480 MiB</reserved><used>0 MiB</used><free>81080 MiB</free></fb_memory_usage>
<utilization><gpu_util>0 %%</gpu_util><memory_util>0 %%</memory_util></utilization>
<ecc_mode><current_ecc>Enabled</current_ecc><pending_ecc>Enabled</pending_ecc></ecc_mode><ecc_errors>
<volatile><sram_correctable>0</sram_correctable><sram_uncorrectable>0</sram_uncorrectable><dram_correctable>0</dram_correctable>
<dram_uncorrectable>0</dram_uncorrectable></volatile><aggregate><dram_uncorrectable>0</dram_uncorrectable>
<sram_threshold_exceeded>No</sram_threshold_exceeded></aggregate></ecc_errors>
<remapped_rows><remapped_row_corr>0</remapped_row_corr><remapped_row_unc>0</remapped_row_unc><remapped_row_pending>No</remapped_row_pending>
<remapped_row_failure>No</remapped_row_failure></remapped_rows><gpu_recovery_action>None</gpu_recovery_action>
<temperature><gpu_temp>31 C</gpu_temp><gpu_temp_tlimit>56 C</gpu_temp_tlimit></temperature>
<gpu_power_readings><average_power_draw>71.00 W</average_power_draw><instant_power_draw>72.00 W</instant_power_draw>
<current_power_limit>700.00 W</current_power_limit><default_power_limit>700.00 W</default_power_limit></gpu_power_readings>
<fabric><state>Completed</state><status>Success</status><cliqueId>0</cliqueId>
<clusterUuid>00000000-0000-0000-0000-000000000000</clusterUuid></fabric><processes></processes>"""
LEAF = re.compile(r"<(\w+)>([^<>\n]*)</\1>")


def body(number=0, **changes):
    """One GPU's elements; changes: {element: text or None to leave it out}."""
    text = BODY % {"uuid": number, "number": number, "bus": 0x10 + number}
    for element, value in changes.items():
        text, found = re.subn(r"<%s>[^<>]*</%s>" % (element, element),
                              lambda dummy: "" if value is None else "<%s>%s</%s>" % (element, value, element), text)
        assert found, element
    return text


def whole(*bodies):
    return "<?xml version='1.0'?>\n<nvidia_smi_log><driver_version>580.95.05</driver_version><attached_gpus>%d</attached_gpus>%s" \
        "</nvidia_smi_log>\n" % (len(bodies), "".join("<gpu id='x'>%s</gpu>\n" % each for each in bodies))


def judged(document, change=None, policy="training", **expected):
    """The verdict entry of a healthy, measured H100 host whose gpu document is this one."""
    def put(facts):
        facts["gpu"] = document
        facts["software"].update(driver_version="580.95.05", driver_module_version="580.95.05")
        if change:
            change(facts)
    made, inputs = judging.host(change=put)
    inputs["expected"] = expected
    return judging.judged(made, inputs, policy)


def bad(entry):
    """{check: status} of what is neither passed nor out of the question (the form of a training host has no requests)."""
    return {found["check"]: found["status"] for found in entry["findings"]
            if found["status"] not in ("pass", "not_applicable") and found["check"] != "network.concurrency_ratio"}


def asked(tmp_path, text, gpus=EIGHT[:1], rc=0, files=None, extra=()):
    """The gpu document of a made-up host whose nvidia-smi prints `text`."""
    (tmp_path / "said").write_text(text)
    tool = program(tmp_path, 'case "$*" in *-q*-x*) cat %s; exit %d;; *) exit 2;; esac\n' % (tmp_path / "said", rc))
    return gpu.collect("nvidia_smi", tool, sys_root=machine(tmp_path, gpus, extra, files), timeout_seconds=20)


def test_the_made_up_host_is_ready():
    entry = judged(gpu.parse_captured(whole(body(), body(1))), gpu_count=2)
    assert entry["verdict"] == "ready" and bad(entry) == {}


# --- fields ---------------------------------------------------------------------------

ELEMENTS = sorted({match.group(1) for match in LEAF.finditer(BODY)})


@pytest.mark.parametrize("word", ["N/A", "[N/A]", "Not Supported", "[Not Supported]", "Requested functionality has been deprecated", "",
                                  None])
def test_a_field_that_is_not_there_costs_nothing_else(word):
    healthy = gpu.parse_captured(whole(body(), body(1)))["gpus"][1]
    for element in ELEMENTS:
        document = gpu.parse_captured(whole(body(), body(1, **{element: word})))
        assert (document["state"], len(document["gpus"])) == ("ok", 2), element
        found = document["gpus"][1]
        for field in set(healthy) - {"absent", "clock_event_reasons", "clock_event_reasons_masks", "clock_event_reasons_mask"}:
            assert found[field] == healthy[field] or found[field] is None and found["absent"][field] == "not_supported" or (
                field in ("power_draw_watts", "memory_kind", "bus_id", "temperature_headroom_celsius") or field.startswith("ecc_")), element
        assert {check: status for check, status in bad(judged(document)).items() if status in ("fail", "warn")} == (
            {} if element != "status" else {"gpu.fabric": "warn"}), element


@pytest.mark.parametrize("word, reason", [("[Unknown Error]", "failed: Unknown Error"), ("ERR!", "failed: ERR!"),
                                          ("Unknown", "failed: Unknown"),
                                          ("[Insufficient Permissions]", "not_permitted")])
@pytest.mark.parametrize("element, field, check", [
    ("remapped_row_pending", "remapped_rows_pending", "gpu.remap_pending"),
    ("gpu_recovery_action", "recovery_action", "gpu.recovery_action"),
    ("sram_threshold_exceeded", "ecc_sram_threshold_exceeded", "gpu.sram_threshold"), ("state", "fabric_state", "gpu.fabric"),
    ("current_link_width", "pcie_width_current", "gpu.pcie_width"), ("persistence_mode", "persistence_mode", "gpu.persistence_off")])
def test_a_field_that_could_not_be_read_is_unknown_and_never_a_pass(word, reason, element, field, check):
    document = gpu.parse_captured(whole(body(), body(1, **{element: word})))
    assert document["state"] == "ok" and document["gpus"][1]["absent"][field] == reason and document["gpus"][1][field] is None
    assert document["gpus"][1]["temperature_celsius"] == 31
    assert bad(judged(document)) == {check: "unknown"}


@pytest.mark.parametrize("text, watts", [
    ("<gpu_power_readings><instant_power_draw>N/A</instant_power_draw><average_power_draw>60.00 W</average_power_draw>"
     "</gpu_power_readings>", 60.0),
    ("<gpu_power_readings><power_draw>50.50 W</power_draw></gpu_power_readings>", 50.5),
    ("<power_readings><power_draw>40.25 W</power_draw></power_readings>", 40.25),
    ("<module_power_readings><instant_power_draw>900.00 W</instant_power_draw></module_power_readings>", None),
])
def test_the_power_that_is_there_is_taken(text, watts):
    for dtd in ("nvsmi_device_v11", "nvsmi_device_v12", "nvsmi_device_v13"):
        changed = re.sub(r"<gpu_power_readings>.*?</gpu_power_readings>", text, body(), flags=re.S)
        found = gpu.parse_captured('<!DOCTYPE nvidia_smi_log SYSTEM "%s.dtd">\n' % dtd + whole(changed))["gpus"][0]
        assert (found["power_draw_watts"], found["module_power_draw_watts"]) == (watts, None if watts else 900.0)


def test_names_of_processes_are_opaque():
    names = ("a, b; c", "/opt/x y/py -c 'import a, b'", "&lt;script&gt;", "[Not Found]", "\u540d,\u5b57", "=cmd()|'x'!A1")
    entry = "<process_info><pid>%d</pid><type>C</type><process_name>%s</process_name><used_memory>%d MiB</used_memory></process_info>"
    entries = "".join(entry % (number + 1, name, number) for number, name in enumerate(names))
    found = gpu.parse_captured(whole(body().replace("<processes></processes>", "<processes>%s</processes>" % entries)))["gpus"][0]
    assert [entry["name"] for entry in found["processes"]] == ["a,", "x", "<script>", None, "\u540d,\u5b57", "=cmd()|'x'!A1"]
    assert [entry["used_memory_bytes"] >> 20 for entry in found["processes"]] == list(range(6))


def test_bandwidth_use_is_not_memory_use():
    found = gpu.parse_captured(whole(body(memory_util="97 %")))["gpus"][0]
    assert found["utilization_memory_bandwidth_fraction"] == 0.97 and found["memory_used_bytes"] == 0
    assert not any("memory_util" in field for field in found)
    assert judging.status(judged(gpu.parse_captured(whole(body(memory_util="97 %", gpu_util="99 %")))), "vram.peak_fraction") == "pass"


def test_bytes_that_are_no_text_are_marked():
    document = gpu.parse_captured(whole(body(), body(1)).encode().replace(b"GPU-1", b"GPU-\xf8\x00\x01"))
    assert document["state"] == "ok" and document["warnings"] == ["GPU 1: uuid is no text as the driver gives it"]


def test_with_mig_the_whole_gpus_use_is_not_known():
    document = gpu.parse_captured(whole(body(current_mig="Enabled", gpu_util="N/A", memory_util="N/A")))
    assert document["gpus"][0]["utilization_gpu_fraction"] is None and document["gpus"][0]["mig_mode"] == "enabled"
    assert bad(judged(document)) == {}


def test_unified_memory_is_the_hosts():
    text = whole(body(product_name="NVIDIA GB10", total="N/A", used="N/A", free="N/A", reserved="N/A", state="N/A", status="N/A"))
    document = gpu.parse_captured(text)
    entry = judged(document, lambda facts: facts["memory"].update(total_bytes=119 << 30, usable_bytes=119 << 30))
    assert document["gpus"][0]["memory_kind"] == "unified" and document["gpus"][0]["memory_total_bytes"] is None
    assert entry["metrics"]["vram.total_bytes"] == 119 << 30
    assert judging.status(entry, "memory.ram_to_vram_ratio") == "not_applicable" and bad(entry) == {}


# --- the driver and its tool ------------------------------------------------------------

@pytest.mark.parametrize("rc, text", [
    (18, "Failed to initialize NVML: Driver/library version mismatch"),
    (255, "Failed to initialize NVML: Driver/library version mismatch\n560.35"),
    (1, "Failed to initialize NVML: Driver/library version mismatch"), (18, "Echec, a, b, c\n1, 2, 3"), (9, "autre, chose"),
    (9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."), (3, "what, is, this"), (77, "index, name\n0, x"),
])
def test_a_driver_that_does_not_answer_fails_and_says_what_to_do(tmp_path, rc, text):
    document = asked(tmp_path, text, EIGHT, rc)
    entry = judged(document)
    assert document["gpus"] == [] and document["state"] == "driver_broken" and text.split("\n")[0][:20] in document["error"]
    found = judging.finding(entry, "gpu.driver_state")
    assert found["status"] == "fail" and entry["verdict"] == "not_ready" and text.split("\n")[0][:20] in found["message"]
    assert found.get("advice") and ("version" in text or rc == 18) == (found["actual"] == "version_mismatch")


def test_no_hardware_a_broken_driver_and_a_missing_tool_are_three_things(tmp_path):
    none = gpu.collect("nvidia_smi", str(tmp_path / "none"), sys_root=machine(tmp_path / "a"))
    broken = asked(tmp_path, "Failed to initialize NVML: Driver/library version mismatch", EIGHT, 18)
    missing = gpu.collect("nvidia_smi", str(tmp_path / "none"), sys_root=machine(
        tmp_path / "b", EIGHT, files={"proc/driver/nvidia/version": "NVRM version: x"}))
    unloaded = gpu.collect("nvidia_smi", str(tmp_path / "none"), sys_root=machine(
        tmp_path / "c", extra=[("0000:10:00.0", "0x030200", None)]))
    assert [document["state"] for document in (none, broken, missing, unloaded)] == [
        "no_hardware", "driver_broken", "tool_missing", "driver_broken"]
    verdicts = [judged(document) for document in (none, broken, missing, unloaded)]
    assert [bad(entry).get("gpu.driver_state") for entry in verdicts] == [None, "fail", "unknown", "fail"]
    assert [bad(entry).get("gpu.count") for entry in verdicts] == ["fail", "unknown", "unknown", "unknown"]
    assert [entry["verdict"] for entry in verdicts] == ["not_ready", "not_ready", "unproven", "not_ready"]


def test_without_a_driver_there_is_one_fault_and_not_eight(tmp_path):
    entry = judged(asked(tmp_path, "couldn't communicate with the NVIDIA driver", EIGHT, 9), gpu_count=8)
    assert [check for check, status in bad(entry).items() if status == "fail"] == ["gpu.driver_state"]


@pytest.mark.parametrize("rc, text", [(4, "Failed to initialize NVML: Insufficient Permissions"), (255, "Failed: Insufficient Permissions"),
                                      (4, "Droits insuffisants"), (126, "")])
def test_a_missing_permission_is_unknown_and_names_the_remedy(tmp_path, rc, text):
    document = asked(tmp_path, text, EIGHT, rc)
    assert (document["state"], document["hint"]) == ("not_permitted", "use_become")
    entry = judged(document)
    assert "fail" not in bad(entry).values() and bad(entry)["gpu.driver_state"] == "unknown" and entry["verdict"] == "unproven"


@pytest.mark.parametrize("rc", [126, 127])
def test_a_tool_that_cannot_be_started_is_no_fault_of_the_host(tmp_path, rc):
    document = asked(tmp_path, "nvidia-smi: cannot be run", EIGHT, rc, {"proc/driver/nvidia/version": "NVRM version: x"})
    assert document["state"] in ("tool_missing", "not_permitted") and "fail" not in bad(judged(document)).values()


@pytest.mark.parametrize("printed", ["", "header\n", "<?xml version='1.0'?><nvidia_smi_log><attached_gpus>8</attached_gpus>",
                                     whole(body())[:900]])
def test_what_a_crashed_tool_printed_is_no_data(tmp_path, printed):
    (tmp_path / "said").write_text(printed)
    tool = program(tmp_path, "cat %s\nkill -SEGV $$\n" % (tmp_path / "said"))
    document = gpu.collect("nvidia_smi", tool, sys_root=machine(tmp_path, EIGHT), timeout_seconds=20)
    assert (document["state"], document["error_kind"], document["gpus"]) == ("driver_broken", "crashed", [])
    assert "SIGSEGV" in document["error"] and bad(judged(document))["gpu.driver_state"] == "fail"


def test_wsl_without_figures_has_none(tmp_path):
    files = {"proc/sys/kernel/osrelease": "5.15.167.4-microsoft-standard-WSL2"}
    document = asked(tmp_path, whole(body(gpu_util="ERR!", memory_util="N/A", state="N/A", status="N/A")), (), files=files)
    assert document["state"] == "ok" and document["gpus"][0]["utilization_gpu_fraction"] is None
    assert document["gpus"][0]["absent"]["utilization_gpu_fraction"] == "failed: ERR!"
    assert platform.collect(HostFiles(str(tmp_path / "root")), lambda: {})["wsl"] is True


def test_a_corrupt_inforom_shows_however_green_the_rest_is(tmp_path):
    (tmp_path / "said").write_text(whole(body()))
    for number, (xml_rc, warning) in enumerate(((0, "WARNING: infoROM is corrupted at gpu 00000000:10:00.0"), (14, ""))):
        tool = program(tmp_path, 'case "$*" in *-q*-x*) cat %s; exit %d;; *query-gpu*) echo "%s"; exit 14;; *) exit 2;; esac\n' % (
            tmp_path / "said", xml_rc, warning))
        document = gpu.collect("nvidia_smi", tool, sys_root=machine(tmp_path / str(number), EIGHT[:1]), timeout_seconds=20)
        assert document["state"] == "ok" and bad(judged(document)) == {"gpu.inforom": "warn"}


def test_the_module_prints_its_answer_and_nothing_else(tmp_path):
    pytest.importorskip("ansible.module_utils.basic")
    tool = program(tmp_path, "echo junk on stdout\necho junk on stderr >&2\n")
    root = next(path for path in sys.path if os.path.isdir(os.path.join(path, "ansible_collections", "trainops", "gpu_audit")))
    given = {"gather_subset": ["gpu"], "gpu_source": "nvidia_smi", "nvidia_smi": tool}
    done = subprocess.run([sys.executable, "-m", "ansible_collections.trainops.gpu_audit.plugins.modules.host_facts"], timeout=60,
                          check=False, input=json.dumps({"ANSIBLE_MODULE_ARGS": given}), capture_output=True, text=True,
                          env=dict(os.environ, PYTHONPATH=os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])))
    assert done.stderr == "" and json.loads(done.stdout)["ansible_facts"]["gpu_audit"]["gpu"]["source"] is None


# --- GPUs that don't answer ---------------------------------------------------------------

def test_a_silent_gpu_is_counted_whatever_the_driver_lists(tmp_path):
    lost = {match.group(1): "GPU is lost" for match in LEAF.finditer(BODY) if match.group(1) not in ("pci_bus_id", "product_name")}
    for listed, last in (("seven", ()), ("eight", (body(7, **lost),))):
        (tmp_path / listed).mkdir()
        document = asked(tmp_path / listed, whole(*map(body, range(7)), *last), EIGHT)
        entry = judged(document)
        assert document["state"] == "partial" and "7 of 8 GPUs answer; not: 0000:17:00.0" in document["error"], listed
        assert bad(entry) == {"gpu.lost": "fail", "gpu.driver_state": "warn"} and entry["metrics"]["gpu.lost"] == 1
        assert "0000:17:00.0" in judging.finding(entry, "gpu.lost")["message"] and entry["verdict"] == "not_ready"


def test_more_gpus_than_pci_shows_is_no_huge_number(tmp_path):
    document = asked(tmp_path, whole(*map(body, range(8))), EIGHT[:7])
    entry = judged(document, gpu_count=8)
    assert document["state"] == "ok" and entry["metrics"]["gpu.count"] == 8 and entry["metrics"].get("gpu.lost", 0) == 0
    assert bad(entry) == {}
    fewer = judged(gpu.parse_captured(whole(*map(body, range(7)))), gpu_count=8)
    assert judging.finding(fewer, "gpu.count_difference")["actual"] == -1 and fewer["verdict"] == "not_ready"


# --- health ---------------------------------------------------------------------------------

@pytest.mark.parametrize("said, status", [("None", None), ("N/A", None), ("Reset", "fail"), ("Reboot", "fail"), ("Drain P2P", "fail"),
                                          ("Drain and Reset", "fail"), ("GPU Reset", "fail"), ("Something New", "warn")])
def test_every_recovery_action_but_none_is_told(said, status):
    assert bad(judged(gpu.parse_captured(whole(body(), body(1, gpu_recovery_action=said))))).get("gpu.recovery_action") == status


@pytest.mark.parametrize("link, checks", [
    # performance state, GPU use, generation, width
    (("P8", "0 %", "1", "16x"), {}), (("P0", "98 %", "5", "16x"), {}), (("P0", "97 %", "1", "16x"), {"gpu.pcie_generation": "warn"}),
    (("P0", "99 %", "5", "8x"), {"gpu.pcie_width": "fail"}), (("P8", "0 %", "1", "8x"), {"gpu.pcie_width": "fail"}),
    (("P0", "0 %", "1", "16x"), {}), (("P2", "80 %", "4", "4x"), {"gpu.pcie_generation": "warn", "gpu.pcie_width": "fail"})])
def test_links_are_judged_under_load_and_widths_always(link, checks):
    state, use, generation, width = link
    changed = dict(performance_state=state, gpu_util=use, current_link_gen=generation, current_link_width=width)
    assert bad(judged(gpu.parse_captured(whole(body(), body(1, **changed))))) == checks


def test_fewer_nvlinks_are_a_fault_only_against_a_figure():
    document = gpu.parse_captured(whole(body(), body(1)))
    for number, active in enumerate((18, 12)):
        links = [{"link": link, "active": link < active} for link in range(18)]
        document["gpus"][number].update(nvlinks_active_count=active, nvlinks=links)
    assert bad(judged(document)) == {} and bad(judged(document, nvlinks=12)) == {}
    assert judging.finding(judged(document, nvlinks=18), "gpu.nvlinks_missing")["actual"] == 6
    pcie = gpu.parse_captured(whole(body(product_name="NVIDIA H100 PCIe", state="N/A", status="N/A")))
    assert bad(judged(pcie)) == {}


H100 = "NVIDIA H100 80GB HBM3"


@pytest.mark.parametrize("name, state, status, uuid, expected", [
    (H100, "Completed", "Success", "0", None), (H100, "Completed", "Insufficient Resources", "0", "fail"),
    (H100, "Completed", "Unknown Error", "0", "fail"), (H100, "In Progress", "N/A", "0", "warn"), (H100, "Not Started", "N/A", "0", "fail"),
    (H100, "Completed", "N/A", "0", "warn"), ("NVIDIA L40S", "N/A", "N/A", "0", None), ("NVIDIA B200", "Completed", "Success", "0", None),
    ("NVIDIA GB200", "Completed", "Success", "2", None), ("NVIDIA GB200", "Completed", "Success", "0", "fail"),
    ("NVIDIA GB300", "Completed", "Success", "0", "fail")])
def test_the_fabric_is_whole_only_when_completed_and_successful(name, state, status, uuid, expected):
    changed = dict(product_name=name, state=state, status=status, clusterUuid="-".join(uuid * size for size in (8, 4, 4, 4, 12)))
    entry = judged(gpu.parse_captured(whole(body(**changed), body(1, **changed))))
    assert bad(entry).get("gpu.fabric") == expected


def test_the_fabric_manager_is_not_asked_for_by_name():
    def without(facts):
        facts["software"]["fabric_manager_installed"] = False
    rack = dict(product_name="NVIDIA GB200", clusterUuid="27692956-30fa-227d-70fa-b96b4a1418fd", cliqueId="2")
    assert bad(judged(gpu.parse_captured(whole(body(**rack))), without)) == {}
    assert bad(judged(gpu.parse_captured(whole(body())), without)) == {}
    assert bad(judged(gpu.parse_captured(whole(body(state="Not Started", status="N/A"))), without))["gpu.fabric"] == "fail"


@pytest.mark.parametrize("growth, expected", [({}, None), ({"hw_thermal_slowdown": 0.00035}, None), ({"sw_power_cap": 0.9}, None),
                                              ({"hw_thermal_slowdown": 0.2}, "gpu.hw_thermal"),
                                              ({"hw_power_brake_slowdown": 0.002}, "gpu.power_brake")])
def test_counters_count_by_their_growth(growth, expected):
    document = gpu.parse_captured(whole(body(), body(1)))
    document["gpus"][1].update(clock_event_counters_seconds={"hw_thermal_slowdown": 7200.0, "sw_power_cap": 1e6},
                               clock_event_counters_growth_seconds=growth)
    assert bad(judged(document)) == ({expected: "fail"} if expected else {})


@pytest.mark.parametrize("reason, check", [("hw_slowdown", "gpu.hw_slowdown"), ("hw_thermal_slowdown", "gpu.hw_thermal"),
                                           ("hw_power_brake_slowdown", "gpu.power_brake")])
def test_each_hardware_slowdown_is_a_finding_of_its_own(tmp_path, reason, check):
    text = whole(body(), body(1, **{"clocks_event_reason_" + reason: "Active"}))
    assert bad(judged(gpu.parse_captured(text))) == {check: "warn"}
    live = asked(tmp_path, text, EIGHT[:2])
    assert live["clock_event_samples"] == 2 and bad(judged(live)) == {check: "fail"}


def test_without_infiniband_nothing_is_wrong_and_nothing_passes(tmp_path):
    host = make_host(tmp_path, {"/sys/class/net/eth0/operstate": "up\n", "/sys/class/net/eth0/type": "1\n"})
    found = network.collect(host, 5, run_here)
    entry = judged(gpu.parse_captured(whole(body())), lambda facts: facts.update(network=found))
    assert found["rdma_ports"] == [] and judging.status(entry, "network.rdma_ports_down") == "not_applicable"
    assert entry["verdict"] == "ready"
