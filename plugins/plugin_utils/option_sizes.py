# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Sizes among the options of measuring modules: text as bytes, amounts too small to be meant, and units that -e lost. Pure."""

from __future__ import annotations

import re

from .numbers import format_value
from .workload import parse_size

# Ansible takes -e name='900 TiB' for name=900, and keeps the words after the space here.
_LEFT_OVER = "_raw_params"
_SIZE = re.compile(r"([kmgtpe]i?b?|b|bytes?)\b", re.IGNORECASE)
_UNIT = re.compile(r"([kmgtpe]i?(b|bits?)?(/s)?|[kmgtpe]?bps|b|bytes?|ms|s|sec(onds?)?|min(utes?)?|h|hours?|days?)(?![\w/])", re.IGNORECASE)
# Variables of the roles that take text for a size, and those that take a number in the unit of their name.
_TEXT = re.compile(r"measure_\w+_bytes")
_FIGURE = re.compile(r"(measure|probe)_\w+_(bytes|seconds|bits_per_second)")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_AS_TEXT = (
    "%(name)s: -e ends a value at its first space, so that this is %(value)s and not %(value)s %(unit)s. Leave the space out "
    "(-e %(name)s=%(value)s%(unit)s), or give JSON (-e '{\"%(name)s\": \"%(value)s %(unit)s\"}')"
)
_AS_FIGURE = (
    "%(name)s: -e ends a value at its first space, so that this is %(value)s and not %(value)s %(unit)s. Give a number in the unit of its "
    "name"
)


def as_bytes(key, value, least=0):
    """Bytes of an option, None where it is 0 as text (a variable of a role that is left as it is); ValueError for what is no size, and for
    less than `least`, which nobody means.
    """
    size = parse_size(value)
    if size is None:
        raise ValueError('%s: %r is no size; give bytes, or text such as "1.5 GiB"' % (key, value))
    if isinstance(value, str) and size == 0 and not re.search("[1-9]", value):
        return None
    # "0.4" may not become the size that stands where none is given.
    if 0 < size < least or size == 0 and value != 0:
        raise ValueError(
            "%s: %d bytes are too few to tell anything, give at least %s. Text with a space needs JSON on the command line "
            "(-e '{\"name\": \"1.5 GiB\"}'), or no space (-e name=1.5GiB)" % (key, size, format_value(max(least, 1), "bytes", "en"))
        )
    return size


def lost_unit(variables):
    """The sentence for a number on the command line whose unit Ansible took for another word; None where there is none.

    Nothing else that was left over is repeated: it may be the rest of a secret.

    >>> lost_unit({"measure_network_upload_bytes": "900", "_raw_params": "TiB"}).partition(":")[0]
    'measure_network_upload_bytes'
    """
    left = variables.get(_LEFT_OVER)
    unit = _UNIT.match(left.strip()) if isinstance(left, str) else None
    if unit is None:
        return None
    for wanted, how in ((_TEXT, _AS_TEXT), (_FIGURE, _AS_FIGURE)):
        for name in sorted(name for name in variables if isinstance(name, str) and wanted.fullmatch(name)):
            value = variables[name]
            if isinstance(value, str) and _NUMBER.fullmatch(value) and (wanted is _FIGURE or _SIZE.fullmatch(unit[0])):
                return how % {"name": name, "value": value, "unit": unit[0]}
    return None
