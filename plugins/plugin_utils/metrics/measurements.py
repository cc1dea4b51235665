# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Finding the measurement that a metric needs, and the reason when there is none."""

from __future__ import annotations

from .registry import mapping, maps, text


# Why measurement_store.select() left a measurement out.
STALE_REASONS = ("age", "future", "machine", "gpus")
# The reason of a metric that comes with an optional measurement which nobody took: judging leaves its check out.
SILENT = "absent.not_asked"


def find_optional(state, module, matches=None):
    """The newest measurement of a module with a result, None where there is none; marks nothing."""
    found = [
        entry
        for entry in maps(state.document, "measurements")
        if entry.get("module") == module and isinstance(entry.get("result"), dict) and (matches is None or matches(entry))
    ]
    return max(found, key=_newest) if found else None


def _newest(entry):
    return text(entry, "finished") or "", text(entry, "target") or ""


def find_measurement(state, name, module, matches=None):
    """The newest usable measurement of a module ({"result": map, ...}), None after marking `name` absent with what would answer it.

    `matches(measurement)` narrows by target or direction. A measurement that ended in an error is named with that error.
    """
    if module == "workload_probe" and text(state.gpu_document, "state") == "no_hardware":
        state.not_applicable(name, "absent.no_gpu")
        return None
    found = [
        entry for entry in maps(state.document, "measurements") if entry.get("module") == module and (matches is None or matches(entry))
    ]
    found.sort(key=_newest)
    for entry in reversed(found):
        if isinstance(entry.get("result"), dict):
            return entry
    if found:
        state.unknown(
            name,
            "absent.measurement_failed",
            module=module,
            error=text(found[-1], "error") or text(mapping(found[-1], "error"), "message") or "?",
        )
        return None
    stale = [
        entry
        for entry in maps(state.document, "stale_measurements")
        if entry.get("module") == module and (matches is None or matches(entry))
    ]
    if stale:
        newest = max(stale, key=lambda entry: text(entry, "finished") or "")
        reason = text(newest, "reason")
        key = "absent.measurement_stale" + ("." + reason if reason in STALE_REASONS else "")
        state.unknown(name, key, module=module, finished=text(newest, "finished") or "?")
    else:
        state.unknown(name, "absent.not_measured", module=module)
    return None
