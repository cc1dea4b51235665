# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a load test refuses and announces, its quantiles and knee, and the module as a host runs it: it says no secret and ends in time."""

from __future__ import annotations

import datetime
import json
import math
import re
import signal
import socket
import time

import module_runs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from request_servers import DEFAULTS, OK, SILENT, TOKEN, peer, scripted

from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import latency, request_benchmark, request_load
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.metrics import requests as load_metrics
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.report import network_record

URL = "http://127.0.0.1:1/answer"


DEEP = []
for _number in range(100000):
    DEEP = [DEEP]


def planned(**more):
    return request_benchmark.plan({**DEFAULTS, "url": URL, **more})


@pytest.mark.parametrize(("options", "words"), [
    ({"url": "ftp://h/"}, "no http or https URL"),
    ({"url": "http://user:secret@/x?secret"}, "no http or https URL"),
    ({"url": ""}, "no http or https URL"),
    ({"concurrency": [0]}, "concurrency"),
    ({"concurrency": [1, 1001]}, "from 1 to 1000, not 1, 1001"),
    ({"concurrency": list(range(1, 60))}, "59 steps are too many"),
    ({"requests": 0}, "requests must be between 1 and 1e"),
    ({"requests": 600000, "concurrency": [1, 2]}, "1200000 requests in all"),
    ({"duration_seconds": 3601.0}, "duration_seconds"),
    ({"duration_seconds": 1800.0, "concurrency": [1, 2]}, "at most 3600 are allowed"),
    ({"duration_seconds": float("nan")}, "duration_seconds"),
    ({"timeout_seconds": 0.0}, "timeout_seconds"),
    ({"payload_bytes": (64 << 20) + 1}, "payload_bytes"),
    ({"payload": "x", "payload_bytes": 5}, "not both"),
    ({"payload": "x" * ((64 << 20) + 1)}, "the payload has 67108865 bytes"),
    ({"bytes": 0}, "bytes must be"),
    ({"bytes": 99, "payload_bytes": 100}, "one payload alone has 100, more than the 99"),
    ({"arrival_rate_per_second": 0.0}, "arrival_rate_per_second"),
    ({"arrival_rate_per_second": float("inf")}, "arrival_rate_per_second"),
    ({"latency_slo_seconds": 0.0}, "latency_slo_seconds"),
    ({"method": "BREW"}, "method must be one of"),
    ({"streaming": "openai", "method": "GET"}, "POST, not GET"),
    ({"streaming": "openai", "payload": "[1]"}, "must be a JSON object"),
    ({"streaming": "openai", "payload": "secret"}, "must be a JSON object"),
    ({"streaming": "openai", "payload": "[" * 100000}, "must be a JSON object"),
    ({"streaming": "openai", "payload": '{"a": ' * 100000}, "must be a JSON object"),
    ({"streaming": "openai", "payload": '{"secret": %s}' % ("9" * 5000)}, "must be a JSON object"),
    ({"streaming": "openai", "payload": '{"secret": "\\ud800"}'}, "payload: it holds half of a surrogate pair"),
    ({"streaming": "openai", "model": "secret\udbff"}, "model: it holds half of a surrogate pair"),
    ({"streaming": "openai", "payload": '{"secret": 1e999}'}, "payload: it holds a number that JSON can't say"),
    ({"payload": "secret\ud800"}, "payload: it holds half of a surrogate pair"),
    ({"payload": {"secret": "\ud800"}}, "payload: it holds half of a surrogate pair"),
    ({"payload": {"secret": float("nan")}}, "payload: it holds a number that JSON can't say"),
    ({"payload": DEEP}, "payload: it is nested too deeply"),
    ({"headers": {"X": "secret\r\nY: 1"}}, "value of X"),
    ({"headers": {"Connection": "close"}}, "Connection"),
    ({"headers": {"a b": "1"}}, "no name of a header"),
    ({"warm_up": -1}, "warm_up"),
])
def test_what_cannot_be_is_refused(options, words):
    with pytest.raises(ValueError) as caught:
        planned(**options)
    assert words in str(caught.value) and "secret" not in str(caught.value)


def test_what_will_be_done_is_announced():
    plan = planned(concurrency=[100, 1, 10, 10], requests=None, payload_bytes=1 << 20, warm_up=10, bytes=1 << 40,
                   arrival_rate_per_second=20.0)
    assert plan["requests"] == 10 + 200 + 200 + 1000 and plan["bytes_sent"] == 1410 << 20
    assert plan["bytes_written"] == plan["bytes_read"] == 0
    assert plan["steps"] == [(1, 200), (10, 200), (100, 1000)]
    # Four times 20 s and a request's 5 s, twice, and spare time.
    assert 120 <= plan["seconds"] <= 140
    assert plan["notes"][0] == ("POST http://127.0.0.1:1/answer: up to 1410 requests of 1.00 MiB each, 1, 10, 100 at once, "
                                "20 arriving a second")
    assert "1.38 GiB" in plan["notes"][1]
    # Without a body there is nothing to send.
    assert planned(method="GET")["notes"] == ["GET http://127.0.0.1:1/answer: up to %d requests, 1 at once" % planned()["requests"],
                                              "ends when sent and received bytes are 1.00 GiB"]


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=300), st.sampled_from([0.5, 0.9, 0.95, 0.99, 1.0]))
def test_a_quantile_is_the_smallest_sample_that_so_many_do_not_exceed(samples, fraction):
    ordered = sorted(samples)
    found = latency.quantile(ordered, fraction)
    needed = math.ceil(round(fraction * len(ordered), 9))
    assert sum(sample <= found for sample in ordered) >= needed and sum(sample < found for sample in ordered) < needed


def test_hundred_samples():
    ordered = [number / 100 for number in range(1, 101)]
    assert [latency.quantile(ordered, fraction) for fraction in (0.5, 0.95, 0.99, 1)] == [0.5, 0.95, 0.99, 1]


def made(concurrency, p95, errors=0.0, stopped=None, grows=False, requests=200, low=None):
    return {"concurrency": concurrency, "requests": requests, "latency_p95_seconds": p95, "error_fraction": errors, "stopped": stopped, "queue_grows": grows,
            "latency_p95_at_least_seconds": p95 if low is None else low}


@pytest.mark.parametrize(("steps", "knee"), [
    ([made(1, 0.1), made(10, 0.2), made(50, 0.21)], 10),
    ([made(1, 0.1), made(10, 0.2), made(50, 0.2)], 50),
    ([made(1, 0.3), made(10, 0.1)], 0),
    ([made(1, 0.1), made(10, 0.3), made(50, 0.1)], 1),
    ([made(10, 0.1, 0.01), made(1, 0.1)], 10),
    ([made(1, 0.1), made(10, 0.1, 0.011)], 1),
    ([made(1, 0.1), made(10, 0.1, stopped="time")], 10),
    ([made(1, 0.1), made(10, 0.1, stopped="queue")], 1),
    ([made(1, 0.1), made(10, 0.1, grows=True)], 1),
    ([made(1, None, 1.0, "errors")], 0),
    ([made(1, 0.1), made(50, 0.1, requests=1)], 1),
    ([made(1, 0.1), made(50, 0.1, requests=49), made(100, 0.1)], 100),
    ([made(1, 0.1), made(50, 0.1, requests=50)], 50),
    # Nobody knows what lies below the lowest step that counts.
    ([made(1, 0.1, requests=19), made(10, 0.3)], None),
    ([made(50, 0.1, requests=1)], None),
    ([made(50, None, 1.0, "errors", requests=12)], None),
    # Missed by so few that it may be chance: a higher step that holds contradicts it, one that doesn't bears it out.
    ([made(1, 0.228, requests=20, low=0.19), made(10, 0.1), made(50, 0.1)], None),
    ([made(1, 0.228, requests=20, low=0.19), made(10, 0.3), made(50, 0.4)], 0),
    ([made(1, 0.1), made(10, 0.228, low=0.19), made(50, 0.1)], None),
    ([made(1, 0.1), made(10, 0.228, low=0.21), made(50, 0.1)], 1),
    # One failed request of twenty may be chance as well, three can't.
    ([made(1, 0.1, 0.05, requests=20), made(10, 0.1)], None),
    ([made(1, 0.1, 0.15, requests=20), made(10, 0.1)], 0),
    ([], None),
])
def test_the_knee(steps, knee):
    assert latency.knee(steps, 0.2) == knee
    assert latency.knee(steps, None) is None
    # What an audit makes of the same steps.
    result = {"steps": [dict(step, errors={}) for step in steps]}
    found = load_metrics._knee(load_metrics.steps_of(result), 0.2)
    assert (found.best if found and latency.is_known(found) else None) == knee
    # And a report.
    assert network_record.knee_of(dict(result, latency_slo_seconds=0.2), {}) == knee


@pytest.mark.parametrize("count", [1, 4, 5, 20, 37, 200, 1000])
@pytest.mark.parametrize("fraction", [0.01, 0.05])
def test_what_is_beyond_chance_by_adding_up_all_ways(count, fraction):
    def so_many_or_more(found):
        return sum(math.comb(count, each) * fraction ** each * (1 - fraction) ** (count - each) for each in range(found, count + 1))

    found = latency.beyond_chance(count, fraction)
    assert so_many_or_more(found) <= 0.01 + 1e-9 and so_many_or_more(found - 1) > 0.01 - 1e-9
    ordered = list(range(count))
    assert latency.p95_at_least(ordered) == (ordered[-latency.beyond_chance(count, 0.05)] if latency.beyond_chance(count, 0.05) <= count else None)


# ------------------------------------------------------------- as a host runs it


def start(check=False, module="request_benchmark", **options):
    return module_runs.start(module, options, check)


def run(**more):
    return module_runs.answered(start(**more))


def test_the_module_says_no_secret_and_hides_no_figure():
    with scripted(lambda _number: OK) as server:
        url = server.url.replace("//", "//name:s3cret-password@") + "v1?signature=s3cret-query"
        answer, said = run(url=url, headers={"Authorization": "Bearer s3cret-header", "X-One": "1"}, payload={"prompt": "s3cret-prompt"},
                           concurrency=[1], requests=3, warm_up=0, proxy="none")
        assert "signature=s3cret-query" in server.seen[0] and "s3cret-header" in server.seen[0]
    assert "s3cret" not in said and "VALUE_SPECIFIED" not in said
    assert answer["measurement"]["endpoint"] == answer["target"] == server.url + "v1" and answer["measurement"]["steps"][0]["samples"] == 3
    assert answer["gpu_uuids"] == [] and answer["changed"] is False and answer["started_at"].endswith("Z")
    assert answer["invocation"]["module_args"]["concurrency"] == [1] and "url" not in answer["invocation"]["module_args"]


def test_a_refusal_says_no_secret():
    answer, said = run(url="http://name:s3cret@h:x/?s3cret", headers={"X": "s3cret"}, concurrency=[1], proxy="none")
    assert answer["failed"] and "is no URL" in answer["msg"] and "s3cret" not in said


def test_failed_requests_count_once_in_the_best_rate():
    with scripted(lambda number: OK if number % 2 else OK.replace(b"200 OK", b"404 Not Found")) as server:
        answer, _said = run(url=server.url, concurrency=[1], requests=20, warm_up=0, proxy="none")
    (step,) = answer["measurement"]["steps"]
    assert step["error_fraction"] == 0.5 and step["samples"] == 10
    assert answer["measurement"]["requests_per_second"] == step["requests_per_second"] == pytest.approx(10 / step["seconds"])


def test_check_mode_sends_nothing():
    with scripted(lambda _number: OK) as server:
        answer, _said = run(check=True, url=server.url, payload_bytes=1000, proxy="none")
        assert server.connections == 0
    assert answer["plan"]["requests"] == 1910 and answer["plan"]["seconds"] <= 3600 and "measurement" not in answer
    assert answer["plan"]["bytes_sent"] == 1910000


def test_without_a_target_nothing_starts():
    answer, _said = run(concurrency=[1])
    assert answer["failed"] and "url" in answer["msg"]


def test_an_ended_module_says_so_at_once():
    with scripted(lambda _number: SILENT) as server:
        process = start(url=server.url, concurrency=[50], timeout_seconds=20, warm_up=0, proxy="none")
        until = time.monotonic() + 20
        while len(server.seen) < 50 and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        out, error = process.communicate(timeout=10)
    answer = json.loads(out)
    assert answer["failed"] and answer["msg"] == "ended by SIGTERM" and answer["target"] == server.url, error


def test_the_local_time_is_the_hosts_own(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    with scripted(lambda _number: OK) as server:
        answer, _said = run(url=server.url, concurrency=[1], requests=1, warm_up=0, proxy="none")
    assert answer["measurement"]["local_time"].endswith("+05:30")


def test_the_peer_module_starts_says_where_and_stops():
    answer, said = run(module="network_peer", address="127.0.0.1", port_range="47900-47999", token=TOKEN, lifetime_seconds=60)
    assert answer["changed"] and answer["url"] == "http://127.0.0.1:%d" % answer["port"] and 47900 <= answer["port"] <= 47999
    assert TOKEN not in said and "token" not in answer
    checked, _said = run(module="network_peer", state="stopped", port=answer["port"], check=True)
    assert checked["changed"] and checked["stopped"] == [answer["port"]]
    socket.create_connection(("127.0.0.1", answer["port"])).close()
    stopped, _said = run(module="network_peer", state="stopped", port_range="47900-47999")
    assert stopped["stopped"] == [answer["port"]]
    again, _said = run(module="network_peer", state="stopped", port=answer["port"])
    assert again["changed"] is False and again["stopped"] == []


def test_a_peer_on_another_host_is_ended_by_its_token():
    answer, _said = run(module="network_peer", address="127.0.0.1", token=TOKEN, lifetime_seconds=60)
    ends = datetime.datetime.strptime(answer["ends_at"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)
    assert 50 < (ends - datetime.datetime.now(datetime.timezone.utc)).total_seconds() <= 60
    wrong, said = run(module="network_peer", state="stopped", url=answer["url"], token="another-token-that-is-wrong")
    assert wrong["failed"] and wrong["msg"] == "HTTP 401 is no answer to a POST" and "another-token" not in said
    none, _said = run(module="network_peer", state="stopped", url=answer["url"])
    assert none["failed"] and "give token" in none["msg"]
    checked, _said = run(module="network_peer", state="stopped", url=answer["url"], token=TOKEN, check=True)
    assert checked["changed"] and checked["stopped"] == [answer["port"]]
    ended, said = run(module="network_peer", state="stopped", url=answer["url"], token=TOKEN)
    assert ended["changed"] and ended["stopped"] == [answer["port"]] and TOKEN not in said
    # Gone by now, or just about to.
    assert all(run(module="network_peer", state="stopped", url=answer["url"], token=TOKEN)[0].get("stopped") == [] for _again in range(2))
    assert run(module="network_peer", state="stopped", port=answer["port"])[0]["stopped"] == []


def test_a_token_is_made_where_none_is_given():
    answer, _said = run(module="network_peer", address="127.0.0.1", lifetime_seconds=60)
    try:
        assert len(answer["token"]) >= 24
        measured, _said = run(url=answer["url"] + "/bytes/100", headers={"X-Peer-Token": answer["token"]}, concurrency=[1], requests=2,
                              proxy="none")
        assert measured["measurement"]["steps"][0]["samples"] == 2
    finally:
        run(module="network_peer", state="stopped", port=answer["port"])


@pytest.mark.parametrize(("options", "words"), [
    ({}, "address"), ({"address": "0.0.0.0"}, "listens on no other"), ({"address": "127.0.0.1", "lifetime_seconds": 0}, "lifetime_seconds"),
    ({"address": "127.0.0.1", "token": "short"}, "16 to 200"), ({"address": "127.0.0.1", "port_range": "x"}, "port range"),
    ({"address": "127.0.0.1", "slots": 0}, "slots"),
])
def test_what_cannot_be_a_peer_is_refused(options, words):
    answer, _said = run(module="network_peer", **options)
    assert answer["failed"] and words in answer["msg"] and "Traceback" not in answer["msg"]


def test_many_at_once(tmp_path):
    with peer() as url:
        answer, _said = run(url=url + "/answer?delay_seconds=0.5", headers={"X-Peer-Token": TOKEN}, concurrency=[400], requests=800,
                            warm_up=0, proxy="none")
    found = answer["measurement"]["steps"][0]
    assert found["errors"] == {} and found["samples"] == 800 and 0.5 <= found["latency_p50_seconds"] < 0.75


# --------------------------------------------------------------------- in Chinese


def chinese(sentence):
    """In Chinese, without a sentence of ours left in English."""
    said = complaints.say(sentence, "zh")
    left = re.sub(r"https?://\S+|\w+_seconds|[A-Z_]{2,}|openai|payload\w*|streaming|concurrency|bytes|token\w*|finish_reason|http_\dxx"
                  r"|timeout|reset|short_body|protocol|refused|method|MiB|GiB|JSON|Python|Of Some Kind", "", said)
    assert re.search("[\u4e00-\u9fff]", said) and not re.search("[A-Za-z]{3}", left), said
    return said


def test_announcements_and_refusals_can_be_said_in_chinese():
    for note in [note for more in ({}, {"payload_bytes": 9}) for rate in ({}, {"arrival_rate_per_second": 20.0})
                 for note in planned(**more, **rate)["notes"]]:
        chinese(note)
    for options in ({"concurrency": [0]}, {"concurrency": list(range(1, 60))}, {"requests": 600000, "concurrency": [1, 2]},
                    {"duration_seconds": 1800.0, "concurrency": [1, 2]}, {"payload": "x", "payload_bytes": 5}, {"method": "BREW"},
                    {"bytes": 99, "payload_bytes": 100}, {"payload": "x" * ((64 << 20) + 1)}, {"streaming": "openai", "method": "GET"},
                    {"streaming": "openai", "payload": "[1]"}, {"payload": "a\ud800"}, {"payload": [float("nan")]}, {"payload": DEEP}):
        with pytest.raises(ValueError) as caught:
            planned(**options)
        chinese(caught.value)


def test_notes_can_be_said_in_chinese():
    shared = request_load.Step(request_benchmark.make_asked({**DEFAULTS, "url": URL}), 1, 1, 1, 20.0)
    shared.workers[0].words = {"short_body": ["the answer ended 6 bytes before its end"], "http_5xx": ["HTTP 500 Of Some Kind", "HTTP 503"]}
    shared.workers[0].miscounted = 2
    step = {"seconds": 5.0, "requests": 20, "samples": 17, "requests_asked": 40, "requests_per_second": 4.0, "errors": {"short_body": 2, "http_5xx": 1},
            "client_cpu_fraction": 0.97, "queue_grows": True, "reconnects": 3, "resent": 2}
    shared.concurrency = 21
    for stopped, counted in (("time", "chunks"), ("errors", "usage_and_chunks"), ("queue", None), ("bytes", None), (None, None)):
        for note in request_benchmark.step_notes(dict(step, stopped=stopped, tokens_counted=counted), shared):
            chinese("10 at once: " + note)
    notes = []
    for steps in ([made(1, 0.3), made(10, 0.1)], [made(1, 0.3, requests=20, low=0.1), made(10, 0.1), made(50, 0.2)], [made(10, 0.3), made(50, 0.3)]):
        assert len(request_benchmark._knee_notes(steps, 0.2)) == 1
        notes += request_benchmark._knee_notes(steps, 0.2)
    assert "1 at once missed the latency by so few of its 20 requests" in notes[1] and "10, 50 at once met it" in notes[1]
    for note in [*notes, "not tried after that: 50, 100 at once",
                 "5 at once: not tried: the bytes that the test may move are used up"]:
        chinese(note)
