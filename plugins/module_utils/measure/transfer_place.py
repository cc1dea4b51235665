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


_LIES_THERE = ("something lies at %s already, and a test replaces nothing. Give a URL that ends in / (the test's own name is added), "
               "or a name that isn't taken")
_OWN_NAME = re.compile(r"gpu-audit-transfer-[0-9a-f]{12}\.bin\Z")


class Refused(Exception):
    """The transfer isn't begun; the text says why."""


def own_name():
    """The name of an object that we upload: it says whose it is, and no two tests share one."""
    return "gpu-audit-transfer-%s.bin" % os.urandom(6).hex()


def _signed(url):
    """Whether this is a presigned URL of an S3-compatible storage (also of one that signs in the older way)."""
    return bool(re.search(r"[?&](X-Amz-Signature|AWSAccessKeyId)=", url, re.IGNORECASE))


def _took_nothing(status):
    """Whether a server that answers an upload so has stored none of it: it refuses, or sends the client elsewhere."""
    return status is not None and (300 <= status < 500 and status != 408 or status == 501)


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
        # What may lie there of ours: null, "part" (nobody knows) or "all"; and what it was before the try that runs.
        self._lies = self._lay = None
        # Whether uploads ask the server to store nothing where something lies: until it is our own that lies there.
        self.only_new = False
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
            self._look(aims[0])
        else:
            for aim in aims:
                self._look(aim)
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
        """An upload test replaces nothing; what it can't know to be its own it doesn't delete.

        A signature holds for one method: of a presigned URL only `read_url`, presigned for reading, can tell whether something lies there.
        """
        signed, reading = _signed(aim.url), self.options.get("read_url")
        if signed and _OWN_NAME.search(urlsplit(aim.url).path) or self.options.get("overwrite"):
            if not signed:
                self.read_back = aim
            return
        if signed and not (reading and urlsplit(reading).path == urlsplit(aim.url).path):
            raise Refused("nothing tells whether something lies at %s: it is signed for one method. Give read_url, signed for reading "
                          "the same, or overwrite=true where nothing that is needed lies there" % endpoint(aim.url))
        try:
            if signed:
                small("GET", Aim(reading, self.headers), self.settings, SMALL_SECONDS, {"Range": "bytes=0-0"})
            else:
                small("HEAD", aim, self.settings, SMALL_SECONDS)
        except Failure as failure:
            if failure.status in (404, 410):
                self.only_new = True
                if not signed:
                    self.removal, self.read_back = self.removal + [aim], aim
                return
            # Busy servers are asked again, as in any attempt.
            if failure.status is None or failure.status in (408, 425, 429, 500, 502, 503, 504):
                raise
            if failure.status != 416:
                raise Refused("the server doesn't say whether something lies at %s (%s). Give a URL that ends in / (the test's own name "
                              "is added), or overwrite=true where nothing that is needed lies there" % (endpoint(aim.url), failure))
        raise Refused(_LIES_THERE % endpoint(aim.url))

    def trying(self):
        """A try begins: from now on something of it may lie there."""
        self.begun, self._lay = True, self._lies
        self._lies = self._lies or "part"

    def untouched(self):
        """The try changed nothing there."""
        self._lies = self._lay

    def stored(self, whole):
        """An upload got through, or its time was over before it was `whole`: what lies there now is ours."""
        self.only_new = False
        self._lies = "all" if whole else self._lies

    def refused(self, failure, moved, connected):
        """A try failed after `moved` bytes. Refused where its condition says that something lies there; what was cut off may be ours."""
        if not connected or len(self._parts) == 1 and _took_nothing(failure.status):
            self.untouched()
        if not self.only_new:
            return
        if failure.status == 412:
            # Not ours to delete, whatever HEAD said.
            self.removal, self.begun = [], len(self._parts) > 1
            raise Refused(_LIES_THERE % ", ".join(sorted(set(endpoint(part.aim.url) for part in self._parts))))
        if failure.status is None and moved:
            self.only_new = False

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
        if not self._lies:
            return ["nothing was stored at %s: no upload got that far" % where]
        if not self.removal:
            return [("what was uploaded stays at %s: there is nothing to delete it with" if self._lies == "all" else
                     "a part of what was sent may lie at %s: there is nothing to delete it with") % where]
        notes, gone, until = [], 0, time.monotonic() + DELETE_SECONDS
        for aim in self.removal:
            try:
                answer = small("DELETE", aim, self.settings, max(1.0, until - time.monotonic()))
                if answer.headers.get("x-amz-delete-marker"):
                    notes.append("the bucket keeps versions: %s is marked as deleted and still takes its place" % endpoint(aim.url))
            except Failure as failure:
                gone += failure.status in (404, 410)
                if failure.status not in (404, 410):
                    words = "%s couldn't be deleted (%s): delete it by hand" if self._lies == "all" else (
                        "a part of what was sent may lie at %s, which couldn't be deleted (%s): look there, and delete it by hand")
                    notes.append(words % (endpoint(aim.url), failure))
        if not notes:
            notes.append(("nothing of the test is left at %s" if gone == len(self.removal) else
                          "what was uploaded to %s was deleted afterwards") % where)
        return notes
