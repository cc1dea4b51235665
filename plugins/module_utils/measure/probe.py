# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs a command of the owner's and measures what it needs: VRAM, GPU, processor, memory, data. See docs/probe.md.

Three processes: the caller, a guard, and below it the watch (probe_watch.py), whose children are the command and the sampler. The
guard ends the watch's whole tree however the watch ended; both end it when the caller is killed or nobody reads its output any more.
The caller ends what is left where both were killed.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import tempfile
import time

from ..sources.forked import hold_nothing
from ..sources.host_files import HostFiles
from ..sources.run_program import read_scratch, scratch_file
from . import probe_plan, probe_tree
from .probe_plan import ProbeError, check_options, plan

__all__ = ["ProbeError", "check_options", "machine_id", "measure", "plan", "run"]

GUARD_NAME = "gpu-audit-guard"
MAX_ANSWER = 16 << 20
# The guard ends the watch 90 s after the command's time at the latest, and then what is left.
GUARD_SECONDS = 120.0


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


def measure(given, probe_once=None, listed=None):
    """The probe, or with `gpu_counts` one for each number of GPUs. -> the answer of run(), that of the largest number with `scaling`.

    ProbeError, and nothing is run, where not even the smallest of the numbers is there.
    """
    probe_once, options = probe_once or run, check_options(given)
    if not options["gpu_counts"]:
        return probe_once(given)
    counts, notes = probe_plan.counts_to_run(options, listed)
    words = probe_plan.visible_words(options)
    seconds, used, answer, first = {}, {}, None, None
    for count in counts:
        chosen = words[:count] if words else ["%d" % number for number in range(count)]
        answer = probe_once(dict(given, environment=dict(options["environment"], CUDA_VISIBLE_DEVICES=",".join(chosen),
                                                         GPU_AUDIT_GPU_COUNT="%d" % count)))
        first, result = first or answer, answer["measurement"]
        used["%d" % count] = used_gpus(result, count)
        taken = result["epoch_seconds"] if options["scaling_basis"] == "epoch" else result["iteration_seconds"]["mean"]
        if result["outcome"] in ("completed", "stopped") and taken:
            seconds["%d" % count] = taken
        else:
            why = "the command told none" if result["outcome"] in ("completed", "stopped") else "it ended as %s" % result["outcome"]
            notes.append("no time on %s: %s" % (probe_plan.gpus_text(count), why))
    notes += unused_notes({int(name): used[name] for name in seconds})
    answer["measurement"]["scaling"] = {"basis": options["scaling_basis"], "seconds": seconds, "used_gpus": used}
    answer["measurement"]["notes"] += notes
    answer["started"] = first["started"]
    return answer


def used_gpus(result, count):
    """How many of the `count` GPUs left to it a command used; None where that isn't known of all of them."""
    seen = [entry["in_use"] for entry in result["gpus"]]
    return sum(seen) if len(seen) >= count and None not in seen else None


def unused_notes(used):
    """What is to be said of runs whose times count: {number of GPUs: how many of them the command used, None where that isn't known}."""
    short = [(count, found) for count, found in sorted(used.items()) if found is not None and found < count]
    notes = []
    if short:
        notes.append("on %s the command used only %d: its times say nothing of what more GPUs bring. Start one process for each GPU, such as "
                     "[torchrun, --nproc_per_node=gpu, train.py] with DistributedDataParallel" % (probe_plan.gpus_text(short[0][0]), short[0][1]))
    elif None in used.values():
        notes.append("whether the command used all of its GPUs isn't known: they were not sampled")
    return notes


def run(given, host=None, unread=_unread):
    """One probe with the module's options. -> probe_result.build()'s answer; ProbeError where there can be none.

    `host`: a HostFiles for tests; `unread()`: whether the answer has lost its reader, which ends the probe.
    """
    options = check_options(given)
    try:
        folder = _helper_folder(options)
    except OSError as error:
        raise ProbeError("the probe itself failed: no folder for temporary files can be made (%s): free room in /tmp, or set TMPDIR"
                         % error.strerror)
    # What the command leaves comes to this process where it has killed both the guard and the watch.
    others = probe_tree.children()
    probe_tree.adopt_orphans()
    try:
        with scratch_file() as answer:
            parent, guard = os.getpid(), os.fork()
            if guard == 0:
                _guard(options, answer.fileno(), parent, host, folder)
            lost = _wait(guard, time.monotonic() + options["timeout_seconds"] + options["grace_seconds"] + GUARD_SECONDS, unread)
            left = probe_tree.end_tree(0.5, others, patience_seconds=2.0) if probe_tree.below(parent, others) else []
            try:
                found = json.loads(read_scratch(answer, MAX_ANSWER).decode("ascii"))
            except ValueError:
                raise ProbeError("the process that watched the command ended without an answer (killed?); %s" % (
                    "; ".join(probe_tree.left_notes(left)) or "the command was ended with it"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if "crash" in found:
        raise ProbeError("the probe itself failed: %s" % found["crash"])
    if found["measurement"]["stopped_for"] == "signal":
        raise ProbeError("the probe was ended before the command was: %s" % ("nobody reads its answer" if lost else "by a signal"))
    return found


def _wait(guard, until, unread):
    """Waits for the guard, and ends one that is long past its time (the command may stop it). -> whether the answer lost its reader."""
    lost = False
    while True:
        try:
            if os.waitpid(guard, os.WNOHANG)[0] == guard:
                return lost
        except ChildProcessError:
            return lost
        if not lost and unread():
            lost = True
            os.kill(guard, signal.SIGTERM)
        if time.monotonic() > until:
            os.kill(guard, signal.SIGKILL)
        time.sleep(0.05)


def _guard(options, answer, parent, host, folder):
    """The guard's whole life; never returns."""
    stopping = []
    try:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *dummy: stopping.append(True))
        probe_tree.die_with(parent, signal.SIGTERM)
        probe_tree.set_name(GUARD_NAME)
        probe_tree.adopt_orphans()
        hold_nothing(answer)
        own, watch = os.getpid(), os.fork()
        if watch == 0:
            _watch(options, os.path.join(folder, "progress.jsonl"), answer, own, host)
        _stand_by(watch, stopping, options)
    finally:
        probe_tree.end_tree(0.0, patience_seconds=2.0)
        # The caller may have been killed.
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
        found = probe_watch.Watch(options, helper_path, host).run()
        # The guard may have been killed.
        shutil.rmtree(os.path.dirname(helper_path), ignore_errors=True)
    except BaseException as error:  # pylint: disable=broad-except
        # The caller tells it in one sentence; what the command left is ended by the guard.
        from ..host_facts import described
        found = {"crash": described(error)}
    try:
        _answer(answer, found)
    finally:
        os._exit(0)


def _answer(descriptor, found):
    data = json.dumps(found).encode("ascii")
    while data:
        data = data[os.write(descriptor, data):]
