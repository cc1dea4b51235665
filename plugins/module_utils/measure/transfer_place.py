# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Where a transfer's requests go: own names for uploads, the peer's paths, ranges for parallel streams; removing what was uploaded."""

from __future__ import annotations

import os
import re
import time
from urllib.parse import urlsplit

from . import peer_stream
from .http_errors import Failure, endpoint
from .transfer_request import Aim, Part, small

GIB = 1 << 30
UPLOAD_BYTES = GIB
DOWNLOAD_BYTES = 4 * GIB
SMALL_SECONDS = 30
DELETE_SECONDS = 20


class Refused(Exception):
    """The transfer isn't begun; the text says why."""


def own_name():
    """The name of an object that we upload: it says whose it is, and no two tests share one."""
    return "gpu-audit-transfer-%s.bin" % os.urandom(6).hex()


def _signed(url):
    """Whether this is a presigned URL of an S3-compatible storage (also of one that signs in the older way)."""
    return bool(re.search(r"[?&](X-Amz-Signature|AWSAccessKeyId)=", url, re.IGNORECASE))


def below(url, name):
    """The URL with `name` at the end of its path; its query stays."""
    parts = urlsplit(url)
    return parts._replace(path=(parts.path if parts.path.endswith("/") else parts.path + "/") + name).geturl()


class Place(object):
    """The requests of one transfer. `options`: the module's parameters.

    `notes` grows; `parts(seconds)` may ask the server something first and raises Failure as the transfer itself does, or Refused.
    """

    def __init__(self, options, settings):
        self.options, self.settings, self.notes = options, settings, []
        self.upload = options["direction"] == "upload"
        self.storage = options.get("storage") or ("s3" if _signed(options["url"]) else "http")
        self.url, self.headers = options["url"], dict(options.get("headers") or {})
        if options.get("token"):
            self.headers["X-Peer-Token"] = options["token"]
        self.streams = options.get("streams") or 1
        self.most = options.get("bytes") or (UPLOAD_BYTES if self.upload or self.storage == "peer" else DOWNLOAD_BYTES)
        self.stream = peer_stream.Stream() if self.upload or self.storage == "peer" else None
        self._parts = None
        # What lies on the server because of us, and how it is removed.
        self.removal, self.begun, self.read_back = [], False, None
        self.redirects = {}

    def parts(self, seconds):
        if self._parts is None:
            self._parts = self._uploads() if self.upload else self._downloads(seconds)
        return self._parts

    # ------------------------------------------------------------- downloads

    def _downloads(self, seconds):
        if self.storage == "peer":
            aim = Aim(below(self.url, "bytes/%d" % (self.most // self.streams)), self.headers)
            # The peer hashes what it hasn't handed out yet before it answers; that is no part of the transfer.
            small("HEAD", aim, self.settings, seconds)
            return [Part(aim, None, None, None)] * self.streams
        aim = Aim(self.url, self.headers)
        if self.streams == 1:
            return [Part(aim, None, None, None)]
        answer = small("GET", aim, self.settings, seconds, {"Range": "bytes=0-0"})
        found = re.match(r"bytes 0-0/([0-9]{1,18})\Z", answer.headers.get("Content-Range") or "")
        total = min(int(found.group(1)), self.most) if found and answer.status == 206 else 0
        if total < self.streams:
            self.notes.append("the server gives no ranges of it: 1 of %d streams" % self.streams)
            self.streams = 1
            return [Part(aim, None, None, None)]
        edges = [total * number // self.streams for number in range(self.streams + 1)]
        return [Part(answer.aim, first, after - 1, None) for first, after in zip(edges, edges[1:])]

    # --------------------------------------------------------------- uploads

    def _uploads(self):
        given = self.options.get("upload_urls") or []
        aims = [Aim(url, self.headers) for url in given[:self.streams]] if given else []
        if self.storage == "peer":
            aims = [Aim(below(self.url, "sink"), self.headers)] * self.streams
        elif not aims and urlsplit(self.url).path.endswith("/"):
            aims = [Aim(below(self.url, own_name()), self.headers) for _number in range(self.streams)]
            # A signature holds for one method only.
            if not _signed(self.url):
                self.removal, self.read_back = list(aims), aims[0]
        elif not aims:
            aims = [Aim(self.url, self.headers)]
            if not _signed(self.url):
                self._look(aims[0])
        if len(aims) < self.streams:
            self.notes.append("a URL takes one upload at a time: %d of %d streams" % (len(aims), self.streams))
            self.streams = len(aims)
        if self.options.get("delete_urls"):
            self.removal = [Aim(url, self.headers) for url in self.options["delete_urls"]]
        if self.options.get("read_url"):
            self.read_back = Aim(self.options["read_url"], self.headers)
        edges = [self.most * number // self.streams for number in range(self.streams + 1)]
        return [Part(aim, 0, after - first - 1, self.stream.block) for aim, (first, after) in zip(aims, zip(edges, edges[1:]))]

    def _look(self, aim):
        """An upload test replaces nothing; what it can't know to be its own it doesn't delete."""
        try:
            small("HEAD", aim, self.settings, SMALL_SECONDS)
        except Failure as failure:
            if failure.status in (404, 410):
                self.removal, self.read_back = [aim], aim
            elif failure.status is None:
                raise
            else:
                self.read_back = aim
            return
        raise Refused("something lies at %s already, and a test replaces nothing. Give a URL that ends in / (the test's own name is "
                      "added), or a name that isn't taken" % endpoint(aim.url))

    def moved_on(self, part, aim):
        """A redirect of an upload holds for the tries after it; what it was told is kept for the notes."""
        note = "redirected to %s" % endpoint(aim.url)
        if note not in self.notes:
            self.notes.append(note)
        return part._replace(aim=aim)

    def clear(self):
        """Deletes what was uploaded. -> notes; raises nothing for what a server does."""
        if not self.upload or not self.begun or self.storage == "peer":
            return []
        where = ", ".join(sorted(set(endpoint(part.aim.url) for part in self._parts or [])))
        if not self.removal:
            return ["what was uploaded stays at %s: there is nothing to delete it with" % where]
        notes, until = [], time.monotonic() + DELETE_SECONDS
        for aim in self.removal:
            try:
                answer = small("DELETE", aim, self.settings, max(1.0, until - time.monotonic()))
                if answer.headers.get("x-amz-delete-marker"):
                    notes.append("the bucket keeps versions: %s is marked as deleted and still takes its place" % endpoint(aim.url))
            except Failure as failure:
                if failure.status not in (404, 410):
                    notes.append("%s couldn't be deleted (%s): delete it by hand" % (endpoint(aim.url), failure))
        if not notes:
            notes.append("what was uploaded to %s was deleted afterwards" % where)
        return notes
