# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The run directory: safe names, atomic deterministic writing, reading that trusts nothing, and which hosts a run holds.

    <output dir>/<run id>/run.json  inputs/<safe>.json  hosts/<safe>.json  report.*
    <output dir>/latest             a symbolic link to the run rendered last
    <output dir>/measurements/      see measurement_store.py
"""

from __future__ import annotations

import dataclasses
import datetime
import errno
import hashlib
import json
import math
import os
import re
import secrets
import stat

RUN_SCHEMA = "trainops.gpu_audit/run/1"
INPUTS_SCHEMA = "trainops.gpu_audit/inputs/1"
HOST_SCHEMA = "trainops.gpu_audit/host/1"

DEFAULT_OUTPUT_DIR = "gpu-audit-runs"
DOCUMENT_LIMIT_BYTES = 16 * 1024 * 1024
STRING_LIMIT = 4096
# A document of ours has about 8 levels. One with hundreds runs whatever walks it out of stack.
DEPTH_LIMIT = 64
ERROR_KINDS = ("unreachable", "module_failed", "no_python", "template", "invalid", "timeout")

# A file name may have 255 bytes on the usual file systems; what is left is for ".json" and the temporary name around it.
_SAFE_LIMIT = 200
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789.-_")
_RUN_ID = re.compile(r"\A\d{8}T\d{6}Z-[0-9a-f]{6}\Z")


class RunDirectoryError(Exception):
    """The run directory can't be found, made or read; the text says which, why and what to do."""


class InvalidDocument(Exception):
    """A file in a run directory isn't the document it should be; the text says why, without the path."""


# ------------------------------------------------------------------- names


def safe_name(name):
    """The file name (no suffix) for an inventory name: injective, no path, also where case makes no difference.

    Lower-case letters, digits, ``.``, ``-``, ``_`` stay; every other byte of the UTF-8 form is ``%xx``, and so is a leading
    ``.`` or ``_`` (``_links`` is a folder of its own). An empty name is ``%``; a long one ends in ``%+`` and its SHA-256.
    """
    raw = name.encode("utf-8", "surrogatepass")
    if not raw:
        return "%"
    encoded = "".join(
        chr(byte) if byte in _PLAIN and not (position == 0 and byte in b"._") else "%%%02x" % byte for position, byte in enumerate(raw)
    )
    if len(encoded) <= _SAFE_LIMIT:
        return encoded
    return encoded[:120] + "%+" + hashlib.sha256(raw).hexdigest()


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


def timestamp(moment):
    """A UTC moment as ``YYYY-MM-DDTHH:MM:SSZ``."""
    return moment.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def now():
    """The present as `timestamp` writes it."""
    return timestamp(datetime.datetime.now(datetime.timezone.utc))


def new_run_id(moment=None, suffix=None):
    """``20261130T120501Z-3f9a1c``: sorts by time; the suffix keeps two runs of one second apart."""
    moment = moment or datetime.datetime.now(datetime.timezone.utc)
    return "%s-%s" % (moment.astimezone(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ"), suffix or secrets.token_hex(3))


# ----------------------------------------------------------------- writing


def to_json(value):
    """The bytes of a document: sorted keys, one line, ASCII. ValueError for a number that JSON doesn't know.

    Not indented: that takes json's slow encoder, and a document is written for every host.
    """
    return (json.dumps(value, sort_keys=True, ensure_ascii=True, allow_nan=False) + "\n").encode("ascii")


def write_bytes(path, content):
    """Write a file so that a reader sees the old one or the whole new one, never a part."""
    folder, base = os.path.split(path)
    temporary = os.path.join(folder, ".%s.%d.%s" % (base[:40], os.getpid(), secrets.token_hex(4)))
    try:
        with open(temporary, "xb") as stream:
            stream.write(content)
        os.replace(temporary, path)
    except OSError as error:
        _remove(temporary)
        raise RunDirectoryError("cannot write %s: %s" % (path, error.strerror or error)) from error


def write_json(path, value):
    """Write a document with `to_json`, atomically."""
    write_bytes(path, to_json(value))


def write_new_json(path, value):
    """As `write_json`, but an existing file stays: True when this call wrote it. Atomic, also between processes."""
    temporary = "%s.%d.%s" % (path, os.getpid(), secrets.token_hex(4))
    write_bytes(temporary, to_json(value))
    try:
        os.link(temporary, path)
        return True
    except FileExistsError:
        return False
    except OSError as error:
        # File systems without hard links (some network and FUSE mounts): an exclusive create comes close enough.
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS):
            raise RunDirectoryError("cannot write %s: %s" % (path, error.strerror or error)) from error
        return _write_exclusive(path, value)
    finally:
        _remove(temporary)


def _write_exclusive(path, value):
    try:
        with open(path, "xb") as stream:
            stream.write(to_json(value))
        return True
    except FileExistsError:
        return False
    except OSError as error:
        raise RunDirectoryError("cannot write %s: %s" % (path, error.strerror or error)) from error


def _remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass


def make_run_directory(path):
    """Make the folders of a run; no error when they are there."""
    try:
        for folder in ("inputs", "hosts"):
            os.makedirs(os.path.join(path, folder), exist_ok=True)
    except OSError as error:
        raise RunDirectoryError(
            "cannot make the run directory %s: %s. Set gpu_audit_output_dir to a folder that you may write to."
            % (path, error.strerror or error)
        ) from error


def manifest_path(run):
    return os.path.join(run, "run.json")


def inputs_path(run, name):
    return os.path.join(run, "inputs", safe_name(name) + ".json")


def host_path(run, name):
    return os.path.join(run, "hosts", safe_name(name) + ".json")


def error_document(name, kind, message, collected_at=None):
    """The host document of a host that gave no facts. `kind` is one of `ERROR_KINDS`."""
    if kind not in ERROR_KINDS:
        raise ValueError("unknown kind of error: %s" % kind)
    return {
        "schema": HOST_SCHEMA,
        "name": name,
        "collected_at": collected_at,
        "machine_id": None,
        "facts": None,
        "measurements": [],
        "stale_measurements": [],
        "errors": [{"kind": kind, "message": shorten(message, 2000)}],
    }


def shorten(text, limit=STRING_LIMIT):
    """Text cut to about `limit` characters, with how long it was."""
    text = str(text)
    return text if len(text) <= limit else "%s ... (%d characters)" % (text[:limit], len(text))


def point_latest(output_dir, run):
    """Move ``latest`` to this run in one step. Returns None, or what went wrong (some file systems have no symbolic links)."""
    link = os.path.join(output_dir, "latest")
    temporary = os.path.join(output_dir, ".latest.%d.%s" % (os.getpid(), secrets.token_hex(4)))
    try:
        if os.path.lexists(link) and not os.path.islink(link):
            return "%s is not a symbolic link, so it was left alone" % link
        os.symlink(os.path.relpath(run, output_dir), temporary)
        os.replace(temporary, link)
    except OSError as error:
        _remove(temporary)
        return "cannot point %s to this run: %s" % (link, error.strerror or error)
    return None


# ----------------------------------------------------------------- reading


def read_json(path, limit=DOCUMENT_LIMIT_BYTES, own=False):
    """The JSON object in a regular file of at most `limit` bytes; else InvalidDocument says why.

    Long strings are shortened, except in a file that is `own`: written by the judging itself, where searching for them only costs time.
    """
    raw = _read_regular(path, limit)
    if not raw.strip():
        raise InvalidDocument("the file is empty")
    try:
        value = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise InvalidDocument("not UTF-8 text (byte %d)" % error.start) from None
    except json.JSONDecodeError as error:
        where = "cut off" if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated") else "wrong"
        raise InvalidDocument("not JSON: %s at line %d column %d: %s" % (where, error.lineno, error.colno, error.msg)) from None
    except RecursionError:
        raise InvalidDocument("not a document: nested too deeply") from None
    except ValueError as error:
        raise InvalidDocument("not JSON: %s" % error) from None
    check_depth(value, raw)
    if not isinstance(value, dict):
        raise InvalidDocument("not a document: a JSON %s instead of an object" % _json_kind(value))
    return tame(value) if not own and (_has_long_string(raw) or b"\\ud" in raw.lower()) else value


_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")


def check_depth(value, raw):
    """Raise InvalidDocument where `value`, read from the bytes `raw`, has more than `DEPTH_LIMIT` levels."""
    # Taking the innermost brackets away, one or two levels a round, is a hundred times faster than a walk. What is left then may be deep,
    # or there are brackets in texts.
    brackets = raw.translate(None, _NO_BRACKETS)
    for _round in range(DEPTH_LIMIT // 2):
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    level, depth = [value] if brackets and isinstance(value, (dict, list)) else [], 0
    while level:
        entries = [entry.values() if isinstance(entry, dict) else entry for entry in level]
        level = [child for children in entries for child in children if isinstance(child, (dict, list))]
        depth += 1
        if depth > DEPTH_LIMIT:
            raise InvalidDocument("not a document: nested too deeply")


def _has_long_string(raw):
    """Whether some text may be longer than STRING_LIMIT. By splitting: a pattern takes a minute where many are just below it."""
    return max(map(len, raw.split(b'"'))) > STRING_LIMIT


def _read_regular(path, limit):
    # O_NONBLOCK: a named pipe put in a document's place must not hold the audit up.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InvalidDocument("the file is a symbolic link, which is not followed") from None
        raise InvalidDocument("cannot be read: %s" % (error.strerror or error)) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise InvalidDocument("not a regular file")
        if status.st_size > limit:
            raise InvalidDocument("too large: %d bytes, at most %d are read" % (status.st_size, limit))
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            raw = stream.read(limit + 1)
    except OSError as error:
        raise InvalidDocument("cannot be read: %s" % (error.strerror or error)) from None
    finally:
        os.close(descriptor)
    if len(raw) > limit:
        raise InvalidDocument("too large: more than %d bytes" % limit)
    return raw


def _refuse_constant(text):
    raise ValueError("%s is not a number JSON knows" % text)


def _finite(text):
    """A float as JSON writes it; `1e999` would be read as infinite, which no JSON can say again."""
    value = float(text)
    return value if math.isfinite(value) else _refuse_constant(shorten(text, 20))


def _json_kind(value):
    names = {list: "array", str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}
    return names.get(type(value), type(value).__name__)


def tame(value):
    """The same document with every string shortened to `STRING_LIMIT` and freed of lone surrogates (they can't be written as UTF-8)."""
    if isinstance(value, str):
        return shorten(value.encode("utf-8", "replace").decode("utf-8"))
    if isinstance(value, dict):
        return {tame(key): tame(item) for key, item in value.items()}
    if isinstance(value, list):
        return [tame(item) for item in value]
    return value


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
        raise InvalidDocument("facts: %s instead of an object" % _json_kind(facts))
    for subject, value in (facts or {}).items():
        if subject != "schema" and not isinstance(value, dict):
            raise InvalidDocument("facts.%s: %s instead of an object" % (subject, _json_kind(value)))
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


def empty_inputs(name):
    """The inputs of a host of which nothing is known but its name."""
    return {
        "schema": INPUTS_SCHEMA,
        "name": name,
        "groups": [],
        "policy": None,
        "thresholds": [],
        "workload": {},
        "expected": {},
        "waivers": {},
        "errors": [],
    }


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
                raise InvalidDocument("%s: %s where %s is expected" % (field, _json_kind(read[field]), kind.__name__))
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


# ------------------------------------------------------------- finding one


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
