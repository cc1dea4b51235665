# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The peer server as a process of its own, which ends by itself: start it, find those that run, end them.

A server notes itself in <temporary folder>/gpu-audit-peer-<user id>/<port>-<pid>.json, readable by its user only: {"pid", "started" (clock
ticks since boot), "boot_id", "namespace",
"address", "port", "token_sha256"}. The moment at which a process started tells it from another one that got its number later,
so that no foreign process is ever ended. The server takes its note away when it ends; one that was killed leaves it, and whoever looks next
removes it.
"""

from __future__ import annotations

import errno
import hashlib
import ipaddress
import json
import os
import resource
import signal
import socket
import stat
import tempfile
import time

from ..sources.forked import close_descriptors
from ..sources.run_program import parse_stat
from . import link_place, peer_server

COMM = "gpu-audit-peer"
_NEW = ".new"
MAX_LIFETIME_SECONDS = 24 * 3600
START_SECONDS = 20
END_SECONDS = 5
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class PeerError(Exception):
    """A server that can't be started or ended; the text says why and what to do."""


# ------------------------------------------------------------------- the notes


def folder():
    """Where this user's servers note themselves; made when it isn't there. PeerError where somebody else has it."""
    try:
        path = os.path.join(tempfile.gettempdir(), "gpu-audit-peer-%d" % os.geteuid())
    except OSError as error:
        raise PeerError("servers note themselves in a folder for temporary files, and there is none to write to (%s): make one, or name it "
                        "in TMPDIR" % error.strerror)
    try:
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            pass
        found = os.lstat(path)
    except OSError as error:
        raise PeerError("%s can't be made: %s" % (path, error.strerror))
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise PeerError("%s belongs to somebody else or others may write there: remove it" % path)
    return path


def _boot_id():
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


def _process(pid):
    """(name, clock ticks since boot at which it started) of a process that runs; null where there is none."""
    try:
        with open("/proc/%s/stat" % pid, "rb") as file:
            text = file.read(4096).decode("utf-8", "replace")
    except OSError:
        return None
    found = parse_stat(text)
    if not found or found[1] in "ZX":
        return None
    return text[text.find("(") + 1:text.rfind(")")], found[2]


def _namespace():
    """Which processes this one sees: a container may share the folder and not the processes."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _is_ours(note):
    """Whether the process of a note still runs and is that one."""
    here = (note["boot_id"], note["namespace"]) == (_boot_id(), _namespace())
    return here and _process(note["pid"]) == (COMM, note["started"])


def running(wanted=None):
    """[note] of this user's servers that run, on the ports `wanted` or all; notes of servers that don't run are removed."""
    base, found = folder(), []
    for name in _names(base):
        path = os.path.join(base, name)
        note = _read(path)
        if note is None:
            _remove_old(path)
        elif _is_ours(note):
            if wanted is None or note["port"] in wanted:
                found.append(dict(note, path=path))
        elif note["boot_id"] != _boot_id() or note["namespace"] == _namespace():
            _unlink(path)
    _rmdir(base)
    return found


def _names(base):
    try:
        return sorted(os.listdir(base))
    except FileNotFoundError:
        # A server that ended has taken the empty folder away.
        return []
    except OSError as error:
        raise PeerError("%s can't be read: %s" % (base, error.strerror))


def _read(path):
    try:
        with open(path, "rb") as file:
            note = json.loads(file.read(4096).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    kinds = {"pid": int, "started": int, "boot_id": str, "namespace": str, "address": str, "port": int}
    return note if isinstance(note, dict) and all(isinstance(note.get(key), kind) for key, kind in kinds.items()) else None


def _remove_old(path):
    """What is no note: one that is just being written, or what a server left that was killed then."""
    try:
        if time.time() - os.lstat(path).st_mtime > START_SECONDS:
            os.unlink(path)
    except OSError:
        pass


def _unlink(path):
    try:
        os.unlink(path)
    except OSError:
        pass


def _rmdir(path):
    try:
        os.rmdir(path)
    except OSError:
        # Not empty: another server has its note there.
        pass


# --------------------------------------------------------------------- the end


def stop(wanted=None):
    """Ends this user's servers on the ports `wanted`, or all of them. -> their notes; PeerError for one that doesn't end."""
    notes = running(wanted)
    for note in notes:
        for number in (signal.SIGTERM, signal.SIGKILL):
            if _is_ours(note):
                try:
                    os.kill(note["pid"], number)
                except ProcessLookupError:
                    pass
                _wait(lambda note=note: not _is_ours(note), END_SECONDS)
        if _is_ours(note):
            raise PeerError("process %d of the server on port %d doesn't end" % (note["pid"], note["port"]))
        _unlink(note["path"])
    _rmdir(folder())
    return notes


def _wait(true, seconds):
    until = time.monotonic() + seconds
    while not true() and time.monotonic() < until:
        time.sleep(0.01)


# ------------------------------------------------------------------- the start


def ports(text):
    """"8000-8010" or "8000" -> the ports in turn; 0 stands for one that the system chooses. ValueError."""
    first, dash, last = str(text).strip().partition("-")
    try:
        first, last = int(first), int(last if dash else first)
    except ValueError:
        first, last = 1, 0
    if not 0 <= first <= last <= 65535 or (first == 0 and last):
        raise ValueError("port range %r: give one port, or two such as 47800-47899, from 1 to 65535" % str(text))
    return range(first, last + 1)


def _is_all(text):
    """Whether an address stands for all of the host's, in any spelling.

    >>> _is_all("::ffff:0.0.0.0"), _is_all("::1")
    (True, False)
    """
    found = ipaddress.ip_address(text.partition("%")[0])
    return (getattr(found, "ipv4_mapped", None) or found).is_unspecified


def listen(address, choice):
    """A listening socket on the first free port of `choice`. PeerError; link_place.NoAddress where this host's addresses can't be read."""
    try:
        family, kind, protocol, _name, place = socket.getaddrinfo(address, None, 0, socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise PeerError(link_place.NEITHER % ("address", address, link_place.own_addresses()))
    if _is_all(place[0]):
        raise PeerError("address %s: give the address that the other hosts reach; the server listens on no other" % address)
    words = "no port"
    for port in choice:
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((place[0], port) + tuple(place[2:]))
            # Never more than the kernel allows; a thousand clients may come at once.
            sock.listen(1024)
            return sock
        except OSError as error:
            sock.close()
            if error.errno == errno.EADDRNOTAVAIL:
                raise PeerError(link_place.NOT_OWN % ("address", address, link_place.own_addresses()))
            words = error.strerror
    said = "port %d" % choice[0] if len(choice) == 1 else "no port from %d to %d can be used" % (choice[0], choice[-1])
    raise PeerError("address %s, %s: %s" % (address, said, words))


def start(address, choice, lifetime_seconds, token, slots=None):
    """Starts a server. -> its note; it is served when this returns. PeerError."""
    base = folder()
    try:
        return _start(listen(address, choice), lifetime_seconds, token, slots)
    except OSError as error:
        raise PeerError("the server didn't start: %s" % error.strerror)
    finally:
        # Where the server has its note there it stays.
        _rmdir(base)


def _start(listener, lifetime_seconds, token, slots):
    mine, theirs = os.pipe()
    try:
        child = os.fork()
        if child == 0:
            os.close(mine)
            _middle(listener, token, lifetime_seconds, slots, theirs)
        os.close(theirs)
        theirs = None
        os.waitpid(child, 0)
        said = _answer(mine)
    finally:
        os.close(mine)
        if theirs is not None:
            os.close(theirs)
        listener.close()
    if "error" in said:
        raise PeerError("the server didn't start: %s" % said["error"])
    return said


def _answer(pipe):
    """What the server says of itself through the pipe."""
    import select
    text, until = b"", time.monotonic() + START_SECONDS
    while b"\n" not in text:
        if not select.select([pipe], [], [], max(0, until - time.monotonic()))[0]:
            return {"error": "no word from it within %d s" % START_SECONDS}
        part = os.read(pipe, 4096)
        if not part:
            return {"error": "it ended at once"}
        text += part
    return json.loads(text.decode("utf-8"))


def _middle(*arguments):
    """The first child: makes the server the child of nobody who waits. Never returns."""
    try:
        os.setsid()
        if os.fork() == 0:
            _life(*arguments)
    finally:
        os._exit(0)


def _life(listener, token, lifetime_seconds, slots, pipe):
    """The server's whole life; never returns."""
    path, status = None, 1
    try:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        # Whatever hangs: the kernel ends it.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(lifetime_seconds) + 30)
        # Whatever was inherited may hold an ssh session open.
        listener = _only(listener, pipe)
        os.chdir("/")
        with open("/proc/self/comm", "w") as file:
            file.write(COMM)
        _allow_descriptors()
        note = {"pid": os.getpid(), "started": _process("self")[1], "boot_id": _boot_id(), "namespace": _namespace(),
                "address": listener.getsockname()[0],
                "port": listener.getsockname()[1], "token_sha256": hashlib.sha256(token.encode("utf-8")).hexdigest()}
        server = peer_server.Server(listener, token, lifetime_seconds, slots)
        for number in _SIGNALS:
            signal.signal(number, lambda _number, _frame: server.stop())
        path = _write_note(note)
        try:
            os.write(pipe, json.dumps(note).encode("utf-8") + b"\n")
        except OSError:
            # Whoever started it has been killed; it is found by its note and ends by itself.
            pass
        os.close(pipe)
        server.serve()
        status = 0
    except BaseException as error:  # pylint: disable=broad-except
        try:
            os.write(pipe, json.dumps({"error": "%s: %s" % (type(error).__name__, error)}).encode("utf-8") + b"\n")
        except OSError:
            pass
    finally:
        if path:
            _unlink(path)
            _rmdir(os.path.dirname(path))
        os._exit(status)


def _only(listener, keep):
    """Closes every inherited descriptor but the listening socket's and `keep`. -> the listening socket."""
    # The helper keeps one and the first three: the socket waits as number 0.
    os.dup2(listener.fileno(), 0)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)
    family, kind, protocol = listener.family, listener.type, listener.proto
    close_descriptors(keep)
    listener.detach()
    kept = socket.socket(family, kind, protocol, os.dup(0))
    os.dup2(1, 0)
    return kept


def _allow_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = peer_server.MAX_CONNECTIONS + 64
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def _write_note(note):
    """Whole or not at all. -> its path."""
    name = "%d-%d.json" % (note["port"], note["pid"])
    for left in (3, 2, 1, 0):
        path = os.path.join(folder(), name)
        try:
            with open(os.open(path + _NEW, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(json.dumps(note))
            os.rename(path + _NEW, path)
            return path
        except FileNotFoundError:
            # Another server took the empty folder away when it ended.
            if not left:
                raise
