# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Storage: room for what the form says must fit, and room on the system's own file systems. What it delivers: storage_speed.py."""

from __future__ import annotations

from .. import workload
from ..numbers import format_bytes
from .registry import amount, define, flag, maps, text

define(
    "storage.free_bytes",
    "bytes",
    "free bytes of the file systems that the form's paths lie on (each counted once); without paths of all local ones",
    ("storage.paths[].free_bytes", "storage.filesystems[].free_bytes"),
    "表单路径所在文件系统的可用字节数（每个只计一次）；无路径时为全部本地文件系统",
)
define(
    "storage.capacity_headroom_fraction",
    "fraction",
    "per file system (free_bytes - what the form puts on it) / total_bytes, the worst counts; what it puts: dataset + weights + "
    "checkpoints_kept x checkpoint + logs by path, less data_in_place",
    ("storage.paths", "workload.*_bytes", "workload.*_path"),
    "逐个文件系统计算（可用字节 − 表单放入的数据）/ 总字节，取最差；放入的数据：数据集 + 权重 + 保留检查点数 × 检查点 + 日志，扣除 data_in_place",
)
define(
    "storage.filesystem_free_fraction",
    "fraction",
    "fullest local file system that matters (/, /var, /tmp, /home, the form's): free_bytes / total_bytes",
    ("storage.filesystems",),
    "最满的关键本地文件系统（/、/var、/tmp、/home 及表单路径所在）：可用字节 / 总字节",
)
define(
    "storage.inodes_free_fraction",
    "fraction",
    "the same file systems: inodes_free / inodes_total; those without an inode limit are left out",
    ("storage.filesystems",),
    "同上文件系统：可用 inode / inode 总数；无 inode 上限的不计",
)
define(
    "storage.path_problems",
    "count",
    "paths of the form that are missing, or that must be written (checkpoints, logs) and can't be",
    ("storage.paths",),
    "表单中不存在的路径，或需要写入（检查点、日志）却不可写的路径数",
)
define(
    "storage.paths_failed",
    "count",
    "paths of the form whose file system gave an error or no answer",
    ("storage.paths[].error",),
    "所在文件系统报错或无应答的表单路径数",
)

# What stops a machine when it fills up, wherever the form's data lies.
_SYSTEM_MOUNTS = ("/", "/var", "/tmp", "/home")
_NOT_LOCAL = ("network", "memory")


def derive(state):
    """Every storage.* metric."""
    storage, problem = state.subject("storage")
    names = (
        "storage.free_bytes",
        "storage.capacity_headroom_fraction",
        "storage.filesystem_free_fraction",
        "storage.inodes_free_fraction",
        "storage.path_problems",
        "storage.paths_failed",
    )
    if problem:
        state.unread(names, problem)
    else:
        filesystems, paths = maps(storage, "filesystems"), maps(storage, "paths")
        _derive_fullest(state, filesystems, paths)
        _derive_paths(state, paths)
        _derive_free(state, filesystems, paths)
        _derive_capacity(state, paths)


def _label(entry):
    return text(entry, "mount_point") or text(entry, "path") or "?"


def _identity(entry):
    """What makes two paths share their space: device and mount point's file system. Bind mounts of one device are one."""
    device = text(entry, "device")
    return device if device and "/" in device else (device, text(entry, "mount_point"))


def _derive_fullest(state, filesystems, paths):
    mounts = {text(entry, "mount_point") for entry in paths}
    relevant = [entry for entry in filesystems if text(entry, "mount_point") in _SYSTEM_MOUNTS or text(entry, "mount_point") in mounts]
    local = [
        entry
        for entry in relevant
        if text(entry, "kind") not in _NOT_LOCAL and flag(entry, "network") is not True and flag(entry, "read_only") is not True
    ]
    for name, free_key, total_key in (
        ("storage.filesystem_free_fraction", "free_bytes", "total_bytes"),
        ("storage.inodes_free_fraction", "inodes_free", "inodes_total"),
    ):
        known = []
        for entry in local:
            free, total = amount(entry, free_key), amount(entry, total_key)
            if free is not None and total and free <= total:
                known.append((free / total, _label(entry), free))
        if known:
            fraction, mount, free = min(known)
            state.value(name, fraction, [{"what": mount, "value": free, "source": "statvfs"}])
        elif local and name.startswith("storage.inodes") and all(entry.get(total_key) in (0, None) for entry in local):
            state.not_applicable(name, "absent.no_inode_limit")
        else:
            state.unknown(name, "absent.unreadable", field="storage.filesystems")


def _derive_paths(state, paths):
    if not paths:
        for name in ("storage.path_problems", "storage.paths_failed"):
            state.not_applicable(name, "absent.no_paths")
        return
    failed = [entry for entry in paths if text(entry, "error")]
    state.value(
        "storage.paths_failed",
        len(failed),
        [{"what": text(entry, "path") or "?", "value": text(entry, "error"), "source": "statvfs"} for entry in failed],
    )
    problems = []
    for entry in paths:
        if entry in failed:
            continue
        if flag(entry, "exists") is False:
            problems.append((entry, "missing"))
        elif flag(entry, "writable") is False and text(entry, "purpose") in ("checkpoints", "logs"):
            problems.append((entry, "not writable"))
    state.value(
        "storage.path_problems",
        len(problems),
        [{"what": text(entry, "path") or "?", "value": what, "source": "stat"} for entry, what in problems],
    )


def _derive_free(state, filesystems, paths):
    source = [entry for entry in paths if amount(entry, "free_bytes") is not None]
    if not source:
        source = [
            entry
            for entry in filesystems
            if text(entry, "kind") not in _NOT_LOCAL + ("overlay",)
            and flag(entry, "network") is not True
            and amount(entry, "free_bytes") is not None
        ]
        source = source or [entry for entry in filesystems if text(entry, "mount_point") == "/" and amount(entry, "free_bytes") is not None]
    if not source:
        state.unknown("storage.free_bytes", "absent.unreadable", field="storage.filesystems")
        return
    once = {}
    for entry in source:
        once.setdefault(_identity(entry), entry)
    state.value(
        "storage.free_bytes",
        sum(amount(entry, "free_bytes") for entry in once.values()),
        [{"what": _label(entry), "value": amount(entry, "free_bytes"), "source": "statvfs"} for entry in list(once.values())[:8]],
    )


def _derive_capacity(state, paths):
    name = "storage.capacity_headroom_fraction"
    absent = workload.sizes_missing(state.form)
    needs = workload.storage_needs(state.form)
    absent += [purpose + "_path" for purpose, path, _size in needs if path is None]
    if absent:
        state.unknown(name, "absent.form", fields=", ".join(absent))
        return
    by_path = {text(entry, "path"): entry for entry in paths}
    rooms = {}
    for purpose, path, size in needs:
        entry = by_path.get(path)
        free, total = (amount(entry, "free_bytes"), amount(entry, "total_bytes")) if entry else (None, None)
        if free is None or not total:
            state.unknown(name, "absent.path_unread", path=path, error=(text(entry, "error") if entry else None) or "-")
            return
        room = rooms.setdefault(_identity(entry), {"label": _label(entry), "free": free, "total": total, "needed": 0, "purposes": []})
        room["needed"] += size
        room["purposes"].append(purpose)
    if not rooms:
        state.not_applicable(name, "absent.nothing_to_store")
        return
    # Ties between file systems are settled by name, so that the same facts always give the same evidence.
    fraction, _label_text, worst = min(((room["free"] - room["needed"]) / room["total"], room["label"], room) for room in rooms.values())
    state.value(
        name,
        fraction,
        [
            {"what": worst["label"] + " free_bytes", "value": worst["free"], "source": "statvfs"},
            {"what": worst["label"] + " total_bytes", "value": worst["total"], "source": "statvfs"},
            {"what": " + ".join(worst["purposes"]) + " bytes", "value": worst["needed"], "source": "workload form"},
        ],
    )
    if fraction < 0:
        # A share of the file system says nothing here: five terabytes on a small disk are "-13000 %".
        state.values[name]["cause"] = {
            "key": "cause.capacity",
            "params": {"place": worst["label"], "needed": format_bytes(worst["needed"]), "free": format_bytes(worst["free"])},
        }
