# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Measures the link of a host to one peer and keeps the measurement. Documentation: plugins/modules/link_benchmark.py."""

from __future__ import annotations

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import ansible_edge, link_saying, link_store
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.measuring_action import MeasuringAction


class ActionModule(MeasuringAction):
    """The link_benchmark action."""

    MODULE = "link_benchmark"
    SUMMARY = ("send_bytes_per_second", "receive_bytes_per_second", "notes")

    def answer(self, task_vars):
        """MeasuringAction's, with what Ansible reaches the host by."""
        self._task.args.setdefault("management", ansible_edge.plain(task_vars.get("ansible_host") or task_vars["inventory_hostname"]))
        return super().answer(task_vars)

    def _kept(self, name, output_dir, arguments, answer, planned, started):
        """What is kept has the form of a host in a group: one reader for both."""
        pair = answer.get("measurement")
        if isinstance(pair, dict) and not answer.get("failed"):
            place = {"address": pair.get("client_address"), "mtu_bytes": pair.get("interface_mtu_bytes"),
                     **{key: pair.get(key) for key in ("interface", "link_kind", "line_rate_bits_per_second", "iperf3_version",
                                                       "local_time")}}
            result = link_store.of_one_pair(name, str(pair.get("server_address") or self._task.args.get("peer")), place, pair)
            error = result["pairs"][0]["error"] or {}
            words = error.get("message") or link_store.failure_of(result)
            failed = result["bytes_per_second"] is None
            answer = dict(answer, **({"failed": True, "msg": words} if failed else {"measurement": result}))
        return super()._kept(name, output_dir, arguments, answer, planned, started)

    def _figures(self, result, summary):
        """Rates as links are named, and what is wrong; then what else a reader should know."""
        return self._with_notes(link_saying.of_host(result, self._spoken), summary)
