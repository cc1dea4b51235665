# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A plan: the VRAM of a job, the boards that hold it, what it needs besides. As a document (`make`), a table (`lines`) and Markdown."""

from __future__ import annotations

import unicodedata

from . import complaints, plan_texts, vram, vram_boards, vram_fields, vram_rules, workload
from .numbers import format_bytes, format_fraction, format_number

SCHEMA = "trainops.gpu_audit/plan/1"


def make(model, form=None, language="en"):
    """The plan of a model (docs/vram.md) and a workload form, as plain JSON types.

    {"schema", "sized", "headline", "missing_form", "missing", "gpus", "bytes_per_gpu", "at_least_bytes", "parts": [{"part", "title",
    "bytes", "how", "missing"}], "target_fraction", "boards" (vram_boards.fitting), "fit": [names], "savings", "assumed": {field: value}, "needs":
    {"checkpoint_bytes", "host_memory_bytes", "read_bytes_per_second", "run_days"}, "notes": [str]}.
    Without the three base figures `sized` is false and nothing else is said than which are missing; where a part can't be known `sized`
    is false, `missing` names the fields and `at_least_bytes` is a lower bound. PlanError for input that is wrong.
    """
    language = language if language in plan_texts.LANGUAGES else "en"
    fields, normalised = vram_rules.read(model, form)
    plan = {
        "schema": SCHEMA,
        "sized": False,
        "headline": "",
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
    needed = [board["gpus_needed"] for board in plan["boards"] if board["gpus_needed"]]
    if needed:
        return plan_texts.text(language, "fits_more", size=size, gpus=gpus, target=target, needed=min(needed))
    return plan_texts.text(language, "fits_none", size=size, gpus=gpus, target=target)


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
    notes.append(("note.margin", {"target": format_fraction(values["target_fraction"])}))
    return notes


def _state_bytes(values):
    """Bytes a trained parameter takes unsharded: weights, gradients, optimizer."""
    full = vram_fields.FULL.get(values["precision"])
    gradient = full or vram_fields.GRADIENT_BYTES[values["gradient_precision"]]
    return (full or 2) + gradient + vram.state_width(values)


# --- for people ---------------------------------------------------------------------------------------------------------------------------


def _size(value):
    return "-" if value is None else format_bytes(value)


def _tables(plan, language):
    """[(heading, column names, rows)] of what a plan shows; a row's cells are text."""

    def say(key, **params):
        return plan_texts.text(language, key, **params)

    tables = []
    if plan["parts"]:
        rows = [
            [
                part["title"],
                _size(part["bytes"]),
                say("needs_fields", fields=", ".join(part["missing"])) if part["missing"] else part["how"],
            ]
            for part in plan["parts"]
        ]
        whole = _size(plan["bytes_per_gpu"]) if plan["sized"] else "≥ " + _size(plan["at_least_bytes"])
        rows.append([say("total"), whole, say("on_gpus", gpus=plan["gpus"])])
        tables.append((say("parts"), [say("part"), say("per_gpu"), say("how")], rows))
    if plan["boards"]:
        head = [say("memory"), say("used"), say("fits_here"), say("needed"), say("boards")]
        tables.append((say("boards_title", target=format_fraction(plan["target_fraction"])), head, _board_rows(plan, say)))
    if plan["savings"]:
        rows = [
            [
                ", ".join(
                    "%s: %s" % (name, str(value).lower() if isinstance(value, bool) else value) for name, value in entry["change"].items()
                ),
                _size(entry["bytes_per_gpu"]),
            ]
            for entry in plan["savings"]
        ]
        tables.append((say("savings"), [say("change"), say("per_gpu")], rows))
    needs = [
        [
            say("need." + name),
            format_bytes(value) + ("/s" if name.endswith("per_second") else "") if "bytes" in name else format_number(value),
        ]
        for name, value in plan["needs"].items()
        if value is not None
    ]
    if needs:
        tables.append((say("needs"), [say("need"), say("amount")], needs))
    if plan["assumed"]:
        rows = [[name, str(value).lower() if isinstance(value, bool) else str(value)] for name, value in plan["assumed"].items()]
        tables.append((say("assumed"), [say("field"), say("value")], rows))
    return tables


def _board_rows(plan, say):
    """Boards that say the same stand in one row, the largest memory first."""
    groups = {}
    for board in reversed(plan["boards"]):
        groups.setdefault((_size(board["memory_bytes"]), board["fits"], board["gpus_needed"], board["reason"]), []).append(board)
    rows = []
    for (memory, fits, needed, reason), boards in groups.items():
        used = boards[-1]["used_fraction"]
        verdict = say("unknown") if fits is None else say("yes") if fits else say("no")
        number = str(needed) if needed else say("why." + reason)
        rows.append([memory, "-" if used is None else format_fraction(used), verdict, number, ", ".join(board["name"] for board in boards)])
    return rows


def width(text):
    """Columns that a text takes on a terminal: East Asian wide characters take two."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _wrapped(text, room):
    """A list of names in lines of at most `room` columns, broken after commas."""
    found = [""]
    for name in text.split(", "):
        joined = found[-1] + ", " + name if found[-1] else name
        if found[-1] and width(joined) > room:
            found[-1] += ","
            found.append(name)
        else:
            found[-1] = joined
    return found


def lines(plan, language="en", columns=120):
    """The plan as lines for a terminal of so many columns; long lists of boards go on in the next line."""
    out = [plan["headline"]]
    for heading, head, rows in _tables(plan, language):
        widths = [max(width(row[column]) for row in [head, *rows]) for column in range(len(head))]
        before = sum(widths[:-1]) + 2 * (len(widths) - 1)
        widths[-1] = min(widths[-1], max(30, columns - before))
        out += ["", heading]
        for row in [head, ["-" * size for size in widths], *rows]:
            first, *more = _wrapped(row[-1], widths[-1])
            cells = [cell + " " * (size - width(cell)) for cell, size in zip(row[:-1], widths)]
            out.append("  ".join([*cells, first]).rstrip())
            out += [" " * before + rest for rest in more]
    return out + ([""] if plan["notes"] else []) + ["- " + note for note in plan["notes"]]


def markdown(plan, language="en"):
    """The plan as Markdown."""
    out = ["# " + plan_texts.text(language, "title"), "", plan["headline"], ""]
    for heading, head, rows in _tables(plan, language):
        out += ["## " + heading, ""]
        out += ["| %s |" % " | ".join(cell.replace("|", "\\|") for cell in row) for row in [head, ["---"] * len(head), *rows]]
        out.append("")
    out += ["- " + note for note in plan["notes"]]
    return "\n".join(out).rstrip() + "\n"
