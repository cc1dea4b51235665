# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reads files of a host below a root folder, so that a saved or made-up tree is read like the live machine."""

from __future__ import annotations

import errno
import os

_NOT_PERMITTED = (errno.EACCES, errno.EPERM)
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO, errno.EOPNOTSUPP)


def reason(error):
    """The word of an `absent` map for an exception: not_permitted, not_supported or 'failed: <its own words>'."""
    if isinstance(error, OSError):
        if error.errno in _NOT_PERMITTED:
            return "not_permitted"
        if error.errno in _NOT_THERE:
            return "not_supported"
        return "failed: %s" % (error.strerror or error)
    return "failed: %s" % error


class HostFiles(object):
    """Files below `root` ("/" is this machine). Paths are given as on the host: "/proc/stat"."""

    def __init__(self, root="/"):
        self.root = root.rstrip("/")

    def path(self, path):
        return self.root + path

    def text(self, path, limit=1 << 20):
        """The first `limit` bytes as text without the white space around it; undecodable bytes become U+FFFD. Raises OSError."""
        # O_NONBLOCK: a FIFO put where a file is expected must not hold the audit up.
        try:
            descriptor = os.open(self.path(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except ValueError:
            # A path made of what a file said may hold a NUL or what the locale can't say.
            raise FileNotFoundError(errno.ENOENT, "No file can have this name")
        try:
            parts = []
            while limit > 0:
                part = os.read(descriptor, min(limit, 1 << 16))
                if not part:
                    break
                parts.append(part)
                limit -= len(part)
        finally:
            os.close(descriptor)
        return b"".join(parts).decode("utf-8", "replace").strip()

    def text_or(self, path, default=None, limit=1 << 20):
        """text(), or `default` where the file is missing, closed to us, empty or fails."""
        try:
            return self.text(path, limit) or default
        except OSError:
            return default

    def number(self, path):
        """The file's whole number, None where there is none."""
        try:
            return int(self.text(path, 64))
        except (OSError, ValueError):
            return None

    def names(self, path):
        """Sorted names in a folder, [] where it can't be listed."""
        try:
            return sorted(os.listdir(self.path(path)))
        except (OSError, ValueError):
            return []

    def exists(self, path):
        try:
            return os.path.exists(self.path(path))
        except ValueError:
            return False

    def link(self, path):
        """What a symbolic link points to, None where it is none."""
        try:
            return os.readlink(self.path(path))
        except (OSError, ValueError):
            return None
