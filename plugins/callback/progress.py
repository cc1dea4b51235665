# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One line a host as it finishes, a bar on a terminal, the verdict table at the end; a partial report after Ctrl-C."""

from __future__ import annotations

DOCUMENTATION = r"""
name: progress
type: stdout
short_description: Shows an audit as it goes
version_added: 0.1.0
description:
  - Prints a line for each host when it is collected, keeps a bar below them on a terminal, and ends with the verdict table and the
    path of the report.
  - Of other tasks it prints failures, unreachable hosts and warnings, and what C(ansible.builtin.debug) says; nothing else.
  - When a run is interrupted before it was judged, it writes the report of what there is, marked partial.
  - Turn it on with C(stdout_callback = trainops.gpu_audit.progress) in ansible.cfg or with E(ANSIBLE_STDOUT_CALLBACK).
  - Colour and the bar appear on a terminal only; C(NO_COLOR) and Ansible's own switches turn colour off.
options: {}
author:
  - The trainops.gpu_audit authors (@trainops)
"""

import atexit
import os
import shutil
import signal
import sys
import time

from ansible import constants
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.callback import CallbackBase

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import (
    ansible_edge,
    auditing,
    collecting,
    complaints,
    progress_lines,
    run_directory,
    run_pointer,
    verdict_table,
    words,
)

COLLECT = "trainops.gpu_audit.collect"
JUDGE = "trainops.gpu_audit.judge"
RENDER = "trainops.gpu_audit.render"
GATE = "trainops.gpu_audit.gate"
_COLOURS = {"good": "COLOR_OK", "bad": "COLOR_ERROR", "lost": "COLOR_UNREACHABLE", "warn": "COLOR_WARN", "plain": None}


class CallbackModule(CallbackBase):
    """The stdout callback `trainops.gpu_audit.progress`."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "trainops.gpu_audit.progress"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._process = os.getpid()
        self._terminal = sys.stdout.isatty()
        self._bar = ""
        self._total = 0
        self._done = {}
        self._started = {}
        self._lost = {}
        self._play_names = ()
        self._table = None
        self._judged = False
        self._ended = False
        self._begun_at = time.monotonic()
        self._language = "en"
        atexit.register(self._at_exit)

    # ------------------------------------------------------------- printing

    def _say(self, line, kind="plain"):
        self._wipe()
        colour = getattr(constants, _COLOURS[kind]) if _COLOURS[kind] and self._terminal and not os.environ.get("NO_COLOR") else None
        self._display.display(line, color=colour)
        self._draw()

    def _wipe(self):
        if self._bar:
            sys.stdout.write("\r\033[K")
            sys.stdout.flush()

    def _draw(self):
        if self._terminal and self._bar:
            sys.stdout.write("\r" + self._bar)
            sys.stdout.flush()

    def _set_bar(self, line):
        self._wipe()
        self._bar = line if self._terminal else ""
        self._draw()

    # --------------------------------------------------------------- events

    def v2_playbook_on_play_start(self, play):
        """How many hosts there are to wait for."""
        self._play_names = _names_of(play)
        self._language = self._run_language()

    def v2_playbook_on_task_start(self, task, is_conditional):
        """A bar while hosts are collected, none for other tasks."""
        del is_conditional
        if _action(task) == COLLECT:
            self._total = max(self._total, len(self._play_names))
            self._update_bar()
        else:
            self._set_bar("")

    def v2_runner_on_start(self, host, task):
        """When a host was begun: its line says how long it took, also when it never answered."""
        if _action(task) == COLLECT:
            self._started[host.get_name()] = time.monotonic()

    def v2_runner_on_ok(self, result):
        """A host is collected, the report is written, or a user's own task has something to say."""
        task, data = _task(result), _data(result)
        action = _action(task)
        if action == COLLECT:
            self._host_line(result, data, "collected")
        elif action == RENDER and isinstance(data.get("msg"), list):
            self._table = data["msg"]
        elif action == JUDGE:
            self._judged = True
        elif action in ("debug", "ansible.builtin.debug") or (data.get("_ansible_verbose_always") and action != GATE):
            self._say(progress_lines.spoken(_host(result), data.get("msg")) or "%s: %s" % (_host(result), self._dump_results(data)))
        self._warnings(data)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        """A failure: of collecting as the host's line, of anything else with the task's name."""
        task, data = _task(result), _data(result)
        action = _action(task)
        if action == COLLECT:
            self._lost[_host(result)] = {"failed": True, "msg": data.get("msg")}
            self._host_line(result, data, "error")
        elif action == GATE:
            self._say(progress_lines.message(data), "bad")
        else:
            if action == RENDER and isinstance(data.get("table"), list):
                self._table = data["table"]
            kind = "warn" if ignore_errors else "bad"
            self._say(progress_lines.other("failed", _host(result), _told_name(task, data), data, ignore_errors, self._language), kind)
        self._warnings(data)

    def v2_runner_on_unreachable(self, result):
        """A host that can't be reached."""
        task, data = _task(result), _data(result)
        if _action(task) == COLLECT:
            self._lost[_host(result)] = {"unreachable": True, "msg": data.get("msg")}
            self._host_line(result, data, "unreachable")
        else:
            self._say(progress_lines.other("unreachable", _host(result), _told_name(task, data), data, False, self._language), "lost")

    def v2_runner_item_on_failed(self, result):
        """A failed item of a user's own loop."""
        name = _told_name(_task(result), _data(result))
        self._say(progress_lines.other("failed", _host(result), name, _data(result), False, self._language), "bad")

    def v2_playbook_on_no_hosts_matched(self):
        """Nothing to do is worth a line."""
        self._say(verdict_table.text(self._language, "no_hosts"), "warn")

    def v2_playbook_on_stats(self, stats):
        """The verdict table."""
        del stats
        self._ended = True
        self._set_bar("")
        if self._table:
            self._say("")
            for line in self._table:
                self._say(line)

    # -------------------------------------------------------------- helpers

    def _host_line(self, result, data, status):
        name = _host(result)
        seconds = data.get("seconds")
        if not isinstance(seconds, (int, float)):
            seconds = time.monotonic() - self._started.get(name, time.monotonic())
        if not self._done:
            self._language = self._run_language()
        self._done[name] = status
        line, kind = progress_lines.host_line(name, status, data, seconds, self._name_columns(), self._language)
        self._bar = self._bar_now() if self._terminal else ""
        self._say(line, kind)

    def _name_columns(self):
        return min(32, max([verdict_table.width(name) for name in self._play_names], default=12))

    def _update_bar(self):
        self._set_bar(self._bar_now())

    def _bar_now(self):
        return progress_lines.progress_bar(self._done, self._total, time.monotonic() - self._begun_at, self._width(), self._language)

    @staticmethod
    def _width():
        return shutil.get_terminal_size((100, 24)).columns

    def _warnings(self, data):
        for warning in data.get("warnings") or []:
            self._wipe()
            ansible_edge.warn(self._display, warning)
            self._draw()

    def _run_language(self):
        """The run's language once it is begun, which the first host's variables decide; until then what -e says."""
        begun = run_pointer.current(ansible_edge.process_tmp())
        found = begun["settings"]["gpu_audit_language"] if begun else ansible_edge.extra_vars(DataLoader()).get("gpu_audit_language")
        return found if found in words.LANGUAGES else "en"

    def _at_exit(self):
        """Interrupted before judging: write the report of what there is. Forked workers inherit this and must not run it."""
        if os.getpid() != self._process or self._judged or self._ended or not self._done:
            return
        # Ctrl-C pressed again must not take away the report either; it takes a few seconds.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._set_bar("")
        try:
            begun = run_pointer.current(ansible_edge.process_tmp())
            if begun is None:
                return
            lines = _partial_report(begun, self._play_names, self._lost)
        except (run_directory.RunDirectoryError, run_directory.InvalidDocument, OSError, ValueError) as error:
            lines = [complaints.say(error, self._language)]
        for line in [""] + lines:
            self._display.display(line)


def _partial_report(begun, names, lost):
    """Judge and render an interrupted run; the lines to print."""
    run, settings = begun["run_directory"], begun["settings"]
    for name, result in lost.items():
        if not os.path.lexists(run_directory.host_path(run, name)):
            run_directory.write_new_json(run_directory.host_path(run, name), collecting.lost_document(name, result, run_directory.now()))
    judged = auditing.judge_stored(run, names, language=settings["gpu_audit_language"])
    language = judged.report["run"].get("language") or "en"
    written = auditing.render_stored(
        run, judged, language, settings["gpu_audit_formats"], settings["gpu_audit_report_documents"], settings["gpu_audit_hide_serials"],
    )
    run_directory.point_latest(begun["output_dir"], run)
    head = [verdict_table.text(language, "interrupted"), ""]
    return head + verdict_table.lines(judged.report, language, 120, verdict_table.paths(written, judged.folder, language))


def _data(result):
    """The result's dictionary; the attribute is public from 2.19 on."""
    return getattr(result, "result", None) or result._result  # pylint: disable=protected-access


def _task(result):
    return getattr(result, "task", None) or result._task  # pylint: disable=protected-access


def _host(result):
    return (getattr(result, "host", None) or result._host).get_name()  # pylint: disable=protected-access


def _action(task):
    return getattr(task, "resolved_action", None) or task.action


def _told_name(task, data):
    """A task's name where its message needs one; None for those of ours that fail with a sentence of their own."""
    action = _action(task)
    short = action.rpartition(".")[2]
    # wait_for says the sentence that it was given only after it has waited.
    has_sentence = short in ("assert", "fail", "validate_argument_spec") or short == "wait_for" and "elapsed" in data
    sentence = ansible_edge.own_role(task) and has_sentence
    return None if sentence or action.startswith("trainops.gpu_audit.") else task.get_name()


def _names_of(play):
    """The hosts of a play; empty where this Ansible tells otherwise."""
    try:
        return tuple(play.get_variable_manager().get_vars(play=play)["ansible_play_hosts_all"])
    except (AttributeError, KeyError, TypeError):
        return ()
