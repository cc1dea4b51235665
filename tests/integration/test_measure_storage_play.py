# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The playbook measure with a real fio: announced, measured, kept, judged; nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import tempfile

import pytest
from playbook_site import LOCAL, Site

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="no fio")

SMALL = {"measure_storage_quick": True, "measure_storage_size_bytes": "4 MiB", "measure_storage_numjobs": 2, "measure_storage_file_count": 20,
         "measure_storage_runtime_seconds": 2}


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path)
    (made.folder / "data").mkdir()
    data = str(made.folder / "data")
    form = {"kind": "training", "dataset_path": data, "input_sample_bytes": "100 KB", "dataset_layout": "files", "checkpoints_path": data,
            "checkpoint_bytes": "1 MB", "checkpoint_interval_minutes": 60}
    made.inventory({"a": dict(LOCAL, measure_storage_path=data)}, dict(SMALL, gpu_audit_policy="training", gpu_audit_workload=form))
    return made


def test_measured_then_judged(site):
    done = site.play("measure")
    assert done.returncode == 0 and "a: storage_benchmark in %s: at most" % (site.folder / "data") in done.stdout, done.stdout
    assert list((site.folder / "data").iterdir()) == []
    (path,) = site.output.glob("measurements/a/storage_benchmark-*.json")
    kept = json.loads(path.read_text())
    assert kept["result"]["small_file_bytes_per_second"] > 0 and kept["result"]["jobs"]["small_files"]["file_size_bytes"] == 100000
    assert site.play("audit").returncode == 0
    entry = site.report()["hosts"][0]
    found = {finding["check"]: finding for finding in entry["findings"]}
    # The page cache answers this little: whatever came out, a cached figure is never given as a disk's.
    if kept["result"]["cached"]:
        assert "storage.read_bytes_per_second" not in entry["metrics"]
    assert entry["metrics"]["storage.checkpoint_write_bytes_per_second"] > 0 and found["storage.checkpoint_stall_fraction"]["status"] == "pass"
    assert "quick first look" in found["storage.checkpoint_stall_fraction"]["message"]
    assert found["storage.benchmark_differences"]["status"] == "warn" and "quick" in found["storage.benchmark_differences"]["message"]
    page = (site.latest / "report.html").read_text()
    assert "storage_benchmark" in page and "Closing record" in page


def test_check_only_announces(site):
    done = site.play("measure", "--check")
    assert done.returncode == 0 and "writes up to" in done.stdout, done.stdout
    assert list((site.folder / "data").iterdir()) == [] and not list(site.output.glob("measurements/a/*"))


def test_check_announces_reading_at_once_too(site):
    hosts = json.loads((site.folder / "hosts.json").read_text())["all"]
    site.inventory({name: hosts["hosts"]["a"] for name in "ab"}, dict(hosts.get("vars", {}), measure_storage_shared=True))
    done = site.play("measure", "--check")
    assert done.returncode == 0 and done.stdout.count("begins at the same moment on 2 hosts") == 2, done.stdout
    assert done.stdout.count("storage_benchmark in") == 4 and not list(site.output.glob("measurements/*/*"))


def test_a_directory_that_is_not_there_fails_the_play_and_is_kept_as_nothing(site):
    (site.folder / "data").rmdir()
    done = site.play("measure")
    assert done.returncode == 2 and str(site.folder / "data") in done.stdout, done.stdout
    # In the recap's way of counting: failed once, nothing ignored.
    assert done.stdout.count("make the directory first") <= 2 and "ignored=0" in done.stdout, done.stdout
    assert not list(site.output.glob("measurements/a/*.json"))
    assert site.play("audit").returncode == 0


@pytest.mark.parametrize("language, jobs, words", [
    ("en", [], "no jobs named; there are dataset_read"), ("en", ["mixd"], "unknown job mixd; there are dataset_read"),
    ("zh", ["mixd"], "没有测试 mixd；可用：dataset_read"), ("zh", [], "没有指定测试"),
])
def test_jobs_that_are_none_are_refused_in_one_sentence(site, language, jobs, words):
    settings = json.dumps({"measure_storage_jobs": jobs, "gpu_audit_language": language})
    done = site.play("measure", "-e", settings, ANSIBLE_STDOUT_CALLBACK="trainops.gpu_audit.progress")
    assert done.returncode == 2 and done.stdout.count(words) == 1, done.stdout
    assert "argument_spec" not in done.stdout and not list(site.output.glob("measurements/a/*.json"))


@pytest.mark.parametrize("language, words", [("en", "random read IOPS"), ("zh", "随机读 IOPS")])
def test_each_job_has_its_figure_on_the_console(site, language, words):
    done = site.play("measure", "-e", json.dumps({"measure_storage_jobs": ["mixed", "random_read"], "gpu_audit_language": language}))
    read, write = ("mixed: read", "mixed: write") if language == "en" else ("混合负载读取", "混合负载写入")
    assert done.returncode == 0 and all(word in done.stdout for word in (words, read, write)), done.stdout
    # Each of them is in the result that the next audit takes, beside what an earlier test gave.
    assert site.play("measure").returncode == 0 and site.play("audit").returncode == 0
    assert site.report()["hosts"][0]["metrics"]["storage.checkpoint_write_bytes_per_second"] > 0


def test_a_language_that_is_none_is_refused(site):
    done = site.play("measure", "-e", "gpu_audit_language=de", "--check")
    assert done.returncode == 2 and "gpu_audit_language: 'de' is none of en, zh" in done.stdout, done.stdout


def test_memory_is_called_memory_on_the_console_and_answers_nothing(site):
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm")
    folder = tempfile.mkdtemp(dir="/dev/shm")
    try:
        form = {"kind": "training", "dataset_path": folder, "input_sample_bytes": "100 KB", "dataset_layout": "shards"}
        site.inventory({"a": dict(LOCAL, measure_storage_path=folder, measure_storage_jobs=["dataset_read"])},
                       dict(SMALL, gpu_audit_policy="training", gpu_audit_workload=form))
        done = site.play("measure")
        assert done.returncode == 0 and "labelled memory" in done.stdout and "cached" not in done.stdout, done.stdout
    finally:
        os.rmdir(folder)
    (path,) = site.output.glob("measurements/a/storage_benchmark-*.json")
    assert json.loads(path.read_text())["result"]["buffered_label"] == "memory"
    assert site.play("audit").returncode == 0
    entry = site.report()["hosts"][0]
    # Why no check took it, test_judge_measurements.py holds: this machine may have no GPU, which is said first.
    assert "storage.read_bytes_per_second" not in entry["metrics"]
    said = [finding.get("message", "") for finding in entry["findings"]] + list(entry["absent"].values())
    assert not any("cached:" in words for words in said), said
