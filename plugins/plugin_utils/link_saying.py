# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a link test says on the console when it is over: each host's figures, who is slow or loses packets and by how much. Pure.

A policy may judge otherwise; these are the limits of the one that is shipped.
"""

from __future__ import annotations

from . import complaints
from .link_judging import SLOW_FRACTION
from .link_losses import LOSSY_FRACTION
from .messages import sentence
from .numbers import format_bit_rate, format_fraction
from .report.clean import brief

MOST_NAMED, MOST_PAIRS = 20, 5
# Of why a pair failed so many letters are said.
MOST_WORDS = 240
_ONLY_HERE = (("only_slow", "slow_fraction"), ("only_lost", "lost_fraction"), ("only_again", "retransmit_fraction"))
TABLE = {
    "send": ("sends {rate}", "发送 {rate}"),
    "receive": ("receives {rate}", "接收 {rate}"),
    "slow_line": ("slow: {share} of the line rate of {rate}", "偏慢：线速 {rate} 的 {share}"),
    "slow_group": ("slow: {share} of the group's median of {rate}", "偏慢：同组中位数 {rate} 的 {share}"),
    "lossy": ("loses packets: {said}", "丢包：{said}"),
    "again": ("{share} of its TCP segments are sent again", "TCP 段重传 {share}"),
    "again_send": ("{share} of the TCP segments that it sends are sent again", "其发送的 TCP 段重传 {share}"),
    "again_receive": ("{share} of the TCP segments sent to it are sent again", "发往它的 TCP 段重传 {share}"),
    "lost": ("{share} of its UDP packets get lost", "UDP 包丢失 {share}"),
    "lost_send": ("{share} of the UDP packets that it sends get lost", "其发送的 UDP 包丢失 {share}"),
    "lost_receive": ("{share} of the UDP packets sent to it get lost", "发往它的 UDP 包丢失 {share}"),
    "pairs_failed": ("pairs that failed: {failed} of {count}", "{count} 个配对中有 {failed} 个失败"),
    "undecided": ("tested with {peer} only, so which of the two it is isn't known", "仅与 {peer} 互测，无法判断是哪一台的问题"),
    "no_udp": ("no answer to UDP in {failed} of {count} pairs, so what it loses isn't known", "{count} 个配对中有 {failed} 个的 UDP 没有应答，丢包情况未知"),
    "hidden_slow": ("how fast its own link is isn't known: tested with slow hosts only ({peer})", "其自身链路的速率未知：仅与偏慢的主机（{peer}）互测"),
    "hidden_lossy": ("what its own link loses isn't known: tested only with hosts that lose packets ({peer})",
                     "其自身链路是否丢包未知：仅与丢包的主机（{peer}）互测"),
    "hidden": ("not known, since tested with faulty hosts only: {hosts}", "未知（仅与有问题的主机互测）：{hosts}"),
    "pair": ("{one} and {other}", "{one} 与 {other}"),
    "only_here": ("between {pair} only: {said}", "仅 {pair} 之间：{said}"),
    "only_slow": ("{share} of the speed that both reach with others", "速率为两者与其他主机之间的 {share}"),
    "only_lost": ("{share} of UDP packets get lost", "UDP 包丢失 {share}"),
    "only_again": ("{share} of TCP segments are sent again", "TCP 段重传 {share}"),
    "failed": ("{failed} of {count} pairs failed: {pairs}", "{count} 个配对中有 {failed} 个失败：{pairs}"),
    "udp_failed": ("no answer to UDP in {failed} of {count} pairs: {pairs}", "{count} 个配对中有 {failed} 个的 UDP 没有应答：{pairs}"),
    "pairs_more": ("{count} more", "另有 {count} 个"),
    "no_figure": ("no pair gave a figure", "所有配对均无数据"),
    "named": ("{host} ({said})", "{host}（{said}）"),
    "found": ("the links of {count} hosts: {said}", "{count} 台主机的链路：{said}"),
    "fine": ("none is slow or loses packets", "没有主机偏慢或丢包"),
    "unjudged": ("the speed of {count} isn't judged: nothing says what it should be", "{count} 台的速率未评判：没有可比较的依据"),
    "not_tested": ("not tested: {hosts}", "未测试：{hosts}"),
    "more": ("{count} more", "另有 {count} 台"),
    "comma": (", ", "，"),
    "semicolon": ("; ", "；"),
}


def _text(language, key, **params):
    return sentence(TABLE[key], language, params)


def figures(result, language="en"):
    """sends 95.5 Mbit/s, receives 19 Mbit/s; "" where nothing was measured."""
    known = [(way, result.get(way + "_bytes_per_second")) for way in ("send", "receive")]
    return _text(language, "comma").join(_text(language, way, rate=format_bit_rate(rate * 8)) for way, rate in known if rate is not None)


def troubles(result, language="en"):
    """[what is wrong with a host's own link], the worst first; [] where nothing is known to be."""
    said = []
    if is_slow(result):
        by_line = result["judged_by"] == "line_rate"
        share = result["fraction_of_line_rate" if by_line else "fraction_of_group_median"]
        rate = result["line_rate_bits_per_second"] if by_line else result["group_median_bytes_per_second"] * 8
        said.append(_text(language, "slow_line" if by_line else "slow_group", share=format_fraction(share), rate=format_bit_rate(rate)))
    if said and result.get("undecided_with"):
        said.append(_text(language, "undecided", peer=result["undecided_with"]))
    losses = []
    for kind, name in (("lost", "lost"), ("again", "retransmit")):
        share = result.get(name + "_fraction") or 0
        if share > LOSSY_FRACTION:
            way = result.get(name + "_direction")
            losses.append(_text(language, "%s_%s" % (kind, way) if way else kind, share=format_fraction(share)))
    if losses:
        said.append(_text(language, "lossy", said=_text(language, "comma").join(losses)))
    if losses and result.get("loss_undecided_with") and not (is_slow(result) and result.get("undecided_with")):
        said.append(_text(language, "undecided", peer=result["loss_undecided_with"]))
    # One failed pair may be its partner's fault.
    if _mostly(result, "pairs_failed"):
        said.append(_pairs_failed(result, language))
    if _mostly(result, "udp_failed"):
        said.append(_text(language, "no_udp", failed=result["udp_failed"], count=len(result["pairs"])))
    return said


def _mostly(result, key):
    """Whether most pairs of a host failed so."""
    return 2 * (result.get(key) or 0) > len(result["pairs"])


def _pairs_failed(result, language):
    said = _text(language, "pairs_failed", failed=result["pairs_failed"], count=len(result["pairs"]))
    why = [_why(errors[0], language) for errors in _by_kind([entry["error"] for entry in result["pairs"] if entry.get("error")]).values()]
    return _text(language, "named", host=said, said=_text(language, "semicolon").join(why)) if why else said


def _by_kind(errors):
    """{kind: [error, ...]}, the most frequent kind first: the words of one kind differ in their addresses only."""
    kinds = {}
    for error in errors:
        kinds.setdefault(error.get("kind"), []).append(error)
    return dict(sorted(kinds.items(), key=lambda item: -len(item[1])))


def _why(error, language):
    return brief(complaints.say(error.get("message") or error.get("kind") or "?", language), MOST_WORDS)


def is_slow(result):
    """Whether a host's own link is slow; False where nothing says what it should be."""
    share = {"line_rate": result.get("fraction_of_line_rate"), "group": result.get("fraction_of_group_median")}.get(result.get("judged_by"))
    return share is not None and share < SLOW_FRACTION


def _hidden(result, language):
    """[what isn't known of a host that was tested only with faulty ones]."""
    keys = (("hidden_slow", result.get("hidden_by")), ("hidden_lossy", result.get("loss_hidden_by")))
    return [_text(language, key, peer=peer) for key, peer in keys if peer]


def of_host(result, language="en"):
    """A host's figures with what is wrong."""
    said = [figures(result, language), *troubles(result, language), *_hidden(result, language)]
    if 0 < 2 * result["pairs_failed"] <= len(result["pairs"]):
        said.append(_pairs_failed(result, language))
    return _text(language, "semicolon").join(said)


def _pairs(results, lost):
    """{(name, peer): the pair's entry} of all pairs, each once, and those of them that no host which is named explains.

    lost: hosts without a figure, which are named.
    """
    found = {}
    for name, result in results.items():
        for entry in result["pairs"]:
            found.setdefault(tuple(sorted((name, entry["peer"]))), entry)

    def unexplained(key, counted):
        return [pair for pair, entry in sorted(found.items()) if entry.get(key) and not any(
            name in lost or _mostly(results[name], counted) for name in pair if name in lost or name in results)]

    return found, unexplained("error", "pairs_failed"), unexplained("udp_error", "udp_failed")


def _listed(names, language, most, more):
    """So many names, and how many more there are."""
    said = [*names][:most] + ([_text(language, more, count=len(names) - most)] if len(names) > most else [])
    return _text(language, "comma").join(said)


def _of_pairs(results, lost, language):
    """[what is wrong with pairs and is no host's own fault]."""
    found, failed, udp_failed = _pairs(results, lost)
    names = {pair: _text(language, "pair", one=pair[0], other=pair[1]) for pair in found}
    said = []
    for pair, entry in sorted(found.items()):
        shares = [(key, (entry.get("only_here") or {}).get(field)) for key, field in _ONLY_HERE]
        words = [_text(language, key, share=format_fraction(share)) for key, share in shares if share is not None]
        if words:
            said.append(_text(language, "only_here", pair=names[pair], said=_text(language, "comma").join(words)))
    if len(said) > MOST_PAIRS:
        said[MOST_PAIRS:] = [_text(language, "pairs_more", count=len(said) - MOST_PAIRS)]
    for key, pairs, field in (("failed", failed, "error"), ("udp_failed", udp_failed, "udp_error")):
        if pairs:
            said.append(_text(language, key, failed=len(pairs), count=len(found), pairs=_with_reasons(
                {pair: found[pair][field] for pair in pairs}, names, language)))
    return said


def _with_reasons(errors, names, language):
    """Pairs, those of one kind of error together, and why the first of them failed. errors: {pair: error}."""
    said = []
    for kind, alike in _by_kind(errors.values()).items():
        pairs = [names[pair] for pair, error in errors.items() if error.get("kind") == kind]
        said.append(_text(language, "named", host=_listed(pairs, language, MOST_PAIRS, "pairs_more"), said=_why(alike[0], language)))
    return _text(language, "semicolon").join(said)


def conclusion(results, failed, left_out, language="en"):
    """The line that names every host with a trouble and by how much.

    results: {name: result}; failed: names of hosts without a figure; left_out: names of those that couldn't take part.
    """
    named = [_text(language, "named", host=name, said=_text(language, "no_figure")) for name in failed]
    for name, result in results.items():
        said = troubles(result, language)
        if said:
            named.append(_text(language, "named", host=name, said=_text(language, "semicolon").join([figures(result, language), *said])))
    unjudged = sum(1 for result in results.values() if result.get("judged_by") is None and not result.get("hidden_by"))
    said = named[:MOST_NAMED] + ([_text(language, "more", count=len(named) - MOST_NAMED)] if len(named) > MOST_NAMED else [])
    said += _of_pairs(results, failed, language)
    said = said or ([] if unjudged == len(results) else [_text(language, "fine")])
    hidden = [name for name, result in results.items() if _hidden(result, language)]
    if hidden:
        said.append(_text(language, "hidden", hosts=_listed(hidden, language, MOST_NAMED, "more")))
    if unjudged:
        said.append(_text(language, "unjudged", count=unjudged))
    if left_out:
        said.append(_text(language, "not_tested", hosts=_listed(left_out, language, MOST_NAMED, "more")))
    return _text(language, "found", count=len(results) + len(failed), said=_text(language, "semicolon").join(said))
