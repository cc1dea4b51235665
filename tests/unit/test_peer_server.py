# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The peer server: what it answers and refuses, and that a process of it ends whatever happens and leaves nothing."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import conftest
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from request_servers import TOKEN

from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import (
    link_place,
    peer_http,
    peer_process,
    peer_remote,
    peer_server,
    peer_stream,
)
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints

HEADERS = {"X-Peer-Token": TOKEN}


class Running:
    """A server in a thread of this process."""

    def __init__(self, **more):
        self.listener = peer_process.listen("127.0.0.1", range(1))
        self.port = self.listener.getsockname()[1]
        self.server = peer_server.Server(self.listener, TOKEN, more.pop("lifetime_seconds", 60), **more)
        self.thread = threading.Thread(target=self.server.serve, daemon=True)
        self.thread.start()

    def ask(self, method, path, body=None, headers=None, **more):
        """(status, headers, body)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        with contextlib.closing(connection):
            connection.request(method, path, body, dict(HEADERS if headers is None else headers), **more)
            response = connection.getresponse()
            return response.status, response.headers, response.read()

    def raw(self, data):
        """All that comes back for these bytes until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as sock:
            sock.sendall(data)
            found = b""
            # One that is sent away before it was heard gets its answer and then a reset.
            with contextlib.suppress(ConnectionResetError):
                part = sock.recv(65536)
                while part:
                    found += part
                    part = sock.recv(65536)
            return found

    def stop(self):
        self.server.stop()
        self.thread.join(5)
        assert not self.thread.is_alive()


@pytest.fixture(scope="module")
def server():
    running = Running()
    yield running
    running.stop()


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 7, 9_999_999])
def test_the_bytes_are_those_of_the_digest(server, size):
    expected = (peer_stream.block() * 11)[:size]
    status, headers, body = server.ask("GET", "/bytes/%d" % size)
    assert status == 200 and body == expected and headers["X-Checksum-Sha256"] == hashlib.sha256(expected).hexdigest()
    status, again, body = server.ask("HEAD", "/bytes/%d" % size)
    assert status == 200 and body == b"" and again["X-Checksum-Sha256"] == headers["X-Checksum-Sha256"]
    assert again["Content-Length"] == str(size)


def test_the_stream_does_not_compress():
    import zlib
    assert len(zlib.compress(peer_stream.block(), 9)) > peer_stream.BLOCK_BYTES


@pytest.mark.parametrize("size", [0, 5, 1 << 20, 200 << 20, (300 << 20) + 12345])
def test_a_digest_costs_no_more_than_from_the_last_mark(size):
    stream = peer_stream.Stream()
    expected = hashlib.sha256()
    for _number in range(size >> 20):
        expected.update(stream.block)
    expected.update(stream.block[:size & 0xFFFFF])
    assert stream.digest(size) == stream.digest(size) == expected.hexdigest()
    assert stream.hasher(size >> 1).name == "sha256"


def body_variants():
    block = peer_stream.block()
    stream = (block * 3)[:2_500_000]
    changed = bytearray(stream)
    changed[1_700_000] ^= 1
    return [(b"", True), (b"hello", False), (stream, True), (bytes(changed), False), (stream + b"x", False), (block[1:], False)]


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("chunked", [False, True])
def test_the_sink_says_what_came(server, number, chunked):
    body, is_stream = body_variants()[number]
    given_body = iter([body[at:at + 70_001] for at in range(0, len(body), 70_001)]) if chunked else body
    status, _headers, answer = server.ask("PUT", "/sink", given_body, encode_chunked=chunked,
                                          headers=dict(HEADERS, **({"Transfer-Encoding": "chunked"} if chunked else {})))
    assert status == 200
    assert json.loads(answer) == {"bytes": len(body), "sha256": hashlib.sha256(body).hexdigest(), "is_stream": is_stream}


def test_a_sink_without_a_checksum_only_reads(server):
    assert json.loads(server.ask("POST", "/sink?checksum=none", b"hello")[2]) == {"bytes": 5, "sha256": None, "is_stream": None}


def test_an_answer_reads_the_body_waits_and_has_its_size(server):
    begun = time.monotonic()
    status, _headers, body = server.ask("POST", "/answer?delay_seconds=0.1&bytes=3000000", b"x" * 100_000)
    assert status == 200 and len(body) == 3_000_000 and time.monotonic() - begun >= 0.1


def test_slots_are_worked_on_one_after_another():
    running = Running(slots=1)
    begun = time.monotonic()
    threads = [threading.Thread(target=running.ask, args=("GET", "/answer?delay_seconds=0.1")) for _number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - begun >= 0.3
    running.stop()


def test_the_stand_in_streams_tokens_at_its_pace(server):
    asked = {"stream": True, "max_tokens": 5, "model": "m", "stream_options": {"include_usage": True}}
    begun = time.monotonic()
    status, headers, body = server.ask("POST", "/v1/chat/completions?first_token_seconds=0.05&tokens_per_second=100", json.dumps(asked))
    assert status == 200 and headers["Content-Type"] == "text/event-stream" and time.monotonic() - begun >= 0.09
    events = [line[6:] for line in body.decode().splitlines() if line]
    assert events[-1] == "[DONE]" and json.loads(events[-2])["usage"]["completion_tokens"] == 5
    assert [json.loads(event)["choices"][0]["delta"].get("content") for event in events[:6]] == ["word "] * 5 + [None]
    whole = json.loads(server.ask("POST", "/v1/chat/completions?first_token_seconds=0", json.dumps({"max_tokens": 2}))[2])
    assert whole["choices"][0]["message"]["content"] == "word word " and whole["usage"]["total_tokens"] == 3


# ---------------------------------------------------------------- what it refuses


@pytest.mark.parametrize("headers", [{}, {"X-Peer-Token": "wrong"}, {"Authorization": "Basic " + TOKEN}, {"X-Peer-Token": TOKEN + "x"},
                                     {"Authorization": "Bearer"}, {"X-Peer-Token": "\xff"}])
def test_nobody_without_the_token_is_answered(server, headers):
    status, _headers, body = server.ask("GET", "/bytes/5", headers=headers)
    assert status == 401 and TOKEN.encode() not in body
    assert server.ask("GET", "/bytes/5", headers={"Authorization": "Bearer " + TOKEN})[0] == 200


def test_a_large_body_without_the_token_isnt_read_for_long(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.putrequest("PUT", "/sink")
    connection.putheader("Content-Length", str(1 << 30))
    connection.endheaders()
    with contextlib.suppress(OSError):
        for _number in range(1024):
            connection.send(b"x" * (1 << 20))
        pytest.fail("a gigabyte was taken")
    connection.close()


LINE = b"X-Peer-Token: " + TOKEN.encode() + b"\r\n"


@pytest.mark.parametrize(("data", "status"), [
    (b"GET /bytes/x HTTP/1.1\r\n" + LINE + b"\r\n", 400),
    (b"GET /bytes/-1 HTTP/1.1\r\n" + LINE + b"\r\n", 400),
    (b"GET /bytes/99999999999999999 HTTP/1.1\r\n" + LINE + b"\r\n", 400),
    (b"GET /answer?delay_seconds=nan HTTP/1.1\r\n" + LINE + b"\r\n", 400),
    (b"GET /answer?delay_seconds=301 HTTP/1.1\r\n" + LINE + b"\r\n", 400),
    (b"GET /nothing HTTP/1.1\r\n" + LINE + b"\r\n", 404),
    (b"PUT /bytes/1 HTTP/1.1\r\n" + LINE + b"\r\n", 405),
    (b"GET /end HTTP/1.1\r\n" + LINE + b"\r\n", 405),
    (b"POST /end HTTP/1.1\r\nX-Peer-Token: wrong\r\n\r\n", 401),
    (b"hello\r\n\r\n", 400),
    (b"GET / HTTP/2\r\n\r\n", 505),
    (b"GET / HTTP/1.1\r\nbroken\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n" + b"a" * 20000, 431),
    (b"PUT /sink HTTP/1.1\r\n" + LINE + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400),
    (b"PUT /sink HTTP/1.1\r\n" + LINE + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    (b"PUT /sink HTTP/1.1\r\n" + LINE + b"Transfer-Encoding: gzip\r\n\r\n", 501),
    (b"PUT /sink HTTP/1.1\r\n" + LINE + b"Content-Length: +5\r\n\r\n", 400),
    (b"PUT /sink HTTP/1.1\r\n" + LINE + b"Content-Length: 9999999999999\r\n\r\n", 413),
    (b"PUT /sink HTTP/1.1\r\n" + LINE + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
    (b"POST /answer HTTP/1.1\r\n" + LINE + b"Content-Length: 99999999\r\n\r\n", 413),
    (b"POST /v1/chat/completions HTTP/1.1\r\n" + LINE + b"Content-Length: 2\r\n\r\n[]", 400),
    (b"POST /v1/chat/completions HTTP/1.1\r\n" + LINE + b"Content-Length: 20\r\n\r\n{\"max_tokens\": 9999}", 400),
    (b"POST /v1/chat/completions HTTP/1.1\r\n" + LINE + b"Content-Length: 100000\r\n\r\n" + b"[" * 100000, 400),
    (b"PUT /sink HTTP/1.1\r\n" + LINE + b"Expect: tea\r\nContent-Length: 2\r\n\r\n[]", 417),
])
def test_what_cannot_be_served_is_said(server, data, status):
    assert server.raw(data).startswith(b"HTTP/1.1 %d " % status)


def test_a_client_that_expects_to_be_told_to_continue_is_told(server):
    answer = server.raw(b"PUT /sink HTTP/1.1\r\n" + LINE + b"Connection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi")
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")


def test_requests_one_behind_the_other_on_one_connection(server):
    one = b"GET /bytes/3 HTTP/1.1\r\n" + LINE + b"\r\n"
    answer = server.raw(one + b"\r\n" + one + one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert answer.count(b"HTTP/1.1 200 OK") == 3 and answer.endswith(peer_stream.block()[:3])


def test_a_head_that_comes_slowly_is_given_up(monkeypatch):
    monkeypatch.setattr(peer_server, "HEAD_SECONDS", 0.3)
    running = Running()
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as sock:
        with contextlib.suppress(OSError):
            for letter in b"GET / HTTP/1.1\r\nX: " + b"y" * 1000:
                sock.sendall(bytes([letter]))
                time.sleep(0.02)
            pytest.fail("it is listened to for ever")
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as sock:
        assert sock.recv(1) == b""
    assert time.monotonic() - begun < 8
    running.stop()


def known(running):
    """A connection that has shown the token and is kept."""
    sock = socket.create_connection(("127.0.0.1", running.port), timeout=10)
    sock.sendall(b"GET /bytes/1 HTTP/1.1\r\n" + LINE + b"\r\n")
    found = b""
    while not found.endswith(b"\r\n\r\n" + peer_stream.block()[:1]):
        found += sock.recv(65536)
    return sock


def test_strangers_do_not_keep_the_others_out():
    running = Running(max_connections=5)
    mine = known(running)
    idle = [socket.create_connection(("127.0.0.1", running.port), timeout=10) for _number in range(12)]
    for _number in range(3):
        assert running.ask("GET", "/bytes/1")[0] == 200
    # The oldest strangers had to go; the one that is known wasn't one of them.
    assert idle[0].recv(1) == b""
    mine.sendall(b"GET /bytes/1 HTTP/1.1\r\n" + LINE + b"\r\n")
    assert mine.recv(100).startswith(b"HTTP/1.1 200 ")
    running.stop()


def test_a_long_digest_holds_nobody_up(monkeypatch):
    stream = peer_stream.Stream()
    stream.digest(3 * peer_stream.BLOCK_BYTES)
    begun, go_on = threading.Event(), threading.Event()
    take = stream._take

    def slow(made, blocks):
        if blocks == peer_stream._MARK_BLOCKS:
            begun.set()
            assert go_on.wait(20)
        take(made, blocks)

    monkeypatch.setattr(stream, "_take", slow)
    found = []
    long = threading.Thread(target=lambda: found.append(stream.digest(300 << 20)), daemon=True)
    short = threading.Thread(target=lambda: found.append(stream.digest(5)), daemon=True)
    long.start()
    assert begun.wait(10)
    short.start()
    short.join(10)
    assert found == [hashlib.sha256(stream.block[:5]).hexdigest()]
    go_on.set()
    long.join(20)
    expected = hashlib.sha256()
    for _number in range(300):
        expected.update(stream.block)
    assert found[1] == expected.hexdigest()


def test_nothing_is_hashed_on_for_one_that_has_gone(monkeypatch):
    monkeypatch.setattr(peer_stream, "_MARK_BLOCKS", 1)
    running = Running()
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as sock:
        sock.sendall(b"HEAD /bytes/1099511627776 HTTP/1.1\r\n" + LINE + b"\r\n")
        assert conftest.wait_until(lambda: len(running.server._stream._marks) > 2)
    assert conftest.wait_until(lambda: not running.server._open)
    assert len(running.server._stream._marks) < 1 << 20
    running.stop()


def test_more_connections_than_it_has_room_for_are_sent_away():
    running = Running(max_connections=2)
    held = [known(running) for _number in range(2)]
    assert running.raw(b"GET / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 503 ")
    held[0].close()
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if running.ask("GET", "/bytes/1")[0] == 200:
                break
    else:
        pytest.fail("the room isn't given back")
    running.stop()
    assert held[1].recv(1) == b""


@given(st.binary(max_size=200) | st.text(alphabet="GETPUT /:1.,=?\r\n\t\xe9", max_size=80).map(lambda text: text.encode("latin-1")))
@settings(deadline=None)
def test_any_head_is_a_request_or_a_bad_one(head):
    with contextlib.suppress(peer_http.BadRequest):
        assert peer_http.parse_head(head).method is not None


# ------------------------------------------------------------------ the process


def notes_folder():
    return pathlib.Path(tempfile.gettempdir(), "gpu-audit-peer-%d" % os.geteuid())


def is_gone(note):
    """No process, no port, no file."""
    with contextlib.suppress(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", note["port"]), timeout=1).close()
        return False
    # What its parent (process 1) hasn't taken note of yet is dead all the same.
    return peer_process._process(note["pid"]) is None and not list(notes_folder().glob("%d-*" % note["port"]))


def start(lifetime_seconds=60, **more):
    return peer_process.start("127.0.0.1", range(1), lifetime_seconds, TOKEN, **more)


def test_a_process_is_started_answers_and_is_stopped():
    note = start()
    connection = http.client.HTTPConnection("127.0.0.1", note["port"])
    connection.request("GET", "/bytes/10", headers=HEADERS)
    assert connection.getresponse().read() == peer_stream.block()[:10]
    process = pathlib.Path("/proc", str(note["pid"]))
    assert (process / "comm").read_text() == "gpu-audit-peer\n"
    assert TOKEN.encode() not in (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
    assert {os.readlink(process / "fd" / number) for number in "012"} == {"/dev/null"}
    assert int((process / "stat").read_text().rsplit(")", 1)[1].split()[1]) != os.getpid()
    assert TOKEN not in next(notes_folder().glob("%d-*" % note["port"])).read_text()
    assert [each["pid"] for each in peer_process.running([note["port"]])] == [note["pid"]]
    assert [each["pid"] for each in peer_process.stop([note["port"]])] == [note["pid"]]
    assert is_gone(note) and peer_process.stop([note["port"]]) == []


@pytest.mark.parametrize("how", ["lifetime", "asked", signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_ends_by_itself_and_leaves_nothing(how):
    note = start(1 if how == "lifetime" else 60)
    # One that is being served doesn't hold it up.
    with socket.create_connection(("127.0.0.1", note["port"]), timeout=10) as sock:
        sock.sendall(b"GET /answer?delay_seconds=60 HTTP/1.1\r\n" + LINE + b"\r\n")
        if how == "asked":
            assert peer_remote.end("http://127.0.0.1:%d" % note["port"], TOKEN) is True
        elif how != "lifetime":
            os.kill(note["pid"], how)
        assert conftest.wait_until(lambda: is_gone(note))


def test_one_that_was_killed_leaves_a_note_that_the_next_look_removes():
    note = start()
    os.kill(note["pid"], signal.SIGKILL)
    assert conftest.wait_until(lambda: peer_process._process(note["pid"]) is None)
    assert peer_process.running([note["port"]]) == [] and is_gone(note)


def test_no_foreign_process_is_ended():
    note = start()
    path = next(notes_folder().glob("%d-*" % note["port"]))
    text = path.read_text()
    peer_process.stop([note["port"]])
    other = subprocess.Popen(["sleep", "60"])
    try:
        notes_folder().mkdir(mode=0o700, exist_ok=True)
        # Its number now belongs to somebody else.
        path.write_text(json.dumps(dict(json.loads(text), pid=other.pid)))
        assert peer_process.stop([note["port"]]) == [] and other.poll() is None and not path.exists()
    finally:
        other.kill()
        other.wait()


def test_whoever_started_it_may_be_killed():
    code = ("import os, signal, sys; sys.path[:0] = %r\n"
            "from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import peer_process\n"
            "print(peer_process.start('127.0.0.1', range(1), 60, %r)['port'], flush=True)\n"
            "os.kill(os.getpid(), signal.SIGKILL)" % ([path for path in sys.path if path], TOKEN))
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=conftest.ROOT, timeout=30, check=False)
    port = int(done.stdout)
    assert done.returncode == -signal.SIGKILL
    stopped = peer_process.stop([port])
    assert len(stopped) == 1 and is_gone(stopped[0])


def test_the_first_free_port_of_a_range_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(peer_process.PeerError, match="port %d: Address already in use" % port):
            peer_process.listen("127.0.0.1", peer_process.ports(port))
        with contextlib.closing(peer_process.listen("127.0.0.1", peer_process.ports("%d-%d" % (port, port + 20)))) as sock:
            assert port < sock.getsockname()[1] <= port + 20


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "::ffff:0.0.0.0", "::ffff:0:0", "192.0.2.1", "no-such-host.invalid"])
def test_an_address_that_isnt_ours_alone_is_refused(address):
    with pytest.raises(peer_process.PeerError, match="address:? '?" + address):
        peer_process.listen(address, range(1))


@pytest.mark.parametrize("address, said, chinese", [
    ("eth99", "address: 'eth99' is neither an address nor an interface of this host. It has: ", "address：'eth99' 既不是该主机的地址，也不是其网口。本机有："),
    ("192.0.2.77", "address: 192.0.2.77 is no address of this host. It has: ", "address：192.0.2.77 不是该主机的地址。本机有："),
])
def test_an_address_that_the_host_has_not_got_is_told_with_those_it_has(monkeypatch, address, said, chinese):
    monkeypatch.setattr(link_place, "own_addresses", lambda: "eth0 10.88.1.2")
    with pytest.raises(peer_process.PeerError) as refused:
        peer_process.listen(address, range(1))
    assert str(refused.value) == said + "eth0 10.88.1.2" and complaints.say(refused.value, "zh") == chinese + "eth0 10.88.1.2"


@pytest.mark.parametrize("text", ["", "a", "5-", "10-5", "0-10", "1-70000", "-1", "1-2-3"])
def test_a_range_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match="port range"):
        peer_process.ports(text)


@pytest.mark.parametrize("address", ["::ffff:0.0.0.0", "::ffff:0:0", "::0", "0"])
def test_all_addresses_are_refused_in_any_spelling(address):
    with pytest.raises(peer_process.PeerError, match="the server listens on no other"):
        peer_process.listen(address, range(1))


def test_without_a_folder_for_temporary_files_it_says_so(monkeypatch):
    def none():
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    for act in (start, peer_process.stop, peer_process.running):
        with pytest.raises(peer_process.PeerError, match="none to write to .No usable temporary directory.*name it in TMPDIR"):
            act()


def test_a_start_that_is_refused_leaves_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(peer_process.PeerError, match="192.0.2.1"):
        peer_process.start("192.0.2.1", range(1), 60, TOKEN)
    assert list(tmp_path.iterdir()) == []

    def fork():
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", fork)
    with pytest.raises(peer_process.PeerError, match="the server didn't start: Resource temporarily unavailable"):
        start()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_somebody_else_is_not_trusted(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / ("gpu-audit-peer-%d" % os.geteuid())
    folder.symlink_to(tmp_path)
    with pytest.raises(peer_process.PeerError, match="belongs to somebody else"):
        start()
    folder.unlink()
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(peer_process.PeerError, match="others may write there"):
        start()
