# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The bridge, the hosts' links, and the relay that stands in for a slow network."""
from __future__ import annotations

import collections
import fcntl
import os
import select
import socket
import struct
import subprocess
import time
from pathlib import Path

from . import kernel, paths
from .host import Host

TUNSETIFF, TAP_NO_PI = 0x400454CA, 0x1002
NEIGHBOURS = (("gc_thresh1", 4096), ("gc_thresh2", 8192), ("gc_thresh3", 16384))


def ip_batch(lines: list[str]) -> None:
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n", text=True, check=True)


def make_bridge() -> None:
    ip_batch([f"link add {paths.BRIDGE} type bridge forward_delay 0", f"addr add {paths.NET}.0.1/16 dev {paths.BRIDGE}",
              f"link set {paths.BRIDGE} up"])
    for name, least in NEIGHBOURS:         # many hosts outgrow the neighbour table's default of 1024
        path = Path(f"/proc/sys/net/ipv4/neigh/default/{name}")
        if int(path.read_text()) < least:
            path.write_text(str(least))


def plug(hosts: list[tuple[Host, int]]) -> None:
    """A veth from the bridge into each host's network namespace (given by a pid in it)."""
    lines = [line for host, pid in hosts if not host.delay_ms for line in (
        f"link add {host.link} type veth peer name eth0 netns {pid}", f"link set {host.link} master {paths.BRIDGE} up")]
    if lines:
        ip_batch(lines)
    for host, _pid in hosts:
        if host.rate and not host.delay_ms:
            subprocess.run(["tc", "qdisc", "replace", "dev", host.link, "root", "tbf", "rate", host.rate, "burst", "64k",
                            "latency", "50ms"], check=True)


def tap(name: str) -> int:
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), TAP_NO_PI))
    return fd


def relay(outer: int, inner: int, delay: float) -> None:
    """Copy frames between two TAPs, each `delay` seconds late, until the host is gone (netem isn't in every kernel)."""
    queues = {outer: collections.deque(), inner: collections.deque()}
    other = {outer: inner, inner: outer}
    while True:
        due = [queue[0][0] for queue in queues.values() if queue]
        wait = max(0.0, min(due) - time.monotonic()) if due else None
        for fd in select.select([outer, inner], [], [], wait)[0]:
            try:
                queues[other[fd]].append((time.monotonic() + delay, os.read(fd, 65536)))
            except OSError:
                return
        now = time.monotonic()
        for fd, queue in queues.items():
            while queue and queue[0][0] <= now:
                frame = queue.popleft()[1]
                try:
                    os.write(fd, frame)
                except OSError:
                    pass                   # a full queue drops frames, as a network does


def spawn_relay(host: Host, pid: int) -> int:
    """Start the relay process of a host with a delay; returns its pid once both ends exist."""
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            null = os.open("/dev/null", os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            # What it inherited stays open as long as it lives: the lock of whoever brings the fleet up would never be free again.
            os.closerange(3, tell)
            os.closerange(tell + 1, 65536)
            outer = tap(host.link)
            subprocess.run(["ip", "link", "set", host.link, "master", paths.BRIDGE, "up"], check=True)
            kernel.call("setns", os.open(f"/proc/{pid}/ns/net", os.O_RDONLY), kernel.NEWNET)
            inner = tap("eth0")
            os.write(tell, b"k")
            relay(outer, inner, host.delay_ms / 1000)
        finally:
            os._exit(70)
    os.close(tell)
    os.read(ready, 1)
    os.close(ready)
    return child


def links() -> list[str]:
    return [name for name in os.listdir("/sys/class/net")
            if name == paths.BRIDGE or (name.startswith(paths.PREFIX) and name[len(paths.PREFIX):].isdigit())]


def remove_links() -> None:
    """The kernel frees a dead namespace's links a little later; say it now."""
    names = links()
    if names:
        subprocess.run(["ip", "-force", "-batch", "-"], text=True, stderr=subprocess.DEVNULL, check=False,
                       input="".join(f"link del {name}\n" for name in names))


def banner(ip: str) -> bool:
    """Does an ssh server answer?"""
    try:
        with socket.create_connection((ip, 22), timeout=1) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False
