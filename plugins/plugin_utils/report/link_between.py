# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What is wrong between two hosts of a link test and is no fault of either, in words."""

from __future__ import annotations

from .network_record import loss_words
from .network_words import amount, joined, percent


def words(view, pair):
    """The words for a pair of a host's measurement; "" where nothing is wrong, or one of both hosts is named for it."""
    here = pair.get("only_here")
    if not isinstance(here, dict):
        return ""
    slow = amount(here, "slow_fraction")
    shown = [] if slow is None else [view.text("map_only_slow", share=percent(view, slow))]
    said = joined(view, [*shown, loss_words(view, here)])
    return view.text("map_only_here", said=said) if said else ""
