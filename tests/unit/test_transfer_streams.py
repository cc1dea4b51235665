# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Transfers over several streams, and with the collection's own peer."""

from __future__ import annotations

import json
import socket
import threading

import pytest
import transfer_servers as servers
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import peer_server
from transfer_runs import BODY, GOOD, SHA256, counted, kinds, run

pytestmark = pytest.mark.usefixtures("no_proxies")


def test_streams_that_find_no_thread_are_told(monkeypatch):
    real, left = threading.Thread.start, [4]

    def start(thread):
        if "_stream" in repr(thread._target):
            left[0] -= 1
            if left[0] < 0:
                raise RuntimeError("can't start new thread")
        real(thread)
    with servers.Server(servers.ranged(BODY)) as server:
        monkeypatch.setattr(threading.Thread, "start", start)
        result = run(server.url, streams=8)
    assert kinds(result) == [([], "local")] and "no thread can be started" in result["attempts"][0]["error"]["message"]


@pytest.mark.parametrize("target", ["_work", "ask"])
def test_a_stream_whose_own_thread_finds_no_place_is_told(monkeypatch, target):
    real = threading.Thread.start

    def start(thread):
        if thread._target.__name__ == target:
            raise RuntimeError("can't start new thread")
        real(thread)
    with servers.Server(GOOD) as server:
        monkeypatch.setattr(threading.Thread, "start", start)
        result = run(server.url, checksum="sha256:" + SHA256)
    assert kinds(result) == [([], "local")] and result["bytes"] == 0


@pytest.fixture
def peer():
    """URL of the collection's own peer server, its token being t0ken."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(16)
    server = peer_server.Server(listener, "t0ken", 60)
    threading.Thread(target=server.serve, daemon=True).start()
    yield "http://127.0.0.1:%d" % listener.getsockname()[1]
    server.stop()


@pytest.mark.parametrize("direction", ["upload", "download"])
@pytest.mark.parametrize("streams", [1, 3])
def test_the_collection_s_own_peer(peer, direction, streams):
    result = run(peer, direction, storage="peer", token="t0ken", bytes=9000001, attempts=2, streams=streams)
    assert counted(result) == (2, 0, 0) and result["streams"] == streams and abs(result["bytes"] - 18000002) <= 2 * streams
    assert result["checksum"]["verified"] is (True if streams == 1 or direction == "upload" else None)
    wrong = run(peer, direction, storage="peer", token="wrong", bytes=1000)
    assert kinds(wrong) == [([], "http_4xx")] and "401" in wrong["attempts"][0]["error"]["message"]


@pytest.mark.parametrize("sink, verified, error", [
    (servers.peer_sink(), True, None), (servers.peer_sink(digest="0" * 64), False, "checksum"), (servers.peer_sink(count=5), False, "checksum")])
def test_the_peer_says_what_it_got(sink, verified, error):
    with servers.Server(sink) as server:
        result = run(server.url, "upload", storage="peer", token="t0ken", streams=2)
    assert result["checksum"]["verified"] is verified and kinds(result) == [([], error)]
    assert {(request.path, request.headers["x-peer-token"]) for request in server.requests} == {("/sink", "t0ken")} and len(server.requests) == 2
    assert sum(got for got, _digest in server.bodies) == 200000


@pytest.mark.parametrize("said", [
    b"[" * 8000, b"{}", b'{"bytes": 200000}', b'{"bytes": %s, "sha256": "%s"}' % (b"9" * 400, b"0" * 64),
    b'{"bytes": %s, "sha256": "%s"}' % (b"9" * 5000, b"0" * 64), b'{"bytes": true, "sha256": "%s"}' % (b"0" * 64), b""])
def test_an_answer_that_is_not_the_peer_s_is_no_upload(said):
    with servers.Server(servers.takes(200, body=lambda digest: said)) as server:
        result = run(server.url, "upload", storage="peer", token="t0ken")
    assert kinds(result) == [([], "protocol")] and "9999" not in json.dumps(result["notes"])


def test_streams_share_ranges():
    with servers.Server(servers.ranged(BODY)) as server:
        result = run(server.url, streams=4)
    assert result["bytes"] == 200000 and result["streams"] == 4 and "aren't summed" in result["checksum"]["how"]
    asked = sorted(request.headers["range"] for request in server.requests)
    assert asked == ["bytes=0-0", "bytes=0-49999", "bytes=100000-149999", "bytes=150000-199999", "bytes=50000-99999"]


def test_without_ranges_there_is_one_stream():
    with servers.Server(GOOD) as server:
        result = run(server.url, streams=4)
    assert result["streams"] == 1 and result["bytes"] == 200000 and any("no ranges" in note for note in result["notes"])


def test_one_failing_stream_fails_the_try():
    good = servers.ranged(BODY)
    with servers.Server(good, good, servers.refuses(500), good) as server:
        result = run(server.url, streams=3)
    assert kinds(result) == [(["http_5xx"], None)] and result["bytes"] == 200000


def test_a_range_that_is_another_is_no_figure():
    def lies(connection, request):
        first = request.headers["range"].partition("=")[2].partition("-")[0]
        where = "bytes 0-0/200000" if request.headers["range"] == "bytes=0-0" else "bytes 7-9/200000"
        connection.sendall(servers.answer(206, b"x" * (1 if first == "0" else 3), [("Content-Range", where)]))
    with servers.Server(lies) as server:
        assert kinds(run(server.url, streams=2)) == [([], "protocol")]


@pytest.mark.parametrize("headers", [(), [("Content-Length", "10")], [("Transfer-Encoding", "chunked")]])
def test_a_range_that_is_cut_short_is_no_whole_one(headers):
    def short(connection, request):
        first, last = (int(text) for text in request.headers["range"].partition("=")[2].split("-"))
        if not first:
            return servers.ranged(BODY)(connection, request)
        where = ("Content-Range", "bytes %d-%d/200000" % (first, last))
        body = b"a\r\nxxxxxxxxxx\r\n0\r\n\r\n" if "chunked" in str(headers) else b"x" * 10
        return connection.sendall(servers.answer(206, b"", [where, *headers], length=False) + body)
    with servers.Server(short) as server:
        result = run(server.url, streams=4, retries=1)
    assert kinds(result) == [(["short_body"], "short_body")] and result["bytes"] == 0
    assert "10 bytes of 50000 came" in result["attempts"][0]["error"]["message"]


def test_streams_upload_under_names_of_their_own():
    store = {}
    with servers.Server(servers.keeps(store)) as server:
        result = run(server.url, "upload", streams=3)
    assert result["bytes"] == 200000 and store == {} and len({request.path for request in server.requests}) == 3
    with servers.Server(servers.refuses(404), servers.takes()) as server:
        result = run(server.url + "one", "upload", streams=3)
    assert result["streams"] == 1 and any("1 of 3 streams" in note for note in result["notes"])
