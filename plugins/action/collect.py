# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Collects one host in one task: its inputs before it is contacted, the packed facts, its document.

Documentation: plugins/modules/collect.py.
"""

from __future__ import annotations

import datetime
import os
import time

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import (
    alarm,
    ansible_edge,
    collecting,
    host_options,
    measurement_store,
    policy_files,
    preload,
    run_directory,
    run_pointer,
    variable_names,
)

MODULE = "trainops.gpu_audit.host_facts"
TRIES = 3

# Here and not in run(): Ansible's main process imports this file and never calls that.
preload.host_plugins()


class ActionModule(ActionBase):
    """The collect action. Takes no arguments: what it needs it reads from the host's variables, each templated by itself."""

    _VALID_ARGS = frozenset()
    _supports_check_mode = True
    _supports_async = False
    _requires_connection = True

    def run(self, tmp=None, task_vars=None):
        """The small result of one host; its document lies in the run directory when this returns, whatever happened."""
        result = super().run(tmp, task_vars)
        result.pop("invocation", None)
        task_vars = task_vars or {}
        name = ansible_edge.plain(task_vars["inventory_hostname"])
        begun = time.monotonic()
        self._language = "en"
        try:
            result.update(self._audit(name, task_vars))
        except (run_directory.RunDirectoryError, ValueError) as error:
            result.update(failed=True, status="error", msg=ansible_edge.said(error, self._language, 1000))
        result.update(changed=False, seconds=round(time.monotonic() - begun, 1))
        return result

    def _audit(self, name, task_vars):
        values, problems = self._variables(task_vars)
        run = self._begin(task_vars, problems)
        path = run["run_directory"]
        self._language = run["settings"]["gpu_audit_language"]
        kind = "template" if problems else "invalid"
        for text in variable_names.unknown(task_vars):
            self._warn(text)
        problems.update(collecting.shape_problems(values))
        problems.update(host_options.problems(values))
        problems.update(host_options.read_saved(values, ansible_edge.search_folders(self._loader, task_vars)))
        values["gpu_audit_workload"], wrong = collecting.workload_form(values.get("gpu_audit_workload"))
        problems.update(wrong)
        names = [key for key in ansible_edge.threshold_variables(task_vars) if key in values]
        thresholds = collecting.thresholds_list(values, names)
        values["gpu_audit_policy"], policy_problems = self._policy(values, thresholds, task_vars, path)
        problems = {**policy_problems, **problems}
        groups = ansible_edge.plain(task_vars.get("group_names") or [])
        inputs = collecting.host_inputs(name, groups, values, problems, thresholds)
        run_directory.write_json(run_directory.inputs_path(path, name), inputs)
        if problems:
            message = "; ".join("%(variable)s: %(message)s" % entry for entry in inputs["errors"])
            return self._failed(path, name, kind, message)
        return self._contact(name, task_vars, values, run)

    # -------------------------------------------------------- before the host

    def _variables(self, task_vars):
        wanted = [*collecting.INPUT_VARIABLES, *host_options.VARIABLES, *collecting.COLLECT_VARIABLES]
        names = wanted + ansible_edge.threshold_variables(task_vars)
        values, problems = ansible_edge.template_each(self._templar, task_vars, names)
        for key, default in {**collecting.INPUT_VARIABLES, **collecting.COLLECT_VARIABLES}.items():
            if values.get(key) in (None, ""):
                values[key] = default
        return values, problems

    def _begin(self, task_vars, problems):
        found = run_pointer.current(ansible_edge.process_tmp())
        own, unread = ansible_edge.template_each(self._templar, task_vars, ["gpu_audit_output_dir"])
        # This host's trouble; it is recorded in the run that lies where the others say, or in the default place.
        problems.update(unread)
        output_dir = own.get("gpu_audit_output_dir") or run_directory.DEFAULT_OUTPUT_DIR
        if found is None:
            settings, defaulted = ansible_edge.template_each(self._templar, task_vars, collecting.RUN_VARIABLES)
            given = {key: value for key, value in settings.items() if value not in (None, "")}
            self._language = given.get("gpu_audit_language")
            for variable, message in defaulted.items():
                self._warn("%s doesn't template, its default is used: %s" % (variable, message))
            settings = collecting.checked_settings({**collecting.RUN_VARIABLES, **given})
            expected = ansible_edge.plain(list(task_vars.get("ansible_play_hosts_all") or []))
            manifest = {"expected": sorted(expected), "language": settings["gpu_audit_language"], **ansible_edge.versions()}
            found = run_pointer.begin(ansible_edge.process_tmp(), str(output_dir), manifest, settings)
            if found.get("begun_here") and ansible_edge.collects_only():
                # Otherwise the last task says it, or the callback.
                self._display.display(collecting.run_line(settings["gpu_audit_language"], found["run_directory"]))
        if not unread and os.path.abspath(os.path.expanduser(str(output_dir))) != found["output_dir"]:
            self._warn("gpu_audit_output_dir differs between hosts; this run is kept in %s" % found["output_dir"])
        return found

    def _policy(self, values, thresholds, task_vars, run):
        """(key of the policy in run.json, {variable: message} of what is wrong with it or with this host's thresholds)."""
        wanted = values.get("gpu_audit_policy") or (values.get("gpu_audit_workload") or {}).get("kind") or collecting.DEFAULT_POLICY
        waived = values.get("gpu_audit_waivers")
        if not thresholds and not waived and policy_files.is_shipped(wanted) and not ansible_edge.collects_only():
            # Nothing in it can be wrong; whoever judges loads it and records it in run.json.
            return wanted, {}
        folders = ansible_edge.search_folders(self._loader, task_vars)
        loaded = run_pointer.policy_once(ansible_edge.process_tmp(), wanted, lambda: policy_files.load(wanted, folders), run)
        if "error" in loaded:
            return wanted, {"gpu_audit_policy": loaded["error"]}
        problems = collecting.strange_waivers(waived, loaded["policy"])
        if thresholds:
            def check():
                return policy_files.threshold_error(loaded["policy"], thresholds)

            text = run_pointer.once(ansible_edge.process_tmp(), "thresholds", [wanted, thresholds], check)
            if text is not None:
                variable, _colon, message = text.partition(": ")
                known = any(entry["variable"] == variable for entry in thresholds)
                problems.update({variable: message} if known else {"gpu_audit_policy": text})
        return wanted, problems

    # --------------------------------------------------------------- the host

    def _contact(self, name, task_vars, values, run):
        path = run["run_directory"]
        limit = float(values["gpu_audit_host_timeout"])
        try:
            with alarm.Alarm(0 if self._task.timeout else limit):
                answer = self._sent(values, task_vars)
        except AnsibleConnectionFailure as error:
            return self._unreachable(path, name, ansible_edge.words(error))
        except alarm.HostTimeout:
            return self._failed(path, name, "timeout", "no answer within gpu_audit_host_timeout (%d s)" % limit)
        except AnsibleError as error:
            return self._failed(path, name, "module_failed", ansible_edge.words(error))
        except BaseException as error:
            # The task's own timeout is no Exception either; it must leave a document and go on.
            if "timeout" in error.__class__.__name__.lower():
                self._record(path, name, "timeout", "no answer within the task's timeout (%s s)" % self._task.timeout)
            raise
        if answer.get("unreachable"):
            return self._unreachable(path, name, collecting.failure(answer)[1])
        if answer.get("failed") or "packed_facts" not in answer:
            return self._failed(path, name, *collecting.failure(answer))
        try:
            facts = collecting.unpack_facts(answer["packed_facts"])
        except run_directory.InvalidDocument as error:
            return self._failed(path, name, "invalid", str(error))
        return self._store(name, facts, values, run)

    def _sent(self, values, task_vars):
        """The module's answer. Sent again where ssh ended meanwhile: which of two words comes then is a race, and only one says why."""
        def send():
            return self._execute_module(module_name=MODULE, module_args=self._module_args(values), task_vars=task_vars)

        for _again in range(TRIES - 1):
            try:
                return send()
            except AnsibleConnectionFailure as error:
                if not collecting.is_cut(ansible_edge.words(error)):
                    raise
        return send()

    def _store(self, name, facts, values, run):
        measurements, broken = measurement_store.read_all(run["output_dir"], name)
        for entry in broken:
            if entry["file"] is None:
                self._warn("the measurements of %s are left out: %s" % (name, entry["message"]))
            else:
                self._warn("measurement %s of %s is left out: %s" % (entry["file"], name, entry["message"]))
        present = datetime.datetime.now(datetime.timezone.utc)
        age = float(values["gpu_audit_measurement_max_age_seconds"])
        current, stale = measurement_store.select(measurements, facts, present, age)
        current, stale, left_out = measurement_store.within(current, stale, facts)
        for measured in left_out:
            self._warn("%s: a measurement is left out, the host's document would be too large to be read: %s" % (name, measured))
        document = collecting.host_document(name, facts, current, stale, run_directory.timestamp(present))
        run_directory.write_json(run_directory.host_path(run["run_directory"], name), document)
        return {"status": "collected", "run_directory": run["run_directory"], **collecting.gpu_summary(facts)}

    def _module_args(self, values):
        arguments = {"packed": True, **host_options.module_options(values)}
        paths = collecting.storage_paths(values["gpu_audit_workload"])
        if paths:
            arguments["paths"] = paths
        return arguments

    def _warn(self, sentence):
        self._display.warning(ansible_edge.said(sentence, self._language, 1000))

    def _record(self, path, name, kind, message):
        document = run_directory.error_document(name, kind, message, run_directory.now())
        run_directory.write_json(run_directory.host_path(path, name), document)

    def _failed(self, path, name, kind, message):
        self._record(path, name, kind, message)
        # The document keeps the English: a stored run may be judged in either language.
        said = ansible_edge.said(message, self._language, 600)
        return {"failed": True, "status": "error", "kind": kind, "msg": said, "run_directory": path}

    def _unreachable(self, path, name, message):
        # Returned, not raised: Ansible prints the words of an exception as they are, and they may hold whatever the host's banner does.
        self._record(path, name, "unreachable", message)
        return {"unreachable": True, "status": "unreachable", "msg": ansible_edge.said(message, "en", 600), "run_directory": path}
