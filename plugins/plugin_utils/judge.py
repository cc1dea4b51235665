# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Judging: a host document, its inputs and a policy in, an entry of report.json out; then all entries into the report.

Pure and deterministic: the same run gives the same report, byte for byte. The clock is the run's `finished`.
"""

from __future__ import annotations

import operator

from . import causes, documents, findings, messages, metrics, policy as policy_module, verdict as verdict_module, workload
from .metrics.measurements import SILENT
from .metrics.registry import DEFINITIONS, amount, mapping, maps, text

SCHEMA = "trainops.gpu_audit/report/1"
EXPECTED_FIELDS = ("gpu_count", "gpu_name", "nvlinks", "pcie_width")
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
    language = language if language in messages.LANGUAGES else "en"
    inputs = inputs if isinstance(inputs, dict) else {}
    form, form_problems = workload.normalise(inputs.get("workload"))
    entry = _empty_entry(document, inputs, policy, form)
    entry["errors"] = [{"kind": "workload", "message": problem} for problem in form_problems]
    if _settle_undocumented(entry, document, policy, status_hint, language):
        return entry
    entry["hardware"] = hardware(document["facts"])
    problems = [error for error in maps(inputs, "errors") if text(error, "message")]
    if problems:
        entry["errors"] += [
            {"kind": "template", "message": "%s: %s" % (text(error, "variable") or "?", text(error, "message"))} for error in problems
        ]
        return _settle(entry, "error", messages.text(language, "reason.inputs", error=entry["errors"][-1]["message"]))
    if policy is None:
        return _settle(entry, "error", messages.text(language, "reason.no_policy", policy=entry["policy"]))
    try:
        policy = policy_module.apply_thresholds(policy, inputs.get("thresholds"))
    except policy_module.PolicyError as error:
        entry["errors"].append({"kind": "policy", "message": str(error)})
        return _settle(entry, "error", messages.text(language, "reason.inputs", error=str(error)))
    expected, expected_problems = _expected(inputs.get("expected"))
    entry["errors"] += expected_problems + _unknown_waivers(inputs.get("waivers"), policy)
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
        "checklist": {item: "unknown" for item in policy_module.CHECKLIST},
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


def _settle_undocumented(entry, document, policy, status_hint, language):
    """Gives the verdict of a host without judgeable facts; True when it did."""
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
    errors = documents.errors_of(document)
    entry["errors"] += errors
    if document.get("facts"):
        return False
    first = next((error for error in errors if error["kind"] == "unreachable"), errors[0] if errors else None)
    if first is None:
        first = {
            "kind": status_hint if status_hint in ("unreachable", "not_tried") else "error",
            "message": messages.text(language, "reason.silent"),
        }
    kind = first["kind"] if first["kind"] in ("unreachable", "not_tried") else "error"
    said = first["message"] or messages.text(language, "reason.silent")
    _settle(entry, kind, messages.text(language, "reason." + kind, **({} if kind == "not_tried" else {"error": said})))
    return True


def _expected(value):
    """(what is expected with figures as numbers, problems): inventories in INI form give figures as text."""
    expected, problems = {}, []
    if not isinstance(value, dict):
        return expected, [] if value is None else [{"kind": "expected", "message": "gpu_audit_expected must be a map"}]
    for key in sorted(value, key=str):
        entry = value[key]
        if key not in EXPECTED_FIELDS:
            message = "gpu_audit_expected.%s is not known%s" % (str(key)[:80], policy_module.nearest(key, EXPECTED_FIELDS))
            problems.append({"kind": "expected", "message": message})
        elif entry is not None and key != "gpu_name":
            if isinstance(entry, str) and entry.strip().isdecimal() and len(entry) < 9:
                entry = int(entry)
            if type(entry) is not int or not 0 <= entry < 2**31:
                message = "gpu_audit_expected.%s must be a whole number, not %s" % (key, repr(value[key])[:80])
                problems.append({"kind": "expected", "message": message})
            else:
                expected[key] = entry
        elif isinstance(entry, str) and entry.strip():
            expected[key] = entry
        elif entry is not None and entry != "":
            problems.append({"kind": "expected", "message": "gpu_audit_expected.gpu_name must be text, not %s" % repr(entry)[:80]})
    return expected, problems


def _unknown_waivers(waived, policy):
    """Waivers of checks that the policy doesn't have: a typo there would hide nothing, and nobody would know why."""
    if not isinstance(waived, dict):
        return []
    return [
        {"kind": "waiver", "message": "waiver for %s: no such check%s" % (str(name)[:80], policy_module.nearest(name, policy["checks"]))}
        for name in sorted(waived, key=str)
        if name not in policy["checks"]
    ]


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
    statuses = verdict_module.checklist(result, items)
    decided = verdict_module.decide(result, statuses, items)
    result.sort(key=lambda finding: (_RANK[finding["status"]], finding["check"]))
    entry["checklist"] = statuses
    entry["findings"] = result
    entry["unanswered"] = [item for item, status in statuses.items() if status == "unknown"]
    used = {check["metric"] for check in checks.values() if check["enabled"]}
    entry["metrics"] = {
        name: findings.rounded(found["value"])
        for name, found in sorted(derived["values"].items())
        if name in used or name in REPORT_ALWAYS or name in REPORT_WHEN_SOME and found["value"] or _beside(name, derived)
    }
    entry["absent"] = {
        name: messages.text(language, found["reason"], **found["params"])
        for name, found in sorted(derived["absent"].items())
        if (name in used or name in REPORT_ALWAYS) and found["reason"] not in _NOT_ASKED
    }
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
    return dict(sorted(described.items()))


def judge_run(hosts, policies, run, language):
    """The whole report dict of judged host entries (any iterable); the entries become part of it and are trimmed (findings.trim) in place.

    `policies`: {key: resolved policy}; `run`: run.json.
    """
    language = language if language in messages.LANGUAGES else "en"
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
