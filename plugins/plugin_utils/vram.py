# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How much VRAM a job needs on each GPU, part by part, before a machine is rented.

`settle` fills in what follows from other fields, `parts` sizes one way of running the job, vram_boards.py asks it for each number of
GPUs. A part that can't be known is None with the fields that would tell it: then there is a lower bound and no size.
"""

from __future__ import annotations

import math

from . import vram_formulas as formulas
from .vram_fields import FULL, GRADIENT_BYTES, MODEL_SPEC, MOMENTS, QUANTISED, SHAPE, WEIGHT_BYTES

_SHARDS_GRADIENTS = ("zero2", "zero3", "fsdp", "hsdp")
_SHARDS_WEIGHTS = ("zero3", "fsdp", "hsdp")


class Part:
    """One line of an estimate: `size` bytes on one GPU, None where `missing` fields would tell it; `how` is the arithmetic, or
    (key, params) of a text.
    """

    def __init__(self, name, size, how="", missing=()):
        self.name, self.how, self.missing = name, how, tuple(missing)
        self.size = None if size is None else int(math.ceil(size))


def settle(fields, form):
    """(every field that an estimate uses, [(field, value)] that were assumed). `fields` and `form` as vram_rules.read gives them, with the
    three base figures.
    """
    values = dict(fields)
    assumed = []

    def assume(name, value):
        if name not in values:
            values[name] = value
            assumed.append((name, value))

    kind = form.get("kind")
    if kind is None:
        kind = "finetuning" if fields.get("method", "full") != "full" else "training"
        assumed.append(("kind", kind))
    values["kind"] = kind
    if fields.get("precision") is None and form.get("precision"):
        _precision_of_form(values, form["precision"])
    assume("precision", "bf16")
    values["batch_size"] = form["batch_size"]
    values["input_sample_bytes"] = form["input_sample_bytes"]
    if "micro_batch_size" not in values:
        values["micro_batch_size"] = form["batch_size"]
    for name, row in MODEL_SPEC.items():
        if row["default"] is not None and name != "pipeline_parallel" and _used(name, values):
            assume(name, row["default"])
        elif row["default"] is not None:
            values.setdefault(name, row["default"])
    _settle_shape(values, assume)
    (_settle_inference if kind == "inference" else _settle_training)(values, fields, assume)
    values["sequences"] = form.get("concurrency") or form["batch_size"]
    return values, assumed


def _precision_of_form(values, precision):
    """The form's number format: what only stores weights (int8, int4, fp4) is the format of weights, computed in 16 bit."""
    if precision in MODEL_SPEC["precision"]["choices"]:
        values["precision"] = precision
        return
    values["precision"] = "bf16"
    values.setdefault("weight_precision", precision)


_ONLY_TRAINING = (
    "method",
    "optimizer",
    "sharding",
    "offload",
    "activation_checkpointing",
    "flash_attention",
    "fused_loss",
    "logits_copies",
    "tied_embeddings",
    "sequence_parallel",
    "gpus_per_host",
)


def _used(name, values):
    """Whether a default is worth saying: it changes this estimate."""
    if name in ("lora_rank",):
        return values.get("method") in ("lora", "qlora") and "trainable_parameters" not in values
    if name in ("activation_factor",):
        return "activation_elements_per_sample" in values
    if name in ("mlp_matrices", "tied_embeddings"):
        return "hidden_size" in values
    if name in ("flash_attention", "fused_loss", "logits_copies"):
        return "hidden_size" in values and values["kind"] != "inference"
    if name in ("sequence_parallel", "gpus_per_host"):
        return False
    return values["kind"] != "inference" or name not in _ONLY_TRAINING


def _settle_shape(values, assume):
    if "hidden_size" in values:
        assume("ffn_size", 4 * values["hidden_size"])
    if "heads" in values:
        assume("kv_heads", values["heads"])
        if "hidden_size" in values and "head_dim" not in values:
            values["head_dim"] = values["hidden_size"] // values["heads"]
    countable = all(name in values for name in (*SHAPE, "vocab_size"))
    if countable:
        values["counted_parameters"] = formulas.parameters(values)
        values.setdefault("largest_layer_parameters", formulas.largest_layer(values) if values["sharding"] != "zero3" else None)
        values.setdefault("parameters", values["counted_parameters"])


def _settle_training(values, fields, assume):
    full = values["precision"] in FULL
    values["master_weights"] = False if full else fields.get("master_weights", values["optimizer"] != "adamw_16bit")
    if not full:
        assume("gradient_precision", "fp32" if values["master_weights"] else "16bit")
    values.setdefault("weight_precision", "nf4" if values["method"] == "qlora" else values["precision"])
    if values["method"] == "full":
        values["trainable_parameters"] = fields.get("trainable_parameters", values["parameters"])
    elif "trainable_parameters" not in values and all(name in values for name in SHAPE):
        values["trainable_parameters"] = formulas.adapter_parameters(values, values["lora_rank"])
    values.setdefault("tensor_parallel", 1)
    values.setdefault("gpus", values["tensor_parallel"] * values["pipeline_parallel"])
    if values["sharding"] == "hsdp":
        assume(
            "shard_group_gpus",
            min(values["gpus_per_host"], values["gpus"] // (values["tensor_parallel"] * values["pipeline_parallel"]) or 1),
        )


def _settle_inference(values, fields, assume):
    values.setdefault("weight_precision", values["precision"])
    if "hidden_size" in values:
        assume("kv_precision", "fp16" if values["precision"] not in FULL or values["precision"] == "fp64" else "fp32")
    if "tensor_parallel" not in values:
        gpus, stages = values.get("gpus", 1), values["pipeline_parallel"]
        assume("tensor_parallel", next((size for size in (8, 4, 2) if gpus % (size * stages) == 0 and _divides(values, size)), 1))
    values.setdefault("gpus", values["tensor_parallel"] * values["pipeline_parallel"])


def _divides(values, tensor):
    return "heads" not in values or values["heads"] % tensor == 0


def parts(values):
    """The parts of one GPU's memory, [Part], of settled fields."""
    found = _inference_parts(values) if values["kind"] == "inference" else _training_parts(values)
    overhead = _overhead(values)
    lost = values["fragmentation_fraction"] * sum(part.size or 0 for part in found)
    found.append(Part("framework_overhead", overhead))
    found.append(Part("fragmentation", lost, ("how.of_the_above", {"factor": "%g" % values["fragmentation_fraction"]})))
    return found


def _overhead(values):
    given = values.get("framework_overhead_bytes")
    return formulas.CONTEXT_BYTES + (formulas.COMMUNICATION_BYTES if values["gpus"] > 1 else 0) if given is None else given


def _inference_floor(values, weights, cache):
    """Workspace with which everything together is 1.2 x weights, the rule for the total of inference."""
    wanted = (1 + formulas.INFERENCE_WORKSPACE) * weights - _overhead(values)
    return max(0, wanted / (1 + values["fragmentation_fraction"]) - weights - cache)


def total(found):
    """(bytes on one GPU or None, the known bytes, fields that are missing) of parts."""
    missing = sorted({name for part in found for name in part.missing})
    known = sum(part.size or 0 for part in found)
    return (None if any(part.size is None for part in found) else known), known, missing


def _weight_bytes(values, count):
    """(bytes, arithmetic) of weights in weight_precision; where layers are quantised the embeddings stay 16-bit."""
    width = WEIGHT_BYTES[values["weight_precision"]]
    whole = 0
    if values["weight_precision"] in QUANTISED and values.get("vocab_size") and "hidden_size" in values:
        whole = min(formulas.embedding_parameters(values), count)
    how = "%s x %g B" % (_short(count - whole), width) + (" + %s x 2 B" % _short(whole) if whole else "")
    return (count - whole) * width + whole * 2, how


def _short(count):
    for size, letter in ((10**12, "T"), (10**9, "B"), (10**6, "M")):
        if count >= size:
            return "%.3g%s" % (count / size, letter)
    return "%d" % count


def state_width(values):
    """Bytes of optimizer state and master weights a trained parameter; the moments of fp64 training are as wide as its weights."""
    wide = values["precision"] == "fp64" and values["optimizer"] in ("adamw", "sgd_momentum")
    return MOMENTS[values["optimizer"]] * (2 if wide else 1) + (4 if values["master_weights"] else 0)


def _training_parts(values):
    group = values["tensor_parallel"] * values["pipeline_parallel"]
    data = values["gpus"] // group
    shards = values["shard_group_gpus"] if values["sharding"] == "hsdp" else data
    slice_of = values["parameters"] / group
    trained = values.get("trainable_parameters")
    trained_slice = None if trained is None else trained / group
    full = FULL.get(values["precision"])
    width = full or 2
    gradient_width = full or GRADIENT_BYTES[values["gradient_precision"]]
    optimizer_width = state_width(values)
    sharding, offload = values["sharding"], values["offload"]
    weight_shards = shards if sharding in _SHARDS_WEIGHTS else 1
    gradient_shards = shards if sharding in _SHARDS_GRADIENTS else 1
    state_shards = 1 if sharding == "none" else shards
    found = []

    unknown = ("lora_rank", *[name for name in SHAPE if name not in values]) if trained is None else ()
    if values["method"] == "full":
        weights, how = slice_of * width, "%s x %g B" % (_short(slice_of), width)
    else:
        weights, how = _weight_bytes(values, slice_of)
        weights += (trained_slice or 0) * width
        how += " + %s x %g B" % (_short(trained_slice), width) if trained else ""
    unsharded = weights
    if offload == "all":
        found.append(Part("weights", 0, ("how.in_host_memory", {})))
    else:
        found.append(Part("weights", weights / weight_shards, how + _over(weight_shards)))
    offloaded = offload != "none"
    for name, each, count in (("gradients", gradient_width, gradient_shards), ("optimizer", optimizer_width, state_shards)):
        if offloaded:
            found.append(Part(name, 0, ("how.in_host_memory", {})))
        elif trained is None:
            found.append(Part(name, None, missing=[field for field in unknown if field != "lora_rank"]))
        else:
            found.append(Part(name, trained_slice * each / count, "%s x %g B" % (_short(trained_slice), each) + _over(count)))
    found += _activation_parts(values, width)
    found += _sharding_parts(values, data, shards, slice_of, trained_slice, (width, gradient_width, unsharded / slice_of))
    found.append(
        Part(
            "input_batch",
            2 * values["micro_batch_size"] * values["input_sample_bytes"],
            "2 x %d x %d B" % (values["micro_batch_size"], values["input_sample_bytes"]),
        )
    )
    return found


def _over(count):
    return " / %d" % count if count > 1 else ""


def _activation_parts(values, width):
    batch = values["micro_batch_size"]
    if "activation_bytes_per_sample" in values:
        return [
            Part("activations", batch * values["activation_bytes_per_sample"], "%d x %d B" % (batch, values["activation_bytes_per_sample"]))
        ]
    if "activation_elements_per_sample" in values:
        elements, factor = values["activation_elements_per_sample"], values["activation_factor"]
        return [Part("activations", batch * elements * width * factor, "%d x %s x %g B x %g" % (batch, _short(elements), width, factor))]
    missing = [name for name in (*SHAPE, "sequence_length") if name not in values]
    if missing:
        return [Part("activations", None, missing=missing)]
    tensor, sequence = values["tensor_parallel"], values["sequence_length"]
    kept, live = formulas.activations(
        values,
        sequence,
        batch,
        values["activation_checkpointing"],
        values["flash_attention"],
        width,
        values.get("activation_copies"),
        tensor,
        values["sequence_parallel"],
    )
    how = "%d x %d x %d x %d x %.4g B" % (
        sequence,
        batch,
        values["hidden_size"],
        values["layers"],
        kept / (sequence * batch * values["hidden_size"] * values["layers"]),
    )
    found = [Part("activations", kept, how)]
    if live:
        found.append(Part("recomputed_layer", live, ("how.one_layer", {})))
    if values["fused_loss"] or values.get("vocab_size") == 0:
        return found
    if "vocab_size" not in values:
        return found + [Part("logits", None, missing=["vocab_size"])]
    copies = values["logits_copies"]
    size = copies * 4 * sequence * batch * values["vocab_size"] / tensor
    return found + [Part("logits", size, "%g x 4 B x %d x %d x %d" % (copies, sequence, batch, values["vocab_size"]) + _over(tensor))]


def _sharding_parts(values, data, shards, slice_of, trained_slice, widths):
    """Buffers of data parallelism: DDP's buckets are as large as its gradients; DeepSpeed has one bucket of what is trained, and live
    parameters; FSDP gathers two layers at a time. What is gathered is stored as the weights are; what a GPU holds itself isn't gathered.
    """
    if data == 1 and values["offload"] == "none":
        return []
    sharding = values["sharding"]
    width, gradient_width, stored = widths
    found = []
    if sharding == "none":
        if trained_slice is None:
            return []
        return [Part("communication_buckets", trained_slice * gradient_width, "%s x %g B (DDP)" % (_short(trained_slice), gradient_width))]
    if sharding.startswith("zero") and data > 1 and trained_slice is not None:
        elements = min(formulas.BUCKET_ELEMENTS, trained_slice)
        found.append(Part("communication_buckets", elements * width, "%s x %g B" % (_short(elements), width)))
    if sharding not in _SHARDS_WEIGHTS:
        return found
    elsewhere = slice_of if values["offload"] == "all" else slice_of * (1 - 1 / shards)
    largest = values.get("largest_layer_parameters")
    if largest:
        layers = min(2 * largest / values["tensor_parallel"], elsewhere)
        found.append(Part("gathered_layers", layers * stored, "%s x %.4g B" % (_short(layers), stored)))
    elif sharding == "zero3":
        live = min(formulas.MAX_LIVE_PARAMETERS, elsewhere)
        found.append(Part("gathered_layers", live * stored, "%s x %.4g B" % (_short(live), stored)))
    else:
        wanted = [name for name in (*SHAPE, "vocab_size") if name not in values]
        found.append(Part("gathered_layers", None, missing=wanted or ["largest_layer_parameters"]))
    return found


def _inference_parts(values):
    tensor, pipeline = values["tensor_parallel"], values["pipeline_parallel"]
    weights, how = _weight_bytes(values, values["parameters"])
    weights /= tensor * pipeline
    found = [Part("weights", weights, how + _over(tensor * pipeline))]
    sequences = math.ceil(values["sequences"] / (values["gpus"] // (tensor * pipeline)))
    samples = None
    if "activation_bytes_per_sample" in values:
        samples = values["activation_bytes_per_sample"]
    elif "activation_elements_per_sample" in values:
        samples = values["activation_elements_per_sample"] * FULL.get(values["precision"], 2)
    if samples is not None:
        return found + [Part("activations", sequences * samples, "%d x %d B" % (sequences, samples))]
    missing = [name for name in (*SHAPE, "sequence_length") if name not in values]
    if missing:
        return found + [Part("kv_cache", None, missing=missing), Part("workspace", _inference_floor(values, weights, 0))]
    width = WEIGHT_BYTES[values["kv_precision"]]
    layers = math.ceil(values["layers"] / pipeline)
    tokens = min(values["sequence_length"], values.get("sliding_window") or values["sequence_length"])
    if "kv_latent_size" in values:
        cache = layers * values["kv_latent_size"] * width * tokens * sequences
        how = "%d x %d x %g B x %d x %d" % (layers, values["kv_latent_size"], width, tokens, sequences)
    else:
        heads = math.ceil(values["kv_heads"] / tensor)
        cache = formulas.kv_cache(layers, heads, values["head_dim"], width, tokens, sequences)
        how = "2 x %d x %d x %d x %g B x %d x %d" % (layers, heads, values["head_dim"], width, tokens, sequences)
    found.append(Part("kv_cache", cache, how))
    prefill = min(values["sequence_length"], formulas.PREFILL_TOKENS) * 2 * (4 * values["hidden_size"] + 2 * values["ffn_size"]) / tensor
    logits = sequences * values.get("vocab_size", 0) * 4 / tensor
    step, floor = prefill + logits, _inference_floor(values, weights, cache)
    how = ("how.total_of_weights", {"factor": "%g" % (1 + formulas.INFERENCE_WORKSPACE)}) if floor > step else ("how.one_step", {})
    found.append(Part("workspace", max(step, floor), how))
    return found


def host_memory(values):
    """Host memory that DeepSpeed takes on each host to load or offload (zero2, zero3); None elsewhere, or where the layer isn't known."""
    if values["kind"] == "inference" or values["sharding"] not in ("zero2", "zero3"):
        return None
    largest = values.get("largest_layer_parameters")
    if values["sharding"] == "zero3" and values["offload"] == "none" and not largest:
        return None
    hosts = max(1, math.ceil(values["gpus"] / values["gpus_per_host"]))
    on_host = min(values["gpus"], values["gpus_per_host"])
    stage = 2 if values["sharding"] == "zero2" else 3
    return int(formulas.host_bytes(stage, values["offload"], values["parameters"], largest, on_host, hosts))


def checkpoint_bytes(values):
    """Size of a training checkpoint: weights and optimizer state of what is trained; None for inference or where that isn't known."""
    trained = values.get("trainable_parameters")
    if values["kind"] == "inference" or trained is None:
        return None
    return int(trained * (FULL.get(values["precision"], 2) + state_width(values)))
