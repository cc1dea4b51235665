# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Commands and drivers that say what no JSON has, patterns that match everywhere, processes that kill those who watch them."""

from __future__ import annotations

import contextlib
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import probing
import pytest
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import probe, probe_output, probe_result, probe_tree
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure.tame import MAX_DEPTH, shown, tame
from ansible_collections.trainops.gpu_audit.plugins.modules import workload_probe
from hypothesis import given, settings
from hypothesis import strategies as st
from probing import Lab, marked, needs_compiler

ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.floats(), st.integers(), st.integers(min_value=10 ** 5000), st.text(st.characters(codec=None)), st.binary()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(st.characters(codec=None)), inner, max_size=4)), max_leaves=8)


def depth(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max([depth(item) for item in inner], default=0)


@settings(max_examples=150, deadline=None)
@given(ANYTHING)
def test_whatever_was_said_can_be_written_and_read_again(value):
    tamed = tame(value)
    assert json.loads(json.dumps(tamed, allow_nan=False, ensure_ascii=False).encode("utf-8")) == tamed


def test_what_can_be_said_stays_as_it_is():
    value = {"a": [1, 2.5, None, True, "é 中", {}], "b": 2 ** 64, "c": -3}
    assert tame(value) == value and tame(value)["a"][3] is True


def test_what_is_nested_too_deeply_is_cut():
    value = 1
    for _level in range(300):
        value = [{"a": value}]
    assert depth(tame(value)) == MAX_DEPTH


class Ended(Exception):
    """The module's answer."""


class Module:
    """As much of AnsibleModule as main() asks for."""

    params, check_mode = {"argv": ["x"], "chdir": "/\udc80"}, False

    def __init__(self, **dummy_about):
        pass

    def exit_json(self, **answer):
        raise Ended(answer)

    fail_json = exit_json


HOSTILE = {"measurement": {"samples_per_second": math.inf, "framework": "\udc80x", "gpus": [{"name": "\ud800", "power_mean_watts": math.nan}]}}


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("error", [None, "chdir: /\udc80 isn't there"])
def test_the_module_answers_what_every_reader_takes(monkeypatch, check, error):
    def said(dummy_params):
        if error:
            raise probe.ProbeError(error)
        return HOSTILE
    monkeypatch.setattr(workload_probe, "_Module", Module)
    monkeypatch.setattr(Module, "check_mode", check)
    monkeypatch.setattr(workload_probe.importing, "compile_once", lambda dummy_name: None)
    monkeypatch.setattr(probe, "measure", said)
    monkeypatch.setattr(probe, "plan", said)
    with pytest.raises(Ended) as ended:
        workload_probe.main()
    answer, = ended.value.args
    json.dumps(answer, allow_nan=False, ensure_ascii=False).encode("utf-8")
    if error:
        assert answer["msg"] == "chdir: /? isn't there"
    else:
        measured = (answer["plan"] if check else answer)["measurement"]
        assert measured == {"samples_per_second": None, "framework": "?x", "gpus": [{"name": "?", "power_mean_watts": None}]}


def test_a_framework_s_name_is_one_clean_line():
    progress = probe_output.Progress()
    progress.json_line('{"framework": "\\udc80to\\u001b[31mrch\\n2"}', 1.0)
    assert progress.framework == "to [31mrch 2"
    progress.json_line('{"framework": "\\u0000"}', 1.0)
    assert progress.framework is None


def test_a_rate_past_all_numbers_is_unknown():
    progress = probe_output.Progress()
    progress.json_line('{"iteration": 1, "seconds": 1e-300, "samples": 1e18}', 1.0)
    assert probe_result.iteration_figures(progress)["samples_per_second"] is None


@needs_compiler
def test_a_driver_s_share_that_is_no_number_is_unknown_and_not_zero(tmp_path):
    lab = Lab(tmp_path)
    lab.scenario(extra="gpm.sm_util = nan\n")
    gpu, = lab.run(["/bin/sleep", "2.4"])["measurement"]["gpus"]
    assert gpu["sm_activity_mean_fraction"] is None and gpu["utilization_mean_fraction"] is not None


# -- patterns -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["iteration_pattern", "epoch_pattern", "memory_pattern"])
@pytest.mark.parametrize("pattern", [r"x*?", r"\d*", "(step)?", "^", "$", "|step", "(?=.*)"])
def test_a_pattern_that_matches_an_empty_text_is_refused_before_anything_runs(name, pattern):
    pattern = "(?P<mib>%s)" % pattern if name == "memory_pattern" else pattern
    with pytest.raises(probe.ProbeError, match="also matches an empty text") as caught:
        probe.check_options({"argv": ["x"], name: pattern})
    assert str(caught.value).startswith(name + ": ")


@pytest.mark.parametrize("pattern", [r"\b", r"(?=step)", r"(?<=p)(?= )"])
def test_a_match_without_a_character_counts_nothing_and_is_noted_once(pattern):
    progress = probe_output.Progress(pattern)
    for moment in range(3):
        assert not progress.line("step 1 of 9", moment)
    assert not progress.iterations and len(progress.notes) == 1 and "iteration_pattern matched without taking a character" in progress.notes[0]


def test_an_empty_match_before_a_whole_one_is_passed_over():
    progress = probe_output.Progress(r"(?=s)|\d+")
    assert progress.line("step 7", 1.0) and progress.iterations == 1 and not progress.notes


def test_a_line_tells_one_iteration_and_one_epoch_however_often_they_match():
    progress = probe_output.Progress(r"\d", r"e", r"(?P<mib>\d+)M")
    progress.line("e 1 2 3 e 10M 30M 20M", 1.0)
    progress.line("e 4 e", 3.0)
    assert progress.iterations == 2 and progress.times == [None, 2.0] and progress.epochs == [2.0] and progress.framework_peak == 30 << 20


def test_all_matches_that_are_looked_at_of_a_line_are_few():
    progress = probe_output.Progress(r".", r".", r"(?P<bytes>.)")
    progress.line("x", 1.0)
    for name, most in probe_output.MATCHES.items():
        assert len(progress._matches(name, "x" * 3000, 1.0)) == most


@pytest.mark.parametrize("pattern", ["(" * 3000, "(?P=%s)" % ("n" * 3000), "(?P<%s>x)" % ("n" * 3000), "(?P<%s!>x)" % ("n" * 3000), "x*" * 40 + "y?" * 2000,
                                     "(?:" * 3000 + ")" * 3000])
def test_a_pattern_is_not_repeated_at_length(pattern):
    with pytest.raises(probe_output.PatternError) as caught:
        probe_output.Progress(pattern)
    said = str(caught.value)
    assert len(said) < 300 and said.startswith("iteration_pattern: ") and "..." in said


def test_what_is_shown_of_a_text():
    assert shown("a\nb") == "a b" and shown("x" * 60) == "x" * 60 and shown("x" * 61) == "x" * 57 + "..." and shown("\ud800a") == "a"


# -- processes that kill those who watch them -----------------------------------------------------------------------------------

# A child in a session of its own that hears no SIGTERM; then the guard and the watch get a signal, in this order.
KILLER = """
import os, signal, sys, time
watch = os.getppid()
guard = int(open("/proc/%d/stat" % watch).read().rpartition(")")[2].split()[1])
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    time.sleep(300)
for name in sys.argv[2:]:
    os.kill({"guard": guard, "watch": watch}[name], int(sys.argv[1]))
time.sleep(300)
"""


@pytest.fixture
def mark():
    """A variable of the command's environment; what still has it afterwards is ended."""
    name = "GPU_TEST_%d" % os.getpid()
    yield name
    for pid in marked(name):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


@needs_compiler
@pytest.mark.parametrize("order", [["guard", "watch"], ["watch", "guard"]])
def test_a_command_that_kills_guard_and_watch_leaves_nothing(tmp_path, mark, order):
    lab = Lab(tmp_path)
    answer = lab.run([sys.executable, "-c", KILLER, str(int(signal.SIGKILL)), *order], environment={mark: "1"})
    assert answer["probe_error"].endswith("ended without an answer (killed?); the command was ended with it")
    assert not marked(mark) and not list(tmp_path.glob("gpu-audit-probe-*"))


@needs_compiler
def test_a_command_that_stops_guard_and_watch_is_ended_past_its_time(tmp_path, mark, monkeypatch):
    lab = Lab(tmp_path)
    monkeypatch.setattr(probing, "RUN", probing.RUN.replace("try:", "probe.GUARD_SECONDS = 2.0\ntry:", 1))
    answer = lab.run([sys.executable, "-c", KILLER, str(int(signal.SIGSTOP)), "guard", "watch"], environment={mark: "1"}, timeout_seconds=1,
                     grace_seconds=0)
    assert "ended without an answer" in answer["probe_error"]
    assert not marked(mark) and not list(tmp_path.glob("gpu-audit-probe-*"))


@needs_compiler
def test_other_children_of_the_caller_are_left_alone(tmp_path, mark, monkeypatch):
    lab = Lab(tmp_path)
    other = ("import subprocess, time\nother = subprocess.Popen(['/bin/sh', '-c', 'sleep 300 & wait'], stdout=subprocess.DEVNULL, "
             "stderr=subprocess.DEVNULL)\ntime.sleep(0.3)\n")
    monkeypatch.setattr(probing, "RUN", other + probing.RUN + "print(other.poll()); other.kill(); other.wait()\n")
    monkeypatch.setenv(mark, "1")
    process = lab.start([sys.executable, "-c", KILLER, str(int(signal.SIGKILL)), "guard", "watch"])
    out = process.communicate(timeout=60)[0].splitlines()
    assert "the command was ended with it" in out[0] and out[1] == "None"


def test_processes_that_may_not_be_ended_are_told_from_those_that_can_t(monkeypatch):
    def kill(pid, dummy_number):
        if pid in (7, 8):
            raise PermissionError(1, "Operation not permitted")
        if pid == 9:
            raise ProcessLookupError(3, "No such process")
    monkeypatch.setattr(probe_tree.os, "kill", kill)
    monkeypatch.setattr(probe_tree.os, "geteuid", lambda: 1000)
    closed = "processes of another user that the probe may not end: 7, 8. End them by hand, or measure with become: true"
    assert probe_tree.left_notes([7, 3, 8, 9]) == [closed, "processes that not even SIGKILL ends: 3"]
    assert probe_tree.left_notes([9]) == probe_tree.left_notes([]) == []
    monkeypatch.setattr(probe_tree.os, "geteuid", lambda: 0)
    assert probe_tree.left_notes([7]) == ["processes of another user that the probe may not end: 7. End them by hand"]


# A program that is root whoever calls it: what `sudo` is to a probe without become.
SETUID = "#include <unistd.h>\nint main(void) { setuid(0); setsid(); sleep(%d); return 0; }\n"


@needs_compiler
@pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/usr/bin/python3"), reason="only root can make a setuid program")
def test_a_setuid_program_is_said_to_be_another_user_s():
    with tempfile.TemporaryDirectory(prefix="gpu-audit-test-", dir="/tmp") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        (folder / "rooted.c").write_text(SETUID % 25)
        subprocess.run([shutil.which("cc") or "gcc", "-o", str(folder / "rooted"), str(folder / "rooted.c")], check=True)
        (folder / "rooted").chmod(0o4755)
        # Neither this Python nor the checkout need be readable to another user.
        shutil.copytree(probing.ROOT / "plugins" / "module_utils", folder / "gpu_audit_utils", ignore=shutil.ignore_patterns("__pycache__"))
        code = ("import os, pathlib\nos.setgid(65534); os.setuid(65534)\nimport json, sys\nsys.path.insert(0, %r)\n"
                "from gpu_audit_utils.measure import probe\n"
                "print(json.dumps(probe.run({'argv': [%r], 'timeout_seconds': 1, 'grace_seconds': 0}, unread=lambda: False)))")
        path = str(folder / "rooted")
        done = subprocess.run(["/usr/bin/python3", "-c", code % (name, path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/",
                              check=False)
        assert done.returncode == 0, done.stderr
        notes = json.loads(done.stdout)["measurement"]["notes"]
        pids = [int(pid) for pid in subprocess.run(["pgrep", "-x", "rooted"], capture_output=True, text=True, check=False).stdout.split()]
        for pid in pids:
            if os.readlink("/proc/%d/exe" % pid) == path:
                os.kill(pid, signal.SIGKILL)
        assert any("another user that the probe may not end" in note and "become: true" in note for note in notes), notes
        assert not any("not even SIGKILL" in note for note in notes)


@pytest.mark.parametrize("options", [
    {"argv": ["n" * 5000]}, {"argv": ["/" + "n" * 5000]}, {"argv": ["n" * 5000 + " x"]}, {"argv": ["x"], "environment": {"PATH": "/p" * 5000}},
    {"argv": ["/bin/true"], "chdir": "/" + "n" * 5000}, {"argv": ["/bin/true"], "run_as": "n" * 5000}])
def test_no_start_repeats_what_was_given_at_length(options):
    why = None
    try:
        user = probe_tree.account(options["run_as"]) if "run_as" in options else None
        why = probe_tree.find_program(options["argv"][0], options.get("environment", {}), "/")
        with pytest.raises(OSError) as caught:
            os.chdir(options["chdir"])
        why = probe_tree._start_words("chdir", caught.value, options["argv"], options["chdir"])
        assert user is None
    except probe_tree.StartError as error:
        why = str(error)
    assert "..." in why and len(why) < 600
