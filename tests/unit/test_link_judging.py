# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whose link is slow: the host and not its partners, by direction, and nobody where nobody can tell."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import link_judging, link_rounds

FAST, SLOW = 1.18e9, 0.118e9
TEN_GIGABIT = {"line_rate_bits_per_second": 10_000_000_000, "link_kind": "physical"}
VIRTUAL = {"line_rate_bits_per_second": None, "link_kind": "virtual"}


def hosts(count):
    return ["gpu%d" % number for number in range(1, count + 1)]


def measured(names, send=None, receive=None, dead=(), mode="auto"):
    """Pairs of a group whose hosts send and receive as fast as these maps say, FAST where they don't."""
    send, receive, pairs = send or {}, receive or {}, []
    for client, server in itertools.chain(*link_rounds.rounds(names, mode)):
        if client in dead or server in dead:
            pairs.append(
                {"client": client, "server": server, "error": {"kind": "unreachable", "message": "gone"}, "send": None, "receive": None}
            )
            continue
        speed = [min(send.get(one, FAST), receive.get(other, FAST)) for one, other in ((client, server), (server, client))]
        pairs.append(
            {
                "client": client,
                "server": server,
                "error": None,
                "send": {"bytes_per_second": speed[0]},
                "receive": {"bytes_per_second": speed[1]},
            }
        )
    return pairs


def figures(names, link=None, **more):
    return link_judging.hosts_figures(measured(names, **more), {name: link or VIRTUAL for name in names})


def slow(found):
    return {host for host, figure in found.items() if (figure["fraction_of_line_rate"] or figure["fraction_of_group_median"] or 1) < 0.9}


@pytest.mark.parametrize("link", [VIRTUAL, TEN_GIGABIT], ids=["group", "line rate"])
@pytest.mark.parametrize(("count", "mode"), [(3, "mesh"), (4, "mesh"), (8, "mesh"), (9, "mesh"), (8, "ring"), (9, "ring"), (64, "log")])
def test_one_slow_host_is_named_and_its_partners_are_not(link, count, mode):
    found = figures(hosts(count), link, send={"gpu2": SLOW}, receive={"gpu2": SLOW}, mode=mode)
    assert slow(found) == {"gpu2"} and found["gpu2"]["bytes_per_second"] == SLOW
    assert {figure["judged_by"] for figure in found.values()} == {"line_rate" if link is TEN_GIGABIT else "group"}
    assert all(figure["undecided_with"] is None for figure in found.values())


def test_all_healthy():
    found = figures(hosts(8), TEN_GIGABIT)
    assert slow(found) == set()
    assert found["gpu1"]["fraction_of_line_rate"] == pytest.approx(0.944) and found["gpu1"]["slower_direction"] is None


@pytest.mark.parametrize("direction", ["send", "receive"])
def test_a_host_that_is_slow_one_way_is_named_with_the_way(direction):
    found = figures(hosts(8), **{direction: {"gpu3": SLOW}})
    assert slow(found) == {"gpu3"} and found["gpu3"]["slower_direction"] == direction
    assert found["gpu3"]["receive_bytes_per_second" if direction == "send" else "send_bytes_per_second"] == FAST


def test_of_two_hosts_nobody_can_tell():
    found = figures(hosts(2), send={"gpu1": SLOW}, receive={"gpu1": SLOW})
    assert [(figure["undecided_with"], figure["judged_by"]) for figure in found.values()] == [("gpu2", None), ("gpu1", None)]
    found = figures(hosts(2), TEN_GIGABIT, send={"gpu1": SLOW}, receive={"gpu1": SLOW})
    assert slow(found) == {"gpu1", "gpu2"} and found["gpu2"]["undecided_with"] == "gpu1"


def test_two_slow_hosts_of_four_are_named_alone():
    rates = {"gpu1": SLOW, "gpu2": SLOW}
    assert slow(figures(hosts(4), TEN_GIGABIT, send=rates, receive=rates)) == {"gpu1", "gpu2"}


def test_a_dead_host_has_no_figures_and_takes_none_away():
    found = figures(hosts(4), dead={"gpu4"}, send={"gpu2": SLOW}, receive={"gpu2": SLOW})
    assert found["gpu4"]["bytes_per_second"] is None and found["gpu4"]["judged_by"] is None
    assert slow(found) == {"gpu2"}


def test_the_only_partner_left_clears_or_doesnt():
    # gpu3 reached gpu1 only, which is fine with gpu2: a slow pair is gpu3's own.
    pairs = [
        pair
        for pair in measured(hosts(3), send={"gpu3": SLOW}, receive={"gpu3": SLOW})
        if {pair["client"], pair["server"]} != {"gpu2", "gpu3"}
    ]
    found = link_judging.hosts_figures(pairs, {name: TEN_GIGABIT for name in hosts(3)})
    assert slow(found) == {"gpu3"} and found["gpu3"]["undecided_with"] is None
    # gpu1 is the slow one, with gpu2 and gpu4 too: of gpu3, which reached it only, nothing is known.
    pairs = [
        pair
        for pair in measured(hosts(4), send={"gpu1": SLOW}, receive={"gpu1": SLOW})
        if "gpu3" not in (pair["client"], pair["server"]) or "gpu1" in (pair["client"], pair["server"])
    ]
    for link in (TEN_GIGABIT, VIRTUAL):
        found = link_judging.hosts_figures(pairs, {name: link for name in hosts(4)})
        assert slow(found) == {"gpu1"} and {figure["undecided_with"] for figure in found.values()} == {None}
        assert (found["gpu3"]["judged_by"], found["gpu3"]["hidden_by"], found["gpu3"]["bytes_per_second"]) == (None, "gpu1", SLOW)
        assert [found[name]["hidden_by"] for name in ("gpu1", "gpu2", "gpu4")] == [None] * 3


@pytest.mark.parametrize("link", [VIRTUAL, TEN_GIGABIT], ids=["group", "line rate"])
def test_a_fault_in_the_direction_that_is_known_is_named_all_the_same(link):
    # gpu1 receives slowly, gpu3 reached it only: what gpu3 sends isn't known, what it receives is slow by itself.
    pairs = [pair for pair in measured(hosts(4), receive={"gpu1": SLOW, "gpu3": SLOW})
             if "gpu3" not in (pair["client"], pair["server"]) or "gpu1" in (pair["client"], pair["server"])]
    found = link_judging.hosts_figures(pairs, {name: link for name in hosts(4)})
    assert slow(found) == {"gpu1", "gpu3"} and found["gpu3"]["hidden_by"] is None


def test_a_pair_that_is_slow_by_itself_is_found():
    pairs = measured(hosts(4))
    slow_pair = next(pair for pair in pairs if {pair["client"], pair["server"]} == {"gpu1", "gpu2"})
    slow_pair["send"]["bytes_per_second"] = SLOW
    found = link_judging.hosts_figures(pairs, {name: VIRTUAL for name in hosts(4)})
    assert slow(found) == set()
    assert [link_judging.between_two(pair, found) for pair in pairs] == [SLOW / FAST if pair is slow_pair else None for pair in pairs]
    pairs = measured(hosts(4), send={"gpu1": SLOW}, receive={"gpu1": SLOW})
    found = link_judging.hosts_figures(pairs, {name: VIRTUAL for name in hosts(4)})
    assert {link_judging.between_two(pair, found) for pair in pairs} == {None}


def test_a_slower_partner_by_its_kind_is_no_fault():
    names = hosts(4)
    links = {name: dict(TEN_GIGABIT, line_rate_bits_per_second=25_000_000_000) for name in names}
    links["gpu1"] = TEN_GIGABIT
    fast = {name: 2.9e9 for name in names}
    fast["gpu1"] = FAST
    found = link_judging.hosts_figures(measured(names, send=fast, receive=fast), links)
    assert slow(found) == set()


def test_links_above_100_gigabit_and_virtual_ones_are_judged_by_the_group():
    for link in ({"line_rate_bits_per_second": 400_000_000_000, "link_kind": "physical"}, dict(TEN_GIGABIT, link_kind="virtual")):
        assert {figure["judged_by"] for figure in figures(hosts(3), link).values()} == {"group"}
    assert figures(hosts(3), dict(TEN_GIGABIT, line_rate_bits_per_second=100_000_000_000))["gpu1"]["judged_by"] == "line_rate"


@given(st.integers(4, 12), st.integers(0, 11), st.floats(0.01, 0.6), st.lists(st.floats(0.97, 1.0), min_size=66, max_size=66))
def test_whoever_is_slow_among_healthy_ones_is_the_one_named(count, culprit, share, noise):
    names = hosts(count)
    name = names[culprit % count]
    pairs = measured(names, send={name: FAST * share}, receive={name: FAST * share})
    for pair, wobble in zip(pairs, noise):
        pair["send"]["bytes_per_second"] *= wobble
    assert slow(link_judging.hosts_figures(pairs, {each: VIRTUAL for each in names})) == {name}
