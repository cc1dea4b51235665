# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Interim answers (RFC 9110, 15.2): any number of them may come before, while and after something is sent, and changes nothing."""

from __future__ import annotations

import time

import pytest
import transfer_servers as servers
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import http_interim
from transfer_runs import BODY, GOOD, SHA256, kinds, run

pytestmark = pytest.mark.usefixtures("no_proxies")

INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 199 More\r\nA: b\r\n\r\n"


@pytest.fixture(params=[False, True], ids=["plain", "tls"])
def secured(request, tmp_path):
    """(options of a run, server's context)"""
    if not request.param:
        return {}, None
    pytest.importorskip("cryptography")
    path, context = servers.certificate(tmp_path)
    return {"ca_path": path}, context


def before(behaviour, said=INTERIM, pause=0.0):
    def behave(connection, request):
        if request.method != "DELETE":
            connection.sendall(said)
            time.sleep(pause)
        behaviour(connection, request)
    return behave


def test_a_download_after_interim_answers(secured):
    options, context = secured
    with servers.Server(before(GOOD), context=context) as server:
        result = run(server.url, checksum="sha256:" + SHA256, **options)
    assert kinds(result) == [([], None)] and result["bytes"] == len(BODY) and result["checksum"]["verified"] is True


def test_an_upload_goes_on_through_interim_answers(secured):
    options, context = secured

    # They come in pieces, long before all is sent.
    def dribbles(connection, request):
        for part in (INTERIM[:30], INTERIM[30:61], INTERIM[61:]):
            connection.sendall(part)
            servers.read_body(connection, request, 1000000)
        request.headers["content-length"] = str(int(request.headers["content-length"]) - 3000000)
        servers.takes()(connection, request)
    with servers.Server(dribbles, servers.takes(), context=context, receive_buffer=16384) as server:
        result = run(server.url, "upload", bytes=8000000, **options)
    assert kinds(result) == [([], None)] and result["bytes"] == 8000000


def test_an_interim_answer_to_an_upload_is_not_its_first_byte(secured):
    options, context = secured

    def works_on_it(connection, request):
        servers.read_body(connection, request)
        connection.sendall(INTERIM)
        # Longer than a stall.
        time.sleep(1.3)
        connection.sendall(servers.answer(201))
    with servers.Server(works_on_it, servers.takes(), context=context) as server:
        result = run(server.url, "upload", **options)
    assert kinds(result) == [([], None)] and result["time_to_first_byte_seconds"] >= 1.2


def test_a_refusal_over_tls_is_seen_before_all_is_sent(tmp_path):
    pytest.importorskip("cryptography")
    path, context = servers.certificate(tmp_path)

    def refuses_at_once(connection, request):
        connection.sendall(INTERIM + servers.answer(413))
        connection.ended.wait(5)
    with servers.Server(refuses_at_once, context=context, receive_buffer=4096) as server:
        result = run(server.url, "upload", bytes=20000000, ca_path=path)
    assert kinds(result) == [([], "http_4xx")] and "413" in result["attempts"][0]["error"]["message"]


@pytest.mark.parametrize("direction", ["upload", "download"])
@pytest.mark.parametrize(("said", "words"), [
    (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "HTTP 101 isn't an answer to this request"),
    (b"HTTP/1.1 102 P\r\n\r\n" * 1001, "more than 1000 interim answers")])
def test_other_and_endless_ones_fail(direction, said, words):
    with servers.Server(before(servers.takes() if direction == "upload" else GOOD, said, 0.1)) as server:
        result = run(server.url, direction, retries=0, bytes=8000000)
    assert kinds(result) == [([], "protocol")] and result["attempts"][0]["error"]["message"] == words


@pytest.mark.parametrize(("data", "left", "count", "final"), [
    (b"", b"", 0, False), (b"HTT", b"HTT", 0, False), (b"HTTP/1.1 2", b"HTTP/1.1 2", 0, False), (b"HTTP/1.1 102 P\r\nA", b"HTTP/1.1 102 P\r\nA", 0, False),
    (INTERIM, b"", 4, False), (INTERIM + b"HTTP/1.1 201 C", b"HTTP/1.1 201 C", 4, True), (b"HTTP/1.1 100\n\nHTTP/1.0 ", b"HTTP/1.0 ", 1, False),
    (b"HTTP/1.1 101 S\r\n\r\nx", b"HTTP/1.1 101 S\r\n\r\nx", 0, True), (b"SSH-2", b"SSH-2", 0, True), (b"\0", b"\0", 0, True)])
def test_where_the_answer_that_counts_begins(data, left, count, final):
    assert http_interim.passed_over(data) == (left, count) and http_interim.is_final(left) is final
