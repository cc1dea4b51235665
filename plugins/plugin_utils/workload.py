# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The workload form: what the owner says a machine is for. Every field optional; a missing one makes answers unknown, never a guess.

One field table (ARGUMENT_SPEC) is what the role's argument spec, the example file, the docs and the JSON Schema are made from.
"""

from __future__ import annotations

import re

from .numbers import is_number
from .scaling import BASES, ScalingError, read_times
from .words import nearest, shown

KINDS = ("training", "finetuning", "inference", "rendering", "transcoding")
LEANINGS = ("compute", "vram", "throughput", "latency")
PURPOSES = ("dataset", "weights", "checkpoints", "logs")

# When a test of the network is like business, where the form doesn't say.
BUSY_HOURS = "08:00-20:00"
# Without these three no sizing and no upgrade advice is given.
BASE_FIELDS = ("input_sample_bytes", "batch_size", "hours_per_day")


def _field(kind, en, zh, unit="", choices=None, kinds=KINDS, example=None, required_for=()):
    """One row. `kind`: choice, list, text, path, size, int, number, bool, times; `required_for`: kinds whose report lists it when it is
    missing.
    """
    return {
        "type": kind,
        "unit": unit,
        "choices": choices,
        "kinds": kinds,
        "example": example,
        "required_for": required_for,
        "description": {"en": en, "zh": zh},
    }


_LEARN = ("training", "finetuning")
_WITH_DATA = ("training", "finetuning", "rendering", "transcoding")

ARGUMENT_SPEC = {
    "kind": _field("choice", "What the machine is for.", "这台机器的用途。", choices=KINDS, example="training", required_for=KINDS),
    "mode": _field(
        "choice",
        "Inference only: online (somebody waits for each answer) or batch.",
        "仅用于推理：online（有人在等每个回答）或 batch（离线批处理）。",
        choices=("online", "batch"),
        kinds=("inference",),
        example="online",
        required_for=("inference",),
    ),
    "leans_on": _field(
        "list",
        "What the work leans on; chooses which checks must be answered. Default: the policy's.",
        "工作负载主要依赖什么；决定哪些检查必须得到回答。默认取自策略。",
        choices=LEANINGS,
        example=["compute", "vram", "throughput"],
    ),
    "model": _field("text", "Model or job, for the report only.", "模型或作业名称，仅用于报告。", example="example-7b"),
    "input_sample_bytes": _field(
        "size", "Size of one input sample (base figure).", "单个输入样本的大小（基础数据）。", "bytes", example="150 KB", required_for=KINDS
    ),
    "batch_size": _field(
        "int",
        "Samples in one batch on one GPU (base figure).",
        "单个 GPU 每批次的样本数（基础数据）。",
        "samples",
        example=256,
        required_for=KINDS,
    ),
    "hours_per_day": _field(
        "number", "Hours a day the work runs (base figure).", "每天运行的小时数（基础数据）。", "hours", example=20, required_for=KINDS
    ),
    "dataset_bytes": _field(
        "size", "Size of the data set on the host.", "主机上数据集的大小。", "bytes", example="4 TiB", required_for=_WITH_DATA
    ),
    "weights_bytes": _field(
        "size",
        "Size of the model weights on the host.",
        "主机上模型权重的大小。",
        "bytes",
        example="15 GiB",
        required_for=("training", "finetuning", "inference"),
    ),
    "checkpoint_bytes": _field("size", "Size of one checkpoint.", "单个检查点的大小。", "bytes", example="105 GB", required_for=_LEARN),
    "checkpoints_kept": _field(
        "int", "Checkpoints kept on the host at a time.", "主机上同时保留的检查点个数。", "count", example=5, required_for=_LEARN
    ),
    "checkpoint_interval_minutes": _field(
        "number", "Minutes between two checkpoints.", "两次检查点之间的分钟数。", "minutes", example=60, kinds=_LEARN
    ),
    "log_bytes": _field("size", "Room that logs need.", "日志所需的空间。", "bytes", example="20 GiB", required_for=KINDS),
    "dataset_path": _field("path", "Where the data set lies.", "数据集所在路径。", example="/data/dataset", required_for=_WITH_DATA),
    "weights_path": _field(
        "path", "Where the weights lie.", "权重所在路径。", example="/data/weights", required_for=("training", "finetuning", "inference")
    ),
    "checkpoints_path": _field(
        "path", "Where checkpoints are written.", "检查点写入路径。", example="/data/checkpoints", required_for=_LEARN
    ),
    "logs_path": _field("path", "Where logs are written.", "日志写入路径。", example="/data/logs", required_for=KINDS),
    "data_in_place": _field(
        "list",
        "What already lies on the host: it takes no further room.",
        "已经在主机上的数据：不再占用额外空间。",
        choices=("dataset", "weights"),
        example=["dataset"],
    ),
    "run_hours": _field("number", "Hours one run takes.", "单次运行所需小时数。", "hours", example=240),
    "samples_per_second_per_gpu": _field(
        "number", "Samples one GPU takes in a second.", "单个 GPU 每秒处理的样本数。", "samples/s", example=1500, required_for=_LEARN
    ),
    "dataset_layout": _field(
        "choice",
        "How the samples lie on the disk: files (one or a few in each of many small files) or shards (packed in large files).",
        "样本在磁盘上的组织方式：files（大量小文件，每个含一个或几个样本）或 shards（打包成大文件）。",
        choices=("files", "shards"),
        example="files",
        kinds=_WITH_DATA,
    ),
    "dataset_file_bytes": _field(
        "size",
        "Size of one file of the data set. Default: with files, input_sample_bytes.",
        "数据集中单个文件的大小。dataset_layout 为 files 时默认取 input_sample_bytes。",
        "bytes",
        example="150 KB",
        kinds=_WITH_DATA,
    ),
    "dataset_file_count": _field(
        "int", "Files of the data set.", "数据集的文件数。", "count", example=28000000, kinds=_WITH_DATA
    ),
    "read_block_bytes": _field(
        "size",
        "Bytes that the loader asks for at a time. Default: a whole file, at most 1 MiB.",
        "加载器每次读取请求的字节数。默认整个文件，最多 1 MiB。",
        "bytes",
        example="1 MiB",
        kinds=_WITH_DATA,
    ),
    "read_engine": _field(
        "choice",
        "How the loader reads: psync (plain reads, as Python does), libaio, io_uring or mmap.",
        "加载器的读取方式：psync（普通读取，Python 即如此）、libaio、io_uring 或 mmap。",
        choices=("psync", "libaio", "io_uring", "mmap"),
        example="psync",
        kinds=_WITH_DATA,
    ),
    "scaling_seconds": _field(
        "times",
        "Seconds that the same command took, by the number of GPUs: of an epoch or of a step.",
        "同一命令在不同 GPU 数下的耗时（秒）：一个 epoch 或一步。",
        "seconds",
        example={1: 800, 2: 420, 4: 230},
        kinds=_LEARN,
    ),
    "scaling_basis": _field(
        "choice",
        "What scaling_seconds are of: epoch (the same whole work each time) or step (each GPU has a batch of its own). Default: epoch.",
        "scaling_seconds 的口径：epoch（每次总工作量相同）或 step（每个 GPU 各有一份批次）。默认 epoch。",
        choices=BASES,
        example="epoch",
        kinds=_LEARN,
    ),
    "precision": _field(
        "choice",
        "Number format of the computation.",
        "计算所用的数值精度。",
        choices=("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4", "int4"),
        example="bf16",
    ),
    "latency_seconds": _field(
        "number",
        "Longest acceptable time of a whole answer, to its last token where it is streamed (95th percentile).",
        "完整应答的最长可接受时间（95 分位）；流式应答计到最后一个 token。",
        "seconds",
        example=2,
        kinds=("inference",),
    ),
    "first_token_seconds": _field(
        "number",
        "Longest acceptable time to the first token of a streamed answer (95th percentile).",
        "流式应答首 token 的最长可接受时间（95 分位）。",
        "seconds",
        example=0.5,
        kinds=("inference",),
    ),
    "concurrency": _field(
        "int", "Requests to be served at the same time.", "需要同时服务的请求数。", "count", example=32, kinds=("inference",)
    ),
    "upload_hours_allowed": _field(
        "number", "Hours allowed to bring the data set in.", "允许的数据集上传时间（小时）。", "hours", example=24
    ),
    "download_minutes_allowed": _field(
        "number",
        "Minutes allowed to take one result (checkpoint or weights) out.",
        "允许的单份结果（检查点或权重）下载时间（分钟）。",
        "minutes",
        example=60,
    ),
    "busy_hours": _field(
        "text",
        "Hours of the day, by the host's own clock, in which the business uses the network; a test at another time warns. May go over "
        "midnight. Default: 08:00-20:00.",
        "业务使用网络的时段（按主机本地时间）；在其他时间测试会警告。可跨午夜。默认 08:00-20:00。",
        example="08:00-20:00",
    ),
    "queue_state": _field(
        "choice",
        "Is there work waiting for the machine?",
        "是否有任务在排队等待这台机器？",
        choices=("empty", "short", "long"),
        example="short",
    ),
    "budget_amount": _field("number", "Budget of the project.", "项目预算。", "currency", example=10000),
    "budget_currency": _field("text", "Currency of the budget (ISO 4217).", "预算币种（ISO 4217）。", example="USD"),
}

_SIZE = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgtpe]i?)?b?(?:ytes)?\s*$", re.IGNORECASE)
_HOURS = re.compile(r"\s*(\d{1,2})(?::([0-5]\d))?\s*[-\u2013]\s*(\d{1,2})(?::([0-5]\d))?\s*")
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}


def parse_size(value):
    """Bytes as int of an int, a whole float or text like "1.5 TiB" (binary) or "105 GB" (decimal); None when it is no size."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        # What is more than nothing stays more than nothing.
        return max(int(value), 1 if value > 0 else 0) if 0 <= value < 2**80 else None
    if not isinstance(value, str) or len(value) > 64:
        return None
    match = _SIZE.match(value)
    if not match:
        return None
    figure, prefix = match.groups()
    base = 1024 if prefix and prefix[1:] else 1000
    size = float(figure) * (base ** _POWERS[prefix[0].lower()] if prefix else 1)
    return int(round(size)) if size < 2**80 else None


def parse_hours(value):
    """(minute of the day of the beginning, of the end) of text like "08:00-20:00", "8-20" or "22:00-06:00"; None where it is no such.

    The end is no part of it; 24:00 is the end of the day.
    """
    match = _HOURS.fullmatch(value) if isinstance(value, str) and len(value) <= 32 else None
    if not match:
        return None
    begin, end = (int(hour) * 60 + int(minute or 0) for hour, minute in (match.groups()[:2], match.groups()[2:]))
    return (begin, end) if begin < 1440 and end <= 1440 else None


def within_hours(hours, minute):
    """Whether a minute of the day (0 to 1439) lies in "08:00-20:00". An end before the beginning is the next day's, an equal one means the
    whole day.
    """
    begin, end = parse_hours(hours)
    if begin == end:
        return True
    return begin <= minute < end if begin < end else minute >= begin or minute < end


def as_number(value):
    """A number of a number or text that is not negative and of sane size; None else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value) if len(value) <= 64 else None
        except ValueError:
            return None
    if isinstance(value, (int, float)) and 0 <= value < 2**80:
        return value
    return None


def _convert(name, row, value):
    """(converted value, None) or (None, what was wanted)."""
    kind = row["type"]
    if kind == "size":
        size = parse_size(value)
        return (size, None) if size is not None else (None, 'a size in bytes or with a unit such as "1.5 TiB"')
    if kind in ("int", "number"):
        figure = as_number(value)
        if figure is not None and (kind == "number" or figure == int(figure)):
            if kind == "int" or figure == int(figure):
                figure = int(figure)
            if name == "hours_per_day" and figure > 24:
                return None, "at most 24 hours"
            return figure, None
        return None, "a %s that is not negative" % ("whole number" if kind == "int" else "number")
    if kind == "times":
        try:
            return read_times(value), None
        except ScalingError:
            return None, "seconds by number of GPUs, for example {1: 800, 2: 420}"
    if kind == "bool":
        return (value, None) if isinstance(value, bool) else (None, "true or false")
    if kind == "choice":
        if isinstance(value, str) and value in row["choices"]:
            return value, None
        return None, "one of " + ", ".join(row["choices"])
    if kind == "list":
        entries = [value] if isinstance(value, str) else value
        if isinstance(entries, (list, tuple)) and entries and all(isinstance(entry, str) and entry in row["choices"] for entry in entries):
            return sorted(set(entries)), None
        return None, "a list of " + ", ".join(row["choices"])
    if kind == "path":
        return (value, None) if isinstance(value, str) and value.startswith("/") and "\0" not in value else (None, "an absolute path")
    if name == "busy_hours":
        return (value.strip(), None) if parse_hours(value) else (None, 'hours of a day such as "08:00-20:00"')
    if isinstance(value, str) or is_number(value) and -(2**80) < value < 2**80:
        return str(value), None
    return None, "text"


def normalise(form):
    """(form with sizes in bytes and numbers as numbers, problems [str]). A field that is wrong or unknown is left out and named in
    problems.
    """
    if form is None:
        return {}, []
    if not isinstance(form, dict):
        return {}, ["gpu_audit_workload must be a map of fields, not %s" % type(form).__name__]
    result, problems = {}, []
    for name in sorted(form, key=shown):
        value = form[name]
        row = ARGUMENT_SPEC.get(name) if isinstance(name, str) else None
        if row is None:
            label = " ".join(name.split())[:80] if isinstance(name, str) else shown(name)
            problems.append("gpu_audit_workload.%s is no field of the form%s" % (label, nearest(label, ARGUMENT_SPEC)))
            continue
        if value is None or value == "":
            continue
        converted, wanted = _convert(name, row, value)
        if wanted:
            near = nearest(value.lower(), row["choices"]) if row["type"] == "choice" and isinstance(value, str) else ""
            problems.append("gpu_audit_workload.%s must be %s, not %s%s" % (name, wanted, shown(value), near))
        else:
            result[name] = converted
    return result, problems


def missing(form):
    """Names of the fields that this kind of work needs and the (normalised) form doesn't give, in the table's order. Base figures come
    always.
    """
    kind = form.get("kind")
    kinds = (kind,) if kind in KINDS else ()
    names = []
    for name, row in ARGUMENT_SPEC.items():
        if form.get(name) is not None:
            continue
        if name in BASE_FIELDS or name == "kind" or any(entry in row["required_for"] for entry in kinds):
            names.append(name)
    return names


def base_figures_missing(form):
    """The base figures that the form lacks: while there are any, nothing is sized and no upgrade is advised."""
    return [name for name in BASE_FIELDS if form.get(name) is None]


def sizes_missing(form):
    """The sizes without which it isn't known what this kind of work puts on the host; without a kind, those of training."""
    kind = form.get("kind") if form.get("kind") in KINDS else "training"
    in_place = form.get("data_in_place") or ()
    return [
        name
        for name in ("dataset_bytes", "weights_bytes", "checkpoint_bytes", "checkpoints_kept", "log_bytes")
        if kind in ARGUMENT_SPEC[name]["required_for"] and form.get(name) is None and name.split("_", maxsplit=1)[0] not in in_place
    ]


def storage_needs(form):
    """[(purpose, path or None, bytes)] that the form says must fit; what already lies there is left out, as is what has no size."""
    in_place = form.get("data_in_place") or ()
    checkpoint, kept = form.get("checkpoint_bytes"), form.get("checkpoints_kept")
    sizes = {
        "dataset": None if "dataset" in in_place else form.get("dataset_bytes"),
        "weights": None if "weights" in in_place else form.get("weights_bytes"),
        "checkpoints": checkpoint * kept if checkpoint is not None and kept is not None else None,
        "logs": form.get("log_bytes"),
    }
    return [
        (purpose, form.get(purpose + "_path"), sizes[purpose])
        for purpose in PURPOSES
        if sizes[purpose] or sizes[purpose] == 0 and form.get(purpose + "_path")
    ]
