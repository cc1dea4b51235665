# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A program that is given as iperf3 and isn't one, a client that is told to end, figures that no link has."""

from __future__ import annotations

import os
import signal
import subprocess
import threading

import pytest
from ansible_collections.trainops.gpu_audit.plugins.filter.iperf3_facts import iperf3_facts
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import iperf3_output, iperf3_run, link
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints
import test_link_benchmark
from test_link_benchmark import OPTIONS

free_port, program = test_link_benchmark.free_port, test_link_benchmark.program

RAW = "\x1b[31m\u202etxt\x00\x9b"
RESULT = '{"start": {"version": "iperf 3.12"}, "end": {"%s": {"bits_per_second": %s, "seconds": 10}}}'


def client(tmp_path, script, session, limit=20):
    used = iperf3_run.Tool(program(tmp_path, "iperf3", script), "3.12", frozenset())
    return iperf3_run.client(used, [used.path, "-c", "x"], "192.0.2.1", 5201, limit, session)


def printable(text):
    return text.isprintable() and "txt" in text


@pytest.mark.parametrize("text", ["iperf3: error - %s\n" % RAW, '{"start": {}, "end": {}, "error": "error - %s"}' % RAW, "noise %s" % RAW])
def test_what_a_program_said_has_no_control_characters(text):
    assert printable(iperf3_facts(text)["error"])


def test_a_servers_words_have_none_either(tmp_path, free_port):  # noqa: F811
    says = iperf3_run.Tool(program(tmp_path, "iperf3", "printf 'bad \\033[31m\\342\\200\\256txt\\000' >&2; exit 1\n"), "3.12", frozenset())
    with pytest.raises(iperf3_run.NoServer) as caught:
        iperf3_run.start_server(says, "127.0.0.1", [free_port], 5, "unit-raw")
    assert printable(str(caught.value))


def test_a_program_that_floods_is_told_as_such(tmp_path):
    _facts, error = client(tmp_path, "exec yes\n", "unit-flood")
    assert error["kind"] == "protocol" and error["message"].startswith("iperf3 printed more than 16 MiB")
    assert "16 MiB" in complaints.say("send: " + error["message"], "zh") and "输出超过" in complaints.say(error["message"], "zh")


def test_what_a_program_leaves_in_the_background_ends_with_it(tmp_path):
    client(tmp_path, "setsid sleep 60 >/dev/null 2>&1 &\n", "unit-left")
    assert iperf3_run.marked("unit-left") == []


def test_a_test_that_is_told_to_end_ends_its_client(tmp_path):
    used = iperf3_run.Tool(program(tmp_path, "iperf3", "touch %s/runs; setsid sleep 60 & sleep 60\n" % tmp_path), "3.12", frozenset())
    before = signal.getsignal(signal.SIGTERM)

    def end():
        for _attempt in range(1000):
            if (tmp_path / "runs").exists():
                break
            threading.Event().wait(0.02)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=end)
    thread.start()
    try:
        with pytest.raises(link.Interrupted, match="ended by SIGTERM"):
            planned = {"place": {"address": "127.0.0.1", "interface": "lo"}, "tool": used}
            link.run(dict(OPTIONS, seconds=30, session="unit-term"), planned)
    finally:
        thread.join()
    assert iperf3_run.marked("unit-term") == [] and signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("rate", ["1e17", "1e400", "2e13", str(10**30)])
@pytest.mark.parametrize("name", ["sum_received", "sum_sent", "sum_received_bidir_reverse"])
def test_a_rate_that_no_link_carries_is_an_error(name, rate):
    found = iperf3_output.parse_iperf3(RESULT % (name, rate))
    assert "which no link carries" in found["error"] and found["bytes_per_second"] == {"send": None, "receive": None}
    assert "没有链路能达到" in complaints.say(found["error"], "zh")
    assert iperf3_output.parse_iperf3(RESULT % ("sum_received", "6.4e12"))["error"] is None


@pytest.mark.parametrize(("moved", "seconds"), [(5, 1e17), (5, 10.0), (10**12, 10.0), (0, 10.0)])
def test_figures_that_contradict_each_other_are_an_error(moved, seconds):
    sums = 'sum_received": {"bytes": %d, "seconds": %r, "bits_per_second": 8e9}, "x'
    text = RESULT % (sums % (moved, seconds), "1")
    found = iperf3_output.parse_iperf3(text)
    assert "contradict each other" in (found["error"] or ""), text
    assert found["bytes_per_second"] == {"send": None, "receive": None} and "自相矛盾" in complaints.say(found["error"], "zh")
    assert iperf3_output.parse_iperf3(RESULT % (sums % (10**10, 10.0), "1"))["error"] is None


def test_other_tests_on_a_host_are_named():
    other = subprocess.Popen(["sleep", "60"], env=dict(os.environ, **{iperf3_run.MARK_VARIABLE: "unit-other"}))
    try:
        assert "unit-other" in iperf3_run.sessions()
    finally:
        other.kill()
        other.wait()
    assert "unit-other" not in iperf3_run.sessions()


def test_what_a_program_that_crashed_had_printed_is_no_result(tmp_path):
    _facts, error = client(tmp_path, "echo '%s'; kill -SEGV $$\n" % (RESULT % ("sum_received", "9e9")), "unit-crash")
    assert error == {"kind": "local", "message": "iperf3 was ended by signal 11"}
