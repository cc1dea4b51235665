# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Puts a probe's answer together: `measurement` (the result), machine_id, gpu_uuids, times. Reads only small files of the host."""

from __future__ import annotations

import math
import time

from ..sources.texts import clean_text
from . import probe_outcome, probe_summary
from .sampler_series import percentile

# An iteration's first times hold what happens once (compiling, starting workers).
WARM_UP = 1
NEEDED_FOR_WARM_UP = 5
# Later than this an out-of-memory without a counted iteration is not called one at the start: the output may only not tell of iterations.
AT_START_SECONDS = 120.0
# The library's functions, for people.
_READINGS = {
    "nvmlDeviceGetMemoryInfo": "memory", "nvmlDeviceGetUtilizationRates": "utilisation", "nvmlDeviceGetPowerUsage": "power",
    "nvmlDeviceGetCurrentClocksEventReasons": "what holds clocks down", "nvmlDeviceGetCurrentClocksThrottleReasons": "what holds clocks down",
    "nvmlDeviceGetEncoderUtilization": "use of the encoder", "nvmlDeviceGetComputeRunningProcesses": "list of processes",
    "nvmlDeviceGetGraphicsRunningProcesses": "list of graphics processes", "nvmlDeviceGetTemperature": "temperature", "nvmlDeviceGetUUID": "uuid",
    "nvmlDeviceGetName": "name"}


def iteration_figures(progress):
    """{"iterations", "iteration_seconds", "data_wait_fraction", "epoch_seconds", "samples_per_second"}; the first iteration is left out
    of the times where there are at least five."""
    skip = WARM_UP if len(progress.times) >= NEEDED_FOR_WARM_UP else 0
    pairs = list(zip(progress.times, progress.data))[skip:]
    times = [seconds for seconds, dummy in pairs if seconds is not None]
    told = [(seconds, data) for seconds, data in pairs if seconds and data is not None]
    whole = sum(seconds for seconds, dummy in told)
    mean = sum(times) / len(times) if times else None
    epoch, source = None, None
    if progress.epochs:
        epoch, source = sum(progress.epochs) / len(progress.epochs), "measured"
    elif mean is not None and progress.per_epoch:
        epoch, source = mean * progress.per_epoch, "iterations"
    return {
        "iterations": progress.iterations or (None if progress.source is None else 0),
        "iteration_seconds": {"mean": _rounded(mean), "p50": _rounded(percentile(times, 0.50)), "p95": _rounded(percentile(times, 0.95))},
        "epoch_seconds": _rounded(epoch, 3), "epoch_source": source,
        "data_wait_fraction": _rounded(min(1.0, sum(min(data, seconds) for seconds, data in told) / whole)) if whole else None,
        "samples_per_second": _rounded(progress.samples / progress.iterations / mean) if mean and progress.samples else None,
    }


def _rounded(value, digits=6):
    """Null for what isn't known, and for a quotient past all numbers."""
    return None if value is None or not math.isfinite(value) else round(value, digits)


def _moment(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _oom_kills(before, after, kernel, pids):
    """(how many OOM kills there were meanwhile, where that was read); the group's own count goes before the machine's."""
    for name, where in (("group", "memory cgroup"), ("host", "/proc/vmstat")):
        if before[name] is not None and after[name] is not None and after[name] > before[name]:
            return after[name] - before[name], where
    if kernel:
        killed = probe_outcome.kernel_kills(kernel) & pids
        if killed:
            return len(killed), "kernel log"
    known = any(before[name] is not None and after[name] is not None for name in before)
    return (0 if known else None), None


def _read_figures(summary, facts, output_bytes):
    """Bytes read by the workload: from storage, and by read calls (page cache, pipes); by all of the
    machine from its block devices. The rate is that of the window that counts."""
    before, after = facts["before"]["io"], facts["after"]["io"]

    def grown(name):
        return after[name] - before[name] if name in before and name in after else None
    storage, calls = grown("read_bytes"), grown("rchar")
    seconds, amount = facts["seconds"], storage
    steady = summary.tree_steady
    if storage is not None and steady and steady["read_bytes"] is not None and summary.window()[1] == "iterations":
        left = seconds - (steady["m"] - summary.started)
        if left >= 2.0:
            seconds, amount = left, max(0, after["read_bytes"] - steady["read_bytes"])
    return {"read_bytes": storage, "host_read_bytes": summary.host_read_bytes(),
            "read_call_bytes": None if calls is None else max(0, calls - output_bytes),
            "read_bytes_per_second": _rounded(amount / seconds, 1) if amount is not None and seconds > 0 else None}


def _network_share(host, received):
    """(interface with most received, its bytes per second, share of its speed or None)"""
    if not received:
        return None, None, None
    name = max(received, key=received.get)
    speed = host.number("/sys/class/net/%s/speed" % name)
    return name, received[name], received[name] * 8 / (speed * 1e6) if speed and speed > 0 else None


def build(watch, hello, seen, facts):
    """-> {"measurement", "machine_id", "gpu_uuids", "started", "finished_at"}"""
    options, progress, summary = watch.options, watch.progress, watch.summary
    seconds = facts["seconds"]
    pids = set(watch.statuses) | {watch.job} | set(watch.known)
    kills, where = _oom_kills(facts["before"]["oom"], facts["after"]["oom"], facts["kernel"], pids)
    oom_at = [at for at in (watch.cuda_oom_at, watch.host_oom_at) if at is not None]
    outcome = "not_started" if seen["error"] else probe_outcome.decide_outcome({
        "stop": seen["stop"], "exit_code": seen["exit_code"], "signal": seen["signal"], "killed": seen["killed"], "oom_kills": kills,
        "cuda_oom": progress.cuda_oom, "host_oom": progress.host_oom,
        "progress_after_oom": bool(oom_at) and progress.iterations > min(oom_at) + 1})
    visible = probe_summary.visible_numbers(hello["gpus"], facts["environment"]) if not seen["error"] else None
    gpus = summary.gpus(visible)
    swap_in, swap_out, swap_seconds = summary.swap()
    swap_rate = (swap_in + swap_out) / swap_seconds if swap_in is not None and swap_seconds > 0 else None
    usage, pressure = facts["usage"], summary.pressure()
    job_cores = (usage.ru_utime + usage.ru_stime) / seconds if seconds > 0 and not seen["error"] else None
    interface, received, share = _network_share(watch.host, summary.received())
    cpu = dict(summary.cpu(), job_cores=_rounded(job_cores, 3), usable_cores=facts["usable"]["cores"],
               cpus=len(facts["usable"]["cpus"]))
    window, window_name = summary.window()
    figures = iteration_figures(progress)
    if options["iterations_per_epoch"] and figures["epoch_seconds"] is None and figures["iteration_seconds"]["mean"] is not None:
        mean = figures["iteration_seconds"]["mean"]
        figures.update(epoch_seconds=round(mean * options["iterations_per_epoch"], 3), epoch_source="iterations")
    result = {
        "outcome": outcome, "error": seen["error"], "exit_code": seen["exit_code"], "signal": seen["signal_name"],
        "stopped_for": seen["stop"], "duration_seconds": round(seconds, 3), "window": window_name,
        "window_seconds": round(window.seconds, 1),
        "out_of_memory": _out_of_memory(outcome, progress, kills, where, seconds, watch.oom_after)}
    result.update(figures)
    reads = _read_figures(summary, facts, watch.output.total)
    # What was read until a command turned out not to start is the probe's own.
    result.update(reads if not seen["error"] else dict.fromkeys(reads))
    result.update({
        "gpus": gpus, "leftovers": summary.leftovers(),
        "framework": progress.framework, "framework_peak_bytes": progress.framework_peak,
        "framework_reserved_bytes": progress.framework_reserved,
        "reservation": probe_outcome.reservation(options["reserves"], options["argv"], facts["environment"], progress.frameworks_seen,
                                                 summary.frameworks),
        "cpu": cpu,
        "memory": {"swap_in_bytes": swap_in, "swap_out_bytes": swap_out,
                   "swap_bytes_per_second": _rounded(swap_rate, 1), "major_faults": usage.ru_majflt if not seen["error"] else None,
                   "minor_faults": usage.ru_minflt if not seen["error"] else None, "peak_rss_bytes": summary.rss,
                   "host_available_min_bytes": summary.available, "oom_kills": kills},
        "pressure": pressure,
        "network": {"interface": interface, "received_bytes_per_second": _rounded(received, 1), "link_fraction": _rounded(share, 4)},
        "limiter": None if seen["error"] else probe_outcome.limiter(gpus, cpu, swap_rate, pressure, job_cores, facts["usable"]["cores"],
                                                                    share, seconds),
        "series": summary.compact_series(visible),
        "sampler": {"interval_seconds": summary.longest, "samples": summary.samples, "cpu_seconds": round(summary.cpu_seconds, 4),
                    "watch_cpu_seconds": round(facts["own_cpu"].ru_utime + facts["own_cpu"].ru_stime, 4)},
        "notes": watch.notes + _notes(watch, hello, seen, summary, visible)})
    if options["output_tail_bytes"]:
        result["output_tail"] = watch.output.tail[-options["output_tail_bytes"]:].decode("utf-8", "replace")
    if options["keep_command"]:
        result["command"] = {"argv": options["argv"], "chdir": options["chdir"], "environment": options["environment"],
                             "run_as": options["run_as"]}
    return {"measurement": result, "gpu_uuids": hello["gpu_uuids"], "started": _moment(facts["started"]),
            "machine_id": watch.host.text_or("/etc/machine-id") or watch.host.text_or("/var/lib/dbus/machine-id"),
            "finished_at": _moment(time.time())}


def _at_start(progress, seconds):
    """Whether no iteration was made by then: True only where one would have been noticed, null where that isn't known.

    The helper says that its loop began. Of an iteration_pattern that matched nothing it isn't known whether it is right: it is believed
    where memory ran out within AT_START_SECONDS and the output has no lines that are alike but for their numbers. Of a JSON-lines
    file without iterations nothing follows.
    """
    if progress.iterations or progress.epoch_at is not None:
        return False
    if progress.begun:
        return True
    if progress.iteration_pattern is None or progress.repetition.seen or seconds > AT_START_SECONDS:
        return None
    return True


def _out_of_memory(outcome, progress, kills, where, seconds, after=None):
    """What is known about an end for lack of memory; null where it was none. `after`: seconds until the output said so, if it did."""
    if outcome not in ("oom_cuda", "oom_host"):
        return None
    return {"at_start": _at_start(progress, seconds if after is None else after), "seconds": round(seconds, 1), "kills": kills,
            "source": where if outcome == "oom_host" else "output",
            "line": clean_text((progress.cuda_oom if outcome == "oom_cuda" else progress.host_oom) or "", 300) or None}


def uncounted(options, progress, follower):
    """Why no iteration was counted, [] where some were or nobody asked. `follower`: of the JSON-lines file, null without one."""
    if progress.iterations or not (options["iterations"] or options["iteration_pattern"] or follower is not None):
        return []
    why = []
    if options["iteration_pattern"] and progress.iteration_pattern is not None:
        why.append("the command printed nothing" if not progress.printed else
                   "iteration_pattern matched none of the %d lines of output: compare it with output_tail" % progress.printed)
    if follower is not None:
        words = ("%s" % follower.why if follower.why else "nothing was appended to it" if not follower.count else
                 "none of its %d lines is a JSON object with the key iteration" % follower.count)
        why.append("progress_file %s: %s" % (options["progress_file"], words))
    if not why and not options["iteration_pattern"]:
        why.append("give iteration_pattern or progress_file, or wrap the loop with the helper gpu_audit_probe.py")
    return ["no iteration was counted" + (": " + "; ".join(why) if why else "")]


def _notes(watch, hello, seen, summary, visible):
    options, progress, notes = watch.options, watch.progress, []
    if seen["left_running"] == 1:
        notes.append("a process was still running when the command ended, and was ended")
    elif seen["left_running"]:
        notes.append("%d processes were still running when the command ended, and were ended" % seen["left_running"])
    if not seen["error"]:
        notes += uncounted(options, progress, watch.followers[1] if len(watch.followers) > 1 else None)
    if progress.bad_lines:
        notes.append("%d lines of the progress files are no JSON objects" % progress.bad_lines)
    if progress.cuda_oom and seen["exit_code"] == 0:
        notes.append("the command went on after an allocation failed: %s" % clean_text(progress.cuda_oom, 200))
    if visible is not None and len(visible) < len(hello["gpus"]):
        notes.append("CUDA_VISIBLE_DEVICES leaves %d of %d GPUs to the command" % (len(visible), len(hello["gpus"])))
    if summary.longest > options["interval_seconds"]:
        notes.append("sampled every %g s instead of %g s to keep the sampler below 1 %% of a core"
                     % (summary.longest, options["interval_seconds"]))
    if any(about["memory_reserved_bytes"] is None and about["memory_total_bytes"] for about in hello["gpus"]):
        notes.append("this driver counts its own reserved VRAM as used")
    for about in hello["gpus"]:
        for name, words in sorted(about["errors"].items()):
            if name != "sm_activity":
                notes.append("GPU %d: %s isn't known: %s" % (about["index"], _READINGS.get(name, name), words))
    if any(before["processes_known"] is False for before in hello["before"]):
        notes.append("the driver doesn't tell which processes hold VRAM")
    return notes
