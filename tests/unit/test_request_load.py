# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The load test against servers whose answers are known: latencies, errors counted exactly, both loops, kept connections, its ends."""

from __future__ import annotations

import errno
import os
import socket
import threading
import time

import pytest
import request_servers
from request_servers import GARBAGE, OK, RESET, SHORT, SILENT, load, noted, peer, scripted, status, step, undisturbed

from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import (
    http_connection,
    http_errors,
    request_benchmark,
    request_load,
    request_worker,
)


def free_port():
    # Python 3.7 has no socket.create_server.
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def test_an_answer_after_200_ms_is_measured_as_that_at_50_at_once():
    with peer() as url:
        made = undisturbed(lambda: load(url + "/answer?delay_seconds=0.2&bytes=500", concurrency=[50], requests=250, method="POST",
                                        payload_bytes=1000, warm_up=5),
                           lambda made: made["steps"][0]["latency_p50_seconds"] <= 0.210)
    found = made["steps"][0]
    assert 0.200 <= found["latency_p50_seconds"] <= 0.210
    assert found["latency_p50_seconds"] <= found["latency_p95_seconds"] <= found["latency_p99_seconds"] <= found["latency_max_seconds"]
    assert found["samples"] == found["requests"] == 250 and found["errors"] == {} and found["error_fraction"] == 0
    assert found["requests_per_second"] == pytest.approx(250 / found["seconds"])
    assert found["bytes_per_second"] == pytest.approx(250 * 1500 / found["seconds"])
    assert found["seconds"] >= 1.0 and found["stopped"] is None and made["warm_up_requests"] == 5
    assert made["address"] == url[len("http://"):] and made["loop"] == "closed" and made["tls"] is made["proxy"] is None


MISHAPS = [status(500)] * 5 + [status(503)] * 2 + [status(404)] * 3 + [RESET] * 4 + [SHORT] * 2 + [GARBAGE] * 3 + [SILENT]


def test_every_kind_of_error_is_counted_exactly_and_none_is_a_latency():
    # Spread, so that never more than half of those so far have failed.
    script = [OK] * 20 + [word for mishap in MISHAPS for word in (mishap, OK, OK)]
    with scripted(lambda number: script[number]) as server:
        made = load(server.url, requests=len(script), method="POST", timeout_seconds=0.5)
    found = made["steps"][0]
    assert found["errors"] == {"http_5xx": 7, "http_4xx": 3, "reset": 4, "short_body": 2, "protocol": 3, "timeout": 1}
    assert found["samples"] == 60 and found["requests"] == 80 and found["error_fraction"] == 0.25
    assert found["latency_max_seconds"] < 0.4 and found["stopped"] is None and found["reconnects"] == 0
    words = "; ".join(made["notes"])
    assert "7 x http_5xx: HTTP 500 " in words and "; HTTP 503 " in words and "the answer ended 6 bytes before its end" in words


def test_refused_connections_stop_a_step_and_the_higher_ones_are_not_tried():
    made = load("http://127.0.0.1:%d/" % free_port(), concurrency=[2, 50], requests=100)
    found = made["steps"][0]
    assert len(made["steps"]) == 1 and found["stopped"] == "errors" and list(found["errors"]) == ["refused"]
    assert 20 <= found["errors"]["refused"] <= 22 and found["samples"] == 0 and found["latency_p50_seconds"] is None
    assert found["error_fraction"] == 1 and made["address"] is None
    assert "2 at once: stopped: more than half of its %d requests failed" % found["requests"] in made["notes"]
    assert "not tried after that: 50 at once" in made["notes"]


def test_half_failing_is_not_more_than_half():
    with scripted(lambda number: OK if number % 2 == 0 else status(500)) as server:
        found = step(server.url, requests=60)
    assert found["stopped"] is None and found["errors"] == {"http_5xx": 30} and found["samples"] == 30


def test_an_unknown_name_is_dns():
    found = step("http://no-such-host.invalid/", requests=20)
    assert found["errors"] == {"dns": 20} and found["stopped"] == "errors"


def test_a_redirection_is_no_answer():
    answer = b"HTTP/1.1 301 Moved\r\nLocation: https://elsewhere/\r\nContent-Length: 0\r\n\r\n"
    with scripted(lambda _number: answer) as server:
        made = load(server.url, requests=3)
    assert made["steps"][0]["errors"] == {"protocol": 3} and noted(made, "redirections aren't followed")
    assert server.connections == 1


def test_one_that_drips_bytes_is_ended_in_time():
    def drip(sock):
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _number in range(100):
            sock.sendall(b"x")
            time.sleep(0.05)

    begun = time.monotonic()
    with scripted(lambda _number: drip) as server:
        found = step(server.url, requests=2, timeout_seconds=0.3)
    assert found["errors"] == {"timeout": 2} and time.monotonic() - begun < 4


# ------------------------------------------------------------------- both loops


def waits(due, service):
    """What each request waits for one server that takes `service` seconds for each (Lindley)."""
    free, found = 0.0, []
    for moment in due:
        begin = max(free, moment)
        found.append(begin - moment)
        free = begin + service
    return found


def test_an_open_loop_shows_the_queue_that_a_closed_one_hides():
    options = {"method": "POST", "requests": 100, "concurrency": [4]}
    with peer(slots=1) as url:
        url += "/answer?delay_seconds=0.02"
        closed = undisturbed(lambda: step(url, **{**options, "concurrency": [1]}), lambda found: found["latency_p95_seconds"] < 0.03)
        made = load(url, arrival_rate_per_second=80, **options)
    found = made["steps"][0]
    expected = [wait + 0.02 for wait in waits(request_load.due_moments(100, 80), 0.02)]
    assert closed["latency_p95_seconds"] < 0.03 and closed["queue_grows"] is False
    # Whatever the machine adds to each request is added to those behind it too.
    assert sorted(expected)[49] <= found["latency_p50_seconds"] <= sorted(expected)[49] * 1.4
    assert expected[-1] <= found["latency_max_seconds"] <= expected[-1] * 1.4
    assert found["queue_grows"] is True and found["queue_wait_max_seconds"] > 0.5 and found["stopped"] is None
    assert made["loop"] == "open" and any("requests arrive faster (80 a second) than they are answered" in note for note in made["notes"])


def test_a_queue_in_the_service_is_seen_where_there_are_clients_enough():
    with peer(slots=1) as url:
        found = step(url + "/answer?delay_seconds=0.02", arrival_rate_per_second=80, requests=100, concurrency=[100], method="POST")
    assert found["queue_grows"] is True and found["queue_wait_max_seconds"] < 0.3 and found["latency_max_seconds"] >= 0.7


def test_a_slow_service_that_keeps_up_has_no_queue():
    with peer() as url:
        found = step(url + "/answer?delay_seconds=1", arrival_rate_per_second=80, requests=80, concurrency=[80], method="POST")
    assert found["queue_grows"] is False and found["latency_p95_seconds"] < 1.3


def queue(rate, service, count=400, irregular=True):
    due = request_load.due_moments(count, rate, irregular)
    return [(moment, wait + service) for moment, wait in zip(due, waits(due, service))]


@pytest.mark.parametrize(("rho", "grows"), [(0.5, False), (0.8, False), (0.9, False), (1.2, True), (2, True)])
def test_only_a_queue_without_end_grows(rho, grows):
    assert request_benchmark.queue_grows(queue(rho / 0.01, 0.01)) is grows
    assert request_benchmark.queue_grows(queue(rho / 0.01, 0.01, irregular=False)) is grows
    assert request_benchmark.queue_grows(queue(rho / 0.01, 0.01, count=39)) is False


def test_a_rate_that_can_be_served_has_no_queue():
    with peer(slots=1) as url:
        found = undisturbed(lambda: step(url + "/answer?delay_seconds=0.005", arrival_rate_per_second=50, requests=60, concurrency=[4],
                                         method="POST"),
                            lambda found: found["latency_p50_seconds"] < 0.02 and not found["queue_grows"] and found["requests_per_second"] > 46)
    assert found["queue_grows"] is False and found["latency_p50_seconds"] < 0.02
    assert found["requests_per_second"] == pytest.approx(50, rel=0.1) and found["arrival_rate_per_second"] == 50


def test_a_queue_without_end_is_stopped_and_said():
    with peer(slots=1) as url:
        made = load(url + "/answer?delay_seconds=0.05", arrival_rate_per_second=200, requests=5000, concurrency=[2, 4], method="POST",
                    timeout_seconds=0.5)
    found = made["steps"][0]
    assert found["stopped"] == "queue" and found["queue_grows"] is True and found["requests"] < 200 and len(made["steps"]) == 1
    assert found["errors"] == {"timeout": found["errors"]["timeout"]} and 1 <= found["errors"]["timeout"] <= 2
    assert any("the queue grew without end (200 arrive a second" in note for note in made["notes"])


def test_irregular_arrivals_have_the_rate_and_the_spread_of_strangers():
    due = request_load.due_moments(20000, 50, irregular=True)
    gaps = [later - earlier for earlier, later in zip(due, due[1:])]
    mean = sum(gaps) / len(gaps)
    assert mean == pytest.approx(0.02, rel=0.03)
    assert sum((gap - mean) ** 2 for gap in gaps) / len(gaps) == pytest.approx(0.02**2, rel=0.1)
    assert due == request_load.due_moments(20000, 50, irregular=True)


# ------------------------------------------------------------------------- ends


def test_time_ends_a_step_and_its_last_request_is_waited_for():
    with peer() as url:
        made = load(url + "/answer?delay_seconds=0.2", requests=1000, duration_seconds=0.5, concurrency=[2])
    found = made["steps"][0]
    assert found["stopped"] == "time" and found["requests"] == 6 and found["errors"] == {}
    assert "2 at once: stopped after 0 s with 6 of 1000 requests sent" in made["notes"]


def test_bytes_end_a_test():
    with scripted(lambda _number: OK) as server:
        # Each is a body of 1000 and an answer of 40 bytes.
        most = 10 * (1000 + len(OK))
        made = load(server.url, requests=100, method="POST", payload_bytes=1000, bytes=most, concurrency=[1, 2])
        ended = load(server.url, requests=10, method="POST", payload_bytes=1000, bytes=most, concurrency=[1, 2])
    assert made["steps"][0]["requests"] == 10 and made["steps"][0]["stopped"] == "bytes" and len(made["steps"]) == 1
    # Used up to the last byte by a step that was whole.
    assert len(ended["steps"]) == 1 and ended["steps"][0]["requests"] == 10


def head_flood(sock):
    sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + b"".join(b"X-%d: %s\r\n" % (number, b"y" * 60000) for number in range(80))
                 + b"\r\nok")


def chunk_flood(sock):
    sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n")
    while True:
        sock.sendall(b"X: y\r\n" * 10000)


def interim_flood(sock):
    while True:
        sock.sendall(b"HTTP/1.1 103 Early Hints\r\nX: %s\r\n\r\n" % (b"y" * 60000))


@pytest.mark.parametrize("flood", [head_flood, chunk_flood, interim_flood])
def test_bytes_that_are_no_body_count_too(flood):
    received = []
    seen = request_worker._Wire.readinto

    def counted(self, buffer):
        count = seen(self, buffer)
        received.append(count or 0)
        return count

    with pytest.MonkeyPatch.context() as patch, scripted(lambda _number: flood) as server:
        patch.setattr(request_worker._Wire, "readinto", counted)
        made = load(server.url, requests=100, bytes=500000, concurrency=[2])
    assert sum(received) < 1000000 and made["steps"] == []
    assert made["notes"] == ["2 at once: no answer was whole before the bytes that the test may move were used up"]


def test_a_test_ends_when_heads_have_used_up_its_bytes():
    long = OK.replace(b"\r\n\r\n", b"\r\nX: %s\r\n\r\n" % (b"y" * 40000))
    with scripted(lambda _number: long) as server:
        found = step(server.url, requests=100, bytes=100000)
    assert found["stopped"] == "bytes" and found["requests"] == 3 and found["errors"] == {}


# ----------------------------------------------------------------- what is no answer


EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"


def test_an_interim_answer_is_not_the_answer():
    with scripted(lambda _number: b"HTTP/1.1 102 Processing\r\n\r\n" + EARLY + b"HTTP/1.1 100 Continue\r\n\r\n" + status(500)) as server:
        failed = step(server.url, requests=20)
    assert failed["errors"] == {"http_5xx": 20} and failed["samples"] == 0
    with scripted(lambda _number: EARLY + OK) as server:
        assert step(server.url, requests=20)["samples"] == 20
    with scripted(lambda _number: EARLY) as server:
        only = step(server.url, requests=3, timeout_seconds=0.2)
    assert only["errors"] == {"timeout": 3}


@pytest.mark.parametrize(("said", "words"), [
    (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "HTTP 101 isn't an answer"),
    (EARLY * 1001 + OK, "more than 1000 interim answers")])
def test_other_interim_answers_and_endless_ones_fail(said, words):
    with scripted(lambda _number: said) as server:
        made = load(server.url, requests=3)
    assert made["steps"][0]["errors"] == {"protocol": 3} and noted(made, words)


def test_an_answer_to_nothing_is_not_the_next_ones():
    with scripted(lambda number: OK + OK if number % 2 == 0 else OK) as server:
        made = load(server.url, requests=21)
    # What comes behind every other answer is found before the request after it is sent, which fails; then a connection is made anew.
    assert made["steps"][0]["errors"] == {"protocol": 7} and made["steps"][0]["samples"] == len(server.seen) == 14
    assert noted(made, "bytes came that belong to no request")


def test_one_that_comes_late_is_not_the_next_ones_either():
    def twice(sock):
        sock.sendall(OK)
        time.sleep(0.05)
        sock.sendall(OK)

    with scripted(lambda number: twice if number == 0 else OK) as server:
        found = step(server.url, requests=6, arrival_rate_per_second=5)
    assert found["errors"] == {"protocol": 1} and found["samples"] == 5


# ------------------------------------------------------------------ what this host lacks


def test_without_local_ports_the_service_isnt_blamed(monkeypatch):
    real, made = socket.socket.connect, []

    def connect(self, address):
        made.append(address)
        if len(made) > 25:
            raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
        return real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
    with scripted(lambda _number: OK) as server:
        found = load(server.url, requests=20, concurrency=[1, 2, 3], keep_alive=False)
        assert [each["concurrency"] for each in found["steps"]] == [1] and found["steps"][0]["errors"] == {}
        assert noted(found, "2 at once: not measured: connecting to 127.0.0.1", "no local port")
        with pytest.raises(http_errors.Failure, match="no local port of this host is free"):
            load(server.url, requests=20)


def test_a_client_that_breaks_off_is_no_success(monkeypatch):
    monkeypatch.setattr(request_load._Worker, "_ask", lambda *_arguments: 1 // 0)
    with scripted(lambda _number: OK) as server, pytest.raises(http_errors.Failure, match=r"broke off \(ZeroDivisionError\)"):
        load(server.url, concurrency=[3])


def test_whatever_an_answer_raises_counts(monkeypatch):
    monkeypatch.setattr(request_worker.Client, "_take", lambda *_arguments: {}["x"])
    with scripted(lambda _number: OK) as server:
        made = load(server.url, requests=5)
    assert made["steps"][0]["errors"] == {"protocol": 5} and noted(made, "the answer can't be read (KeyError)")


def test_without_threads_it_says_so(monkeypatch):
    real, started = threading.Thread.start, []

    def start(self):
        # Those of the clients only: the lookup of a name has one too.
        if "call" in repr(self._target):
            started.append(self)
            if len(started) > 5:
                raise RuntimeError("can't start new thread")
        real(self)

    monkeypatch.setattr(threading.Thread, "start", start)
    with scripted(lambda _number: OK) as server, pytest.raises(http_errors.Failure, match="5 threads, not the 20 that it needs"):
        load(server.url, concurrency=[20])


def test_an_endless_answer_is_no_answer(monkeypatch):
    monkeypatch.setattr("ansible_collections.trainops.gpu_audit.plugins.module_utils.measure.request_worker.MAX_ANSWER_BYTES", 1000)

    def endless(sock):
        sock.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            sock.sendall(b"x" * 1000)

    with scripted(lambda _number: endless) as server:
        made = load(server.url, requests=2)
    assert made["steps"][0]["errors"] == {"protocol": 2} and noted(made, "longer than 1000 bytes")


def test_the_knee_is_found_and_all_steps_are_kept():
    with peer(slots=10) as url:
        made = load(url + "/answer?delay_seconds=0.05", concurrency=[20, 1, 10, 5], requests=40, latency_slo_seconds=0.085)
    assert [each["concurrency"] for each in made["steps"]] == [1, 5, 10, 20]
    assert made["knee_concurrency"] == 10 and made["latency_slo_seconds"] == 0.085
    assert made["requests_per_second"] == max(each["requests_per_second"] for each in made["steps"])


def test_a_step_with_fewer_requests_than_clients_is_no_knee():
    with peer() as url:
        made = load(url + "/answer", concurrency=[1, 50], requests=20, latency_slo_seconds=5)
    assert made["knee_concurrency"] == 1 and made["requests_per_second"] == made["steps"][0]["requests_per_second"]
    assert [note for note in made["notes"] if note.endswith("not counted")] == [
        "50 at once: requests: 20, fewer than its clients or than the 20 that a percentile takes: not counted"]


def test_a_client_at_its_own_limit_says_so():
    with scripted(lambda _number: OK) as server:
        made = load(server.url, requests=20)
    found = dict(made["steps"][0], client_cpu_fraction=0.97, seconds=3.0)
    shared = request_load.Step(request_benchmark.make_asked(dict(request_servers.DEFAULTS, url=server.url)), 1, 1, 1)
    assert "the client used 97 % of a core" in request_benchmark.step_notes(found, shared)[0]
    # Of a step that is over at once it's starting the clients, and no word about the service.
    assert request_benchmark.step_notes(dict(found, seconds=0.02), shared) == []


@pytest.mark.parametrize(("head", "wanted"), [
    ({"url": "http://user:secret@127.0.0.1:8080/a?b=c#d"}, ["GET /a?b=c HTTP/1.1", "Host: 127.0.0.1:8080",
                                                            "Authorization: Basic dXNlcjpzZWNyZXQ="]),
    ({"url": "http://h/", "payload": {"a": "ä"}}, ["POST / HTTP/1.1", "Host: h", "Content-Type: application/json", "Content-Length: 11"]),
    ({"url": "http://h/", "payload": "text", "headers": {"content-type": "x/y", "HOST": "other"}}, ["HOST: other", "content-type: x/y"]),
    ({"url": "http://h/", "payload_bytes": 0, "method": "PUT"}, ["PUT / HTTP/1.1", "Content-Length: 0"]),
])
def test_what_a_request_looks_like(head, wanted):
    asked = request_benchmark.make_asked(dict(request_servers.DEFAULTS, **dict({"headers": {}}, **head)))
    aim = http_connection.target(head["url"])
    own = {"Authorization": http_connection._basic(aim.userinfo)} if aim.userinfo else {}
    opened = http_connection.Opened(None, None, aim.path, own, 0, None, None, None, None, None, None)
    lines = b"".join(asked.message(opened)).decode("latin-1").split("\r\n")
    assert set(wanted) < set(lines) and sum(line.lower().startswith("host:") for line in lines) == 1
    assert sum(line.lower().startswith("content-type:") for line in lines) <= 1
