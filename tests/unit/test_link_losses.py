# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whose loss it is: the host's and not its partners', at whichever end the packets get lost, and nobody's where nobody can tell."""

from __future__ import annotations

import itertools

import judging
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_link_store import place, result

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import link_losses, link_reading, link_rounds, link_store

RATE, SECONDS = 11.9e6, 3.0
SEGMENTS = RATE * SECONDS / 1448


def hosts(count):
    return ["n%d" % number for number in range(1, count + 1)]


def measured(names, sends=None, receives=None, dead=(), mode="auto", udp=True, noise=lambda number: 1.0):
    """Pairs of a group whose hosts lose these shares of what they send and of what comes in; as iperf3 tells it, by senders only."""
    sends, receives, pairs = sends or {}, receives or {}, []
    for number, (client, server) in enumerate(itertools.chain(*link_rounds.rounds(names, mode))):
        pair = {"client": client, "server": server, "error": None, "path_mtu_bytes": 1500}
        if client in dead or server in dead:
            pairs.append(dict(pair, error={"kind": "refused", "message": "gone"}, send=None, receive=None, udp=None, udp_receive=None))
            continue
        for way, key, sender, receiver in (("send", "udp", client, server), ("receive", "udp_receive", server, client)):
            lost = max(sends.get(sender, 0), receives.get(receiver, 0)) * noise(number)
            pair[way] = {"bytes_per_second": RATE, "retransmits": round(lost * SEGMENTS), "seconds": SECONDS}
            pair[key] = {"bytes_per_second": 1.2e6, "jitter_seconds": 1e-5, "lost_fraction": lost} if udp else None
        pairs.append(pair)
    return pairs


def lossy(found, kind="retransmit"):
    return {host for host, losses in found.items() if (losses[kind + "_fraction"] or 0) > link_losses.LOSSY_FRACTION}


@pytest.mark.parametrize(("count", "mode"), [(3, "mesh"), (4, "mesh"), (8, "mesh"), (9, "mesh"), (8, "ring"), (9, "ring"), (64, "log")])
@pytest.mark.parametrize("way", ["sends", "receives"])
@pytest.mark.parametrize("kind", ["retransmit", "lost"])
def test_one_lossy_host_is_named_at_whichever_end_it_loses(count, mode, way, kind):
    names = hosts(count)
    found = link_losses.hosts_losses(measured(names, mode=mode, **{way: {"n2": 0.05}}), names)
    assert lossy(found, kind) == {"n2"} and found["n2"][kind + "_direction"] == way[:-1]
    assert found["n2"][kind + "_fraction"] == pytest.approx(0.05, rel=0.02)
    assert {losses["loss_undecided_with"] for losses in found.values()} == {None}


def test_nothing_is_lost_and_nothing_is_known():
    clean = link_losses.hosts_losses(measured(hosts(4)), hosts(4))
    assert {(each["retransmit_fraction"], each["lost_fraction"], each["lost_direction"]) for each in clean.values()} == {(0, 0, None)}
    none = link_losses.hosts_losses(measured(hosts(4), dead=set(hosts(4))), hosts(4))
    assert {value for each in none.values() for value in each.values()} == {None}


def test_two_lossy_hosts_of_four_are_named_alone():
    found = link_losses.hosts_losses(measured(hosts(4), receives={"n1": 0.05, "n2": 0.05}), hosts(4))
    assert lossy(found) == lossy(found, "lost") == {"n1", "n2"}


def test_of_two_hosts_nobody_can_tell():
    found = link_losses.hosts_losses(measured(hosts(2), receives={"n1": 0.05}), hosts(2))
    assert lossy(found) == {"n1", "n2"} and [found[name]["loss_undecided_with"] for name in hosts(2)] == ["n2", "n1"]
    clean = link_losses.hosts_losses(measured(hosts(2)), hosts(2))
    assert [losses["loss_undecided_with"] for losses in clean.values()] == [None, None]


def test_the_only_partner_left_clears_or_doesnt():
    pairs = [pair for pair in measured(hosts(3), receives={"n3": 0.05}) if {pair["client"], pair["server"]} != {"n2", "n3"}]
    found = link_losses.hosts_losses(pairs, hosts(3))
    assert lossy(found) == {"n3"} and found["n3"]["loss_undecided_with"] is None


@pytest.mark.parametrize("way", ["sends", "receives"])
def test_beside_a_proven_culprit_nobody_else_is_named(way):
    # n1 loses with all; n4's pairs with the others failed.
    pairs = [pair for pair in measured(hosts(4), **{way: {"n1": 0.05}})
             if "n4" not in (pair["client"], pair["server"]) or "n1" in (pair["client"], pair["server"])]
    found = link_losses.hosts_losses(pairs, hosts(4))
    for kind in ("lost", "retransmit"):
        assert lossy(found, kind) == {"n1"} and found["n4"][kind + "_fraction"] is None
    assert found["n4"]["loss_hidden_by"] == "n1" and {each["loss_undecided_with"] for each in found.values()} == {None}
    assert [found[name]["loss_hidden_by"] for name in ("n1", "n2", "n3")] == [None] * 3


def test_what_two_lose_with_each_other_only_is_theirs_and_no_hosts():
    pairs = measured(hosts(3))
    lossy_pair = next(pair for pair in pairs if {pair["client"], pair["server"]} == {"n1", "n2"})
    lossy_pair["udp"]["lost_fraction"] = 0.05
    found = link_losses.hosts_losses(pairs, hosts(3))
    assert lossy(found, "lost") == set()
    assert [link_losses.between_two(pair, found)["lost_fraction"] for pair in pairs] == [0.05 if pair is lossy_pair else None for pair in pairs]
    # What a host loses with all is its own.
    pairs = measured(hosts(4), receives={"n2": 0.05})
    found = link_losses.hosts_losses(pairs, hosts(4))
    assert {value for pair in pairs for value in link_losses.between_two(pair, found).values()} == {None}


def test_a_dead_host_takes_nothing_away():
    found = link_losses.hosts_losses(measured(hosts(4), receives={"n2": 0.05}, dead={"n4"}), hosts(4))
    assert lossy(found) == {"n2"} and found["n4"]["retransmit_fraction"] is None


@given(st.integers(4, 10), st.integers(0, 9), st.floats(0.02, 0.5), st.lists(st.floats(0.6, 1.0), min_size=45, max_size=45), st.booleans())
def test_whoever_loses_among_healthy_ones_is_the_one_named(count, culprit, share, noise, sends):
    name = hosts(count)[culprit % count]
    pairs = measured(hosts(count), noise=lambda number: noise[number % 45], **{"sends" if sends else "receives": {name: share}})
    assert lossy(link_losses.hosts_losses(pairs, hosts(count)), "lost") == {name}


def judged(name, results):
    document, inputs = judging.host()
    judging.measure(document, "link_benchmark", "links", {"seconds": 3, "session": "20261130T090400Z-3f9a1c"}, **results[name])
    return judging.judged(document, inputs)


def results_of(count, **losses):
    names = hosts(count)
    data = {"hosts": {name: place(number + 1) for number, name in enumerate(names)}, "rounds": link_rounds.rounds(names)}
    pairs = [(dict(n=1, round=1, client=pair["client"], server=pair["server"]), dict(result(), **pair)) for pair in measured(names, **losses)]
    return link_store.host_results(data, pairs, {})


@pytest.mark.parametrize(("language", "words"), [("en", "From n1: 5 % lost; from n2: 5 % lost"), ("zh", "来自 n1：丢失 5 %")])
def test_five_percent_at_one_host_reach_its_verdict_and_nobody_elses(language, words):
    results = results_of(4, receives={"n4": 0.05})
    assert results["n4"]["lost_fraction"] == 0.05 and results["n4"]["pairs"][0]["received_lost_fraction"] == 0.05
    entry = judged("n4", results)
    assert judging.status(entry, "network.link_lost_fraction") == "fail" and judging.status(entry, "network.link_retransmit_fraction") == "warn"
    for name in ("n1", "n2", "n3"):
        other = judged(name, results)
        assert {judging.status(other, "network.link_%s_fraction" % kind) for kind in ("lost", "retransmit")} == {"pass"}, name
    document, inputs = judging.host()
    judging.measure(document, "link_benchmark", "links", {"seconds": 3}, **results["n4"])
    said = judging.finding(judging.judged(document, inputs, language=language), "network.link_lost_fraction")["message"]
    assert words in said


@pytest.mark.parametrize(("language", "words"), [("en", "which of the two loses packets isn't known"), ("zh", "无法判断丢包发生在哪一台")])
def test_of_two_lossy_hosts_both_say_that_nobody_can_tell(language, words):
    document, inputs = judging.host()
    judging.measure(document, "link_benchmark", "links", {"seconds": 3}, **results_of(2, receives={"n2": 0.05})["n1"])
    entry = judging.judged(document, inputs, language=language)
    for kind in ("lost", "retransmit"):
        assert words in judging.finding(entry, "network.link_%s_fraction" % kind)["message"]


def test_a_session_of_an_older_version_has_one_direction_of_udp():
    pairs = measured(hosts(3), receives={"n3": 0.05})
    for pair in pairs:
        del pair["udp_receive"]
        assert link_reading.pair_problem(dict(result(), **pair)) is None
    # n2 sent UDP to nobody but n3, which loses with n1 as well: of n2 UDP tells nothing, TCP does.
    found = link_losses.hosts_losses(pairs, hosts(3))
    assert lossy(found, "lost") == {"n3"} and (found["n2"]["lost_fraction"], found["n2"]["loss_hidden_by"]) == (None, "n3")
    assert {each["loss_undecided_with"] for each in found.values()} == {None}
    assert lossy(found) == {"n3"}
