# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Bring a fleet up and take it down.

Nothing is named globally but the bridge, its ends of the links and the cgroups; everything else lives in the
namespaces of a host's PID 1. Ending that process ends the host, and a crash here leaks only processes that
run/state.json lists, with their start times, so that a reused pid is never ended.
"""
from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

from . import bases, cgroups, inventory, kernel, native, net, paths, roots
from .host import Host, SpecError

CHUNK = 32                                 # hosts started at once: bounds the number of open pipes
NAMESPACES = kernel.NEWNS | kernel.NEWUTS | kernel.NEWIPC | kernel.NEWPID | kernel.NEWNET | kernel.NEWCGROUP


class Lock:
    """One command changes the fleet at a time; the kernel drops the lock when its holder ends."""

    def __enter__(self) -> "Lock":
        paths.HOME.mkdir(parents=True, exist_ok=True)
        self.file = open(paths.LOCK, "w")
        fcntl.flock(self.file, fcntl.LOCK_EX)
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


@dataclasses.dataclass
class Launch:
    """A host whose launcher has been forked: its pid, and the pipes from and to it."""

    host: Host
    pid: int
    hear: int
    tell: int


def load() -> dict:
    try:
        return json.loads((paths.RUN / "state.json").read_text())
    except OSError:
        return {"hosts": [], "pids": {}}


def hosts_up() -> list[Host]:
    return [Host(**row) for row in load()["hosts"]]


def save(state: dict) -> None:
    half = paths.RUN / "state.json.new"
    half.write_text(json.dumps(state))
    half.rename(paths.RUN / "state.json")


def spawn(host: Host, public_key: str, built: Path) -> Launch:
    """Fork a launcher that unshares, waits for its link, and forks the host's PID 1."""
    hear, say = os.pipe()
    listen, tell = os.pipe()
    pid = os.fork()
    if pid:
        os.close(say)
        os.close(listen)
        return Launch(host, pid, hear, tell)
    try:
        os.close(hear)
        os.close(tell)
        os.setsid()
        log = os.open(host.dir.parent / f"{host.name}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        roots.populate(host, public_key, built)
        cgroups.join(host)
        kernel.call("unshare", NAMESPACES)
        os.write(say, b"U")
        os.read(listen, 1)                 # the parent has moved eth0 in, or given up
        one = os.fork()
        if one:
            os.write(say, struct.pack("i", one))
            os._exit(0)
        os.close(say)
        os.close(listen)
        roots.enter_root(host)
        os.closerange(3, 256)
        os.execve("/bin/sh", ["init", "/etc/gpu-lab/init"],
                  {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"})
    except BaseException as error:         # whatever it was, it belongs in this host's log
        print("gpu-lab:", repr(error), file=sys.stderr, flush=True)
    os._exit(70)


def start_chunk(hosts: list[Host], public_key: str, built: Path, state: dict) -> list[str]:
    """Start some hosts; records each pid at once. Returns the names of those that failed."""
    launches = [spawn(host, public_key, built) for host in hosts]
    ready = [launch for launch in launches if os.read(launch.hear, 1) == b"U"]
    net.plug([(launch.host, launch.pid) for launch in ready])
    failed = [launch.host.name for launch in launches if launch not in ready]
    for launch in ready:
        if launch.host.delay_ms:
            pid = net.spawn_relay(launch.host, launch.pid)
            state["pids"][launch.host.name + "/relay"] = [pid, kernel.start_time(pid)]
        os.write(launch.tell, b"g")
        answer = os.read(launch.hear, 4)
        if len(answer) < 4:
            failed.append(launch.host.name)
            continue
        pid = struct.unpack("i", answer)[0]
        state["pids"][launch.host.name] = [pid, kernel.start_time(pid)]
        save(state)
    for launch in launches:
        os.close(launch.hear)
        os.close(launch.tell)
        os.waitpid(launch.pid, 0)
    return failed


def make_key() -> str:
    key = paths.RUN / "id_ed25519"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "gpu-lab", "-f", str(key)], check=True,
                   stdin=subprocess.DEVNULL)
    return key.with_suffix(".pub").read_text()


def wait_for_ssh(hosts: list[Host], seconds: float) -> list[str]:
    """Names of hosts that should answer ssh and didn't in time."""
    end = time.monotonic() + seconds
    pending = [host for host in hosts if host.ssh == "up"]
    time.sleep(0.2)                        # a SYN sent before eth0 is up costs a 1 s ARP retry
    while pending and time.monotonic() < end:
        pending = [host for host in pending if not net.banner(host.ip)]
        if pending:
            time.sleep(0.05)
    return [host.name for host in pending]


def up(hosts: list[Host], wait: float = 60) -> str:
    """Start hosts and wait for ssh; returns a line that says how it went. SpecError when it can't be done."""
    if load()["hosts"]:
        raise SpecError("a fleet is up already; take it down first (fleet.py down)")
    missing = sorted({host.base for host in hosts if not bases.ready(host.base)})
    if missing:
        raise SpecError(f"no base {', '.join(missing)}: fleet.py base {' '.join(missing)}")
    cgroups.check(hosts)
    built = native.build()
    began = time.monotonic()
    shutil.rmtree(paths.RUN, ignore_errors=True)
    (paths.RUN / "hosts").mkdir(parents=True)
    cgroups.remember()
    public_key = make_key()
    state: dict = {"hosts": [dataclasses.asdict(host) for host in hosts], "pids": {}}
    save(state)                            # before the first process starts: 'down' works whatever happens next
    try:
        net.make_bridge()
        for host in hosts:
            roots.hardware.shared_tree(host)
        failed = [name for at in range(0, len(hosts), CHUNK) for name in start_chunk(hosts[at:at + CHUNK], public_key, built, state)]
        save(state)
        alive = [host for host in hosts if host.name not in failed]
        (paths.RUN / "known_hosts").write_text(inventory.known_hosts(alive))
        (paths.RUN / "inventory.yml").write_text(inventory.as_text(hosts))
        (paths.RUN / "ssh_config").write_text(inventory.ssh_config(hosts))
        shutil.copytree(paths.SPECS / "group_vars", paths.RUN / "group_vars", dirs_exist_ok=True)
        silent = wait_for_ssh(alive, wait)
        if failed or silent:
            raise SpecError(first_words(failed, silent))
    except BaseException:
        down()
        raise
    return f"{len(hosts)} hosts up in {time.monotonic() - began:.1f} s"


def first_words(failed: list[str], silent: list[str]) -> str:
    """Why hosts didn't come up, with the last line of each log."""
    lines = []
    for name in failed + silent:
        log = (paths.RUN / "hosts" / f"{name}.log")
        words = log.read_text().strip().splitlines() if log.exists() else []
        lines.append(f"{name} {'did not start' if name in failed else 'gives no ssh banner'}: {words[-1] if words else 'no log'}")
    return "\n".join(lines)


def sessions() -> list[int]:
    """ssh clients that hold connections to our hosts: they name our key, or (a master: "ssh: <socket> [mux]") a socket below RUN."""
    run, found = str(paths.RUN).encode(), []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and run in (entry / "cmdline").read_bytes() and (entry / "comm").read_text().strip() == "ssh":
                found.append(int(entry.name))
        except OSError:
            continue                       # it ended while we looked
    return found


def end_sessions() -> None:
    for pid in sessions():
        try:
            os.kill(pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
    end = time.monotonic() + 2
    while sessions() and time.monotonic() < end:
        time.sleep(0.02)


def down() -> str:
    """End every process of the fleet and remove what it made; returns a line that says what is left."""
    began = time.monotonic()
    state = load()
    end_sessions()
    cgroups.thaw()
    pids = [pid for pid, born in state["pids"].values() if born and kernel.start_time(pid) == born]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    while any(kernel.start_time(pid) for pid in pids) and time.monotonic() - began < 20:
        time.sleep(0.02)
    net.remove_links()
    cgroups.remove()
    groups = cgroups.directories()
    for _attempt in range(50):             # a dying mount namespace lets go of the files a moment later
        shutil.rmtree(paths.RUN, ignore_errors=True)
        if not paths.RUN.exists():
            break
        time.sleep(0.1)
    left = leftovers([str(group) for group in groups.values()])
    return f"down: {len(pids)} processes ended in {time.monotonic() - began:.1f} s; left: {', '.join(left) or 'nothing'}"


def leftovers(groups: list[str] | None = None) -> list[str]:
    """What of a fleet is still there: links, mounts, cgroups, loop devices, files."""
    run = str(paths.RUN)
    groups = groups if groups is not None else [str(group) for group in cgroups.directories().values()]
    left = [f"link {name}" for name in net.links()]
    left += [f"mount {line.split()[1]}" for line in Path("/proc/self/mounts").read_text().splitlines() if run in line]
    left += [f"cgroup {group}" for group in groups if Path(group).exists()]
    left += [f"ssh session {pid}" for pid in sessions()]
    left += [f"loop {path.parent.parent.name}" for path in Path("/sys/block").glob("loop*/loop/backing_file") if run in path.read_text()]
    return left + ([run] if paths.RUN.exists() else [])
