# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Fields of a plan that are right by themselves and contradict each other, or that would change nothing where they stand.

A field that is given and silently ignored would be a wrong estimate that looks right: it is refused.
"""

from __future__ import annotations

from . import vram_fields
from .vram_fields import FULL, KINDS, MODEL_SPEC, QUANTISED, SHAPE, PlanError

# Fields that only training reads; None: any value, else the value that asks for nothing.
_TRAINING = {
    "optimizer": None,
    "gradient_precision": None,
    "shard_group_gpus": None,
    "lora_rank": None,
    "trainable_parameters": None,
    "activation_copies": None,
    "micro_batch_size": None,
    "master_weights": False,
    "sharding": "none",
    "offload": "none",
    "activation_checkpointing": "none",
    "fused_loss": False,
    "sequence_parallel": False,
}


def read(model, form=None):
    """(fields of the model, normalised form) of what somebody wrote. PlanError with everything that is wrong: words, shapes,
    contradictions between fields that are right by themselves.
    """
    fields, normalised, problems, wrong = vram_fields.examine(model, form)
    problems += contradictions(fields, normalised, wrong)
    if problems:
        raise PlanError(problems)
    return fields, normalised


def contradictions(fields, form, wrong=()):
    """[sentence] of what contradicts itself among fields as vram_fields.examine gives them; what hangs on a wrong field isn't judged."""
    look = _Look(fields, form, wrong)
    return [sentence for rule in RULES for sentence in rule(look)]


class _Look:
    """The fields of one plan as the rules see them. `sound(names)`: none of them is wrong."""

    def __init__(self, fields, form, wrong):
        self.fields, self.form, self.given = fields, form, {**form, **fields}
        self.wrong = frozenset(wrong)
        self.kind = form.get("kind") or ("finetuning" if fields.get("method", "full") != "full" else "training")

    def sound(self, *names):
        return not self.wrong.intersection(names)

    def has(self, *names):
        return all(name in self.given for name in names)

    def get(self, name):
        """What was given, else the field's own default."""
        return self.given.get(name, MODEL_SPEC[name]["default"] if name in MODEL_SPEC else None)

    @property
    def trains(self):
        return self.sound("kind", "method") and self.kind in KINDS and self.kind != "inference"

    @property
    def serves(self):
        return self.sound("kind") and self.kind == "inference"

    @property
    def group(self):
        """GPUs that share one copy of the model; None where that isn't known."""
        if not self.sound("tensor_parallel", "pipeline_parallel") or self.serves and not self.has("tensor_parallel"):
            return None
        return (self.get("tensor_parallel") or 1) * self.get("pipeline_parallel")


def _kind(look):
    if look.sound("kind") and look.kind not in KINDS:
        yield "there is no formula for the VRAM of %s: run the job once under workload_probe" % look.kind


def _more_than_nothing(look):
    for name in ("batch_size", "input_sample_bytes", "hours_per_day"):
        if look.given.get(name) == 0:
            yield "%s must be more than 0" % name


def _countable(look):
    names = (*SHAPE, "vocab_size")
    if look.sound("parameters", *names) and not look.has("parameters") and not look.has(*names):
        yield 'give parameters (such as "8B"), or hidden_size, layers, heads and vocab_size to count them from'


def _shape(look):
    given = look.given
    if look.sound("head_dim") and look.has("hidden_size", "heads") and not look.has("head_dim") and given["hidden_size"] % given["heads"]:
        yield "hidden_size %(hidden_size)d is no multiple of heads %(heads)d: correct one, or give head_dim" % given
    if look.has("heads", "kv_heads") and given["heads"] % given["kv_heads"]:
        yield "heads %(heads)d is no multiple of kv_heads %(kv_heads)d" % given
    if look.has("heads", "tensor_parallel") and given["heads"] % given["tensor_parallel"]:
        yield "heads %(heads)d can't be shared out over tensor_parallel %(tensor_parallel)d" % given
    if look.has("layers", "pipeline_parallel") and given["pipeline_parallel"] > given["layers"]:
        yield "pipeline_parallel %(pipeline_parallel)d is more than the layers %(layers)d" % given
    for name in ("trainable_parameters", "largest_layer_parameters"):
        if look.has("parameters", name) and given[name] > given["parameters"]:
            yield "%s %d is more than parameters %d" % (name, given[name], given["parameters"])
    if look.has("micro_batch_size", "batch_size") and given["micro_batch_size"] > given["batch_size"] > 0:
        yield "micro_batch_size %(micro_batch_size)d is more than batch_size %(batch_size)d" % given


def _gpus(look):
    group, gpus = look.group, look.given.get("gpus")
    if look.serves and group is None and look.sound("tensor_parallel", "pipeline_parallel"):
        group = look.get("pipeline_parallel")
    if group is None or gpus is None:
        return
    if gpus % group:
        yield "gpus %d is no multiple of tensor_parallel x pipeline_parallel = %d" % (gpus, group)
    elif look.trains and look.given.get("sharding") == "hsdp" and look.sound("shard_group_gpus", "gpus_per_host"):
        data = gpus // group
        shards = look.given.get("shard_group_gpus") or min(look.get("gpus_per_host"), data)
        if data % shards:
            yield "the %d data-parallel GPUs are no multiple of shard_group_gpus %d" % (data, shards)


def _sharding(look):
    if look.serves or not look.sound("sharding", "offload"):
        return
    sharding, offload = look.get("sharding"), look.get("offload")
    if offload != "none" and sharding not in ("zero2", "zero3"):
        yield "offload needs sharding zero2 or zero3, not %s" % sharding
    if offload == "all" and sharding == "zero2":
        yield "offload all needs sharding zero3: zero2 keeps all parameters on each GPU"
    if sharding in ("zero2", "zero3") and look.given.get("pipeline_parallel", 1) > 1:
        yield "sharding %s doesn't go with pipeline_parallel in DeepSpeed: use zero1, or pipeline_parallel 1" % sharding
    if look.has("shard_group_gpus") and sharding != "hsdp":
        yield "shard_group_gpus is of sharding hsdp, not %s" % sharding
    if look.given.get("sequence_parallel") and look.sound("tensor_parallel") and look.given.get("tensor_parallel", 1) == 1:
        yield "sequence_parallel works within tensor_parallel: give tensor_parallel 2 or more"


def _method(look):
    method = look.given.get("method", "full")
    if not look.trains:
        return
    stored = look.given.get("weight_precision")
    if method == "full":
        if stored in QUANTISED:
            yield "weight_precision %s can't be trained: use method qlora" % stored
        elif stored and look.sound("precision") and stored != (look.get("precision") or "bf16"):
            yield "weight_precision %s is of weights that aren't trained: with method full leave it out" % stored
        if look.has("lora_rank"):
            yield "lora_rank is of method lora or qlora, not full"
    elif look.has("lora_rank", "trainable_parameters"):
        yield "lora_rank and trainable_parameters both say what is trained: give one"
    if method == "qlora" and stored and stored not in QUANTISED:
        yield "method qlora trains on 4-bit or 8-bit weights, not on weight_precision %s: use method lora" % stored


def _precision(look):
    if not look.sound("precision", "kind"):
        return
    model, form = look.fields.get("precision"), look.form.get("precision")
    computed = form in MODEL_SPEC["precision"]["choices"]
    if computed and model and model != form:
        yield "precision is %s in the model and %s in the form: give one" % (model, form)
    if look.trains and form and not model and not computed and look.given.get("method", "full") == "full":
        yield "nothing is trained in %s: use precision bf16, fp16 or fp32, or method qlora" % form
    used = model or form
    if look.trains and used in FULL:
        if look.given.get("master_weights"):
            yield "master_weights are the fp32 copy of 16-bit weights: precision %s has none" % used
        if look.has("gradient_precision"):
            yield "gradient_precision is of 16-bit training: with precision %s leave it out" % used


def _activations(look):
    measured = [name for name in ("activation_bytes_per_sample", "activation_elements_per_sample") if look.has(name)]
    if len(measured) == 2:
        yield "activation_bytes_per_sample and activation_elements_per_sample say the same: give one"
    if measured and look.get("activation_checkpointing") != "none" and not look.serves:
        yield "activation_checkpointing changes nothing beside %s: give what was measured with it, and leave it out" % measured[0]
    if measured and look.has("activation_copies"):
        yield "activation_copies and %s both size the activations: give one" % measured[0]
    if look.has("activation_factor") and look.sound("activation_elements_per_sample") and not look.has("activation_elements_per_sample"):
        yield "activation_factor is of activation_elements_per_sample: give that too, or leave it out"
    if look.has("logits_copies") and look.given.get("fused_loss"):
        yield "logits_copies and fused_loss contradict each other: a fused loss keeps no logits"


def _of_the_other_kind(look):
    if look.trains and look.has("kv_precision"):
        yield "kv_precision is of inference: training keeps no KV cache"
    if not look.serves:
        return
    if look.given.get("method", "full") != "full":
        yield "method %s is a way to train: for inference give weight_precision" % look.given["method"]
    for name, nothing in _TRAINING.items():
        if look.has(name) and look.given[name] != nothing:
            yield "%s is of training: for inference leave it out" % name


RULES = (_kind, _more_than_nothing, _countable, _shape, _gpus, _sharding, _method, _precision, _activations, _of_the_other_kind)
