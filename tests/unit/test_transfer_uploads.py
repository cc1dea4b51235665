# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Uploads to servers that fail in every way; what lies there already is never replaced, and what the test left is deleted or told."""

from __future__ import annotations

import json
import socket
import time

import pytest
import transfer_servers as servers
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import transfer, transfer_attempt, transfer_stream
from transfer_runs import BODY, counted, kinds, run

pytestmark = pytest.mark.usefixtures("no_proxies")


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


def test_what_is_not_read_back_whole_says_nothing():
    with servers.Server(servers.refuses(404), servers.takes(), servers.cuts(BODY, 50000), servers.refuses(404)) as server:
        result = run(server.url + "x", "upload")
    assert counted(result) == (1, 0, 0) and result["checksum"]["verified"] is None
    assert "couldn't be read back (the answer ended 150000 bytes before its end)" in result["checksum"]["how"]


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


@pytest.mark.parametrize("name", ["", "x"])
@pytest.mark.parametrize("status", [400, 401, 403, 405, 409, 413, 501])
def test_a_server_that_refuses_uploads_has_nothing_of_them(status, name):
    with servers.Server(servers.refuses(status)) as server:
        result = run(server.url + name, "upload", overwrite=True, attempts=2, retries=0)
    # Nothing is deleted that isn't there.
    assert {request.method for request in server.requests} == {"PUT"} and counted(result)[:2] == (2, 2)
    (note,) = (note for note in result["notes"] if "stored" in note)
    assert note.startswith("nothing was stored at " + server.url) and note.endswith(": no upload got that far")
    assert not any("stays at" in note or "deleted" in note for note in result["notes"])


def test_nothing_lies_where_nobody_could_be_reached():
    with servers.Server(servers.takes()) as server:
        gone = server.url
    result = run(gone, "upload", retries=0)
    assert kinds(result) == [([], "refused")] and any("nothing was stored at" in note for note in result["notes"])


@pytest.mark.parametrize("bad, after, words", [
    (servers.refuses(500), (), "a part of what was sent may lie at %s"),
    (servers.takes_then_resets(65536), (), "a part of what was sent may lie at %s"),
    # An earlier one is there, whatever became of the last.
    (servers.takes(), (servers.refuses(403),), "what was uploaded stays at %s"),
])
def test_what_nobody_knows_to_lie_there_is_told_so(bad, after, words):
    with servers.Server(bad, *after) as server:
        result = run(server.url + "x", "upload", overwrite=True, bytes=8000000, attempts=1 + len(after), retries=0)
    assert any(note.startswith(words % (server.url + "x")) for note in result["notes"]), result["notes"]


def test_what_was_cut_off_is_deleted_or_told():
    for status, words in ((404, "nothing of the test is left at"), (204, "was deleted afterwards"), (405, "look there, and delete it by hand")):
        with servers.Server(servers.refuses(500), servers.refuses(status)) as server:
            result = run(server.url, "upload", retries=0)
        assert [request.method for request in server.requests] == ["PUT", "DELETE"]
        assert any(words in note for note in result["notes"]), result["notes"]


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


# ------------------------------------------------------------------ time to the first byte


def test_the_first_byte_of_an_upload_s_answer_is_counted_from_the_moment_at_which_the_last_byte_left():
    # The answer comes with the last confirmation: no time has passed since that.
    with servers.Server(servers.takes()) as server:
        result = run(server.url, "upload", attempts=3)
    firsts = [attempt["time_to_first_byte_seconds"] for attempt in result["attempts"]]
    assert all(0 < first <= attempt["seconds"] for first, attempt in zip(firsts, result["attempts"])), firsts


class Looks:
    """What a sender sees at each look, a second apart: bytes unsent, and the answer after the last."""

    def __init__(self, monkeypatch, *unsent):
        self.unsent, self.now = list(unsent), 100.0
        monkeypatch.setattr(transfer_stream, "unsent", lambda _sock: self.unsent[0])
        monkeypatch.setattr(transfer_stream, "unacknowledged", lambda _sock: 0)
        monkeypatch.setattr(transfer_stream.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(transfer_stream.select, "poll", lambda: self)
        self.deadline = self.stall_seconds = None
        self.early = b""

    def arrived(self):
        self.early = b"HTTP/1.1 200 OK"

    def register(self, _number, _events):
        pass

    def fileno(self):
        return 3

    def poll(self, _milliseconds):
        self.now += 1.0
        self.unsent.pop(0)
        return [(3, 1)] if not self.unsent else []


@pytest.mark.parametrize("unsent, seconds", [
    # Sent at 100, looked at 100, 101, ...; the answer comes a second after the last look.
    ((0,), 1.0), ((0, 0, 0), 3.0), ((9, 5, 0, 0), 3.0), ((9, 9), 1.0), ((None, None), None)])
def test_how_long_after_the_last_look_that_saw_bytes_unsent_the_answer_came(monkeypatch, unsent, seconds):
    looks = Looks(monkeypatch, *unsent)
    looks.deadline = 1000.0
    sender = transfer_stream.Sender(looks, b"x", 10, transfer_stream.Moved(), False)
    sender.sent = sender.counted = 10
    sender.leaving_at = looks.now
    sender.await_answer()
    assert sender.first_byte_seconds() == seconds


def test_unsent_bytes_are_known_of_a_connection_and_of_nothing_else():
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    # Python 3.7 has no socket.create_server.
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(1)
    with ours, theirs, server, socket.create_connection(server.getsockname()) as there:
        assert transfer_stream.unsent(there) == 0 and transfer_stream.unsent(ours) is None
