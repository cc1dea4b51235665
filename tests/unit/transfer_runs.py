# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs a transfer with short waits, and says in short how its attempts ended."""

from __future__ import annotations

import hashlib
from unittest import mock

import transfer_servers as servers
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import transfer, transfer_attempt

BODY = hashlib.shake_128(b"test").digest(200000)
SHA256 = hashlib.sha256(BODY).hexdigest()
GOOD = servers.gives(BODY)


def run(url, direction="download", **options):
    """The result of a transfer of one attempt and up to two retries; an upload is as long as BODY."""
    with mock.patch.object(transfer_attempt, "FIRST_PAUSE_SECONDS", 0.01):
        return transfer.run(dict({"url": url, "direction": direction, "attempts": 1, "timeout_seconds": 10, "stall_seconds": 1, "retries": 2,
                                  "bytes": None if direction == "download" else len(BODY)}, **options))


def kinds(result):
    """[(kinds of the retries, kind of the error)] of each attempt."""
    return [([retry["kind"] for retry in attempt["retries"]], attempt["error"] and attempt["error"]["kind"]) for attempt in result["attempts"]]


def counted(result):
    """(attempts asked for, attempts that failed, retries)"""
    return result["attempts_asked"], result["attempts_failed"], result["retries_count"]
