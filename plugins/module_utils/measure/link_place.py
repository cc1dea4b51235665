# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Where a host's link is: the address that tests use, its interface, what that is and how fast, its counters, the path's MTU."""

from __future__ import annotations

import errno
import os
import select
import socket
import time

from ..facts import network
from . import link_netlink

VARIABLE = "gpu_audit_link_address"
# Network cards of virtual machines: what they say of their speed is nothing that packets are held to.
_PARAVIRTUAL = frozenset(("virtio_net", "vmxnet3", "hv_netvsc", "netvsc", "vif", "xen_netfront", "ena", "gve", "mana"))
_COUNTERS = ("rx_errors", "tx_errors", "rx_dropped", "tx_dropped", "carrier_changes")
_MOST_LAYERS = 8
# linux/in.h, linux/in6.h: set the don't-fragment bit; ask for the path's MTU.
_DISCOVER = {socket.AF_INET: (socket.IPPROTO_IP, 10, 14, 28), socket.AF_INET6: (socket.IPPROTO_IPV6, 23, 24, 48)}
_PROBE_SECONDS = 0.7


# What a host says of a name or an address that it hasn't got.
NEITHER = "%s: %r is neither an address nor an interface of this host. It has: %s"
NOT_OWN = "%s: %s is no address of this host. It has: %s"
NOT_REACHED = "%s: the interface %s has no address that other hosts reach. This host has: %s"


class NoAddress(Exception):
    """The host has no address that its link can be tested at; the text says what to set."""


# ------------------------------------------------------------------ the address


def address_of(wanted, management=None, known=None):
    """{"address", "interface"} for an address, an interface name, or "management". NoAddress names the variable and what there is.

    management: the name or address that the controller reaches this host by. known: link_netlink.addresses(), for tests.
    """
    wanted = str(wanted or "").strip()
    if not wanted:
        raise NoAddress("%s isn't set for this host. Set it to the address or the interface whose link is to be tested (management: the "
                        "address that Ansible uses). It has: %s" % (VARIABLE, _listed(_addresses(known))))
    there = _addresses(known)
    if wanted == "management":
        return _management(management, there)
    try:
        family = link_netlink.family_of(wanted)
        wanted = socket.inet_ntop(family, socket.inet_pton(family, wanted))
    except ValueError:
        return of_interface(wanted, there)
    for entry in there:
        if entry["address"] == wanted:
            if entry["scope"] == "host":
                raise NoAddress("%s: %s is the host's own loop, which no other host reaches. It has: %s" % (
                    VARIABLE, wanted, _listed(there)))
            return {"address": wanted, "interface": entry["interface"]}
    raise NoAddress(NOT_OWN % (VARIABLE, wanted, _listed(there)))


def _addresses(known):
    if known is not None:
        return known
    try:
        return link_netlink.addresses()
    except OSError as error:
        raise NoAddress("this host's addresses can't be read: %s" % (error.strerror or error))


def own_addresses():
    """This host's addresses, as NEITHER and NOT_OWN list them; NoAddress where they can't be read."""
    return _listed(_addresses(None))


def reached_addresses():
    """[the addresses of this host that others may reach it by]; NoAddress where they can't be read."""
    return [entry["address"] for entry in _addresses(None) if entry["scope"] == "global"]


def _listed(there):
    shown = ["%s %s" % (entry["interface"], entry["address"]) for entry in there if entry["scope"] == "global"]
    return ", ".join(shown[:12]) or "no address but its own loop"


def of_interface(name, there=None, variable=VARIABLE):
    """{"address", "interface"} of an interface that `variable` names; NoAddress. there: link_netlink.addresses(), read where not given."""
    there = _addresses(there)
    own = [entry for entry in there if entry["interface"] == name]
    # IPv4 first: what older iperf3 and firewalls are tried with.
    usable = sorted((entry for entry in own if entry["scope"] == "global"), key=lambda entry: ":" in entry["address"])
    if usable:
        return {"address": usable[0]["address"], "interface": name}
    if own or os.path.isdir("/sys/class/net/" + name):
        raise NoAddress(NOT_REACHED % (variable, name, _listed(there)))
    raise NoAddress(NEITHER % (variable, name, _listed(there)))


def _management(name, there):
    candidates = []
    try:
        candidates = [entry[4][0] for entry in socket.getaddrinfo(name, None, type=socket.SOCK_DGRAM)] if name else []
    except (OSError, UnicodeError):
        pass
    # The third word is the address of this host that the session came in by.
    session = os.environ.get("SSH_CONNECTION", "").split()
    candidates += session[2:3]
    for candidate in candidates:
        for entry in there:
            if entry["address"] == candidate and entry["scope"] == "global":
                return {"address": candidate, "interface": entry["interface"]}
    raise NoAddress("%s: management: what Ansible reaches this host by (%s) isn't one of its own addresses (NAT, a proxy, the host "
                    "itself). Name one: %s" % (VARIABLE, name or "unknown", _listed(there)))


def check_way(place, peer):
    """ValueError where packets from `place`, an address_of(), to a peer don't leave the host by its interface: another link was tested."""
    try:
        if link_netlink.is_own(peer):
            raise ValueError("%s is an address of this host itself: packets to it leave by no link" % peer)
        routed = link_netlink.route_interface(peer, place["address"])
    except OSError:
        # The test will say that there is no route.
        return
    # No packet leaves by these: their addresses are reached by whichever link a host has.
    if routed != place["interface"] and not place["interface"].startswith(("lo", "dummy")):
        raise ValueError("packets from %s to %s leave by %s, not by %s: the link that was named isn't tested. Set a route by %s, or name the "
                         "other one with %s" % (place["address"], peer, routed, place["interface"], place["interface"], VARIABLE))


# ---------------------------------------------------------------- the interface


def look(host):
    """The network facts (facts/network.py) that the functions below take: read once before and once after a test."""
    return network.collect(host)


def layers(host, name):
    """The interface and those below it (a bond's members, a VLAN's parent, a bridge's ports), itself first."""
    found, waiting = [], [name]
    while waiting and len(found) < 64:
        current = waiting.pop(0)
        if current in found:
            continue
        found.append(current)
        waiting += [each[len("lower_"):] for each in host.names("/sys/class/net/" + current) if each.startswith("lower_")]
    return found


def describe(host, seen, name):
    """{"interface", "link_kind" (physical | virtual), "line_rate_bits_per_second", "mtu_bytes", "state", "notes"} of an interface.

    physical: it, or what it stands on, is a card whose speed means something. A bond's rate is that of its members that are up, of an
    active-backup bond the active one's.
    """
    notes = []
    rate = _rate(host, _by_name(seen), name, notes, 0)
    own = _by_name(seen).get(name, {})
    return {"interface": name, "link_kind": "virtual" if rate is None and not _card(own) else "physical", "line_rate_bits_per_second": rate,
            "mtu_bytes": own.get("mtu"), "state": own.get("state"), "notes": notes}


def _by_name(seen):
    return dict((entry["name"], entry) for entry in seen.get("interfaces") or [])


def _card(entry):
    """Whether an interface is a real card: hardware behind it, and not one that a virtual machine makes up."""
    driver = entry.get("driver")
    return entry.get("kind") in ("ethernet", "infiniband", "wireless") and bool(driver) and driver not in _PARAVIRTUAL


def _rate(host, interfaces, name, notes, depth):
    own = interfaces.get(name, {})
    if _card(own):
        return own.get("speed_bits_per_second")
    base = "/sys/class/net/" + name
    below = layers(host, name)[1:]
    members = (host.text_or(base + "/bonding/slaves") or "").split()
    if depth >= _MOST_LAYERS or not (below or members):
        return None
    if members:
        mode = (host.text_or(base + "/bonding/mode") or "").split(" ")[0]
        active = host.text_or(base + "/bonding/active_slave")
        up = [each for each in members if interfaces.get(each, {}).get("state") != "down"]
        counted = [active] if mode == "active-backup" and active else up
        rates = [_rate(host, interfaces, each, notes, depth + 1) for each in counted]
        if len(counted) > 1:
            notes.append("%s spreads connections over %d links (%s): one stream fills one of them at most" % (
                name, len(counted), mode or "bond"))
        return sum(rates) if rates and None not in rates else None
    rates = [rate for rate in (_rate(host, interfaces, each, notes, depth + 1) for each in below) if rate]
    return max(rates) if rates else None


def counters(host, seen, name):
    """{"eth0.rx_errors": 3, "mlx5_0/1.symbol_error": 0, ...} of an interface, those below it, and their RDMA ports."""
    names, found = layers(host, name), {}
    for own, entry in _by_name(seen).items():
        if own in names:
            found.update(("%s.%s" % (own, key), entry[key]) for key in _COUNTERS if entry.get(key) is not None)
    for port in seen.get("rdma_ports") or []:
        behind = host.names("/sys/class/infiniband/%s/device/net" % port["device"])
        if set(behind) & set(names):
            found.update(("%s/%d.%s" % (port["device"], port["port"], key), value) for key, value in port["counters"].items())
    return found


def growth(before, after):
    """What grew between two counters(): {name: n > 0}. One that went back (a driver loaded anew) says nothing."""
    return dict((name, value - before[name]) for name, value in after.items() if name in before and value > before[name])


# ------------------------------------------------------------------- path MTU


def path_mtu(source, peer, port):
    """{"path_mtu_bytes", "black_hole" (true, false, or null where nobody answers), "rtt_seconds" (of the idle path), "error"}.

    Sends packets that may not be cut to a UDP port where nobody listens: the peer's refusal says that one arrived whole.
    """
    family = link_netlink.family_of(peer)
    level, discover, ask, headers = _DISCOVER[family]
    found = {"path_mtu_bytes": None, "black_hole": None, "rtt_seconds": None, "error": None}
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.setsockopt(level, discover, 2)
            probe.bind((source, 0))
            probe.connect((peer, port))
            found["path_mtu_bytes"] = probe.getsockopt(level, ask)
            # Kernels answer half a dozen such packets at once, then one a second.
            trips = [_answered(probe, 1) for _attempt in range(3)]
            small = "arrived" if any(answer == "arrived" for answer, _seconds in trips) else "nothing"
            found["rtt_seconds"] = min((seconds for answer, seconds in trips if answer == "arrived"), default=None)
            for _attempt in range(3):
                size = probe.getsockopt(level, ask)
                found["path_mtu_bytes"] = size
                # The loop of this machine takes 64 KiB; a UDP packet holds a little less.
                arrived = _answered(probe, min(size - headers, 65000))[0]
                if arrived == "smaller":
                    continue
                found["black_hole"] = False if arrived == "arrived" else True if small == "arrived" else None
                if arrived == "arrived":
                    break
    except OSError as error:
        found["error"] = error.strerror or str(error)
    return found


def _answered(probe, size):
    """(arrived | smaller (the path says that it carries less) | nothing, seconds)."""
    sent = time.monotonic()
    answer = "arrived"
    try:
        probe.send(b"\0" * size)
        if not select.select([probe], [], [], _PROBE_SECONDS)[0]:
            return "nothing", None
        probe.recv(1)
    except OSError as error:
        if error.errno not in (errno.EMSGSIZE, errno.ECONNREFUSED):
            raise
        answer = "smaller" if error.errno == errno.EMSGSIZE else "arrived"
    return answer, time.monotonic() - sent
