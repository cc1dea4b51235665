# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The named jobs: the guide's to the letter, sizes and counts, what is announced."""

from __future__ import annotations

import pytest

from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import fio_jobs

GIB = 1 << 30


def one(name, **options):
    return fio_jobs.jobs([name], **options)[0]


def test_dataset_read_is_the_guides_job_to_the_letter():
    job = one("dataset_read")
    assert fio_jobs.arguments(job, "/data/x") == [
        "--name=dataset_read", "--directory=/data/x", "--rw=read", "--bs=1M", "--size=4G", "--numjobs=4", "--runtime=60",
        "--group_reporting", "--output-format=json"]
    assert job.guide and not one("dataset_read", quick=True).guide and not one("dataset_read", numjobs=8).guide


def test_the_quick_form_is_smaller_and_each_figure_can_be_given():
    quick = one("dataset_read", quick=True)
    assert (quick.size_bytes, quick.numjobs, quick.runtime_seconds) == (256 << 20, 4, 10)
    own = one("dataset_read", quick=True, size_bytes=8 << 20, numjobs=2, runtime_seconds=3)
    assert (own.size_bytes, own.numjobs, own.runtime_seconds, own.layout_bytes) == (8 << 20, 2, 3, 16 << 20)


def test_small_files_have_the_samples_size_and_are_opened_one_by_one():
    job = one("small_files", sample_bytes=114660, file_count=1000)
    made = fio_jobs.arguments(job, "/data/x")
    assert {"--nrfiles=250", "--filesize=114660", "--openfiles=1", "--file_service_type=random:1", "--bs=114660", "--numjobs=4"} < set(made)
    assert job.file_count == 1000 and job.layout_bytes == job.read_bytes == 114660 * 1000


def test_a_large_sample_is_read_whole_in_blocks_before_the_next_file():
    job = one("small_files", sample_bytes=(5 << 20) + 1)
    assert {"--bs=1M", "--file_service_type=random:6"} < set(fio_jobs.arguments(job, "/d"))
    # No more bytes than the sequential job has.
    assert job.layout_bytes <= 16 * GIB and job.file_count % 4 == 0
    huge = one("small_files", sample_bytes=20 * GIB)
    assert huge.file_count == 4 and huge.layout_bytes == 80 * GIB


def test_random_read_is_deep_and_past_the_page_cache():
    job = one("random_read")
    made = fio_jobs.arguments(job, "/d", job.engines[0], job.direct)
    assert {"--rw=randread", "--bs=4k", "--iodepth=64", "--ioengine=libaio", "--direct=1"} < set(made) and job.engines[-1] == "psync"


def test_a_checkpoint_is_one_stream_and_counts_when_it_is_on_the_disk():
    job = one("checkpoint_write")
    made = fio_jobs.arguments(job, "/d")
    assert {"--rw=write", "--bs=1M", "--size=4G", "--numjobs=1", "--end_fsync=1"} < set(made)
    assert (job.layout_bytes, job.written_bytes, job.read_bytes) == (0, 4 * GIB, 0)


def test_mixed_reads_while_a_checkpoint_is_written_and_both_end_together():
    made = fio_jobs.arguments(one("mixed"), "/d", None, True)
    reader, writer = made.index("--name=mixed_read"), made.index("--name=mixed_write")
    assert made.index("--exitall") < reader < writer and made.count("--direct=1") == 2 and "--rw=write" in made[writer:]


def test_what_is_announced():
    jobs = fio_jobs.jobs(["dataset_read", "checkpoint_write", "small_files"])
    limits = [fio_jobs.time_limit(job) for job in jobs]
    made = fio_jobs.announced(jobs, limits)
    assert made["bytes_written"] == 16 * GIB + 4 * GIB + 20000 * 131072
    # One after another, each removed before the next.
    assert made["bytes_on_disk"] == 16 * GIB and made["files"] == 20000 and made["seconds"] == sum(limits)
    # 16 GiB at 20 MB/s, and a minute of reading.
    assert 859 + 60 < limits[0] < 859 + 60 + 60


def test_names_given_twice_are_measured_once():
    assert [job.name for job in fio_jobs.jobs(["mixed", "dataset_read", "mixed"])] == ["mixed", "dataset_read"]


@pytest.mark.parametrize("names, options, words", [
    (["read"], {}, "unknown job read; there are dataset_read"), ([], {}, "no jobs named"),
    (["mixed"], {"numjobs": 0}, "numjobs must be at least 1"),
    (["mixed"], {"size_bytes": 4096}, "size_bytes must be at least 1048576"), (["mixed"], {"runtime_seconds": 0}, "runtime_seconds"),
    (["small_files"], {"sample_bytes": 0}, "sample_bytes"), (["small_files"], {"file_count": -1}, "file_count"),
    (["mixed"], {"numjobs": 10 ** 6}, "numjobs must be at most 4096"),
    (["mixed"], {"runtime_seconds": 10 ** 30}, "runtime_seconds must be at most"),
    (["mixed"], {"size_bytes": 10 ** 30}, "size_bytes must be at most"), (["small_files"], {"sample_bytes": 10 ** 30}, "sample_bytes")])
def test_what_cannot_be_is_refused(names, options, words):
    with pytest.raises(ValueError, match=words):
        fio_jobs.jobs(names, **options)


def test_fio_reads_a_colon_as_a_separator():
    assert fio_jobs.arguments(one("dataset_read"), "/a:b\\c")[1] == "--directory=/a\\:b\\c"
