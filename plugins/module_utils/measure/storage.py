# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Measures the storage under a directory with fio: guards, announcement, the named jobs one after another, the measurement.

The measurement's form is in docs/storage.md and docs/metrics.md.
"""

from __future__ import annotations

import os
import signal
import time

from ..facts import memory as memory_facts
from ..sources.forked import run_forked, signal_name
from ..sources.host_files import HostFiles
from . import fio_jobs, fio_run, moments, storage_folder, storage_place
from .figures import bytes_text, check_ranges

# From this share of its bytes on, a buffered read counts as having come from the device, however small the files were.
FROM_DEVICE_FRACTION = 0.9
# For the whole module beyond its jobs: looking, and removing what they wrote.
SPARE_SECONDS = 60
LONGEST_START_WAIT_SECONDS = 3600
# How long removed files may still count as taken (btrfs, shares).
FREED_SECONDS = 40
# name -> (least, most) of what fio_jobs doesn't look at.
_RANGES = {"timeout_seconds": (0, 14 * 86400), "start_at": (0, 1 << 40), "hosts_at_once": (1, 1 << 20),
           "alone_bytes_per_second": (0, 1 << 60)}


class Failed(Exception):
    """Nothing was measured; the text says why."""


class Interrupted(BaseException):
    """A signal asked the module to end; not an Exception, so that nothing takes it for a fault of a job."""


def plan(options, host=None):
    """Looks at the host and writes nothing. options: the module's parameters. -> the plan;
    storage_place.Refused, ValueError or fio_run.NoFio.

    {"seconds", "bytes_written", "bytes_read", "bytes_on_disk", "files", "notes": [what is announced]} and, for run(), "jobs", "limits",
    "place", "fio", "fio_version", "memory_bytes".
    """
    host = host or HostFiles()
    # An empty list is a mistake, and not the default.
    names = ["dataset_read"] if options.get("jobs") is None else options["jobs"]
    jobs = fio_jobs.jobs(names, options.get("quick"), options.get("size_bytes"), options.get("numjobs"),
                         options.get("runtime_seconds"), options.get("sample_bytes"), options.get("file_count"))
    place = storage_place.examine(host, options["path"])
    memory = memory_facts.collect(host)
    check_ranges(options, _RANGES)
    limits = [options.get("timeout_seconds") or fio_jobs.time_limit(job) for job in jobs]
    made = fio_jobs.announced(jobs, limits)
    room = (made["bytes_on_disk"], made["files"] + len(jobs) + 1, memory["available_bytes"])
    _check_room(place, room)
    fio = fio_run.program(options.get("fio"))
    version = fio_run.version(fio, host.text_or("/etc/os-release", ""))
    wait = _start_wait(options)
    # With a moment to begin at, the first job's files are laid out by a run of their own.
    made["seconds"] += SPARE_SECONDS + wait + (limits[0] if options.get("start_at") else 0)
    made["notes"] = _said(place, jobs, made, options)
    return dict(made, jobs=jobs, limits=limits, place=place, room=room, fio=fio, fio_version=version, memory_bytes=memory["total_bytes"])


def _check_room(place, room):
    """storage_place.Refused where there isn't room, even with what run() removes first."""
    try:
        storage_place.check_room(place, *room)
    except storage_place.Refused as error:
        others = _others(place)
        dead = [name for name, state in others if state == storage_folder.DEAD and storage_folder.removable(place["path"], name)]
        size, inodes = _weight(place, dead)
        more = dict(place, free_bytes=place["free_bytes"] + size,
                    inodes_free=None if place["inodes_free"] is None else place["inodes_free"] + inodes)
        try:
            storage_place.check_room(more, *room)
        except storage_place.Refused:
            # What lies there and stays may be what takes the room.
            there = [_stays(name, state) for name, state in others if name not in dead]
            raise storage_place.Refused("%s. Already there: %s" % (error, there[0]) if there else str(error))


def _weight(place, names):
    """(bytes, inodes) that dead tests' folders take; (0, 0) where the file system doesn't say in time."""
    def look():
        found = [storage_folder.weight(os.path.join(place["path"], name)) for name in names]
        return [sum(each[0] for each in found), sum(each[1] for each in found)]

    ok, found, _kind = run_forked(look, storage_place.LOOK_SECONDS) if names else (False, None, None)
    return tuple(found) if ok else (0, 0)


def _stays(name, state):
    if state == storage_folder.DEAD:
        return "what a test that was killed had left, %s, couldn't be removed: do it by hand" % name
    return _OTHERS[state] % name


def _start_wait(options):
    """Seconds until the moment at which reading is to begin; 0 where it is none or past."""
    wait = (options.get("start_at") or 0) - time.time()
    if wait > LONGEST_START_WAIT_SECONDS:
        raise ValueError("start_at lies %d s ahead, at most %d are waited for" % (wait, LONGEST_START_WAIT_SECONDS))
    return max(0, int(wait))


def _said(place, jobs, made, options):
    system = place["file_system"]
    kind = "medium unknown" if system["kind"] == "unknown" else system["kind"]
    notes = ["%s%s on %s (%s, %s)" % ("quick look: " if options.get("quick") else "", ", ".join(job.name for job in jobs),
                                      system["mount_point"], system["type"], kind),
             "files of up to %s at a time in a folder of its own, removed afterwards" % bytes_text(made["bytes_on_disk"])]
    if options.get("start_at"):
        notes.append(moments.together(options.get("hosts_at_once") or 1))
    notes += [_OTHERS[state] % name for name, state in _others(place)[:3]]
    return notes


# What is said of another test's folder in the same directory.
_OTHERS = {
    storage_folder.RUNNING: "another storage test runs in this directory now (%s)",
    storage_folder.DEAD: "a test that was killed left %s there; it is removed when this one runs",
    storage_folder.UNKNOWN: "%s lies there: a test of another machine, container or user runs there now, or left it; remove it when none "
                            "does",
}
# A lazily unmounted or renamed directory.
_MOVED = "the directory was moved or unmounted while it was measured, and what the test wrote there is removed all the same"


def _others(place, own=None):
    system = place["file_system"]
    return storage_folder.others(place["path"], not system["network"] and system["device"].startswith("/dev/"), own)


def _clear_dead(place):
    """Removes the folders of dead tests. -> notes."""
    notes = []
    for name, state in _others(place):
        if state == storage_folder.DEAD:
            gone = storage_folder.clear(place["path"], name)
            what = "was removed" if gone else "couldn't be removed: do it by hand"
            notes.append("what a test that was killed had left, %s, %s" % (name, what))
    return notes


def _room_again(options, planned):
    """The place as it is with the dead tests' folders gone; storage_place.Refused where that isn't enough. Some file systems free what was
    removed a moment later."""
    until = time.monotonic() + FREED_SECONDS
    while True:
        place = storage_place.examine(HostFiles(), options["path"])
        try:
            storage_place.check_room(place, *planned["room"])
            return place
        except storage_place.Refused:
            if time.monotonic() >= until:
                raise
        time.sleep(0.5)


def _admit(options, place, own):
    """Failed where another test runs in the same directory."""
    for name, state in _others(place, own) if (options.get("hosts_at_once") or 1) < 2 else ():
        if state == storage_folder.RUNNING:
            raise Failed("another storage test runs in %s now (%s), and both would measure each other; measure again when it has ended"
                         % (place["path"], name))


class _Company(object):
    """Tests of others that lie beside ours, which were looked for again and again while it ran."""

    def __init__(self, options, place, own):
        self._place, self._own = place, own
        # Hosts that measure together are meant to be there.
        self._looks = (options.get("hosts_at_once") or 1) < 2
        self._dead = {name for name, state in _others(place, own) if state == storage_folder.DEAD}
        self._found = {}

    def look(self):
        for name, state in _others(self._place, self._own) if self._looks else ():
            if name not in self._dead and self._found.get(name) != storage_folder.RUNNING:
                # One that has died since was there when ours ran.
                self._found[name] = storage_folder.UNKNOWN if state == storage_folder.UNKNOWN else storage_folder.RUNNING

    def notes(self):
        return [_BESIDE[state] % name for name, state in sorted(self._found.items())][:3]


_BESIDE = {
    storage_folder.RUNNING: "another storage test ran in this directory at the same time (%s): the figures are those of both together",
    storage_folder.UNKNOWN: "a test of another machine, container or user was in this directory at the same time, or left %s there: where "
                            "it ran, the figures are those of both together",
}


def _interrupt(number, _frame):
    raise Interrupted("ended by %s; what was written is removed" % signal_name(number))


def run(options, planned):
    """Measures. `planned`: of plan(). -> the measurement; Failed where no job gave anything. What it wrote is gone whatever happens."""
    place = planned["place"]
    before = dict((number, signal.signal(number, _interrupt)) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
    results, errors, notes, folder = {}, {}, [], None
    try:
        notes += _clear_dead(place)
        if notes:
            place = _room_again(options, planned)
        folder = storage_folder.OwnFolder(place["path"], planned["seconds"], lambda: _admit(options, place, folder.name))
        with folder:
            company = _Company(options, place, folder.name)
            for job, limit in zip(planned["jobs"], planned["limits"]):
                own = os.path.join(folder.path, job.name)
                os.mkdir(own)
                notes += _wait_for_start(options, planned, job, own, folder, limit)
                outcome = fio_run.run_job(planned["fio"], job, own, folder.environment(), limit)
                company.look()
                if outcome.error is None:
                    results[job.name] = job_result(job, outcome, place["file_system"], planned["memory_bytes"])
                else:
                    errors[job.name] = outcome.error
                # A worker of a fio that was ended may still be writing.
                if not folder.remove_part(job.name, 60):
                    errors.setdefault(job.name, "its files couldn't be removed: %s" % own)
                    break
            notes += company.notes()
    except OSError as error:
        raise Failed("%s: %s" % (error.filename or place["path"], error.strerror or error) + "".join(
            "; " + note for note in _endings(folder)))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    notes += _endings(folder)
    if not results:
        raise Failed("; ".join("%s: %s" % (name, errors[name]) for name in sorted(errors)) + "".join(
            "; " + note for note in _endings(folder)))
    notes += ["%s gave no result: %s" % (name, errors[name]) for name in sorted(errors)]
    return measurement(options, planned, results, errors, notes + _job_notes(results))


def _endings(folder):
    """Notes on how it ended with the test's folder, null where it came to none."""
    if folder is not None and folder.left:
        return ["couldn't be removed within %d s: %s; remove it by hand" % (storage_folder.REMOVE_SECONDS, folder.left)]
    return [_MOVED] if folder is not None and folder.moved else []


def _job_notes(results):
    """The jobs' own notes, each with its job's name, for those who read the whole result only."""
    return [note if note.startswith(name + ": ") else "%s: %s" % (name, note) for name in sorted(results) for note in results[name]["notes"]]


def _wait_for_start(options, planned, job, own, folder, limit):
    """Lays the first job's files out and waits for start_at, so that several hosts read at the same moment. -> notes.

    fio's own way from laying out to reading stays as it is: it finds its files whole and empties the page cache of them.
    """
    if not options.get("start_at") or job is not planned["jobs"][0]:
        return []
    laid = fio_run.run_job(planned["fio"], job, own, folder.environment(), limit, extra=["--create_only=1"])
    ahead = options["start_at"] - time.time()
    if ahead < 0:
        return ["its files were laid out %d s after the moment at which all hosts were to begin: not all of them read at once" % -ahead]
    time.sleep(ahead)
    return ["laying out files beforehand: %s" % laid.error] if laid.error else []


def label(job, direct, kind, read_fraction, memory_bytes):
    """What a job's figures must not be taken for: null (straight to the device), "memory", "cached" or "buffered".

    read_fraction: share of the bytes read that came from a device, null where nobody counted. Files larger than memory can't have come
    from it; smaller ones count as cached unless the kernel counted that the device was read.
    """
    if kind == "memory":
        return "memory"
    if direct:
        return None
    if not job.read_bytes or (read_fraction is not None and read_fraction >= FROM_DEVICE_FRACTION):
        return "buffered"
    size = job.file_size_bytes * job.file_count
    return "buffered" if memory_bytes and size >= memory_bytes else "cached"


def job_result(job, outcome, file_system, memory_bytes):
    """One entry of the measurement's `jobs`."""
    parsed = outcome.parsed["jobs"]
    result = {}
    for direction in ("read", "write"):
        moved = [each[direction] for each in parsed if each[direction]]
        if moved:
            result[direction] = dict((key, moved[0][key]) for key in (
                "bytes_per_second", "iops", "latency_mean_seconds", "latency_p50_seconds", "latency_p95_seconds", "latency_p99_seconds",
                "latency_kind", "bytes", "runtime_seconds"))
    notes = outcome.notes + [note for note in outcome.parsed["notes"] if "queue depth" not in note and not note.startswith("fio: ")]
    read_bytes = (result.get("read") or {}).get("bytes")
    fraction = None
    # A network's bytes are counted by some file systems only: none counted says nothing.
    if read_bytes and outcome.device_bytes is not None and (outcome.device_bytes or not file_system["network"]):
        fraction = min(1.0, outcome.device_bytes / float(read_bytes))
    said = label(job, outcome.direct, file_system["kind"], fraction, memory_bytes)
    size = job.file_size_bytes * job.file_count
    if said == "memory":
        notes.append("this file system lives in memory: no figure of a disk")
    elif said == "cached":
        share = "an unknown share" if fraction is None else "%d %%" % (100 * fraction)
        notes.append("the files (%s) are smaller than memory (%s) and %s of what was read came from the device: a figure of "
                     "the cache, not of the disk" % (bytes_text(size), bytes_text(memory_bytes), share))
    if file_system["kind"] == "network":
        notes.append("a network file system: the server's and the network's speed at this moment, caches of the server included")
    elif file_system["kind"] == "overlay":
        notes.append("an overlay file system (a container's own layer): the disk below it may be faster")
    result.update({
        "cpu_user_fraction": _largest(parsed, "cpu_user_fraction"), "cpu_system_fraction": _largest(parsed, "cpu_system_fraction"),
        "engine": parsed[0]["engine"], "direct": outcome.direct, "buffered_label": said, "block_size_bytes": job.block_size_bytes,
        "queue_depth": parsed[0]["queue_depth"], "numjobs": job.numjobs, "size_bytes": job.size_bytes, "file_count": job.file_count,
        "file_size_bytes": job.file_size_bytes, "runtime_limit_seconds": job.runtime_seconds, "wall_seconds": round(outcome.seconds, 3),
        "fsync_at_end": bool(job.written_bytes), "device_read_fraction": fraction, "guide_job": job.guide,
        "options": parsed[0]["options"], "notes": notes,
    })
    # Names of our folder say nothing to a reader.
    result["options"] = dict((key, value) for key, value in result["options"].items() if key != "directory")
    return result


def _largest(parsed, key):
    values = [job[key] for job in parsed if job[key] is not None]
    return max(values) if values else None


def _speed(results, name, direction):
    return ((results.get(name) or {}).get(direction) or {}).get("bytes_per_second")


def measurement(options, planned, results, errors, notes):
    """The measurement's result: what each job gave, and the figures that metrics are derived from."""
    small = _speed(results, "small_files", "read")
    read = _speed(results, "dataset_read", "read")
    hosts = options.get("hosts_at_once") or 1
    labels = [results[name]["buffered_label"] for name in (["dataset_read"] if "dataset_read" in results else sorted(results))]
    # The worst of them.
    overall = next((each for each in ("memory", "cached", "buffered") if each in labels), None)
    result = {
        "path": options["path"], "file_system": planned["place"]["file_system"], "fio_version": planned["fio_version"],
        "quick": bool(options.get("quick")), "jobs": results, "errors": errors, "memory_bytes": planned["memory_bytes"],
        "sample_bytes": options.get("sample_bytes"),
        "read_bytes_per_second": read,
        "small_file_bytes_per_second": small,
        "small_files_per_second": small / float(results["small_files"]["file_size_bytes"]) if small else None,
        "random_read_iops": ((results.get("random_read") or {}).get("read") or {}).get("iops"),
        "checkpoint_write_bytes_per_second": _speed(results, "checkpoint_write", "write"),
        "mixed_read_bytes_per_second": _speed(results, "mixed", "read"),
        "mixed_write_bytes_per_second": _speed(results, "mixed", "write"),
        "buffered_label": overall, "cached": overall in ("cached", "memory"),
        "hosts_at_once": hosts, "shared": None, "notes": notes,
    }
    if options.get("quick"):
        notes.append("quick form: a first look with little data; take the full form before deciding anything")
    alone = options.get("alone_bytes_per_second")
    if hosts > 1 and alone and read:
        result["shared"] = {"alone_bytes_per_second": alone, "together_bytes_per_second": read, "ratio": read / float(alone)}
    return result
