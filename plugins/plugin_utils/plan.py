# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A plan: the VRAM of a job, the boards that hold it, what it needs besides. As a document (`make`); plan_show.py shows it."""

from __future__ import annotations

from . import complaints, plan_texts, vram, vram_boards, vram_fields, vram_rules, workload
from .numbers import format_bytes, format_fraction, format_number
from .plan_show import lines, markdown
from .words import LANGUAGES

__all__ = ("SCHEMA", "complaint", "lines", "make", "markdown")

SCHEMA = "trainops.gpu_audit/plan/1"


def make(model, form=None, language="en"):
    """The plan of a model (docs/vram.md) and a workload form, as plain JSON types.

    {"schema", "sized", "headline", "missing_form", "missing", "gpus", "bytes_per_gpu", "at_least_bytes", "parts": [{"part", "title",
    "bytes", "how", "missing"}], "target_fraction", "boards" (vram_boards.fitting), "fit": [names], "savings" (vram_boards.savings),
    "assumed": {field: value}, "hints": [str], "needs":
    {"checkpoint_bytes", "host_memory_bytes", "read_bytes_per_second", "run_days"}, "notes": [str]}.
    Without the three base figures `sized` is false and nothing else is said than which are missing; where a part can't be known `sized`
    is false, `missing` names the fields and `at_least_bytes` is a lower bound. PlanError for input that is wrong.
    """
    language = language if language in LANGUAGES else "en"
    fields, normalised = vram_rules.read(model, form)
    plan = {
        "schema": SCHEMA,
        "sized": False,
        "headline": "",
        "hints": [],
        "missing_form": workload.base_figures_missing(normalised),
        "missing": [],
        "gpus": None,
        "bytes_per_gpu": None,
        "at_least_bytes": None,
        "parts": [],
        "target_fraction": None,
        "boards": [],
        "fit": [],
        "savings": [],
        "assumed": {},
        "needs": {},
        "notes": [],
    }
    if plan["missing_form"]:
        plan["headline"] = plan_texts.text(language, "base_missing", fields=", ".join(plan["missing_form"]))
        return plan
    values, assumed = vram.settle(fields, normalised)
    found = vram.parts(values)
    size, known, plan["missing"] = vram.total(found)
    plan["sized"] = size is not None
    plan["gpus"], plan["bytes_per_gpu"], plan["at_least_bytes"] = values["gpus"], size, known
    plan["parts"] = [
        {
            "part": part.name,
            "title": plan_texts.text(language, "part." + part.name),
            "bytes": part.size,
            "missing": list(part.missing),
            "how": part.how if isinstance(part.how, str) else plan_texts.text(language, part.how[0], **part.how[1]),
        }
        for part in found
    ]
    plan["target_fraction"] = values["target_fraction"]
    plan["boards"] = vram_boards.fitting(values)
    plan["fit"] = [board["name"] for board in plan["boards"] if board["fits"]]
    plan["savings"] = vram_boards.savings(fields, normalised, values)
    plan["assumed"] = dict(assumed)
    plan["needs"] = _needs(values, normalised)
    plan["headline"] = _headline(plan, values, language)
    plan["hints"] = [plan_texts.text(language, key, **params) for key, params in _hints(plan)]
    plan["notes"] = [plan_texts.text(language, key, **params) for key, params in _notes(plan, values)]
    return plan


def complaint(error, language="en"):
    """What is wrong with the input, in a language: all of it, however much that is."""
    sentences = getattr(error, "problems", None) or [str(error)]
    return ("；" if language == "zh" else "; ").join(complaints.say(sentence, language) for sentence in sentences)


def _needs(values, form):
    rate, days = form.get("samples_per_second_per_gpu"), None
    if form.get("run_hours") and form["hours_per_day"]:
        days = round(form["run_hours"] / form["hours_per_day"], 2)
    return {
        "checkpoint_bytes": vram.checkpoint_bytes(values),
        "host_memory_bytes": vram.host_memory(values),
        "read_bytes_per_second": rate * values["gpus"] * form["input_sample_bytes"] if rate else None,
        "run_days": days,
    }


def _headline(plan, values, language):
    gpus = plan["gpus"]
    if not plan["sized"]:
        return plan_texts.text(language, "incomplete", fields=", ".join(plan["missing"]), size=format_bytes(plan["at_least_bytes"]))
    target = format_fraction(values["target_fraction"])
    size = format_bytes(plan["bytes_per_gpu"])
    if plan["fit"]:
        return plan_texts.text(language, "fits", size=size, gpus=gpus, count=len(plan["fit"]), total=len(plan["boards"]), target=target)
    fewest = vram_boards.fewest(plan["boards"])
    if fewest:
        return plan_texts.text(
            language, "fits_more", size=size, gpus=gpus, target=target, needed=fewest["gpus_needed"], board=fewest["name"]
        )
    return plan_texts.text(language, "fits_none", size=size, gpus=gpus, target=target)


def _hints(plan):
    """[(key, params)] of what stands right below the headline: the largest part, and the change that brings most."""
    if not plan["sized"]:
        return []
    largest = max(plan["parts"], key=lambda part: part["bytes"])
    share = format_fraction(round(largest["bytes"] / (plan["bytes_per_gpu"] or 1), 2))
    hints = [("hint.largest", {"part": largest["title"], "size": format_bytes(largest["bytes"]), "share": share})]
    smallest = min((board["memory_bytes"] for board in plan["boards"] if board["fits"]), default=None)
    better = [entry for entry in plan["savings"] if entry["fits_on"] and (smallest is None or entry["fits_on_bytes"] < smallest)]
    more = [entry for entry in plan["savings"] if entry["gpus_needed"]]
    if better:
        best = min(better, key=lambda entry: (entry["fits_on_bytes"], len(entry["change"])))
        hints.append(("hint.change", {
            "change": plan_texts.change_text(best["change"]), "size": format_bytes(best["bytes_per_gpu"]), "gpus": plan["gpus"],
            "board": best["fits_on"], "memory": format_bytes(best["fits_on_bytes"])}))
    elif more and not vram_boards.fewest(plan["boards"]):
        best = min(more, key=lambda entry: (entry["gpus_needed"], len(entry["change"])))
        hints.append(("hint.gpus", {
            "change": plan_texts.change_text(best["change"]), "needed": best["gpus_needed"], "board": best["gpus_needed_on"]}))
    return hints


def _notes(plan, values):
    """[(key, params)] of what a reader must know to trust the figures."""
    notes = []
    counted = values.get("counted_parameters")
    if counted and abs(counted - values["parameters"]) > 0.2 * values["parameters"]:
        notes.append(("note.parameters", {"given": "%.3g" % values["parameters"], "counted": "%.3g" % counted}))
    if values["kind"] != "inference":
        notes.append(("note.states", {"bytes": format_number(_state_bytes(values)), "method": values["method"]}))
    if values["precision"] == "fp8" and values["kind"] != "inference":
        notes.append(("note.fp8", {}))
    if values["kind"] != "inference" and values["sharding"] == "none" and any(board["reason"] == "no_number" for board in plan["boards"]):
        notes.append(("note.unsharded", {}))
    if values["pipeline_parallel"] > 1 and values["kind"] != "inference":
        notes.append(("note.pipeline", {}))
    if "boards" in values:
        names = ", ".join(board["name"] for board in plan["boards"])
        key = "note.boards" if len(plan["boards"]) > 1 else "note.board"
        notes.append((key, {"names": names, "count": len(plan["boards"]), "example": plan["boards"][0]["key"]}))
    notes.append(("note.margin", {"target": format_fraction(values["target_fraction"])}))
    return notes


def _state_bytes(values):
    """Bytes a trained parameter takes unsharded: weights, gradients, optimizer."""
    full = vram_fields.FULL.get(values["precision"])
    gradient = full or vram_fields.GRADIENT_BYTES[values["gradient_precision"]]
    return (full or 2) + gradient + vram.state_width(values)
