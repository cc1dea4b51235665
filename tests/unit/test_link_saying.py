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
