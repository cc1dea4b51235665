# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs an external program so that not even one in uninterruptible sleep (state D) can hold the audit."""

from __future__ import annotations

import collections
import errno
import os
import signal
import time

MAX_BYTES = 16 << 20
MAX_STDERR_BYTES = 64 << 10
GRACE_SECONDS = 1.0
# In the environment of every program started here: the CLOCK_MONOTONIC second by which it has to be gone.
DEADLINE_VARIABLE = "GPU_AUDIT_PROGRAM_DEADLINE"
# How long a process may be in state D before it counts as stuck; a driver call normally sleeps for milliseconds.
STUCK_AFTER_SECONDS = 10

ProgramResult = collections.namedtuple(
    "ProgramResult", "argv rc stdout stderr timed_out stuck truncated missing not_permitted duration_seconds")
ProgramResult.__doc__ = """What became of a program.

rc: exit status, negative = ended by that signal, null = never started or never ended; stdout, stderr: text (bytes that are no UTF-8
replaced);
timed_out: its deadline passed; stuck: it could not be ended either and was left behind; truncated: it wrote more than allowed and was
ended;
missing: no such program (no rc) or exit 127; not_permitted: may not be executed (no rc) or exit 126."""


def scratch_file():
    """A file without a name, in memory where the system can: works with a full or read-only /tmp. -> binary file object."""
    if hasattr(os, "memfd_create"):
        try:
            return os.fdopen(os.memfd_create("gpu-audit"), "w+b", 0)
        except OSError:
            pass
    import tempfile
    try:
        return tempfile.TemporaryFile(buffering=0, dir="/dev/shm")
    except OSError:
        return tempfile.TemporaryFile(buffering=0)


def read_scratch(file, limit):
    """At most `limit` bytes from the start of a file that another process may still be writing."""
    parts, at = [], 0
    while at < limit:
        part = os.pread(file.fileno(), min(1 << 20, limit - at), at)
        if not part:
            break
        parts.append(part)
        at += len(part)
    return b"".join(parts)


def end_group(pid, poll, grace_seconds=GRACE_SECONDS, signals=(signal.SIGTERM, signal.SIGKILL)):
    """Ends the process group `pid`; waits only `grace_seconds` for each signal. -> whether the leader is gone (`poll()` not None)."""
    for number in signals:
        for end in (os.killpg, os.kill):
            try:
                end(pid, number)
                break
            except OSError:
                # No such group: the child has not made its session yet.
                pass
        until = time.monotonic() + grace_seconds
        while time.monotonic() < until:
            if poll() is not None:
                return True
            time.sleep(0.005)
    return poll() is not None


def run_program(argv, timeout_seconds, max_bytes=MAX_BYTES, env=None):
    """Runs `argv` (a list, no shell) for at most `timeout_seconds`. -> ProgramResult; raises nothing for what a program can do.

    `env` is added to the environment. Output goes to nameless files, so neither a pipe nor a wait can hold us; a program that writes more
    than
    `max_bytes` is ended. One that ignores SIGKILL (state D) is left behind: `stuck`.
    """
    import subprocess
    started = time.monotonic()
    deadline = started + timeout_seconds
    environment = dict(os.environ, LC_ALL="C")
    environment.update(env or {})
    environment[DEADLINE_VARIABLE] = "%d" % (deadline + 2 * GRACE_SECONDS + 1)
    with scratch_file() as out, scratch_file() as err:
        try:
            process = subprocess.Popen(list(argv), stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment,
                                       close_fds=True, start_new_session=True)
        except (OSError, ValueError) as error:
            number = getattr(error, "errno", None)
            return ProgramResult(list(argv), None, "", "%s: %s" % (argv[0], getattr(error, "strerror", None) or error), False, False, False,
                                 number in (errno.ENOENT, errno.ENOTDIR), number in (errno.EACCES, errno.EPERM), time.monotonic() - started)
        timed_out = truncated = stuck = False
        pause = 0.001
        while process.poll() is None:
            truncated = os.fstat(out.fileno()).st_size > max_bytes or os.fstat(err.fileno()).st_size > max_bytes
            timed_out = not truncated and time.monotonic() >= deadline
            if truncated or timed_out:
                stuck = not end_group(process.pid, process.poll)
                break
            time.sleep(pause)
            pause = min(pause * 1.5, 0.02)
        truncated = truncated or os.fstat(out.fileno()).st_size > max_bytes
        rc = process.returncode
        if stuck:
            # Popen complains about a child that nobody waited for; this one is left on purpose.
            process.returncode = -signal.SIGKILL
        return ProgramResult(
            list(argv), rc, read_scratch(out, max_bytes).decode("utf-8", "replace"),
            read_scratch(err, min(max_bytes, MAX_STDERR_BYTES)).decode("utf-8", "replace"),
            timed_out, stuck, truncated, rc == 127, rc == 126, time.monotonic() - started)


def parse_stat(text):
    """/proc/<pid>/stat (man 5 proc) -> (comm, state, start time in clock ticks since boot), None when it isn't one.

    >>> parse_stat("42 (a) b) D 1 42 42 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0")
    ('a) b', 'D', 777)
    """
    head, mark, tail = text.rpartition(")")
    fields = tail.split()
    if not mark or "(" not in head or len(fields) < 20:
        return None
    return head.split("(", 1)[1], fields[0], int(fields[19])


def _read(path, limit=1 << 16):
    try:
        with open(path, "rb") as file:
            return file.read(limit).decode("utf-8", "replace")
    except OSError:
        return None


def _overdue(pid, proc, now):
    """Whether a program of an earlier audit should have been gone by now (its environment is readable to the same user and root)."""
    for entry in (_read(os.path.join(proc, pid, "environ")) or "").split("\0"):
        name, dummy, value = entry.partition("=")
        if name == DEADLINE_VARIABLE and value.isdigit():
            return now > int(value)
    return False


def _namespace(pid, proc):
    try:
        return os.readlink(os.path.join(proc, pid, "ns", "pid"))
    except OSError:
        return None


def _named(comm, proc):
    """The other processes with this name. `comm` is the cheapest file to ask thousands of processes for, without Python's buffering."""
    wanted, own, found = os.fsencode(comm) + b"\n", str(os.getpid()), []
    for pid in os.listdir(proc):
        if pid.isdigit() and pid != own:
            try:
                descriptor = os.open("%s/%s/comm" % (proc, pid), os.O_RDONLY)
            except OSError:
                continue
            try:
                if os.read(descriptor, 32) == wanted:
                    found.append(pid)
            except OSError:
                pass
            finally:
                os.close(descriptor)
    return found


def find_stuck(program_name, own_after_seconds=None, proc="/proc"):
    """An older process of this program that no longer moves. -> {"pid", "state", "age_seconds"} or None.

    Stuck is: in state D for STUCK_AFTER_SECONDS, or of an earlier audit and past its own deadline. `own_after_seconds`: for names that only
    this collection gives, any process of that age. Processes of another PID namespace (containers) don't count.
    """
    now = time.monotonic()
    for pid in _named(os.path.basename(program_name)[:15], proc):
        stat, uptime = parse_stat(_read(os.path.join(proc, pid, "stat")) or ""), _read(os.path.join(proc, "uptime"))
        if not stat or not uptime or stat[1] in "ZX" or _namespace(pid, proc) not in (None, _namespace("self", proc)):
            continue
        age = float(uptime.split()[0]) - stat[2] / os.sysconf("SC_CLK_TCK")
        if (stat[1] == "D" and age > STUCK_AFTER_SECONDS or own_after_seconds is not None and age > own_after_seconds
                or _overdue(pid, proc, now)):
            return {"pid": int(pid), "state": stat[1], "age_seconds": int(age)}
    return None
