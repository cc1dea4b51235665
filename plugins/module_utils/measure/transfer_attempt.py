# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The attempts of a transfer: each with its time, its retries and why, its figures, and whether what came or was sent is right."""

from __future__ import annotations

import time

from . import peer_stream, transfer_checksum
from .figures import bytes_text
from .http_errors import Failure
from .transfer_request import MOST_REDIRECTS, Redirected, Try, small
from .transfer_stream import body_digest, new_hash

READ_BACK_BYTES = 64 << 20
READ_BACK_SECONDS = 60
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 60
# What the checksum's arithmetic may hold up without a word.
LEAST_WAIT_SECONDS = 0.1
# What goes away by itself. Certificates, wrong bytes, a server that speaks no HTTP don't; of a 4xx only those that ask for patience.
_RETRIED = ("refused", "timeout", "reset", "dns", "unreachable", "http_5xx", "short_body", "stalled", "proxy")
_PATIENCE = (408, 425, 429)
# How many times as many bytes as a failed try one has to move that is cut by the attempt's time: what buffers took isn't the same twice.
_FURTHER = 1.1
_TAKES_NO_MD5 = "the server says no checksum of it"


def retried(failure):
    """Whether a try that failed so is worth another one."""
    if failure.status is not None:
        return failure.status in _PATIENCE or failure.status >= 500
    return failure.kind in _RETRIED


class Attempts(object):
    """take() makes one attempt and keeps it in `taken`; `opened` is the first connection that worked."""

    def __init__(self, place, timeout_seconds, retries, wanted, clock=time.monotonic, sleep=time.sleep):
        self.place, self.timeout_seconds, self.retries, self.wanted = place, timeout_seconds, retries, wanted
        self.taken, self.opened = [], None
        self._clock, self._sleep = clock, sleep
        self._verified, self._waited, self._digests, self._linked = [], 0.0, {}, None
        # The most bytes that a failed try of this attempt moved.
        self._failed_at = 0

    def take(self):
        """One attempt; transfer_place.Refused."""
        deadline, retries, error, tried = self._clock() + self.timeout_seconds, [], None, None
        self._failed_at = 0
        while True:
            try:
                tried = self._try(deadline)
                if tried.limited == "seconds" and tried.moved.total < _FURTHER * self._failed_at:
                    # It hardly came to where the other failed: that one's reason stands.
                    raise Failure(error["kind"], "%s, and the time was over before another try got further" % error["message"])
                self._check(tried)
                error = None
                break
            except Failure as failure:
                error = {"kind": failure.kind, "message": str(failure)}
                pause = self._pause(failure, len(retries), deadline)
                if pause is None:
                    break
                retries.append(error)
                self._sleep(pause)
        self.taken.append(_figures(tried, retries, error))

    def _pause(self, failure, number, deadline):
        """Seconds until the next try; null for none."""
        if number >= self.retries or not retried(failure):
            return None
        pause = FIRST_PAUSE_SECONDS * 2 ** number if failure.retry_after is None else failure.retry_after
        return pause if pause <= min(LONGEST_PAUSE_SECONDS, deadline - self._clock() - 1) else None

    def _try(self, deadline):
        left = deadline - self._clock()
        if left <= 0:
            raise Failure("timeout", "no time left to try again")
        place = self.place
        parts = place.parts(left)
        for _number in range(MOST_REDIRECTS * (len(parts) if place.upload else 1) + 1):
            tried = Try(place.options["direction"], parts, place.settings, deadline, place.most, self._summer, place.only_new(parts))
            place.trying(parts)
            try:
                tried.run()
                place.stored(parts, tried.limited is None)
            except Redirected as other:
                if len(parts) == 1:
                    place.untouched()
                self._linked = other.headers
                parts = place.moved_on(parts, other, deadline - self._clock())
                continue
            except Failure as failure:
                self._failed_at = max(self._failed_at, tried.moved.total)
                place.refused(parts, failure, tried.moved.total, tried.opened is not None)
                raise
            if not tried.moved.total:
                raise Failure("protocol", "the answer is empty")
            self.opened = self.opened or tried.opened
            self._waited += tried.waited_seconds
            return tried
        raise Failure("protocol", "more than %d redirects" % MOST_REDIRECTS)

    # ------------------------------------------------------------- checksums

    def _wanted_of(self, headers):
        """(algorithm, hex, where it comes from) for a download; null for none."""
        if self.wanted:
            return self.wanted + ("the one that was given",)
        return transfer_checksum.stated(headers, self.place.storage) or transfer_checksum.stated(self._linked or {})

    def _summer(self, response):
        """What sums a download as it comes."""
        # Null of a chunked answer, whatever Content-Length it has beside.
        if (response.length or 0) > self.place.most:
            return None
        if self.place.storage == "peer":
            return peer_stream.Check(self.place.stream)
        wanted = self._wanted_of(response.headers)
        return new_hash(wanted[0]) if wanted else None

    def _check(self, tried):
        """Compares; Failure "checksum" where the bytes are wrong, or a checksum that was given couldn't be compared."""
        if tried.limited:
            self._verified.append((None, None, "not all of it was moved (limit of %s)" % tried.limited))
        else:
            (self._check_upload if self.place.upload else self._check_download)(tried)
        if self.wanted and self._verified[-1][1] is None:
            raise Failure("checksum", "the checksum that was given wasn't compared: %s" % self._verified[-1][2])

    def _check_download(self, tried):
        if self.place.storage == "peer" and len(tried.parts) == 1:
            return self._judge("sha256", tried.summed.is_stream, "the peer's bytes, which are known", "the peer")
        if len(tried.parts) > 1:
            return self._verified.append((None, None, "parallel streams aren't summed; take one stream to have it verified"))
        wanted = self._wanted_of(tried.answers[0].headers)
        if wanted is None:
            return self._verified.append((None, None, "none was given and the server says none"))
        algorithm, digest, source = wanted
        if tried.summed is None:
            return self._verified.append((algorithm, None, "this host can't compute %s" % algorithm))
        right = tried.summed.hexdigest() == digest
        if source == "ETag" and not right:
            return self._verified.append((None, None, "the ETag isn't the md5 of what came, which not every server's is"))
        self._judge(algorithm, right, source, "the download")

    def _judge(self, algorithm, right, source, what):
        self._verified.append((algorithm, right, source))
        if not right:
            raise Failure("checksum", "the checksum (%s) of %s isn't the one expected (%s)" % (algorithm, what, source))

    def _check_upload(self, tried):
        compared = []
        for number, part in enumerate(tried.parts):
            answer, count = tried.answers[number], part.last + 1
            stated = transfer_checksum.stated(answer.headers)
            if self.place.storage == "peer":
                stated, counted = transfer_checksum.peer_answer(answer.body)
                if counted != count:
                    self._judge("sha256", False, "%d bytes of %d reached the peer" % (counted, count), "the upload")
            if stated is None and self.place.storage == "s3":
                tag = transfer_checksum.etag(answer.headers)
                # An ETag that isn't the md5 says nothing: some servers make theirs otherwise.
                stated = tag if tag and self._digest(count, "md5") == tag[1] else None
            if stated is None:
                return self._verified.append((None, None, _TAKES_NO_MD5))
            if self._digest(count, stated[0]) is None:
                return self._verified.append((stated[0], None, "this host can't compute %s" % stated[0]))
            compared.append((stated[0], self._digest(count, stated[0]) == stated[1], stated[2]))
        for algorithm, right, source in compared:
            if not right:
                self._judge(algorithm, False, source, "the upload")
        self._judge(*(compared[0] + ("the upload",)))

    def _digest(self, count, algorithm):
        key = (count, algorithm)
        if key not in self._digests:
            if algorithm == "sha256":
                self._digests[key] = self.place.stream.digest(count)
            else:
                digest = body_digest(self.place.stream.block, count, algorithm)
                self._digests[key] = digest.hex() if digest is not None else None
        return self._digests[key]

    def read_back(self):
        """Fetches an upload whose server said no checksum, where it is small and may be fetched; once, after the last attempt."""
        place = self.place
        if not place.upload or not self._verified or self._verified[-1] != (None, None, _TAKES_NO_MD5) or self.taken[-1]["error"]:
            return
        if place.read_back is None or place.streams > 1:
            return
        if place.most > READ_BACK_BYTES:
            why = "%s, and %s is more than is read back (%s)" % (_TAKES_NO_MD5, bytes_text(place.most), bytes_text(READ_BACK_BYTES))
            self._verified[-1] = (None, None, why)
            return
        try:
            answer = small("GET", place.read_back, place.settings, READ_BACK_SECONDS, most=place.most + 1)
        except Failure as failure:
            self._verified[-1] = (None, None, "%s, and it couldn't be read back (%s)" % (_TAKES_NO_MD5, failure))
            return
        summed = new_hash("sha256")
        summed.update(answer.body)
        right = summed.hexdigest() == self._digest(place.most, "sha256")
        self._verified[-1] = ("sha256", right, "reading it back")
        if not right:
            self.taken[-1]["error"] = {"kind": "checksum", "message": "what was read back isn't what was uploaded"}

    def checksum(self):
        """{"algorithm", "verified", "how"} of all attempts: false where one was wrong, true where one was right and none wrong."""
        for verdict in (False, True):
            found = [entry for entry in self._verified if entry[1] is verdict]
            if found:
                return {"algorithm": found[0][0], "verified": verdict, "how": found[0][2]}
        why = self._verified[-1][2] if self._verified else "no attempt got through"
        return {"algorithm": None, "verified": None, "how": why}

    # ---------------------------------------------------------------- telling

    def notes(self):
        notes = list(self.place.notes)
        for number, attempt in enumerate(self.taken, 1):
            if attempt["error"]:
                notes.append("attempt %d failed: %s: %s" % (number, attempt["error"]["kind"], attempt["error"]["message"]))
        if self._waited > max(LEAST_WAIT_SECONDS, 0.05 * sum(attempt["seconds"] or 0 for attempt in self.taken)):
            notes.append("the checksum's arithmetic held the transfer up for %.1f s: the network may be faster" % self._waited)
        return notes


def _figures(tried, retries, error):
    """One entry of the measurement's `attempts`. `tried`: the try that got through, null for none."""
    moved = tried.moved if tried else None
    seconds = moved.seconds() if moved else None
    series = moved.series() if moved else []
    opened = tried.opened if tried else None
    return {
        "bytes": moved.total if moved else 0, "seconds": seconds,
        "bytes_per_second": moved.total / seconds if seconds else None, "peak_bytes_per_second": max(series) if series else None,
        "time_to_first_byte_seconds": tried.first_byte_seconds if tried else None,
        "connect_seconds": opened.connect_seconds if opened else None, "tls_seconds": opened.tls_seconds if opened else None,
        "status": tried.answers[0].status if tried and 0 in tried.answers else None, "retries": retries, "error": error,
        "limited_by": tried.limited if tried else None, "series": series,
    }
