# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Diagnosis of a probed workload: each with its evidence and its advice, and never the wrong one."""

from __future__ import annotations

import judging
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import messages

GIB = 2**30


def probed(gpu=None, peak=0.75, **result):
    """(document, inputs) of an eight-GPU host whose probe gave `result`, every GPU `gpu`, with a healthy job where nothing is said."""
    document, inputs = judging.host()
    probe = next(entry for entry in document["measurements"] if entry["module"] == "workload_probe")
    for entry in probe["result"]["gpus"]:
        usable = entry["memory_total_bytes"] - entry["memory_reserved_bytes"]
        entry.update(memory_used_peak_bytes=int(usable * peak), utilization_mean_fraction=0.93, utilization_p10_fraction=0.9,
                     utilization_p90_fraction=0.99, memory_other_bytes=0, clock_event_seconds={})
        entry.update(gpu or {})
    probe["result"].update(dict({
        "outcome": "stopped", "exit_code": 0, "signal": None, "iterations": 50, "duration_seconds": 100.0, "epoch_seconds": 900.0,
        "data_wait_fraction": 0.02, "read_bytes_per_second": 2e8, "reservation": None, "limiter": None,
        "memory": {"swap_in_bytes": 0, "swap_out_bytes": 0}, "cpu": {"busy_fraction": 0.4}}, **result))
    return document, inputs


def judged(*args, **kwargs):
    return judging.judged(*probed(*args, **kwargs))


def test_a_healthy_job_warns_of_nothing():
    entry = judged()
    bad = [finding for finding in entry["findings"] if finding["status"] in ("fail", "warn")]
    assert bad == [] and entry["metrics"]["workload.epoch_seconds"] == 900
    assert entry["metrics"]["workload.gpu_utilization_mean_fraction"] == 0.93


@pytest.mark.parametrize("peak, status, words", [
    (0.60, "pass", "room for a larger batch"), (0.70, "pass", "inside the target zone"), (0.79, "pass", "inside the target zone"),
    (0.82, "warn", "80"), (0.86, "fail", "85")])
def test_bands_of_the_peak(peak, status, words):
    document, inputs = probed()
    for entry in document["measurements"][0]["result"]["gpus"]:
        entry.update(memory_total_bytes=10000, memory_reserved_bytes=0, memory_used_peak_bytes=int(peak * 10000))
    finding = judging.finding(judging.judged(document, inputs), "vram.peak_fraction")
    assert finding["status"] == status and words in finding["message"]


@pytest.mark.parametrize("iterations, word, advice", [
    (0, "at_start", "Halve the batch size"), (12, "later", "fragmentation"), (None, "moment_unknown", "isn't known")])
def test_out_of_memory(iterations, word, advice):
    entry = judged(peak=0.5, outcome="oom_cuda", exit_code=1, iterations=iterations)
    finding = judging.finding(entry, "vram.out_of_memory")
    assert finding["status"] == "fail" and finding["actual"] == word and advice in finding["advice"] and entry["verdict"] == "not_ready"


@pytest.mark.parametrize("language, words", [("en", "isn't known"), ("zh", "未知")])
def test_a_start_that_nothing_could_tell_is_not_claimed(language, words):
    document, inputs = probed(peak=0.5, outcome="oom_cuda", iterations=None, out_of_memory={"at_start": None, "line": None})
    finding = judging.finding(judging.judged(document, inputs, language=language), "vram.out_of_memory")
    assert finding["status"] == "fail" and finding["actual"] == "moment_unknown" and words in finding["message"]
    assert "before the first iteration" not in finding["message"]


@pytest.mark.parametrize("outcome", ["failed", "timeout", "hang", "not_started", "oom_host"])
def test_endings_are_told_apart_and_their_peak_is_not_the_jobs(outcome):
    entry = judged(peak=0.1, outcome=outcome, iterations=0, exit_code=1)
    finding = judging.finding(entry, "workload.outcome")
    assert finding["status"] == "warn" and finding["advice"] == messages.text("en", "advice.outcome." + outcome)
    assert judging.status(entry, "vram.peak_fraction") == "unknown" and judging.status(entry, "compute.gpu_idle_fraction") == "unknown"
    assert judging.status(entry, "vram.out_of_memory") == ("unknown" if outcome == "not_started" else "pass")
    assert judging.status(entry, "memory.out_of_memory") == {"oom_host": "fail", "not_started": "unknown"}.get(outcome, "pass")


@pytest.mark.parametrize("outcome", ["completed", "not_started"])
def test_a_host_without_gpus_has_no_vram_to_run_out_of(outcome):
    document, inputs = judging.host("a100", "no_hardware")
    probe = next(entry for entry in document["measurements"] if entry["module"] == "workload_probe")
    probe["result"].update(outcome=outcome, gpus=[])
    entry = judging.judged(document, inputs)
    assert judging.status(entry, "vram.out_of_memory") == "not_applicable"
    assert judging.status(entry, "memory.out_of_memory") == ("pass" if outcome == "completed" else "unknown")
    assert "pass" not in [found["status"] for found in entry["findings"] if found["check"].startswith("vram.")]


def test_a_job_that_ran_into_the_time_limit_still_has_a_peak():
    assert judging.status(judged(peak=0.9, outcome="timeout", iterations=7), "vram.peak_fraction") == "fail"


def test_a_reservation_without_a_peak_of_its_own_is_unknown_and_never_a_smaller_batch():
    entry = judged(peak=0.97, reservation="vllm", framework_peak_bytes=None)
    finding = judging.finding(entry, "vram.peak_fraction")
    assert finding["status"] == "unknown" and finding["message"].startswith("reservation: vllm")
    told = " ".join(str(finding.get("advice")) for finding in entry["findings"])
    assert "alve the batch" not in told and "ower the batch" not in told


def test_a_reserving_framework_that_tells_its_peak_is_judged_by_it():
    document, inputs = probed(peak=0.97, reservation="jax", framework_peak_bytes=70)
    for entry in document["measurements"][0]["result"]["gpus"]:
        entry.update(memory_total_bytes=110, memory_reserved_bytes=10, memory_used_peak_bytes=97)
    finding = judging.finding(judging.judged(document, inputs), "vram.peak_fraction")
    assert finding["status"] == "pass" and finding["actual"] == 0.7


def test_a_reservation_that_got_nothing_is_not_told_to_halve_the_batch():
    finding = judging.finding(judged(outcome="oom_cuda", iterations=0, reservation="jax"), "vram.out_of_memory")
    assert finding["actual"] == "reservation" and "XLA_PYTHON_CLIENT_MEM_FRACTION" in finding["advice"] and "alve" not in finding["advice"]


SLOW = {"utilization_mean_fraction": 0.4, "utilization_p10_fraction": 0.3, "utilization_p90_fraction": 0.5}


@pytest.mark.parametrize("limiter, word, advice", [
    ("host_cpu", "host_cpu", "bound by the CPU"), ("io_wait", "io_wait", "waits for the storage"), ("swap", "swap", "swaps"),
    ("other_processes", "other_processes", "not with this job"),
    ("network", "network_link", "network"), (None, "unnamed", "loader workers"), ("thermal", "unnamed", "loader workers")])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_half_idle_gpus_point_to_the_data_side_and_name_what_limits(limiter, word, advice, language):
    document, inputs = probed(gpu=SLOW, limiter=limiter)
    entry = judging.judged(document, inputs, language=language)
    finding = judging.finding(entry, "workload.data_side")
    assert finding["status"] == "warn" and finding["actual"] == word and "40" in finding["message"]
    assert finding["advice"] == messages.text(language, "advice.data_side." + word)
    assert language == "zh" or advice in finding["advice"]


@pytest.mark.parametrize("mean, expected", [(0.29, "warn"), (0.30, "warn"), (0.50, "warn"), (0.51, "pass"), (0.95, "pass")])
def test_where_the_data_side_begins(mean, expected):
    document, inputs = probed(gpu={"utilization_mean_fraction": mean}, data_wait_fraction=None)
    assert judging.status(judging.judged(document, inputs), "workload.data_side") == expected


def test_a_job_that_uses_no_gpu_is_no_question_of_data():
    document, inputs = probed(gpu={"utilization_mean_fraction": 0.02}, data_wait_fraction=None, peak=0.001)
    assert "workload.data_side" not in [found["check"] for found in judging.judged(document, inputs)["findings"]]


def test_vram_that_still_grows_is_no_steady_job():
    line = {"memory_used_bytes": [10, 20, 30, 40], "utilization_fraction": [0.4] * 4}
    growing = {"interval_seconds": 1, "t": [0, 1, 2, 3], "gpu": {"0": line}}
    assert judging.status(judged(gpu=SLOW, series=growing), "workload.data_side") == "pass"
    line["memory_used_bytes"] = [10, 20, 40, 40]
    assert judging.status(judged(gpu=SLOW, series=growing), "workload.data_side") == "warn"


@pytest.mark.parametrize("said", [True, False])
def test_gpus_that_the_job_does_not_use_dont_count_and_are_named(said):
    document, inputs = probed()
    for number, entry in enumerate(document["measurements"][0]["result"]["gpus"]):
        if number:
            entry.update(utilization_mean_fraction=0.0, memory_used_peak_bytes=0, idle_fraction=1.0)
        if said:
            entry["in_use"] = number == 0
    entry = judging.judged(document, inputs)
    assert entry["metrics"]["workload.gpu_utilization_mean_fraction"] == 0.93 and judging.status(entry, "workload.data_side") == "pass"
    assert judging.status(entry, "compute.gpu_idle_fraction") == "pass" and entry["metrics"]["compute.gpu_idle_fraction"] == 0.1
    finding = judging.finding(entry, "workload.unused_gpus")
    assert finding["status"] == "warn" and finding["actual"] == 7 and "GPU 3: utilisation 0 %" in finding["message"]
    assert "GPU 0:" not in finding["message"] and "torchrun" in judging.shipped("training")["checks"]["workload.unused_gpus"]["advice"]["zh"]


def test_a_job_that_uses_every_gpu_leaves_none_unused_and_one_that_was_not_sampled_says_nothing():
    assert judged()["metrics"]["workload.unused_gpus"] == 0
    document, inputs = probed()
    document["measurements"][0]["result"]["gpus"] = []
    assert "workload.unused_gpus" not in [found["check"] for found in judging.judged(document, inputs)["findings"]]


def test_what_the_job_took_of_the_processors_is_in_the_evidence():
    cpu = {"busy_fraction": 0.93, "busiest_core_fraction": 0.97, "iowait_fraction": 0.01, "job_cores": 0.04, "cpus": 2}
    finding = judging.finding(judged(gpu=SLOW, limiter="other_processes", cpu=cpu), "workload.data_side")
    assert "the job itself used 0.04 cores of it" in finding["message"] and "the job read" in finding["message"]
    assert "other processes on the host's CPUs" in finding["message"]


def second(document, **changed):
    """A later probe of another command beside the one that is there."""
    first = document["measurements"][0]
    later = dict(first, target="python3 eval.py (/srv)", finished="2026-11-29T13:10:00Z", result=dict(first["result"], **changed))
    document["measurements"].append(later)
    return later


def test_of_several_commands_the_newest_counts_and_the_finding_names_it():
    document, inputs = probed()
    second(document, epoch_seconds=None, outcome="failed", exit_code=3, iterations=0)
    finding = judging.finding(judging.judged(document, inputs), "workload.outcome")
    assert finding["actual"] == "failed" and "with python3 eval.py (/srv)" in finding["message"] and "also probed: train.py" in finding["message"]
    peak = judging.finding(judging.judged(document, inputs), "vram.peak_fraction")
    assert peak["status"] == "unknown" and "(python3 eval.py (/srv)) failed with exit code 3" in peak["message"]


def test_a_command_that_never_started_hides_no_other():
    document, inputs = probed()
    second(document, epoch_seconds=None, outcome="not_started", error="argv: the command x isn't there")
    entry = judging.judged(document, inputs)
    assert judging.status(entry, "workload.outcome") == "pass" and entry["metrics"]["workload.epoch_seconds"] == 900


@pytest.mark.parametrize("field, metric", [
    ("read_bytes_per_second", "workload.read_bytes_per_second"), ("epoch_seconds", "workload.epoch_seconds")])
def test_nothing_is_a_figure_too(field, metric):
    assert judged(**{field: 0.0})["metrics"][metric] == 0


@pytest.mark.parametrize("share, expected", [(0.30, "pass"), (0.31, "warn"), (0.99, "warn")])
def test_waiting_for_data(share, expected):
    document, inputs = probed(data_wait_fraction=share)
    entry = judging.judged(document, inputs)
    assert judging.status(entry, "workload.data_wait_fraction") == expected
    advice = judging.shipped("training")["checks"]["workload.data_wait_fraction"]["advice"]
    assert "ix data format, cache, storage class before buying GPUs" in advice["en"] and "GPU" in advice["zh"]
    assert entry["verdict"] == ("ready" if expected == "pass" else "ready_with_warnings")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("gpus", [[], None])
def test_waiting_alone_says_nothing_of_vram_and_gpus(gpus, language):
    document, inputs = probed(data_wait_fraction=0.6)
    result = document["measurements"][0]["result"]
    result["gpus"] = result["gpus"] if gpus is None else gpus
    finding = judging.finding(judging.judged(document, inputs, language=language), "workload.data_side")
    assert finding["status"] == "warn" and finding["advice"] == messages.text(language, "advice.data_side.wait_only")
    assert "idle" not in finding["advice"] and "VRAM" not in finding["advice"] and "显存" not in finding["advice"]


@pytest.mark.parametrize("events, word, status", [
    ({"sw_thermal_slowdown": 11.0}, "thermal", "warn"), ({"hw_thermal_slowdown": 50.0}, "thermal", "warn"),
    ({"sw_thermal_slowdown": 9.0}, "none", "pass"),
    ({"hw_power_brake_slowdown": 20.0}, "power_brake", "warn"), ({"sw_power_cap": 90.0}, "power_limit", "pass")])
def test_clocks_that_were_held_down(events, word, status):
    finding = judging.finding(judged(gpu={"clock_event_seconds": events}), "workload.capped")
    assert (finding["actual"] if status == "warn" else word, finding["status"]) == (word, status)
    assert status == "pass" or finding["evidence"]


def test_a_lowered_power_limit_is_named():
    document, inputs = probed(gpu={"clock_event_seconds": {"sw_power_cap": 90.0}})
    for gpu in document["facts"]["gpu"]["gpus"]:
        gpu["power_limit_watts"] = gpu["power_limit_default_watts"] * 0.7
    finding = judging.finding(judging.judged(document, inputs), "workload.capped")
    assert finding["actual"] == "power_limit_lowered" and "nvidia-smi -pl" in finding["advice"]


@pytest.mark.parametrize("field", ["power_limit_watts", "power_limit_default_watts"])
def test_a_power_limit_that_is_not_known_is_not_a_lowered_one(field):
    document, inputs = probed(gpu={"clock_event_seconds": {"sw_power_cap": 90.0}})
    for gpu in document["facts"]["gpu"]["gpus"]:
        gpu[field] = None
    assert judging.status(judging.judged(document, inputs), "workload.capped") == "pass"


def test_swapping():
    memory = {"swap_in_bytes": 150 * 10**6, "swap_out_bytes": 50 * 10**6}
    finding = judging.finding(judged(memory=memory), "memory.swap_bytes_per_second")
    assert finding["status"] == "warn" and finding["actual"] == 2e6


@pytest.mark.parametrize("share, expected", [(0.005, "pass"), (0.05, "warn")])
def test_left_over_processes(share, expected):
    document, inputs = probed()
    entry = document["measurements"][0]["result"]["gpus"][3]
    entry["memory_other_bytes"] = int(share * (entry["memory_total_bytes"] - entry["memory_reserved_bytes"]))
    finding = judging.finding(judging.judged(document, inputs), "vram.left_over_fraction")
    assert finding["status"] == expected and (expected == "pass" or "GPU 3" in finding["message"])


@pytest.mark.parametrize("field", ["gpus", "memory", "cpu", "series", "outcome", "iterations", "duration_seconds", "limiter", "reservation",
                                   "framework_peak_bytes", "data_wait_fraction", "epoch_seconds", "out_of_memory"])
@pytest.mark.parametrize("value", [None, "x", -1, [], {}, [1], {"gpu": 5}, {"gpu": {"0": 7}}, True, float("inf")])
def test_odd_results_never_break_judging(field, value):
    document, inputs = probed(gpu=SLOW)
    document["measurements"][0]["result"][field] = value
    assert judging.judged(document, inputs)["verdict"]
