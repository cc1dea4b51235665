# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What transfer_benchmark measured: speed of uploads and downloads against what the form allows, failures, many hosts at once.

"Upload" and "download" are the host's own: an upload goes from the host to the endpoint.
"""

from __future__ import annotations

import ipaddress

from ..run_directory import safe_name
from .measurements import SILENT, failed_since, find_measurement, find_optional, with_results
from .registry import amount, define, flag, mapping, maps, sentence, text

MODULE = "transfer_benchmark"
FAILURES, DISTRIBUTION = "network.transfer_failures", "network.distribution_ratio"
# direction -> (speed, ratio to the need, field of the form, its unit in seconds, fields that give the size)
DIRECTIONS = {
    "upload": ("network.upload_bytes_per_second", "network.upload_ratio", "upload_hours_allowed", 3600.0, ("dataset_bytes",)),
    "download": (
        "network.download_bytes_per_second",
        "network.download_ratio",
        "download_minutes_allowed",
        60.0,
        ("weights_bytes", "checkpoint_bytes"),
    ),
}

define(
    "network.upload_bytes_per_second",
    "bytes_per_second",
    "bytes / seconds of the upload attempts that got through; absent where none did",
    ("transfer_benchmark.result.bytes_per_second (direction upload)", "…peak_bytes_per_second"),
    "成功的上传尝试的字节数 / 秒数；全部失败时无值",
)
define(
    "network.download_bytes_per_second",
    "bytes_per_second",
    "bytes / seconds of the download attempts that got through; absent where none did",
    ("transfer_benchmark.result.bytes_per_second (direction download)", "…peak_bytes_per_second"),
    "成功的下载尝试的字节数 / 秒数；全部失败时无值",
)
define(
    "network.upload_ratio",
    "ratio",
    "upload_hours_allowed x 3600 / (dataset_bytes / network.upload_bytes_per_second)",
    ("network.upload_bytes_per_second", "workload.dataset_bytes", "workload.upload_hours_allowed"),
    "允许的上传小时数 × 3600 /（数据集字节数 / network.upload_bytes_per_second）",
)
define(
    "network.download_ratio",
    "ratio",
    "download_minutes_allowed x 60 / (bytes / network.download_bytes_per_second); bytes: weights_bytes, else checkpoint_bytes",
    ("network.download_bytes_per_second", "workload.weights_bytes", "workload.checkpoint_bytes", "workload.download_minutes_allowed"),
    "允许的下载分钟数 × 60 /（字节数 / network.download_bytes_per_second）；字节数取权重，否则取检查点",
)
define(
    FAILURES,
    "fraction",
    "(failed attempts + retries) / (attempts + retries) of the newest upload and of the newest download, the worse of the two; 1 where no "
    "attempt got through",
    ("transfer_benchmark.result.attempts_failed", "…retries_count", "…attempts", "…checksum"),
    "最近一次上传和最近一次下载的（失败尝试 + 重试）/（尝试 + 重试），取较差者；没有一次成功时为 1",
)
define(
    DISTRIBUTION,
    "ratio",
    "download rate of this host while several hosts download from the same source at once / its rate alone",
    ("transfer_benchmark.result.bytes_per_second", "…alone_bytes_per_second", "…hosts_at_once"),
    "多主机同时从同一来源下载时该主机的速率 / 单独下载时的速率",
)

# What the usual largest TCP buffers (4 and 6 MiB, of which a part is bookkeeping) hold for one stream: net.ipv4.tcp_wmem and tcp_rmem.
USUAL_WINDOW_BYTES = 3 * 2**20
# Within a building the usual buffers hold any rate that one stream reaches.
FAR_SECONDS = 0.005
FAILED_ADVICE = {
    "refused": "advice.failed_refused",
    "timeout": "advice.failed_silent",
    "stalled": "advice.failed_silent",
    "unreachable": "advice.failed_unreachable",
    "dns": "advice.failed_dns",
    "tls": "advice.failed_tls",
    "proxy": "advice.failed_proxy",
    "http_4xx": "advice.failed_client",
    "http_5xx": "advice.failed_server",
    "reset": "advice.failed_broken",
    "short_body": "advice.failed_broken",
    "checksum": "advice.failed_checksum",
}
_KINDS_TOLD = 3
# An attempt that was over sooner, or moved less, says little of a transfer that takes hours: buffers and the start of TCP are most of it.
SHORTEST_SECONDS, LEAST_BYTES = 1, 8 * 2**20
# A slow line moves few bytes in all its time; a fast one moves many in less than a second.
_LONG_SECONDS, _MANY_BYTES = 10, 2**30


def derive(state):
    """Every metric of transfers."""
    for direction in DIRECTIONS:
        _derive_speed(state, direction)
        _derive_ratio(state, direction)
    _derive_failures(state)
    _derive_distribution(state)


def going(direction):
    """Whether a measurement is of this direction: its result says so, else its options; one that says neither counts as both."""

    def fits(entry):
        said = text(mapping(entry, "result"), "direction") or text(mapping(entry, "options"), "direction")
        if said is None:
            # One that failed as a whole, or is too old, has its direction in its target: "http://nas/x (upload)".
            named = (text(entry, "target") or "").rpartition("(")[2].rstrip(")")
            said = named if named in DIRECTIONS else None
        return said in (None, direction)

    return fits


def source_of(entry, label=""):
    """Where evidence comes from: module, moment, and what a reader must know of the test."""
    peer = " (peer)" if _by_peer(entry) else ""
    return "%s %s%s%s" % (text(entry, "module") or "?", text(entry, "finished") or "?", " (%s)" % label if label else "", peer)


def _by_peer(entry):
    result = mapping(entry, "result")
    return text(result, "storage") == "peer" or flag(result, "stand_in")


def to_itself(state, entry):
    """The address that a test went to where it is one of the host's own, so that no network took part; None for any other, and where a
    proxy answered. A result that doesn't say it (own_address) is held against the address of the host's links.
    """
    result = mapping(entry, "result")
    address = text(result, "address")
    if not address or result.get("proxy"):
        return None
    known = result.get("own_address")
    own = {text(mapping(link, "result"), "address") for link in maps(state.document, "measurements") if link.get("module") == "link_benchmark"}
    for written in (address, address.rpartition(":")[0]):
        bare = written.strip("[]").partition("%")[0]
        try:
            found = ipaddress.ip_address(bare)
        except ValueError:
            continue
        found = getattr(found, "ipv4_mapped", None) or found
        return bare if found.is_loopback or known is True or known is not False and str(found) in own else None
    return None


def note_test(state, name, entry, *more):
    """Says of a figure that passes what its reader must know of the test: against the audit's own peer and not the owner's endpoint, within
    the host, older than one that failed.
    """
    known = (("finding.peer", _by_peer(entry)), ("finding.own_address", to_itself(state, entry)), ("finding.later_failed", failed_since(entry)))
    notes = [*more, *(key for key, holds in known if holds)]
    if notes and name in state.values:
        state.values[name]["note"] = notes


def too_short(result, wanted=None):
    """Whether every attempt that got through was over too soon, or moved too little, to tell how long `wanted` bytes take; not where nobody
    knows what they moved.
    """
    moved = [(amount(attempt, "seconds"), amount(attempt, "bytes")) for attempt in maps(result, "attempts") if not attempt.get("error")]
    known = [(seconds, size) for seconds, size in moved if seconds is not None and size is not None]
    return bool(known) and not any(_enough(seconds, size, wanted) for seconds, size in known)


def best_second(result):
    """The most bytes within one second of an attempt that went through, None where no attempt of two seconds or more has one.

    An attempt's last second is cut off and counts in its average alone: a best second below the average of any attempt is none.
    """
    good = [attempt for attempt in maps(result, "attempts") if not attempt.get("error")]
    averages = [amount(result, "bytes_per_second"), *(amount(attempt, "bytes_per_second") for attempt in good)]
    peaks = [amount(attempt, "peak_bytes_per_second") for attempt in good if (amount(attempt, "seconds") or 0) >= 2]
    best = max((peak for peak in peaks if peak is not None), default=None)
    return best if best is not None and averages[0] is not None and best >= max(each for each in averages if each is not None) else None


def _enough(seconds, size, wanted):
    if seconds >= _LONG_SECONDS or size >= (min(wanted, _MANY_BYTES) if wanted else _MANY_BYTES):
        return True
    return seconds >= SHORTEST_SECONDS and size >= LEAST_BYTES


def _tentative(state, name, direction):
    """Makes a figure of a test that was over too soon a hint and no answer."""
    state.values[name]["tentative"] = {"reason": "absent.transfer_too_short", "params": {"module": MODULE, "direction": direction}}


def _speed(result):
    """Bytes per second of the attempts that got through; None where none is known to have. Less than one is no transfer."""
    speed = amount(result, "bytes_per_second")
    return speed if speed is not None and speed >= 1 else None


def _derive_speed(state, direction):
    name = DIRECTIONS[direction][0]
    entry = find_measurement(state, name, MODULE, going(direction))
    if entry is None:
        return
    result = entry["result"]
    short, own = too_short(result), to_itself(state, entry)
    source = source_of(entry, "too short" if short else "")
    speed = _speed(result)
    if speed is not None and own:
        state.unknown(name, "absent.own_address", module=MODULE, address=own)
    elif speed is not None:
        evidence = [{"what": direction + "_bytes_per_second", "value": speed, "source": source}]
        peak = best_second(result)
        if peak is not None:
            evidence.append({"what": "peak_bytes_per_second", "value": peak, "source": source})
        state.value(name, speed, evidence)
        if short:
            _tentative(state, name, direction)
        note_test(state, name, entry, *(["finding.transfer_too_short"] if short else ()))
    else:
        tries = _tries(result)
        if tries and tries["failed"] == tries["all"]:
            state.unknown(name, "absent.transfer_failed", module=MODULE, direction=direction, error=_first_error(tries))
        else:
            state.unknown(name, "absent.measurement_incomplete", module=MODULE, field="bytes_per_second")


def _derive_ratio(state, direction):
    speed_name, name, allowed_field, unit, size_fields = DIRECTIONS[direction]
    if speed_name in state.absent and state.absent[speed_name]["reason"] != "absent.transfer_failed":
        state.copy_absence(name, speed_name)
        return
    form = state.form
    size_field = next((field for field in size_fields if form.get(field)), None)
    fields = ([] if size_field else [size_fields[0]]) + ([] if form.get(allowed_field) else [allowed_field])
    if fields:
        state.unknown(name, "absent.form", fields=", ".join(fields))
        return
    if speed_name in state.absent:
        state.copy_absence(name, speed_name)
        return
    entry = find_optional(state, MODULE, going(direction))
    speed, size, allowed = state.get(speed_name), form[size_field], form[allowed_field] * unit
    short = too_short(entry["result"], size)
    source = source_of(entry, "too short" if short else "")
    evidence = [{"what": direction + "_bytes_per_second", "value": speed, "source": source}]
    if short:
        # What a moment says of days is nothing to tell anybody.
        state.value(name, allowed * speed / size, evidence)
        _tentative(state, name, direction)
        note_test(state, name, entry, "finding.transfer_too_short")
        return
    evidence += [
        {"what": size_field, "value": size, "source": "workload form"},
        {"what": "transfer_seconds", "value": size / speed, "source": "%s / bytes_per_second" % size_field},
        {"what": "allowed_seconds", "value": allowed, "source": "workload form"},
    ]
    window = _window(entry["result"], size / allowed)
    if window:
        evidence += [
            {"what": "connect_seconds", "value": window[0], "source": source},
            {"what": "window_bytes", "value": window[1], "source": "needed bytes per second x connect_seconds"},
        ]
    state.value(name, allowed * speed / size, evidence)
    if window:
        state.values[name]["advice"] = "advice.transfer_window"
    note_test(state, name, entry)


def _window(result, needed):
    """(round trip, window that the needed rate takes) where one stream to a far endpoint can't hold it with usual buffers; None else."""
    if (amount(result, "streams") or 1) > 1 or result.get("proxy"):
        return None
    # Connecting takes one round trip, and looking the name up at first.
    trips = [amount(attempt, "connect_seconds") for attempt in maps(result, "attempts")]
    trip = min([found for found in trips if found], default=None)
    if trip is None or trip < FAR_SECONDS or needed * trip <= USUAL_WINDOW_BYTES:
        return None
    return trip, needed * trip


# ------------------------------------------------------------------------------------------- failures


def _tries(result, wanted=None):
    """{"all", "failed", "kinds": {kind: count}, "words": {kind: message}} of one test; None where it doesn't say.

    `wanted`: the checksum that the task gave; bytes that nobody compared with it count as wrong ones.
    """
    attempts = maps(result, "attempts")
    kinds, words = {}, {}
    for failure in [entry for attempt in attempts for entry in [*maps(attempt, "retries"), mapping(attempt, "error")] if entry]:
        kind = text(failure, "kind") or "local"
        kinds[kind] = kinds.get(kind, 0) + 1
        words.setdefault(kind, sentence(failure, "message") or "")
    retries, failed = amount(result, "retries_count"), amount(result, "attempts_failed")
    if attempts:
        # The list says more than the sums, and a sum that contradicts it is no reason to call a test clean.
        retries = max(retries or 0, sum(len(maps(attempt, "retries")) for attempt in attempts))
        failed = max(failed or 0, sum(1 for attempt in attempts if attempt.get("error")))
    count = len(attempts) or amount(result, "attempts_asked") or 0
    if not count or failed is None or retries is None or failed > count:
        return None
    verified = mapping(result, "checksum").get("verified")
    unknown = bool(wanted) and verified is not True and failed < count
    if (verified is False or unknown) and "checksum" not in kinds:
        failed = min(count, failed + 1)
        kinds["checksum"] = 1
        words["checksum"] = text(mapping(result, "checksum"), "how") or ""
    return {"all": count + retries, "failed": failed + retries, "kinds": kinds, "words": words}


def commonest(kinds):
    """The kinds of errors, the most frequent first."""
    return sorted(kinds, key=lambda kind: (-kinds[kind], kind))


def _first_error(tries):
    kind = next(iter(commonest(tries["kinds"])), None)
    return "?" if kind is None else tries["words"][kind] or kind


def failures_told(what, kinds, words, source):
    """Evidence of failures by kind: "upload refused": 2, then what was said."""
    told = []
    for kind in commonest(kinds)[:_KINDS_TOLD]:
        told.append({"what": "%s %s" % (what, kind), "value": kinds[kind], "source": source})
        if words.get(kind):
            told.append({"what": "said", "value": words[kind], "source": source})
    return told


def _derive_failures(state):
    found, told = [], []
    for direction in DIRECTIONS:
        entry = find_optional(state, MODULE, going(direction))
        tries = _tries(entry["result"], mapping(entry, "options").get("checksum")) if entry else None
        if tries:
            found.append((tries["failed"] / tries["all"], direction, tries, source_of(entry)))
            told.append(entry)
    if not found:
        # Nobody measured, or a tool of one's own that counts no attempts: nothing to say, and the speed has its own check.
        state.not_applicable(FAILURES, SILENT)
        return
    found.sort(key=lambda entry: (-entry[0], entry[1]))
    evidence = []
    for fraction, direction, tries, source in found:
        if fraction:
            evidence.append({"what": direction + "_tries", "value": "%g / %g" % (tries["failed"], tries["all"]), "source": source})
            evidence += failures_told(direction, tries["kinds"], tries["words"], source)
        if fraction == 1:
            evidence += _stored(state, direction, source)
    state.value(FAILURES, found[0][0], evidence)
    if any(failed_since(entry) for entry in told):
        state.values[FAILURES]["note"] = "finding.later_failed"
    kind = next(iter(commonest(found[0][2]["kinds"])), None)
    advice = [FAILED_ADVICE[kind]] if kind in FAILED_ADVICE else []
    if found[0][0] == 1:
        # Whoever mistyped a target measured nothing of this host.
        advice = [*(advice or ["advice.failed_said"]), "advice.failed_mistyped"]
    if advice:
        state.values[FAILURES]["advice"] = advice


def _stored(state, direction, source):
    """Evidence of a test of which nothing got through: its file, and what an earlier one of another target, which it hides, got."""
    tests = with_results(state.document, MODULE, going(direction))
    stamp = (text(tests[0], "finished") or "?").replace("-", "").replace(":", "")
    name = safe_name(text(state.document, "name") or text(tests[0], "name") or "?")
    told = [("transfer_target", _where(tests[0]), source), ("stored_as", "measurements/%s/%s-%s-*.json" % (name, MODULE, stamp), source)]
    earlier = next((entry for entry in tests[1:] if _speed(entry["result"]) is not None), None)
    if earlier is not None:
        # What a reader must know of that one isn't true of the test that is judged.
        other = "an earlier " + source_of(earlier)
        told.append(("earlier_" + direction, _where(earlier), other))
        told.append(("earlier_bytes_per_second", _speed(earlier["result"]), other))
    return [{"what": what, "value": value, "source": said} for what, value, said in told]


def _where(entry):
    """The target of a test without its direction."""
    target, _bracket, direction = (text(entry, "target") or "?").rpartition(" (")
    return target or direction


def _derive_distribution(state):
    entry = find_optional(state, MODULE, going("download"))
    result = mapping(entry, "result") if entry else {}
    together, alone, hosts = _speed(result), amount(result, "alone_bytes_per_second"), amount(result, "hosts_at_once") or 1
    if not together or not alone or alone < 1 or hosts < 2 or to_itself(state, entry):
        state.not_applicable(DISTRIBUTION, SILENT)
        return
    state.value(
        DISTRIBUTION,
        together / alone,
        [
            {"what": "together_bytes_per_second", "value": together, "source": source_of(entry)},
            {"what": "alone_bytes_per_second", "value": alone, "source": "this host alone"},
            {"what": "hosts_at_once", "value": int(hosts), "source": "measure_network"},
        ],
    )
