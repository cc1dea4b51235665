# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Judging: a host document, its inputs and a policy in, an entry of report.json out; then all entries into the report.

Pure and deterministic: the same run gives the same report, byte for byte. The clock is the run's `finished`.
"""

from __future__ import annotations

import operator

from . import causes, complaints, documents, findings, messages, metrics, waivers, workload
from . import expected as expected_module, policy as policy_module, verdict as verdict_module
from .metrics.measurements import SILENT
from .metrics.registry import DEFINITIONS, amount, mapping, maps, text
from .numbers import is_number
from .words import CHECKLIST, LANGUAGES

SCHEMA = "trainops.gpu_audit/report/1"
# Besides the metrics that the host's checks use: what the fleet is described by, and counts that only inform,
# where there is something to tell.
REPORT_ALWAYS = frozenset(("vram.total_bytes", "storage.free_bytes"))
REPORT_WHEN_SOME = frozenset(
    (
        "gpu.ecc_lifetime",
        "gpu.sw_power_cap",
        "gpu.ecc_corrected_lifetime",
        "gpu.remapped_rows",
        "gpu.retired_pages",
        "gpu.pcie_replays",
        "network.interface_errors",
        "network.port_errors",
    )
)
# What was measured is told whatever it was: nothing read from a disk is a figure too.
REPORT_MEASURED = frozenset(
    (
        "network.fabric_busbw_bytes_per_second",
        "network.upload_bytes_per_second",
        "network.download_bytes_per_second",
        "network.link_rtt_seconds",
        "network.link_jitter_seconds",
        "storage.read_bytes_per_second",
        "storage.small_file_bytes_per_second",
        "storage.checkpoint_write_bytes_per_second",
        "workload.epoch_seconds",
        "workload.read_bytes_per_second",
        "workload.gpu_utilization_mean_fraction",
    )
)
# What the GPUs need is only told beside what was measured.
REPORT_BESIDE = {"storage.needed_bytes_per_second": ("storage.read_bytes_per_second", "storage.small_file_bytes_per_second")}
# Nobody asked for these: no finding, no line under `absent`.
_NOT_ASKED = (SILENT, "absent.scaling_not_asked")
_RANK = {status: rank for rank, status in enumerate(findings.STATUS_ORDER)}


def judge_host(document, inputs, policy, now, language, status_hint=None):
    """The entry of one host in report.json's `hosts`.

    document: a host document or None; inputs: its inputs (thresholds, workload, expected, waivers, errors); policy: resolved, None where it
    could not be; now: the run's finished time (ISO 8601 text or datetime); language: en or zh; status_hint: the verdict of a host without a
    document (unreachable, error or not_tried, the default). Never raises on what a host or inventory says.
    """
    language = language if language in LANGUAGES else "en"
    inputs = inputs if isinstance(inputs, dict) else {}
    form, form_problems = workload.normalise(inputs.get("workload"))
    entry = _empty_entry(document, inputs, policy, form)
    entry["errors"] = [{"kind": "workload", "message": complaints.say(problem, language)} for problem in form_problems]
    if _settle_undocumented(entry, document, bool(maps(inputs, "errors")), status_hint, language):
        return entry
    entry["hardware"] = hardware(document["facts"])
    problems = [error for error in maps(inputs, "errors") if text(error, "message")]
    if problems:
        entry["errors"] += [
            {"kind": "template", "message": complaints.say("%s: %s" % (text(error, "variable") or "?", text(error, "message")), language)}
            for error in problems
        ]
        return _settle(entry, "error", messages.text(language, "reason.inputs", error=entry["errors"][-1]["message"]))
    if policy is None:
        return _settle(entry, "error", messages.text(language, "reason.no_policy", policy=entry["policy"]))
    try:
        policy = policy_module.apply_thresholds(policy, inputs.get("thresholds"))
    except policy_module.PolicyError as error:
        said = complaints.say(error, language)
        entry["errors"].append({"kind": "policy", "message": said})
        return _settle(entry, "error", messages.text(language, "reason.inputs", error=said))
    entry["errors"] += [
        {"kind": "thresholds", "message": messages.text(language, "note.never_warns", check=name, **_limits(check))}
        for name, check in policy_module.never_warning(policy).items()
    ]
    expected, wrong = expected_module.normalise(inputs.get("expected"))
    strangers = waivers.strangers(inputs.get("waivers"), policy["checks"])
    refused = [
        {"kind": kind, "message": complaints.say("%s: %s" % (variable, problem), language)}
        for kind, variable, problems in (("expected", "gpu_audit_expected", wrong), ("waiver", "gpu_audit_waivers", strangers))
        for problem in problems
    ]
    if refused:
        entry["errors"] += refused
        return _settle(entry, "error", messages.text(language, "reason.inputs", error=refused[-1]["message"]))
    derived = metrics.derive(document, {"workload": form, "expected": expected}, now)
    _judge_checks(entry, derived, document, inputs, expected, form, policy, now, language)
    return entry


def _empty_entry(document, inputs, policy, form):
    name = text(inputs, "name") or (text(document, "name") if isinstance(document, dict) else None) or "?"
    groups = inputs.get("groups")
    return {
        "name": name,
        "groups": sorted(group for group in groups if isinstance(group, str)) if isinstance(groups, list) else [],
        "policy": text(inputs, "policy") or (policy["name"] if policy else "?"),
        "verdict": "error",
        "reason": "",
        "checklist": {item: "unknown" for item in CHECKLIST},
        "hardware": {},
        "metrics": {},
        "absent": {},
        "findings": [],
        "unanswered": [],
        "missing_form": workload.missing(form),
        "errors": [],
    }


def _settle(entry, verdict, reason):
    entry["verdict"] = verdict
    entry["reason"] = reason
    return entry


def _settle_undocumented(entry, document, own, status_hint, language):
    """Gives the verdict of a host without judgeable facts; True when it did. `own`: its inputs say that its variables were wrong."""
    if document is None:
        hint = status_hint if status_hint in ("unreachable", "error", "not_tried") else "not_tried"
        silent = messages.text(language, "reason.silent")
        params = {} if hint == "not_tried" else {"error": silent}
        _settle(entry, hint, messages.text(language, "reason." + hint, **params))
        return True
    problem = documents.problem(document)
    if problem:
        message = messages.text(language, "invalid.type", **problem)
        entry["errors"].append({"kind": "invalid", "message": message})
        _settle(entry, "error", messages.text(language, "reason.error", error=message))
        return True
    # Cut once it is said: half a sentence is no sentence in any language.
    errors = [dict(error, message=complaints.say(error["message"], language)[:500]) for error in documents.errors_of(document, 2000)]
    if document.get("facts"):
        entry["errors"] += errors
        return False
    if own:
        # The host was never contacted: the variables were wrong, as its inputs say too.
        errors = [dict(error, kind="settings") for error in errors]
    entry["errors"] += errors
    first = next((error for error in errors if error["kind"] == "unreachable"), errors[0] if errors else None)
    if first is None:
        first = {
            "kind": status_hint if status_hint in ("unreachable", "not_tried") else "error",
            "message": messages.text(language, "reason.silent"),
        }
    kind = first["kind"] if first["kind"] in ("unreachable", "not_tried") else "error"
    said = first["message"] or messages.text(language, "reason.silent")
    key = "reason.inputs" if first["kind"] == "settings" else "reason." + kind
    _settle(entry, kind, messages.text(language, key, **({} if kind == "not_tried" else {"error": said})))
    return True


def _limits(check):
    """{"warn": "below 4", "fail": ...} of a check, as a policy writes them."""
    return {key: " ".join(str(part) for part in next(iter(check[key].items()))) for key in ("warn", "fail")}


def _judge_checks(entry, derived, document, inputs, expected, form, policy, now, language):
    leanings = form.get("leans_on") or _default_leanings(form, policy)

    def variables():
        return {
            "metrics": {name: metric["value"] for name, metric in derived["values"].items()},
            "facts": document["facts"],
            "workload": form,
            "expected": expected,
        }

    context = findings.Context(derived, language, now, inputs.get("waivers"), leanings, workload.base_figures_missing(form), variables)
    checks = policy["checks"]
    result = [findings.judge(name, check, context) for name, check in checks.items() if check["enabled"] and not _not_asked(check, derived)]
    items = {name: check["item"] for name, check in checks.items()}
    asked = verdict_module.asked(checks)
    statuses = verdict_module.checklist(result, items, asked)
    entry["errors"] += [
        {
            "kind": "policy",
            "message": messages.text(
                language, "absent.nothing_asked", item=messages.text(language, "item." + item), policy=entry["policy"]
            ),
        }
        for item, status in statuses.items()
        if status == "unknown" and item in CHECKLIST and item not in asked
    ]
    decided = verdict_module.decide(result, statuses, items)
    result.sort(key=lambda finding: (_RANK[finding["status"]], finding["check"]))
    entry["checklist"] = statuses
    entry["findings"] = result
    entry["unanswered"] = [item for item, status in statuses.items() if status == "unknown"]
    used = {check["metric"] for check in checks.values() if check["enabled"]}
    entry["metrics"] = {
        name: findings.rounded(found["value"])
        for name, found in sorted(derived["values"].items())
        if name in used
        or name in REPORT_ALWAYS
        or name in REPORT_MEASURED
        or name in REPORT_WHEN_SOME
        and found["value"]
        or _beside(name, derived)
    }
    entry["absent"] = {
        name: messages.text(language, found["reason"], **found["params"])
        for name, found in sorted(derived["absent"].items())
        if (name in used or name in REPORT_ALWAYS) and found["reason"] not in _NOT_ASKED
    }
    findings.silence(entry, checks, language)
    _settle(entry, decided, _reason(decided, result, checks, statuses, language))


def _not_asked(check, derived):
    """Whether a check is on an optional measurement that nobody took: a light audit doesn't list what it wasn't asked for."""
    absence = derived["absent"].get(check["metric"]) if not check["value"] else None
    return absence is not None and absence["reason"] in _NOT_ASKED


def _beside(name, derived):
    return any(other in derived["values"] for other in REPORT_BESIDE.get(name, ()))


def _default_leanings(form, policy):
    """What work leans on where the form doesn't say: batch inference on throughput, everything else as its policy says."""
    if form.get("kind") == "inference" and form.get("mode") == "batch":
        return ["throughput", "vram"]
    return policy.get("leans_on") or ["compute", "vram"]


def _reason(decided, result, checks, statuses, language):
    joiner = "、" if language == "zh" else ", "

    def titles(kinds):
        return [checks[finding["check"]]["title"][language] for finding in result if finding["status"] in kinds]

    if decided == "ready":
        return messages.text(language, "reason.ready")
    if decided == "not_ready":
        failed = {finding["check"]: finding for finding in result if finding["status"] == "fail"}
        named = [
            findings.statement(finding, checks[name], language) for name, finding in failed.items() if not causes.follows(name, failed)
        ]
        more = [messages.text(language, "reason.more", count=len(named) - 3)] if len(named) > 3 else []
        return messages.text(language, "reason.not_ready", titles=("；" if language == "zh" else "; ").join(named[:3] + more))
    open_items = [messages.text(language, "item." + item) for item, status in statuses.items() if status == "unknown"]
    unanswered = [messages.text(language, "reason.open", item=item) for item in open_items]
    if decided == "unproven":
        return messages.text(language, "reason.unproven", titles=joiner.join(open_items))
    named = titles(("warn", "waived")) + unanswered
    return messages.text(language, "reason.ready_with_warnings", count=len(named), titles=joiner.join(named[:4]))


def hardware(facts):
    """The few facts that a fleet is sorted by; a value that isn't there is left out."""
    gpu, cpu, memory = mapping(facts, "gpu"), mapping(facts, "cpu"), mapping(facts, "memory")
    platform, software = mapping(facts, "platform"), mapping(facts, "software")
    gpus = maps(gpu, "gpus")
    names = sorted({text(entry, "name") for entry in gpus if text(entry, "name")})
    totals = [amount(entry, "memory_total_bytes") for entry in gpus if amount(entry, "memory_total_bytes")]
    speeds = [
        amount(entry, "speed_bits_per_second") or 0
        for entry in maps(mapping(facts, "network"), "interfaces")
        if text(entry, "kind") == "ethernet" and text(entry, "state") == "up"
    ]
    container, virtual = text(platform, "container"), text(platform, "virtualization")
    found = {
        "gpu_name": " + ".join(names[:4]) or None,
        "gpu_count": len(gpus) if gpus else amount(gpu, "pci_device_count"),
        # Where the driver doesn't answer, a count of none is no proof that there is none.
        "gpu_state": None if text(gpu, "state") == "ok" else text(gpu, "state"),
        "vram_total_bytes": sum(totals) or None,
        "driver_version": text(gpu, "driver_version") or text(software, "driver_version"),
        "cuda_version": text(gpu, "cuda_version"),
        "cpu_model": text(cpu, "model"),
        "usable_cores": amount(cpu, "usable_cores"),
        "memory_total_bytes": amount(memory, "total_bytes"),
        "link_bits_per_second": max(speeds or [0]) or None,
        "product": text(platform, "product"),
        "virtualization": None if virtual == "none" else virtual,
        "container": container,
        "distribution": text(software, "distribution_name"),
    }
    return {key: value for key, value in found.items() if value is not None}


def _is_numeric(limit):
    return len(limit) == 1 and is_number(next(iter(limit.values())))


def describe_checks(policies, language):
    """report.json's `checks`: what all hosts' findings on a check have in common. The first policy by key that has the check speaks
    for it.
    """
    described = {}
    for key in sorted(policies):
        for name, check in policies[key]["checks"].items():
            if name in described:
                continue
            definition = DEFINITIONS.get(check["metric"] or "")
            described[name] = {
                "item": check["item"],
                "title": check["title"][language],
                "metric": check["metric"],
                "unit": definition["unit"] if definition else "",
                "advice": (check["advice"] or {}).get(language),
                "command": check["command"],
                "source": check["source"],
                "answers": check["answers"],
                "required": findings.required_text(check, language),
            }
            limits = {level: check[level] for level in ("warn", "fail") if check[level] and _is_numeric(check[level])}
            if limits and definition and definition["unit"] in ("fraction", "ratio"):
                described[name]["limits"] = limits
    return dict(sorted(described.items()))


def judge_run(hosts, policies, run, language):
    """The whole report dict of judged host entries (any iterable); the entries become part of it and are trimmed (findings.trim) in place.

    `policies`: {key: resolved policy}; `run`: run.json.
    """
    language = language if language in LANGUAGES else "en"
    entries = sorted(hosts, key=operator.itemgetter("name"))
    policies = {key: found for key, found in policies.items() if policy_module.is_resolved(found)}
    summary = {"hosts": len(entries)}
    summary.update((verdict, sum(1 for entry in entries if entry["verdict"] == verdict)) for verdict in verdict_module.VERDICTS)
    partial = bool(run.get("partial"))
    headline, found, unanswered = causes.find(entries, policies, language, partial)
    described = describe_checks(policies, language)
    for entry in entries:
        findings.trim(entry, described)
    return {
        "schema": SCHEMA,
        "run": {
            "id": run.get("id"),
            "started": run.get("started"),
            "finished": run.get("finished"),
            "language": language,
            "partial": partial,
            "policies": {key: causes.purpose_of(policies[key], language) for key in sorted(policies)},
            "policy_sha256": {key: policies[key].get("sha256") for key in sorted(policies)},
            "collection_version": run.get("collection_version"),
            "ansible_version": run.get("ansible_version"),
        },
        "summary": summary,
        "headline": headline,
        "causes": found,
        "unanswered": unanswered,
        "checks": described,
        "hosts": entries,
    }
