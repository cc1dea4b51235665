# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""fabric_benchmark with stand-ins for the tests of NCCL and perftest: what it gives, refuses, ends, and leaves behind."""

from __future__ import annotations

import json
import os
import signal
import time

import fabric_samples as samples
import module_runs
import pytest
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import fabric
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints

LARGEST = 17179869184


@pytest.fixture
def bin_folder(tmp_path):
    return tmp_path / "bin"


def start(folder, check=False, **options):
    return module_runs.start("fabric_benchmark", options, check, PATH="%s:%s" % (folder, os.environ["PATH"]))


def run(folder, **more):
    return module_runs.answered(start(folder, **more))[0]


def test_a_collective_is_run_and_read(bin_folder):
    samples.program(bin_folder, "all_reduce_perf", samples.nccl(head="# nccl-tests version 2.17.1 nccl-headers=22703 nccl-library=22703"))
    answer = run(bin_folder, argv=["all_reduce_perf", "-b", "8", "-e", "16G", "-g", "8"])
    found = answer["measurement"]
    assert (bin_folder / "all_reduce_perf.args").read_text() == "-b 8 -e 16G -g 8\n"
    assert (found["tool"], found["tool_version"], found["library_version"], found["operation"]) == (
        "nccl",
        "nccl-tests 2.17.1",
        "2.27.3",
        "all_reduce",
    )
    assert (found["nodes"], found["ranks"], found["message_bytes"], found["wrong_values"]) == (1, 8, LARGEST, 0)
    assert found["busbw_bytes_per_second"] == pytest.approx(LARGEST / 62500e-6 * 1.75, rel=1e-4) and len(found["rows"]) == 3
    assert found["local_time"][19] in "+-" and found["notes"] == [] and answer["target"] == "all_reduce_perf" and answer["changed"] is False


def test_a_test_of_perftest_below_a_launcher(bin_folder):
    samples.program(bin_folder, "ib_write_bw", samples.perftest())
    answer = run(bin_folder, argv=["nice", str(bin_folder / "ib_write_bw"), "-d", "mlx5_0", "192.0.2.18"], nodes=2)
    found = answer["measurement"]
    assert (found["tool"], found["operation"], found["nodes"], found["ranks"], found["link"]) == ("perftest", "write", 2, None, "IB")
    assert (
        found["busbw_bytes_per_second"] == pytest.approx(391.87e9 / 8)
        and found["message_bytes"] == 8388608
        and found["wrong_values"] is None
    )
    assert answer["gpu_uuids"] == [] and answer["target"] == "ib_write_bw nodes=2"
    # Only of a program that is started itself it is known that it takes --version.
    assert found["tool_version"] is None
    assert run(bin_folder, argv=["ib_write_bw"])["measurement"]["tool_version"] == "6.06"


def test_a_script_of_ones_own_says_which_test_it_runs(bin_folder):
    samples.program(bin_folder, "night-test.sh", samples.nccl(name=None))
    assert "tool: nccl or perftest" in run(bin_folder, argv=["night-test.sh"])["msg"]
    answer = run(bin_folder, argv=["night-test.sh"], tool="nccl")
    assert answer["measurement"]["ranks"] == 8 and answer["measurement"]["operation"] is None and answer["target"] == "night-test.sh"


def test_check_mode_only_announces(bin_folder):
    samples.program(bin_folder, "all_reduce_perf", samples.nccl())
    answer = run(bin_folder, check=True, argv=["all_reduce_perf"], timeout_seconds=120)
    assert answer["plan"]["seconds"] == 170 and "for 120 s at most" in answer["plan"]["notes"][0] and "measurement" not in answer
    assert not (bin_folder / "all_reduce_perf.args").exists()


@pytest.mark.parametrize(
    "argv, words",
    [
        (["all_reduce_perf", "-g", "8"], "all_reduce_perf isn't installed here, or isn't on the search path. Build NVIDIA's nccl-tests"),
        (["ib_write_bw"], "ib_write_bw isn't installed here, or isn't on the search path. Install the package perftest"),
        (["/opt/none/all_reduce_perf"], "isn't there"),
        (["mpirun-that-is-nowhere", "all_reduce_perf"], "isn't there, or isn't on PATH"),
        (["ib_write_lat"], "measures latency"),
        (["sleep", "5"], "none of its words is a test that is known here"),
        ([], "a list of words is needed"),
        ([""], "a list of words is needed"),
        (["all_reduce_perf\0"], "NUL"),
    ],
)
@pytest.mark.parametrize("check", [True, False])
def test_what_is_refused(bin_folder, argv, words, check):
    bin_folder.mkdir()
    answer = run(bin_folder, argv=argv, check=check)
    assert answer["failed"] and words in answer["msg"], answer["msg"]
    assert any("\u4e00" <= letter <= "\u9fff" for letter in complaints.say(answer["msg"], "zh")), answer["msg"]


@pytest.mark.parametrize(
    "options, words",
    [
        ({"timeout_seconds": 0}, "timeout_seconds must be between 1 and 3600, not 0"),
        ({"timeout_seconds": 4000}, "not 4000"),
        ({"nodes": 0}, "nodes must be between 1 and 100000, not 0"),
        ({"chdir": "here"}, "chdir: here is not an absolute path"),
        ({"environment": {"A=B": "1"}}, "environment: a map of names and values is needed"),
    ],
)
def test_wrong_options(bin_folder, options, words):
    samples.program(bin_folder, "all_reduce_perf", samples.nccl())
    given = dict({"argv": ["all_reduce_perf"], "timeout_seconds": 5}, **options)
    with pytest.raises(fabric.FabricError) as raised:
        fabric.plan(given)
    assert words in str(raised.value)
    assert any("\u4e00" <= letter <= "\u9fff" for letter in complaints.say(str(raised.value), "zh"))


def test_wrong_values_are_a_result_though_the_test_failed(bin_folder):
    samples.program(bin_folder, "all_reduce_perf", samples.nccl(wrong=5), status=1)
    found = run(bin_folder, argv=["all_reduce_perf"])["measurement"]
    assert found["wrong_values"] == 10 and found["notes"] == []


def test_a_command_that_fails_after_its_result_is_noted(bin_folder):
    samples.program(bin_folder, "all_reduce_perf", samples.nccl(), status=3)
    found = run(bin_folder, argv=["all_reduce_perf"], nodes=4)["measurement"]
    assert found["notes"] == [
        "the command ended with status 3 after its result",
        "4 nodes were said, the test lists devices of 1: these count",
    ]
    assert found["nodes"] == 1 and all(complaints.say(note, "zh") != note for note in found["notes"])


@pytest.mark.parametrize(
    "text, status, words",
    [
        (
            "node-1: Test CUDA failure common.cu:892 'out of memory'\n",
            2,
            "all_reduce_perf ended with status 2: the test failed: node-1: Test CUDA failure",
        ),
        (samples.nccl().partition("# Out of")[0], 0, "all_reduce_perf: the result is cut off"),
        ("", 0, "all_reduce_perf: no result of nccl-tests in this text"),
    ],
)
def test_a_test_without_a_result_is_a_failure(bin_folder, text, status, words):
    samples.program(bin_folder, "all_reduce_perf", text, status=status)
    answer = run(bin_folder, argv=["all_reduce_perf"])
    assert answer["failed"] and answer["msg"].startswith(words) and "measurement" not in answer, answer["msg"]
    assert answer["target"] == "all_reduce_perf" and answer["machine_id"] and answer["started_at"]
    assert any("\u4e00" <= letter <= "\u9fff" for letter in complaints.say(answer["msg"], "zh")), answer["msg"]


def alive(mark):
    """Processes whose arguments have this word."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open("/proc/%s/cmdline" % name, "rb") as file:
                if name.isdigit() and mark.encode() in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            pass
    return found


# A child that leaves the group, and one that stays.
LINGER = "setsid sleep %s &\nsleep %s"


def test_one_that_hangs_is_ended_with_all_that_it_started(bin_folder):
    mark = "7200.%d" % os.getpid()
    samples.program(bin_folder, "all_reduce_perf", samples.nccl().partition("# Avg")[0], then=LINGER % (mark, mark))
    answer = run(bin_folder, argv=["all_reduce_perf"], timeout_seconds=1)
    assert answer["failed"] and answer["msg"].startswith(
        "all_reduce_perf gave no result within 1 s and was ended: the result is cut off"
    ), answer["msg"]
    assert alive(mark) == []
    assert any("\u4e00" <= letter <= "\u9fff" for letter in complaints.say(answer["msg"], "zh"))


def test_what_it_leaves_behind_is_ended(bin_folder):
    mark = "7201.%d" % os.getpid()
    samples.program(bin_folder, "all_reduce_perf", samples.nccl(), then="setsid sleep %s &" % mark)
    assert run(bin_folder, argv=["all_reduce_perf"])["measurement"]["ranks"] == 8
    assert alive(mark) == []


def test_a_module_that_is_told_to_end_ends_the_test(bin_folder):
    mark = "7202.%d" % os.getpid()
    samples.program(bin_folder, "all_reduce_perf", "", then=LINGER % (mark, mark))
    process = start(bin_folder, argv=["all_reduce_perf"])
    until = time.monotonic() + 20
    while len(alive(mark)) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    answer = json.loads(process.communicate(timeout=30)[0])
    assert answer["failed"] and answer["msg"] == "ended by SIGTERM" and alive(mark) == []


def test_output_without_end_is_ended(bin_folder, monkeypatch):
    samples.program(bin_folder, "all_reduce_perf", "", then="yes")
    monkeypatch.setattr(fabric, "MAX_OUTPUT_BYTES", 1 << 20)
    options = {"argv": [str(bin_folder / "all_reduce_perf")], "timeout_seconds": 30}
    with pytest.raises(fabric.FabricError, match="printed more than 1 MiB"):
        fabric.run(options, fabric.plan(options))


def test_words_and_variables_of_a_command_are_said_nowhere(bin_folder):
    samples.program(bin_folder, "all_reduce_perf", samples.nccl())
    answer = run(bin_folder, argv=["all_reduce_perf", "--key", "s3cret-word", "8"], environment={"A_TOKEN": "s3cret-value"})
    assert "s3cret" not in json.dumps(answer) and answer["measurement"]["ranks"] == 8
    assert answer["invocation"]["module_args"]["timeout_seconds"] == 600 and "argv" not in answer["invocation"]["module_args"]


def test_the_command_gets_its_variables_and_folder(bin_folder, tmp_path):
    samples.program(
        bin_folder,
        "all_reduce_perf",
        samples.nccl(),
        then='echo "$NCCL_DEBUG $LC_ALL ${GPU_AUDIT_PROBE_FILE-none} $(pwd)" > %s' % (tmp_path / "seen"),
    )
    run(bin_folder, argv=["all_reduce_perf"], environment={"NCCL_DEBUG": "VERSION"}, chdir=str(tmp_path))
    assert (tmp_path / "seen").read_text() == "VERSION C none %s\n" % tmp_path
