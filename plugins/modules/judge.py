# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the action plugin of this name; nothing here runs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: judge
short_description: Judge every host of a run
version_added: 0.1.0
description:
  - Derives the metrics of every host asked for, applies its policy and writes C(report.json) into the run directory. Contacts no host.
  - Judges the run that M(trainops.gpu_audit.collect) began in the same process. Without one, or with O(run), a stored run is judged
    again; C(gpu_audit_policy), C(gpu_audit_thresholds...), C(gpu_audit_workload), C(gpu_audit_expected), C(gpu_audit_waivers) and
    C(gpu_audit_language) given with C(-e) then replace what was stored.
  - Run it once and delegated to the controller, as in the example. It uses nothing of the host that it happens to run for.
options:
  destination:
    description: A folder for the report, instead of the run directory.
    type: path
extends_documentation_fragment:
  - trainops.gpu_audit.controller
  - trainops.gpu_audit.controller.stored_run
author:
  - The trainops.gpu_audit authors (@trainops)
"""

EXAMPLES = r"""
- name: Judge all hosts of the play
  trainops.gpu_audit.judge:
  run_once: true
  delegate_to: localhost
  become: false

- name: Judge the latest run again
  trainops.gpu_audit.judge:
    run: latest
"""

RETURN = r"""
run_directory:
  description: The run that was judged.
  type: str
  returned: success
  sample: /home/admin/gpu-audit-runs/20261130T120501Z-3f9a1c
report:
  description: The path of report.json.
  type: str
  returned: success
  sample: /home/admin/gpu-audit-runs/20261130T120501Z-3f9a1c/report.json
summary:
  description: How many hosts there are of each verdict.
  type: dict
  returned: success
  sample: {"hosts": 40, "ready": 12}
headline:
  description: The result in one sentence.
  type: str
  returned: success
  sample: 12 of 40 hosts are ready for training.
"""
