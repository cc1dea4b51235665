# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What each job of a storage test gave, and why a job's figure is no answer: out of memory, a quick look, too short. Pure."""

from __future__ import annotations

from .leaves import amount, flag, mapping, maps, text

MODULE = "storage_benchmark"
# job -> the figure of the result that is its answer.
FIGURES = {
    "dataset_read": "read_bytes_per_second",
    "small_files": "small_file_bytes_per_second",
    "random_read": "random_read_iops",
    "checkpoint_write": "checkpoint_write_bytes_per_second",
    "mixed": "mixed_read_bytes_per_second",
}
MEMORY_LABELS = ("cached", "memory")
# What the full form moves: 4 readers of 4 GiB, 20000 small files, one writer of 4 GiB.
_FULL_BYTES, _FULL_FILES, _FULL_WRITTEN = 16 * 2**30, 20000, 4 * 2**30
# Files of one size rarely add up to the full bytes.
_NEARLY = 0.9
# One per cent of the guide's 60 s: whatever was read, a speed from less is chance. Below SHORT_SECONDS it takes the full form's data.
SHORTEST_SECONDS, SHORT_SECONDS = 0.6, 5
# One stream that is synced at the end: an array may take all of it in less.
_SHORTEST_WRITE_SECONDS = 0.1


def job_of(result, name):
    """What a result says of how a job was measured, an empty map where it doesn't."""
    return mapping(mapping(result, "jobs"), name)


def carried(result):
    """The names of the jobs that gave a figure."""
    return {name for name, figure in FIGURES.items() if amount(result, figure) is not None}


def answering(result):
    """The names of the jobs whose figure answers what it was measured for."""
    return {name for name in carried(result) if from_memory(result, name) is None and tentative(result, name) is None}


def newest_of(document, name, fits=None):
    """The newest storage test of a host's document that answers a job, else the newest with a figure of it; None where nobody measured it.

    `fits(measurement)` narrows, by where it was taken.
    """
    found = []
    for entry in maps(document or {}, "measurements"):
        result = mapping(entry, "result")
        if entry.get("module") == MODULE and name in carried(result) and (fits is None or fits(entry)):
            found.append(((name in answering(result), text(entry, "finished") or "", text(entry, "target") or ""), entry))
    return max(found, key=lambda pair: pair[0])[1] if found else None


def from_memory(result, name):
    """The label of a figure that came out of memory ("cached" or "memory"), None for one of the storage."""
    job = job_of(result, name)
    label = text(job, "buffered_label")
    if name == "checkpoint_write" and label == "cached":
        # What was written is synced at the end: a cache that answered reads says nothing of it.
        return None
    if label in MEMORY_LABELS:
        return label
    if text(mapping(result, "file_system"), "kind") == "memory":
        return "memory"
    # Without labels of the jobs, the one for the whole counts.
    return "cached" if label is None and not job and name != "checkpoint_write" and flag(result, "cached") else None


def tentative(result, name):
    """Why a job's figure is a hint and no answer: "quick", "too_short" or None."""
    if flag(result, "quick"):
        return "quick"
    return "too_short" if too_short(job_of(result, name), name) else None


def too_short(job, name):
    """The seconds of a job that was over too soon to say much, None for any other and where nobody knows how long it took."""
    seconds = amount(mapping(job, "read") or mapping(job, "write"), "runtime_seconds")
    shortest = _SHORTEST_WRITE_SECONDS if name == "checkpoint_write" else SHORTEST_SECONDS
    return seconds if seconds is not None and seconds < (shortest if _whole(job, name) else SHORT_SECONDS) else None


def _whole(job, name):
    """Whether a job had at least the full form's data to move."""
    if flag(job, "guide_job") or name == "small_files" and (amount(job, "file_count") or 0) >= _FULL_FILES:
        return True
    size = (amount(job, "size_bytes") or 0) * (amount(job, "numjobs") or 1)
    return size >= _NEARLY * (_FULL_WRITTEN if name == "checkpoint_write" else _FULL_BYTES)
