# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""From what the variables and the module gave to the documents of one host. Pure."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import zlib

# What few hosts need is imported where it is used: every audit imports this file, and Ansible keeps no bytecode of a collection. What most
# need is imported here, once in Ansible's main process and not in the worker of each host.
from . import expected, run_directory, workload
from .words import LANGUAGES, NUMERIC_COMPARISONS

# What an audit reads of a host's variables, and what stands for a missing one. Everything else stays where it is.
INPUT_VARIABLES = {
    "gpu_audit_policy": None,
    "gpu_audit_workload": {},
    "gpu_audit_expected": {},
    "gpu_audit_waivers": {},
}
COLLECT_VARIABLES = {
    "gpu_audit_measurement_max_age_seconds": 604800,
    "gpu_audit_host_timeout": 300,
}
RUN_VARIABLES = {
    "gpu_audit_language": "en",
    "gpu_audit_formats": None,
    "gpu_audit_hide_serials": False,
    "gpu_audit_report_documents": True,
}
DEFAULT_POLICY = "training"

LOST_EARLIER = (
    "Ansible lost this host in an earlier task of the play, before the audit came to it: unreachable or failed, see Ansible's output."
    " Audit first, and with gather_facts: false"
)
_SHIM = (
    "the Python that Ansible uses on this host is a shim of a version manager, which starts none here: %s."
    " Set ansible_python_interpreter for this host to the path of a Python itself, say /usr/bin/python3"
)
_ANSIBLES_WORDS = (
    r'^(?:Task failed: |Action failed: |Data could not be sent to remote host "[^"]*"\. Make sure this host can be reached over ssh:\s*)*'
)
PACKED_LIMIT = 8 * 1024 * 1024
FACTS_SCHEMA = "trainops.gpu_audit/facts/1"


def run_line(language, path):
    """The line that says where a run is kept."""
    from . import verdict_table

    return verdict_table.text(language, "run", path=verdict_table.clean(path, 1000))


def unpack_facts(packed, limit=run_directory.DOCUMENT_LIMIT_BYTES):
    """The facts in base64(zlib(JSON)). InvalidDocument for anything else, also for what would unpack to more than `limit` bytes."""
    if not isinstance(packed, str) or len(packed) > PACKED_LIMIT:
        raise run_directory.InvalidDocument("the module's packed facts are not text of at most %d characters" % PACKED_LIMIT)
    stream = zlib.decompressobj()
    try:
        raw = stream.decompress(base64.b64decode(packed, validate=True), limit + 1)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise run_directory.InvalidDocument("the module's packed facts can't be unpacked: %s" % error) from None
    if len(raw) > limit:
        raise run_directory.InvalidDocument("the module's facts are larger than %d bytes" % limit)
    if not stream.eof:
        raise run_directory.InvalidDocument("the module's packed facts are cut off")
    try:
        facts = json.loads(raw.decode("utf-8", "replace"), parse_constant=lambda text: None, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise run_directory.InvalidDocument("the module's facts are not JSON: %s" % error) from None
    run_directory.check_depth(facts, raw)
    return check_facts(facts if run_directory.is_tame(raw) else run_directory.tame(facts))


def _finite(text):
    """A float; null where it is beyond all that JSON can write again."""
    value = float(text)
    return value if math.isfinite(value) else None


def check_facts(facts):
    """`facts` when it is a facts document; else InvalidDocument."""
    if not isinstance(facts, dict) or facts.get("schema") != FACTS_SCHEMA:
        raise run_directory.InvalidDocument("what the module returned is not a document of schema %s" % FACTS_SCHEMA)
    return facts


def host_document(name, facts, measurements=(), stale=(), collected_at=None):
    """The document of a host that was collected."""
    platform = facts.get("platform")
    machine_id = platform.get("machine_id") if isinstance(platform, dict) else None
    return {
        "schema": run_directory.HOST_SCHEMA,
        "name": name,
        "collected_at": collected_at or run_directory.now(),
        "machine_id": machine_id if isinstance(machine_id, str) else None,
        "facts": facts,
        "measurements": list(measurements),
        "stale_measurements": list(stale),
        "errors": [],
    }


def failure(result):
    """(kind, message) of a module result that holds no facts."""
    message = own_words(result.get("msg")) or "the module failed without a message"
    if message.startswith("Traceback (most recent call last)"):
        # async_wrapper's, where a module ended without an answer; only its last line says something.
        message = "the module ended without an answer: it was killed, or broke off (%s)" % tail(result["msg"].strip().splitlines()[-1], 200)
    outputs = [result.get(key) for key in ("module_stderr", "stderr", "module_stdout")]
    detail = next((output for output in outputs if isinstance(output, str) and output.strip()), "")
    if re.search(r"\b(pyenv|asdf)\b|No version is set for command", detail or message) and result.get("rc") in (126, 127):
        return "no_python", _SHIM % (tail(detail) or message)
    if detail and detail.strip() not in message:
        message = "%s: %s" % (message.rstrip(". :\n"), tail(detail))
    # 127: the shell found no such program; 126: found, but it can't be run.
    if result.get("rc") in (126, 127):
        return "no_python", message
    return "module_failed", message


_GONE = ("[Errno 32] Broken pipe", "Broken pipe")
_SSH_ENDED = "ssh ended before anything could be sent, so the connection was refused or closed"


def own_words(message):
    """A message in one line without what Ansible puts before a tool's own words; empty for anything but text."""
    if not isinstance(message, str):
        return ""
    line = " ".join(message.split())
    words = re.sub(_ANSIBLES_WORDS, "", line) or line
    # ssh was gone before Ansible had written to it; of its own words ansible-core 2.16 then keeps nothing.
    return "%s (%s)" % (_SSH_ENDED, words) if words in _GONE else words


def is_cut(message):
    """Whether ssh ended while the module was being sent: a host that refused, or whose shell found no Python, as chance has it."""
    return message.startswith(_SSH_ENDED)


def tail(text, limit=600):
    """The end of a program's output, in one line: that is where the reason stands."""
    line = " / ".join(part.strip() for part in text.splitlines() if part.strip())
    return line if len(line) <= limit else "... " + line[-limit:]


def gpu_summary(facts):
    """What the progress line says of a host's GPUs: {"gpu_count", "gpu_name", "gpu_state"}."""
    gpu = facts.get("gpu")
    if not isinstance(gpu, dict) or "error" in gpu and "state" not in gpu:
        return {"gpu_count": None, "gpu_name": None, "gpu_state": None}
    gpus = [entry for entry in gpu.get("gpus") or [] if isinstance(entry, dict)]
    names = sorted({str(entry["name"]) for entry in gpus if entry.get("name")})
    name = names[0] if len(names) == 1 else (", ".join(names) or None)
    return {
        "gpu_count": len(gpus),
        "gpu_name": run_directory.shorten(name, 80) if name else None,
        "gpu_state": run_directory.shorten(gpu.get("state") or "unknown", 40),
    }


def thresholds_list(values, names):
    """The thresholds part of the inputs: [{"variable", "values"}] in merge order; an empty one is left out."""
    return [{"variable": name, "values": _with_numbers(values[name])} for name in names if values.get(name)]


def _with_numbers(thresholds):
    """Numbers where a limit is numeric text: up to 2.18 a template always gives text, and so does -e key=value."""
    result = {}
    for check, changes in thresholds.items():
        if isinstance(changes, dict):
            changes = {key: _with_number(key, value) for key, value in changes.items()}
        result[check] = changes
    return result


def _with_number(key, value):
    if isinstance(value, dict) and key in ("warn", "fail"):
        return {comparison: number_of(bound) if comparison in NUMERIC_COMPARISONS else bound for comparison, bound in value.items()}
    if key == "enabled" and isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return truth(value, key)
    return number_of(value) if key in ("warn", "fail", "tolerance") else value


def number_of(value):
    """The number in numeric text; anything else as it is."""
    if not isinstance(value, str):
        return value
    for kind in (int, float):
        try:
            return kind(value.strip())
        except ValueError:
            continue
    return value


def host_inputs(name, groups, values, problems, thresholds):
    """inputs/<name>.json. `values`: templated INPUT_VARIABLES; `problems`: {variable: message} of what didn't template or isn't valid."""
    inputs = run_directory.empty_inputs(name)
    inputs["groups"] = sorted(str(group) for group in groups)
    for field in ("policy", "workload", "expected", "waivers"):
        value = values.get("gpu_audit_" + field)
        if value not in (None, ""):
            inputs[field] = _writable(value)
    inputs["thresholds"] = _writable(thresholds)
    inputs["errors"] = [{"variable": variable, "message": problems[variable]} for variable in sorted(problems)]
    return inputs


def _writable(value):
    """A variable's value with numbers that JSON can't write (YAML's .nan and .inf) as words: judging says of them that they are none."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _writable(item) for key, item in value.items()}
    return [_writable(item) for item in value] if isinstance(value, list) else value


def shape_problems(values):
    """{variable: message} for variables that have a value of the wrong kind; the wrong value is taken out of `values`."""
    problems = {}
    for variable, value in sorted(values.items()):
        if value is None:
            continue
        if variable == "gpu_audit_policy" and not isinstance(value, str):
            problems[variable] = "must be the name of a policy or a file, not %r" % (value,)
        elif variable in ("gpu_audit_workload", "gpu_audit_expected", "gpu_audit_waivers") or variable.startswith("gpu_audit_thresholds"):
            if value != "" and not isinstance(value, dict):
                problems[variable] = "must be a mapping, not %r" % (run_directory.shorten(value, 60),)
        elif variable in COLLECT_VARIABLES and not is_seconds(value):
            problems[variable] = "must be a number of seconds from 0 to 1e9, not %r" % (run_directory.shorten(value, 60),)
    if values.get("gpu_audit_expected") and isinstance(values["gpu_audit_expected"], dict):
        wrong = expected.normalise(values["gpu_audit_expected"])[1]
        if wrong:
            problems["gpu_audit_expected"] = "; ".join(wrong)
    broken = waiver_problems(values.get("gpu_audit_waivers"))
    if broken:
        problems["gpu_audit_waivers"] = "; ".join(broken)
    for variable in problems:
        del values[variable]
    return problems


def waiver_problems(waived):
    """What is wrong with waivers: judging passes over one without a reason, and its owner would never know."""
    if not waived or not isinstance(waived, dict):
        return []
    from .waivers import as_moment

    problems = []
    for check, entry in sorted(waived.items()):
        reason = entry.get("reason") if isinstance(entry, dict) else None
        if not isinstance(reason, str) or not reason.strip():
            problems.append("%s: needs a reason: {reason: text, expires: YYYY-MM-DD}" % check)
        elif entry.get("expires") is not None and as_moment(entry["expires"]) is None:
            problems.append("%s: expires must be a date YYYY-MM-DD, not %r" % (check, run_directory.shorten(entry["expires"], 40)))
    return problems


def strange_waivers(waived, policy):
    """{variable: message} where waivers name checks that this (resolved) policy doesn't have."""
    if not waived:
        return {}
    from .waivers import strangers

    told = strangers(waived, policy["checks"])
    return {"gpu_audit_waivers": "; ".join(told)} if told else {}


def checked_settings(settings):
    """RUN_VARIABLES with formats as a tuple and switches as truth values. ValueError says which one is wrong and what it takes."""
    from . import report

    language = settings["gpu_audit_language"]
    if language not in LANGUAGES:
        raise ValueError("gpu_audit_language: %r is none of %s" % (language, ", ".join(LANGUAGES)))
    wanted = settings["gpu_audit_formats"]
    if isinstance(wanted, str):
        wanted = [part.strip() for part in wanted.split(",") if part.strip()]
    if not isinstance(wanted, (list, tuple, type(None))):
        raise ValueError("gpu_audit_formats: must be a list of %s, not %r" % (", ".join(report.ALL), wanted))
    formats = list(wanted or report.ALL)
    unknown = [str(name) for name in formats if name not in report.ALL]
    if unknown:
        raise ValueError("gpu_audit_formats: no format %s; there are: %s" % (", ".join(unknown), ", ".join(report.ALL)))
    switches = {name: truth(settings[name], name) for name in ("gpu_audit_hide_serials", "gpu_audit_report_documents")}
    return dict(settings, gpu_audit_formats=formats, **switches)


_SPELT = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False, "": False}


def truth(value, name):
    """The switch `name`, which may have come as text from the command line. ValueError for what is neither yes nor no."""
    if value is None or isinstance(value, (bool, int)) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in _SPELT:
        return _SPELT[value.strip().lower()]
    raise ValueError("%s: must be true or false, not %r" % (name, run_directory.shorten(value, 60)))


def is_seconds(value):
    """Whether a variable (a number, or text from the command line) is a usable number of seconds."""
    try:
        return not isinstance(value, bool) and 0 <= float(value) < 1e9
    except (TypeError, ValueError):
        return False


def workload_form(given):
    """(the workload form as `workload.normalise` gives it, {variable: message} of what is wrong with it)."""
    if not given:
        return {}, {}
    form, told = workload.normalise(given)
    # Each begins with the variable's name, which is said once before them all.
    told = [complaint.removeprefix("gpu_audit_workload.") for complaint in told]
    return form, {"gpu_audit_workload": "; ".join(told)} if told else {}


def checked_form(values, problems):
    """The workload form among templated variables, as `workload_form` gives it. ValueError in the audit's words for a wrong one.

    `problems`: {variable: message} of what didn't template.
    """
    problems = problems or shape_problems(values)
    form, wrong = workload_form(values.get("gpu_audit_workload"))
    for variable, message in (problems or wrong).items():
        raise ValueError("%s: %s" % (variable, message))
    return form


def storage_paths(form):
    """[{"path", "purpose"}] of the (normalised) workload form, for the storage facts."""
    if not form:
        return []
    return [{"path": form[purpose + "_path"], "purpose": purpose} for purpose in workload.PURPOSES if form.get(purpose + "_path")]


def lost_document(name, result, collected_at):
    """The error document for a collect task's result when the task could not even begin on its host; None when nothing went wrong."""
    if result.get("unreachable"):
        kind = "unreachable"
    elif result.get("failed"):
        # Before the action begins, only the templating of the host's connection variables can fail.
        kind = "module_failed" if result.get("msg") == LOST_EARLIER else "template"
    else:
        return None
    return run_directory.error_document(name, kind, failure(result)[1], collected_at)
