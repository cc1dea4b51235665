# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What control groups, v1 and v2, allow this process; see the kernel's admin-guide/cgroup-v2.rst and cgroup-v1/.

A limit of any parent binds as well, so each is looked for from the process's own group up to the top that is mounted here.
All functions raise OSError where a file can't be read.
"""

from __future__ import annotations

from . import procfs

# v1 says "no limit" as the largest number of whole pages, which differs with the page size.
_NO_LIMIT = 1 << 60


def _groups(host):
    """[(controllers, path)] of /proc/self/cgroup; controllers is [] for v2."""
    groups = []
    for line in host.text("/proc/self/cgroup").splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3:
            groups.append((parts[1].split(",") if parts[1] else [], parts[2]))
    return groups


def folders(host, controller):
    """(version, [folders from the process's own group up to the mounted top]) that may limit `controller`; (None, []) where there is none.

    Raises OSError where /proc/self/cgroup can't be read.
    """
    mounts = [mount for mount in procfs.parse_mountinfo(host.text_or("/proc/self/mountinfo", "")) if mount["type"] in ("cgroup", "cgroup2")]
    if not mounts:
        mounts = [{"type": "cgroup2", "root": "/", "mount_point": "/sys/fs/cgroup", "super_options": []},
                  {"type": "cgroup", "root": "/", "mount_point": "/sys/fs/cgroup/" + controller, "super_options": [controller]}]
    groups = _groups(host)
    for version, kind in ((1, "cgroup"), (2, "cgroup2")):
        for mount in mounts:
            if mount["type"] != kind or (version == 1 and controller not in mount["super_options"]):
                continue
            for controllers, path in groups:
                if (controller in controllers) if version == 1 else not controllers:
                    found = _upwards(mount, path)
                    # A v2 tree beside v1 controllers (hybrid) carries no controller of its own.
                    if version == 1 or not any(controller in names for names, _path in groups):
                        return version, found
    return None, []


def _setting(host, path, default):
    """The file's text, `default` where there is none; a file that may not be read raises: unknown is not "no limit"."""
    try:
        return host.text(path) or default
    except FileNotFoundError:
        return default


def _upwards(mount, path):
    top, root = mount["mount_point"].rstrip("/"), mount["root"].rstrip("/")
    # A container without a cgroup namespace sees its own group mounted as the top: the mount's root is part of the path.
    if root and (path == root or path.startswith(root + "/")):
        path = path[len(root):]
    elif root or path.startswith("/.."):
        path = ""
    found, path = [], path.rstrip("/")
    while path:
        found.append(top + path)
        path = path.rpartition("/")[0]
    return found + [top]


def cpu_quota(host):
    """({"quota_cores": least quota of the group and its parents in cores, None without one}, where it was read)."""
    version, places = folders(host, "cpu")
    least, where = None, "cgroup v%s" % version if version else None
    for folder in places:
        if version == 2:
            words = _setting(host, folder + "/cpu.max", "max").split()
            quota, period = words[0], words[1] if len(words) > 1 else "100000"
        else:
            quota, period = _setting(host, folder + "/cpu.cfs_quota_us", "-1"), _setting(host, folder + "/cpu.cfs_period_us", "100000")
        if quota.isdigit() and period.isdigit() and int(quota) > 0 and int(period) > 0:
            cores = round(int(quota) / int(period), 4)
            if least is None or cores < least:
                least, where = cores, folder + ("/cpu.max" if version == 2 else "/cpu.cfs_quota_us")
    return {"quota_cores": least}, where


def memory_limit(host):
    """({"limit_bytes": least limit of the group and its parents, None without one}, where it was read)."""
    version, places = folders(host, "memory")
    least, where = None, "cgroup v%s" % version if version else None
    for position, folder in enumerate(places):
        name = "/memory.max" if version == 2 else "/memory.limit_in_bytes"
        limits = [(_setting(host, folder + name, "max"), folder + name)]
        if version == 1 and position == 0:
            # Parents that aren't mounted here still count in the group's own statistics.
            stat = procfs.parse_counts(_setting(host, folder + "/memory.stat", ""))
            limits.append((str(stat.get("hierarchical_memory_limit", "max")), folder + "/memory.stat"))
        for text, place in limits:
            if text.isdigit() and int(text) < _NO_LIMIT and (least is None or int(text) < least):
                least, where = int(text), place
    return {"limit_bytes": least}, where
