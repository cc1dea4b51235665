# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Facts about network interfaces and the ports of RDMA devices (InfiniBand, RoCE)."""

from __future__ import annotations

from ..sources.forked import run_forked
from ..sources.host_files import reason
from .subject import Subject

MAX_PHYSICAL = 128
MAX_VIRTUAL = 32
MAX_PORTS = 128

_NET = "/sys/class/net/"
_RDMA = "/sys/class/infiniband/"
# ARPHRD_* numbers of linux/if_arp.h
_TYPES = {"32": "infiniband", "772": "loopback", "801": "wireless", "802": "wireless", "803": "wireless"}
# SPEED_UNKNOWN in the widths that drivers cut it to, and 0: none is a speed.
_NO_SPEED = frozenset((-1, 0, 65535, 4294967295))
_PLUMBING = ("veth", "cali", "lxc", "tap", "tun", "vnet", "cni", "flannel", "docker", "br-", "virbr", "kube", "nodelocaldns", "cilium",
             "gre", "sit", "ip6", "dummy", "ifb", "erspan")
_COUNTERS = ("rx_errors", "tx_errors", "rx_dropped", "tx_dropped")
_PORT_COUNTERS = (
    "symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors", "port_rcv_remote_physical_errors", "port_xmit_discards",
    "local_link_integrity_errors", "excessive_buffer_overrun_errors", "VL15_dropped", "port_xmit_wait")
_HARDWARE_COUNTERS = (
    "out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "roce_adp_retrans", "roce_slow_restart", "rx_icrc_encapsulated")


def collect(host, timeout_seconds=10, run=run_forked):
    """The network document of a HostFiles.

    kind of an interface: ethernet, infiniband, wireless, loopback, or virtual (no device behind it: bonds, bridges, VLANs, containers).
    A virtual interface has a speed only where it stands on others: what a veth or tun says is made up. At most 128 with hardware and
    32 virtual ones are listed, container plumbing last; `interfaces_left_out` counts the rest. Interfaces are only those of this
    network namespace. Why a speed is null is in `absent` under 'interfaces.<name>.speed_bits_per_second'.
    """
    network = Subject("interfaces", "interfaces_left_out", "rdma_ports")
    interfaces, left_out = [], 0
    physical, virtual = _sorted_names(host)
    for name, kind in physical[:MAX_PHYSICAL] + virtual[:MAX_VIRTUAL]:
        interface, why = _interface(host, name, kind)
        interfaces.append(interface)
        if why:
            network.absent["interfaces.%s.speed_bits_per_second" % name] = why
    left_out = max(0, len(physical) - MAX_PHYSICAL) + max(0, len(virtual) - MAX_VIRTUAL)
    network.put("/sys/class/net", {"interfaces": interfaces if interfaces else None, "interfaces_left_out": left_out})
    devices = host.names(_RDMA)
    ok, value = True, []
    if devices:
        # Counters are asked from the adapter's firmware, which may be dead.
        ok, value, _kind = run(lambda: rdma_ports(host, devices), timeout_seconds)
    if ok:
        network.put("/sys/class/infiniband", {"rdma_ports": value})
    else:
        network.absent["rdma_ports"] = "failed: %s" % value
    return network.document()


def _sorted_names(host):
    """([(name, kind)] with hardware, [(name, kind)] virtual), each by name, container plumbing at the end."""
    physical, virtual = [], []
    for name in host.names(_NET):
        link = host.link(_NET + name)
        if link is None and not host.exists(_NET + name + "/"):
            continue  # /sys/class/net/bonding_masters is a file
        kind = _TYPES.get(host.text_or(_NET + name + "/type"), "ethernet")
        if kind == "ethernet" and host.exists(_NET + name + "/phy80211"):
            kind = "wireless"
        if kind != "loopback" and link and "/virtual/" in link:
            virtual.append((name, "virtual"))
        else:
            physical.append((name, kind))
    virtual.sort(key=lambda each: (each[0].startswith(_PLUMBING), each[0]))
    return physical, virtual


def _interface(host, name, kind):
    """(the interface's dict, why its speed is null or None)."""
    base = _NET + name + "/"
    state = host.text_or(base + "operstate")
    speed, why = None, "not_supported"
    below = [each for each in host.names(base[:-1]) if each.startswith("lower_")] if kind == "virtual" else []
    if kind not in ("loopback", "wireless") and (kind != "virtual" or below):
        speed, why = _speed(host, base, state)
    driver = host.link(base + "device/driver")
    duplex = host.text_or(base + "duplex")
    interface = {
        "name": name, "kind": kind, "state": state, "speed_bits_per_second": speed,
        "duplex": duplex if duplex in ("full", "half") else None,
        "mtu": host.number(base + "mtu"),
        "driver": driver.rsplit("/", 1)[-1] if driver else None,
        "mac": host.text_or(base + "address"),
        "carrier_changes": host.number(base + "carrier_changes"),
    }
    for counter in _COUNTERS:
        interface[counter] = host.number(base + "statistics/" + counter)
    return interface, why


def _speed(host, base, state):
    """(bits per second, None) or (None, why). The file holds Mb/s; reading it fails with EINVAL where there is no link."""
    try:
        text = host.text(base + "speed", 64)
    except OSError as error:
        why = reason(error)
        return None, why + (" (state %s)" % state if why.startswith("failed") and state else "")
    try:
        megabits = int(text)
    except ValueError:
        return None, "failed: no speed: %r" % text
    if megabits in _NO_SPEED or megabits < 0:
        return None, "failed: the driver doesn't know the speed (%d%s)" % (megabits, ", state %s" % state if state else "")
    return megabits * 1000000, None


def parse_rate(text):
    """'400 Gb/sec (4X NDR)' -> 400000000000; None where it is no rate."""
    number, unit, _rest = (text or "").partition("Gb/sec")
    try:
        return int(float(number) * 1000000000) if unit else None
    except (ValueError, OverflowError):
        return None


def _word(text):
    """'4: ACTIVE' -> 'active', '5: LinkUp' -> 'linkup'; None stays None."""
    return text.rpartition(":")[2].strip().lower() or None if text else None


def rdma_ports(host, devices):
    """[{"device", "port", "link_layer", "state", "physical_state", "rate_bits_per_second", "board_id", "counters"}]."""
    ports = []
    for device in devices:
        for port in host.names(_RDMA + device + "/ports"):
            if not port.isdigit() or len(ports) >= MAX_PORTS:
                continue
            base = "%s%s/ports/%s/" % (_RDMA, device, port)
            counters = {}
            for folder, names in (("counters/", _PORT_COUNTERS), ("hw_counters/", _HARDWARE_COUNTERS)):
                for name in names:
                    value = host.number(base + folder + name)
                    if value is not None:
                        counters[name] = value
            state = _word(host.text_or(base + "state"))
            ports.append({
                "device": device,
                "port": int(port),
                "link_layer": (host.text_or(base + "link_layer") or "").lower() or None,
                "state": state,
                "physical_state": _word(host.text_or(base + "phys_state")),
                # A port that is down says the lowest rate there is.
                "rate_bits_per_second": parse_rate(host.text_or(base + "rate")),
                "board_id": host.text_or(_RDMA + device + "/board_id"),
                "counters": counters,
            })
    return ports
