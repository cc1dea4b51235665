# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a plan refuses: everything at once, with the field, what it takes and the word that was meant, in both languages."""

from __future__ import annotations

import math
import re

import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import plan, vram_fields, vram_rules, workload
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.words import shown
from hypothesis import given, settings
from hypothesis import strategies as st
from vram_samples import FORM, LLAMA

NAMES = [*vram_fields.MODEL_SPEC, *workload.ARGUMENT_SPEC]


def problems(model, form=None):
    try:
        vram_rules.read(model, FORM if form is None else form)
    except vram_fields.PlanError as error:
        return error.problems
    return []


def refused(**change):
    return problems({**LLAMA, **FORM, **change}, {})


# --- contradictions -----------------------------------------------------------------------------------------------------------------------

CONTRADICTIONS = [
    ({"kind": "rendering"}, "there is no formula for the VRAM of rendering"),
    ({"hours_per_day": 0}, "hours_per_day must be more than 0"),
    ({"parameters": None, "vocab_size": None}, "give parameters"),
    ({"heads": 31}, "hidden_size 4096 is no multiple of heads 31"),
    ({"largest_layer_parameters": "9B"}, "largest_layer_parameters 9000000000 is more than parameters"),
    ({"gpus": 6, "tensor_parallel": 4}, "gpus 6 is no multiple"),
    ({"gpus": 3, "pipeline_parallel": 2, "kind": "inference"}, "gpus 3 is no multiple"),
    ({"sharding": "hsdp", "gpus": 12}, "the 12 data-parallel GPUs are no multiple of shard_group_gpus 8"),
    ({"sharding": "zero2", "gpus": 4, "pipeline_parallel": 2}, "sharding zero2 doesn't go with pipeline_parallel"),
    ({"sharding": "fsdp", "shard_group_gpus": 4}, "shard_group_gpus is of sharding hsdp, not fsdp"),
    ({"sequence_parallel": True}, "sequence_parallel works within tensor_parallel"),
    ({"lora_rank": 8}, "lora_rank is of method lora or qlora, not full"),
    ({"method": "lora", "lora_rank": 8, "trainable_parameters": "40M"}, "both say what is trained"),
    ({"method": "qlora", "weight_precision": "bf16"}, "method qlora trains on 4-bit or 8-bit weights, not on weight_precision bf16"),
    ({"weight_precision": "nf4"}, "weight_precision nf4 can't be trained"),
    ({"weight_precision": "fp32"}, "weight_precision fp32 is of weights that aren't trained"),
    ({"precision": "fp32", "master_weights": True}, "precision fp32 has none"),
    ({"precision": "fp32", "gradient_precision": "fp32"}, "gradient_precision is of 16-bit training"),
    ({"activation_bytes_per_sample": 1, "activation_elements_per_sample": 1}, "say the same: give one"),
    ({"activation_bytes_per_sample": 1, "activation_checkpointing": "full"}, "activation_checkpointing changes nothing beside"),
    ({"activation_bytes_per_sample": 1, "activation_copies": 28}, "both size the activations"),
    ({"activation_factor": 2}, "activation_factor is of activation_elements_per_sample"),
    ({"fused_loss": True, "logits_copies": 2}, "a fused loss keeps no logits"),
    ({"kv_precision": "fp8"}, "kv_precision is of inference"),
    ({"kind": "inference", "method": "lora"}, "method lora is a way to train"),
    ({"kind": "inference", "activation_checkpointing": "full"}, "activation_checkpointing is of training"),
    ({"kind": "inference", "optimizer": "adamw"}, "optimizer is of training"),
    ({"kind": "inference", "sharding": "zero3"}, "sharding is of training"),
]


@pytest.mark.parametrize(("change", "words"), CONTRADICTIONS)
def test_a_contradiction_is_named_also_beside_other_mistakes(change, words):
    alone = refused(**change)
    assert any(words in sentence for sentence in alone)
    assert refused(**change, colour="red", target_fraction=7) == [
        "colour is no field of a model",
        "target_fraction must be a number from 0.01 to 1, not 7",
        *alone,
    ]


@pytest.mark.parametrize(("change", "words"), CONTRADICTIONS)
def test_it_is_told_without_the_base_figures_too(change, words):
    if "hours_per_day" not in change:
        told = problems({**LLAMA, "kind": "training", **change}, {})
        assert any(words in sentence for sentence in told)


def test_what_hangs_on_a_wrong_field_is_no_contradiction():
    assert refused(heads="x") == ["heads must be a whole number from 1 to 100000, not 'x'"]
    assert refused(sharding="zero9", offload="optimizer", shard_group_gpus=8)[1:] == []
    assert refused(method="qlorra", lora_rank=8)[1:] == [] and refused(kind="infer", kv_precision="fp8")[1:] == []
    assert refused(parameters="many", trainable_parameters="9B")[1:] == []
    assert refused(precision="bf17", gradient_precision="fp32", weight_precision="fp32")[1:] == []


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "inference", "activation_checkpointing": "none", "flash_attention": True, "sharding": "none", "method": "full"},
        {"sliding_window": 4096, "kv_latent_size": 576},
        {"method": "qlora", "sharding": "zero3", "gpus": 8},
        {"method": "lora", "weight_precision": "int8"},
        {"weight_precision": "bf16"},
        {"precision": "bf16", "gradient_precision": "both"},
        {"method": "qlora", "precision": "fp32"},
    ],
)
def test_what_asks_for_nothing_else_is_no_contradiction(change):
    assert refused(**change) == []


def test_the_form_and_the_model_give_one_precision():
    assert problems({**LLAMA, "precision": "fp16"}, {**FORM, "precision": "bf16"}) == [
        "precision is fp16 in the model and bf16 in the form: give one"
    ]
    assert problems({**LLAMA, "precision": "fp16"}, {**FORM, "precision": "fp16"}) == []
    assert problems({**LLAMA, "precision": "fp16", "method": "qlora"}, {**FORM, "precision": "int4"}) == []


# --- the word that was meant --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "written", "meant"),
    [
        ("optimizer", "adam_w", "adamw"),
        ("optimizer", "adam", "adamw"),
        ("optimizer", "AdamW8bit", "adamw_8bit"),
        ("precision", "float16", "fp16"),
        ("precision", "BF16", "bf16"),
        ("precision", "torch.bfloat16", "bf16"),
        ("weight_precision", "fp 8", "fp8"),
        ("sharding", "ZeRO-3", "zero3"),
        ("sharding", 3, "zero3"),
        ("sharding", "stage 2", "zero2"),
        ("sharding", "full_shard", "fsdp"),
        ("method", "QLoRA", "qlora"),
        ("activation_checkpointing", True, "full"),
        ("activation_checkpointing", False, "none"),
        ("kind", "trainig", "training"),
        ("kind", "Inference", "inference"),
        ("mode", "onlin", "online"),
        ("kv_precision", "half", "fp16"),
    ],
)
def test_the_nearest_word_and_the_whole_list(field, written, meant):
    (sentence,) = [found for found in refused(**{field: written}) if " must be one of " in found]
    assert sentence.endswith('(did you mean "%s"?)' % meant), sentence
    choices = (vram_fields.MODEL_SPEC.get(field) or workload.ARGUMENT_SPEC[field])["choices"]
    assert ", ".join(choices) in sentence


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("sequence_lenght", "sequence_length"),
        ("seq_len", "sequence_length"),
        ("zero_stage", "sharding"),
        ("gradient_checkpointing", "activation_checkpointing"),
        ("torch_dtype", "precision"),
        ("num_layers", "layers"),
        ("TP", "tensor_parallel"),
        ("batchsize", "batch_size"),
        ("max_position_embeddings", "sequence_length"),
    ],
)
def test_the_nearest_field(written, meant):
    assert refused(**{written: 1})[0] == '%s is no field of a model (did you mean "%s"?)' % (written, meant)


@pytest.mark.parametrize(
    ("written", "meant"),
    [("RTX 4O90", "RTX 4090"), ("rtx 409o", "rtx-4090"), ("H1000", "H100"), (["H100", "A100-SXM4-80G"], "A100-SXM4-80GB")],
)
def test_the_nearest_board(written, meant):
    (sentence,) = refused(boards=written)
    assert sentence.startswith("boards: ") and sentence.endswith('is no board of the catalogue (did you mean "%s"?)' % meant)
    assert plan.complaint(vram_fields.PlanError([sentence]), "zh").endswith("不是目录中的板卡（是否想写\u201c%s\u201d？）" % meant)


@pytest.mark.parametrize("written", [3, [], {}, [3], "x" * 300, True, [""]])
def test_boards_are_names(written):
    assert len(refused(boards=written)) == 1 and "boards" in refused(boards=written)[0]


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("rtx 4090", {"GeForce RTX 4090", "GeForce RTX 4090 D"}),
        ("NVIDIA A100-SXM4-80GB", {"A100-SXM4-80GB"}),
        ("gb300-278gb", {"GB300"}),
        (["L4", "T4"], {"L4", "Tesla T4"}),
    ],
)
def test_only_the_boards_that_were_asked_for(written, names):
    found = plan.make({**LLAMA, "boards": written}, FORM)
    assert {board["name"] for board in found["boards"]} == names
    assert {board["name"] for board in plan.make({**LLAMA, "boards": "H100"}, FORM)["boards"]} == {
        "H100 PCIe (80 GB)", "H100 80GB HBM3 (SXM5)", "H100 NVL (94 GB)", "H100 (SXM5, 94 GB)"}


# --- figures ------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("7B", 7 * 10**9),
        ("70b", 70 * 10**9),
        ("1.5T", 15 * 10**11),
        ("8.03B", 8030000000),
        ("7 B", 7 * 10**9),
        ("7e9", 7 * 10**9),
        ("7E9", 7 * 10**9),
        ("7,000,000,000", 7 * 10**9),
        ("1_000", 1000),
        (7e9, 7 * 10**9),
        (" 350M ", 350 * 10**6),
        ("0.5B", 5 * 10**8),
        (1000, 1000),
    ],
)
def test_parameters_as_people_write_them(written, read):
    assert vram_rules.read({"parameters": written})[0]["parameters"] == read


@pytest.mark.parametrize(
    "written",
    [
        "7,5B",
        "7.000.000.000",
        "7e9B",
        "1,00",
        "1_0_0",
        "7 billion",
        "-7B",
        -7,
        math.nan,
        math.inf,
        "nan",
        "inf",
        "1e400",
        "1e99",
        True,
        10**5000,
        -(10**5000),
        7,
        1000.5,
        "0x1000",
        "७000",
        [7e9],
        {"a": 1},
        "B",
        "",
    ],
    ids=shown,
)
def test_what_may_mean_something_else_is_refused(written):
    sentences = problems({**LLAMA, "parameters": written}) if written != "" else problems({"parameters": ""})
    assert len(sentences) == 1 and "parameters" in sentences[0] and "8B" in sentences[0]


@pytest.mark.parametrize("field", [name for name, row in vram_fields.MODEL_SPEC.items() if row["type"] == "whole"])
@pytest.mark.parametrize("written", ["2k", "2K", "4 k", "0.5M", "2Ki", "1.5", 2.5, 4096.001, "-1", True, 10**5000, math.nan], ids=shown)
def test_tokens_and_sizes_of_matrices_are_written_out(field, written):
    sentences = [sentence for sentence in refused(**{field: written}) if sentence.startswith(field)]
    assert len(sentences) == 1 and "%s must be a whole number" % field in sentences[0]
    assert ("written out without k, M or B" in sentences[0]) is (written in ("2k", "2K", "4 k", "0.5M"))


@pytest.mark.parametrize("written", [4096, 4096.0, "4096", "4,096", "4_096", " 4096 ", "4096.0", "4.096e3"])
def test_a_whole_number_however_it_is_written(written):
    assert vram_rules.read({**LLAMA, "sequence_length": written})[0]["sequence_length"] == 4096


@pytest.mark.parametrize(
    ("written", "read"), [(True, True), ("true", True), ("No", False), (False, False), (1, None), ("on", None), ("2", None)]
)
def test_true_and_false(written, read):
    told = problems({**LLAMA, "flash_attention": written})
    assert told == [] if read is not None else "flash_attention must be true or false" in told[0]
    if read is not None:
        assert vram_rules.read({**LLAMA, "flash_attention": written})[0]["flash_attention"] is read


@pytest.mark.parametrize(("written", "read"), [(0.5, 1), (1536.5, 1536), ("1 KiB", 1024), ("1 KB", 1000), (0, 0)])
def test_a_size_above_nothing_stays_above_nothing(written, read):
    assert workload.parse_size(written) == read


# --- whatever is given --------------------------------------------------------------------------------------------------------------------

HUGE = st.sampled_from([1, -1]).map(lambda sign: sign * 10**5000)
HOSTILE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 70),
    st.integers(),
    st.sampled_from([10**400, -(10**400), 2**63, 4096, 10**9]),
    HUGE,
    st.floats(),
    st.text(max_size=12),
    st.binary(max_size=4),
    st.sampled_from(["8B", "2k", "1e400", "nan", "-1", "; ", "x: y", "{0} {x}", "\n", "%s", "fp16", "lora"]),
    st.lists(st.integers(0, 9), max_size=2),
    st.dictionaries(st.one_of(st.text(max_size=3), st.integers()), st.none(), max_size=2),
    st.just(object()),
)
# Right words beside the wrong ones, so that whole plans come of it too.
VALUES = {
    name: st.one_of(*[st.sampled_from(row["choices"])] * 3, HOSTILE) if row["choices"] else st.one_of(st.integers(1, 64), HOSTILE)
    for name, row in {**workload.ARGUMENT_SPEC, **vram_fields.MODEL_SPEC}.items()
}
STRANGE = st.dictionaries(
    st.one_of(st.text(max_size=8), st.integers(), st.none(), st.booleans(), HUGE, st.tuples(st.integers())), HOSTILE, max_size=2
)


@given(
    st.fixed_dictionaries({}, optional={name: VALUES[name] for name in vram_fields.MODEL_SPEC}),
    st.fixed_dictionaries({}, optional={name: VALUES[name] for name in workload.ARGUMENT_SPEC}),
    STRANGE,
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_any_mapping_gives_a_plan_or_sentences_that_name_a_field(model, form, strange, complete):
    model = {**(LLAMA if complete else {}), **model, **strange}
    try:
        found = plan.make(model, {**(FORM if complete else {}), **form})
    except vram_fields.PlanError as error:
        for sentence in error.problems:
            assert "\n" not in sentence and len(sentence) < 600
            known = (
                any(re.search(r"\b%s\b" % name, sentence) for name in NAMES)
                or "no formula for the VRAM" in sentence
                or "data-parallel" in sentence
            )
            assert known or " is no field of " in sentence, sentence
        assert "；".join(["x"] * len(error.problems)).count("；") == plan.complaint(error, "zh").count("；") or "；" in str(model) + str(
            form
        )
        return
    assert plan.lines(found) and plan.markdown(found, "zh")


@pytest.mark.parametrize("model", [None, [], "8B", 8, {}, {"parameters": {}}])
@pytest.mark.parametrize("form", [None, [], "x", 3, {}, FORM])
def test_wrong_kinds_of_maps(model, form):
    try:
        plan.make(model, form)
    except vram_fields.PlanError as error:
        assert error.problems and str(error) == "; ".join(error.problems)


# --- in Chinese ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [change for change, _words in CONTRADICTIONS]
    + [{name: value} for name in vram_fields.MODEL_SPEC for value in ("~", -1, "2k")]
    + [{"colour": 1}, {"sequence_lenght": 1}, {"num_hidden_layers": 3}, {"optimizer": "adam_w", "kind": "trainig", "heads": "x"}],
)
def test_every_mistake_in_chinese(change):
    told = refused(**change)
    for sentence in told:
        said = plan.complaint(vram_fields.PlanError([sentence]), "zh")
        assert re.search("[\u4e00-\u9fff]", said) and not re.search(
            "must be|is no |did you mean|give one|, not | is of |written out", said
        ), said
    assert told or change in ({"tied_embeddings": "~"},) or list(change.values())[0] in ("2k", -1), change


def test_as_many_mistakes_as_there_are_fields_in_chinese():
    with pytest.raises(vram_fields.PlanError) as caught:
        plan.make({name: [] for name in NAMES if name != "model"}, {})
    assert len(caught.value.problems) > 60
    assert (
        not re.search("must be", plan.complaint(caught.value, "zh"))
        and plan.complaint(caught.value, "zh").count("；") == len(caught.value.problems) - 1
    )
