# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Kept connections of a load test: resets counted exactly, what may be sent again, and where an answer ends."""

from __future__ import annotations

import select
import socket
import struct
import time

import pytest
import transfer_servers
from request_servers import CLOSE, OK, RESET, SHORT, load, noted, piece, scripted, status, step, stream

from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import request_worker


def test_connections_are_kept():
    with scripted(lambda _number: OK) as server:
        found = step(server.url, requests=30, concurrency=[3])
    assert server.connections == 3 and found["reconnects"] == 0 and found["samples"] == 30
    assert all("Connection: keep-alive" in head for head in server.seen)


def test_without_keeping_each_request_connects():
    with scripted(lambda _number: OK) as server:
        found = step(server.url, requests=10, keep_alive=False)
    assert server.connections == 10 and found["reconnects"] == 0 and all("Connection: close" in head for head in server.seen)


def test_a_server_that_says_close_is_no_reconnect():
    with scripted(lambda _number: OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), hangs_up=True) as server:
        found = step(server.url, requests=10)
    assert found["samples"] == 10 and found["errors"] == {} and found["reconnects"] == 0 and server.connections == 10


def hangs_up(sock):
    """Closes the connection after an answer that didn't say so."""
    sock.sendall(OK)
    sock.close()


def resets(sock):
    sock.sendall(OK)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


# 40 ms between requests: the end of a connection is there before the next one is sent.
SPACED = {"requests": 10, "arrival_rate_per_second": 25}


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("ending", [hangs_up, resets])
def test_a_kept_connection_that_has_ended_is_made_anew(ending, method):
    with scripted(lambda _number: ending) as server:
        made = load(server.url, method=method, **SPACED)
    found = made["steps"][0]
    assert found["samples"] == 10 and found["errors"] == {} and server.connections == 10 and len(server.seen) == 10
    assert found["reconnects"] == 9 and found["resent"] == 0
    assert noted(made, "1 at once: connections that had ended before a request was sent on them: 9, ")


@pytest.mark.parametrize("size", [0, 1000, 600000])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_a_server_had_closed_before_it_came_is_sent_again_and_told(monkeypatch, method, size):
    # As if the connection's end had come a moment later, when the request was on its way.
    monkeypatch.setattr(request_worker.Client, "_has_ended", lambda _client: False)
    with scripted(lambda _number: hangs_up) as server:
        made = load(server.url, method=method, payload_bytes=size, **SPACED)
    found = made["steps"][0]
    assert found["samples"] == 10 and found["errors"] == {} and server.connections == 10 and len(server.seen) == 10
    assert found["resent"] == 9 and found["reconnects"] == 0
    assert noted(made, "1 at once: requests sent again: 9, the server had closed their connections before they arrived")


def test_what_is_sent_again_counts_against_the_bytes(monkeypatch):
    monkeypatch.setattr(request_worker.Client, "_has_ended", lambda _client: False)
    with scripted(lambda _number: hangs_up) as server:
        found = step(server.url, method="POST", payload_bytes=100000, bytes=600000, **SPACED)
    assert found["stopped"] == "bytes" and found["samples"] == 3 and found["resent"] == 2 and len(server.seen) == 3


@pytest.fixture
def tls(tmp_path):
    """(server's context, options of a test of it)"""
    pytest.importorskip("cryptography")
    path, context = transfer_servers.certificate(tmp_path)
    return context, {"ca_path": path}


@pytest.mark.parametrize("size", [0, 5000])
def test_over_tls_too(monkeypatch, tls, size):
    context, more = tls
    with scripted(lambda _number: hangs_up, tls=context) as server:
        seen = step(server.url, method="POST", payload_bytes=size, **more, **SPACED)
        monkeypatch.setattr(request_worker.Client, "_has_ended", lambda _client: False)
        unseen = step(server.url, method="POST", payload_bytes=size, **more, **SPACED)
    assert seen["errors"] == unseen["errors"] == {} and seen["samples"] == unseen["samples"] == 10 and len(server.seen) == 20
    assert (seen["reconnects"], seen["resent"]) == (9, 0) and (unseen["reconnects"], unseen["resent"]) == (0, 9)


@pytest.mark.parametrize("said", [RESET, CLOSE])
@pytest.mark.parametrize(("method", "size"), [("GET", 0), ("POST", 300), ("POST", 600000)])
def test_whatever_ends_a_request_over_tls_is_an_error_once(tls, said, method, size):
    context, more = tls
    with scripted(lambda number: said if number % 3 == 2 else OK, tls=context) as server:
        found = step(server.url, requests=30, method=method, payload_bytes=size, **more)
    assert found["errors"] == {"reset": 10} and found["samples"] == 20 and len(server.seen) == 30 and found["resent"] == found["reconnects"] == 0


def unread(sock):
    """Closes the connection with the next request in its hands, unread."""
    sock.sendall(OK)
    select.select([sock], [], [], 20)
    time.sleep(0.01)
    sock.close()


# What a server does with a request -> how it is counted.
ENDINGS = [(RESET, "reset"), (CLOSE, "reset"), (SHORT, "short_body"), (status(500), "http_5xx")]


@pytest.mark.parametrize("keep_alive", [True, False])
@pytest.mark.parametrize("concurrency", [1, 5])
@pytest.mark.parametrize(("method", "size"), [("GET", 0), ("POST", 0), ("POST", 2000), ("PUT", 500000)])
def test_whatever_ends_a_request_that_was_sent_is_an_error_once(method, size, concurrency, keep_alive):
    # One of three fails, each in its turn; without clients that wait for another the order is that of the requests.
    script = [said for number in range(32) for said in (OK, OK, ENDINGS[number % 4][0])]
    with scripted(lambda number: script[number]) as server:
        found = step(server.url, requests=96, concurrency=[concurrency], method=method, payload_bytes=size, keep_alive=keep_alive)
    assert found["errors"] == {"reset": 16, "short_body": 8, "http_5xx": 8} and found["samples"] == 64
    assert found["requests"] == len(server.seen) == 96 and found["resent"] == found["reconnects"] == 0


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_request_that_came_and_was_not_read_is_an_error(method):
    with scripted(lambda number: unread if number % 2 == 0 else OK) as server:
        found = step(server.url, method=method, requests=21)
    # Every other answer's connection ends under the request behind it: the first, third ... are answered, the others reset.
    assert found["errors"] == {"reset": 7} and found["samples"] == len(server.seen) == 14 and found["resent"] == found["reconnects"] == 0


@pytest.mark.parametrize("said", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Type: text/pl", b"HTTP/1.1 200 OK\r\nX: y\r\n"])
@pytest.mark.parametrize("streaming", ["none", "openai"])
def test_a_head_that_is_cut_off_is_a_short_answer(said, streaming):
    def begins(sock):
        sock.sendall(said)
        sock.close()

    good = OK if streaming == "none" else stream(piece("text", "stop"))
    with scripted(lambda number: begins if number % 3 == 2 else good) as server:
        found = step(server.url, requests=30, streaming=streaming)
    assert found["errors"] == {"short_body": 10} and found["samples"] == 20 and len(server.seen) == 30 and found["resent"] == 0


# --------------------------------------------------------------- where an answer ends


def answer(head, body=b"ok"):
    return b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n" + body


CHUNKED = b"Transfer-Encoding: chunked"


@pytest.mark.parametrize(("said", "words"), [
    (answer(b"Content-Length: 2\r\nContent-Length: 3"), "Content-Length is no number of bytes"),
    (answer(b"Content-Length: 0_2"), "Content-Length is no number of bytes"),
    (answer(b"Content-Length: -2"), "Content-Length is no number of bytes"),
    (answer(b"Content-Length: \xb2"), "Content-Length is no number of bytes"),
    (answer(b"Transfer-Encoding: gzip, chunked", b"2\r\nok\r\n0\r\n\r\n"), "Transfer-Encoding is none that was asked for"),
    (answer(b"Transfer-Encoding: gzip\r\n" + CHUNKED, b"2\r\nok\r\n0\r\n\r\n"), "Transfer-Encoding is none that was asked for"),
    (answer(CHUNKED, b"-5\r\nok\r\n0\r\n\r\n"), "the chunks of the answer are no proper HTTP"),
    (answer(CHUNKED, b"0x2\r\nok\r\n0\r\n\r\n"), "the chunks of the answer are no proper HTTP"),
    (answer(CHUNKED, b"what\r\nok\r\n0\r\n\r\n"), "the chunks of the answer are no proper HTTP"),
    (answer(CHUNKED, b"2\r\nokXX0\r\n\r\n"), "the chunks of the answer are no proper HTTP"),
    (answer(CHUNKED, b"f" * 70000), "the chunks of the answer are no proper HTTP"),
])
@pytest.mark.parametrize("streaming", ["none", "openai"])
def test_an_answer_whose_end_nobody_can_tell_is_no_proper_http(said, words, streaming):
    typed = said.replace(b"OK\r\n", b"OK\r\nContent-Type: text/event-stream\r\n", 1)
    with scripted(lambda _number: typed) as server:
        made = load(server.url, requests=5, timeout_seconds=3.0, streaming=streaming)
    assert made["steps"][0]["errors"] == {"protocol": 5} and noted(made, words)


def test_a_failed_status_stays_what_failed_and_ends_its_connection():
    said = b"HTTP/1.1 500 No\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nno\n"
    with scripted(lambda number: said if number % 3 == 2 else OK) as server:
        found = step(server.url, requests=30)
    assert found["errors"] == {"http_5xx": 10} and found["samples"] == 20 and found["reconnects"] == 0 and server.connections == 10


def test_proper_chunks_are_an_answer():
    with scripted(lambda _number: answer(CHUNKED, b"00A;name=value\r\n0123456789\r\n1 \r\nx\r\n0\r\nTrailer: y\r\n\r\n")) as server:
        found = step(server.url, requests=10)
    assert found["samples"] == 10 and server.connections == 1
    with scripted(lambda _number: answer(b"Content-Length: 2\r\nContent-Length: 2\r\nTransfer-Encoding: identity")) as server:
        assert step(server.url, requests=10)["samples"] == 10


def test_chunks_that_are_cut_off_are_a_short_body():
    def cut(sock):
        sock.sendall(answer(CHUNKED, b"5\r\nhello\r\n"))
        sock.shutdown(socket.SHUT_WR)

    with scripted(lambda _number: cut) as server:
        found = step(server.url, requests=5)
    assert found["errors"] == {"short_body": 5}
