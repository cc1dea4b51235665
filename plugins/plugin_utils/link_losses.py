# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""From the pairs of a link test to what each host loses, so that one lossy host is named and its partners aren't. Pure.

What gets lost in one direction of a pair may have been lost at either end, and only the sender counts what it sent again: it is put down to
both. A host's own figure is, for each direction, the lower median of its pairs, those with hosts that certainly lose left out: a host that
loses does so with every partner. Where a host was tested with one other only, and that one with nobody else, nobody can tell which it is. Where
it was tested only with hosts that lose with others too, its own loss isn't known. What two lose with each other only is no host's own.
"""

from __future__ import annotations

# From this share on TCP can't fill a link.
LOSSY_FRACTION = 0.01
# The headers of IP and TCP with timestamps, and what is left of an Ethernet's usual packets.
_HEADERS_BYTES = 52
_USUAL_SEGMENT_BYTES = 1448
# (kind of loss as of_pair() has it, the beginning of its names in a result)
KINDS = (("again", "retransmit"), ("lost", "lost"))
_WAYS = (("send", "receive"), ("receive", "send"))


def lower_median(values):
    """The middle value, of an even number the smaller of the two; None of none. Nulls don't count."""
    values = sorted(value for value in values if value is not None)
    return values[(len(values) - 1) // 2] if values else None


def again_fraction(retransmits, bytes_per_second, seconds, path_mtu_bytes):
    """Share of TCP segments that were sent again; None where it can't be told. The MTU may be null."""
    mtu = path_mtu_bytes or 0
    segment = mtu - _HEADERS_BYTES if 576 <= mtu <= 65536 else _USUAL_SEGMENT_BYTES
    if retransmits is None or not bytes_per_second or not seconds or bytes_per_second * seconds < segment:
        return None
    return min(1.0, retransmits * segment / (bytes_per_second * seconds))


def of_pair(pair):
    """{"again": {"send", "receive"}, "lost": {"send", "receive"}} of a pair, `send` from client to server; null where it isn't known."""
    again = {}
    for way in ("send", "receive"):
        found = pair.get(way) or {}
        again[way] = again_fraction(found.get("retransmits"), found.get("bytes_per_second"), found.get("seconds"), pair.get("path_mtu_bytes"))
    # A test of one direction, as older ones were, has no udp_receive.
    lost = {way: (pair.get(key) or {}).get("lost_fraction") for way, key in (("send", "udp"), ("receive", "udp_receive"))}
    return {"again": again, "lost": {way: None if share is None else min(1.0, share) for way, share in lost.items()}}


def hosts_losses(pairs, hosts):
    """What each host's own link loses.

    pairs: as of `link_judging.hosts_figures`, with "retransmits" and "seconds" in "send" and "receive", and "udp", "udp_receive":
    {"lost_fraction"} or null.
    -> {host: {"retransmit_fraction" (the worse direction), "retransmit_direction", "lost_fraction" (of UDP packets), "lost_direction",
               "loss_undecided_with", "loss_hidden_by" (the lossy one, where a host was tested with no other)}}; null where nothing is known,
    a direction where nothing is lost, or where nobody can tell.
    """
    losses = {host: {"loss_undecided_with": None, "loss_hidden_by": None} for host in hosts}
    for kind, name in KINDS:
        seen = {host: {"send": [], "receive": []} for host in hosts}
        for pair in pairs:
            for way, share in of_pair(pair)[kind].items():
                sender, receiver = (pair["client"], pair["server"]) if way == "send" else (pair["server"], pair["client"])
                if share is not None and sender in seen and receiver in seen:
                    seen[sender]["send"].append((receiver, share))
                    seen[receiver]["receive"].append((sender, share))
        lossy = {way: {host for host in seen if _certainly_lossy(seen[host][way])} for way in ("send", "receive")}
        for host in seen:
            share, way, undecided, hidden = _own(host, seen, lossy)
            losses[host].update({name + "_fraction": share, name + "_direction": way})
            losses[host]["loss_undecided_with"] = losses[host]["loss_undecided_with"] or undecided
            losses[host]["loss_hidden_by"] = losses[host]["loss_hidden_by"] or hidden
    return losses


def between_two(pair, losses):
    """{"retransmit_fraction", "lost_fraction"} of what two hosts lose with each other only; null where they don't. losses: hosts_losses()."""
    found = {}
    for kind, name in KINDS:
        key = name + "_fraction"
        share = max((each for each in of_pair(pair)[kind].values() if each is not None), default=0)
        own = [(losses.get(pair[end]) or {}).get(key) for end in ("client", "server")]
        alone = share > LOSSY_FRACTION and None not in own and max(own) <= LOSSY_FRACTION
        found[key] = share if alone else None
    return found


def _certainly_lossy(entries):
    """Whether even the best pair of a host loses."""
    return bool(entries) and min(share for _peer, share in entries) > LOSSY_FRACTION


def _own(host, seen, lossy):
    """(share, direction or None, the partner that it may be as well or None, the one that hides it or None) of a host's worse direction."""
    found, hidden = [], set()
    for way, other in _WAYS:
        entries = seen[host][way]
        # What this host sends the other one receives: a partner that loses there says nothing of this one.
        kept = [entry for entry in entries if entry[0] not in lossy[other]] or [
            entry for entry in entries if not is_proven(entry[0], host, seen, lossy, way)]
        if entries and not kept:
            hidden.update(peer for peer, _share in entries)
        share = lower_median(share for _peer, share in kept)
        if share is not None:
            peers = {peer for peer, _share in entries}
            alone = min(peers) if len(peers) == 1 and share > LOSSY_FRACTION and not _cleared(host, *peers, seen, lossy, other) else None
            found.append((share, way, alone))
    share, way, alone = max(found, key=lambda entry: entry[0]) if found else (None, None, None)
    if hidden and (share or 0) <= LOSSY_FRACTION:
        return None, None, None, min(hidden)
    return share, way if share else None, alone, None


def is_proven(peer, host, seen, faulty, way):
    """Whether what goes wrong between a host, in this direction, and a faulty peer goes wrong between that peer and a sound host as well.

    seen: {host: {"send" | "receive": [(peer, figure)]}}; faulty: {"send" | "receive": {host}}, hosts whose best pair is bad.
    """
    other = dict(_WAYS)[way]
    return peer in faulty[other] and any(name != host and name not in faulty[way] for name, _figure in seen[peer][other])


def _cleared(host, peer, seen, lossy, other):
    """Whether the only partner of a host loses nothing with others: then what is lost with it is this host's own."""
    return bool({name for name, _share in seen[peer][other]} - {host}) and peer not in lossy[other]
