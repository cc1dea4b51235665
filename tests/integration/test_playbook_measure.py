# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The seam of measuring: announced, run as a job, waited for through lost connections, kept, and found by the audit."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest
from measuring_site import MeasuringSite
from playbook_site import LOCAL

RESULT = {"read_bytes_per_second": 3 * 10**9, "cached": False}
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - trainops.gpu_audit.storage_benchmark:
        path: "{{ target }}"
        seconds: "{{ seconds | default(1) }}"
      register: measured
    - ansible.builtin.debug: {var: measured}
"""


@pytest.fixture
def site(tmp_path):
    machine = pathlib.Path("/etc/machine-id")
    made = MeasuringSite(tmp_path, machine.read_text().strip() if machine.exists() else None)
    made.stand_in("storage_benchmark", RESULT)
    made.stand_in("workload_probe", {"outcome": "completed"})
    made.own_play(PLAY)
    return made


def jobs_left(site):
    """What async left in the home of the host's user."""
    folder = site.folder / "home" / ".ansible_async"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_measured_kept_and_nothing_left(site):
    site.inventory({"a": dict(LOCAL, target="/data")})
    done = site.play("own.yml")
    assert done.returncode == 0, done.stdout
    assert "a: storage_benchmark in /data: at most 1 s, writes up to 1.00 GiB; a stand-in" in done.stdout
    ((file, kept),) = site.measurements()
    assert file.startswith("storage_benchmark-") and kept["result"] == RESULT and kept["target"] == "/data" and kept["name"] == "a"
    assert kept["machine_id"] == site.machine_id and kept["started"] <= kept["finished"]
    assert '"changed": false' in done.stdout and file in done.stdout
    assert jobs_left(site) == [] and not list(site.output.glob("measurements/a/.pending*"))


def test_check_mode_only_announces(site):
    site.inventory({"a": dict(LOCAL, target="/data")})
    done = site.play("own.yml", "--check")
    assert done.returncode == 0 and "writes up to 1.00 GiB" in done.stdout, done.stdout
    assert site.runs_of("storage_benchmark") == 0 and site.measurements() == []


def test_a_refusal_is_told_and_no_measurement(site):
    site.inventory({"a": dict(LOCAL, target="/refused")})
    done = site.play("own.yml")
    assert done.returncode == 2 and "refused is no directory" in done.stdout
    assert site.measurements() == []


def test_a_failure_is_kept_too(site):
    site.inventory({"a": dict(LOCAL, target="/broken")})
    done = site.play("own.yml")
    assert done.returncode == 2 and "the disk broke" in done.stdout
    ((_file, kept),) = site.measurements()
    assert kept["error"] == "the disk broke" and kept["machine_id"] == site.machine_id and "result" not in kept


def test_a_lost_connection_loses_nothing(site):
    site.inventory({"a": {"ansible_connection": "flaky", "target": "/data", "seconds": 4}})
    with subprocess.Popen(site.command("own.yml"), cwd=site.folder, env=site.environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
        until(lambda: list(site.output.glob("measurements/a/.pending*")))
        (site.folder / "away").touch()
        until((site.folder / "missed").exists)
        (site.folder / "away").unlink()
        output = run.communicate(timeout=60)[0]
    assert run.returncode == 0 and "out of reach, the job goes on: Connection timed out" in output, output
    assert site.runs_of("storage_benchmark") == 1 and [kept["result"] for _file, kept in site.measurements()] == [RESULT]


def test_a_controller_that_dies_loses_nothing_the_next_run_takes_the_result_over(site):
    site.inventory({"a": {"ansible_connection": "flaky", "target": "/data", "seconds": 4}})
    with subprocess.Popen(site.command("own.yml"), cwd=site.folder, env=site.environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        until(lambda: list(site.output.glob("measurements/a/.pending*")))
        for pid in tree(run.pid):
            # Some end with those above them.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert site.measurements() == []
    done = site.play("own.yml")
    assert done.returncode == 0 and '"resumed": true' in done.stdout, done.stdout
    assert site.runs_of("storage_benchmark") == 1 and [kept["result"] for _file, kept in site.measurements()] == [RESULT]
    assert site.play("own.yml").returncode == 0 and site.runs_of("storage_benchmark") == 2


def deep(levels):
    return {"a": deep(levels - 1)} if levels else {}


@pytest.mark.parametrize("result, why", [
    ({"read_bytes_per_second": float("inf")}, "no number that a file can hold: result.read_bytes_per_second (inf)"),
    ({"options": deep(80)}, "nested too deeply")])
def test_an_answer_that_cannot_be_kept_is_a_failure_and_spoils_no_later_one(site, result, why):
    site.inventory({"a": dict(LOCAL, target="/data")}, {"gpu_audit_language": "zh"})
    site.stand_in("storage_benchmark", result)
    done = site.play("own.yml")
    ((_file, kept),) = site.measurements()
    assert done.returncode == 2 and "无法保存主机的应答" in done.stdout, done.stdout
    assert kept["error"].startswith("the host's answer can't be kept: ") and why in kept["error"] and kept["machine_id"] == site.machine_id
    assert not list(site.output.glob("measurements/a/.*")) and jobs_left(site) == []
    site.stand_in("storage_benchmark", RESULT)
    assert site.play("own.yml").returncode == 0 and [kept.get("result") for _file, kept in site.measurements()][-1] == RESULT


def test_an_answer_that_ansible_cannot_read_is_waited_for_no_longer(site):
    site.inventory({"a": dict(LOCAL, target="/data")})
    site.stand_in("storage_benchmark", {"framework": "\udc80x"})
    done = site.play("own.yml")
    ((_file, kept),) = site.measurements()
    assert not list(site.output.glob("measurements/a/.*")) and jobs_left(site) == []
    # Older versions take it.
    if "error" in kept:
        assert done.returncode == 2 and "out of reach" not in done.stdout, done.stdout
        assert "the job ended, and Ansible can't read its answer: Refusing to deserialize" in kept["error"]
    else:
        assert kept["result"]["framework"] == "?x"


def place(site, kind):
    """An output folder where nothing can be kept."""
    if kind == "no folder":
        return "/proc/gpu-audit-no-such"
    key = hashlib.sha256(b"storage_benchmark\n/data").hexdigest()[:16]
    os.makedirs(site.output / "measurements" / "a" / (".pending-storage_benchmark-%s.json" % key))
    return str(site.output)


@pytest.mark.parametrize("kind", ["no folder", "a folder for the note"])
@pytest.mark.parametrize("arguments", [(), ("--check",)])
def test_nothing_runs_on_a_host_whose_result_could_not_be_kept(site, kind, arguments):
    site.inventory({"a": dict(LOCAL, target="/data")}, {"gpu_audit_output_dir": place(site, kind)})
    done = site.play("own.yml", *arguments)
    assert done.returncode == 2 and ("cannot make /proc/" in done.stdout or "it is a folder" in done.stdout), done.stdout
    assert site.runs_of("storage_benchmark") == 0 and jobs_left(site) == []


KILLED = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"
# As on a full disk: the wrapper can't write its answer to the end.
FULL = "import os, resource, signal\nresource.prlimit(os.getppid(), resource.RLIMIT_FSIZE, (0, 0))"


@pytest.mark.parametrize("last, why", [(KILLED, "its process is gone from the host and left no answer"), (FULL, "its answer found no room in")])
def test_a_job_whose_process_is_gone_is_not_waited_for(site, last, why):
    site.inventory({"a": dict(LOCAL, target="/data", seconds=500)})
    site.stand_in("storage_benchmark", RESULT, last=last)
    module = site.modules / "storage_benchmark.py"
    module.write_text(module.read_text().replace('time.sleep(module.params["seconds"])', "time.sleep(1)"))
    done = site.play("own.yml")
    ((_file, kept),) = site.measurements()
    assert done.returncode == 2 and "the job gives no result: " + why in kept["error"], done.stdout
    assert jobs_left(site) == [] and not list(site.output.glob("measurements/a/.*"))


@pytest.mark.parametrize("language, words", [("en", ("the test goes on on the host", "Connection timed out: no route to host")), ("zh", ("主机上的测试仍在继续",))])
def test_ctrl_c_while_the_host_is_out_of_reach_says_that_the_test_goes_on(site, language, words):
    site.inventory({"a": {"ansible_connection": "flaky", "target": "/data", "seconds": 6}}, {"gpu_audit_language": language})
    with subprocess.Popen(site.command("own.yml"), cwd=site.folder, env=site.environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True) as run:
        until(lambda: list(site.output.glob("measurements/a/.pending*")))
        (site.folder / "away").touch()
        until((site.folder / "missed").exists)
        os.killpg(run.pid, signal.SIGINT)
        output = run.communicate(timeout=60)[0]
    assert all(word in output for word in (*words, "pkill -TERM -o -f")), output
    (site.folder / "away").unlink()
    done = site.play("own.yml")
    assert done.returncode == 0 and '"resumed": true' in done.stdout and site.runs_of("storage_benchmark") == 1, done.stdout


def tree(pid):
    """A process and all below it, the parents first: workers of newer versions have a session of their own."""
    found = [pid]
    for one in found:
        found += [int(word) for task in pathlib.Path("/proc/%d/task" % one).glob("*/children") for word in task.read_text().split()]
    return found


def until(holds, seconds=30):
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def put(site, name, target, result):
    folder = site.output / "measurements" / name
    folder.mkdir(parents=True, exist_ok=True)
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    (folder / ("storage_benchmark-%s.json" % target.strip("/"))).write_text(json.dumps({
        "schema": "trainops.gpu_audit/measurement/1", "name": name, "machine_id": site.machine_id, "gpu_uuids": [], "module": "storage_benchmark",
        "target": target, "options": {}, "started": moment, "finished": moment, "result": result}))


def test_measurements_that_cannot_be_taken_cost_the_host_nothing_else(site):
    if site.machine_id is None:
        pytest.skip("this machine has no machine-id")
    site.inventory({"a": LOCAL, "b": LOCAL})
    for number in range(3):
        put(site, "a", "/large%d" % number, dict(RESULT, more=["x" * 4000] * 950))
    put(site, "a", "/deep", {"options": deep(60)})
    put(site, "a", "/huge", {"more": ["x" * 4000] * 2300})
    put(site, "a", "/good", RESULT)
    (site.output / "measurements" / "b").write_text("")
    said = " ".join(site.play("audit").stdout.split())
    assert "measurement storage_benchmark-deep.json of a is left out: not a document: nested too deeply" in said, said
    assert "measurement storage_benchmark-huge.json of a is left out: too large: " in said
    assert said.count("a: a measurement is left out, the host's document would be too large to be read: storage_benchmark, /large") == 1
    # Older versions break a long path too.
    unreadable = "the measurements of b are left out: %s: cannot be read: Not a directory" % (site.output / "measurements" / "b")
    assert unreadable.replace(" ", "") in said.replace(" ", "")
    assert site.document("a")["facts"] and len(site.document("a")["measurements"]) == 3 and site.document("b")["facts"]
    assert {"target": "/good"}.items() <= min(site.document("a")["measurements"], key=lambda taken: taken["target"]).items()


def test_the_playbook_without_anything_to_measure_says_what_to_set(site):
    site.inventory({"a": LOCAL})
    done = site.play("measure")
    assert done.returncode == 0 and "Set measure_storage_path" in done.stdout, done.stdout
    assert site.runs_of("storage_benchmark") == 0 and site.measurements() == []


@pytest.mark.parametrize("variables, said", [
    ({"measure_storage_path": "{{ data_dir }}"}, "'data_dir' is undefined"),
    ({"measure_storage_path": "/data", "probe_workload_argv": "{{ train_cmd }}"}, "'train_cmd' is undefined"),
    ({"measure_storage_path": "/data", "gpu_audit_workload": [1]}, "gpu_audit_workload is no mapping"),
    ({"measure_storage_path": "/data", "gpu_audit_workload": {"batch_size": "two"}}, "gpu_audit_workload: batch_size must be a whole number"),
    ({"measure_storage_path": "/data", "gpu_audit_workload": {"batchsize": 2}}, "batchsize is no field of the form (did you mean"),
    ({"probe_workload_argv": 5}, "probe_workload_argv is no list of words"), ({"probe_workload_argv": 0}, "probe_workload_argv is no list of words"),
    ({"probe_workload_argv": ["true"], "probe_workload_environment": "TOKEN=hunter2"}, "probe_workload_environment is no mapping")])
def test_a_setting_that_cannot_be_meant_so_ends_the_play_before_anything_is_measured(site, variables, said):
    site.inventory({"a": LOCAL}, variables)
    done = site.play("measure")
    assert done.returncode == 2 and said in done.stdout, done.stdout
    assert site.runs_of("storage_benchmark") == site.runs_of("workload_probe") == 0
    assert "hunter2" not in done.stdout and "Traceback" not in done.stdout


@pytest.mark.parametrize("variables", [{"measure_storage_path": "{{ none_here }}", "none_here": ""},
                                       {"measure_storage_path": None, "probe_workload_argv": None}])
def test_what_is_set_to_nothing_is_not_set(site, variables):
    site.inventory({"a": LOCAL}, variables)
    done = site.play("measure")
    assert done.returncode == 0 and "Set measure_storage_path" in done.stdout, done.stdout


def test_a_misspelt_variable_is_told_also_where_nothing_is_measured_for_it(site):
    site.inventory({"a": LOCAL}, {"measure_storage_paht": "/data"})
    assert 'measure_storage_paht is no variable of this audit and changes nothing (did you mean \\"measure_storage_path\\"?)' in site.play("measure").stdout


def test_a_misspelt_variable_of_the_role_that_runs_is_warned_of(site):
    site.inventory({"a": dict(LOCAL, target="/data")}, {"measure_storage_qick": True, "probe_workload_agrv": ["x"]})
    done = site.play("own.yml")
    # Ansible breaks the lines of a warning.
    said = " ".join(done.stdout.split())
    assert done.returncode == 0 and '(did you mean "measure_storage_quick"?)' in said and '(did you mean "probe_workload_argv"?)' in said, done.stdout


def test_it_speaks_chinese(site):
    site.inventory({"a": dict(LOCAL, target="/data")}, {"gpu_audit_language": "zh", "measure_storage_qick": True})
    done = site.play("own.yml")
    assert done.returncode == 0, done.stdout
    assert "a：storage_benchmark（/data）：最多 1 秒，最多写入 1.00 GiB；a stand-in" in done.stdout
    assert "a：storage_benchmark：读取 2.79 GiB/s；保存在 " in done.stdout and "不是本审计的变量" in done.stdout
    assert "没有启动任何测量" in site.play("own.yml", "--check").stdout


def test_what_is_refused_or_fails_is_said_in_chinese_and_kept_in_english(site):
    site.inventory({"a": dict(LOCAL, target="/data/refused"), "b": dict(LOCAL, target="/data/broken")}, {"gpu_audit_language": "zh"})
    site.stand_in("storage_benchmark", RESULT, refusal="/data is a file; give a directory", failure="fio was ended by SIGKILL")
    done = site.play("own.yml")
    assert done.returncode == 2 and "/data 是文件；请给出目录" in done.stdout and "fio 被 SIGKILL 结束" in done.stdout, done.stdout
    assert [kept["error"] for _file, kept in site.measurements("b")] == ["fio was ended by SIGKILL"]


@pytest.mark.parametrize("role, said", [("measure_storage", "measure_storage_path 为空"), ("probe_workload", "probe_workload_argv 为空")])
def test_a_role_without_its_setting_says_so_in_chinese_with_what_was_misspelt(site, role, said):
    site.inventory({"a": LOCAL}, {"gpu_audit_language": "zh", role + "_xargv": 1, role + "_xpath": 1})
    done = site.play(site.own_play("- hosts: all\n  gather_facts: false\n  roles: [trainops.gpu_audit.%s]\n" % role))
    assert done.returncode == 2 and said in done.stdout and "是否想写" in done.stdout, done.stdout
    assert "没有要测量的内容" in site.play("measure").stdout
