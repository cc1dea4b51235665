# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Puts odd values into nested documents: every place of one, and a copy in which some of them hold something else."""

from __future__ import annotations

import copy

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=-(2**70), max_value=2**70),
    st.just(10**400),
    st.just(-1),
    st.just(0),
    st.floats(),
    st.text(max_size=30),
    st.just("x" * 5000),
    st.just("\ud800{}%s<script>"),
    st.just([]),
    st.just({}),
    st.just([[]]),
    st.just([{"a": None}]),
    st.just({"error": "boom"}),
    st.just([1, None, "x"]),
)
FEW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def places(value, at=(), most=None):
    """Every path into a nested document, containers included; of a list its first `most` entries, all of them without."""
    found = [at] if at else []
    children = value.items() if isinstance(value, dict) else enumerate(value[:most]) if isinstance(value, list) else ()
    for key, child in children:
        found += places(child, at + (key,), most)
    return found


def put(document, path, value):
    """Replaces what lies at a path, nothing where the path leads into something else."""
    target = document
    for key in path[:-1]:
        target = target[key]
        if not isinstance(target, (dict, list)) or isinstance(target, list) and path[-1] is None:
            return
    if isinstance(target, dict) or isinstance(target, list) and isinstance(path[-1], int) and path[-1] < len(target):
        target[path[-1]] = copy.deepcopy(value)


def damaged(original, changes):
    """A copy with these [(path, value)] in it, one after another."""
    document = copy.deepcopy(original)
    for path, value in changes:
        try:
            put(document, path, value)
        except (KeyError, IndexError, TypeError):
            # An earlier change took the place away.
            continue
    return document
