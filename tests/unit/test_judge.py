# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Verdicts: what a host is, why, and what unknown, waived and not applicable do to it."""

from __future__ import annotations

import json
import re

import fleet_maker
import judging
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.words import CHECKLIST
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import findings, judge, policy, verdict
from judging import finding, host, judged, status


@pytest.mark.parametrize("model", sorted(fleet_maker.MODELS))
def test_a_healthy_measured_host_is_ready(model):
    entry = judged(*host(model))
    assert entry["verdict"] == "ready" and entry["unanswered"] == [] and entry["missing_form"] == []
    assert not [found for found in entry["findings"] if found["status"] in ("warn", "fail")]


@pytest.mark.parametrize("model", sorted(fleet_maker.MODELS))
def test_a_light_audit_of_a_healthy_host_is_unproven_and_says_what_to_run(model):
    entry = judged(*host(model, measured=False))
    assert entry["verdict"] == "unproven" and {"vram", "network"} <= set(entry["unanswered"])
    unknown = finding(entry, "vram.peak_fraction")
    assert unknown["answers"] and "docs/measurements.md" in unknown["advice"] and "workload_probe" in unknown["message"]


@pytest.mark.parametrize(
    "trouble, verdict_is, check",
    [
        ("driver_broken", "not_ready", "gpu.driver_state"),
        ("driver_hang", "not_ready", "gpu.driver_state"),
        ("no_hardware", "not_ready", "gpu.count"),
        ("one_lost", "not_ready", "gpu.lost"),
        ("ecc", "not_ready", "gpu.ecc_uncorrectable"),
        ("remap_pending", "not_ready", "gpu.remap_pending"),
        ("hot", "not_ready", "gpu.hw_thermal"),
        ("few_cores", "not_ready", "compute.cores_per_gpu"),
        ("little_ram", "not_ready", "memory.ram_to_vram_ratio"),
        ("disk_full", "not_ready", "storage.filesystem_free_fraction"),
        ("narrow_link", "not_ready", "gpu.pcie_width"),
        ("old_driver", "not_ready", "software.driver_support"),
        ("power_brake", "ready_with_warnings", "gpu.power_brake"),
        ("no_persistence", "ready_with_warnings", "gpu.persistence_off"),
    ],
)
def test_troubles(trouble, verdict_is, check):
    entry = judged(*host("a100", trouble))
    assert entry["verdict"] == verdict_is and entry["reason"]
    assert status(entry, check) == ("fail" if verdict_is == "not_ready" else "warn")


def test_a_missing_tool_is_unknown_and_never_a_fault():
    entry = judged(*host("a100", "tool_missing"))
    assert entry["verdict"] == "unproven" and status(entry, "gpu.driver_state") == "unknown"
    assert not [found for found in entry["findings"] if found["status"] == "fail"]


def test_a_missing_permission_is_unknown():
    def change(facts):
        facts["gpu"].update(state="not_permitted", gpus=[], error="Insufficient Permissions", error_kind="no_permission")

    entry = judged(*host("a100", change=change))
    assert entry["verdict"] == "unproven" and status(entry, "gpu.count") == "unknown"


def test_a_gpu_on_pci_without_any_kernel_module_fails():
    def change(facts):
        facts["gpu"].update(state="tool_missing", gpus=[], error="nvidia-smi: not found", error_kind="tool_missing", driver_version=None)
        facts["software"].update(driver_version=None, driver_module_version=None)
        for entry in facts["gpu"]["pci"]:
            entry["driver"] = None

    found = finding(judged(*host("a100", change=change)), "gpu.driver_state")
    assert found["status"] == "fail" and found["actual"] == "driver_not_loaded" and "modprobe" in found["advice"]


@pytest.mark.parametrize("kind", ["timeout", "stuck", "version_mismatch", "driver_not_loaded", "crashed", "other"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_failure_of_the_driver_has_its_own_advice(kind, language):
    document, inputs = host("a100", "driver_broken", change=lambda facts: facts["gpu"].update(error_kind=kind))
    found = finding(judged(document, inputs, language=language), "gpu.driver_state")
    assert found["status"] == "fail" and found["advice"] and "mismatch" in found["message"]


def test_no_gpu_is_said_plainly_and_is_no_pass():
    entry = judged(*host("a100", "no_hardware"))
    assert entry["verdict"] == "not_ready"
    assert entry["absent"]["vram.peak_fraction"] and status(entry, "gpu.driver_state") == "not_applicable"


def test_without_a_gpu_no_probe_of_one_is_asked_for():
    document, inputs = host("a100", "no_hardware", measured=False)
    document["facts"]["software"].update(driver_version=None, driver_module_version=None)
    entry = judged(document, inputs)
    for check in ("vram.peak_fraction", "compute.gpu_idle_fraction", "storage.read_headroom_ratio", "software.driver_support"):
        assert status(entry, check) == "not_applicable", check
    assert "no NVIDIA GPU (PCI)" in entry["reason"] and "no NVIDIA GPU (PCI)" in finding(entry, "gpu.count")["message"]


@pytest.mark.parametrize("language, required", [("en", "yes"), ("zh", "是")])
def test_a_clock_that_is_not_kept_warns_and_says_what_it_should_be(language, required):
    document, inputs = host(change=lambda facts: facts["platform"].update(time_synchronized=False))
    found = finding(judged(document, inputs, language=language), "software.time_synchronized")
    assert found["status"] == "warn" and found["required"] == required


def test_seven_of_eight_is_one_lost_gpu_and_not_a_second_failure():
    entry = judged(*host("a100", "one_lost"))
    assert finding(entry, "gpu.lost")["actual"] == 1
    assert finding(entry, "gpu.count_difference")["actual"] == 0


def test_pci_that_the_driver_does_not_list_is_a_lost_gpu_but_not_inside_a_container():
    def change(facts):
        facts["gpu"]["gpus"].pop()

    document, inputs = host("a100", change=change)
    lost = finding(judged(document, inputs), "gpu.lost")
    assert lost["status"] == "fail" and "PCI 00000000:8F:00.0" in lost["message"]
    document["facts"]["platform"]["container"] = "docker"
    assert status(judged(document, inputs), "gpu.lost") == "pass"


def test_a_virtual_machine_is_not_judged_by_its_pcie_link():
    document, inputs = host("t4", "narrow_link", change=lambda facts: facts["platform"].update(virtualization="kvm"))
    entry = judged(document, inputs)
    assert status(entry, "gpu.pcie_width") == "not_applicable" and status(entry, "gpu.pcie_generation") == "not_applicable"


def test_a_narrow_link_without_data_centre_siblings_warns_only():
    assert status(judged(*host("rtx4090", "narrow_link")), "gpu.pcie_width") == "warn"


def test_an_expected_width_is_the_measure():
    document, inputs = host(
        "rtx4090",
        inputs_change=lambda inputs: inputs["expected"].update(pcie_width=8),
        change=lambda facts: [gpu.update(pcie_width_current=8) for gpu in facts["gpu"]["gpus"]],
    )
    assert status(judged(document, inputs), "gpu.pcie_width") == "pass"
    document["facts"]["gpu"]["gpus"][0]["pcie_width_current"] = 4
    assert finding(judged(document, inputs), "gpu.pcie_width")["actual"] == "below_expected"


@pytest.mark.parametrize(
    "wrong", [{"gpu_count": "eight"}, {"gpu_count": -1}, {"pcie_width": "x16"}, {"nvlinks": "many"}, {"gpu_name": ["H100"]}, {"gpu_cout": 8}]
)
def test_a_wrong_expectation_is_the_hosts_error_and_never_left_out(wrong):
    entry = judged(*host(inputs_change=lambda inputs: inputs.update(expected=wrong)))
    assert entry["verdict"] == "error" and "gpu_audit_expected: " in entry["reason"] and next(iter(wrong)) in entry["reason"]


def test_figures_in_text_and_empty_expectations_are_fine():
    document, inputs = host("a100", inputs_change=lambda inputs: inputs.update(expected={"gpu_count": "8", "nvlinks": None, "gpu_name": " "}))
    assert judged(document, inputs)["verdict"] == "ready"


def test_idle_links_are_not_judged_by_their_generation():
    def change(facts):
        facts["gpu"]["gpus"][0].update(pcie_generation_current=1, performance_state="P8")

    document, inputs = host("a100", change=change)
    assert status(judged(document, inputs), "gpu.pcie_generation") == "not_applicable"
    document["facts"]["gpu"]["gpus"][0].update(performance_state="P0", utilization_gpu_fraction=0.9)
    assert status(judged(document, inputs), "gpu.pcie_generation") == "warn"


def test_unified_memory_is_labelled_and_has_no_ratio():
    def change(facts):
        for gpu in facts["gpu"]["gpus"]:
            gpu.update(memory_kind="unified", memory_total_bytes=None, memory_used_bytes=None)

    document, inputs = host("t4", change=change)
    entry = judged(document, inputs)
    assert entry["metrics"]["vram.total_bytes"] == document["facts"]["memory"]["total_bytes"]
    assert status(entry, "memory.ram_to_vram_ratio") == "not_applicable"


def test_mig_without_utilisation_is_no_fault():
    def change(facts):
        for gpu in facts["gpu"]["gpus"]:
            gpu.update(mig_mode="enabled", utilization_gpu_fraction=None, utilization_memory_bandwidth_fraction=None)
            gpu["absent"].update(utilization_gpu_fraction="not_supported")

    entry = judged(*host("h100", measured=False, change=change))
    assert not [found for found in entry["findings"] if found["status"] in ("warn", "fail")]


def test_failed_reading_is_unknown_and_not_supported_is_not_applicable():
    def change(facts):
        for gpu in facts["gpu"]["gpus"]:
            gpu.update(remapped_rows_pending=None, ecc_sram_threshold_exceeded=None, ecc_uncorrectable_volatile=None)
            gpu["absent"].update(
                remapped_rows_pending="failed: Unknown Error",
                ecc_sram_threshold_exceeded="not_supported",
                ecc_uncorrectable_volatile="not_permitted",
            )

    entry = judged(*host("h100", change=change))
    assert status(entry, "gpu.remap_pending") == "unknown" and "Unknown Error" in finding(entry, "gpu.remap_pending")["message"]
    assert status(entry, "gpu.sram_threshold") == "not_applicable"
    assert status(entry, "gpu.ecc_uncorrectable") == "unknown" and "become" in finding(entry, "gpu.ecc_uncorrectable")["message"]


def test_a_bad_value_outweighs_a_failed_reading_of_another_gpu():
    def change(facts):
        facts["gpu"]["gpus"][0].update(remapped_rows_pending=None)
        facts["gpu"]["gpus"][0]["absent"]["remapped_rows_pending"] = "failed: ERR!"
        facts["gpu"]["gpus"][1].update(remapped_rows_pending=True)

    assert status(judged(*host("h100", change=change)), "gpu.remap_pending") == "fail"


def test_ecc_on_consumer_boards_is_no_question():
    assert status(judged(*host("rtx4090")), "gpu.ecc_off") == "not_applicable"


@pytest.mark.parametrize(
    "hint, expected", [(None, "not_tried"), ("unreachable", "unreachable"), ("error", "error"), ("nonsense", "not_tried")]
)
def test_a_host_without_a_document(hint, expected):
    inputs = host()[1]
    entry = judge.judge_host(None, inputs, judging.shipped("training"), judging.NOW, "en", hint)
    assert entry["verdict"] == expected and entry["name"] == "node-01" and entry["reason"]


def test_documents_of_failed_hosts():
    assert judged(*host(trouble="unreachable"))["verdict"] == "unreachable"
    entry = judged(*host(trouble="no_python"))
    assert entry["verdict"] == "error" and "python3" in entry["reason"]


@pytest.mark.parametrize(
    "document",
    [
        [],
        "x",
        3,
        {"facts": []},
        {"facts": {"gpu": 3}},
        {"facts": {"gpu": {"gpus": {}}}},
        {"facts": {"gpu": {"gpus": [1]}}},
        {"facts": {"storage": {"paths": "x"}}},
        {"facts": {}, "measurements": 3},
        {"facts": {}, "errors": [1]},
        {"name": 3, "facts": {}},
        {"facts": {"network": {"interfaces": [None] * 5000}}},
    ],
)
def test_a_document_of_the_wrong_shape_is_an_error_that_names_the_place(document):
    entry = judged(document, host()[1])
    assert entry["verdict"] == "error" and entry["errors"][0]["kind"] in ("invalid", "error")


def test_a_threshold_with_a_typo_makes_the_host_an_error():
    entry = judged(
        *host(inputs_change=lambda inputs: inputs.update(thresholds=[{"variable": "gpu_audit_thresholds_x", "values": {"gpu.losts": {}}}]))
    )
    assert entry["verdict"] == "error" and '"gpu.lost"' in entry["reason"] and "gpu_audit_thresholds_x" in entry["reason"]


def test_a_variable_that_does_not_template_makes_the_host_an_error():
    entry = judged(
        *host(inputs_change=lambda inputs: inputs.update(errors=[{"variable": "gpu_audit_workload", "message": "'x' is undefined"}]))
    )
    assert entry["verdict"] == "error" and "gpu_audit_workload" in entry["reason"]


def test_a_policy_that_could_not_be_read_makes_the_host_an_error():
    document, inputs = host(inputs_change=lambda inputs: inputs.update(policy="ours"))
    entry = judge.judge_host(document, inputs, None, judging.NOW, "en")
    assert entry["verdict"] == "error" and "ours" in entry["reason"]


def test_thresholds_of_the_host_are_applied():
    document, inputs = host(
        inputs_change=lambda inputs: inputs.update(
            thresholds=[
                {
                    "variable": "gpu_audit_thresholds",
                    "values": {"compute.cores_per_gpu": {"warn": 20, "fail": None}, "gpu.lost": {"enabled": False}},
                }
            ]
        )
    )
    entry = judged(document, inputs)
    assert status(entry, "compute.cores_per_gpu") == "warn" and finding(entry, "compute.cores_per_gpu")["required"] == "≥ 20"
    assert "gpu.lost" not in [found["check"] for found in entry["findings"]]


class TestBaseFigures:
    def test_missing_ones_leave_no_sizing_advice(self):
        document, inputs = host("a100", "few_cores", inputs_change=lambda inputs: inputs["workload"].pop("batch_size"))
        entry = judged(document, inputs)
        found = finding(entry, "compute.cores_per_gpu")
        assert found["status"] == "fail" and "Unknown: base figures missing (batch_size)" in found["advice"]
        assert "batch_size" in entry["missing_form"]

    @pytest.mark.parametrize("language, quota, law", [("en", "quota or affinity", "not a law"), ("zh", "配额或亲和性", "而非定律")])
    def test_they_hold_back_the_upgrade_and_nothing_else(self, language, quota, law):
        document, inputs = host("a100", "few_cores", inputs_change=lambda inputs: inputs["workload"].pop("batch_size"))
        document["facts"]["memory"].update(total_bytes=2**34, usable_bytes=2**34)
        entry = judged(document, inputs, language=language)
        cores, memory = finding(entry, "compute.cores_per_gpu"), finding(entry, "memory.ram_to_vram_ratio")
        assert quota in cores["advice"] and all(law in found["advice"] and "batch_size" in found["advice"] for found in (cores, memory))
        assert "Add memory" not in memory["advice"] and "增加内存" not in memory["advice"]

    @pytest.mark.parametrize("name", ["base", "inference", "transcoding"])
    def test_every_check_that_sizes_has_advice_that_does_not(self, name):
        checks = judging.shipped(name)["checks"]
        for check in findings.SIZING_CHECKS.intersection(checks):
            assert checks[check]["advice_unsized"], check
            assert not re.search("more memory|[Aa]dd memory|add storage|faster link|more GPUs|Add replicas", checks[check]["advice_unsized"]["en"])

    def test_with_them_the_policys_advice_stands(self):
        assert "advice" not in finding(judged(*host("a100", "few_cores")), "compute.cores_per_gpu")

    def test_an_empty_form_is_listed_whole(self):
        entry = judged(*host("a100", "form_empty"))
        assert {"kind", "input_sample_bytes", "batch_size", "hours_per_day"} <= set(entry["missing_form"])

    def test_a_wrong_figure_is_an_error_line_and_missing(self):
        entry = judged(*host(inputs_change=lambda inputs: inputs["workload"].update(batch_size="many")))
        assert entry["errors"][0]["kind"] == "workload" and "batch_size" in entry["missing_form"] and entry["verdict"] != "error"


class TestWaivers:
    def judged(self, waivers, trouble="ecc"):
        return judged(*host("a100", trouble, inputs_change=lambda inputs: inputs.update(waivers=waivers)))

    def test_a_waived_failure_is_shown_and_leaves_the_host_with_warnings(self):
        entry = self.judged({"gpu.ecc_uncorrectable": {"reason": "RMA 1234", "expires": "2026-12-31"}})
        found = finding(entry, "gpu.ecc_uncorrectable")
        assert found["status"] == "waived" and found["waiver"] == {"reason": "RMA 1234", "expires": "2026-12-31", "status": "fail"}
        assert entry["verdict"] == "ready_with_warnings" and entry["checklist"]["health"] == "pass"

    @pytest.mark.parametrize("expires, expected", [("2026-11-30", "waived"), ("2026-11-29", "fail"), (None, "waived"), ("soon", "fail")])
    def test_it_holds_to_the_end_of_its_last_day(self, expires, expected):
        assert status(self.judged({"gpu.ecc_uncorrectable": {"reason": "x", "expires": expires}}), "gpu.ecc_uncorrectable") == expected

    def test_an_expired_one_is_told(self):
        found = finding(self.judged({"gpu.ecc_uncorrectable": {"reason": "RMA", "expires": "2026-11-01"}}), "gpu.ecc_uncorrectable")
        assert "2026-11-01" in found["message"] and "RMA" in found["message"]

    @pytest.mark.parametrize("waiver", [{}, {"reason": " "}, {"reason": 3}, "x", None])
    def test_without_a_reason_it_is_none(self, waiver):
        assert status(self.judged({"gpu.ecc_uncorrectable": waiver}), "gpu.ecc_uncorrectable") == "fail"

    def test_of_an_unknown_check_it_is_the_hosts_error(self):
        entry = self.judged({"gpu.ecc_uncorrectible": {"reason": "x"}}, "none")
        assert entry["verdict"] == "error" and '"gpu.ecc_uncorrectable"' in entry["errors"][0]["message"] and "gpu_audit_waivers" in entry["reason"]

    def test_what_passes_stays_a_pass(self):
        assert status(self.judged({"gpu.lost": {"reason": "x"}}), "gpu.lost") == "pass"


class TestWhatNobodyAsks:
    """A policy that asks nothing of an item leaves it unknown: it never makes a host ready."""

    BARE = "schema: trainops.gpu_audit/policy/1\nname: bare\nchecks:\n  gpu.count: {item: health, answers: true, fail: {below: 1}, title: x}\n"

    def entry(self, folder, text, language="en", trouble="none"):
        path = folder / "bare.yml"
        path.write_text(text)
        document, inputs = host("a100", trouble)
        inputs["policy"] = "bare"
        return judge.judge_host(document, inputs, policy.resolve(str(path)), judging.NOW, language), policy.resolve(str(path))

    @pytest.mark.parametrize("trouble", ["none", "driver_hang"])
    def test_no_item_is_answered_by_nobody(self, tmp_path, trouble):
        entry, resolved = self.entry(tmp_path, self.BARE, trouble=trouble)
        assert entry["verdict"] == "unproven" and entry["unanswered"][:5] == ["vram", "compute", "memory", "storage", "network"]
        assert sum("asks nothing about" in error["message"] for error in entry["errors"]) == 5
        made = judge.judge_run([entry], {"bare": resolved}, {"id": "x"}, "en")
        unasked = [line for line in made["unanswered"] if not line["check"]]
        assert {line["item"] for line in unasked} == set(CHECKLIST) and "extend" in unasked[0]["advice"]

    def test_a_check_that_answers_nothing_or_is_off_asks_nothing(self, tmp_path):
        more = "".join(
            "  own.%s: {item: %s, metric: memory.total_bytes, answers: true, fail: {below: 1}}\n" % (item, item) for item in CHECKLIST
        )
        assert self.entry(tmp_path, self.BARE + more)[0]["verdict"] == "ready"
        quiet = more.replace("item: network, metric: memory.total_bytes, answers: true", "item: network, metric: memory.total_bytes")
        assert self.entry(tmp_path, self.BARE + quiet)[0]["checklist"]["network"] == "unknown"
        off = more.replace("{item: network,", "{enabled: false, item: network,")
        assert self.entry(tmp_path, self.BARE + off)[0]["unanswered"] == ["network"]

    def test_it_is_said_in_chinese(self, tmp_path):
        entry, _resolved = self.entry(tmp_path, self.BARE, "zh")
        assert "策略 bare 没有就显存提出任何问题" in entry["errors"][0]["message"]

    @pytest.mark.parametrize("name", ["base", "training", "finetuning", "inference", "rendering", "transcoding"])
    def test_shipped_policies_ask_for_all_five(self, name):
        assert verdict.asked(judging.shipped(name)["checks"]) == set(CHECKLIST)


def test_a_measurement_that_the_work_does_not_ask_for_is_not_missing():
    entry = judged(*host(measured=False))
    assert status(entry, "network.concurrency_ratio") == "not_applicable" and entry["absent"]["network.concurrency_ratio"] == "not asked of this work"
    assert "message" not in finding(entry, "network.concurrency_ratio")
    document, inputs = host(measured=False, inputs_change=lambda inputs: inputs["workload"].update(leans_on=["latency"]))
    entry = judged(document, inputs)
    assert status(entry, "network.concurrency_ratio") == "unknown" and "request_benchmark" in entry["absent"]["network.concurrency_ratio"]


@pytest.mark.parametrize("cores, required", [(3 * 8, "≥ 4"), (1 * 8, "≥ 2")])
def test_the_limit_that_broke_is_what_is_required(cores, required):
    found = finding(judged(*host("a100", change=lambda facts: facts["cpu"].update(usable_cores=cores))), "compute.cores_per_gpu")
    assert found["required"] == required and "required: %s" % required in found["message"]


@pytest.mark.parametrize(
    "limits, noted", [({"fail": 6}, True), ({"warn": 1}, True), ({"warn": 8, "fail": 6}, False), ({"fail": 4}, False), ({"warn": None, "fail": 6}, False)]
)
def test_a_fail_limit_that_is_reached_before_the_warn_limit_is_noted(limits, noted):
    given = [{"variable": "gpu_audit_thresholds", "values": {"compute.cores_per_gpu": limits}}]
    entry = judged(*host("a100", inputs_change=lambda inputs: inputs.update(thresholds=given)))
    assert [error["kind"] for error in entry["errors"]] == ["thresholds"] * noted
    assert not noted or "compute.cores_per_gpu fails (below" in entry["errors"][0]["message"]


@pytest.mark.parametrize("language, said", [("en", "/data: needs 5.00 TiB, 38.0 MiB free"), ("zh", "/data：需要 5.00 TiB，可用 38.0 MiB")])
def test_data_that_does_not_fit_is_said_in_bytes(language, said):
    def change(facts):
        for entry in facts["storage"]["paths"]:
            entry.update(mount_point="/data", device="/dev/sdz1", free_bytes=38 * 2**20, total_bytes=40 * 2**30)

    def sizes(inputs):
        inputs["workload"].update(dataset_bytes="5 TiB", weights_bytes=0, checkpoint_bytes=0, log_bytes=0)

    found = finding(judged(*host("a100", change=change, inputs_change=sizes), language=language), "storage.capacity_headroom_fraction")
    assert found["status"] == "fail" and found["cause"] == said and "%" not in found["message"].split(said)[0]
    assert "bytes: 5.00 TiB" in found["message"]


def test_a_driver_that_hangs_is_not_told_as_no_gpu():
    document, inputs = host("a100", "driver_hang", change=lambda facts: facts["gpu"].update(pci=[], pci_device_count=0, gpus=[]))
    hardware = judged(document, inputs)["hardware"]
    assert hardware["gpu_count"] == 0 and hardware["gpu_state"] == "driver_broken"
    assert "gpu_state" not in judged(*host("a100"))["hardware"]


class TestVerdictRules:
    items = {"a": "vram", "b": "compute", "h": "health", "s": "storage"}

    def decide(self, *found):
        statuses = verdict.checklist(found, self.items)
        return verdict.decide(found, statuses, self.items)

    @pytest.mark.parametrize(
        "found, expected",
        [
            ([("a", "pass")], "ready"),
            ([("a", "warn")], "ready_with_warnings"),
            ([("a", "waived")], "ready_with_warnings"),
            ([("a", "fail")], "not_ready"),
            ([("a", "unknown!")], "ready_with_warnings"),
            ([("a", "unknown!"), ("b", "unknown!")], "unproven"),
            ([("h", "unknown!")], "unproven"),
            ([("h", "pass"), ("h", "unknown")], "ready"),
            ([("a", "unknown!"), ("b", "unknown!"), ("s", "fail")], "not_ready"),
            ([("a", "pass"), ("a", "unknown")], "ready"),
            ([("a", "unknown")], "ready_with_warnings"),
            ([("a", "not_applicable")], "ready"),
        ],
    )
    def test_the_first_that_fits(self, found, expected):
        assert (
            self.decide(
                *[
                    dict({"check": check, "status": word.rstrip("!")}, **({"answers": True} if word.endswith("!") else {}))
                    for check, word in found
                ]
            )
            == expected
        )

    @pytest.mark.parametrize(
        "statuses, expected",
        [
            (["fail", "unknown!"], "fail"),
            (["warn", "unknown!"], "unknown"),
            (["warn", "unknown"], "warn"),
            (["waived"], "pass"),
            (["waived", "warn"], "warn"),
            (["not_applicable"], "not_applicable"),
            ([], "not_applicable"),
            (["unknown"], "unknown"),
            (["pass", "not_applicable"], "pass"),
        ],
    )
    def test_items(self, statuses, expected):
        assert (
            verdict.item_status(
                [dict({"status": word.rstrip("!")}, **({"answers": True} if word.endswith("!") else {})) for word in statuses]
            )
            == expected
        )

    def test_gates(self):
        assert [level for level in ("fail", "unproven", "warn") if verdict.refuses(level, "unproven")] == ["unproven", "warn"]
        assert all(verdict.refuses("fail", word) for word in ("not_ready", "error", "not_tried", "unreachable"))
        assert not any(verdict.refuses(level, "ready") for level in verdict.GATES)


class TestLeanings:
    def test_the_form_chooses_which_checks_answer(self):
        document, inputs = host(measured=False, inputs_change=lambda inputs: inputs["workload"].update(leans_on=["latency"]))
        entry = judged(document, inputs)
        assert finding(entry, "network.concurrency_ratio").get("answers") and not finding(entry, "network.upload_ratio").get("answers")

    def test_batch_inference_holds_no_latency_and_online_does(self):
        batch = judged(
            *host(measured=False, inputs_change=lambda inputs: inputs["workload"].update(kind="inference", mode="batch")), name="inference"
        )
        online = judged(
            *host(measured=False, inputs_change=lambda inputs: inputs["workload"].update(kind="inference", mode="online")), name="inference"
        )
        assert status(batch, "network.concurrency_ratio") == "not_applicable" and status(online, "network.concurrency_ratio") == "unknown"
        assert finding(online, "network.concurrency_ratio")["answers"]


class TestExpressions:
    def entry(self, tmp_path, check):
        path = tmp_path / "mine.yml"
        path.write_text(
            "schema: trainops.gpu_audit/policy/1\nname: mine\nextends: training\nchecks:\n  mine.own: "
            + json.dumps(dict({"item": "health", "advice": "x"}, **check))
        )
        document, inputs = host()
        return judge.judge_host(document, inputs, policy.resolve(str(path)), judging.NOW, "en")

    @pytest.mark.parametrize(
        "check, expected",
        [
            ({"value": "facts.gpu.driver_version", "fail": {"equals": "580.95.05"}}, "fail"),
            ({"value": "metrics['gpu.count'] * 2", "warn": {"at_least": 16}}, "warn"),
            ({"value": "workload.batch_size", "warn": {"below": 1}}, "pass"),
            ({"metric": "gpu.count", "fail": {"above": 1}, "when": "workload.kind == 'rendering'"}, "not_applicable"),
            ({"metric": "gpu.count", "fail": {"above": 1}, "when": "facts.platform.wsl"}, "not_applicable"),
            ({"value": "facts.nothing.there", "warn": {"below": 1}}, "unknown"),
            ({"value": "facts.gpu", "warn": {"below": 1}}, "unknown"),
            ({"value": "1 / 0", "warn": {"below": 1}}, "unknown"),
            ({"value": "9 ** 999", "warn": {"below": 1}}, "unknown"),
            ({"value": "9 ** 60", "warn": {"below": 1}}, "unknown"),
            ({"value": "'a' * 999999999", "warn": {"below": 1}}, "unknown"),
            ({"value": "'%999999999d' % 1", "warn": {"below": 1}}, "unknown"),
            ({"value": "facts.__class__.__mro__", "warn": {"below": 1}}, "unknown"),
            ({"value": "'x'.ljust(999999999)", "warn": {"below": 1}}, "unknown"),
            ({"value": "'many'", "warn": {"below": 1}}, "unknown"),
        ],
    )
    def test_values_and_conditions(self, tmp_path, check, expected):
        assert status(self.entry(tmp_path, check), "mine.own") == expected

    @pytest.mark.parametrize("source", ["range(5)", "lipsum()", "x | format", "x | center(99)", "1 +", "", "a" * 1001])
    def test_what_does_not_compile_or_has_no_filter_is_refused(self, tmp_path, source):
        if source in ("range(5)", "lipsum()"):
            assert status(self.entry(tmp_path, {"value": source, "warn": {"below": 1}}), "mine.own") == "unknown"
            return
        with pytest.raises(policy.PolicyError):
            self.entry(tmp_path, {"value": source, "warn": {"below": 1}})


def test_stale_measurements_give_no_metric_and_are_named():
    document, inputs = host()
    document["stale_measurements"] = [entry for entry in document["measurements"] if entry["module"] == "workload_probe"]
    document["measurements"] = [entry for entry in document["measurements"] if entry["module"] != "workload_probe"]
    for reason, said in (("age", "gpu_audit_measurement_max_age_seconds"), ("machine", "another machine"), ("gpus", "other GPUs"), (None, "no longer")):
        for entry in document["stale_measurements"]:
            entry["reason"] = reason
        told = judged(document, inputs)["absent"]["vram.peak_fraction"]
        assert said in told and ("max_age" in told) == (reason == "age")


def test_a_failed_measurement_is_unknown_with_its_error():
    document, inputs = host()
    document["measurements"][0].pop("result")
    document["measurements"][0]["error"] = "out of memory"
    assert "out of memory" in finding(judged(document, inputs), "vram.peak_fraction")["message"]


def test_trimmed_findings_can_be_completed():
    report = fleet_maker.make_report(40, seed=3)
    for entry, (inputs, document) in zip(report["hosts"], fleet_maker.make_documents(40, 3)):
        whole = judged(document, inputs)
        for trimmed, found in zip(entry["findings"], whole["findings"]):
            complete = findings.complete(trimmed, entry, report["checks"])
            for key in ("actual", "required") + (("message",) if found["status"] != "not_applicable" else ()):
                assert complete.get(key) == found.get(key), (found["check"], key)
            if found["status"] == "unknown":
                assert complete["answers"] == found.get("answers", False)


def test_no_healthy_capture_earns_a_fail(captures):
    from ansible_collections.trainops.gpu_audit.plugins.module_utils.facts import gpu

    seen = 0
    for path in sorted((captures / "nvidia-smi-xml").glob("*.xml")):
        if "lost" in path.name:
            continue
        document = {"name": path.stem, "facts": {"gpu": gpu.parse_captured(path.read_bytes())}, "measurements": [], "errors": []}
        entry = judged(document, {"name": path.stem})
        seen += 1
        assert not [found["message"] for found in entry["findings"] if found["status"] == "fail"], path.name
        assert {found["check"] for found in entry["findings"] if found["status"] == "warn"} <= {
            "gpu.persistence_off",
            "gpu.pcie_width",
            "power.limit_fraction",
        }, path.name
        if path.name.startswith("hw-"):
            assert not [found for found in entry["findings"] if found["status"] == "warn"], path.name
    assert seen > 5


def test_traps(traps):
    from ansible_collections.trainops.gpu_audit.plugins.module_utils.facts import gpu

    def of(name):
        document = {
            "name": name,
            "facts": {"gpu": gpu.parse_captured((traps / "inputs" / name).read_bytes())},
            "measurements": [],
            "errors": [],
        }
        return judged(document, {"name": name, "expected": {"gpu_count": 8}})

    assert status(of("B40-fabric-insufficient.xml"), "gpu.fabric") == "fail"
    assert finding(of("B25-eight-one-lost.xml"), "gpu.lost")["actual"] == 1
    assert finding(of("B25-seven-of-eight.xml"), "gpu.count_difference")["actual"] == -1
    assert not [
        found for found in of("B01-na-everywhere.xml")["findings"] if found["status"] == "fail" and found["check"] != "gpu.count_difference"
    ]


@pytest.mark.parametrize(
    "wanted, expected",
    [
        ("NVIDIA A100-SXM4-80GB", "pass"),
        ("a100", "pass"),
        ("A10", "fail"),
        ("A100-SXM4-80", "fail"),
        ("H100", "fail"),
        (" ", "not_applicable"),
        (None, "not_applicable"),
    ],
)
def test_the_expected_model_is_compared_by_whole_words(wanted, expected):
    document, inputs = host("a100", inputs_change=lambda inputs: inputs["expected"].update(gpu_name=wanted))
    assert status(judged(document, inputs), "gpu.unexpected") == expected


@pytest.mark.parametrize(
    "value, words",
    [
        ({"gpu_counts": 8}, '"gpu_count"'),
        ({"gpu_count": "eight"}, "whole number"),
        ({"gpu_count": -1}, "whole number"),
        ({"pcie_width": True}, "whole number"),
        ({"gpu_name": 5}, "text"),
        ([8], "map"),
    ],
)
def test_what_is_expected_wrongly_is_told(value, words):
    entry = judged(*host(inputs_change=lambda inputs: inputs.update(expected=value)))
    assert [error for error in entry["errors"] if error["kind"] == "expected" and words in error["message"]]
