# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The frame of one subject's document: its values, where they came from, and why those that aren't there aren't."""

from __future__ import annotations

from ..sources.host_files import reason


class Subject(object):
    """Every field begins as null; `document()` is the finished dict with `sources` and `absent`."""

    def __init__(self, *fields):
        self.values = dict.fromkeys(fields)
        self.sources = {}
        self.absent = {}

    def put(self, source, values, may_be_none=()):
        """Takes {field: value}; a None is absent as not_supported unless None is an answer for that field."""
        for field, value in values.items():
            self.values[field] = value
            if value is not None or field in may_be_none:
                self.absent.pop(field, None)
                if source:
                    self.sources[field] = source
            else:
                self.absent.setdefault(field, "not_supported")

    def read(self, source, fields, function, *arguments, **options):
        """put() what function(*arguments) returns; where it can't be read or parsed, the fields are absent with the reason."""
        try:
            self.put(source, function(*arguments), **options)
        except (OSError, ValueError) as error:
            for field in fields:
                self.absent[field] = reason(error)

    def document(self):
        return dict(self.values, sources=self.sources, absent=self.absent)
