# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Report dictionaries for the tests of the renderers: hand-judged, so that they don't move when a policy does."""

from __future__ import annotations

import collections
import random

GIB = 2**30
ITEMS = ("vram", "compute", "memory", "storage", "network", "health", "software")

# id: (item, unit, title, Chinese title, advice, command, required, passing value, failing value)
CHECKS = {
    "vram.peak_fraction": (
        "vram",
        "fraction",
        "Peak VRAM in use",
        "显存峰值占用",
        "Lower the batch size or use a GPU with more memory.",
        "",
        "below 80 %",
        0.71,
        0.91,
    ),
    "compute.cores_per_gpu": (
        "compute",
        "cores",
        "Usable cores per GPU",
        "每块 GPU 可用核心数",
        "Raise the CPU quota of the container.",
        "",
        "4 to 8",
        8.0,
        0.25,
    ),
    "memory.ram_to_vram_ratio": ("memory", "ratio", "RAM to VRAM", "内存与显存之比", "Add memory.", "", "2 to 4", 2.02, 0.8),
    "storage.capacity_headroom_fraction": (
        "storage",
        "fraction",
        "Space left for the data",
        "数据存储余量",
        "Free space or attach a larger volume.",
        "df -h /data",
        "at least 10 %",
        0.42,
        -0.2,
    ),
    "network.upload_seconds": (
        "network",
        "seconds",
        "Upload time",
        "上传耗时",
        "Measure the upload path.",
        "ansible-playbook -i hosts.yml trainops.gpu_audit.measure",
        "at most 24 h",
        5400,
        180000,
    ),
    "gpu.driver_answers": (
        "health",
        "",
        "GPU driver answers",
        "GPU 驱动有响应",
        "Reload the driver modules or reboot.",
        "sudo reboot",
        "yes",
        True,
        False,
    ),
    "gpu.count": ("health", "count", "GPUs present", "GPU 数量", "Reseat or replace the missing GPU.", "lspci -d 10de:", "8", 8, 7),
    "gpu.remapped_rows_pending": (
        "health",
        "count",
        "Row remapping pending",
        "待执行的行重映射",
        "Reset the GPU to apply the remapping.",
        "sudo nvidia-smi --gpu-reset -i 3",
        "0",
        0,
        1,
    ),
    "gpu.ecc_uncorrectable_volatile": (
        "health",
        "count",
        "Uncorrectable memory errors",
        "不可纠正的内存错误",
        "Reset the GPU; replace it if it happens again.",
        "",
        "0",
        0,
        2,
    ),
    "software.persistence_mode": (
        "software",
        "",
        "Persistence mode",
        "持久模式",
        "Turn persistence mode on.",
        "sudo nvidia-smi -pm 1",
        "enabled",
        "enabled",
        "disabled",
    ),
}

TROUBLES = (
    "ready",
    "unproven",
    "unproven",
    "driver",
    "lost",
    "remap",
    "cores",
    "disk",
    "unreachable",
    "no_python",
    "not_tried",
    "persistence",
    "ready",
    "unproven",
)


def sample_host(name, trouble, rng):
    """One judged host entry with the given trouble."""
    model, vram = rng.choice((("NVIDIA H100 80GB HBM3", 80), ("NVIDIA A100-SXM4-80GB", 80), ("NVIDIA L40S", 48)))
    groups = ["rack_" + name[-1:], "train" if rng.random() < 0.6 else "lab"]
    host = {
        "name": name,
        "groups": groups,
        "policy": "training",
        "verdict": "",
        "reason": "",
        "checklist": {},
        "hardware": {},
        "metrics": {},
        "absent": {},
        "findings": [],
        "unanswered": [],
        "missing_form": [],
        "errors": [],
    }
    early = {
        "unreachable": ("unreachable", "Failed to connect to the host via ssh: connect to host 10.88.1.7 port 22: Connection refused"),
        "no_python": ("error", "/usr/bin/python3: not found"),
        "not_tried": ("not_tried", "The run was interrupted before this host."),
    }
    if trouble in early:
        host["verdict"], host["reason"] = early[trouble]
        host["errors"] = [] if trouble == "not_tried" else [{"kind": trouble, "message": early[trouble][1]}]
        return host
    failing = {
        "driver": ["gpu.driver_answers"],
        "lost": ["gpu.count"],
        "remap": ["gpu.remapped_rows_pending"],
        "cores": ["compute.cores_per_gpu"],
        "disk": ["storage.capacity_headroom_fraction"],
    }.get(trouble, [])
    warning = ["software.persistence_mode"] if trouble == "persistence" else []
    unknown = [] if trouble == "ready" else ["network.upload_seconds", "vram.peak_fraction"]
    for key, (item, _unit, title, _zh, _advice, _command, required, good, bad) in CHECKS.items():
        status = "fail" if key in failing else "warn" if key in warning else "unknown" if key in unknown else "pass"
        actual = None if status == "unknown" else good if status == "pass" else bad
        message = {"pass": "%s: as required." % title, "unknown": "%s is not known: no measurement in the last 7 days." % title}.get(
            status, "%s: %s where %s is required." % (title, actual, required)
        )
        host["findings"].append(
            {
                "check": key,
                "status": status,
                "actual": actual,
                "required": required,
                "message": message,
                "evidence": [{"what": key, "value": actual, "source": "nvml" if item == "health" else "/proc/meminfo"}],
            }
        )
        if status == "unknown":
            host["findings"][-1]["answers"] = True
        if actual is not None and not isinstance(actual, str):
            host["metrics"][key] = actual
        elif actual is None:
            host["absent"][key] = "no measurement in the last 7 days"
    for item in ITEMS:
        found = [finding["status"] for finding in host["findings"] if CHECKS[finding["check"]][0] == item]
        host["checklist"][item] = next(status for status in ("fail", "unknown", "warn", "pass") if status in found)
    host["checklist"].update(power="not_applicable", cost="not_applicable", utilisation="not_applicable")
    host["unanswered"] = [item for item, status in host["checklist"].items() if status == "unknown"]
    host["missing_form"] = [] if trouble == "ready" else ["input_sample_bytes", "hours_per_day"]
    host["verdict"] = "not_ready" if failing else "unproven" if unknown else "ready"
    host["reason"] = "; ".join(f["message"] for f in host["findings"] if f["status"] == "fail") or "; ".join(
        "%s unknown" % i for i in host["unanswered"]
    )
    host["hardware"] = {
        "gpu_name": model,
        "gpu_count": 8,
        "vram_total_bytes": 8 * vram * GIB,
        "driver_version": rng.choice(("550.54.15", "535.183.01", "580.65.06")),
        "distribution_name": rng.choice(("Debian GNU/Linux 12", "Ubuntu 24.04")),
        "link_bits_per_second": rng.choice((10**10, 25 * 10**9, 10**11)),
    }
    host["metrics"].update(
        {"memory.ram_to_vram_ratio": round(rng.uniform(1.2, 4.5), 2), "compute.cores_per_gpu": rng.choice((4, 8, 12, 16)), "gpu.count": 8}
    )
    return host


def sample_report(n, seed=0, language="en", names=None):
    """A report of n hosts with a mix of troubles; the same arguments always give the same report."""
    rng = random.Random(seed)
    names = names or ["gpu%04d" % number for number in range(1, n + 1)]
    hosts = [sample_host(name, TROUBLES[index % len(TROUBLES)], rng) for index, name in enumerate(names)]
    return finish(hosts, language)


def finish(hosts, language="en"):
    """The whole report around these host entries."""
    verdicts = collections.Counter(host["verdict"] for host in hosts)
    checks = {
        key: {
            "item": c[0],
            "title": c[3] if language == "zh" else c[2],
            "metric": key,
            "unit": c[1],
            "advice": c[4],
            "command": c[5],
            "source": "audit guide",
            "answers": c[0] != "software",
        }
        for key, c in CHECKS.items()
    }
    by_check, unanswered = {}, {}
    for index, host in enumerate(hosts):
        for finding in host["findings"]:
            if finding["status"] in ("fail", "warn"):
                by_check.setdefault((finding["status"], finding["check"]), []).append(index)
            elif finding["status"] == "unknown":
                unanswered.setdefault(finding["check"], []).append(index)
    causes = [
        {
            "check": check,
            "status": status,
            "title": checks[check]["title"],
            "detail": "",
            "advice": checks[check]["advice"],
            "command": checks[check]["command"],
            "hosts": found,
            "gpus": 8 * len(found),
            "frees": len(found),
        }
        for (status, check), found in by_check.items()
    ]
    causes.sort(key=lambda cause: (cause["status"] != "fail", -len(cause["hosts"]), cause["check"]))
    return {
        "schema": "trainops.gpu_audit/report/1",
        "run": {
            "id": "20261130T115700Z-abc123",
            "started": "2026-11-30T11:57:00Z",
            "finished": "2026-11-30T12:00:00Z",
            "language": language,
            "partial": False,
            "policies": ["training"],
            "policy_sha256": "0" * 64,
            "collection_version": "0.1.0",
            "ansible_version": "2.19.14",
        },
        "summary": dict(
            {
                key: verdicts.get(key, 0)
                for key in ("ready", "ready_with_warnings", "unproven", "not_ready", "unreachable", "error", "not_tried")
            },
            hosts=len(hosts),
        ),
        "headline": "%d of %d hosts are ready for training. %d can't be reached." % (verdicts["ready"], len(hosts), verdicts["unreachable"])
        if language == "en"
        else "%d 台主机中有 %d 台可用于训练，%d 台无法连接。" % (len(hosts), verdicts["ready"], verdicts["unreachable"]),
        "causes": causes,
        "unanswered": [
            {
                "item": checks[key]["item"],
                "check": key,
                "reason": "no measurement in the last 7 days",
                "advice": checks[key]["advice"],
                "hosts": found,
            }
            for key, found in unanswered.items()
        ],
        "checks": checks,
        "hosts": hosts,
    }


ATTACK = "<script>window.attacked=1</script>"
HOSTILE_NAMES = (
    ATTACK,
    "</script><img src=x onerror=window.attacked=1>",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "@SUM(1)",
    "-2+3",
    "\tTAB",
    "\rCR",
    "../../x",
    "a|b`c`[d](javascript:1)",
    "x" * 200_000,
    "x" * 200_001,
    "\udcff\udcfe",
    "\u202egnp.exe",
    "line\u2028break\nnew",
    "ctrl\x00\x07\x1b[31m",
    'quote"back\\slash',
    "{{ 7*7 }}{% raw %}",
    "&amp;&#60;",
    "\ufffe\uffff",
    "＝１",
    "名字",
    "",
    " ",
    "]]>",
    "‹U+202E›gnp.exe",
    "<!--",
    "www.example.org @here #12",
    "$(reboot)`id`",
    "a" * 119 + "\u202e" + "b",
)


def hostile_report(language="en", copies=1):
    """A report in which every text that a host or its owner can choose is an attack or an oddity; more copies make it a large fleet."""
    names = [name + "_" * copy for copy in range(copies) for name in HOSTILE_NAMES]
    report = sample_report(len(names), 3, language, names=names)
    for index, host in enumerate(report["hosts"]):
        text = HOSTILE_NAMES[(index + 7) % len(HOSTILE_NAMES)]
        host["groups"] = [text, ATTACK]
        host["reason"] = text
        host["policy"] = text
        host["errors"] = [{"kind": text, "message": text}] if host["errors"] else []
        host["metrics"][text[:300]] = text
        host["absent"][text[:300]] = text
        host["missing_form"] = [text]
        host["hardware"].update(gpu_name=text, driver_version=text, distribution=text)
        for finding in host["findings"]:
            finding.update(message=text, actual=text, required=text, advice=text, evidence=[{"what": text, "value": text, "source": text}])
    for cause in report["causes"]:
        cause.update(title=ATTACK, detail=ATTACK, advice="=1+1", command="echo '</code>' " + ATTACK)
    report["headline"] = ATTACK + "\u202e"
    return report


def hostile_document(name):
    """A host document whose facts are as hostile as its name, one text of them 10 MB long."""
    return {
        "schema": "trainops.gpu_audit/host/1",
        "name": name,
        "collected_at": ATTACK,
        "machine_id": "1",
        "measurements": [],
        "stale_measurements": [],
        "errors": [],
        "facts": {
            "schema": ATTACK,
            "gpu": {"driver_version": ATTACK, "gpus": [{"name": "</script>" + "x" * 10_000_000, "uuid": "\udcff"}]},
            "network": [],
            "software": "odd",
            ATTACK: {ATTACK: [ATTACK]},
        },
    }
