# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The bytes that the peer server hands out: one block of 1 MiB that doesn't compress, over and over, and the SHA-256 of its beginnings.

Whoever sends these same bytes to the server's /sink has them compared (several GB/s) instead of hashed (below 1 GB/s on many machines).
"""

from __future__ import annotations

import hashlib
import threading

BLOCK_BYTES = 1 << 20
# A copy of the hash is kept at each of these, so that the digest of any length costs at most the hashing of one of them.
_MARK_BLOCKS = 128


def block():
    """The 1 MiB that repeats; the same on every machine."""
    return b"".join(hashlib.sha256(b"trainops.gpu_audit stream %d" % number).digest() for number in range(BLOCK_BYTES // 32))


class Stream(object):
    """`block`, `twice` (two blocks, so that 1 MiB from any place is one slice) and digests; threads may share it."""

    def __init__(self):
        self.block = block()
        self.twice = memoryview(self.block * 2)
        self._lock = threading.Lock()
        self._marks = [hashlib.sha256()]
        self._known = {}

    def slice(self, offset, size):
        """Bytes `offset` to `offset + size` (at most 1 MiB of them) of the stream, without a copy."""
        at = offset % BLOCK_BYTES
        return self.twice[at:at + min(size, BLOCK_BYTES)]

    def hasher(self, size, go_on=None):
        """A hash that has taken the first `size` bytes. Costs hashing once up to there, then little.

        `go_on()` is called from time to time; it raises where nobody waits for the hash any more.
        """
        blocks, rest = divmod(size, BLOCK_BYTES)
        needed = blocks // _MARK_BLOCKS
        # One mark at a time: whoever needs none that is still missing doesn't wait for those who do.
        while len(self._marks) <= needed:
            if go_on is not None:
                go_on()
            with self._lock:
                if len(self._marks) <= needed:
                    made = self._marks[-1].copy()
                    self._take(made, _MARK_BLOCKS)
                    self._marks.append(made)
        made = self._marks[needed].copy()
        self._take(made, blocks - needed * _MARK_BLOCKS)
        made.update(self.twice[:rest])
        return made

    def _take(self, made, blocks):
        for _number in range(blocks):
            made.update(self.block)

    def digest(self, size, go_on=None):
        """SHA-256 (hex) of the first `size` bytes. `go_on`: as of hasher()."""
        found = self._known.get(size)
        if found is None:
            found = self.hasher(size, go_on).hexdigest()
            if len(self._known) < 1024:
                self._known[size] = found
        return found


class Check(object):
    """Takes the bytes of a body in turn; compares while they are the stream's, hashes from the first other byte on."""

    def __init__(self, stream):
        self._stream = stream
        self._hash = None
        self.bytes = 0

    def update(self, view):
        """`view`: a memoryview of bytes."""
        if self._hash is None:
            at, size = 0, len(view)
            while at < size:
                expected = self._stream.slice(self.bytes + at, size - at)
                # A bytearray compares as memory; two memoryviews would compare element by element.
                if bytearray(view[at:at + len(expected)]) != expected:
                    self._hash = self._stream.hasher(self.bytes)
                    break
                at += len(expected)
        if self._hash is not None:
            self._hash.update(view)
        self.bytes += len(view)

    @property
    def is_stream(self):
        """Whether all bytes so far were the stream's."""
        return self._hash is None

    def digest(self):
        """SHA-256 (hex) of what came."""
        return self._stream.digest(self.bytes) if self._hash is None else self._hash.hexdigest()
