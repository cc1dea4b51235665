# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Software: is the driver new enough for the CUDA that frameworks and toolkits on the host bring, is nouveau in the way, is the clock
right.
"""

from __future__ import annotations

from .. import compat
from .registry import define, flag, maps, number, text

define(
    "software.driver_support",
    "word",
    "ok, below_toolkit (runs by minor-version compatibility) or too_old (below the floor of that CUDA major) for the newest CUDA found: "
    "toolkits, torch builds, nvidia-cuda-runtime packages",
    ("software.driver_version", "software.cuda_toolkits", "software.python_environments", "compat.yml"),
    "针对主机上最新的 CUDA（工具包、torch 构建、nvidia-cuda-runtime 包）：ok、below_toolkit（靠次版本兼容运行）或 too_old（低于该 CUDA 主版本的下限）",
    good="ok",
)
define(
    "software.driver_mismatch",
    "bool",
    "true when the loaded kernel module and the installed driver have different versions",
    ("software.driver_module_version", "software.driver_version"),
    "已加载的内核模块与已安装的驱动版本不同则为 true",
)
define(
    "software.nouveau_loaded",
    "bool",
    "true when the nouveau module is loaded",
    ("software.nouveau_loaded",),
    "加载了 nouveau 模块则为 true",
)
define(
    "software.time_synchronized",
    "bool",
    "true when the system clock is kept by NTP or PTP",
    ("platform.time_synchronized",),
    "系统时钟由 NTP 或 PTP 同步则为 true",
)
define(
    "software.time_error_seconds",
    "seconds",
    "the kernel's own estimate of the clock's error",
    ("platform.time_error_seconds",),
    "内核对时钟误差的估计",
)


def derive(state):
    """Every software.* metric."""
    software, problem = state.subject("software")
    names = ("software.driver_support", "software.driver_mismatch", "software.nouveau_loaded")
    if problem:
        state.unread(names, problem)
    else:
        _derive_support(state, software)
        _derive_mismatch(state, software)
        _derive_flag(state, "software.nouveau_loaded", software, "nouveau_loaded", "/proc/modules")
    platform, problem = state.subject("platform")
    if problem:
        state.unread(("software.time_synchronized", "software.time_error_seconds"), problem)
        return
    _derive_flag(state, "software.time_synchronized", platform, "time_synchronized", "adjtimex")
    error = number(platform, "time_error_seconds")
    if error is None:
        state.unknown("software.time_error_seconds", "absent.unreadable", field="platform.time_error_seconds")
    else:
        state.value("software.time_error_seconds", error)


def _derive_flag(state, name, subject, field, source):
    value = flag(subject, field)
    if value is None:
        state.unknown(name, "absent.unreadable", field=field)
    else:
        state.value(name, value, [{"what": field, "value": value, "source": source}])


def _driver(state, software):
    """The driver version that runs: NVML's word, else the loaded module's, else the installed one's."""
    return text(state.gpu_document, "driver_version") or text(software, "driver_module_version") or text(software, "driver_version")


def _derive_support(state, software):
    name = "software.driver_support"
    driver = _driver(state, software)
    needs = []
    for toolkit in maps(software, "cuda_toolkits"):
        needs.append((text(toolkit, "version"), text(toolkit, "path") or "CUDA toolkit"))
    for environment in maps(software, "python_environments"):
        needs += compat.cuda_of_environment(environment)
    needs = [(version, what) for version, what in needs if version and compat.parse_version(version)]
    if not needs:
        state.not_applicable(name, "absent.no_cuda_software")
        return
    if driver is None and text(state.gpu_document, "state") == "no_hardware":
        state.not_applicable(name, "absent.no_gpu")
        return
    if driver is None or not compat.parse_version(driver):
        state.unknown(name, "absent.unreadable", field="driver_version")
        return
    judged = [(compat.judge_driver(driver, version), version, what) for version, what in needs]
    known = [entry for entry in judged if entry[0] is not None]
    if not known:
        state.unknown(name, "absent.unknown_cuda", version=judged[0][1])
        return
    worst = max(known, key=lambda entry: (compat.ORDER.index(entry[0][0]), compat.parse_version(entry[1]), entry[2]))
    (word, floor), version, what = worst
    evidence = [
        {"what": "driver_version", "value": driver, "source": state.source},
        {"what": what, "value": "CUDA " + version, "source": "software"},
        {"what": "driver needed", "value": floor, "source": "compat.yml"},
    ]
    state.value(name, word, evidence)
    if word != "ok":
        state.values[name]["cause"] = {
            "key": "cause.driver_support." + word,
            "params": {"driver": driver.split(".")[0], "cuda": version.split(".")[0] if word == "too_old" else version},
        }


def _derive_mismatch(state, software):
    name = "software.driver_mismatch"
    module, installed = text(software, "driver_module_version"), text(software, "driver_version")
    if module is None or installed is None:
        state.not_applicable(name, "absent.not_supported")
    else:
        state.value(
            name,
            module != installed,
            [
                {"what": "driver_module_version", "value": module, "source": "/proc/driver/nvidia/version"},
                {"what": "driver_version", "value": installed, "source": "software"},
            ],
        )
