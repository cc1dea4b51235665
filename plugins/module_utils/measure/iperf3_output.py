# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parses what `iperf3 -J` (or --json-stream) printed, 3.1 to 3.20, noise included. Pure.

What a client prints, shortened; `send` is from the client to the server, `receive` (-R) from the server to the client:

    {"start": {"version": "iperf 3.12", "test_start": {"protocol": "TCP", "num_streams": 1, "reverse": 0}},
     "intervals": [...],
     "end": {"streams": [{"sender": {"mean_rtt": 1320, "min_rtt": 407}, "receiver": {}}],
             "sum_sent": {"bits_per_second": 5.23e9, "retransmits": 6}, "sum_received": {"bits_per_second": 5.14e9}}}

The exit status isn't asked: 3.12 ends with 0 after an error. A document that says an error, is cut off or has no sums gives no figure.
"""

from __future__ import annotations

import json
import re

DIRECTIONS = ("send", "receive")
# Below this a test says more about its start than about the link.
SHORT_SECONDS = 5
# What is no count: iperf3 prints -1 as 2^64 - 1 where the system doesn't count (2^63 and more).
_NO_COUNT = 1 << 63
_LARGEST = 1e18
# Bits a second that no link of a host carries, and no memory: eight ports of 800 Gb/s are 6.4e12.
IMPOSSIBLE_BITS_PER_SECOND = 1e13
# What a sender has on its way when a test ends, and nobody counts any more.
UNDER_WAY_SECONDS = 0.3
# No packet is later than that: it would be taken for lost.
_LONGEST_JITTER_SECONDS = 60
# Letters that may be read in vain while the result is looked for: so many times the text, and so many beside.
_MOST_VAIN, _LEAST_VAIN = 8, 1000000
_MAX_NOTES = 8


class _Repeated(list):
    """The values of a key that an object has more than once: iperf3 3.7 and 3.9 with --bidir."""


def parse_iperf3(text):
    """Text -> the facts; raises nothing for what text may hold.

    {"iperf3_version", "protocol" (tcp | udp | sctp), "bytes_per_second": {"send", "receive"} (as received; null: not measured),
     "retransmits" (of the senders; null where a sender doesn't count), "jitter_seconds", "lost_fraction" (UDP; the worse direction),
     "rtt_seconds" (the least seen by the client's sending streams), "rtt_loaded_seconds" (their mean), "path_mtu_bytes",
     "directions": {"send" | "receive": {"bytes_per_second", "sent_bytes_per_second", "retransmits", "jitter_seconds", "lost_fraction",
     "bytes", "seconds"}}, "streams", "omitted_seconds", "cpu_fraction": {"client", "server"} (1.0 = one core), "error", "notes"}
    """
    document, rest, broken, count = _document(text)
    facts = _empty()
    if document is None:
        words = _words(rest)
        facts["error"] = broken or ("no result of iperf3: %s" % words[0] if words else "no result of iperf3 in this text")
        facts["notes"] = words[1:_MAX_NOTES]
        return facts
    start, end = _dict(document.get("start")), _dict(document.get("end"))
    found = re.search(r"(\d+\.\d[\w.+-]*)", str(start.get("version") or ""))
    facts["iperf3_version"] = found.group(1) if found else None
    asked = _dict(start.get("test_start"))
    facts["protocol"] = plain_line(asked["protocol"], 20).lower() or None if asked.get("protocol") else None
    facts["streams"], facts["omitted_seconds"] = _count(asked.get("num_streams")), _number(asked.get("omit"))
    words = _words(rest)
    if count > 1:
        facts["notes"].append("%d results in this text; the last one was taken" % count)
    error = _error(document, end, words)
    if error:
        facts["error"] = error
        return facts
    facts["notes"] += words[:_MAX_NOTES]
    fastest = _fastest(end)
    if fastest >= IMPOSSIBLE_BITS_PER_SECOND:
        facts["error"] = "iperf3 says %.3g bits a second, which no link carries" % fastest
        return facts
    facts["error"] = _contradiction(end)
    if facts["error"]:
        return facts
    _figures(facts, end, asked)
    _latency(facts, document, end)
    if not any(facts["bytes_per_second"].values()) and facts["lost_fraction"] != 1.0:
        facts["error"] = "iperf3 counted no byte that arrived"
    return facts


def _empty():
    return {
        "iperf3_version": None, "protocol": None, "bytes_per_second": {"send": None, "receive": None}, "retransmits": None,
        "jitter_seconds": None, "lost_fraction": None, "rtt_seconds": None, "rtt_loaded_seconds": None, "path_mtu_bytes": None,
        "directions": {}, "streams": None, "omitted_seconds": None, "cpu_fraction": {"client": None, "server": None},
        "error": None, "notes": [],
    }


# ------------------------------------------------------------- finding the result


def _pairs(found):
    values = {}
    for key, value in found:
        if key in values:
            earlier = values[key]
            value = _Repeated((earlier if isinstance(earlier, _Repeated) else [earlier]) + [value])
        values[key] = value
    return values


def _document(text):
    """(the last result or None, the text around it, why it is broken or None, how many results there were)."""
    # The constants (NaN, Infinity) are no figures. Not strict: a host's name may hold what JSON would have escaped.
    decoder = json.JSONDecoder(object_pairs_hook=_pairs, strict=False, parse_constant=lambda _name: None)
    documents, events, around, broken, at, vain = [], [], [], None, 0, 0
    for found in re.finditer(r"^[ \t]*(?=\{)", text, re.MULTILINE):
        if found.start() < at:
            continue
        if vain > _MOST_VAIN * len(text) + _LEAST_VAIN:
            break
        try:
            value, end = decoder.raw_decode(text, found.end())
        except (ValueError, RecursionError) as error:
            # A text in which every line begins another object would be read to its end for each of them; an error counts the lines before it.
            vain += max(getattr(error, "pos", len(text)) - found.end(), 0) + found.end() // 32 + 1
            if re.match(r'\{\s*"(start|event)"', text[found.end():found.end() + 100]):
                broken = "iperf3's result is cut off or broken: %s" % error
                # What follows a broken one is part of it, or of something that nobody can tell apart from it.
                break
            continue
        if not isinstance(value, dict):
            continue
        around.append(text[at:found.start()])
        at = end
        if "event" in value:
            broken = None
            events.append(value)
        elif "start" in value and "end" in value:
            documents.append(value)
        else:
            around.append(text[found.start():end])
    around.append(text[at:])
    if events and not documents:
        documents, unfinished = _of_events(events)
        broken = broken or unfinished
    if broken:
        return None, "", broken, len(documents)
    return (documents[-1] if documents else None), "\n".join(around), None, len(documents)


def _of_events(events):
    """The documents of a stream of events (--json-stream, 3.17 and newer), and why the last one is none."""
    documents, current = [], None
    for event in events:
        kind, data = event.get("event"), event.get("data")
        if current is None and kind not in ("start", "error"):
            return documents, "iperf3's result is cut off: its first event is %r, not the start" % kind
        if kind == "start" or current is None:
            current = {"start": {}, "intervals": [], "end": None}
        if kind == "interval":
            current["intervals"].append(data)
        elif kind in ("start", "end", "error"):
            current[kind] = data
        if kind == "end":
            documents.append(current)
            current = None
    if current is not None and not current.get("error"):
        return documents, "iperf3's result is cut off: its last event is %r, not the end" % events[-1].get("event")
    return documents + ([current] if current is not None else []), None


def plain_line(value, limit):
    """What a program said, as one line without control characters and those that turn the writing round.

    >>> plain_line("a\\x1b[31m\\u202eb\\n c", 20)
    'a [31m b c'
    """
    text = str(value)[:4 * limit]
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())[:limit]


def _words(text):
    """The lines of noise, each once."""
    lines = [plain_line(line, 300) for line in text.splitlines() if not line.lstrip().startswith(("}", "]"))]
    return list(dict.fromkeys(line for line in lines if line))


def _error(document, end, words):
    """What the result or the text around it says went wrong, None where it has figures and says nothing."""
    said = document.get("error")
    if isinstance(said, _Repeated):
        said = said[-1]
    if said:
        return re.sub(r"\A(iperf3: )?error - ", "", plain_line(said, 500)).strip().rstrip(":") or "iperf3 says an error without a word"
    if any(key.startswith("sum") for key in end):
        return None
    said = next((re.sub(r"\Aiperf3: (error - )?", "", line) for line in words if line.startswith("iperf3: ")), None)
    return said or "iperf3 ended without a result and said no reason%s" % (": %s" % words[0] if words else "")


# ------------------------------------------------------------------------- figures


def _dict(value):
    if isinstance(value, _Repeated):
        value = value[-1]
    return value if isinstance(value, dict) else {}


def _dicts(value):
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _number(value):
    """A finite number of sane size that isn't negative, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < _LARGEST:
        return None
    return value


def _count(value):
    """A count, None where it is none: negative, -1 printed as 2^64 - 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < _NO_COUNT:
        return None
    return int(value)


def _sums(end, asked):
    """{"send" | "receive": {"sum", "sum_sent", "sum_received"}} of the directions that were tested."""
    names = ("sum", "sum_sent", "sum_received")
    split, plain = dict((direction, {}) for direction in DIRECTIONS), {}
    for name in names:
        values = end.get(name)
        if isinstance(values, _Repeated):
            # 3.7 and 3.9 print both directions under one name, the client's own sending first.
            for position, value in enumerate(each for each in values if isinstance(each, dict)):
                backwards = not value["sender"] if isinstance(value.get("sender"), bool) else position > 0
                split["receive" if backwards else "send"].setdefault(name, value)
        elif isinstance(values, dict):
            plain[name] = values
        other = end.get(name + "_bidir_reverse")
        if isinstance(other, dict):
            split["receive"][name] = other
    if plain and split["receive"]:
        split["send"].update((name, value) for name, value in plain.items() if name not in split["send"])
    elif plain:
        split["receive" if _backwards(plain, asked) else "send"].update(plain)
    return dict((direction, sums) for direction, sums in split.items() if sums)


def _backwards(sums, asked):
    """Whether a test of one direction went from the server to the client."""
    if _number(asked.get("reverse")) is not None:
        return bool(asked["reverse"])
    # sum_received of UDP always has sender: false.
    flag = _dict(sums.get("sum_sent") or sums.get("sum")).get("sender")
    return flag is False


def _figures(facts, end, asked):
    for direction, sums in _sums(end, asked).items():
        udp = facts["protocol"] == "udp" or "sum" in sums
        if udp and facts["protocol"] is None:
            facts["protocol"] = "udp"
        entry = _udp(sums, facts["notes"]) if udp else _tcp(sums, direction, facts)
        facts["directions"][direction] = entry
        facts["bytes_per_second"][direction] = entry["bytes_per_second"]
        if entry["bytes_per_second"] is not None and entry["seconds"] is not None and entry["seconds"] < SHORT_SECONDS:
            if _number(asked.get("bytes")) or _number(asked.get("blocks")):
                facts["notes"].append("a transfer of a given size that took %.2f s only: 3.16 and newer count waiting in, so that this is "
                                      "no rate of the link" % entry["seconds"])
            elif entry["seconds"] < 1:
                facts["notes"].append("lasted %.2f s only: no rate of the link" % entry["seconds"])
    entries = list(facts["directions"].values())
    counted = [entry["retransmits"] for entry in entries]
    facts["retransmits"] = sum(counted) if counted and None not in counted else None
    for key in ("jitter_seconds", "lost_fraction"):
        values = [entry[key] for entry in entries if entry[key] is not None]
        facts[key] = max(values) if values else None


def _all_sums(end):
    """Every sum of a result, however it is called."""
    values = [value for key, value in end.items() if key.startswith("sum") or isinstance(value, _Repeated)]
    return [each for value in values for each in (value if isinstance(value, _Repeated) else [value]) if isinstance(each, dict)]


def _fastest(end):
    """The largest rate that any sum says, however large; 0 where none does."""
    rates = [each.get("bits_per_second") for each in _all_sums(end)]
    return min(max([rate for rate in rates if isinstance(rate, (int, float)) and not isinstance(rate, bool) and rate > 0] or [0]), _LARGEST)


def _contradiction(end):
    """What a sum says of its rate that its bytes and seconds don't, None where all fit."""
    for each in _all_sums(end):
        bits, moved, seconds = (_number(each.get(key)) for key in ("bits_per_second", "bytes", "seconds"))
        if bits and seconds and moved is not None and not 0.5 <= 8 * moved / seconds / bits <= 2:
            return "iperf3's figures contradict each other: %.3g bytes in %.3g s aren't %.3g bits a second" % (moved, seconds, bits)
    return None


def _rate(entry):
    bits = _number(_dict(entry).get("bits_per_second"))
    return None if bits is None else bits / 8.0


def _tcp(sums, direction, facts):
    sent, received = _dict(sums.get("sum_sent")), _dict(sums.get("sum_received"))
    rate = _rate(received)
    if not rate and _rate(sent):
        facts["notes"].append("%s: the receiver's count is missing; what was sent is no measure of what arrived" % direction)
    retransmits = _count(sent.get("retransmits"))
    if direction == "receive" and retransmits == 0 and str(facts["iperf3_version"] or "").startswith("3.0"):
        # The sender is the server, and before 3.1 it doesn't tell.
        retransmits = None
    return {"bytes_per_second": rate or None, "sent_bytes_per_second": _rate(sent), "retransmits": retransmits, "jitter_seconds": None,
            "lost_fraction": None, "bytes": _number(received.get("bytes")), "seconds": _number(received.get("seconds"))}


def _udp(sums, notes):
    """`sum` is what the sender sent, whatever arrived; `sum_received` is there from 3.10 on."""
    total, received = _dict(sums.get("sum") or sums.get("sum_sent")), _dict(sums.get("sum_received"))
    counted = received or total
    lost, packets = _count(counted.get("lost_packets")), _count(counted.get("packets"))
    fraction = None
    if packets and lost is not None:
        cut_off = _lost_at_the_end(sums)
        fraction = min(1.0, (lost + cut_off) / float(packets + cut_off))
    elif _number(counted.get("lost_percent")) is not None and packets is None:
        fraction = min(1.0, counted["lost_percent"] / 100.0)
    if received:
        rate = _rate(received)
        if not rate and _count(total.get("packets")):
            rate, fraction = 0.0, 1.0
    elif fraction is None:
        rate = None
        notes.append("how many packets arrived isn't told; what was sent is no measure of it")
    else:
        rate = _rate(total)
        rate = None if rate is None else rate * (1 - fraction)
    jitter = _number(counted.get("jitter_ms"))
    if jitter is not None and jitter > 1000 * _LONGEST_JITTER_SECONDS:
        jitter = None
    return {"bytes_per_second": rate, "sent_bytes_per_second": _rate(total), "retransmits": None,
            "jitter_seconds": None if jitter is None or fraction == 1.0 else jitter / 1000.0, "lost_fraction": fraction,
            "bytes": _number(received.get("bytes")), "seconds": _number(counted.get("seconds"))}


def _lost_at_the_end(sums):
    """Packets after the last one that arrived: a receiver finds gaps between packets only. 0 where they may be under way still."""
    sides = [_dict(sums.get(name)) for name in ("sum", "sum_sent")]
    sent, seconds = (max(_number(side.get(key)) or 0 for side in sides) for key in ("packets", "seconds"))
    seen = _count(_dict(sums.get("sum_received")).get("packets"))
    if seen is None or not seconds or sent - seen <= UNDER_WAY_SECONDS / seconds * sent:
        return 0
    return sent - seen


def _latency(facts, document, end):
    """Round trips of the streams that this client sent on (a receiver's are none), the path's MTU, and how busy both ends were."""
    senders = [_dict(stream.get("sender")) for stream in _dicts(end.get("streams"))]
    if "send" in facts["directions"]:
        own = [sender for sender in senders if sender.get("sender") is not False]
        least = [_number(sender.get("min_rtt")) for sender in own if _number(sender.get("min_rtt"))]
        means = [_number(sender.get("mean_rtt")) for sender in own if _number(sender.get("mean_rtt"))]
        facts["rtt_seconds"] = min(least or means) / 1e6 if least or means else None
        facts["rtt_loaded_seconds"] = sum(means) / len(means) / 1e6 if means else None
    sizes = [_number(stream.get("pmtu")) for interval in _dicts(document.get("intervals"))
             for stream in _dicts(interval.get("streams")) if stream.get("sender") is not False]
    facts["path_mtu_bytes"] = min((int(size) for size in sizes if size), default=None)
    busy = _dict(end.get("cpu_utilization_percent"))
    for side, key in (("client", "host_total"), ("server", "remote_total")):
        percent = _number(busy.get(key))
        facts["cpu_fraction"][side] = None if percent is None else percent / 100.0
