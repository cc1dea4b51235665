# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The make commands' own code: arguments, settings, environments, counting of results."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))

import audit  # noqa: E402
import environment  # noqa: E402
import help as make_help  # noqa: E402
import run_tests  # noqa: E402
import runner  # noqa: E402
import steps  # noqa: E402


def extra_vars(arguments):
    return json.loads(arguments[arguments.index("--extra-vars") + 1])


def test_without_variables_this_machine_is_audited():
    arguments = audit.playbook_arguments("audit", {})
    assert arguments[0] == "-i" and pathlib.Path(arguments[1]).name == "localhost.yml" and pathlib.Path(arguments[1]).is_file()
    assert arguments[2:] == ["trainops.gpu_audit.audit"]


def test_every_variable_reaches_ansible_unchanged(tmp_path):
    inventory = tmp_path / 'my "hosts" $x\'s.yml'
    inventory.write_text("all: {}\n")
    policy = tmp_path / "ours; rm -rf.yml"
    policy.write_text("schema: x\n")
    arguments = audit.playbook_arguments("rejudge", {
        "INVENTORY": str(inventory), "LIMIT": "rack1:!gpu07", "POLICY": str(policy), "OUT": str(tmp_path / "o u t"), "FORKS": "50", "LANGUAGE": "zh",
        "GATE": "warn", "RUN": str(tmp_path), "EXTRA": "-e 'a=b c' --tags collect"})
    assert arguments[:6] == ["-i", str(inventory), "--limit", "rack1:!gpu07", "--forks", "50"]
    assert extra_vars(arguments) == {"gpu_audit_policy": str(policy), "gpu_audit_output_dir": str(tmp_path / "o u t"), "gpu_audit_language": "zh",
                                     "gpu_audit_gate": "warn", "gpu_audit_run": str(tmp_path)}
    assert arguments[-5:] == ["-e", "a=b c", "--tags", "collect", "trainops.gpu_audit.rejudge"]


def test_measuring_takes_the_hosts_and_its_settings():
    arguments = audit.playbook_arguments("measure", {"INVENTORY": "gpu1,", "LIMIT": "gpu1", "FORKS": "3", "LANGUAGE": "zh", "OUT": "/o",
                                                     "EXTRA": "-e measure_storage_path=/data --check"})
    assert arguments[:6] == ["-i", "gpu1,", "--limit", "gpu1", "--forks", "3"]
    assert extra_vars(arguments) == {"gpu_audit_language": "zh", "gpu_audit_output_dir": "/o"}
    assert arguments[-4:] == ["-e", "measure_storage_path=/data", "--check", "trainops.gpu_audit.measure"]


def test_a_plan_needs_no_inventory():
    assert audit.playbook_arguments("plan", {"EXTRA": "-e @model.yml"}) == ["-i", "localhost,", "-e", "@model.yml", "trainops.gpu_audit.plan"]


def test_a_shipped_policy_and_a_host_list_are_taken_by_name():
    arguments = audit.playbook_arguments("audit", {"POLICY": "inference", "INVENTORY": "gpu1,gpu2,"})
    assert arguments[:2] == ["-i", "gpu1,gpu2,"]
    assert extra_vars(arguments) == {"gpu_audit_policy": "inference"}


@pytest.mark.parametrize(("variables", "words"), [
    ({"INVENTORY": "nowhere.yml"}, "INVENTORY: no such file or folder: nowhere.yml"),
    ({"LANGUAGE": "fr"}, "LANGUAGE: 'fr' is none of en, zh"),
    ({"GATE": "all"}, "GATE: 'all' is none of fail, unproven, warn"),
    ({"FORKS": "many"}, "FORKS: a whole number above 0, not 'many'"),
    ({"FORKS": "0"}, "FORKS: a whole number above 0"),
    ({"POLICY": "ours.yml"}, "POLICY: no such policy file: ours.yml"),
    ({"POLICY": "trainin"}, "POLICY: no policy 'trainin' (did you mean training?); there are base, finetuning, inference,"),
    ({"RUN": "gone"}, "RUN: no such run folder: gone"),
    ({"EXTRA": "-e 'a"}, "EXTRA: No closing quotation"),
    ({"OUT": "{{ x }}"}, "OUT: Ansible would take this for a template"),
])
def test_a_wrong_value_says_which_and_why(variables, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(environment.ToolError) as caught:
        audit.playbook_arguments("audit", variables)
    assert words in str(caught.value)


@pytest.mark.parametrize(("command", "given", "words"), [
    ("rejudge", "LIMIT", "LIMIT has no effect here: a stored run is judged as a whole"),
    ("measure", "POLICY", "POLICY has no effect here: an audit judges what was measured"),
    ("audit", "GATE", "GATE has no effect here: make gate refuses hosts"),
    ("audit", "INVENTRY", "no variable INVENTRY; did you mean INVENTORY?"),
    ("gate", "inventory", "no variable inventory; did you mean INVENTORY?"),
])
def test_a_variable_that_would_change_nothing_is_refused(command, given, words):
    with pytest.raises(environment.ToolError) as caught:
        audit.check_names(command, {"GIVEN": "OUT " + given})
    assert words in str(caught.value)


@pytest.mark.parametrize("given", ["INVENTORY", "LIMIT", "OUT", "FORKS", "POLICY", "RUN", "GATE"])
def test_a_plan_refuses_what_is_of_hosts_and_runs(given):
    with pytest.raises(environment.ToolError, match="%s has no effect here: no host is contacted" % given):
        audit.check_names("plan", {"GIVEN": "LANGUAGE EXTRA " + given})


def test_variables_of_other_programs_pass():
    audit.check_names("audit", {"GIVEN": "PIP_INDEX_URL HTTPS_PROXY PYTHONPATH SHELL LANG", "RUN": "of the environment"})


@pytest.mark.parametrize(("name", "words"), [("a,b.yml", "comma"), ("$HOME.yml", "value of a variable")])
def test_an_inventory_path_that_ansible_reads_otherwise_is_refused(tmp_path, name, words):
    path = tmp_path / name
    path.write_text("")
    with pytest.raises(environment.ToolError, match=words):
        audit.inventory_argument(str(path))


def test_a_folder_without_wheels_is_no_wheelhouse(tmp_path):
    with pytest.raises(environment.ToolError, match="no wheels in"):
        audit.wheelhouse_folder({"WHEELHOUSE": str(tmp_path)})


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A working folder, a home and an environment without any setting for Ansible."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "LANG": "en_US.UTF-8"}


def test_settings_fill_what_nobody_set(bare, tmp_path):
    got = environment.ansible_environment(bare, tmp_path)
    assert got["ANSIBLE_STDOUT_CALLBACK"] == "trainops.gpu_audit.progress"
    assert got["ANSIBLE_PIPELINING"] == "True"
    assert "LC_ALL" not in got
    own = got["ANSIBLE_COLLECTIONS_PATH"].split(":")[0]
    assert os.path.samefile(os.path.join(own, "ansible_collections", "trainops", "gpu_audit"), str(ROOT))


def test_an_ansible_cfg_in_the_working_folder_wins(bare, tmp_path):
    (tmp_path / "ansible.cfg").write_text("[defaults]\nforks = 7\nstdout_callback = minimal\ncollections_path = ours:/theirs\n"
                                          "[ssh_connection]\npipelining = false\n")
    got = environment.ansible_environment(bare, tmp_path)
    for name in ("ANSIBLE_FORKS", "ANSIBLE_STDOUT_CALLBACK", "ANSIBLE_PIPELINING"):
        assert name not in got
    assert got["ANSIBLE_COLLECTIONS_PATH"].split(":")[1:] == [str(tmp_path / "ours"), "/theirs"]


def test_ansible_config_outranks_the_working_folder(bare, tmp_path):
    (tmp_path / "ansible.cfg").write_text("[defaults]\nforks = 7\n")
    (tmp_path / "other.cfg").write_text("[defaults]\nstdout_callback = minimal\n")
    got = environment.ansible_environment(dict(bare, ANSIBLE_CONFIG=str(tmp_path / "other.cfg")), tmp_path)
    assert got["ANSIBLE_FORKS"] == "20" and "ANSIBLE_STDOUT_CALLBACK" not in got


def test_a_users_variables_win(bare, tmp_path):
    got = environment.ansible_environment(dict(bare, ANSIBLE_FORKS="3", ANSIBLE_COLLECTIONS_PATH="/theirs"), tmp_path)
    assert got["ANSIBLE_FORKS"] == "3"
    assert got["ANSIBLE_COLLECTIONS_PATH"].endswith(":/theirs")


def test_a_broken_ansible_cfg_is_named(bare, tmp_path):
    (tmp_path / "ansible.cfg").write_text("forks = 7\n")
    with pytest.raises(environment.ToolError, match="ansible.cfg can't be read"):
        environment.ansible_environment(bare, tmp_path)


@pytest.mark.parametrize(("variables", "forced"), [({}, True), ({"LC_ALL": "C", "LANG": "en_US.UTF-8"}, True), ({"LANG": "zh_CN.utf8"}, False),
                                                   ({"LC_ALL": "C.UTF-8"}, False)])
def test_ansible_gets_a_utf8_locale(bare, tmp_path, variables, forced):
    bare.pop("LANG")
    got = environment.ansible_environment(dict(bare, **variables), tmp_path)
    assert got.get("LC_ALL") == ("C.UTF-8" if forced else variables.get("LC_ALL"))


def test_a_wheelhouse_leaves_pip_no_index():
    got = environment.pip_environment({"PIP_INDEX_URL": "x", "PIP_FIND_LINKS": "y", "HTTPS_PROXY": "p", "PIP_USER": "1"}, "wheels")
    assert got == {"HTTPS_PROXY": "p", "PIP_USER": "0", "PIP_CONFIG_FILE": os.devnull}
    assert environment.pip_environment({"PIP_INDEX_URL": "x"}, None) == {"PIP_INDEX_URL": "x", "PIP_USER": "0"}


@pytest.mark.parametrize(("version", "name", "core"), [((3, 10), "controller-py310.txt", "2.17"), ((3, 11), "controller-py311.txt", "2.19"),
                                                       ((3, 12), "controller-py312.txt", "2.21"), ((3, 13), "controller-py312.txt", "2.21")])
def test_ansible_core_fits_the_python(version, name, core):
    path = environment.controller_requirements(version)
    assert path.name == name
    assert "ansible-core==%s." % core in path.read_text()


def test_all_requirements_are_pinned():
    for path in sorted((ROOT / "requirements").glob("*.txt")) + [ROOT / "roles" / "prepare" / "files" / "requirements.txt"]:
        lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
        assert lines and all("==" in line.split(";")[0] for line in lines), path


def test_without_ensurepip_an_ordinary_user_gets_the_command(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(environment, "python_version", lambda python: (3, 11, "3.11.2"))
    with pytest.raises(environment.ToolError, match="apt-get update && apt-get install -y python3-venv"):
        environment.install_venv_package("/usr/bin/python3", (3, 11, "3.11.2"))
    monkeypatch.setattr(environment, "python_version", lambda python: (3, 13, "3.13.1"))
    with pytest.raises(environment.ToolError, match="install -y python3.11-venv"):
        environment.install_venv_package("/usr/bin/python3.11", (3, 11, "3.11.2"))


def foreign(folder):
    """What a user may have under the name of our environment: her own one, files, a link to another."""
    (folder / "mine" / "bin").mkdir(parents=True)
    (folder / "mine" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (folder / "files").mkdir()
    (folder / "files" / "notes.txt").write_text("keep me")
    (folder / "theirs").mkdir()
    (folder / "theirs" / environment.STAMP).write_text("another checkout's")
    (folder / "link").symlink_to(folder / "theirs")
    (folder / "dangling").symlink_to(folder / "gone")
    (folder / "file").write_text("keep me")
    return folder


@pytest.mark.parametrize("name", ["mine", "files", "link", "dangling", "file"])
def test_an_environment_that_was_not_made_here_is_left_alone(tmp_path, name, monkeypatch):
    monkeypatch.setattr(environment, "CACHE", tmp_path / "cache")
    folder = foreign(tmp_path)
    before = sorted((str(path), path.is_file() and path.read_text()) for path in folder.rglob("*"))
    with pytest.raises(environment.ToolError, match="is in the way"):
        environment.ensure_venv(folder / name, [], sys.executable, (3, 11, "3.11.0"))
    after = sorted((str(path), path.is_file() and path.read_text()) for path in folder.rglob("*") if "cache" not in str(path))
    assert after == before


def test_an_interrupted_environment_of_ours_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    ours, made = tmp_path / ".venv", []
    ours.mkdir()
    (ours / environment.STAMP).write_text("of older requirements")
    (ours / "lib").mkdir()
    monkeypatch.setattr(environment, "_has_ensurepip", lambda python: True)

    def interrupted(*args, **more):
        made.append(sorted(os.listdir(ours)))
        raise SystemExit("interrupted")
    monkeypatch.setattr(environment.subprocess, "run", interrupted)
    for _attempt in range(2):
        with pytest.raises(SystemExit):
            environment.ensure_venv(ours, [], sys.executable, (3, 11, "3.11.0"))
    assert made == [[environment.STAMP]] * 2


def test_clean_removes_only_an_environment_of_ours(tmp_path):
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    for name, kept in (("mine", True), ("link", True), ("theirs", False)):
        folder = foreign(tmp_path / name)
        (folder / name).rename(tmp_path / ".venv")
        done = subprocess.run(["make", "-C", str(tmp_path), "clean"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and os.path.lexists(tmp_path / ".venv") is kept, done.stderr
        assert ("left alone" in done.stdout) is kept
        if kept:
            (tmp_path / ".venv").rename(tmp_path / ("was " + name))
    assert (tmp_path / "link" / "theirs" / environment.STAMP).is_file()


@pytest.mark.parametrize("target", ["audit", "test", "help"])
def test_a_python_that_is_not_there_is_one_clear_line(target):
    done = subprocess.run(["make", "--no-print-directory", "-C", str(ROOT), target, "PYTHON=/no where/python"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("make: ***")]
    assert done.returncode == 2 and len(lines) == 1, done.stderr
    assert lines[0].startswith("make %s: PYTHON: /no where/python is not there" % target) and "PYTHON=python3.12" in lines[0]


def test_a_python_too_old_is_refused_with_what_to_do(tmp_path):
    old = tmp_path / "python"
    old.write_text("#!/bin/sh\necho 3 9 3.9.2\n")
    old.chmod(0o755)
    with pytest.raises(environment.ToolError, match=r"no Python 3.10 or newer .*3\.9\.2.*PYTHON="):
        environment.choose_python({"GPU_AUDIT_MAKE_PYTHON": str(old)})


def test_help_names_every_target_and_variable():
    makefile = (ROOT / "Makefile").read_text()
    names = [name for name, _text in make_help.targets(makefile)]
    assert names[:7] == ["help", "audit", "gate", "rejudge", "measure", "plan", "venv"] and "test" in names
    for name, _text, _example in make_help.VARIABLES:
        assert "$(value %s)" % name in makefile


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_a_readme_needs_no_ansible_before_it_says_how_to_install_it(readme):
    """Read from the top, after `make audit` alone: ansible-playbook isn't on the PATH, the collection isn't installed."""
    text = (ROOT / readme).read_text(encoding="utf-8")
    before, installing, _after = text.partition("ansible-galaxy collection install")
    assert installing and "$ ansible-playbook" not in before
    made = [line.split()[2] for line in text.splitlines() if line.startswith("$ make ")]
    assert {"audit", "gate", "rejudge", "measure", "plan"} <= set(made) <= {name for name, _text in make_help.targets((ROOT / "Makefile").read_text())}


def test_steps_are_selected_by_name_in_their_own_order():
    assert [step.name for step in run_tests.selected(["lint", "unit"])] == ["unit", "lint"]
    assert len(run_tests.selected([])) == len(steps.STEPS)
    with pytest.raises(environment.ToolError, match="did you mean sanity"):
        run_tests.selected(["santy"])


def test_each_file_of_tests_is_run_by_one_step():
    """matrix runs files of the step plays again."""
    chosen = [*steps.integration_tests(*steps.PLAYS), *steps.measuring_tests(), *steps.integration_tests("test_fleet*.py")]
    assert sorted(chosen) == sorted("tests/integration/" + path.name for path in (ROOT / "tests" / "integration").glob("test_*.py"))
    assert all(steps.integration_tests(pattern) for pattern in steps.PLAYS)
    named = {pathlib.Path(test).name for test in steps.host_side_tests()}
    assert named > set(steps.REAL_TIME) and {"test_host_facts.py", "test_importing.py"} < named
    assert not named & {"test_storage_benchmark.py", "test_judge.py", "test_probe_hostile.py"}


@pytest.mark.parametrize("files, cores", [
    ({}, 8), ({"cpu.max": "max 100000"}, 8), ({"cpu.max": "200000 100000\n"}, 2), ({"cpu.max": "50000 100000"}, 1), ({"cpu.max": "?"}, 8),
    ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8),
    ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3)])
def test_a_container_s_quota_of_cores_counts(tmp_path, monkeypatch, files, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert runner.usable_cores(str(tmp_path)) == cores


JUNIT = """<testsuites><testsuite><testcase classname="a" name="b"/><testcase classname="a" name="c"><failure message="x"/></testcase>
<testcase classname="a" name="d"><skipped message="no captures folder"/></testcase><testcase classname="a" name="e"><error message="y"/></testcase>
</testsuite></testsuites>"""


def test_results_are_counted_with_reasons():
    outcome, failures = runner.read_junit(JUNIT, "unit")
    assert outcome[:3] == (1, 2, 1)
    assert outcome.notes == ["failed: unit: a::c: x", "failed: unit: a::e: y", "skipped: unit: 1: no captures folder"]
    assert [tuple(failure) for failure in failures] == [("a::c", "x"), ("a::e", "y")]


SPOILT = """
import pathlib
import pytest

TRIES = pathlib.Path(__file__).with_name("tries")


@pytest.fixture(scope="module")
def tries():
    TRIES.write_text(TRIES.read_text() + "x" if TRIES.exists() else "x")
    return len(TRIES.read_text())


@pytest.mark.parametrize("word", ["a b"])
def test_spoilt_once(tries, word):
    assert tries > 1, "spoilt"


def test_wrong():
    assert False, "a mistake"


def test_right(tries):
    assert tries == 1
"""


def taken(folder, monkeypatch, text, retake):
    """The outcome of a test file under tests/, run as a step runs it."""
    monkeypatch.setattr(runner, "ROOT", folder)
    path = folder / "tests" / "test_odd.py"
    path.parent.mkdir()
    path.write_text(text)
    return runner.pytest("odd", sys.executable, [str(path.relative_to(folder))], folder / "output" / "odd.log", retake, cwd=folder)


def test_what_failed_is_run_once_more_by_itself_with_what_it_shares_made_afresh(tmp_path, monkeypatch):
    outcome = taken(tmp_path, monkeypatch, SPOILT, True)
    assert outcome[:3] == (2, 1, 0)
    failed, again = outcome.notes
    assert failed.startswith("failed: odd: tests/test_odd.py::test_wrong: AssertionError: a mistake")
    assert again.startswith("again: odd: tests/test_odd.py::test_spoilt_once[a b] passed when it was run once more; first: AssertionError: spoilt")


def test_nothing_is_run_again_where_not_asked_or_much_is_wrong(tmp_path, monkeypatch):
    assert taken(tmp_path, monkeypatch, SPOILT, False)[:3] == (1, 2, 0)
    (tmp_path / "many").mkdir()
    many = "import pytest\n@pytest.mark.parametrize('n', range(6))\ndef test_n(n, tmp_path_factory):\n    assert False\n"
    outcome = taken(tmp_path / "many", monkeypatch, many, True)
    assert outcome[:3] == (0, 6, 0) and (tmp_path / "many" / "output" / "odd.log").read_text().count("\n$ ") == 1


def test_what_passed_only_when_run_again_is_in_the_summary_and_no_failure(capsys):
    step = runner.Step("fleet", "title", None, (), False, False)
    assert runner.summary([step], {"fleet": (runner.Outcome(3, 0, 0, ["again: fleet: x passed when it was run once more; first: y"]), 2)}, 2) == 0
    assert "Passed only when run again:\n  again: fleet: x passed" in capsys.readouterr().out


def test_sanity_results_are_counted():
    text = 'Running sanity test "compile" on Python 3.8\nRunning sanity test "pep8"\nWARNING: Skipping sanity test "shellcheck" because it is missing\n' \
           "FATAL: The 1 sanity test(s) listed below (out of 2) failed. See error output above for details.\npep8\n"
    log = ROOT / "tests" / "output" / "sanity.log"
    assert steps.sanity_outcome(text, 1, log)[:3] == (1, 1, 1)
    assert steps.sanity_outcome(text.partition("FATAL")[0], 0, log)[:3] == (2, 0, 1)
    assert steps.sanity_outcome("", 1, log).failed == 1


def test_the_summary_ends_with_the_count(capsys):
    step = runner.Step("unit", "title", None, (), False, False)
    assert runner.summary([step], {"unit": (runner.Outcome(3, 0, 1, ["skipped: unit: 1: not root"]), 2)}, 2) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "3 passed, 0 failed, 1 skipped"
    assert any("not root" in line for line in lines)


def test_the_end_of_a_log_is_shown_without_orders_to_the_terminal(tmp_path, capsys):
    log = tmp_path / "x.log"
    log.write_bytes(b"\x1b[1;31mFAILED\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b[2Kend\x1bM\n")
    runner._print_tail(log)
    assert capsys.readouterr().out == "    | FAILED link end\n"


@pytest.mark.parametrize("outcome", [runner.Outcome(3, 1, 0, []), runner.Outcome(0, 0, 2, [])])
def test_a_failure_or_nothing_tested_is_no_success(outcome):
    step = runner.Step("unit", "title", None, (), False, False)
    assert runner.summary([step], {"unit": (outcome, 2)}, 2) == 1


def test_a_step_without_its_programs_is_skipped_with_the_reason():
    step = runner.Step("x", "title", lambda step: runner.Outcome(1, 0, 0, []), ("no-such-program-here",), False, False)
    assert runner.run_step(step) == runner.Outcome(0, 0, 1, ["skipped: x: not installed: no-such-program-here"])


def test_a_command_out_of_time_is_ended_with_its_children(tmp_path):
    log = tmp_path / "x.log"
    assert runner.command(["sh", "-c", "sleep 60 & echo $! > %s; wait" % (tmp_path / "child")], log, timeout=1) == 124
    child = (tmp_path / "child").read_text().strip()
    # Killed is not yet gone: the kernel takes the process away a moment later.
    until = time.monotonic() + 10
    while running(child) and time.monotonic() < until:
        time.sleep(0.02)
    assert not running(child)


def running(pid):
    try:
        return "zombie" not in pathlib.Path("/proc/%s/status" % pid).read_text(encoding="utf-8")
    except OSError:
        return False


def test_names_survive_make(tmp_path):
    """make hands a value on as it is: quotes, spaces, dollar signs, and nothing of it runs."""
    value = 'a "b" $HOME $(shell touch %s) `id` c\'d.yml' % (tmp_path / "ran")
    done = subprocess.run(["make", "--no-print-directory", "-C", str(ROOT), "audit", "INVENTORY=" + value, "PYTHON=" + sys.executable],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no such file or folder: %s" % value in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "ran").exists()
