# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the action plugin of this name; nothing here runs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gate
short_description: Fail a host that is below the gate
version_added: 0.1.0
description:
  - Fails exactly when the host's verdict is below the gate. Contacts no host; unreachable hosts and those that were never tried are
    refused too.
  - Uses the judgement of the same process. Where there is none, the report of a stored run.
  - Ansible skips a play without hosts and exits 0, so that nothing is refused there. The playbook C(trainops.gpu_audit.gate) fails; a play of
    your own does with P(trainops.gpu_audit.play_hosts#lookup) in its C(hosts).
options:
  level:
    description:
      - V(fail) refuses hosts that are not ready, unreachable, not tried or in error; V(unproven) refuses unproven ones too;
        V(warn) also those ready with warnings.
      - Default is the host's variable C(gpu_audit_gate), else V(fail).
    type: str
    choices: [fail, unproven, warn]
extends_documentation_fragment:
  - trainops.gpu_audit.controller
  - trainops.gpu_audit.controller.stored_run
author:
  - The trainops.gpu_audit authors (@trainops)
"""

EXAMPLES = r"""
- name: Refuse the hosts below the gate
  trainops.gpu_audit.gate:
    level: unproven
  delegate_to: localhost
  become: false
"""

RETURN = r"""
verdict:
  description: The host's verdict.
  type: str
  returned: when there is a judgement
  sample: not_ready
gate:
  description: The level that was asked for.
  type: str
  returned: when there is a judgement
  sample: fail
msg:
  description: Verdict, worst findings and what to do about them.
  type: str
  returned: always
run_directory:
  description: The run that the verdict comes from.
  type: str
  returned: when there is a judgement
"""
