# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Judges every host of a run once, on the controller, from the run directory alone. Documentation: plugins/modules/judge.py."""

from __future__ import annotations

import os

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import (
    ansible_edge,
    auditing,
    collecting,
    edge_action,
    run_directory,
    run_pointer,
    run_reader,
    variable_names,
    workload,
)

REGISTERED = "gpu_audit_collected"


class ActionModule(edge_action.EdgeAction):
    """The judge action. Of the host that it happens to run for it uses nothing."""

    _VALID_ARGS = frozenset(("run", "output_dir", "destination"))

    def answer(self, task_vars):
        """The counts and where the report is; the report itself stays on disk."""
        process = ansible_edge.process_tmp()
        wanted = self._task.args.get("run")
        begun = None if wanted else self._begun(process, task_vars)
        settings = ansible_edge.run_settings(self._templar, self._loader, task_vars, collecting.RUN_VARIABLES, begun)
        if begun:
            run, expected, finished, overrides, language = (
                begun["run_directory"], ansible_edge.play_hosts(task_vars), run_directory.now(), {}, settings["gpu_audit_language"])
            self._record_lost(run, expected, task_vars)
        else:
            run, expected, finished = self._stored(task_vars), (), None
            overrides = self._overrides(task_vars)
            language = ansible_edge.extra_vars(self._loader).get("gpu_audit_language")
        destination = self._task.args.get("destination")
        judged = auditing.judge_stored(
            run, expected, overrides, finished, language, os.path.abspath(os.path.expanduser(destination)) if destination else None,
            ansible_edge.search_folders(self._loader, task_vars),
        )
        for problem in judged.problems:
            ansible_edge.warn(self._display, problem)
        auditing.keep(process, run, judged)
        return {
            "run_directory": run,
            "report": os.path.join(judged.folder, auditing.REPORT_FILE),
            "summary": judged.report["summary"],
            "headline": judged.report["headline"],
        }

    def _begun(self, process, task_vars):
        """This process's run; begun here when collecting was tried on hosts but could begin on none of them; None when it wasn't tried."""
        begun = run_pointer.current(process)
        hosts = ansible_edge.play_hosts(task_vars)
        if begun is None and ansible_edge.registered(task_vars, hosts, REGISTERED):
            settings = ansible_edge.run_settings(self._templar, self._loader, task_vars, collecting.RUN_VARIABLES, None)
            manifest = {"expected": sorted(hosts), "language": settings["gpu_audit_language"], **ansible_edge.versions()}
            begun = run_pointer.begin(process, ansible_edge.output_dir(self._templar, self._loader, task_vars), manifest, settings)
        return begun

    def _stored(self, task_vars):
        """The run to judge again: the one asked for; where that is the latest, an interrupted one that is newer and has no report yet."""
        run = ansible_edge.stored_run(self._templar, self._loader, task_vars, self._task.args)
        newer = run_reader.interrupted_run(run) if self._task.args.get("run") in (None, "", "latest") else None
        if newer:
            self.warn(
                "the last audit was interrupted before its report: judging %s. For the one before: gpu_audit_run=%s"
                % (newer, os.path.basename(run)),
                task_vars,
            )
        return newer or run

    def _record_lost(self, run, names, task_vars):
        """A document for each host that collecting could write none for: its connection didn't template, an earlier task lost it."""
        missing = [name for name in names if not os.path.lexists(run_directory.host_path(run, name))]
        results = ansible_edge.registered(task_vars, missing, REGISTERED)
        active = set(ansible_edge.plain(list(task_vars.get("ansible_play_hosts") or [])))
        for name in missing:
            result = results.get(name)
            if result is None and name not in active:
                result = {"failed": True, "msg": collecting.LOST_EARLIER}
            document = collecting.lost_document(name, result or {}, run_directory.now())
            if document is None:
                continue
            run_directory.write_new_json(run_directory.host_path(run, name), document)
            groups = ansible_edge.registered_groups(task_vars, name)
            run_directory.write_new_json(run_directory.inputs_path(run, name), collecting.host_inputs(name, groups, {}, {}, []))

    def _overrides(self, task_vars):
        """What -e says otherwise than the stored inputs."""
        extra = ansible_edge.extra_vars(self._loader)
        for text in variable_names.unknown(extra):
            self.warn(text, task_vars)
        thresholds = ansible_edge.threshold_variables(extra)
        values, problems = ansible_edge.template_each(self._templar, extra, [*collecting.INPUT_VARIABLES, *thresholds])
        problems.update(collecting.shape_problems(values))
        form, wrong = workload.normalise(values.get("gpu_audit_workload"))
        if problems or wrong:
            raise ValueError("; ".join(["%s: %s" % item for item in sorted(problems.items())] + wrong))
        overrides = {field: values["gpu_audit_" + field] for field in ("policy", "expected", "waivers") if values.get("gpu_audit_" + field)}
        if form:
            overrides["workload"] = form
        given = collecting.thresholds_list(values, thresholds)
        if given:
            overrides["thresholds"] = given
        return overrides
