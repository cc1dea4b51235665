# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What storage_benchmark says in sentences that are put together has its Chinese, and figures in them are for people."""

from __future__ import annotations

import re

import pytest

from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import fio_jobs, fio_run, storage
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure.figures import bytes_text
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.run_program import ProgramResult
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints, numbers

# Words of systems and tools, names, and what people type.
LEFT = re.compile(r"fio\S*|SIG[A-Z]+|ulimit -f|version|Segfault|exec format error|gpu_audit\w*|prepare|true|apt-get install", re.IGNORECASE)


def ended(rc=0, stdout="", stderr="", **more):
    fields = dict({"argv": [], "rc": rc, "stdout": stdout, "stderr": stderr, "timed_out": False, "stuck": False, "truncated": False,
                   "missing": False, "not_permitted": False, "duration_seconds": 1.0}, **more)
    return ProgramResult(**fields)


def chinese(sentence):
    """The sentence in Chinese, without anything left that was English."""
    said = complaints.say(sentence, "zh")
    assert not re.search("[A-Za-z]{4}", LEFT.sub("", said)), (sentence, said)
    return said


@pytest.mark.parametrize("done, words", [
    (ended(139, "", "Segfault"), "status 139: Segfault"), (ended(-11), "SIGSEGV: it said nothing"), (ended(3), "status 3: it said nothing"),
    (ended(-9, "x"), "SIGKILL: x"), (ended(0, "hello"), "is not fio"), (ended(0, "fio-2.21"), "too old"),
    (ended(None, missing=True), "interpreter"), (ended(None, stderr="/f: Exec format error"), "Exec format error"),
    (ended(-9, timed_out=True), "no answer")])
def test_an_fio_that_cannot_be_used_is_said_in_both_languages(done, words):
    with pytest.raises(fio_run.NoFio) as caught:
        fio_run.version("/f", "ID=debian\n", run=lambda _argv, _seconds: done)
    assert words in str(caught.value)
    chinese(str(caught.value).replace("hello", "5"))


def test_an_fio_that_was_named_is_said_in_both_languages(tmp_path):
    (tmp_path / "plain").write_text("x")
    for path in (tmp_path, tmp_path / "plain"):
        with pytest.raises(fio_run.NoFio) as caught:
            fio_run.program(str(path))
        chinese(str(caught.value).replace(str(path), "/f"))


def test_a_limit_on_file_sizes_is_said_in_both_languages():
    said = fio_run._failure(ended(-25), {"jobs": [], "errors": []}, "")
    assert "SIGXFSZ" in said and "ulimit -f" in said and "大小限制" in chinese(said)


@pytest.mark.parametrize("kind, english, translated", [("unknown", "(ext4, medium unknown)", "（ext4，介质未知）"), ("nvme", "(ext4, nvme)", "（ext4，NVMe）")])
def test_a_medium_that_cannot_be_seen_is_said_to_be_unknown(kind, english, translated, tmp_path):
    system = {"type": "ext4", "kind": kind, "mount_point": "/data", "device": "/dev/vda1", "network": False}
    said = storage._said({"file_system": system, "path": str(tmp_path)}, [], {"bytes_on_disk": 5}, {})[0]
    assert said.endswith(english) and translated in complaints.say("dataset_read" + said, "zh")


def test_an_empty_list_of_jobs_is_refused_and_none_is_the_default(tmp_path):
    with pytest.raises(ValueError, match="no jobs named; there are dataset_read, small_files"):
        storage.plan({"path": str(tmp_path), "jobs": []})


def test_ansibles_own_sentence_on_a_choice_has_its_chinese():
    said = complaints.say("value of scaling_basis must be one of: step, epoch, got: steps", "zh")
    assert said == "scaling_basis 必须是下列之一：step, epoch，而不是 steps"


def test_the_folders_of_other_tests_are_told_in_both_languages():
    for sentence in storage._OTHERS.values():
        chinese(sentence % "5")


@pytest.mark.parametrize("count", [0, 1, 1023, 1024, 10 ** 6, 4 << 30, 75965702144, 1 << 50, 3 << 60])
def test_sizes_are_written_as_in_reports(count):
    assert bytes_text(count) == numbers.format_bytes(count)


@pytest.mark.parametrize("options, words", [
    ({"size_bytes": 1}, "size_bytes must be at least 1048576 (1.00 MiB), not 1"), ({"numjobs": 4097}, "numjobs must be at most 4096, not 4097"),
    ({"runtime_seconds": 604801}, "runtime_seconds must be at most 604800, not 604801"),
    ({"file_count": 10 ** 9 + 1}, "file_count must be at most 1000000000, not"),
    ({"size_bytes": (1 << 50) + 1}, "size_bytes must be at most 1125899906842624 (1.00 PiB), not"),
    ({"sample_bytes": (1 << 50) + 1}, "sample_bytes must be between 1 and 1125899906842624 (1.00 PiB), not")])
def test_figures_beyond_their_limits_are_refused_with_them(options, words):
    with pytest.raises(ValueError) as caught:
        fio_jobs.jobs(["dataset_read"], **options)
    assert words in str(caught.value)
    assert re.search("[\u4e00-\u9fff]", complaints.say(str(caught.value), "zh"))
