# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Network measurements as the measuring modules give them: transfers with their seconds, load tests, and the links of whole groups.

What each host of a group gets is composed by the code that composes it in a real test (link_store.host_results).
"""

from __future__ import annotations

import math

import judging
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import link_rounds, link_store

MIB, GIB = 2**20, 2**30
FINISHED = "2026-11-30T09:12:44Z"
FORM = {
    "dataset_bytes": 4 * 2**40,
    "upload_hours_allowed": 24,
    "checkpoint_bytes": 40 * GIB,
    "download_minutes_allowed": 15,
    "concurrency": 50,
    "latency_seconds": 2,
}


def attempt(rate, seconds=10, error=None, retries=(), dip=None):
    """One attempt of a transfer: `rate` bytes a second with a little noise, `dip` the second from which it went at a tenth."""
    series = [int(rate * (1 + 0.05 * math.sin(at * 1.7)) * (0.1 if dip is not None and at >= dip else 1)) for at in range(seconds)]
    moved = sum(series)
    return {
        "bytes": moved,
        "seconds": float(seconds),
        "bytes_per_second": moved / seconds if seconds else None,
        "peak_bytes_per_second": max(series) if series else None,
        "time_to_first_byte_seconds": 0.0123,
        "connect_seconds": 0.0021,
        "tls_seconds": 0.011,
        "status": None if error else 201,
        "retries": [{"kind": kind, "message": message} for kind, message in retries],
        "error": {"kind": error[0], "message": error[1]} if error else None,
        "limited_by": None,
        "series": series,
    }


def transfer(direction, attempts, **changed):
    """A transfer_benchmark measurement of these attempts."""
    good = [entry for entry in attempts if entry["error"] is None]
    seconds = sum(entry["seconds"] for entry in good)
    result = {
        "direction": direction,
        "scheme": "https",
        "endpoint": "https://store.example.org/data/set",
        "storage": "s3" if direction == "upload" else "http",
        "bytes_per_second": sum(entry["bytes"] for entry in good) / seconds if seconds else None,
        "peak_bytes_per_second": max((entry["peak_bytes_per_second"] for entry in good), default=None),
        "time_to_first_byte_seconds": 0.0123 if good else None,
        "attempts": attempts,
        "attempts_asked": len(attempts),
        "attempts_failed": len(attempts) - len(good),
        "retries_count": sum(len(entry["retries"]) for entry in attempts),
        "bytes": sum(entry["bytes"] for entry in good),
        "checksum": {"algorithm": "sha256", "verified": True, "how": "the server's own"},
        "proxy": None,
        "tls": {"version": "TLSv1.3", "cipher": "TLS_AES_256_GCM_SHA384", "issuer": "Example CA", "not_after": "2027-05-01T00:00:00Z"},
        "address": "192.0.2.10",
        "streams": 1,
        "hosts_at_once": 1,
        "alone_bytes_per_second": None,
        "local_time": "2026-11-30T10:11:12+01:00",
        "limited_by": None,
        "notes": [],
    }
    return measurement("transfer_benchmark", direction, dict(result, **changed), {"direction": direction})


def step(concurrency, p50, spread=1.6, errors=None, requests=500, rate=None, **changed):
    """One step of a load test."""
    failed = sum((errors or {}).values())
    known = p50 is not None
    return dict(
        {
            "concurrency": concurrency,
            "arrival_rate_per_second": rate,
            "requests": requests,
            "requests_per_second": concurrency / p50 if known else 0.0,
            "bytes_per_second": 2e5,
            "seconds": 12.0,
            "latency_mean_seconds": p50 * 1.05 if known else None,
            "latency_p50_seconds": p50,
            "latency_p95_seconds": p50 * spread if known else None,
            "latency_p99_seconds": p50 * spread * 1.25 if known else None,
            "latency_max_seconds": p50 * spread * 1.5 if known else None,
            "errors": errors or {},
            "error_fraction": failed / requests,
            "stopped": None,
            "queue_grows": False,
            "time_to_first_token_p50_seconds": None,
            "time_to_first_token_p95_seconds": None,
            "tokens_per_second": None,
            "tokens_per_second_per_request": None,
        },
        **changed,
    )


def requests(steps=None, knee=50, slo=2, **changed):
    """A request_benchmark measurement."""
    steps = steps or [step(1, 0.21, 1.1), step(10, 0.24, 1.3), step(50, 0.9), step(100, 2.1, 1.9, {"timeout": 12, "http_5xx": 3})]
    result = {
        "endpoint": "https://model.example.org/v1/chat/completions",
        "method": "POST",
        "payload_bytes": 2048,
        "loop": "closed",
        "steps": steps,
        "warm_up_requests": 20,
        "knee_concurrency": knee,
        "latency_slo_seconds": slo,
        "streaming": "none",
        "keep_alive": True,
        "proxy": None,
        "tls": None,
        "address": "192.0.2.20",
        "local_time": "2026-11-30T10:15:00+01:00",
        "notes": [],
    }
    return measurement("request_benchmark", result["endpoint"], dict(result, **changed), {})


def together(rate, start_at, hosts, **changed):
    """A download at `rate` of a run in which so many hosts were told to begin at `start_at` (None: not told)."""
    entry = transfer("download", [attempt(rate)], hosts_at_once=hosts, **changed)
    entry["options"].update({"hosts_at_once": hosts}, **({"start_at": start_at} if start_at is not None else {}))
    return entry


def measurement(module, target, result, options):
    return {
        "schema": "trainops.gpu_audit/measurement/1",
        "name": "",
        "machine_id": None,
        "gpu_uuids": [],
        "module": module,
        "target": target,
        "options": options,
        "started": "2026-11-30T09:10:00Z",
        "finished": FINISHED,
        "result": result,
    }


def links(names, rates, broken=(), line=1e9, kind="physical", mode="auto", session="20261130T091000Z-abc123", finished=FINISHED):
    """{host: its link_benchmark measurement} of a group. rates: {host: share of what the link can carry} of the hosts that aren't at 0.94;
    broken: pairs (frozensets of two names) that gave no figure.
    """
    hosts = {
        name: {
            "address": "10.1.0.%d" % number,
            "interface": "eth1",
            "machine_id": name,
            "gpu_uuids": [],
            "line_rate_bits_per_second": line if kind == "physical" else None,
            "link_kind": kind,
            "iperf3_version": "3.16",
            "counters": {"rx_errors": 0},
        }
        for number, name in enumerate(names, 1)
    }
    pairs, number = [], 0
    for at, found in enumerate(link_rounds.rounds(names, mode)):
        for client, server in found:
            number += 1
            pair = {"n": number, "round": at + 1, "client": client, "server": server}
            pairs.append((pair, _pair(client, server, rates, broken, line, number)))
    data = {"hosts": hosts, "rounds": link_rounds.rounds(names, mode)}
    results = link_store.host_results(data, pairs, {name: {"rx_errors": 0} for name in names})
    return {
        name: dict(measurement("link_benchmark", "links", result, {"session": session}), finished=finished)
        for name, result in results.items()
    }


def _pair(client, server, rates, broken, line, number):
    # What a host sends the other receives; a number is for both directions.
    def share(name, direction):
        given = rates.get(name, 0.94)
        return given.get(direction, 0.94) if isinstance(given, dict) else given

    def rate(sender, receiver):
        wave = 1 - 0.004 * (number % 5)
        return {
            "bytes_per_second": line / 8 * min(share(sender, "send"), share(receiver, "receive")) * wave,
            "retransmits": 3 * (number % 4) if share(sender, "send") > 0.5 else 1234,
            "seconds": 10.0,
        }

    common = {
        "rtt_seconds": 0.0003,
        "path_mtu_bytes": 1500,
        "parallel": 1,
        "udp": None,
        "notes": [],
        "local_time": "2026-11-30T10:12:00+01:00",
    }
    if frozenset((client, server)) in broken:
        error = {"kind": "refused", "message": "unable to connect to server: Connection refused"}
        return dict(common, send=None, receive=None, error=error, rtt_seconds=None, path_mtu_bytes=None)
    return dict(common, send=rate(client, server), receive=rate(server, client), error=None)


def fabric(peak=480e9, first=8, last=16 * GIB, target="all_reduce_perf nodes=1", wrong=(), **changed):
    """A fabric_benchmark measurement of NCCL over all sizes from first to last, each twice the one before. `wrong`: sizes with a wrong value."""
    sizes = [first << at for at in range((last // first).bit_length())]
    rows = [
        {
            "bytes": size,
            "time_seconds": 35e-6 + size / (peak / 1.75),
            "algbw_bytes_per_second": size / (35e-6 + size / (peak / 1.75)),
            "busbw_bytes_per_second": 1.75 * size / (35e-6 + size / (peak / 1.75)),
            "in_place_busbw_bytes_per_second": None,
            "wrong": int(size in wrong),
        }
        for size in sizes
    ]
    result = {
        "tool": "nccl",
        "tool_version": "nccl-tests 2.17.1",
        "library_version": "2.27.3",
        "operation": "all_reduce",
        "nodes": 1,
        "ranks": 8,
        "rows": rows,
        "busbw_bytes_per_second": rows[-1]["busbw_bytes_per_second"],
        "message_bytes": sizes[-1],
        "wrong_values": len(wrong),
        "link": None,
        "device": None,
        "local_time": "2026-11-30T10:20:00+01:00",
        "notes": [],
    }
    return measurement("fabric_benchmark", target, dict(result, **changed), {})


def port(rate=48.9e9, size=8388608, **changed):
    """A fabric_benchmark measurement of one port with perftest, of one message size."""
    row = {"bytes": size, "time_seconds": None, "algbw_bytes_per_second": rate, "busbw_bytes_per_second": rate, "wrong": None}
    told = {"tool": "perftest", "tool_version": "6.06", "library_version": None, "operation": "write", "nodes": 2, "ranks": None}
    told.update(rows=[row], busbw_bytes_per_second=rate, message_bytes=size, wrong_values=None, link="IB", device="mlx5_0")
    return fabric(target="ib_write_bw nodes=2", **dict(told, **changed))


def host(*measurements, form=None):
    """(document, inputs) of a host with these measurements alone."""
    document, inputs = judging.host()
    document["measurements"] = [dict(entry, machine_id=document["machine_id"]) for entry in measurements]
    inputs["workload"].update(FORM)
    inputs["workload"].update(form or {})
    return document, inputs


def fleet(count, rates=None, more=(), **given):
    """[(document, inputs)] of a group whose links were tested; the hosts are called gpu01 and so on. `more`: measurements of the first."""
    names = ["gpu%02d" % number for number in range(1, count + 1)]
    found = links(names, rates or {}, **given)
    return [host(found[name], *(more if name == names[0] else ())) for name in names]


def whole():
    """The measurements of a host that was measured in full, with troubles."""
    return (
        transfer(
            "upload",
            [
                attempt(52 * MIB, 19),
                attempt(50 * MIB, 9, error=("reset", "the connection was reset after 470 MiB")),
                attempt(51 * MIB, 20, retries=[("http_5xx", "503 Service Unavailable"), ("http_5xx", "503 Service Unavailable")], dip=15),
            ],
        ),
        transfer(
            "download", [attempt(112 * MIB, 9), attempt(110 * MIB, 9), attempt(111 * MIB, 9)], hosts_at_once=8, alone_bytes_per_second=118e6
        ),
        requests(),
        fabric(),
    )


def page():
    """A small fleet with one host of each kind of network trouble."""
    pairs = fleet(8, {"gpu05": 0.095, "gpu07": {"receive": 0.6}}, more=whole(), broken=[frozenset(("gpu02", "gpu06"))])
    streamed = [
        step(
            load,
            p50,
            1.3,
            time_to_first_token_p50_seconds=p50 / 8,
            time_to_first_token_p95_seconds=p50 / 6,
            tokens_per_second=900.0,
            tokens_per_second_per_request=45.2,
            rate=rate,
        )
        for load, p50, rate in ((64, 1.1, 5), (64, 1.2, 20), (64, 1.9, 60), (64, 9.5, 80))
    ]
    pairs[1][0]["measurements"] += [
        transfer(
            "download", [attempt(20 * MIB, 40, dip=12)], hosts_at_once=8, checksum={"algorithm": "md5", "verified": False, "how": "ETag"}
        ),
        requests(streamed, knee=None, slo=None, loop="open", streaming="openai"),
    ]
    pairs[0][0]["measurements"].append(port())
    pairs[1][0]["measurements"].append(fabric(310e9, wrong=(1 << 20, 16 * GIB)))
    pairs[1][1]["expected"]["fabric_busbw_bytes_per_second"] = 460e9
    pairs[4][0]["measurements"].append(port())
    pairs[2][0]["measurements"] += [
        transfer("upload", [attempt(0, 0, error=("refused", "nothing listens at 192.0.2.10 port 443")) for _try in range(3)]),
        requests([step(1, None, errors={"timeout": 40}, requests=40, stopped="errors")], knee=0),
    ]
    failed = transfer("download", [])
    del failed["result"]
    pairs[3][0]["measurements"].append(dict(failed, error={"kind": "dns", "message": "the name store.example.org isn't known"}))
    stopped = fabric()
    del stopped["result"]
    pairs[3][0]["measurements"].append(dict(stopped, error={"message": "all_reduce_perf gave no result within 600 s and was ended"}))
    return pairs
