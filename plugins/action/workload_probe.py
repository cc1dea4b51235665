# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs and watches a workload on a host and keeps the measurement on the controller. Documentation: plugins/modules/workload_probe.py."""

from __future__ import annotations

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.measuring_action import MeasuringAction


class ActionModule(MeasuringAction):
    """The workload_probe action."""

    MODULE = "workload_probe"
    SUMMARY = (
        "outcome", "error", "exit_code", "duration_seconds", "iterations", "epoch_seconds", "data_wait_fraction", "read_bytes_per_second",
        "limiter", "notes",
    )
