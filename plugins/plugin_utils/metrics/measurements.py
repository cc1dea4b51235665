# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Finding the measurement that a metric needs, and the reason when there is none."""

from __future__ import annotations

from .registry import mapping, maps, sentence, text


# Why measurement_store.select() left a measurement out.
STALE_REASONS = ("age", "future", "machine", "gpus")
# The reason of a metric that comes with an optional measurement which nobody took: judging leaves its check out.
SILENT = "absent.not_asked"


def find_optional(state, module, matches=None):
    """The newest measurement of a module with a result, None where there is none; marks nothing."""
    return newest_result(state.document, module, matches)


def with_results(document, module, matches=None):
    """The measurements of a module that have a result, the newest first; one of a command that never started comes after all others."""
    found = [
        entry
        for entry in maps(document or {}, "measurements")
        if entry.get("module") == module and isinstance(entry.get("result"), dict) and (matches is None or matches(entry))
    ]
    return sorted(found, key=_newest, reverse=True)


def newest_result(document, module, matches=None):
    """The first of with_results(), None where there is none."""
    return next(iter(with_results(document, module, matches)), None)


def not_started(entry):
    """Whether a probe's command never came to run: it measured nothing and hides nothing that was measured."""
    return mapping(entry, "result").get("outcome") == "not_started"


def _newest(entry):
    return not not_started(entry), text(entry, "finished") or "", text(entry, "target") or ""


def failed_since(entry):
    """What a later test of the same module and target failed with: {"finished", "message"}; an empty map where none did."""
    return mapping(mapping(entry, "result"), "failed_since")


def with_error(document, module):
    """{"error": text or None, "finished"} of the newest measurement of a module, for one that has no result; None where there is none."""
    found = sorted((entry for entry in maps(document or {}, "measurements") if entry.get("module") == module), key=_newest)
    if not found:
        return None
    newest = found[-1]
    return {"error": sentence(newest, "error") or sentence(mapping(newest, "error"), "message"), "finished": text(newest, "finished")}


def command_of(entry):
    """The command of a probe as a measurement names it: "python3 train.py (/srv/train)"; "?" where it doesn't."""
    return " ".join((text(entry, "target") or "?").split())[:120]


def source_of(entry, what="workload_probe"):
    """Where a figure of a probe comes from: "workload_probe 2026-11-29T12:10:00Z of python3 train.py"."""
    return "%s %s of %s" % (what, text(entry, "finished") or "?", command_of(entry))


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
            module="%s (%s)" % (module, command_of(found[-1])) if module == "workload_probe" else module,
            error=sentence(found[-1], "error") or sentence(mapping(found[-1], "error"), "message") or "?",
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
