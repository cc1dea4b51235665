# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the progress callback prints, on a pipe and on a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess

import pytest
from playbook_site import DEAD, LOCAL, POOR, Site

PROGRESS = {"ANSIBLE_STDOUT_CALLBACK": "trainops.gpu_audit.progress"}


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


def on_a_terminal(site, playbook, *arguments, **environment):
    """Run a playbook on a pseudo-terminal; gives all that it wrote."""
    master, slave = pty.openpty()
    surroundings = site.environment(TERM="xterm", COLUMNS="100", **environment)
    process = subprocess.Popen(site.command(playbook, *arguments), cwd=site.folder, env=surroundings,
                               stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    pieces = []
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        pieces.append(piece)
    os.close(master)
    process.wait(timeout=60)
    return b"".join(pieces).decode()


def test_a_line_a_host_and_the_table_and_nothing_else(site):
    site.inventory({"a": LOCAL, "b": DEAD, "c": POOR})
    done = site.play("audit", **PROGRESS)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert sorted(line.split()[0] for line in lines[:3]) == ["a", "b", "c"]
    assert "\033" not in done.stdout and "\r" not in done.stdout
    assert not re.search(r"PLAY|TASK|RECAP|ok=|\.\.\.ignoring", done.stdout)
    assert any(line.startswith("b ") and "unreachable" in line and "Connection refused" in line for line in lines[:3])
    assert lines[-1].endswith(str(site.latest.resolve())) and "report.html" in lines[-2]
    assert done.stdout.count("not ready") == 1


def test_the_gate_says_whom_it_refuses(site):
    site.inventory({"a": LOCAL, "b": DEAD})
    done = site.play("gate", **PROGRESS)
    assert done.returncode == 2 and "b is below the gate (fail): unreachable" in done.stdout
    assert "a is below" not in done.stdout and "a passes" not in done.stdout


def test_collecting_alone_is_no_interruption(site):
    site.inventory({"a": LOCAL})
    done = site.play("audit", "--tags", "collect", **PROGRESS)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == 2 and lines[0] == "Run: %s" % (site.output / site.runs()[0])
    assert not site.latest.exists()


@pytest.mark.parametrize("variables, arguments", [({}, ["-e", "gpu_audit_language=zh"]), ({"gpu_audit_language": "zh"}, [])])
def test_in_chinese(site, variables, arguments):
    site.inventory({"a": POOR}, variables)
    done = site.play("audit", *arguments, **PROGRESS)
    assert done.returncode == 0 and "未就绪" in done.stdout and "报告：" in done.stdout and done.stdout.split()[1] == "完成"


def test_other_tasks_of_a_users_play_are_heard_when_they_fail_or_speak(site):
    site.inventory({"a": LOCAL})
    own = site.own_play("""
- hosts: all
  gather_facts: false
  tasks:
    - name: Quiet
      ansible.builtin.command: "true"
    - name: Say
      ansible.builtin.debug: {msg: something to say}
    - name: Break
      ansible.builtin.command: "false"
      ignore_errors: true
    - name: Break for good
      ansible.builtin.fail: {msg: this is why}
""")
    done = site.play(own, **PROGRESS)
    assert done.returncode == 2
    assert "a: something to say" in done.stdout.splitlines() and "Quiet" not in done.stdout
    assert "a  failed (ignored): Break" in done.stdout and "a  failed: Break for good: this is why" in done.stdout


@pytest.mark.parametrize("language, line", [
    ("en", "a  failed: measure_network_upload_bytes: '10Mbit' is no size; give bytes, or text such as \"1.5 GiB\""),
    ("zh", "a  失败：measure_network_upload_bytes：'10Mbit' 不是有效的大小；请给出字节数，或\u201c1.5 GiB\u201d这样的文本"),
])
def test_a_value_that_is_refused_is_said_once_and_of_its_variable(site, language, line):
    site.inventory({"a": LOCAL})
    values = ["measure_network_upload_url=http://127.0.0.1:1/x", "measure_network_upload_bytes=10Mbit", "gpu_audit_language=" + language]
    done = site.play("measure", *(word for value in values for word in ("-e", value)), **PROGRESS)
    assert done.returncode == 2 and done.stdout.splitlines() == [line], done.stdout


def test_nothing_to_measure_is_said_in_a_line(site):
    site.inventory({"a": LOCAL})
    done = site.play("measure", **PROGRESS)
    assert done.stdout.startswith("a: Nothing to measure on a. Set ") and len(done.stdout.splitlines()) == 1, done.stdout


def test_a_bar_and_colour_on_a_terminal(site):
    site.inventory({"a": LOCAL, "b": DEAD})
    shown = on_a_terminal(site, "audit", **PROGRESS)
    assert re.search(r"\r\[#+\] 2/2 hosts, 1 unreachable", shown) and "\033[K" in shown and re.search(r"\033\[[01];3\dm", shown)
    table = shown[shown.rindex("\033[K"):]
    assert "[#" not in table and "Report:" in table


def test_no_color_on_a_terminal(site):
    site.inventory({"a": LOCAL, "b": DEAD})
    shown = on_a_terminal(site, "audit", NO_COLOR="1", **PROGRESS)
    assert "2/2 hosts" in shown and not re.search(r"\033\[[0-9;]*m", shown)
