# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Judging what storage_benchmark measured: need, small files, checkpoints, cached results, closeness to the real load."""

from __future__ import annotations

import judging
import pytest

GIB, MB, GB = 2**30, 10**6, 10**9
FORM = {"samples_per_second_per_gpu": 100, "input_sample_bytes": 150000, "dataset_path": "/data/dataset"}
# 100 samples/s x 8 GPUs x 150 kB
NEEDED = 120 * MB


def measured(form=None, jobs=None, model="h100", **result):
    """(document, inputs) of an eight-GPU host whose storage test gave `result`; other measurements as usual."""
    document, inputs = judging.host(model)
    inputs["workload"] = dict(inputs["workload"], **FORM, **(form or {}))
    storage = next(entry for entry in document["measurements"] if entry["module"] == "storage_benchmark")
    storage["result"] = dict({"read_bytes_per_second": 10 * NEEDED, "cached": False, "quick": False, "jobs": jobs or {}}, **result)
    return document, inputs


def found(check, *args, **kwargs):
    return judging.finding(judging.judged(*measured(*args, **kwargs)), check)


def absent(entry, check):
    return check not in [finding["check"] for finding in entry["findings"]]


def sequential(**more):
    return dict({"block_size_bytes": 2**20, "size_bytes": 4 * GIB, "file_count": 4, "file_size_bytes": 4 * GIB, "engine": "psync"}, **more)


def small(**more):
    return dict({"block_size_bytes": 150000, "file_size_bytes": 150000, "file_count": 20000, "engine": "psync"}, **more)


# --- need ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio, expected", [(0.99, "fail"), (1, "warn"), (1.24, "warn"), (1.25, "pass")])
def test_read_speed_against_the_need(ratio, expected):
    assert found("storage.read_headroom_ratio", read_bytes_per_second=round(ratio * NEEDED))["status"] == expected


def probed(document, **result):
    next(entry for entry in document["measurements"] if entry["module"] == "workload_probe")["result"].update(result)


def test_the_need_comes_from_the_probe_where_the_form_lacks_it():
    document, inputs = measured(read_bytes_per_second=1200 * MB)
    del inputs["workload"]["samples_per_second_per_gpu"]
    inputs["workload"]["batch_size"] = 100
    # 100 samples in 2 s of which half is waiting: without waiting 100 samples/s.
    probed(document, iteration_seconds={"mean": 2.0}, data_wait_fraction=0.5)
    entry = judging.judged(document, inputs)
    assert entry["metrics"]["storage.needed_bytes_per_second"] == NEEDED
    assert entry["metrics"]["storage.read_headroom_ratio"] == 10


def test_without_form_and_probe_the_need_is_unknown():
    document, inputs = measured()
    del inputs["workload"]["samples_per_second_per_gpu"]
    finding = judging.finding(judging.judged(document, inputs), "storage.read_headroom_ratio")
    assert finding["status"] == "unknown" and "samples_per_second_per_gpu" in finding["message"]


@pytest.mark.parametrize("label, word", [("cached", "cached"), ("memory", "lies in memory")])
def test_a_result_out_of_memory_is_never_a_disks_speed(label, word):
    document, inputs = measured(jobs={"dataset_read": sequential(buffered_label=label)}, cached=True, read_bytes_per_second=99 * GB)
    entry = judging.judged(document, inputs)
    finding = judging.finding(entry, "storage.read_headroom_ratio")
    assert finding["status"] == "unknown" and word in finding["message"] and finding["advice"]
    assert "storage.read_bytes_per_second" not in entry["metrics"]


def test_cached_without_labels_of_the_jobs_counts_for_all():
    assert found("storage.read_headroom_ratio", cached=True)["status"] == "unknown"


def test_buffered_reads_off_the_disk_count():
    assert found("storage.read_headroom_ratio", jobs={"dataset_read": sequential(buffered_label="buffered")})["status"] == "pass"


# --- small files ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout, sequential_status", [(None, "pass"), ("files", "fail"), ("shards", "pass")])
def test_fast_in_sequence_and_slow_in_small_files_is_named(layout, sequential_status):
    form = {"dataset_layout": layout} if layout else {}
    document, inputs = measured(form, small_file_bytes_per_second=NEEDED // 4, jobs={"small_files": small(), "dataset_read": sequential()})
    entry = judging.judged(document, inputs)
    assert judging.status(entry, "storage.read_headroom_ratio") == sequential_status
    if layout == "files":
        assert "In sequence this storage is fast enough" in judging.finding(entry, "storage.read_headroom_ratio")["advice"]
    finding = judging.finding(entry, "storage.small_file_headroom_ratio")
    if layout == "shards":
        assert finding["status"] == "not_applicable"
    else:
        assert finding["status"] == "warn" and "where the GPUs take" in finding["message"]


@pytest.mark.parametrize("ratio, expected", [(0.5, "warn"), (1.24, "warn"), (1.25, "pass")])
def test_small_file_limits(ratio, expected):
    assert found("storage.small_file_headroom_ratio", small_file_bytes_per_second=round(NEEDED * ratio))["status"] == expected


# --- checkpoints ---------------------------------------------------------------------------------------------------------------------

CHECKPOINTS = {"checkpoint_bytes": 100 * GB, "checkpoint_interval_minutes": 60}


@pytest.mark.parametrize("seconds, expected", [(180, "pass"), (181, "warn"), (3599, "warn"), (3600, "fail")])
def test_checkpoint_stall(seconds, expected):
    finding = found("storage.checkpoint_stall_fraction", CHECKPOINTS, checkpoint_write_bytes_per_second=100 * GB / seconds)
    assert finding["status"] == expected


def test_a_checkpoint_interval_that_the_form_lacks():
    form = {"checkpoint_bytes": 100 * GB, "checkpoint_interval_minutes": None}
    finding = found("storage.checkpoint_stall_fraction", form, checkpoint_write_bytes_per_second=GB)
    assert finding["status"] == "unknown" and "checkpoint_interval_minutes" in finding["message"]


# --- what the data lies on -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind, layout, expected",
    [
        ("nvme", None, "pass"), ("ssd", None, "pass"), ("hdd", None, "warn"), ("hdd", "shards", "warn"), ("network", None, "pass"),
        ("network", "shards", "pass"), ("network", "files", "warn"), ("unknown", None, "unknown"),
    ],
)
def test_nvme_is_recommended(kind, layout, expected):
    document, inputs = measured({"dataset_layout": layout} if layout else {})
    for entry in document["facts"]["storage"]["paths"]:
        entry["kind"] = kind
    finding = judging.finding(judging.judged(document, inputs), "storage.dataset_medium")
    assert finding["status"] == expected
    assert "NVMe" in judging.shipped("base")["checks"][finding["check"]]["advice"]["en"]


@pytest.mark.parametrize("language, words", [("en", "virtual disk"), ("zh", "虚拟磁盘")])
def test_a_medium_that_cant_be_seen_is_unknown_and_says_what_hides_it(language, words):
    document, inputs = measured()
    for entry in document["facts"]["storage"]["paths"]:
        entry.update(kind="unknown", device="/dev/vda1", type="ext4")
    finding = judging.finding(judging.judged(document, inputs, language=language), "storage.dataset_medium")
    assert finding["status"] == "unknown" and words in finding["message"]
    assert "/dev/vda1, ext4" in finding["message"] and "/data/dataset" in finding["message"]


def test_a_medium_is_no_question_without_a_path_and_unknown_where_the_path_was_not_looked_at():
    document, inputs = measured()
    document["facts"]["storage"]["paths"] = []
    assert judging.status(judging.judged(document, inputs), "storage.dataset_medium") == "unknown"
    del inputs["workload"]["dataset_path"]
    assert absent(judging.judged(document, inputs), "storage.dataset_medium")


# --- is the test close to the real load? ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form, jobs, words",
    [
        ({"dataset_layout": "files"}, {"small_files": small()}, []),
        ({"dataset_layout": "files"}, {"dataset_read": sequential()}, ["blocks of", "files of"]),
        ({"dataset_layout": "files"}, {"small_files": small(file_size_bytes=150000 * 5)}, ["files of"]),
        ({"dataset_layout": "files"}, {"small_files": small(block_size_bytes=4096)}, ["blocks of 4.00 KiB where the form says"]),
        ({"dataset_layout": "files", "dataset_file_count": 10**6}, {"small_files": small(file_count=2000)}, ["2,000 files where the form says 1,000,000"]),
        ({"dataset_layout": "files", "dataset_file_count": 10**6}, {"small_files": small(file_count=20000)}, []),
        ({"dataset_layout": "files", "read_engine": "psync"}, {"small_files": small(engine="libaio")}, ["engine libaio where the form says psync"]),
        ({"dataset_layout": "files", "read_engine": "psync"}, {"small_files": small(engine="sync")}, []),
        ({"dataset_layout": "shards", "dataset_file_bytes": 2**29}, {"dataset_read": sequential()}, []),
        ({"dataset_layout": "shards", "dataset_file_bytes": 2**24}, {"dataset_read": sequential()}, ["files of"]),
    ],
)
def test_differences_from_the_real_load_are_named(form, jobs, words):
    finding = found("storage.benchmark_differences", form, jobs)
    assert finding["status"] == ("warn" if words else "pass") and finding["actual"] == len(words)
    for word in words:
        assert word in finding["message"]


def test_a_quick_look_is_told():
    finding = found("storage.benchmark_differences", {"dataset_layout": "files"}, {"small_files": small()}, quick=True)
    assert finding["status"] == "warn" and "quick" in finding["message"]


@pytest.mark.parametrize(
    "job, seconds, guide, words",
    [
        ("dataset_read", 0.027, False, ["another job than", "too short: 0.03 s"]),
        ("dataset_read", 4.9, None, ["too short: 4.9 s"]), ("dataset_read", 5, None, []),
        ("dataset_read", 60, False, ["another job than"]),
        # The guide's job that a fast disk ends early has read all its data.
        ("dataset_read", 1.6, True, []), ("dataset_read", 0.59, True, ["too short"]),
        ("small_files", 0.079, False, ["too short: 0.08 s"]), ("small_files", 2, False, []),
    ],
)
def test_a_test_that_is_too_short_or_not_the_guides_is_told(job, seconds, guide, words):
    form = {"dataset_layout": "files"} if job == "small_files" else {"dataset_layout": "shards", "dataset_file_bytes": 2**29}
    figures = (small if job == "small_files" else sequential)(read={"runtime_seconds": seconds}, guide_job=guide)
    finding = found("storage.benchmark_differences", form, {job: figures})
    assert finding["status"] == ("warn" if words else "pass") and finding["actual"] == len(words)
    assert all(word in finding["message"] for word in words)


# --- what is a hint and no answer ----------------------------------------------------------------------------------------------------

SOON = {"dataset_read": sequential(read={"runtime_seconds": 0.35})}


@pytest.mark.parametrize("language, quick, short", [
    ("en", "a quick look doesn't answer", "over too soon to answer"), ("zh", "快速初测不能作为结论", "时间过短，不能作为结论")])
@pytest.mark.parametrize("ratio", [0.94, 1.1, 10])
def test_a_quick_or_short_test_neither_fails_nor_passes_the_check_that_answers(ratio, language, quick, short):
    for words, more in ((quick, {"quick": True}), (short, {"jobs": SOON})):
        entry = judging.judged(*measured({"leans_on": ["throughput"]}, read_bytes_per_second=round(ratio * NEEDED), **more), language=language)
        finding = judging.finding(entry, "storage.read_headroom_ratio")
        assert finding["status"] == "unknown" and finding["answers"] and words in finding["message"] and finding["advice"]
        assert "2026-11-29" in finding["message"] and finding["evidence"]
        assert entry["checklist"]["storage"] == "unknown"


@pytest.mark.parametrize("ratio, expected", [(0.5, "warn"), (1.1, "warn"), (2, "pass")])
@pytest.mark.parametrize("more", [{"quick": True}, {"jobs": SOON}])
def test_a_quick_or_short_test_at_most_warns_where_nothing_is_answered_by_it(ratio, expected, more):
    finding = found("storage.read_headroom_ratio", {"leans_on": ["compute"]}, read_bytes_per_second=round(ratio * NEEDED), **more)
    assert finding["status"] == expected and ("quick" in finding["message"] or "too soon" in finding["message"])


@pytest.mark.parametrize("more, expected", [
    ({"quick": True}, "warn"), ({}, "fail"),
    ({"jobs": {"checkpoint_write": {"size_bytes": 4 * GIB, "write": {"runtime_seconds": 0.2}}}}, "fail"),
    ({"jobs": {"checkpoint_write": {"size_bytes": 4 * GIB, "write": {"runtime_seconds": 0.09}}}}, "warn"),
    ({"jobs": {"checkpoint_write": {"size_bytes": GIB, "write": {"runtime_seconds": 4}}}}, "warn")])
def test_a_checkpoint_that_takes_too_long_in_a_quick_look_warns(more, expected):
    assert found("storage.checkpoint_stall_fraction", CHECKPOINTS, checkpoint_write_bytes_per_second=GB / 1000, **more)["status"] == expected


def test_a_larger_test_than_the_full_one_needs_no_five_seconds():
    jobs = {"dataset_read": sequential(numjobs=8, guide_job=False, read={"runtime_seconds": 2})}
    assert found("storage.read_headroom_ratio", jobs=jobs)["status"] == "pass"


# --- several tests of one directory --------------------------------------------------------------------------------------------------


def later(document, finished, **result):
    """A newer storage test of the same directory beside the one there is."""
    first = next(entry for entry in document["measurements"] if entry["module"] == "storage_benchmark")
    document["measurements"].append(dict(first, finished=finished, result=result))


def test_a_later_test_of_other_jobs_takes_nothing_away():
    document, inputs = measured({**CHECKPOINTS, "leans_on": ["throughput"]}, small_file_bytes_per_second=2 * NEEDED, checkpoint_write_bytes_per_second=GB)
    before = judging.judged(document, inputs)
    later(document, "2026-11-29T13:00:00Z", random_read_iops=1000, mixed_read_bytes_per_second=GB)
    after = judging.judged(document, inputs)
    for check in ("storage.read_headroom_ratio", "storage.small_file_headroom_ratio", "storage.checkpoint_stall_fraction"):
        assert judging.finding(after, check) == judging.finding(before, check) and judging.status(after, check) in ("pass", "warn")


def test_each_job_counts_by_its_newest_test_and_says_which():
    document, inputs = measured({"leans_on": ["throughput"]}, small_file_bytes_per_second=NEEDED // 2, read_bytes_per_second=NEEDED // 4)
    later(document, "2026-11-29T13:00:00Z", read_bytes_per_second=NEEDED // 2)
    entry = judging.judged(document, inputs)
    assert entry["metrics"]["storage.read_headroom_ratio"] == 0.5
    assert "13:00 UTC" in judging.finding(entry, "storage.read_headroom_ratio")["message"]
    assert "12:10 UTC" in judging.finding(entry, "storage.small_file_headroom_ratio")["message"]


@pytest.mark.parametrize("weak", [{"quick": True}, {"jobs": SOON}, {"jobs": {"dataset_read": sequential(buffered_label="cached")}}])
def test_a_later_test_that_answers_nothing_hides_none_that_does(weak):
    document, inputs = measured({"leans_on": ["throughput"]}, read_bytes_per_second=2 * NEEDED)
    later(document, "2026-11-29T13:00:00Z", read_bytes_per_second=NEEDED // 4, **weak)
    finding = judging.finding(judging.judged(document, inputs), "storage.read_headroom_ratio")
    assert (finding["status"], finding["actual"]) == ("pass", 2)


def test_only_other_jobs_say_that_the_read_speed_is_missing():
    finding = found("storage.read_headroom_ratio", read_bytes_per_second=None, random_read_iops=9)
    assert finding["status"] == "unknown" and "read_bytes_per_second" in finding["message"]


def test_few_small_files_need_time():
    jobs = {"small_files": small(file_count=2000, read={"runtime_seconds": 2})}
    assert "too short" in found("storage.benchmark_differences", {"dataset_layout": "files"}, jobs)["message"]


def test_without_a_sample_shape_there_is_nothing_to_compare():
    finding = found("storage.benchmark_differences", {}, {"dataset_read": sequential()})
    assert finding["status"] == "not_applicable"


# --- several hosts, and hosts that weren't measured ----------------------------------------------------------------------------------


def test_several_hosts_at_once_inform():
    shared = {"alone_bytes_per_second": GB, "together_bytes_per_second": GB // 4}
    finding = found("storage.shared_read_ratio", hosts_at_once=4, shared=shared)
    assert (finding["status"], finding["actual"]) == ("pass", 0.25)


def test_a_light_audit_lists_nothing_that_it_was_not_asked_for():
    document, inputs = judging.host(measured=False)
    entry = judging.judged(document, inputs)
    optional = ["storage.small_file_headroom_ratio", "storage.checkpoint_stall_fraction", "storage.benchmark_differences",
                "workload.outcome", "workload.data_wait_fraction", "workload.data_side", "workload.capped",
                "memory.swap_bytes_per_second", "vram.out_of_memory",
                "vram.left_over_fraction", "memory.out_of_memory", "storage.shared_read_ratio"]
    assert all(absent(entry, check) for check in optional) and not set(optional) & set(entry["absent"])
    assert judging.status(entry, "storage.read_headroom_ratio") == "unknown"


def test_a_failed_test_says_why():
    document, inputs = measured()
    storage = next(entry for entry in document["measurements"] if entry["module"] == "storage_benchmark")
    del storage["result"]
    storage["error"] = "fio: not found"
    finding = judging.finding(judging.judged(document, inputs), "storage.read_headroom_ratio")
    assert finding["status"] == "unknown" and "fio: not found" in finding["message"]


@pytest.mark.parametrize("target, message", [
    ("/data", "failed: no room"), ("/data/dataset", "failed: no room"), ("/scratch", "has not been run")])
def test_a_failure_is_shown_where_it_is_of_the_forms_path(target, message):
    document, inputs = measured()
    storage = next(entry for entry in document["measurements"] if entry["module"] == "storage_benchmark")
    del storage["result"]
    storage.update(error="no room", target=target)
    finding = judging.finding(judging.judged(document, inputs), "storage.read_headroom_ratio")
    assert finding["status"] == "unknown" and message in finding["message"]
