# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a server says of the bytes it holds, and whether they are the ones that were sent or are wanted."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re

from .http_errors import Failure

_NO_PEER = "the answer isn't the peer's: it doesn't say how many bytes came, and their sum"
_LENGTHS = {"sha512": 128, "sha384": 96, "sha256": 64, "sha1": 40, "md5": 32}
# The strongest first; what a header calls them.
_NAMES = (("sha-512", "sha512"), ("sha-256", "sha256"), ("md5", "md5"))


def given(text):
    """("sha256", hex) of an option such as "sha256:<64 hex digits>"; ValueError for anything else. null for none."""
    if not text:
        return None
    algorithm, _colon, digest = str(text).strip().lower().partition(":")
    if len(digest) != _LENGTHS.get(algorithm) or not re.match(r"[0-9a-f]+\Z", digest):
        raise ValueError('checksum: %r is none. Give the algorithm (%s) and its hex digits, as in "sha256:9f86d0..."' % (
            str(text)[:80], ", ".join(sorted(_LENGTHS))))
    if algorithm not in hashlib.algorithms_available:
        raise ValueError("checksum: this host can't compute %s" % algorithm)
    return algorithm, digest


def stated(headers, storage="http"):
    """(algorithm, hex digest, header's name) that an answer's headers state of the whole body; null for none.

    Digest (RFC 3230), Repr-Digest and Content-Digest (RFC 9530), Content-MD5, S3's x-amz-checksum-sha256 (unless it is one of several
    parts' checksums), X-Checksum-Sha256, X-Linked-ETag; an ETag only of S3, see etag().
    """
    for name in ("X-Checksum-Sha256", "X-Linked-ETag"):
        value = (headers.get(name) or "").strip().strip('"').lower()
        if re.match(r"[0-9a-f]{64}\Z", value):
            return "sha256", value, name
    value = headers.get("x-amz-checksum-sha256")
    if value and (headers.get("x-amz-checksum-type") or "").upper() != "COMPOSITE":
        digest = _hex(value, "sha256")
        if digest:
            return "sha256", digest, "x-amz-checksum-sha256"
    for header in ("Repr-Digest", "Content-Digest", "Digest"):
        for word, algorithm in _NAMES:
            found = re.search(r"(?:^|,)\s*%s=:?([A-Za-z0-9+/=]+):?" % word, headers.get(header) or "", re.IGNORECASE)
            digest = _hex(found.group(1), algorithm) if found else None
            if digest:
                return algorithm, digest, header
    digest = _hex(headers.get("Content-MD5") or "", "md5")
    if digest:
        return "md5", digest, "Content-MD5"
    return etag(headers) if storage == "s3" else None


def etag(headers):
    """("md5", hex, "ETag") where S3's rules make an ETag the md5 of the object (one part, no key but the storage's own); else null."""
    value = (headers.get("ETag") or "").strip().strip('"').lower()
    sealed = (headers.get("x-amz-server-side-encryption") not in (None, "AES256")
              or headers.get("x-amz-server-side-encryption-customer-algorithm"))
    return ("md5", value, "ETag") if re.match(r"[0-9a-f]{32}\Z", value) and not sealed else None


def peer_answer(text):
    """("sha256", hex, "the peer's answer") and the bytes it counted, of the JSON of the peer's /sink; Failure "protocol" for others."""
    try:
        said = json.loads(text)
        digest, count = said["sha256"], said["bytes"]
        # Nested too deep for json: no answer of the peer either.
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Failure("protocol", _NO_PEER)
    if not isinstance(digest, str) or not re.match(r"[0-9a-f]{64}\Z", digest):
        raise Failure("protocol", _NO_PEER)
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < 1 << 62:
        raise Failure("protocol", _NO_PEER)
    return ("sha256", digest, "the peer's answer"), count


def _hex(text, algorithm):
    """The hex digits of a digest in base64; null for what is none of this algorithm's length."""
    try:
        digest = binascii.hexlify(base64.b64decode(text.strip(), validate=True)).decode("ascii")
    except (ValueError, binascii.Error):
        return None
    return digest if len(digest) == _LENGTHS[algorithm] else None
