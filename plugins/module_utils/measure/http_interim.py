# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Answers, read more strictly than http.client does; interim ones (RFC 9110, 15.2), of which any number may come before the one that counts,
are passed over, whoever asked for them."""

from __future__ import annotations

import http.client
import re

from .http_errors import Failure

# A server that works on a long upload may say so every few seconds.
MOST_INTERIM = 1000
# 101 is none: what follows it isn't HTTP any more.
_HEAD = re.compile(br"HTTP/1\.[0-9] 1(?!01)[0-9][0-9](?=[ \r\n])")
_HEAD_LENGTH = len(b"HTTP/1.1 100 ")
_END = re.compile(br"\r?\n\r?\n")
MOST_LINE_BYTES = 65536
_CHUNK = re.compile(br"[ \t]*([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?\r?\n\Z")


class _Lines(object):
    """Lends the lines of a file. `cut`: whether the last one ended before its end."""

    def __init__(self, file):
        self.file, self.cut = file, False

    def readline(self, *size):
        line = self.file.readline(*size)
        self.cut = not line.endswith(b"\n")
        return line

    def close(self):
        self.file.close()


class Response(http.client.HTTPResponse):
    """One that passes over all interim answers: http.client knows 100 only, and takes the others for the answer itself. A head must be whole,
    where http.client takes the connection's end for its own, the size of a chunk a number, where it takes -5 and 0x5, and the end of one its
    end, where it takes any two bytes."""

    def begin(self):
        if self.headers is not None:
            return
        lines = self.fp = _Lines(self.fp)
        try:
            super(Response, self).begin()
        finally:
            self.fp = lines.file if self.fp is lines else self.fp
        if lines.cut:
            raise http.client.IncompleteRead(b"")

    def _get_chunk_left(self):
        # Whole, and not around http.client's: a fast server's small chunks are what this process is busy with.
        left = self.chunk_left
        if left:
            return left
        if left == 0:
            # http.client throws two bytes away, whatever they are.
            end = self.fp.read(2)
            if end != b"\r\n":
                raise http.client.IncompleteRead(b"") if b"\r\n".startswith(end) else _no_chunks()
        left = self._read_next_chunk_size()
        if left == 0:
            self._read_and_discard_trailer()
            self._close_conn()
            left = None
        self.chunk_left = left
        return left

    def _read_next_chunk_size(self):
        line = self.fp.readline(MOST_LINE_BYTES)
        found = _CHUNK.match(line)
        if found:
            return int(found.group(1), 16)
        if not line.endswith(b"\n") and len(line) < MOST_LINE_BYTES:
            # The connection has ended.
            raise http.client.IncompleteRead(b"")
        raise _no_chunks()

    def _read_status(self):
        for _number in range(MOST_INTERIM + 1):
            version, status, reason = super(Response, self)._read_status()
            if status >= 200:
                return version, status, reason
            if status == 101:
                raise Failure("protocol", "HTTP %d isn't an answer to this request" % status, status)
            http.client.parse_headers(self.fp)
        raise too_many()


def _no_chunks():
    return Failure("protocol", "the chunks of the answer are no proper HTTP")


def too_many():
    """The Failure of a server that sends no other answers."""
    return Failure("protocol", "more than %d interim answers" % MOST_INTERIM)


def passed_over(data):
    """(what is left of an answer's first bytes without the whole interim answers at their start, how many those were)"""
    count = 0
    while _HEAD.match(data):
        end = _END.search(data)
        if not end:
            break
        data, count = data[end.end():], count + 1
    return data, count


def is_final(data):
    """Whether the answer that counts begins with these bytes, or something that is no HTTP; false while nobody can tell."""
    start = b"HTTP/1."
    if len(data) < _HEAD_LENGTH and data[:len(start)] == start[:len(data)]:
        return False
    return not _HEAD.match(data)
