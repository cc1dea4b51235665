# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The time of day where the host stands: what a test of a network was taken at; tests that begin at one moment on several hosts."""

from __future__ import annotations

import datetime


def local_time(seconds=None):
    """A moment (seconds since 1970, null for now) in the host's own zone, ISO 8601 with its offset: "2026-11-30T09:15:02+08:00"."""
    now = datetime.datetime.now(datetime.timezone.utc) if seconds is None else datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return now.astimezone().replace(microsecond=0).isoformat()


def together(hosts):
    """What is announced of a test that `hosts` begin at the same moment."""
    return "begins at the same moment on %d hosts" % hosts
