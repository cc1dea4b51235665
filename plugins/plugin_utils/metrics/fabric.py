# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What tests of the fabric between GPUs (fabric_benchmark: nccl-tests, perftest) measured, against what it has to reach."""

from __future__ import annotations

import functools

from ..link_figures import busbw_factor
from .catalogue import find_board, load_reference
from .measurements import SILENT, command_of, find_measurement, with_results
from .registry import amount, define, maps, text

MODULE = "fabric_benchmark"
RATE, RATIO, WRONG = "network.fabric_busbw_bytes_per_second", "network.fabric_fraction_of_expected", "network.fabric_wrong_values"
_RESULT = "fabric_benchmark.result."
# Both rates are printed with two digits behind the point.
_ROUNDING, _TOLD = 0.03, 10**9
_EXPECTED = "fabric_busbw_bytes_per_second"

define(
    RATE,
    "bytes_per_second",
    "bus bandwidth at the largest message of the newest test of NCCL, without one the average of the newest test of perftest",
    (_RESULT + "busbw_bytes_per_second", _RESULT + "message_bytes"),
    "最近一次 NCCL 测试在最大消息下的总线带宽；没有时取最近一次 perftest 的平均带宽",
)
define(
    RATIO,
    "ratio",
    "bus bandwidth / gpu_audit_expected.fabric_busbw_bytes_per_second (of the test of the metric above), else / the limit of "
    "roles/audit/files/reference/fabric.yml for this board, tool, operation, nodes, ranks and message size; the worst of the tests",
    (_RESULT + "busbw_bytes_per_second", "…operation", "…nodes", "…ranks", "…message_bytes", "expected." + _EXPECTED, "gpu.gpus[].name"),
    "总线带宽 / gpu_audit_expected.fabric_busbw_bytes_per_second（对应上一指标的测试），未给出时 / roles/audit/files/reference/fabric.yml 中与该 GPU、工具、"
    "操作、节点数、rank 数和消息大小相符的限值；取各测试中最差者",
)
define(
    WRONG,
    "count",
    "values that arrived wrong in tests of NCCL",
    (_RESULT + "wrong_values",),
    "NCCL 测试中结果错误的数值个数",
)


def derive(state):
    """Every metric of the fabric."""
    entries = tests(state.document)
    if not entries:
        for name in (RATE, RATIO, WRONG):
            state.not_applicable(name, SILENT)
        if any(entry.get("module") == MODULE for entry in maps(state.document, "measurements")):
            # It was asked for; what it failed with is said once.
            del state.absent[RATIO]
            if find_measurement(state, RATIO, MODULE):
                state.unknown(RATIO, "absent.measurement_incomplete", module=MODULE, field="busbw_bytes_per_second")
        return
    main = entries[0]
    state.value(RATE, amount(main["result"], "busbw_bytes_per_second"), _seen(main)[1:])
    _derive_ratio(state, entries, main)
    _derive_wrong(state, entries)


def tests(document):
    """The tests that have a rate, the newest first; before all the one that counts: the newest of NCCL, without one the newest."""
    found = [entry for entry in with_results(document, MODULE) if amount(entry["result"], "busbw_bytes_per_second") is not None]
    main = next((entry for entry in found if text(entry["result"], "tool") == "nccl"), None)
    return [main] + [entry for entry in found if entry is not main] if main else found


def source_of(entry):
    """Where a figure comes from: "fabric_benchmark 2026-11-30T09:12:44Z of all_reduce_perf"."""
    return "%s %s of %s" % (MODULE, text(entry, "finished") or "?", command_of(entry))


def _seen(entry):
    """Evidence of one test: its rate, its largest message, on how much it ran and with what."""
    result, source = entry["result"], source_of(entry)
    told = [{"what": "busbw_bytes_per_second", "value": amount(result, "busbw_bytes_per_second"), "source": source}]
    for field in ("message_bytes", "nodes", "ranks"):
        if amount(result, field):
            told.append({"what": field, "value": amount(result, field), "source": source})
    versions = [word for word in (text(result, "tool_version"), text(result, "library_version")) if word]
    if versions:
        told.append({"what": "tool_version", "value": " / NCCL ".join(versions) if len(versions) == 2 else versions[0], "source": source})
    return told


@functools.lru_cache(maxsize=1)
def limits():
    """Every reference limit, as fabric.yml has it: shared, so not to be changed."""
    return tuple(load_reference("fabric.yml")["limits"])


def limit_for(result, boards, port_rate=None):
    """The reference limit that a test is held to, None where there is none. boards: {key of the catalogue} of the host's GPUs; port_rate:
    bits per second of the port that perftest used, None where it isn't known.
    """
    found = [limit for limit in limits() if boards and boards <= set(limit["boards"]) and _fits(limit, result, port_rate)]
    return max(found, key=lambda limit: limit["message_bytes"], default=None)


def _fits(limit, result, port_rate):
    for field in ("tool", "operation"):
        if text(result, field) != limit[field]:
            return False
    if any(limit[field] is not None and amount(result, field) != limit[field] for field in ("nodes", "ranks")):
        return False
    # A limit of one port says nothing of a port that is slower or faster.
    return (amount(result, "message_bytes") or 0) >= limit["message_bytes"] and limit.get("link_bits_per_second") in (None, port_rate)


def _boards(state):
    """The catalogue's keys of the host's GPUs; a board that it doesn't know has none that fits."""
    found = [find_board(text(gpu, "name"), text(gpu, "device_id")) for gpu in state.live]
    return {board["key"] if board else "?" for board in found}


def _port_rate(state, result):
    network, _problem = state.subject("network")
    device = text(result, "device")
    ports = [port for port in maps(network or {}, "rdma_ports") if device and text(port, "device") == device]
    return next((amount(port, "rate_bits_per_second") for port in ports), None)


def _contradiction(result):
    """(factor that a test's own figures have, factor that its operation has on so many ranks) where they differ: another operation than was
    said, or figures that were mixed up. None where they agree or can't be compared.
    """
    row = (maps(result, "rows") or [{}])[-1]
    bus, algorithm, operation, ranks = (
        amount(row, "busbw_bytes_per_second"),
        amount(row, "algbw_bytes_per_second"),
        text(result, "operation"),
        amount(result, "ranks"),
    )
    if text(result, "tool") != "nccl" or not (bus and operation and ranks) or (algorithm or 0) < _TOLD:
        return None
    try:
        factor = busbw_factor(operation, ranks)
    except ValueError:
        # Operations that have none in common.
        return None
    return None if abs(bus / algorithm - factor) <= _ROUNDING * max(factor, _ROUNDING) else (bus / algorithm, factor)


def _derive_ratio(state, entries, main):
    wrong = _contradiction(main["result"])
    if wrong:
        operation, ranks = text(main["result"], "operation"), "%g" % amount(main["result"], "ranks")
        state.unknown(
            RATIO, "absent.fabric_contradiction", operation=operation, ranks=ranks, found="%.3g" % wrong[0], factor="%.3g" % wrong[1]
        )
        return
    wish = amount(state.expected, _EXPECTED)
    # Less than a byte a second is no figure of anybody's.
    own, boards, judged = wish if wish and wish >= 1 else None, _boards(state), []
    for entry in entries:
        result = entry["result"]
        limit = None if own and entry is main else limit_for(result, boards, _port_rate(state, result))
        if own and entry is main:
            judged.append((own, {"what": "gpu_audit_expected." + _EXPECTED, "value": own, "source": "inventory"}, entry))
        elif limit:
            least = limit["limit_bytes_per_second"]
            judged.append((least, {"what": "limit_bytes_per_second", "value": least, "source": "fabric.yml (%s)" % limit["source"]}, entry))
    if not judged:
        state.not_applicable(
            RATIO, "absent.no_fabric_limit", operation=text(main["result"], "operation") or text(main["result"], "tool") or "?"
        )
        return
    shares = [(amount(entry["result"], "busbw_bytes_per_second") / least, told, entry) for least, told, entry in judged]
    share, told, entry = min(shares, key=lambda found: found[0])
    seen = _seen(entry)
    state.value(RATIO, share, [seen[0], told, *seen[1:]])


def _derive_wrong(state, entries):
    counted = [(amount(entry["result"], "wrong_values"), entry) for entry in entries]
    known = [(count, entry) for count, entry in counted if count is not None]
    if not known:
        unchecked = any(text(entry["result"], "tool") == "nccl" for entry in entries)
        state.not_applicable(WRONG, "absent.fabric_unchecked" if unchecked else SILENT)
        return
    told = [{"what": "wrong_values", "value": count, "source": source_of(entry)} for count, entry in known if count]
    state.value(WRONG, sum(count for count, _entry in known), told[:8])
