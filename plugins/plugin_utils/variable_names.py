# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The names of the collection's variables, so that a mistyped one is told: Ansible itself passes over it. Pure."""

from __future__ import annotations

from . import collecting, host_options
from .words import nearest

PREFIX = "gpu_audit_"
# Merged by name, and the variables of the role prepare, which an audit never reads.
_OPEN = ("gpu_audit_thresholds", "gpu_audit_prepare_")
KNOWN = frozenset((
    *collecting.INPUT_VARIABLES, *collecting.COLLECT_VARIABLES, *collecting.RUN_VARIABLES, *host_options.VARIABLES,
    "gpu_audit_thresholds", "gpu_audit_output_dir",
    # The playbooks and the gate.
    "gpu_audit_hosts", "gpu_audit_serial", "gpu_audit_run", "gpu_audit_rejudge_dir", "gpu_audit_gate",
    # The playbook plan, and the file beside a training loop.
    "gpu_audit_model", "gpu_audit_plan_file", "gpu_audit_probe",
    # What the roles register.
    "gpu_audit_collected", "gpu_audit_judged", "gpu_audit_plan",
))


def unknown(names):
    """A sentence for each of these variable names that looks like one of ours and is none, in name order."""
    ours = (name for name in names if isinstance(name, str) and name.startswith(PREFIX) and not name.startswith(_OPEN))
    strange = sorted(name for name in ours if name not in KNOWN)
    return ["%s is no variable of this audit and changes nothing%s" % (name[:100], nearest(name, sorted(KNOWN))) for name in strange]
