# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Measures a service from a host and keeps the measurement on the controller. Documentation: plugins/modules/request_benchmark.py."""

from __future__ import annotations

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import request_saying
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.measuring_peer import PeerMeasuringAction


class ActionModule(PeerMeasuringAction):
    """The request_benchmark action."""

    MODULE = "request_benchmark"
    SUMMARY = ("requests_per_second", "knee_concurrency", "notes")
    SIZES = {"payload_bytes": 0, "bytes": 64 << 10}

    def _figures(self, result, summary):
        """Latencies where they matter, and the knee; then what else a reader should know."""
        figures = request_saying.of_test(result, self._form.get("concurrency"), self._spoken)
        return self._with_notes(figures, summary) or self._text("no_figure")
