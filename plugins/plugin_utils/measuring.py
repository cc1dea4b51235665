# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Taking a measurement: what is announced, waiting for a job on a host through lost connections, the file that is kept. No Ansible.

    <output dir>/measurements/<safe name>/<module>-<UTC>-<id>.json            a measurement
    <output dir>/measurements/<safe name>/.pending-<module>-<hash>.json       a job that runs on the host and wasn't fetched yet
"""

from __future__ import annotations

import datetime
import hashlib
import os
import re
import secrets
import tempfile

from ..module_utils.measure.http_errors import endpoint
from . import complaints, job_look, measurement_store, run_directory, secret_options
from .measurement_store import MEASUREMENT_SCHEMA
from .measuring_texts import figure, text, word
from .measuring_texts import target as shown_target
from .numbers import format_short_duration, format_value

PENDING_SCHEMA = "trainops.gpu_audit/pending/1"
# How long a host may be out of reach while its job should be running, beyond the time the job may take.
GRACE_SECONDS = 900
# A module ends by itself after the seconds it announced; this is for the one that doesn't.
SPARE_SECONDS = 120
SPARE_FACTOR = 1.5
_LONGEST_PAUSE = 10
_SAY_EVERY_SECONDS = 30


class Lost(Exception):
    """The host can't be reached now; the text says what the connection said."""


class JobError(Exception):
    """A job gave no result. `kept`: it may still be running, so that a later run can fetch it."""

    def __init__(self, message, kept=False):
        super().__init__(message)
        self.kept = kept


class Vanished(JobError):
    """The host knows nothing of the job any more."""


def unreadable(words):
    """The JobError of an answer that Ansible can't read, whatever often it is asked for; `words` are Ansible's own."""
    return JobError("the job ended, and Ansible can't read its answer: %s" % words)


# ------------------------------------------------------------------ waiting


def time_limit(seconds):
    """Seconds after which the host's own watchdog ends a job that announced `seconds`."""
    return int(seconds * SPARE_FACTOR) + SPARE_SECONDS


def shown_limit(elapsed, announced, limit):
    """The most seconds that somebody who waits is told of: what was announced before, the watchdog's limit only beyond it."""
    return announced if elapsed <= announced else limit


def latest(started, limit):
    """When a job that was started then has ended at the latest: "2026-11-30 12:05 UTC"."""
    moment = datetime.datetime.strptime(started, "%Y-%m-%dT%H:%M:%SZ") + datetime.timedelta(seconds=limit)
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def wait(poll, limit, grace, clock, sleep, say):
    """The answer of a job: `poll()` gives None while it runs, its result when it has ended, or raises Lost.

    `limit`: seconds the job may take, `grace`: how much longer a host may be out of reach. `clock()` and `sleep(seconds)` are time's;
    `say(elapsed, lost)` is called now and then, `lost` being None or what the connection said. JobError when there will be no answer.
    """
    begun = said = clock()
    lost_since = None
    while True:
        lost = None
        try:
            answer = poll()
            if answer is not None:
                return answer
        except Lost as error:
            lost = str(error)
        now = clock()
        lost_since = (lost_since if lost_since is not None else now) if lost else None
        if not lost and now - begun > limit + SPARE_SECONDS:
            raise JobError("the job did not end within %d s and its watchdog did not end it" % limit)
        if lost and now - begun > limit + grace:
            raise JobError(
                "the host has been out of reach for %d s (%s). Measure again: a result that lies on the host by then is taken over"
                % (now - lost_since, lost),
                kept=True,
            )
        if now - said >= _SAY_EVERY_SECONDS or (lost and lost_since == now):
            said = now
            say(now - begun, lost)
        sleep(min(_LONGEST_PAUSE, max(1, (now - begun) / 10)))


# --------------------------------------------------------------- announcing


def plan_of(answer):
    """{"seconds": float, "bytes_written": int or None, "bytes_read": int or None, "says": [text]} from a module's answer in check mode.

    ValueError where the module doesn't say how long it takes: nothing is started on a host without an end.
    """
    plan = answer.get("plan") if isinstance(answer.get("plan"), dict) else {}
    seconds = _number(plan.get("seconds"))
    if seconds is None:
        raise ValueError("the module does not say how many seconds it takes (plan.seconds)")
    notes = plan.get("notes")
    return {
        "seconds": seconds,
        "bytes_written": _number(plan.get("bytes_written")),
        "bytes_read": _number(plan.get("bytes_read")),
        "says": [str(note)[:300] for note in notes][:8] if isinstance(notes, list) else [],
    }


def _number(value):
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 2**80 else None


def announcement(name, module, target, plan, language="en"):
    """The line that is shown before anything is written or started on a host."""
    said = [text(language, "at_most", time=duration(plan["seconds"], language))]
    for key in ("bytes_written", "bytes_read"):
        if plan[key]:
            said.append(text(language, key, size=format_value(int(plan[key]), "bytes", language)))
    parts = [text(language, "comma").join(said)] + [complaints.say(note, language) for note in plan["says"]]
    key = "line" if not target else "line_in" if target.startswith("/") else "line_of"
    shown = shown_target(target, language) if target else target
    return text(language, key, host=name, module=module, target=shown, said=text(language, "semicolon").join(parts))


def duration(seconds, language="en"):
    """90 s, 12 min."""
    short = seconds < 180
    return text(language, "seconds" if short else "minutes", n=round(seconds if short else seconds / 60))


# ------------------------------------------------------- what a file may hold


def kept_options(arguments):
    """The options of a task as a measurement keeps them: a command's arguments and what secret_options.py names never do.

    `argv` becomes {"program", "arguments": how many}, `environment` and `headers` the sorted names, a URL its endpoint.
    """
    kept = {}
    for key, value in arguments.items():
        if key == "argv":
            words = value if isinstance(value, list) else [value]
            kept[key] = {"program": _program(value), "arguments": max(len(words) - 1, 0)}
        else:
            kept[key] = secret_options.kept(key, value)
    return kept


def target_of(arguments):
    """What was measured: the path of a storage test; the endpoint of a server and which way data moves; of a workload its program, script or
    module, and folder: "python3 train.py (/srv)".
    """
    if arguments.get("path"):
        return str(arguments["path"])
    if arguments.get("url"):
        where = endpoint(arguments["url"])
        return "%s (%s)" % (where, arguments["direction"]) if arguments.get("direction") else where
    program = _program(arguments.get("argv"))
    if program is None:
        return None
    words = [program, *_script(program, arguments["argv"] if isinstance(arguments["argv"], list) else [])]
    folder = str(arguments.get("chdir") or "/").rstrip("/")
    return " ".join(words) + (" (%s)" % folder if folder else "")


# Nothing else of a command is repeated: any other word of it may be a secret.
_SCRIPT = re.compile(r"[\w./+~-]{1,100}\.(?:py|pyc|sh|bash|pl|rb|jl|r|R|lua|js|jar)")
_MODULE = re.compile(r"[A-Za-z_][\w.]{0,99}")
_RUNS_MODULES = re.compile(r"(?:python|pypy)[\d.]*|torchrun|accelerate|deepspeed")
_SECRET = re.compile(r"pass|secret|token|key|auth|cred", re.IGNORECASE)


def _script(program, argv):
    """What tells two commands of one program apart: `-m` and its module, and the first word that looks like a script's name."""
    words, found = [str(part) for part in argv], []
    for before, argument in zip(words, words[1:]):
        if argument in ("-c", "-e"):
            break
        if before == "-m" and not found and _RUNS_MODULES.fullmatch(program) and _MODULE.fullmatch(argument):
            found += ["-m", argument]
        elif _SCRIPT.fullmatch(argument) and not (before.startswith("-") and _SECRET.search(before)):
            return [*found, argument]
    return found


def _program(argv):
    """The program's name alone, None for none: of a whole command in one word its first, of NAME=value in front of it the name."""
    # Text becomes a list at each comma.
    words = (str(argv[0] if argv else "") if isinstance(argv, list) else str(argv or "").partition(",")[0]).split()
    return os.path.basename(words[0].partition("=")[0]) if words else None


def told(summary, language="en"):
    """The summary of a measurement in one line, figures for people: "read 1.40 GiB/s, outcome completed"; what isn't there is left out."""
    parts = [_told(key, value, language) for key, value in summary.items()]
    return text(language, "comma").join(part for part in parts if part) or text(language, "no_figure")


def _told(key, value, language):
    """One figure of a summary; an empty text for one that isn't there."""
    units = {"_bytes_per_second": "bytes_per_second", "_seconds": "seconds", "_fraction": "fraction"}
    ending = next((ending for ending in units if ("_" + key).endswith(ending)), "")
    if isinstance(value, dict):
        # What each part of a test gave instead of a figure.
        value = ["%s gave no result: %s" % pair for pair in sorted(value.items())]
        return text(language, "semicolon").join(complaints.say(entry, language) for entry in value)
    if isinstance(value, list):
        said = text(language, "semicolon").join(complaints.say(entry, language) for entry in value)
        value = run_directory.shorten(said, 1000) or None
    if value is None or value is False:
        return ""
    if key.endswith("_label"):
        return text(language, "labelled", label=word("label", value, language))
    # A speed that says no more is the whole test's.
    name = figure(("_" + key)[: len(key) + 1 - len(ending)].strip("_").replace("_", " ") or "average", language)
    if value is True:
        return name
    value = complaints.say(word(key, value, language), language) if isinstance(value, str) else value
    if ending == "_seconds" and isinstance(value, (int, float)):
        value = format_short_duration(value, language)
    return text(language, "figure", name=name, value=format_value(value, units.get(ending, ""), language))


def document(name, module, arguments, answer, started, finished, seen=None):
    """The measurement of a module's answer ({"measurement", "machine_id", "gpu_uuids"}), or of its failure ({"failed", "msg"}).

    `seen`: an earlier answer of the same host, for the machine of a failure that doesn't say it. Moments are text in UTC; a job that tells
    its own (`started_at`, `finished_at`) is believed: it may have ended long before it was fetched.
    """
    seen = seen or {}
    # A module says no secret; this is for what a broken one, or Ansible, says of it.
    answer = secret_options.scrub(answer, secret_options.texts(arguments))
    uuids = answer.get("gpu_uuids", seen.get("gpu_uuids"))
    measurement = {
        "schema": MEASUREMENT_SCHEMA,
        "name": name,
        "machine_id": answer.get("machine_id") or seen.get("machine_id"),
        "gpu_uuids": sorted(str(uuid) for uuid in uuids) if isinstance(uuids, list) else [],
        "module": module,
        "target": answer["target"] if isinstance(answer.get("target"), str) else target_of(arguments),
        "options": kept_options(arguments),
        "started": _moment(answer.get("started_at")) or _moment(answer.get("started")) or started,
        "finished": _moment(answer.get("finished_at")) or _moment(answer.get("finished")) or finished,
    }
    result = answer.get("measurement")
    if answer.get("failed") or not isinstance(result, dict):
        measurement["error"] = run_directory.shorten(answer.get("msg") or "the module gave no measurement", 2000)
    else:
        measurement["result"] = result
    return run_directory.tame(measurement)


_MOMENT = re.compile(r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")


def _moment(value):
    return value if isinstance(value, str) and _MOMENT.match(value) else None


# ------------------------------------------------------------------- keeping


def folder_of(output_dir, name):
    """Where the measurements of a host lie."""
    return os.path.join(output_dir, "measurements", run_directory.safe_name(name))


def store(output_dir, measurement):
    """Write a measurement as a file of its own, whole or not at all; gives its path.

    RunDirectoryError where that can't be done, InvalidDocument for one that no audit could read.
    """
    raw = measurement_store.to_json(measurement)
    folder = _made(folder_of(output_dir, measurement["name"]))
    stamp = re.sub(r"[-:]", "", measurement["finished"])
    path = os.path.join(folder, "%s-%s-%s.json" % (measurement["module"].rpartition(".")[2], stamp, secrets.token_hex(3)))
    run_directory.write_bytes(path, raw)
    return path


def try_keeping(output_dir, name, module, arguments, checking=False):
    """RunDirectoryError where no note of a job, and so no result, could be kept. When only `checking`, nothing stays."""
    path = _pending_path(output_dir, name, module, target_of(arguments))
    folder = os.path.dirname(path)
    if os.path.isdir(path):
        raise run_directory.RunDirectoryError("cannot write %s: it is a folder; remove it" % path)
    if not checking:
        _made(folder)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    try:
        with tempfile.NamedTemporaryFile(prefix=".try-", dir=folder) as stream:
            stream.write(bytes(1024))
            stream.flush()
    except OSError as error:
        raise _not_made(os.path.dirname(path), error) from error


def _not_made(folder, error):
    return run_directory.RunDirectoryError(
        "cannot make %s: %s. Set gpu_audit_output_dir to a folder that you may write to." % (folder, error.strerror or error)
    )


def _made(folder):
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise _not_made(folder, error) from error
    return folder


def _pending_path(output_dir, name, module, target):
    key = hashlib.sha256(("%s\n%s" % (module, target)).encode("utf-8", "replace")).hexdigest()[:16]
    return os.path.join(folder_of(output_dir, name), ".pending-%s-%s.json" % (module, key))


def remember(output_dir, name, module, arguments, job):
    """Note that a job runs on a host, before it is waited for: {"jid", "started", "seconds"} and what it measures."""
    path = _pending_path(output_dir, name, module, target_of(arguments))
    _made(os.path.dirname(path))
    salt = secrets.token_hex(16)
    run_directory.write_json(path, dict(job, schema=PENDING_SCHEMA, module=module, salt=salt, request=_fingerprint(arguments, salt)))


def forget(output_dir, name, module, arguments):
    """Take the note away; no error when there is none."""
    try:
        os.unlink(_pending_path(output_dir, name, module, target_of(arguments)))
    except OSError:
        pass


def pending(output_dir, name, module, arguments):
    """The note of a job of this module on this target that was never fetched; None where there is none or it can't be used."""
    try:
        note = run_directory.read_json(_pending_path(output_dir, name, module, target_of(arguments)))
    except run_directory.InvalidDocument:
        return None
    usable = note.get("schema") == PENDING_SCHEMA and job_look.is_jid(note.get("jid")) and _moment(note.get("started"))
    return note if usable and _number(note.get("seconds")) is not None else None


def same_request(note, arguments):
    """Whether a noted job was asked for with these options."""
    return note.get("request") == _fingerprint(arguments, str(note.get("salt")))


def _fingerprint(arguments, salt):
    """What tells two requests apart without saying them: arguments and environment of a command may be secret."""
    return hashlib.sha256(salt.encode("ascii", "replace") + run_directory.to_json(arguments)).hexdigest()
