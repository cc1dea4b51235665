# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What became of a workload: the outcome, the limiter and the reservation, out of what was seen. Pure."""

from __future__ import annotations

import os
import re

OUTCOMES = ("completed", "stopped", "failed", "oom_cuda", "oom_host", "timeout", "hang", "not_started")
_SIGKILL = 9
# At or above: the GPU is kept busy, and only its own limits are looked at.
BUSY_GPU = 0.80
# A process that opened a GPU holds at least a context of it, some hundred MiB, whatever it does there.
CONTEXT_BYTES = 32 << 20
# At or above: the GPU was used. Work in one of a hundred moments, or a fiftieth of its memory held.
USED_UTILIZATION, USED_MEMORY = 0.01, 0.02
# A loader with one thread that is at its end takes about a core; of CPUs that are all busy the job's part is what it took.
ONE_THREAD_CORES, OWN_SHARE = 0.75, 0.50
THERMAL = ("sw_thermal_slowdown", "hw_thermal_slowdown")
_KERNEL_KILL = re.compile(r"(?:Killed process|oom_reaper: reaped process) (\d+)")
# Frameworks that take VRAM ahead of need, as the result names them and as people do; of several the first counts.
RESERVING = (("vllm", "vLLM"), ("sglang", "SGLang"), ("triton", "Triton"), ("tgi", "TGI"), ("tensorrt-llm", "TensorRT-LLM"), ("jax", "JAX"),
             ("tensorflow", "TensorFlow"), ("rmm", "RMM"))
# Module or program names in the command -> framework.
_COMMANDS = {"vllm": "vllm", "sglang": "sglang", "tritonserver": "triton", "text-generation-launcher": "tgi",
             "trtllm-serve": "tensorrt-llm"}


def decide_outcome(seen):
    """-> one of OUTCOMES.

    seen: stop (why the probe ended the command: null | iterations | run_seconds | timeout | hang | signal), exit_code, signal,
    killed (signal 9 that the probe didn't send ended one of its processes), oom_kills (counted by the kernel meanwhile, null: not known),
    host_oom and cuda_oom (the line of output that says so, or null), progress_after_oom (iterations went on after that line).
    """
    stop = seen["stop"]
    if stop in ("iterations", "run_seconds", "signal"):
        return "stopped"
    killed = seen["signal"] == _SIGKILL or seen["exit_code"] == 128 + _SIGKILL or seen["killed"] or bool(seen["host_oom"])
    if stop is None and seen["exit_code"] == 0:
        return "completed"
    if killed and seen["oom_kills"] and not (stop and seen["progress_after_oom"]):
        return "oom_host"
    if seen["cuda_oom"] and not seen["progress_after_oom"]:
        # Where one rank ran out of memory the others often wait for it until they are ended.
        return "oom_cuda"
    return stop or "failed"


def kernel_kills(text):
    """Pids that the kernel's log says the OOM killer ended."""
    return {int(pid) for pid in _KERNEL_KILL.findall(text)}


def in_use(entry):
    """Whether the workload used a GPU: True, False, or None where that isn't known.

    entry: of the result's `gpus`. Something of the workload must be seen there (a process of it, or memory that grew by at least a context:
    in a container the driver's pids are others'), and work, or memory held. Without figures of work its process or its memory is enough.
    """
    util, peak, total = entry["utilization_mean_fraction"], entry["memory_used_peak_bytes"], entry["memory_total_bytes"]
    grown = None if peak is None else peak - (entry["memory_other_bytes"] or 0)
    if util is None and grown is None:
        return True if entry["used_by_job"] else None
    touched = bool(entry["used_by_job"]) or grown is None or grown >= CONTEXT_BYTES
    if util is None:
        return touched
    return touched and (util >= USED_UTILIZATION or bool(grown and total) and grown >= USED_MEMORY * total)


def busy_cpu(cpu, job_cores, usable_cores):
    """Who keeps the host's CPUs busy: "host_cpu" the workload itself, "other_processes" others, None where they aren't busy.

    cpu: the result's, with `cpus`, how many its busy_fraction is of.
    """
    busy, busiest = cpu["busy_fraction"] or 0, cpu["busiest_core_fraction"] or 0
    if job_cores is None:
        return "host_cpu" if busy >= 0.90 or busiest >= 0.95 else None
    if usable_cores and job_cores >= 0.90 * usable_cores or busiest >= 0.95 and job_cores >= ONE_THREAD_CORES:
        return "host_cpu"
    if busy >= 0.90:
        return "host_cpu" if job_cores >= OWN_SHARE * busy * cpu["cpus"] else "other_processes"
    return None


def limiter(gpus, cpu, swap_rate, pressure, job_cores, usable_cores, network_share, seconds):
    """What held the GPUs back: "thermal" | "power" | "swap" | "io_wait" | "host_cpu" | "other_processes" | "network" | None where nothing
    stands out.

    gpus: result entries; swap_rate: bytes per second in and out; network_share: of the fastest link, received.
    """
    for entry in gpus:
        events = entry["clock_event_seconds"]
        if seconds > 0 and sum(events.get(name, 0.0) for name in THERMAL) / seconds >= 0.10:
            return "thermal"
    for entry in gpus:
        events = entry["clock_event_seconds"]
        brake, cap = events.get("hw_power_brake_slowdown", 0.0), events.get("sw_power_cap", 0.0)
        if seconds > 0 and (brake / seconds >= 0.10 or cap / seconds >= 0.50):
            return "power"
    means = [entry["utilization_mean_fraction"] for entry in gpus
             if entry["utilization_mean_fraction"] is not None and entry["in_use"] is not False]
    if not means or min(means) >= BUSY_GPU:
        return None
    if swap_rate is not None and swap_rate >= 1 << 20:
        return "swap"
    if (cpu["iowait_cores"] or 0) >= 0.5 or pressure.get("io", 0) >= 0.25:
        return "io_wait"
    who = busy_cpu(cpu, job_cores, usable_cores)
    if who:
        return who
    if network_share is not None and network_share >= 0.70:
        return "network"
    return None


def command_framework(argv):
    """The framework that a command names as its program or module; None for none."""
    for position, word in enumerate(argv[:8]):
        name = os.path.basename(word) if position == 0 or "/" in word else word
        module = position > 0 and argv[position - 1] == "-m"
        if name.split(".")[0] in _COMMANDS and (position < 2 or module):
            return _COMMANDS[name.split(".")[0]]
    return None


def reservation(asked, argv, environment, lines, mapped):
    """The framework that takes VRAM ahead of need, or None.

    asked: what the caller says ("auto", "none" or a name); lines: frameworks named by their output; mapped: by their libraries.
    """
    if asked != "auto":
        return None if asked == "none" else asked
    found = set(lines) | {command_framework(argv)} | (set(mapped) - {"torch"})
    if "torch" in mapped:
        # A PyTorch job may load these two for other ends (data pipelines, TensorBoard).
        found -= {"tensorflow", "jax"} - set(lines)
    if environment.get("XLA_PYTHON_CLIENT_PREALLOCATE", "").lower() in ("false", "0") or "XLA_PYTHON_CLIENT_ALLOCATOR" in environment:
        found.discard("jax")
    if environment.get("TF_FORCE_GPU_ALLOW_GROWTH", "").lower() == "true":
        found.discard("tensorflow")
    found.discard(None)
    return next((name for name, dummy in RESERVING if name in found), None)


def exit_of(status):
    """A wait status -> (exit code, signal name or None, signal number or None)."""
    if status is None:
        return None, None, None
    if os.WIFSIGNALED(status):
        from ..sources.forked import signal_name
        number = os.WTERMSIG(status)
        return None, signal_name(number), number
    return os.WEXITSTATUS(status), None, None
