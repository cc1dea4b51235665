# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reads what fio printed (--output-format=json or json+, fio 3.x; fio 2.x as far as it goes), noise around it included.

Form: https://fio.readthedocs.io/en/latest/fio_doc.html#json-output
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re

from ..sources.texts import without_surrogates

MAX_NOISE_LINES = 20
# Of each kind of remark and of options; a real result has a handful, and all of it is stored.
MAX_REMARKS = 100
MAX_OPTIONS = 512
MAX_TEXT = 1024
MAX_LINE = 300
DIRECTIONS = ("read", "write", "trim")
# Engines for which a queue depth above 1 has no effect (fio's own note: "queue depth will be capped at 1").
SYNCHRONOUS_ENGINES = frozenset(("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"))
DEFAULT_ENGINE = "psync"
_ERROR = re.compile(r"\berr(or)?=(?!\s*0\b)|not loadable|unrecognized option|failed parsing")
# What fio says of every run: the jobs (of which options and figures say the same), its version, how many processes.
_BANNER = re.compile(r"\s*(\S.*: \(g=\d+\): rw=.*|\.\.\.|fio-\d\S*|Starting \d+ (process|thread)(es|s)?)\s*$")
_PERCENTILES = (("latency_p50_seconds", 50.0), ("latency_p95_seconds", 95.0), ("latency_p99_seconds", 99.0))
# No figure at all is larger, and every smaller one is a float's.
_LARGEST = 1 << 80
# fio's own name -> the largest that any storage could give: bytes, bytes a second, a second's operations, milliseconds (a year).
_LIMITS = {"io_bytes": 1 << 63, "bw_bytes": 1 << 50, "bw": 1 << 40, "iops": 1 << 40, "total_ios": 1 << 63, "runtime": 366 * 86400 * 1000}
# Of a processor, of all that a machine could have; of a latency, a year.
_MOST_PERCENT = 100 << 20
_MOST_SECONDS = 366 * 86400
_MAX_DIGITS = 60
# A result begins on one of the first of these lines that look like it; text that isn't fio's may be full of them, and each that is no
# result costs as much as was read of it: together no more than the text a few times over.
_MAX_STARTS = 2000
_MAX_READ_TIMES = 4
# How a result of fio begins, whatever its version; other beginnings are tried after these.
_HEAD = re.compile(r'\{\s{0,100}"fio version"')
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class _Repeated(list):
    """The values of a key that an object holds more than once."""


class _Impossible(Exception):
    """A figure that can't be; what it was is among the errors."""


def parse_fio(text):
    """Text of fio's output -> {"fio_version", "jobs", "errors", "notes"}; never raises for what a text may hold.

    A job: {"name", "group", "error" (errno, 0 for none), "options" (global ones merged in; a repeated one is a list), "engine",
    "direct", "block_size_bytes", "queue_depth", "read", "write", "trim", "cpu_user_fraction", "cpu_system_fraction"}. A direction is null
    where nothing moved that way, else {"bytes_per_second", "iops", "latency_mean_seconds", "latency_p50_seconds", "latency_p95_seconds",
    "latency_p99_seconds", "latency_kind" (total | completion: which of fio's latencies), "bytes", "runtime_seconds"}; what fio didn't
    measure is null. errors and notes: texts.
    """
    text = without_surrogates(text.replace("\r\n", "\n"))
    document, before, after, broken, repeated = _find(text)
    notes, errors = [], []
    for part in (before, after):
        lines = [line.strip()[:MAX_LINE] for line in part.splitlines() if line.strip() and not _BANNER.match(line)]
        errors += itertools.islice((line for line in dict.fromkeys(lines) if _ERROR.search(line)), MAX_NOISE_LINES)
        notes += lines[:MAX_NOISE_LINES]
        if len(lines) > MAX_NOISE_LINES:
            notes.append("%d more lines of text around the result" % (len(lines) - MAX_NOISE_LINES))
    if document is None:
        errors.insert(0, broken or "no result of fio in the text: run it with --output-format=json")
        return {"fio_version": None, "jobs": [], "errors": errors, "notes": notes}
    version = re.match(r"fio[- ]v?(\S{1,60})", _text(document.get("fio version")) or "")
    version = version.group(1) if version else None
    old = bool(version) and version.startswith(("1.", "2."))
    if old:
        notes.append("fio %s: its own units (KiB, microseconds) were converted; fio 3 or newer is what results are compared with" % version)
    notes += ["the option or key %r is given more than once: all its values are kept" % key[:60] for key in repeated]
    general = document.get("global options")
    entries = document.get("jobs")
    if not isinstance(entries, list):
        entries = document.get("client_stats") if isinstance(document.get("client_stats"), list) else []
    jobs = []
    for entry in entries:
        if isinstance(entry, dict) and entry.get("jobname") != "All clients":
            own_general = entry.get("global options", general)
            jobs.append(_job(entry, own_general if isinstance(own_general, dict) else {}, old, notes, errors))
    for job in jobs:
        if job["error"]:
            errors.append("%s: %s (error %d)" % (job["name"], _error_words(job["error"]), job["error"]))
    if not jobs:
        errors.append("the result names no jobs")
    return {"fio_version": version, "jobs": jobs, "errors": _cut(errors), "notes": _cut(notes)}


def _cut(remarks):
    left = len(remarks) - MAX_REMARKS
    return remarks if left <= 0 else remarks[:MAX_REMARKS] + ["%d more of these were left out" % left]


def _error_words(number):
    return os.strerror(number) if 0 < number < 4096 else "an error that this system doesn't know"


def _find(text):
    """(the result or None, text before, text after, why there is none or None, keys given more than once)."""
    broken, repeated = None, {}

    def pairs(found):
        values = {}
        for key, value in found:
            if key not in values:
                values[key] = value
                continue
            repeated[key] = True
            if not isinstance(values[key], _Repeated):
                values[key] = _Repeated([values[key]])
            values[key].append(value)
        return values

    # Not strict: fio repeats names with a newline or a tab as they are. The constants are none of fio's, and no figures.
    decoder = json.JSONDecoder(object_pairs_hook=pairs, strict=False, parse_constant=lambda _name: None, parse_int=_whole)
    left = _MAX_READ_TIMES * (len(text) + (64 << 10))
    for start, at in _starts(text):
        if left <= 0:
            break
        repeated.clear()
        try:
            document, end = decoder.raw_decode(text, at)
            left -= end - at
        except (ValueError, RecursionError) as error:
            # Without a place, or with that where a text begins that has no end, all of the rest may have been read.
            place = getattr(error, "pos", None)
            left -= max(1, len(text) - at if place is None or "Unterminated" in str(error) else place - at)
            if broken is None and _HEAD.match(text, at):
                broken = "fio's result is cut off or broken: %s" % error
            continue
        if isinstance(document, dict) and ("fio version" in document or "jobs" in document or "client_stats" in document):
            return document, text[:start], text[end:], None, list(repeated)
    return None, text, "", broken, []


def _starts(text):
    """[(where the line begins, where its brace is)] of lines with which a result may begin, the likeliest first."""
    found = [(line.start(), line.end()) for line in itertools.islice(re.finditer(r"^[ \t]*(?=\{)", text, re.MULTILINE), _MAX_STARTS)]
    return sorted(found, key=lambda place: not _HEAD.match(text, place[1]))


def _whole(digits):
    """A whole number of JSON. One of more digits than any figure has is endless: to read it would take the square of its length."""
    return int(digits) if len(digits) <= _MAX_DIGITS else float("-inf" if digits.startswith("-") else "inf")


def _given(value):
    """A number as it stands there, None for what is none; of a repeated key the first one."""
    if isinstance(value, _Repeated):
        value = next((each for each in value if isinstance(each, (int, float))), None)
    return None if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value) else value


def _number(value, most=_LARGEST):
    """A finite number of sane size, none below 0, None for anything else."""
    value = _given(value)
    return value if value is not None and 0 <= value <= most else None


def _figure(entry, key, job, errors):
    """One of the figures that speeds come from, None where it isn't there; one that no storage can have is an error."""
    value = _given(entry.get(key))
    if value is None or 0 <= value <= _LIMITS[key]:
        return value
    errors.append("%s: fio says %s %.4g, which no storage can have; nothing is taken from it" % (job["name"], key, value))
    raise _Impossible()


def _text(value):
    """A text or number as text, of a repeated one the last; None for anything else."""
    if isinstance(value, list):
        value = value[-1] if value else None
    value = None if isinstance(value, list) else _plain(value)
    return None if value is None else str(value)


def _plain(value):
    """What can be stored of a value that should be a text or a list of texts: none endless, numbers finite, null for the rest."""
    if isinstance(value, list):
        return [None if isinstance(each, list) else _plain(each) for each in value[:MAX_REMARKS]]
    if isinstance(value, str):
        return without_surrogates(value[:MAX_TEXT])
    if isinstance(value, (bool, int)):
        return value
    return value if isinstance(value, float) and math.isfinite(value) else None


def parse_size(text):
    """fio's way to write a size (units of 1024) -> bytes, None when it isn't one.

    >>> parse_size("4k"), parse_size("1M"), parse_size("64KiB"), parse_size("x")
    (4096, 1048576, 65536, None)
    """
    found = re.match(r"(\d{1,24})\s*([kmgt]?)(?:i?b)?(?:[-,/:].*)?$", (text or "").strip().lower())
    return int(found.group(1)) * _UNITS[found.group(2)] if found else None


def _options(general, own):
    """The options of a job, its own before those of all, as what can be stored: fio itself gives texts only."""
    merged = dict(general)
    merged.update(own if isinstance(own, dict) else {})
    return dict((without_surrogates(str(key)[:MAX_LINE]), _plain(value)) for key, value in itertools.islice(merged.items(), MAX_OPTIONS))


def _job(entry, general, old, notes, errors):
    options = _options(general, entry.get("job options"))
    engine = _text(options.get("ioengine")) or DEFAULT_ENGINE
    depth = parse_size(_text(options.get("iodepth"))) or 1
    direct = _text(options.get("direct")) not in (None, "0", "false")
    # What is no number of the system's is an error as well.
    error = int(max(-_LARGEST, min(_given(entry.get("error")) or 0, _LARGEST)))
    job = {
        "name": (_text(entry.get("jobname")) or "")[:MAX_LINE], "group": _number(entry.get("groupid")), "error": error,
        "options": options, "engine": engine, "direct": direct, "queue_depth": depth,
        "block_size_bytes": parse_size(_text(options.get("bs") or options.get("blocksize"))) or 4096,
    }
    if depth > 1 and engine in SYNCHRONOUS_ENGINES:
        notes.append("%s: the engine %s works at queue depth 1, not %d" % (job["name"], engine, depth))
        job["queue_depth"] = 1
    for name in DIRECTIONS:
        try:
            job[name] = _direction(entry.get(name), old, job, notes, errors)
        except _Impossible:
            # One that is wrong makes the others doubtful.
            job[name] = None
    for name, key in (("cpu_user_fraction", "usr_cpu"), ("cpu_system_fraction", "sys_cpu")):
        percent = _number(entry.get(key), _MOST_PERCENT)
        job[name] = None if percent is None else percent / 100.0
    return job


def _direction(entry, old, job, notes, errors):
    if not isinstance(entry, dict):
        return None
    moved, count, milliseconds, speed, kibibytes, rate = [_figure(entry, key, job, errors) for key in (
        "io_bytes", "total_ios", "runtime", "bw_bytes", "bw", "iops")]
    if not moved and not count:
        return None
    if old and moved is not None:
        moved *= 1024
    milliseconds = milliseconds or 0
    if speed is None and kibibytes is not None:
        speed = kibibytes * 1024
    if not speed and moved and milliseconds:
        speed = moved * 1000.0 / milliseconds
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
        for values in [entry.get(key)] if isinstance(values, dict) and _seconds(values.get("mean"), scale) and (scale == 1e9 or old)]
    found = {"latency_kind": None, "latency_mean_seconds": None}
    found.update((name, None) for name, _percent in _PERCENTILES)
    if not kinds:
        return found
    kind, values, scale = next((each for each in kinds if isinstance(each[1].get("percentile"), dict)), kinds[-1])
    found["latency_kind"] = kind
    found["latency_mean_seconds"] = _seconds(values["mean"], scale)
    percentiles = values.get("percentile")
    for key, value in percentiles.items() if isinstance(percentiles, dict) else ():
        try:
            percent = float(key)
        except ValueError:
            continue
        for name, wanted in _PERCENTILES:
            if percent == wanted:
                found[name] = _seconds(value, scale) or found[name]
    return found


def _seconds(value, scale):
    """A latency in seconds, None where fio measured none (0) or it can't be one."""
    return (_number(value, _MOST_SECONDS * scale) or 0) / scale or None
