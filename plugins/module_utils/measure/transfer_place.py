# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Where a transfer's requests go: own names for uploads, the peer's paths, ranges for parallel streams; removing what was uploaded."""

from __future__ import annotations

import os
import re
import time
from urllib.parse import urlsplit

from . import peer_stream
from .http_errors import Failure, origin
from .transfer_request import Aim, Part, object_of, shown, signed, small

GIB = 1 << 30
UPLOAD_BYTES = GIB
DOWNLOAD_BYTES = 4 * GIB
SMALL_SECONDS = 30
DELETE_SECONDS = 20


_LIES_THERE = ("something lies at %s already, and a test replaces nothing. Give a URL that ends in / (the test's own name is added), "
               "or a name that isn't taken")
_UNSAID = ("the server doesn't say whether something lies at %s (%s). Give a URL that ends in / (the test's own name is added), or "
           "overwrite=true where nothing that is needed lies there")
_SIGNED = ("nothing tells whether something lies at %s: it is signed for one method. Give read_url, signed for reading the same, or "
           "overwrite=true where nothing that is needed lies there")
_LEADS_AWAY = ("the upload is redirected to %s, and isn't sent there (%s). Give a URL that isn't redirected, or one that ends in / and is "
               "redirected to the name of what is sent")
_OWN_NAME = re.compile(r"gpu-audit-transfer-[0-9a-f]{12}\.bin\Z")


class Refused(Exception):
    """The transfer isn't begun; the text says why."""


def own_name():
    """The name of an object that we upload: it says whose it is, and no two tests share one."""
    return "gpu-audit-transfer-%s.bin" % os.urandom(6).hex()


def _took_nothing(status):
    """Whether a server that answers an upload so has stored none of it: it refuses, or sends the client elsewhere."""
    return status is not None and (300 <= status < 500 and status != 408 or status == 501)


def _name(url):
    """The last part of a URL's path."""
    return urlsplit(url).path.rpartition("/")[2]


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
        self.storage = options.get("storage") or ("s3" if signed(options["url"]) else "http")
        self.url, self.headers = options["url"], dict(options.get("headers") or {})
        if options.get("token"):
            self.headers["X-Peer-Token"] = options["token"]
        self.streams = options.get("streams") or 1
        self.most = options.get("bytes") or (UPLOAD_BYTES if self.upload or self.storage == "peer" else DOWNLOAD_BYTES)
        self.stream = peer_stream.Stream() if self.upload or self.storage == "peer" else None
        self._parts = None
        self.begun, self.read_back = False, None
        # What may lie there of ours: null, "part" (nobody knows) or "all"; and the Aims under which it may, by their objects.
        self.lies, self._sent = None, {}
        # Both before the try that runs.
        self._before = None, {}
        # Names that the test, or who signed for it, has made up: what lies under one of them is ours.
        self._own = set()
        # Objects that an upload may go to; those of them where nothing lies yet, not even our own; how each that is ours is deleted: Aims,
        # the second where the first can't be.
        self._allowed, self._empty, self._removal = set(), set(), {}

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
            self._own |= set(_name(aim.url) for aim in aims)
            # A signature holds for one method only.
            if not signed(self.url):
                self._removal = dict((object_of(aim.url), [aim]) for aim in aims)
                self.read_back = aims[0]
        else:
            for aim in aims or [Aim(self.url, self.headers)]:
                self._look_first(aim)
            aims = aims or [Aim(self.url, self.headers)]
        if len(aims) < self.streams:
            self.notes.append("a URL takes one upload at a time: %d of %d streams" % (len(aims), self.streams))
            self.streams = len(aims)
        for aim, url in zip(aims, self.options.get("delete_urls") or []):
            self._removal[object_of(aim.url)] = [Aim(url, self.headers)]
        if self.options.get("read_url"):
            self.read_back = Aim(self.options["read_url"], self.headers)
        edges = [self.most * number // self.streams for number in range(self.streams + 1)]
        return [Part(aim, 0, after - first - 1, self.stream.block) for aim, (first, after) in zip(aims, zip(edges, edges[1:]))]

    def _look_first(self, aim):
        """Looks at a URL that was given, unless its name was made up for a test, or somebody says that it may be replaced. Refused, Failure."""
        if signed(aim.url) and _OWN_NAME.match(_name(aim.url)):
            self._own.add(_name(aim.url))
        elif self.options.get("overwrite"):
            self.read_back = None if signed(aim.url) else aim
        else:
            found = self._look(aim, SMALL_SECONDS)
            if found:
                raise Refused(found[0])

    def _look(self, aim, seconds):
        """Asks whether something lies there. -> null where nothing does, else (why an upload there is refused, that in short); Failure.

        A signature holds for one method: of a presigned URL only `read_url`, presigned for reading, can tell whether something lies there.
        """
        reading = self.options.get("read_url")
        if signed(aim.url) and not (reading and urlsplit(reading).path == urlsplit(aim.url).path):
            return _SIGNED % shown(aim), "it is signed for one method"
        asked = Aim(reading, self.headers) if signed(aim.url) else aim
        method, head = ("GET", {"Range": "bytes=0-0"}) if signed(aim.url) else ("HEAD", {})
        try:
            # The same object may lie with another server of a storage; that another one is absent says nothing.
            small(method, asked, self.settings, seconds, head, follows=lambda other: object_of(other.url)[1] == object_of(asked.url)[1])
        except Failure as failure:
            if failure.status in (404, 410):
                self._empty.add(object_of(aim.url))
                if not signed(aim.url):
                    self._removal[object_of(aim.url)], self.read_back = [aim], aim
                return None
            # Busy servers are asked again, as in any attempt.
            if failure.status is None or failure.status in (408, 425, 429, 500, 502, 503, 504):
                raise
            if failure.status != 416:
                return _UNSAID % (shown(aim), failure), str(failure)
        return _LIES_THERE % shown(aim), "something lies there"

    def moved_on(self, parts, other, seconds):
        """The parts of the try after the Redirected `other`; an upload goes on to what is its own or was looked at. Refused, Failure."""
        note = "redirected to %s" % origin(other.aim.url)
        if note not in self.notes:
            self.notes.append(note)
        if not self.upload:
            return [part._replace(aim=other.aim) for part in parts]
        if self.storage == "peer":
            raise Failure("protocol", "HTTP %d is no answer to a PUT" % other.status, other.status)
        self._allow(self._parts[other.number].aim, other.aim, min(SMALL_SECONDS, max(1.0, seconds)))
        return [part._replace(aim=other.aim) if number == other.number else part for number, part in enumerate(parts)]

    def _allow(self, first, aim, seconds):
        """Lets an upload to `first` go on to `aim`. What was said of the first (overwrite) holds for the same object elsewhere, no other."""
        there, name = object_of(aim.url), _name(aim.url)
        if there in self._allowed or there == object_of(first.url):
            return
        if name in self._own and name == _name(first.url):
            # Who redirects may be the only one who can delete it, by a redirect again.
            self._removal[there] = [way for way in [aim] if not signed(aim.url)] + self._removal.get(object_of(first.url), [])
            if not signed(aim.url):
                self.read_back = aim
        elif not (self.options.get("overwrite") and there[1] == object_of(first.url)[1]):
            found = self._look(aim, seconds)
            if found:
                raise Refused(_LEADS_AWAY % (origin(aim.url), found[1]))
        if self.options.get("delete_urls"):
            self._removal.setdefault(there, self._removal.get(object_of(first.url), []))
        self._allowed.add(there)

    def only_new(self, parts):
        """The numbers of those parts whose server is asked to store nothing where something lies: until it is our own that lies there."""
        return frozenset(number for number, part in enumerate(parts) if object_of(part.aim.url) in self._empty)

    def trying(self, parts):
        """A try begins: from now on something of it may lie there."""
        self.begun, self._before = True, (self.lies, self._sent)
        self.lies = self.lies or "part"
        self._sent = dict(self._sent)
        self._sent.update((object_of(part.aim.url), part.aim) for part in parts)

    def untouched(self):
        """The try changed nothing there."""
        self.lies, self._sent = self._before

    def stored(self, parts, whole):
        """An upload got through, or its time was over before it was `whole`: what lies there now is ours."""
        self._empty -= set(object_of(part.aim.url) for part in parts)
        self.lies = "all" if whole else self.lies

    def refused(self, parts, failure, moved, connected):
        """A try failed after `moved` bytes. Refused where its condition says that something lies there; what was cut off may be ours."""
        if not connected or len(parts) == 1 and _took_nothing(failure.status):
            self.untouched()
        if not self.only_new(parts):
            return
        if failure.status == 412:
            # Not ours to delete, whatever HEAD said.
            for number in self.only_new(parts):
                self._removal.pop(object_of(parts[number].aim.url), None)
            raise Refused(_LIES_THERE % _list(part.aim for part in parts))
        if failure.status is None and moved:
            self._empty -= set(object_of(part.aim.url) for part in parts)

    # -------------------------------------------------------------- clearing

    def clear(self):
        """Deletes what was uploaded. -> notes; raises nothing for what a server does."""
        if not self.upload or not self.begun or self.storage == "peer":
            return []
        if not self.lies:
            return ["nothing was stored at %s: no upload got that far" % _list(part.aim for part in self._parts)]
        notes, ends, until = [], {}, time.monotonic() + DELETE_SECONDS
        for there, aim in self._sent.items():
            ends.setdefault(self._remove(there, aim, until, notes), []).append(aim)
        words = {"deleted": "what was uploaded to %s was deleted afterwards", "gone": "nothing of the test is left at %s",
                 "stays": "what was uploaded stays at %s: there is nothing to delete it with" if self.lies == "all" else
                          "a part of what was sent may lie at %s: there is nothing to delete it with"}
        return notes + [words[end] % _list(aims) for end, aims in ends.items() if end in words]

    def _remove(self, there, aim, until, notes):
        """Deletes one object, where it is ours. -> "deleted", "gone" (it isn't there), "stays" or, where `notes` has it, "told"."""
        failure = None
        for way in self._removal.get(there, []):
            try:
                # What is deleted is what was sent, wherever a server leads.
                answer = small("DELETE", way, self.settings, max(1.0, until - time.monotonic()),
                               follows=lambda other: object_of(other.url) in self._sent or _name(other.url) in self._own)
            except Failure as other:
                failure = failure or other
                continue
            if not answer.headers.get("x-amz-delete-marker"):
                return "deleted"
            notes.append("the bucket keeps versions: %s is marked as deleted and still takes its place" % shown(aim))
            return "told"
        if failure is None or failure.status in (404, 410):
            return "stays" if failure is None else "gone"
        notes.append(("%s couldn't be deleted (%s): delete it by hand" if self.lies == "all" else
                      "a part of what was sent may lie at %s, which couldn't be deleted (%s): look there, and delete it by hand")
                     % (shown(aim), failure))
        return "told"


def _list(aims):
    """Where they go, as it may be shown."""
    return ", ".join(sorted(set(shown(aim) for aim in aims)))
