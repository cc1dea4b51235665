# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the action plugin of this name; nothing here runs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: collect
short_description: Collect one host into the run directory
version_added: 0.1.0
description:
  - Runs M(trainops.gpu_audit.host_facts) on the host and stores the result as its document in the run directory. One task, one round trip.
  - Before the host is contacted, what it will be judged by (policy, thresholds, workload form, expectations, waivers) is stored beside it.
  - A host that can't be reached, has no Python, doesn't answer in time or has a variable that doesn't template leaves a document that
    says so.
  - Takes no options. It reads the variables that the role P(trainops.gpu_audit.audit#role) documents, and templates each by itself.
extends_documentation_fragment:
  - trainops.gpu_audit.controller
author:
  - The trainops.gpu_audit authors (@trainops)
"""

EXAMPLES = r"""
- name: Collect every host, losing none
  trainops.gpu_audit.collect:
  register: gpu_audit_collected
  ignore_errors: true
  ignore_unreachable: true
"""

RETURN = r"""
status:
  description: C(collected), C(unreachable) or C(error).
  type: str
  returned: always
  sample: collected
kind:
  description: The kind of error; see the C(errors) of a host document.
  type: str
  returned: when status is error
  sample: no_python
run_directory:
  description: Where the documents of this run lie on the controller.
  type: str
  returned: when there is one
  sample: /home/admin/gpu-audit-runs/20261130T120501Z-3f9a1c
gpu_count:
  description: How many GPUs the host shows; null where that is unknown.
  type: int
  returned: when status is collected
  sample: 8
gpu_name:
  description: The model; several are joined with commas; null where there is none.
  type: str
  returned: when status is collected
  sample: NVIDIA H100 80GB HBM3
gpu_state:
  description: The C(state) of the GPU facts.
  type: str
  returned: when status is collected
  sample: ok
seconds:
  description: How long collecting took.
  type: float
  returned: always
  sample: 1.4
"""
