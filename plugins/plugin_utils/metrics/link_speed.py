# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the link test (link_benchmark) measured of this host's own link: its speed against the line or the group, loss, MTU, counters."""

from __future__ import annotations

import functools
import re

from ..link_figures import IMPOSSIBLE_OF_LINE_RATE, bandwidth_delay_bytes, tcp_goodput_fraction, window_limited_bits_per_second
from ..link_judging import judgeable_rate
from ..link_losses import LOSSY_FRACTION, again_fraction, lower_median
from .catalogue import load_reference
from .measurements import SILENT, failed_since, find_measurement, find_optional, with_error
from .registry import amount, define, flag, mapping, maps, sentence, text

MODULE = "link_benchmark"
OF_LINE, FLOOR, OF_GROUP = "network.link_fraction_of_line_rate", "network.link_floor_ratio", "network.link_fraction_of_group_median"
FAILED, RETRANSMITS, LOST = "network.link_pairs_failed", "network.link_retransmit_fraction", "network.link_lost_fraction"
JITTER, TRIP, PATH_MTU, GROWTH = "network.link_jitter_seconds", "network.link_rtt_seconds", "network.path_mtu", "network.counter_growth"
_RESULT = "link_benchmark.result."

define(
    OF_LINE,
    "fraction",
    "the host's own rate in its worse direction (upper median of its pairs) / line rate of the link; physical links up to 100 Gbit/s only",
    (_RESULT + "fraction_of_line_rate", _RESULT + "judged_by"),
    "主机自身较差方向的速率（各配对的上中位数）/ 链路线速；仅适用于不超过 100 Gbit/s 的物理链路",
)
define(
    FLOOR,
    "ratio",
    "network.link_fraction_of_line_rate / the floor of the link's speed: 0.85 up to 10 Gbit/s, 0.80 above "
    "(roles/audit/files/reference/links.yml)",
    (OF_LINE, _RESULT + "line_rate_bits_per_second"),
    "network.link_fraction_of_line_rate / 该速率等级的下限：10 Gbit/s 及以下为 0.85，以上为 0.80（roles/audit/files/reference/links.yml）",
)
define(
    OF_GROUP,
    "fraction",
    "the host's own rate in its worse direction / the median of all hosts of the test; virtual links and those above 100 Gbit/s, of three "
    "hosts or more",
    (_RESULT + "fraction_of_group_median", _RESULT + "judged_by"),
    "主机自身较差方向的速率 / 全部参测主机的中位数；用于虚拟链路和 100 Gbit/s 以上的链路，至少三台主机",
)
define(
    FAILED,
    "fraction",
    "pairs of this host that ended in an error / its pairs; 1 where the newest test had no figure of any pair",
    (_RESULT + "pairs[].error", _RESULT + "failed_since"),
    "该主机以错误结束的配对 / 其全部配对；最近一次测试所有配对均无数据时为 1",
)
define(
    RETRANSMITS,
    "fraction",
    "TCP segments sent again / segments sent, of what this host sends or of what is sent to it, whichever is worse: lower median of its "
    "pairs with hosts that don't lose themselves; a segment is the path's MTU less 52 bytes, else 1448",
    (_RESULT + "retransmit_fraction", "…pairs[].retransmits", "…send_bytes_per_second", "…path_mtu_bytes", "link_benchmark.options.seconds"),
    "重传的 TCP 段 / 发送的段，取本机发送与发往本机中较差者：与自身不丢包的主机各配对的下中位数；段长为路径 MTU 减 52 字节，未知时取 1448",
)
define(
    LOST,
    "fraction",
    "UDP packets lost on the way, of what this host sends or of what is sent to it, whichever is worse: lower median of its pairs with "
    "hosts that don't lose themselves",
    (_RESULT + "lost_fraction",),
    "途中丢失的 UDP 包占比，取本机发送与发往本机中较差者：与自身不丢包的主机各配对的下中位数",
)
define(JITTER, "seconds", "jitter of UDP packets, median of its pairs", (_RESULT + "jitter_seconds",), "UDP 包的抖动，各配对的中位数")
define(
    TRIP,
    "seconds",
    "round trip to the other hosts, median of its pairs",
    (_RESULT + "rtt_seconds",),
    "到其他主机的往返时间，各配对的中位数",
)
define(
    PATH_MTU,
    "word",
    "as_the_interface, smaller_than_interface (the path carries smaller packets than this host's interface) or black_hole (large packets "
    "get lost and nobody says so)",
    (_RESULT + "path_mtu_bytes", _RESULT + "interface", _RESULT + "black_hole", "network.interfaces[].mtu"),
    "as_the_interface、smaller_than_interface（路径可承载的包小于本机网口的 MTU）或 black_hole（大包丢失且无人告知）",
    good="as_the_interface",
)
define(
    GROWTH,
    "count",
    "errors and lost carriers of interface and RDMA port that came during the link test, and dropped frames where there are 100 or more "
    "of a "
    "kind; waiting for credits and slowed-down senders (port_xmit_wait, roce_*) aren't errors",
    (_RESULT + "counters_growth",),
    "链路测试期间网口和 RDMA 端口新增的错误与掉线次数，以及单类达到 100 的丢包；等待信用和发送端降速（port_xmit_wait、roce_*）不算错误",
)

# What the usual largest TCP buffers hold for one stream.
_USUAL_WINDOW_BYTES = 3 * 2**20
# A speed between these shares of what such windows allow is theirs: buffers are set a little smaller or larger here and there.
_NEAR_WINDOW = (0.4, 1.6)
# Below this share of the better direction the worse one has a fault of its own.
_ONE_WAY_FRACTION = 0.8
_PASSED_ON = ("port_xmit_wait", "roce_adp_retrans", "roce_slow_restart")
_DROPS = ("rx_dropped", "tx_dropped", "port_xmit_discards", "VL15_dropped")
# A few frames of protocols that nobody here speaks are dropped on every network.
FEW_DROPS = 100
_PEERS_TOLD = 2
# So many times the middle of a group no link is: the file was changed, or another tool wrote it.
_IMPOSSIBLE_OF_GROUP = 1000
# What a test says that tried every pair of a host in vain (link_store.failure_of); one that was ended before their turn tried none.
_NO_FIGURE = re.compile(r"no pair of \d+ gave a figure; the first: (?!no pair was tested|the play ended)(.+)", re.S)
# What link_benchmark takes where it is not told.
DEFAULT_SECONDS = 10


def derive(state):
    """Every metric of links."""
    entry = find_optional(state, MODULE)
    if entry is None:
        _not_measured(state)
        return
    result, source = entry["result"], "%s %s" % (MODULE, text(entry, "finished") or "?")
    _derive_line(state, result, source)
    _derive_group(state, result, source)
    _derive_failed(state, result, source)
    _derive_retransmits(state, entry, source)
    _derive_lost(state, result, source)
    for name, field in ((JITTER, "jitter_seconds"), (TRIP, "rtt_seconds")):
        value = amount(result, field)
        if value is None:
            state.not_applicable(name, SILENT)
        else:
            state.value(name, value, [{"what": field, "value": value, "source": source}])
    _derive_mtu(state, result, source)
    _derive_growth(state, result, source)
    _advise(state, result)
    if failed_since(entry):
        _older(state, failed_since(entry))


def _older(state, failure):
    """Says that a later test failed: of every figure that passes, and as failed pairs where it tried them all in vain."""
    for name in (OF_LINE, FLOOR, OF_GROUP, RETRANSMITS, LOST, PATH_MTU, GROWTH, FAILED):
        if name in state.values:
            state.values[name]["note"] = "finding.later_failed"
    said = _NO_FIGURE.match(sentence(failure, "message") or "")
    if said:
        _all_failed(state, said[1], text(failure, "finished"))


def _all_failed(state, said, finished):
    state.absent.pop(FAILED, None)
    state.value(FAILED, 1, [{"what": "no_pair", "value": said, "source": "%s %s" % (MODULE, finished or "?")}])


def _not_measured(state):
    """Nobody asked for a link test; one that failed says so once."""
    for name in (OF_LINE, FLOOR, OF_GROUP, FAILED, RETRANSMITS, LOST, JITTER, TRIP, PATH_MTU, GROWTH):
        state.not_applicable(name, SILENT)
    failed = with_error(state.document, MODULE)
    if failed:
        del state.absent[FAILED]
        said = _NO_FIGURE.match(failed["error"] or "")
        if said:
            _all_failed(state, said[1], failed["finished"])
        else:
            find_measurement(state, FAILED, MODULE)


@functools.lru_cache(maxsize=1)
def _classes():
    return tuple(load_reference("links.yml")["classes"])


def floor_fraction(line_rate):
    """The share of its line rate below which a link of this speed (bits per second) is too slow."""
    for speed in _classes():
        if line_rate <= speed["bits_per_second"]:
            return speed["floor_bits_per_second"] / speed["bits_per_second"]
    last = _classes()[-1]
    return last["floor_bits_per_second"] / last["bits_per_second"]


def _rates(result, source):
    """Evidence of what the link did: the worse direction first, the line, the peers that it was worst with."""
    known = [(amount(result, way + "_bytes_per_second"), way) for way in ("send", "receive")]
    known = sorted(entry for entry in known if entry[0] is not None)
    told = [{"what": way + "_bytes_per_second", "value": value, "source": source} for value, way in known]
    line = amount(result, "line_rate_bits_per_second")
    if line and text(result, "judged_by") == "line_rate":
        told.append({"what": "line_rate_bits_per_second", "value": line, "source": source})
        mtu = amount(result, "path_mtu_bytes") or 0
        if 576 <= mtu <= 65536:
            told.append({"what": "tcp_goodput_fraction", "value": tcp_goodput_fraction(mtu), "source": source})
    middle = amount(result, "group_median_bytes_per_second")
    if middle and text(result, "judged_by") == "group":
        told.append({"what": "group_median_bytes_per_second", "value": middle, "source": source})
    peer = text(result, "undecided_with")
    if peer:
        told.append({"what": "undecided_with", "value": peer, "source": source})
    return told


def _derive_line(state, result, source):
    if _is_hidden(state, result, "hidden_by", (OF_LINE, FLOOR) if _judged_by(result) == "line_rate" else ()):
        return
    value = amount(result, "fraction_of_line_rate")
    if value is not None and value > IMPOSSIBLE_OF_LINE_RATE:
        value = None
    if text(result, "judged_by") != "line_rate" or value is None:
        reason = "absent.link_by_group" if _judged_by(result) == "group" else "absent.link_unjudged"
        if text(result, "judged_by") == "line_rate":
            for name in (OF_LINE, FLOOR):
                state.unknown(name, "absent.measurement_incomplete", module=MODULE, field="fraction_of_line_rate")
            return
        for name in (OF_LINE, FLOOR):
            state.not_applicable(name, reason)
        return
    evidence = _rates(result, source)
    state.value(OF_LINE, value, evidence)
    line = amount(result, "line_rate_bits_per_second")
    if line:
        state.value(FLOOR, value / floor_fraction(line), evidence)
    else:
        state.unknown(FLOOR, "absent.measurement_incomplete", module=MODULE, field="line_rate_bits_per_second")


def _judged_by(result):
    """What judges a link, also where nothing could be judged since all its partners are slow."""
    would = "line_rate" if judgeable_rate(result) else "group"
    return would if text(result, "hidden_by") else text(result, "judged_by")


_HIDDEN = {"hidden_by": "absent.link_hidden_by", "loss_hidden_by": "absent.link_loss_hidden_by"}


def _is_hidden(state, result, field, names):
    """Makes metrics unknown of a host that was tested only with hosts that are faulty themselves."""
    peer = text(result, field)
    for name in names if peer else ():
        state.unknown(name, _HIDDEN[field], module=MODULE, peer=peer)
    return bool(peer and names)


def _derive_group(state, result, source):
    if _is_hidden(state, result, "hidden_by", (OF_GROUP,) if _judged_by(result) == "group" else ()):
        return
    value = amount(result, "fraction_of_group_median")
    if value is not None and value > _IMPOSSIBLE_OF_GROUP:
        value = None
    if text(result, "judged_by") != "group":
        reason = "absent.link_by_line" if _judged_by(result) == "line_rate" else "absent.link_unjudged"
        state.not_applicable(OF_GROUP, reason)
    elif value is None:
        state.unknown(OF_GROUP, "absent.measurement_incomplete", module=MODULE, field="fraction_of_group_median")
    else:
        state.value(OF_GROUP, value, _rates(result, source))


def _derive_failed(state, result, source):
    pairs = maps(result, "pairs")
    if not pairs:
        state.not_applicable(FAILED, SILENT)
        return
    failed = [pair for pair in pairs if pair.get("error")]
    told = []
    for pair in failed[:_PEERS_TOLD]:
        said = sentence(mapping(pair, "error"), "message") or text(mapping(pair, "error"), "kind") or sentence(pair, "error") or "?"
        told.append({"what": "with %s" % (text(pair, "peer") or "?"), "value": said, "source": source})
    state.value(FAILED, len(failed) / len(pairs), told)


def _derive_retransmits(state, entry, source):
    result = entry["result"]
    value = amount(result, "retransmit_fraction")
    if value is None and _is_hidden(state, result, "loss_hidden_by", (RETRANSMITS,)):
        return
    if value is not None:
        state.value(RETRANSMITS, min(value, 1), _losses(result, "again", text(result, "retransmit_direction"), source))
        return
    # Tests of older versions: what this host sent again, nobody's loss but its own being known.
    options = mapping(entry, "options")
    # A round of tests that names no seconds takes the module's own.
    seconds = amount(options, "seconds") or amount(result, "seconds") or (DEFAULT_SECONDS if text(options, "session") else None)
    shares = []
    for pair in maps(result, "pairs"):
        share = again_fraction(
            amount(pair, "retransmits"),
            amount(pair, "send_bytes_per_second"),
            amount(pair, "seconds") or seconds,
            amount(result, "path_mtu_bytes"),
        )
        if share is not None:
            shares.append((share, text(pair, "peer") or "?"))
    if not shares:
        state.not_applicable(RETRANSMITS, SILENT)
        return
    shares.sort()
    told = [{"what": "again to %s" % peer, "value": share, "source": source} for share, peer in shares[::-1][:_PEERS_TOLD]]
    state.value(RETRANSMITS, lower_median(share for share, _peer in shares), told)


def _derive_lost(state, result, source):
    value, pairs = amount(result, "lost_fraction"), maps(result, "pairs")
    failed = sum(1 for pair in pairs if pair.get("udp_error"))
    if value is None and _is_hidden(state, result, "loss_hidden_by", (LOST,)):
        return
    if failed and (value is None or 2 * failed > len(pairs) and value <= LOSSY_FRACTION):
        # What few pairs didn't lose says nothing of the others.
        state.unknown(LOST, "absent.link_no_udp", module=MODULE, failed=failed, count=len(pairs))
        return
    if value is None:
        state.not_applicable(LOST, SILENT)
        return
    told = _losses(result, "lost", text(result, "lost_direction"), source)
    state.value(LOST, min(value, 1), told or [{"what": "lost_fraction", "value": value, "source": source}])


def _losses(result, kind, way, source):
    """Evidence of what is lost: the peers with whom most is, in the worse direction, and whose loss it may be as well."""
    word, field = ("from", "received_%s_fraction") if way == "receive" else ("to", "sent_%s_fraction")
    shares = [(amount(pair, field % kind), text(pair, "peer") or "?") for pair in maps(result, "pairs")]
    shares = sorted((entry for entry in shares if entry[0]), key=lambda entry: (-entry[0], entry[1]))
    told = [{"what": "%s %s %s" % (kind, word, peer), "value": share, "source": source} for share, peer in shares[:_PEERS_TOLD]]
    peer = text(result, "loss_undecided_with")
    return told + ([{"what": "loss_undecided_with", "value": peer, "source": source}] if peer and told else [])


def _derive_mtu(state, result, source):
    path, own = amount(result, "path_mtu_bytes"), amount(result, "interface_mtu_bytes")
    name = text(result, "interface")
    if own is None and name:
        network, _problem = state.subject("network")
        own = next((amount(each, "mtu") for each in maps(network or {}, "interfaces") if text(each, "name") == name), None)
    told = [{"what": "path_mtu_bytes", "value": path, "source": source}] if path else []
    if own:
        told.append({"what": "interface_mtu_bytes", "value": own, "source": name or source})
    if flag(result, "black_hole"):
        state.value(PATH_MTU, "black_hole", told)
    elif not path or not own:
        state.not_applicable(PATH_MTU, SILENT)
    else:
        state.value(PATH_MTU, "smaller_than_interface" if path < own else "as_the_interface", told)


def _derive_growth(state, result, source):
    growth = result.get("counters_growth")
    if not isinstance(growth, dict):
        state.not_applicable(GROWTH, SILENT)
        return
    counted = []
    for name in sorted((key for key in growth if isinstance(key, str)), key=str):
        count, kind = amount(growth, name), name.rpartition(".")[2]
        if count and kind not in _PASSED_ON and (kind not in _DROPS or count >= FEW_DROPS):
            counted.append((count, name[:80]))
    counted.sort(key=lambda entry: (-entry[0], entry[1]))
    told = [{"what": "counter " + name, "value": count, "source": source} for count, name in counted[:8]]
    state.value(GROWTH, sum(count for count, _name in counted), told)


def _advise(state, result):
    """Gives the checks on speed the advice that fits what else the test showed."""
    key = _advice(state, result)
    for name in (OF_LINE, FLOOR, OF_GROUP):
        if key and name in state.values:
            state.values[name]["advice"] = key
            if key == "advice.link_window":
                told = {"what": "window_allows_bits_per_second", "value": _window_rate(state, result), "source": MODULE}
                state.values[name]["evidence"] = [*state.values[name]["evidence"], told]


def _advice(state, result):
    if state.get(GROWTH):
        return "advice.link_cable"
    if (state.get(RETRANSMITS) or 0) > LOSSY_FRACTION or (state.get(LOST) or 0) > LOSSY_FRACTION:
        return "advice.link_loss"
    if state.get(PATH_MTU) == "black_hole":
        return "advice.link_mtu"
    if text(result, "undecided_with"):
        return "advice.link_undecided"
    send, receive = amount(result, "send_bytes_per_second"), amount(result, "receive_bytes_per_second")
    if send is not None and receive is not None and min(send, receive) < _ONE_WAY_FRACTION * max(send, receive):
        return "advice.link_one_way"
    return "advice.link_window" if _window_rate(state, result) else None


def _window_rate(state, result):
    """Bits per second that usual TCP windows allow on a long way, where the speed measured is about that; None where it isn't the window."""
    line, trip, streams = amount(result, "line_rate_bits_per_second"), state.get(TRIP), amount(result, "parallel") or 1
    rates = [rate for rate in (amount(result, way + "_bytes_per_second") for way in ("send", "receive")) if rate]
    if not (line and trip and rates) or bandwidth_delay_bytes(line, trip) <= streams * _USUAL_WINDOW_BYTES:
        return None
    allowed = streams * window_limited_bits_per_second(_USUAL_WINDOW_BYTES, trip)
    low, high = _NEAR_WINDOW
    return allowed if low * allowed <= 8 * min(rates) <= high * allowed else None
