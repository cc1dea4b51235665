# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the action plugin of this name; nothing here runs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: render
short_description: Write the report of a judged run
version_added: 0.1.0
description:
  - Writes report.html, report.csv, report.md, junit.xml and gpu_audit.prom beside C(report.json), then moves C(latest) to the run.
  - Returns the verdict table, which Ansible shows also without C(-v).
  - Run it once and delegated to the controller, as in the example. C(gpu_audit_formats), C(gpu_audit_hide_serials) and
    C(gpu_audit_report_documents) hold for the whole run; a host can't override them.
options:
  destination:
    description: The folder that holds report.json, where that isn't the run directory.
    type: path
extends_documentation_fragment:
  - trainops.gpu_audit.controller
  - trainops.gpu_audit.controller.stored_run
author:
  - The trainops.gpu_audit authors (@trainops)
"""

EXAMPLES = r"""
- name: Write the report
  trainops.gpu_audit.render:
  run_once: true
  delegate_to: localhost
  become: false
"""

RETURN = r"""
msg:
  description: The headline, a line a host (worst first) and where the report is.
  type: list
  elements: str
  returned: success
"""
