# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Small inline SVG charts of what the fleet is made of, each with its numbers written beside the bars."""

from __future__ import annotations

import collections

from ..numbers import format_bit_rate
from .clean import display, for_html, is_number

ROWS = 6
_RAM_EDGES = (1.0, 2.0, 3.0, 4.0)
_CORE_EDGES = (2, 4, 8, 16)


class Distributions:
    """Counts of one fleet, filled a host at a time: `add(host entry, facts or None)`."""

    def __init__(self, view):
        self.view = view
        self.counts = {key: collections.Counter() for key in ("gpus", "ram", "cores", "links", "driver", "distribution")}

    def add(self, host, facts):
        """A host counts once in each chart; one that was never judged counts in none."""
        facts = facts if isinstance(facts, dict) else {}
        hardware, metrics = host.get("hardware") or {}, host.get("metrics") or {}
        if not hardware and not facts:
            return
        self.counts["gpus"][self.view.gpu_label(host) or None] += 1
        self.counts["ram"][_bin(metrics.get("memory.ram_to_vram_ratio"), _RAM_EDGES)] += 1
        self.counts["cores"][_bin(metrics.get("compute.cores_per_gpu"), _CORE_EDGES)] += 1
        self.counts["links"][_fastest(_subject(facts, "network"))] += 1
        self.counts["driver"][_word(hardware.get("driver_version") or _subject(facts, "gpu").get("driver_version"))] += 1
        software = _subject(facts, "software")
        name = " ".join(str(part) for part in (software.get("distribution_id"), software.get("distribution_version")) if part)
        self.counts["distribution"][_word(hardware.get("distribution") or hardware.get("distribution_name") or name)] += 1

    def charts(self):
        """[(title, SVG)] of the charts that say something: at least one host with a value."""
        text = self.view.text
        kinds = (
            ("gpus", _ranked),
            ("ram", lambda c, v: _binned(c, v, _RAM_EDGES, "×")),
            ("cores", lambda c, v: _binned(c, v, _CORE_EDGES, "")),
            ("links", _by_rate),
            ("driver", _ranked),
            ("distribution", _ranked),
        )
        for key, order in kinds:
            counts = self.counts[key]
            if any(value is not None for value in counts):
                title = text("chart_" + key)
                yield title, bars(title, order(counts, self.view))


def _subject(facts, name):
    subject = facts.get(name)
    return subject if isinstance(subject, dict) else {}


def _maps(value):
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _word(value):
    return display(value, 60) if value else None


def _bin(value, edges):
    """The number of edges at or below the value; None where there is no value."""
    return sum(1 for edge in edges if value >= edge) if is_number(value) else None


def _fastest(network):
    """Bits per second of the fastest port that is up."""
    rates = [
        entry.get("speed_bits_per_second")
        for entry in _maps(network.get("interfaces"))
        if entry.get("kind") == "ethernet" and entry.get("state") == "up"
    ]
    rates += [entry.get("rate_bits_per_second") for entry in _maps(network.get("rdma_ports")) if entry.get("state") == "active"]
    return max((rate for rate in rates if is_number(rate) and rate > 0), default=None)


def _unknown(counts, view):
    return [(view.text("chart_unknown"), counts[None], True)] if counts[None] else []


def _ranked(counts, view):
    known = sorted(((name, count) for name, count in counts.items() if name is not None), key=lambda pair: (-pair[1], pair[0]))
    rows = [(name, count, False) for name, count in known[:ROWS]]
    rest = known[ROWS:]
    if rest:
        rows.append((view.text("chart_other", n=len(rest)), sum(count for _name, count in rest), True))
    return rows + _unknown(counts, view)


def _by_rate(counts, view):
    known = sorted((rate for rate in counts if rate is not None), reverse=True)
    return [(format_bit_rate(rate), counts[rate], False) for rate in known[: ROWS + 2]] + _unknown(counts, view)


def _binned(counts, view, edges, suffix):
    names = (
        [f"< {edges[0]:g}{suffix}"] + [f"{low:g}–{high:g}{suffix}" for low, high in zip(edges, edges[1:])] + [f"≥ {edges[-1]:g}{suffix}"]
    )
    return [(name, counts[index], False) for index, name in enumerate(names)] + _unknown(counts, view)


def bars(title, rows):
    """Horizontal bars: [(label, count, muted)] -> SVG with its numbers as text, readable without seeing the bars."""
    step, width, behind = 22, 340, 48
    start = min(160, max((text_width(label) for label, _count, _muted in rows), default=0)) + 12
    most = max((count for _label, count, _muted in rows), default=0) or 1
    said = "; ".join(f"{label}: {count}" for label, count, _muted in rows)
    out = [f'<svg class="chart" viewBox="0 0 {width} {step * len(rows)}" role="img" aria-label="{for_html(title + ": " + said)}">']
    for number, (label, count, muted) in enumerate(rows):
        top = number * step
        length = round((width - start - behind) * count / most, 1)
        short = _fitted(label)
        out.append(
            f"<g><title>{for_html(label)}: {count}</title>"
            f'<text class="label" x="{start - 8}" y="{top + 15}" text-anchor="end">{for_html(short)}</text>'
            f'<rect class="{"bar muted" if muted else "bar"}" x="{start}" y="{top + 4}" width="{max(length, 1 if count else 0)}" '
            'height="14" rx="2"/>'
            f'<text class="count" x="{start + length + 6}" y="{top + 15}">{count}</text></g>'
        )
    return "".join(out) + "</svg>"


def text_width(text):
    """About how many pixels a text takes at 12 px; Chinese characters are square."""
    return sum(12.5 if ord(character) > 0x2E7F else 7.2 for character in text)


def _fitted(label, room=160):
    """The label cut to `room` pixels."""
    if text_width(label) <= room:
        return label
    while label and text_width(label) > room - 12:
        label = label[:-1]
    return label + "…"


def verdict_bar(title, segments):
    """The bar of verdict counts: [(class, label, count)] side by side, with a gap between."""
    total = sum(count for _key, _label, count in segments) or 1
    said = "; ".join(f"{label}: {count}" for _key, label, count in segments)
    shown = [segment for segment in segments if segment[2]]
    space = 1000 - 4 * max(len(shown) - 1, 0)
    out, left = (
        [
            '<svg class="verdicts" viewBox="0 0 1000 14" preserveAspectRatio="none" role="img" '
            f'aria-label="{for_html(title + ": " + said)}">'
        ],
        0.0,
    )
    for key, label, count in shown:
        width = space * count / total
        out.append(
            f'<rect class="fill-{key}" x="{left:.2f}" y="0" width="{width:.2f}" height="14">'
            f"<title>{for_html(label)}: {count}</title></rect>"
        )
        left += width + 4
    return "".join(out) + "</svg>"
