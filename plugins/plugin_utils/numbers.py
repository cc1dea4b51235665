# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Numbers for people: bytes -> "1.10 TiB", fractions -> "82 %", limits -> "≥ 4". Exact values stay in the report beside them."""

from __future__ import annotations

LARGEST = 2**100


def is_whole(value):
    """Whether a value is a whole number: true and false, which isinstance() takes for 1 and 0, are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value):
    """Whether a value is a number, finite or not; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


# unit key -> text behind the number. Bytes, fractions, truth and words have forms of their own.
UNITS = {
    "bytes": None,
    "fraction": None,
    "bool": None,
    "word": None,
    "count": "",
    "ratio": "×",
    "celsius": "°C",
    "watts": "W",
    "seconds": "s",
    "cores": "",
    "bytes_per_second": None,
    "": "",
}
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_YES_NO = {"en": ("yes", "no"), "zh": ("是", "否")}
# What passes a comparison that warns or fails.
_SIGNS = {"below": "≥", "above": "≤", "at_least": "<", "at_most": ">"}


def format_bytes(value):
    """Bytes as "1.10 TiB": three figures, binary units, a space between."""
    size = float(value)
    sign = "-" if size < 0 else ""
    size = abs(size)
    unit = 0
    # 1023.95 would print as 1024 after rounding: such a size belongs to the next unit.
    while size >= 1023.95 and unit < len(_BINARY) - 1:
        size /= 1024.0
        unit += 1
    if unit == 0:
        return "%s%d B" % (sign, round(size))
    return "%s%s %s" % (sign, _three_figures(size), _BINARY[unit])


def _three_figures(size):
    if size >= 99.95:
        return "%.0f" % size
    return "%.1f" % size if size >= 9.995 else "%.2f" % size


_BIT_RATES = ("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s")


def format_bit_rate(value):
    """Bits per second in three figures, as links are named everywhere: 9.41 Gbit/s, 100 Mbit/s."""
    size, index = float(value), 0
    # 999.5 would print as 1e+03 after rounding: such a rate belongs to the next unit.
    while abs(size) >= 999.5 and index < len(_BIT_RATES) - 1:
        size, index = size / 1000, index + 1
    return "%s %s" % (format_number(float("%.3g" % size)), _BIT_RATES[index])


def format_fraction(value):
    """A fraction as "82 %"; one decimal where it is needed not to hide a limit (0.847 -> "84.7 %")."""
    percent = round(value * 100.0, 1)
    return "%d %%" % percent if percent == int(percent) else "%.1f %%" % percent


def format_number(value):
    """A plain number without needless digits: 4 -> "4", 1.9375 -> "1.94"."""
    if isinstance(value, int):
        return str(value)
    return ("%.2f" % value).rstrip("0").rstrip(".") if abs(value) < 1000 else "%.0f" % value


def _small(value):
    """A number that would round to 0: 0.00034 -> "0.0003"."""
    return "%.1g" % value if value >= 0.0001 else "< 0.0001"


_TIMES = (("d", " 天", 86400), ("h", " 小时", 3600), ("min", " 分钟", 60), ("s", " 秒", 1))


def format_duration(seconds, language="en"):
    """Seconds in two units at most: 3 d 4 h, 12 min, 0.35 s."""
    side = 1 if language == "zh" else 0
    if not -LARGEST < seconds < LARGEST:
        return str(seconds)
    if 0 < abs(seconds) < 0.01:
        return "%.2g %s" % (seconds * 1000, "毫秒" if side else "ms")
    if abs(seconds) < 59.5:
        return format_number(seconds) + (" 秒" if side else " s")
    left, parts = int(round(abs(seconds))), []
    for english, chinese, size in _TIMES:
        amount, left = divmod(left, size)
        if amount:
            parts.append("%d%s" % (amount, chinese if side else " " + english))
        if parts and (len(parts) == 2 or not amount):
            break
    return ("-" if seconds < 0 else "") + " ".join(parts)


def format_short_duration(seconds, language="en"):
    """Seconds of an answer: three figures in milliseconds below one second, else as format_duration() says them."""
    if not 0 <= seconds < 0.9995:
        return format_duration(seconds, language)
    return "%g %s" % (float("%.3g" % (seconds * 1000)), "毫秒" if language == "zh" else "ms")


def format_value(value, unit="", language="en"):
    """`value` in its unit for people; None -> "-", words and lists as they are. Never raises on a JSON value."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return _YES_NO.get(language, _YES_NO["en"])[0 if value else 1]
    if isinstance(value, (list, tuple)):
        return ", ".join(format_value(entry, unit, language) for entry in value)
    # Not a number, not finite, or beyond anything that can be converted.
    if not isinstance(value, (int, float)) or not -LARGEST < value < LARGEST:
        return str(value)
    if unit == "bytes":
        return format_bytes(value)
    if unit == "bytes_per_second":
        return format_bytes(value) + "/s"
    if unit == "fraction":
        return format_fraction(value)
    if unit == "ratio":
        return (_small(value) if 0 < value < 0.005 else format_number(value)) + UNITS["ratio"]
    suffix = "秒" if unit == "seconds" and language == "zh" else UNITS.get(unit) or ""
    return format_number(value) + (" " + suffix if suffix else "")


def format_required(limit, unit="", language="en", tolerance=0):
    """What passes a limit ({"below": 4} -> "≥ 4"): the opposite of the comparison that warns or fails. "" for None."""
    if not limit:
        return ""
    ((comparison, bound),) = limit.items()
    joiner = "、" if language == "zh" else ", "
    if comparison == "one_of":
        return ("不为 " if language == "zh" else "none of ") + joiner.join(format_value(entry, unit, language) for entry in bound)
    if comparison == "none_of":
        return joiner.join(format_value(entry, unit, language) for entry in bound)
    text = format_value(bound, unit, language)
    if comparison in ("equals", "not_equals"):
        return text if comparison == "not_equals" else ("不为 " if language == "zh" else "not ") + text
    suffix = ("（容差 %s）" if language == "zh" else " (tolerance %s)") % format_value(tolerance, unit, language) if tolerance else ""
    return "%s %s%s" % (_SIGNS[comparison], text, suffix)
