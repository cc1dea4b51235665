# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The named jobs of storage_benchmark: what each does, what it writes and reads, and fio's arguments for it. Pure.

Options of fio: https://fio.readthedocs.io/en/latest/fio_doc.html#job-parameters
"""

from __future__ import annotations

import collections

from .figures import bytes_text

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
NAMES = ("dataset_read", "small_files", "random_read", "checkpoint_write", "mixed")
# The audit guide's job: --rw=read --bs=1M --size=4G --numjobs=4 --runtime=60 --group_reporting.
FULL = {"size_bytes": 4 * GIB, "numjobs": 4, "runtime_seconds": 60, "file_count": 20000}
QUICK = {"size_bytes": 256 * MIB, "numjobs": 4, "runtime_seconds": 10, "file_count": 2000}
# Without a form: about one ImageNet picture.
SAMPLE_BYTES = 128 * KIB
RANDOM_DEPTH = 64
_ASYNCHRONOUS = ("libaio", "io_uring", "psync")
# Below this a disk laying out files counts as hanging: a worn hard disk or a busy share does better.
SLOWEST_BYTES_PER_SECOND = 20 * 1000 * 1000
SLOWEST_FILES_PER_SECOND = 100
# Start, the fsync at the end and fio's own sums.
SPARE_SECONDS = 30

# name -> (least, most). fio can't start more jobs; nobody measures for longer, or more than all storage there is.
_RANGES = {"size_bytes": (MIB, 1 << 50), "numjobs": (1, 4096), "runtime_seconds": (1, 7 * 86400), "file_count": (1, 10 ** 9)}

Job = collections.namedtuple(
    "Job", "name size_bytes numjobs runtime_seconds file_count file_size_bytes block_size_bytes queue_depth direct engines "
           "layout_bytes written_bytes read_bytes guide")
Job.__doc__ = """One named job.

size_bytes: of one of the numjobs readers or writers; file_count, file_size_bytes: over all of them; engines: to try in this order, null is
fio's own default; layout_bytes: written before the measuring begins; written_bytes, read_bytes: moved at most while it lasts;
guide: whether it is the audit guide's job to the letter."""


def jobs(names, quick=False, size_bytes=None, numjobs=None, runtime_seconds=None, sample_bytes=None, file_count=None):
    """[Job] in the order given. A figure that is None is the full or the quick form's. ValueError for what can't be."""
    form = dict(QUICK if quick else FULL)
    for key, value in (("size_bytes", size_bytes), ("numjobs", numjobs), ("runtime_seconds", runtime_seconds), ("file_count", file_count)):
        if value is not None:
            form[key] = value
    for key, (least, most) in sorted(_RANGES.items()):
        if form[key] < least:
            raise ValueError("%s must be at least %s, not %s" % (key, _figure(key, least), form[key]))
        if form[key] > most:
            raise ValueError("%s must be at most %s, not %s" % (key, _figure(key, most), form[key]))
    sample = SAMPLE_BYTES if sample_bytes is None else sample_bytes
    if not 1 <= sample <= _RANGES["size_bytes"][1]:
        raise ValueError("sample_bytes must be between 1 and %s, not %s" % (_figure("size_bytes", _RANGES["size_bytes"][1]), sample))
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise ValueError("unknown job %s; there are %s" % (", ".join(unknown), ", ".join(NAMES)))
    if not names:
        raise ValueError("no jobs named; there are %s" % ", ".join(NAMES))
    return [_MAKERS[name](form, sample) for name in dict.fromkeys(names)]


def _figure(key, value):
    return "%d (%s)" % (value, bytes_text(value)) if key.endswith("_bytes") else "%d" % value


def _dataset_read(form, _sample):
    size, count = form["size_bytes"], form["numjobs"]
    guide = all(form[key] == FULL[key] for key in ("size_bytes", "numjobs", "runtime_seconds"))
    return Job("dataset_read", size, count, form["runtime_seconds"], count, size, MIB, 1, False, (None,),
               size * count, 0, size * count, guide)


def _small_files(form, sample):
    # No more bytes than the sequential job has, at least one file for each reader.
    each = max(1, min(form["file_count"], form["size_bytes"] * form["numjobs"] // sample) // form["numjobs"])
    files = each * form["numjobs"]
    return Job("small_files", each * sample, form["numjobs"], form["runtime_seconds"], files, sample, min(sample, MIB), 1, False, (None,),
               files * sample, 0, files * sample, False)


def _random_read(form, _sample):
    size, count = form["size_bytes"], form["numjobs"]
    return Job("random_read", size, count, form["runtime_seconds"], count, size, 4 * KIB, RANDOM_DEPTH, True, _ASYNCHRONOUS,
               size * count, 0, size * count, False)


def _checkpoint_write(form, _sample):
    # Frameworks write a checkpoint through the page cache, in one stream, and it counts when it is on the disk.
    size = form["size_bytes"]
    return Job("checkpoint_write", size, 1, form["runtime_seconds"], 1, size, MIB, 1, False, (None,), 0, size, 0, False)


def _mixed(form, _sample):
    size, count = form["size_bytes"], form["numjobs"]
    return Job("mixed", size, count, form["runtime_seconds"], count + 1, size, MIB, 1, True, (None,),
               size * count, size, size * count, False)


_MAKERS = {"dataset_read": _dataset_read, "small_files": _small_files, "random_read": _random_read, "checkpoint_write": _checkpoint_write,
           "mixed": _mixed}


def time_limit(job):
    """Seconds after which fio counts as hanging: its files at the slowest that is no fault, its time, and some to spare."""
    laid_out = job.layout_bytes / float(SLOWEST_BYTES_PER_SECOND) + job.file_count / float(SLOWEST_FILES_PER_SECOND)
    # What was written into memory while the job ran may still have to reach the disk.
    flushed = job.written_bytes / float(SLOWEST_BYTES_PER_SECOND)
    return int(laid_out + flushed + job.runtime_seconds + SPARE_SECONDS)


def announced(planned, limits):
    """What a run does at most: {"bytes_written", "bytes_read", "bytes_on_disk", "files", "seconds"}; limits: seconds of each job."""
    return {
        "bytes_written": sum(job.layout_bytes + job.written_bytes for job in planned),
        "bytes_read": sum(job.read_bytes for job in planned),
        # Each job's files are removed before the next begins.
        "bytes_on_disk": max(job.layout_bytes + job.written_bytes for job in planned),
        "files": max(job.file_count for job in planned),
        "seconds": sum(limits),
    }


def size_text(count):
    """Bytes in fio's shortest spelling.

    >>> size_text(4 << 30), size_text(1 << 20), size_text(1500)
    ('4G', '1M', '1500')
    """
    for unit, factor in (("G", GIB), ("M", MIB), ("k", KIB)):
        if count >= factor and count % factor == 0:
            return "%d%s" % (count // factor, unit)
    return "%d" % count


def arguments(job, folder, engine=None, direct=False):
    """fio's arguments for a job in a folder, without the program."""
    general = ["--directory=%s" % folder.replace(":", "\\:")]
    common = ["--size=%s" % size_text(job.size_bytes), "--numjobs=%d" % job.numjobs, "--runtime=%d" % job.runtime_seconds]
    how = (["--ioengine=%s" % engine] if engine else []) + (["--direct=1"] if direct else [])
    block = "--bs=%s" % size_text(job.block_size_bytes)
    name = "--name=%s" % job.name
    if job.name == "dataset_read":
        made = [name] + general + ["--rw=read", block] + common + ["--group_reporting"] + how
    elif job.name == "small_files":
        made = [name] + general + [
            "--rw=read", block, "--nrfiles=%d" % (job.file_count // job.numjobs), "--filesize=%d" % job.file_size_bytes,
            # One file open at a time, all of it read, then another one at random: opening and closing are part of the measured time.
            "--openfiles=1", "--file_service_type=random:%d" % -(-job.file_size_bytes // job.block_size_bytes),
            "--numjobs=%d" % job.numjobs, "--runtime=%d" % job.runtime_seconds, "--group_reporting"] + how
    elif job.name == "random_read":
        made = [name] + general + ["--rw=randread", block, "--iodepth=%d" % job.queue_depth] + common + ["--group_reporting"] + how
    elif job.name == "checkpoint_write":
        made = [name] + general + ["--rw=write", block] + common + ["--end_fsync=1", "--group_reporting"] + how
    else:
        # --exitall: both end with the first, so that what is measured is all of it side by side.
        made = general + ["--group_reporting", "--exitall", "--name=mixed_read", "--rw=read", block] + common + how
        made += ["--name=mixed_write", "--new_group", "--rw=write", block, "--size=%s" % size_text(job.size_bytes), "--numjobs=1",
                 "--runtime=%d" % job.runtime_seconds, "--end_fsync=1"] + how
    return made + ["--output-format=json"]
