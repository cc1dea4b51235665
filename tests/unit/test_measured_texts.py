# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What findings on measurements say: figures in units for people, what was needed, when it was measured; no names of fields."""

from __future__ import annotations

import re

import judging
import measured_samples
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import measured_texts

FIELD = re.compile(r"\b[a-z]+_[a-z_]+\b")
# Names of jobs and fields of the form that a reader looks up stay as they are.
KNOWN = {"small_files", "dataset_read", "storage_benchmark", "workload_probe", "data_set"}


def messages_of(pair, language):
    entry = judging.judged(*pair, language=language)
    return {finding["check"]: finding for finding in entry["findings"]}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_field_name_and_the_moment_in_every_complaint(language):
    found = [finding for finding in messages_of(measured_samples.troubled(), language).values() if finding["status"] in ("warn", "fail")]
    assert len(found) >= 12
    for finding in found:
        assert not set(FIELD.findall(finding["message"])) - KNOWN, finding
        assert "2026-11-29 12:10 UTC" in finding["message"], finding


@pytest.mark.parametrize(
    "check, words",
    [
        (
            "storage.read_headroom_ratio",
            "0.16×; required: ≥ 1×. Small files are read at 858 MiB/s where the GPUs take 5.36 GiB/s. Measured",
        ),
        ("storage.checkpoint_stall_fraction", "Checkpoints are written at 334 MiB/s, so one takes 2 min 3 s of every 30 min."),
        ("vram.peak_fraction", "GPU 0 peaked at 68.8 GiB of 79.1 GiB usable."),
        ("workload.data_side", "The GPUs were busy 36.2 % of the time (from 23 % to 53 %); the job waited for data 47 % of it"),
        ("workload.capped", "GPU 0: heat, 41 % of the time"),
        ("vram.left_over_fraction", "GPU 0: 3.00 GiB held by others"),
        ("memory.swap_bytes_per_second", "154 MiB/s; required: ≤ 1.00 MiB/s. Measured"),
        ("scaling.efficiency_fraction", "8 GPUs: 3 min 51 s, 3.46 times as fast (43.3 % each)"),
        ("storage.benchmark_differences", "small_files: blocks of 117 KiB where the form says 1.00 MiB. "),
    ],
)
def test_a_complaint_says_what_was_seen(check, words):
    assert words.lower() in messages_of(measured_samples.troubled(), "en")[check]["message"].lower()


@pytest.mark.parametrize(
    "check, words",
    [
        (
            "storage.read_headroom_ratio",
            "小文件读取 858 MiB/s，GPU 需要 5.36 GiB/s。测于 2026-11-29 12:10 UTC，4 台主机同时读取。",
        ),
        ("storage.checkpoint_stall_fraction", "检查点写入 334 MiB/s，单个耗时 2 分钟 3 秒，每 30 分钟写一次。"),
        ("vram.peak_fraction", "GPU 0 峰值 68.8 GiB（可用 79.1 GiB）。"),
        ("scaling.efficiency_fraction", "8 个 GPU：3 分钟 51 秒，加速 3.46 倍（效率 43.3 %）"),
    ],
)
def test_a_complaint_in_chinese(check, words):
    assert words in messages_of(measured_samples.troubled(), "zh")[check]["message"]


@pytest.mark.parametrize(
    "language, quick, buffered, superlinear",
    [
        ("en", "quick first look", "(buffered)", "super-linear: suspect caches or a cold first run"),
        ("zh", "快速初测", "（buffered）", "超线性：疑似缓存影响，或最少 GPU 的首次运行未预热"),
    ],
)
def test_what_passes_says_what_its_measurement_is(language, quick, buffered, superlinear):
    def change(probe, storage):
        storage["quick"] = True
        storage["jobs"]["dataset_read"]["buffered_label"] = "buffered"
        probe["scaling"]["seconds"] = {"1": 800, "2": 350}

    found = messages_of(measured_samples.host(change=change), language)
    headroom = found["storage.read_headroom_ratio"]
    assert headroom["status"] == "unknown" and quick in headroom["message"] and buffered in headroom["message"]
    stall = found["storage.checkpoint_stall_fraction"]
    assert stall["status"] == "pass" and quick in stall["message"]
    assert found["scaling.efficiency_fraction"]["status"] == "pass" and superlinear in found["scaling.efficiency_fraction"]["message"]


@pytest.mark.parametrize("label", ["cached", "memory"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_out_of_memory_is_named(label, language):
    def change(_probe, storage):
        storage["cached"] = True
        for job in storage["jobs"].values():
            job["buffered_label"] = label

    found = messages_of(measured_samples.host(change=change), language)
    assert found["storage.read_headroom_ratio"]["status"] == "unknown"
    assert found["storage.read_headroom_ratio"]["message"].startswith(label)
    # A checkpoint written to memory is no disk's; one that is synced passes whatever cache answered the reads.
    assert found["storage.checkpoint_stall_fraction"]["status"] == ("unknown" if label == "memory" else "pass")


def test_other_evidence_is_left_alone():
    evidence = [{"what": "GPU 0", "value": 3, "source": "nvml"}]
    assert measured_texts.told("gpu.errors", evidence, "en") is None
    assert measured_texts.told("gpu.errors", [], "en") is None


@pytest.mark.parametrize("value", [None, "x", 10**400, float("nan"), float("inf"), -1, 1e308, [], {"a": 1}, "<b>\n\u202e"])
@pytest.mark.parametrize(
    "what", ["needed_bytes_per_second", "checkpoint_seconds", "GPU 0", "8 GPU: x s, y x", "small_files quick", "error"]
)
@pytest.mark.parametrize("metric", ["", "storage.benchmark_differences", "scaling.efficiency_fraction"])
def test_odd_evidence_makes_no_traceback(metric, what, value):
    evidence = [{"what": what, "value": value, "source": "workload_probe ?"}]
    assert isinstance(measured_texts.told(metric, evidence, "zh"), str)
