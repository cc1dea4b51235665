# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Measures the link from this host to a peer where an iperf3 server listens: both directions, as many streams as it takes, UDP, path MTU.

The result's form is in docs/network.md. What can't be measured is null and said in `error` or `notes`; a link that fails is a result.
"""

from __future__ import annotations

import random
import signal
import time

from ..sources.forked import signal_name
from ..sources.host_files import HostFiles
from . import identity as machine
from . import iperf3_output, iperf3_run, link_netlink, link_place
from .figures import bytes_text, check_ranges

DIRECTIONS = ("send", "receive")
# Streams tried one after the other where fewer don't fill the link.
STREAMS = (1, 4, 8)
FILLED_FRACTION = 0.9
# A stream that keeps its core so busy is held up by it, not by the link.
BUSY_CORE_FRACTION = 0.85
BUSY_TRIES = 4
# Kinds after which the other direction can't work either, and would only take its time to say so.
_FINAL = ("refused", "timeout", "unreachable", "dns", "stalled", "local", "busy")
# A test that lasted for less of its time is none.
LEAST_OF_TIME = 0.5
# Nor is one that says that it lasted for so much more: the client would have been ended long before.
MOST_OF_TIME, SPARE_SECONDS = 2, 30
# What iperf3 says where no UDP packet is answered and nobody ends it before.
_NO_PACKET = "Resource temporarily unavailable"
RANGES = {"seconds": (1, 3600), "omit_seconds": (0, 60), "parallel": (0, 128), "port": (1, 65535),
          "udp_bits_per_second": (8000, 100000000000)}


class Interrupted(Exception):
    """The test was told to end; its iperf3 has been ended."""


def _interrupt(number, _frame):
    raise Interrupted("ended by %s" % signal_name(number))


def plan(options, host=None):
    """Looks and starts nothing. -> {"seconds", "bytes_written", "bytes_read", "notes", "place", "tool"};
    link_place.NoAddress, iperf3_run.NoTool, ValueError.
    """
    check_ranges(options, RANGES)
    link_netlink.family_of(options["peer"])
    wrong = [name for name in options["directions"] if name not in DIRECTIONS]
    if wrong or not options["directions"]:
        raise ValueError("directions: give send, receive or both, not %s" % ", ".join(wrong or ["none"]))
    host = host or HostFiles()
    place = link_place.address_of(options.get("address"), options.get("management"))
    link_place.check_way(place, options["peer"])
    used = iperf3_run.tool(options.get("iperf3"), host.text_or("/etc/os-release", ""))
    line_rate = link_place.describe(host, link_place.look(host), place["interface"])["line_rate_bits_per_second"]
    moved, seconds = most_moved(options, line_rate)
    notes = ["fills the link between %s and %s for about %d s" % (place["address"], options["peer"], usual(options)),
             "moves up to %s over it: its line rate for %d s" % (bytes_text(moved), seconds) if moved is not None else
             "moves as much as the link carries in up to %d s: its line rate isn't known" % seconds]
    return {"seconds": longest(options), "bytes_written": None, "bytes_read": None, "place": place, "tool": used, "notes": notes}


def udp_seconds(seconds):
    """Seconds of UDP packets in each direction: half of what TCP gets, for loss shows soon."""
    return min(seconds, max(2, (seconds + 1) // 2))


def _udp_total(options):
    return udp_seconds(options["seconds"]) * len(options["directions"]) if options["udp"] else 0


def usual(options):
    """Seconds that the link is busy where one number of streams is tried."""
    return (options["seconds"] + options["omit_seconds"]) * len(options["directions"]) + _udp_total(options)


def most_moved(options, line_rate):
    """(bytes that a test moves at most over a link of so many bits per second, None where that isn't known; seconds of TCP for it)."""
    tries = 1 if options.get("parallel") else len(STREAMS)
    seconds = tries * len(options["directions"]) * (options["seconds"] + options["omit_seconds"])
    udp = _udp_total(options) * (options.get("udp_bits_per_second") or 0)
    return (int(line_rate * seconds + udp) // 8 if line_rate else None), seconds


def longest(options):
    """Seconds that a test takes at most."""
    one = iperf3_run.deadline(options["seconds"], options["omit_seconds"])
    tries = 1 if options.get("parallel") else len(STREAMS)
    tests = tries * len(options["directions"])
    udp = _udp_total(options) + 3 * len(options["directions"]) if options["udp"] else 0
    # Clients that end in time but for the last one; a busy server is asked again.
    return (options["seconds"] + options["omit_seconds"] + 3) * tests + udp + one + 15


def run(options, planned, host=None, client=iperf3_run.client):
    """Measures. `planned`: plan()'s. -> the result of the pair; raises nothing for what a link can do. Interrupted."""
    before = dict((number, signal.signal(number, _interrupt)) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
    try:
        return _measure(options, planned, host or HostFiles(), client)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _measure(options, planned, host, client):
    place, used, peer = planned["place"], planned["tool"], options["peer"]
    seen = link_place.look(host)
    notes, interface = [], place["interface"]
    try:
        routed = link_netlink.route_interface(peer, place["address"])
        if routed != interface:
            notes.append("packets from %s to %s leave by %s, not by %s" % (place["address"], peer, routed, interface))
            interface = routed
    except OSError as error:
        notes.append("no route from %s to %s: %s" % (place["address"], peer, error.strerror or error))
    link = link_place.describe(host, seen, interface)
    notes += link["notes"]
    before = link_place.counters(host, seen, interface)
    mtu = link_place.path_mtu(place["address"], peer, options["port"])
    notes += _mtu_notes(mtu, link["mtu_bytes"], peer)
    result = {
        "client_address": place["address"], "server_address": peer, "port": options["port"], "interface": interface, "tool": "iperf3",
        "iperf3_version": used.version, "send": None, "receive": None, "udp": None, "udp_receive": None, "udp_error": None,
        "rtt_seconds": None, "rtt_loaded_seconds": None,
        "path_mtu_bytes": mtu["path_mtu_bytes"], "interface_mtu_bytes": link["mtu_bytes"], "black_hole": mtu["black_hole"],
        "parallel": None,
        "line_rate_bits_per_second": link["line_rate_bits_per_second"], "link_kind": link["link_kind"], "counters": None, "error": None,
        "local_time": _local_time(), "notes": notes,
    }
    test = _Test(options, planned, client, link["line_rate_bits_per_second"])
    for direction in options["directions"]:
        found, error = test.direction(direction)
        result[direction] = found
        if error:
            result["error"] = result["error"] or _at(direction, error, mtu)
            if error["kind"] in _FINAL:
                break
    for direction in options["directions"] if options["udp"] else ():
        if result["error"] is None or result["error"]["kind"] not in _FINAL:
            found, error = test.udp(direction)
            result["udp" if direction == "send" else "udp_receive"] = found
            if error:
                words = "%s: UDP: %s" % (direction, error["message"])
                notes.append(words)
                result["udp_error"] = result["udp_error"] or {"kind": error["kind"], "message": words}
                if error["kind"] in _FINAL:
                    break
    # What iperf3 sees is never the idle link: its streams fill every queue on the way.
    result["rtt_seconds"] = test.rtt if mtu["rtt_seconds"] is None else mtu["rtt_seconds"]
    result.update(rtt_loaded_seconds=test.rtt_loaded, parallel=test.streams)
    notes += test.notes
    result["counters"] = link_place.growth(before, link_place.counters(host, link_place.look(host), interface))
    return result


def _at(direction, error, mtu):
    words = "%s: %s" % (direction, error["message"])
    if error["kind"] == "stalled" and mtu["black_hole"]:
        words += " (packets of %d bytes get lost on this path: set one MTU on both hosts and every switch between them)" % (
            mtu["path_mtu_bytes"])
    return {"kind": error["kind"], "message": words}


def _mtu_notes(mtu, own, peer):
    if mtu["error"]:
        return ["path MTU to %s: %s" % (peer, mtu["error"])]
    if mtu["black_hole"]:
        return ["MTU black hole: packets of %s bytes to %s get lost and nobody says so, small ones arrive; the MTU of the other host or of "
                "a switch between is smaller" % (mtu["path_mtu_bytes"], peer)]
    if own and mtu["path_mtu_bytes"] and mtu["path_mtu_bytes"] < own:
        return ["the path to %s carries packets of %d bytes, this interface %d" % (peer, mtu["path_mtu_bytes"], own)]
    return []


def _local_time():
    """The host's own time with its offset."""
    text = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    return text[:-2] + ":" + text[-2:]


class _Test(object):
    """The clients of one pair, one after another."""

    def __init__(self, options, planned, client, line_rate):
        self.options, self.used, self.address = options, planned["tool"], planned["place"]["address"]
        self.client, self.line_rate = client, line_rate
        self.streams = options.get("parallel") or 1
        self.notes, self.rtt, self.rtt_loaded, self.answered = [], None, None, False

    def _once(self, streams=1, reverse=False, udp=None):
        options = self.options
        # Nothing has to find its speed first with UDP.
        seconds, omit = (udp_seconds(options["seconds"]), 0) if udp else (options["seconds"], options["omit_seconds"])
        argv = iperf3_run.arguments(self.used, options["peer"], options["port"], self.address, seconds, omit, streams, reverse, udp)
        limit = iperf3_run.deadline(seconds, omit)
        for attempt in range(BUSY_TRIES):
            facts, error = self.client(self.used, argv, options["peer"], options["port"], limit, options["session"])
            if not error or error["kind"] != "busy" or attempt + 1 == BUSY_TRIES:
                break
            # Not all at the same moment again.
            time.sleep(random.uniform(0.5, 1.5) * (attempt + 1))
        return facts, error or _incomplete(facts["directions"].get("receive" if reverse else "send"), seconds)

    def direction(self, name):
        """({"bytes_per_second", "retransmits", "seconds", "streams"} or None, error or None) with as many streams as it takes."""
        best, error = None, None
        wanted = [self.options["parallel"]] if self.options.get("parallel") else [count for count in STREAMS if count >= self.streams]
        for streams in wanted:
            facts, failed = self._once(streams, name == "receive")
            if failed:
                error = None if best else failed
                if best:
                    self.notes.append("%s: with %d streams: %s" % (name, streams, failed["message"]))
                break
            self.answered = True
            found = dict(facts["directions"][name], streams=streams)
            rate = found["bytes_per_second"]
            self._latency(facts)
            enough = best and rate < best["bytes_per_second"] * 1.05
            if best is None or rate > best["bytes_per_second"]:
                best = {"bytes_per_second": rate, "retransmits": found["retransmits"], "seconds": found["seconds"], "streams": streams}
            if enough or not self._held_up(rate, facts):
                break
        if best:
            self.streams = max(self.streams, best["streams"])
            self._tell(name, best)
        return best, error

    def _held_up(self, rate, facts):
        """Whether more streams may carry more: the link has room, or its rate isn't known and a core is what is full."""
        if self.line_rate:
            return rate * 8 < FILLED_FRACTION * self.line_rate
        return any((share or 0) >= BUSY_CORE_FRACTION for share in facts["cpu_fraction"].values())

    def _tell(self, name, best):
        old = iperf3_run.numbers(self.used.version) < iperf3_run.THREADED
        if old and best["streams"] > 1 and self.line_rate and best["bytes_per_second"] * 8 < FILLED_FRACTION * self.line_rate:
            self.notes.append("%s: iperf3 %s runs all streams in one thread, which may be what is full; 3.16 and newer have one for each" %
                              (name, self.used.version))

    def _latency(self, facts):
        for key, value in (("rtt", facts["rtt_seconds"]), ("rtt_loaded", facts["rtt_loaded_seconds"])):
            earlier = getattr(self, key)
            if value is not None and (earlier is None or value < earlier):
                setattr(self, key, value)

    def udp(self, name):
        """({"bytes_per_second", "jitter_seconds", "lost_fraction"} or None, error or None) at a rate that a link carries easily."""
        facts, error = self._once(reverse=name == "receive", udp=self.options["udp_bits_per_second"])
        if not error and facts["directions"][name]["lost_fraction"] is None:
            error = {"kind": "protocol", "message": "how many packets arrived isn't told; what was sent is no measure of it"}
        if error and self.answered and (error["kind"] in ("stalled", "timeout") or _NO_PACKET in error["message"]):
            error = {"kind": "timeout", "message": "no answer to UDP packets from %s port %d, which answers TCP: a firewall drops UDP. Open the "
                     "ports of measure_network_link_ports for UDP too" % (self.options["peer"], self.options["port"])}
        if error:
            return None, error
        found = facts["directions"][name]
        return dict((key, found[key]) for key in ("bytes_per_second", "jitter_seconds", "lost_fraction")), None


def _incomplete(found, asked):
    """Why what iperf3 counted in a direction is no figure of the link, as an error; None where it is one."""
    if not found:
        words = "iperf3 measured the other direction than it was asked for"
    elif found["bytes_per_second"] is None:
        words = "the receiver's count is missing; what was sent is no measure of what arrived"
    elif found["seconds"] is None or not LEAST_OF_TIME * asked <= found["seconds"] <= MOST_OF_TIME * asked + SPARE_SECONDS:
        words = "iperf3 measured for %s s instead of %d s: no figure of the link" % (
            "?" if found["seconds"] is None else "%.3g" % found["seconds"], asked)
    else:
        return None
    # Where every packet got lost the receiver's clock may never have begun.
    return None if found and found["lost_fraction"] == 1.0 else {"kind": "protocol", "message": words}


# --------------------------------------------------------------- the other end


def identity(host=None):
    """{"machine_id", "gpu_uuids", "local_time"}: whose link it is, as the facts have it."""
    return {"machine_id": machine.identity(host), "gpu_uuids": [], "local_time": _local_time()}


def serve(options, host=None):
    """What link_server does: looks, and starts or ends a server. -> its result.

    link_place.NoAddress, iperf3_run.NoTool or NoServer, ValueError.
    """
    host = host or HostFiles()
    ended = {}
    if options["state"] == "stopped":
        # First of all, whatever the rest may say.
        count, left = iperf3_run.stop(options["session"])
        ended = {"ended": count, "left": left}
        if not options["address"]:
            return ended
    place = link_place.address_of(options["address"], options.get("management"))
    port_range = iperf3_run.ports(options["port_range"])
    others = [name for name in iperf3_run.sessions() if name != options["session"]]
    seen = link_place.look(host)
    found = dict(link_place.describe(host, seen, place["interface"]), counters=link_place.counters(host, seen, place["interface"]), **ended)
    found.update(address=place["address"], sessions=[iperf3_output.plain_line(name, 60) for name in others[:8]])
    if options["state"] == "stopped":
        return found
    used = iperf3_run.tool(options.get("iperf3"), host.text_or("/etc/os-release", ""))
    found.update(iperf3_version=used.version, iperf3=used.path)
    if options["state"] == "checked":
        found["own_addresses"] = link_place.reached_addresses()
    if options["state"] == "started":
        if not 1 <= options["lifetime_seconds"] <= 86400:
            raise ValueError("lifetime_seconds must be between 1 and 86400, not %s" % options["lifetime_seconds"])
        found.update(iperf3_run.start_server(used, place["address"], port_range, options["lifetime_seconds"], options["session"]))
    return found
