# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Starts and ends the peer on its host, and says in the run's language what was refused. Documentation: plugins/modules/network_peer.py."""

from __future__ import annotations

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.edge_action import EdgeAction


class ActionModule(EdgeAction):
    """The network_peer action: the module, its refusals in Chinese where the run is."""

    _requires_connection = True

    def answer(self, task_vars):
        """The module's answer."""
        answer = self._execute_module(task_vars=task_vars)
        if answer.get("failed") and answer.get("msg"):
            answer["msg"] = complaints.say(answer["msg"], self.language(task_vars))
        return answer
