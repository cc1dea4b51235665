# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rounds of pairs: disjoint in a round, complete over all of them, none twice."""

from __future__ import annotations

import collections

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import link_rounds

COUNTS = [*range(2, 10), 64, 1000]


def hosts(count):
    return ["gpu%04d" % number for number in range(count)]


def disjoint(made):
    for pairs in made:
        names = [name for pair in pairs for name in pair]
        assert len(names) == len(set(names))


def never_twice(made):
    seen = [frozenset(pair) for pairs in made for pair in pairs]
    assert len(seen) == len(set(seen)) and all(len(pair) == 2 for pair in seen)
    return set(seen)


@pytest.mark.parametrize("count", [count for count in COUNTS if count < 1000])
def test_a_mesh_tests_every_pair_once_in_the_fewest_rounds(count):
    made = link_rounds.rounds(hosts(count), "mesh")
    disjoint(made)
    assert len(never_twice(made)) == count * (count - 1) // 2
    assert len(made) == (count - 1 if count % 2 == 0 else count)


@pytest.mark.parametrize("count", [*COUNTS, 17, 65, 999])
def test_log_rounds_test_every_host_in_every_round_save_one_when_odd(count):
    made = link_rounds.rounds(hosts(count), "log")
    disjoint(made)
    never_twice(made)
    assert len(made) == max(1, (count - 1).bit_length())
    for pairs in made:
        assert len(pairs) == count // 2
    tested = collections.Counter(name for pairs in made for pair in pairs for name in pair)
    assert set(tested) == set(hosts(count)) and max(tested.values()) - min(tested.values()) <= 1


@pytest.mark.parametrize("count", COUNTS)
def test_a_ring_tests_every_host_with_both_neighbours(count):
    made = link_rounds.rounds(hosts(count), "ring")
    disjoint(made)
    assert len(never_twice(made)) == (count if count > 2 else 1) and len(made) == (1 if count == 2 else 2 + count % 2)
    tested = collections.Counter(name for pairs in made for pair in pairs for name in pair)
    assert set(tested.values()) == {2 if count > 2 else 1}


def test_small_groups_are_meshed_and_large_ones_are_not():
    assert len(link_rounds.rounds(hosts(16))) == 15 and len(link_rounds.rounds(hosts(17))) == 5
    assert len(link_rounds.rounds(hosts(1000))) == 10


def test_partners_in_log_rounds_are_spread_over_the_list():
    made = link_rounds.rounds(hosts(64), "log")
    partners = sorted(int(name[3:]) for pairs in made for pair in pairs if "gpu0005" in pair for name in pair if name != "gpu0005")
    assert max(later - sooner for sooner, later in zip(partners, partners[1:])) < 32 and partners[-1] - partners[0] > 32


def test_too_few_hosts_and_wrong_words():
    assert link_rounds.rounds([]) == link_rounds.rounds(["a"]) == link_rounds.rounds(["a", "a"]) == []
    with pytest.raises(ValueError, match="'star' is no way to pair hosts"):
        link_rounds.rounds(["a", "b"], "star")


@given(st.integers(2, 80), st.sampled_from(link_rounds.MODES))
def test_any_number_of_hosts(count, mode):
    made = link_rounds.rounds(hosts(count), mode)
    disjoint(made)
    never_twice(made)
    assert all(made)
    assert {name for pairs in made for pair in pairs for name in pair} == set(hosts(count))


def test_two_names_of_one_machine_are_found():
    places = {"a": {"address": "192.0.2.1", "own_addresses": ["192.0.2.1", "192.0.2.2", "172.17.0.1"]},
              "b": {"address": "192.0.2.2", "own_addresses": ["192.0.2.1", "192.0.2.2", "172.17.0.1"]}}
    assert set(link_rounds.one_machine(places)[:2]) == {"a", "b"}
    # Copied machines, and those that have the same address for their containers.
    apart = {name: {"address": place["address"], "own_addresses": [place["address"], "172.17.0.1"]} for name, place in places.items()}
    assert link_rounds.one_machine(apart) is None and link_rounds.one_machine({"a": {"address": "192.0.2.1"}}) is None
