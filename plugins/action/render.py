# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Renders a judged run to every format and says the verdicts. Documentation: plugins/modules/render.py."""

from __future__ import annotations

import os

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import (
    ansible_edge,
    auditing,
    collecting,
    complaints,
    edge_action,
    run_directory,
    run_pointer,
    run_reader,
    verdict_table,
)


class ActionModule(edge_action.EdgeAction):
    """The render action. Of the host that it happens to run for it uses nothing."""

    _VALID_ARGS = frozenset(("run", "output_dir", "destination"))

    def answer(self, task_vars):
        """The verdict table as `msg`, shown also without -v; `latest` points to the run when this returns."""
        process = ansible_edge.process_tmp()
        begun = run_pointer.current(process)
        kept = run_pointer.kept_judged(process)
        if kept is None:
            run = ansible_edge.stored_run(self._templar, self._loader, task_vars, self._task.args)
            kept = {"run_directory": run, "folder": self._task.args.get("destination") or run}
        settings = ansible_edge.run_settings(self._templar, self._loader, task_vars, collecting.RUN_VARIABLES, begun)
        report = auditing.read_report(kept["folder"])
        language = report["run"].get("language") or "en"
        run, folder = kept["run_directory"], kept["folder"]
        written = auditing.render_stored(
            run, auditing.Judged(report, folder, ()), language, settings["gpu_audit_formats"],
            settings["gpu_audit_report_documents"], settings["gpu_audit_hide_serials"],
        )
        if begun and begun["run_directory"] == run or folder == run and run_reader.is_newer_than_latest(run):
            problem = run_directory.point_latest(os.path.dirname(run), run)
            if problem:
                self.warn(problem, task_vars)
        lines = verdict_table.lines(report, language, _columns(), verdict_table.paths(written, folder, language))
        result = {"msg": lines, "_ansible_verbose_always": True}
        unusable = auditing.nothing_judged(report)
        if unusable:
            said = complaints.say("no host could be judged: %s" % unusable, language)
            result.update(failed=True, msg=verdict_table.clean(said, 1000), table=lines)
        return result


def _columns():
    try:
        return max(60, int(os.environ.get("COLUMNS", "120")))
    except ValueError:
        return 120
