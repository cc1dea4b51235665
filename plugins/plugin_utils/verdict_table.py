# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The verdict table that ends a run on a terminal, what the gate says of a host, and the words of the progress lines. Pure."""

from __future__ import annotations

import re
import unicodedata

from . import verdict as verdicts
from .words import CHECKLIST

# One letter an item, so that the table doesn't live by colour.
_MARKS = {"pass": "+", "warn": "!", "fail": "X", "unknown": "?", "not_applicable": "-", "waived": "w"}
# Verdict -> the statuses that explain it, worst first.
_HOLD = {"not_ready": ("fail",), "unproven": ("unknown",), "ready_with_warnings": ("unknown", "warn", "waived")}
ROW_LIMIT = 60

TEXTS = {
    "ready": ("ready", "就绪"),
    "ready_with_warnings": ("ready, warnings", "就绪（有警告）"),
    "unproven": ("unproven", "未验证"),
    "not_ready": ("not ready", "未就绪"),
    "unreachable": ("unreachable", "无法连接"),
    "error": ("error", "出错"),
    "not_tried": ("not tried", "未执行"),
    "host": ("host", "主机"),
    "gpus": ("GPUs", "GPU"),
    "verdict": ("verdict", "结论"),
    "reason": ("why", "原因"),
    "more": ("... and {n} more hosts: see the report", "……另有 {n} 台主机，见报告"),
    "marks": (
        "vram compute memory storage network: + pass  ! warn  X fail  ? not answered  - not applicable",
        "显存 算力 内存 存储 网络：+ 通过  ! 警告  X 失败  ? 未回答  - 不适用",
    ),
    "report": ("Report: {path}", "报告：{path}"),
    "run": ("Run: {path}", "运行目录：{path}"),
    "not_judged": ("this host is not in the report", "报告中没有这台主机"),
    "refused": ("{host} is below the gate ({gate}): {verdict}", "{host} 未达到准入门槛（{gate}）：{verdict}"),
    "passed": ("{host} passes the gate ({gate}): {verdict}", "{host} 达到准入门槛（{gate}）：{verdict}"),
    "remedy": ("do: {text}", "处理：{text}"),
    "collected": ("ok", "完成"),
    "failed": ("failed", "失败"),
    "ignored": (" (ignored)", "（已忽略）"),
    "no_hosts": ("no hosts matched", "没有匹配的主机"),
    "hosts": ("hosts", "台主机"),
    "seconds": ("s", "秒"),
    "interrupted": ("Interrupted: the report of what there is, marked partial", "已中断：已按现有数据生成报告，并标记为不完整"),
    "gpu_state_ok": ("", ""),
    "gpu_state_no_hardware": ("no NVIDIA GPU (PCI)", "没有 NVIDIA GPU（PCI）"),
    "gpu_state_driver_broken": ("driver does not answer", "驱动无应答"),
    "gpu_state_tool_missing": ("nvidia-smi and NVML missing", "缺少 nvidia-smi 和 NVML"),
    "gpu_state_not_permitted": ("no permission to ask the driver", "无权访问驱动"),
    "gpu_state_partial": ("some GPUs do not answer", "部分 GPU 无应答"),
}


def text(language, key, **params):
    """A text of this table in English or Chinese."""
    return TEXTS[key][1 if language == "zh" else 0].format(**params)


def clean(value, limit=200):
    """A host's words made fit for a terminal: one line, no control characters, at most `limit` characters."""
    line = re.sub(r"\s+", " ", str(value))
    line = "".join(char for char in line if unicodedata.category(char)[0] != "C").strip()
    return line if len(line) <= limit else line[: limit - 1] + "…"


def width(line):
    """Columns on a terminal: East Asian characters take two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 0 if unicodedata.combining(char) else 1 for char in line)


def pad(line, columns):
    return line + " " * max(0, columns - width(line))


def cut(line, columns):
    """At most so many columns of `line`."""
    if width(line) <= columns:
        return line
    kept, used = [], 0
    for char in line:
        used += width(char)
        if used > columns - 1:
            break
        kept.append(char)
    return "".join(kept) + "…"


def describe_gpus(count, name, state, language):
    """'8 x NVIDIA H100 80GB HBM3', or what is wrong with them. A count of 0 comes from PCI."""
    if count == 0 and not state:
        state = "no_hardware"
    said = text(language, "gpu_state_" + state) if "gpu_state_%s" % state in TEXTS else clean(state or "", 40)
    if not count:
        return said or "-"
    shown = "%d x %s" % (count, clean(name or "GPU", 40))
    return "%s (%s)" % (shown, said) if said else shown


def verdict_order(host):
    """Worst first, then by name."""
    verdict = host.get("verdict")
    ranked = ("not_ready", "error", "unreachable", "not_tried", "unproven", "ready_with_warnings", "ready")
    return ranked.index(verdict) if verdict in ranked else len(ranked), host.get("name") or ""


def reason(host):
    """Why a host has its verdict, in one line; for one without facts the tool's own words."""
    if host.get("verdict") in ("error", "unreachable") and host.get("errors"):
        return clean(host["errors"][0].get("message") or "")
    return clean(host.get("reason") or "")


def holding_back(host, checks):
    """The findings that keep a host from a better verdict, worst first: of one that fails only its failures."""
    order = _HOLD.get(host.get("verdict"), ())
    held = []
    for finding in host.get("findings") or []:
        answers = finding.get("answers", bool((checks.get(finding.get("check")) or {}).get("answers")))
        if finding.get("status") in order and (finding["status"] != "unknown" or answers):
            held.append(finding)
    return sorted(held, key=lambda finding: order.index(finding["status"]))


def told(finding, host, checks):
    """What a finding says; one whose message is the metric's own reason (it stands under `absent`) is put together again."""
    if finding.get("message"):
        return clean(finding["message"], 300)
    check = checks.get(finding.get("check")) or {}
    title = check.get("title") or finding.get("check")
    absent = (host.get("absent") or {}).get(check.get("metric"))
    return clean("%s: %s" % (title, absent) if absent else title, 300)


def lines(report, language, columns=100, paths=()):
    """The whole ending: headline, a row a host (worst first, at most ROW_LIMIT), what the marks mean, where the report is."""
    hosts = sorted(report["hosts"], key=verdict_order)
    rows = [_row(host, language) for host in hosts[:ROW_LIMIT]]
    head = (text(language, "host"), text(language, "gpus"), text(language, "verdict"), "VCMSN", text(language, "reason"))
    limits = (28, 34, 16, 5)
    widths = [min(limits[i], max([width(head[i])] + [width(row[i]) for row in rows])) for i in range(4)]
    rest = max(20, columns - sum(widths) - 8)
    result = [clean(report.get("headline") or "", 1000), ""]
    for row in [head] + rows:
        cells = [pad(cut(row[i], widths[i]), widths[i]) for i in range(4)]
        result.append("  ".join(cells + [cut(row[4], rest)]).rstrip())
    if len(hosts) > ROW_LIMIT:
        result.append(text(language, "more", n=len(hosts) - ROW_LIMIT))
    result += [text(language, "marks"), ""]
    return result + list(paths)


def _row(host, language):
    hardware = host.get("hardware") or {}
    checklist = host.get("checklist") or {}
    verdict = host.get("verdict")
    gpus = describe_gpus(hardware.get("gpu_count"), hardware.get("gpu_name"), hardware.get("gpu_state"), language)
    return (
        clean(host.get("name") or "", 80),
        gpus,
        text(language, verdict) if verdict in verdicts.VERDICTS else clean(verdict or "", 20),
        "".join(_MARKS.get(checklist.get(item), " ") for item in CHECKLIST),
        reason(host) if verdict != "ready" else "",
    )


def gate_entry(host, checks):
    """What the gate needs of one host: {"verdict", "reasons": [message], "remedies": [advice or command]}."""
    reasons, remedies = [], []
    for finding in holding_back(host, checks)[:3]:
        check = checks.get(finding.get("check")) or {}
        reasons.append(told(finding, host, checks))
        # A check's advice is for a bad value; one without a value says itself how to get one.
        remedy = finding.get("advice") or finding.get("command")
        if not remedy and finding.get("status") != "unknown":
            remedy = check.get("advice") or check.get("command")
        if remedy and isinstance(remedy, str):
            remedies.append(clean(remedy, 300))
    # Where there are findings, errors are notes beside them.
    reasons += [clean(entry.get("message") or "", 300) for entry in host.get("errors") or []]
    if not reasons and host.get("reason"):
        reasons.append(clean(host["reason"], 300))
    return {"verdict": host.get("verdict"), "reasons": reasons[:3], "remedies": list(dict.fromkeys(remedies))[:3]}


def gate(name, entry, level, language):
    """(refused, message) for a host. `entry` is its `gate_entry`, None when it was not judged; `level` is a gate level."""
    verdict = entry["verdict"] if entry else "not_tried"
    refused = verdict not in verdicts.VERDICTS or verdicts.refuses(level, verdict)
    shown = text(language, verdict) if verdict in verdicts.VERDICTS else clean(verdict or "", 20)
    message = text(language, "refused" if refused else "passed", host=clean(name, 80), gate=level, verdict=shown)
    if refused:
        parts = entry["reasons"] if entry else [text(language, "not_judged")]
        remedies = [text(language, "remedy", text=remedy) for remedy in (entry["remedies"] if entry else [])]
        stop = "。" if language == "zh" else ". "
        message = stop.join([message] + [part.rstrip(".。") for part in parts + remedies if part]) + stop.strip()
    return refused, message


def paths(written, folder, language):
    """The lines that say where the report is."""
    shown = [text(language, "report", path=written["html"])] if "html" in written else []
    return shown + [text(language, "run", path=folder)]
