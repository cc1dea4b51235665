# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A limit of time on what a worker does with its host: neither a hanging host nor a dead session holds it up. No Ansible."""

from __future__ import annotations

import os
import signal


class HostTimeout(BaseException):
    """Raised by the alarm; not an Exception, so that nothing between here and the alarm takes it for an answer."""


class Alarm:
    """Raises HostTimeout in the worker after so many seconds and ends the programs (ssh) that it started; 0: no limit."""

    def __init__(self, seconds):
        self.seconds = seconds
        self._before = None

    def __enter__(self):
        if self.seconds:
            self._before = signal.signal(signal.SIGALRM, self._ring)
            signal.setitimer(signal.ITIMER_REAL, self.seconds)
        return self

    def __exit__(self, *unused):
        if self.seconds:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)

    def _ring(self, *unused):
        for child in _descendants(os.getpid()):
            try:
                os.kill(child, signal.SIGTERM)
            except OSError:
                pass
        raise HostTimeout()


def _descendants(pid):
    """The processes that this one started, and theirs: a worker starts nothing but connections. The parent is stat's 4th field, proc(5)."""
    children = {}
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else ():
        try:
            with open("/proc/%d/stat" % int(entry), "rb") as stream:
                parent = int(stream.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        children.setdefault(parent, []).append(int(entry))
    found, looked = [], [pid]
    while looked:
        own = children.get(looked.pop(), [])
        found += own
        looked += own
    return found
