# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The run directory: safe names, atomic deterministic writing, reading that trusts nothing, and which hosts a run holds.

    <output dir>/<run id>/run.json  inputs/<safe>.json  hosts/<safe>.json  report.*
    <output dir>/latest             a symbolic link to the run rendered last
    <output dir>/measurements/      see measurement_store.py
"""

from __future__ import annotations

import datetime
import errno
import hashlib
import json
import math
import os
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
        raise InvalidDocument("not a document: a JSON %s instead of an object" % json_kind(value))
    return value if own or is_tame(raw) else tame(value)


_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")


def check_depth(value, raw, limit=DEPTH_LIMIT):
    """Raise InvalidDocument where `value`, read from the bytes `raw`, has more than `limit` levels."""
    # Taking the innermost brackets away, one or two levels a round, is a hundred times faster than a walk. What is left then may be deep,
    # or there are brackets in texts.
    brackets = raw.translate(None, _NO_BRACKETS)
    for _round in range(limit // 2):
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    level, depth = [value] if brackets and isinstance(value, (dict, list)) else [], 0
    while level:
        entries = [entry.values() if isinstance(entry, dict) else entry for entry in level]
        level = [child for children in entries for child in children if isinstance(child, (dict, list))]
        depth += 1
        if depth > limit:
            raise InvalidDocument("not a document: nested too deeply")


def is_tame(raw):
    """Whether `tame` would change nothing of the document in these bytes of JSON: no text may be too long, none hold a lone surrogate.

    By splitting: a pattern takes a minute where many texts are just below the limit.
    """
    return max(map(len, raw.split(b'"'))) <= STRING_LIMIT and b"\\ud" not in raw.lower()


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


def json_kind(value):
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
