# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Starts a command so that it, and whatever it forks, can always be ended.

Orphans of the command come to the process that started it (PR_SET_CHILD_SUBREAPER, prctl(2)), so the tree below that process is
the whole workload, double-forked daemons included. No cgroup is made and nothing outside the tree is touched.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import stat
import time

from ..sources.forked import close_descriptors
from ..sources.host_files import HostFiles
from . import sampler_host
from .tame import shown

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
    for name in children():
        if name in leave:
            continue
        try:
            pid, status = os.waitpid(name, os.WNOHANG)
        except OSError:
            continue
        if pid and statuses is not None:
            statuses[pid] = status


def children():
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
    -> pids that even SIGKILL did not end within `patience_seconds`, or that this user may not end (see left_notes()); [] where all are
    gone.
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
        refused = _signal(left, signal.SIGKILL)
        _signal([-number for number in groups], signal.SIGKILL)
        time.sleep(pause)
        pause = min(0.05, pause * 2)
        reap(statuses, leave)
        left = below(root, leave)
        looks = 0 if set(left) - refused else looks + 1
    reap(statuses, leave)
    return left


def left_notes(pids):
    """What is to be said of processes that end_tree() left, [] for none: this user may not end them (setuid programs), or nobody can."""
    closed, stuck = [], []
    for pid in pids:
        try:
            os.kill(pid, 0)
            stuck.append(pid)
        except PermissionError:
            closed.append(pid)
        except OSError:
            # Gone since.
            pass
    notes = []
    if closed:
        notes.append("processes of another user that the probe may not end: %s. End them by hand%s" % (
            _pids_text(closed), "" if os.geteuid() == 0 else ", or measure with become: true"))
    if stuck:
        notes.append("processes that not even SIGKILL ends: %s" % _pids_text(stuck))
    return notes


def _pids_text(pids):
    return ", ".join("%d" % pid for pid in pids[:20])


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
    """Sends a signal. -> those of `pids` that this user may not signal"""
    refused = set()
    for pid in pids:
        try:
            os.kill(pid, number)
            if number == signal.SIGTERM:
                # A stopped process can't act on it.
                os.kill(pid, signal.SIGCONT)
        except PermissionError:
            refused.add(pid)
        except OSError:
            pass
    return refused


def account(name):
    """(uid, gid, home, shell, name) of a user. StartError where it can't be used."""
    import pwd
    try:
        entry = pwd.getpwnam(name)
    except (KeyError, ValueError):
        raise StartError("run_as: there is no user %s on this host: name one of its users, or leave run_as out" % shown(name))
    if os.geteuid() not in (0, entry.pw_uid):
        raise StartError("run_as: only root can start a command as %s; set become: true" % shown(name))
    return entry


def job_environment(given, user=None, progress_path=""):
    """The whole environment of a command. given: its own variables; user: an entry of account(); progress_path: the helper's file."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "GPU_AUDIT_", "PYTHON"))}
    if user is not None:
        environment.update(HOME=user.pw_dir, USER=user.pw_name, LOGNAME=user.pw_name, SHELL=user.pw_shell or "/bin/sh")
    environment.setdefault("PATH", os.defpath)
    # Else what a Python program prints comes in blocks, long after the iteration it tells of.
    environment["PYTHONUNBUFFERED"] = "1"
    environment["GPU_AUDIT_PROBE_FILE"] = progress_path
    environment.update(given)
    return environment


def become(user):
    """This process is that user's from now on; only root can, and anybody else is that user already."""
    if user is not None and os.geteuid() == 0:
        os.initgroups(user.pw_name, user.pw_gid)
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)


def why_not(argv, environment, folder, user=None):
    """Why the command can't be started, in one sentence, None where nothing speaks against it. Ends as the user: for a child of its own.

    What execve alone can tell (a format that this host can't run, arguments that are too long) isn't known here.
    """
    stage = "run_as"
    try:
        become(user)
        stage = "chdir"
        os.chdir(folder)
        stage = "argv"
        find_program(argv[0], environment, folder)
    except StartError as error:
        return str(error)
    except (OSError, ValueError) as error:
        return _start_words(stage, error, argv, folder)
    return None


def find_program(name, environment, folder):
    """The path that execve takes. StartError in plain words where there is none."""
    search = environment.get("PATH", os.defpath)
    if "/" in name:
        places = [os.path.join(folder, name)]
    else:
        places = [os.path.join(part or ".", name) for part in search.split(":")]
    found, closed = None, None
    for place in places:
        try:
            kind = os.stat(place).st_mode
        except OSError as error:
            closed = closed or (place if error.errno == errno.EACCES else None)
            continue
        found = found or (place, kind)
        if stat.S_ISREG(kind) and os.access(place, os.X_OK):
            return place
    said = said_name(name)
    if said != name:
        raise StartError("argv: no program has the name that begins with %s: give a list of words, the program first, and variables in "
                         "environment" % shown(said, 300))
    if found and stat.S_ISDIR(found[1]):
        raise StartError("argv: %s is a folder, not a command: give the program in it" % found[0])
    if found:
        raise StartError("argv: %s may not be executed by %s: make it executable (chmod +x), or put what runs it in front, such as "
                         "[python3, train.py]" % (found[0], _own_name()))
    if closed:
        raise StartError("argv: %s can't be reached by %s (permission denied on a folder above it): open the folder, or set run_as"
                         % (closed, _own_name()))
    if "/" in name:
        raise StartError("argv: the command %s isn't there: give the path that it has on this host" % shown(places[0], 300))
    raise StartError("argv: the command %s isn't there, or isn't on PATH (%s): give its whole path, set PATH in environment, or install it"
                     % (shown(name, 300), shown(search, 300)))


def _own_name():
    import pwd
    try:
        return "user %s" % pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return "user %d" % os.geteuid()


# What execve(2) and chdir(2) mean by their errors, for the one who wrote the command.
_WORDS = {
    ("argv", errno.ENOENT): "is there, but what its first line (#!) or its loader names is not: see `file` and `head -1` of it",
    ("argv", errno.ENOEXEC): "is no program that this host can run: a script needs a first line such as #!/bin/sh, a binary this processor",
    ("argv", errno.EACCES): "may not be executed by {user}: it, or what its first line names, isn't executable, or its file system is "
                            "mounted noexec",
    ("argv", errno.E2BIG): "can't be started: arguments and environment are longer than the kernel takes (a word at most 128 KiB): hand "
                           "long lists over in a file",
    ("argv", errno.ETXTBSY): "is being written to at this moment: start again when that has ended",
    ("chdir", errno.ENOENT): "isn't there: make the folder, or give the one that the command runs in",
    ("chdir", errno.ENOTDIR): "is no folder: give the one that the command runs in",
    ("chdir", errno.EACCES): "may not be entered by {user}: open the folder, or set run_as",
}


def _start_words(stage, error, argv, folder):
    """Why a command could not be started, in one sentence."""
    code = getattr(error, "errno", None)
    subject = {"chdir": shown(folder, 300), "argv": shown(said_name(argv[0]), 300)}.get(stage)
    if (stage, code) in _WORDS:
        return "%s: %s %s" % (stage, subject, _WORDS[stage, code].format(user=_own_name()))
    words = os.strerror(code) if code else str(error)
    if isinstance(error, UnicodeError):
        words = "arguments or environment hold characters that can not be written as UTF-8"
    if stage == "run_as":
        return "run_as: the user can't be changed to: %s; set become: true" % words
    return "%s: %s can't be used: %s" % (stage, subject, words) if subject else "the command could not be started: %s" % words


def said_name(word):
    """What may be repeated of argv's first word: a whole command in one word, or NAME=value, may hold a secret further on."""
    return word.split()[0].partition("=")[0]


def start(argv, environment, folder, output, user=None, oom_score=None):
    """Forks and executes `argv` in a session of its own. -> pid. StartError where it doesn't come to run.

    output: descriptor for stdout and stderr. user: an entry of account(). It gets SIGKILL when this process ends.
    """
    read_end, write_end = os.pipe()
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:
        os.close(read_end)
        os.close(write_end)
        raise StartError(_start_words("start", error, argv, folder))
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
            stage = "run_as"
            become(user)
            # Only now: changing the user clears it.
            die_with(parent, signal.SIGKILL)
            stage = "chdir"
            os.chdir(folder)
            stage = "argv"
            program = find_program(argv[0], environment, folder)
            close_descriptors(write_end)
            os.execve(program, argv, environment)
        except StartError as error:
            os.write(write_end, str(error).encode("utf-8", "replace")[:2000])
        except BaseException as error:  # pylint: disable=broad-except
            os.write(write_end, _start_words(stage, error, argv, folder).encode("utf-8", "replace")[:2000])
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
