# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Starts a command so that it, and whatever it forks, can always be ended.

Orphans of the command come to the process that started it (PR_SET_CHILD_SUBREAPER, prctl(2)), so the tree below that process is
the whole workload, double-forked daemons included. No cgroup is made and nothing outside the tree is touched.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time

from ..sources.host_files import HostFiles
from . import sampler_host

# So often in a row nothing must be seen before nothing is left: whoever forks while /proc is read may be overlooked once.
LOOKS = 3

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_NAME = 1, 36, 15


class StartError(Exception):
    """The command could not be started; the text says why and what to do."""


def _prctl(option, value):
    """0, or the errno: an old kernel or a sandbox may refuse; the tree is then ended by what is still below us."""
    library = ctypes.CDLL(None, use_errno=True)
    arguments = [ctypes.c_ulong(0)] * 4
    arguments[0] = ctypes.c_char_p(value) if isinstance(value, bytes) else ctypes.c_ulong(value)
    return 0 if library.prctl(ctypes.c_int(option), *arguments) == 0 else ctypes.get_errno()


def adopt_orphans():
    """From now on orphaned descendants become children of this process. -> whether the kernel does it."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1) == 0


def die_with(parent, number):
    """This process gets signal `number` when its parent (whose pid was `parent` at the fork) ends, whichever way."""
    _prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def set_name(name):
    _prctl(_PR_SET_NAME, name.encode("ascii")[:15])


def spare_from_oom_killer():
    """The watch must outlive the workload when memory runs out; only root may ask for that. -> the value to give back to the child."""
    try:
        with open("/proc/self/oom_score_adj", "r+") as file:
            before = file.read().strip()
            file.seek(0)
            file.write("-500")
        return before
    except OSError:
        return None


def below(root, leave=(), host=None):
    """Living processes below `root`, those in `leave` and what is below them left out."""
    parents = sampler_host.process_parents(host or HostFiles())
    for pid in leave:
        parents.pop(pid, None)
    return sampler_host.descendants(parents, root)


def reap(statuses=None, leave=()):
    """Collects every ended child but those in `leave`; {pid: wait status} goes into `statuses`."""
    for name in _children():
        if name in leave:
            continue
        try:
            pid, status = os.waitpid(name, os.WNOHANG)
        except OSError:
            continue
        if pid and statuses is not None:
            statuses[pid] = status


def _children():
    """This process's children, ended ones included."""
    own, found, host = os.getpid(), [], HostFiles()
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = sampler_host.parse_process(host.text_or("/proc/%s/stat" % name, "", 1024))
            if fields and fields[0] == own:
                found.append(int(name))
    return found


def end_tree(grace_seconds, leave=(), statuses=None, patience_seconds=5.0, group=None):
    """Ends everything below this process: SIGTERM and `grace_seconds`, then SIGKILL until nothing is left.

    `group`: the process group that the command was started in, null for none. SIGKILL goes to whole groups as well: a process that forks
    and ends again and again is gone by the time its pid is known, but not its group.
    -> pids that even SIGKILL did not end within `patience_seconds` (state D), [] where all are gone.
    """
    root = os.getpid()
    left = below(root, leave)
    if left and grace_seconds > 0:
        _signal(left, signal.SIGTERM)
        until = time.monotonic() + grace_seconds
        while left and time.monotonic() < until:
            time.sleep(0.02)
            reap(statuses, leave)
            left = below(root, leave)
    until, pause, groups, looks = time.monotonic() + patience_seconds, 0.002, {group} - {None}, 0
    while looks < LOOKS and time.monotonic() < until:
        groups |= _groups(left)
        _signal(left, signal.SIGKILL)
        _signal([-number for number in groups], signal.SIGKILL)
        time.sleep(pause)
        pause = min(0.05, pause * 2)
        reap(statuses, leave)
        left = below(root, leave)
        looks = 0 if left else looks + 1
    reap(statuses, leave)
    return left


def _groups(pids):
    """Process groups of the tree's processes, this process's own left out: a session of the tree holds no other processes."""
    found = set()
    for pid in pids:
        try:
            found.add(os.getpgid(pid))
        except OSError:
            pass
    return found - {os.getpgrp()}


def _signal(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
            if number == signal.SIGTERM:
                # A stopped process can't act on it.
                os.kill(pid, signal.SIGCONT)
        except OSError:
            pass


def account(name):
    """(uid, gid, home, shell, name) of a user. StartError where it can't be used."""
    import pwd
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise StartError("run_as: there is no user %s on this host" % name)
    if os.geteuid() not in (0, entry.pw_uid):
        raise StartError("run_as: only root can start a command as %s; set become: true" % name)
    return entry


def find_program(name, environment, folder):
    """The path that execve takes. StartError in plain words where there is none."""
    if "/" in name:
        places = [os.path.join(folder, name)]
    else:
        places = [os.path.join(part or ".", name) for part in environment.get("PATH", os.defpath).split(":")]
    found = None
    for place in places:
        if os.path.isfile(place):
            found = found or place
            if os.access(place, os.X_OK):
                return place
    if found:
        raise StartError("argv: %s is not executable" % found)
    said = said_name(name)
    if said != name:
        raise StartError("argv: no program has the name that begins with %s: give a list of words, the program first, and variables in "
                         "environment" % said)
    raise StartError("argv: no program %s%s" % (name, "" if "/" in name else " in PATH (%s)" % environment.get("PATH", os.defpath)))


def said_name(word):
    """What may be repeated of argv's first word: a whole command in one word, or NAME=value, may hold a secret further on."""
    return word.split()[0].partition("=")[0]


def start(argv, environment, folder, output, user=None, oom_score=None):
    """Forks and executes `argv` in a session of its own. -> pid. StartError where it doesn't come to run.

    output: descriptor for stdout and stderr. user: an entry of account(). It gets SIGKILL when this process ends.
    """
    read_end, write_end = os.pipe()
    parent, pid = os.getpid(), os.fork()
    if pid == 0:
        stage = "start"
        try:
            os.setsid()
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            os.dup2(output, 1)
            os.dup2(output, 2)
            for number in range(1, signal.NSIG):
                if number not in (signal.SIGKILL, signal.SIGSTOP):
                    try:
                        signal.signal(number, signal.SIG_DFL)
                    except (OSError, ValueError):
                        pass
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            if oom_score is not None:
                try:
                    with open("/proc/self/oom_score_adj", "w") as file:
                        file.write(oom_score)
                except OSError:
                    pass
            if user is not None and os.geteuid() == 0:
                stage = "run_as"
                os.initgroups(user.pw_name, user.pw_gid)
                os.setgid(user.pw_gid)
                os.setuid(user.pw_uid)
            # Only now: changing the user clears it.
            die_with(parent, signal.SIGKILL)
            stage = "chdir"
            os.chdir(folder)
            stage = "argv"
            program = find_program(argv[0], environment, folder)
            for number in [int(name) for name in os.listdir("/proc/self/fd")]:
                if number > 2 and number != write_end:
                    try:
                        os.close(number)
                    except OSError:
                        pass
            os.execve(program, argv, environment)
        except StartError as error:
            os.write(write_end, str(error).encode("utf-8", "replace")[:2000])
        except BaseException as error:  # pylint: disable=broad-except
            words = getattr(error, "strerror", None) or str(error)
            where = {"chdir": "chdir: %s" % folder, "argv": "argv: %s" % said_name(argv[0])}.get(stage, stage)
            os.write(write_end, ("%s: %s" % (where, words))
                     .encode("utf-8", "replace")[:2000])
        finally:
            os._exit(126)
    os.close(write_end)
    try:
        said = b""
        while True:
            part = os.read(read_end, 4096)
            if not part:
                break
            said += part
    finally:
        os.close(read_end)
    if said:
        os.waitpid(pid, 0)
        raise StartError(said.decode("utf-8", "replace"))
    return pid
