# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Connections: kinds of failures, URLs without their secrets, proxies, TLS, redirects; nothing secret in what is said."""

from __future__ import annotations

import base64
import contextlib
import errno
import http.client
import json
import socket
import ssl
import struct
import threading
import time

import pytest
import transfer_servers as servers
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import (
    http_connection,
    http_errors,
    link_netlink,
    peer_stream,
    transfer,
    transfer_request,
)
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints, presign
from request_servers import load

BODY = b"b" * 100000
GOOD = servers.gives(BODY)


pytestmark = pytest.mark.usefixtures("no_proxies")


def run(url, **options):
    return transfer.run(dict({"url": url, "direction": "download", "attempts": 1, "timeout_seconds": 5, "stall_seconds": 2, "retries": 0}, **options))


def error(result):
    return result["attempts"][0]["error"]


@pytest.mark.parametrize("url, said", [
    ("https://k:s@h:8443/b/x?X-Amz-Signature=1#f", "https://h:8443/b/x"), ("http://h", "http://h"), ("http://[::1]:80/x?y", "http://[::1]:80/x"),
    ("user:secret@proxy:3128", "proxy:3128"), ("no url?token=1", "no url"), ("http://[broken?token=1", "http://[broken"),
    ("http://a:b@c@h/x", "http://h/x"), ("https://user:s3cr3t#more@h/x", "https://***"), ("https://user:4711/s3cr3t@h/x", "https://***"),
    ("https://user:s3cr3t?m@h/x", "https://***"), ("https://u:pa@s3cr3t/m@h/", "https://***"), ("user:s3cr3t/m@h:3128", "***"),
    ("https://tok/en@h/x", "https://***"), ("https://user:s3cr3t", "https://***"), ("HTTP://h/%40x", "http://h/%40x"),
    ("s3://bucket/key?x=1", "s3://bucket/key")])
def test_an_endpoint_holds_no_secret(url, said):
    assert http_errors.endpoint(url) == said


@pytest.mark.parametrize("url, userinfo", [
    ("http://user:p@ss@h/x", "user:p@ss"), ("http://user:p%40ss@h/x", "user:p@ss"), ("http://u@x:p@s@h/x", "u@x:p@s"), ("http://user:p:ss@h/x", "user:p:ss")])
def test_an_at_sign_of_a_password_may_stand_as_it_is(url, userinfo):
    aim = http_connection.target(url)
    assert (aim.host, aim.path, aim.userinfo) == ("h", "/x", userinfo)
    assert not any(text in http_errors.endpoint(url) for text in http_connection.secret_parts(url))


@pytest.mark.parametrize("url", ["http://user:p/ss@h/x", "http://user:p?ss@h/x", "http://user:p#ss@h/x", "http://h/x@y", "http://h/x?mail=a@b"])
def test_a_url_whose_password_ends_nobody_knows_where_is_refused(url):
    with pytest.raises(ValueError, match="no URL that can be read safely"):
        http_connection.target(url)


@pytest.mark.parametrize("raised, kind", [
    (ConnectionRefusedError(errno.ECONNREFUSED, "x"), "refused"), (ConnectionResetError(errno.ECONNRESET, "x"), "reset"),
    (BrokenPipeError(errno.EPIPE, "x"), "reset"), (socket.timeout("timed out"), "timeout"), (OSError(errno.ETIMEDOUT, "x"), "timeout"),
    (socket.gaierror(-2, "x"), "dns"), (OSError(errno.EHOSTUNREACH, "x"), "unreachable"), (OSError(errno.ENETUNREACH, "x"), "unreachable"),
    (ssl.SSLError(1, "x"), "tls"), (ssl.SSLEOFError(8, "x"), "reset"),
    (ssl.SSLError(1, "[SSL: KRB5_S_TKT_NYV] unexpected eof while reading (_ssl.c:1)"), "reset"), (http.client.RemoteDisconnected("x"), "reset"),
    (http.client.IncompleteRead(b""), "short_body"), (http.client.BadStatusLine("x"), "protocol"), (http.client.LineTooLong("x"), "protocol"),
    (OSError(errno.EMFILE, "x"), "local"), (MemoryError(), "local"), (http_errors.Failure("stalled", "x"), "stalled")])
def test_every_failure_has_its_kind(raised, kind):
    assert http_errors.classify(raised) == kind and kind in http_errors.KINDS
    assert http_errors.words(raised)


def test_what_http_client_says_of_a_request_is_not_repeated():
    for raised in (http.client.InvalidURL("URL can't contain ... '/x?sig=s3cr3t'"), http.client.BadStatusLine("s3cr3t"),
                   ValueError("Invalid header value b's3cr3t'"), http.client.UnknownProtocol("s3cr3t")):
        assert "s3cr3t" not in http_errors.words(raised)


@pytest.mark.parametrize("url", [
    "ftp://h/x?sig=s3cr3t", "h/x?sig=s3cr3t", "http:///x?sig=s3cr3t", "http://h:99999/?sig=s3cr3t", "http://h/a b?sig=s3cr3t",
    "http://h/\u00e9?sig=s3cr3t", "http://h/x?sig=s3cr3t\r\nX: y", "", "https://u:s3cr3t#more@h/", "https://u:s3cr3t/more@h/", "http://h:0/",
    "https://u:s3cr3t?more@h/", "https://u:4711/s3cr3t@h/", "https://u:more#s3cr3t@h/", "https://u:pa@s3cr3t/more@h/", "https://u:[s3cr3t#@h/"])
def test_what_is_no_url_is_said_without_its_secret(url):
    with pytest.raises(ValueError) as caught:
        transfer.plan({"url": url, "direction": "download"})
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://h/a\nb?sig=s3cr3t", "http://h/x\n", "\thttp://h/x", "http://u:s3cr3t\x1b[31m@h/", "http://h\x7f/?s3cr3t"])
def test_a_url_with_control_characters_is_not_asked_without_them(url):
    with pytest.raises(ValueError, match="^url: http://h?[^\x00-\x1f\x7f]* holds a control character, such as a newline: take it out$") as caught:
        transfer.plan({"url": url, "direction": "download"})
    assert "s3cr3t" not in str(caught.value)
    with pytest.raises(ValueError, match="^url holds a control character"):
        presign.object_url(url, "eu-central-1")


@pytest.mark.parametrize("url, host", [
    ("http://[fe80::1%25lo]:80/", "fe80::1%lo"), ("http://[fe80::1%lo]/", "fe80::1%lo"),
    ("http://[fe80::1%25]/", "fe80::1%25"), ("http://[::1]/", "::1"), ("http://a%25b/", "a%25b")])
def test_the_zone_of_an_address_is_read_in_both_spellings(url, host):
    assert http_connection.target(url).host == host


@pytest.mark.parametrize("zone", ["", "%251", "%1"])
def test_a_server_is_not_told_the_zone_of_its_address(zone):
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            pytest.skip("this host has no IPv6")
    with servers.Server(GOOD, address="::1") as server:
        url = server.url.replace("]", zone + "]")
        assert error(run(url)) is None
        load(url, requests=1)
    assert [request.headers["host"] for request in server.requests] == ["[::1]:%d" % server.port] * 2


@pytest.mark.parametrize("proxy", ["http://u:s3cr3t#more@h:3128", "u:s3cr3t/more@h:3128", "http://u:4711/s3cr3t@h:3128", "http://u:p?s3cr3t@h"])
def test_a_proxy_that_can_not_be_read_safely_is_not_repeated(proxy, monkeypatch):
    with pytest.raises(ValueError, match="safely") as caught:
        transfer.plan({"url": "http://h/", "direction": "download", "proxy": proxy})
    assert "s3cr3t" not in str(caught.value)
    monkeypatch.setenv("http_proxy", proxy)
    result = run("http://data.example.com/")
    assert error(result)["kind"] == "proxy" and "s3cr3t" not in json.dumps(result)


def test_what_a_server_says_of_a_refusal_is_not_repeated():
    secret = "Tok_en.0123456789-abcdefghijklmnopqrstuvwxyz/ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    plain = "abcdef0123456789" * 4

    def echoes(connection, request):
        body = b"<Error><Code>%s</Code></Error>" % plain[:60].encode()
        head = "HTTP/1.1 403 %s %s\r\nContent-Length: %d\r\n\r\n" % (secret, plain, len(body))
        connection.sendall(head.encode() + body)
    with servers.Server(echoes) as server:
        result = run(server.url + "x?X-Amz-Signature=" + plain, headers={"Authorization": "Bearer " + secret})
    assert error(result) == {"kind": "http_4xx", "message": "HTTP 403 Forbidden"} and "abcdef" not in json.dumps(result)


@pytest.mark.parametrize("headers", [
    {"X Y": "s3cr3t"}, {"X": "s3cr3t\nY: z"}, {"Content-Length": "1"}, {"Range": "bytes=0-1"}, {"X": "s3cr3t\u4e2d"}])
def test_headers_that_http_can_not_carry_are_refused(headers):
    with pytest.raises(ValueError, match="headers: ") as caught:
        transfer.plan({"url": "http://h/", "direction": "download", "headers": headers})
    assert "s3cr3t" not in str(caught.value)


# ------------------------------------------------------------------------- TLS


@pytest.fixture
def tls(tmp_path):
    pytest.importorskip("cryptography")
    return servers.certificate(tmp_path)


@pytest.fixture
def narrow(monkeypatch):
    """The kernel takes less at once than TLS makes of it."""
    real = http_connection._dial

    def dial(*arguments):
        sock = real(*arguments)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        return sock
    monkeypatch.setattr(http_connection, "_dial", dial)


@pytest.mark.parametrize("status, kind", [(507, "http_5xx"), (413, "http_4xx")])
def test_a_refusal_that_comes_while_tls_takes_no_more_is_seen(tls, status, kind, narrow):
    path, context = tls

    def refuses_late(connection, request):
        time.sleep(0.3)
        connection.sendall(servers.answer(status))
        connection.ended.wait(5)
    with servers.Server(refuses_late, context=context, receive_buffer=4096) as server:
        result = run(server.url + "x", direction="upload", overwrite=True, bytes=20000000, ca_path=path)
    assert error(result)["kind"] == kind and str(status) in error(result)["message"]


@pytest.mark.parametrize("head, end, kind", [
    ([], False, "short_body"), ([], True, None), ([("Content-Length", "100000")], False, None), ([("Transfer-Encoding", "chunked")], False, None),
    ([("Content-Length", "100001")], False, "short_body")])
def test_a_body_without_a_length_that_tls_does_not_end_is_cut(tls, head, end, kind):
    path, context = tls
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY) if "chunked" in str(head) else BODY

    def cuts(connection, request):
        connection.sendall(servers.answer(200, b"", head, length=False) + body)
        if end:
            connection.connection.unwrap()
        # What wrap_socket() made of it is closed without a word of TLS.
        connection.connection.close()
    with servers.Server(cuts, context=context) as server:
        result = run(server.url, ca_path=path, retries=0)
        assert (error(result) or {"kind": None})["kind"] == kind and result["bytes"] == (0 if kind else 100000)
        step, = load(server.url, ca_path=path, requests=2)["steps"]
        assert step["errors"] == ({kind: 2} if kind else {})


def test_an_upload_whose_answer_tls_does_not_end_is_through(tls):
    path, context = tls

    def takes(connection, request):
        servers.read_body(connection, request)
        connection.sendall(b"HTTP/1.1 201 Word\r\n\r\nthanks")
        connection.connection.close()
    with servers.Server(takes, context=context) as server:
        result = run(server.url + "x", direction="upload", overwrite=True, bytes=100000, ca_path=path)
    assert error(result) is None and result["bytes"] == 100000


def test_an_upload_over_tls_arrives_as_it_is(tls, narrow):
    path, context = tls
    with servers.Server(servers.takes(bytes_per_second=20000000), context=context, receive_buffer=4096) as server:
        result = run(server.url + "x", direction="upload", overwrite=True, bytes=9000001, ca_path=path, timeout_seconds=20)
    assert error(result) is None and result["bytes"] == 9000001
    assert server.bodies[0] == (9000001, peer_stream.Stream().digest(9000001))


def test_a_certificate_of_one_s_own_with_ca_path(tls):
    path, context = tls
    with servers.Server(GOOD, context=context) as server:
        result = run(server.url, ca_path=path)
        assert error(result) is None and result["attempts"][0]["tls_seconds"] > 0 and result["scheme"] == "https"
        assert set(result["tls"]) == {"version", "cipher", "issuer", "not_after", "verified"}
        assert result["tls"]["version"].startswith("TLSv1.") and result["tls"]["issuer"] == "a test's own" and result["tls"]["verified"] is True
        assert result["tls"]["not_after"].endswith("Z")
        without = run(server.url, retries=2)
        assert error(without)["kind"] == "tls" and "self" in error(without)["message"] and without["retries_count"] == 0
        unchecked = run(server.url, validate_certs=False)
    assert error(unchecked) is None and unchecked["tls"]["verified"] is False and unchecked["tls"]["issuer"] is None


def test_an_upload_over_tls(tls):
    path, context = tls
    with servers.Server(servers.keeps({}), context=context) as server:
        result = run(server.url, direction="upload", bytes=3000000, ca_path=path)
    assert error(result) is None and result["bytes"] == 3000000 and result["checksum"]["verified"] is True


def test_an_expired_certificate(tmp_path):
    pytest.importorskip("cryptography")
    path, context = servers.certificate(tmp_path, days=(-9, -1))
    with servers.Server(GOOD, context=context) as server:
        result = run(server.url, ca_path=path)
    assert error(result)["kind"] == "tls" and "expired" in error(result)["message"]


def test_a_certificate_of_another_name(tmp_path):
    pytest.importorskip("cryptography")
    path, context = servers.certificate(tmp_path, name="127.0.0.9")
    with servers.Server(GOOD, context=context) as server:
        result = run(server.url, ca_path=path)
    assert error(result)["kind"] == "tls" and "127.0.0.1" in error(result)["message"]


def test_tls_to_a_server_that_speaks_none_and_to_one_that_is_silent():
    with socket.socket() as plain:
        plain.bind(("127.0.0.1", 0))
        plain.listen(5)

        def answers():
            connection, _address = plain.accept()
            connection.sendall(servers.answer(400))
            connection.close()
        threading.Thread(target=answers, daemon=True).start()
        assert error(run("https://127.0.0.1:%d/" % plain.getsockname()[1]))["kind"] in ("tls", "reset")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(5)
        result = run("https://127.0.0.1:%d/" % silent.getsockname()[1], timeout_seconds=2)
    assert error(result) == {"kind": "timeout", "message": "no TLS handshake in time"}


@pytest.mark.parametrize("path", ["/nowhere", __file__])
def test_certificates_that_can_not_be_read(path):
    result = run("https://127.0.0.1:1/", ca_path=path)
    assert error(result)["kind"] == "local" and path in error(result)["message"]


# --------------------------------------------------------------------- proxies


class Proxy(servers.Server):
    """Tunnels (CONNECT) and forwards (absolute URLs) to any host; wants a name and password where `wanted` is given."""

    def __init__(self, wanted=None):
        super().__init__(self.behave)
        self.wanted = wanted

    def behave(self, connection, request):
        if self.wanted and request.headers.get("proxy-authorization") != "Basic " + base64.b64encode(self.wanted.encode()).decode():
            return connection.sendall(servers.answer(407))
        if request.method != "CONNECT":
            return connection.sendall(servers.answer(200, BODY))
        host, _colon, port = request.path.partition(":")
        with socket.create_connection((host, int(port)), 5) as far:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\nX-Some: header\r\n\r\n")
            back = threading.Thread(target=self.copy, args=(far.recv, connection.sendall), daemon=True)
            back.start()
            self.copy(connection.recv, far.sendall)

    @staticmethod
    def copy(receive, send):
        with contextlib.suppress(OSError):
            while True:
                data = receive(65536)
                if not data:
                    return
                send(data)


def test_a_tunnel_through_a_proxy(tls):
    path, context = tls
    with servers.Server(GOOD, context=context) as server, Proxy("u:pa55") as proxy:
        through = proxy.url.replace("://", "://u:pa55@")
        result = run(server.url, ca_path=path, proxy=through)
        refused = run(server.url, ca_path=path, proxy=proxy.url)
    assert error(result) is None and result["proxy"] == {"endpoint": proxy.url, "source": "option", "tunnel": True}
    assert result["address"] == "127.0.0.1:%d" % proxy.port and result["tls"]["issuer"] == "a test's own"
    # The proxy's password is for the proxy alone.
    assert "proxy-authorization" not in server.requests[0].headers and "pa55" not in json.dumps([result, refused])
    assert error(refused) == {"kind": "proxy", "message": "the proxy gave no tunnel: HTTP 407"}


def test_a_plain_url_through_the_environment_s_proxy(monkeypatch):
    with Proxy() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        result = run("http://data.example.com/x?sig=1")
        assert error(result) is None and result["proxy"] == {"endpoint": proxy.url, "source": "environment", "tunnel": False}
        assert proxy.requests[0].path == "http://data.example.com/x?sig=1" and proxy.requests[0].headers["host"] == "data.example.com"
        assert run("http://127.0.0.1:1/", proxy="none")["proxy"] is None
        with servers.Server(GOOD) as server:
            monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
            direct = run(server.url)
            assert error(direct) is None and direct["proxy"] is None and len(server.requests) == 1


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:1", "https://127.0.0.1:1"])
def test_a_proxy_that_is_none(proxy):
    assert error(run("http://data.example.com/", proxy=proxy))["kind"] == "proxy"


def test_a_proxy_that_refuses_a_plain_url():
    with Proxy("u:p") as proxy:
        assert error(run("http://data.example.com/", proxy=proxy.url))["kind"] == "proxy"


# ------------------------------------------------------------------- redirects


def to(location, status=302):
    return servers.gives(b"", [("Location", location)], status)


def test_a_redirect_to_another_host_gets_no_credentials():
    with servers.Server(GOOD) as other:
        with servers.Server(to(other.url + "cdn?sig=far3cret")) as server:
            result = run(server.url.replace("://", "://u:pa55@") + "x?sig=s3cr3t", headers={"Authorization": "Bearer t0ken", "X-Key": "k3y"})
    assert error(result) is None and result["bytes"] == 100000
    asked = other.requests[0]
    assert asked.path == "/cdn?sig=far3cret" and not {"authorization", "x-key", "cookie", "referer"} & set(asked.headers)
    assert "redirected to %s" % other.url[:-1] in result["notes"] and result["endpoint"] == server.url + "x"
    assert not [secret for secret in ("far3cret", "s3cr3t", "pa55", "t0ken", "k3y") if secret in json.dumps(result)]


def test_a_redirect_within_a_host_keeps_them():
    with servers.Server(to("/y", 307), GOOD) as server:
        result = run(server.url.replace("://", "://u:pa55@") + "x", headers={"X-Key": "k3y"})
    assert error(result) is None and [request.path for request in server.requests] == ["/x", "/y"]
    assert server.requests[1].headers["x-key"] == "k3y" and server.requests[1].headers["authorization"].startswith("Basic ")


def test_an_upload_is_sent_on_by_307_only():
    store = {}
    with servers.Server(servers.keeps(store)) as other:
        def sends_on(connection, request):
            servers.read_body(connection, request)
            connection.sendall(servers.answer(307, b"", [("Location", other.url + request.path.lstrip("/"))]))
        with servers.Server(sends_on) as server:
            result = run(server.url, direction="upload", bytes=100000)
        assert error(result) is None and result["bytes"] == 100000 and store == {}
        with servers.Server(servers.refuses(302, [("Location", other.url)])) as server:
            assert error(run(server.url, direction="upload", bytes=1000))["kind"] == "protocol"


def test_a_redirect_to_a_path_with_an_at_sign_is_followed():
    with servers.Server(to("/@scope/x@1#part@2"), GOOD) as server:
        result = run(server.url + "x")
    assert error(result) is None and server.requests[1].path == "/%40scope/x%401"


def test_redirects_end():
    with servers.Server(to("/again")) as server:
        result = run(server.url)
    assert error(result)["message"] == "more than 5 redirects" and len(server.requests) == 6


@pytest.mark.parametrize("url, location, message", [
    ("https://h/x", "http://h/x?sig=s3cr3t", "from https to http"), ("http://h/", "file:///etc/passwd", "no http or https"),
    ("http://h/", "http://[x", "no URL"),
    ("http://h/", "http://s3cr3t:x/", "no URL")])
def test_redirects_that_are_not_followed(url, location, message):
    with pytest.raises(http_errors.Failure, match=message) as caught:
        transfer_request.redirected(transfer_request.Aim(url, {}), location)
    assert "s3cr3t" not in str(caught.value)


# ---------------------------------------------------------------------- options


def test_a_plan_says_seconds_and_bytes():
    plan = transfer.plan({"url": "http://h/", "direction": "upload"})
    assert plan["seconds"] >= 900 and plan["bytes_sent"] == 9 << 30 and plan["bytes_received"] == plan["bytes_written"] == 0
    assert plan["notes"] == ["sends 1.00 GiB in each attempt, attempts: 3 of at most 300 s",
                             "with retries (at most 2 an attempt, within its time) 9.00 GiB at the most"]
    plan = transfer.plan({"url": "http://h/", "direction": "download", "attempts": 1, "retries": 0, "bytes": 5 << 20, "timeout_seconds": 10})
    assert plan["notes"] == ["receives up to 5.00 MiB in each attempt, attempts: 1 of at most 10 s"] and plan["bytes_received"] == 5 << 20
    plan = transfer.plan({"url": "http://h/", "direction": "download", "start_at": time.time() + 30, "hosts_at_once": 8})
    assert plan["notes"][-1] == "begins at the same moment on 8 hosts" and complaints.say(plan["notes"][-1], "zh") == "8 台主机同时开始"


@pytest.mark.parametrize("options, message", [
    ({"attempts": 0}, "attempts must be between 1 and 100, not 0"), ({"bytes": 0}, "bytes must"), ({"streams": 65}, "streams must"),
    ({"timeout_seconds": 10 ** 6}, "timeout_seconds must"), ({"retries": 11}, "retries must"), ({"start_at": float("nan")}, "start_at must"),
    ({"start_at": 1e12}, "ahead"), ({"checksum": "md5:abc"}, "checksum: 'md5:abc' is none"), ({"proxy": "socks"}, "http or https URL"),
    ({"direction": "upload", "checksum": "md5:" + "0" * 32}, "of a download"),
    ({"upload_urls": ["x"]}, "http or https URL"), ({"token": "a\nb"}, "X-Peer-Token")])
def test_options_that_can_not_be(options, message):
    with pytest.raises(ValueError, match=message):
        transfer.plan(dict({"url": "http://h/", "direction": "download"}, **options))


def test_a_moment_that_is_past_is_told():
    with servers.Server(GOOD) as server:
        result = run(server.url, start_at=1.0, hosts_at_once=8, alone_bytes_per_second=5.0)
    assert any("not all of them moved data at once" in note for note in result["notes"])
    assert result["hosts_at_once"] == 8 and result["alone_bytes_per_second"] == 5.0


# --- whose address it was


def own_addresses():
    found = [entry["address"] for entry in link_netlink.addresses() if entry["scope"] == "global" and ":" not in entry["address"]]
    return ["127.0.0.1", *found[:2]]


@pytest.mark.parametrize("known", [True, False])
def test_a_host_that_talks_to_itself_says_so(monkeypatch, known):
    if not known:
        def ask(*_arguments):
            raise PermissionError(1, "no netlink")

        monkeypatch.setattr(link_netlink, "_ask", ask)
        addresses = ["127.0.0.1"]
    else:
        addresses = own_addresses()
    for address in addresses:
        with servers.Server(GOOD, address=address) as server:
            result = run(server.url, attempts=1)
            assert result["own_address"] is True and result["address"].startswith(address + ":")
            sent = http_connection.connect(server.url, 5)
            assert http_connection.own_address(sent._replace(address="[::ffff:%s]:80" % address)) is True
            assert http_connection.own_address(sent._replace(proxy={"endpoint": "http://p"})) is None
            if not known:
                assert http_connection.own_address(sent._replace(address="198.51.100.7:80")) is False
            sent.connection.close()
    assert http_connection.own_address(None) is None


@pytest.mark.parametrize("kind, own", [(1, False), (2, True), (5, False)])
def test_the_kernel_says_whose_an_address_is(monkeypatch, kind, own):
    route = struct.pack("=BBBBBBBBI", socket.AF_INET, 32, 0, 0, 0, 0, 0, kind, 0)
    monkeypatch.setattr(link_netlink, "_ask", lambda *_arguments: [(24, route)])
    assert link_netlink.is_own("10.0.0.9") is own
