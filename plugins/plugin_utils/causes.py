# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What to do next: causes instead of hosts, ordered by how many hosts each alone holds back; and what isn't answered yet."""

from __future__ import annotations

import collections
import re

from . import messages
from .metrics.registry import DEFINITIONS
from .numbers import format_number
from .findings import SIZING_CHECKS, show
from .words import CHECKLIST

# A failing check that follows from another failing check of the same host: mending the other mends it.
FOLLOWS_FROM = {
    "gpu.hw_slowdown": ("gpu.hw_thermal", "gpu.power_brake"),
    "gpu.temperature_headroom_celsius": ("gpu.hw_thermal",),
    "gpu.sw_thermal": ("gpu.hw_thermal",),
    "gpu.recovery_action": (
        "gpu.remap_pending",
        "gpu.remap_failed",
        "gpu.ecc_uncorrectable",
        "gpu.sram_threshold",
        "gpu.retirement_pending",
        "gpu.errors",
    ),
    "gpu.count": ("gpu.driver_state",),
    "gpu.count_difference": ("gpu.count",),
    "gpu.driver_state": ("gpu.lost", "gpu.errors"),
    "storage.path_problems": ("storage.paths_failed",),
    # The same need and the same storage seen twice.
    "storage.small_file_headroom_ratio": ("storage.read_headroom_ratio",),
    "network.link_fraction_of_line_rate": ("network.link_floor_ratio",),
    "network.link_retransmit_fraction": ("network.link_lost_fraction",),
    "network.rdma_ports_down": ("network.ports_missing",),
    # Requests that fail hold no latency either.
    "network.concurrency_ratio": ("network.request_error_fraction",),
    "vram.peak_fraction": ("vram.out_of_memory",),
    "workload.outcome": ("vram.out_of_memory", "memory.out_of_memory"),
}
# Checks whose causes are whole statements ("driver 470 is too old ..."): a headline needs no title before them.
STATEMENTS = ("software.driver_support", "gpu.count")
_UNDOCUMENTED = ("unreachable", "error", "not_tried")
# Kinds of errors that lie in the variables and policies of the audit, not in the host.
SETTINGS_KINDS = frozenset(("settings", "template", "policy", "workload", "expected", "waiver"))
_ERROR_TITLES = ("no_python", "module_failed", "timeout")
# Different words of one cause that its line tells.
_DETAILS = 3


def find(entries, policies, language, partial=False):
    """(headline, causes, unanswered) of judged host entries; hosts are told by their index in `entries`.

    A cause: {"check", "status", "title", "detail", "advice", "command", "hosts", "gpus", "frees"}. `check` is "host.unreachable",
    "host.error" or "host.not_tried" for hosts that gave no document. `frees`: hosts that are held back (from not_ready) by this
    cause alone.
    Order: most freed, failures before warnings, most hosts, most GPUs, then by name.
    """
    groups = {}
    for index, entry in enumerate(entries):
        keys = _host_causes(entry)
        failing = [key for key in keys if key[1] == "fail"]
        for key, finding in keys.items():
            group = groups.setdefault(key, {"hosts": [], "findings": [], "frees": 0, "gpus": 0, "entry": entry})
            group["hosts"].append(index)
            group["findings"].append(finding)
            group["gpus"] += _gpus(entry)
            group["frees"] += 1 if failing == [key] else 0
    checks = _checks(policies)
    found = [_cause(key, group, checks, language) for key, group in groups.items()]
    found.sort(
        key=lambda cause: (
            -cause["frees"],
            cause["status"] != "fail",
            -len(cause["hosts"]),
            -cause["gpus"],
            cause["check"],
            cause["detail"],
        )
    )
    return _headline(entries, found, policies, language, partial), found, _unanswered(entries, checks, language)


def _checks(policies):
    checks = {}
    for key in sorted(policies):
        for name, check in policies[key]["checks"].items():
            checks.setdefault(name, check)
    return checks


def _gpus(entry):
    count = entry["hardware"].get("gpu_count")
    return count if isinstance(count, int) and 0 <= count < 10000 else 0


def _host_causes(entry):
    """{(check, status, what tells it from other causes of that check): finding} of one host."""
    if entry["verdict"] in _UNDOCUMENTED and not entry["findings"]:
        # What can't be reached has one remedy, whatever ssh said; an error has as many as there are errors.
        what = (error_kind(entry), _without_its_own(entry["reason"], entry["name"])) if entry["verdict"] == "error" else ""
        return {("host." + entry["verdict"], "fail", what): None}
    bad = {finding["check"]: finding for finding in entry["findings"] if finding["status"] in ("fail", "warn")}
    causes = {}
    for name, finding in bad.items():
        if follows(name, bad):
            continue
        # One cause a remedy: a driver that hangs takes another one than a driver that isn't loaded. The note on the form's base figures
        # is no remedy.
        remedy = "" if name in SIZING_CHECKS else finding.get("advice") or ""
        causes[(name, finding["status"], remedy)] = finding
    return causes


def error_kind(entry):
    """What went wrong with a host whose verdict is error: "settings", or the kind of its document's error."""
    kind = entry["errors"][-1]["kind"] if entry["errors"] else ""
    return "settings" if kind in SETTINGS_KINDS else kind


def _without_its_own(reason, name):
    """A reason without what differs from host to host: its name, numbers of processes and temporary files."""
    return re.sub(r"[0-9a-f]*\d[0-9a-f.]*", "#", reason.replace(name, "#"))


def follows(name, bad):
    """Whether a check's trouble follows from a failing check in `bad` ({check: finding})."""
    return any(bad.get(other, {}).get("status") == "fail" for other in FOLLOWS_FROM.get(name, ()))


def _cause(key, group, checks, language):
    name, status, what = key
    cause = {"check": name, "status": status, "hosts": group["hosts"], "gpus": group["gpus"], "frees": group["frees"], "command": None}
    if name.startswith("host."):
        told = name[5:]
        if told == "error" and what[0] in ("settings", *_ERROR_TITLES):
            told += "." + what[0]
        cause.update(
            title=messages.text(language, "cause." + told),
            detail=group["entry"]["reason"],
            advice=messages.text(language, "cause.advice." + told),
        )
        return cause
    check = checks[name]
    first = group["findings"][0]
    advice = {finding.get("advice") for finding in group["findings"]}
    cause.update(
        title=check["title"][language],
        detail=_detail(check, group["findings"], language),
        advice=first["advice"] if len(advice) == 1 and first.get("advice") else (check["advice"] or {}).get(language),
        command=check["command"],
    )
    return cause


def _detail(check, found, language):
    """What the hosts of one cause say: words (the commonest first, with how many hosts), or the span of their figures beside what is
    required.
    """
    definition = DEFINITIONS.get(check["metric"] or "")
    unit = definition["unit"] if definition else ""
    words = [_words(finding, language) for finding in found]
    if all(words):
        return _commonest(words, language)
    figures = [finding["actual"] for finding in found if isinstance(finding.get("actual"), (int, float))]
    if not figures:
        return show(found[0].get("actual"), unit, language)
    low, high = show(min(figures), unit, language), show(max(figures), unit, language)
    actual = low if low == high else messages.text(language, "cause.range", low=low, high=high)
    required = found[0].get("required")
    return messages.text(language, "cause.numeric", actual=actual, required=required) if required else actual


def _words(finding, language):
    """What a finding says in words, None for one that gives a figure."""
    actual = finding.get("actual")
    return finding.get("cause") or (messages.word(language, actual) if isinstance(actual, str) else None)


def _commonest(words, language):
    """Different words in one line, each with its number of hosts where there are several."""
    counted = collections.Counter(words)
    if len(counted) == 1:
        return words[0]
    ordered = sorted(counted, key=lambda word: (-counted[word], word))
    said = [messages.text(language, "cause.counted", detail=word, count=counted[word]) for word in ordered[:_DETAILS]]
    if len(ordered) > _DETAILS:
        said.append(messages.text(language, "finding.more", count=len(ordered) - _DETAILS))
    return ("；" if language == "zh" else "; ").join(said)


def _unanswered(entries, checks, language):
    """[{"item", "check", "reason", "advice", "hosts"}]: answering checks without an answer, the most hosts first.

    What can't be answered because the driver is broken is left to that cause.
    """
    groups = {}
    for index, entry in enumerate(entries):
        failed = {finding["check"] for finding in entry["findings"] if finding["status"] == "fail"}
        for finding in entry["findings"]:
            if finding["status"] == "unknown" and finding.get("answers") and finding.get("because") not in failed:
                groups.setdefault((finding["check"], finding["message"], finding.get("advice")), []).append(index)
    found = [
        {"item": checks[name]["item"] if name in checks else "", "check": name, "reason": reason, "advice": advice, "hosts": hosts}
        for (name, reason, advice), hosts in groups.items()
    ]
    for (item, policy), hosts in _unasked(entries, checks).items():
        reason = messages.text(language, "absent.nothing_asked", item=messages.text(language, "item." + item), policy=policy)
        found.append({"item": item, "check": "", "reason": reason, "advice": messages.text(language, "answer.policy"), "hosts": hosts})
    found.sort(key=lambda entry: (-len(entry["hosts"]), entry["check"], entry["reason"]))
    return found


def _unasked(entries, checks):
    """{(item, policy): hosts} of items that are unknown though no check of them is: the policy has none that answers."""
    groups = {}
    for index, entry in enumerate(entries):
        if not entry["findings"]:
            continue
        unknown = [finding["check"] for finding in entry["findings"] if finding["status"] == "unknown"]
        open_items = {checks[name]["item"] for name in unknown if name in checks}
        for item in entry["unanswered"]:
            if item in CHECKLIST and item not in open_items:
                groups.setdefault((item, entry["policy"]), []).append(index)
    return groups


def _headline(entries, found, policies, language, partial):
    """The report's first sentence or two."""
    if not entries:
        return messages.text(language, "headline.none")
    counts = {}
    for entry in entries:
        counts[entry["verdict"]] = counts.get(entry["verdict"], 0) + 1
    used = sorted({entry["policy"] for entry in entries})
    purpose = (
        purpose_of(policies[used[0]], language) if len(used) == 1 and used[0] in policies else messages.text(language, "purpose.mixed")
    )
    warned = counts.get("ready_with_warnings", 0)
    parts = [messages.text(language, "headline.ready", ready=counts.get("ready", 0) + warned, hosts=len(entries), purpose=purpose)]
    if warned:
        parts.append(messages.text(language, "headline.warnings", count=warned))
    counts["settings"] = sum(1 for entry in entries if entry["verdict"] == "error" and error_kind(entry) == "settings")
    counts["error"] = counts.get("error", 0) - counts["settings"]
    for verdict in ("unreachable", "error", "settings", "not_tried"):
        if counts.get(verdict):
            parts.append(messages.text(language, "headline." + verdict, count=counts[verdict]))
    failing = counts.get("not_ready", 0)
    if failing:
        parts.append(_failing(entries, found, failing, language))
    if counts.get("unproven"):
        parts.append(messages.text(language, "headline.unproven", count=counts["unproven"]))
    if partial:
        parts.append(messages.text(language, "headline.partial"))
    return ("" if language == "zh" else " ").join(parts)


def purpose_of(policy, language):
    """A policy's title in a language; its name where a stored one has none."""
    title = policy.get("title")
    return title.get(language) or policy["name"] if isinstance(title, dict) else policy["name"]


def _failing(entries, found, failing, language):
    real = [cause for cause in found if cause["status"] == "fail" and not cause["check"].startswith("host.")]
    common = max(real, key=lambda cause: (len(cause["hosts"]), cause["frees"]))
    what = (
        common["detail"]
        if common["check"] in STATEMENTS
        else messages.text(language, "cause.title", title=common["title"], detail=common["detail"])
    )
    most = len(common["hosts"])
    if failing == 1:
        return messages.text(language, "headline.one_fails", reason=what)
    if most == failing:
        return messages.text(language, "headline.one_reason", count=failing, reason=what)
    key = "headline.reasons" if most * 2 > failing else "headline.several" if most > 1 else "headline.each"
    return messages.text(language, key, count=failing, most=format_number(most), reason=what)
