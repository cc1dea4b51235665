# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What went wrong with a request, in one vocabulary, and URLs without their secrets.

The texts are composed here and never hold what http.client or ssl put into theirs: a request line with a presigned query, a header.
"""

from __future__ import annotations

import errno
import http.client
import os
import re
import socket
import ssl

KINDS = ("refused", "timeout", "reset", "dns", "tls", "unreachable", "http_4xx", "http_5xx", "short_body", "checksum", "protocol", "proxy",
         "stalled", "local")

_REFUSED = (errno.ECONNREFUSED,)
_RESET = (errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED, errno.ESHUTDOWN)
_UNREACHABLE = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EACCES, errno.EPERM)
_TIMEOUT = (errno.ETIMEDOUT,)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# A host (IPv6 in brackets) and a port, either may be empty.
_HOST = re.compile(r"(?:\[[^\]]*\]?|[^:\[\]]*)(?::[0-9]*)?\Z")
HIDDEN = "***"
# urlsplit() takes some of them out without a word.
CONTROLS = re.compile(r"[\x00-\x1f\x7f]")


class Failure(Exception):
    """A request that failed: `kind` of KINDS, the text says what happened and holds no secret; `status` where the server gave one."""

    def __init__(self, kind, message, status=None, retry_after=None):
        super(Failure, self).__init__(message)
        self.kind = kind
        self.status = status
        self.retry_after = retry_after


def endpoint(url):
    """The URL without userinfo, query and fragment: what may be stored and shown.

    >>> endpoint("https://key:secret@h:8443/b/x?X-Amz-Signature=1#f")
    'https://h:8443/b/x'
    """
    scheme, authority, tail = _cut(url)
    if unclear(url):
        return scheme + HIDDEN
    return scheme + authority.rpartition("@")[2] + re.split("[?#]", tail)[0]


def origin(url):
    """Scheme, host and port of a URL: all that may be told of one that a server made up, which may have put anything into its path.

    >>> origin("https://u:p@CDN.example.com:8443/b/x?y")
    'https://cdn.example.com:8443'
    """
    scheme, authority, _tail = _cut(url)
    return scheme + (HIDDEN if unclear(url) else authority.rpartition("@")[2].lower())


def _cut(url):
    """("https://" or "", name, password, host and port, all after them) of what may be a URL."""
    # As urlsplit() does.
    text = re.sub(r"[\t\r\n]", "", str(url)).lstrip("".join(chr(number) for number in range(33)))
    found = _SCHEME.match(text)
    scheme = found.group(0).lower() if found else ""
    authority, tail = re.match(r"([^/?#]*)(.*)\Z", text[len(scheme):], re.DOTALL).groups()
    return scheme, authority, tail


def unclear(url):
    """Whether nobody can say where a URL's password ends: it may hold a /, ? or # that isn't percent-encoded.

    An @ after the host tells that, or a port that is no number. Such an @ may also be part of a path; there it can be written %40.
    """
    _scheme, authority, tail = _cut(url)
    return "@" in tail or not _HOST.match(authority.rpartition("@")[2])


def unclear_parts(url):
    """What may be secret of an unclear URL: all before its last @, and what / ? # : and @ cut that into."""
    scheme, authority, tail = _cut(url)
    whole = authority + tail
    before = whole.rpartition("@")[0] or whole
    return [before, before.partition(":")[2]] + re.split("[/?#:@]", before)


def is_cut(error):
    """Whether a connection ended without the end of TLS (close_notify). Pythons before 3.10 have no class for what OpenSSL 3 says of it."""
    return isinstance(error, ssl.SSLEOFError) or isinstance(error, ssl.SSLError) and "unexpected eof" in str(error)


def classify(error):
    """The kind of KINDS of an exception of socket, ssl, http.client or of ours."""
    if isinstance(error, Failure):
        return error.kind
    if isinstance(error, http.client.IncompleteRead):
        return "short_body"
    if isinstance(error, http.client.HTTPException) and not isinstance(error, ConnectionError):
        return "protocol"
    if isinstance(error, socket.gaierror):
        return "dns"
    # Older Pythons raise socket.timeout, which isn't TimeoutError there.
    if isinstance(error, (socket.timeout, TimeoutError)):
        return "timeout"
    if is_cut(error):
        return "reset"
    if isinstance(error, ssl.SSLError):
        return "tls"
    number = getattr(error, "errno", None)
    for kind, numbers in (("refused", _REFUSED), ("reset", _RESET), ("unreachable", _UNREACHABLE), ("timeout", _TIMEOUT)):
        if number in numbers:
            return kind
    # RemoteDisconnected has no number.
    return "reset" if isinstance(error, ConnectionError) else "local"


def words(error):
    """What happened, in one line without secrets."""
    if isinstance(error, Failure):
        return str(error)
    if isinstance(error, http.client.RemoteDisconnected):
        return "the server closed the connection without an answer"
    if isinstance(error, http.client.IncompleteRead):
        return "the answer ended before all of it had come"
    if isinstance(error, http.client.LineTooLong):
        return "a line of the answer's head is too long"
    if isinstance(error, http.client.BadStatusLine):
        return "the answer is no HTTP"
    if isinstance(error, http.client.HTTPException):
        # "got more than 100 headers" says itself; the others may repeat the request.
        return str(error) if "got more than" in str(error) else "the answer is no proper HTTP (%s)" % type(error).__name__
    if isinstance(error, ssl.SSLCertVerificationError):
        return "the server's certificate isn't accepted: %s" % error.verify_message
    if isinstance(error, ssl.SSLError) and getattr(error, "reason", None):
        return "TLS: %s" % error.reason.lower().replace("_", " ")
    if isinstance(error, (socket.timeout, TimeoutError)) and not getattr(error, "errno", None):
        return "no answer in time"
    number = getattr(error, "errno", None)
    return os.strerror(number) if number and not isinstance(error, ssl.SSLError) else type(error).__name__


def as_failure(error):
    """The Failure of an exception that classify() knows."""
    return error if isinstance(error, Failure) else Failure(classify(error), words(error))


def of_status(status, retry_after=None):
    """The Failure of an HTTP status of 400 and more. The words are HTTP's own: a server may put what it was sent into its."""
    kind = "http_5xx" if status >= 500 else "proxy" if status == 407 else "http_4xx"
    return Failure(kind, ("HTTP %d %s" % (status, http.client.responses.get(status, ""))).strip(), status, retry_after)


def start_thread(thread):
    """Starts it; Failure "local" where the host has no room for one more."""
    try:
        thread.start()
    except (RuntimeError, MemoryError):
        raise Failure("local", "no thread can be started: the limit of processes or memory is reached")


def check_length(response):
    """Failure "protocol" for an answer whose Content-Length is no number of bytes, or several different ones, or that is encoded for the way
    in another manner than chunked.

    http.client takes 1_0 as 10, the first of two, and drops others without a word, as it does encodings that it doesn't know.
    """
    said = set(value.strip() for value in response.headers.get_all("Content-Length") or [])
    if len(said) > 1 or any(not re.match(r"[0-9]{1,18}\Z", value) for value in said):
        raise Failure("protocol", "the answer's Content-Length is no number of bytes")
    encoded = ",".join(response.headers.get_all("Transfer-Encoding") or []).strip().lower()
    if encoded not in ("", "chunked", "identity"):
        raise Failure("protocol", "the answer's Transfer-Encoding is none that was asked for")
