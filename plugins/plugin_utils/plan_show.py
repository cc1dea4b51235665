# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A plan for people: as lines for a terminal and as Markdown."""

from __future__ import annotations

import math
from typing import NamedTuple

from .numbers import format_bytes, format_fraction, format_number
from .plan_texts import change_text, text
from .verdict_table import width

# Where no board holds the job, so many of the largest show by how much.
NEAREST = 3


class Table(NamedTuple):
    """`head` and `rows` are texts; `right`: how many columns after the first are figures; `more`: [(label, names)] below the table."""

    heading: str
    head: list
    rows: list
    right: int = 1
    more: tuple = ()


def _size(value):
    return "-" if value is None else format_bytes(value)


def _plain(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def _tables(plan, say):
    makers = (_parts, _boards, _savings, _needs)
    return [table for table in (maker(plan, say) for maker in makers) if table]


def _parts(plan, say):
    if not plan["parts"]:
        return None
    whole = plan["at_least_bytes"]

    def share(size):
        if size is None or not whole:
            return "-"
        return "%d %%" % round(100 * size / whole) if not 0 < size < whole / 100 else "<1 %"

    rows = [
        [
            part["title"],
            _size(part["bytes"]),
            share(part["bytes"]),
            say("needs_fields", fields=", ".join(part["missing"])) if part["missing"] else part["how"],
        ]
        for part in plan["parts"]
    ]
    total = _size(whole) if plan["sized"] else "≥ " + _size(whole)
    rows.append([say("total"), total, "", say("on_gpus", gpus=plan["gpus"])])
    return Table(say("parts"), [say("part"), say("per_gpu"), say("share"), say("how")], rows, 2)


def _boards(plan, say):
    """Boards that hold the job, now or with more of them; the others by the reason. Boards that say the same stand in one row."""
    if not plan["boards"]:
        return None
    groups, left = {}, {}
    for board in reversed(plan["boards"]):
        key = (_size(board["memory_bytes"]), board["fits"], board["gpus_needed"], board["reason"])
        groups.setdefault(key, []).append(board)
    shown = [key for key in groups if key[2] or key[3] == "incomplete" and key[1] is None]
    if plan["sized"] and not shown:
        shown = [key for key in groups if key[3] == "no_number"][:NEAREST]
    for key, boards in groups.items():
        if key not in shown:
            reason = "too_small" if key[3] == "incomplete" else key[3]
            left.setdefault(reason, []).extend(board["name"] for board in boards)
    rows = []
    for key in shown:
        boards = groups[key]
        board = boards[-1]
        limit = plan["target_fraction"] * board["memory_bytes"]
        room = limit - plan["at_least_bytes"]
        rows.append([
            key[0],
            used_text(plan["at_least_bytes"] / board["memory_bytes"], key[1], plan["target_fraction"]) if plan["sized"] else "-",
            ("+" if room >= 0 else "") + format_bytes(room) if plan["sized"] else "-",
            say("unknown") if key[1] is None else say("yes") if key[1] else say("no"),
            _fewest(board, say),
            ", ".join(entry["name"] for entry in boards),
        ])
    target = format_fraction(plan["target_fraction"])
    head = [say("memory"), say("used", gpus=plan["gpus"]), say("room"), say("fits_here"), say("needed"), say("boards")]
    return Table(say("boards_title", target=target), head, rows, 4, tuple((say("why." + reason), names) for reason, names in left.items()))


def used_text(fraction, fits, target):
    """A share in percent that never rounds onto the other side of the limit."""
    percent, limit = round(fraction * 100, 1), target * 100
    if fits and percent >= limit:
        percent = math.floor(fraction * 1000) / 10
    elif not fits and percent < limit:
        percent = math.ceil(fraction * 1000) / 10
    return "%.1f %%" % percent


def _fewest(board, say):
    if not board["gpus_needed"]:
        return "-"
    if board["hosts_needed"] == 1:
        return "%d" % board["gpus_needed"]
    return say("on_hosts", gpus=board["gpus_needed"], hosts=board["hosts_needed"])


def _savings(plan, say):
    if not plan["savings"]:
        return None
    rows = []
    for entry in plan["savings"]:
        if entry["fits_on"]:
            then = say("fits_on", count=entry["fit_count"], board=entry["fits_on"], memory=_size(entry["fits_on_bytes"]))
        elif entry["gpus_needed"]:
            then = say("needs_gpus", needed=entry["gpus_needed"], board=entry["gpus_needed_on"])
        else:
            then = say("fits_nowhere")
        rows.append([change_text(entry["change"]), _size(entry["bytes_per_gpu"]), then])
    return Table(say("savings"), [say("change"), say("per_gpu"), say("held_by")], rows)


def _needs(plan, say):
    rows = [
        [
            say("need." + name),
            format_bytes(value) + ("/s" if name.endswith("per_second") else "") if "bytes" in name else format_number(value),
        ]
        for name, value in plan["needs"].items()
        if value is not None
    ]
    return Table(say("needs"), [say("need"), say("amount")], rows) if rows else None


def _assumed(plan):
    return ["%s %s" % (name, _plain(value)) for name, value in plan["assumed"].items()]


def _wrapped(names, room):
    """A list of names in lines of at most `room` columns, broken after commas."""
    found = [""]
    for name in names:
        joined = found[-1] + ", " + name if found[-1] else name
        if found[-1] and width(joined) > room:
            found[-1] += ","
            found.append(name)
        else:
            found[-1] = joined
    return found


def _paragraph(label, names, columns, say):
    first, *more = _wrapped([say("list", label=label, names=names[0]), *names[1:]], columns - 2)
    return [first] + ["  " + line for line in more]


def _padded(cell, size, right):
    gap = " " * (size - width(cell))
    return gap + cell if right else cell + gap


def lines(plan, language="en", columns=120):
    """The plan as lines for a terminal of so many columns; long lists of boards go on in the next line."""

    def say(key, **params):
        return text(language, key, **params)

    out = [plan["headline"], *plan["hints"]]
    for table in _tables(plan, say):
        out += ["", table.heading]
        widths = [max(width(row[column]) for row in [table.head, *table.rows]) for column in range(len(table.head))]
        before = sum(widths[:-1]) + 2 * (len(widths) - 1)
        last = widths[-1] = min(widths[-1], max(30, columns - before))
        figures = set(range(1, 1 + table.right))
        for row in [table.head, ["-" * size for size in widths], *table.rows] if table.rows else []:
            first, *more = _wrapped(row[-1].split(", "), last)
            cells = [_padded(cell, size, column in figures) for column, (cell, size) in enumerate(zip(row[:-1], widths))]
            ending = _padded(first, last, len(row) - 1 in figures)
            out.append("  ".join([*cells, ending]).rstrip())
            out += [" " * before + rest for rest in more]
        for label, names in table.more:
            out += _paragraph(label, names, columns, say)
    if plan["assumed"]:
        out += ["", *_paragraph(say("assumed"), _assumed(plan), columns, say)]
    return out + ([""] if plan["notes"] else []) + ["- " + note for note in plan["notes"]]


def markdown(plan, language="en"):
    """The plan as Markdown."""

    def say(key, **params):
        return text(language, key, **params)

    out = ["# " + say("title"), "", "  \n".join([plan["headline"], *plan["hints"]]), ""]
    for table in _tables(plan, say):
        out += ["## " + table.heading, ""]
        rule = ["---:" if 1 <= column <= table.right else "---" for column in range(len(table.head))]
        if table.rows:
            out += ["| %s |" % " | ".join(cell.replace("|", "\\|") for cell in row) for row in [table.head, rule, *table.rows]]
            out.append("")
        out += ["- " + say("list", label=label, names=", ".join(names)) for label, names in table.more]
        out += [""] if table.more else []
    if plan["assumed"]:
        out += [say("list", label=say("assumed"), names=", ".join(_assumed(plan))), ""]
    out += ["- " + note for note in plan["notes"]]
    return "\n".join(out).rstrip() + "\n"
