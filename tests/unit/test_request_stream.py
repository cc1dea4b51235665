# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Server-sent events however they are cut, and streamed answers: when tokens came, how many, what is none."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from request_servers import load, peer, piece, scripted, status, stream, undisturbed

from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import request_stream
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure.http_errors import Failure

EVENTS = ["{\"a\": 1}", "two\nlines", " blank", "", "ä", "[DONE]"]


def written(events, newline):
    parts = [": a comment", "retry: 5", ""]
    for event in events:
        parts += ["event: x", "id: 7"] + ["data: " + line for line in event.split("\n")]
        parts += [": between", ""]
    return newline.join(parts + [""]).encode("utf-8")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
@given(cuts=st.lists(st.integers(0, 400), max_size=12))
@example(cuts=list(range(400)))
def test_events_are_the_same_however_their_bytes_are_cut(newline, start, cuts):
    data = start + written(EVENTS, newline)
    events, found, before = request_stream.Events(), [], 0
    for cut in [*sorted(set(cut for cut in cuts if cut < len(data))), len(data)]:
        found += events.feed(data[before:cut])
        before = cut
    assert found + events.feed(b"", last=True) == EVENTS


def test_an_event_without_its_empty_line_counts_at_the_end_only():
    events = request_stream.Events()
    assert events.feed(b"data: [DONE]\n") == [] and events.feed(b"", last=True) == ["[DONE]"]
    assert request_stream.Events().feed(b"data: [DONE]", last=True) == ["[DONE]"]


@pytest.mark.parametrize("data", [b"x" * 5000, b"data: " + b"y" * 5000, b"data: y\n" * 800])
def test_an_endless_event_is_given_up(monkeypatch, data):
    monkeypatch.setattr(request_stream, "MAX_EVENT_BYTES", 1000)
    with pytest.raises(Failure, match="longer than 1000 bytes"):
        request_stream.Events().feed(data)


@pytest.mark.parametrize("event", ["[" * 100000, "{\"a\":" * 100000, "[" * 1000 + "]" * 1000,
                                   "{\"error\": " + "[" * 5000 + "]" * 5000 + "}"])
def test_a_deep_event_is_none(event):
    with pytest.raises(Failure, match="no JSON object"):
        answer((1, event))


def test_brackets_in_a_text_are_no_depth():
    text = "\\\"" + "[{" * 5000 + "\\\""
    assert request_stream.read_json("{\"a\": \"%s\"}" % text) == {"a": "\"" + "[{" * 5000 + "\""}
    assert request_stream.read_json("[%s]" % ", ".join(["[1]"] * 500)) == [[1]] * 500
    # An escape outside a text, and a text without an end, hide no brackets.
    for before in ("\"\"", "\\", "\"\\\\\""):
        with pytest.raises(ValueError) as caught:
            request_stream.read_json(before + "[" * 200)
        assert caught.type is ValueError


@pytest.mark.parametrize("code", ["\u00b2", "4\u00b2\u00b2", "7" * 5000, "599x", "\u0664\u0660\u0660"])
def test_an_odd_code_of_an_error_is_no_status(code):
    with pytest.raises(Failure) as caught:
        answer((1, {"error": {"code": code}}))
    assert caught.value.kind == "protocol" and caught.value.status is None


@pytest.mark.parametrize("number", ["9" * 401, "1" + "0" * 30, "9" * 100000, "1000001"])
def test_more_tokens_than_there_can_be_are_none(number):
    with pytest.raises(Failure, match="more than 1000000 tokens") as caught:
        answer((1, piece("a", "stop")), (2, "{\"usage\": {\"completion_tokens\": %s}}" % number))
    assert caught.value.kind == "protocol"


def test_a_code_of_a_number_without_end_is_no_status():
    with pytest.raises(Failure, match="error event") as caught:
        answer((1, "{\"error\": {\"code\": %s}}" % ("5" * 5000)))
    assert caught.value.kind == "protocol"


def answer(*moments_and_events):
    made = request_stream.Answer()
    for moment, event in moments_and_events:
        made.feed(("data: %s\n\n" % (event if isinstance(event, str) else json.dumps(event))).encode(), moment)
    made.end(99)
    return made


def test_moments_and_gaps_are_those_of_pieces_with_text():
    role = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}
    made = answer((0, role), (1, piece("a")), (1.5, piece("b")), (3, piece("c")), (4, piece("", "stop")), (5, "[DONE]"), (6, piece("late")))
    assert (made.first, made.last, made.chunks, list(made.gaps), made.tokens) == (1, 3, 3, [0.5, 1.5], None)


def test_the_servers_own_count_goes_first():
    made = answer((1, piece("a b c")), (2, {"choices": [], "usage": {"completion_tokens": 17}}), (3, "[DONE]"))
    assert made.tokens == 17 and made.chunks == 1
    # Servers that count on the way: the last one holds; null and nonsense are none.
    made = answer((1, dict(piece("a"), usage={"completion_tokens": 1})), (2, dict(piece("b", "stop"), usage={"completion_tokens": 2})))
    assert made.tokens == 2
    assert answer((1, dict(piece("a", "stop"), usage=None))).tokens is None
    assert answer((1, dict(piece("a", "stop"), usage={"completion_tokens": True}))).tokens is None


@pytest.mark.parametrize("delta", [{"reasoning_content": "hm"}, {"tool_calls": [{"index": 0}]}, {"content": "x"}])
def test_other_pieces_of_an_answer_count_too(delta):
    assert answer((2, {"choices": [{"delta": delta, "finish_reason": "stop"}]})).first == 2
    assert answer((2, {"choices": [{"text": "old completions", "finish_reason": "length"}]})).first == 2


@pytest.mark.parametrize(("events", "kind", "words"), [
    ([piece("a")], "short_body", "without"),
    (["[DONE]"], "protocol", "no text"),
    (["no json"], "protocol", "no JSON object"),
    (["[1]"], "protocol", "no JSON object"),
    ([piece("a"), {"error": {"message": "the prompt was: secret", "code": 503}}], "http_5xx", "error event, code 503"),
    ([{"error": {"code": "429"}}], "http_4xx", "code 429"),
    ([{"error": "overloaded"}], "protocol", "an error event"),
])
def test_what_is_no_answer(events, kind, words):
    with pytest.raises(Failure) as caught:
        answer(*((number, event) for number, event in enumerate(events)))
    assert caught.value.kind == kind and words in str(caught.value) and "secret" not in str(caught.value)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=3),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
                        st.sampled_from(["choices", "delta", "content", "usage", "completion_tokens", "error", "code", "text"]), inner,
                        max_size=4),
                    max_leaves=12))
def test_no_event_makes_it_fall(event):
    made = request_stream.Answer()
    try:
        made.feed(b"data: " + json.dumps(event).encode() + b"\n\n", 1)
        made.end(2)
    except Failure:
        pass


# ------------------------------------------------------------------ over the wire


def streamed(server, **more):
    return load(server.url, streaming="openai", **more)


def test_a_stand_in_at_a_fixed_pace_is_measured_at_it():
    with peer() as url:
        url += "/v1/chat/completions?first_token_seconds=0.2&tokens_per_second=100"
        made = undisturbed(lambda: load(url, streaming="openai", max_tokens=21, concurrency=[5], requests=10),
                           lambda made: made["steps"][0]["latency_p50_seconds"] <= 0.45)
    found = made["steps"][0]
    assert 0.200 <= found["time_to_first_token_p50_seconds"] <= 0.225
    # 0.2 s to the first of 21 tokens, 20 more of 10 ms each.
    assert 0.400 <= found["latency_p50_seconds"] <= 0.45 and 0.009 <= found["inter_token_p95_seconds"] <= 0.03
    assert found["tokens"] == 210 and found["tokens_counted"] == "usage" and found["errors"] == {}
    assert found["tokens_per_second_per_request"] == pytest.approx(21 / 0.4, rel=0.1)
    assert found["tokens_per_second"] == pytest.approx(210 / found["seconds"])
    assert made["streaming"] == "openai" and made["method"] == "POST"


def test_pieces_are_counted_where_the_server_says_nothing():
    with scripted(lambda number: stream(piece("a b"), piece("c", "stop"))) as server:
        made = streamed(server, requests=4, payload={"model": "m", "messages": []})
    found = made["steps"][0]
    assert found["tokens"] == 8 and found["tokens_counted"] == "chunks" and server.connections == 1
    assert any("pieces of text are counted" in note for note in made["notes"])


def test_half_told_is_said():
    told = {"choices": [], "usage": {"completion_tokens": 5}}
    with scripted(lambda number: stream(piece("a"), *([told] if number else []))) as server:
        found = streamed(server, requests=2)["steps"][0]
    assert found["tokens"] == 6 and found["tokens_counted"] == "usage_and_chunks"


@pytest.mark.parametrize("count", [0, 999999])
def test_a_count_of_tokens_that_can_not_be_is_not_taken(count):
    def said(number):
        return stream(piece("a"), piece("b"), {"choices": [], "usage": {"completion_tokens": count if number else 128}})
    with scripted(said) as server:
        made = streamed(server, requests=3)
        assert made["steps"][0]["tokens"] == 128 + 2 + 2 and made["steps"][0]["tokens_counted"] == "usage_and_chunks"
        # A request that sets no limit.
        free = streamed(server, requests=1, payload={"messages": []})
    notes = [note for note in made["notes"] if "tokens" in note]
    assert len(notes) == 1 and "can't be right in 2 of its answers" in notes[0]
    assert free["steps"][0]["tokens"] == (count or 2)


@pytest.mark.parametrize("body, most", [
    (b'{"max_tokens": 9}', 10), (b'{"max_tokens": 9, "max_completion_tokens": 30, "n": 4}', 124), (b'{"max_tokens": 9, "best_of": 2}', 20),
    (b'{"max_tokens": null}', None), (b'{"max_tokens": "9"}', None), (b'{}', None), (b'[{"max_tokens": 9}]', None), (b"\xff", None),
    (b'{"max_tokens": -1}', None), (b'{"max_tokens": 9, "n": "x"}', 10)])
def test_how_many_tokens_a_request_asks_for(body, most):
    assert request_stream.most_tokens(body) == most


def test_broken_streams_are_errors_and_no_latencies():
    whole = stream(piece("a", "stop"))
    answers = [whole, stream(piece("a"), done=False), whole, stream({"error": {"code": 500}}), whole, status(429), whole,
               b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", whole,
               whole[:-20].replace(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nConnection: close\r\n")]
    hangs_up = {9}

    def said(number):
        if number in hangs_up:
            def cut(sock):
                sock.sendall(answers[number])
                sock.close()
            return cut
        return answers[number]

    with scripted(said) as server:
        found = streamed(server, requests=10)["steps"][0]
    assert found["errors"] == {"short_body": 2, "http_5xx": 1, "http_4xx": 1, "protocol": 1}
    assert found["samples"] == 5 and found["tokens"] == 5


def test_after_done_nothing_is_missing():
    def hangs(sock):
        sock.sendall(stream(piece("a", "stop")).replace(b"Content-Length: ", b"Content-Length: 1"))
        sock.close()

    with scripted(lambda _number: hangs) as server:
        found = streamed(server, requests=2)["steps"][0]
    assert found["errors"] == {} and found["samples"] == 2


def test_the_request_streams_whatever_was_given():
    with scripted(lambda _number: stream(piece("a", "stop"))) as server:
        streamed(server, requests=1, payload='{"model": "m", "stream": false}')
        made = streamed(server, requests=1, payload_bytes=500, model="own", max_tokens=9)
    assert all("Accept: text/event-stream" in head and "Content-Type: application/json" in head for head in server.seen)
    assert made["payload_bytes"] > 500
