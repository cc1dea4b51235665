# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Transfers against servers that fail in every way: each failure named, counted exactly, and the end reached."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
import time

import pytest
import transfer_servers as servers
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import peer_server, transfer, transfer_attempt

BODY = hashlib.shake_128(b"test").digest(200000)
SHA256 = hashlib.sha256(BODY).hexdigest()


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(transfer_attempt, "FIRST_PAUSE_SECONDS", 0.01)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def run(url, direction="download", **options):
    return transfer.run(dict({"url": url, "direction": direction, "attempts": 1, "timeout_seconds": 10, "stall_seconds": 1, "retries": 2,
                              "bytes": None if direction == "download" else 200000}, **options))


def kinds(result):
    """[(kinds of the retries, kind of the error)] of each attempt."""
    return [([retry["kind"] for retry in attempt["retries"]], attempt["error"] and attempt["error"]["kind"]) for attempt in result["attempts"]]


def counted(result):
    return result["attempts_asked"], result["attempts_failed"], result["retries_count"]


GOOD = servers.gives(BODY)


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
    import email.utils
    import time
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


@pytest.mark.parametrize("headers", [[("X-Checksum-Sha256", SHA256)], [("Repr-Digest", "sha-256=:%s:")], [("Digest", "SHA-256=%s")],
                                     [("x-amz-checksum-sha256", "%s")]])
@pytest.mark.parametrize("good", [True, False])
def test_a_checksum_that_the_server_states_is_compared(headers, good):
    import base64
    stated = [(name, value % base64.b64encode(bytes.fromhex(SHA256)).decode() if "%s" in value else value) for name, value in headers]
    with servers.Server(servers.gives(BODY if good else BODY[:-1] + b"?", stated)) as server:
        result = run(server.url, attempts=2)
    assert result["checksum"] == {"algorithm": "sha256", "verified": good, "how": headers[0][0]}
    # Wrong bytes don't become right by asking again, and have no speed.
    assert kinds(result) == [([], None if good else "checksum")] * 2 and (result["bytes_per_second"] is None) is not good


def test_a_given_checksum_goes_before_the_server_s():
    with servers.Server(servers.gives(BODY, [("X-Checksum-Sha256", "0" * 64)])) as server:
        assert run(server.url, checksum="sha256:" + SHA256)["checksum"]["verified"] is True
        assert kinds(run(server.url, checksum="sha256:" + "0" * 64)) == [([], "checksum")]


def both(body, length):
    """A chunked answer that has a Content-Length beside."""
    def behave(connection, request):
        connection.sendall(servers.answer(200, b"", [("Transfer-Encoding", "chunked"), ("Content-Length", length)], length=False))
        connection.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
    return behave


def test_a_given_checksum_is_compared_or_the_attempt_failed():
    with servers.Server(both(BODY[:-1] + b"?", "99999999999"), both(BODY, "99999999999")) as server:
        assert kinds(run(server.url, checksum="sha256:" + SHA256)) == [([], "checksum")]
        assert run(server.url, checksum="sha256:" + SHA256)["checksum"]["verified"] is True
    with servers.Server(GOOD) as server:
        result = run(server.url, bytes=50000, checksum="sha256:" + SHA256)
    assert kinds(result) == [([], "checksum")] and "limit of bytes" in result["attempts"][0]["error"]["message"]
    assert result["bytes_per_second"] is None and result["checksum"]["verified"] is None
    with pytest.raises(ValueError, match="take one stream"):
        transfer.plan({"url": "http://h/", "direction": "download", "checksum": "sha256:" + SHA256, "streams": 2})


def test_a_checksum_that_this_host_can_not_compute_is_refused(monkeypatch):
    monkeypatch.setattr(hashlib, "algorithms_available", {"sha256"})
    with pytest.raises(ValueError, match="can't compute md5"):
        transfer.plan({"url": "http://h/", "direction": "download", "checksum": "md5:" + "0" * 32})


@pytest.mark.parametrize("length", ["-7", "1_0", "\u00b2", "9" * 5000, "+5", "0x10", "200000, 5", ""])
def test_a_length_that_is_no_number_is_the_server_s_fault(length):
    with servers.Server(servers.gives(BODY, [("Content-Length", length)], length=False)) as server:
        result = run(server.url)
    assert kinds(result) == [([], "protocol")] and "Content-Length" in result["attempts"][0]["error"]["message"]


def test_two_lengths_are_no_length_unless_they_are_the_same():
    with servers.Server(servers.gives(BODY, [("Content-Length", "5")]), servers.gives(BODY, [("Content-Length", "200000")])) as server:
        assert kinds(run(server.url)) == [([], "protocol")]
        assert kinds(run(server.url)) == [([], None)]


def test_a_chunk_of_less_than_nothing_is_the_server_s_fault():
    def behave(connection, request):
        connection.sendall(servers.answer(200, b"", [("Transfer-Encoding", "chunked")], length=False) + b"-5\r\nhello\r\n0\r\n\r\n")
    with servers.Server(behave) as server:
        assert kinds(run(server.url)) == [([], "protocol")]


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


def test_an_etag_that_is_no_md5_says_nothing():
    with servers.Server(servers.gives(BODY, [("ETag", '"%s"' % hashlib.md5(BODY).hexdigest())]),
                        servers.gives(BODY, [("ETag", '"%s"' % ("0" * 32))])) as server:
        assert run(server.url, storage="s3")["checksum"]["verified"] is True
        other = run(server.url, storage="s3")
    assert other["checksum"]["verified"] is None and counted(other) == (1, 0, 0)


# --------------------------------------------------------------------- uploads


def test_a_good_upload_is_read_back_and_deleted():
    store = {}
    with servers.Server(servers.keeps(store)) as server:
        result = run(server.url + "in/?key=1", "upload", attempts=3)
    assert counted(result) == (3, 0, 0) and result["bytes"] == 600000 and store == {}
    assert result["checksum"] == {"algorithm": "sha256", "verified": True, "how": "reading it back"}
    assert [request.method for request in server.requests] == ["PUT"] * 3 + ["GET", "DELETE"]
    (path,) = {request.path for request in server.requests}
    assert path.startswith("/in/gpu-audit-transfer-") and path.endswith(".bin?key=1")
    assert any("was deleted afterwards" in note for note in result["notes"])
    assert [attempt["status"] for attempt in result["attempts"]] == [201, 204, 204]


def test_what_is_read_back_and_is_wrong_is_a_wrong_checksum():
    with servers.Server(servers.keeps({}, bad=True)) as server:
        result = run(server.url, "upload")
    assert kinds(result) == [([], "checksum")] and result["checksum"]["verified"] is False


def test_too_much_to_be_read_back(monkeypatch):
    monkeypatch.setattr(transfer_attempt, "READ_BACK_BYTES", 100000)
    with servers.Server(servers.keeps({})) as server:
        result = run(server.url, "upload")
    assert result["checksum"]["verified"] is None and "more than is read back" in result["checksum"]["how"]


def test_what_lies_there_is_not_replaced():
    store = {"/theirs": b"data"}
    with servers.Server(servers.keeps(store)) as server:
        with pytest.raises(transfer.Refused, match="replaces nothing"):
            run(server.url + "theirs", "upload")
        assert store == {"/theirs": b"data"}
        result = run(server.url + "free", "upload")
    assert counted(result) == (1, 0, 0) and store == {"/theirs": b"data"}


@pytest.mark.parametrize("status", [401, 403, 405, 400, 501])
def test_what_may_lie_there_is_not_replaced(status):
    with servers.Server(servers.refuses(status)) as server:
        with pytest.raises(transfer.Refused, match="HTTP %d .*overwrite=true" % status):
            run(server.url + "theirs", "upload")
        with pytest.raises(transfer.Refused, match="overwrite=true"):
            run(server.url, "upload", upload_urls=[server.url + "theirs"])
    assert [request.method for request in server.requests] == ["HEAD", "HEAD"]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again_and_sent_nothing(status):
    with servers.Server(servers.refuses(status)) as server:
        result = run(server.url + "theirs", "upload")
    assert [request.method for request in server.requests] == ["HEAD"] * 3 and counted(result) == (1, 1, 2)
    with servers.Server(servers.refuses(status), servers.refuses(404), servers.takes()) as server:
        result = run(server.url + "free", "upload")
    assert [request.method for request in server.requests][:3] == ["HEAD", "HEAD", "PUT"] and counted(result) == (1, 0, 1)


def test_an_upload_stores_nothing_where_something_lies_that_was_not_told():
    with servers.Server(servers.refuses(404), servers.refuses(500), servers.refuses(412)) as server:
        with pytest.raises(transfer.Refused, match="replaces nothing"):
            run(server.url + "theirs", "upload")
    # Nothing of theirs is deleted either.
    assert [request.method for request in server.requests] == ["HEAD", "PUT", "PUT"]
    assert [request.headers["if-none-match"] for request in server.requests[1:]] == ["*", "*"]


def test_what_lies_there_after_an_attempt_is_the_test_s_own():
    with servers.Server(servers.refuses(404), servers.takes_then_resets(65536), servers.takes()) as server:
        result = run(server.url + "free", "upload", bytes=8000000, attempts=2)
    puts = [request for request in server.requests if request.method == "PUT"]
    assert ["if-none-match" in put.headers for put in puts] == [True, False, False] and counted(result) == (2, 0, 1)


def test_a_presigned_upload_needs_to_know_that_nothing_lies_there():
    signed = "?X-Amz-Signature=abcdef"
    with servers.Server(servers.takes()) as server:
        with pytest.raises(transfer.Refused, match="signed for one method"):
            run(server.url + "k" + signed, "upload")
        with pytest.raises(transfer.Refused, match="signed for one method"):
            run(server.url + "k" + signed, "upload", read_url=server.url + "another" + signed)
        assert server.requests == []
        assert counted(run(server.url + "gpu-audit-transfer-0123456789ab.bin" + signed, "upload")) == (1, 0, 0)
        assert counted(run(server.url + "k" + signed, "upload", overwrite=True)) == (1, 0, 0)
    for answer in (servers.gives(b"x", status=206), servers.refuses(416), servers.refuses(403)):
        with servers.Server(answer) as server, pytest.raises(transfer.Refused):
            run(server.url + "k" + signed, "upload", read_url=server.url + "k" + signed)
        assert [(request.method, request.headers["range"]) for request in server.requests] == [("GET", "bytes=0-0")]
    with servers.Server(servers.refuses(404), servers.takes()) as server:
        run(server.url + "k" + signed, "upload", read_url=server.url + "k" + signed)
    assert [request.method for request in server.requests] == ["GET", "PUT", "GET"] and server.requests[1].headers["if-none-match"] == "*"


def test_headers_that_are_given_go_before_the_test_s_own():
    with servers.Server(servers.keeps({})) as server:
        run(server.url, "upload", headers={"content-type": "video/mp4", "Host": "other.example.com"})
    put = server.requests[0].headers
    assert put["content-type"] == "video/mp4" and put["host"] == "other.example.com" and put["content-length"] == "200000"


def test_what_can_not_be_known_as_ours_is_not_deleted():
    with servers.Server(servers.takes(), servers.refuses(403)) as server:
        result = run(server.url + "x", "upload", overwrite=True)
    assert [request.method for request in server.requests] == ["PUT", "GET"] and "if-none-match" not in server.requests[0].headers
    assert any("stays at %sx" % server.url in note for note in result["notes"])


def test_a_delete_that_fails_is_told():
    with servers.Server(servers.takes(), servers.refuses(403), servers.refuses(405)) as server:
        result = run(server.url, "upload")
    assert any("couldn't be deleted (HTTP 405 Method Not Allowed)" in note for note in result["notes"]) and counted(result) == (1, 0, 0)


@pytest.mark.parametrize("bad, allowed", [
    (servers.refuses(500), {"http_5xx"}), (servers.takes_then_resets(65536), {"reset"}), (servers.hangs, {"stalled", "timeout"}),
    (lambda connection, request: connection.reset(), {"reset"})])
def test_a_failed_upload_is_tried_again(bad, allowed):
    with servers.Server(bad, servers.takes(), receive_buffer=4096) as server:
        result = run(server.url, "upload", bytes=8000000, timeout_seconds=10)
    ((retries, error),) = kinds(result)
    assert set(retries) <= allowed and len(retries) == 1 and error is None and result["bytes"] == 8000000


def test_a_server_that_takes_all_and_never_answers_ends_in_time():
    with servers.Server(servers.hangs) as server:
        result = run(server.url, "upload", bytes=1000, timeout_seconds=2, retries=0)
    assert kinds(result) == [([], "timeout")]


def test_a_server_that_stops_reading_has_stalled():
    def reads_a_little(connection, request):
        servers.read_body(connection, request, 100000)
        connection.ended.wait(30)
    with servers.Server(reads_a_little, receive_buffer=4096) as server:
        result = run(server.url, "upload", bytes=20000000, timeout_seconds=8, retries=0)
    assert kinds(result) == [([], "stalled")]


def test_a_refusal_before_the_end_of_an_upload_is_the_reason():
    def refuses_at_once(connection, request):
        connection.sendall(servers.answer(413))
        connection.ended.wait(5)
    with servers.Server(refuses_at_once, receive_buffer=4096) as server:
        result = run(server.url, "upload", bytes=20000000)
    assert kinds(result) == [([], "http_4xx")] and "413" in result["attempts"][0]["error"]["message"]


def test_a_refusal_that_comes_while_the_connection_takes_no_more_is_seen_at_once():
    def refuses_late(connection, request):
        time.sleep(0.3)
        connection.sendall(servers.answer(413))
        connection.ended.wait(5)
    with servers.Server(refuses_late, receive_buffer=4096) as server:
        assert kinds(run(server.url, "upload", bytes=20000000)) == [([], "http_4xx")]


def test_an_upload_s_time_limit_is_no_failure_where_data_moves():
    with servers.Server(servers.takes(bytes_per_second=2000000), receive_buffer=65536) as server:
        result = run(server.url, "upload", bytes=40000000, timeout_seconds=3)
    assert kinds(result) == [([], None)] and result["limited_by"] == "seconds" and 0 < result["bytes"] < 15000000


def test_an_error_of_s3_is_told_by_its_code():
    body = b"<?xml version='1.0'?><Error><Code>SignatureDoesNotMatch</Code><StringToSign>secret</StringToSign></Error>"
    with servers.Server(servers.refuses(403, body=body)) as server:
        result = run(server.url + "k?X-Amz-Signature=abc", "upload", overwrite=True)
    assert result["storage"] == "s3" and result["attempts"][0]["error"]["message"] == "HTTP 403 Forbidden (SignatureDoesNotMatch)"
    assert "secret" not in json.dumps(result)


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


# --------------------------------------------------------------------- streams


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


def test_streams_upload_under_names_of_their_own():
    store = {}
    with servers.Server(servers.keeps(store)) as server:
        result = run(server.url, "upload", streams=3)
    assert result["bytes"] == 200000 and store == {} and len({request.path for request in server.requests}) == 3
    with servers.Server(servers.refuses(404), servers.takes()) as server:
        result = run(server.url + "one", "upload", streams=3)
    assert result["streams"] == 1 and any("1 of 3 streams" in note for note in result["notes"])
