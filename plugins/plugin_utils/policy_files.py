# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Where policies are found: the collection's own by name, a user's by path. What reads them is imported only when one is read."""

from __future__ import annotations

import os

SHIPPED_DIR = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "roles", "audit", "files", "policies"))


def is_shipped(name, folder=SHIPPED_DIR):
    """Whether this is the name of one of the collection's own policies."""
    return os.sep not in name and os.path.isfile(os.path.join(folder, name + ".yml"))


def load(wanted, folders=()):
    """{"policy": resolved} or {"error": text} for a shipped name or a file; a relative path is looked for in `folders` in turn."""
    from .policy import PolicyError, resolve

    looked = wanted
    if os.sep in wanted or wanted.endswith((".yml", ".yaml")):
        looked = next((path for path in (os.path.join(folder, wanted) for folder in folders) if os.path.isfile(path)), wanted)
    try:
        return {"policy": resolve(looked)}
    except PolicyError as error:
        return {"error": str(error)}


def threshold_error(resolved, thresholds):
    """What is wrong with these thresholds for this policy (text), None where nothing is."""
    from .policy import PolicyError, apply_thresholds

    try:
        apply_thresholds(resolved, thresholds)
    except PolicyError as error:
        return str(error)
    return None
