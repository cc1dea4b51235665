# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Ctrl-C while a measurement runs: the worker notices once, the right process on the host is ended, the line reaches the user."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import types

import pytest
from ansible_collections.trainops.gpu_audit.plugins.action import network_peer
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints, measuring, measuring_end, measuring_texts

WRAPPER = "import subprocess, sys; subprocess.run([sys.executable, sys.argv[3]])"
MODULE = "import pathlib, time; pathlib.Path(__file__).with_name('runs').touch(); time.sleep(60)"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_noticed_once_and_handlers_are_put_back(number):
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(measuring_end.Interrupted) as caught, measuring_end.Watch():
        try:
            os.kill(os.getpid(), number)
            time.sleep(5)
        finally:
            # Ansible ends a worker that takes its time; what is done about the first signal is bounded.
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)
    assert caught.value.number == number and [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_signal_whose_exception_was_lost_is_noticed_at_the_next_look():
    with measuring_end.Watch(), measuring_end.Watch() as watch:
        look = watch.checking(lambda: "no answer yet")
        assert look() == "no answer yet"
        with contextlib.suppress(measuring_end.Interrupted):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        with pytest.raises(measuring_end.Interrupted) as caught:
            look()
        assert caught.value.number == signal.SIGINT
    with measuring_end.Watch() as watch:
        assert watch.checking(lambda: 1)() == 1


def test_a_worker_whose_output_leads_nowhere_tells_the_playbooks_user():
    parent = """
import os, sys
pid = os.fork()
if not pid:
    os.setsid()
    from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import measuring_end
    with measuring_end.Watch() as watch:
        for number in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
        watch.tell("已中断: goes on")
    os._exit(0)
os.waitpid(pid, 0)
"""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(path for path in sys.path if path))
    done = subprocess.run([sys.executable, "-c", parent], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True, timeout=60)
    assert done.stderr.decode() == "已中断: goes on\n" and not done.stdout


def started(folder, job):
    """A job as Ansible's async_wrapper runs it: (the wrapper, the module's pid)."""
    folder.mkdir()
    (folder / "async_wrapper.py").write_text(WRAPPER)
    (folder / "AnsiballZ_gpu_audit_test.py").write_text(MODULE)
    wrapper = subprocess.Popen([sys.executable, str(folder / "async_wrapper.py"), job, "60", str(folder / "AnsiballZ_gpu_audit_test.py"), "_"])
    until = time.monotonic() + 30
    while not (folder / "runs").exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    return wrapper


def test_only_the_module_of_the_job_is_ended(tmp_path):
    ours, other = started(tmp_path / "a", "j9070601"), started(tmp_path / "b", "j9070602")
    try:
        # As Ansible gives it to a host: the shell's own arguments hold the words that it looks for.
        done = subprocess.run(["sh", "-c", measuring_end.script("gpu_audit_test", "j9070601.77")], stdout=subprocess.PIPE, text=True, check=True)
        assert done.stdout.split() == ["ended"]
        # The wrapper lives on to write the module's answer.
        assert ours.wait(20) == 0 and other.poll() is None
        again = subprocess.run(["sh", "-c", measuring_end.script("gpu_audit_test", "j9070601.77")], stdout=subprocess.PIPE, text=True, check=True)
        assert again.stdout == ""
        # What somebody is told to type finds the module and not its wrapper.
        pattern = re.search("'(.+)'", measuring_end.by_hand("gpu_audit_test")).group(1)
        matching = [pid for pid in os.listdir("/proc") if pid.isdigit() and re.search(pattern, command_of(pid))]
        assert len(matching) == 1 and int(pathlib.Path(f"/proc/{matching[0]}/stat").read_text().split(")")[1].split()[1]) == other.pid
        subprocess.run(["sh", "-c", measuring_end.script("gpu_audit_test", "j9070602.1")], stdout=subprocess.DEVNULL, check=True)
        assert other.wait(20) == 0
    finally:
        for process in (ours, other):
            process.kill()
            process.wait()


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").replace("\0", " ")
    except OSError:
        return ""


@pytest.mark.parametrize("jid", ["", ".5", "j1'; rm -rf /", "j1 2.3", "J1"])
def test_an_id_that_is_none_gets_into_no_shell(jid):
    with pytest.raises(ValueError):
        measuring_end.script("storage_benchmark", jid)


def test_the_latest_moment_is_told_to_the_minute():
    assert measuring.latest("2026-11-30T23:50:10Z", 900) == "2026-12-01 00:05 UTC"


@pytest.mark.parametrize("language, words", [("en", ("at the latest", "takes its result over")), ("zh", ("最迟到", "会取回其结果"))])
def test_what_goes_on_is_told_with_its_end_and_how_to_end_it(language, words):
    said = measuring_texts.text(language, "interrupted_goes_on", why="x", until="2026-12-01 00:05 UTC", command=measuring_end.by_hand("m"))
    assert all(word in said for word in (*words, "2026-12-01 00:05 UTC", "pkill -TERM -o -f '^[^ ]+ [^ ]*AnsiballZ_m'"))


class Peer(network_peer.ActionModule):
    """The action that starts a peer, interrupted while it does; `shell`: what the host's shell answers."""

    # Nothing of the task's variables is a template.
    _templar = None

    def __init__(self, shell, **args):
        self.commands, self.shell = [], shell
        self._task = types.SimpleNamespace(args={"address": "10.0.0.1", "port_range": "47800-47899", **args}, timeout=0, check_mode=False, environment=[{}],
                                           delegate_to="store")

    def language(self, task_vars):
        return task_vars["language"]

    def _execute_module(self, **_given):
        self.seen = self._task.environment
        raise measuring_end.Interrupted(signal.SIGINT)

    def _low_level_execute_command(self, command):
        self.commands.append(command)
        return self.shell


@pytest.mark.parametrize(("language", "ended", "left"), [("en", "was ended", "couldn't be ended (no route)"), ("zh", "已终止", "未能终止正在启动的对端服务（no route）")])
def test_a_peer_that_is_only_being_started_is_ended_or_told(monkeypatch, language, ended, left):
    said, sent = [], []
    monkeypatch.setattr(measuring_end.Watch, "tell", lambda _self, line: said.append(line))
    monkeypatch.setattr(measuring_end.os, "kill", lambda pid, number: sent.append(number))
    peer = Peer({"rc": 0, "stdout": "", "stderr": ""})
    assert peer.answer({"language": language})["failed"] and ended in said[0] and said[0].startswith("store") and sent == [signal.SIGINT]
    # What it would have started is found by what it was given.
    (mark,) = peer.seen[-1].values()
    assert "%s=%s" % (network_peer.MARK_VARIABLE, mark) in peer.commands[0] and peer._task.environment == [{}]
    Peer({"rc": 255, "stdout": "", "stderr": "no route"}).answer({"language": language})
    Peer({"rc": 0, "stdout": "left\n", "stderr": ""}).answer({"language": language})
    assert complaints.say(measuring_end.LEFT, language) in said[2]
    assert left in said[1] and "ansible store -m trainops.gpu_audit.network_peer -a 'state=stopped port_range=47800-47899'" in said[1]


@pytest.mark.parametrize(("variable", "value"), [("A", "x'; rm"), ("A", ""), ("A B", "x"), ("A", "x\n")])
def test_what_is_no_mark_gets_into_no_shell(variable, value):
    with pytest.raises(ValueError):
        measuring_end.ending(variable, value)
