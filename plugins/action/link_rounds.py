# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The steps of a link test of a group: pairs, and for each round servers, clients, results, end.

Documentation: plugins/modules/link_rounds.py. What one host's step has to tell another's is left as a file in the session's folder: the
steps of a round run in processes of their own, and a host that dies between them takes nothing along.
"""

from __future__ import annotations

import contextlib
import time

from ansible.errors import AnsibleConnectionFailure, AnsibleError

from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure.iperf3_run import MARK_VARIABLE
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import (
    alarm,
    ansible_edge,
    collecting,
    complaints,
    link_end,
    link_plan,
    link_reading,
    link_rounds,
    link_saying,
    link_store,
    measuring,
    measuring_end,
    option_sizes,
    run_directory,
    run_pointer,
)
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.measuring_action import END_SECONDS, FORM, POLL_SECONDS, MeasuringAction
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.verdict_table import clean

REGISTERED = "measure_network_link_place"
PLACE_KEYS = ("address", "interface", "machine_id", "gpu_uuids", "link_kind", "line_rate_bits_per_second", "mtu_bytes", "iperf3_version",
              "iperf3", "counters", "local_time", "own_addresses")
TEST_SETTINGS = ("seconds", "omit_seconds", "parallel", "udp", "udp_bits_per_second")
SETTINGS = (*TEST_SETTINGS, "ports", "grace_seconds")
# What starting a server or a client takes on a busy controller, for each host that one of its forks has to do.
START_SECONDS = 5
MOST_TOLD = 20


class ActionModule(MeasuringAction):
    """The link_rounds action."""

    MODULE = "link_benchmark"

    def answer(self, task_vars):
        """The step named by `step`, for the host at hand; `plan` and `finish` are for the whole group."""
        self._spoken = self.language(task_vars)
        arguments = ansible_edge.plain(dict(self._task.args))
        begun = run_pointer.current(ansible_edge.process_tmp())
        output_dir = begun["output_dir"] if begun else ansible_edge.output_dir(self._templar, self._loader, task_vars)
        step = arguments.get("step")
        if step == "look":
            lost = option_sizes.lost_unit(task_vars)
            if lost:
                raise ValueError(lost)
            collecting.checked_form(*ansible_edge.template_each(self._templar, task_vars, [FORM]))
            self._end_earlier(output_dir, ansible_edge.plain(task_vars["inventory_hostname"]), task_vars)
            return self._look(arguments, task_vars)
        if step == "plan":
            return self._plan(output_dir, arguments, task_vars)
        session = link_store.load(output_dir, arguments.get("session"))
        if step == "finish":
            return self._finish(session)
        name = ansible_edge.plain(task_vars["inventory_hostname"])
        if session.host(name) is None:
            return _nothing("this host takes no part")
        return self._watched_step(session, step, arguments, name, task_vars)

    def _watched_step(self, session, step, arguments, name, task_vars):
        """A step on a host; Ctrl-C in it ends what the session runs there."""
        return measuring_end.watched(
            lambda _watch: self._step(session, step, arguments, name, task_vars),
            lambda _number: self._interrupted_step(session, name, task_vars),
            self._failed("interrupted"),
        )

    def _interrupted_step(self, session, name, task_vars):
        """What becomes of the session, in lines. Nothing takes its results over, so that any end of the play ends it."""
        with contextlib.suppress(run_directory.RunDirectoryError):
            session.note("ending", name, {})
            session.note("interrupted", "all", {"at": run_directory.now()})
        try:
            jobs = session.jobs_of(name)
        except ValueError:
            jobs = []
        most = max(len(pairs) for pairs in session.data["rounds"])
        until, why = measuring.latest(run_directory.now(), self._lifetime(session, most, task_vars)), None
        try:
            command = link_end.script(session.id, [note["jid"] for _number, note in jobs[-1:]], self._async_dir())
            with alarm.Alarm(0 if self._task.timeout else END_SECONDS):
                answer = self._low_level_execute_command(command)
            if answer.get("rc"):
                why = collecting.tail(answer.get("stderr", "")) or "exit %s" % answer["rc"]
            elif "left" in answer.get("stdout", "").split():
                why = measuring_end.LEFT
        except alarm.HostTimeout:
            why = "no answer within %d s" % END_SECONDS
        except (AnsibleError, OSError, ValueError) as error:
            why = ansible_edge.words(error)
        if why is None:
            for number, _note in jobs[-1:]:
                session.forget("job", number)
            said = "interrupted: what the link test ran here was ended"
        else:
            said = ("interrupted: what the link test runs here wasn't ended (%s) and ends by itself, until %s at the latest, or at once "
                    "with: %s" % (why, until, link_end.by_hand(session.id, [name])))
        lines = [self._text("line", host=name, module=self.MODULE, said=complaints.say(said, self._spoken))]
        # Each host that is at work says so itself; of the others one of them tells, once.
        if session.claim("told"):
            lines.append(link_end.left(session, self._spoken))
        return "\n".join(clean(line, 4000) for line in lines)

    def _end_earlier(self, output_dir, name, task_vars):
        """Ends what interrupted tests left on the host at hand; takes away files of jobs that have long ended."""
        for session in link_store.unfinished(output_dir):
            try:
                if name not in session.data["hosts"]:
                    continue
                over = session.noted("interrupted", "all") is not None
                jobs = session.jobs_of(name)
                if over and session.noted("left", name) is None and not self._task.check_mode:
                    self._stopped(session, name, task_vars)
                    session.note("left", name, {})
                for number, note in jobs if not self._task.check_mode else ():
                    if over or run_directory.now() > link_end.ended_by(note):
                        self._clean(note["jid"], task_vars)
                        session.forget("job", number)
            except (ValueError, run_directory.RunDirectoryError):
                # Its files were changed: it says nothing of this host that could be trusted.
                continue

    def _clean(self, jid, task_vars):
        """Take a job's file away; where the host can't be reached some kilobytes stay there."""
        with contextlib.suppress(measuring.Lost, measuring.JobError):
            self._poll(jid, task_vars, "cleanup")

    def _step(self, session, step, arguments, name, task_vars):
        if step == "leave":
            return self._leave(session, name, task_vars)
        steps = {"serve": ("server", self._serve), "start": ("client", self._client), "fetch": ("client", self._fetch),
                 "stop": ("server", self._stop)}
        if step not in steps:
            raise ValueError("step: %r is none; there are look, plan, %s, leave, finish" % (step, ", ".join(steps)))
        role, method = steps[step]
        number = arguments.get("round")
        pair, own = session.pair_of(int(number) if str(number).isdecimal() else number, name)
        if own != role:
            return _nothing("nothing to do in this round")
        return method(session, pair, name, task_vars)

    def _look(self, arguments, task_vars):
        """Where the host at hand is tested; it fails, before anything is started anywhere, where that can't be told."""
        asked = {"state": "checked", "session": "look", "port_range": arguments["ports"], "address": arguments.get("address") or "",
                 "management": arguments.get("management")}
        if arguments.get("iperf3"):
            asked["iperf3"] = arguments["iperf3"]
        answer = self._execute_module(module_name="trainops.gpu_audit.link_server", module_args=asked, task_vars=task_vars)
        if answer.get("failed"):
            return dict(self._refused(collecting.failure(answer)[1]), kind=answer.get("kind"))
        others = answer.get("sessions")
        if others and isinstance(others, list):
            words = link_end.busy(others, ansible_edge.plain(task_vars.get("inventory_hostname", "all")))
            return dict(self._failed(words), kind="busy")
        return {key: answer.get(key) for key in PLACE_KEYS}

    # ---------------------------------------------------------- of the group

    def _plan(self, output_dir, arguments, task_vars):
        settings = {key: arguments[key] for key in SETTINGS if arguments.get(key) is not None}
        # Refused here and not by each host in its turn, which would be kept as a test that failed.
        link_plan.check(settings)
        asked = ansible_edge.plain(list(task_vars.get("ansible_play_batch") or []))
        for name in asked[:1]:
            measuring.try_keeping(output_dir, name, self.MODULE, {}, checking=True)
        places = ansible_edge.registered(task_vars, ansible_edge.play_hosts(task_vars), REGISTERED)
        hosts = {name: {key: places[name].get(key) for key in PLACE_KEYS} for name in asked
                 if name in places and places[name].get("address") and not places[name].get("failed")}
        # What a host answers must not make the session unreadable for all.
        broken = {name: link_reading.place_problem(place) for name, place in hosts.items()}
        hosts = {name: place for name, place in hosts.items() if not broken[name]}
        left_out = {name: broken.get(name) or collecting.failure(result)[1] for name, result in places.items() if name not in hosts}
        taken = {}
        for name, place in hosts.items():
            other = taken.setdefault(place["address"], name)
            if other != name:
                raise ValueError("%s and %s have the same link address, %s: set gpu_audit_link_address of each to its own" % (
                    other, name, place["address"]))
        same = link_rounds.one_machine(hosts)
        if same:
            raise ValueError("%s and %s are one machine: %s is an address of both, and packets to it leave by no link. Leave one of them "
                             "out" % same)
        if len(hosts) < 2:
            raise ValueError("a link test needs two hosts or more that can be tested; there %s" % (
                "is only %s" % next(iter(hosts)) if hosts else "are none"))
        mode = arguments.get("mode") or "auto"
        made = link_rounds.rounds(hosts, mode)
        options = link_plan.options(settings)
        moved, sentences = link_plan.moved(hosts, made, options)
        usual = len(made) * (link_plan.usual(options) + 10)
        plan = {"hosts": len(hosts), "rounds": len(made), "pairs": sum(len(pairs) for pairs in made), "seconds": usual,
                "mode": link_rounds.mode_for(len(hosts), mode), "bytes": moved}
        said = "links of %d hosts: %d pairs in %d rounds (%s), about %s; each test fills its link" % (
            plan["hosts"], plan["pairs"], plan["rounds"], plan["mode"], measuring.duration(usual, self._spoken))
        self._say(self._text("semicolon").join(complaints.say(each, self._spoken) for each in (said, *sentences)))
        if self._task.check_mode:
            return {"msg": self._text("nothing_started"), "plan": plan}
        session = link_store.begin(output_dir, hosts, left_out, made, plan["mode"], settings)
        return {"session": session.id, "rounds": len(made), "plan": plan, "msg": "%d rounds" % len(made)}

    def _finish(self, session):
        kept = session.finish()
        failed = {name: document["error"] for name, (_path, document) in kept.items() if "error" in document}
        results = {name: document["result"] for name, (_path, document) in kept.items() if name not in failed}
        # Those that something is wrong with first, then the slowest.
        order = sorted(results, key=lambda name: (not link_saying.troubles(results[name]), results[name]["bytes_per_second"]))
        results = {name: results[name] for name in order}
        for name in [*failed, *results][:MOST_TOLD]:
            if name in failed:
                self._line(name, complaints.say(failed[name], self._spoken))
            else:
                self._line(name, self._text("kept", figures=link_saying.of_host(results[name], self._spoken), path=kept[name][0]))
        if len(kept) > MOST_TOLD:
            said = "the worst of %d hosts first; %d more are kept likewise" % (len(kept), len(kept) - MOST_TOLD)
            self._say(complaints.say(said, self._spoken))
        self._say(link_saying.conclusion(results, list(failed), list(session.data["left_out"]), self._spoken))
        return {"msg": "kept in %s" % session.folder, "folder": session.folder, "failures": failed,
                "files": {name: path for name, (path, _document) in kept.items()}}

    # --------------------------------------------------------- on the host

    def _asked(self, session, name, task_vars, module, arguments):
        """A module's answer; one that says `failed` where the host can't be reached, which then isn't asked again."""
        lost = session.noted("lost", name)
        if lost:
            return {"failed": True, "kind": "unreachable", "msg": lost["message"]}
        try:
            with alarm.Alarm(0 if self._task.timeout else POLL_SECONDS):
                answer = self._execute_module(module_name="trainops.gpu_audit." + module, module_args=arguments, task_vars=task_vars)
        except alarm.HostTimeout:
            answer = {"unreachable": True, "msg": "no answer within %d s" % POLL_SECONDS}
        except AnsibleConnectionFailure as error:
            answer = {"unreachable": True, "msg": ansible_edge.words(error)}
        except AnsibleError as error:
            answer = {"failed": True, "msg": ansible_edge.words(error)}
        if answer.get("unreachable"):
            self._drop_session()
            self._lose(session, name, collecting.failure(answer)[1])
            return dict(answer, failed=True, kind="unreachable")
        return answer

    def _marked(self, session):
        return measuring_end.marked(self._task, MARK_VARIABLE, session.id)

    def _lose(self, session, name, words):
        words = "%s can't be reached: %s" % (name, words)
        session.note("lost", name, {"message": words})
        self._line(name, complaints.say(words, self._spoken))

    def _server_arguments(self, session, name, **more):
        settings = session.settings
        return {"address": session.host(name)["address"], "port_range": settings["ports"], "session": session.id,
                "iperf3": session.host(name)["iperf3"], **more}

    def _serve(self, session, pair, name, task_vars):
        lifetime = self._lifetime(session, len(session.round(pair["round"] - 1)), task_vars)
        arguments = self._server_arguments(session, name, state="started", lifetime_seconds=lifetime)
        with self._marked(session):
            answer = self._asked(session, name, task_vars, "link_server", arguments)
        if answer.get("failed") or not answer.get("port"):
            words = collecting.failure(answer)[1]
            session.note("server", pair["n"], {"error": {"kind": answer.get("kind") or "local", "message": words if words.startswith(name)
                                                         else "no server on %s: %s" % (name, words)}})
            return {"msg": words}
        until = measuring.latest(run_directory.now(), lifetime)
        session.note("server", pair["n"], {"port": answer["port"], "until": until})
        return {"msg": "port %d" % answer["port"], "port": answer["port"]}

    def _lifetime(self, session, pairs, task_vars):
        """Seconds that a server of a round of so many pairs may be needed."""
        return self._longest(session) + START_SECONDS * (2 + 2 * pairs // max(1, int(task_vars.get("ansible_forks") or 5)))

    def _longest(self, session):
        """Seconds that a test takes at most, some more for slow machines."""
        return link_plan.longest(link_plan.options(session.settings)) + 30

    def _client(self, session, pair, name, task_vars):
        server = session.noted("server", pair["n"])
        if server is None:
            server = {"error": {"kind": "local", "message": "no server was started on %s" % pair["server"]}}
        lost = session.noted("lost", name)
        if "error" in server or lost:
            error = server.get("error") or {"kind": "unreachable", "message": lost["message"]}
            return self._failed_pair(session, pair, error)
        settings = session.settings
        arguments = {key: settings[key] for key in TEST_SETTINGS if settings.get(key) is not None}
        own, other = session.host(name), session.host(pair["server"])
        self._task.args = dict(arguments, peer=other["address"], port=server["port"], address=own["address"], iperf3=own["iperf3"],
                               session=session.id)
        seconds = self._longest(session)
        try:
            with alarm.Alarm(0 if self._task.timeout else POLL_SECONDS), self._marked(session):
                note = self._start(measuring.time_limit(seconds), seconds, task_vars)
        except (alarm.HostTimeout, AnsibleConnectionFailure, AnsibleError) as error:
            words = "no answer within %d s" % POLL_SECONDS if isinstance(error, alarm.HostTimeout) else ansible_edge.words(error)
            self._lose(session, name, words)
            return self._failed_pair(session, pair, {"kind": "unreachable", "message": "%s can't be reached: %s" % (name, words)})
        if "jid" not in note:
            return self._failed_pair(session, pair, {"kind": "local", "message": str(note.get("msg"))})
        session.note("job", pair["n"], note)
        return {"msg": "started"}

    def _failed_pair(self, session, pair, error):
        session.keep_pair(pair, {"error": error}, run_directory.now())
        return {"msg": error["message"]}

    def _fetch(self, session, pair, name, task_vars):
        note = session.noted("job", pair["n"])
        if note is None:
            return _nothing("no test was started")

        def say(elapsed, lost):
            took, most = (measuring.duration(seconds, self._spoken) for seconds in (elapsed, note["seconds"]))
            words = complaints.say(lost, self._spoken) if lost else None
            self._line(name, self._text("elapsed_lost" if lost else "elapsed", elapsed=took, limit=most, lost=words))

        grace = link_plan.grace(session.settings)
        # A host that can't be reached is given up after the time that a test usually takes: others wait for this round's end.
        options = link_plan.options(session.settings)
        limit = max(link_plan.usual(options) + options["seconds"] + 15, note["seconds"] - measuring.SPARE_SECONDS)
        try:
            answer = measuring.wait(lambda: self._poll(note["jid"], task_vars), limit, grace, time.monotonic, time.sleep, say)
        except measuring.JobError as error:
            if error.kept:
                self._lose(session, name, str(error))
            else:
                self._clean(note["jid"], task_vars)
                session.forget("job", pair["n"])
            return self._failed_pair(session, pair, {"kind": "unreachable" if error.kept else "local", "message": "%s: %s" % (name, error)})
        if answer.get("failed") or not isinstance(answer.get("measurement"), dict):
            kept = self._failed_pair(session, pair, {"kind": "local", "message": "%s: %s" % (name, collecting.failure(answer)[1])})
        else:
            error = session.keep_pair(pair, answer, note["started"]).get("error")
            kept = {"msg": str(error.get("message")) if isinstance(error, dict) else "measured"}
        self._clean(note["jid"], task_vars)
        session.forget("job", pair["n"])
        return kept

    def _stop(self, session, pair, name, task_vars):
        if "port" not in (session.noted("server", pair["n"]) or {}):
            return _nothing("no server runs here")
        answer = self._stopped(session, name, task_vars)
        if "ended" in answer:
            session.forget("server", pair["n"])
        return answer

    def _leave(self, session, name, task_vars):
        """The end for a host: nothing of the session runs there any more, and what its counters say now."""
        answer = self._stopped(session, name, task_vars, address=session.host(name)["address"])
        if isinstance(answer.get("counters"), dict):
            session.note("after", name, {"counters": answer.pop("counters")})
        return answer

    def _stopped(self, session, name, task_vars, **more):
        answer = self._asked(session, name, task_vars, "link_server",
                             {"state": "stopped", "session": session.id, "port_range": session.settings["ports"], **more})
        if answer.get("failed"):
            return {"msg": "%s; what was started there ends by itself" % collecting.failure(answer)[1]}
        if answer.get("left"):
            self.warn("%s: processes that don't end: %s" % (name, ", ".join(str(pid) for pid in answer["left"])), task_vars)
        return {"msg": "ended %d" % answer.get("ended", 0), "ended": answer.get("ended", 0), "counters": answer.get("counters")}


def _nothing(why):
    return {"skipped": True, "skip_reason": why, "msg": why}
