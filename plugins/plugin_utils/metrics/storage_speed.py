# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What storage delivers, as storage_benchmark measured it, against what the GPUs and checkpoints need.

A result that came out of memory is never a disk's speed.
"""

from __future__ import annotations

from .. import storage_jobs
from . import gpu as gpu_metrics
from .measurements import SILENT, find_measurement, find_optional
from .probe import used_gpus
from .registry import amount, define, flag, mapping, maps, text

READ, HEADROOM = "storage.read_bytes_per_second", "storage.read_headroom_ratio"
SMALL, SMALL_HEADROOM = "storage.small_file_bytes_per_second", "storage.small_file_headroom_ratio"
NEEDED = "storage.needed_bytes_per_second"
WRITE, STALL = "storage.checkpoint_write_bytes_per_second", "storage.checkpoint_stall_fraction"
MEDIUM, DIFFERENCES, SHARED = "storage.dataset_medium", "storage.benchmark_differences", "storage.shared_read_ratio"
_RESULT = "storage_benchmark.result."

define(
    READ,
    "bytes_per_second",
    "sequential read of the data set's file system (job dataset_read); absent where the result came out of memory",
    (_RESULT + "read_bytes_per_second", _RESULT + "cached"),
    "数据集所在文件系统的顺序读速率（作业 dataset_read）；结果来自内存缓存时无值",
)
define(
    SMALL,
    "bytes_per_second",
    "read rate over many small files in random order, open and close included (job small_files); absent where it came out of memory",
    (_RESULT + "small_file_bytes_per_second",),
    "随机顺序读取大量小文件的速率，含打开和关闭（作业 small_files）；结果来自内存缓存时无值",
)
define(
    NEEDED,
    "bytes_per_second",
    "samples_per_second_per_gpu x GPUs x input_sample_bytes; where the form doesn't say samples_per_second_per_gpu: batch_size / "
    "mean seconds of an "
    "iteration in the workload probe (else its samples_per_second over the GPUs used), / (1 - data_wait_fraction)",
    (
        "workload.samples_per_second_per_gpu",
        "workload.input_sample_bytes",
        "workload.batch_size",
        "workload_probe.result.iteration_seconds",
        "…samples_per_second",
    ),
    "每 GPU 每秒样本数 × GPU 数 × 单样本字节数；表单未给出每 GPU 每秒样本数时取 batch_size / 负载探测的平均迭代秒数（或其 samples_per_second 按所用 GPU 平均），再除以（1 − "
    "data_wait_fraction）",
)
define(
    HEADROOM,
    "ratio",
    "measured read bytes per second / storage.needed_bytes_per_second; with dataset_layout: files the small-file rate where it was "
    "measured",
    (READ, SMALL, NEEDED, "workload.dataset_layout"),
    "实测读取速率 / storage.needed_bytes_per_second；dataset_layout 为 files 且已测小文件时取小文件速率",
)
define(
    SMALL_HEADROOM,
    "ratio",
    "storage.small_file_bytes_per_second / storage.needed_bytes_per_second; not applicable with dataset_layout: shards",
    (SMALL, NEEDED, "workload.dataset_layout"),
    "storage.small_file_bytes_per_second / storage.needed_bytes_per_second；dataset_layout 为 shards 时不适用",
)
define(
    WRITE,
    "bytes_per_second",
    "large sequential write with fsync at the end (job checkpoint_write)",
    (_RESULT + "checkpoint_write_bytes_per_second",),
    "末尾带 fsync 的大块顺序写速率（作业 checkpoint_write）",
)
define(
    STALL,
    "fraction",
    "checkpoint_bytes / storage.checkpoint_write_bytes_per_second / (checkpoint_interval_minutes x 60)",
    (WRITE, "workload.checkpoint_bytes", "workload.checkpoint_interval_minutes"),
    "checkpoint_bytes / storage.checkpoint_write_bytes_per_second /（checkpoint_interval_minutes × 60）",
)
define(
    MEDIUM,
    "word",
    "what dataset_path lies on: nvme, ssd, hdd, network, network_small_files (network with dataset_layout: files), memory, overlay; "
    "unknown where the disk behind it can't be seen",
    ("storage.paths[].kind", "workload.dataset_layout"),
    "dataset_path 所在介质：nvme、ssd、hdd、network、network_small_files（网络存储且 dataset_layout 为 files）、memory、overlay；看不到其背后的磁盘时为未知",
    good="nvme",
)
define(
    DIFFERENCES,
    "count",
    "in how many of block size, file count, file size and engine the test differs from the form's sample shape (block size, file "
    "size, count: by more "
    "than a factor of 4, 4, 10), and whether it was only a quick look, not the audit guide's job (dataset_read), or too short: less "
    "than 0.6 s, or less than 5 s with fewer data than the full form reads",
    (
        _RESULT + "jobs",
        "workload.read_block_bytes",
        "workload.dataset_file_bytes",
        "workload.dataset_file_count",
        "workload.read_engine",
    ),
    "测试与表单样本形态在块大小、文件数、文件大小、引擎中有几项不同（块大小和文件大小相差 4 倍以上、文件数相差 10 倍以上），以及是否仅为快速初测、不是审计指南规定的作业（dataset_read），"
    "或时间过短（不足 0.6 秒，或不足 5 秒且读取量少于完整形式）",
)
define(
    SHARED,
    "ratio",
    "read rate of this host while several hosts read the same file system at once / its rate alone",
    (_RESULT + "shared", _RESULT + "hosts_at_once"),
    "多主机同时读取同一文件系统时该主机的速率 / 单独读取时的速率",
)

# Reading in sequence at this multiple of the need is no trouble: the policies' own limit.
ENOUGH = 1.25
# What is said of a figure that is a hint and no answer (storage_jobs.tentative): (reason, note of one that passes, label of its source).
_TENTATIVE = {
    "quick": ("absent.quick", "finding.quick", "quick"),
    "too_short": ("absent.too_short", "finding.too_short", "too short"),
}


def derive(state):
    """Every metric of storage's speed. Needs gpu.* and the workload probe's metrics to be derived before."""
    _derive_needed(state)
    _derive_rate(state, READ, "dataset_read")
    _derive_rate(state, SMALL, "small_files")
    _derive_rate(state, WRITE, "checkpoint_write")
    _derive_headroom(state)
    _derive_small_headroom(state)
    _derive_stall(state)
    _derive_medium(state)
    _derive_differences(state)
    _derive_shared(state)


def on_path(state, purpose):
    """Whether a measurement was taken where the form's path of a purpose lies: there, above it, or elsewhere on the same file system.

    Any will do where the form names no path.
    """
    path = state.form.get(purpose + "_path")
    storage, _problem = state.subject("storage")
    mounts = {text(entry, "path"): text(entry, "mount_point") for entry in maps(storage, "paths")} if storage else {}

    def fits(entry):
        target = text(entry, "target")
        if not path or target in (path, None) or path.startswith((target or "").rstrip("/") + "/"):
            return True
        mount = text(mapping(mapping(entry, "result"), "file_system"), "mount_point") or mounts.get(target)
        return mount is not None and mount == mounts.get(path)

    return fits


def _derive_needed(state):
    form, count = state.form, len(state.gpus)
    if not count:
        if text(state.gpu_document, "state") == "no_hardware":
            state.not_applicable(NEEDED, "absent.no_gpu")
        else:
            gpu_metrics.absent_everywhere(state, NEEDED)
        return
    rate, evidence = form.get("samples_per_second_per_gpu"), None
    size = form.get("input_sample_bytes")
    if rate:
        evidence = {"what": "samples_per_second_per_gpu", "value": rate, "source": "workload form"}
    else:
        rate, evidence = _probed_rate(state, form.get("batch_size"))
    fields = [name for name, value in (("samples_per_second_per_gpu", rate), ("input_sample_bytes", size)) if not value]
    if fields:
        state.unknown(NEEDED, "absent.form", fields=", ".join(fields))
        return
    state.value(
        NEEDED,
        rate * count * size,
        [
            evidence,
            {"what": "gpus", "value": count, "source": state.source},
            {"what": "input_sample_bytes", "value": size, "source": "workload form"},
        ],
    )


def _probed_rate(state, batch_size):
    """(samples a second that one GPU takes when it never waits, evidence) from the newest probe; (None, None) where it doesn't tell."""
    probe = find_optional(state, "workload_probe")
    result = mapping(probe, "result") if probe else {}
    seconds, waiting = amount(mapping(result, "iteration_seconds"), "mean"), amount(result, "data_wait_fraction") or 0
    if waiting >= 1:
        return None, None
    rate = batch_size / seconds if batch_size and seconds else None
    if rate is None and amount(result, "samples_per_second"):
        rate = result["samples_per_second"] / max(1, len(used_gpus(result)))
    if not rate:
        return None, None
    rate /= 1 - waiting
    return rate, {"what": "samples_per_second_per_gpu", "value": rate, "source": "workload_probe %s" % (text(probe, "finished") or "?")}


def _derive_rate(state, name, job_name):
    field = storage_jobs.FIGURES[job_name]
    fits = on_path(state, "checkpoints" if name == WRITE else "dataset")
    measurement = storage_jobs.newest_of(state.document, job_name, fits)
    if measurement is None:
        _absent_rate(state, name, field, fits)
        return
    result = measurement["result"]
    label, speed = storage_jobs.from_memory(result, job_name), amount(result, field)
    tentative = storage_jobs.tentative(result, job_name)
    source = "storage_benchmark %s" % (text(measurement, "finished") or "?")
    if tentative:
        source += " (%s)" % _TENTATIVE[tentative][2]
    if (amount(result, "hosts_at_once") or 1) > 1:
        source += " (%d hosts at once)" % result["hosts_at_once"]
    if text(storage_jobs.job_of(result, job_name), "buffered_label") == "buffered":
        source += " (buffered)"
    if label:
        reason = "absent.memory" if label == "memory" else "absent.cached"
        state.unknown(name, reason, module="storage_benchmark", target=text(measurement, "target") or "?", job=job_name)
    elif not speed:
        state.unknown(name, "absent.measurement_incomplete", module="storage_benchmark", field=field)
    else:
        state.value(name, speed, [{"what": field, "value": speed, "source": source}])
        if tentative:
            params = {"module": "storage_benchmark", "job": job_name}
            state.values[name]["tentative"] = {"reason": _TENTATIVE[tentative][0], "params": params}
        _labelled(state, name)


def _absent_rate(state, name, field, fits):
    """Marks a rate absent that no test gave: a failed one may have been its test, and the sequential read belongs to every one."""
    found = find_measurement(state, name, "storage_benchmark", lambda entry: fits(entry) and (name == READ or "error" in entry))
    if found is not None:
        state.unknown(name, "absent.measurement_incomplete", module="storage_benchmark", field=field)
    elif name != READ and state.absent[name]["reason"] == "absent.not_measured":
        state.not_applicable(name, SILENT)


def _labelled(state, name, measured=None):
    """Says of a figure what of its measurement a reader must know: a hint that is no answer, reads through the page cache."""
    metric = state.values[name]
    if measured and "tentative" in state.values[measured]:
        metric["tentative"] = state.values[measured]["tentative"]
    source = str(metric["evidence"][0]["source"])
    labels = [("(%s)" % label, note) for _reason, note, label in _TENTATIVE.values()] + [("(buffered)", "finding.buffered")]
    notes = [note for label, note in labels if label in source]
    if notes:
        metric["note"] = notes


def _ratio(state, name, measured):
    """`name` = a measured rate over the needed one, absent for the reason of what is missing."""
    for other in (NEEDED, measured):
        if other in state.absent:
            state.copy_absence(name, other)
            return
    speed, needed = state.values[measured], state.values[NEEDED]
    state.value(
        name,
        speed["value"] / needed["value"],
        [*speed["evidence"], {"what": "needed_bytes_per_second", "value": needed["value"], "source": needed["evidence"][0]["source"]}],
    )
    _labelled(state, name, measured)


def _derive_headroom(state):
    small = state.form.get("dataset_layout") == "files" and SMALL in state.values
    _ratio(state, HEADROOM, SMALL if small else READ)
    needed, sequential = state.get(NEEDED), state.get(READ)
    if small and HEADROOM in state.values and sequential and sequential >= ENOUGH * needed:
        state.values[HEADROOM]["advice"] = "advice.small_files"


def _derive_small_headroom(state):
    if state.form.get("dataset_layout") == "shards":
        state.not_applicable(SMALL_HEADROOM, "absent.shards")
    elif SMALL in state.absent:
        state.copy_absence(SMALL_HEADROOM, SMALL)
    else:
        _ratio(state, SMALL_HEADROOM, SMALL)


def _derive_stall(state):
    size, minutes = state.form.get("checkpoint_bytes"), state.form.get("checkpoint_interval_minutes")
    if WRITE in state.absent:
        state.copy_absence(STALL, WRITE)
        return
    fields = [name for name, value in (("checkpoint_bytes", size), ("checkpoint_interval_minutes", minutes)) if not value]
    if fields:
        state.unknown(STALL, "absent.form", fields=", ".join(fields))
        return
    speed = state.values[WRITE]
    seconds = size / speed["value"]
    state.value(
        STALL,
        seconds / (minutes * 60),
        [
            *speed["evidence"],
            {"what": "checkpoint_seconds", "value": seconds, "source": "checkpoint_bytes / checkpoint_write_bytes_per_second"},
            {"what": "checkpoint_interval_seconds", "value": minutes * 60, "source": "workload form"},
        ],
    )
    _labelled(state, STALL, WRITE)


def _derive_medium(state):
    storage, problem = state.subject("storage")
    path = state.form.get("dataset_path")
    if not path:
        state.not_applicable(MEDIUM, SILENT)
        return
    entry = next((entry for entry in maps(storage, "paths") if text(entry, "path") == path), None) if storage else None
    kind = text(entry, "kind") if entry else None
    if kind is None:
        state.unread([MEDIUM], problem, "storage.paths: %s" % path)
        return
    if kind == "unknown":
        seen = ", ".join(filter(None, (text(entry, "device"), text(entry, "type")))) or "?"
        state.unknown(MEDIUM, "absent.medium_unknown", path=path, seen=seen)
        return
    word = "network_small_files" if kind == "network" and state.form.get("dataset_layout") == "files" else kind
    state.value(MEDIUM, word, [{"what": path, "value": text(entry, "type") or kind, "source": "mountinfo"}])


# ------------------------------------------------------------------- is the test close to the real load?


def _derive_differences(state):
    fits, shape = on_path(state, "dataset"), sample_shape(state.form)
    small = storage_jobs.newest_of(state.document, "small_files", fits) if shape["layout"] == "files" else None
    # A test of another tool may describe its jobs and give no figure of them, or the other way round.
    measurement = small or storage_jobs.newest_of(state.document, "dataset_read", fits) or find_optional(state, "storage_benchmark", fits)
    if measurement is None:
        state.not_applicable(DIFFERENCES, SILENT)
        return
    result = measurement["result"]
    source = "storage_benchmark %s" % (text(measurement, "finished") or "?")
    name = "small_files" if shape["layout"] == "files" and storage_jobs.job_of(result, "small_files") else "dataset_read"
    job = storage_jobs.job_of(result, name)
    if not job or not any(value for key, value in shape.items() if key != "layout"):
        state.not_applicable(DIFFERENCES, "absent.no_shape" if job else SILENT)
        return
    found = differences(job, shape, name)
    if flag(result, "quick"):
        found.append(("quick", "quick", "full"))
    found += _unlike_the_guide(job, name, flag(result, "quick"))
    evidence = [
        ("%s %s" % (name, what), "%s (%s: %s)" % (tested, "guide" if what in _GUIDE else "form", wanted)) for what, tested, wanted in found
    ]
    state.value(DIFFERENCES, len(found), [{"what": what, "value": value, "source": source} for what, value in evidence])


_GUIDE = ("guide_job", "runtime_seconds")


def _unlike_the_guide(job, name, quick):
    """[(what, tested, in the guide)] where a job is another than the guide's or too short to say much; a quick look already says so."""
    found = []
    if name == "dataset_read" and job.get("guide_job") is False and not quick:
        found.append(("guide_job", "other size, readers or time", "4 x 4 GiB, 60 s"))
    seconds = storage_jobs.too_short(job, name)
    if seconds is not None:
        found.append(("runtime_seconds", "too short: %g s" % seconds, "60 s"))
    return found


def sample_shape(form):
    """{"layout", "block", "file", "count", "engine"} of the data set, None for what the form doesn't say."""
    layout = form.get("dataset_layout")
    size = form.get("dataset_file_bytes") or (form.get("input_sample_bytes") if layout == "files" else None)
    block = form.get("read_block_bytes") or (min(size, 2**20) if size else None)
    return {"layout": layout, "block": block, "file": size, "count": form.get("dataset_file_count"), "engine": form.get("read_engine")}


def differences(job, shape, name):
    """[(what, tested, in the form)] where a job of the test isn't shaped like the real reading. Figures are compared as orders of size:
    a test that reads the same kind of files says the same, whatever their exact size.
    """
    found = []
    for what, field, wanted, factor in (
        ("block_size_bytes", "block_size_bytes", shape["block"], 4),
        ("file_size_bytes", "file_size_bytes", shape["file"], 4),
        ("file_count", "file_count", shape["count"], 10),
    ):
        tested = amount(job, field)
        if field == "file_size_bytes" and tested is None and name == "dataset_read":
            tested = amount(job, "size_bytes")
        if not wanted or not tested:
            continue
        if what == "file_size_bytes" and min(tested, wanted) >= 2**28:
            # From 256 MiB on, the cost of opening a file is lost in reading it.
            continue
        if what == "file_count" and min(tested, wanted) >= 20000:
            # More files than a test lays out: it already pays for every open.
            continue
        if max(tested, wanted) > factor * min(tested, wanted):
            found.append((what, tested, wanted))
    engine = text(job, "engine")
    if shape["engine"] and engine and engine != shape["engine"] and not {engine, shape["engine"]} <= _PLAIN_READS:
        found.append(("engine", engine, shape["engine"]))
    return found


# fio's names for one plain read after the other.
_PLAIN_READS = frozenset(("psync", "sync", "pvsync"))


def _derive_shared(state):
    measurement = storage_jobs.newest_of(state.document, "dataset_read", on_path(state, "dataset"))
    shared = mapping(measurement["result"], "shared") if measurement else {}
    one, many = amount(shared, "alone_bytes_per_second"), amount(shared, "together_bytes_per_second")
    if not one or not many or storage_jobs.from_memory(measurement["result"], "dataset_read"):
        state.not_applicable(SHARED, SILENT)
        return
    hosts = amount(measurement["result"], "hosts_at_once") or 2
    state.value(
        SHARED,
        many / one,
        [
            {"what": "together_bytes_per_second", "value": many, "source": "%d hosts at once" % hosts},
            {"what": "alone_bytes_per_second", "value": one, "source": "this host alone"},
        ],
    )
