# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which machine a measurement was taken on."""

from __future__ import annotations

from ..facts import platform as platform_facts
from ..sources.host_files import HostFiles


def identity(host=None):
    """The machine-id as the facts have it, null where there is none."""
    return platform_facts.collect(host or HostFiles())["machine_id"]
