# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A folder of our own for the time of a test, and a watcher that removes it however the test ends.

The watcher is a forked process in a session of its own. It holds one end of a pipe whose other end only the test holds: when that closes
(the test is done, was killed, or crashed), or after a bounded time, it ends every program of the test and removes the folder.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import time

from ..sources.forked import _close_descriptors

PREFIX = ".gpu-audit-storage-"
# In the environment of every program of a test. fio's jobs make sessions of their own: no process group holds them all.
MARK_VARIABLE = "GPU_AUDIT_STORAGE_TEST"
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE)
# How long removing may take: a share with thousands of files, or a disk that is still writing.
REMOVE_SECONDS = 300


def leftovers(base):
    """The folders that a test by this collection left here or is using now (another host's, on a shared file system)."""
    try:
        return sorted(name for name in os.listdir(base) if name.startswith(PREFIX))
    except OSError:
        return []


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
        self.token = os.urandom(8).hex()
        self.path = os.path.join(base, PREFIX + self.token)
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
