# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Ctrl-C while a measurement runs on a host: how a worker notices, what the host is told, where the user is told. No Ansible."""

from __future__ import annotations

import contextlib
import os
import re
import signal

_JID = "0123456789abcdefghijklmnopqrstuvwxyz."
LEFT = "a process of it doesn't end"
_MARK = re.compile(r"\A[\w-]+\Z", re.ASCII)
# Whoever has the mark is told once, but for Ansible's wrapper, which clears up behind its module and ends by itself. What is being started
# just now comes into sight a moment later: the shell looks until it has seen nothing for a while.
_SCRIPT = """
s=; j=; q=0; i=0;
while [ $i -lt 24 ] && [ $q -lt 5 ]; do i=$((i+1)); q=$((q+1));
for f in %(found)s; do p=${f#/proc/}; p=${p%%/environ};
w=$(tr '\\000' ' ' < /proc/$p/cmdline 2>/dev/null);
case "$w" in *async_wrapper.py*) w=${w#*async_wrapper.py }; w=${w%%%% *}; case "$w" in *[!j0-9]*) ;; j?*) j="$j $w";; esac; [ -n "$s" ] || q=0; continue;; esac;
q=0; case "$s " in *" $p "*) ;; *) s="$s $p"; kill -TERM $p 2>/dev/null;; esac; done; sleep 0.4; done;
for n in KILL 0; do for f in %(found)s; do grep -qsa 'async_wrapper[.]py' ${f%%environ}cmdline && continue;
p=${f#/proc/}; kill -$n ${p%%/environ} 2>/dev/null && [ $n = 0 ] && echo left; done; sleep 0.3; done;
for w in $j; do rm -f %(folder)s/$w.*; done
"""


class Interrupted(BaseException):
    """Ctrl-C or a request to end; not an Exception, so that nothing between here and the wait takes it for an answer."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


class Watch:
    """While it lasts SIGINT and SIGTERM raise Interrupted, once; `tell` says a line to whoever runs the playbook.

    A worker's own output leads nowhere from ansible-core 2.19 on, and nobody reads its queue any more once the playbook was interrupted:
    the line goes to the standard error of the playbook's process, held open from the beginning because that process may end first.
    """

    _NUMBERS = (signal.SIGINT, signal.SIGTERM)
    # How many watches last, one within the other, and the first signal that came meanwhile.
    _lasting = 0
    _seen = None

    def __init__(self):
        self._before = {}
        self._console = None

    def __enter__(self):
        with contextlib.suppress(OSError):
            self._console = os.open("/proc/%d/fd/2" % os.getppid(), os.O_WRONLY | os.O_APPEND | os.O_NOCTTY)
        Watch._lasting += 1
        self._before = {number: signal.signal(number, self._interrupt) for number in self._NUMBERS}
        return self

    def __exit__(self, *unused):
        for number, handler in self._before.items():
            signal.signal(number, handler)
        Watch._lasting -= 1
        if not Watch._lasting:
            Watch._seen = None
        if self._console is not None:
            os.close(self._console)

    def _interrupt(self, number, _frame):
        Watch._seen = Watch._seen or number
        # Ansible ends workers that take their time with a second signal; what is done about the first one is bounded.
        for other in self._NUMBERS:
            signal.signal(other, signal.SIG_IGN)
        raise Interrupted(number)

    def checking(self, function):
        """The same function, raising Interrupted before where one was raised and lost: Python drops what is raised within a finaliser or
        an import's own callbacks.
        """

        def checked():
            if Watch._seen is not None:
                raise Interrupted(Watch._seen)
            return function()

        return checked

    def tell(self, line):
        """Say a line; no error where nobody listens any more."""
        with contextlib.suppress(OSError):
            os.write(2 if self._console is None else self._console, (line + "\n").encode("utf-8", "replace"))


def watched(during, line, otherwise):
    """What `during(watch)` gives. A signal meanwhile ends it: `line(number)` does what is to be done about it and gives the line that is told,
    None for none; then the signal is raised once more, now as Ansible's worker meets it, and where that goes on, `otherwise` is given.
    """
    try:
        with Watch() as watch:
            try:
                return during(watch)
            except Interrupted as error:
                said = line(error.number)
                if said is not None:
                    watch.tell(said)
                raise
    except Interrupted as error:
        os.kill(os.getpid(), error.number)
        return otherwise


def script(module, jid):
    """A shell's words that end the module of a job (SIGTERM: it cleans up and answers) and say "ended"; nothing where it doesn't run.

    The module is the child of Ansible's async_wrapper, whose arguments have the first part of the job's id. ValueError for an id that is
    none.
    """
    job = jid.partition(".")[0]
    if not job or set(jid) - set(_JID):
        raise ValueError("%r is no id of a job" % jid)
    return (
        "for f in $(grep -la 'AnsiballZ_%s[.]py' /proc/[0-9]*/cmdline 2>/dev/null); do "
        "grep -qa async_wrapper $f 2>/dev/null && continue; d=${f%%/cmdline}; "
        "p=$(sed -n 's/^PPid:[^0-9]*//p' $d/status 2>/dev/null); "
        "grep -qa '%s' /proc/$p/cmdline 2>/dev/null && kill -TERM ${d#/proc/} && echo ended; done; true" % (module, job)
    )


def ending(variable, value, folder="~/.ansible_async"):
    """A shell's words that end everything whose environment has this variable with this value, and take the files of such jobs of Ansible's
    away from `folder`, its async_dir as a shell takes it. They say "left" where something wouldn't end. ValueError for what is no mark.
    """
    if not _MARK.match(variable) or not _MARK.match(value):
        raise ValueError("%s=%s is no mark" % (variable, value))
    # The shell's own environment doesn't have the mark.
    found = "$(grep -lsa '%s=%s' /proc/[0-9]*/environ)" % (variable, value)
    return (" ".join(_SCRIPT.split("\n")) % {"found": found, "folder": folder}).strip()


@contextlib.contextmanager
def marked(task, variable, value):
    """While it lasts, modules that a task runs have a mark in their environment from their first moment, and so has what they start: what is
    only being started when the play is interrupted is found and ended likewise.
    """
    before = task.environment
    task.environment = [*(before if isinstance(before, list) else [before] if before else []), {variable: value}]
    try:
        yield
    finally:
        task.environment = before


def by_hand(module):
    """The command with which somebody ends it on the host: the module itself is the oldest process of its name."""
    return "pkill -TERM -o -f '^[^ ]+ [^ ]*AnsiballZ_%s'" % module
