# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the collection's action plugins have in common: a result that changes nothing, one line for an error, the run's language."""

from __future__ import annotations

from ansible.plugins.action import ActionBase

from . import ansible_edge, run_directory, run_pointer

LANGUAGE = "gpu_audit_language"


class EdgeAction(ActionBase):
    """A subclass has `answer(task_vars)`, the rest of the result; a RunDirectoryError or ValueError in it fails the task with its words."""

    _supports_check_mode = True
    _supports_async = False
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        """The result: never `changed` unless `answer` says so."""
        result = super().run(tmp, task_vars)
        result.pop("invocation", None)
        result["changed"] = False
        task_vars = task_vars or {}
        try:
            result.update(self.answer(task_vars))
        except (run_directory.RunDirectoryError, ValueError) as error:
            result.update(self.failure(error, task_vars))
        return result

    def answer(self, task_vars):
        """What the task's result says."""
        raise NotImplementedError

    def language(self, task_vars):
        """What -e says, the run's that was begun or judged in this process, the variable of the host at hand, English: the first there is."""
        process = ansible_edge.process_tmp()
        begun = run_pointer.current(process)
        if begun is None:
            own = (run_pointer.kept_judged(process) or {}).get("language")
            own = own or ansible_edge.template_each(self._templar, task_vars, [LANGUAGE])[0].get(LANGUAGE)
            begun = {"settings": {LANGUAGE: own}}
        return "zh" if ansible_edge.run_language(self._loader, begun) == "zh" else "en"

    def failure(self, error, task_vars):
        """The result of a task that an error ended."""
        return {"failed": True, "msg": ansible_edge.said(error, self.language(task_vars), 1000)}

    def warn(self, sentence, task_vars):
        """A warning, an English sentence, in the run's language."""
        self._display.warning(ansible_edge.said(sentence, self.language(task_vars), 1000))
