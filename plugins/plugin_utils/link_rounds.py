# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rounds of disjoint pairs: which host is tested with which, so that no two tests of a round share a host. Pure.

`mesh`: every host with every other, by the circle method: of n hosts (one more that stands for a pause where n is odd) round r pairs i with
j where i + j = 2r modulo n - 1, and the last host with r. n - 1 rounds, n where n is odd.

`log`: log2(n) of those rounds, rounded up and spread evenly over them, so that a host's partners are spread over the list (and with it over
the racks that a list usually follows). In each of them every host is tested, save one where their number is odd; no pair comes twice.

`ring`: every host with the next one of the list, the last with the first: two rounds, three where their number is odd.
"""

from __future__ import annotations

MODES = ("auto", "mesh", "log", "ring")
# Up to so many hosts each is tested with every other.
MESH_HOSTS = 16


def rounds(hosts, mode="auto"):
    """Names -> [[(client, server), ...] per round]; [] for fewer than two hosts. ValueError for a mode that there isn't."""
    hosts = list(dict.fromkeys(hosts))
    if mode not in MODES:
        raise ValueError("%r is no way to pair hosts; there are %s" % (mode, ", ".join(MODES)))
    if len(hosts) < 2:
        return []
    mode = mode_for(len(hosts), mode)
    if mode == "ring":
        return _ring(hosts)
    total = len(hosts) - 1 + len(hosts) % 2
    wanted = total if mode == "mesh" else min(total, (len(hosts) - 1).bit_length())
    return [_circle(hosts, number * total // wanted) for number in range(wanted)]


def one_machine(places):
    """(name, other, address) of the first two names that mean one machine, None where all differ: the link address of one is the other's too.

    places: {name: {"address", "own_addresses" (null where it isn't known)}}. The machine's id is no sign: copied machines share it.
    """
    names = {place["address"]: name for name, place in places.items()}
    for other, place in places.items():
        for address in place.get("own_addresses") or ():
            if isinstance(address, str) and names.get(address, other) != other:
                return names[address], other, address
    return None


def mode_for(count, mode="auto"):
    """What `auto` means for so many hosts."""
    return mode if mode != "auto" else "mesh" if count <= MESH_HOSTS else "log"


def _circle(hosts, number):
    """One round of the circle method; half of the pairs are turned round, so that few hosts are a server only."""
    places = len(hosts) - 1 + len(hosts) % 2
    pairs = []
    # With an odd number of hosts the place that stays is the pause.
    seated = [(number % places, places)] if len(hosts) % 2 == 0 else []
    seated += [((number + step) % places, (number - step) % places) for step in range(1, (places + 1) // 2)]
    for position, (one, other) in enumerate(seated):
        pair = (hosts[one], hosts[other])
        pairs.append(pair if (position + number) % 2 == 0 else pair[::-1])
    return pairs


def _ring(hosts):
    count = len(hosts)
    edges = [(hosts[place], hosts[(place + 1) % count]) for place in range(count if count > 2 else 1)]
    if count % 2:
        return [edges[0:-1:2], edges[1:-1:2], edges[-1:]]
    return [found for found in (edges[0::2], edges[1::2]) if found]
