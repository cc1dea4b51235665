# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Measures a service with simulated requests; the work is done in module_utils/measure/request_benchmark.py."""

from __future__ import annotations

DOCUMENTATION = r"""
module: request_benchmark
short_description: Measure a service with simulated inference requests
version_added: 0.3.0
author:
  - The trainops.gpu_audit authors (@trainops)
description:
  - Sends requests to O(url), step by step more of them at once, and returns latencies (exact from all samples, none averaged away), rates,
    errors by kind, and the highest concurrency that keeps an acceptable latency. Audits judge the measurement.
  - As a task it is announced (requests, bytes and seconds) before it begins, runs as a job on the host that outlives a lost connection,
    and its measurement is kept on the controller. With C(--check) it is only announced.
  - It ends by itself. Nothing is sent without O(url), and bytes, seconds, requests and concurrency have upper bounds.
  - A host that has no service yet can be measured with the stand-in that M(trainops.gpu_audit.network_peer) starts.
options:
  url:
    description:
      - Where the requests go; http or https. There is no default. Userinfo and query are sent and never shown or stored.
    type: str
    required: true
  method:
    description:
      - The method. V(POST) where there is a payload, else V(GET), when not given.
    type: str
    choices: [GET, POST, PUT, HEAD, DELETE, OPTIONS, PATCH]
  concurrency:
    description:
      - How many requests are under way at once, a step each, in ascending order; each from 1 to 1000.
    type: list
    elements: int
    default: [1, 10, 50, 100]
  requests:
    description:
      - Requests of a step. 10 times its concurrency and at least 200 when not given. 1000000 in all at most.
    type: int
  duration_seconds:
    description:
      - Seconds after which a step sends no request any more. The whole test may take an hour at most, waiting for answers included.
    type: float
    default: 60
  warm_up:
    description:
      - Requests that are sent before the first step and count nowhere. Each step also connects before its clock starts, where connections
        are kept.
    type: int
    default: 10
  payload_bytes:
    description:
      - Bytes of the body of each request, at most 64 MiB; random, so that nothing on the way makes them fewer. With O(streaming=openai) the
        length of the prompt. A task may give text such as C(1 MiB).
    type: int
  payload:
    description:
      - The body itself, text or what becomes JSON. It is never shown or stored.
    type: raw
  headers:
    description:
      - Headers of each request, such as C(Authorization). They are never shown or stored.
    type: dict
    default: {}
  arrival_rate_per_second:
    description:
      - When given, requests arrive at this fixed rate whether or not earlier ones were answered (an open loop), and O(concurrency) is how
        many connections serve them. Latency counts from the moment at which a request was due, so that waiting for a free connection is in
        it. Without it each of O(concurrency) clients sends its next request when it has its answer (a closed loop).
      - A step is ended where a request waits longer than O(timeout_seconds) for a connection, its queue growing without end.
    type: float
  arrivals:
    description:
      - Of an open loop. V(even) keeps the same time between all requests; V(irregular) has them come like those of many people who know
        nothing of each other (Poisson, the same sequence each time), with O(arrival_rate_per_second) as the mean.
    type: str
    choices: [even, irregular]
    default: even
  latency_slo_seconds:
    description:
      - The acceptable latency. The knee is the highest concurrency whose p95 is within it, with no more than 1 % of its requests failed and
        no queue that grows, all lower steps meeting it as well.
    type: float
  timeout_seconds:
    description:
      - Seconds that one request may take in all, connecting included.
    type: float
    default: 30
  streaming:
    description:
      - V(openai) asks for a stream as OpenAI-compatible servers give it and measures the time to the first token and tokens per second.
        Without O(payload) a prompt of O(payload_bytes) (64) is sent, for O(max_tokens) tokens of O(model).
    type: str
    choices: [none, openai]
    default: none
  model:
    description:
      - The model's name in the request that O(streaming=openai) makes. V(default) when not given.
    type: str
  max_tokens:
    description:
      - Tokens that are asked for in the request that O(streaming=openai) makes. 128 when not given.
    type: int
  keep_alive:
    description:
      - Whether each client keeps its connection. Otherwise connecting is part of each latency.
    type: bool
    default: true
  stand_in:
    description:
      - Whether O(url) is a stand-in, such as that of M(trainops.gpu_audit.network_peer), for the record; reports say so.
    type: bool
    default: false
  bytes:
    description:
      - Bytes sent in bodies and received in all, heads as well, after which the test ends. 8 GiB when not given; a task may give text
        such as C(100 MiB), and no less than 64 KiB. An answer that is still coming then may have 64 KiB, and counts as none where it
        has more.
    type: int
    default: 8589934592
  ca_path:
    description:
      - Certificates to trust instead of the system's, a file or a folder.
    type: path
  validate_certs:
    description:
      - Whether the server's certificate is checked.
    type: bool
    default: true
  proxy:
    description:
      - V(environment) takes the proxy that the host's environment names (C(http_proxy), C(https_proxy), C(no_proxy)), V(none) none; or the
        URL of an http proxy.
    type: str
    default: environment
extends_documentation_fragment:
  - trainops.gpu_audit.measuring
attributes:
  check_mode:
    details: Sends nothing and returns RV(plan).
notes:
  - The client is one Python process. Where it uses nearly all of a core, a note of the measurement says so; the service may be faster then.
  - A connection that the server had ended before a request was sent on it is made anew and counted in C(reconnects). A request is sent a
    second time only where the server had closed a kept connection before anything of the request got there, which the host's kernel knows
    (RFC 9112, 9.3.1); C(resent) counts those, and the latency is that of both. Every other connection that ends under a request is an
    error, each counted once, whatever the method.
seealso:
  - module: trainops.gpu_audit.network_peer
"""

EXAMPLES = r"""
- name: Measure a model server, the latency for users to stay below 2 seconds
  trainops.gpu_audit.request_benchmark:
    url: http://127.0.0.1:8000/v1/chat/completions
    streaming: openai
    model: assistant
    max_tokens: 64
    latency_slo_seconds: 2

- name: 40 requests a second, however slowly they are answered
  trainops.gpu_audit.request_benchmark:
    url: https://models.example.com/classify
    payload: {text: "a sentence"}
    headers:
      Authorization: "Bearer {{ service_key }}"
    arrival_rate_per_second: 40
    concurrency: [100]
    requests: 2400
"""

RETURN = r"""
plan:
  description: What the test does at most.
  returned: in check mode
  type: dict
  contains:
    seconds: {description: "Time of all steps, should every one of them reach its limit.", type: int, returned: always, sample: 620}
    requests: {description: Requests in all., type: int, returned: always, sample: 1910}
    bytes_sent: {description: Bytes of their bodies., type: int, returned: always, sample: 1955840}
    bytes_limit: {description: Bytes sent and received after which it ends., type: int, returned: always, sample: 8589934592}
    bytes_written: {description: Nothing is written to a disk., type: int, returned: always, sample: 0}
    bytes_read: {description: Nothing is read from a disk., type: int, returned: always, sample: 0}
    notes: {description: The same in words., type: list, elements: str, returned: always, sample: []}
measurement:
  description: The figures. What wasn't measured is null. Rates are per second, fractions are 0 to 1.
  returned: success, not in check mode
  type: dict
  contains:
    endpoint: {description: "The URL without userinfo, query and fragment.", type: str, returned: always, sample: "http://h.example/a"}
    method: {description: The method., type: str, returned: always, sample: POST}
    payload_bytes: {description: Bytes of each request's body., type: int, returned: always, sample: 1024}
    loop: {description: C(closed) or C(open)., type: str, returned: always, sample: closed}
    arrivals: {description: "O(arrivals), null in a closed loop.", type: str, returned: always, sample: even}
    steps:
      description:
        - One entry for each step that was tried, by ascending C(concurrency).
        - C(requests) were ended, of C(requests_asked); C(samples) of them worked, and the latencies are theirs alone
          (C(latency_mean_seconds), C(latency_p50_seconds), C(latency_p95_seconds), C(latency_p99_seconds), C(latency_max_seconds); a
          quantile is the smallest sample that so many samples don't exceed). C(latency_p95_at_least_seconds) is what the 95th percentile is
          at least with so few samples, chance (1 %) aside; null where they are too few for that. C(errors) counts the others by kind (C(refused), C(timeout),
          C(reset), C(dns), C(tls), C(unreachable), C(http_4xx), C(http_5xx), C(short_body), C(protocol), C(proxy), C(local)),
          C(error_fraction) is their share.
        - C(requests_per_second) counts failed ones too, C(bytes_per_second) is of bodies both ways, C(seconds) lasts to the last answer.
          C(reconnects) are connections that had ended before a request was sent on them, C(resent) requests that were sent again because
          a kept connection had been closed before they arrived; neither is an error. C(client_cpu_fraction) is of one core.
        - C(arrival_rate_per_second), C(queue_wait_p95_seconds), C(queue_wait_max_seconds) and C(queue_grows) belong to an open loop.
        - C(stopped) is null, or C(time), C(bytes), C(errors) (more than half failed) or C(queue) (it grew without end).
        - Of streamed answers C(time_to_first_token_p50_seconds), C(time_to_first_token_p95_seconds), C(inter_token_p95_seconds) (between
          pieces of text), C(tokens), C(tokens_per_second) (of all clients together), C(tokens_per_second_per_request) (median of tokens
          over the whole latency) and C(tokens_counted) (C(usage), the server's own count; C(chunks), pieces of text;
          C(usage_and_chunks)).
      type: list
      elements: dict
      returned: always
    warm_up_requests: {description: Requests before the first step., type: int, returned: always, sample: 10}
    knee_concurrency:
      description: >-
        The highest concurrency that meets O(latency_slo_seconds), 0 where not even one request at once does; null without it. Steps with
        fewer requests than clients, or than 20, don't count; where all are such it is null, as where the lowest that counts is more than one
        at once and misses it, and where a step that may have missed it by chance lies below one that meets it (a note says which).
      type: int
      returned: always
      sample: 50
    requests_per_second:
      description: Answers that worked a second in the fastest step that counts.
      type: float
      returned: always
      sample: 245.3
    latency_slo_seconds: {description: O(latency_slo_seconds)., type: float, returned: always, sample: 2.0}
    timeout_seconds: {description: O(timeout_seconds)., type: float, returned: always, sample: 30}
    streaming: {description: O(streaming)., type: str, returned: always, sample: none}
    keep_alive: {description: O(keep_alive)., type: bool, returned: always, sample: true}
    stand_in: {description: O(stand_in)., type: bool, returned: always, sample: false}
    proxy:
      description: "Null, or C(endpoint), C(source) (C(environment) or C(option)) and C(tunnel) of the proxy that was used."
      type: dict
      returned: always
      sample: {"endpoint": "http://proxy.example:3128", "source": "environment", "tunnel": true}
    tls:
      description: "Null, or C(version), C(cipher), C(issuer), C(not_after) and C(verified)."
      type: dict
      returned: always
      sample: {"version": "TLSv1.3", "cipher": "TLS_AES_256_GCM_SHA384", "issuer": "CA", "not_after": null, "verified": true}
    address: {description: Address and port that the first connection went to., type: str, returned: always, sample: "192.0.2.7:443"}
    own_address:
      description: Whether that is an address of this host itself, so that no network took part. Null behind a proxy.
      type: bool
      returned: always
      sample: false
    local_time:
      description: When it began, by the host's own clock and zone.
      type: str
      returned: always
      sample: "2026-11-30T14:00:00+01:00"
    notes: {description: What a reader should know., type: list, elements: str, returned: always, sample: []}
machine_id: {description: The machine's id., type: str, returned: always, sample: 3d1219c7c4c5404aaa1f6d2a48adfda4}
gpu_uuids: {description: "Always empty, the test has nothing to do with GPUs.", type: list, elements: str, returned: always, sample: []}
target: {description: "The URL without userinfo, query and fragment.", type: str, returned: always, sample: "https://h.example/answer"}
started_at: {description: When it began (UTC)., type: str, returned: not in check mode, sample: "2026-11-29T12:00:00Z"}
finished_at: {description: When it ended (UTC)., type: str, returned: not in check mode, sample: "2026-11-29T12:01:00Z"}
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.trainops.gpu_audit.plugins.module_utils import importing

ARGUMENTS = {
    "url": {"type": "str", "required": True, "no_log": True},
    "method": {"type": "str", "choices": ["GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH"]},
    "concurrency": {"type": "list", "elements": "int", "default": [1, 10, 50, 100]},
    "requests": {"type": "int"},
    "duration_seconds": {"type": "float", "default": 60},
    "warm_up": {"type": "int", "default": 10},
    "payload_bytes": {"type": "int"},
    "payload": {"type": "raw", "no_log": True},
    "headers": {"type": "dict", "default": {}, "no_log": True},
    "arrival_rate_per_second": {"type": "float"},
    "arrivals": {"type": "str", "choices": ["even", "irregular"], "default": "even"},
    "latency_slo_seconds": {"type": "float"},
    "timeout_seconds": {"type": "float", "default": 30},
    "streaming": {"type": "str", "choices": ["none", "openai"], "default": "none"},
    "model": {"type": "str"},
    # The values are counts: "token" in the name doesn't make one secret.
    "max_tokens": {"type": "int", "no_log": False},
    "keep_alive": {"type": "bool", "default": True},
    "stand_in": {"type": "bool", "default": False},
    "bytes": {"type": "int", "default": 8 << 30},
    "ca_path": {"type": "path"},
    "validate_certs": {"type": "bool", "default": True},
    "proxy": {"type": "str", "default": "environment", "no_log": True},
}


def _now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def main():
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    importing.compile_once(importing.__package__)
    from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import http_errors, identity, request_benchmark
    options = dict(module.params)
    shown = http_errors.endpoint(options["url"])
    # Ansible hides every value of such an option wherever it stands, "1" and "none" and the endpoint included, and numbers with it: our
    # answers hold none of them, and its own record of the options is replaced.
    module.no_log_values = set()
    known = {"machine_id": identity.identity(), "gpu_uuids": [], "target": shown,
             "invocation": {"module_args": dict((key, value) for key, value in options.items() if not ARGUMENTS[key].get("no_log"))}}
    try:
        planned = request_benchmark.plan(options)
        if module.check_mode:
            keys = ("seconds", "bytes_written", "bytes_read", "requests", "bytes_sent", "bytes_limit", "notes")
            module.exit_json(changed=False, plan=dict((key, planned[key]) for key in keys), **known)
        # Not "started": async_status takes a result with that key for one of a job that still runs.
        known["started_at"] = _now()
        measured = request_benchmark.run(options, planned)
    except (http_errors.Failure, request_benchmark.Interrupted, ValueError) as error:
        module.fail_json(msg=str(error), finished_at=_now(), **known)
    module.exit_json(changed=False, measurement=measured, finished_at=_now(), **known)


if __name__ == "__main__":
    main()
