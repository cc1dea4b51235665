# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Downloads from servers that fail in every way: each failure named, counted exactly, and the end reached."""

from __future__ import annotations

import email.utils
import socket
import time

import pytest
import transfer_servers as servers
from transfer_runs import BODY, GOOD, SHA256, counted, kinds, run

pytestmark = pytest.mark.usefixtures("no_proxies")


def test_a_good_download():
    with servers.Server(GOOD) as server:
        result = run(server.url + "x?sig=1", attempts=3)
    assert counted(result) == (3, 0, 0) and result["bytes"] == 600000 and len(server.requests) == 3
    assert [attempt["bytes"] for attempt in result["attempts"]] == [200000] * 3 and result["bytes_per_second"] > 0
    assert result["endpoint"] == server.url + "x" and result["address"] == "127.0.0.1:%d" % server.port and result["limited_by"] is None
    assert result["checksum"] == {"algorithm": None, "verified": None, "how": "none was given and the server says none"}
    assert server.requests[0].path == "/x?sig=1" and server.requests[0].headers["host"] == "127.0.0.1:%d" % server.port


@pytest.mark.parametrize("bad, kind", [
    (servers.refuses(500), "http_5xx"), (servers.refuses(502), "http_5xx"), (servers.refuses(503, [("Retry-After", "0")]), "http_5xx"),
    (servers.refuses(429), "http_4xx"), (servers.cuts(BODY, 50000), "short_body"), (servers.cuts(BODY, 0), "short_body"),
    (servers.cuts(BODY, 50000, reset=True), "reset"), (servers.stalls(BODY, 50000), "stalled"), (servers.hangs, "stalled"),
    (servers.chunked(BODY, cut=True), "short_body"), (lambda connection, request: None, "reset"),
    (lambda connection, request: connection.reset(), "reset")])
def test_what_may_go_away_is_tried_again_and_told(bad, kind):
    with servers.Server(bad, GOOD, bad, bad, GOOD) as server:
        result = run(server.url, attempts=2)
    assert kinds(result) == [([kind], None), ([kind, kind], None)] and counted(result) == (2, 0, 3)
    # What a failed try moved is in no figure.
    assert result["bytes"] == 400000 and len(server.requests) == 5
    assert all(retry["message"] for attempt in result["attempts"] for retry in attempt["retries"])


@pytest.mark.parametrize("bad, kind, asked", [
    (servers.refuses(500), "http_5xx", 3), (servers.refuses(404), "http_4xx", 1), (servers.refuses(403), "http_4xx", 1),
    (servers.gives(b"hello", version="SMTP/1.1"), "protocol", 1), (servers.gives(b"", status=204, length=False), "protocol", 1),
    (servers.gives(b""), "protocol", 1), (servers.gives(BODY, status=206), "protocol", 1),
    (servers.gives(BODY, [("X-%d" % number, "x" * 900) for number in range(200)]), "protocol", 1),
    (servers.gives(BODY, [("X-Long", "x" * 70000)]), "protocol", 1)])
def test_what_does_not_go_away_fails_the_attempt(bad, kind, asked):
    with servers.Server(bad) as server:
        result = run(server.url)
    assert kinds(result)[0][1] == kind and counted(result)[1] == 1 and len(server.requests) == asked
    assert result["bytes_per_second"] is None and result["bytes"] == 0 and result["peak_bytes_per_second"] is None
    assert any(note.startswith("attempt 1 failed: %s: " % kind) for note in result["notes"])


def test_failures_are_counted_exactly_over_many_attempts():
    bad = servers.refuses(500)
    with servers.Server(bad, bad, bad, GOOD, servers.refuses(404), servers.cuts(BODY, 9), GOOD) as server:
        result = run(server.url, attempts=4)
    assert kinds(result) == [(["http_5xx"] * 2, "http_5xx"), ([], None), ([], "http_4xx"), (["short_body"], None)]
    assert counted(result) == (4, 2, 3) and [attempt["status"] for attempt in result["attempts"]] == [None, 200, None, 200]


def test_a_wait_that_the_server_asks_for_is_kept_or_not_waited_for(monkeypatch):
    with servers.Server(servers.refuses(503, [("Retry-After", "3600")])) as server:
        result = run(server.url)
    assert kinds(result) == [([], "http_5xx")] and len(server.requests) == 1
    with servers.Server(servers.refuses(503, [("Retry-After", "1")]), GOOD) as server:
        result = run(server.url)
    assert kinds(result) == [(["http_5xx"], None)]


def test_a_moment_to_come_back_at_is_understood():
    with servers.Server(servers.refuses(503, [("Retry-After", email.utils.formatdate(time.time() + 1))]), GOOD) as server:
        assert kinds(run(server.url)) == [(["http_5xx"], None)]
    with servers.Server(servers.refuses(503, [("Retry-After", "soon")]), GOOD) as server:
        assert kinds(run(server.url)) == [(["http_5xx"], None)]


def test_nobody_listens():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        result = run("http://127.0.0.1:%d/" % port)
    assert kinds(result) == [(["refused"] * 2, "refused")] and "refused" in result["attempts"][0]["error"]["message"]


def test_a_name_that_nobody_knows():
    assert kinds(run("http://nowhere.invalid/", retries=0)) == [([], "dns")]


def test_a_port_whose_backlog_is_full_ends_in_time():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        result = run("http://127.0.0.1:%d/" % silent.getsockname()[1], timeout_seconds=2, retries=0)
    assert kinds(result)[0][1] in ("stalled", "timeout")


def test_a_head_that_drips_has_an_end():
    def drips(connection, request):
        for letter in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 1000:
            if connection.ended.wait(0.2):
                return
            connection.sendall(bytes([letter]))
    with servers.Server(drips) as server:
        assert kinds(run(server.url, timeout_seconds=2, retries=0)) == [([], "timeout")]


def test_a_time_limit_is_no_failure_where_data_moves():
    with servers.Server(servers.paced(BODY * 10, 400000)) as server:
        result = run(server.url, timeout_seconds=2)
    assert kinds(result) == [([], None)] and result["limited_by"] == "seconds" and result["attempts"][0]["limited_by"] == "seconds"
    assert 0.8 * 400000 < result["bytes_per_second"] < 1.1 * 400000 and result["bytes"] < 1000000
    assert result["checksum"]["verified"] is None and "limit of seconds" in result["checksum"]["how"]


def test_a_byte_limit_ends_a_download():
    with servers.Server(GOOD) as server:
        result = run(server.url, bytes=50000)
    assert result["bytes"] == 50000 and result["limited_by"] == "bytes" and result["checksum"]["verified"] is None
    with servers.Server(GOOD) as server:
        assert run(server.url, bytes=200000)["limited_by"] is None


@pytest.mark.parametrize("behaviour", [servers.chunked(BODY), servers.gives(BODY, version="HTTP/1.0"),
                                       servers.gives(BODY, [("Connection", "close")], length=False), servers.paced(BODY, 10 ** 7, 333)])
def test_every_form_of_a_body_is_whole(behaviour):
    with servers.Server(behaviour) as server:
        result = run(server.url, checksum="sha256:" + SHA256)
    assert kinds(result) == [([], None)] and result["bytes"] == 200000 and result["checksum"]["verified"] is True


@pytest.mark.parametrize("length", ["-7", "1_0", "\u00b2", "9" * 5000, "+5", "0x10", "200000, 5", ""])
def test_a_length_that_is_no_number_is_the_server_s_fault(length):
    with servers.Server(servers.gives(BODY, [("Content-Length", length)], length=False)) as server:
        result = run(server.url)
    assert kinds(result) == [([], "protocol")] and "Content-Length" in result["attempts"][0]["error"]["message"]


def test_two_lengths_are_no_length_unless_they_are_the_same():
    with servers.Server(servers.gives(BODY, [("Content-Length", "5")]), servers.gives(BODY, [("Content-Length", "200000")])) as server:
        assert kinds(run(server.url)) == [([], "protocol")]
        assert kinds(run(server.url)) == [([], None)]


@pytest.mark.parametrize("encoding, body, kind", [
    ("chunked", b"-5\r\nhello\r\n0\r\n\r\n", "protocol"), ("gzip, chunked", b"5\r\nhello\r\n0\r\n\r\n", "protocol"),
    ("chunked", b"5\r\nhelloXX5\r\nhello\r\n0\r\n\r\n", "protocol"), ("chunked", b"5\r\nhelloXX0\r\n\r\n", "protocol"),
    ("chunked", b"5\r\nhello\n0\r\n\r\n", "protocol"), ("chunked", b"5\r\nhello\r", "short_body"),
    ("Chunked", b"5;a=b\r\nhello\r\n0\r\n\r\n", None)])
def test_chunks_that_are_none_are_the_server_s_fault(encoding, body, kind):
    with servers.Server(servers.gives(body, [("Transfer-Encoding", encoding)], length=False)) as server:
        result = run(server.url, retries=0)
    assert kinds(result) == [([], kind)] and result["bytes"] == (0 if kind else 5)


def floods(start, again, sent):
    """Sends `start`, then `again` without an end; counts in `sent`."""
    def behave(connection, request):
        connection.sendall(start)
        while not connection.ended.is_set():
            connection.sendall(again)
            sent.append(len(again))
    return behave


@pytest.mark.parametrize("start, again", [
    (servers.answer(200, b"", [("Transfer-Encoding", "chunked")], length=False) + b"1\r\nx\r\n0\r\n", b"X-More: y\r\n" * 5000),
    (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2500)])
@pytest.mark.parametrize("direction", ["download", "upload"])
def test_all_that_comes_counts_against_the_limit(start, again, direction):
    sent = []
    with servers.Server(floods(start, again, sent)) as server:
        result = run(server.url, direction, bytes=100000, retries=0)
    assert kinds(result)[0][1] in ("protocol", "short_body", "reset") and result["bytes"] == 0
    # What the kernels' buffers hold beside.
    assert sum(sent) < 16 << 20
