# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Stored measurements: `<output dir>/measurements/<safe name>/<module>-<UTC>-<id>.json`, and which of them hold for a host now."""

from __future__ import annotations

import math
import os

from . import run_directory
from .leaves import mapping, maps
from .waivers import as_moment

# Clocks of a host and of the controller may differ by this much.
SKEW_SECONDS = 3600
MEASUREMENT_SCHEMA = "trainops.gpu_audit/measurement/1"
# Measurements lie in the document of their host, which is read with run_directory's own limits.
LIMIT_BYTES = 4 * 1024 * 1024
LEVELS = run_directory.DEPTH_LIMIT // 2
TOGETHER_BYTES = 8 * 1024 * 1024
_OTHER_BYTES = 64 * 1024


def to_json(measurement):
    """The bytes of a measurement's file; InvalidDocument for one that no audit could read again."""
    try:
        raw = run_directory.to_json(measurement)
    except RecursionError:
        raise run_directory.InvalidDocument("nested too deeply") from None
    except ValueError as error:
        raise run_directory.InvalidDocument("no number that a file can hold: %s" % (_not_finite(measurement) or error)) from None
    if len(raw) > LIMIT_BYTES:
        raise run_directory.InvalidDocument("too large: %d bytes, at most %d are read" % (len(raw), LIMIT_BYTES))
    run_directory.check_depth(measurement, raw, LEVELS)
    return raw


def _not_finite(value, where=""):
    """The first number of a document that JSON doesn't know, with its place: "result.options.x (inf)"; None where there is none."""
    if isinstance(value, float) and not math.isfinite(value):
        return "%s (%s)" % (run_directory.shorten(where, 200), value)
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return next(filter(None, (_not_finite(entry, "%s.%s" % (where, key) if where else str(key)) for key, entry in entries)), None)


def within(current, stale, facts):
    """(current, stale, left out) so that they fit into the document of a host with these facts, the smallest first.

    Left out: what each measurement that doesn't is of, as text. What doesn't hold any more goes last, and without a word.
    """
    if not current and not stale:
        return current, stale, []
    room = min(TOGETHER_BYTES, run_directory.DOCUMENT_LIMIT_BYTES - len(run_directory.to_json(facts)) - _OTHER_BYTES)
    sizes = {id(entry): len(run_directory.to_json(entry)) for entry in (*current, *stale)}
    fits, left_out = set(), []
    for entries, last in ((current, False), (stale, True)):
        for entry in sorted(entries, key=lambda entry: sizes[id(entry)]):
            if sizes[id(entry)] <= room:
                room -= sizes[id(entry)]
                fits.add(id(entry))
            elif not last:
                left_out.append("%s, %s, %s" % (entry["module"], run_directory.shorten(entry.get("target"), 200), entry["finished"]))
    return [entry for entry in current if id(entry) in fits], [entry for entry in stale if id(entry) in fits], left_out


def read_all(output_dir, name):
    """Every measurement stored for a host, and [{"file", "message"}] for the files that are none; "file" is None for the folder itself."""
    folder = os.path.join(output_dir, "measurements", run_directory.safe_name(name))
    found, broken = [], []
    try:
        entries = sorted(os.listdir(folder))
    except FileNotFoundError:
        return found, broken
    except OSError as error:
        return found, [{"file": None, "message": "%s: cannot be read: %s" % (folder, error.strerror or error)}]
    for entry in entries:
        if not entry.endswith(".json") or entry.startswith("."):
            continue
        try:
            found.append(_checked(run_directory.read_json(os.path.join(folder, entry), LIMIT_BYTES), name))
        except run_directory.InvalidDocument as error:
            broken.append({"file": entry, "message": str(error)})
    return found, broken


def _checked(document, name):
    if document.get("schema") != MEASUREMENT_SCHEMA:
        raise run_directory.InvalidDocument("schema %r instead of %r" % (document.get("schema"), MEASUREMENT_SCHEMA))
    if document.get("name") != name:
        raise run_directory.InvalidDocument("taken on another host, %r" % (document.get("name"),))
    if not isinstance(document.get("module"), str) or as_moment(document.get("finished")) is None:
        raise run_directory.InvalidDocument("without a module name or a finishing time")
    to_json(document)
    return document


def select(measurements, facts, now, max_age_seconds):
    """(current, stale) for a host with these facts.

    Current: the newest per module and target, taken on this machine and these GPUs, at most `max_age_seconds` old; of storage tests also
    older ones with a job that no newer one answers (not run, a quick look, too short, out of memory). Stale: what would
    have been current, with why it isn't: [{"module", "target", "finished", "reason" (age | future | machine | gpus), "age_seconds"}].
    A failure, and a probe whose command never started, hides no older result that still holds: it is told in that result's `notes` and as
    its `failed_since` {"finished", "message"}.
    """
    newest, failures, holding = {}, {}, {}
    for measurement in measurements:
        key = (measurement["module"], str(measurement.get("target")))
        moment = as_moment(measurement["finished"])
        # One of a clock that went ahead must not hide what was measured since.
        fits = _misfit(measurement, facts) is None and (moment - now).total_seconds() <= SKEW_SECONDS
        holds = fits and _failed_with(measurement) is None and (now - moment).total_seconds() <= max_age_seconds
        # One that fits goes before any that doesn't, whatever its age.
        rank = (holds, fits, moment)
        failed = fits and _failed_with(measurement) is not None
        if failed and (key not in failures or moment > as_moment(failures[key]["finished"])):
            failures[key] = measurement
        if key not in newest or rank > newest[key][0]:
            newest[key] = (rank, measurement)
        if holds:
            holding.setdefault(key, []).append((moment, measurement))
    current, stale = [], []
    for key in sorted(newest):
        measurement = newest[key][1]
        age = (now - as_moment(measurement["finished"])).total_seconds()
        reason = _misfit(measurement, facts) or ("future" if age < -SKEW_SECONDS else "age" if age > max_age_seconds else None)
        if reason is None:
            current.append(_with_failure(measurement, failures.get(key)))
            current += _with_other_jobs(measurement, holding.get(key, ()))
        else:
            stale.append({"module": measurement["module"], "target": measurement.get("target"), "finished": measurement["finished"],
                          "reason": reason, "age_seconds": int(age)})
    return current, stale


def _with_other_jobs(newest, holding):
    """Of a storage test's older results ([(moment, measurement)]) those with a job that nothing newer answers, the newest first."""
    # Imported here: most hosts have nothing measured, and every audit imports this file.
    from . import storage_jobs

    if newest["module"] != storage_jobs.MODULE or not isinstance(newest.get("result"), dict):
        return []
    seen, answered, kept = storage_jobs.carried(newest["result"]), storage_jobs.answering(newest["result"]), []
    for _moment, measurement in sorted(holding, key=lambda entry: entry[0], reverse=True):
        has, answers = storage_jobs.carried(measurement["result"]), storage_jobs.answering(measurement["result"])
        if measurement is not newest and (has - seen or answers - answered):
            kept.append(measurement)
            seen, answered = seen | has, answered | answers
    return kept


def _failed_with(measurement):
    """What a measurement that measured nothing says of it: its error, or why a probe's command never started; None for a result."""
    result, error = measurement.get("result"), measurement.get("error")
    if isinstance(result, dict):
        return result.get("error") or "not_started" if result.get("outcome") == "not_started" else None
    return mapping(measurement, "error").get("message") if isinstance(error, dict) else error or "no result"


def _with_failure(measurement, failure):
    """The measurement, with a note and `failed_since` in its result where a later one failed."""
    result = measurement.get("result")
    if failure is None or _failed_with(measurement) is not None or as_moment(failure["finished"]) <= as_moment(measurement["finished"]):
        return measurement
    words = run_directory.shorten(str(_failed_with(failure)), 300)
    note = "a later measurement (%s) failed: %s" % (failure["finished"], words)
    notes = result.get("notes")
    since = {"finished": failure["finished"], "message": words}
    return dict(measurement, result=dict(result, notes=[*(notes if isinstance(notes, list) else []), note], failed_since=since))


def _misfit(measurement, facts):
    """Why a measurement doesn't belong to this host as it is now: "machine", "gpus" or None."""
    if measurement.get("machine_id") != mapping(facts, "platform").get("machine_id"):
        return "machine"
    uuids = measurement.get("gpu_uuids")
    measured = {uuid for uuid in uuids if isinstance(uuid, str)} if isinstance(uuids, list) else set()
    present = {gpu["uuid"] for gpu in maps(mapping(facts, "gpu"), "gpus") if isinstance(gpu.get("uuid"), str)} - {""}
    # A test of the disks or the network names no GPU and outlives an exchange of one.
    return "gpus" if measured and measured != present else None
