# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A program or a call that hangs, floods, crashes or isn't there must never hold or break the audit."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

import pytest

from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources import run_program as module
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.forked import run_forked
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.run_program import find_stuck, parse_stat, run_program


def script(tmp_path, text, name="tool", mode=0o755):
    path = tmp_path / name
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_output_status_locale_and_stdin(tmp_path):
    tool = script(tmp_path, '#!/bin/sh\necho "$LC_ALL $1 $EXTRA"; cat; echo trouble >&2; exit 3\n')
    result = run_program([tool, "a b"], 10, env={"EXTRA": "x"})
    assert (result.rc, result.stdout, result.stderr) == (3, "C a b x\n", "trouble\n")
    assert not (result.timed_out or result.stuck or result.truncated or result.missing or result.not_permitted)


def test_missing_not_executable_126_127_and_bad_format(tmp_path):
    missing = run_program([str(tmp_path / "none")], 5)
    assert missing.missing and missing.rc is None and "No such file" in missing.stderr
    denied = run_program([script(tmp_path, "#!/bin/sh\n", mode=0o644)], 5)
    assert denied.not_permitted and denied.rc is None and not denied.missing
    gone = run_program([script(tmp_path, "#!/bin/sh\nexit 127\n")], 5)
    assert gone.missing and gone.rc == 127
    refused = run_program([script(tmp_path, "#!/bin/sh\nexit 126\n")], 5)
    assert refused.not_permitted and refused.rc == 126
    unusable = run_program([script(tmp_path, "\x7fELFgarbage")], 5)
    assert unusable.rc is None and not unusable.missing and not unusable.not_permitted and "format" in unusable.stderr


def test_a_program_that_ignores_sigterm_is_killed_with_its_children(tmp_path):
    tool = script(tmp_path, "#!/bin/sh\ntrap '' TERM INT HUP\nsleep 300 & echo $!\nwhile :; do sleep 0.1; done\n")
    result = run_program([tool], 0.3)
    assert result.timed_out and not result.stuck and result.rc == -signal.SIGKILL
    child = int(result.stdout)
    for dummy in range(100):
        stat = module._read("/proc/%d/stat" % child)
        if stat is None or parse_stat(stat)[1] == "Z":
            break
        time.sleep(0.02)
    else:
        pytest.fail("the grandchild lives on")


def test_a_grandchild_that_keeps_the_output_open_does_not_hold_us(tmp_path):
    result = run_program([script(tmp_path, "#!/bin/sh\nsleep 2 &\necho done\n")], 20)
    assert result.stdout == "done\n" and not result.timed_out and result.duration_seconds < 1.9


def test_a_flood_is_ended_and_cut(tmp_path):
    result = run_program([script(tmp_path, "#!/bin/sh\nexec yes\n")], 60, max_bytes=100000)
    assert result.truncated and not result.timed_out and len(result.stdout) == 100000
    assert run_program([script(tmp_path, "#!/bin/sh\nexec yes >&2\n")], 60, max_bytes=1000).truncated
    assert not run_program([script(tmp_path, "#!/bin/sh\nprintf 12345\n")], 60, max_bytes=5).truncated


def test_bytes_that_are_no_text(tmp_path):
    assert run_program([script(tmp_path, "#!/bin/sh\nprintf '\\370\\001x'\n")], 5).stdout == "\ufffd\x01x"


def test_a_signal_is_a_negative_status(tmp_path):
    assert run_program([script(tmp_path, "#!/bin/sh\nkill -SEGV $$\n")], 5).rc == -signal.SIGSEGV


def test_nothing_is_inherited(tmp_path):
    read, write = os.pipe()
    os.set_inheritable(write, True)
    result = run_program([script(tmp_path, "#!/bin/sh\nls -l /proc/self/fd\n")], 5)
    os.close(read)
    os.close(write)
    assert "pipe:" not in result.stdout


def test_a_process_that_cannot_be_ended_is_left_behind(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.05)
    monkeypatch.setattr(module, "end_group", lambda pid, poll: started.append(pid) and False)
    result = run_program([script(tmp_path, "#!/bin/sh\nexec sleep 60\n")], 0.1)
    assert result.timed_out and result.stuck and result.rc is None
    os.killpg(started[0], signal.SIGKILL)


def test_scratch_files_where_memfd_and_shm_fail(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "memfd_create", lambda name: (none for none in ()).throw(OSError(13, "denied")), raising=False)
    with module.scratch_file() as file:
        file.write(b"x" * 10)
        assert module.read_scratch(file, 4) == b"xxxx"
        assert os.fstat(file.fileno()).st_nlink == 0


def fake_proc(tmp_path, comm, state, age_seconds, environ=""):
    ticks = os.sysconf("SC_CLK_TCK")
    (tmp_path / "uptime").write_text("100000.00 1.0\n")
    folder = tmp_path / "999999"
    folder.mkdir()
    (folder / "comm").write_text(comm + "\n")
    (folder / "stat").write_text("999999 (%s) %s 1 %s %d 0\n" % (comm, state, " ".join(["0"] * 17), (100000 - age_seconds) * ticks))
    (folder / "environ").write_text(environ)
    return str(tmp_path)


def test_stuck_processes_are_found(tmp_path):
    proc = fake_proc(tmp_path, "nvidia-smi", "D", 50)
    assert find_stuck("/usr/bin/nvidia-smi", proc=proc) == {"pid": 999999, "state": "D", "age_seconds": 50}
    assert find_stuck("fio", proc=proc) is None


@pytest.mark.parametrize("state, age, environ, own, found", [
    ("D", 2, "", None, False),
    ("S", 5000, "", None, False),
    ("S", 5000, "A=1\0" + module.DEADLINE_VARIABLE + "=1\0", None, True),
    ("S", 5000, module.DEADLINE_VARIABLE + "=99999999999", None, False),
    ("Z", 5000, module.DEADLINE_VARIABLE + "=1", None, False),
    ("S", 50, "", 30, True),
    ("S", 20, "", 30, False),
])
def test_what_counts_as_stuck(tmp_path, state, age, environ, own, found):
    assert bool(find_stuck("nvidia-smi", own, fake_proc(tmp_path, "nvidia-smi", state, age, environ))) is found


def test_a_forked_call_gives_its_value_or_its_error():
    assert run_forked(lambda: {"a": [1, None, "\u4e2d"]}, 10) == (True, {"a": [1, None, "\u4e2d"]}, None)
    assert run_forked(lambda: 1 // 0, 10) == (False, "ZeroDivisionError: integer division or modulo by zero", "failed")
    assert run_forked(lambda: {1, 2}, 10)[2] == "failed"
    assert run_forked(lambda: sys.exit(3), 10)[1:] == ("SystemExit: 3", "failed")


def test_a_forked_call_that_hangs_or_crashes():
    ok, text, kind = run_forked(lambda: time.sleep(60), 0.2)
    assert (ok, kind) == (False, "timeout") and "0.2 s" in text
    assert run_forked(lambda: ctypes.string_at(0), 10) == (False, "ended by SIGSEGV", "crashed")
    assert run_forked(lambda: os._exit(7), 10)[1:] == ("ended with status 7 and no readable answer", "crashed")


def test_a_forked_child_holds_no_descriptor():
    read, write = os.pipe()
    os.set_inheritable(write, True)
    ok, value, dummy = run_forked(lambda: sorted(os.readlink("/proc/self/fd/" + name) for name in os.listdir("/proc/self/fd")
                                                 if os.path.exists("/proc/self/fd/" + name)), 10)
    os.close(read)
    os.close(write)
    assert ok and not [target for target in value if target.startswith(("pipe:", "socket:"))]
    assert run_forked(lambda: open("/proc/self/comm").read(), 10, "gpu-audit-x")[1] == "gpu-audit-x\n"
