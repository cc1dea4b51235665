# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs a test of the fabric between GPUs on a host and keeps the measurement. Documentation: plugins/modules/fabric_benchmark.py."""

from __future__ import annotations

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.measuring_action import MeasuringAction


class ActionModule(MeasuringAction):
    """The fabric_benchmark action."""

    MODULE = "fabric_benchmark"
    SUMMARY = ("operation", "busbw_bytes_per_second", "wrong_values", "notes")
