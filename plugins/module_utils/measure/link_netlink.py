# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Addresses of this host and the interface that a route takes, asked of the kernel (man 7 rtnetlink); needs no program and no right."""

from __future__ import annotations

import os
import socket
import struct

_GET_ADDRESS, _GET_ROUTE, _ERROR, _DONE = 22, 26, 2, 3
_REQUEST, _DUMP = 1, 0x300
_SECONDS = 5
_ADDRESS, _LOCAL = 1, 2          # IFA_*
_DESTINATION, _SOURCE, _OUT = 1, 2, 4          # RTA_*
_GLOBAL, _SITE, _LINK, _HOST = 0, 200, 253, 254          # RT_SCOPE_*
_TO_ITSELF = 2          # RTN_LOCAL


def _ask(kind, flags, body):
    """[(kind, payload)] of the kernel's answers. OSError."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as asked:
        asked.settimeout(_SECONDS)
        asked.bind((0, 0))
        asked.send(struct.pack("=IHHII", 16 + len(body), kind, _REQUEST | flags, 1, 0) + body)
        answers = []
        while True:
            data = asked.recv(1 << 16)
            while len(data) >= 16:
                length, found, _flags, _number, _pid = struct.unpack_from("=IHHII", data)
                payload = data[16:length]
                if found == _ERROR:
                    number = -struct.unpack_from("=i", payload)[0]
                    raise OSError(number, os.strerror(number))
                if found == _DONE:
                    return answers
                answers.append((found, payload))
                data = data[max(16, (length + 3) & ~3):]
            if not flags & _DUMP:
                return answers


def _attributes(data):
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        if length < 4:
            break
        found.setdefault(kind, data[4:length])
        data = data[(length + 3) & ~3:]
    return found


def addresses():
    """[{"address", "interface", "prefix", "scope" (global | link | host)}] of this host, in the kernel's order. OSError."""
    found = []
    for _kind, payload in _ask(_GET_ADDRESS, _DUMP, struct.pack("=BBBBI", 0, 0, 0, 0, 0)):
        family, prefix, _flags, scope, index = struct.unpack_from("=BBBBI", payload)
        own = _attributes(payload[8:])
        raw = own.get(_LOCAL) or own.get(_ADDRESS)
        if family not in (socket.AF_INET, socket.AF_INET6) or not raw:
            continue
        try:
            name = socket.if_indextoname(index)
        except OSError:
            continue
        found.append({"address": socket.inet_ntop(family, raw), "interface": name, "prefix": prefix,
                      "scope": {_LINK: "link", _HOST: "host"}.get(scope, "global")})
    return found


def route_interface(destination, source=None):
    """Name of the interface that packets to `destination` (sent from `source`) leave by. OSError where there is no route."""
    for payload in _routes(destination, source):
        out = _attributes(payload[12:]).get(_OUT)
        if out:
            return socket.if_indextoname(struct.unpack("=I", out)[0])
    raise OSError(0, "the kernel names no interface for it")


def is_own(destination):
    """Whether packets to an address stay on this host, be it of the loop or of any interface. OSError where there is no route to it."""
    return any(len(payload) >= 12 and bytearray(payload)[7] == _TO_ITSELF for payload in _routes(destination, None))


def _routes(destination, source):
    """The kernel's answers to which way packets take."""
    family = family_of(destination)
    body = b""
    bits = 32 if family == socket.AF_INET else 128
    for kind, address in ((_DESTINATION, destination), (_SOURCE, source)):
        if address:
            raw = socket.inet_pton(family, address)
            body += struct.pack("=HH", 4 + len(raw), kind) + raw
    head = struct.pack("=BBBBBBBBI", family, bits, bits if source else 0, 0, 0, 0, 0, 0, 0)
    return [payload for _kind, payload in _ask(_GET_ROUTE, 0, head + body)]


def family_of(address):
    """AF_INET or AF_INET6 of an address in text; ValueError for what is none."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, address)
            return family
        except (OSError, ValueError):
            continue
    raise ValueError("%r is no IP address" % (address,))
