# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Estimates the VRAM of a job and shows it as a table. Contacts nothing. Documentation: plugins/modules/plan.py."""

from __future__ import annotations

import json
import os
import shutil

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import ansible_edge, edge_action, plan, variable_names
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.report.files import write_text
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.verdict_table import clean
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.words import LANGUAGES


class ActionModule(edge_action.EdgeAction):
    """The plan action."""

    _VALID_ARGS = frozenset(("model", "workload", "language", "file"))

    def language(self, task_vars):
        """The task's own, where it is one."""
        return ansible_edge.plain(self._task.args.get("language")) or super().language(task_vars)

    def failure(self, error, task_vars):
        """Everything that is wrong with the input, however much that is."""
        return {"failed": True, "msg": clean(plan.complaint(error, self.language(task_vars)), 20000)}

    def answer(self, task_vars):
        """The plan, its headline as `msg`; the table goes to the screen."""
        for sentence in variable_names.unknown(task_vars):
            self.warn(sentence, task_vars)
        args = {name: ansible_edge.plain(value) for name, value in self._task.args.items()}
        language = args.get("language") or "en"
        if language not in LANGUAGES:
            raise ValueError("gpu_audit_language: %r is no language; use one of %s" % (language, ", ".join(LANGUAGES)))
        if not args.get("model"):
            raise ValueError(
                "gpu_audit_model is missing: describe the model (docs/vram-fields.md has every field, docs/vram.md an example) "
                "and give it with -e @model.yml"
            )
        made = plan.make(args["model"], args.get("workload") or None, language)
        self._display.display("\n".join(plan.lines(made, language, max(80, shutil.get_terminal_size((120, 24)).columns))))
        result = {"msg": made["headline"], "plan": made}
        if args.get("file"):
            texts = {"json": json.dumps(made, indent=2, ensure_ascii=False) + "\n", "md": plan.markdown(made, language)}
            result["files"], result["changed"] = _write(args["file"], texts, self._task.check_mode)
        return result


def _write(wanted, texts, check_mode):
    """({format: path}, whether one changed): plan.json and plan.md beside each other, under the name that was asked for."""
    path = os.path.abspath(os.path.expanduser(wanted))
    if os.path.isdir(path) or wanted.endswith("/"):
        path = os.path.join(path, "plan")
    stem, extension = os.path.splitext(path)
    if extension not in (".json", ".md"):
        stem = path
    if not os.path.isdir(os.path.dirname(stem)):
        raise ValueError("gpu_audit_plan_file: there is no folder %s; make it first" % os.path.dirname(stem))
    paths, changed = {kind: "%s.%s" % (stem, kind) for kind in texts}, False
    for kind, text in texts.items():
        if _content(paths[kind]) == text:
            continue
        changed = True
        if not check_mode:
            _written(paths[kind], text)
    return paths, changed


def _written(path, text):
    try:
        write_text(path, [text])
    except OSError as error:
        raise ValueError("gpu_audit_plan_file: cannot write %s: %s" % (path, error.strerror or error)) from error


def _content(path):
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            return stream.read()
    except (OSError, UnicodeDecodeError):
        return None
