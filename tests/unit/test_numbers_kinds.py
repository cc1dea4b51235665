# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What counts as a number: true and false never do."""

from __future__ import annotations

import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import numbers
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.metrics import registry


class Whole(int):
    """As a parser may hand numbers out."""


@pytest.mark.parametrize("value, whole, number", [
    (1, True, True), (Whole(1), True, True), (0, True, True), (1.5, False, True), (True, False, False), (False, False, False), ("1", False, False),
    (None, False, False), ([1], False, False),
])
def test_numbers_and_what_only_looks_like_one(value, whole, number):
    assert numbers.is_whole(value) is whole and numbers.is_number(value) is number
    assert (registry.number({"a": value}, "a") == value) is (number or value is None)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 10**400, -(10**400), True])
def test_no_metric_is_made_of_what_is_no_sane_number(value):
    assert registry.number({"a": value}, "a") is None
