# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Finds iperf3, starts clients and servers of it so that each ends by itself, and says in words what went wrong."""

from __future__ import annotations

import collections
import os
import re
import signal
import socket
import subprocess
import time

from ..sources.run_program import MAX_BYTES, read_scratch, run_program, scratch_file
from . import link_netlink
from .iperf3_output import parse_iperf3, plain_line

ANSWER_SECONDS = 20
CONNECT_SECONDS = 5
# Beyond its own seconds a client needs these for agreeing, for the last bytes on their way, and for the results.
SPARE_SECONDS = 12
# Fits every path whole: with larger packets old versions send some that are torn, and one lost piece loses all of them.
UDP_PACKET_BYTES = 1200
# In the environment of every iperf3 of a test, so that whatever is left of it is found; in a group's test also of the modules that start them.
MARK_VARIABLE = "GPU_AUDIT_LINK_SESSION"
# Likewise of one client, so that what it left behind ends with it.
CLIENT_VARIABLE = "GPU_AUDIT_LINK_CLIENT"
_MARKS = (MARK_VARIABLE.encode(), CLIENT_VARIABLE.encode())
# From this version on each stream has a thread of its own.
THREADED = (3, 16)

_INSTALL = (("debian", "apt-get install iperf3"), ("rhel", "dnf install iperf3"), ("fedora", "dnf install iperf3"),
            ("suse", "zypper install iperf"), ("arch", "pacman -S iperf3"), ("alpine", "apk add iperf3"))
_FOLDERS = ["/usr/bin", "/usr/local/bin", "/usr/sbin", "/sbin", "/bin"]

Tool = collections.namedtuple("Tool", "path version options")
Tool.__doc__ = """An iperf3 that can be used: its path, version ("3.12") and the long options that its help names."""


class NoTool(Exception):
    """There is no iperf3 that can be used; the text says how to get one."""


class NoServer(Exception):
    """No server could be started; `kind` and the text say why."""

    def __init__(self, kind, message):
        super(NoServer, self).__init__(message)
        self.kind = kind


# ------------------------------------------------------------------ the program


def install_line(os_release):
    """The line that installs iperf3, from the text of /etc/os-release."""
    names = " ".join(re.findall(r'^(?:ID|ID_LIKE)="?([^"\n]*)', os_release or "", re.MULTILINE)).split()
    names = ["debian" if name == "ubuntu" else "suse" if name.startswith(("sles", "opensuse")) else name for name in names]
    return next((line for family, line in _INSTALL if family in names), "the package iperf3 of your distribution")


def tool(path=None, os_release="", run=run_program):
    """-> Tool; NoTool where there is none. `path`: a program or a bare name; null for iperf3 on the search path."""
    how = "Install it with: %s (or the role prepare with gpu_audit_prepare_iperf3: true)" % install_line(os_release)
    found = _found(path or "iperf3")
    if found is None:
        words = "iperf3" if not path else "the iperf3 named, %s," % path
        raise NoTool("%s isn't installed here. %s" % (words, how))
    done = run([found, "--version"], ANSWER_SECONDS)
    if done.timed_out or done.rc is None:
        raise NoTool("%s --version %s" % (found, "gave no answer within %d s and was ended" % ANSWER_SECONDS if done.timed_out
                                          else "can't be started: %s" % done.stderr))
    said = done.stdout + "\n" + done.stderr
    version = re.search(r"\biperf (3\.\d+[\w.+-]*)", said)
    if not version:
        other = re.search(r"\biperf (?:version )?([\d.]+)", said)
        raise NoTool("%s is %s; iperf3 3.1 or newer is needed. %s" % (
            found, "iperf %s" % other.group(1) if other else "not iperf3 (it says %s)" % (plain_line(said, 100) or "nothing"), how))
    usage = run([found, "--help"], ANSWER_SECONDS)
    return Tool(found, version.group(1), frozenset(re.findall(r"(--[a-z][a-z0-9-]+)", usage.stdout + usage.stderr)))


def _found(path):
    if "/" in path:
        return path if os.path.isfile(path) and os.access(path, os.X_OK) else None
    for folder in os.environ.get("PATH", "").split(":") + _FOLDERS:
        candidate = os.path.join(folder, path)
        if folder and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None


def numbers(version):
    """"3.17.1" -> (3, 17, 1)."""
    return tuple(int(part) for part in re.findall(r"\d+", version or "")[:3])


def _limited(argv, seconds):
    """`argv` under coreutils' timeout where there is one: it ends even when whoever started it was killed."""
    timeout = _found("timeout")
    return ([timeout, "-k", "2", "%d" % seconds] if timeout else []) + argv


# -------------------------------------------------------------------- a client


def arguments(used, server, port, address, seconds, omit_seconds, streams=1, reverse=False, udp_bits_per_second=None):
    """The client's command for one direction."""
    argv = [used.path, "-c", server, "-p", "%d" % port, "-B", address, "-J", "-t", "%d" % seconds, "-O", "%d" % omit_seconds, "-i", "1"]
    if streams > 1:
        argv += ["-P", "%d" % streams]
    if reverse:
        argv.append("-R")
    if udp_bits_per_second:
        argv += ["-u", "-b", "%d" % udp_bits_per_second, "-l", "%d" % UDP_PACKET_BYTES]
    if "--connect-timeout" in used.options:
        argv += ["--connect-timeout", "%d" % (CONNECT_SECONDS * 1000)]
    return argv


def deadline(seconds, omit_seconds):
    """Seconds after which one client counts as hanging."""
    return seconds + omit_seconds + CONNECT_SECONDS + SPARE_SECONDS


def client(used, argv, server, port, limit_seconds, session, run=run_program):
    """Runs a client. -> (iperf3_output's facts, null or {"kind", "message"})."""
    mark = "%d-%x" % (os.getpid(), time.monotonic_ns())
    try:
        done = run(_limited(argv, limit_seconds + 5), limit_seconds, env={MARK_VARIABLE: session, CLIENT_VARIABLE: mark})
    finally:
        # Also where this process is told to end, and where a program went on in the background.
        stop(mark, 1.0, CLIENT_VARIABLE)
    facts = parse_iperf3(done.stdout + "\n" + done.stderr)
    where = "%s port %d" % (server, port)
    if done.truncated:
        return facts, {"kind": "protocol", "message": "iperf3 printed more than %d MiB and was ended: it is broken, or what was given is "
                       "another program" % (MAX_BYTES >> 20)}
    if done.timed_out:
        known = "--connect-timeout" in used.options
        return facts, {"kind": "stalled" if known else "timeout", "message": (
            "%s took the connection and gave no answer, or stopped answering, within %d s: no iperf3 server listens there, its machine "
            "hangs, or large packets get lost on the way" % (where, limit_seconds) if known else
            "no answer from %s within %d s: a firewall drops it, or what listens there is no iperf3 server" % (where, limit_seconds))}
    # Whatever a program that crashed had printed before, its result isn't to be trusted.
    ended_by = None if done.rc is None else -done.rc if done.rc < 0 else done.rc - 128
    if ended_by is not None and ended_by > 0:
        return facts, {"kind": "local", "message": "iperf3 was ended by signal %d" % ended_by}
    if facts["error"] is None:
        return facts, None
    kind = kind_of(facts["error"], done.duration_seconds)
    return facts, {"kind": kind, "message": _SAID[kind] % {"where": where, "said": facts["error"]}}


_KINDS = (
    ("busy", r"busy running a test"),
    ("refused", r"[Cc]onnection refused"),
    ("timeout", r"timed out|Operation now in progress|ETIMEDOUT"),
    ("unreachable", r"No route to host|[Nn]etwork is unreachable|[Hh]ost is (down|unreachable)"),
    ("dns", r"Name or service not known|name resolution|No address associated|nodename nor servname"),
    ("reset", r"reset by peer|closed unexpectedly|[Bb]roken pipe|server has terminated|unable to receive results"),
    ("local", r"Cannot assign requested address|unable to bind|Permission denied|No such device|unrecognized option|parameter error|"
              r"Too many open files"),
)
_SAID = {
    "busy": "the iperf3 server on %(where)s is busy with somebody else's test, also after waiting: %(said)s",
    "refused": "%(where)s refused the connection: no server listens there, or a firewall rejects it (%(said)s)",
    "timeout": "%(where)s can't be reached: no answer to the connection, a firewall drops it (%(said)s). Open the ports of "
               "measure_network_link_ports between the hosts",
    "unreachable": "no way to %(where)s: %(said)s",
    "dns": "the name of %(where)s can't be looked up: %(said)s",
    "reset": "the iperf3 server on %(where)s ended during the test: %(said)s",
    "local": "iperf3 can't work here: %(said)s",
    "protocol": "iperf3 and the server on %(where)s didn't come to a result: %(said)s",
}


def kind_of(said, seconds=0.0):
    """The kind of what iperf3 said."""
    if "Bad file descriptor" in said:
        # What 3.9 says of a connection that failed.
        return "timeout" if seconds >= CONNECT_SECONDS - 1 else "refused"
    return next((kind for kind, words in _KINDS if re.search(words, said)), "protocol")


# --------------------------------------------------------------------- a server


def ports(text):
    """"5201-5300" or "5201" -> [5201, ...]; ValueError."""
    found = re.match(r"\s*(\d{1,5})\s*(?:-\s*(\d{1,5})\s*)?$", str(text))
    first, last = (int(found.group(1)), int(found.group(2) or found.group(1))) if found else (0, 0)
    if not 1024 <= first <= last <= 65535:
        raise ValueError("port range: %r is no range of ports; give two from 1024 to 65535, such as 5201-5300" % (text,))
    return list(range(first, last + 1))


def start_server(used, address, port_range, lifetime_seconds, session):
    """{"port", "pid"} of a server that ends by itself after so many seconds; NoServer."""
    if _found("timeout") is None:
        raise NoServer("local", "the program timeout (coreutils) isn't here; without it a server might be left running")
    said = ""
    for port in port_range:
        if not _free(address, port):
            continue
        with scratch_file() as output:
            argv = _limited([used.path, "-s", "-B", address, "-p", "%d" % port], lifetime_seconds)
            environment = dict(os.environ, LC_ALL="C", **{MARK_VARIABLE: session})
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, close_fds=True,
                                       start_new_session=True, cwd="/")
            until = time.monotonic() + ANSWER_SECONDS
            while process.poll() is None and time.monotonic() < until:
                if _listens(port):
                    # Left running on purpose.
                    process.returncode = 0
                    return {"port": port, "pid": process.pid}
                time.sleep(0.02)
            said = plain_line(read_scratch(output, 4000).decode("utf-8", "replace"), 4000)[-300:]
        if process.poll() is None:
            stop(session)
            raise NoServer("local", "iperf3 -s on %s port %d didn't begin to listen within %d s: %s" % (
                address, port, ANSWER_SECONDS, said))
        if "in use" not in said:
            raise NoServer("local", "iperf3 -s can't listen on %s port %d: %s" % (address, port, said or "it said nothing"))
    raise NoServer("busy", "all ports from %d to %d are taken on %s; give a wider range" % (port_range[0], port_range[-1], address))


def _free(address, port):
    try:
        with socket.socket(link_netlink.family_of(address), socket.SOCK_STREAM) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((address, port))
            tried.listen(1)
    except OSError:
        return False
    return True


def _listens(port):
    """Whether a TCP port is listened on, from /proc/net/tcp: connecting to see would be taken for a client."""
    ending = ":%04X" % port
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(name) as file:
                for line in file:
                    fields = line.split()
                    if len(fields) > 3 and fields[3] == "0A" and fields[1].endswith(ending):
                        return True
        except OSError:
            pass
    return False


def sessions():
    """Names of the sessions of which some program runs here, as far as this user may see."""
    start, found = (MARK_VARIABLE + "=").encode(), set()
    for _pid, environment in _environments():
        found.update(entry[len(start):].decode("utf-8", "replace") for entry in environment if entry.startswith(start))
    return sorted(found)


def marked(session, variable=MARK_VARIABLE):
    """Process ids of the tests of a session that still run here."""
    mark = ("%s=%s" % (variable, session)).encode("utf-8", "surrogateescape")
    return [pid for pid, environment in _environments() if mark in environment]


def _environments():
    """(pid, [b"NAME=value"]) of each other process that may be read."""
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open("/proc/%s/environ" % name, "rb") as file:
                environment = file.read(1 << 20).split(b"\0")
            if any(entry.startswith(_MARKS) for entry in environment):
                with open("/proc/%s/cmdline" % name, "rb") as file:
                    # Ansible's wrapper clears up behind its module and ends by itself.
                    if b"async_wrapper.py" in file.read(65536):
                        continue
        except OSError:
            continue
        yield int(name), environment


def stop(session, seconds=3.0, variable=MARK_VARIABLE):
    """Ends what is left of a session, or of what another variable marks. -> (how many were ended, [pids that wouldn't])."""
    ended = set()
    for number in (signal.SIGTERM, signal.SIGKILL):
        there = marked(session, variable)
        ended.update(there)
        for pid in there:
            try:
                os.kill(pid, number)
            except OSError:
                pass
        until = time.monotonic() + seconds
        while there and time.monotonic() < until:
            time.sleep(0.05)
            there = marked(session, variable)
        if not there:
            return len(ended), []
    return len(ended), there
