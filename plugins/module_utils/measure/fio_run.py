# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs fio for one named job: falls back where an engine or direct I/O isn't to be had, and says so."""

from __future__ import annotations

import collections
import os
import re
import resource
import signal
import stat

from ..sources.forked import signal_name
from ..sources.run_program import run_program
from . import fio_jobs
from .fio_output import parse_fio

OLDEST_MAJOR = 3
VERSION_SECONDS = 20

Outcome = collections.namedtuple("Outcome", "parsed engine direct notes error device_bytes seconds")
Outcome.__doc__ = """What became of a job: parsed is fio_output.parse_fio's, error null where it worked (else why), device_bytes: read from
devices by fio's processes as the kernel counted (null where it doesn't count), seconds: by the clock, laying out files included."""

_INSTALL = (("debian", "apt-get install fio"), ("rhel", "dnf install fio"), ("fedora", "dnf install fio"), ("suse", "zypper install fio"),
            ("arch", "pacman -S fio"), ("alpine", "apk add fio"))
_OTHER = "Give the path of fio 3.0 or newer, or none to take the one that is installed"


class NoFio(Exception):
    """There is no fio that can be used; the text says how to get one."""


def install_line(os_release):
    """The line that installs fio, from the text of /etc/os-release."""
    names = " ".join(re.findall(r'^(?:ID|ID_LIKE)="?([^"\n]*)', os_release or "", re.MULTILINE)).split()
    names = ["debian" if name == "ubuntu" else "suse" if name.startswith(("sles", "opensuse")) else name for name in names]
    return next((line for family, line in _INSTALL if family in names), "the package fio of your distribution")


def version(fio, os_release="", run=run_program):
    """The version of a fio program, "3.33"; NoFio where it can't be used. `fio`: of program(), null where there is none."""
    how = "Install it with: %s (or the role prepare with gpu_audit_prepare_fio: true)" % install_line(os_release)
    if fio is None:
        raise NoFio("fio isn't installed here. %s" % how)
    done = run([fio, "--version"], VERSION_SECONDS)
    if done.timed_out:
        raise NoFio("%s --version gave no answer within %d s and was ended" % (fio, VERSION_SECONDS))
    if done.rc is None:
        # The file is there and may be executed: what is missing or denied is what it needs.
        raise NoFio("%s can't be started: %s. %s" % (fio, "the interpreter or loader that it names is missing" if done.missing
                                                     else done.stderr.rpartition(": ")[2], _OTHER))
    found = re.search(r"\bfio-v?((\d{1,4})\.\S{0,60})", done.stdout)
    if done.rc != 0:
        ended = "was ended by %s" % signal_name(-done.rc) if done.rc < 0 else "ended with status %d" % done.rc
        raise NoFio("%s --version %s: %s. %s" % (fio, ended, _line(done.stderr + "\n" + done.stdout) or "it said nothing", _OTHER))
    if not found:
        said = _line(done.stdout + "\n" + done.stderr) or "nothing"
        raise NoFio("%s is not fio: asked for its version it says %s. %s" % (fio, said, _OTHER))
    if int(found.group(2)) < OLDEST_MAJOR:
        raise NoFio("fio %s is too old, %d.0 or newer is needed. %s" % (found.group(1), OLDEST_MAJOR, how))
    return found.group(1)


def refuses_direct(text):
    """Whether fio's words say that this file system takes no direct I/O."""
    return bool(re.search(r"does not support (O_DIRECT|direct=1)|O_DIRECT.*Invalid argument", text)
                or ("err=22" in text and "Invalid argument" in text))


def refuses_engine(text):
    """Whether fio's words say that the I/O engine can't be used: not built in, forbidden by a sandbox, or its queues used up."""
    return bool(re.search(r"not loadable|failed to load engine|engine_init|io_queue_init|io_setup|aio-max-nr|"
                          r"func=(io_?u?ring|init|fio_ioring|queue_init)|Function not implemented|[Kk]ernel doesn't support", text))


def run_job(fio, job, folder, environment, limit_seconds, run=run_program, extra=()):
    """Runs a fio_jobs.Job in a folder. -> Outcome; raises nothing for what fio does. `extra`: more of fio's arguments."""
    engines, direct, notes = list(job.engines), job.direct, []
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock
    while True:
        engine = engines[0]
        done = run([fio] + fio_jobs.arguments(job, folder, engine, direct) + list(extra), limit_seconds, env=environment)
        parsed = parse_fio(done.stderr + "\n" + done.stdout)
        words = done.stderr + "\n" + done.stdout.partition("{\n")[0]
        if done.timed_out or done.truncated or done.missing or done.not_permitted:
            error = ("fio gave no answer within %d s and was ended" % limit_seconds if done.timed_out
                     else "fio printed far too much and was ended" if done.truncated else "fio can't be started: %s" % done.stderr)
            return Outcome(parsed, engine, direct, notes, error, None, done.duration_seconds)
        failed = done.rc != 0 or parsed["errors"]
        if failed and len(engines) > 1 and refuses_engine(words):
            notes.append("the engine %s can't be used here (%s); %s was taken" % (engine, _line(words), engines[1]))
            engines.pop(0)
            continue
        if failed and direct and refuses_direct(words):
            direct = False
            notes.append("this file system takes no direct I/O (%s); read and written through the page cache, which is not comparable"
                         % _line(words))
            continue
        error = _failure(done, parsed, words) if failed else None
        blocks = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock - before
        return Outcome(parsed, engine, direct, notes, error, blocks * 512, done.duration_seconds)


def _failure(done, parsed, words):
    """What a run that failed said, in as few words as it did."""
    if done.rc is not None and done.rc < 0:
        limit = "; a file was to become larger than this user's limit (ulimit -f)" if -done.rc == signal.SIGXFSZ else ""
        return "fio was ended by %s%s" % (signal_name(-done.rc), limit)
    if not parsed["jobs"] and done.rc != 0:
        # That there is no result follows from the status; the rest is fio's own words.
        return "fio ended with status %s: %s" % (done.rc, "; ".join(parsed["errors"][1:3]) or _line(words) or "it said nothing")
    # What a job's error number means is easier to read than the place in fio's source.
    errors = sorted(parsed["errors"], key=lambda error: error.startswith("fio:"))
    return "; ".join(errors[:2]) or "fio ended with status %s: %s" % (done.rc, _line(words) or "it said nothing")


def _line(words):
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return lines[0][:200] if lines else ""


def program(path=None):
    """The fio to run: the one named (a bare name is looked for), else the one on the search path or in the usual folders; null where none
    is installed. NoFio for a path where there is no program."""
    if path and "\0" in path:
        raise NoFio("the fio named, %r, holds a NUL, which no name can. %s" % (path[:200], _OTHER))
    if path and "/" in path:
        try:
            mode = os.stat(path).st_mode
        except OSError as error:
            raise NoFio("the fio named, %s: %s. %s" % (path, error.strerror or error, _OTHER))
        if stat.S_ISDIR(mode):
            raise NoFio("the fio named, %s, is a directory. Give the program in it" % path)
        if not stat.S_ISREG(mode) or not os.access(path, os.X_OK):
            raise NoFio("the fio named, %s, can't be executed by this user (uid %d). %s" % (path, os.geteuid(), _OTHER))
        return path
    for folder in os.environ.get("PATH", "").split(":") + ["/usr/bin", "/usr/local/bin", "/usr/sbin", "/sbin", "/bin"]:
        found = os.path.join(folder, path or "fio")
        if folder and os.path.isfile(found) and os.access(found, os.X_OK):
            return found
    if path:
        raise NoFio("there is no program %s on the search path. %s" % (path, _OTHER))
    return None
