# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""HTTP servers on loopback that misbehave on demand: one behaviour a request, in turn, the last again and again."""

from __future__ import annotations

import collections
import contextlib
import datetime
import hashlib
import json
import socket
import ssl
import struct
import threading
import time

Request = collections.namedtuple("Request", "method path headers")


class Server:
    """`behaviours`: functions (connection, request) that answer; `requests` holds what was asked, `bodies` what came."""

    def __init__(self, *behaviours, context=None, receive_buffer=None, address="127.0.0.1"):
        self.behaviours, self.context = list(behaviours), context
        self.requests, self.bodies, self.errors = [], [], []
        self._listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        if receive_buffer:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._listener.bind((address, 0))
        self._listener.listen(64)
        self.port = self._listener.getsockname()[1]
        self.scheme = "https" if context else "http"
        self.url = "%s://%s:%d/" % (self.scheme, "[%s]" % address if ":" in address else address, self.port)
        self._lock, self._ended = threading.Lock(), threading.Event()

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_error):
        self._ended.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        while True:
            try:
                connection, _address = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with contextlib.suppress(OSError), connection:
            connection.settimeout(30)
            if self.context:
                try:
                    connection = self.context.wrap_socket(connection, server_side=True)
                except ssl.SSLError as error:
                    self.errors.append(error)
                    return
            request, rest = read_head(connection)
            if request is None:
                return
            with self._lock:
                number = len(self.requests)
                self.requests.append(request)
            behaviour = self.behaviours[min(number, len(self.behaviours) - 1)]
            connection_ = Rest(connection, rest, self)
            behaviour(connection_, request)


class Rest:
    """A connection whose first bytes were read already."""

    def __init__(self, connection, rest, server):
        self.connection, self.rest, self.server = connection, rest, server
        self.ended = server._ended

    def sendall(self, data):
        self.connection.sendall(data)

    def recv(self, size):
        if self.rest:
            data, self.rest = self.rest[:size], self.rest[size:]
            return data
        return self.connection.recv(size)

    def reset(self):
        """Closes it so that the other side sees a reset."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


def read_head(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None, b""
        data += more
    head, _gap, rest = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _version = first.split(" ")
    headers = {name.lower(): value.strip() for name, _colon, value in (line.partition(":") for line in lines)}
    return Request(method, path, headers), rest


def answer(status, body=b"", headers=(), version="HTTP/1.1", length=True):
    lines = ["%s %d Word" % (version, status)] + ["%s: %s" % pair for pair in headers]
    if length:
        lines.append("Content-Length: %d" % len(body))
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


# ------------------------------------------------------------------ behaviours


def gives(body, headers=(), status=200, **more):
    return lambda connection, request: connection.sendall(answer(status, body, headers, **more))


def refuses(status, headers=(), body=b""):
    """Reads what is sent and refuses it."""
    def behave(connection, request):
        read_body(connection, request)
        connection.sendall(answer(status, body, headers))
    return behave


def cuts(body, after, reset=False):
    """Sends the first bytes of a body and closes."""
    def behave(connection, request):
        connection.sendall(answer(200, body)[:-len(body)] + body[:after])
        if reset:
            time.sleep(0.05)
            connection.reset()
    return behave


def stalls(body, after):
    def behave(connection, request):
        connection.sendall(answer(200, body)[:-len(body)] + body[:after])
        connection.ended.wait(30)
    return behave


def hangs(connection, request):
    connection.ended.wait(30)


def never_reads(connection, request):
    connection.ended.wait(30)


def paced(body, bytes_per_second, piece=4096):
    def behave(connection, request):
        connection.sendall(answer(200, body)[:-len(body)])
        begun, sent = time.monotonic(), 0
        while sent < len(body) and not connection.ended.is_set():
            connection.sendall(body[sent:sent + piece])
            sent += piece
            time.sleep(max(0.0, begun + sent / bytes_per_second - time.monotonic()))
    return behave


def chunked(body, piece=1000, cut=False):
    def behave(connection, request):
        connection.sendall(answer(200, b"", [("Transfer-Encoding", "chunked")], length=False))
        for at in range(0, len(body), piece):
            part = body[at:at + piece]
            connection.sendall(b"%x\r\n%s\r\n" % (len(part), part))
        connection.sendall(b"" if cut else b"0\r\n\r\n")
    return behave


def ranged(body, headers=()):
    """Gives the whole, or the one range that is asked for."""
    def behave(connection, request):
        wanted = request.headers.get("range")
        if not wanted:
            return connection.sendall(answer(200, body, headers))
        first, last = (int(text) for text in wanted.partition("=")[2].split("-"))
        part = body[first:last + 1]
        where = ("Content-Range", "bytes %d-%d/%d" % (first, first + len(part) - 1, len(body)))
        return connection.sendall(answer(206, part, [where, *headers]))
    return behave


def read_body(connection, request, most=None, bytes_per_second=None):
    total = int(request.headers.get("content-length", 0))
    wanted, got, summed, begun = min(total, most or total), 0, hashlib.sha256(), time.monotonic()
    while got < wanted:
        data = connection.recv(min(16384, wanted - got))
        if not data:
            break
        got += len(data)
        summed.update(data)
        if bytes_per_second:
            time.sleep(max(0.0, begun + got / bytes_per_second - time.monotonic()))
    connection.server.bodies.append((got, summed.hexdigest()))
    return got, summed.hexdigest()


def takes(status=201, headers=lambda digest: (), body=lambda digest: b"", bytes_per_second=None):
    """Reads an upload and answers."""
    def behave(connection, request):
        _got, digest = read_body(connection, request, None, bytes_per_second)
        connection.sendall(answer(status, body(digest), headers(digest)))
    return behave


def takes_then_resets(after):
    def behave(connection, request):
        read_body(connection, request, after)
        connection.reset()
    return behave


def keeps(store, bad=False):
    """A small WebDAV: PUT, GET, HEAD, DELETE of whole files in `store`."""
    def behave(connection, request):
        path = request.path.partition("?")[0]
        if request.method == "PUT":
            total, data = int(request.headers["content-length"]), b""
            while len(data) < total:
                more = connection.recv(65536)
                if not more:
                    return
                data += more
            new = path not in store
            store[path] = data[:-1] + b"?" if bad else data
            connection.sendall(answer(201 if new else 204))
        elif request.method == "DELETE":
            connection.sendall(answer(204 if store.pop(path, None) is not None else 404))
        elif path not in store:
            connection.sendall(answer(404))
        else:
            connection.sendall(answer(200, store[path]) if request.method == "GET" else answer(200))
    return behave


def peer_sink(digest=None, count=None):
    def behave(connection, request):
        got, own = read_body(connection, request)
        connection.sendall(answer(200, json.dumps({"bytes": got if count is None else count, "sha256": digest or own}).encode()))
    return behave


# ------------------------------------------------------------------------- TLS


def certificate(folder, name="127.0.0.1", days=(-1, 1)):
    """(certificate's path, server context) of a self-signed certificate; `days`: from, until, seen from now. Needs `cryptography`."""
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.timezone.utc)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a test's own")])
    made = (x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now + datetime.timedelta(days=days[0]))
            .not_valid_after(now + datetime.timedelta(days=days[1]))
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(name))]), False)
            .add_extension(x509.BasicConstraints(True, None), True).sign(key, hashes.SHA256()))
    path = folder / "certificate.pem"
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    both = folder / "both.pem"
    both.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
                     + path.read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(both))
    return str(path), context
