# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action of every measuring module: announce, run it on the host as a job, wait through lost connections, keep the result.

A measuring module `x` needs plugins/modules/x.py (in check mode it gives `plan`: {"seconds", "bytes_written", "bytes_read", "notes"}; else
`measurement`, `machine_id`, `gpu_uuids`) and plugins/action/x.py: a subclass that sets MODULE.
"""

from __future__ import annotations

import contextlib
import signal
import time

from ansible.errors import AnsibleConnectionFailure, AnsibleError

from . import (
    alarm,
    ansible_edge,
    collecting,
    complaints,
    job_look,
    measuring,
    measuring_end,
    measuring_texts,
    option_names,
    option_sizes,
    run_directory,
    run_pointer,
    secret_options,
    variable_names,
)
from .edge_action import LANGUAGE, EdgeAction
from .verdict_table import clean
from .words import LANGUAGES

# A busy host may take long to start Python.
POLL_SECONDS = 60
# For telling a host after Ctrl-C that it is to end a test.
END_SECONDS = 20
GRACE_VARIABLE = "gpu_audit_measurement_grace_seconds"
FORM = "gpu_audit_workload"
# When a job that says nothing is looked for on its host, first and then again.
LOOK_SECONDS = (10, 30)


class MeasuringAction(EdgeAction):
    """Runs MODULE and writes its measurement below gpu_audit_output_dir. All task arguments are the module's own."""

    MODULE = ""
    # Numbers of the result that the task's own result repeats, for a debug line or a condition.
    SUMMARY = ()
    # Options that may be text such as "150 KB", as in the workload form, with the least that can be meant: the module gets bytes.
    SIZES = {}
    _spoken = "en"
    # The workload form, sizes and numbers as such; it is no part of the task's arguments.
    _form = {}

    _requires_connection = True

    def answer(self, task_vars):
        """A small result: where the measurement lies and its main figures. Never `changed`: what was written on the host is gone again."""
        name = ansible_edge.plain(task_vars["inventory_hostname"])
        self._spoken = self._checked_language(task_vars)
        for sentence in variable_names.unknown(task_vars):
            self.warn(sentence, task_vars)
        lost = option_sizes.lost_unit(task_vars)
        if lost:
            raise ValueError(lost)
        # An audit refuses a wrong form; a test that went by it would have gone to a server in vain.
        self._form = collecting.checked_form(*ansible_edge.template_each(self._templar, task_vars, [FORM]))
        self._size_options()
        arguments = ansible_edge.plain(dict(self._task.args))
        target = measuring.target_of(arguments)
        begun = run_pointer.current(ansible_edge.process_tmp())
        output_dir = begun["output_dir"] if begun else ansible_edge.output_dir(self._templar, self._loader, task_vars)
        grace = self._grace(task_vars)
        # Before anything runs on the host: what can't be kept here would run there in vain.
        measuring.try_keeping(output_dir, name, self.MODULE, arguments, self._task.check_mode)
        planned = self._planned(task_vars)
        if planned.get("failed") or planned.get("skipped"):
            # A refusal says nothing about the machine: it is told, and no measurement.
            return self._refused(collecting.failure(planned)[1])
        plan = measuring.plan_of(planned)
        self._say(measuring.announcement(name, self.MODULE, target, plan, self._spoken))
        if self._task.check_mode:
            return {"msg": self._text("nothing_started"), "plan": plan, "target": target}
        limit = measuring.time_limit(plan["seconds"])
        taken = self._earlier(name, output_dir, arguments, planned, grace, task_vars)
        if taken is not None:
            return taken
        note = self._start(limit, plan["seconds"], task_vars)
        if "jid" not in note:
            return note
        try:
            measuring.remember(output_dir, name, self.MODULE, arguments, note)
        except run_directory.RunDirectoryError as error:
            self.warn("%s: the job runs, but no later run can take its result over: %s" % (name, error), task_vars)
        return self._fetched(name, output_dir, arguments, note, planned, limit, grace, task_vars)

    def _checked_language(self, task_vars):
        """The language to speak; ValueError where the variable is none, which its role can't say in words of ours."""
        given = ansible_edge.template_each(self._templar, task_vars, [LANGUAGE])[0].get(LANGUAGE)
        if given and given not in LANGUAGES:
            raise ValueError("%s: %r is none of %s" % (LANGUAGE, given, ", ".join(LANGUAGES)))
        return self.language(task_vars)

    def _size_options(self):
        """SIZES as bytes; ValueError for text that is no size, and for what is too little."""
        for key, least in self.SIZES.items():
            if self._task.args.get(key) is None:
                continue
            size = option_sizes.as_bytes(key, ansible_edge.plain(self._task.args[key]), least)
            if size is None:
                del self._task.args[key]
            else:
                self._task.args[key] = size

    def _grace(self, task_vars):
        values, problems = ansible_edge.template_each(self._templar, task_vars, [GRACE_VARIABLE])
        value = values.get(GRACE_VARIABLE, measuring.GRACE_SECONDS)
        for name, message in problems.items():
            raise ValueError("%s doesn't template: %s" % (name, message))
        if not collecting.is_seconds(value):
            raise ValueError("%s must be a number of seconds, not %r" % (GRACE_VARIABLE, value))
        return float(value)

    # ------------------------------------------------------------ on the host

    def _arguments(self):
        """What the module is given: the task's own arguments. A subclass may keep some of them here and give others instead."""
        return dict(self._task.args)

    def _execute_module(self, *args, **kwargs):
        """What came back, without the task's secrets: Ansible's own words on a module that broke may hold its arguments."""
        answer = super()._execute_module(*args, **kwargs)
        return secret_options.scrub(answer, secret_options.texts(ansible_edge.plain(dict(self._task.args))))

    def _planned(self, task_vars):
        """The module's answer in check mode: it looks at the host and starts nothing."""
        checked, self._task.check_mode = self._task.check_mode, True
        try:
            return self._execute_module(module_name=self._full_name(), module_args=self._arguments(), task_vars=task_vars)
        except AnsibleConnectionFailure:
            raise
        except AnsibleError as error:
            return {"failed": True, "msg": ansible_edge.words(error)}
        finally:
            self._task.check_mode = checked

    def _start(self, limit, seconds, task_vars):
        """Start the job; gives its note, or a failure."""
        before, self._task.async_val = self._task.async_val, limit
        try:
            answer = self._execute_module(
                module_name=self._full_name(), module_args=self._arguments(), task_vars=task_vars, wrap_async=True
            )
        finally:
            self._task.async_val = before
        jid = answer.get("ansible_job_id")
        if answer.get("failed") or not jid:
            return self._failed(collecting.failure(answer)[1])
        return {"jid": str(jid), "started": run_directory.now(), "seconds": seconds}

    def _poll(self, jid, task_vars, mode="status"):
        """The result of a job; None while it runs. Lost where the host can't be reached, JobError where the job isn't known there."""
        asked = {"jid": jid, "mode": mode, "_async_dir": self._async_dir()}
        try:
            # A session that died without a word (a link that is down, a NAT that forgot) would hold the poll for many minutes.
            with alarm.Alarm(0 if self._task.timeout else POLL_SECONDS):
                answer = self._execute_module(module_name="ansible.legacy.async_status", module_args=asked, task_vars=task_vars)
        except alarm.HostTimeout:
            self._drop_session()
            raise measuring.Lost("no answer within %d s" % POLL_SECONDS) from None
        except AnsibleConnectionFailure as error:
            self._drop_session()
            raise measuring.Lost(ansible_edge.words(error)) from error
        except AnsibleError as error:
            if "deserialize" in str(error):
                raise measuring.unreadable(ansible_edge.words(error)) from error
            raise measuring.Lost(ansible_edge.words(error)) from error
        if answer.get("unreachable"):
            raise measuring.Lost(collecting.failure(answer)[1])
        if mode == "cleanup":
            return answer
        if answer.get("failed") and not {"started", "finished", "ansible_job_id"} & set(answer):
            # Not the job's answer: asking for it failed, or it came and is no JSON that Ansible takes.
            if str(answer.get("module_stdout")).strip()[:1] + str(answer.get("module_stdout")).strip()[-1:] == "{}":
                raise measuring.unreadable(collecting.own_words(answer.get("msg")))
            raise measuring.Lost(collecting.failure(answer)[1])
        if answer.get("failed") and "could not find job" in str(answer.get("msg")):
            found = self._job_seen(jid, vanished=True)
            words = job_look.why(found, self._async_dir()) if found["unwritten"] else answer.get("msg")
            raise measuring.Vanished("the host knows nothing of the job any more: %s" % words)
        # A module's own `started` looks to async_status like that of a job which runs.
        ended = answer.get("finished") or answer.get("failed") or "measurement" in answer
        return answer if ended else None

    def _async_dir(self):
        return self.get_shell_option("async_dir", default="~/.ansible_async")

    def _watched(self, jid, task_vars):
        """A poll for `measuring.wait` that also ends where the job's process is gone, which Ansible's job file doesn't say."""
        first, later = LOOK_SECONDS
        due = time.monotonic() + first

        def poll():
            nonlocal due
            answer = self._poll(jid, task_vars)
            if answer is not None or time.monotonic() < due:
                return answer
            due = time.monotonic() + later
            found = self._job_seen(jid)
            # It may have ended since it was asked.
            answer = self._poll(jid, task_vars) if found["gone"] else None
            if answer is None and found["gone"]:
                raise measuring.JobError("the job gives no result: %s" % job_look.why(found, self._async_dir()))
            return answer

        return poll

    def _job_seen(self, jid, vanished=False):
        """What `job_look.seen` tells of a job's process; an answer that never comes tells nothing. `vanished`: it has no file any more."""
        wanted = job_look.script(jid, self._async_dir())
        output = self._shell_output(wanted) if wanted else None
        found = job_look.seen(output)
        if found["unwritten"] and (found["gone"] or vanished):
            self._shell_output(job_look.removal(jid, self._async_dir()))
        return found

    def _shell_output(self, command):
        """What a command printed on the host; None where the host can't be asked now."""
        try:
            with alarm.Alarm(0 if self._task.timeout else POLL_SECONDS):
                return self._low_level_execute_command(command).get("stdout")
        except (alarm.HostTimeout, AnsibleConnectionFailure):
            self._drop_session()
        except AnsibleError:
            pass
        return None

    def _drop_session(self):
        """End a kept session that may be dead, so that the next poll makes a new one."""
        with contextlib.suppress(alarm.HostTimeout, AnsibleError, AttributeError, NotImplementedError, OSError), alarm.Alarm(POLL_SECONDS):
            self._connection.reset()

    # ------------------------------------------------------------- its result

    def _earlier(self, name, output_dir, arguments, planned, grace, task_vars):
        """The result of a job that an interrupted run left on the host, where it answers this request; else None, the host being free."""
        note = measuring.pending(output_dir, name, self.MODULE, arguments)
        if note is None:
            return None
        self._line(name, self._text("looking", started=note["started"]))
        limit = measuring.time_limit(note["seconds"])
        try:
            found = self._fetched(name, output_dir, arguments, note, planned, limit, grace, task_vars, earlier=True)
        except measuring.Vanished:
            measuring.forget(output_dir, name, self.MODULE, arguments)
            return None
        return dict(found, resumed=True) if measuring.same_request(note, arguments) and not found.get("failed") else None

    def _fetched(self, name, output_dir, arguments, note, planned, limit, grace, task_vars, earlier=False):
        def say(elapsed, lost):
            most = measuring.shown_limit(elapsed, note["seconds"], limit)
            took, most = (measuring.duration(seconds, self._spoken) for seconds in (elapsed, most))
            words = complaints.say(lost, self._spoken) if lost else None
            self._line(name, self._text("elapsed_lost" if lost else "elapsed", elapsed=took, limit=most, lost=words))

        def wait(watch):
            asked = watch.checking(self._watched(note["jid"], task_vars))
            return measuring.wait(asked, limit, grace, time.monotonic, time.sleep, say)

        def line(number):
            return self._interrupted(number, name, output_dir, arguments, note, limit)

        try:
            answer = measuring_end.watched(wait, line, None)
            if answer is None:
                return self._failed("interrupted")
        except measuring.JobError as error:
            if earlier and isinstance(error, measuring.Vanished):
                raise
            if error.kept:
                return self._failed(error)
            answer = {"failed": True, "msg": str(error)}
        try:
            # What was ended on purpose, or refused by what the job saw, is no measurement, and no failure of one.
            if note.get("ended") is True:
                kept = {"failed": True}
            elif answer.get("refused") is True:
                kept = self._refused(collecting.failure(answer)[1])
            else:
                kept = self._kept(name, output_dir, arguments, answer, planned, note["started"])
        except run_directory.RunDirectoryError:
            # It lies on the host as before, for a run that can keep it.
            raise
        except Exception as error:  # pylint: disable=broad-except
            # Whatever it is, the same answer would end every later run in the same way.
            answer = {"failed": True, "msg": "the host's answer can't be kept: %s" % (error or error.__class__.__name__)}
            kept = self._kept(name, output_dir, arguments, answer, planned, note["started"])
        measuring.forget(output_dir, name, self.MODULE, arguments)
        # The result is safe here; what is left on the host is a file of some kilobytes.
        with contextlib.suppress(measuring.Lost, measuring.JobError):
            self._poll(note["jid"], task_vars, "cleanup")
        return kept

    def _interrupted(self, number, name, output_dir, arguments, note, limit):
        """The line that says what becomes of the test: Ctrl-C ends it on the host; a controller that is shut down lets it go on."""
        why = self._text("interrupted_not_asked")
        if number == signal.SIGINT:
            why = self._end(note["jid"])
        if why is None:
            with contextlib.suppress(run_directory.RunDirectoryError):
                measuring.remember(output_dir, name, self.MODULE, arguments, {**note, "ended": True})
            said = self._text("interrupted_ended")
        else:
            until, command = measuring.latest(note["started"], limit), measuring_end.by_hand(self.MODULE)
            said = self._text("interrupted_goes_on", why=why, until=until, command=command)
        return clean(self._text("line", host=name, module=self.MODULE, said=said), 4000)

    def _end(self, jid):
        """None where the host ended the module of a job; else why not."""
        try:
            with alarm.Alarm(0 if self._task.timeout else END_SECONDS):
                answer = self._low_level_execute_command(measuring_end.script(self.MODULE, jid))
        except alarm.HostTimeout:
            return self._text("interrupted_no_answer", seconds=END_SECONDS)
        except (AnsibleError, OSError, ValueError) as error:
            return complaints.say(ansible_edge.words(error), self._spoken)
        if "ended" in answer.get("stdout", "").split():
            return None
        return collecting.tail(answer.get("stderr", "")) or self._text("interrupted_not_found")

    def _kept(self, name, output_dir, arguments, answer, planned, started):
        if answer.get("failed"):
            answer = dict(answer, msg=collecting.failure(answer)[1])
        measurement = measuring.document(name, self.MODULE, arguments, answer, started, run_directory.now(), planned)
        result = measurement.get("result", {})
        summary = {key: result[key] for key in self.SUMMARY if key in result}
        path = measuring.store(output_dir, measurement)
        kept = {"measurement_file": path, "target": measurement["target"], "finished_at": measurement["finished"]}
        if "error" in measurement:
            failed = self._failed(measurement["error"])
            # `failed` is what a play may overrule; `error` stays.
            return dict(kept, error=failed["msg"], **failed)
        self._line(name, self._text("kept", figures=self._figures(result, summary), path=path))
        return dict(kept, summary=summary, msg=self._text("measured", path=path))

    def _figures(self, _result, summary):
        """What is said of a measurement that was kept."""
        return measuring.told(summary, self._spoken)

    def _with_notes(self, figures, summary):
        """Figures, text that may be empty, and behind them the notes of a summary."""
        notes = measuring.told({"notes": summary["notes"]}, self._spoken) if summary.get("notes") else None
        return self._text("semicolon").join(part for part in (figures, notes) if part)

    def _full_name(self):
        return "trainops.gpu_audit." + self.MODULE

    def _failed(self, error):
        """The file keeps the English: it may be judged in either language."""
        return {"failed": True, "msg": complaints.say(error, self._spoken)}

    def _refused(self, error):
        """A failure of which no measurement is kept, in the names that whoever set the options knows."""
        return {"failed": True, "msg": self._named(complaints.say(error, self._spoken))}

    def failure(self, error, task_vars):
        """EdgeAction's, in the names that whoever set the options knows."""
        failed = super().failure(error, task_vars)
        return dict(failed, msg=self._named(failed["msg"]))

    def _named(self, sentence):
        if sentence.startswith(FORM):
            # Fields of the form have names of their own, which may be those of options.
            return sentence
        direction = ansible_edge.plain(self._task.args.get("direction"))
        return option_names.said(sentence, option_names.variables(ansible_edge.own_role(self._task), self.MODULE, direction))

    def _text(self, key, **params):
        return measuring_texts.text(self._spoken, key, **params)

    def _line(self, name, said):
        self._say(self._text("line", host=name, module=self.MODULE, said=said))

    def _say(self, line):
        self._display.display(clean(line, 4000))
