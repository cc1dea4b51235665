# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What is said before a link test begins and when it is over: bytes, rates, who is slow or loses, by how much."""

from __future__ import annotations

import re

import pytest
from test_link_losses import hosts, measured, results_of
from test_link_store import place

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints, link_plan, link_rounds, link_saying, link_store

SETTINGS = {"seconds": "10", "omit_seconds": "1", "parallel": "0", "udp": "True", "udp_bits_per_second": 10000000, "ports": "5201-5300"}


def results(rates=None, virtual=True, dead=(), count=4, **losses):
    """Of a group on 100 Mbit/s, some of whose hosts are slower."""
    names = hosts(count)
    link = {"line_rate_bits_per_second": None, "link_kind": "virtual"} if virtual else {"line_rate_bits_per_second": 10**8}
    data = {"hosts": {name: place(number + 1, **link) for number, name in enumerate(names)}, "rounds": link_rounds.rounds(names)}
    pairs = measured(names, dead=dead, **losses)
    for pair in pairs:
        share = min((rates or {}).get(pair[end], 1) for end in ("client", "server"))
        for way in ("send", "receive"):
            if pair[way]:
                pair[way]["bytes_per_second"] *= share
    numbered = [({"n": 1, "round": 1, "client": pair["client"], "server": pair["server"]}, pair) for pair in pairs]
    return link_store.host_results(data, numbered, {})


@pytest.mark.parametrize(("language", "words"), [
    ("en", "sends 19 Mbit/s, receives 19 Mbit/s; slow: 20 % of the group's median of 95.2 Mbit/s"),
    ("zh", "发送 19 Mbit/s，接收 19 Mbit/s；偏慢：同组中位数 95.2 Mbit/s 的 20 %"),
])
def test_a_slow_host_and_by_how_much(language, words):
    found = results({"n3": 0.2})
    assert link_saying.of_host(found["n3"], language) == words
    said = link_saying.conclusion(found, [], [], language)
    assert words in said and "n3" in said and not re.search("n[124]", said)


@pytest.mark.parametrize(("language", "words"), [("en", "slow: 19 % of the line rate of 100 Mbit/s"), ("zh", "偏慢：线速 100 Mbit/s 的 19 %")])
def test_a_slow_host_on_a_line_whose_rate_is_known(language, words):
    assert words in link_saying.conclusion(results({"n3": 0.2}, virtual=False), [], [], language)


@pytest.mark.parametrize(("language", "words"), [
    ("en", "5 % of the UDP packets sent to it get lost, 5 % of the TCP segments sent to it are sent again"),
    ("zh", "丢包：发往它的 UDP 包丢失 5 %，发往它的 TCP 段重传 5 %"),
])
def test_a_lossy_host_and_by_how_much(language, words):
    said = link_saying.conclusion(results(receives={"n2": 0.05}), [], [], language)
    assert words in said and "n2" in said and not re.search("n[134]", said)
    sends = link_saying.conclusion(results(sends={"n2": 0.05}), [], [], language)
    assert ("that it sends get lost" if language == "en" else "其发送的 UDP 包丢失") in sends


@pytest.mark.parametrize("language", ["en", "zh"])
def test_of_two_hosts_each_line_says_that_nobody_can_tell(language):
    found = results_of(2, receives={"n2": 0.05})
    said = link_saying.conclusion(found, [], [], language)
    assert said.count("isn't known" if language == "en" else "无法判断") == 2


@pytest.mark.parametrize(("language", "words", "fine"), [
    ("en", "n4 (no pair gave a figure)", "the links of 4 hosts: none is slow or loses packets"),
    ("zh", "n4（所有配对均无数据）", "4 台主机的链路：没有主机偏慢或丢包"),
])
def test_a_host_without_a_figure_is_named_and_its_partners_are_not(language, words, fine):
    found = results(dead={"n4"})
    said = link_saying.conclusion({name: found[name] for name in ("n1", "n2", "n3")}, ["n4"], [], language)
    assert words in said and not re.search("n[123]", said)
    assert ("pairs that failed: 1 of 3" if language == "en" else "3 个配对中有 1 个失败") in link_saying.of_host(found["n1"], language)
    assert link_saying.conclusion(results(), [], [], language) == fine


def group(count, change):
    """Results of a group whose pairs `change` alters, by their two hosts."""
    names = hosts(count)
    data = {"hosts": {name: place(number + 1) for number, name in enumerate(names)}, "rounds": link_rounds.rounds(names)}
    pairs = measured(names)
    for pair in pairs:
        for way in ("send", "receive"):
            pair[way]["bytes_per_second"] *= 100
            pair[way]["retransmits"] = 0
        change(pair, {pair["client"], pair["server"]})
    numbered = [({"n": 1, "round": 1, "client": pair["client"], "server": pair["server"]}, pair) for pair in pairs]
    return link_store.host_results(data, numbered, {})


@pytest.mark.parametrize(("language", "words", "note"), [
    ("en", "between n1 and n2 only: 5 % of UDP packets get lost", "with n2 only: 5 % of UDP packets get lost"),
    ("zh", "仅 n1 与 n2 之间：UDP 包丢失 5 %", "仅与 n2 之间：UDP 包丢失 5 %"),
])
def test_what_two_hosts_lose_with_each_other_only_is_said(language, words, note):
    def lose(pair, ends):
        if ends == {"n1", "n2"}:
            pair["udp"]["lost_fraction"] = pair["udp_receive"]["lost_fraction"] = 0.05

    found = group(3, lose)
    said = link_saying.conclusion(found, [], [], language)
    assert said.endswith(words) and "n3" not in said
    assert note in [complaints.say(each, language) for each in found["n1"]["notes"]] and not found["n3"]["notes"][1:]


@pytest.mark.parametrize(("language", "words"), [("en", "between n1 and n2 only: 20 % of the speed"), ("zh", "仅 n1 与 n2 之间：速率为")])
def test_a_pair_that_is_slow_by_itself_is_said(language, words):
    def slow(pair, ends):
        if ends == {"n1", "n2"}:
            pair["send"]["bytes_per_second"] *= 0.2

    said = link_saying.conclusion(group(4, slow), [], [], language)
    assert words in said and not re.search("n[34]", said)


REFUSED = "10.0.0.4 port 5201 refused the connection: no server listens there, or a firewall rejects it (Connection refused)"


@pytest.mark.parametrize(("language", "words", "udp"), [
    ("en", "3 of 15 pairs failed: n1 and n2, n3 and n4 (no answer to n); n5 and n6 (%s)" % REFUSED,
     "no answer to UDP in 3 of 15 pairs: n1 and n2, n3 and n4 (no"),
    ("zh", "15 个配对中有 3 个失败：n1 与 n2，n3 与 n4（no answer to n）；n5 与 n6（%s）" % complaints.say(REFUSED, "zh"),
     "15 个配对中有 3 个的 UDP 没有应答：n1 与 n2，n3 与 n4（no"),
])
def test_failed_pairs_that_no_host_explains_are_named_with_the_reason(language, words, udp):
    apart = {frozenset(("n1", "n2")): ("timeout", "no answer to n"), frozenset(("n3", "n4")): ("timeout", "no answer to n4"),
             frozenset(("n5", "n6")): ("refused", REFUSED)}

    def fail(pair, ends):
        if frozenset(ends) in apart:
            kind, message = apart[frozenset(ends)]
            pair.update(send=None, receive=None, udp=None, udp_receive=None, error={"kind": kind, "message": message})

    def block(pair, ends):
        if frozenset(ends) in apart:
            kind, message = apart[frozenset(ends)]
            pair.update(udp=None, udp_receive=None, udp_error={"kind": kind, "message": message})

    for change, expected in ((fail, words), (block, udp)):
        said = link_saying.conclusion(group(6, change), [], [], language)
        assert expected in said and "none is slow" not in said and "没有主机偏慢" not in said
    # A host's own line says it too.
    assert "1 of 5 (%s)" % REFUSED in link_saying.of_host(group(6, fail)["n5"])


@pytest.mark.parametrize(("language", "words"), [("en", "no answer to UDP in 3 of 3 pairs"), ("zh", "3 个配对中有 3 个的 UDP 没有应答")])
def test_a_host_whose_udp_is_blocked_is_named_and_its_partners_are_not(language, words):
    def block(pair, ends):
        if "n2" in ends:
            pair.update(udp=None, udp_receive=None, udp_error={"kind": "timeout", "message": "no answer"})

    found = group(4, block)
    said = link_saying.conclusion(found, [], [], language)
    assert "n2" in said and words in said and not re.search("n[134]", said) and words in link_saying.of_host(found["n2"], language)
    assert "with n1: no answer" in found["n2"]["notes"]


@pytest.mark.parametrize(("language", "words", "own"), [
    ("en", "not known, since tested with faulty hosts only: n4", "tested only with hosts that lose packets (n1)"),
    ("zh", "未知（仅与有问题的主机互测）：n4", "仅与丢包的主机（n1）互测"),
])
def test_a_host_that_only_a_culprit_tested_is_unknown(language, words, own):
    def change(pair, ends):
        if "n4" in ends and "n1" not in ends:
            pair.update(send=None, receive=None, udp=None, udp_receive=None, error={"kind": "timeout", "message": "gone"})
        elif "n1" in ends:
            pair["udp"]["lost_fraction"] = pair["udp_receive"]["lost_fraction"] = 0.05

    found = group(4, change)
    assert words in link_saying.conclusion(found, [], [], language) and own in link_saying.of_host(found["n4"], language)
    named = link_saying.troubles(found["n4"], language)
    assert len(named) == 1 and ("pairs that failed" in named[0] or "失败" in named[0])


def test_what_nothing_can_judge_is_said_and_is_not_fine():
    said = link_saying.conclusion(results({"n1": 0.2}, count=2), [], [])
    assert "isn't judged" in said and "none is slow" not in said


def test_hosts_that_could_not_take_part_are_named():
    assert link_saying.conclusion(results(), [], ["n8", "n9"]).endswith("none is slow or loses packets; not tested: n8, n9")
    assert link_saying.conclusion(results(), [], ["n8"], "zh").endswith("；未测试：n8")


def test_many_names_are_counted():
    said = link_saying.conclusion({}, ["gpu%d" % number for number in range(50)], [])
    assert said.count("no pair gave") == 20 and "30 more" in said


# --- before it begins


def test_bytes_of_links_whose_rate_is_known():
    names = hosts(3)
    places = {name: place(number, line_rate_bits_per_second=10**10 if name != "n3" else 10**9) for number, name in enumerate(names)}
    asked = link_plan.options(SETTINGS)
    total, said = link_plan.moved(places, link_rounds.rounds(names), asked)
    # Three tries of 11 s each way, and 5 s of UDP: one pair at 10 Gbit/s, two at the slower end's 1 Gbit/s.
    assert total == (10**10 * 66 + 2 * 10**9 * 66 + 3 * 10 * 10**7) // 8 and len(said) == 1 and "moves up to 92.2 GiB" in said[0]
    assert "最多传输 92.2 GiB" in complaints.say(said[0], "zh")
    assert link_plan.moved(places, link_rounds.rounds(names), dict(asked, parallel=4, udp=False))[0] == (10**10 * 22 + 2 * 10**9 * 22) // 8


def test_bytes_of_links_whose_rate_is_not_known():
    places = {name: place(1, line_rate_bits_per_second=None) for name in hosts(3)}
    total, said = link_plan.moved(places, link_rounds.rounds(hosts(3)), link_plan.options(SETTINGS))
    assert total is None and said == ["of 3 pairs the line rate isn't known: each moves as much as its link carries in up to 66 s"]
    assert "66 秒" in complaints.say(said[0], "zh")


def test_settings_as_templates_leave_them():
    assert link_plan.options(SETTINGS)["udp"] is True and link_plan.options({"udp": "False"})["udp"] is False
    assert link_plan.options({"seconds": "2.0"})["seconds"] == 2
    assert link_plan.options({})["seconds"] == 10 and link_plan.options({"omit_seconds": 0})["omit_seconds"] == 0
