# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Each limit of the shipped checks from both sides and exactly on it."""

from __future__ import annotations

import judging
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import findings

TIB = 2**40
GIB = 2**30


@pytest.mark.parametrize(
    "limit, value, tolerance, bad",
    [
        ({"below": 4}, 3.999, 0, True),
        ({"below": 4}, 4, 0, False),
        ({"below": 4}, 4.001, 0, False),
        ({"above": 4}, 4, 0, False),
        ({"above": 4}, 4.001, 0, True),
        ({"at_least": 0.8}, 0.8, 0, True),
        ({"at_least": 0.8}, 0.7999, 0, False),
        ({"at_most": 5}, 5, 0, True),
        ({"at_most": 5}, 5.001, 0, False),
        ({"below": 2}, 1.95, 0.05, False),
        ({"below": 2}, 1.9499, 0.05, True),
        ({"above": 2}, 2.05, 0.05, False),
        ({"above": 2}, 2.06, 0.05, True),
        ({"at_least": 2}, 2.04, 0.05, False),
        ({"at_least": 2}, 2.05, 0.05, True),
        ({"at_most": 2}, 1.96, 0.05, False),
        ({"at_most": 2}, 1.95, 0.05, True),
        ({"equals": True}, True, 0, True),
        ({"equals": True}, 1, 0, False),
        ({"not_equals": "none"}, "reset", 0, True),
        ({"not_equals": "none"}, "none", 0, False),
        ({"one_of": ["a"]}, "a", 0, True),
        ({"one_of": ["a"]}, "b", 0, False),
        ({"none_of": ["ok"]}, "ok", 0, False),
        ({"none_of": ["ok"]}, "x", 0, True),
        ({"below": 4}, "many", 0, None),
        ({"below": 4}, True, 0, None),
    ],
)
def test_comparisons(limit, value, tolerance, bad):
    assert findings.violated(limit, value, tolerance) is bad


def probe(document, used, total=100, reserved=0, **more):
    for measurement in document["measurements"]:
        if measurement["module"] == "workload_probe":
            for entry in measurement["result"]["gpus"]:
                entry.update(memory_used_peak_bytes=used, memory_total_bytes=total, memory_reserved_bytes=reserved, **more)


@pytest.mark.parametrize("used, expected", [(79, "pass"), (80, "warn"), (84, "warn"), (85, "fail"), (100, "fail")])
def test_peak_vram(used, expected):
    document, inputs = judging.host()
    probe(document, used)
    assert judging.status(judging.judged(document, inputs), "vram.peak_fraction") == expected


def test_peak_vram_leaves_the_reserved_part_out_of_both_sides():
    document, inputs = judging.host()
    probe(document, 72, total=100, reserved=10)
    found = judging.finding(judging.judged(document, inputs), "vram.peak_fraction")
    assert (found["status"], found["actual"]) == ("warn", 0.8)


def test_peak_vram_is_the_worst_gpus():
    document, inputs = judging.host()
    document["measurements"][0]["result"]["gpus"][5]["memory_used_peak_bytes"] = (
        document["measurements"][0]["result"]["gpus"][5]["memory_total_bytes"] - 2**30
    )
    found = judging.finding(judging.judged(document, inputs), "vram.peak_fraction")
    assert found["status"] == "fail" and "GPU 5" in found["message"] and found["evidence"][0]["what"].startswith("GPU 5")


def test_what_is_in_use_during_a_light_audit_is_never_the_peak():
    document, inputs = judging.host(
        measured=False, change=lambda facts: [gpu.update(memory_used_bytes=gpu["memory_total_bytes"]) for gpu in facts["gpu"]["gpus"]]
    )
    entry = judging.judged(document, inputs)
    assert judging.status(entry, "vram.peak_fraction") == "unknown" and "vram.peak_fraction" in entry["absent"]


def test_with_mig_the_instances_peak_counts_and_not_the_gpus():
    def mig_on(facts):
        for gpu in facts["gpu"]["gpus"]:
            gpu.update(mig_mode="enabled", utilization_gpu_fraction=None)

    document, inputs = judging.host(change=mig_on)
    gpus = document["measurements"][0]["result"]["gpus"]
    instance = dict(gpus[0], mig_uuid="MIG-1", memory_total_bytes=100, memory_reserved_bytes=0, memory_used_peak_bytes=82)
    gpus.append(instance)
    found = judging.finding(judging.judged(document, inputs), "vram.peak_fraction")
    assert (found["status"], found["actual"]) == ("warn", 0.82)


@pytest.mark.parametrize("cores, expected", [(15.99, "fail"), (16, "warn"), (31.9, "warn"), (32, "pass"), (96, "pass"), (4096, "pass")])
def test_cores_per_gpu_of_eight(cores, expected):
    document, inputs = judging.host(change=lambda facts: facts["cpu"].update(usable_cores=cores))
    assert judging.status(judging.judged(document, inputs), "compute.cores_per_gpu") == expected


@pytest.mark.parametrize("ratio, expected", [(0.94, "fail"), (0.95, "warn"), (1.94, "warn"), (1.95, "pass"), (2, "pass"), (9, "pass")])
def test_ram_to_vram(ratio, expected):
    def change(facts):
        for gpu in facts["gpu"]["gpus"]:
            gpu["memory_total_bytes"] = 100 * GIB
        facts["memory"].update(usable_bytes=int(200 * GIB * ratio), total_bytes=int(200 * GIB * ratio))

    document, inputs = judging.host("t4", change=change)
    assert judging.status(judging.judged(document, inputs), "memory.ram_to_vram_ratio") == expected


@pytest.mark.parametrize("ram, expected", [(round(1.7 * TIB) - 1, "warn"), (round(1.7 * TIB), "pass")])
def test_ram_is_enough_from_1_7_tib_on_whatever_the_ratio(ram, expected):
    def change(facts):
        for gpu in facts["gpu"]["gpus"]:
            gpu["memory_total_bytes"] = 180 * GIB
        facts["memory"].update(usable_bytes=ram, total_bytes=2 * TIB)

    document, inputs = judging.host(change=change)
    assert judging.status(judging.judged(document, inputs), "memory.ram_to_vram_ratio") == expected


def test_a_cgroup_limit_counts_as_the_ram():
    document, inputs = judging.host(change=lambda facts: facts["memory"].update(limit_bytes=64 * GIB))
    found = judging.finding(judging.judged(document, inputs), "memory.ram_to_vram_ratio")
    assert found["status"] == "fail"


def place(document, inputs, free, total, needed, **form):
    for entry in document["facts"]["storage"]["paths"]:
        entry.update(free_bytes=free, total_bytes=total)
    inputs["workload"].update(
        dict({"dataset_bytes": needed, "weights_bytes": 0, "checkpoint_bytes": 0, "checkpoints_kept": 0, "log_bytes": 0}, **form)
    )


@pytest.mark.parametrize("needed, expected", [(899, "pass"), (900, "pass"), (901, "warn"), (1000, "warn"), (1001, "fail")])
def test_capacity_with_ten_percent_left(needed, expected):
    document, inputs = judging.host()
    place(document, inputs, 1000, 1000, needed)
    assert judging.status(judging.judged(document, inputs), "storage.capacity_headroom_fraction") == expected


def test_paths_on_one_file_system_share_its_space():
    document, inputs = judging.host()
    place(document, inputs, 1000, 1000, 500, weights_bytes=300, checkpoint_bytes=50, checkpoints_kept=4, log_bytes=1)
    found = judging.finding(judging.judged(document, inputs), "storage.capacity_headroom_fraction")
    assert found["status"] == "fail" and found["actual"] == -0.001


def test_what_lies_there_already_takes_no_room():
    document, inputs = judging.host()
    place(document, inputs, 1000, 1000, 5000, data_in_place=["dataset"])
    assert judging.status(judging.judged(document, inputs), "storage.capacity_headroom_fraction") == "pass"


@pytest.mark.parametrize("speed, expected", [(999, "fail"), (1000, "warn"), (1249, "warn"), (1250, "pass")])
def test_read_headroom(speed, expected):
    document, inputs = judging.host()
    inputs["workload"].update(samples_per_second_per_gpu=1, input_sample_bytes=125)
    document["measurements"][1]["result"]["read_bytes_per_second"] = speed
    assert judging.status(judging.judged(document, inputs), "storage.read_headroom_ratio") == expected


@pytest.mark.parametrize("free, expected", [(19, "fail"), (20, "warn"), (99, "warn"), (100, "pass")])
@pytest.mark.parametrize("kind, check", [("bytes", "storage.filesystem_free_fraction"), ("inodes", "storage.inodes_free_fraction")])
def test_the_fullest_local_file_system(free, expected, kind, check):
    fields = {"free_bytes": free, "total_bytes": 1000} if kind == "bytes" else {"inodes_free": free, "inodes_total": 1000}
    document, inputs = judging.host(change=lambda facts: facts["storage"]["filesystems"][0].update(fields))
    assert judging.status(judging.judged(document, inputs), check) == expected


@pytest.mark.parametrize(
    "masks, growth, expected",
    [([1, 1], 0.0, "pass"), ([0x44, 1], 0.0, "warn"), ([0x40, 0x40], 0.0, "fail"), ([0], 0.5, "fail"), ([0x40], None, "warn")],
)
@pytest.mark.parametrize(
    "bit, counter, check", [(0x40, "hw_thermal_slowdown", "gpu.hw_thermal"), (0x80, "hw_power_brake_slowdown", "gpu.power_brake")]
)
def test_clock_events(masks, growth, expected, bit, counter, check):
    def change(facts):
        facts["gpu"]["gpus"][2].update(
            clock_event_reasons_masks=[mask & ~0x40 | (bit if mask & 0x40 else 0) for mask in masks],
            clock_event_counters_growth_seconds=None if growth is None else {counter: growth},
        )

    document, inputs = judging.host(change=change)
    assert judging.status(judging.judged(document, inputs), check) == expected


@pytest.mark.parametrize("masks, expected", [([8], "warn"), ([8, 8], "fail"), ([4, 4], "pass"), ([1], "pass"), ([0x20, 0x20], "pass")])
def test_hardware_slowdown_needs_two_samples(masks, expected):
    document, inputs = judging.host(change=lambda facts: facts["gpu"]["gpus"][0].update(clock_event_reasons_masks=masks))
    assert judging.status(judging.judged(document, inputs), "gpu.hw_slowdown") == expected


def test_counters_since_boot_alone_are_no_finding():
    document, inputs = judging.host(
        change=lambda facts: facts["gpu"]["gpus"][0].update(
            clock_event_counters_seconds={"hw_thermal_slowdown": 9999.0, "hw_power_brake_slowdown": 10.0}
        )
    )
    entry = judging.judged(document, inputs)
    assert judging.status(entry, "gpu.hw_thermal") == "pass" and judging.status(entry, "gpu.power_brake") == "pass"


@pytest.mark.parametrize(
    "t_limit, offset, expected",
    [(4, -2, "pass"), (3, -2, "warn"), (-1, -2, "warn"), (-2, -2, "fail"), (6, None, "pass"), (5, None, "warn"), (0, None, "fail")],
)
def test_temperature_margin(t_limit, offset, expected):
    document, inputs = judging.host(
        change=lambda facts: facts["gpu"]["gpus"][0].update(
            temperature_headroom_celsius=t_limit, temperature_slowdown_tlimit_celsius=offset
        )
    )
    assert judging.status(judging.judged(document, inputs), "gpu.temperature_headroom_celsius") == expected


@pytest.mark.parametrize(
    "field, value, check, expected",
    [
        ("ecc_uncorrectable_volatile", 0, "gpu.ecc_uncorrectable", "pass"),
        ("ecc_uncorrectable_volatile", 1, "gpu.ecc_uncorrectable", "fail"),
        ("ecc_sram_threshold_exceeded", True, "gpu.sram_threshold", "fail"),
        ("remapped_rows_failure", True, "gpu.remap_failed", "fail"),
        ("remapped_rows_pending", True, "gpu.remap_pending", "fail"),
        ("retired_pages_pending", True, "gpu.retirement_pending", "fail"),
        ("persistence_mode", "disabled", "gpu.persistence_off", "warn"),
        ("ecc_mode", "disabled", "gpu.ecc_off", "warn"),
        ("power_limit_watts", 699.0, "power.limit_fraction", "warn"),
        ("power_limit_watts", 700.0, "power.limit_fraction", "pass"),
        ("recovery_action", "none", "gpu.recovery_action", "pass"),
        ("recovery_action", "None", "gpu.recovery_action", "pass"),
        ("recovery_action", "reset", "gpu.recovery_action", "fail"),
        ("recovery_action", "Reboot", "gpu.recovery_action", "fail"),
        ("recovery_action", "Drain and Reset", "gpu.recovery_action", "fail"),
        ("recovery_action", "polish", "gpu.recovery_action", "warn"),
        ("fabric_state", "in_progress", "gpu.fabric", "warn"),
        ("fabric_state", "not_started", "gpu.fabric", "fail"),
        ("fabric_status", "insufficient_resources", "gpu.fabric", "fail"),
        ("fabric_status", "Insufficient Resources", "gpu.fabric", "fail"),
        ("pcie_width_current", 8, "gpu.pcie_width", "fail"),
        ("pcie_width_current", 16, "gpu.pcie_width", "pass"),
        ("status", "error", "gpu.errors", "fail"),
        ("status", "lost", "gpu.lost", "fail"),
        ("name", "NVIDIA H100 PCIe", "gpu.kinds", "warn"),
    ],
)
def test_one_bad_gpu_of_eight(field, value, check, expected):
    document, inputs = judging.host(change=lambda facts: facts["gpu"]["gpus"][3].update({field: value}))
    found = judging.finding(judging.judged(document, inputs), check)
    assert found["status"] == expected
    if expected in ("fail", "warn") and check != "gpu.kinds":
        assert "GPU 3 (00000000:4B:00.0)" in found["message"] and found["evidence"][0]["what"] == "GPU 3 (00000000:4B:00.0)"


def test_counts_over_a_boards_life_inform_only():
    document, inputs = judging.host(
        change=lambda facts: facts["gpu"]["gpus"][0].update(
            ecc_uncorrectable_aggregate=50,
            ecc_dram_uncorrectable_aggregate=50,
            ecc_corrected_aggregate=10**6,
            remapped_rows_uncorrectable=4,
        )
    )
    entry = judging.judged(document, inputs)
    assert not [found for found in entry["findings"] if found["status"] in ("warn", "fail")]
    assert entry["metrics"]["gpu.ecc_lifetime"] == 50 and entry["metrics"]["gpu.remapped_rows"] == 4


@pytest.mark.parametrize(
    "driver, cuda, expected",
    [
        ("525.60.13", "12.0.1", "pass"),
        ("525.60.12", "12.0", "fail"),
        ("550.54.14", "12.4.1", "pass"),
        ("550.54.13", "12.4.1", "warn"),
        ("535.183.06", "12.4", "warn"),
        ("580.65.06", "13.0", "pass"),
        ("570.211.01", "13.0", "fail"),
        ("450.80.02", "11.8", "warn"),
        ("450.80.01", "11.8", "fail"),
        ("610.43.02", "13.3", "pass"),
        ("390.46", "9.1", "pass"),
        ("390.45", "9.1", "fail"),
    ],
)
def test_driver_against_cuda(driver, cuda, expected):
    def change(facts):
        facts["gpu"]["driver_version"] = driver
        facts["software"].update(cuda_toolkits=[{"path": "/usr/local/cuda", "version": cuda}], python_environments=[])

    document, inputs = judging.host(change=change)
    assert judging.status(judging.judged(document, inputs), "software.driver_support") == expected


@pytest.mark.parametrize("expected, status", [(7, "warn"), (8, "pass"), (9, "fail"), ("8", "pass"), (None, "not_applicable")])
def test_expected_number_of_gpus(expected, status):
    document, inputs = judging.host(inputs_change=lambda inputs: inputs.update(expected={"gpu_count": expected}))
    assert judging.status(judging.judged(document, inputs), "gpu.count_difference") == status


@pytest.mark.parametrize("hours, expected", [(1, "pass"), (0.8, "pass"), (0.79, "warn"), (0.64, "warn"), (0.63, "fail")])
def test_upload_within_the_hours_allowed(hours, expected):
    document, inputs = judging.host(
        inputs_change=lambda inputs: inputs["workload"].update(upload_hours_allowed=hours, dataset_bytes=2304 * 10**9)
    )
    document["measurements"][2]["result"]["bytes_per_second"] = 10**9
    assert judging.status(judging.judged(document, inputs), "network.upload_ratio") == expected


@pytest.mark.parametrize("concurrency, latency, expected", [(63, 2, "pass"), (64, 0.4, "pass"), (64, 0.39, "fail"), (65, 2, "unknown")])
def test_online_inference_at_the_concurrency_asked_for(concurrency, latency, expected):
    document, inputs = judging.host(
        inputs_change=lambda inputs: inputs["workload"].update(
            kind="inference", mode="online", concurrency=concurrency, latency_seconds=latency
        )
    )
    assert judging.status(judging.judged(document, inputs, "inference"), "network.concurrency_ratio") == expected


def test_two_mounts_of_one_export_share_its_space():
    document, inputs = judging.host()
    place(document, inputs, 1000, 1000, 500, weights_bytes=450)
    for entry in document["facts"]["storage"]["paths"]:
        entry.update(device="nas:/export", mount_point="/" + entry["purpose"], kind="network")
    assert judging.status(judging.judged(document, inputs), "storage.capacity_headroom_fraction") == "warn"


def test_separate_file_systems_are_judged_each_and_the_worst_counts():
    document, inputs = judging.host()
    place(document, inputs, 1000, 1000, 500, weights_bytes=950)
    for entry in document["facts"]["storage"]["paths"]:
        entry.update(device="/dev/" + entry["purpose"], mount_point="/" + entry["purpose"])
    found = judging.finding(judging.judged(document, inputs), "storage.capacity_headroom_fraction")
    assert found["status"] == "warn" and "/weights" in found["message"]


def test_a_form_without_a_size_or_a_path_is_unknown_and_named():
    document, inputs = judging.host(inputs_change=lambda inputs: [inputs["workload"].pop(field) for field in ("log_bytes", "weights_path")])
    found = judging.finding(judging.judged(document, inputs), "storage.capacity_headroom_fraction")
    assert found["status"] == "unknown" and "log_bytes" in found["message"] and "weights_path" in found["message"]
