# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulated requests against a service: steps of concurrency, latencies exact from all samples, errors by kind, the knee."""

from __future__ import annotations

import array
import datetime
import json
import math
import os
import resource
import signal

from ..sources.forked import signal_name
from . import http_connection, latency
from .figures import bytes_text, check_ranges
from .request_load import SPARE_SECONDS, Step
from .request_stream import read_json
from .request_worker import Asked

MAX_REQUESTS = 1000000
MAX_SECONDS = 3600
MAX_CONCURRENCY = 1000
MAX_STEPS = 50
MAX_PAYLOAD_BYTES = 64 << 20
# Of a whole number in a payload; as many as Python 3.11 and later read.
MAX_DIGITS = 4300
MAX_BYTES = 1 << 40
DEFAULT_BYTES = 8 << 30
DEFAULT_CONCURRENCY = (1, 10, 50, 100)
# Enough for a p99 that isn't the maximum, and ten of each client.
LEAST_REQUESTS = 200
METHODS = ("GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH")
# The client itself is the limit when it keeps one core (Python runs one thread at a time) so busy.
CLIENT_BUSY_FRACTION = 0.85
# In less than that, starting the clients is most of what it does.
CLIENT_BUSY_SECONDS = 0.5
# Of a queue that grows: latencies of the last quarter against those of the second, and how many wait at the end against half-way; and the
# share of all requests that waits at the end.
GROWTH_FACTOR = 1.5
BACKLOG_FRACTION = 0.05
_RANGES = {"requests": (1, MAX_REQUESTS), "duration_seconds": (0.1, MAX_SECONDS), "warm_up": (0, 10000),
           "payload_bytes": (0, MAX_PAYLOAD_BYTES), "arrival_rate_per_second": (0.001, 100000), "latency_slo_seconds": (1e-6, MAX_SECONDS),
           "timeout_seconds": (0.01, 600), "bytes": (1, MAX_BYTES), "max_tokens": (1, 100000)}
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Interrupted(Exception):
    """Somebody ended the test."""


# ---------------------------------------------------------------- the options


def plan(options):
    """What a test does at most: {"seconds", "bytes_written", "bytes_read", "requests", "bytes_sent", "bytes_limit", "notes", "asked",
    "steps"}; ValueError says which option can't be."""
    check_ranges(options, _RANGES)
    steps = [(concurrency, options.get("requests") or max(LEAST_REQUESTS, 10 * concurrency))
             for concurrency in _concurrencies(options.get("concurrency"))]
    asked = make_asked(options)
    requests = options["warm_up"] + sum(count for _concurrency, count in steps)
    if requests > MAX_REQUESTS:
        raise ValueError("%d requests in all are asked for, at most %d are sent" % (requests, MAX_REQUESTS))
    # Connecting, the step itself, and the last request of it.
    each = options["duration_seconds"] + 2 * options["timeout_seconds"] + SPARE_SECONDS + 1
    seconds = int(math.ceil(each * (len(steps) + (1 if options["warm_up"] else 0)))) + 5
    if seconds > MAX_SECONDS:
        raise ValueError("the test could take %d s (%d steps of up to %g s, each with up to 2 x %g s for connecting and for its last "
                         "request), at most %d are allowed: fewer steps, or less duration_seconds or timeout_seconds"
                         % (seconds, len(steps), options["duration_seconds"], options["timeout_seconds"], MAX_SECONDS))
    _allow_descriptors(max(concurrency for concurrency, _count in steps))
    if options["bytes"] < len(asked.body):
        raise ValueError("bytes: one payload alone has %d, more than the %d that may be moved" % (len(asked.body), options["bytes"]))
    sent = min(requests * len(asked.body), options["bytes"])
    rate = options.get("arrival_rate_per_second")
    notes = ["%s %s: up to %d requests%s, %s at once%s" % (
        asked.method, http_connection.endpoint(asked.url), requests, " of %s each" % bytes_text(len(asked.body)) if asked.body else "",
        ", ".join(str(concurrency) for concurrency, _count in steps), ", %g arriving a second" % rate if rate else ""),
        ("sends up to %s, " % bytes_text(sent) if sent else "") + "ends when sent and received bytes are %s" % bytes_text(options["bytes"])]
    return {"seconds": seconds, "bytes_written": 0, "bytes_read": 0, "requests": requests, "bytes_sent": sent,
            "bytes_limit": options["bytes"], "notes": notes, "asked": asked, "steps": steps}


def _concurrencies(given):
    """Ascending and each once; ValueError."""
    values = sorted(set(given or DEFAULT_CONCURRENCY))
    if not 1 <= values[0] <= values[-1] <= MAX_CONCURRENCY:
        said = ", ".join(str(value) for value in values)
        raise ValueError("concurrency: each of them must be from 1 to %d, not %s" % (MAX_CONCURRENCY, said))
    if len(values) > MAX_STEPS:
        raise ValueError("concurrency: %d steps are too many, at most %d" % (len(values), MAX_STEPS))
    return values


def _allow_descriptors(concurrency):
    """A socket for each client; ValueError where this system lets a process have fewer."""
    wanted = concurrency + 128
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise ValueError("concurrency %d needs more open files than the limit of this user (%d)" % (concurrency, hard))
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def make_asked(options):
    """What each request is (request_worker.Asked); ValueError, without the secrets of what is wrong."""
    http_connection.check_url("url", options["url"])
    streaming = options.get("streaming") == "openai"
    headers = dict((str(name), str(value).strip()) for name, value in (options.get("headers") or {}).items())
    http_connection.check_headers(headers)
    body, kind = _payload(options, streaming)
    method = (options.get("method") or ("POST" if body or streaming else "GET")).upper()
    if method not in METHODS:
        raise ValueError("method must be one of %s" % ", ".join(METHODS))
    if streaming and method != "POST":
        raise ValueError("streaming: openai is asked with POST, not %s" % method)
    if kind and "content-type" not in [name.lower() for name in headers]:
        headers["Content-Type"] = kind
    return Asked(options["url"], method, headers, body, float(options["timeout_seconds"]), streaming, options.get("keep_alive", True),
                 proxy=options.get("proxy") or "none", ca_path=options.get("ca_path"), validate_certs=options.get("validate_certs", True))


def _payload(options, streaming):
    """(body, its content type or null)."""
    payload, size = options.get("payload"), options.get("payload_bytes")
    if payload is not None and size is not None:
        raise ValueError("give payload or payload_bytes, not both")
    if streaming:
        body, kind = _json_bytes(_chat(options, payload), "model" if payload is None else "payload"), "application/json"
    elif payload is None:
        # Doesn't compress on the way.
        body, kind = os.urandom(size or 0), "application/octet-stream" if size else None
    elif isinstance(payload, str):
        body, kind = _utf8(payload, "payload"), "application/json" if _is_json(payload) else "text/plain; charset=utf-8"
    else:
        body, kind = _json_bytes(payload, "payload"), "application/json"
    if len(body) > MAX_PAYLOAD_BYTES:
        raise ValueError("the payload has %d bytes, at most %d are sent" % (len(body), MAX_PAYLOAD_BYTES))
    return body, kind


def _json_bytes(value, option):
    """ValueError, without the value, for one that JSON can't say."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except RecursionError:
        raise ValueError("%s: it is nested too deeply" % option)
    except ValueError:
        raise ValueError("%s: it holds a number that JSON can't say" % option)
    return _utf8(text, option)


def _utf8(text, option):
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ValueError("%s: it holds half of a surrogate pair, which is no letter" % option)


def _is_json(text):
    """Whether a payload says so itself. One that no reader of ours goes through is sent as the text that it is."""
    try:
        return isinstance(read_json(text), (dict, list))
    except ValueError:
        return False


def _digits(digits):
    if len(digits) > MAX_DIGITS:
        raise ValueError
    return int(digits)


def _chat(options, payload):
    """The request of a streamed answer: the one that is given, made to stream, or one about nothing with a prompt of payload_bytes."""
    if isinstance(payload, str):
        try:
            payload = read_json(payload, _digits)
        except ValueError:
            payload = [None]
    if payload is not None:
        if not isinstance(payload, dict):
            raise ValueError("payload must be a JSON object where streaming is openai")
        return dict(payload, stream=True)
    prompt = ("Count slowly. " * ((options.get("payload_bytes") or 64) // 14 + 1))[:options.get("payload_bytes") or 64]
    return {"model": options.get("model") or "default", "messages": [{"role": "user", "content": prompt}], "stream": True,
            "stream_options": {"include_usage": True}, "max_tokens": options.get("max_tokens") or 128}


# -------------------------------------------------------------------- the test


def _interrupt(number, _frame):
    raise Interrupted("ended by %s" % signal_name(number))


def run(options, planned):
    """Measures. `planned`: of plan(). -> the measurement's result; Interrupted."""
    asked, left = planned["asked"], planned["bytes_limit"]
    rate = options.get("arrival_rate_per_second")
    seconds = float(options["duration_seconds"])
    local_time = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    steps, notes, facts = [], [], {}
    before = dict((number, signal.signal(number, _interrupt)) for number in _SIGNALS)
    try:
        warmed = 0
        if options["warm_up"]:
            warm = Step(asked, min(planned["steps"][0][0], options["warm_up"]), options["warm_up"], seconds, None, left)
            warm.run()
            if warm.local is not None:
                raise warm.local
            left = warm.bytes_left
            warmed = _count(warm)
            facts = _facts(warm, facts)
        for concurrency, requests in planned["steps"]:
            step = Step(asked, concurrency, requests, seconds, rate, left, options.get("arrivals") == "irregular")
            hanging = step.run()
            left = step.bytes_left
            facts = _facts(step, facts)
            if step.local is not None:
                # The service has no part in it: neither errors nor a rate are its own.
                if not steps:
                    raise step.local
                notes.append("%d at once: not measured: %s" % (concurrency, step.local))
                break
            if not _count(step) and not hanging:
                notes.append(("%d at once: no answer was whole before the bytes that the test may move were used up" if step.begun_any else
                              "%d at once: not tried: the bytes that the test may move are used up") % concurrency)
                break
            steps.append(summary(step, hanging))
            notes += ["%d at once: %s" % (concurrency, note) for note in step_notes(steps[-1], step)]
            if steps[-1]["stopped"] in ("errors", "queue", "bytes"):
                missing = [str(each) for each, _count in planned["steps"] if each > concurrency]
                if missing:
                    notes.append("not tried after that: %s at once" % ", ".join(missing))
                break
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    slo = options.get("latency_slo_seconds")
    knee = latency.knee(steps, slo)
    notes += _knee_notes(steps, slo)
    return {
        "endpoint": http_connection.endpoint(asked.url), "method": asked.method, "payload_bytes": len(asked.body),
        "loop": "open" if rate else "closed", "arrivals": options.get("arrivals", "even") if rate else None,
        "steps": steps, "warm_up_requests": warmed, "knee_concurrency": knee,
        "requests_per_second": max(step["requests_per_second"] for step in latency.counted(steps) or steps) if steps else None,
        "latency_slo_seconds": slo, "streaming": "openai" if asked.streaming else "none", "keep_alive": asked.keep_alive,
        "stand_in": bool(options.get("stand_in")),
        "timeout_seconds": asked.timeout_seconds, "proxy": facts.get("proxy"), "tls": facts.get("tls"), "address": facts.get("address"),
        "own_address": facts.get("own_address"), "local_time": local_time, "notes": notes,
    }


def _count(step):
    return sum(len(worker.latencies) + sum(worker.errors.values()) for worker in step.workers)


def _facts(step, known):
    """{"proxy", "tls", "address", "own_address"} of the first connection that was made."""
    if known:
        return known
    opened = next((worker.opened for worker in step.workers if worker.opened is not None), None)
    return {} if opened is None else {
        "proxy": opened.proxy, "tls": opened.tls, "address": opened.address, "own_address": http_connection.own_address(opened)}


def _joined(step, name):
    joined = array.array("d")
    for worker in step.workers:
        joined.extend(getattr(worker, name))
    return joined


def summary(step, hanging=0):
    """One entry of the result's `steps`. `hanging`: clients that didn't come back in time, counted as timeouts."""
    errors = {}
    for worker in step.workers:
        for kind, count in worker.errors.items():
            errors[kind] = errors.get(kind, 0) + count
    if hanging:
        errors["timeout"] = errors.get("timeout", 0) + hanging
    latencies = sorted(_joined(step, "latencies"))
    good, failed = len(latencies), sum(errors.values())
    seconds = max(step.ended - step.begun, 1e-9)
    made = {
        "concurrency": step.concurrency, "arrival_rate_per_second": step.rate, "requests_asked": step.requests, "requests": good + failed,
        "samples": good, "requests_per_second": good / seconds,
        "bytes_per_second": sum(worker.sent + worker.received for worker in step.workers) / seconds, "seconds": seconds,
        "latency_mean_seconds": latency.mean(latencies),
        "latency_p50_seconds": latency.quantile(latencies, 0.5), "latency_p95_seconds": latency.quantile(latencies, 0.95),
        "latency_p95_at_least_seconds": latency.p95_at_least(latencies),
        "latency_p99_seconds": latency.quantile(latencies, 0.99), "latency_max_seconds": latencies[-1] if latencies else None,
        "errors": errors, "error_fraction": failed / float(good + failed) if good + failed else None,
        "reconnects": sum(worker.client.reconnects for worker in step.workers),
        "resent": sum(worker.client.resent for worker in step.workers), "stopped": step.stopped,
        "client_cpu_fraction": step.processor_fraction,
    }
    made.update(_queue(step))
    made.update(_tokens(step, seconds))
    return made


def _queue(step):
    """How long requests of an open loop waited for a free client, and whether those that were due and not answered only became more."""
    if not step.rate:
        return {"queue_wait_p95_seconds": None, "queue_wait_max_seconds": None, "queue_grows": False}
    waits = sorted(_joined(step, "waits"))
    answers = sorted(pair for worker in step.workers for pair in zip(worker.answered, worker.latencies))
    grows = step.stopped == "queue" or queue_grows([(step.due[number], taken) for number, taken in answers])
    return {"queue_wait_p95_seconds": latency.quantile(waits, 0.95), "queue_wait_max_seconds": waits[-1] if waits else None,
            "queue_grows": grows}


def queue_grows(answers):
    """Whether a queue grew to the end, with the clients or in the service: [(when it was due, latency)] in the order of arrival.

    Both have to be seen: latencies that became longer (a slow service isn't one that falls behind), and more that wait (longer ones alone
    may be chance, as in any queue).
    """
    quarter = len(answers) // 4
    if quarter < 10:
        return False
    taken = [each for _due, each in answers]
    longer = latency.mean(taken[-quarter:]) > GROWTH_FACTOR * latency.mean(taken[quarter:2 * quarter])

    def waiting(moment):
        return sum(due <= moment < due + each for due, each in answers)

    half, end = waiting(answers[len(answers) // 2][0]), waiting(answers[-1][0])
    return longer and end >= max(10, BACKLOG_FRACTION * len(answers)) and end > GROWTH_FACTOR * half


def _tokens(step, seconds):
    """The figures of streamed answers; null where nothing was streamed."""
    first, gaps, rates = (sorted(_joined(step, name)) for name in ("first_token", "gaps", "rates"))
    told, answers = sum(worker.tokens_from_usage for worker in step.workers), len(first)
    tokens = sum(worker.tokens for worker in step.workers)
    return {
        "time_to_first_token_p50_seconds": latency.quantile(first, 0.5), "time_to_first_token_p95_seconds": latency.quantile(first, 0.95),
        "inter_token_p95_seconds": latency.quantile(gaps, 0.95), "tokens": tokens if answers else None,
        "tokens_per_second": tokens / seconds if answers else None, "tokens_per_second_per_request": latency.quantile(rates, 0.5),
        "tokens_counted": None if not answers else "usage" if told == answers else "chunks" if not told else "usage_and_chunks",
    }


_STOPPED = {
    "time": "stopped after %(seconds)d s with %(requests)d of %(asked)d requests sent",
    "errors": "stopped: more than half of its %(requests)d requests failed",
    "queue": "stopped: requests waited longer than %(timeout)g s for a free connection, the queue grew without end (%(rate)g arrive a "
             "second, %(done).1f are answered)",
    "bytes": "stopped: the bytes that the test may move are used up",
}


_ENDED = (
    ("reconnects", "connections that had ended before a request was sent on them: %d, connecting anew is part of those latencies"),
    ("resent", "requests sent again: %d, the server had closed their connections before they arrived"),
)


def step_notes(made, step):
    """What a reader of a step should know."""
    words = {"seconds": made["seconds"], "requests": made["requests"], "asked": made["requests_asked"],
             "timeout": step.asked.timeout_seconds, "rate": step.rate or 0, "done": made["requests_per_second"]}
    notes = [_STOPPED[made["stopped"]] % words] if made["stopped"] else []
    if made["queue_grows"] and made["stopped"] != "queue":
        notes.append("requests arrive faster (%g a second) than they are answered (%.1f): the queue grew to the end, and the latencies "
                     "depend on how long the test ran" % (step.rate, made["requests_per_second"]))
    kinds = {}
    for worker in step.workers:
        for kind, said in worker.words.items():
            kinds.setdefault(kind, []).extend(text for text in said if text not in kinds.get(kind, []))
    notes += ["%d x %s: %s" % (made["errors"][kind], kind, "; ".join(kinds[kind][:3])) for kind in sorted(kinds)]
    notes += [words % made[name] for name, words in _ENDED if made[name]]
    if made["client_cpu_fraction"] > CLIENT_BUSY_FRACTION and made["seconds"] >= CLIENT_BUSY_SECONDS:
        notes.append("the client used %d %% of a core, about all that one Python process can: the service may answer more requests, and "
                     "faster"
                     % round(100 * made["client_cpu_fraction"]))
    miscounted, told = (sum(getattr(worker, name) for worker in step.workers) for name in ("miscounted", "tokens_from_usage"))
    if miscounted:
        notes.append("the server's count of tokens can't be right in %d of its answers (none of a text, or more than were asked for): pieces "
                     "of text are counted, which may hold several tokens each" % miscounted)
    if made["tokens_counted"] in ("chunks", "usage_and_chunks") and miscounted + told < made["samples"]:
        notes.append("the server doesn't say how many tokens %s: pieces of text are counted, which may hold several tokens each"
                     % ("its answers have" if made["tokens_counted"] == "chunks" else "some of its answers have"))
    if latency.too_few(made["requests"], step.concurrency, made["stopped"]):
        notes.append("requests: %d, fewer than its clients or than the %d that a percentile takes: not counted"
                     % (made["requests"], latency.FEWEST_REQUESTS))
    return notes


def _knee_notes(steps, slo):
    """What a reader of the knee should know: which steps contradict each other, and that the lowest that counts misses it."""
    found = latency.climbed(steps, slo)
    if found is None or found.missed is None:
        return []
    if found.held_above:
        missed = next(step for step in latency.counted(steps) if step["concurrency"] == found.missed)
        return ["%d at once missed the latency by so few of its %d requests that it may be chance, and %s at once met it: which concurrency "
                "keeps it isn't known, measure again with more requests in each step"
                % (found.missed, missed["requests"], _listed(found.held_above))]
    above = [step["concurrency"] for step in latency.counted(steps) if step["concurrency"] > found.missed and latency.meets(step, slo)]
    notes = ["%s at once met the latency although a lower concurrency didn't: not counted" % _listed(above)] if above else []
    if not latency.is_known(found):
        notes.append("%d at once, the lowest step that counts, missed the latency: what fewer keep isn't known" % found.missed)
    return notes


def _listed(numbers):
    return ", ".join(str(number) for number in numbers)
