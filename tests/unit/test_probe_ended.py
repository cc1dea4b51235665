# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a report says where a probed command ended badly and no iteration of it was counted: how it ended, and what to do."""

from __future__ import annotations

import judging
import pytest

PEAK = "vram.peak_fraction"


def judged(language, **result):
    document, inputs = judging.host()
    probe = next(entry for entry in document["measurements"] if entry["module"] == "workload_probe")
    probe["result"].update({"iterations": None, "exit_code": None, "signal": None, "error": None, "reservation": None, **result})
    entry = judging.judged(document, inputs, language=language)
    return judging.finding(entry, PEAK), judging.status(entry, "compute.gpu_idle_fraction")


@pytest.mark.parametrize("result, english, chinese, advice", [
    ({"outcome": "failed", "exit_code": 3}, "failed with exit code 3", "退出码 3", "by hand"),
    ({"outcome": "failed", "signal": "SIGSEGV"}, "ended by SIGSEGV", "信号 SIGSEGV", "by hand"),
    ({"outcome": "failed"}, "ended as failed", "以 failed 结束", "by hand"),
    ({"outcome": "oom_host", "signal": "SIGKILL"}, "host's memory ran out", "主机内存耗尽", "more host memory"),
    ({"outcome": "timeout", "signal": "SIGTERM"}, "at its time limit", "时间上限", "Raise probe_workload_timeout_seconds"),
    ({"outcome": "hang", "signal": "SIGTERM"}, "stood still", "停滞", "what it waits for"),
    ({"outcome": "not_started", "error": "argv: the command x isn't there"}, "could not be started, so nothing was measured: argv: the",
     "未能启动", "program, folder, user")])
def test_how_it_ended_and_what_to_do(result, english, chinese, advice):
    finding, idle = judged("en", **result)
    assert finding["status"] == "unknown" == idle and english in finding["message"] and advice in finding["advice"]
    # Nothing counted isn't the same as nothing done.
    assert "before its first iteration" not in finding["message"]
    assert chinese in judged("zh", **result)[0]["message"]
