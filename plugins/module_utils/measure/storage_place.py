# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Where a storage test may write: what a path is, which file system it lies on, and whether there is room."""

from __future__ import annotations

import errno
import os
import stat

from ..facts.storage import look
from ..sources import mounts as mount_table
from ..sources import procfs
from ..sources.forked import run_forked
from .figures import bytes_text

LOOK_SECONDS = 20
# Kept free beyond what a test writes: a twentieth of the file system, at most 10 GiB.
RESERVE_FRACTION = 0.05
RESERVE_MOST_BYTES = 10 << 30
RESERVE_INODES = 64
# Of the memory that is free now, for a file system that lives in it.
MEMORY_FRACTION = 0.5


# What is mounted below these is the system's own, whatever its type (a tmpfs holds /sys/fs/cgroup).
_SYSTEM = ("/proc/", "/sys/")


class Refused(Exception):
    """Nothing was written; the text says why and what to do."""


def _look(path):
    """What a path is, {"error": the system's words, "missing"} where it can't be asked. May block."""
    try:
        mode = os.stat(path).st_mode
        return dict(look(path), block=stat.S_ISBLK(mode), character=stat.S_ISCHR(mode), enterable=os.access(path, os.W_OK | os.X_OK),
                    read_only=bool(os.statvfs(path).f_flag & os.ST_RDONLY))
    except OSError as error:
        return {"error": error.strerror or str(error), "missing": error.errno in (errno.ENOENT, errno.ENOTDIR)}


def examine(host, path, run=run_forked):
    """The directory a test was given. -> {"path" (links resolved), "file_system": {"type", "kind", "device", "mount_point", "network"},
    "total_bytes", "free_bytes", "inodes_free"}; Refused for anything that is no directory to write in."""
    if not path.startswith("/"):
        raise Refused("path must be absolute, not %s" % (path or "empty"))
    if "\0" in path:
        raise Refused("path: %r holds a NUL, which no name can; give a directory" % path[:200])
    if "$" in path:
        raise Refused("%s: fio reads a name with $ in it as its own variable; give another directory" % path)
    try:
        table = mount_table.by_mount_point(procfs.parse_mountinfo(host.text("/proc/self/mountinfo", 4 << 20)))
        where, mount, resolved = mount_table.place_on(host, table, path)
    except OSError as error:
        raise Refused("%s: %s" % (path, error.strerror or error))
    if where == mount_table.AUTOMOUNT:
        raise Refused("%s: nothing is mounted there yet; mount it and measure again" % path)
    # A dead server holds whoever asks it: that is a child with a deadline.
    ok, found, _kind = run(lambda: _look(host.path(resolved)), LOOK_SECONDS)
    if not ok:
        raise Refused("%s: %s; see whether the file system answers" % (path, found))
    if "error" in found:
        advice = "make the directory first, it is never made for you" if found["missing"] else "give a directory you may use"
        raise Refused("%s: %s; %s" % (path, found["error"], advice))
    if found["block"] or found["character"]:
        raise Refused("%s is a device, and a test on it would destroy what lies there; give a directory on its mounted file system" % path)
    if not found["directory"]:
        raise Refused("%s is a file; give a directory" % path)
    if mount is None or mount["type"] in mount_table._PSEUDO or resolved.startswith(_SYSTEM):
        what = "the kernel's own tree" if resolved.startswith(_SYSTEM) else mount["type"] if mount else "no file system"
        raise Refused("%s lies on %s, which holds no data; give a directory on the storage to be measured" % (path, what))
    if found["read_only"]:
        raise Refused("%s lies on a file system that is mounted read-only (%s); a test has to write its files. Mount it for writing, or see "
                      "in the kernel's log why it became so" % (path, mount["mount_point"]))
    if not found["enterable"]:
        raise Refused("%s can't be written to by this user (uid %d); give a directory of this user or use become" % (path, os.geteuid()))
    return {
        "path": resolved,
        "file_system": {"type": mount["type"], "kind": mount_table.kind(host, mount), "device": mount_table.device(mount),
                        "mount_point": mount["mount_point"], "network": mount_table.is_network(mount)},
        "total_bytes": found["total_bytes"], "free_bytes": found["free_bytes"], "inodes_free": found["inodes_free"],
    }


def check_room(place, need_bytes, need_files, memory_available_bytes=None):
    """Refused where the test's files don't fit and leave room for others."""
    reserve = min(int(place["total_bytes"] * RESERVE_FRACTION), RESERVE_MOST_BYTES)
    where = "%s (%s)" % (place["path"], place["file_system"]["mount_point"])
    if place["free_bytes"] - need_bytes < reserve:
        raise Refused("%s: %s are free; the test needs %s and leaves %s to others. Lower size_bytes or numjobs, take quick, or make "
                      "room" % (where, bytes_text(place["free_bytes"]), bytes_text(need_bytes), bytes_text(reserve)))
    if place["inodes_free"] is not None and place["inodes_free"] < need_files + RESERVE_INODES:
        raise Refused("%s: %d inodes are free; the test needs %d and leaves %d to others. Lower file_count or take another directory"
                      % (where, place["inodes_free"], need_files, RESERVE_INODES))
    if place["file_system"]["kind"] == "memory" and memory_available_bytes is not None:
        most = int(memory_available_bytes * MEMORY_FRACTION)
        if need_bytes > most:
            raise Refused("%s lives in memory, of which %s are available; the test needs %s and may take half. Lower size_bytes"
                          % (where, bytes_text(memory_available_bytes), bytes_text(need_bytes)))
