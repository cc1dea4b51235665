# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a VRAM estimate is told of a model: one field table, and reading what somebody wrote into it.

The workload form (workload.py) says what the work is; this says what the model is and how it is to be run. Both are checked here.
"""

from __future__ import annotations

import re

from . import workload
from .metrics.catalogue import boards, plain_name, shown_name
from .numbers import is_number, is_whole
from .words import nearest, shown


class PlanError(ValueError):
    """Input that no estimate can be made from: `problems`, every one that was found, each a sentence."""

    def __init__(self, problems):
        super().__init__("; ".join(problems))
        self.problems = list(problems)


FULL = {"fp64": 8, "fp32": 4, "tf32": 4}
HALF = {"fp16": 2, "bf16": 2, "fp8": 2}
# Bytes a weight; NF4 has half a bit of scales a weight with double quantisation, MXFP4 one byte for 32 weights.
WEIGHT_BYTES = {
    "fp64": 8,
    "fp32": 4,
    "tf32": 4,
    "fp16": 2,
    "bf16": 2,
    "fp8": 1,
    "int8": 1,
    "fp4": 0.5,
    "int4": 0.5,
    "nf4": 0.5625,
    "mxfp4": 0.53125,
}
# Only the matrices of the layers are stored so; embeddings stay 16-bit.
QUANTISED = ("int8", "fp4", "int4", "nf4", "mxfp4")
# Bytes of optimizer state a parameter, without master weights, beside 16-bit weights.
MOMENTS = {"adamw": 8, "adamw_16bit": 4, "adamw_8bit": 2, "sgd_momentum": 4, "sgd": 0}
GRADIENT_BYTES = {"16bit": 2, "fp32": 4, "both": 6}
SHARDINGS = ("none", "zero1", "zero2", "zero3", "fsdp", "hsdp")
KINDS = ("training", "finetuning", "inference")
SHAPE = ("hidden_size", "layers", "heads")


def _field(kind, en, zh, default=None, choices=None, low=None, high=None):
    """One row. `kind`: count (whole, 8B is understood), whole (written out), size, number, choice, bool, boards; `default` None: unknown,
    or taken from other fields.
    """
    return {"type": kind, "description": {"en": en, "zh": zh}, "default": default, "choices": choices, "low": low, "high": high}


MODEL_SPEC = {
    "parameters": _field(
        "count",
        'Parameters, a number or text such as "8B". Without it they are counted from the shape.',
        '参数量，数字或 "8B" 这样的文本；缺省时由结构推算。',
        low=1000,
    ),
    "layers": _field("whole", "Transformer layers.", "Transformer 层数。", high=10000),
    "hidden_size": _field("whole", "Hidden size.", "隐藏维度。", high=10**6),
    "heads": _field("whole", "Attention heads.", "注意力头数。", high=10**5),
    "kv_heads": _field(
        "whole", "Key and value heads (GQA, MQA). Default: as heads.", "KV 头数（GQA、MQA）。默认与注意力头数相同。", high=10**5
    ),
    "head_dim": _field(
        "whole", "Size of one head. Default: hidden_size / heads.", "单个头的维度。默认为 hidden_size / heads。", high=10**5
    ),
    "ffn_size": _field("whole", "Inner size of the MLP. Default: 4 x hidden_size.", "MLP 中间维度。默认 4 × hidden_size。", high=10**7),
    "mlp_matrices": _field(
        "whole",
        "Matrices of one MLP: 2 (GPT) or 3 (gated, as in Llama).",
        "每个 MLP 的矩阵数：2（GPT）或 3（门控，如 Llama）。",
        2,
        low=2,
        high=3,
    ),
    "vocab_size": _field(
        "whole", "Vocabulary; 0 for a model without such an output.", "词表大小；没有词表输出的模型填 0。", low=0, high=10**8
    ),
    "tied_embeddings": _field("bool", "Input and output embeddings are one matrix.", "输入与输出嵌入共用一个矩阵。", False),
    "sequence_length": _field(
        "whole",
        "Tokens of one sample; for inference prompt and answer together.",
        "单个样本的 token 数；推理时为提示与回答之和。",
        high=10**9,
    ),
    "micro_batch_size": _field(
        "whole",
        "Samples at once on one GPU; the rest of the batch is accumulated. Default: batch_size of the form.",
        "单个 GPU 一次处理的样本数，其余通过梯度累积完成。默认取表单的 batch_size。",
    ),
    "precision": _field(
        "choice",
        "Number format of the computation. Default: the form's, else bf16.",
        "计算精度。默认取表单的值，否则为 bf16。",
        choices=(*FULL, *HALF),
    ),
    "weight_precision": _field(
        "choice",
        "Format of weights that aren't trained: inference, LoRA. Default: precision; nf4 for QLoRA.",
        "不参与训练的权重格式（推理、LoRA）。默认同 precision；QLoRA 为 nf4。",
        choices=tuple(WEIGHT_BYTES),
    ),
    "method": _field(
        "choice",
        "What is trained: all parameters, or adapters on 16-bit (LoRA) or 4-bit weights (QLoRA).",
        "训练方式：全部参数，或在 16 位（LoRA）、4 位权重（QLoRA）上训练适配器。",
        "full",
        choices=("full", "lora", "qlora"),
    ),
    "trainable_parameters": _field(
        "count",
        "Parameters that are trained. Default: all, or counted from lora_rank.",
        "参与训练的参数量。默认全部，或由 lora_rank 推算。",
        low=1,
    ),
    "lora_rank": _field(
        "whole", "Rank of the adapters, on every linear matrix of the layers.", "适配器的秩，作用于各层全部线性矩阵。", 16, high=10**5
    ),
    "optimizer": _field("choice", "Optimizer.", "优化器。", "adamw", choices=tuple(MOMENTS)),
    "master_weights": _field(
        "bool", "fp32 copy of 16-bit weights. Default: yes, except with adamw_16bit.", "16 位权重的 fp32 主副本。默认有，adamw_16bit 除外。"
    ),
    "gradient_precision": _field(
        "choice",
        "Gradients of 16-bit training: 16bit, fp32 (accumulated), both. Default: fp32 with master weights, else 16bit.",
        "16 位训练的梯度：16bit、fp32（累积）或 both。有主副本时默认 fp32，否则 16bit。",
        choices=tuple(GRADIENT_BYTES),
    ),
    "sharding": _field("choice", "What the data-parallel GPUs share out.", "数据并行各 GPU 之间的切分方式。", "none", choices=SHARDINGS),
    "shard_group_gpus": _field(
        "whole", "hsdp: GPUs of one shard group. Default: gpus_per_host.", "hsdp：单个切分组的 GPU 数。默认 gpus_per_host。"
    ),
    "offload": _field(
        "choice",
        "What lies in the host's memory (zero2, zero3).",
        "卸载到主机内存的内容（zero2、zero3）。",
        "none",
        choices=("none", "optimizer", "all"),
    ),
    "largest_layer_parameters": _field(
        "count", "Parameters of the largest layer. Default: from the shape; for zero3 DeepSpeed's 1e9 live parameters.",
        "最大层的参数量。默认由结构推算；zero3 时取 DeepSpeed 的 1e9 活动参数。",
    ),
    "gpus": _field(
        "whole",
        "GPUs together. Default: tensor_parallel x pipeline_parallel.",
        "GPU 总数。默认 tensor_parallel × pipeline_parallel。",
        high=10**6,
    ),
    "gpus_per_host": _field("whole", "GPUs of one host.", "单台主机的 GPU 数。", 8, high=1024),
    "tensor_parallel": _field(
        "whole",
        "GPUs that share each layer. Default: 1; for inference 8, 4 or 2 where gpus and heads divide by it.",
        "张量并行度。默认 1；推理时取 8、4、2 中能整除 gpus 与 heads 的最大值。",
        high=1024,
    ),
    "pipeline_parallel": _field("whole", "Stages that share out the layers.", "流水线并行级数。", 1, high=1024),
    "sequence_parallel": _field("bool", "Sequence parallelism within tensor parallelism.", "在张量并行内启用序列并行。", False),
    "activation_checkpointing": _field(
        "choice",
        "Recomputed in the backward pass: none, selective (attention), full.",
        "反向时重算：none、selective（注意力）、full。",
        "none",
        choices=("none", "selective", "full"),
    ),
    "flash_attention": _field("bool", "The attention matrix is never stored.", "不存储注意力矩阵。", True),
    "activation_copies": _field(
        "number",
        "Measured activations of a layer, in tensors of sequence x batch x hidden. Default: from the shape.",
        "实测每层激活量，以 序列 × 批 × 隐藏维度 的张量个数计。默认由结构推算。",
        low=1,
        high=1000,
    ),
    "activation_bytes_per_sample": _field(
        "size", "Activations of one sample, for models that are no transformers, as measured.", "非 Transformer 模型单样本激活量（实测）。"
    ),
    "activation_elements_per_sample": _field(
        "count", "The same in elements, as CNN tables give it.", "同上，以元素个数计（CNN 模型表所列）。"
    ),
    "activation_factor": _field(
        "number",
        "Copies kept of each such element: 2 with in-place activations, 3 without.",
        "每个元素保留的份数：原位激活为 2，否则为 3。",
        3,
        low=1,
        high=20,
    ),
    "fused_loss": _field("bool", "The loss is computed in pieces: no whole logits.", "分块计算损失，不保存完整 logits。", False),
    "logits_copies": _field(
        "number",
        "fp32 tensors of logits at once: logits and their gradient.",
        "同时存在的 fp32 logits 张量数：logits 与其梯度。",
        2,
        low=0,
        high=10,
    ),
    "kv_precision": _field(
        "choice", "Format of the KV cache. Default: 16-bit.", "KV 缓存格式。默认 16 位。", choices=("fp32", "fp16", "bf16", "fp8", "int8")
    ),
    "sliding_window": _field("whole", "Tokens that the KV cache keeps at most.", "KV 缓存最多保留的 token 数。", high=10**9),
    "kv_latent_size": _field(
        "whole", "MLA: elements of the compressed latent a token and layer.", "MLA：每 token 每层压缩隐向量的元素数。", high=10**6
    ),
    "framework_overhead_bytes": _field(
        "size",
        "CUDA context, kernels and communication. Default: 0.47 GiB, and 1.5 GiB more with several GPUs.",
        "CUDA 上下文、内核与通信占用。默认 0.47 GiB，多 GPU 时再加 1.5 GiB。",
    ),
    "fragmentation_fraction": _field("number", "What the allocator loses to fragments.", "分配器碎片损失比例。", 0.05, low=0, high=0.5),
    "target_fraction": _field(
        "number", "Share of the memory that may be used at the peak.", "峰值可占用的显存比例。", 0.80, low=0.01, high=1
    ),
    "boards": _field(
        "boards",
        'Boards to look at, a name or a list: every board whose name has those words ("H100", "RTX 4090"); "h100-sxm5-80gb", a key of the '
        "catalogue gpus.yml, is that one alone. The plan says which were looked at. Default: all.",
        "要比较的板卡，名称或列表：名称含有这些词的板卡（H100、RTX 4090）；目录 gpus.yml 中的键（h100-sxm5-80gb）只对应一种。方案会列出所比较的板卡。默认全部。",
    ),
}

# The same fields as the config.json of a published model names them.
ALIASES = {
    "num_hidden_layers": "layers",
    "num_attention_heads": "heads",
    "num_key_value_heads": "kv_heads",
    "intermediate_size": "ffn_size",
    "tie_word_embeddings": "tied_embeddings",
}
# Words of other tools and of habit -> the word here, for fields and for values.
MEANT = {
    "adam": "adamw",
    "adam_8bit": "adamw_8bit",
    "paged_adamw_8bit": "adamw_8bit",
    "batch": "batch_size",
    "bfloat16": "bf16",
    "bits": "weight_precision",
    "context_length": "sequence_length",
    "d_model": "hidden_size",
    "ddp": "none",
    "double": "fp64",
    "dtype": "precision",
    "false": "none",
    "float": "fp32",
    "float16": "fp16",
    "float32": "fp32",
    "float64": "fp64",
    "full_shard": "fsdp",
    "gradient_checkpointing": "activation_checkpointing",
    "half": "fp16",
    "hybrid_shard": "hsdp",
    "max_model_len": "sequence_length",
    "max_position_embeddings": "sequence_length",
    "max_seq_len": "sequence_length",
    "momentum": "sgd_momentum",
    "n_embd": "hidden_size",
    "n_head": "heads",
    "n_layer": "layers",
    "num_gpus": "gpus",
    "num_heads": "heads",
    "num_layers": "layers",
    "pp": "pipeline_parallel",
    "quantization": "weight_precision",
    "rank": "lora_rank",
    "recompute": "activation_checkpointing",
    "seq_len": "sequence_length",
    "tp": "tensor_parallel",
    "torch_dtype": "precision",
    "true": "full",
    "vocabulary": "vocab_size",
    "world_size": "gpus",
    "zero": "sharding",
    "zero_stage": "sharding",
    **{form % stage: "zero%d" % stage for stage in (1, 2, 3) for form in ("%d", "stage%d", "stage_%d", "zero_%d", "zero_stage_%d")},
}
_COUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?)(?:(e\+?[0-9]{1,2})|\s*([kmbgt]))?", re.IGNORECASE)
_GROUPS = re.compile(r"[0-9]{1,3}(?:(?:,[0-9]{3})+|(?:_[0-9]{3})+)")
_POWERS = {"k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9, "t": 10**12}
LIMIT = 10**18
_FLAGS = {"true": True, "yes": True, "false": False, "no": False}


def parse_count(value, suffixes=True):
    """A whole number of 8, 8.0, "8", "8.03B", "1e9", "7,000,000,000"; None when it is none.

    `suffixes` off: no K, M, B, T. Of tokens, layers and sizes of matrices "2k" may be 2000 or 2048.
    """
    factor = 1
    if isinstance(value, str):
        text = value.strip()
        if len(text) > 40:
            return None
        if _GROUPS.fullmatch(text):
            text = text.replace(",", "").replace("_", "")
        match = _COUNT.fullmatch(text)
        if not match or match.group(3) and not suffixes:
            return None
        factor = _POWERS[match.group(3).lower()] if match.group(3) else 1
        value = int(text) if text.isdecimal() else float(match.group(1) + (match.group(2) or "")) * factor
    if not is_number(value) or not 0 <= value < LIMIT:
        return None
    # 8.03 x 1e9 is no whole number in binary; nothing else is rounded.
    return int(round(value)) if value == round(value) or factor > 1 and abs(value - round(value)) < 1e-6 * value else None


def _near(value, names):
    """(did you mean "x"?) for a word of another tool, another spelling or a typing error."""
    word = value if isinstance(value, str) else shown(value)
    key = re.sub("[^a-z0-9]+", "_", word[:100].lower()).strip("_").removeprefix("torch_")
    return ' (did you mean "%s"?)' % MEANT[key] if MEANT.get(key) in names else nearest(key, names)


def _boards(value):
    """(keys of boards, None) or (None, sentence) of names, keys, or words of names."""
    wanted = [value] if isinstance(value, str) else value
    if not isinstance(wanted, list) or not wanted or not all(isinstance(name, str) and name.strip() for name in wanted):
        return None, "boards must be a name or a list of names, such as H100, not %s" % shown(value)
    names = {plain_name(name): board["key"] for board in boards() for name in [board["key"], *board["names"], shown_name(board)]}
    found = []
    for name in wanted:
        asked = plain_name(name).lower().split()
        keys = [key for full, key in names.items() if set(asked) <= set(full.lower().replace("-", " ").split()) | {full.lower()}]
        if not keys:
            short = [full.removeprefix("GeForce ").removeprefix("Tesla ") for full in names]
            near = nearest(plain_name(name), short) or nearest(name.upper(), short)
            return None, "boards: %s is no board of the catalogue%s" % (shown(name), near)
        found += keys
    return tuple(dict.fromkeys(found)), None


def _figure(value):
    return "%d" % value if is_whole(value) and value < 10**6 else ("%g" % value).replace("e+0", "e")


def _convert(name, value):
    """(value, None) or (None, what was wanted)."""
    row = MODEL_SPEC[name]
    kind, low, high = row["type"], row["low"], row["high"]
    if kind == "choice":
        return (value, None) if isinstance(value, str) and value in row["choices"] else (None, "one of " + ", ".join(row["choices"]))
    if kind == "bool":
        found = _FLAGS.get(value.lower()) if isinstance(value, str) else value
        return (found, None) if isinstance(found, bool) else (None, "true or false")
    if kind == "size":
        size = workload.parse_size(value)
        return (size, None) if size is not None else (None, 'a size in bytes or with a unit such as "1.5 GiB"')
    if kind == "number":
        found, wanted = workload.as_number(value), "a number"
    else:
        found, wanted, low = parse_count(value, kind == "count"), "a whole number", 1 if low is None else low
    if found is not None and found >= low and (high is None or found <= high):
        return found, None
    limits = " from %s to %s" % (_figure(low), _figure(high)) if high is not None else " of at least %s" % _figure(low)
    hint = ""
    if kind == "count":
        hint = ', such as 8e9 or "8B"'
    elif kind == "whole" and found is None and parse_count(value) is not None:
        hint = ", written out without k, M or B (2k may be 2000 or 2048)"
    return None, wanted + limits + hint


def examine(model, form=None):
    """(fields of the model, normalised form, problems [str], names of the fields that are wrong) of what somebody wrote.

    Fields of the form may stand among those of the model. Fields that weren't given are in neither.
    """
    if not isinstance(model, dict):
        raise PlanError(["the model must be a map of fields (docs/vram-fields.md), not %s" % type(model).__name__])
    if form is not None and not isinstance(form, dict):
        raise PlanError(["the workload form must be a map of fields, not %s" % type(form).__name__])
    fields, problems, wrong, own = {}, [], set(), dict(form or {})
    names = [*MODEL_SPEC, *workload.ARGUMENT_SPEC]
    for written in sorted(model, key=shown):
        name, value = ALIASES.get(written, written) if isinstance(written, str) else written, model[written]
        if name != written and name in model:
            problems.append("%s and %s are the same field: give one" % (written, name))
            wrong.add(name)
        elif isinstance(name, str) and name in MODEL_SPEC:
            if value is None or value == "":
                continue
            found, wanted = _boards(value) if name == "boards" else _convert(name, value)
            if wanted and name == "boards":
                problems.append(wanted)
                wrong.add(name)
            elif wanted:
                near = _near(value, MODEL_SPEC[name]["choices"]) if MODEL_SPEC[name]["choices"] else ""
                problems.append("%s must be %s, not %s%s" % (name, wanted, shown(value), near))
                wrong.add(name)
            else:
                fields[name] = found
        elif isinstance(name, str) and name in workload.ARGUMENT_SPEC:
            own[name] = value
        else:
            label = " ".join(name.split())[:80] if isinstance(name, str) else shown(name)
            problems.append("%s is no field of a model%s" % (label, _near(name, names)))
    normalised, form_problems = workload.normalise(own)
    wrong |= {name for name in workload.ARGUMENT_SPEC if own.get(name) not in (None, "") and name not in normalised}
    return fields, normalised, problems + form_problems, wrong
