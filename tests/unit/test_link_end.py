# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The end of a link test that was interrupted: what a host's shell is given, what a later test clears, what the user is told."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time

import pytest
from ansible_collections.trainops.gpu_audit.plugins.action import link_rounds as action
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import iperf3_run
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints, link_end, link_rounds, link_store, measuring, measuring_end, run_directory
from test_link_store import place

SESSION = "20261130T090000Z-abcdef"
JID = "j9070603.77"
NAMES = ["gpu1", "gpu2"]
# A module that answers when it is told to end, below a wrapper that then writes the job's file, as Ansible's does, and lingers for a while.
WRAPPER = """
import pathlib, subprocess, sys, time
time.sleep(float(sys.argv[5]))
subprocess.run([sys.executable, sys.argv[3]])
pathlib.Path(sys.argv[4]).write_text('{"failed": true}')
time.sleep(3)
pathlib.Path(sys.argv[3] + '.cleared').touch()
"""
MODULE = "import signal, time; signal.signal(signal.SIGTERM, lambda *_: exit(0)); open(__file__ + '.runs', 'w'); time.sleep(60)"


STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"


def mark(name):
    return dict(os.environ, **{iperf3_run.MARK_VARIABLE: name})


@pytest.mark.parametrize("begun", [True, False], ids=["runs", "is being started"])
def test_programs_job_and_file_of_a_session_are_gone_afterwards(tmp_path, begun):
    (tmp_path / "async_wrapper.py").write_text(WRAPPER)
    module, file = tmp_path / "AnsiballZ_link_benchmark.py", tmp_path / "a folder" / JID
    module.write_text(MODULE)
    file.parent.mkdir()
    file.write_text('{"started": 1, "finished": 0}')
    own, other = (subprocess.Popen(["sleep", "60"], env=mark(name)) for name in (SESSION, "other"))
    words = [sys.executable, str(tmp_path / "async_wrapper.py"), JID.partition(".")[0], "60", str(module), str(file), "0" if begun else "1.5"]
    job = subprocess.Popen(words, env=mark(SESSION))
    try:
        until = time.monotonic() + 30
        while begun and not (tmp_path / "AnsiballZ_link_benchmark.py.runs").exists():
            assert time.monotonic() < until
            time.sleep(0.02)
        # What the note says of the job is known only where the job was begun.
        command = link_end.script(SESSION, [JID] if begun else [], str(file.parent))
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0 and not done.stderr and not done.stdout
        assert own.wait(5) == -15 and other.poll() is None
        assert not file.exists() and job.wait(10) == 0 and (tmp_path / "AnsiballZ_link_benchmark.py.cleared").exists()
    finally:
        for process in (own, other, job):
            process.kill()
            process.wait()


def test_what_does_not_listen_is_killed():
    stubborn = subprocess.Popen([sys.executable, "-c", STUBBORN], env=mark(SESSION), stdout=subprocess.PIPE)
    try:
        stubborn.stdout.readline()
        done = subprocess.run(["sh", "-c", link_end.script(SESSION, [], "~/.ansible_async")], capture_output=True, text=True, timeout=60, check=False)
        assert stubborn.wait(5) == -9 and not done.stdout and not done.stderr
    finally:
        stubborn.kill()
        stubborn.stdout.close()


def test_a_wrapper_that_still_clears_up_is_no_test_that_runs(tmp_path):
    (tmp_path / "async_wrapper.py").write_text("import time; print(flush=True); time.sleep(60)")
    waits = subprocess.Popen([sys.executable, str(tmp_path / "async_wrapper.py")], env=mark("by-test"), stdout=subprocess.PIPE)
    try:
        waits.stdout.readline()
        assert "by-test" not in iperf3_run.sessions() and iperf3_run.stop("by-test") == (0, []) and waits.poll() is None
    finally:
        waits.kill()
        waits.wait()
        waits.stdout.close()


@pytest.mark.parametrize(("session", "jids"), [("x; rm", []), ("", []), (SESSION, [JID, "j1'; rm"]), (SESSION, [""]), (SESSION, ["../victim"])])
def test_ids_that_are_none_get_into_no_shell(session, jids):
    with pytest.raises(ValueError):
        link_end.script(session, jids, "~/.ansible_async")


@pytest.mark.parametrize("before", [None, [], [{"A": "b"}], {"A": "b"}])
def test_modules_that_start_something_have_the_mark_from_their_first_moment(session, client, monkeypatch, before):
    seen, host, pair = [], Host({"link_server": {"port": 5207}}), session.data["rounds"][0][0]
    host._task.environment = before
    monkeypatch.setattr(host, "_start", lambda *_: seen.append(host._task.environment) or {"jid": JID, "started": run_directory.now(), "seconds": 5})
    asked = host._asked
    monkeypatch.setattr(host, "_asked", lambda *given: seen.append(host._task.environment) or asked(*given))
    host._serve(session, pair, pair["server"], {})
    host._client(session, pair, client, {})
    own = [{"A": "b"}] if before else []
    assert seen == [[*own, {iperf3_run.MARK_VARIABLE: session.id}]] * 2 and host._task.environment == before


def test_a_command_to_type_holds_what_hosts_say_of_themselves_as_text_only():
    names = ["gpu1", "a b", "$(touch x)", "x'; touch x; echo '"]
    words = shlex.split(link_end.by_hand(names[-1], names))
    assert words == ["ansible", ",".join(names), "-m", "trainops.gpu_audit.link_server", "-a", "state=stopped session=" + names[-1]]


@pytest.mark.parametrize("odd", ["x' ;touch /PWNED; echo '", "a b", "x" * 61, "", None, ["x"], "x\n", "\u6570"])
def test_what_is_no_name_of_a_test_is_not_repeated(odd):
    host = Host({"link_server": dict(place(1), sessions=[odd])})
    for language, words in (("en", "another test of links runs on this host"), ("zh", "终止其进程")):
        host._spoken = language
        said = host._look({"ports": "5201-5300"}, {})["msg"]
        assert words in said and "touch" not in said and "ansible " not in said
    assert "(by-hand) " in link_end.busy([odd, "by-hand"], "gpu1") and "'state=stopped session=by-hand'" in link_end.busy([odd, "by-hand"], "gpu1")


@pytest.mark.parametrize("jid", ["../victim", "j1.2/../x", "j1", "", "j1.2\n", "j\u0661.1"])
def test_a_note_that_names_another_file_than_a_job_s_takes_none_away(session, client, tmp_path, jid):
    session.note("interrupted", "all", {})
    session.note("job", session.data["rounds"][0][0]["n"], {"jid": jid, "started": "2020-01-01T00:00:00Z", "seconds": 60})
    host = Host({"link_server": {"ended": 2}})
    host._end_earlier(str(tmp_path), client, {})
    assert "async_status" not in [asked[0] for asked in host.asked]
    with pytest.raises(ValueError, match="jid is no id of a job"):
        session.noted("job", session.data["rounds"][0][0]["n"])


def test_when_a_job_has_ended_at_the_latest():
    note = {"jid": JID, "started": "2026-11-30T09:00:00Z", "seconds": 100}
    assert "2026-11-30T09:01:40Z" < link_end.ended_by(note) < "2026-11-30T10:00:00Z"
    assert link_end.ended_by(dict(note, started="x")) == "" and link_end.ended_by(dict(note, seconds=1e17)).startswith("2026-12-01")


class Host(action.ActionModule):
    """The action without Ansible: what it asks of the host is kept, and answered by `answers`."""

    def __init__(self, answers=(), check=False):
        self.asked, self.answers, self.said = [], dict(answers), []
        self._task = type("Task", (), {"timeout": 0, "check_mode": check, "args": {}, "environment": None})()

    def _execute_module(self, module_name=None, module_args=None, task_vars=None, **_more):
        name = module_name.rpartition(".")[2]
        self.asked.append((name, module_args.get("state") or module_args.get("mode"), module_args.get("session") or module_args.get("jid")))
        return self.answers.get(name, {})

    def _low_level_execute_command(self, command):
        self.asked.append(("shell", command))
        return self.answers.get("shell", {"rc": 0, "stdout": "", "stderr": ""})

    def _async_dir(self):
        return "~/.ansible_async"

    def _say(self, line):
        self.said.append(line)


@pytest.fixture
def session(tmp_path):
    hosts = {name: place(number + 1) for number, name in enumerate(NAMES)}
    return link_store.begin(str(tmp_path), hosts, {}, link_rounds.rounds(NAMES), "mesh", {"seconds": 2, "ports": "5201-5300"})


@pytest.fixture
def client(session):
    """The host whose job runs."""
    pair = session.data["rounds"][0][0]
    session.note("job", pair["n"], {"jid": JID, "started": run_directory.now(), "seconds": 60})
    return pair["client"]


@pytest.mark.parametrize(
    ("language", "words", "server"),
    [("en", "what the link test ran here was ended", "%s (a server at port 5207, until 2026-11-30 12:05 UTC)"),
     ("zh", "进程已终止", "%s（端口 5207 上的服务端，至 2026-11-30 12:05 UTC）")],
)
def test_ctrl_c_ends_the_test_and_says_what_is_left_where_and_until_when(session, client, language, words, server):
    other = next(name for name in NAMES if name != client)
    session.note("server", session.data["rounds"][0][0]["n"], {"port": 5207, "until": "2026-11-30 12:05 UTC"})
    host = Host()
    host._spoken = language
    said = host._interrupted_step(session, client, {})
    assert words in said and server % other in said
    assert "ansible %s -m trainops.gpu_audit.link_server -a 'state=stopped session=%s'" % (other, session.id) in said
    assert [asked[0] for asked in host.asked] == ["shell"] and JID in host.asked[0][1]
    assert session.jobs_of(client) == [] and session.noted("interrupted", "all")
    # Whoever is at work on the other host says so itself, and what is left is told once.
    assert len(host._interrupted_step(session, other, {}).splitlines()) == 1


def test_a_number_that_lost_its_unit_is_refused_before_a_host_is_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(action.run_pointer, "current", lambda process: {"output_dir": str(tmp_path)})
    host = Host()
    host._task.args = {"step": "look"}
    monkeypatch.setattr(host, "language", lambda task_vars: "en")
    monkeypatch.setattr(action.ansible_edge, "process_tmp", lambda: str(tmp_path))
    with pytest.raises(ValueError, match="measure_network_link_seconds: -e ends a value at its first space"):
        host.answer({"inventory_hostname": "gpu01", "measure_network_link_seconds": "10", "_raw_params": "s"})
    assert host.asked == []


@pytest.fixture
def planned(tmp_path, monkeypatch):
    """A function that plans a test of two hosts with these settings; `check`: without starting it."""
    places = {name: dict(place(number + 1), counters=None) for number, name in enumerate(NAMES)}
    monkeypatch.setattr(action.ansible_edge, "play_hosts", lambda task_vars: NAMES)
    monkeypatch.setattr(action.ansible_edge, "registered", lambda task_vars, names, variable: places)

    def plan(check=False, **settings):
        host = Host(check=check)
        answer = host._plan(str(tmp_path / "out"), {"ports": "5201-5300", **settings}, {"ansible_play_batch": NAMES})
        return answer, host.said

    return plan


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("setting", [
    {"seconds": 7200}, {"seconds": 0}, {"seconds": "0"}, {"seconds": -5}, {"omit_seconds": 1e30}, {"parallel": 99999}, {"udp_bits_per_second": 0},
    {"grace_seconds": -1}, {"seconds": float("nan")}, {"seconds": True}, {"seconds": [10]}, {"parallel": "four"}], ids=str)
def test_a_number_that_no_host_takes_is_refused_before_anything_is_announced(planned, tmp_path, setting, check):
    with pytest.raises(ValueError, match="^%s (must be between|is no number)" % next(iter(setting))) as caught:
        planned(check, **setting)
    assert complaints.say(str(caught.value), "zh") != str(caught.value) and not (tmp_path / "out").exists()


def test_what_is_announced_is_what_can_be_kept(planned, tmp_path):
    answer, said = planned(True, seconds="2", omit_seconds=0, parallel=0)
    assert answer["plan"]["pairs"] == 1 and len(said) == 1 and not (tmp_path / "out").exists()
    (tmp_path / "out").write_text("a file")
    for check in (True, False):
        with pytest.raises(run_directory.RunDirectoryError, match="gpu_audit_output_dir"):
            planned(check, seconds=2)


def test_what_is_left_are_hosts_where_nobody_is_at_work(session, client):
    number, other = session.data["rounds"][0][0]["n"], next(name for name in NAMES if name != client)
    session.note("server", number, {"port": 5207, "until": "2026-11-30 12:05 UTC"})
    session.note("job", number, {"jid": JID, "started": "2026-11-30T12:00:00Z", "seconds": 60})
    both = link_end.left(session, "en")
    assert "%s (a client, until 2026-11-30 12:03 UTC)" % client in both and "%s (a server" % other in both
    session.note("ending", client, {})
    assert client + " (" not in link_end.left(session, "en")
    session.note("server", number, {"error": {"kind": "busy", "message": "x"}})
    assert link_end.left(session, "en") == "interrupted: nothing of the link test is left on other hosts"
    assert "没有链路测试的残留" in link_end.left(session, "zh")


def test_a_server_that_was_ended_is_none_that_is_left(session, client, monkeypatch):
    pair = session.data["rounds"][0][0]
    session.note("server", pair["n"], {"port": 5207, "until": "2026-11-30 12:05 UTC"})
    broken = Host({"link_server": {"failed": True, "msg": "no answer"}})
    broken._stop(session, pair, pair["server"], {})
    assert "port 5207" in link_end.left(session, "en").replace(client, "")
    Host({"link_server": {"ended": 1}})._stop(session, pair, pair["server"], {})
    assert session.noted("server", pair["n"]) is None


def test_more_hosts_than_anybody_reads_are_counted(tmp_path):
    names = ["gpu%02d" % number for number in range(1, 61)]
    hosts = {name: place(number + 1) for number, name in enumerate(names)}
    session = link_store.begin(str(tmp_path), hosts, {}, link_rounds.rounds(names), "log", {"seconds": 2, "ports": "5201-5300"})
    for pair in session.data["rounds"][0]:
        session.note("server", pair["n"], {"port": 5201, "until": "2026-11-30 12:05 UTC"})
    said = link_end.left(session, "en")
    assert said.count("a server at") == 20 and "10 more" in said and all(pair["server"] in said for pair in session.data["rounds"][0])


def test_a_host_that_can_t_be_told_is_said_so(session, client):
    host = Host({"shell": {"rc": 255, "stdout": "", "stderr": "no route"}})
    said = host._interrupted_step(session, client, {})
    assert "wasn't ended (no route)" in said and len(session.jobs_of(client)) == 1
    host._spoken = "zh"
    assert "未能终止（no route）" in host._interrupted_step(session, client, {})
    host.answers["shell"] = {"rc": 0, "stdout": "left\n", "stderr": ""}
    assert "未能终止（仍有进程无法终止）" in host._interrupted_step(session, client, {})


def interrupted(*_given):
    raise measuring_end.Interrupted(2)


def test_every_step_on_a_host_is_watched(session, client, monkeypatch):
    host, sent = Host(), []
    monkeypatch.setattr(host, "_step", interrupted)
    monkeypatch.setattr(measuring_end.os, "kill", lambda pid, number: sent.append((pid, number)))
    monkeypatch.setattr(measuring_end.Watch, "tell", lambda _self, line: sent.append(line))
    assert host._watched_step(session, "fetch", {}, client, {})["failed"] and sent[1] == (os.getpid(), 2)
    assert host.asked[0][0] == "shell" and "was ended" in sent[0]


def test_a_later_test_ends_an_interrupted_one_first_and_once(session, client, tmp_path):
    session.note("interrupted", "all", {})
    host = Host({"link_server": {"ended": 2}})
    host._end_earlier(str(tmp_path), client, {})
    assert host.asked == [("link_server", "stopped", session.id), ("async_status", "cleanup", JID)]
    host._end_earlier(str(tmp_path), client, {})
    assert len(host.asked) == 2
    looking = Host(check=True)
    looking._end_earlier(str(tmp_path), client, {})
    assert looking.asked == []


def test_one_that_was_killed_is_left_alone_until_its_job_is_over(session, client, tmp_path):
    host = Host()
    host._end_earlier(str(tmp_path), client, {})
    assert host.asked == []
    session.note("job", session.data["rounds"][0][0]["n"], {"jid": JID, "started": "2020-01-01T00:00:00Z", "seconds": 60})
    host._end_earlier(str(tmp_path), client, {})
    assert host.asked == [("async_status", "cleanup", JID)] and session.jobs_of(client) == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_host_where_another_test_runs_is_refused(language):
    host = Host({"link_server": dict(place(1), sessions=[SESSION])})
    host._spoken = language
    found = host._look({"ports": "5201-5300"}, {})
    assert found["failed"] and SESSION in found["msg"] and "state=stopped" in found["msg"]
    assert ("another test of links" in found["msg"]) == (language == "en")
    assert "failed" not in Host({"link_server": dict(place(1), sessions=[])})._look({"ports": "5201-5300"}, {})


@pytest.mark.parametrize("answer", [{"failed": True, "msg": "broken"}, {"measurement": {"send": "x"}}, {"measurement": {"error": "x"}}, {"measurement": 5}])
def test_the_file_of_a_pair_that_failed_is_taken_away_too(session, client, answer, monkeypatch):
    host, pair = Host(), session.data["rounds"][0][0]
    monkeypatch.setattr(measuring, "wait", lambda *_: dict(answer))
    host._fetch(session, pair, client, {})
    assert host.asked == [("async_status", "cleanup", JID)] and session.jobs_of(client) == []
    assert link_store.load(session.output_dir, session.id).pairs()[0][1]["error"]["message"]


def test_sentences_have_their_chinese():
    assert "另一次链路测试" in complaints.say("another test of links (a, b) runs on this host: wait until it has ended, or end it with: x", "zh")
