# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Measures storage on a host and keeps the measurement on the controller. Documentation: plugins/modules/storage_benchmark.py."""

from __future__ import annotations

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import ansible_edge, workload
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.measuring_action import MeasuringAction


class ActionModule(MeasuringAction):
    """The storage_benchmark action."""

    MODULE = "storage_benchmark"
    SUMMARY = ("read_bytes_per_second", "small_file_bytes_per_second", "checkpoint_write_bytes_per_second", "buffered_label",
               "quick")
    SIZES = ("size_bytes", "sample_bytes")

    def answer(self, task_vars):
        """MeasuringAction's; sizes may be text as in the workload form ("150 KB")."""
        path = str(ansible_edge.plain(self._task.args.get("path")) or "")
        if any("\ud800" <= letter <= "\udfff" for letter in path):
            # Ansible's own module code ends in a traceback at such a name.
            raise ValueError("path: %r holds bytes that are no UTF-8, which Ansible can't hand on; give a link to it that has a plain name"
                             % path)
        for key in self.SIZES:
            value = ansible_edge.plain(self._task.args.get(key))
            if isinstance(value, str):
                size = workload.parse_size(value)
                if size is None:
                    raise ValueError('%s: %r is no size; give bytes, or text such as "1.5 GiB"' % (key, value))
                self._task.args[key] = size
        return super().answer(task_vars)
