# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Writes a report file piece by piece, so that a reader sees the old one or the new one and never half of one."""

from __future__ import annotations

import os
import pathlib
import secrets


def write_text(path, pieces):
    """Write the strings of `pieces` as UTF-8 to a new file beside `path`, then rename it; the new file is removed on any error."""
    path = pathlib.Path(path)
    new = path.with_name(f".{path.name}.{secrets.token_hex(6)}.new")
    try:
        with open(new, "w", encoding="utf-8", newline="") as stream:
            for piece in pieces:
                stream.write(piece)
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)
