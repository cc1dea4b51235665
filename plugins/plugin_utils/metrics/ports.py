# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Network ports as the host's facts have them: number and speed against what is expected, errors, lost carriers, ports that are down."""

from __future__ import annotations

from ..numbers import format_bit_rate
from .measurements import SILENT
from .registry import amount, define, mapping, maps, text

ERRORS, DOWN, PORT_ERRORS, FLAPS = "network.interface_errors", "network.rdma_ports_down", "network.port_errors", "network.link_flaps"
MISSING, SLOW = "network.ports_missing", "network.port_speed_below"

define(
    ERRORS,
    "count",
    "receive and transmit errors of links that are up, since boot",
    ("network.interfaces[].rx_errors", "…tx_errors"),
    "处于 up 状态的网口自启动以来的收发错误数",
)
define(
    DOWN,
    "count",
    "InfiniBand or RoCE ports that are not active while others of the host are",
    ("network.rdma_ports[].state",),
    "同机其他端口正常时未处于 active 的 InfiniBand/RoCE 端口数",
)
define(
    PORT_ERRORS,
    "count",
    "errors of active RDMA ports since their counters were reset: symbol errors, recoveries, lost links, receive errors, overruns, "
    "discards",
    ("network.rdma_ports[].counters",),
    "处于 active 的 RDMA 端口自计数清零以来的错误：符号错误、链路恢复、掉线、接收错误、溢出、丢弃",
)
define(
    FLAPS,
    "count",
    "how often the worst wired link that is up has lost its carrier since boot: carrier_changes / 2, rounded down",
    ("network.interfaces[].carrier_changes",),
    "处于 up 状态的有线链路中最差者自启动以来失去载波的次数：carrier_changes / 2，向下取整",
)
define(
    MISSING,
    "count",
    "Ethernet ports with hardware that are up, fewer than expected network_ports, plus active RDMA ports, fewer than expected rdma_ports",
    ("network.interfaces[].state", "network.rdma_ports[].state", "expected.network_ports", "expected.rdma_ports"),
    "处于 up 状态的物理以太网口比期望的 network_ports 少几个，加上 active 的 RDMA 端口比期望的 rdma_ports 少几个",
)
define(
    SLOW,
    "count",
    "of the ports that are expected (network_ports, rdma_ports; without a number one) and are there, how many don't run at the expected "
    "speed; the "
    "fastest ports count, so that a slow port for management beside them does no harm",
    (
        "network.interfaces[].speed_bits_per_second",
        "network.rdma_ports[].rate_bits_per_second",
        "expected.network_port_bits_per_second",
        "expected.rdma_port_bits_per_second",
    ),
    "在期望且存在的端口（network_ports、rdma_ports；未给数量时为一个）中有几个未达到期望速率；按最快的端口计，因此旁边有低速管理口无妨",
)

# Counters of RDMA ports that count something wrong; the others count traffic, waiting and slowing down.
_WRONG = (
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "port_rcv_remote_physical_errors",
    "port_xmit_discards",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "rx_icrc_encapsulated",
)
# (expected number, expected speed, what it is called in evidence)
_EXPECTED = (("network_ports", "network_port_bits_per_second"), ("rdma_ports", "rdma_port_bits_per_second"))


def derive(state):
    """Every metric of ports."""
    network, problem = state.subject("network")
    if problem:
        state.unread((ERRORS, DOWN, PORT_ERRORS, FLAPS), problem)
        _derive_expected(state, None, problem)
        return
    wired = [
        entry for entry in maps(network, "interfaces") if text(entry, "kind") in ("ethernet", "infiniband") and text(entry, "state") == "up"
    ]
    _derive_errors(state, wired)
    _derive_flaps(state, wired)
    _derive_rdma(state, network)
    _derive_expected(state, network, None)


def _name(entry):
    return text(entry, "name") or "?"


def _port_name(port):
    number = amount(port, "port")
    return "%s%s" % (text(port, "device") or "?", "" if number is None else "/%d" % number)


def _is_active(port):
    return (text(port, "state") or "").lower() == "active"


def _derive_errors(state, wired):
    counts = [
        ((amount(entry, "rx_errors") or 0) + (amount(entry, "tx_errors") or 0), _name(entry))
        for entry in wired
        if amount(entry, "rx_errors") is not None
    ]
    if counts:
        state.value(
            ERRORS,
            sum(count for count, _who in counts),
            [{"what": who, "value": count, "source": "/sys/class/net"} for count, who in counts if count][:8],
        )
    else:
        state.not_applicable(ERRORS, "absent.no_links")


def _derive_flaps(state, wired):
    counts = [(amount(entry, "carrier_changes"), _name(entry)) for entry in wired]
    lost = sorted(((int(count) // 2, who) for count, who in counts if count is not None), key=lambda entry: (-entry[0], entry[1]))
    if not lost:
        state.not_applicable(FLAPS, "absent.no_links")
        return
    state.value(FLAPS, lost[0][0], [{"what": who, "value": count, "source": "/sys/class/net"} for count, who in lost if count][:8])


def _derive_rdma(state, network):
    ports = maps(network, "rdma_ports")
    active = [port for port in ports if _is_active(port)]
    if not active:
        for name in (DOWN, PORT_ERRORS):
            state.not_applicable(name, "absent.no_rdma")
        return
    down = [port for port in ports if port not in active]
    state.value(
        DOWN,
        len(down),
        [{"what": text(port, "device") or "?", "value": text(port, "state"), "source": "/sys/class/infiniband"} for port in down],
    )
    found = []
    for port in active:
        counters = mapping(port, "counters")
        known = [name for name in _WRONG if amount(counters, name) is not None]
        found += [(amount(counters, name), "%s %s" % (_port_name(port), name)) for name in known]
    found.sort(key=lambda entry: (-entry[0], entry[1]))
    state.value(
        PORT_ERRORS,
        sum(count for count, _who in found),
        [{"what": who, "value": count, "source": "/sys/class/infiniband"} for count, who in found if count][:8],
    )


# ------------------------------------------------------------------------------------- what is expected


def _there(network, kind):
    """[(bits per second or None, name)] of the ports of a kind that are up, the fastest first."""
    if kind == "rdma_ports":
        ports = [port for port in maps(network, "rdma_ports") if _is_active(port)]
        found = [(amount(port, "rate_bits_per_second"), _port_name(port)) for port in ports]
    else:
        found = [
            (amount(entry, "speed_bits_per_second"), _name(entry))
            for entry in maps(network, "interfaces")
            if text(entry, "kind") == "ethernet" and text(entry, "state") == "up"
        ]
    return sorted(found, key=lambda entry: (-(entry[0] or 0), entry[1]))


def _unread(network, kind):
    """Why the ports of a kind can't be counted, None where they can."""
    list_name = "rdma_ports" if kind == "rdma_ports" else "interfaces"
    if isinstance(network.get(list_name), list):
        return None
    said = text(mapping(network, "absent"), list_name)
    return "absent.unreadable", {"field": "network.%s%s" % (list_name, " (%s)" % said if said else "")}


def _derive_expected(state, network, problem):
    """Both metrics of what is expected."""
    if problem is None:
        asked = [kind for kind, speed in _EXPECTED if state.expected.get(kind) is not None or state.expected.get(speed) is not None]
        problem = next((found for found in (_unread(network, kind) for kind in asked) if found), None)
    _derive_missing(state, network, problem)
    _derive_slow(state, network, problem)


def _derive_missing(state, network, problem):
    wanted = [(kind, amount(state.expected, kind)) for kind, _speed in _EXPECTED if amount(state.expected, kind) is not None]
    if not wanted:
        state.not_applicable(MISSING, SILENT)
        return
    if problem:
        state.unread([MISSING], problem)
        return
    missing, told = 0, []
    for kind, count in wanted:
        there = _there(network, kind)
        if len(there) < count:
            missing += count - len(there)
            told.append({"what": kind + "_up", "value": len(there), "source": "sysfs"})
            told.append({"what": "gpu_audit_expected." + kind, "value": count, "source": "inventory"})
    state.value(MISSING, missing, told)


def _derive_slow(state, network, problem):
    wanted = [(kind, field, amount(state.expected, field)) for kind, field in _EXPECTED if amount(state.expected, field)]
    if not wanted:
        state.not_applicable(SLOW, SILENT)
        return
    if problem:
        state.unread([SLOW], problem)
        return
    slow, told, unread = 0, [], []
    for kind, field, speed in wanted:
        count = amount(state.expected, kind)
        there = _there(network, kind)
        judged = there[: int(count) if count is not None else 1]
        below = [(rate, who) for rate, who in judged if rate is not None and rate < speed]
        unread += [who for rate, who in judged if rate is None]
        slow += len(below)
        if below:
            told.append({"what": "gpu_audit_expected." + field, "value": format_bit_rate(speed), "source": "inventory"})
        told += [{"what": who, "value": format_bit_rate(rate), "source": "sysfs"} for rate, who in below]
        if not there and count is None:
            # A speed was expected of at least one port, and there is none.
            slow += 1
            told.append({"what": kind + "_up", "value": 0, "source": "sysfs"})
    if unread and not slow:
        state.unknown(SLOW, "absent.port_speed", names=", ".join(unread[:4]))
        return
    state.value(SLOW, slow, told[:8])
