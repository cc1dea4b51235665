# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Starts and ends the peer on its host, and says in the run's language what was refused. Documentation: plugins/modules/network_peer.py."""

from __future__ import annotations

import secrets
import shlex

from ansible.errors import AnsibleError

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import (
    alarm,
    ansible_edge,
    collecting,
    complaints,
    measuring,
    measuring_end,
    measuring_texts,
    run_directory,
)
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.edge_action import EdgeAction
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.measuring_action import END_SECONDS, FORM
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.verdict_table import clean

MARK_VARIABLE = "GPU_AUDIT_PEER"


class ActionModule(EdgeAction):
    """The network_peer action: the module, its refusals in Chinese where the run is; Ctrl-C while it starts a peer ends that peer."""

    _requires_connection = True

    def answer(self, task_vars):
        """The module's answer."""
        starts = self._task.args.get("state", "started") == "started" and not self._task.check_mode
        if starts:
            # What is tested against it goes by the form: a wrong one is refused before there is anything to end.
            collecting.checked_form(*ansible_edge.template_each(self._templar, task_vars, [FORM]))
        answer = self._started(task_vars) if starts else self._execute_module(task_vars=task_vars)
        if answer.get("failed") and answer.get("msg"):
            answer["msg"] = complaints.say(answer["msg"], self.language(task_vars))
        return answer

    def _started(self, task_vars):
        # Nobody knows the peer's port and token yet, and it would listen without a word: it is found by its environment.
        mark, language = secrets.token_hex(8), self.language(task_vars)

        def start(_watch):
            with measuring_end.marked(self._task, MARK_VARIABLE, mark):
                return self._execute_module(task_vars=task_vars)

        stopped = {"failed": True, "msg": complaints.say("interrupted", language)}
        return measuring_end.watched(start, lambda _number: self._interrupted(mark, language, task_vars), stopped)

    def _interrupted(self, mark, language, task_vars):
        """The line that says what became of the peer."""
        host = str(ansible_edge.plain(self._task.delegate_to or task_vars.get("inventory_hostname")))
        why = None
        try:
            with alarm.Alarm(0 if self._task.timeout else END_SECONDS):
                answer = self._low_level_execute_command(measuring_end.ending(MARK_VARIABLE, mark))
            if answer.get("rc"):
                why = collecting.tail(answer.get("stderr", "")) or "exit %s" % answer["rc"]
            elif "left" in answer.get("stdout", "").split():
                why = complaints.say(measuring_end.LEFT, language)
        except alarm.HostTimeout:
            why = measuring_texts.text(language, "interrupted_no_answer", seconds=END_SECONDS)
        except (AnsibleError, OSError) as error:
            why = complaints.say(ansible_edge.words(error), language)
        if why is None:
            return clean(measuring_texts.text(language, "peer_start_ended", host=host), 4000)
        ports = str(ansible_edge.plain(self._task.args.get("port_range") or self._task.args.get("port") or 0))
        until = measuring.latest(run_directory.now(), int(self._task.args.get("lifetime_seconds") or 3600))
        command = "ansible %s -m trainops.gpu_audit.network_peer -a %s" % (shlex.quote(host), shlex.quote("state=stopped port_range=%s" % ports))
        return clean(measuring_texts.text(language, "peer_start_left", host=host, why=why, ports=ports, until=until, command=command), 4000)
