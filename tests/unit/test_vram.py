# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""VRAM plans: what is refused, what stays unknown, which boards hold a job, what changes the figures and what doesn't."""

from __future__ import annotations

import math

import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import plan, vram, vram_boards
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import vram_fields, vram_rules
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.metrics.catalogue import boards
from vram_samples import FORM, LLAMA


def made(form=None, language="en", **model):
    return plan.make({**LLAMA, **model}, FORM if form is None else form, language)


def part(found, name):
    return {entry["part"]: entry["bytes"] for entry in found["parts"]}.get(name)


def size(form=None, **model):
    return made(form, **model)["bytes_per_gpu"]


# --- the base figures ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("left", ["input_sample_bytes", "batch_size", "hours_per_day"])
@pytest.mark.parametrize("language", ("en", "zh"))
def test_without_a_base_figure_nothing_is_sized(left, language):
    found = made({name: value for name, value in FORM.items() if name != left}, language)
    assert found["missing_form"] == [left] and left in found["headline"]
    assert found["sized"] is False and found["bytes_per_gpu"] is None and found["at_least_bytes"] is None
    assert found["parts"] == found["boards"] == found["fit"] == found["savings"] == [] and found["needs"] == {}
    assert plan.lines(found, language) == [found["headline"]] and found["hints"] == []


def test_base_figures_may_stand_in_the_model():
    assert plan.make({**LLAMA, **FORM})["bytes_per_gpu"] == size()


# --- what is refused ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parameters": -1}, "parameters must be a whole number of at least 1000"),
        ({"parameters": 8}, 'such as 8e9 or "8B"'),
        ({"parameters": "many"}, "parameters must be"),
        ({"parameters": math.nan}, "parameters must be"),
        ({"parameters": math.inf}, "parameters must be"),
        ({"parameters": True}, "parameters must be"),
        ({"parameters": [1]}, "parameters must be"),
        ({"parametres": "8B"}, 'parametres is no field of a model (did you mean "parameters"?)'),
        ({"precision": "bf17"}, "precision must be one of"),
        ({"optimizer": "adam"}, "optimizer must be one of adamw"),
        ({"flash_attention": "sometimes"}, "flash_attention must be true or false"),
        ({"layers": 0}, "layers must be a whole number from 1"),
        ({"layers": 1.5}, "layers must be"),
        ({"heads": 31}, "hidden_size 4096 is no multiple of heads 31"),
        ({"kv_heads": 5}, "heads 32 is no multiple of kv_heads 5"),
        ({"gpus": 6, "tensor_parallel": 4}, "gpus 6 is no multiple of tensor_parallel x pipeline_parallel = 4"),
        ({"gpus": 3, "tensor_parallel": 3}, "heads 32 can't be shared out over tensor_parallel 3"),
        ({"pipeline_parallel": 64}, "pipeline_parallel 64 is more than the layers 32"),
        ({"micro_batch_size": 2}, "micro_batch_size 2 is more than batch_size 1"),
        ({"trainable_parameters": "9B"}, "trainable_parameters 9000000000 is more than parameters"),
        ({"offload": "optimizer"}, "offload needs sharding zero2 or zero3, not none"),
        ({"offload": "all", "sharding": "zero2"}, "offload all needs sharding zero3"),
        ({"sharding": "hsdp", "gpus": 12, "shard_group_gpus": 8}, "no multiple of shard_group_gpus 8"),
        ({"target_fraction": 1.2}, "target_fraction must be a number from 0.01 to 1"),
        ({"kind": "rendering"}, "there is no formula for the VRAM of rendering"),
        ({"kind": "inference", "method": "lora"}, "method lora is a way to train"),
        ({"batch_size": 0}, "batch_size must be more than 0"),
        ({"batch_size": -4}, "gpu_audit_workload.batch_size must be"),
        ({"hours_per_day": 0}, "hours_per_day must be more than 0"),
        ({"hours_per_day": 25}, "at most 24 hours"),
        ({"weight_precision": "int4"}, "weight_precision int4 can't be trained"),
        ({"weight_precision": "int4", "method": "full", "kind": "finetuning"}, "use method qlora"),
    ],
)
def test_impossible_input_is_refused_in_words(change, words):
    with pytest.raises(vram_fields.PlanError) as caught:
        plan.make({**LLAMA, **FORM, **change})
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_every_problem_is_named_at_once():
    with pytest.raises(vram_fields.PlanError) as caught:
        made(precision="x", heads=0, colour="red")
    assert all(word in str(caught.value) for word in ("precision", "heads", "colour"))


@pytest.mark.parametrize("model", [None, [], "8B", 8])
def test_a_model_is_a_map(model):
    with pytest.raises(vram_fields.PlanError, match="must be a map"):
        plan.make(model, FORM)


def test_nothing_to_count_from():
    with pytest.raises(vram_fields.PlanError, match="give parameters"):
        plan.make({"layers": 32}, FORM)


def test_an_int4_form_can_only_be_served_or_adapted():
    with pytest.raises(vram_fields.PlanError, match="nothing is trained in int4"):
        made({**FORM, "precision": "int4"})
    served = made({**FORM, "kind": "inference", "precision": "int4"})
    assert part(served, "weights") == pytest.approx(8.03e9 * 0.5 + 2 * 128256 * 4096 * 1.5, rel=1e-3)


# --- what stays unknown -------------------------------------------------------------------------------------------------------------------


def test_without_a_shape_there_is_a_lower_bound_and_no_size():
    found = plan.make({"parameters": "8B"}, FORM)
    assert found["sized"] is False and found["bytes_per_gpu"] is None and found["fit"] == []
    assert found["missing"] == ["heads", "hidden_size", "layers", "sequence_length"]
    assert found["at_least_bytes"] > 8e9 * 18
    by_name = {board["name"]: board for board in found["boards"]}
    # 144 GB can't be below 80 % of 80 GiB; whether it is on a GB300 isn't known.
    assert by_name["A100-SXM4-80GB"]["fits"] is False and by_name["GB300"]["fits"] is None
    assert {board["gpus_needed"] for board in found["boards"]} == {None}
    assert "unknown" in "\n".join(plan.lines(found))


def test_a_vocabulary_that_is_not_given_is_not_none():
    model = {name: value for name, value in LLAMA.items() if name != "vocab_size"}
    assert plan.make(model, FORM)["missing"] == ["vocab_size"]
    assert plan.make({**model, "vocab_size": 0}, FORM)["sized"] is True
    assert plan.make({**model, "fused_loss": True}, FORM)["sized"] is True


def test_lora_without_a_shape_or_a_count_is_unknown():
    assert part(plan.make({"parameters": "8B", "method": "lora"}, FORM), "gradients") is None
    assert part(plan.make({"parameters": "8B", "method": "lora", "trainable_parameters": "40M"}, FORM), "gradients") == 40 * 10**6 * 4


def test_a_board_of_unknown_memory_is_unknown():
    (board,) = [entry for entry in made(gpus=1)["boards"] if entry["key"] == "rtx-5090-d-v2"]
    assert board["fits"] is None and board["gpus_needed"] is None and board["reason"] == "memory_unknown"


# --- boards -------------------------------------------------------------------------------------------------------------------------------


def test_every_board_is_judged_by_080_of_its_memory():
    found = made(sharding="fsdp", gpus=8, activation_checkpointing="full")
    assert len(found["boards"]) == len(boards()) and found["target_fraction"] == 0.8
    for board in found["boards"]:
        if board["used_fraction"] is not None:
            assert board["fits"] is (found["bytes_per_gpu"] < 0.8 * board["memory_bytes"])
            if board["fits"]:
                assert board["gpus_needed"] <= 8


def test_exactly_080_is_reached_and_not_below():
    board = {"key": "x", "names": ["X"], "class": "datacenter", "memory_mib": 1000, "compute_capability": "9.0"}
    model = {"parameters": 10**6, "activation_bytes_per_sample": 0, "framework_overhead_bytes": 800 * 2**20 - 18 * 10**6 - 65536}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vram_boards, "boards", lambda: (board,))
        at = plan.make({**model, "fragmentation_fraction": 0}, FORM)
        below = plan.make({**model, "fragmentation_fraction": 0, "framework_overhead_bytes": model["framework_overhead_bytes"] - 1}, FORM)
    assert at["bytes_per_gpu"] == 800 * 2**20 and at["fit"] == [] and below["fit"] == ["X"]


def test_the_number_needed_is_the_fewest():
    found = made(sharding="fsdp", activation_checkpointing="full")
    for board in found["boards"]:
        needed = board["gpus_needed"]
        if needed:
            assert (
                size(sharding="fsdp", activation_checkpointing="full", gpus=needed)
                == board["gpus_needed_bytes"]
                < 0.8 * board["memory_bytes"]
            )
            if needed > 1:
                assert size(sharding="fsdp", activation_checkpointing="full", gpus=needed // 2) >= 0.8 * board["memory_bytes"]


def test_unsharded_training_is_not_helped_by_more_gpus():
    found = made(gpus=8)
    small = [
        board for board in found["boards"] if board["memory_bytes"] and board["memory_bytes"] < 100 * 2**30 and board["reason"] != "format"
    ]
    assert {board["gpus_needed"] for board in small} == {None} and {board["reason"] for board in small} == {"no_number"}
    assert any("more GPUs don't help" in note for note in found["notes"])


@pytest.mark.parametrize("sharding", ["zero1", "zero2", "zero3", "fsdp"])
def test_more_gpus_never_take_more_on_each(sharding):
    on_each = [size(sharding=sharding, gpus=gpus) for gpus in (2, 4, 8, 64, 512)]
    assert on_each == sorted(on_each, reverse=True) and len(set(on_each)) == 5


def test_a_hybrid_group_stays_as_large_as_it_was_asked_for():
    grown = vram_boards.ways(vram.settle(*vram_rules.read({**LLAMA, "sharding": "hsdp", "gpus": 16, "shard_group_gpus": 4}, FORM))[0])
    assert [(way["gpus"], way["shard_group_gpus"]) for way in grown][:5] == [(1, 1), (2, 2), (4, 4), (8, 4), (16, 4)]


def test_what_fits_as_asked_needs_no_more_than_was_asked():
    """Four copies of a served model share out the requests: one copy of all of them would take more GPUs."""
    found = made({**FORM, "kind": "inference", "concurrency": 256}, gpus=8, tensor_parallel=2)
    assert found["fit"] and all(board["gpus_needed"] <= 8 for board in found["boards"] if board["fits"])


def test_a_larger_board_never_holds_less():
    for found in (made(sharding="fsdp", gpus=8), made({**FORM, "kind": "inference"}), made(gpus=1)):
        ready = [board for board in found["boards"] if board["memory_bytes"] and board["reason"] != "format"]
        needed = [board["gpus_needed"] or 10**6 for board in ready]
        assert needed == sorted(needed, reverse=True)
        assert [board["fits"] for board in ready] == sorted(board["fits"] for board in ready)


def test_a_precision_that_a_board_has_no_units_for():
    by_key = {board["key"]: board for board in made(precision="bf16", sharding="fsdp", gpus=64, activation_checkpointing="full")["boards"]}
    assert by_key["v100-sxm2-32gb"]["reason"] == "format" and by_key["v100-sxm2-32gb"]["fits"] is False
    by_key = {board["key"]: board for board in made(precision="fp16", sharding="fsdp", gpus=64, activation_checkpointing="full")["boards"]}
    assert by_key["v100-sxm2-32gb"]["fits"] is True


def test_inference_grows_in_tensor_parallelism_and_then_in_stages():
    served = plan.make(
        {
            "parameters": "405B",
            "layers": 126,
            "hidden_size": 16384,
            "heads": 128,
            "kv_heads": 8,
            "ffn_size": 53248,
            "mlp_matrices": 3,
            "vocab_size": 128256,
            "sequence_length": 8192,
        },
        {**FORM, "kind": "inference"},
    )
    needed = {board["key"]: board["gpus_needed"] for board in served["boards"]}
    assert needed["h200-sxm-141gb"] == 16 and needed["gb300-278gb"] == 8 and needed["a100-sxm4-80gb"] == 16


# --- what changes the figures -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "states"),
    [
        ({}, 18),
        ({"gradient_precision": "16bit"}, 16),
        ({"gradient_precision": "both"}, 20),
        ({"optimizer": "adamw_16bit"}, 8),
        ({"optimizer": "adamw_8bit"}, 12),
        ({"optimizer": "sgd_momentum"}, 14),
        ({"precision": "fp32"}, 16),
        ({"precision": "fp64"}, 32),
        ({"master_weights": False}, 12),
        ({"optimizer": "adamw_8bit", "gradient_precision": "16bit"}, 10),
        ({"precision": "tf32"}, 16),
    ],
)
def test_bytes_of_a_trained_parameter(change, states):
    found = made(**change)
    assert sum(part(found, name) for name in ("weights", "gradients", "optimizer")) == pytest.approx(8.03e9 * states)
    assert any("%d B" % states in note for note in found["notes"])


def test_sharding_takes_one_thing_after_the_other_away():
    def states(sharding):
        found = made(sharding=sharding, gpus=8)
        return [part(found, name) / 8.03e9 for name in ("weights", "gradients", "optimizer")]

    assert states("none") == pytest.approx([2, 4, 12])
    assert states("zero1") == pytest.approx([2, 4, 1.5])
    assert states("zero2") == pytest.approx([2, 0.5, 1.5])
    assert states("zero3") == states("fsdp") == pytest.approx([0.25, 0.5, 1.5])


def test_hybrid_sharding_shares_out_within_its_group():
    assert part(made(sharding="hsdp", gpus=32), "optimizer") == part(made(sharding="fsdp", gpus=8), "optimizer")


def test_offload_moves_states_into_host_memory():
    found = made(sharding="zero3", gpus=8, offload="all")
    assert part(found, "weights") == part(found, "gradients") == part(found, "optimizer") == 0
    assert found["needs"]["host_memory_bytes"] == pytest.approx(8.03e9 * 18 * 1.5)


def test_checkpointing_and_flash_attention():
    eager, flash = made(flash_attention=False), made()
    assert (
        part(eager, "activations")
        > part(flash, "activations")
        == part(made(flash_attention=False, activation_checkpointing="selective"), "activations")
    )
    whole = made(activation_checkpointing="full")
    assert part(whole, "activations") == 2 * 4096 * 4096 * 32 and part(whole, "recomputed_layer") == part(flash, "activations") / 32


def test_activations_grow_with_sequence_and_batch():
    double = {**FORM, "batch_size": 2}
    assert part(made(double), "activations") == 2 * part(made(), "activations")
    assert part(made(sequence_length=8192), "activations") == 2 * part(made(), "activations")
    assert part(made(sequence_length=8192, flash_attention=False), "activations") > 2 * part(made(flash_attention=False), "activations")
    assert part(made(double, micro_batch_size=1), "activations") == part(made(), "activations")


def test_tensor_parallelism_shares_out_24_of_34_units():
    assert part(made(tensor_parallel=4), "activations") == pytest.approx(part(made(), "activations") * (10 + 24 / 4) / 34)
    assert part(made(tensor_parallel=4, sequence_parallel=True), "activations") == pytest.approx(part(made(), "activations") / 4)


def test_lora_and_qlora():
    full, lora, qlora = (made({**FORM, "kind": "finetuning"}, method=method) for method in ("full", "lora", "qlora"))
    assert full["bytes_per_gpu"] > lora["bytes_per_gpu"] > qlora["bytes_per_gpu"]
    # Rank 16 on q, k, v, o, gate, up and down of Llama-3.1-8B: 41.9 M parameters, as PEFT prints.
    assert part(lora, "gradients") == 41943040 * 4
    assert part(lora, "activations") == part(full, "activations")
    assert part(qlora, "weights") < 0.45 * part(lora, "weights")


def test_the_names_of_a_published_config_are_taken():
    names = {
        "layers": "num_hidden_layers",
        "heads": "num_attention_heads",
        "kv_heads": "num_key_value_heads",
        "ffn_size": "intermediate_size",
    }
    assert plan.make({names.get(name, name): value for name, value in LLAMA.items()}, FORM) == made()
    with pytest.raises(vram_fields.PlanError, match="num_hidden_layers and layers are the same field"):
        made(num_hidden_layers=16)


@pytest.mark.parametrize(("gpus", "tensor"), [(1, 1), (2, 2), (8, 8), (12, 4), (6, 2), (16, 8), (3, 1)])
def test_served_on_several_gpus_layers_are_shared_as_far_as_they_divide(gpus, tensor):
    found = made({**FORM, "kind": "inference", "batch_size": 24}, gpus=gpus)
    assert found["assumed"]["tensor_parallel"] == tensor and part(found, "weights") == math.ceil(8.03e9 * 2 / tensor)


def test_the_total_of_inference_is_at_least_12_weights_and_no_more_where_the_cache_is_larger():
    served = {**FORM, "kind": "inference"}
    assert size(served) == pytest.approx(1.2 * 8.03e9 * 2, rel=1e-6)
    # An 8B model in 16 bit is served on one board of 24 GB.
    assert "GeForce RTX 4090" in made(served)["fit"]
    many = made({**served, "concurrency": 64})
    assert part(many, "workspace") == part(made({**served, "concurrency": 65}), "workspace") - 128256 * 4 < 2**30
    bound = plan.make({"parameters": "8.03B"}, served)
    assert bound["sized"] is False and bound["at_least_bytes"] == pytest.approx(1.2 * 8.03e9 * 2, rel=1e-6)


def test_gqa_shrinks_the_cache_and_sequences_grow_it():
    served = {**FORM, "kind": "inference"}
    assert part(made(served, kv_heads=32), "kv_cache") == 4 * part(made(served), "kv_cache")
    assert (
        part(made({**served, "concurrency": 32}), "kv_cache")
        == 32 * part(made(served), "kv_cache")
        == part(made({**served, "batch_size": 32}), "kv_cache")
    )
    assert part(made(served, kv_precision="fp8"), "kv_cache") * 2 == part(made(served), "kv_cache")
    assert part(made(served, sliding_window=1024), "kv_cache") * 4 == part(made(served), "kv_cache")
    assert part(made(served, kv_latent_size=576), "kv_cache") == 32 * 576 * 2 * 4096
    # Eight key heads over sixteen GPUs: each still holds one.
    assert part(made(served, tensor_parallel=16), "kv_cache") == part(made(served, tensor_parallel=8), "kv_cache")


def test_a_cnn_needs_no_shape_of_a_transformer():
    found = plan.make({"parameters": "25.6M", "precision": "fp32", "activation_elements_per_sample": "11.1M"}, {**FORM, "batch_size": 32})
    assert found["sized"] and part(found, "activations") == 32 * 11100000 * 4 * 3 and "T4" not in found["missing"]
    assert "Tesla T4" in found["fit"]


def test_what_saves_is_said_largest_first_and_true():
    found = made({**FORM, "kind": "finetuning", "batch_size": 4})
    saved = [entry["bytes_per_gpu"] for entry in found["savings"]]
    assert saved == sorted(saved) and len(saved) > 5
    assert all(entry["bytes_per_gpu"] <= found["bytes_per_gpu"] * 0.98 or entry["gpus_needed"] for entry in found["savings"])
    for entry in found["savings"]:
        assert made({**FORM, "kind": "finetuning", "batch_size": 4}, **entry["change"])["bytes_per_gpu"] == entry["bytes_per_gpu"]


def test_a_change_says_which_boards_hold_it_then():
    found = made({**FORM, "kind": "finetuning"}, method="qlora", sequence_length=2048)
    assert "GeForce RTX 4090" not in found["fit"]
    (entry,) = [entry for entry in found["savings"] if entry["change"] == {"activation_checkpointing": "full"}]
    changed = made({**FORM, "kind": "finetuning"}, method="qlora", sequence_length=2048, activation_checkpointing="full")
    assert entry["fit_count"] == len(changed["fit"]) > len(found["fit"]) and "GeForce RTX 4090" in changed["fit"]
    assert entry["fits_on"] == changed["fit"][0] and entry["fits_on_bytes"] < 16 * 2**30
    assert found["hints"] == [
        "Most of it: activations, 14.0 GiB (59 %).",
        "With activation_checkpointing: full it takes 10.1 GiB and fits 1 x GeForce RTX 4080 (16.0 GiB)."]


def test_where_one_change_is_not_enough_several_are_named_together():
    large = dict(parameters="70.6B", layers=80, hidden_size=8192, heads=64, ffn_size=28672, sequence_length=8192)
    found = made(**large)
    assert found["fit"] == [] and not any(board["gpus_needed"] for board in found["boards"])
    (several,) = [entry for entry in found["savings"] if entry["gpus_needed"]]
    assert several["change"] == {"activation_checkpointing": "full", "sharding": "fsdp"} and several["fits_on"] is None
    held = made(**large, **several["change"], gpus=several["gpus_needed"])
    assert several["gpus_needed_on"] in held["fit"]
    # None of them is superfluous.
    for name in several["change"]:
        fewer = {key: value for key, value in several["change"].items() if key != name}
        assert not any(board["gpus_needed"] for board in made(**large, **fewer)["boards"])
    assert found["hints"][1] == "With activation_checkpointing: full, sharding: fsdp it fits from %d x %s on." % (
        several["gpus_needed"], several["gpus_needed_on"])


def test_more_than_one_host_is_said():
    large = dict(parameters="70.6B", layers=80, hidden_size=8192, heads=64, ffn_size=28672)
    found = made(**large, sharding="fsdp", gpus=64, activation_checkpointing="full")
    by_key = {board["key"]: board for board in found["boards"]}
    board = by_key["a100-sxm4-80gb"]
    assert board["gpus_needed"] > 8 and board["hosts_needed"] == board["gpus_needed"] // 8
    assert "%d on %d hosts" % (board["gpus_needed"], board["hosts_needed"]) in "\n".join(plan.lines(found))
    assert "%d（%d 台主机）" % (board["gpus_needed"], board["hosts_needed"]) in "\n".join(plan.lines(found, "zh"))


def test_what_else_the_job_needs():
    needs = made({**FORM, "run_hours": 240, "samples_per_second_per_gpu": 3}, sharding="fsdp", gpus=8)["needs"]
    assert needs["run_days"] == 12 and needs["read_bytes_per_second"] == 3 * 8 * 32768 and needs["checkpoint_bytes"] == 8030000000 * 14


def test_parameters_are_counted_from_the_shape_and_compared_with_those_given():
    model = {name: value for name, value in LLAMA.items() if name != "parameters"}
    counted = plan.make(model, FORM)
    assert part(counted, "weights") == pytest.approx(2 * 8.03e9, rel=0.002)
    assert any("47B" in note or "4.7e+10" in note for note in made(parameters="47B")["notes"])


def test_defaults_are_said_and_given_fields_are_not():
    assumed = made(precision="bf16")["assumed"]
    assert "precision" not in assumed and assumed["flash_attention"] is True and assumed["target_fraction"] == 0.8
    assert made({name: value for name, value in FORM.items() if name != "kind"})["assumed"]["kind"] == "training"
