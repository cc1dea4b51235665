# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Measures the link of a host to one peer and keeps the measurement. Documentation: plugins/modules/link_benchmark.py."""

from __future__ import annotations

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import ansible_edge
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.measuring_action import MeasuringAction


class ActionModule(MeasuringAction):
    """The link_benchmark action."""

    MODULE = "link_benchmark"

    def answer(self, task_vars):
        """MeasuringAction's, with what Ansible reaches the host by."""
        self._task.args.setdefault("management", ansible_edge.plain(task_vars.get("ansible_host") or task_vars["inventory_hostname"]))
        return super().answer(task_vars)
