# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Measures storage on a host and keeps the measurement on the controller. Documentation: plugins/modules/storage_benchmark.py."""

from __future__ import annotations

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.measuring_action import MeasuringAction


class ActionModule(MeasuringAction):
    """The storage_benchmark action."""

    MODULE = "storage_benchmark"
    SUMMARY = ("read_bytes_per_second", "small_file_bytes_per_second", "checkpoint_write_bytes_per_second", "cached", "quick")
