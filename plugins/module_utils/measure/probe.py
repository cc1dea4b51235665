# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs a command of the owner's and measures what it needs: VRAM, GPU, processor, memory, data. See docs/probe.md.

Three processes: the caller, a guard, and below it the watch (probe_watch.py), whose children are the command and the sampler. The
guard ends the watch's whole tree however the watch ended; both end it when the caller is killed or nobody reads its output any more.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import tempfile
import time

from ..sources.host_files import HostFiles
from ..sources.run_program import read_scratch, scratch_file
from . import probe_output, probe_tree

GUARD_NAME = "gpu-audit-guard"
MAX_ANSWER = 16 << 20
DEFAULTS = {
    "chdir": None, "environment": None, "run_as": None, "interval_seconds": 0.5, "timeout_seconds": 600.0, "run_seconds": None,
    "iterations": None, "hang_seconds": 300.0, "grace_seconds": 5.0, "iteration_pattern": None, "epoch_pattern": None,
    "memory_pattern": None, "progress_file": None, "iterations_per_epoch": None, "reserves": "auto", "output_tail_bytes": 4000,
    "keep_command": False, "gpu_counts": None, "scaling_basis": "step"}
# Opening the driver's library before, ending what is stuck after.
SPARE_SECONDS = 45.0
# name -> (least, most)
_RANGES = {"interval_seconds": (0.1, 60), "timeout_seconds": (1, 7 * 86400), "run_seconds": (1, 7 * 86400), "iterations": (1, 10 ** 7),
           "hang_seconds": (0, 7 * 86400), "grace_seconds": (0, 600), "iterations_per_epoch": (1, 10 ** 10),
           "output_tail_bytes": (0, 65536)}


class ProbeError(Exception):
    """The probe can't be made; the text says what is wrong, where, and what to do."""


def check_options(given):
    """The options with their defaults; ProbeError (one sentence) for a wrong one."""
    options = dict(DEFAULTS)
    options.update({name: value for name, value in given.items() if value is not None})
    argv = options.get("argv")
    if not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv) or not argv[0].strip():
        raise ProbeError("argv: a list of words is needed, the program first, such as [python3, train.py]")
    environment = options["environment"] or {}
    if not isinstance(environment, dict) or any("=" in str(name) or not str(name) for name in environment):
        raise ProbeError("environment: a map of names and values is needed")
    options["environment"] = {str(name): "" if value is None else str(value) for name, value in environment.items()}
    if any("\0" in word for word in argv + list(options["environment"]) + list(options["environment"].values())):
        raise ProbeError("argv and environment can't hold NUL characters")
    for name, (least, most) in _RANGES.items():
        value = options[name]
        if value is not None and not least <= value <= most:
            raise ProbeError("%s: %g is not between %g and %g" % (name, value, least, most))
    folder = options["chdir"] or "/"
    if not os.path.isabs(folder):
        raise ProbeError("chdir: %s is not an absolute path" % folder)
    options["chdir"] = folder
    counts = options["gpu_counts"]
    if counts is not None and (not counts or len(set(counts)) != len(counts) or not all(1 <= count <= 1024 for count in counts)):
        raise ProbeError("gpu_counts: different numbers of GPUs are needed, such as [1, 2, 4]")
    try:
        probe_output.Progress(options["iteration_pattern"], options["epoch_pattern"], options["memory_pattern"])
    except probe_output.PatternError as error:
        raise ProbeError(str(error))
    return options


def _unread():
    """Whether nobody reads this process's output any more: the connection, or who waited for the answer, is gone."""
    poller = select.poll()
    try:
        poller.register(1, 0)
        return any(event & (select.POLLERR | select.POLLHUP) for dummy, event in poller.poll(0))
    except (OSError, ValueError):
        return False


def machine_id():
    host = HostFiles()
    return host.text_or("/etc/machine-id") or host.text_or("/var/lib/dbus/machine-id")


def plan(given):
    """{"seconds": how long the probe takes at most, "notes": [text]}; ProbeError for a wrong option. Starts nothing."""
    options = check_options(given)
    if options["run_as"]:
        try:
            probe_tree.account(options["run_as"])
        except probe_tree.StartError as error:
            raise ProbeError(str(error))
    once = min(options["timeout_seconds"], options["run_seconds"] or options["timeout_seconds"]) + options["grace_seconds"] + SPARE_SECONDS
    times = len(options["gpu_counts"] or (1,))
    notes = []
    if options["iterations"]:
        notes.append("ends after %d iterations" % options["iterations"])
    if times > 1:
        notes.append("runs %d times, on %s GPUs" % (times, ", ".join("%d" % count for count in sorted(options["gpu_counts"]))))
    return {"seconds": once * times, "bytes_written": None, "bytes_read": None, "notes": notes}


def measure(given, probe_once=None):
    """The probe, or with `gpu_counts` one for each number of GPUs. -> the answer of run(), that of the largest number with `scaling`."""
    probe_once, options = probe_once or run, check_options(given)
    if not options["gpu_counts"]:
        return probe_once(given)
    seconds, notes, answer, first, seen = {}, [], None, None, None
    words = options["environment"].get("CUDA_VISIBLE_DEVICES")
    for count in sorted(options["gpu_counts"]):
        present = min((number for number in (len(words.split(",")) if words else None, seen) if number is not None), default=None)
        if present is not None and count > present:
            notes.append("not run on %d GPUs: there are %d" % (count, present))
            continue
        chosen = words.split(",")[:count] if words else ["%d" % number for number in range(count)]
        answer = probe_once(dict(given, environment=dict(options["environment"], CUDA_VISIBLE_DEVICES=",".join(chosen),
                                                         GPU_AUDIT_GPU_COUNT="%d" % count)))
        first = first or answer
        result, seen = answer["measurement"], _gpus_given(answer, bool(words))
        if count > seen:
            # Only the first run can come here: the GPUs are counted by running.
            notes.append("no time on %d GPUs: there are %d" % (count, seen))
            continue
        taken = result["epoch_seconds"] if options["scaling_basis"] == "epoch" else result["iteration_seconds"]["mean"]
        if result["outcome"] in ("completed", "stopped") and taken:
            seconds["%d" % count] = taken
        else:
            notes.append("no time on %d GPUs: %s" % (count, "it ended as %s" % result["outcome"]
                                                     if result["outcome"] not in ("completed", "stopped") else "the command told none"))
    if answer is None:
        raise ProbeError("gpu_counts: " + "; ".join(notes))
    answer["measurement"]["scaling"] = {"basis": options["scaling_basis"], "seconds": seconds}
    answer["measurement"]["notes"] += notes
    answer["started"] = first["started"]
    return answer


def _gpus_given(answer, named):
    """How many GPUs a run could have: those of the machine, or of those that CUDA_VISIBLE_DEVICES named the ones that are there."""
    # Named instances (MIG) have an entry each; numbers choose whole GPUs.
    return len(answer["measurement"]["gpus"]) if named else len(answer["gpu_uuids"] or ())


def run(given, host=None, unread=_unread):
    """One probe with the module's options. -> probe_result.build()'s answer; ProbeError where there can be none.

    `host`: a HostFiles for tests; `unread()`: whether the answer has lost its reader, which ends the probe.
    """
    options = check_options(given)
    with scratch_file() as answer:
        parent, guard = os.getpid(), os.fork()
        if guard == 0:
            _guard(options, answer.fileno(), parent, host)
        ended, lost = False, False
        while not ended:
            try:
                ended = os.waitpid(guard, os.WNOHANG)[0] == guard
            except ChildProcessError:
                ended = True
            if not ended:
                if not lost and unread():
                    lost = True
                    os.kill(guard, signal.SIGTERM)
                time.sleep(0.05)
        try:
            found = json.loads(read_scratch(answer, MAX_ANSWER).decode("ascii"))
        except ValueError:
            raise ProbeError("the process that watched the command ended without an answer (killed?); the command was ended with it")
    if "crash" in found:
        raise ProbeError("the probe itself failed: %s" % found["crash"])
    if found["measurement"]["stopped_for"] == "signal":
        raise ProbeError("the probe was ended before the command was: %s" % ("nobody reads its answer" if lost else "by a signal"))
    return found


def _guard(options, answer, parent, host):
    """The guard's whole life; never returns."""
    folder, stopping = None, []
    try:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *dummy: stopping.append(True))
        probe_tree.die_with(parent, signal.SIGTERM)
        probe_tree.set_name(GUARD_NAME)
        probe_tree.adopt_orphans()
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        for number in [int(name) for name in os.listdir("/proc/self/fd")]:
            if number > 2 and number != answer:
                try:
                    os.close(number)
                except OSError:
                    pass
        folder = _helper_folder(options)
        own, watch = os.getpid(), os.fork()
        if watch == 0:
            _watch(options, os.path.join(folder, "progress.jsonl"), answer, own, host)
        _stand_by(watch, stopping, options)
    finally:
        probe_tree.end_tree(0.0, patience_seconds=2.0)
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)


def _stand_by(watch, stopping, options):
    """Waits for the watch; ends it where it was told to, or where the watch itself is long past its time."""
    hard = time.monotonic() + options["timeout_seconds"] + options["grace_seconds"] + 90
    told = None
    while True:
        if os.waitpid(watch, os.WNOHANG)[0]:
            return
        now = time.monotonic()
        if told is None and (stopping or now > hard):
            os.kill(watch, signal.SIGTERM)
            told = now
        if told is not None and now - told > options["grace_seconds"] + 10:
            os.kill(watch, signal.SIGKILL)
            os.waitpid(watch, 0)
            return
        time.sleep(0.05)


def _helper_folder(options):
    """A folder of its own that the command's user may write to."""
    # The folder for temporary files of the one who asks may be closed to another user.
    folder = tempfile.mkdtemp(prefix="gpu-audit-probe-", dir="/tmp" if options["run_as"] else None)
    if options["run_as"] and os.geteuid() == 0:
        try:
            user = probe_tree.account(options["run_as"])
            os.chown(folder, user.pw_uid, user.pw_gid)
        except probe_tree.StartError:
            # Told when the command is to be started.
            pass
    return folder


def _watch(options, helper_path, answer, parent, host):
    """The watch's whole life; never returns."""
    try:
        probe_tree.die_with(parent, signal.SIGTERM)
        from . import probe_watch
        text = json.dumps(probe_watch.Watch(options, helper_path, host).run())
        # The guard may have been killed.
        shutil.rmtree(os.path.dirname(helper_path), ignore_errors=True)
    except BaseException as error:  # pylint: disable=broad-except
        # The caller tells it in one sentence; what the command left is ended by the guard.
        from ..host_facts import described
        text = json.dumps({"crash": described(error)})
    try:
        data = text.encode("ascii")
        while data:
            data = data[os.write(answer, data):]
    finally:
        os._exit(0)
