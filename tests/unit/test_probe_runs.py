# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Probes of a real program against the lab's driver: what it needed, what became of it, and that nothing of it is left."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import probing
import pytest
from probing import HELPER, TOTAL, Lab, marked, needs_compiler

pytestmark = needs_compiler


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)


def living(mark):
    """Pids whose command line has `mark` in it, zombies and this process left out."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and int(folder.name) != os.getpid() and mark.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def gone(mark, seconds=15):
    until = time.monotonic() + seconds
    while living(mark) and time.monotonic() < until:
        time.sleep(0.05)
    return not living(mark)


@pytest.mark.parametrize("peak", [0.79, 0.82, 0.86])
def test_the_peak_is_what_the_program_took_and_what_the_driver_reserves_is_told_apart(lab, peak):
    result = lab.workload("--peak", str(peak), "--steps", "6", "--step-seconds", "0.12")
    gpu, = result["gpus"]
    assert result["outcome"] == "completed" and result["exit_code"] == 0 and result["iterations"] == 6
    assert gpu["memory_used_peak_bytes"] == int(TOTAL * peak) and gpu["memory_reserved_bytes"] == 500 << 20
    assert gpu["memory_total_bytes"] == TOTAL and gpu["memory_job_peak_bytes"] == int(TOTAL * peak) and gpu["used_by_job"]
    assert gpu["memory_start_peak_bytes"] < gpu["memory_used_peak_bytes"] and gpu["memory_other_bytes"] == 0
    assert gpu["utilization_p90_fraction"] == 0.9 and gpu["power_mean_watts"] > 60 and gpu["temperature_max_celsius"] >= 40
    assert max(value for value in result["series"]["gpu"]["0"]["memory_used_bytes"] if value) == int(TOTAL * peak)
    assert len(result["series"]["t"]) == len(result["series"]["gpu"]["0"]["utilization_fraction"])


def test_vram_that_fills_at_the_start(lab):
    result = lab.workload("--mode", "fill", "--step-seconds", "0.25")
    assert result["outcome"] == "oom_cuda" and result["exit_code"] == 1
    assert result["out_of_memory"]["at_start"] and "CUDA out of memory" in result["out_of_memory"]["line"]
    assert result["gpus"][0]["memory_start_peak_bytes"] == int(TOTAL * 0.99)


def test_a_command_that_just_fails(lab):
    result = lab.workload("--mode", "fail")
    assert (result["outcome"], result["exit_code"], result["out_of_memory"]) == ("failed", 1, None)
    assert "no such column" in result["output_tail"]


def test_a_command_that_takes_too_long(lab):
    result = lab.workload("--steps", "1000", timeout_seconds=1.5, grace_seconds=0.5)
    assert result["outcome"] == "timeout" and result["stopped_for"] == "timeout" and result["signal"] == "SIGTERM"
    assert result["iterations"] > 3 and result["duration_seconds"] < 10


def test_a_command_that_stands_still_with_a_busy_gpu(lab):
    result = lab.workload("--mode", "hang", hang_seconds=1.0, timeout_seconds=30, grace_seconds=0.5)
    assert result["outcome"] == "hang" and result["iterations"] == 3 and result["gpus"][0]["utilization_p90_fraction"] == 1.0


def test_quiet_work_before_the_first_iteration_is_no_hang(lab):
    code = "import time\nuntil = time.time() + 4\nwhile time.time() < until: sum(range(1000))\n"
    answer = lab.run([sys.executable, "-c", code], hang_seconds=2.0, timeout_seconds=30, iteration_pattern="step")
    assert answer["measurement"]["outcome"] == "completed"


def test_enough_iterations(lab):
    result = lab.workload("--steps", "1000", "--step-seconds", "0.05", iterations=10, grace_seconds=1)
    assert result["outcome"] == "stopped" and result["stopped_for"] == "iterations" and 10 <= result["iterations"] < 30
    assert 0.04 < result["iteration_seconds"]["p50"] < 0.4


def test_a_program_that_reserves_everything_on_purpose(lab, tmp_path):
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "__main__.py").write_text(
        "import runpy, sys\nsys.argv[0] = %r\nrunpy.run_path(sys.argv[0], run_name='__main__')\n" % str(HELPER.parents[2] / "tests/lab/workload.py"))
    words = ["--live", str(lab.live), "--total", str(TOTAL), "--mode", "reserve", "--peak", "0.92", "--steps", "4"]
    result = lab.run([sys.executable, "-m", "vllm", *words], chdir=str(tmp_path))["measurement"]
    assert result["outcome"] == "completed" and result["reservation"] == "vllm" and result["framework_peak_bytes"] is None
    assert result["gpus"][0]["memory_used_peak_bytes"] == int(TOTAL * 0.92)


def test_the_framework_s_own_figure(lab):
    code = "print('peak memory: 12,288 MiB')"
    result = lab.run([sys.executable, "-c", code], memory_pattern=r"peak memory: (?P<mib>[\d,]+) MiB", reserves="jax")["measurement"]
    assert result["framework_peak_bytes"] == 12288 << 20 and result["reservation"] == "jax"


def test_the_helper_splits_waiting_from_computing_and_reads_are_counted(lab, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for number in range(4):
        (data / ("%d.bin" % number)).write_bytes(os.urandom(1 << 20))
    result = lab.workload("--data", str(data), "--steps", "10", "--wait-seconds", "0.09", "--step-seconds", "0.03", "--utilization", "35",
                          iteration_pattern=None, environment={"PYTHONPATH": str(HELPER)})
    assert result["iterations"] == 10 and 0.55 < result["data_wait_fraction"] < 0.9
    assert result["epoch_source"] == "measured" and result["epoch_seconds"] > 1.1
    assert 10 << 20 <= result["read_call_bytes"] < 40 << 20


def test_others_that_hold_vram_are_told_and_not_counted_as_the_job_s(lab):
    lab.scenario(used=3 << 30, processes="1:%d:other" % (3 << 30))
    result = lab.run([sys.executable, "-c", "import time; time.sleep(0.5)"])["measurement"]
    assert [(one["pid"], one["used_memory_bytes"]) for one in result["leftovers"]] == [(1, 3 << 30)]
    gpu, = result["gpus"]
    assert gpu["memory_other_bytes"] == 3 << 30 and gpu["memory_job_peak_bytes"] is None and gpu["used_by_job"] is None


def test_only_visible_gpus_are_in_the_result_but_all_in_the_machine_s_list(lab):
    lab.scenario(count=2)
    answer = lab.run([sys.executable, "-c", "pass"], environment={"CUDA_VISIBLE_DEVICES": "1"})
    assert [gpu["index"] for gpu in answer["measurement"]["gpus"]] == [1] and len(answer["gpu_uuids"]) == 2
    assert "CUDA_VISIBLE_DEVICES leaves 1 of 2 GPUs to the command" in answer["measurement"]["notes"]
    both = lab.run([sys.executable, "-c", "pass"], environment={"CUDA_VISIBLE_DEVICES": "1,0"})["measurement"]
    assert not any("CUDA_VISIBLE_DEVICES" in note for note in both["notes"])


def test_gpus_that_the_program_never_used_are_told(lab):
    lab.scenario(count=4)
    argv = [sys.executable, str(probing.WORKLOAD), "--live", str(lab.live), "--total", str(TOTAL), "--steps", "6"]
    options = {"gpu_counts": [1, 2, 4], "scaling_basis": "step", "iteration_pattern": r"step (?P<iteration>\d+)/"}
    result = lab.run(argv, measure=True, **options)["measurement"]
    assert result["scaling"]["used_gpus"] == {"1": 1, "2": 1, "4": 1} and [gpu["in_use"] for gpu in result["gpus"]] == [True, False, False, False]
    assert any(note.startswith("on 2 GPUs the command used only 1") for note in result["notes"])
    every = lab.run([*argv, "--gpus", "2"], measure=True, **dict(options, gpu_counts=[2]))["measurement"]
    assert every["scaling"]["used_gpus"] == {"2": 2} and not any("used only" in note for note in every["notes"])


def test_clock_events_sm_activity_and_mig(lab):
    lab.scenario(extra="throttle = 0x40\ngpm.sm_util = 37.5\n")
    # The second look at SM activity comes two seconds after the first.
    gpu, = lab.run([sys.executable, "-c", "import time; time.sleep(2.4)"])["measurement"]["gpus"]
    assert gpu["clock_event_seconds"]["hw_thermal_slowdown"] > 1.5 and gpu["sm_activity_mean_fraction"] == 0.375
    lab.scenario(extra="mig.mode = 1 1\nmig.max = 2\nmig.0.uuid = MIG-a\nmig.0.memory.total = 1000\nmig.0.memory.used = 400\nmig.1.uuid = MIG-b\n"
                       "mig.1.memory.total = 1000\nmig.1.memory.used = 300\nmemory.reserved = 0\n")
    first, second = lab.run([sys.executable, "-c", "import time; time.sleep(0.3)"])["measurement"]["gpus"]
    assert (first["mig_uuid"], first["memory_used_peak_bytes"], second["mig_uuid"]) == ("MIG-a", 400, "MIG-b")
    assert first["uuid"] == second["uuid"] and first["uuid"].startswith("GPU-0")


def test_a_driver_that_hangs_in_the_middle_costs_the_samples_and_not_the_watch(lab):
    lab.scenario(extra="utilization = @steps 0:10 5; 1:!HANG\n")
    began = time.monotonic()
    result = lab.run([sys.executable, "-c", "import time; time.sleep(2.5); print('done')"])["measurement"]
    assert result["outcome"] == "completed" and "done" in result["output_tail"] and time.monotonic() - began < 20
    assert 3 <= result["sampler"]["samples"] < 16


def test_no_driver_is_told(lab):
    (lab.folder / "scenario.conf").unlink()
    result = lab.run(["/bin/true"])["measurement"]
    assert result["gpus"] == [] and any(note == "GPUs not sampled: Driver Not Loaded" for note in result["notes"])
    assert result["outcome"] == "completed" and result["limiter"] is None


def test_daemons_are_ended_with_the_command(lab):
    result = lab.workload("--mode", "daemons", "--steps", "2")
    assert result["outcome"] == "completed" and any("still running" in note for note in result["notes"])
    assert not living("gpu-audit-lab-daemon")


def test_a_flood_of_output_is_passed_by_and_its_end_kept(lab):
    code = "yes step 1 | head -c 30000000; echo; echo CUDA out of memory >&2; exit 1"
    result = lab.run(["/bin/sh", "-c", code], iteration_pattern="step")["measurement"]
    assert result["outcome"] == "oom_cuda" and result["out_of_memory"]["line"] == "CUDA out of memory"
    assert any("were not looked at" in note for note in result["notes"]) and 0 < result["iterations"] < 600000


def test_a_watch_that_is_told_to_end_gives_no_measurement(lab):
    process = lab.start(["/bin/sleep", "300"])
    until = time.monotonic() + 20
    while not sleeping(process.pid) and time.monotonic() < until:
        time.sleep(0.05)
    job, = sleeping(process.pid)
    os.kill(child_named("gpu-audit-watch", process.pid), signal.SIGTERM)
    assert "ended before the command was" in process.communicate(timeout=30)[0]
    assert not pathlib.Path("/proc/%d/cmdline" % job).exists()


@pytest.mark.parametrize("who", ["caller", "guard", "watch"])
def test_whoever_is_killed_nothing_is_left(lab, tmp_path, who):
    mark = "gpu-audit-mark-%d-%s" % (os.getpid(), who)
    code = ("import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "if os.fork() == 0:\n os.setsid()\n if os.fork(): os._exit(0)\n"
            "open(%r, 'a').write('x')\ntime.sleep(300)" % str(tmp_path / "started"))
    process = lab.start([sys.executable, "-c", code, mark], timeout_seconds=60)
    until = time.monotonic() + 20
    while not ((tmp_path / "started").exists() and len((tmp_path / "started").read_text()) == 2) and time.monotonic() < until:
        time.sleep(0.05)
    assert len(living(mark)) >= 3                  # the caller's own command line has the mark as well
    victim = process.pid if who == "caller" else child_named("gpu-audit-%s" % who, process.pid)
    os.kill(victim, signal.SIGKILL)
    out = process.communicate(timeout=30)[0]
    assert gone(mark), living(mark)
    assert who == "caller" or "probe_error" in out
    assert not list(lab.folder.glob("gpu-audit-probe-*"))


def child_named(name, root):
    """The pid of the process below `root` with this name."""
    parents = {}
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                text = (folder / "stat").read_text()
            except OSError:
                continue
            parents[int(folder.name)] = (int(text.rpartition(")")[2].split()[1]), text[text.index("(") + 1:text.rindex(")")])
    for pid, (parent, comm) in parents.items():
        above = pid
        while above in parents and above != root:
            above = parents[above][0]
        if comm == name and above == root:
            return pid
    raise AssertionError("no process %s" % name)


def test_a_lost_reader_ends_the_probe(lab):
    mark = "gpu-audit-mark-%d-lost" % os.getpid()
    code = "from gpu_audit_utils.measure import probe\nprobe.run({'argv': ['/bin/sleep', '300', %r][:2], 'environment': {'MARK': %r}})" % (mark, mark)
    process = subprocess.Popen([sys.executable, "-c", code, mark], env=lab.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 20
    while time.monotonic() < until and not sleeping(process.pid):
        time.sleep(0.05)
    job = sleeping(process.pid)
    process.stdout.close()
    process.wait(20)
    assert job and not any(pathlib.Path("/proc/%d/cmdline" % pid).exists() for pid in job)


def sleeping(root):
    try:
        return [child_named("sleep", root)]
    except AssertionError:
        return []


@pytest.mark.parametrize("options, words", [
    ({"argv": ["/no/such"]}, "argv: the command /no/such isn't there"),
    ({"argv": ["no-such-program"]}, "argv: the command no-such-program isn't there, or isn't on PATH ("),
    ({"argv": ["/etc/passwd"]}, "/etc/passwd may not be executed by user "), ({"argv": ["/etc"]}, "/etc is a folder, not a command"),
    ({"argv": ["/bin/true"], "chdir": "/no/folder"}, "chdir: /no/folder isn't there: make the folder"),
    ({"argv": ["/bin/true"], "chdir": "/etc/passwd"}, "chdir: /etc/passwd is no folder"),
    ({"argv": ["/bin/true", "x" * (200 << 10)]}, "arguments and environment are longer than the kernel takes"),
    ({"argv": ["/bin/true", "\ud800"]}, "not be written as UTF-8"),
    ({"argv": ["/bin/true"], "run_as": "nobody-here"}, "there is no user nobody-here on this host: name one of its users")])
def test_a_command_that_can_t_start_says_why_and_what_to_do(lab, options, words):
    result = lab.run(**options)["measurement"]
    assert result["outcome"] == "not_started" and words in result["error"]
    assert result["read_bytes"] is result["read_bytes_per_second"] is result["host_read_bytes"] is None
    assert "Errno" not in result["error"] and "Error:" not in result["error"] and "No such file" not in result["error"]


@pytest.mark.parametrize("name, text, words", [
    ("script", "#!/no/such/interpreter\n", "what its first line (#!) or its loader names is not"),
    ("garbage", "\x7fELFnot really", "is no program that this host can run"), ("plain", "echo x\n", "is no program that this host can run")])
def test_a_file_that_is_no_program_is_told_from_one_that_isn_t_there(lab, tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    (tmp_path / name).chmod(0o755)
    assert words in lab.run([str(tmp_path / name)])["measurement"]["error"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a command as another user")
def test_what_another_user_may_not_reach_is_said_with_his_name(lab, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "program").write_text("#!/bin/sh\n")
    (closed / "program").chmod(0o755)
    result = lab.run([str(closed / "program")], run_as="nobody", chdir="/")["measurement"]
    assert "can't be reached by user nobody (permission denied on a folder above it)" in result["error"]
    assert "may not be entered by user nobody" in lab.run(["/bin/true"], run_as="nobody", chdir=str(closed))["measurement"]["error"]


@pytest.mark.parametrize("options, words", [
    ({"argv": []}, "argv: a list of words"), ({"argv": ["x"], "interval_seconds": 0}, "interval_seconds: 0 is not between"),
    ({"argv": ["x"], "iteration_pattern": "("}, "iteration_pattern: '(' is no regular expression"), ({"argv": ["x"], "chdir": "a"}, "not an absolute"),
    ({"argv": ["x"], "memory_pattern": "x"}, "exactly one group")])
def test_a_wrong_option_is_one_sentence(lab, options, words):
    assert words in lab.run(**options)["probe_error"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a command as another user")
def test_run_as(lab):
    code = "import os, tempfile; print(os.getuid(), os.environ['HOME']); open(os.environ['GPU_AUDIT_PROBE_FILE'], 'a').write('{\"iteration\": 1}\\n')"
    result = lab.run(["/usr/bin/env", "python3", "-c", code], run_as="nobody", environment={"PATH": "/usr/bin:/bin"})["measurement"]
    assert result["outcome"] == "completed" and result["output_tail"].startswith("65534 ") and result["iterations"] == 1


def test_nothing_of_the_command_is_kept_unless_asked_for(lab):
    result = lab.run(["/bin/echo", "secret"], environment={"TOKEN": "abc"}, output_tail_bytes=0)["measurement"]
    assert "secret" not in str(result) and "abc" not in str(result)
    kept = lab.run(["/bin/echo", "secret"], keep_command=True)["measurement"]
    assert kept["command"]["argv"] == ["/bin/echo", "secret"] and kept["output_tail"] == "secret\n"


def memory_group():
    """A new cgroup v1 memory group below our own, None where there can't be one."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        dummy, kinds, path = line.split(":", 2)
        if "memory" in kinds.split(","):
            folder = pathlib.Path("/sys/fs/cgroup/memory") / path.strip("/") / ("gpu-audit-test-%d" % os.getpid())
            try:
                folder.mkdir()
                return folder
            except OSError:
                return None
    return None


def test_the_oom_killer_of_the_kernel(lab):
    group = memory_group()
    if group is None:
        pytest.skip("no memory cgroup can be made here")
    try:
        (group / "memory.limit_in_bytes").write_text(str(160 << 20))
        argv = ["/bin/sh", "-c", 'echo $$ > "$0"; exec "$@"', str(group / "cgroup.procs"), sys.executable, str(HELPER.parents[2] / "tests/lab/workload.py"),
                "--live", str(lab.live), "--mode", "eat"]
        result = lab.run(argv, timeout_seconds=60)["measurement"]
        assert (result["outcome"], result["signal"]) == ("oom_host", "SIGKILL"), result["notes"]
        assert result["out_of_memory"]["kills"] >= 1
    finally:
        for dummy in range(50):
            try:
                group.rmdir()
                break
            except OSError:
                time.sleep(0.05)


def test_a_sigkill_of_somebody_else_is_no_lack_of_memory(lab):
    result = lab.run(["/bin/sh", "-c", "kill -9 $$"])["measurement"]
    assert (result["outcome"], result["signal"], result["out_of_memory"]) == ("failed", "SIGKILL", None)


# Three that fork and end for as long as they are let; their group is the command's.
RUNNERS = ("import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
           "for _ in range(3):\n    if os.fork() == 0:\n        while True:\n            if os.fork():\n                os._exit(0)\n")


def test_those_that_fork_faster_than_they_are_seen_are_ended(lab):
    mark = "GPU_AUDIT_RUNNER=%d" % os.getpid()
    lab.run([sys.executable, "-c", RUNNERS], environment=dict([mark.split("=")]))
    left = marked(mark, looks=20)
    for pid in left:
        with contextlib.suppress(OSError):
            os.killpg(os.getpgid(pid), signal.SIGKILL)
    assert not left


def test_a_pattern_that_takes_for_ever_is_given_up_and_the_watch_goes_on(lab):
    script = "echo %s; sleep 1; echo step 1; exit 3" % ("a" * 40 + "b")
    result = lab.run(["/bin/sh", "-c", script], iteration_pattern=r"(a+)+$", epoch_pattern="step", timeout_seconds=20)["measurement"]
    assert (result["outcome"], result["exit_code"]) == ("failed", 3)
    assert any("iteration_pattern took more than" in note for note in result["notes"])


def test_progress_written_faster_than_it_is_read_counts_whole(lab):
    code = "import os; open(os.environ['GPU_AUDIT_PROBE_FILE'], 'a').write('{\"iteration\": 1, \"seconds\": 0.1}\\n' * 60000)"
    assert lab.run([sys.executable, "-c", code])["measurement"]["iterations"] == 60000


@pytest.mark.parametrize("argv", [["train.py --token=hunter2"], ["train.py=hunter2", "python3"], ["train.py --token=\ud800hunter2"]])
def test_a_command_that_is_no_list_is_not_repeated(lab, argv):
    result = lab.run(argv)["measurement"]
    assert result["outcome"] == "not_started" and "hunter2" not in str(result) and "train.py" in result["error"]


def test_the_host_s_log_holds_neither_arguments_nor_environment(monkeypatch):
    from ansible_collections.trainops.gpu_audit.plugins.modules import workload_probe
    module, said = object.__new__(workload_probe._Module), []
    module.params = {"argv": ["python3", "--token=hunter2"], "environment": {"X": "hunter2"}, "chdir": "/w"}
    module.aliases, module.argument_spec, module.no_log_values = {}, dict(workload_probe.ARGUMENTS), set()
    monkeypatch.setattr(workload_probe._Module, "log", lambda self, msg, log_args=None: said.append("%s %s" % (msg, log_args)))
    module._log_invocation()
    assert "chdir=/w" in said[0] and "hunter2" not in said[0] and module.argument_spec == workload_probe.ARGUMENTS


def listed(lab):
    code = "import json\nfrom gpu_audit_utils.measure import probe_plan\nprobe_plan.COUNT_SECONDS = 3.0\nprint(json.dumps(probe_plan.listed_gpus()))"
    return json.loads(subprocess.run([sys.executable, "-c", code], env=lab.environment(), capture_output=True, text=True, check=True).stdout)


def test_gpus_are_counted_without_running_anything_whatever_the_driver_does(lab):
    lab.scenario(count=2)
    assert [gpu["index"] for gpu in listed(lab)["gpus"]] == [0, 1] and listed(lab)["error"] is None
    path = lab.folder / "scenario.conf"
    text = path.read_text()
    path.write_text(text.replace("[system]", "[system]\ninit = !HANG"))
    assert listed(lab) == {"gpus": [], "error": "no answer within 3 s"}
    path.unlink()
    assert listed(lab) == {"gpus": [], "error": "Driver Not Loaded"}


@pytest.mark.parametrize("code, exit_code, tail", [
    ("import os, time; print('said', flush=True); os.close(1); os.close(2); time.sleep(1); os._exit(5)", 5, "said\n"),
    ("import os\nfor _ in range(20): os.write(1, os.urandom(60000))\nos.write(2, b'end')", 0, "end"),
    ("import os\nfor _ in range(3): os.write(1, b'a' * 1000000)\nos.write(1, b'end')", 0, "aend"),
    ("import sys; print(len(sys.argv))", 0, "10001\n")])
def test_output_of_any_kind_does_no_harm(lab, code, exit_code, tail):
    words = ["word%d" % number for number in range(10000)] if "argv" in code else []
    result = lab.run([sys.executable, "-c", code, *words], iteration_pattern=r"[0-9]{5}zzzzzz", timeout_seconds=40)["measurement"]
    assert (result["outcome"], result["exit_code"]) == ("failed" if exit_code else "completed", exit_code)
    assert result["output_tail"].endswith(tail) and result["iterations"] is None


def test_json_lines_of_any_kind_do_no_harm(lab):
    lines = ['{"iteration": 1, "seconds": NaN}', '{"iteration": 2, "seconds": 1e400, "data_seconds": -Infinity}', "{broken", "\\x00\\x00", "[]",
             '{"iteration": 3, "seconds": %s}' % ("9" * 6000), '{"memory_peak_bytes": 1e300}', '{"iteration": 4, "seconds": 0.5}']
    # The last one without an end.
    code = "import os; open(os.environ['GPU_AUDIT_PROBE_FILE'], 'ab').write(b'%s')" % "\\n".join(lines)
    result = lab.run([sys.executable, "-c", code])["measurement"]
    assert result["outcome"] == "completed" and result["iterations"] in (3, 4) and result["framework_peak_bytes"] is None
    assert any("are no JSON objects" in note for note in result["notes"])


def test_a_command_that_ends_its_watch_gives_one_sentence(lab):
    assert "ended without an answer" in lab.run(["/bin/sh", "-c", "kill -9 $PPID; sleep 300"])["probe_error"]


def test_a_folder_for_temporary_files_that_can_t_be_made_is_said(lab, monkeypatch):
    environment = lab.environment()
    monkeypatch.setattr(lab, "environment", lambda: dict(environment, TMPDIR="/proc/no"))
    code = "import tempfile; tempfile.tempdir = '/proc/no'\n"
    monkeypatch.setattr(probing, "RUN", code + probing.RUN)
    assert "no folder for temporary files can be made" in lab.run(["/bin/true"])["probe_error"]
