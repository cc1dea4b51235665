# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A folder of our own for the time of a test, and a watcher that removes it however the test ends.

The folder's name says whose it is: .gpu-audit-storage-<machine>-<boot>-<namespace>-<process>-<its start>-<random>. So another test in the
same directory sees, without any file that may be written late or half, whether that one runs here, has died, or is another machine's.

The watcher is a forked process in a session of its own. It holds one end of a pipe whose other end only the test holds: when that closes
(the test is done, was killed, or crashed), or after a bounded time, it ends every program of the test and removes the folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import select
import shutil
import signal
import stat
import time

from ..sources.forked import _close_descriptors
from ..sources.run_program import parse_stat

PREFIX = ".gpu-audit-storage-"
# In the environment of every program of a test. fio's jobs make sessions of their own: no process group holds them all.
MARK_VARIABLE = "GPU_AUDIT_STORAGE_TEST"
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE)
# How long removing may take: a share with thousands of files, or a disk that is still writing.
REMOVE_SECONDS = 300
# What became of the test that a folder belongs to.
RUNNING, DEAD, UNKNOWN = "running", "dead", "unknown"
_NAME = re.compile(re.escape(PREFIX) + r"([0-9a-f]{8})-([0-9a-f]{8})-([0-9a-f]{8})-(\d+)-(\d+)-[0-9a-f]{16}\Z")


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read(4096).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _short(text):
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


def _here(proc="/proc"):
    """Three short words: for this machine, for this boot of it, and for this namespace of processes."""
    try:
        space = os.readlink(proc + "/self/ns/pid")
    except OSError:
        space = ""
    # A machine that has no id is like no other.
    return _short(_read("/etc/machine-id") or os.urandom(8).hex()), _short(_read(proc + "/sys/kernel/random/boot_id")), _short(space)


def _started(pid, proc="/proc"):
    """When a process began (clock ticks since boot); null where it is gone or has ended."""
    found = parse_stat(_read("%s/%s/stat" % (proc, pid)))
    return found[2] if found and found[1] not in "ZX" else None


def state_of(name, local=False, proc="/proc"):
    """RUNNING, DEAD or UNKNOWN (another machine's or another container's) from the name of a test's folder.

    local: only this machine can have written it, so that one of an earlier boot is dead. Machines that were copied share an id.
    """
    found = _NAME.match(name)
    machine, boot, space = _here(proc)
    if not found:
        return UNKNOWN
    if found.group(2) != boot:
        return DEAD if local and found.group(1) == machine else UNKNOWN
    # The same boot is the same kernel, whatever its id.
    if found.group(3) != space:
        return UNKNOWN
    return RUNNING if _started(found.group(4), proc) == int(found.group(5)) else DEAD


def others(base, local=False, own=None):
    """The folders of other tests in a directory: [(name, state)], those of this collection only."""
    try:
        names = sorted(name for name in os.listdir(base) if name.startswith(PREFIX) and name != own)
    except OSError:
        return []
    return [(name, state_of(name, local)) for name in names]


def earlier_than(name, own):
    """Whether another running test is older than ours, so that of two that begin at once exactly one gives way."""
    def key(each):
        return int(_NAME.match(each).group(5)), each

    return key(name) < key(own)


def clear(base, name, seconds=30):
    """Ends and removes what a test that is DEAD left, a folder of this user only. -> whether it is gone."""
    path = os.path.join(base, name)
    try:
        found = os.lstat(path)
    except OSError:
        return True
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        return False
    return remove(path, name[len(PREFIX):], seconds)


def _marked(token, proc="/proc"):
    wanted, found = ("%s=%s" % (MARK_VARIABLE, token)).encode("ascii"), []
    for pid in os.listdir(proc):
        if pid.isdigit() and int(pid) != os.getpid():
            try:
                with open("%s/%s/environ" % (proc, pid), "rb") as file:
                    if wanted in file.read(1 << 20).split(b"\0"):
                        found.append(int(pid))
            except OSError:
                pass
    return found


def end_programs(token):
    """SIGKILL to every process of the test; one that can't be reached any more is gone."""
    for pid in _marked(token):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


def remove(path, token, seconds, clock=time.monotonic, pause=time.sleep):
    """Ends the test's programs and removes the folder, again and again for `seconds`. -> whether it is gone."""
    until = clock() + seconds
    while True:
        end_programs(token)
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.lexists(path) and not _marked(token):
            return True
        if clock() >= until:
            return False
        pause(0.1)


def _watch(path, token, pipe, seconds):
    """The watcher's whole life; never returns."""
    status = 1
    try:
        # A login session that is ended sends SIGTERM to everybody first: the work is still to be done.
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        # An inherited descriptor would hold the ssh session open, and our own end of the pipe would never close.
        _close_descriptors(pipe)
        os.chdir("/")
        with open("/proc/self/comm", "w") as file:
            file.write("gpu-audit-watch")
    except OSError:
        pass
    try:
        select.select([pipe], [], [], seconds)
        status = 0 if remove(path, token, REMOVE_SECONDS) else 1
    finally:
        os._exit(status)


class OwnFolder(object):
    """`with OwnFolder(base, seconds) as folder:` makes folder.path below base; gone afterwards, or folder.left says what wasn't.

    `seconds`: after these the watcher ends the test. Raises OSError where the folder can't be made.
    """

    def __init__(self, base, seconds):
        self.token = "-".join([*_here(), str(os.getpid()), str(_started("self") or 0), os.urandom(8).hex()])
        self.name = PREFIX + self.token
        self.path = os.path.join(base, self.name)
        self.left = None
        self._seconds = seconds
        self._watcher = self._pipe = None

    def environment(self):
        """What every program of the test must have in its environment."""
        return {MARK_VARIABLE: self.token}

    def __enter__(self):
        theirs, self._pipe = os.pipe()
        # A signal between the fork and the watcher's first lines would let the watcher live on as a second test.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            self._watcher = os.fork()
            if self._watcher == 0:
                _watch(self.path, self.token, theirs, self._seconds)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        os.close(theirs)
        try:
            # Only now: from its first moment on somebody looks after it.
            os.mkdir(self.path, 0o700)
        except OSError:
            self._end()
            raise
        return self

    def __exit__(self, *_error):
        self._end()

    def _end(self):
        os.close(self._pipe)
        until = time.monotonic() + REMOVE_SECONDS + 5
        pause = 0.002
        while time.monotonic() < until:
            try:
                done, status = os.waitpid(self._watcher, os.WNOHANG)
            except ChildProcessError:
                done, status = self._watcher, 0
            if done:
                # A watcher that somebody killed, or that fell, has removed nothing.
                if status != 0 and not remove(self.path, self.token, 0 if os.WIFEXITED(status) else REMOVE_SECONDS):
                    self.left = self.path
                return
            time.sleep(pause)
            pause = min(pause * 1.5, 0.1)
        self.left = self.path
