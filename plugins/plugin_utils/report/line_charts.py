# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Inline SVG of measured figures: fractions over time, fractions over numbers of GPUs, rates against a need, latencies, transfers.

No text stands where a line may run: limits are named at the right edge, values under the axis or above their bar.
"""

from __future__ import annotations

import math

from .charts import text_width
from .clean import for_html

WIDTH, HEIGHT = 380, 160
_LEFT, _TOP, _BOTTOM = 42, 8, 138
# Room for a rate beside the axis.
WIDE_LEFT = 72
# A slice of the time is drawn by its lowest and highest sample: a short peak is never thinned away.
SLICES = 75
MOST_COUNTS = 8
_APART = 13


def over_time(title, times, line, band=None, limits=(), zone=None, end_label="", said="", peak=False):
    """A fraction over time.

    times: seconds, ascending; line: a value for each or None (a gap); band: (lowest, highest) lists of all GPUs; limits: [(class, fraction,
    label)] drawn across; zone: (low, high) shaded; said: what a reader who doesn't see it is told; peak: marks the highest sample.
    """
    plot = _Plot(1.0, limits)
    span = (times[-1] - times[0]) or 1.0
    slices = _slices(line)

    def place(index):
        return plot.left + plot.width * (times[index] - times[0]) / span

    parts = [_open(title, said)]
    if zone:
        top = plot.height(zone[1])
        parts.append(f'<rect class="zone" x="{_LEFT}" y="{top:.1f}" width="{plot.width}" height="{plot.height(zone[0]) - top:.1f}"/>')
    parts.append(plot.grid((0.0, 0.5, 1.0)))
    if band:
        upper, lower = [], []
        for chunk in _chunks(len(line)):
            low = [band[0][index] for index in chunk if band[0][index] is not None]
            if low:
                # The first and the last slice reach to the ends of the line.
                at = chunk[0] if chunk[0] == 0 else chunk[-1] if chunk[-1] == len(line) - 1 else chunk[len(chunk) // 2]
                lower.append((place(at), plot.height(min(low))))
                upper.append((place(at), plot.height(max(band[1][index] for index in chunk if band[1][index] is not None))))
        if len(upper) > 1:
            parts.append(f'<polygon class="band" points="{_points(_straight(upper) + _straight(lower)[::-1])}"/>')
    for segment in slices:
        shown = [(place(index), plot.height(line[index])) for index in segment]
        # A sample between two gaps is a dot: a line of no length with round ends.
        parts.append(f'<polyline class="line" points="{_points(_straight(shown) if len(shown) > 1 else shown * 2)}"/>')
    if peak:
        top = max((index for segment in slices for index in segment), key=lambda index: line[index])
        parts.append(f'<circle class="dot" cx="{place(top):.1f}" cy="{plot.height(line[top]):.1f}" r="3.5"/>')
    parts.append(f'<text class="axis" x="{_LEFT}" y="{_BOTTOM + 18}">0</text>')
    parts.append(f'<text class="axis" x="{plot.right}" y="{_BOTTOM + 18}" text-anchor="end">{for_html(end_label, 40)}</text></svg>')
    return "".join(parts)


def over_counts(title, points, limits=(), axis_label="", said=""):
    """A fraction over whole numbers: [(count, fraction, label)], ascending, at even steps; the axis reaches above 1 where a value does."""
    points = [points[index] for index in spread(len(points), MOST_COUNTS)]
    # Twice what can be is as far as anything is drawn; its label still tells it.
    plot = _Plot(min(2.0, max(1.0, *(fraction for _count, fraction, _label in points))), limits)
    step = (plot.width - 60) / max(1, len(points) - 1)
    places = [(plot.left + 30 + step * number, plot.height(fraction)) for number, (_count, fraction, _label) in enumerate(points)]
    parts = [_open(title, said, HEIGHT + 18), plot.grid((0.0, 0.5, 1.0)), f'<polyline class="line" points="{_points(places)}"/>']
    parts.append(f'<text class="axis" x="0" y="{_BOTTOM + 20}">{for_html(axis_label, 12)}</text>')
    for (count, _fraction, label), (left, top) in zip(points, places):
        parts.append(
            f'<circle class="dot" cx="{left:.1f}" cy="{top:.1f}" r="3.5"/>'
            f'<text class="axis" x="{left:.1f}" y="{_BOTTOM + 20}" text-anchor="middle">{count}</text>'
            f'<text class="count" x="{left:.1f}" y="{_BOTTOM + 36}" text-anchor="middle">{for_html(label, 20)}</text>'
        )
    return "".join(parts) + "</svg>"


def against(title, rows, need, said=""):
    """Bars of rates with the need as a mark on each: [(class, label, value, text)]; the words stand above their bar."""
    step, most = 40, max(need, *(value for _kind, _label, value, _text in rows)) or 1
    parts = [_open(title, said, step * len(rows))]
    mark = min(WIDTH - 1.5, WIDTH * need / most)
    for number, (kind, label, value, text) in enumerate(rows):
        top = number * step
        parts.append(
            f'<text class="label" x="0" y="{top + 13}">{for_html(label, 60)}</text>'
            f'<text class="count" x="{WIDTH}" y="{top + 13}" text-anchor="end">{for_html(text, 60)}</text>'
            f'<rect class="{kind}" x="0" y="{top + 19}" width="{max(1.0, WIDTH * value / most):.1f}" height="12" rx="2"/>'
            f'<line class="need" x1="{mark:.1f}" x2="{mark:.1f}" y1="{top + 18}" y2="{top + 34}"/>'
        )
    return "".join(parts) + "</svg>"


def over_log(title, columns, lines, ticks, limits=(), knee=None, axis_label="", said=""):
    """Values against what grows by factors (a load, the size of messages), that on a logarithmic axis.

    columns: [(load above 0, label or "", words below it or "")], ascending; lines: [(class, [value or None of each column])]; ticks:
    [(value, label)] from the lowest to the highest; where the lowest isn't 0 the axis is logarithmic; limits: [(class, value, label)];
    knee: the load up to which it holds.
    """
    plot = _ValuePlot(ticks, limits, WIDE_LEFT)
    low, high = math.log(columns[0][0]), math.log(columns[-1][0])

    def place(load):
        share = (math.log(load) - low) / (high - low) if high > low else 0.5
        return plot.left + 14 + (plot.width - 28) * min(max(share, 0.0), 1.0)

    places = [place(load) for load, _label, _words in columns]
    parts = [_open(title, said, HEIGHT + 18), plot.grid()]
    if knee:
        left = place(knee)
        parts.append(f'<line class="knee" x1="{left:.1f}" x2="{left:.1f}" y1="{_TOP}" y2="{_BOTTOM}"/>')
    for kind, values in lines:
        for segment in _runs(values):
            shown = [(places[index], plot.height(values[index])) for index in segment]
            parts.append(f'<polyline class="line {kind}" points="{_points(shown if len(shown) > 1 else shown * 2)}"/>')
        parts += [
            f'<circle class="dot" cx="{places[index]:.1f}" cy="{plot.height(value):.1f}" r="2.5"/>'
            for index, value in enumerate(values)
            if value is not None
        ]
    parts.append(f'<text class="axis" x="0" y="{_BOTTOM + 20}">{for_html(axis_label, 12)}</text>')
    parts += _column_names(columns, places)
    return "".join(parts) + "</svg>"


def _column_names(columns, places):
    """The names under the columns, where two would touch only one of them; a cross and its words where a column has any."""
    parts, free, free_below = [], WIDE_LEFT - 12.0, 0.0
    last = len(columns) - 1
    for number, ((_load, label, words), left) in enumerate(zip(columns, places)):
        half = text_width(label) / 2
        fits = label and left - half > free and (number == last or left + half < places[last] - text_width(columns[last][1]) / 2 - 4)
        if fits or label and number == last and left - half > free:
            parts.append(f'<text class="axis" x="{left:.1f}" y="{_BOTTOM + 20}" text-anchor="middle">{for_html(label, 12)}</text>')
            free = left + half + 4
        if words:
            parts.append(_cross(left, _BOTTOM))
            half = text_width(words) / 2
            left = min(left, WIDTH - half)
            if left - half > free_below:
                parts.append(f'<text class="count bad" x="{left:.1f}" y="{_BOTTOM + 36}" text-anchor="middle">{for_html(words, 20)}</text>')
                free_below = left + half + 4
    return parts


def transfers(title, segments, ticks, limits=(), end_label="", said=""):
    """Rates over time, attempt after attempt.

    segments: [([labels, of which the first that fits is shown], [rate or None of each second], whether it failed)]; limits: [(class, rate,
    label)].
    """
    plot = _ValuePlot(ticks, limits, WIDE_LEFT)
    total = sum(max(1, len(series)) for _labels, series, _failed in segments)
    # A short attempt beside a long one keeps room for its name.
    shares = [max(max(1, len(series)) / total, 0.6 / len(segments)) for _labels, series, _failed in segments]
    gap = 6
    room = plot.width - gap * (len(segments) - 1)
    parts, left = [_open(title, said), plot.grid()], float(plot.left)
    for number, ((labels, series, failed), share) in enumerate(zip(segments, shares)):
        width = room * share / sum(shares)
        if number:
            parts.append(f'<line class="grid" x1="{left - gap / 2:.1f}" x2="{left - gap / 2:.1f}" y1="{_TOP}" y2="{_BOTTOM}"/>')
        for segment in _slices(series):
            shown = [(left + width * (index + 0.5) / len(series), plot.height(series[index])) for index in segment]
            # A single second is as wide as its place.
            shown = _straight(shown) if len(shown) > 1 else [(left + 2, shown[0][1]), (left + width - 2, shown[0][1])]
            parts.append(f'<polyline class="line" points="{_points(shown)}"/>')
        if failed:
            parts.append(_cross(left + width - 5, _BOTTOM))
        label = next((label for label in labels if text_width(label) < width), None)
        if label:
            parts.append(
                f'<text class="axis" x="{left + width / 2:.1f}" y="{_BOTTOM + 18}" text-anchor="middle">{for_html(label, 20)}</text>'
            )
        left += width + gap
    if end_label:
        parts.append(f'<text class="axis" x="0" y="{_BOTTOM + 18}">{for_html(end_label, 12)}</text>')
    return "".join(parts) + "</svg>"


def _cross(left, top):
    return f'<path class="cross" d="M{left - 4:.1f} {top - 4:.1f}l8 8m0 -8l-8 8"/>'


def round_ticks(top, unit=1.0, low=0.0):
    """Round values from 0 to at least `top`, at most five, in steps of 1, 2 or 5 of a power of ten units.

    With `low` above 0: powers of ten around low and top, for a logarithmic axis.
    """
    if low > 0:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(top))
        step = max(1, math.ceil((last - first) / 4))
        return [10.0**power for power in range(first, last + step, step)]
    scaled = top / unit
    power = 10.0 ** math.floor(math.log10(scaled / 4))
    step = next(factor * power for factor in (1, 2, 5, 10) if 4 * factor * power >= scaled * 0.999999)
    return [number * step * unit for number in range(math.ceil(scaled / step - 1e-6) + 1)]


class _Plot:
    """The place of a plot: fractions up to `top`, room at the right for the names of its limits."""

    def __init__(self, top, limits):
        self.top, self.limits = top, [limit for limit in limits if 0 <= limit[1] <= top]
        self.left, self.right = _LEFT, WIDTH - (40 if self.limits else 6)
        self.width = self.right - self.left

    def height(self, fraction):
        """Where a fraction lies; what is above the top stays at the edge."""
        return _BOTTOM - (_BOTTOM - _TOP) * min(max(fraction, 0.0), self.top) / self.top

    def grid(self, ticks):
        """Lines at the ticks with their values at the left, at the limits with their names at the right, apart from each other."""
        parts = []
        for fraction in ticks:
            top = self.height(fraction)
            parts.append(
                f'<line class="grid" x1="{self.left}" x2="{self.right}" y1="{top:.1f}" y2="{top:.1f}"/>'
                f'<text class="axis" x="{self.left - 6}" y="{top + 4:.1f}" text-anchor="end">{fraction * 100:.0f} %</text>'
            )
        before = -_APART
        for kind, fraction, label in sorted(self.limits, key=lambda limit: -limit[1]):
            top = self.height(fraction)
            before = max(top, before + _APART)
            parts.append(
                f'<line class="limit {kind}" x1="{self.left}" x2="{self.right}" y1="{top:.1f}" y2="{top:.1f}"/>'
                f'<text class="axis" x="{self.right + 4}" y="{before + 4:.1f}">{for_html(label, 20)}</text>'
            )
        return "".join(parts)


class _ValuePlot:
    """The place of a plot of values with a unit: `ticks` [(value, label)], room at the right for the names of its limits."""

    def __init__(self, ticks_shown, limits, left):
        self.ticks, self.limits = ticks_shown, [limit for limit in limits if ticks_shown[0][0] <= limit[1] <= ticks_shown[-1][0]]
        self.log = ticks_shown[0][0] > 0
        names = max((text_width(label) for _kind, _value, label in self.limits), default=0)
        self.left, self.right = left, WIDTH - (round(names) + 6)
        self.width = self.right - self.left

    def height(self, value):
        """Where a value lies; what is beyond the ticks stays at the edge."""
        low, high = self.ticks[0][0], self.ticks[-1][0]
        value = min(max(value, low), high)
        share = math.log(value / low) / math.log(high / low) if self.log else value / high
        return _BOTTOM - (_BOTTOM - _TOP) * share

    def grid(self):
        """Lines at the ticks with their names at the left, at the limits with their names at the right, apart from each other."""
        parts = []
        for value, label in self.ticks:
            top = self.height(value)
            parts.append(
                f'<line class="grid" x1="{self.left}" x2="{self.right}" y1="{top:.1f}" y2="{top:.1f}"/>'
                f'<text class="axis" x="{self.left - 6}" y="{top + 4:.1f}" text-anchor="end">{for_html(label, 20)}</text>'
            )
        before = -_APART
        for kind, value, label in sorted(self.limits, key=lambda limit: -limit[1]):
            top = self.height(value)
            before = max(top, before + _APART)
            parts.append(
                f'<line class="limit {kind}" x1="{self.left}" x2="{self.right}" y1="{top:.1f}" y2="{top:.1f}"/>'
                f'<text class="axis" x="{self.right + 4}" y="{before + 4:.1f}">{for_html(label, 20)}</text>'
            )
        return "".join(parts)


def _runs(values):
    """The indexes of the values, gaps apart."""
    runs, current = [], []
    for index, value in enumerate(values):
        if value is None:
            runs, current = runs + ([current] if current else []), []
        else:
            current.append(index)
    return runs + ([current] if current else [])


def _chunks(count):
    """Indexes in at most SLICES runs of about the same length."""
    most = min(count, SLICES)
    edges = [number * count // most for number in range(most + 1)] if most else [0]
    return [range(start, end) for start, end in zip(edges, edges[1:])]


def _slices(line):
    """The indexes that are drawn, gaps apart: of each slice the lowest and the highest sample, and both ends."""
    segments, current = [], []
    for chunk in _chunks(len(line)):
        known = [index for index in chunk if line[index] is not None]
        kept = {edge for edge in (0, len(line) - 1) if edge in known}
        if known:
            kept |= {min(known, key=line.__getitem__), max(known, key=line.__getitem__)}
        # Where a slice has gaps it is walked through: a gap ends a line.
        for index in sorted(kept) if len(known) == len(chunk) else chunk:
            if line[index] is None:
                segments += [current] if current else []
                current = []
            elif index in kept:
                current.append(index)
    return segments + ([current] if current else [])


def spread(count, most):
    """At most `most` indexes, the first and the last among them."""
    return range(count) if count <= most else sorted({round(number * (count - 1) / (most - 1)) for number in range(most)})


def _straight(points):
    """The points without those that lie level between two others."""
    kept = points[:1]
    for before, point, after in zip(points, points[1:], points[2:]):
        if not abs(before[1] - point[1]) < 0.05 > abs(point[1] - after[1]):
            kept.append(point)
    return kept + points[-1:] if len(points) > 1 else kept


def _points(pairs):
    return " ".join(f"{_short(left)},{_short(top)}" for left, top in pairs)


def _short(value):
    return f"{value:.1f}".removesuffix(".0")


def _open(title, said, height=HEIGHT):
    label = for_html(f"{title}: {said}" if said else title, 900)
    return f'<svg class="chart lines" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}">'
