# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A stored run judged and rendered: what the judge and render actions, rejudging and the progress callback have in common. No Ansible."""

from __future__ import annotations

import dataclasses
import os

from . import causes, collecting, complaints, judge, messages, policy, policy_files, report, run_directory, run_pointer, run_reader, verdict_table, waivers
from .report import json_report

REPORT_FILE = "report.json"
# Kinds of errors that the audit's own settings cause, not the host; an invalid document may be of that kind too.
_OWN_KINDS = causes.SETTINGS_KINDS | {"invalid"}
# A report of 1,000 hosts is about 5 MB.
REPORT_LIMIT_BYTES = 1024 * 1024 * 1024


@dataclasses.dataclass(frozen=True)
class Judged:
    """A report, the folder it was written to, and what was wrong with the run itself (messages): policies, thresholds, stray files."""

    report: dict
    folder: str
    problems: tuple


def judge_stored(run, expected=(), overrides=None, finished=None, language=None, destination=None, folders=()):
    """Judge a run directory and write its report.json; gives `Judged`.

    `expected`: names to report besides those the run knows. `overrides`: any of policy, thresholds ([{"variable", "values"}]), workload,
    expected, waivers, laid over what the inputs say. `finished`: the time to record when the run ends now; without it nothing of the run
    is changed and its own time is the clock, so that the same run gives the same report. `destination`: the report's folder, default the
    run itself. Raises RunDirectoryError where the run can't be read or the report can't be written.
    """
    overrides = overrides or {}
    manifest, problems = run_reader.read_manifest(run)
    names = run_reader.host_names(run, expected)
    problems += ["%s: no document of a host, left out" % stray for stray in names.strays]
    if finished is not None:
        manifest.update(finished=finished, partial=False)
    manifest["expected"] = sorted(names.names)
    shown = dict(manifest)
    # An interrupted run has no end; the last thing that is known to have happened stands for it.
    shown["finished"] = manifest["finished"] or _last_moment(run, names.names, manifest)
    shown["partial"] = finished is None and bool(manifest["partial"]) and _any_missing(run, names.names)
    language = language or manifest.get("language") or "en"
    policies = _Policies(manifest["policies"], overrides, folders)
    _check_overrides(run, names.names, overrides, policies)
    hosts = [_judge_one(run, name, overrides, policies, shown["finished"], language) for name in names.names]
    shown["policies"] = policies.used
    if finished is not None:
        # With them the run can be judged again by the same rules, whatever the collection says by then.
        manifest["policies"] = {**manifest["policies"], **policies.used}
        run_directory.write_json(run_directory.manifest_path(run), manifest)
    whole = judge.judge_run(hosts, policies.used, shown, language)
    folder = destination or run
    try:
        os.makedirs(folder, exist_ok=True)
        json_report.write_all(os.path.join(folder, REPORT_FILE), whole)
    except OSError as error:
        raise run_directory.RunDirectoryError("cannot write %s in %s: %s" % (REPORT_FILE, folder, error.strerror or error)) from error
    return Judged(whole, folder, tuple(complaints.say(problem, language) for problem in problems + policies.errors()))


def _check_overrides(run, names, overrides, policies):
    """RunDirectoryError where the rules given now can't be used: a typo must not replace a good report by a report of errors."""
    if not {"policy", "thresholds", "waivers"} & set(overrides):
        return
    keys = {_policy_key(dict(run_reader.read_inputs(run, name), **overrides)) for name in names}
    for key in sorted(keys):
        found = policies.get(key)
        said = []
        if "error" in found:
            said = ["gpu_audit_policy: %s" % found["error"]] if "policy" in overrides else []
        else:
            try:
                policy.apply_thresholds(found["policy"], overrides.get("thresholds"))
            except policy.PolicyError as error:
                said = [str(error)]
            strangers = waivers.strangers(overrides.get("waivers"), found["policy"].get("checks", {}))
            said += ["gpu_audit_waivers: " + problem for problem in strangers]
        if said:
            raise run_directory.RunDirectoryError("%s. Nothing was judged, the report stays as it was" % said[0])


def _policy_key(inputs):
    return inputs["policy"] if isinstance(inputs["policy"], str) and inputs["policy"] else collecting.DEFAULT_POLICY


class _Policies:
    """The policies of a run by the key the inputs name them with: the run's own, or loaded now; each error is kept once."""

    def __init__(self, stored, overrides, folders):
        self._stored = {} if "policy" in overrides else stored
        self._folders = folders
        self._found = {}
        self.used = {}

    def get(self, key):
        """{"policy": ...} or {"error": text}."""
        if key not in self._found:
            stored = self._stored.get(key)
            self._found[key] = {"policy": stored} if isinstance(stored, dict) else policy_files.load(key, self._folders)
            if "policy" in self._found[key]:
                self.used[key] = self._found[key]["policy"]
        return self._found[key]

    def errors(self):
        return [found["error"] for found in self._found.values() if "error" in found]


def _judge_one(run, name, overrides, policies, now, language):
    """One entry under `hosts`; whatever is wrong with this host's inputs or policy makes it an error, never a gap."""
    inputs = run_reader.read_inputs(run, name)
    document = run_reader.read_host(run, name)
    lost = not os.path.lexists(run_directory.inputs_path(run, name))
    if lost and "policy" not in overrides and document is not None and document["facts"] is not None:
        # The defaults would give a verdict that nobody asked for.
        said = "is missing, so nobody knows by which rules this host is to be judged: put it back, or give gpu_audit_policy with -e"
        inputs["errors"] = [{"variable": _inputs_file(run, name), "message": said}]
    for field in ("policy", "workload", "expected", "waivers"):
        if field in overrides:
            inputs[field] = overrides[field]
    if "thresholds" in overrides:
        inputs["thresholds"] = merge_thresholds(inputs["thresholds"], overrides["thresholds"])
    key = _policy_key(inputs)
    inputs["policy"] = key
    found = policies.get(key)
    if "error" in found and document is not None and document["facts"] is not None:
        # Judging only knows that there is no policy; why there is none belongs into the report.
        document = run_directory.error_document(name, "invalid", found["error"], document.get("collected_at"))
    entry = judge.judge_host(document, inputs, found.get("policy"), now, language)
    if lost and entry["findings"]:
        entry["errors"].append({"kind": "inputs", "message": messages.text(language, "note.no_inputs", file=_inputs_file(run, name))})
    return entry


def _inputs_file(run, name):
    return os.path.join("inputs", os.path.basename(run_directory.inputs_path(run, name)))


def merge_thresholds(stored, given):
    """Threshold variables as an audit with these extra variables would have them: the same name replaced, all in name order."""
    merged = {str(entry.get("variable")): entry for entry in stored if isinstance(entry, dict)}
    merged.update((entry["variable"], entry) for entry in given)
    return [merged[key] for key in sorted(merged)]


def _any_missing(run, names):
    return any(not os.path.lexists(run_directory.host_path(run, name)) for name in names)


def _last_moment(run, names, manifest):
    moments = [(run_reader.read_host(run, name) or {}).get("collected_at") for name in names]
    return max([moment for moment in moments if isinstance(moment, str)], default=manifest.get("started"))


def read_report(folder):
    """The report in a run directory. RunDirectoryError where there is none or it can't be read."""
    path = os.path.join(folder, REPORT_FILE)
    try:
        found = run_directory.read_json(path, REPORT_LIMIT_BYTES, own=True)
    except run_directory.InvalidDocument as error:
        raise run_directory.RunDirectoryError("%s: %s. Judge the run first." % (path, error)) from None
    if not isinstance(found.get("hosts"), list):
        raise run_directory.RunDirectoryError("%s: not a report. Judge the run first." % path)
    return found


def render_stored(run, judged, language, formats, with_documents=True, hide_serials=False):
    """Write the formats of a judged run beside its report.json: {format: path}. RunDirectoryError where they can't be written."""
    documents = (lambda name: run_reader.read_host(run, name)) if with_documents else None
    inputs = (lambda name: run_reader.read_inputs(run, name)) if with_documents else None
    try:
        return report.render(judged.report, judged.folder, language, formats, documents, hide_serials, inputs)
    except OSError as error:
        raise run_directory.RunDirectoryError("cannot write the report in %s: %s" % (judged.folder, error.strerror or error)) from error


def keep(process_tmp, run, judged):
    """Leave a judgement for the render and gate actions of this process."""
    hosts, checks = judged.report["hosts"], judged.report["checks"]
    entries = {host["name"]: verdict_table.gate_entry(host, checks) for host in hosts}
    small = {"run_directory": run, "folder": judged.folder, "language": judged.report["run"].get("language") or "en"}
    run_pointer.keep_judged(process_tmp, small, entries)


def nothing_judged(report):
    """What is wrong when every single host failed for the audit's own settings (policy, thresholds, variables); else None."""
    messages = []
    for host in report["hosts"]:
        errors = host.get("errors") or []
        if host.get("verdict") != "error" or not errors or any(entry.get("kind") not in _OWN_KINDS for entry in errors):
            return None
        messages.append(errors[0].get("message"))
    return messages[0] if messages else None
