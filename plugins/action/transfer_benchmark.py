# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Measures transfers of a host, keeps the measurement and a storage's keys here. Documentation: plugins/modules/transfer_benchmark.py."""

from __future__ import annotations

import secrets
import time

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import ansible_edge, presign, transfer_saying
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.measuring_peer import PeerMeasuringAction
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.metrics.transfer import best_second

KEYS = ("access_key", "secret_key", "session_token", "region", "s3_endpoint", "s3_addressing")
# Beyond the attempts: starting the job, asking, reading back, deleting; and clocks that differ.
SPARE_SECONDS = 1800


class ActionModule(PeerMeasuringAction):
    """The transfer_benchmark action."""

    MODULE = "transfer_benchmark"
    SUMMARY = ("direction", "bytes_per_second", "peak_bytes_per_second", "time_to_first_byte_seconds", "attempts_failed", "retries_count",
               "limited_by", "notes")
    SIZES = {"bytes": 64 << 10}
    _presigned = None

    def _figures(self, result, summary):
        """The figures, the peak as the report has it; where nothing got through why, in words."""
        summary = dict(summary, peak_bytes_per_second=best_second(result))
        return transfer_saying.failure(result, self._spoken) or super()._figures(result, summary)

    def _arguments(self):
        """MeasuringAction's, with URLs presigned with the keys instead of them."""
        arguments = ansible_edge.plain(dict(self._task.args))
        if self._presigned is None:
            self._presigned = _presigned(arguments)
        given = {key: value for key, value in arguments.items() if key not in KEYS}
        return {**given, **self._presigned}


def _presigned(arguments):
    """The options that take the place of the keys; ValueError."""
    if not arguments.get("access_key") and not arguments.get("secret_key"):
        if str(arguments.get("url") or "").startswith("s3://"):
            raise ValueError("url: s3:// needs access_key and secret_key, or give a presigned https:// URL")
        return {}
    if not arguments.get("access_key") or not arguments.get("secret_key"):
        raise ValueError("access_key and secret_key belong together: one of them is missing")
    if arguments.get("storage") not in (None, "s3"):
        raise ValueError("storage: keys are of an S3-compatible storage, not of %s" % arguments["storage"])
    for key in ("url", *KEYS):
        if isinstance(arguments.get(key), (list, dict)):
            raise ValueError("%s must be text or a number, not a list or a map" % key)
    if arguments.get("s3_addressing") not in (None, "", *presign.ADDRESSINGS):
        # The module, which refuses such words elsewhere, never gets to see this one.
        raise ValueError("s3_addressing: %r is none of %s" % (arguments["s3_addressing"], ", ".join(presign.ADDRESSINGS)))
    region = str(arguments.get("region") or "us-east-1")
    url = presign.object_url(str(arguments.get("url") or ""), region, str(arguments.get("s3_endpoint") or ""), arguments.get("s3_addressing"))

    def signed(method, address):
        return presign.presign(method, address, str(arguments["access_key"]), str(arguments["secret_key"]), region, _seconds(arguments),
                               str(arguments.get("session_token") or ""))
    if arguments.get("direction") != "upload":
        return {"url": signed("GET", url), "storage": "s3"}
    if not url.endswith("/"):
        raise ValueError("url: an upload test with keys chooses a name of its own, so that it replaces nothing: end the URL in /")
    try:
        streams = max(1, min(64, int(arguments.get("streams") or 1)))
    except (TypeError, ValueError, OverflowError):
        raise ValueError("streams is no number") from None
    names = ["%sgpu-audit-transfer-%s.bin" % (url, secrets.token_hex(6)) for _number in range(streams)]
    return {"url": url, "storage": "s3", "upload_urls": [signed("PUT", name) for name in names], "read_url": signed("GET", names[0]),
            "delete_urls": [signed("DELETE", name) for name in names]}


def _seconds(arguments):
    """How long a presigned URL has to hold; a number that is none is the module's to refuse."""
    try:
        attempts, limit = float(arguments.get("attempts") or 3), float(arguments.get("timeout_seconds") or 300)
        wait = max(0.0, float(arguments.get("start_at") or 0) - time.time())
        needed = attempts * limit + wait + SPARE_SECONDS
        return min(needed, presign.LONGEST_SECONDS) if needed >= SPARE_SECONDS else SPARE_SECONDS
    except (TypeError, ValueError):
        return SPARE_SECONDS
