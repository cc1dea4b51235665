# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Facts about file systems, the paths a workload uses, and disks."""

from __future__ import annotations

import os
import stat
import time

from ..sources import mounts as mount_table
from ..sources import procfs, sysfs
from ..sources.forked import run_forked
from ..sources.host_files import reason
from .subject import Subject

MAX_FILESYSTEMS = 128
# The share of the subject's time that one unanswering server may take.
_PER_SERVER_SECONDS = 5.0


def collect(host, paths=(), timeout_seconds=10, run=run_forked, probe=None):
    """The storage document of a HostFiles.

    paths: [{"path", "purpose"}]. Free bytes and inodes are what an ordinary user gets. What can hang is asked in a child with a
    deadline (`run`): all other local disks in one, each network server in its own; `timeout_seconds` is for all of them together.
    A path that doesn't exist has `exists` false and the figures of its nearest existing parent; one in a folder closed to this user
    has `exists` null and the figures of its file system. `error` says why figures are null.
    """
    storage = Subject("filesystems", "paths", "disks")
    storage.put("/sys/block", {"disks": sysfs.disks(host)})
    try:
        table = mount_table.by_mount_point(procfs.parse_mountinfo(host.text("/proc/self/mountinfo", 4 << 20)))
    except OSError as error:
        storage.absent["filesystems"] = reason(error)
        table = {}
    probe = probe or (lambda path: look(host.path(path)))
    real = mount_table.real(table)[:4 * MAX_FILESYSTEMS]
    asked = [("mount", mount["mount_point"], mount) for mount in real]
    # Two purposes may share a path.
    asked += [("path", path, None) for path in dict.fromkeys(each["path"] for each in paths)]
    answers = _ask(host, table, asked, timeout_seconds, run, probe)
    if table:
        storage.put("/proc/self/mountinfo, statvfs", {"filesystems": _filesystems(host, real, answers)})
    storage.put("statvfs", {"paths": [_path(host, each, answers["path", each["path"]]) for each in paths]})
    for each in storage.values["paths"]:
        if each["exists"] is None and each["error"] is None:
            storage.absent.update(("paths.%s.%s" % (each["path"], field), "not_permitted") for field in ("exists", "writable"))
    return storage.document()


def look(path):
    """What the file system says about a path: {"exists", "directory", "at" (the nearest existing parent), sizes, "writable"}. May block."""
    at, exists = path, True
    while True:
        try:
            mode = os.stat(at).st_mode
            break
        except (FileNotFoundError, NotADirectoryError):
            exists = False
            parent = os.path.dirname(at)
            if parent == at:
                raise
            at = parent
    figures = os.statvfs(at)
    return {
        "exists": exists,
        "at": at,
        "directory": stat.S_ISDIR(mode),
        "total_bytes": figures.f_blocks * figures.f_frsize,
        "free_bytes": figures.f_bavail * figures.f_frsize,
        # btrfs and the like have no fixed number of inodes and say 0.
        "inodes_total": figures.f_files or None,
        "inodes_free": figures.f_favail if figures.f_files else None,
        "writable": os.access(at, os.W_OK),
    }


def _answer(probe, path, mount_point=None):
    """What the probe says. Where a path lies in a folder closed to us, its mount point has the same figures."""
    try:
        return probe(path)
    except (OSError, ValueError) as error:
        if mount_point and isinstance(error, PermissionError):
            answer = _answer(probe, mount_point)
            if "error" not in answer:
                return dict(answer, exists=None, writable=None)
        return {"error": "%s: %s" % (path, getattr(error, "strerror", None) or error)}


def _local(host, table, asked, probe):
    """Answers for all that lies on local file systems; for a path elsewhere only where it lies."""
    answers = []
    for what, path, mount in asked:
        if what == "mount":
            answers.append(_answer(probe, path))
            continue
        try:
            where, mount, resolved = mount_table.place_on(host, table, path)
        except OSError as error:
            answers.append({"error": "%s: %s" % (path, error.strerror)})
            continue
        answer = _answer(probe, resolved, mount and mount["mount_point"]) if where == mount_table.LOCAL else {}
        answers.append(dict(answer, where=where, mount=mount and mount["mount_point"], resolved=resolved))
    return answers


def _answers_at_once(host, table, path, mount):
    """Whether looking at this mount, or following this path, stays on the root and in memory: then a child's fork can be saved."""
    if mount is not None:
        return not mount_table.off_the_root(mount)
    try:
        where, mount, _resolved = mount_table.place_on(host, table, path, mount_table.off_the_root)
    except OSError:
        return True
    return where != mount_table.REMOTE or mount_table.may_hang(mount)


def _server(mount):
    """What answers for a network mount: 'server:' of NFS, '//server' of CIFS, else the whole device."""
    device = mount["device"]
    if device.startswith("//"):
        return "//" + device[2:].split("/")[0]
    return device.split(":/")[0]


def _ask(host, table, asked, timeout_seconds, run, probe):
    """{(what, path): answer} of every mount and path asked for; an answer has "error" where there are no figures."""
    deadline = time.monotonic() + timeout_seconds
    # A local file system mounted below a network one is reached through that one's server.
    through = dict((point, mount_table.reached_through(table, point)) for what, point, mount in asked if mount is not None)
    # A path's way is followed in the child as well: one dead local disk must not hold the audit.
    first = [each for each in asked if each[2] is None or through[each[1]] is None]
    at_once = [each for each in first if _answers_at_once(host, table, each[1], each[2])]
    others = [each for each in first if each not in at_once]
    found = list(zip(at_once, _local(host, table, at_once, probe)))
    if others:
        ok, value, _kind = run(lambda: _local(host, table, others, probe), max(1.0, timeout_seconds / 2.0))
        if not ok:
            error = "the local disks other than the root: %s" % value
            value = [{"error": error, "mount": (mount_table.mount_of(table, path) or {}).get("mount_point")}
                     for _what, path, _mount in others]
        found += zip(others, value)
    answers = dict(((what, path), dict(answer)) for (what, path, _mount), answer in found)
    later = [(what, path, path, through[path]) for what, path, mount in asked if mount is not None and through[path] is not None]
    for what, path, mount in first:
        answer = answers[what, path]
        if answer.get("where") == mount_table.REMOTE:
            later.append((what, path, answer["resolved"], table[answer["mount"]]))
        elif answer.get("where") == mount_table.AUTOMOUNT:
            answer["error"] = mount_table.not_mounted(table[answer["mount"]])
        if answer.get("mount") is not None:
            answer["mount"] = table[answer["mount"]]
    servers = {}
    for each in later:
        servers.setdefault(_server(each[3]), []).append(each)
    for group in servers.values():
        left = deadline - time.monotonic()
        names = [(resolved, mount["mount_point"]) for _what, _path, resolved, mount in group]
        if left <= 0:
            ok, value = False, "not asked: the file systems before it used up the %g s" % timeout_seconds
        else:
            ok, value, _kind = run(lambda: [_answer(probe, name, point) for name, point in names], min(left, _PER_SERVER_SECONDS))
        for position, (what, path, _resolved, mount) in enumerate(group):
            answers[what, path] = dict(value[position] if ok else {"error": value}, mount=mount)
    return answers


_FIGURES = ("total_bytes", "free_bytes", "inodes_total", "inodes_free")


def _described(host, mount, answer):
    if mount is None:
        described = dict.fromkeys(("mount_point", "device", "type", "kind"))
    else:
        described = {"mount_point": mount["mount_point"], "device": mount_table.device(mount), "type": mount["type"],
                     "kind": mount_table.kind(host, mount)}
    described.update((name, answer.get(name)) for name in _FIGURES)
    described["error"] = answer.get("error")
    return described


def _filesystems(host, real, answers):
    found, seen = [], set()
    for mount in real:
        answer = answers["mount", mount["mount_point"]]
        # A file bound over a file is no file system; a second mount of one file system has the same figures.
        key = mount["device_number"] if mount["type"] != "overlay" else mount["mount_point"]
        if answer.get("exists") is False:
            answer = {"error": "%s can't be reached by its name" % mount["mount_point"]}
        if answer.get("directory") is False or key in seen or len(found) >= MAX_FILESYSTEMS:
            continue
        seen.add(key)
        found.append(dict(
            _described(host, mount, answer),
            read_only="ro" in mount["options"] or "ro" in mount["super_options"],
            network=mount_table.is_network(mount)))
    return found


def _path(host, asked, answer):
    return dict(
        _described(host, answer.get("mount"), answer), path=asked["path"], purpose=asked.get("purpose"),
        exists=answer.get("exists"), writable=answer.get("writable"))
