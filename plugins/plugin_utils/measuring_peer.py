# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Ctrl-C while a test runs against the peer that the role measure_network started: the host that is measured ends it too."""

from __future__ import annotations

import signal

from ansible.errors import AnsibleError

from . import alarm, ansible_edge, collecting, complaints, measuring_end
from .measuring_action import END_SECONDS, MeasuringAction
from .verdict_table import clean

# The role's own word on it: {"url", "token", "until", "command"}.
VARIABLE = "measure_network_peer_end"


class PeerMeasuringAction(MeasuringAction):
    """A measuring action whose test may go to that peer: nothing of the play that would end it runs after Ctrl-C."""

    def answer(self, task_vars):
        """MeasuringAction's; Ctrl-C at any moment of it ends the peer."""
        peer = self._peer(task_vars)
        if peer is None:
            return super().answer(task_vars)
        return measuring_end.watched(
            lambda _watch: super(PeerMeasuringAction, self).answer(task_vars),
            lambda number: self._end_peer(peer, task_vars) if number == signal.SIGINT else None,
            self._failed("interrupted"),
        )

    def _peer(self, task_vars):
        """What ends the peer that this task goes to; None where it goes to none of the role's."""
        if self._task.check_mode:
            return None
        peer = ansible_edge.template_each(self._templar, task_vars, [VARIABLE])[0].get(VARIABLE)
        url = str(ansible_edge.plain(self._task.args.get("url")) or "")
        known = isinstance(peer, dict) and peer.get("url") and peer.get("token") and url.startswith(str(peer["url"]))
        return {key: str(value) for key, value in peer.items()} if known else None

    def _end_peer(self, peer, task_vars):
        """The line that says what became of the peer. The host that is measured reaches it, which the controller may not."""
        name = ansible_edge.plain(task_vars["inventory_hostname"])
        asked = {"state": "stopped", "url": peer["url"], "token": peer["token"]}
        try:
            with alarm.Alarm(0 if self._task.timeout else END_SECONDS):
                answer = self._execute_module(module_name="trainops.gpu_audit.network_peer", module_args=asked, task_vars=task_vars)
            why = collecting.failure(answer)[1] if answer.get("failed") or answer.get("unreachable") else None
        except alarm.HostTimeout:
            why = self._text("interrupted_no_answer", seconds=END_SECONDS)
        except (AnsibleError, OSError) as error:
            why = ansible_edge.words(error)
        if why is None:
            return clean(self._text("peer_ended", host=name, url=peer["url"]), 4000)
        why = complaints.say(why, self._spoken)
        return clean(self._text("peer_left", host=name, url=peer["url"], why=why, until=peer["until"], command=peer["command"]), 4000)
