# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Over what time a transfer is figured: all that passed, with its pauses; what stands still at the end has stalled, however it began."""

from __future__ import annotations

import time
import types

import pytest
import transfer_servers as servers
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import transfer_attempt, transfer_stream
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints
from transfer_runs import counted, kinds, run

pytestmark = pytest.mark.usefixtures("no_proxies")

BURST = 1 << 20
LONG = servers.answer(200, b"", [("Content-Length", str(1 << 30))], length=False)


def bursts(*pauses, then=None):
    """Sends so many bytes at once, again after each pause, and then nothing; or what `then` does."""
    def behave(connection, request):
        connection.sendall(LONG)
        for pause in (0, *pauses):
            if connection.ended.wait(pause):
                return
            connection.sendall(b"x" * BURST)
        (then or (lambda connection: connection.ended.wait(30)))(connection)
    return behave


def reads_a_burst(connection, request):
    servers.read_body(connection, request, BURST)
    connection.ended.wait(30)


@pytest.mark.parametrize(("direction", "behaviour"), [("download", bursts()), ("upload", reads_a_burst)])
def test_a_burst_is_no_transfer_however_little_time_is_left_for_its_retry(direction, behaviour):
    with servers.Server(behaviour, receive_buffer=65536) as server:
        result = run(server.url, direction, bytes=1 << 30, timeout_seconds=3, stall_seconds=2)
    # The retry's time is over before it could have stalled as the first try did.
    assert kinds(result) == [(["stalled"], "stalled")] and result["bytes_per_second"] is None and counted(result) == (1, 1, 1)


def test_pauses_are_part_of_a_time_limit():
    with servers.Server(bursts(1.2, 1.2)) as server:
        result = run(server.url, timeout_seconds=4, stall_seconds=2)
    (attempt,) = result["attempts"]
    assert kinds(result) == [([], None)] and result["limited_by"] == "seconds" and attempt["bytes"] == 3 * BURST
    # Its last byte came after 2.4 s.
    assert 3.8 < attempt["seconds"] < 5 and result["bytes_per_second"] == attempt["bytes"] / attempt["seconds"]
    assert len(attempt["series"]) >= 3 and sum(attempt["series"]) == attempt["bytes"]


def test_the_end_of_a_body_counts_when_it_is_known():
    def ends_late(connection, request):
        head = servers.answer(200, b"", [("Transfer-Encoding", "chunked")], length=False)
        connection.sendall(head + b"%x\r\n" % BURST + b"x" * BURST + b"\r\n")
        time.sleep(0.5)
        connection.sendall(b"0\r\n\r\n")
    with servers.Server(ends_late) as server:
        result = run(server.url)
    assert kinds(result) == [([], None)] and result["attempts"][0]["seconds"] >= 0.5


def test_a_retry_that_is_cut_before_it_gets_further_is_no_transfer():
    with servers.Server(bursts(0.5, 0.5, 0.5, then=lambda connection: connection.reset())) as server:
        result = run(server.url, timeout_seconds=3)
    ((retries, error),) = kinds(result)
    assert set(retries) <= {"reset", "short_body"} and len(retries) == 1 and error == retries[0]
    message = result["attempts"][0]["error"]["message"]
    assert message.endswith(", and the time was over before another try got further") and complaints.say(message, "zh") != message


def test_a_retry_that_is_cut_and_got_further_is_one():
    with servers.Server(bursts(then=lambda connection: connection.reset()), bursts(0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3)) as server:
        result = run(server.url, timeout_seconds=2)
    ((retries, error),) = kinds(result)
    assert len(retries) == 1 and error is None and result["limited_by"] == "seconds" and result["bytes"] > 2 * BURST


def test_time_that_passes_without_a_byte_is_known(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(transfer_stream.time, "monotonic", lambda: now[0])
    moved = transfer_stream.Moved()
    moved.begin()
    for moment, count in ((101.5, 7), (102.0, 0)):
        now[0] = moment
        moved.add(count)
    now[0] = 104.0
    assert moved.end() == 2.0 and moved.seconds() == 4.0 and moved.series() == [0, 7, 0, 0]


@pytest.mark.parametrize(("waited", "told"), [(0.04, False), (0.3, True)])
def test_a_checksum_that_held_up_next_to_nothing_is_not_told(waited, told):
    place = types.SimpleNamespace(notes=[])
    attempts = transfer_attempt.Attempts(place, 10, 0, None)
    attempts.taken = [{"seconds": 0.5, "error": None}]
    attempts._waited = waited
    assert bool(attempts.notes()) == told
