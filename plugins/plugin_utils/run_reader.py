# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reading a stored run: which runs there are, who is in one, its documents. What can't be read is an error entry of that host, never a gap."""

from __future__ import annotations

import dataclasses
import os
import re

from .run_directory import (
    HOST_SCHEMA,
    INPUTS_SCHEMA,
    RUN_SCHEMA,
    InvalidDocument,
    RunDirectoryError,
    empty_inputs,
    error_document,
    host_path,
    inputs_path,
    json_kind,
    manifest_path,
    read_json,
    safe_name,
    shorten,
)

_RUN_ID = re.compile(r"\A\d{8}T\d{6}Z-[0-9a-f]{6}\Z")


def name_of(safe):
    """The inventory name for a `safe_name`; None for a hashed one or for a file name that `safe_name` never makes."""
    if safe == "%":
        return ""
    if "%+" in safe:
        return None
    parts = re.split(r"%([0-9a-f]{2})", safe)
    if any("%" in part for part in parts[::2]):
        return None
    try:
        raw = b"".join(bytes([int(part, 16)]) if odd else part.encode("ascii") for part, odd in zip(parts, _alternate()))
        name = raw.decode("utf-8", "surrogatepass")
    except (UnicodeError, ValueError):
        return None
    return name if safe_name(name) == safe else None


def _alternate():
    odd = False
    while True:
        yield odd
        odd = not odd


def read_host(run, name):
    """The host document of `name`, or None when there is none. An invalid one comes back as an error document of kind `invalid`."""
    path = host_path(run, name)
    if not os.path.lexists(path):
        return None
    try:
        document = read_json(path)
        check_host(document, name)
    except InvalidDocument as error:
        return error_document(name, "invalid", "hosts/%s: %s" % (os.path.basename(path), error))
    return document


def check_host(document, name):
    """Raise InvalidDocument unless `document` has the shape of this host's document. What `facts` hold is not looked into."""
    _check_schema(document, HOST_SCHEMA)
    if document.get("name") != name:
        raise InvalidDocument("it is the document of another host, %r" % shorten(document.get("name"), 100))
    facts = document.get("facts")
    if facts is not None and not isinstance(facts, dict):
        raise InvalidDocument("facts: %s instead of an object" % json_kind(facts))
    for subject, value in (facts or {}).items():
        if subject != "schema" and not isinstance(value, dict):
            raise InvalidDocument("facts.%s: %s instead of an object" % (subject, json_kind(value)))
    for field in ("measurements", "stale_measurements", "errors"):
        entries = document.get(field, [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise InvalidDocument("%s: not a list of objects" % field)
    if facts is None and not document.get("errors"):
        raise InvalidDocument("neither facts nor errors in it")
    if not all(isinstance(e.get("kind"), str) and isinstance(e.get("message"), str) for e in document.get("errors", [])):
        raise InvalidDocument("errors: an entry without kind and message")


def _check_schema(document, schema):
    if document.get("schema") != schema:
        raise InvalidDocument("schema %r instead of %r" % (shorten(document.get("schema"), 100), schema))


_INPUT_KINDS = {"groups": list, "thresholds": list, "workload": dict, "expected": dict, "waivers": dict, "errors": list}


def read_inputs(run, name):
    """The inputs of `name`. Missing: `empty_inputs`. Invalid: the same with an entry under `errors` that names the file."""
    path = inputs_path(run, name)
    inputs = empty_inputs(name)
    if not os.path.lexists(path):
        return inputs
    try:
        read = read_json(path)
        _check_schema(read, INPUTS_SCHEMA)
        if read.get("name") != name:
            raise InvalidDocument("they are the inputs of another host, %r" % shorten(read.get("name"), 100))
        for field, kind in _INPUT_KINDS.items():
            if not isinstance(read.get(field, kind()), kind):
                raise InvalidDocument("%s: %s where %s is expected" % (field, json_kind(read[field]), kind.__name__))
    except InvalidDocument as error:
        inputs["errors"] = [{"variable": "inputs/%s" % os.path.basename(path), "message": str(error)}]
        return inputs
    inputs.update(read)
    return inputs


def read_manifest(run):
    """run.json, with an empty one of the right shape where it is missing or broken, and the list of what was wrong with it."""
    manifest = {"schema": RUN_SCHEMA, "id": os.path.basename(os.path.abspath(run)), "started": None, "finished": None, "expected": [],
                "policies": {}, "language": "en", "collection_version": None, "ansible_version": None, "partial": True}
    try:
        read = read_json(manifest_path(run), 64 * 1024 * 1024)
        _check_schema(read, RUN_SCHEMA)
        if not isinstance(read.get("expected"), list) or not all(isinstance(name, str) for name in read["expected"]):
            raise InvalidDocument("expected: not a list of names")
        if not isinstance(read.get("policies"), dict):
            raise InvalidDocument("policies: not an object")
    except InvalidDocument as error:
        return manifest, ["run.json: %s" % error]
    manifest.update(read)
    return manifest, []


@dataclasses.dataclass(frozen=True)
class Names:
    """Who is in a run: `names`, sorted, and `strays`, documents that can't be told whose they are (file -> what is wrong)."""

    names: tuple
    strays: tuple


def host_names(run, expected=()):
    """Every host of a run: expected by run.json or by the caller, with inputs or with a document."""
    wanted = set(expected) | set(read_manifest(run)[0]["expected"])
    by_safe = {safe_name(name): name for name in wanted}
    strays = []
    for folder in ("inputs", "hosts"):
        for entry in _json_files(os.path.join(run, folder)):
            safe = entry[: -len(".json")]
            if safe in by_safe:
                continue
            name = name_of(safe)
            if name is None:
                name = _name_inside(os.path.join(run, folder, entry), safe)
            if name is None:
                strays.append("%s/%s" % (folder, entry))
            else:
                by_safe[safe] = name
    return Names(tuple(sorted(by_safe.values())), tuple(sorted(strays)))


def _json_files(folder):
    try:
        return sorted(entry for entry in os.listdir(folder) if entry.endswith(".json") and not entry.startswith("."))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunDirectoryError("cannot read %s: %s" % (folder, error.strerror or error)) from error


def _name_inside(path, safe):
    """A hashed file name doesn't give the name back; the document inside does, if it is the one."""
    try:
        name = read_json(path).get("name")
    except InvalidDocument:
        return None
    return name if isinstance(name, str) and safe_name(name) == safe else None


def find_run(output_dir, wanted="latest"):
    """The absolute path of a stored run: ``latest`` (the newest where there is no such link), a run id or a path."""
    candidates = [wanted] if os.sep in wanted or wanted in (os.curdir, os.pardir) else [os.path.join(output_dir, wanted), wanted]
    for candidate in candidates:
        path = os.path.realpath(os.path.expanduser(candidate))
        if os.path.isdir(path) and (os.path.isfile(manifest_path(path)) or os.path.isdir(os.path.join(path, "hosts"))):
            return path
    stored = stored_runs(output_dir)
    if wanted == "latest" and stored:
        return os.path.realpath(os.path.join(output_dir, stored[-1]))
    known = "; runs there: %s" % ", ".join(stored[-5:]) if stored else "; there are none there yet: run an audit first"
    raise RunDirectoryError(
        "no run %r in %s%s. Give gpu_audit_run a run id, a path or 'latest', and gpu_audit_output_dir the folder that holds it."
        % (wanted, os.path.abspath(output_dir), known)
    )


def interrupted_run(run):
    """The newest run beside `run`, the one that ``latest`` points to, that began later: interrupted before its report. None without one."""
    folder, own = os.path.split(os.path.abspath(run))
    later = [os.path.join(folder, entry) for entry in stored_runs(folder) if _RUN_ID.match(own) and entry > own]
    return next((path for path in reversed(later) if os.path.isdir(os.path.join(path, "hosts"))), None)


def is_newer_than_latest(run):
    """Whether the link `latest` beside a run points to an older one."""
    folder, own = os.path.split(os.path.abspath(run))
    link = os.path.join(folder, "latest")
    if not os.path.islink(link):
        return False
    return bool(_RUN_ID.match(own)) and os.path.basename(os.readlink(link)) < own


def stored_runs(output_dir):
    """The run ids in an output directory, oldest first."""
    try:
        return sorted(entry for entry in os.listdir(output_dir) if _RUN_ID.match(entry))
    except OSError:
        return []
