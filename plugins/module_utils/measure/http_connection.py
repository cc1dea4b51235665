# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Opens an http.client connection to a URL: every wait has an end, a proxy where there is one, facts about TLS.

    opened = connect(url, timeout_seconds, proxy="environment", ca_path=None, validate_certs=True)
    opened.connection.request("GET", opened.path, headers=dict(opened.headers, ...))

Waits have two ends, both of the socket in `opened.socket`: `deadline` (time.monotonic(), Failure "timeout") and `stall_seconds` (no byte
in so many seconds, Failure "stalled"; null for none). A server that sends one byte now and then can't outlast the deadline, as it could
with a socket's own timeout. Set both before each request of a kept connection.
"""

from __future__ import annotations

import base64
import calendar
import collections
import functools
import http.client
import io
import ipaddress
import os
import re
import socket
import ssl
import threading
import time
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment

from . import http_interim, link_netlink
from .http_errors import CONTROLS, Failure, as_failure, endpoint, start_thread, unclear, unclear_parts
from .http_socket import Reader, TimedSocket

Opened = collections.namedtuple("Opened", "connection socket path headers connect_seconds tls_seconds tls address source proxy endpoint")
Opened.__doc__ = """connection: an http.client.HTTPConnection whose socket is `socket` (a TimedSocket); path: what to ask it for;
headers: to be sent with each request (Authorization of a URL's userinfo, Proxy-Authorization): secret; connect_seconds: looking the name
up, connecting, a proxy's tunnel; tls_seconds: null without TLS; tls: null or {"version", "cipher", "issuer", "not_after", "verified"};
address: "IP:port" connected to (the proxy's where there is one); source: this host's own IP of it;
proxy: null or {"endpoint", "source" (environment|option), "tunnel"}; endpoint: the URL without secrets."""

Target = collections.namedtuple("Target", "scheme host port path userinfo")


# ------------------------------------------------------------------- the URL


def target(url):
    """The parts of an http or https URL; ValueError (without the URL's secrets) for anything else."""
    if CONTROLS.search(str(url)):
        raise ValueError("%s holds a control character, such as a newline: take it out" % CONTROLS.sub("", endpoint(url)))
    if unclear(url):
        raise ValueError("%s is no URL that can be read safely: write an @, /, ? or # of a name, a password or a path "
                         "as %%40, %%2F, %%3F, %%23" % endpoint(url))
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("%s is no URL" % endpoint(url))
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ValueError("%s is no http or https URL" % endpoint(url))
    path = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    if any(ord(letter) <= 32 or ord(letter) >= 127 for letter in path + parts.netloc):
        raise ValueError("%s: letters outside ASCII and spaces must be percent-encoded" % endpoint(url))
    # The zone of a link-local address is written %25 and its name (RFC 6874), by some as the system does, with a bare %.
    host = re.sub("%25(?=.)", "%", parts.hostname) if ":" in parts.hostname else parts.hostname
    return Target(parts.scheme, host, port or (443 if parts.scheme == "https" else 80), path, _userinfo(parts))


def check_url(option, url):
    """ValueError, which names the option, for what isn't an http or https URL."""
    try:
        target(url)
    except ValueError as error:
        raise ValueError("%s: %s" % (option, error))


def secret_parts(url):
    """The texts of a URL that nobody may see: its query, its name and password, each as it stands and decoded."""
    if unclear(url):
        return sorted(set(text for text in [url] + unclear_parts(url) if text))
    try:
        parts = urlsplit(url)
        found = [parts.query, parts.netloc.rpartition("@")[0], parts.password or "", unquote(parts.password or "")]
    except ValueError:
        found = [url]
    return sorted(set(text for text in found if text))


def check_headers(headers):
    """ValueError, without the header's value, for one that HTTP can't carry or that the request's own depend on."""
    for name, value in headers.items():
        if not re.match(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z", str(name)):
            raise ValueError("headers: %r is no name of a header" % str(name)[:60])
        if str(name).lower() in ("content-length", "transfer-encoding", "connection", "range", "expect"):
            raise ValueError("headers: %s is the test's own to set" % name)
        if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", str(value)) or any(ord(letter) > 255 for letter in str(value)):
            raise ValueError("headers: the value of %s holds letters that a header can't hold" % name)


def _userinfo(parts):
    """ "name:password" or null."""
    if parts.username is None and parts.password is None:
        return None
    return "%s:%s" % (unquote(parts.username or ""), unquote(parts.password or ""))


def _basic(userinfo):
    return "Basic " + base64.b64encode(userinfo.encode("utf-8")).decode("ascii")


def choose_proxy(aim, proxy):
    """(proxy's URL, "environment" | "option"), or (null, null) for none. `proxy`: "none", "environment" or a URL.

    The environment's are http_proxy, https_proxy, all_proxy and no_proxy, in either case, as Python's own tools read them.
    """
    if not proxy or proxy == "none":
        return None, None
    if proxy != "environment":
        return proxy, "option"
    known = getproxies_environment()
    found = known.get(aim.scheme) or known.get("all")
    if not found or proxy_bypass_environment("%s:%d" % (_bare(aim.host), aim.port), known):
        return None, None
    return found if "://" in found else "http://" + found, "environment"


def _bare(host):
    """A host as its server knows it: the zone of an address is this host's own (RFC 6874, 4)."""
    return "[%s]" % host.partition("%")[0] if ":" in host else host


# ------------------------------------------------------------------ connecting


def _look_up(host, port, deadline):
    """Addresses of a name, in a thread: a resolver that gets no answer may take half a minute and takes no limit."""
    found = []

    def ask():
        try:
            found.append(socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            found.append(error)
    thread = threading.Thread(target=ask, daemon=True)
    start_thread(thread)
    thread.join(max(0.0, deadline - time.monotonic()))
    if not found:
        raise Failure("dns", "the name %s wasn't looked up in time" % host)
    if isinstance(found[0], Exception):
        raise Failure("dns", "the name %s isn't known (%s)" % (host, getattr(found[0], "strerror", None) or "no proper name"))
    return found[0]


def _dial(host, port, deadline):
    """A connected socket: the name's addresses one after another, each for its share of the time left."""
    addresses, last = _look_up(host, port, deadline), None
    for number, (family, kind, protocol, _name, address) in enumerate(addresses):
        left = (deadline - time.monotonic()) / (len(addresses) - number)
        if left <= 0:
            break
        sock = None
        try:
            sock = socket.socket(family, kind, protocol)
            sock.settimeout(left)
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
        except socket.timeout:
            last = Failure("timeout", "no connection to %s port %d in time" % (host, port))
        except OSError as error:
            failure = as_failure(error)
            last = Failure(failure.kind, "connecting to %s port %d: %s" % (host, port, failure))
        if sock is not None:
            sock.close()
    raise last or Failure("timeout", "no connection to %s port %d in time" % (host, port))


def _tunnel(timed, aim, headers):
    """Asks a proxy for a tunnel (RFC 9110, 9.3.6); Failure "proxy" where it gives none."""
    where = "%s:%d" % (_bare(aim.host), aim.port)
    lines = ["CONNECT %s HTTP/1.1" % where, "Host: %s" % where] + ["%s: %s" % pair for pair in headers.items()]
    timed.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    answer = http_interim.Response(_Unbuffered(timed), method="CONNECT")
    timed.allow(0)
    try:
        answer.begin()
    except http.client.HTTPException:
        raise Failure("proxy", "the proxy's answer is no HTTP")
    finally:
        timed.allow(None)
    if answer.status // 100 != 2:
        raise Failure("proxy", "the proxy gave no tunnel: HTTP %d" % answer.status, answer.status)


class _Unbuffered(object):
    """Reads a proxy's answer byte by byte: what follows it belongs to TLS."""

    def __init__(self, timed):
        self.timed = timed

    def makefile(self, *_arguments):
        return io.BufferedReader(Reader(self.timed), 1)


@functools.lru_cache(maxsize=8)
def _context(ca_path, validate_certs):
    """A TLS context, one for all connections: it takes 20 ms to make. Failure "local" for certificates that can't be read.

    `ca_path`: a file or folder of them, instead of the system's.
    """
    try:
        if not ca_path:
            context = ssl.create_default_context()
        elif os.path.isdir(ca_path):
            context = ssl.create_default_context(capath=ca_path)
        else:
            context = ssl.create_default_context(cafile=ca_path)
    except OSError as error:
        why = getattr(error, "strerror", None) if not isinstance(error, ssl.SSLError) else None
        raise Failure("local", "ca_path %s can't be used: %s" % (ca_path, why or "no certificates in PEM form"))
    # SSL_OP_IGNORE_UNEXPECTED_EOF of OpenSSL 3: Python 3.8 and 3.9 set it, and have no name for it.
    context.options &= ~0x80
    if not validate_certs:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _handshake(timed, aim, context):
    """TLS over the socket. Its own limit is per wait; a handshake has few of them."""
    timed.arm()
    try:
        return context.wrap_socket(timed.sock, server_hostname=aim.host.partition("%")[0], suppress_ragged_eofs=False)
    except socket.timeout:
        raise Failure("timeout", "no TLS handshake in time")
    except OSError as error:
        failure = as_failure(error)
        raise failure if failure.kind == "tls" else Failure(failure.kind, "in the TLS handshake: %s" % failure)


def tls_facts(sock, verified):
    """Of a TLS socket; issuer and not_after are null where the certificate wasn't verified (Python doesn't read it then)."""
    certificate = sock.getpeercert() or {}
    names = dict(pair for part in certificate.get("issuer", ()) for pair in part)
    end = certificate.get("notAfter")
    return {"version": sock.version(), "cipher": (sock.cipher() or (None,))[0],
            "issuer": names.get("commonName") or names.get("organizationName"),
            "not_after": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(_seconds(end))) if end else None, "verified": verified}


def _seconds(text):
    """Seconds since 1970 of a certificate's moment, whatever the locale."""
    months = "JanFebMarAprMayJunJulAugSepOctNovDec"
    month, day, clock, year = text.split()[:4]
    hours, minutes, seconds = (int(part) for part in clock.split(":"))
    return calendar.timegm((int(year), months.index(month) // 3 + 1, int(day), hours, minutes, seconds))


def connect(url, timeout_seconds, proxy="environment", ca_path=None, validate_certs=True, stall_seconds=None):
    """Connects to a URL's server. -> Opened, its socket's deadline `timeout_seconds` from now; Failure, ValueError for what is no URL."""
    aim = target(url)
    begun = time.monotonic()
    deadline = begun + timeout_seconds
    chosen, source = choose_proxy(aim, proxy)
    context = _context(ca_path, validate_certs) if aim.scheme == "https" else None
    headers = {"Authorization": _basic(aim.userinfo)} if aim.userinfo is not None else {}
    path, via, proxy_headers = aim.path, None, {}
    if chosen:
        try:
            via = target(chosen)
        except ValueError as error:
            raise Failure("proxy", "the proxy %s" % error)
        if via.scheme != "http":
            raise Failure("proxy", "the proxy %s: only http:// proxies can be used" % endpoint(chosen))
        proxy_headers = {"Proxy-Authorization": _basic(via.userinfo)} if via.userinfo is not None else {}
    try:
        sock = _dial(via.host, via.port, deadline) if via else _dial(aim.host, aim.port, deadline)
    except Failure as failure:
        raise Failure("proxy", "the proxy: %s" % failure) if via else failure
    timed = TimedSocket(sock, deadline, stall_seconds)
    try:
        address, local = "%s:%d" % (_bare(sock.getpeername()[0]), sock.getpeername()[1]), sock.getsockname()[0]
        if via and aim.scheme == "https":
            _tunnel(timed, aim, proxy_headers)
        elif via:
            # As the URL has it: a signature may cover the host with or without its port.
            path = "http://%s%s" % (urlsplit(url).netloc.rpartition("@")[2], aim.path)
            headers.update(proxy_headers)
        connected = time.monotonic()
        facts = tls_seconds = None
        if context is not None:
            timed.sock = _handshake(timed, aim, context)
            tls_seconds = time.monotonic() - connected
            facts = tls_facts(timed.sock, bool(validate_certs))
    except BaseException as error:
        sock.close()
        timed.sock.close()
        if isinstance(error, (OSError, http.client.HTTPException)):
            raise as_failure(error)
        raise
    kind = http.client.HTTPSConnection if context is not None else http.client.HTTPConnection
    # Name and port decide what http.client puts into Host; it never connects by itself.
    name = aim.host.partition("%")[0]
    connection = kind(name, aim.port, context=context) if context is not None else kind(name, aim.port)
    connection.auto_open = 0
    connection.response_class = http_interim.Response
    connection.sock = timed
    used = {"endpoint": endpoint(chosen), "source": source, "tunnel": aim.scheme == "https"} if via else None
    return Opened(connection, timed, path, headers, connected - begun, tls_seconds, facts, address, local, used, endpoint(url))


def own_address(opened):
    """Whether a connection went to this host itself, so that no network took part; null where that isn't known: there was none, or a proxy
    took it on.

    The kernel is asked: of an interface with several addresses one connects to the second from the first.
    """
    if opened is None or opened.proxy:
        return None
    there, here = (_plain(text) for text in (opened.address.rpartition(":")[0].strip("[]"), opened.source))
    try:
        return link_netlink.is_own(there)
    except OSError:
        return there == here


def _plain(address):
    """An IP address without its scope, as IPv4 where it is one in IPv6's clothes."""
    found = ipaddress.ip_address(address.partition("%")[0])
    return str(getattr(found, "ipv4_mapped", None) or found)
