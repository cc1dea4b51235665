# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A light check of a host document's structure, so that deriving and judging only meet odd leaf values."""

from __future__ import annotations

SUBJECTS = ("gpu", "cpu", "memory", "storage", "network", "software", "platform")
_LISTS = {
    "gpu": ("gpus", "pci", "pci_passthrough"),
    "cpu": ("numa_nodes",),
    "storage": ("filesystems", "paths", "disks"),
    "network": ("interfaces", "rdma_ports"),
    "software": ("cuda_toolkits", "python_environments"),
}
# More entries than any machine has: a document like that is broken or hostile, and would make the report useless.
LIST_LIMIT = 4096


def problem(document):
    """None, or {"path", "wanted", "found"} of the first thing in a host document that isn't what the contract says."""
    if not isinstance(document, dict):
        return _mismatch("document", "a map", document)
    if not isinstance(document.get("name", ""), str):
        return _mismatch("name", "text", document["name"])
    for key in ("measurements", "stale_measurements", "errors"):
        found = _list_problem(key, document.get(key))
        if found:
            return found
    facts = document.get("facts")
    if facts is None:
        return None
    if not isinstance(facts, dict):
        return _mismatch("facts", "a map", facts)
    for subject in SUBJECTS:
        found = _subject_problem(subject, facts.get(subject))
        if found:
            return found
    return None


def _subject_problem(subject, value):
    path = "facts." + subject
    if value is None:
        return None
    if not isinstance(value, dict):
        return _mismatch(path, "a map", value)
    for key in _LISTS.get(subject, ()):
        found = _list_problem("%s.%s" % (path, key), value.get(key))
        if found:
            return found
    return None


def _list_problem(path, value):
    """None for null and for a list of maps."""
    if value is None:
        return None
    if not isinstance(value, list):
        return _mismatch(path, "a list", value)
    if len(value) > LIST_LIMIT:
        return {"path": path, "wanted": "a list of at most %d" % LIST_LIMIT, "found": str(len(value))}
    for index, entry in enumerate(value):
        if not isinstance(entry, dict):
            return _mismatch("%s[%d]" % (path, index), "a map", entry)
    return None


def _mismatch(path, wanted, value):
    kinds = {dict: "a map", list: "a list", str: "text", bool: "true/false", int: "a number", float: "a number", type(None): "null"}
    return {"path": path, "wanted": wanted, "found": kinds.get(type(value), type(value).__name__)}


def errors_of(document, limit=500):
    """[{"kind", "message"}] of a document's errors, texts cut at `limit` characters, anything else left out."""
    result = []
    for entry in document.get("errors") or ():
        if isinstance(entry, dict):
            kind, message = entry.get("kind"), entry.get("message")
            result.append(
                {"kind": kind[:40] if isinstance(kind, str) else "error", "message": message[:limit] if isinstance(message, str) else ""}
            )
    return result[:20]
