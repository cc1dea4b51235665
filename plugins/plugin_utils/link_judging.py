# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""From the pairs of a link test to each host's own figures, so that one slow host is named and its partners aren't. Pure.

One bad host makes every pair that it is in slow. A host's own figure is therefore, for each direction, the upper median of its pairs, those
with hosts that are certainly slow left out: a host whose best pair is slow is slow itself. Where a host was tested with one other only, and
that one with nobody else, nobody can tell which of the two it is. Where it was tested only with hosts that are slow with others too, its
own speed isn't known. A pair far below what both its hosts reach with others is no host's own fault.
"""

from __future__ import annotations

from .link_losses import is_proven

# From this share of what it should be on, a host's best pair is no sign of a slow host.
CERTAINLY_SLOW = 0.8
# Below this share of the line rate, or of the group's median, a host's own link is slow.
SLOW_FRACTION = 0.9
# Below this share of what both its hosts reach with others a pair is slow by itself.
SLOW_PAIR_FRACTION = 0.5
# Above it one pair of iperf3 doesn't fill a link, and a link of a virtual machine has no rate of its own.
LARGEST_JUDGED_BITS_PER_SECOND = 100e9


def upper_median(values):
    """The middle value, of an even number the larger of the two; None of none."""
    values = sorted(values)
    return values[len(values) // 2] if values else None


def judgeable_rate(link):
    """Bits per second that a link is judged by; None above 100 Gb/s, of virtual links, and where it isn't known."""
    rate = link.get("line_rate_bits_per_second")
    usable = link.get("link_kind") == "physical" and isinstance(rate, (int, float)) and 0 < rate <= LARGEST_JUDGED_BITS_PER_SECOND
    return rate if usable else None


def hosts_figures(pairs, links):
    """What each host's own link does.

    pairs: [{"client", "server", "error" (null or {...}), "send": null or {"bytes_per_second"}, "receive": the same}], send being from
    client to server. links: {host: {"line_rate_bits_per_second", "link_kind"}}.
    -> {host: {"send_bytes_per_second", "receive_bytes_per_second", "bytes_per_second" (the worse), "slower_direction",
               "fraction_of_line_rate", "group_median_bytes_per_second", "fraction_of_group_median", "judged_by",
               "undecided_with", "hidden_by" (the slow one, where a host was tested with no other)}}; null where nothing is known.
    """
    seen = dict((host, {"send": [], "receive": []}) for host in links)
    for pair in pairs:
        for direction, sender, receiver in (("send", pair["client"], pair["server"]), ("receive", pair["server"], pair["client"])):
            rate = (pair.get(direction) or {}).get("bytes_per_second")
            # What a failed pair had measured before it failed counts too.
            if rate:
                seen.setdefault(sender, {"send": [], "receive": []})["send"].append((receiver, rate))
                seen.setdefault(receiver, {"send": [], "receive": []})["receive"].append((sender, rate))
    rates = dict((host, judgeable_rate(links.get(host) or {})) for host in seen)
    slow = dict((direction, _certainly_slow(seen, rates, direction)) for direction in ("send", "receive"))
    found = dict((host, _own(host, seen, rates, slow)) for host in seen)
    figures = dict((host, figure) for host, (figure, _rate) in found.items())
    _by_group(figures, dict((host, rate) for host, (_figure, rate) in found.items()), rates)
    return figures


def between_two(pair, figures):
    """What a pair reaches of what both its hosts do with others; None where that isn't much less. figures: hosts_figures()."""
    shares = []
    for direction, sender, receiver in (("send", pair["client"], pair["server"]), ("receive", pair["server"], pair["client"])):
        rate = (pair.get(direction) or {}).get("bytes_per_second")
        own = [(figures.get(host) or {}).get(way + "_bytes_per_second") for host, way in ((sender, "send"), (receiver, "receive"))]
        if rate and None not in own:
            shares.append(rate / min(own))
    return min(shares) if shares and min(shares) < SLOW_PAIR_FRACTION else None


def _share(host, peer, rate, rates):
    """A pair's rate as a share of what the slower of both links can carry; None where neither link is judged by its rate."""
    known = [rates[name] for name in (host, peer) if rates.get(name)]
    return rate * 8 / min(known) if known else None


def _certainly_slow(seen, rates, direction):
    """Hosts whose best pair in this direction is slow: by the line's rate where it is known, else beside the other hosts' best."""
    best = dict((host, max(rate for _peer, rate in lists[direction])) for host, lists in seen.items() if lists[direction])
    middle = upper_median(best.values())
    slow = set()
    for host, rate in best.items():
        expected = rates[host] / 8 if rates.get(host) else middle
        if rate < CERTAINLY_SLOW * expected:
            slow.add(host)
    return slow


def _own(host, seen, rates, slow):
    """(a host's figure without what the group says, the worse of its rates that are its own or None)."""
    figure, shares, alone, hidden, own = {}, [], set(), set(), []
    for direction, other in (("send", "receive"), ("receive", "send")):
        # What this host sends the other one receives: a partner that receives slowly says nothing about this one's sending.
        entries = seen[host][direction]
        kept = [entry for entry in entries if entry[0] not in slow[other]] or [
            entry for entry in entries if not is_proven(entry[0], host, seen, slow, direction)]
        peers = set(peer for peer, _rate in entries)
        if entries and not kept:
            hidden |= peers
        rate = upper_median(rate for _peer, rate in kept or entries)
        figure[direction + "_bytes_per_second"] = rate
        own += [rate] if kept else []
        share = upper_median(each for each in (_share(host, peer, rate, rates) for peer, rate in kept) if each is not None)
        if share is not None and rates.get(host):
            shares.append(share)
        if len(peers) == 1 and kept and not _cleared(host, *peers, seen, slow, direction, other):
            alone |= peers
    known = [(figure[direction + "_bytes_per_second"], direction) for direction in ("send", "receive")
             if figure[direction + "_bytes_per_second"] is not None]
    worse = min(known) if known else (None, None)
    figure["bytes_per_second"] = worse[0]
    figure["slower_direction"] = worse[1] if len(known) == 2 and worse[0] < CERTAINLY_SLOW * max(known)[0] else None
    figure["fraction_of_line_rate"] = min(shares) if shares else None
    figure["undecided_with"] = min(alone) if alone else None
    figure["hidden_by"] = min(hidden) if hidden else None
    return figure, min(own) if own else None


def _cleared(host, peer, seen, slow, direction, other):
    """Whether the only partner of a host was tested with others and is not slow: then a slow pair is this host's own."""
    others = set(name for name, _rate in seen[peer][other]) - {host}
    return bool(others) and peer not in slow[other]


def _by_group(figures, own_rates, rates):
    """Each host beside the middle of all; a group of two has no middle. own_rates: the rates that are a host's own, by host."""
    values = sorted(rate for rate in own_rates.values() if rate is not None)
    middle = upper_median(values) if len(values) > 2 else None
    for host, figure in figures.items():
        own = own_rates[host]
        figure["group_median_bytes_per_second"] = middle
        figure["fraction_of_group_median"] = own / middle if middle and own is not None else None
        if figure["hidden_by"]:
            # One direction isn't known: only a fault of the other one says something of the host.
            for key in ("fraction_of_line_rate", "fraction_of_group_median"):
                if (figure[key] or 1) >= SLOW_FRACTION or key == "fraction_of_group_median" and rates.get(host):
                    figure[key] = None
            if figure["fraction_of_line_rate"] is not None or figure["fraction_of_group_median"] is not None:
                figure["hidden_by"] = None
        figure["judged_by"] = ("line_rate" if figure["fraction_of_line_rate"] is not None
                               else "group" if figure["fraction_of_group_median"] is not None else None)
