# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Inline SVG line charts of fractions: a line over time with the span of its siblings, and points over numbers of GPUs."""

from __future__ import annotations

from .clean import for_html, is_number

WIDTH, HEIGHT = 360, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 352, 10, 122
# More points than pixels only make a page heavy.
MOST_POINTS = 150


def over_time(title, times, line, band=None, limits=(), zone=None, end_label="", said=""):
    """A fraction over time.

    times: seconds, ascending; line: a value for each or None; band: (lowest, highest) lists of all GPUs; limits: [(fraction, label)] drawn
    across; zone: (low, high) shaded; said: what a reader who doesn't see it is told.
    """
    keep = _thinned(len(times))
    span = (times[-1] - times[0]) or 1.0

    def place(index):
        return _LEFT + (_RIGHT - _LEFT) * (times[index] - times[0]) / span

    parts = [_open(title, said)]
    if zone:
        parts.append(_rect("zone", _LEFT, _height(zone[1]), _RIGHT - _LEFT, _height(zone[0]) - _height(zone[1])))
    parts.append(_grid(limits))
    if band:
        upper = [(place(index), _height(band[1][index])) for index in keep if is_number(band[1][index])]
        lower = [(place(index), _height(band[0][index])) for index in keep if is_number(band[0][index])]
        if len(upper) > 1 and len(lower) > 1:
            parts.append(f'<polygon class="band" points="{_points(upper + lower[::-1])}"/>')
    shown = [(place(index), _height(line[index])) for index in keep if is_number(line[index])]
    parts.append(f'<polyline class="line" points="{_points(shown)}"/>')
    parts.append(f'<text class="axis" x="{_LEFT}" y="{_BOTTOM + 16}">0</text>')
    parts.append(f'<text class="axis" x="{_RIGHT}" y="{_BOTTOM + 16}" text-anchor="end">{for_html(end_label, 40)}</text></svg>')
    return "".join(parts)


def over_counts(title, points, limits=(), axis_label="", said=""):
    """A fraction over whole numbers: [(count, fraction, label)], ascending, at even steps."""
    step = (_RIGHT - _LEFT - 40) / max(1, len(points) - 1)
    places = [(_LEFT + 20 + step * number, _height(fraction)) for number, (_count, fraction, _label) in enumerate(points)]
    parts = [_open(title, said), _grid(limits), f'<polyline class="line" points="{_points(places)}"/>']
    for (count, _fraction, label), (left, top) in zip(points, places):
        below = top + 16 if top < _TOP + 14 else top - 7
        parts.append(
            f'<circle class="dot" cx="{left:.1f}" cy="{top:.1f}" r="3.5"/>'
            f'<text class="count" x="{left:.1f}" y="{below:.1f}" text-anchor="middle">{for_html(label, 20)}</text>'
            f'<text class="axis" x="{left:.1f}" y="{_BOTTOM + 16}" text-anchor="middle">{count}</text>'
        )
    parts.append(f'<text class="axis" x="{_RIGHT}" y="{_BOTTOM + 27}" text-anchor="end">{for_html(axis_label, 40)}</text></svg>')
    return "".join(parts)


def _thinned(count):
    """Indexes of at most MOST_POINTS samples, the first and the last among them."""
    if count <= MOST_POINTS:
        return list(range(count))
    return sorted({round(number * (count - 1) / (MOST_POINTS - 1)) for number in range(MOST_POINTS)})


def _height(fraction):
    """Where a fraction of 0 to 1 lies; what is above stays at the top edge."""
    return _BOTTOM - (_BOTTOM - _TOP) * min(max(fraction, 0.0), 1.0)


def _points(pairs):
    return " ".join(f"{left:.1f},{top:.1f}" for left, top in pairs)


def _rect(name, left, top, width, height):
    return f'<rect class="{name}" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def _open(title, said):
    label = for_html(f"{title}: {said}" if said else title, 600)
    return f'<svg class="chart lines" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'


def _grid(limits):
    """The edges at 0 and 100 %, half way, and the limits with their labels."""
    parts = []
    for fraction in (0.0, 1.0) if len(limits) > 1 else (0.0, 0.5, 1.0):
        top = _height(fraction)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_RIGHT}" y1="{top:.1f}" y2="{top:.1f}"/>')
        parts.append(f'<text class="axis" x="{_LEFT - 6}" y="{top + 4:.1f}" text-anchor="end">{fraction * 100:.0f} %</text>')
    for fraction, label in limits:
        top = _height(fraction)
        parts.append(f'<line class="limit" x1="{_LEFT}" x2="{_RIGHT}" y1="{top:.1f}" y2="{top:.1f}"/>')
        parts.append(f'<text class="axis" x="{_LEFT - 6}" y="{top + 4:.1f}" text-anchor="end">{for_html(label, 20)}</text>')
    return "".join(parts)
