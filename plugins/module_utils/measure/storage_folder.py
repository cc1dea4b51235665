# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A folder of our own for the time of a test, and a watcher that removes it however the test ends.

The folder's name says whose it is: .gpu-audit-storage-<machine>-<boot>-<namespace>-<process>-<its start>-<random>. So another test in the
same directory sees, without any file that may be written late or half, whether that one runs here, has died, or is another machine's.

The watcher is a forked process in a session of its own. It holds one end of a pipe whose other end only the test holds: when that closes
(the test is done, was killed, or crashed), or after a bounded time, it ends every program of the test and removes the folder.

What is removed is reached through open directories and not by its path: a directory that was renamed or unmounted (lazily) meanwhile is
still the same one.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import select
import shutil
import signal
import socket
import stat
import time

from ..sources.forked import hold_nothing
from ..sources.run_program import parse_stat

PREFIX = ".gpu-audit-storage-"
# In the environment of every program of a test. fio's jobs make sessions of their own: no process group holds them all.
MARK_VARIABLE = "GPU_AUDIT_STORAGE_TEST"
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE)
# How long removing may take: a share with thousands of files, or a disk that is still writing.
REMOVE_SECONDS = 300
# How long a test waits for its turn to look for others: they look and make their folder, which takes no time.
TURN_SECONDS = 10
# What became of the test that a folder belongs to.
RUNNING, DEAD, UNKNOWN = "running", "dead", "unknown"
_NAME = re.compile(re.escape(PREFIX) + r"([0-9a-f]{8})-([0-9a-f]{8})-([0-9a-f]{8})-(\d{1,9})-(\d{1,20})-[0-9a-f]{16}\Z")
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


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
    # A machine that has no id is like no other; nor is a boot or a namespace that can't be told.
    return tuple(_short(word or os.urandom(8).hex()) for word in (
        _read("/etc/machine-id"), _read(proc + "/sys/kernel/random/boot_id"), space))


def _started(pid, proc="/proc"):
    """When a process began (clock ticks since boot); null where it is gone or has ended."""
    found = parse_stat(_read("%s/%s/stat" % (proc, pid)))
    return found[2] if found and found[1] not in "ZX" else None


def _numbered_as_here(proc="/proc"):
    """Whether processes have the numbers there by which this process knows them: a namespace may see the /proc of an outer one."""
    try:
        return os.readlink(proc + "/self") == str(os.getpid())
    except OSError:
        return False


def _process(pid, started, proc):
    """RUNNING, DEAD or UNKNOWN of the process that began at that moment."""
    if not _numbered_as_here(proc):
        return UNKNOWN
    if parse_stat(_read("%s/%d/stat" % (proc, pid))):
        return RUNNING if _started(pid, proc) == started else DEAD
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return DEAD
    except (OSError, OverflowError):
        pass
    # There is one, and it is hidden: /proc mounted with hidepid shows other users' processes to nobody.
    return UNKNOWN


def state_of(name, local=False, proc="/proc"):
    """RUNNING, DEAD or UNKNOWN (another machine's or container's, or a hidden process's) from the name of a test's folder.

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
    return _process(int(found.group(4)), int(found.group(5)), proc)


def others(base, local=False, own=None):
    """The folders of other tests in a directory: [(name, state)], those of this collection only."""
    try:
        names = sorted(name for name in os.listdir(base) if name.startswith(PREFIX) and name != own)
    except OSError:
        return []
    return [(name, state_of(name, local)) for name in names]


@contextlib.contextmanager
def turn(base, seconds=TURN_SECONDS):
    """`with turn(base) as mine:` one test of this machine at a time, so that each sees the folders of those before it; mine is False where
    the turn can't be had. The lock is a name that the kernel holds for as long as its process lives: nothing that a killed one could leave
    behind, and any file system will do."""
    found = os.stat(base)
    name = "\0gpu-audit-storage-%d-%d" % (found.st_dev, found.st_ino)
    until = time.monotonic() + seconds
    mine, lock = False, None
    try:
        lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        while not mine:
            try:
                lock.bind(name)
                mine = True
            except OSError as error:
                if error.errno != errno.EADDRINUSE or time.monotonic() >= until:
                    break
                time.sleep(0.01)
    except OSError:
        # No such sockets in this sandbox.
        pass
    try:
        yield mine
    finally:
        if lock is not None:
            lock.close()


def removable(base, name):
    """Whether a folder there is a directory of this user's, that clear() would remove."""
    try:
        found = os.lstat(os.path.join(base, name))
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def weight(path, most_entries=200000):
    """[bytes, inodes] that a folder takes, as far as this many entries."""
    size, entries = 0, 0
    for where, folders, files in os.walk(path):
        for name in [os.curdir] + files:
            try:
                size += os.lstat(os.path.join(where, name)).st_blocks * 512
                entries += 1
            except OSError:
                pass
        if entries >= most_entries:
            del folders[:]
    return [size, entries]


def clear(base, name, seconds=30):
    """Ends and removes what a test that is DEAD left, a folder of this user only. -> whether it is gone."""
    path = os.path.join(base, name)
    if not removable(base, name):
        return not os.path.lexists(path)
    return remove(path, name[len(PREFIX):], seconds)


def _marked(token, proc="/proc"):
    wanted, found = ("%s=%s" % (MARK_VARIABLE, token)).encode("ascii"), []
    # By other numbers than ours somebody else's process would be ended.
    for pid in os.listdir(proc) if _numbered_as_here(proc) else ():
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


def _below(directory, name=""):
    """The path of what lies below an open directory, wherever that is by now."""
    return os.path.join("/proc/self/fd/%d" % directory, name)


def whereabouts(directory):
    """The present path of an open directory, null where it was removed; a path that leads elsewhere where it can't be reached."""
    try:
        path = os.readlink("/proc/self/fd/%d" % directory)
        return path if os.fstat(directory).st_nlink and not path.endswith(" (deleted)") else None
    except OSError:
        return None


def _same(path, directory):
    try:
        return os.path.samestat(os.lstat(path), os.fstat(directory))
    except OSError:
        return False


def remove(path, token, seconds, clock=time.monotonic, pause=time.sleep, own=None):
    """Ends the test's programs and removes the folder, again and again for `seconds`. -> whether it is gone. `own`: the folder itself,
    open, found again where it was moved."""
    until = clock() + seconds
    while True:
        end_programs(token)
        shutil.rmtree(path, ignore_errors=True)
        moved = whereabouts(own) if own is not None else None
        if moved and _same(moved, own):
            shutil.rmtree(moved, ignore_errors=True)
            moved = whereabouts(own)
        if not os.path.lexists(path) and not moved and not _marked(token):
            return True
        if clock() >= until:
            return False
        pause(0.1)


def _watch(name, token, base, pipe, seconds):
    """The watcher's whole life; never returns. A byte in the pipe says that the folder is made."""
    status, own = 1, None
    try:
        # A login session that is ended sends SIGTERM to everybody first: the work is still to be done.
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        os.setsid()
        # An inherited descriptor would hold the ssh session open, and our own end of the pipe would never close.
        hold_nothing(pipe, base)
        os.chdir("/")
        with open("/proc/self/comm", "w") as file:
            file.write("gpu-audit-watch")
    except OSError:
        pass
    try:
        until = time.monotonic() + seconds
        while select.select([pipe], [], [], max(0, until - time.monotonic()))[0] and os.read(pipe, 1):
            try:
                own = os.open(name, _DIRECTORY, dir_fd=base)
            except OSError:
                pass
        status = 0 if remove(_below(base, name), token, REMOVE_SECONDS, own=own) else 1
    finally:
        os._exit(status)


class OwnFolder(object):
    """`with OwnFolder(base, seconds, admit) as folder:` makes folder.path below base; gone afterwards, or folder.left says what wasn't.
    folder.moved: whether it lay elsewhere than folder.path in the end.

    `seconds`: after these the watcher ends the test. `admit()`: called while no other test of this machine begins, before the folder is
    made; may raise. Raises OSError where the folder can't be made.
    """

    def __init__(self, base, seconds, admit=lambda: None):
        self.token = "-".join([*_here(), str(os.getpid()), str(_started("self") or 0), os.urandom(8).hex()])
        self.name = PREFIX + self.token
        self.path = os.path.join(base, self.name)
        self.left, self.moved = None, False
        self._place, self._seconds, self._admit = base, seconds, admit
        self._base = self._own = self._watcher = self._pipe = None

    def environment(self):
        """What every program of the test must have in its environment."""
        return {MARK_VARIABLE: self.token}

    def remove_part(self, name, seconds):
        """Ends the test's programs and removes one folder in ours. -> whether it is gone."""
        return remove(_below(self._own, name), self.token, seconds)

    def __enter__(self):
        self._base = os.open(self._place, _DIRECTORY & ~os.O_NOFOLLOW)
        theirs, self._pipe = os.pipe()
        # A signal between the fork and the watcher's first lines would let the watcher live on as a second test.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            self._watcher = os.fork()
            if self._watcher == 0:
                _watch(self.name, self.token, self._base, theirs, self._seconds)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        os.close(theirs)
        try:
            # Only now: from its first moment on somebody looks after it.
            with turn(self._place) as mine:
                self._admit()
                self._make()
                if not mine:
                    # Nobody kept the others from beginning: rather none of two than both.
                    self._admit()
        except BaseException:
            self._end()
            raise
        return self

    def _make(self):
        try:
            os.mkdir(self.name, 0o700, dir_fd=self._base)
            self._own = os.open(self.name, _DIRECTORY, dir_fd=self._base)
        except OSError as error:
            error.filename = self.path
            raise
        try:
            os.write(self._pipe, b"m")
        except BrokenPipeError:
            # Somebody killed the watcher; _end stands in for it.
            pass

    def __exit__(self, *_error):
        self._end()

    def _end(self):
        self.moved = self._own is not None and not _same(self.path, self._own)
        os.close(self._pipe)
        until = time.monotonic() + REMOVE_SECONDS + 5
        pause = 0.002
        done = status = 0
        while not done and time.monotonic() < until:
            try:
                done, status = os.waitpid(self._watcher, os.WNOHANG)
            except ChildProcessError:
                done, status = self._watcher, 0
            if not done:
                time.sleep(pause)
                pause = min(pause * 1.5, 0.1)
        # A watcher that somebody killed, or that fell, has removed nothing; what was moved at once it may never have seen.
        there = status != 0 or self._own is not None and whereabouts(self._own)
        if not done or there and not remove(_below(self._base, self.name), self.token, 0 if os.WIFEXITED(status) else REMOVE_SECONDS,
                                            own=self._own):
            self.left = self.path if self._own is None else whereabouts(self._own) or self.path
        for number in (self._own, self._base):
            if number is not None:
                os.close(number)
