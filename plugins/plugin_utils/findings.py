# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One check applied to one host's metrics: the finding. Pure; what it compares and what it says is all in the check and the metric."""

from __future__ import annotations

from . import expressions, measured_texts, messages, waivers
from .metrics.registry import DEFINITIONS
from .numbers import format_required, format_value

# Worst first: the order of findings in a report.
STATUS_ORDER = ("fail", "unknown", "warn", "waived", "pass", "not_applicable")
SIZING_CHECKS = frozenset(
    (
        "vram.peak_fraction",
        "compute.cores_per_gpu",
        "compute.gpu_idle_fraction",
        "compute.encoder_peak_fraction",
        "memory.ram_to_vram_ratio",
        "storage.capacity_headroom_fraction",
        "storage.read_headroom_ratio",
        "storage.small_file_headroom_ratio",
        "network.upload_ratio",
        "network.download_ratio",
        "network.concurrency_ratio",
    )
)
# Nobody measured it or filled it in: only work that needs the answer is asked for it.
_NOT_BEGUN = ("absent.not_measured", "absent.form")
_ANSWERS = {
    "absent.form": "answer.form",
    "absent.tool_missing": "answer.tool",
    "absent.reservation": "answer.reservation",
    "absent.cached": "answer.cached",
    "absent.memory": "answer.memory",
    "absent.concurrency_not_tried": "answer.concurrency",
    "absent.concurrency_between": "answer.concurrency",
    "absent.concurrency_below": "answer.concurrency_below",
    "absent.concurrency_below_wanted": "answer.concurrency",
    "absent.no_stream": "answer.no_stream",
    "absent.requests_contradict": "answer.requests_contradict",
    "absent.transfer_failed": "answer.transfer_failed",
    "absent.transfer_too_short": "answer.transfer_too_short",
    "absent.requests_too_few": "answer.requests_too_few",
    "absent.own_address": "answer.own_address",
    "absent.link_hidden_by": "answer.link_hidden",
    "absent.link_loss_hidden_by": "answer.link_hidden",
    "absent.link_no_udp": "answer.link_no_udp",
    "absent.quick": "answer.quick",
    "absent.too_short": "answer.too_short",
    "absent.scaling_unused": "answer.scaling_unused",
    "absent.probe_ended": "answer.probe_ended",
    "absent.probe_ended.failed": "answer.probe_ended",
    "absent.probe_ended.signal": "answer.probe_ended",
    "absent.probe_ended.oom_host": "answer.probe_ended.oom_host",
    "absent.probe_ended.timeout": "answer.probe_ended.timeout",
    "absent.probe_ended.hang": "answer.probe_ended.hang",
    "absent.probe_ended.not_started": "answer.probe_ended.not_started",
}
# The check's own advice would be wrong where its figure was void.
_ALWAYS_ANSWERED = ("absent.scaling_unused",)
EVIDENCE_IN_MESSAGE = 4
EVIDENCE_LIMIT = 10
VALUE_LIMIT = 300


def violated(limit, value, tolerance):
    """True where a value is on the bad side of a limit ({comparison: bound}), the tolerance counted in the host's favour.

    None where the two can't be compared (a word with a number).
    """
    ((comparison, bound),) = ((key, limit[key]) for key in limit if key != "metric")
    if comparison in ("below", "above", "at_least", "at_most"):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        if comparison == "below":
            return value < bound - tolerance
        if comparison == "above":
            return value > bound + tolerance
        if comparison == "at_least":
            return value >= bound + tolerance
        return value <= bound - tolerance
    if comparison in ("equals", "not_equals"):
        same = _same(value, bound)
        return same if comparison == "equals" else not same
    among = any(_same(value, entry) for entry in bound)
    return among if comparison == "one_of" else not among


def _same(value, bound):
    """Equality in which true is not 1."""
    return value == bound and isinstance(value, bool) == isinstance(bound, bool)


class Context:
    """What every check of one host is judged with."""

    def __init__(self, metrics, language, now, waived, leanings, base_missing, variables):
        self.values = metrics["values"]
        self.absent = metrics["absent"]
        self.language = language
        self.now = now
        self.waived = waived
        self.leanings = leanings
        self.base_missing = base_missing
        self.variables = variables


def answers(check, leanings):
    """Whether the check answers its item for work that leans on these."""
    wanted = check["answers"]
    return bool(wanted) if isinstance(wanted, bool) else any(leaning in wanted for leaning in leanings)


def judge(name, check, context):
    """The finding of one check, never None: {"check", "status", and "actual", "required", "message", "advice", "evidence", "waiver"
    where they tell more}.
    """
    language = context.language
    if check["when"]:
        holds = _expression(check["when"], context)
        if isinstance(holds, dict):
            return _absent(name, check, holds, context)
        if not holds:
            return {"check": name, "status": "not_applicable", "message": messages.text(language, "absent.when_false")}
    if check["value"]:
        value = _expression(check["value"], context)
        metric = value if isinstance(value, dict) else {"value": value, "evidence": ()}
        if isinstance(value, dict) or value is None:
            return _absent(name, check, value or {"status": "unknown", "reason": "absent.expression_empty", "params": {}}, context)
    else:
        metric = context.values.get(check["metric"])
        if metric is None:
            return _absent(name, check, context.absent[check["metric"]], context)
    level = _level(check, metric["value"])
    if level is None:
        return _absent(
            name, check, {"status": "unknown", "reason": "absent.not_comparable", "params": {"value": str(metric["value"])[:80]}}, context
        )
    hint = metric.get("tentative")
    if hint and answers(check, context.leanings):
        return _unanswered(name, check, metric, hint, context)
    return _finding(name, check, metric, level, context)


def _expression(source, context):
    """The value of an expression, or an absence where it fails."""
    try:
        return expressions.evaluate(source, context.variables())
    except expressions.ExpressionError as error:
        return {"status": "unknown", "reason": "absent.expression_failed", "params": {"error": str(error)}}


def _level(check, value):
    """The limit that the value breaks: fail or warn, pass where neither; None where value and limit can't be compared."""
    for level in ("fail", "warn"):
        limit = check[level]
        if limit is None:
            continue
        bad = violated(limit, value, check["tolerance"])
        if bad is None:
            return None
        if bad:
            return level
    return "pass"


def _status(check, level):
    """The status of a broken limit, no worse than the check may be."""
    if check["max_status"] == "pass":
        return "pass"
    return check["max_status"] if level == "fail" else level


def _absent(name, check, absence, context):
    """The finding of a check whose metric has no value."""
    language = context.language
    if absence["status"] == "not_applicable":
        return {"check": name, "status": "not_applicable"}
    if isinstance(check["answers"], list) and not answers(check, context.leanings) and absence["reason"] in _NOT_BEGUN:
        return {"check": name, "status": "not_applicable", "message": messages.text(language, "absent.not_asked")}
    finding = {"check": name, "status": "unknown", "message": messages.text(language, absence["reason"], **absence["params"])}
    if answers(check, context.leanings):
        finding["answers"] = True
        if absence["reason"] == "absent.driver_silent":
            finding["because"] = "gpu.driver_state"
        finding["advice"] = _answer(absence, language)
    elif absence["reason"] in _ALWAYS_ANSWERED:
        finding["advice"] = _answer(absence, language)
    return _with_waiver(finding, name, context)


def _unanswered(name, check, metric, hint, context):
    """The finding of a check that a metric's value is too weak to answer: unknown, with what was seen."""
    definition = DEFINITIONS.get(check["metric"] or "")
    evidence = list(metric["evidence"])[:EVIDENCE_LIMIT]
    seen = {
        "actual": show(metric["value"], definition["unit"] if definition else "", context.language),
        "seen": measured_texts.told(check["metric"] or "", evidence, context.language) or "",
    }
    finding = _absent(name, check, {"status": "unknown", "reason": hint["reason"], "params": {**hint["params"], **seen}}, context)
    return dict(finding, evidence=evidence)


def _answer(absence, language):
    """What somebody does to get the value."""
    default = "answer.measure" if "module" in absence["params"] else "answer.audit"
    return messages.text(language, _ANSWERS.get(absence["reason"], default))


def rounded(value):
    """A metric's value as a report keeps it: six significant digits of a float are exact enough and half the size; text is cut."""
    if isinstance(value, float):
        return float("%.6g" % value)
    return value[:VALUE_LIMIT] if isinstance(value, str) else value


def statement(finding, check, language):
    """A finding in a few words: its cause where judging named one, else title and value."""
    if finding.get("cause"):
        return finding["cause"]
    definition = DEFINITIONS.get(check["metric"] or "")
    if finding.get("actual") is None:
        return check["title"][language]
    actual = show(finding["actual"], definition["unit"] if definition else "", language)
    return messages.text(language, "cause.title", title=check["title"][language], detail=actual)


def show(value, unit, language):
    """A metric's value for people."""
    shown = messages.word(language, value) if unit == "word" else format_value(value, unit, language)
    return shown[:VALUE_LIMIT]


def required_text(check, language, level="warn"):
    """What passes: the opposite of the warn limit, else of the fail limit; the good word of a metric of words; "" where the check only
    informs. `level` fail: the fail limit first, for a value that broke it.
    """
    warn, fail = check["warn"], check["fail"]
    limit = fail or warn if level == "fail" else warn or fail
    if limit is None:
        return ""
    definition = DEFINITIONS.get(check["metric"] or "")
    if definition and definition["good"]:
        return messages.word(language, definition["good"])
    unit = definition["unit"] if definition else ""
    if warn and fail and set(warn) | set(fail) == {"above", "below"} and set(warn.values()) == set(fail.values()):
        # Bad on both sides: exactly this value passes.
        return format_value(next(iter(warn.values())), unit, language)
    if unit == "bool" and isinstance(limit.get("equals"), bool):
        return format_value(not limit["equals"], unit, language)
    if unit == "count" and limit in ({"above": 0}, {"at_least": 1}):
        return "0"
    return format_required(limit, unit, language, check["tolerance"])


def _finding(name, check, metric, level, context):
    language, value, status = context.language, metric["value"], _status(check, level)
    if metric.get("tentative") and status == "fail":
        status = "warn"
    definition = DEFINITIONS.get(check["metric"] or "")
    unit = definition["unit"] if definition else ""
    finding = {"check": name, "status": status, "actual": rounded(value)}
    required = required_text(check, language, "warn" if status == "pass" else level)
    if required:
        finding["required"] = required
    if status == "pass":
        if metric.get("note"):
            notes = [metric["note"]] if isinstance(metric["note"], str) else metric["note"]
            joiner = "；" if language == "zh" else "; "
            finding["message"] = joiner.join(messages.text(language, note) for note in notes)
        return finding
    satisfied = check["satisfied_by"]
    if satisfied:
        other = context.values.get(satisfied["metric"])
        if other is not None and violated(satisfied, other["value"], 0):
            finding["status"] = "pass"
            finding["message"] = messages.text(
                language,
                "finding.satisfied",
                title=check["title"][language],
                actual=show(value, unit, language),
                metric=satisfied["metric"],
                value=show(other["value"], DEFINITIONS[satisfied["metric"]]["unit"], language),
            )
            return finding
    if metric.get("cause"):
        finding["cause"] = messages.text(language, metric["cause"]["key"], **metric["cause"]["params"])
    finding["message"] = _message(check, finding.get("cause") or show(value, unit, language), required, metric["evidence"], language)
    evidence = list(metric["evidence"])[:EVIDENCE_LIMIT]
    if evidence:
        finding["evidence"] = evidence
    if metric.get("advice"):
        keys = [metric["advice"]] if isinstance(metric["advice"], str) else metric["advice"]
        finding["advice"] = ("" if language == "zh" else " ").join(messages.text(language, key) for key in keys)
    network = name.startswith("network.")
    # A network that breaks is mended, not enlarged.
    if context.base_missing and name in SIZING_CHECKS and not (network and metric.get("advice")):
        key = "advice.no_upgrade" if network else "advice.base_figures_missing"
        note = messages.text(language, key, fields=", ".join(context.base_missing))
        unsized = (check.get("advice_unsized") or {}).get(language)
        finding["advice"] = "%s%s%s" % (unsized, "" if language == "zh" else " ", note) if unsized else note
    return _with_waiver(finding, name, context)


def _message(check, actual, required, evidence, language):
    """One sentence with title, actual and required, then where (GPU and bus id) and what was read there."""
    key = "finding.limit" if required else "finding.plain"
    sentence = messages.text(language, key, title=check["title"][language], actual=actual, required=required)
    told = measured_texts.told(check["metric"] or "", evidence[:EVIDENCE_LIMIT], language)
    if told is not None:
        return "%s%s%s" % (sentence, "" if language == "zh" else " ", told)
    places = []
    for entry in evidence[:EVIDENCE_IN_MESSAGE]:
        value = entry["value"]
        places.append(_one_line("%s: %s" % (entry["what"], evidence_value(entry, language)) if value is not None else entry["what"]))
    if len(evidence) > EVIDENCE_IN_MESSAGE:
        places.append(messages.text(language, "finding.more", count=len(evidence) - EVIDENCE_IN_MESSAGE))
    if not places:
        return sentence
    return "%s%s%s" % (sentence, "" if language == "zh" else " ", ("；" if language == "zh" else "; ").join(places))


def _one_line(text):
    return " ".join(str(text).split())


def evidence_value(entry, language):
    """The value of an evidence entry for people; names that end in a unit are printed in it."""
    what = str(entry["what"])
    unit = "bytes_per_second" if what.endswith("bytes_per_second") else ""
    if what.endswith(("_bytes", " bytes")) or what == "bytes":
        unit = "bytes"
    if entry.get("source") == "statvfs" and isinstance(entry["value"], int):
        unit = "bytes"
    if isinstance(entry["value"], float) and 0 <= entry["value"] <= 1 and str(entry.get("source")).startswith("workload_probe"):
        unit = "fraction"
    return show(entry["value"], unit, language)


def _with_waiver(finding, name, context):
    """The finding with its waiver: waived while it is in force; where it has expired the message says so and the finding stands."""
    waiver = waivers.find(context.waived, name, context.now)
    if waiver is None:
        return finding
    if waiver["expired"]:
        finding["message"] = messages.text(
            context.language, "finding.waiver_expired", message=finding["message"], expires=waiver["expires"], reason=waiver["reason"]
        )
        return finding
    finding["waiver"] = {"reason": waiver["reason"], "expires": waiver["expires"], "status": finding["status"]}
    finding["status"] = "waived"
    return finding


def silence(entry, checks, language):
    """Says once, under `absent`, that this work isn't asked for a metric; changes the entry in place.

    A metric that another check does ask for keeps its own reason.
    """
    said = messages.text(language, "absent.not_asked")
    asked = {checks[finding["check"]]["metric"] for finding in entry["findings"] if finding["status"] != "not_applicable"}
    for finding in entry["findings"]:
        metric = checks[finding["check"]]["metric"]
        if finding["status"] == "not_applicable" and finding.get("message") == said and metric in entry["absent"] and metric not in asked:
            entry["absent"][metric] = said
            del finding["message"]


def trim(entry, checks):
    """Takes out of a host's findings what its metrics, its absent reasons or report.json's `checks` say already; changes the entry in
    place.
    """
    values, absent = entry["metrics"], entry["absent"]
    for finding in entry["findings"]:
        check = checks.get(finding["check"])
        if check is None:
            continue
        if finding.get("required") == check["required"] and finding["status"] == "pass":
            finding.pop("required", None)
        metric = check["metric"]
        if finding["status"] == "pass" and metric in values and finding.get("actual") == values[metric]:
            del finding["actual"]
        if finding["status"] == "unknown" and bool(check["answers"]) == finding.get("answers", False):
            finding.pop("answers", None)
        elif finding["status"] == "unknown" and check["answers"]:
            finding["answers"] = False
        if finding["status"] == "unknown" and metric in absent and finding.get("message") == absent[metric]:
            del finding["message"]


def complete(finding, host, checks):
    """The finding with what trim() left out: `actual` from the host's metrics, `message` from its absent reasons, `required` and
    `answers` from `checks`.

    `host` is its entry and `checks` the checks of report.json; both are trusted no further than being maps.
    """
    check = checks.get(finding.get("check")) or {}
    metric = check.get("metric")
    whole = dict(finding)
    if finding.get("status") in ("pass", "warn", "fail", "waived"):
        if "actual" not in whole and metric in (host.get("metrics") or {}):
            whole["actual"] = host["metrics"][metric]
        if "required" not in whole and check.get("required"):
            whole["required"] = check["required"]
    elif not whole.get("message") and metric in (host.get("absent") or {}):
        whole["message"] = host["absent"][metric]
    if finding.get("status") == "unknown":
        whole["answers"] = bool(whole.get("answers", check.get("answers")))
    return whole
