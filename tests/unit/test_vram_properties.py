# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What must hold for every plan: more work never takes fewer bytes, saving never takes more; and what everybody knows of a few models."""

from __future__ import annotations

import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import plan, vram, vram_fields, vram_rules
from hypothesis import assume, given, settings
from hypothesis import strategies as st

GIB = 2**30
FORM = {"input_sample_bytes": "32 KiB", "hours_per_day": 20}
PRECISIONS = (*vram_fields.FULL, *vram_fields.HALF)
SHAPES = st.fixed_dictionaries(
    {
        "layers": st.integers(1, 100),
        "heads": st.sampled_from([1, 8, 32]),
        "hidden_size": st.sampled_from([32, 1024, 4096, 16384]),
        "mlp_matrices": st.sampled_from([2, 3]),
        "vocab_size": st.sampled_from([0, 1000, 128256]),
        "sequence_length": st.integers(1, 10**5),
    },
    optional={
        "parameters": st.integers(10**6, 10**12),
        "kv_heads": st.just(1),
        "ffn_size": st.integers(1, 10**5),
        "tied_embeddings": st.booleans(),
        "precision": st.sampled_from(PRECISIONS),
        "fragmentation_fraction": st.floats(0, 0.5),
        "framework_overhead_bytes": st.integers(0, 10**10),
    },
)
TRAINING = st.fixed_dictionaries(
    {},
    optional={
        "optimizer": st.sampled_from(list(vram_fields.MOMENTS)),
        "gradient_precision": st.sampled_from(list(vram_fields.GRADIENT_BYTES)),
        "sharding": st.sampled_from(vram_fields.SHARDINGS),
        "tensor_parallel": st.sampled_from([1, 2, 8]),
        "sequence_parallel": st.booleans(),
        "activation_checkpointing": st.sampled_from(["none", "selective", "full"]),
        "flash_attention": st.booleans(),
        "fused_loss": st.booleans(),
        "activation_copies": st.floats(1, 60),
        "method": st.sampled_from(["full", "lora", "qlora"]),
        "largest_layer_parameters": st.integers(1, 10**8),
        "offload": st.sampled_from(["none", "optimizer", "all"]),
        "data": st.sampled_from([1, 2, 8, 64]),
        "master_weights": st.booleans(),
    },
)
SERVING = st.fixed_dictionaries(
    {},
    optional={
        "tensor_parallel": st.sampled_from([1, 2, 8]),
        "weight_precision": st.sampled_from(list(vram_fields.WEIGHT_BYTES)),
        "kv_precision": st.sampled_from(["fp32", "fp16", "fp8"]),
        "sliding_window": st.integers(1, 10**4),
        "kv_latent_size": st.integers(1, 1000),
    },
)


def size(model, batch=4, kind="training"):
    """Bytes on one GPU; an example whose fields contradict each other isn't looked at."""
    model = dict(model)
    data = model.pop("data", 1)
    if kind != "inference":
        model["gpus"] = data * model.get("tensor_parallel", 1)
    try:
        fields, form = vram_rules.read(model, {**FORM, "batch_size": batch, "kind": kind})
    except vram_fields.PlanError:
        assume(False)
    found, _known, missing = vram.total(vram.parts(vram.settle(fields, form)[0]))
    assert found is not None and not missing
    return found


def grows(before, after):
    """A rounded part may take a byte more or less."""
    assert after >= before - 20, (before, after)


@given(
    SHAPES,
    st.one_of(TRAINING.map(lambda model: ("training", model)), SERVING.map(lambda model: ("inference", model))),
    st.integers(1, 64),
    st.sampled_from(["parameters", "sequence_length", "batch", "layers", "vocab_size", "ffn_size"]),
    st.integers(1, 10**6),
)
@settings(max_examples=300, deadline=None)
def test_more_work_never_takes_fewer_bytes(shape, work, batch, what, more):
    kind, model = work
    before = {**shape, **model}
    after = dict(before)
    if what == "batch":
        return grows(size(before, batch, kind), size(before, batch + more, kind))
    if what in ("layers", "vocab_size", "ffn_size"):
        more = min(more, 1000)
    if what in ("parameters", "ffn_size"):
        before.setdefault(what, 10**6 if what == "parameters" else 4 * shape["hidden_size"])
    after[what] = before[what] + more
    return grows(size(before, batch, kind), size(after, batch, kind))


@given(SHAPES, TRAINING, st.integers(1, 8))
@settings(max_examples=200, deadline=None)
def test_checkpointing_and_flash_attention_never_take_more(shape, model, batch):
    whole = {**shape, **model, "activation_checkpointing": "none", "flash_attention": False}
    kept = size(whole, batch)
    for saving in ({"activation_checkpointing": "selective"}, {"activation_checkpointing": "full"}, {"flash_attention": True}):
        grows(size({**whole, **saving}, batch), kept)


@given(SHAPES, TRAINING, st.sampled_from([1, 2, 8, 64]))
@settings(max_examples=300, deadline=None)
def test_a_higher_stage_never_takes_more(shape, model, data):
    model = {name: value for name, value in {**shape, **model}.items() if name != "offload"}
    sizes = [size({**model, "sharding": stage, "data": data}) for stage in ("none", "zero1", "zero2", "zero3")]
    for higher, lower in zip(sizes[1:], sizes):
        grows(higher, lower)
    grows(size({**model, "sharding": "fsdp", "data": data}), sizes[0])


@given(SHAPES, TRAINING, st.sampled_from(["zero1", "zero2", "zero3", "fsdp"]))
@settings(max_examples=200, deadline=None)
def test_more_gpus_never_take_more_on_each_from_two_on(shape, model, sharding):
    model = {name: value for name, value in {**shape, **model, "sharding": sharding}.items() if name != "offload"}
    sizes = [size({**model, "data": data}) for data in (2, 4, 8, 64)]
    for more, fewer in zip(sizes[1:], sizes):
        grows(more, fewer)


@given(SHAPES, st.integers(1, 100), st.integers(1, 100))
@settings(max_examples=100, deadline=None)
def test_a_higher_rank_never_takes_fewer(shape, rank, more):
    grows(size({**shape, "method": "lora", "lora_rank": rank}), size({**shape, "method": "lora", "lora_rank": rank + more}))


# --- what everybody knows -----------------------------------------------------------------------------------------------------------------

LLAMA2_7B = {
    "parameters": "6.74B",
    "layers": 32,
    "hidden_size": 4096,
    "heads": 32,
    "ffn_size": 11008,
    "mlp_matrices": 3,
    "vocab_size": 32000,
    "sequence_length": 2048,
}
LLAMA3_70B = {
    "parameters": "70.6B",
    "layers": 80,
    "hidden_size": 8192,
    "heads": 64,
    "kv_heads": 8,
    "ffn_size": 28672,
    "mlp_matrices": 3,
    "vocab_size": 128256,
    "sequence_length": 8192,
}


def made(model, kind, batch=1, **form):
    return plan.make(model, {**FORM, "kind": kind, "batch_size": batch, **form})


def needed(found):
    return {board["key"]: board["gpus_needed"] for board in found["boards"]}


def test_a_full_fine_tuning_of_7b_takes_112_gb_before_activations():
    found = made({**LLAMA2_7B, "parameters": "7B", "gradient_precision": "16bit"}, "finetuning")
    states = sum(part["bytes"] for part in found["parts"] if part["part"] in ("weights", "gradients", "optimizer"))
    assert states == 112 * 10**9
    assert needed(found)["a100-sxm4-80gb"] is None
    sharded = made({**LLAMA2_7B, "sharding": "fsdp", "activation_checkpointing": "full"}, "finetuning")
    assert 2 <= needed(sharded)["a100-sxm4-80gb"] <= 4


def test_qlora_of_7b_runs_on_one_board_of_24_gb():
    found = made({**LLAMA2_7B, "method": "qlora", "activation_checkpointing": "full"}, "finetuning")
    assert "GeForce RTX 4090" in found["fit"] and 5 * GIB < found["bytes_per_gpu"] < 12 * GIB
    # Without checkpointing 2048 tokens take most of it and 0.80 is passed: what to do stands in the first lines.
    plain = made({**LLAMA2_7B, "method": "qlora", "sequence_length": 4096}, "finetuning")
    assert "GeForce RTX 4090" not in plain["fit"] and "activation_checkpointing: full" in plain["hints"][1]


def test_llama_3_70b_in_16_bit_fills_two_boards_of_80_gb():
    served = made({**LLAMA3_70B, "tensor_parallel": 2}, "inference")
    # 2 x 80 GB hold it, close to full: above the 0.80 at which an audit warns.
    assert 66 * GIB < served["bytes_per_gpu"] < 80 * GIB
    assert needed(served)["a100-sxm4-80gb"] == 4 and needed(served)["h200-sxm-141gb"] == 2
    full = made({**LLAMA3_70B, "tensor_parallel": 2, "target_fraction": 1}, "inference")
    assert needed(full)["a100-sxm4-80gb"] == 2
    assert needed(made({**LLAMA3_70B, "weight_precision": "int4"}, "inference"))["a100-sxm4-80gb"] == 1


@pytest.mark.parametrize(("parameters", "largest"), [("7B", 24), ("13B", 40)])
def test_16_bit_weights_of_common_models_are_served_on_one_board(parameters, largest):
    model = {**LLAMA2_7B, "parameters": parameters}
    assert made(model, "inference")["bytes_per_gpu"] < 0.8 * largest * GIB
