# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a link can carry: goodput of TCP over a line rate, bandwidth-delay product, what a window allows, bus bandwidth of collectives.

Rates are bits a second where they say so, else bytes a second; times are seconds.
"""

from __future__ import annotations

# Preamble and start of frame, header, checksum, gap between frames (IEEE 802.3).
ETHERNET_OVERHEAD_BYTES = 8 + 14 + 4 + 12
IP_AND_TCP_HEADER_BYTES = {4: 20 + 20, 6: 40 + 20}
# RFC 7323, with its padding.
TIMESTAMPS_BYTES = 12
# A share of the line rate that no test measures: what buffers held when it began makes a short one a little faster than the line.
IMPOSSIBLE_OF_LINE_RATE = 1.25
# nccl-tests, PERFORMANCE.md: bus bandwidth = algorithm bandwidth x factor of the number of ranks.
_AROUND = ("reduce_scatter", "all_gather", "alltoall", "all_to_all")
_THROUGH = ("broadcast", "reduce", "sendrecv", "send_recv")


def tcp_goodput_fraction(mtu_bytes, timestamps=True, ip_version=4):
    """Share of an Ethernet's line rate that is TCP's own data, with full frames.

    >>> round(tcp_goodput_fraction(1500), 4), round(tcp_goodput_fraction(1500, timestamps=False), 4)
    (0.9415, 0.9493)
    """
    headers = IP_AND_TCP_HEADER_BYTES[ip_version] + (TIMESTAMPS_BYTES if timestamps else 0)
    if mtu_bytes <= headers:
        raise ValueError("an MTU of %s bytes carries no TCP data" % mtu_bytes)
    return (mtu_bytes - headers) / (mtu_bytes + ETHERNET_OVERHEAD_BYTES)


def most_bits_per_second(link):
    """What no test of a link exceeds; None where its rate isn't known or means nothing.

    link: {"line_rate_bits_per_second", "link_kind"}.
    """
    rate = link.get("line_rate_bits_per_second")
    known = link.get("link_kind") == "physical" and isinstance(rate, (int, float)) and not isinstance(rate, bool) and rate > 0
    return IMPOSSIBLE_OF_LINE_RATE * rate if known else None


def bandwidth_delay_bytes(bits_per_second, rtt_seconds):
    """Bytes under way on a full link: the least that a TCP window must hold.

    >>> round(bandwidth_delay_bytes(10e9, 0.020))
    25000000
    """
    return bits_per_second * rtt_seconds / 8


def window_limited_bits_per_second(window_bytes, rtt_seconds):
    """What one TCP stream can reach with a window: one of them each round trip.

    >>> round(window_limited_bits_per_second(2000000, 0.020))
    800000000
    """
    if rtt_seconds <= 0:
        raise ValueError("a round trip takes longer than %s s" % rtt_seconds)
    return window_bytes * 8 / rtt_seconds


def busbw_factor(operation, ranks):
    """What a collective's algorithm bandwidth is multiplied with, so that the link's own rate comes out; ValueError for an unknown one."""
    name = operation.lower().replace("-", "_")
    if ranks < 1:
        raise ValueError("ranks must be at least 1, not %s" % ranks)
    if name in ("all_reduce", "allreduce"):
        return 2 * (ranks - 1) / ranks
    if name in _AROUND or name in ("reducescatter", "allgather"):
        return (ranks - 1) / ranks
    if name in _THROUGH:
        return 1.0
    raise ValueError("no bus bandwidth is known for %r" % operation)
