# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The tables of a report's links: a map whose cells are coloured from light to dark as well as from blue to brown, and folded lists."""

from __future__ import annotations

import bisect
import collections

from .clean import brief, for_html, unbroken
from .network_words import bits

# Up to so many hosts the figure is in sight, and up to so many the rate too.
MOST_READABLE, MOST_WITH_RATE = 16, 4
# Of an error so many characters stand in a cell.
MOST_IN_CELL = 100
# From these shares of what it should be on, a pair has the next lighter shade.
EDGES = (0.3, 0.5, 0.7, 0.9)

# What stands for a pair without a test.
_BLANK = {None: "map_untested", "newer": "map_newer"}

Cell = collections.namedtuple("Cell", "rate share retransmits error")


def grid(view, caption, corner, heads, rows, scales):
    """heads: [(name, whether it is slow)]; rows: [(HTML of the name, whether it is slow, [Cell, None, "newer" or "self"])] -> HTML."""
    size = " tiny" if len(heads) > MOST_READABLE else " wide-cells" if len(heads) <= MOST_WITH_RATE else ""
    short = short_names([name for name, _slow in heads])
    columns = "".join(
        f'<th scope="col"{_slow_class(slow)}><span aria-hidden="true">{for_html(brief)}</span><i>{for_html(name)}</i></th>'
        for (name, slow), brief in zip(heads, short)
    )
    body = "".join(
        f'<tr><th scope="row"{_slow_class(slow)}>{name}</th>{"".join(_cell_html(view, cell) for cell in cells)}</tr>'
        for name, slow, cells in rows
    )
    return (
        f'<div class="mapped"><section class="scroll" tabindex="0" aria-label="{for_html(caption)}">'
        f'<table class="map{size}"><caption class="sr">{for_html(caption)} {for_html(scales)}</caption>'
        f'<thead><tr><th scope="col" class="corner">{for_html(corner)}</th>{columns}</tr></thead><tbody>{body}</tbody></table></section>'
        f'<output class="readout scripted">{for_html(view.text("map_hint"))}</output>{_legend(view, scales, rows)}</div>'
    )


def _slow_class(slow):
    return ' class="slow"' if slow else ""


def _shade(cell):
    if cell.rate is None:
        return "qe"
    return "qn" if cell.share is None else "q%d" % (len(EDGES) - bisect.bisect_right(EDGES, cell.share))


def _cell_html(view, cell):
    if cell == "self":
        return '<td class="qs"><i>–</i></td>'
    if cell in _BLANK:
        return f'<td class="qx"><i>{for_html(view.text(_BLANK[cell]))}</i></td>'
    if cell.rate is None:
        return f'<td class="qe">✕<i> {for_html(view.text("map_failed", words=brief(cell.error, MOST_IN_CELL) or "?"))}</i></td>'
    seen = f"{min(cell.share, 9.99) * 100:.0f}" if cell.share is not None else "·"
    more = bits(cell.rate)
    if cell.retransmits:
        more += " · " + view.text("map_retransmitted", n=int(cell.retransmits))
    if cell.error:
        more += " · " + brief(cell.error, MOST_IN_CELL)
    sign = " %" if cell.share is not None else ""
    return f'<td class="{_shade(cell)}">{seen}<i>{sign} · {for_html(more)}</i></td>'


def _legend(view, scales, rows):
    """The shades with their shares in words, those that aren't shares only where there is one."""
    cells = [cell for _name, _slow, found in rows for cell in found]
    names = [f"≥ {EDGES[-1] * 100:g} %"]
    names += [f"{low * 100:g}–{high * 100:g} %" for low, high in zip(EDGES[-2::-1], EDGES[:0:-1])] + [f"< {EDGES[0] * 100:g} %"]
    shades = (
        [(f"q{number}", name) for number, name in enumerate(names)]
        if any(isinstance(c, Cell) and c.share is not None for c in cells)
        else []
    )
    if any(isinstance(cell, Cell) and cell.rate is not None and cell.share is None for cell in cells):
        shades.append(("qn", view.text("map_unjudged")))
    if any(isinstance(cell, Cell) and cell.rate is None for cell in cells):
        shades.append(("qe", view.text("map_failed_short")))
    blank = [view.text(key) for kind, key in _BLANK.items() if kind in cells]
    if blank:
        shades.append(("qx", " / ".join(blank)))
    shown = " ".join(f'<span><span class="shade {kind}" aria-hidden="true"></span>{for_html(name)}</span>' for kind, name in shades)
    return f'<p class="shades">{shown} <span>{for_html(scales)}</span></p>'


def short_names(names):
    """Names for narrow columns: without the domain that all share, the middle cut out of what is still long."""
    ends = {name.partition(".")[2] for name in names}
    is_same = len(names) > 1 and len(ends) == 1 and ends != {""} and len({name.partition(".")[0] for name in names}) == len(names)
    bare = [name.partition(".")[0] if is_same else name for name in names]
    return [name if len(name) <= 14 else name[:4] + "…" + name[-9:] for name in bare]


def table(view, title, heads, rows, is_open=False):
    """A folded table: heads are keys of texts, rows lists of (kind, text); a kind "th" names the row, "link" is HTML of a name."""
    marks = ['class="num" ' if kind == "num" else "" for kind, _text in rows[0]] if rows else [""] * len(heads)
    head = "".join(f'<th {mark}scope="col">{for_html(view.text(key))}</th>' for key, mark in zip(heads, marks))
    body = ""
    for row in rows:
        body += "<tr>"
        for kind, text in row:
            if kind in ("th", "link"):
                body += f'<th scope="row">{text if kind == "link" else for_html(text, 120)}</th>'
            else:
                body += (
                    f'<td class="num">{for_html(unbroken(text), 120)}</td>' if kind == "num" else f"<td>{for_html(brief(text, 300))}</td>"
                )
        body += "</tr>"
    return (
        f'<details class="fold"{" open" if is_open else ""}><summary>{for_html(title)}</summary>'
        # Wider than a phone: the keyboard scrolls it too.
        '<div class="wide" tabindex="0"><table class="plain figures">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></details>"
    )
