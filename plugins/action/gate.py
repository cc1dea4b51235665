# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Fails a host whose verdict is below the gate. Contacts nothing. Documentation: plugins/modules/gate.py."""

from __future__ import annotations

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import (
    ansible_edge,
    auditing,
    edge_action,
    run_pointer,
    verdict,
    verdict_table,
)


class ActionModule(edge_action.EdgeAction):
    """The gate action. Its level is the host's own `gpu_audit_gate`, so that a group may have another."""

    _VALID_ARGS = frozenset(("level", "run", "output_dir"))

    def answer(self, task_vars):
        """Failed exactly when the host is below its gate; the message says verdict, findings and remedy."""
        name = ansible_edge.plain(task_vars["inventory_hostname"])
        level = self._level(task_vars)
        process = ansible_edge.process_tmp()
        kept = run_pointer.kept_judged(process)
        if kept is None:
            with run_pointer.locked(process):
                kept = run_pointer.kept_judged(process)
                if kept is None:
                    run = ansible_edge.stored_run(self._templar, self._loader, task_vars, self._task.args)
                    self.warn("nothing was judged in this process; the gate goes by the stored run %s" % run, task_vars)
                    auditing.keep(process, run, auditing.Judged(auditing.read_report(run), run, ()))
                    kept = run_pointer.kept_judged(process)
        entry = run_pointer.kept_entry(process, name)
        refused, message = verdict_table.gate(name, entry, level, kept["language"])
        return {"failed": refused, "msg": message, "verdict": entry["verdict"] if entry else "not_tried", "gate": level,
                "run_directory": kept["run_directory"]}

    def _level(self, task_vars):
        level = self._task.args.get("level")
        if not level and "gpu_audit_gate" in task_vars:
            try:
                level = ansible_edge.template_one(self._templar, task_vars["gpu_audit_gate"])
            except ValueError as error:
                raise ValueError("gpu_audit_gate doesn't template: %s" % error) from error
        level = level or "fail"
        if not isinstance(level, str) or level not in verdict.GATES:
            raise ValueError("gpu_audit_gate: %r is no gate; use one of %s" % (level, ", ".join(verdict.GATES)))
        return level
