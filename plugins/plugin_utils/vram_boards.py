# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which boards of gpus.yml hold a job, how many of each it takes, and which change to the job saves most."""

from __future__ import annotations

from . import vram, vram_rules
from .metrics.catalogue import boards, shown_name

MIB = 2**20
MOST_GPUS = 1024
# The first compute capability with units for a format; what only stores weights is computed in 16 bit and needs none.
FLOORS = {"bf16": (8, 0), "tf32": (8, 0), "fp8": (8, 9), "fp4": (10, 0), "mxfp4": (10, 0)}
# A change that saves less isn't worth a line.
WORTH_SAYING = 0.02


def ways(values):
    """Settled fields for growing numbers of GPUs, in the order to try them: 1, 2, 4, 8 ... times what one copy of the model takes.

    Training grows in data-parallel GPUs where they share something out; inference in tensor parallelism within a host, then in stages.
    """
    tensor, pipeline = values["tensor_parallel"], values["pipeline_parallel"]
    if values["kind"] == "inference":
        return _inference_ways(values)
    if values["sharding"] == "none":
        return [dict(values, gpus=tensor * pipeline)]
    found, count = [], 1
    while tensor * pipeline * count <= MOST_GPUS:
        found.append(dict(values, gpus=tensor * pipeline * count, shard_group_gpus=min(count, values.get("shard_group_gpus", count))))
        count *= 2
    return found


def _inference_ways(values):
    found, tensor = [], 1
    while tensor <= min(8, values["gpus_per_host"]):
        if "heads" not in values or values["heads"] % tensor == 0:
            found.append(dict(values, gpus=tensor, tensor_parallel=tensor, pipeline_parallel=1))
        tensor *= 2
    widest, stages = found[-1]["tensor_parallel"], 2
    while widest * stages <= MOST_GPUS and stages <= values.get("layers", 16):
        found.append(dict(values, gpus=widest * stages, tensor_parallel=widest, pipeline_parallel=stages))
        stages *= 2
    return found


def fitting(values):
    """[{"key", "name", "class", "memory_bytes", "fits", "used_fraction", "gpus_needed", "gpus_needed_bytes", "hosts_needed",
    "reason"}] of every board that was asked for, by memory.

    `fits`: whether the job as it stands (`values["gpus"]`) stays below target_fraction on this board; `gpus_needed`: the fewest of
    them with which it does, null where no number helps. Both null where the board's memory or the size of a part isn't known; a lower
    bound that is too large already is a false. `reason`: null, "memory_unknown", "format" (no units for the precision), "incomplete",
    "no_number".
    """
    here, known, _missing = vram.total(vram.parts(values))
    sized = [(way["gpus"], vram.total(vram.parts(way))[0]) for way in ways(values)]
    # What was asked for is a way too: several copies of a served model share out the requests.
    sized = sorted(sized + [(values["gpus"], here)], key=lambda way: way[0])
    found = []
    for board in boards():
        if "boards" in values and board["key"] not in values["boards"]:
            continue
        entry = {
            "key": board["key"],
            "name": shown_name(board),
            "class": board["class"],
            "memory_bytes": board["memory_mib"] * MIB if board["memory_mib"] else None,
            "fits": None,
            "used_fraction": None,
            "gpus_needed": None,
            "gpus_needed_bytes": None,
            "hosts_needed": None,
            "reason": None,
        }
        found.append(entry)
        if not entry["memory_bytes"]:
            entry["reason"] = "memory_unknown"
            continue
        ceiling = values["target_fraction"] * entry["memory_bytes"]
        if not _has_format(board, values):
            entry.update(fits=False, reason="format")
        elif here is None:
            entry.update(fits=False if known >= ceiling else None, reason="incomplete")
        else:
            entry.update(fits=here < ceiling, used_fraction=round(here / entry["memory_bytes"], 4))
            enough = next((way for way in sized if way[1] is not None and way[1] < ceiling), None)
            if enough:
                entry["gpus_needed"], entry["gpus_needed_bytes"] = enough
                entry["hosts_needed"] = -(-enough[0] // values["gpus_per_host"])
            else:
                entry["reason"] = "no_number"
    found.sort(key=lambda entry: (entry["memory_bytes"] or 0, entry["name"]))
    return found


def _has_format(board, values):
    capability = tuple(int(figure) for figure in board["compute_capability"].split("."))
    return capability >= FLOORS.get(values["precision"], (0, 0))


def fewest(found):
    """The board of which the fewest hold the job, the smallest of those; None where no number does. `found` as fitting() gives it."""
    enough = [board for board in found if board["gpus_needed"]]
    return min(enough, key=lambda board: (board["gpus_needed"], board["memory_bytes"]), default=None)


# What each kind of work can change, the gentlest first: what costs time before what changes the result.
_CHANGES = {
    "training": (
        {"flash_attention": True},
        {"fused_loss": True},
        {"activation_checkpointing": "selective"},
        {"activation_checkpointing": "full"},
        {"micro_batch_size": 1},
        {"sharding": "zero1"},
        {"sharding": "fsdp"},
        {"gradient_precision": "16bit"},
        {"optimizer": "adamw_8bit"},
    ),
    "finetuning": ({"method": "lora"}, {"method": "qlora"}),
    "inference": ({"kv_precision": "fp8"}, {"weight_precision": "fp8"}, {"weight_precision": "int4"}),
}
_CHANGES["finetuning"] = _CHANGES["training"] + _CHANGES["finetuning"]


def savings(fields, form, values):
    """[{"change": {field: value}, "bytes_per_gpu", "fit_count", "fits_on", "fits_on_bytes", "gpus_needed", "gpus_needed_on"}], the largest
    saving first: single changes that save at least 2 % or without which no number of boards is enough; where none of them is enough either,
    several together.

    `fits_on`: the smallest board that holds the job on as many GPUs as were asked for; `gpus_needed`: the fewest of any board.
    """
    here = vram.total(vram.parts(values))[0]
    if here is None:
        return []
    stuck = fewest(fitting(values)) is None
    changes = [change for change in _CHANGES[values["kind"]] if any(values.get(name) != value for name, value in change.items())]
    singles = [entry for entry in (_changed(fields, form, change) for change in changes) if entry]
    found = [entry for entry in singles if entry["bytes_per_gpu"] <= here * (1 - WORTH_SAYING) or stuck and entry["gpus_needed"]]
    if stuck and not any(entry["gpus_needed"] for entry in singles):
        found += _together(fields, form, changes)
    return sorted(found, key=lambda entry: entry["bytes_per_gpu"])


def _together(fields, form, changes):
    """[the fewest changes, the gentlest first, that together let some number of boards hold the job]; empty where all of them don't."""
    change = {}
    for more in changes:
        change = {**change, **more}
        entry = _changed(fields, form, change)
        if entry and entry["gpus_needed"]:
            for name in list(change):
                fewer = {key: value for key, value in change.items() if key != name}
                without = _changed(fields, form, fewer)
                if without and without["gpus_needed"]:
                    change, entry = fewer, without
            return [entry]
    return []


def _changed(fields, form, change):
    """What a change comes to, None where it contradicts other fields or a part isn't known."""
    wanted = {**fields, **change}
    if vram_rules.contradictions(wanted, form):
        return None
    values = vram.settle(wanted, form)[0]
    size = vram.total(vram.parts(values))[0]
    if size is None:
        return None
    found = fitting(values)
    holding = [board for board in found if board["fits"]]
    least = fewest(found)
    return {
        "change": change,
        "bytes_per_gpu": size,
        "fit_count": len(holding),
        "fits_on": holding[0]["name"] if holding else None,
        "fits_on_bytes": holding[0]["memory_bytes"] if holding else None,
        "gpus_needed": least["gpus_needed"] if least else None,
        "gpus_needed_on": least["name"] if least else None,
    }
