# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reads what fio printed (--output-format=json or json+, fio 3.x; fio 2.x as far as it goes), noise around it included.

Form: https://fio.readthedocs.io/en/latest/fio_doc.html#json-output
"""

from __future__ import annotations

import itertools
import json
import os
import re

MAX_NOISE_LINES = 20
MAX_LINE = 300
DIRECTIONS = ("read", "write", "trim")
# Engines for which a queue depth above 1 has no effect (fio's own note: "queue depth will be capped at 1").
SYNCHRONOUS_ENGINES = frozenset(("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"))
DEFAULT_ENGINE = "psync"
_ERROR = re.compile(r"\berr(or)?=(?!\s*0\b)|not loadable|unrecognized option|failed parsing")
# What fio says of every run: the jobs (of which options and figures say the same), its version, how many processes.
_BANNER = re.compile(r"\s*(\S.*: \(g=\d+\): rw=.*|\.\.\.|fio-\d\S*|Starting \d+ (process|thread)(es|s)?)\s*$")
_PERCENTILES = (("latency_p50_seconds", 50.0), ("latency_p95_seconds", 95.0), ("latency_p99_seconds", 99.0))
# No figure of a disk is larger, and every smaller one is a float's.
_LARGEST = 1 << 80
# A result begins on one of the first of these lines that look like it; text that isn't fio's may be full of them.
_MAX_STARTS = 2000
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class _Repeated(list):
    """The values of a key that an object holds more than once."""


def parse_fio(text):
    """Text of fio's output -> {"fio_version", "jobs", "errors", "notes"}; never raises for what a text may hold.

    A job: {"name", "group", "error" (errno, 0 for none), "options" (global ones merged in; a repeated one is a list), "engine",
    "direct", "block_size_bytes", "queue_depth", "read", "write", "trim", "cpu_user_fraction", "cpu_system_fraction"}. A direction is null
    where nothing moved that way, else {"bytes_per_second", "iops", "latency_mean_seconds", "latency_p50_seconds", "latency_p95_seconds",
    "latency_p99_seconds", "latency_kind" (total | completion: which of fio's latencies), "bytes", "runtime_seconds"}; what fio didn't
    measure is null. errors and notes: texts.
    """
    text = text.replace("\r\n", "\n")
    document, before, after, broken, repeated = _find(text)
    notes, errors = [], []
    for part in (before, after):
        lines = [line.strip()[:MAX_LINE] for line in part.splitlines() if line.strip() and not _BANNER.match(line)]
        errors += [line for line in dict.fromkeys(lines) if _ERROR.search(line)]
        notes += lines[:MAX_NOISE_LINES]
        if len(lines) > MAX_NOISE_LINES:
            notes.append("%d more lines of text around the result" % (len(lines) - MAX_NOISE_LINES))
    if document is None:
        errors.insert(0, broken or "no result of fio in the text: run it with --output-format=json")
        return {"fio_version": None, "jobs": [], "errors": errors, "notes": notes}
    version = re.match(r"fio[- ]v?(\S+)", str(document.get("fio version") or ""))
    version = version.group(1) if version else None
    old = bool(version) and version.startswith(("1.", "2."))
    if old:
        notes.append("fio %s: its own units (KiB, microseconds) were converted; fio 3 or newer is what results are compared with" % version)
    notes += ["the option or key %r is given more than once: all its values are kept" % key for key in repeated]
    general = document.get("global options")
    entries = document.get("jobs")
    if not isinstance(entries, list):
        entries = document.get("client_stats") if isinstance(document.get("client_stats"), list) else []
    jobs = []
    for entry in entries:
        if isinstance(entry, dict) and entry.get("jobname") != "All clients":
            own_general = entry.get("global options", general)
            jobs.append(_job(entry, own_general if isinstance(own_general, dict) else {}, old, notes))
    for job in jobs:
        if job["error"]:
            errors.append("%s: %s (error %d)" % (job["name"], _error_words(job["error"]), job["error"]))
    if not jobs:
        errors.append("the result names no jobs")
    return {"fio_version": version, "jobs": jobs, "errors": errors, "notes": notes}


def _error_words(number):
    return os.strerror(number) if 0 < number < 4096 else "an error that this system doesn't know"


def _find(text):
    """(the result or None, text before, text after, why there is none or None, keys given more than once)."""
    broken, repeated = None, []

    def pairs(found):
        values = {}
        for key, value in found:
            if key not in values:
                values[key] = value
                continue
            if key not in repeated:
                repeated.append(key)
            earlier = values[key]
            values[key] = _Repeated((earlier if isinstance(earlier, _Repeated) else [earlier]) + [value])
        return values

    # Not strict: fio repeats names with a newline or a tab as they are. The constants are none of fio's, and no figures.
    decoder = json.JSONDecoder(object_pairs_hook=pairs, strict=False, parse_constant=lambda _name: None)
    for start in itertools.islice(re.finditer(r"^[ \t]*(?=\{)", text, re.MULTILINE), _MAX_STARTS):
        del repeated[:]
        try:
            document, end = decoder.raw_decode(text, start.end())
        except (ValueError, RecursionError) as error:
            if broken is None and '"fio version"' in text[start.end():start.end() + 200]:
                broken = "fio's result is cut off or broken: %s" % error
            continue
        if isinstance(document, dict) and ("fio version" in document or "jobs" in document or "client_stats" in document):
            return document, text[:start.start()], text[end:], None, repeated
    return None, text, "", broken, []


def _number(value):
    """A finite number of sane size, None for anything else; of a repeated key the first one that is a number."""
    if isinstance(value, _Repeated):
        value = next((each for each in value if isinstance(each, (int, float))), None)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -_LARGEST < value < _LARGEST:
        return None
    return value


def _text(value):
    return None if value is None else str(value[-1] if isinstance(value, list) and value else value)


def parse_size(text):
    """fio's way to write a size (units of 1024) -> bytes, None when it isn't one.

    >>> parse_size("4k"), parse_size("1M"), parse_size("64KiB"), parse_size("x")
    (4096, 1048576, 65536, None)
    """
    found = re.match(r"(\d{1,24})\s*([kmgt]?)(?:i?b)?(?:[-,/:].*)?$", (text or "").strip().lower())
    return int(found.group(1)) * _UNITS[found.group(2)] if found else None


def _job(entry, general, old, notes):
    own = entry.get("job options")
    options = dict(general)
    options.update(own if isinstance(own, dict) else {})
    # Plain types only: this goes through Ansible.
    options = dict((str(key), list(value) if isinstance(value, list) else value) for key, value in options.items())
    engine = _text(options.get("ioengine")) or DEFAULT_ENGINE
    depth = parse_size(_text(options.get("iodepth"))) or 1
    direct = _text(options.get("direct")) not in (None, "0", "false")
    if depth > 1 and engine in SYNCHRONOUS_ENGINES:
        notes.append("%s: the engine %s works at queue depth 1, not %d" % (entry.get("jobname"), engine, depth))
        depth = 1
    job = {
        "name": str(entry.get("jobname") or ""), "group": entry.get("groupid"), "error": int(_number(entry.get("error")) or 0),
        "options": options, "engine": engine, "direct": direct, "queue_depth": depth,
        "block_size_bytes": parse_size(_text(options.get("bs") or options.get("blocksize"))) or 4096,
    }
    job.update((name, _direction(entry.get(name), old, job, notes)) for name in DIRECTIONS)
    for name, key in (("cpu_user_fraction", "usr_cpu"), ("cpu_system_fraction", "sys_cpu")):
        percent = _number(entry.get(key))
        job[name] = None if percent is None else percent / 100.0
    return job


def _direction(entry, old, job, notes):
    if not isinstance(entry, dict):
        return None
    moved, count = _number(entry.get("io_bytes")), _number(entry.get("total_ios"))
    if not moved and not count:
        return None
    if old and moved is not None:
        moved *= 1024
    milliseconds = _number(entry.get("runtime")) or 0
    speed = _number(entry.get("bw_bytes"))
    if speed is None and _number(entry.get("bw")) is not None:
        speed = _number(entry.get("bw")) * 1024
    if not speed and moved and milliseconds:
        speed = moved * 1000.0 / milliseconds
    rate = _number(entry.get("iops"))
    if not rate and count and milliseconds:
        rate = count * 1000.0 / milliseconds
    if not speed or not milliseconds:
        notes.append("%s: too short to give a speed" % job["name"])
    elif milliseconds < 100:
        notes.append("%s: lasted %d ms only; a speed from that says little" % (job["name"], milliseconds))
    direction = {"bytes_per_second": speed or None, "iops": rate or None, "bytes": moved,
                 "runtime_seconds": milliseconds / 1000.0}
    direction.update(_latency(entry, old))
    return direction


def _latency(entry, old):
    """The latency fields. Percentiles exist for one of fio's two latencies: which one, is the kind; the mean is of the same kind."""
    kinds = [(kind, values, scale) for kind, key, scale in (
        ("total", "lat", 1e6), ("total", "lat_ns", 1e9), ("completion", "clat", 1e6), ("completion", "clat_ns", 1e9))
        for values in [entry.get(key)] if isinstance(values, dict) and (_number(values.get("mean")) or 0) > 0 and (scale == 1e9 or old)]
    found = {"latency_kind": None, "latency_mean_seconds": None}
    found.update((name, None) for name, _percent in _PERCENTILES)
    if not kinds:
        return found
    kind, values, scale = next((each for each in kinds if isinstance(each[1].get("percentile"), dict)), kinds[-1])
    found["latency_kind"] = kind
    found["latency_mean_seconds"] = _number(values["mean"]) / scale
    percentiles = values.get("percentile")
    for key, value in percentiles.items() if isinstance(percentiles, dict) else ():
        try:
            percent = float(key)
        except ValueError:
            continue
        for name, wanted in _PERCENTILES:
            if percent == wanted and (_number(value) or 0) > 0:
                found[name] = _number(value) / scale
    return found
