# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the pages of the modules that work on the controller share."""

from __future__ import annotations


class ModuleDocFragment:
    """`trainops.gpu_audit.controller`: attributes and author; `.stored_run`: which run is meant."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    support: full
    description: Works the same in check mode; nothing on a host is ever changed.
  diff_mode:
    support: none
    description: Nothing is changed, so there is nothing to show.
"""

    STORED_RUN = r"""
options:
  run:
    description:
      - A stored run to work on; C(latest), a run id or a path.
      - Without it the run that collecting began in the same C(ansible-playbook) process is meant, and where there is none, the latest.
    type: str
  output_dir:
    description: The folder that holds the runs. Default is the value given with C(-e gpu_audit_output_dir=...), else C(./gpu-audit-runs).
    type: path
"""
