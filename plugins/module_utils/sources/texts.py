# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Texts of hosts, tools and drivers, made fit to be stored and repeated. Pure."""

from __future__ import annotations

import re

_CONTROL = r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+"


def clean_text(value, limit=200):
    """Text that a host said, bytes or str: one line, no control characters, at most `limit` characters."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    text = str(value)[:4 * limit]
    return (text if text.isprintable() and "  " not in text else re.sub(_CONTROL, " ", text)).strip()[:limit]


def without_surrogates(text):
    """The text with `?` for lone surrogates (a file name that is no UTF-8 holds them): neither UTF-8 nor a reader of JSON takes one."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
