# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Measures how fast data moves to or from an HTTP server: guards, announcement, attempts with their retries, the measurement.

The measurement's form is in plugins/modules/transfer_benchmark.py.
"""

from __future__ import annotations

import re
import signal
import time
from urllib.parse import parse_qsl

from ..sources.forked import signal_name
from . import http_connection, moments, transfer_checksum, transfer_place
from .figures import bytes_text, check_ranges
from .http_errors import endpoint
from .transfer_attempt import Attempts
from .transfer_request import Settings

Refused = transfer_place.Refused
ATTEMPTS, TIMEOUT_SECONDS, RETRIES, STALL_SECONDS = 3, 300, 2, 30
LONGEST_START_WAIT_SECONDS = 3600
# Of all attempts; a presigned URL holds no longer either.
LONGEST_SECONDS = 7 * 86400
# Beyond the attempts: asking the server, reading back, deleting.
SPARE_SECONDS = 150
# Summing what was sent, for the comparison, is at least this fast.
SUM_BYTES_PER_SECOND = 100e6
# name -> (least, most).
_RANGES = {"attempts": (1, 100), "bytes": (1, 1 << 40), "timeout_seconds": (1, 86400), "stall_seconds": (1, 3600), "retries": (0, 10),
           "streams": (1, 64), "start_at": (0, 1 << 40), "hosts_at_once": (1, 1 << 20), "alone_bytes_per_second": (0, 1 << 60)}


class Interrupted(BaseException):
    """A signal asked the module to end; not an Exception, so that nothing takes it for a fault of a transfer."""


def secrets(options):
    """The texts of these options that nobody may see and Ansible is to take out of whatever is returned.

    Not short ones, nor numbers: Ansible would take them out of dates and figures. What this code says holds none of them anyway.
    """
    found = []
    urls = [options.get(name) for name in ("url", "read_url", "proxy")]
    for url in urls + (options.get("upload_urls") or []) + (options.get("delete_urls") or []):
        found += http_connection.secret_parts(url or "")
        # A value of the query alone, where it is long enough to be a key.
        found += [value for _name, value in parse_qsl(str(url or "").partition("?")[2]) if len(value) >= 16]
    headers = [str(value) for value in (options.get("headers") or {}).values()]
    # "Bearer <token>": a server may repeat the token alone.
    found += headers + [value.split()[1] for value in headers if re.match(r"[A-Za-z]+ +\S{8,}\Z", value)] + [options.get("token") or ""]
    # A name that a server redirects to is told in small letters.
    return [text for text in found + [text.lower() for text in found] if len(text) >= 6 and not text.isdigit()]


def plan(options):
    """Checks the options and asks no server anything. ValueError.

    -> {"seconds", "bytes_written", "bytes_read", "bytes_sent", "bytes_received", "notes": [what is announced]}
    """
    http_connection.check_url("url", options["url"])
    _check(options)
    place = transfer_place.Place(options, None)
    attempts, retries = options.get("attempts") or ATTEMPTS, _retries(options)
    limit = options.get("timeout_seconds") or TIMEOUT_SECONDS
    moved = attempts * (1 + retries) * place.most
    seconds = attempts * limit + SPARE_SECONDS + _start_wait(options) + (int(place.most / SUM_BYTES_PER_SECOND) if place.upload else 0)
    if seconds > LONGEST_SECONDS:
        raise ValueError("the test could take %d s (%d attempts of up to %d s), at most %d are allowed: fewer attempts, or less "
                         "timeout_seconds" % (seconds, attempts, limit, LONGEST_SECONDS))
    words = ("sends %s in each attempt, attempts: %d of at most %d s" if place.upload
             else "receives up to %s in each attempt, attempts: %d of at most %d s")
    notes = [words % (bytes_text(place.most), attempts, limit)]
    if retries:
        notes.append("with retries (at most %d an attempt, within its time) %s at the most" % (retries, bytes_text(moved)))
    if options.get("start_at"):
        notes.append(moments.together(options.get("hosts_at_once") or 1))
    return {"seconds": seconds, "bytes_written": 0, "bytes_read": 0, "bytes_sent": moved if place.upload else 0,
            "bytes_received": 0 if place.upload else moved, "notes": notes}


def _retries(options):
    return RETRIES if options.get("retries") is None else options["retries"]


def _check(options):
    """ValueError for what can't be one of this test's options; secrets aren't repeated."""
    check_ranges(options, _RANGES)
    for name in ("read_url", "upload_urls", "delete_urls"):
        value = options.get(name)
        for url in value if isinstance(value, list) else [value] if value else []:
            http_connection.check_url(name, url)
    proxy = options.get("proxy")
    if proxy and proxy not in ("none", "environment"):
        http_connection.check_url("proxy", proxy)
    if transfer_checksum.given(options.get("checksum")):
        if options["direction"] == "upload":
            raise ValueError("checksum is of a download: what an upload sends is the test's own")
        if (options.get("streams") or 1) > 1 and options.get("storage") != "peer":
            raise ValueError("checksum: parallel streams aren't summed; take one stream to have it verified")
    http_connection.check_headers(options.get("headers") or {})
    http_connection.check_headers({"X-Peer-Token": options.get("token") or "none"})


def _start_wait(options):
    """Seconds until the moment at which all hosts are to begin; 0 where it is none or past."""
    wait = (options.get("start_at") or 0) - time.time()
    if wait > LONGEST_START_WAIT_SECONDS:
        raise ValueError("start_at lies %d s ahead, at most %d are waited for" % (wait, LONGEST_START_WAIT_SECONDS))
    return max(0, int(wait))


def _interrupt(number, _frame):
    raise Interrupted("ended by %s" % signal_name(number))


def run(options):
    """Measures. -> the measurement, whatever became of its attempts; Refused, Interrupted."""
    limit = options.get("timeout_seconds") or TIMEOUT_SECONDS
    # A transfer that stands still when its time is over has stalled, however short that was.
    stall = min(options.get("stall_seconds") or STALL_SECONDS, max(0.5, limit / 2.0))
    settings = Settings(options.get("proxy") or "environment", options.get("ca_path"), options.get("validate_certs", True), stall)
    place = transfer_place.Place(options, settings)
    attempts = Attempts(place, limit, _retries(options), transfer_checksum.given(options.get("checksum")))
    before = dict((number, signal.signal(number, _interrupt)) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
    cleared, ended = [], None
    try:
        late = _wait_for_start(options)
        begun = moments.local_time()
        for _number in range(options.get("attempts") or ATTEMPTS):
            attempts.take()
        attempts.read_back()
    except (Interrupted, Refused) as error:
        ended = error
    finally:
        # A second signal must not keep what was uploaded from being deleted.
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        cleared = place.clear()
        for number, handler in before.items():
            signal.signal(number, handler)
    if ended is not None:
        raise type(ended)("; ".join([str(ended)] + (cleared if isinstance(ended, Interrupted) or place.lies else [])))
    return measurement(options, place, attempts, begun, late + attempts.notes() + cleared)


def _wait_for_start(options):
    """Waits for start_at. -> notes."""
    ahead = (options.get("start_at") or 0) - time.time()
    if not options.get("start_at"):
        return []
    if ahead < 0:
        return ["begun %d s after the moment at which all hosts were to begin: not all of them moved data at once" % -ahead]
    time.sleep(ahead)
    return []


def measurement(options, place, attempts, begun, notes):
    """The measurement's result."""
    taken = attempts.taken
    good = [attempt for attempt in taken if attempt["error"] is None]
    seconds, moved = sum(attempt["seconds"] for attempt in good), sum(attempt["bytes"] for attempt in good)
    peaks = [attempt["peak_bytes_per_second"] for attempt in good if attempt["peak_bytes_per_second"] is not None]
    firsts = sorted(attempt["time_to_first_byte_seconds"] for attempt in good if attempt["time_to_first_byte_seconds"] is not None)
    limits = [attempt["limited_by"] for attempt in good]
    opened = attempts.opened
    return {
        "direction": options["direction"], "scheme": options["url"].partition(":")[0].lower(), "endpoint": endpoint(options["url"]),
        "storage": place.storage,
        "bytes_per_second": moved / seconds if seconds else None,
        "peak_bytes_per_second": max(peaks) if peaks else None,
        "time_to_first_byte_seconds": firsts[len(firsts) // 2] if firsts else None,
        "attempts": taken, "attempts_asked": options.get("attempts") or ATTEMPTS, "attempts_failed": len(taken) - len(good),
        "retries_count": sum(len(attempt["retries"]) for attempt in taken), "bytes": moved, "checksum": attempts.checksum(),
        "proxy": opened.proxy if opened else None, "tls": opened.tls if opened else None, "address": opened.address if opened else None,
        "own_address": http_connection.own_address(opened),
        "streams": place.streams, "hosts_at_once": options.get("hosts_at_once") or 1,
        "alone_bytes_per_second": options.get("alone_bytes_per_second"), "local_time": begun,
        "limited_by": next((limit for limit in ("seconds", "bytes") if limit in limits), None), "notes": notes,
    }
