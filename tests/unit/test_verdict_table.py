# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The verdict table, the gate's message and the progress lines."""

from __future__ import annotations

import string

import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import progress_lines, verdict, verdict_table


def host(name, result, **more):
    return dict({"name": name, "verdict": result, "reason": "because", "checklist": {"vram": "pass", "compute": "fail", "memory": "warn"},
                 "hardware": {"gpu_count": 8, "gpu_name": "NVIDIA H100"}, "findings": [], "errors": []}, **more)


def report(*hosts):
    return {"headline": "One sentence.", "hosts": list(hosts), "checks": {"c": {"advice": "Reset the GPU."}}}


def test_every_text_has_both_languages_and_the_same_placeholders():
    for key, pair in verdict_table.TEXTS.items():
        fields = [{field for _text, field, _spec, _conv in string.Formatter().parse(text) if field} for text in pair]
        assert len(pair) == 2 and fields[0] == fields[1], key
    assert set(verdict.VERDICTS) <= set(verdict_table.TEXTS)


def test_the_table_puts_the_worst_first_and_ends_with_the_paths():
    lines = verdict_table.lines(report(host("a", "ready"), host("b", "not_ready"), host("c", "unreachable")), "en", paths=["Run: /x"])
    rows = [line.split()[0] for line in lines if line[:2] in ("a ", "b ", "c ")]
    assert lines[0] == "One sentence." and rows == ["b", "c", "a"] and lines[-1] == "Run: /x"
    assert any("+X!  " in line and "8 x NVIDIA H100" in line for line in lines)


def test_a_large_fleet_is_cut_and_says_so():
    lines = verdict_table.lines(report(*[host("n%04d" % n, "ready") for n in range(1000)]), "en")
    assert len(lines) < 70 and "... and 940 more hosts: see the report" in lines


def test_columns_hold_in_chinese():
    lines = verdict_table.lines(report(host("节点一", "not_ready"), host("b", "ready")), "zh", paths=[])
    rows = lines[2:5]
    marks = [verdict_table.width(row[: row.index("8 x")]) for row in rows[1:]]
    assert marks[0] == marks[1] and "未就绪" in rows[1]


def test_a_hosts_words_cannot_move_the_cursor_or_fill_the_screen():
    evil = "x\033[2J\n\r\u202e" + "y" * 10000
    hostile = host(evil, "error", errors=[{"kind": "invalid", "message": evil}], hardware={"gpu_count": 1, "gpu_name": evil})
    lines = verdict_table.lines(report(hostile), "en")
    for line in lines:
        assert len(line) < 400 and not set(line) & set("\033\n\r\u202e")


def test_no_hardware_is_said_plainly():
    for state in (None, "no_hardware"):
        assert verdict_table.describe_gpus(0, None, state, "en") == "no NVIDIA GPU (PCI)"
    assert verdict_table.describe_gpus(None, None, None, "en") == "-"
    assert verdict_table.describe_gpus(7, "A", "partial", "en") == "7 x A (some GPUs do not answer)"


@pytest.mark.parametrize("level, refused", [
    ("fail", {"not_ready", "error", "not_tried", "unreachable"}),
    ("unproven", {"not_ready", "error", "not_tried", "unreachable", "unproven"}),
    ("warn", {"not_ready", "error", "not_tried", "unreachable", "unproven", "ready_with_warnings"}),
])
def test_gate_levels(level, refused):
    found = {name for name in verdict.VERDICTS if verdict_table.gate("h", {"verdict": name, "reasons": [], "remedies": []}, level, "en")[0]}
    assert found == refused


def test_a_host_that_was_not_judged_or_has_a_verdict_nobody_knows_is_refused():
    assert verdict_table.gate("h", None, "fail", "en") == (True, "h is below the gate (fail): not tried. this host is not in the report.")
    assert verdict_table.gate("h", {"verdict": "splendid", "reasons": [], "remedies": []}, "fail", "en")[0] is True


def test_the_gate_says_the_worst_findings_and_the_remedy():
    findings = [{"check": "w", "status": "warn", "message": "a warning"}, {"check": "c", "status": "fail", "message": "GPU 3 has errors."}]
    entry = verdict_table.gate_entry(host("h", "not_ready", findings=findings), report()["checks"])
    message = verdict_table.gate("h", entry, "fail", "en")[1]
    assert message == "h is below the gate (fail): not ready. GPU 3 has errors. do: Reset the GPU."


def test_an_unproven_host_is_told_what_would_prove_it():
    checks = {"a": {"title": "Peak VRAM", "metric": "m", "answers": ["vram"], "advice": "Use a larger GPU."},
              "b": {"title": "B", "answers": False}}
    findings = [{"check": "b", "status": "unknown", "message": "nobody asked"},
                {"check": "a", "status": "unknown", "advice": "Run the probe."}]
    entry = verdict_table.gate_entry(host("h", "unproven", findings=findings, absent={"m": "the probe has not been run"}), checks)
    assert entry == {"verdict": "unproven", "reasons": ["Peak VRAM: the probe has not been run"], "remedies": ["Run the probe."]}


def test_in_chinese_sentences_end_in_chinese():
    assert verdict_table.gate("h", {"verdict": "error", "reasons": ["甲"], "remedies": ["乙。"]}, "fail", "zh")[1].endswith("出错。甲。处理：乙。")


def test_progress_lines():
    good = {"gpu_count": 8, "gpu_name": "A", "gpu_state": "ok"}
    assert progress_lines.host_line("n1", "collected", good, 1.24, 4, "en") == ("n1    ok             1.2 s  8 x A", "good")
    line, kind = progress_lines.host_line("n2", "unreachable", {"msg": "Task failed: no\nroute"}, 10, 4, "en")
    assert line.endswith("no route") and kind == "lost"
    none = {"gpu_count": 0, "gpu_name": None, "gpu_state": "no_hardware"}
    assert progress_lines.host_line("n3", "collected", none, 1, 4, "en")[1] == "warn"


@pytest.mark.parametrize("language, task, line", [
    ("en", "Break", "a  failed (ignored): Break: this is why"), ("en", None, "a  failed (ignored): this is why"),
    ("zh", None, "a  失败（已忽略）：this is why"),
])
def test_a_failure_has_its_task_s_name_where_the_message_needs_it(language, task, line):
    assert progress_lines.other("failed", "a", task, {"msg": "this is why"}, True, language) == line


def test_what_a_task_says_is_text_with_its_own_lines():
    assert progress_lines.spoken("a", "one\x1b[1m\n  two  words\n") == "a: one[1m\na: two words"
    assert progress_lines.spoken("a", ["one"]) is None and progress_lines.spoken("a", None) is None


@pytest.mark.parametrize("columns", [10, 40, 200])
def test_the_bar_fits_and_counts(columns):
    line = progress_lines.progress_bar({"a": "collected", "b": "error", "c": "unreachable"}, 6, 12.7, columns, "en")
    assert verdict_table.width(line) < columns
    if columns == 200:
        assert line == "[" + "#" * 15 + "-" * 15 + "] 3/6 hosts, 1 unreachable, 1 error, 12 s"


def test_the_bar_of_no_hosts():
    assert "0/0" in progress_lines.progress_bar({}, 0, 0, 80, "en")


def test_a_driver_that_is_silent_is_never_told_as_no_gpu():
    silent = dict(host("a", "not_ready"), hardware={"gpu_count": 0, "gpu_state": "driver_broken"})
    row = next(line for line in verdict_table.lines({"headline": "", "hosts": [silent]}, "en", 160) if line.startswith("a "))
    assert "driver does not answer" in row and "no NVIDIA GPU" not in row
