# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tests of a network are bounded: each figure that an owner gives has a least and a most, and what runs keeps to what was given."""

from __future__ import annotations

import threading
import time

import pytest
import transfer_servers as servers
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import peer_process, request_benchmark, transfer
from request_servers import DEFAULTS, OK, load, scripted
from transfer_runs import run

pytestmark = pytest.mark.usefixtures("no_proxies")

TRANSFER = {
    "attempts": (1, 100), "bytes": (1, 1 << 40), "timeout_seconds": (1, 86400), "stall_seconds": (1, 3600), "retries": (0, 10),
    "streams": (1, 64), "start_at": (0, 1 << 40), "hosts_at_once": (1, 1 << 20), "alone_bytes_per_second": (0, 1 << 60),
}
REQUESTS = {
    "requests": (1, 1000000), "duration_seconds": (0.1, 3600), "warm_up": (0, 10000), "payload_bytes": (0, 64 << 20),
    "arrival_rate_per_second": (0.001, 100000), "latency_slo_seconds": (1e-6, 3600), "timeout_seconds": (0.01, 600), "bytes": (1, 1 << 40),
    "max_tokens": (1, 100000),
}


def plan_transfer(**options):
    return transfer.plan({"url": "http://h/", "direction": "download", **options})


def plan_requests(**options):
    return request_benchmark.plan({**DEFAULTS, "url": "http://h/", **options})


CAPS = [(plan, name, ends) for plan, table in ((plan_transfer, TRANSFER), (plan_requests, REQUESTS)) for name, ends in table.items()]


@pytest.mark.parametrize(("plan", "name", "ends"), CAPS)
def test_every_figure_has_a_least_and_a_most(plan, name, ends):
    least, most = ends
    for value in (least - 1e-9 if isinstance(least, float) else least - 1, most * 2, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="%s must be between" % name):
            plan(**{name: value})
    for value in ends:
        # What it asks for together with the others may be too much all the same.
        try:
            plan(**{name: value})
        except ValueError as error:
            assert "%s must be between" % name not in str(error)


def test_no_figure_was_forgotten():
    assert transfer._RANGES == TRANSFER and request_benchmark._RANGES == REQUESTS


@pytest.mark.parametrize(("options", "words"), [
    ({"concurrency": [1001]}, "from 1 to 1000"),
    ({"concurrency": list(range(1, 52))}, "at most 50"),
    ({"concurrency": [1000] + list(range(1, 3)), "requests": 400000}, "1200000 requests in all"),
    ({"concurrency": [1, 2], "duration_seconds": 3000.0}, "at most 3600 are allowed"),
    ({"timeout_seconds": 600.0, "concurrency": [1, 2, 3]}, "at most 3600 are allowed"),
])
def test_a_load_test_as_a_whole_is_bounded(options, words):
    with pytest.raises(ValueError, match=words):
        plan_requests(**options)


def test_a_transfer_as_a_whole_is_bounded():
    plan = plan_transfer(attempts=3, retries=2, bytes=1 << 30, timeout_seconds=100)
    assert plan["bytes_received"] == 9 << 30 and 300 <= plan["seconds"] <= 500
    with pytest.raises(ValueError, match="at most 604800 are allowed"):
        plan_transfer(attempts=8, timeout_seconds=86400)
    assert plan_transfer(attempts=7, timeout_seconds=86000)["seconds"] < 7 * 86400


class Crowd:
    """How many are there at once."""

    def __init__(self):
        self.now = self.most = 0
        self.lock = threading.Lock()

    def __enter__(self):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_error):
        with self.lock:
            self.now -= 1


@pytest.mark.parametrize("more", [{}, {"keep_alive": False}, {"arrival_rate_per_second": 5000.0}])
def test_no_more_requests_are_under_way_than_were_asked_for(more):
    crowd = Crowd()

    def answer(sock):
        with crowd:
            time.sleep(0.01)
            sock.sendall(OK)

    with scripted(lambda _number: answer) as server:
        made = load(server.url, concurrency=[3, 7], requests=70, **more)
    # A busy machine may never have all seven under way.
    assert 3 < crowd.most <= 7 and [step["requests"] for step in made["steps"]] == [70, 70] and len(server.seen) == 140
    if not more:
        # Each step makes its own.
        assert server.connections == 3 + 7


def test_no_more_streams_than_were_asked_for():
    crowd, body = Crowd(), bytes(600000)

    def ranges(connection, request):
        first, last = (int(word) for word in request.headers["range"].partition("=")[2].split("-"))
        with crowd:
            time.sleep(0.1)
            said = [("Content-Range", "bytes %d-%d/%d" % (first, last, len(body)))]
            servers.gives(body[first:last + 1], said, status=206)(connection, request)

    with servers.Server(ranges) as server:
        result = run(server.url, streams=3)
    assert result["streams"] == 3 and crowd.most == 3 and result["bytes"] == len(body)


def test_attempts_and_retries_are_as_many_as_were_asked_for():
    with servers.Server(servers.refuses(503)) as server:
        result = run(server.url, attempts=2, retries=1, timeout_seconds=10)
    assert len(server.requests) == 4 and result["attempts_failed"] == 2 and result["retries_count"] == 2


def test_a_peer_lives_no_longer_than_a_day():
    assert peer_process.MAX_LIFETIME_SECONDS == 86400
