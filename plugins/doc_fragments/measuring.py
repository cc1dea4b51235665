# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the pages of the modules that measure share."""

from __future__ import annotations


class ModuleDocFragment:
    """`trainops.gpu_audit.measuring`: attributes; a page adds the details of its check mode."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in check mode without changing anything.
    support: full
  diff_mode:
    description: Shows what changed in diff mode.
    support: none
    details: Nothing is different afterwards.
  platform:
    description: Operating systems that this works on.
    support: full
    platforms: linux
"""
