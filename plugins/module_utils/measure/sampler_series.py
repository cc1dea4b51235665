# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Streaming statistics of a fixed size: a run of a week takes no more memory than one of a minute. Pure."""

from __future__ import annotations


class Histogram(object):
    """Fractions (0 to 1) weighted by the seconds they held, kept in hundredths: the step in which NVML tells utilisation."""

    def __init__(self):
        self.weights, self.total, self.sum, self.peak, self.count = [0.0] * 101, 0.0, 0.0, None, 0

    def add(self, fraction, seconds):
        if fraction is None or seconds <= 0:
            return
        fraction = min(1.0, max(0.0, fraction))
        self.weights[int(fraction * 100 + 0.5)] += seconds
        self.total += seconds
        self.sum += fraction * seconds
        self.peak = fraction if self.peak is None else max(self.peak, fraction)
        self.count += 1

    def mean(self):
        return self.sum / self.total if self.total else None

    def quantile(self, share):
        """The smallest fraction below or at which `share` of the time was spent; None without any sample."""
        if not self.total:
            return None
        wanted, passed = share * self.total, 0.0
        for hundredths, seconds in enumerate(self.weights):
            passed += seconds
            if seconds and passed >= wanted - 1e-9:
                return hundredths / 100.0
        return self.peak


class Mean(object):
    """Mean weighted by seconds, and the peak."""

    def __init__(self):
        self.total, self.sum, self.peak = 0.0, 0.0, None

    def add(self, value, seconds):
        if value is None or seconds <= 0:
            return
        self.total += seconds
        self.sum += value * seconds
        self.peak = value if self.peak is None else max(self.peak, value)

    def mean(self):
        return self.sum / self.total if self.total else None


class Series(object):
    """A time series of at most `cap` points. When it is full each two neighbours become one: a peak column keeps the greater value, a mean
    column the mean, and every further point then covers twice as many samples. Missing values (None) stay missing where both are.

    >>> series = Series(4, {"used": "peak"})
    >>> for second, used in enumerate((1, 9, 2, 3, 4)):
    ...     series.add(second, {"used": used})
    >>> series.times(), series.column("used"), series.stride
    ([0, 2, 4], [9, 3, 4], 2)
    """

    def __init__(self, cap, columns):
        # Even, so that every point covers as many samples when two become one.
        self.cap, self.kinds, self.stride = max(2, cap - cap % 2), dict(columns), 1
        self._times, self._values = [], {name: [] for name in columns}
        self._open = 0

    def add(self, time, values):
        if not self._open:
            if len(self._times) >= self.cap:
                self._halve()
            self._times.append(time)
            for name, column in self._values.items():
                column.append(values.get(name))
        else:
            for name, column in self._values.items():
                column[-1] = _join(self.kinds[name], column[-1], values.get(name), self._open)
        self._open = (self._open + 1) % self.stride

    def _halve(self):
        self._times = self._times[::2]
        for name, column in self._values.items():
            pairs = [column[at:at + 2] for at in range(0, len(column), 2)]
            self._values[name] = [_join(self.kinds[name], pair[0], pair[1], 1) if len(pair) > 1 else pair[0] for pair in pairs]
        self.stride *= 2

    def times(self):
        return list(self._times)

    def column(self, name):
        return list(self._values[name])

    def names(self):
        return list(self._values)


def _join(kind, left, right, weight):
    """One value for two; the left one stands for `weight` samples, the right one for one."""
    if left is None or right is None:
        return right if left is None else left
    return max(left, right) if kind == "peak" else (left * weight + right) / (weight + 1.0)


def percentile(values, share):
    """Linear between the nearest ranks (as numpy's default); None for no values."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
