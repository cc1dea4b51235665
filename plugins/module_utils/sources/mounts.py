# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The mount table: which file systems are real, what kind each is, and which mount a path lies on without touching it."""

from __future__ import annotations

import os
import re
import stat

from . import sysfs

# File systems that hold no data of anybody's.
_PSEUDO = frozenset((
    "proc", "sysfs", "cgroup", "cgroup2", "devpts", "devtmpfs", "securityfs", "debugfs", "tracefs", "pstore", "bpf", "configfs", "fusectl",
    "mqueue", "hugetlbfs", "binfmt_misc", "rpc_pipefs", "nsfs", "ramfs", "efivarfs", "selinuxfs", "nfsd", "autofs", "squashfs", "rootfs",
    "iso9660", "erofs", "fuse.gvfsd-fuse", "fuse.portal", "fuse.lxcfs", "fuse.snapfuse", "fuse.squashfuse", "resctrl"))
_NETWORK = frozenset((
    "nfs", "nfs3", "nfs4", "cifs", "smb3", "smbfs", "lustre", "ceph", "gpfs", "glusterfs", "beegfs", "fhgfs_nodev", "beegfs_nodev", "9p",
    "afs", "pvfs2", "orangefs", "panfs", "wekafs", "ocfs2", "gfs2", "davfs", "virtiofs", "vboxsf", "vmhgfs", "prl_fs", "juicefs", "daos"))
_OVERLAY = frozenset(("overlay", "aufs", "unionfs", "fuse.fuse-overlayfs", "fuse.overlayfs", "fuse.mergerfs", "fuse.unionfs"))
_MEMORY = frozenset(("tmpfs", "ramfs"))
# What container engines and the NVIDIA container runtime bind into a container or keep on a host, by the thousand.
_NOISE = frozenset(("/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/run"))
_NOISY_FOLDERS = ("/run/", "/sys/", "/proc/", "/dev/", "/snap/", "/var/snap/", "/var/lib/docker/", "/var/lib/containers/",
                  "/var/lib/containerd/", "/var/lib/kubelet/", "/var/lib/lxc/", "/var/lib/lxd/")
_MAX_LINKS = 40

LOCAL, REMOTE, AUTOMOUNT = "local", "remote", "automount"


def is_network(mount):
    """Whether the data lies on another machine; a FUSE file system nobody knows counts as such."""
    name = mount["type"]
    return name in _NETWORK or (name.startswith("fuse") and name not in _OVERLAY and name != "fuseblk")


def may_hang(mount):
    """Whether a dead server or daemon behind this mount can hold a caller for ever. What holds the root holds the audit itself as well."""
    return mount["mount_point"] != "/" and (is_network(mount) or mount["type"].startswith("fuse"))


def off_the_root(mount):
    """Whether a mount is neither the root, on which the audit itself stands, nor memory: such a one is asked in a child only."""
    return mount["mount_point"] != "/" and mount["type"] not in _MEMORY


def by_mount_point(mounts):
    """{mount point: what was mounted there last}; what lies under it nobody can reach."""
    return dict((mount["mount_point"], mount) for mount in mounts)


def device(mount):
    """The mount's device as shown to people: credentials in a URL are left out."""
    name = mount["device"]
    return re.sub(r"(?<=//)[^/@\s]*:[^/@\s]*@", "", name) if "@" in name else name


def kind(host, mount):
    """nvme | ssd | hdd | network | memory | overlay | unknown."""
    if mount["type"] in _OVERLAY:
        return "overlay"
    if mount["type"] in _MEMORY:
        return "memory"
    if is_network(mount):
        return "network"
    name = sysfs.block_name(host, mount["device_number"], mount["device"])
    return sysfs.disk_kind(host, name) if name else "unknown"


def _is_noise(point):
    if point.startswith(_NOISY_FOLDERS):
        return point != "/dev/shm"
    return point in _NOISE or point.startswith(("/usr/bin/", "/usr/lib/", "/usr/lib64/")) and "nvidia" in point


def real(mounts):
    """The mounts of by_mount_point() worth listing, shortest first: no pseudo file systems, automount points or container plumbing."""
    found = [mount for mount in mounts.values() if mount["type"] not in _PSEUDO and not _is_noise(mount["mount_point"])]
    return sorted(found, key=lambda mount: (mount["mount_point"].count("/"), len(mount["mount_point"]), mount["mount_point"]))


def mount_of(mounts, path):
    """The mount of by_mount_point() that a path lies on by its text; None without a root."""
    while path not in mounts and path not in ("/", ""):
        path = path.rpartition("/")[0]
    return mounts.get(path or "/")


def reached_through(mounts, path):
    """The outermost mount that may hang and that a lookup of the path asks, None where it touches local file systems only."""
    parts = path.rstrip("/").split("/")
    for length in range(1, len(parts) + 1):
        mount = mount_of(mounts, "/".join(parts[:length]) or "/")
        if mount is not None and may_hang(mount):
            return mount
    return None


def _how(mount, stop):
    if mount is None:
        return LOCAL
    return AUTOMOUNT if mount["type"] == "autofs" else REMOTE if stop(mount) else LOCAL


def place(mounts, path, read_link=os.readlink, status=os.lstat, stop=may_hang):
    """Follows a path as far as that touches no mount for which `stop` is true; such a one is REMOTE.

    -> (LOCAL | REMOTE | AUTOMOUNT, mount, the path with the links followed so far resolved). An automount is never entered: only
    its last mounted file system counts, so one that is mounted already is judged by what lies on it.
    """
    todo, done, links = [part for part in path.split("/") if part], "", 0
    while True:
        mount = mount_of(mounts, done or "/")
        rest = "/".join([done] + todo) or "/"
        if _how(mount, stop) != LOCAL or not todo:
            return _how(mount, stop), mount, rest
        part = todo.pop(0)
        if part == ".":
            continue
        if part == "..":
            done = done.rpartition("/")[0]
            continue
        here = done + "/" + part
        # Even lstat of a network mount's own root asks the server.
        if _how(mount_of(mounts, here), stop) != LOCAL:
            done = here
            continue
        try:
            is_link = stat.S_ISLNK(status(here).st_mode)
        except (OSError, ValueError):
            # Not there, or in a folder closed to us: the mount table still knows what lies there.
            whole = "/".join([here] + todo)
            mount = mount_of(mounts, whole)
            return _how(mount, stop), mount, whole
        if not is_link:
            done = here
            continue
        links += 1
        if links > _MAX_LINKS:
            raise OSError(40, "Too many levels of symbolic links")
        target = read_link(here)
        if target.startswith("/"):
            done = ""
        todo = [each for each in target.split("/") if each] + todo


def place_on(host, mounts, path, stop=may_hang):
    """place() of a HostFiles."""
    return place(mounts, path, lambda link: os.readlink(host.path(link)), lambda name: os.lstat(host.path(name)), stop)


def not_mounted(mount):
    """Why a path below an automount point isn't looked at."""
    return "below the automount point %s, which is not mounted; an audit doesn't mount it" % mount["mount_point"]
