# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Measures storage on a host and keeps the measurement on the controller. Documentation: plugins/modules/storage_benchmark.py."""

from __future__ import annotations

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import ansible_edge
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.measuring_action import MeasuringAction


class ActionModule(MeasuringAction):
    """The storage_benchmark action."""

    MODULE = "storage_benchmark"
    SUMMARY = ("read_bytes_per_second", "small_file_bytes_per_second", "random_read_iops", "checkpoint_write_bytes_per_second",
               "mixed_read_bytes_per_second", "mixed_write_bytes_per_second", "errors", "buffered_label", "quick")
    SIZES = {"size_bytes": 0, "sample_bytes": 0}

    def answer(self, task_vars):
        """MeasuringAction's, for a path that Ansible can hand on."""
        path = str(ansible_edge.plain(self._task.args.get("path")) or "")
        if any("\ud800" <= letter <= "\udfff" for letter in path):
            # Ansible's own module code ends in a traceback at such a name.
            raise ValueError("path: %r holds bytes that are no UTF-8, which Ansible can't hand on; give a link to it that has a plain name"
                             % path)
        return super().answer(task_vars)
