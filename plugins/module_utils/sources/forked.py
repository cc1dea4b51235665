# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Calls a function that may block for ever or crash (a driver's library, statvfs on a dead mount) in a child with a deadline."""

from __future__ import annotations

import json
import os
import signal
import time

from .run_program import MAX_BYTES, end_group, read_scratch, scratch_file


def close_descriptors(*keep):
    """Closes everything inherited but `keep`: a stuck child must not hold the ssh session's descriptors."""
    try:
        numbers = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        numbers = range(3, 1024)
    for number in numbers:
        if number > 2 and number not in keep:
            try:
                os.close(number)
            except OSError:
                pass


def hold_nothing(*keep):
    """/dev/null on the first three descriptors, and no other of those inherited but `keep`."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    close_descriptors(*keep)


def _child(function, result, name):
    """The child's whole life; never returns."""
    status = 1
    try:
        os.setsid()
        hold_nothing(result)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        import resource
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if name:
            with open("/proc/self/comm", "w") as file:
                file.write(name)
    except (OSError, ValueError, ImportError):
        pass
    try:
        text = json.dumps({"value": function()})
    except BaseException as error:  # pylint: disable=broad-except
        text = json.dumps({"error": "%s: %s" % (type(error).__name__, error)})
    try:
        data = text.encode("ascii")
        while data:
            data = data[os.write(result, data):]
        status = 0
    finally:
        os._exit(status)


def signal_name(number):
    """11 -> "SIGSEGV"; a number without a name as it is."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal %d" % number


def run_forked(function, timeout_seconds, name=None):
    """Calls `function()` in a forked child. -> (True, its value, None) or (False, error text, kind).

    The value comes back as JSON. kind: `timeout` (the deadline passed; the child was ended, or left behind where it can't be), `crashed`
    (ended by a signal or without an answer), `failed` (it raised: "TypeError: ..."). `name` (up to 15 characters) is what the process
    list shows.
    """
    with scratch_file() as file:
        pid = os.fork()
        if pid == 0:
            _child(function, file.fileno(), name)
        status = []

        def poll():
            if not status:
                try:
                    done, code = os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    done, code = pid, 1 << 8
                if done:
                    status.append(code)
            return status[0] if status else None

        deadline = time.monotonic() + timeout_seconds
        pause = 0.0005
        while poll() is None:
            if time.monotonic() >= deadline:
                gone = end_group(pid, poll, signals=(signal.SIGKILL,))
                left = "" if gone else "; process %d can't be ended (uninterruptible)" % pid
                return False, "no answer within %g s%s" % (timeout_seconds, left), "timeout"
            time.sleep(pause)
            pause = min(pause * 1.5, 0.02)
        code = status[0]
        if os.WIFSIGNALED(code):
            return False, "ended by %s" % signal_name(os.WTERMSIG(code)), "crashed"
        try:
            answer = json.loads(read_scratch(file, MAX_BYTES).decode("ascii"))
        except ValueError:
            return False, "ended with status %d and no readable answer" % os.WEXITSTATUS(code), "crashed"
        if "error" in answer:
            return False, answer["error"], "failed"
        return True, answer["value"], None
