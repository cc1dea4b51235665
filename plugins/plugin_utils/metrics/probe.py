# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a workload probe saw of the job itself: how it ended, what it waited for, what held the GPUs back.

All of it judges the pipeline, not the machine, but for the memory that ran out.
"""

from __future__ import annotations

from .measurements import SILENT, command_of, source_of, with_results
from .registry import amount, define, flag, gpu_label, mapping, maps, number, text

OUTCOME, OUT_OF_MEMORY, LEFT_OVER = "workload.outcome", "vram.out_of_memory", "vram.left_over_fraction"
WAIT, EPOCH, READ = "workload.data_wait_fraction", "workload.epoch_seconds", "workload.read_bytes_per_second"
UTILIZATION, DATA_SIDE, CAPPED = "workload.gpu_utilization_mean_fraction", "workload.data_side", "workload.capped"
UNUSED = "workload.unused_gpus"
SWAP, HOST_OUT_OF_MEMORY = "memory.swap_bytes_per_second", "memory.out_of_memory"
_RESULT = "workload_probe.result."

define(
    OUTCOME,
    "word",
    "how the command of the newest workload probe ended: completed, stopped (after the iterations or seconds asked for), failed, "
    "oom_cuda, oom_host, "
    "timed_out, hang, not_started",
    (_RESULT + "outcome", _RESULT + "exit_code", _RESULT + "signal"),
    "最近一次负载探测的命令如何结束：completed、stopped（达到指定迭代数或时间）、failed、oom_cuda、oom_host、timed_out、hang、not_started",
    good="completed",
)
define(
    OUT_OF_MEMORY,
    "word",
    "none; at_start (no iteration was done), later or moment_unknown (nothing told iterations) where the probe's command ended because "
    "a GPU was out of memory; reservation where a framework reserves VRAM on purpose and got none; unknown where the command was "
    "not started",
    (_RESULT + "outcome", _RESULT + "iterations", _RESULT + "reservation"),
    "none；探测命令因显存不足结束时为 at_start（一次迭代都未完成）、later 或 moment_unknown（没有迭代信息来源）；框架有意预留显存而未能得到时为 reservation；命令未能启动时为未知",
    good="none",
)
define(
    HOST_OUT_OF_MEMORY,
    "bool",
    "true where the kernel's out-of-memory killer ended the probe's command; unknown where it was not started",
    (_RESULT + "outcome",),
    "探测命令被内核 OOM killer 终止时为 true；命令未能启动时为未知",
)
define(
    LEFT_OVER,
    "fraction",
    "worst GPU of a workload probe: memory that others held before the command started / (memory_total_bytes - memory_reserved_bytes)",
    (_RESULT + "gpus[].memory_other_bytes", "…memory_total_bytes", "…memory_reserved_bytes"),
    "负载探测中最差的 GPU：命令启动前已被其他进程占用的显存 /（总显存 − 保留显存）",
)
define(
    WAIT,
    "fraction",
    "share of the job's time spent waiting for data, as the job's own loop tells it",
    (_RESULT + "data_wait_fraction",),
    "作业等待数据的时间占比，由作业自身的循环给出",
)
define(EPOCH, "seconds", "one epoch of the probe's command", (_RESULT + "epoch_seconds",), "探测命令一个 epoch 的耗时")
define(
    READ,
    "bytes_per_second",
    "bytes that the job's processes read from storage / duration",
    (_RESULT + "read_bytes_per_second", _RESULT + "read_bytes", _RESULT + "duration_seconds"),
    "作业进程从存储读取的字节数 / 时长",
)
define(
    UTILIZATION,
    "fraction",
    "mean of utilization_mean_fraction over the GPUs that the job uses (in_use), over the probe's window: from the first iteration on where "
    "at least five samples followed it, else the whole run",
    (_RESULT + "gpus[].utilization_mean_fraction", _RESULT + "gpus[].in_use", _RESULT + "window"),
    "作业所用各 GPU（in_use）平均利用率的均值；统计区间为首次迭代之后（其后至少有五个样本时），否则为整个运行过程",
)
define(
    UNUSED,
    "count",
    "GPUs that were left to the probe's command and that it did not use",
    (_RESULT + "gpus[].in_use",),
    "探测时分配给命令而未被其使用的 GPU 数量",
)
define(
    SWAP,
    "bytes_per_second",
    "bytes swapped in and out during the probe / duration",
    (_RESULT + "memory.swap_in_bytes", _RESULT + "memory.swap_out_bytes", _RESULT + "duration_seconds"),
    "探测期间换入与换出的字节数 / 时长",
)
define(
    DATA_SIDE,
    "word",
    "what keeps data from the GPUs while VRAM is steady and the GPUs of the job are used 0.05 to 0.50 on average, or the job waits "
    "for data above 0.30 "
    "of the time: host_cpu (the job's own work on the CPUs), other_processes (the CPUs are busy with others), io_wait, swap, network_link, "
    "or unnamed; none otherwise",
    (_RESULT + "limiter", _RESULT + "gpus[].utilization_mean_fraction", _RESULT + "data_wait_fraction", _RESULT + "series"),
    "显存稳定而作业所用 GPU 平均利用率为 0.05 至 0.50，或等待数据时间占比超过 0.30 时，限制数据供给的因素：host_cpu（作业自身占满 CPU）、"
    "other_processes（CPU 被其他进程占用）、io_wait、swap、network_link 或 unnamed；否则为 none",
    good="none",
)
define(
    CAPPED,
    "word",
    "what held the clocks of the worst GPU down for more than a tenth of the probe: thermal, power_brake, power_limit_lowered (the "
    "cap, with a limit below "
    "the default), power_limit (the cap at the default limit: full load does that); none otherwise",
    (_RESULT + "gpus[].clock_event_seconds", "gpu.gpus[].power_limit_watts", "gpu.gpus[].power_limit_default_watts"),
    "探测期间超过十分之一的时间压低最差 GPU 时钟的因素：thermal、power_brake、power_limit_lowered（限值低于默认）、power_limit（默认限值，满载即如此）；否则为 none",
    good="none",
)

# How much of the time a clock event must be on to be more than a moment.
EVENT_SHARE = 0.10
WAIT_LIMIT = 0.30
BUSY_LOW, BUSY_HIGH = 0.05, 0.50
STEADY = 0.05
ENDED_WELL = ("completed", "stopped")
_OUTCOMES = ENDED_WELL + ("failed", "oom_cuda", "oom_host", "timeout", "hang", "not_started")
# What the probe names -> the metric's word.
_LIMITERS = {"host_cpu": "host_cpu", "other_processes": "other_processes", "io_wait": "io_wait", "swap": "swap", "network": "network_link"}
_ALL = (OUTCOME, OUT_OF_MEMORY, LEFT_OVER, WAIT, EPOCH, READ, UTILIZATION, UNUSED, SWAP, DATA_SIDE, CAPPED, HOST_OUT_OF_MEMORY)
# So many other probed commands are named.
OTHERS = 3


def derive(state):
    """Every metric of the probe's job: silent where there is no probe."""
    found = with_results(state.document, "workload_probe")
    if not found:
        for name in _ALL:
            state.not_applicable(name, SILENT)
        return
    measurement = found[0]
    result = measurement["result"]
    source = source_of(measurement)
    _derive_outcome(state, result, source, found[1:])
    _derive_unused(state, result, source)
    _derive_out_of_memory(state, result, source, command_of(measurement))
    _derive_left_over(state, result, source)
    for name, value, unit_limit in (
        (WAIT, amount(result, "data_wait_fraction"), 1),
        (EPOCH, amount(result, "epoch_seconds"), None),
        (READ, _read_rate(result), None),
        (UTILIZATION, _mean_utilization(result), 1),
        (SWAP, _swap_rate(result), None),
    ):
        if value is None or unit_limit is not None and value > unit_limit:
            state.not_applicable(name, SILENT)
        else:
            state.value(name, value, [{"what": name.partition(".")[2], "value": value, "source": source}])
    _derive_data_side(state, result, source)
    _derive_capped(state, result, source)


def peak_absence(measurement):
    """None, or (reason, params) why the VRAM peak of this probe isn't the job's: the command never really ran, or reserves on purpose."""
    result = measurement["result"]
    outcome = text(result, "outcome")
    if outcome is not None and outcome not in (*ENDED_WELL, "oom_cuda") and not amount(result, "iterations"):
        reason, params = _ended(result, outcome)
        return reason, dict(params, command=command_of(measurement))
    framework = text(result, "reservation")
    if framework and amount(result, "framework_peak_bytes") is None:
        return "absent.reservation", {"framework": framework}
    return None


_ENDED = {
    "oom_host": "absent.probe_ended.oom_host",
    "timeout": "absent.probe_ended.timeout",
    "hang": "absent.probe_ended.hang",
}


def _ended(result, outcome):
    """(reason, params): how a command ended of which no iteration was counted."""
    exit_code, signal, error = number(result, "exit_code"), text(result, "signal"), text(result, "error")
    if outcome in _ENDED:
        return _ENDED[outcome], {}
    if outcome == "not_started" and error:
        return "absent.probe_ended.not_started", {"error": error.rstrip(".")}
    if outcome == "failed" and signal:
        return "absent.probe_ended.signal", {"signal": signal}
    if outcome == "failed" and exit_code is not None:
        return "absent.probe_ended.failed", {"exit_code": "%d" % exit_code}
    return "absent.probe_ended", {"module": "workload_probe", "outcome": outcome}


def is_reservation(absence):
    """Whether a peak_absence() concerns VRAM alone: what else was seen of the job still holds."""
    return absence[0] == "absent.reservation"


def used_gpus(result):
    """The entries of a probe's whole GPUs that its job uses, by what the probe says (in_use).

    Where it doesn't: those with some work, or with more than a fiftieth of the memory in use.
    """
    entries = [entry for entry in maps(result, "gpus") if not text(entry, "mig_uuid")]

    def is_used(entry):
        said = flag(entry, "in_use")
        if said is not None:
            return said
        used, total = amount(entry, "memory_used_peak_bytes") or 0, amount(entry, "memory_total_bytes")
        return (amount(entry, "utilization_mean_fraction") or 0) >= BUSY_LOW or bool(total) and used > 0.02 * total

    return [entry for entry in entries if is_used(entry)]


def _ending(result):
    """How the command ended, in figures: evidence of every finding on it."""
    shown = [("exit_code", number(result, "exit_code")), ("signal", text(result, "signal")), ("iterations", amount(result, "iterations"))]
    shown += [("error", text(result, "error")), ("output", text(mapping(result, "out_of_memory"), "line"))]
    return [(what, value) for what, value in shown if value is not None]


def _derive_unused(state, result, source):
    """How many GPUs that were left to the job it did not use; silent where the command didn't run, or no figure of a GPU tells."""
    entries = [entry for entry in maps(result, "gpus") if not text(entry, "mig_uuid")]
    known = [entry for entry in entries if flag(entry, "in_use") is not None or amount(entry, "utilization_mean_fraction") is not None]
    if text(result, "outcome") not in (None, "timeout", "hang", *ENDED_WELL) or not known:
        state.not_applicable(UNUSED, SILENT)
        return
    used = used_gpus(result)
    unused = [entry for entry in known if entry not in used]
    evidence = [
        {"what": "%s utilization_mean_fraction" % gpu_label(entry), "value": amount(entry, "utilization_mean_fraction"), "source": source}
        for entry in unused
    ]
    state.value(UNUSED, len(unused), evidence)


def _derive_outcome(state, result, source, others):
    outcome = text(result, "outcome")
    if outcome is None:
        state.not_applicable(OUTCOME, SILENT)
        return
    metric = [{"what": what, "value": value, "source": source} for what, value in _ending(result)]
    for entry in others[:OTHERS]:
        metric.append({"what": "other_probe", "value": "%s, %s" % (command_of(entry), text(entry, "finished") or "?"), "source": source})
    # "timeout" is already what a driver does that gives no answer.
    state.value(OUTCOME, "timed_out" if outcome == "timeout" else outcome, metric)
    if outcome in _OUTCOMES and outcome not in ENDED_WELL:
        state.values[OUTCOME]["advice"] = "advice.outcome." + outcome


def _derive_out_of_memory(state, result, source, command):
    if text(result, "outcome") is None:
        state.not_applicable(OUT_OF_MEMORY, SILENT)
        state.not_applicable(HOST_OUT_OF_MEMORY, SILENT)
        return
    started = text(result, "outcome") != "not_started"
    if started:
        _derive_host_out_of_memory(state, result, source)
    else:
        state.unknown(HOST_OUT_OF_MEMORY, "absent.not_started", module="workload_probe", command=command)
    if text(state.gpu_document, "state") == "no_hardware":
        state.not_applicable(OUT_OF_MEMORY, "absent.no_gpu")
    elif started:
        _derive_gpu_out_of_memory(state, result, source)
    else:
        state.unknown(OUT_OF_MEMORY, "absent.not_started", module="workload_probe", command=command)


def _derive_host_out_of_memory(state, result, source):
    killed = text(result, "outcome") == "oom_host"
    peak = amount(mapping(result, "memory"), "peak_rss_bytes")
    evidence = [{"what": "peak_rss_bytes", "value": peak, "source": source}] if killed and peak is not None else []
    state.value(HOST_OUT_OF_MEMORY, killed, evidence)


def _derive_gpu_out_of_memory(state, result, source):
    word = "none"
    if text(result, "outcome") == "oom_cuda":
        word = "reservation" if text(result, "reservation") else _moment(result)
    evidence = [
        {"what": "%s memory_used_peak_bytes" % gpu_label(entry), "value": amount(entry, "memory_used_peak_bytes"), "source": source}
        for entry in used_gpus(result)[:3]
    ]
    evidence += [{"what": what, "value": value, "source": source} for what, value in _ending(result)]
    state.value(OUT_OF_MEMORY, word, evidence)
    if word != "none":
        state.values[OUT_OF_MEMORY]["advice"] = "advice.out_of_memory." + word


def _moment(result):
    """When the VRAM ran out: "at_start", "later", or "moment_unknown" where nothing told iterations or shows that there were none."""
    iterations = amount(result, "iterations")
    at_start = mapping(result, "out_of_memory").get("at_start", None if iterations is None else iterations == 0)
    return "moment_unknown" if at_start is None else "at_start" if at_start else "later"


def _derive_left_over(state, result, source):
    shares = []
    for entry in maps(result, "gpus"):
        held, total = amount(entry, "memory_other_bytes"), amount(entry, "memory_total_bytes")
        usable = None if total is None else total - (amount(entry, "memory_reserved_bytes") or 0)
        if held is not None and usable and usable > 0:
            shares.append((held / usable, gpu_label(entry), held))
    if not shares:
        state.not_applicable(LEFT_OVER, SILENT)
        return
    worst = max(shares)
    held = [entry for entry in sorted(shares, reverse=True) if entry[0] > 0]
    evidence = [{"what": label + " memory_other_bytes", "value": size, "source": source} for _share, label, size in held]
    state.value(LEFT_OVER, worst[0], evidence)


def _read_rate(result):
    rate = amount(result, "read_bytes_per_second")
    if rate is None and amount(result, "read_bytes") is not None and amount(result, "duration_seconds"):
        rate = result["read_bytes"] / result["duration_seconds"]
    return rate


def _mean_utilization(result):
    shares = [amount(entry, "utilization_mean_fraction") for entry in used_gpus(result)]
    shares = [share for share in shares if share is not None]
    return sum(shares) / len(shares) if shares else None


def _swap_rate(result):
    memory, seconds = mapping(result, "memory"), amount(result, "duration_seconds")
    moved = [amount(memory, "swap_in_bytes"), amount(memory, "swap_out_bytes")]
    return sum(moved) / seconds if seconds and None not in moved else None


def _steady(result):
    """Whether VRAM stays where it is in the second half of the probe: by its series, and true where there is none."""
    lines = mapping(mapping(result, "series"), "gpu").values()
    for line in lines:
        values = line.get("memory_used_bytes") if isinstance(line, dict) else None
        values = [value for value in values if isinstance(value, (int, float))] if isinstance(values, list) else []
        half = values[len(values) // 2 :]
        if half and max(half) - min(half) > STEADY * max(half):
            return False
    return True


def _derive_data_side(state, result, source):
    mean, waiting = state.get(UTILIZATION), state.get(WAIT)
    if mean is None and waiting is None or text(result, "outcome") not in (None, "timeout", *ENDED_WELL):
        state.not_applicable(DATA_SIDE, SILENT)
        return
    slow = mean is not None and BUSY_LOW <= mean <= BUSY_HIGH and _steady(result)
    word = "none"
    if slow or waiting is not None and waiting > WAIT_LIMIT:
        limiter = text(result, "limiter")
        # Clocks that are held down make a job slow with busy GPUs, not with idle ones: those have a check of their own.
        word = _LIMITERS.get(limiter, "unnamed")
    cpu = mapping(result, "cpu")
    evidence = [
        {"what": what, "value": value, "source": source}
        for what, value in (
            ("gpu_utilization_mean_fraction", mean),
            ("gpu_utilization_p10_fraction", _extreme(result, "utilization_p10_fraction", min)),
            ("gpu_utilization_p90_fraction", _extreme(result, "utilization_p90_fraction", max)),
            ("data_wait_fraction", waiting),
            ("cpu_busy_fraction", amount(cpu, "busy_fraction")),
            ("cpu_busiest_core_fraction", amount(cpu, "busiest_core_fraction")),
            ("job_cores", amount(cpu, "job_cores")),
            ("cpu_iowait_fraction", amount(cpu, "iowait_fraction")),
            ("read_bytes_per_second", state.get(READ)),
        )
        if value is not None
    ]
    state.value(DATA_SIDE, word, evidence)
    if word != "none":
        # The advice on an unnamed cause speaks of VRAM and GPUs: not where only the job's own waiting told of it.
        state.values[DATA_SIDE]["advice"] = "advice.data_side." + ("wait_only" if word == "unnamed" and not slow else word)


def _extreme(result, field, which):
    values = [amount(entry, field) for entry in used_gpus(result)]
    values = [value for value in values if value is not None]
    return which(values) if values else None


# Names that sources use for one and the same reason.
_THERMAL = ("sw_thermal_slowdown", "hw_thermal_slowdown")
_BRAKE = ("hw_power_brake_slowdown",)
_CAP = ("sw_power_cap",)


def _derive_capped(state, result, source):
    seconds = amount(result, "duration_seconds")
    entries = [entry for entry in maps(result, "gpus") if mapping(entry, "clock_event_seconds")]
    if not seconds or not entries:
        state.not_applicable(CAPPED, SILENT)
        return
    lowered = {
        text(gpu, "uuid")
        for gpu in state.live
        if amount(gpu, "power_limit_watts") is not None
        and amount(gpu, "power_limit_watts") < 0.995 * (amount(gpu, "power_limit_default_watts") or 0)
    }
    found = []
    for entry in entries:
        events = mapping(entry, "clock_event_seconds")
        for rank, word, names in ((0, "thermal", _THERMAL), (1, "power_brake", _BRAKE), (2, None, _CAP)):
            share = min(1.0, max(amount(events, name) or 0 for name in names) / seconds)
            if share > EVENT_SHARE:
                is_low = text(entry, "uuid") in lowered
                named = word or ("power_limit_lowered" if is_low else "power_limit")
                found.append((rank if word or is_low else 3, named, share, gpu_label(entry)))
    if not found:
        state.value(CAPPED, "none")
        return
    word = min(found, key=lambda entry: (entry[0], -entry[2]))[1]
    state.value(
        CAPPED, word, [{"what": "%s: %s" % (label, name), "value": share, "source": source} for _rank, name, share, label in sorted(found)]
    )
    if word != "power_limit":
        state.values[CAPPED]["advice"] = "advice.capped." + word
