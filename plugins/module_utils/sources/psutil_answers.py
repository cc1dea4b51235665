# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""psutil, where it is installed: it estimates what an old kernel's or a hidden /proc and /sys doesn't say."""

from __future__ import annotations


def ask(function, **options):
    """What psutil.<function>(**options) answers; None without psutil and where it can't tell either."""
    try:
        import psutil
        return getattr(psutil, function)(**options)
    except (ImportError, AttributeError, OSError, RuntimeError, TypeError, ValueError):
        return None
