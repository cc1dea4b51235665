# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Judging the link test and the ports: speed against line or group, loss, MTU, counters, flaps, what is expected of the host."""

from __future__ import annotations

import copy
import json

import judging
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import causes, expected, link_judging, measurement_store, metrics, waivers
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.metrics import link_speed
from hypothesis import given
from hypothesis import strategies as st
from test_judge_network import loaded, moved, step
from damage import FEW, ODD, damaged, places
from test_judge_properties import check_entry

G = 10**9
DOWN = {"kind": "refused", "message": "iperf3: Connection refused"}


def pair(peer="node-02", rate=23.5 * G / 8, retransmits=0, error=None):
    return {
        "peer": peer,
        "send_bytes_per_second": rate,
        "receive_bytes_per_second": rate,
        "retransmits": retransmits,
        "rtt_seconds": 0.0001,
        "error": error,
    }


def linked(facts=None, **result):
    """A host on a good 25 Gb/s link that three others were tested with, as `result` changes it."""
    document, inputs = judging.host(change=facts)
    figures = {
        "send_bytes_per_second": 23.5 * G / 8,
        "receive_bytes_per_second": 23.4 * G / 8,
        "line_rate_bits_per_second": 25 * G,
        "fraction_of_line_rate": 0.936,
        "group_median_bytes_per_second": 23.4 * G / 8,
        "fraction_of_group_median": 1.0,
        "judged_by": "line_rate",
        "undecided_with": None,
        "pairs": [pair("node-0%d" % number) for number in (2, 3, 4)],
        "rtt_seconds": 0.0001,
        "jitter_seconds": 1e-5,
        "lost_fraction": 0.0,
        "path_mtu_bytes": 9000,
        "interface": "eth0",
        "counters_growth": {},
        "parallel": 4,
    }
    judging.measure(document, "link_benchmark", "links", {"seconds": 10}, **dict(figures, **result))
    return document, inputs


def found(host, check, **how):
    return judging.finding(judging.judged(*host, **how), check)


def is_silent(host, check):
    return check not in [finding["check"] for finding in judging.judged(*host)["findings"]]


# --- speed ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line, fraction, warns, fails",
    [
        (25, 0.94, "pass", "pass"),
        (25, 0.9, "pass", "pass"),
        (25, 0.899, "warn", "pass"),
        (25, 0.80, "warn", "pass"),
        (25, 0.799, "warn", "fail"),
        # The floors of storage and network reference: 0.85 up to 10 Gb/s, 0.80 above.
        (1, 0.85, "warn", "pass"),
        (1, 0.849, "warn", "fail"),
        (10, 0.849, "warn", "fail"),
        (40, 0.80, "warn", "pass"),
        (100, 0.79, "warn", "fail"),
        (2.5, 0.849, "warn", "fail"),
        (50, 0.81, "warn", "pass"),
        (0.1, 0.2, "warn", "fail"),
    ],
)
def test_the_line_rate_judges_physical_links(line, fraction, warns, fails):
    host = linked(line_rate_bits_per_second=line * G, fraction_of_line_rate=fraction)
    assert found(host, "network.link_fraction_of_line_rate")["status"] == warns
    floor = found(host, "network.link_floor_ratio")
    assert floor["status"] == fails
    assert floor["actual"] == pytest.approx(fraction / (0.85 if line <= 10 else 0.8), rel=1e-5)
    assert found(host, "network.link_fraction_of_group_median")["status"] == "not_applicable"


@pytest.mark.parametrize("fraction, status", [(1.2, "pass"), (0.9, "pass"), (0.89, "warn"), (0.8, "warn"), (0.79, "fail"), (0.09, "fail")])
def test_the_group_judges_the_others(fraction, status):
    host = linked(judged_by="group", fraction_of_line_rate=None, fraction_of_group_median=fraction)
    assert found(host, "network.link_fraction_of_group_median")["status"] == status
    for check in ("network.link_fraction_of_line_rate", "network.link_floor_ratio"):
        finding = found(host, check)
        assert finding["status"] == "not_applicable"
    assert "virtual" in judging.judged(*host)["absent"]["network.link_fraction_of_line_rate"]


def test_a_link_that_nothing_can_judge_is_not_applicable_and_says_why():
    entry = judging.judged(*linked(judged_by=None))
    for name in ("network.link_fraction_of_line_rate", "network.link_floor_ratio", "network.link_fraction_of_group_median"):
        assert judging.status(entry, name) == "not_applicable" and "fewer than three" in entry["absent"][name]


@pytest.mark.parametrize("value", [None, -0.5, float("nan"), "0.5", True, [], 10**400])
@pytest.mark.parametrize(
    "how, field, check",
    [
        ("line_rate", "fraction_of_line_rate", "network.link_fraction_of_line_rate"),
        ("line_rate", "fraction_of_line_rate", "network.link_floor_ratio"),
        ("group", "fraction_of_group_median", "network.link_fraction_of_group_median"),
        ("line_rate", "line_rate_bits_per_second", "network.link_floor_ratio"),
    ],
)
def test_a_share_that_is_none_is_unknown(how, field, check, value):
    assert found(linked(judged_by=how, **{field: value}), check)["status"] == "unknown"


@pytest.mark.parametrize(
    "how, field, value, checks",
    [
        ("line_rate", "fraction_of_line_rate", 1e8, ("network.link_fraction_of_line_rate", "network.link_floor_ratio")),
        ("line_rate", "fraction_of_line_rate", 1.26, ("network.link_fraction_of_line_rate", "network.link_floor_ratio")),
        ("group", "fraction_of_group_median", 1e8, ("network.link_fraction_of_group_median",)),
    ],
)
def test_a_share_that_no_link_has_is_unknown(how, field, value, checks):
    for check in checks:
        assert found(linked(judged_by=how, **{field: value}), check)["status"] == "unknown"
    assert found(linked(judged_by=how, **{field: 1.02}), checks[0])["status"] == "pass"


def test_a_slow_host_is_named_and_its_partners_are_not():
    # Four hosts on 10 Gb/s, one of them on a bad line: by hand every pair with "b" carries 4, the others 9.4.
    names = "abcd"
    pairs = [
        {
            "client": one,
            "server": other,
            "error": None,
            **{way: {"bytes_per_second": (4 if "b" in (one, other) else 9.4) * G / 8} for way in ("send", "receive")},
        }
        for at, one in enumerate(names)
        for other in names[at + 1 :]
    ]
    figures = link_judging.hosts_figures(pairs, {name: {"line_rate_bits_per_second": 10 * G, "link_kind": "physical"} for name in names})
    statuses = {}
    for name in names:
        own = {key: value for key, value in figures[name].items() if key != "slower_direction"}
        statuses[name] = found(linked(line_rate_bits_per_second=10 * G, **own), "network.link_floor_ratio")["status"]
    assert statuses == {"a": "pass", "b": "fail", "c": "pass", "d": "pass"}


@pytest.mark.parametrize(
    "language, words",
    [
        (
            "en",
            "Receives 8 Gbit/s; sends 23.5 Gbit/s; the line carries 25 Gbit/s, of which TCP reaches at most 99 % with the packets of this "
            "path. Measured 2026-11-29 12:20 UTC.",
        ),
        ("zh", "接收 8 Gbit/s；发送 23.5 Gbit/s；线速 25 Gbit/s，以该路径的包大小 TCP 最多达到其 99 %。测于 2026-11-29 12:20 UTC。"),
    ],
)
def test_what_a_slow_link_says(language, words):
    host = linked(receive_bytes_per_second=G, fraction_of_line_rate=0.32)
    assert words in found(host, "network.link_floor_ratio", language=language)["message"]


@pytest.mark.parametrize(
    "change, word",
    [
        ({"counters_growth": {"eth0.rx_errors": 5}}, "transceiver"),
        ({"lost_fraction": 0.05}, "policer"),
        ({"pairs": [pair(retransmits=90000)]}, "policer"),
        ({"black_hole": True}, "one MTU"),
        ({"undecided_with": "node-02"}, "third host"),
        ({"receive_bytes_per_second": G}, "One direction"),
        # 3 MiB a round trip of 30 ms are 839 Mbit/s a stream: four of them are about what was measured; far less has another cause.
        ({"rtt_seconds": 0.03, "send_bytes_per_second": 0.4 * G, "receive_bytes_per_second": 0.38 * G}, "tcp_rmem"),
        ({"rtt_seconds": 0.03, "send_bytes_per_second": 0.1 * G, "receive_bytes_per_second": 0.1 * G}, None),
        ({"rtt_seconds": 0.03}, None),
        ({}, None),
    ],
)
def test_the_advice_goes_by_what_else_was_seen(change, word):
    finding = found(linked(**{"fraction_of_line_rate": 0.3, **change}), "network.link_floor_ratio")
    assert finding["status"] == "fail" and (word in finding["advice"] if word else "advice" not in finding)


@pytest.mark.parametrize("language, words", [("en", "TCP windows of 3 MiB allow 3.36 Gbit/s"), ("zh", "3 MiB 的 TCP 窗口允许 3.36 Gbit/s")])
def test_a_speed_that_is_that_of_the_window_says_so(language, words):
    far = linked(fraction_of_line_rate=0.13, rtt_seconds=0.03, send_bytes_per_second=0.4 * G, receive_bytes_per_second=0.38 * G)
    assert words in found(far, "network.link_floor_ratio", language=language)["message"]


def test_two_hosts_can_not_tell_which_of_them_is_slow():
    finding = found(linked(fraction_of_line_rate=0.3, undecided_with="node-02"), "network.link_floor_ratio")
    assert "tested with node-02 only, so which of the two is slow isn't known" in finding["message"]


def test_one_link_is_one_cause():
    entry = judging.judged(*linked(fraction_of_line_rate=0.3))
    bad = {finding["check"]: finding for finding in entry["findings"] if finding["status"] in ("fail", "warn")}
    assert {"network.link_floor_ratio", "network.link_fraction_of_line_rate"} <= set(bad)
    assert causes.follows("network.link_fraction_of_line_rate", bad)


# --- pairs, loss, latency, packets ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "failed, of, status", [(0, 3, "pass"), (1, 3, "pass"), (1, 2, "warn"), (2, 3, "warn"), (3, 3, "fail"), (1, 1, "fail")]
)
def test_pairs_that_failed(failed, of, status):
    finding = found(linked(pairs=[pair("n%d" % at, error=DOWN if at < failed else None) for at in range(of)]), "network.link_pairs_failed")
    assert finding["status"] == status and finding["actual"] == pytest.approx(failed / of, rel=1e-5)
    assert status == "pass" or "With n0: iperf3: Connection refused" in finding["message"]


LONG = (
    "send: 10.88.1.3 port 5201 can't be reached: no answer to the connection, a firewall drops it (unable to connect to server: Connection timed "
    "out). Open the ports of measure_network_link_ports between the hosts"
)


@pytest.mark.parametrize(("language", "words"), [("en", LONG), ("zh", "请在主机之间放行 measure_network_link_ports 中的端口")])
def test_why_a_pair_failed_is_told_whole_and_in_the_language_of_the_report(language, words):
    message = found(linked(pairs=[pair("n0", error={"kind": "timeout", "message": LONG})]), "network.link_pairs_failed", language=language)["message"]
    assert words in message and ("can't be reached" in message) == (language == "en")


@pytest.mark.parametrize(
    "error, status",
    [
        ("no pair of 3 gave a figure; the first: Connection refused", "fail"),
        ("no pair of 3 gave a figure; the first: the play ended before this pair's turn", "unknown"),
        ("iperf3 isn't there", "unknown"),
    ],
)
def test_a_link_test_that_gave_nothing_says_so_and_passes_nothing(error, status):
    document, inputs = linked()
    del document["measurements"][-1]["result"]
    document["measurements"][-1]["error"] = error
    entry = judging.judged(document, inputs)
    finding = judging.finding(entry, "network.link_pairs_failed")
    assert finding["status"] == status and error.rpartition(": ")[2] in finding["message"]
    assert not [
        each
        for each in entry["findings"]
        if each["check"].startswith("network.link_") and each["status"] == "pass" and each["check"] != "network.link_flaps"
    ]


@pytest.mark.parametrize(
    "error, status, words",
    [
        ("no pair of 3 gave a figure; the first: timed out", "fail", "the first: timed out. Measured 2026-11-29 12:30"),
        ({"message": "no pair of 3 gave a figure; the first: timed out"}, "fail", "timed out"),
        ("iperf3 isn't there", "pass", "a later test failed"),
    ],
)
def test_an_older_pass_hides_no_newer_failure(error, status, words):
    document, inputs = linked()
    older = document["measurements"][-1]
    newer = dict(older, finished="2026-11-29T12:30:00Z", error=error)
    del newer["result"]
    now = waivers.as_moment(judging.NOW)
    kept, _stale = measurement_store.select([*document["measurements"], newer], document["facts"], now, 7 * 86400)
    entry = judging.judged(dict(document, measurements=kept), inputs)
    finding = judging.finding(entry, "network.link_pairs_failed")
    assert finding["status"] == status and words in finding["message"]
    assert "a later test failed" in judging.finding(entry, "network.link_floor_ratio")["message"]
    chinese = found((dict(document, measurements=kept), inputs), "network.link_pairs_failed", language="zh")["message"]
    assert ("所有配对均无数据" if status == "fail" else "之后的一次测试失败") in chinese


def test_segments_sent_again():
    # By hand: 1 Gb/s for 10 s are 1.25e9 bytes, 863260 segments of 1448; 17265 of them again are 2 %.
    host = linked(pairs=[pair(rate=G / 8, retransmits=17265)], path_mtu_bytes=1500)
    assert found(host, "network.link_retransmit_fraction")["actual"] == pytest.approx(0.02, rel=1e-4)
    assert found(host, "network.link_retransmit_fraction")["status"] == "warn"
    jumbo = linked(pairs=[pair(rate=G / 8, retransmits=1000)], path_mtu_bytes=9000)
    assert found(jumbo, "network.link_retransmit_fraction")["actual"] == pytest.approx(1000 * 8948 / 1.25e9, rel=1e-5)


def test_a_round_of_tests_takes_the_modules_own_seconds():
    document, inputs = linked(pairs=[pair(rate=G / 8, retransmits=17265)], path_mtu_bytes=1500)
    document["measurements"][-1]["options"] = {"session": "20261129T120000Z-abc123"}
    assert found((document, inputs), "network.link_retransmit_fraction")["actual"] == pytest.approx(0.02, rel=1e-4)
    document["measurements"][-1]["options"] = {}
    assert is_silent((document, inputs), "network.link_retransmit_fraction")


def test_a_partner_on_a_lossy_link_is_not_this_hosts_loss():
    rates = [pair("n1", G / 8, 100000), pair("n2", G / 8, 10), pair("n3", G / 8, 0)]
    assert found(linked(pairs=rates), "network.link_retransmit_fraction")["status"] == "pass"


@pytest.mark.parametrize("entry", [pair(retransmits=None), pair(rate=None), pair(rate=0), pair(retransmits=-1), pair(rate=1e-300), {}])
def test_pairs_that_count_no_retransmits_say_nothing(entry):
    assert is_silent(linked(pairs=[entry]), "network.link_retransmit_fraction")


@pytest.mark.parametrize("lost, status", [(0, "pass"), (0.01, "pass"), (0.011, "warn"), (0.03, "warn"), (0.05, "fail"), (7, "fail")])
def test_lost_packets(lost, status):
    assert found(linked(lost_fraction=lost), "network.link_lost_fraction")["status"] == status
    assert is_silent(linked(lost_fraction=None), "network.link_lost_fraction")


@pytest.mark.parametrize(("language", "words"), [("en", "UDP packets gave no figure in 2 of 3 pairs"), ("zh", "3 个配对中有 2 个没有得到 UDP 数据")])
@pytest.mark.parametrize("lost", [None, 0.0])
def test_blocked_udp_is_unknown_and_no_pass(lost, language, words):
    pairs = [dict(pair(), udp_error=DOWN), dict(pair(), udp_error=DOWN), dict(pair(), udp_error=None)]
    seen = found(linked(lost_fraction=lost, pairs=pairs), "network.link_lost_fraction", language=language)
    assert seen["status"] == "unknown" and words in seen["message"]
    # Of one pair in three its partner may be the cause; what was lost all the same fails.
    assert found(linked(lost_fraction=0.0, pairs=pairs[1:] + [pair()]), "network.link_lost_fraction")["status"] == "pass"
    assert found(linked(lost_fraction=0.05, pairs=pairs), "network.link_lost_fraction")["status"] == "fail"


@pytest.mark.parametrize(("language", "words"), [("en", "isn't known"), ("zh", "未知")])
@pytest.mark.parametrize(("kind", "judged", "other"), [
    ("physical", "network.link_fraction_of_line_rate", "network.link_fraction_of_group_median"),
    ("virtual", "network.link_fraction_of_group_median", "network.link_fraction_of_line_rate"),
])
def test_a_host_that_only_faulty_ones_tested_is_unknown(kind, judged, other, language, words):
    host = linked(link_kind=kind, judged_by=None, fraction_of_line_rate=None, fraction_of_group_median=None, hidden_by="node-02",
                  loss_hidden_by="node-02", lost_fraction=None, retransmit_fraction=None)
    for check in (judged, "network.link_lost_fraction", "network.link_retransmit_fraction"):
        seen = found(host, check, language=language)
        assert seen["status"] == "unknown" and "node-02" in seen["message"] and words in seen["message"]
    assert found(host, other)["status"] == "not_applicable"


def test_jitter_and_round_trip_inform():
    figures = judging.judged(*linked())["metrics"]
    assert (figures["network.link_jitter_seconds"], figures["network.link_rtt_seconds"]) == (1e-5, 0.0001)


@pytest.mark.parametrize(
    "change, status",
    [
        ({}, "pass"),
        ({"path_mtu_bytes": 1500}, "warn"),
        ({"path_mtu_bytes": 1500, "black_hole": True}, "fail"),
        ({"interface_mtu_bytes": 1500}, "pass"),
        ({"path_mtu_bytes": None}, None),
        ({"interface": "eth9"}, None),
        ({"interface": None}, None),
        ({"path_mtu_bytes": None, "black_hole": True}, "fail"),
    ],
)
def test_packets_that_the_path_carries(change, status):
    host = linked(**change)
    assert is_silent(host, "network.path_mtu") if status is None else found(host, "network.path_mtu")["status"] == status


@pytest.mark.parametrize(
    "growth, count",
    [
        ({}, 0),
        ({"eth0.rx_errors": 3, "mlx5_0/1.symbol_error": 2}, 5),
        ({"eth0.carrier_changes": 1}, 1),
        ({"eth0.rx_dropped": 99}, 0),
        ({"eth0.rx_dropped": 100}, 100),
        ({"mlx5_0/1.port_xmit_wait": 10**9}, 0),
        ({"mlx5_0/1.port_xmit_discards": 500}, 500),
        ({"a": None, "b": -4, "c": "x", 5: 3, "eth0.rx_errors": float("nan")}, 0),
    ],
)
def test_counters_that_grew_under_load(growth, count):
    finding = found(linked(counters_growth=growth), "network.counter_growth")
    assert (finding["actual"], finding["status"]) == (count, "warn" if count else "pass")


@pytest.mark.parametrize("growth", [None, [], "x", 3])
def test_counters_that_nobody_read_twice_say_nothing(growth):
    assert is_silent(linked(counters_growth=growth), "network.counter_growth")


def test_without_a_link_test_a_report_has_none_of_its_checks():
    document, inputs = judging.host()
    entry = judging.judged(document, inputs)
    names = set(metrics.derive(document, inputs, judging.NOW)["absent"])
    ours = {name for name in names if name.startswith(("network.link_", "network.path_mtu", "network.counter_growth"))}
    assert len(ours) >= 9 and not ours & ({finding["check"] for finding in entry["findings"]} | set(entry["absent"]))


def test_floors_rise_never_above_what_tcp_reaches():
    for speed in link_speed._classes():
        assert speed["floor_bits_per_second"] < speed["good_bits_per_second"] < speed["bits_per_second"]
    assert link_speed.floor_fraction(400 * G) == 0.8


# --- ports ----------------------------------------------------------------------------------------------------------------------------


def port(name="eth1", speed=100 * G, state="up", kind="ethernet", **more):
    return {
        "name": name,
        "kind": kind,
        "state": state,
        "speed_bits_per_second": speed,
        "mtu": 1500,
        "rx_errors": 0,
        "tx_errors": 0,
        "carrier_changes": 1,
        **more,
    }


def ported(interfaces, wanted, rdma=None):
    def change(facts):
        facts["network"]["interfaces"] = interfaces
        if rdma is not None:
            facts["network"]["rdma_ports"] = rdma

    return judging.host(change=change, inputs_change=lambda inputs: inputs["expected"].update(wanted))


def rdma(count, rate=400 * G, state="active"):
    return [{"device": "mlx5_%d" % at, "port": 1, "state": state, "rate_bits_per_second": rate, "counters": {}} for at in range(count)]


TWO = {"network_ports": 2, "network_port_bits_per_second": "100 Gb/s"}
SLOW_MANAGEMENT = port("eno1", G)


@pytest.mark.parametrize(
    "interfaces, missing, slow",
    [
        ([port("eth1"), port("eth2"), SLOW_MANAGEMENT], 0, 0),
        ([port("eth1"), port("eth2", 25 * G), SLOW_MANAGEMENT], 0, 1),
        ([port("eth1"), port("eth2", state="down"), SLOW_MANAGEMENT], 0, 1),
        ([port("eth1"), port("eth2", state="down")], 1, 0),
        ([], 2, 0),
        ([port("eth1"), port("bond0", 200 * G, kind="virtual")], 1, 0),
        ([port("ib0", kind="infiniband"), port("eth1")], 1, 0),
    ],
)
def test_ethernet_ports_that_are_expected(interfaces, missing, slow):
    host = ported(interfaces, TWO)
    assert (found(host, "network.ports_missing")["actual"], found(host, "network.port_speed_below")["actual"]) == (missing, slow)
    assert found(host, "network.ports_missing")["status"] == ("fail" if missing else "pass")
    assert found(host, "network.port_speed_below")["status"] == ("fail" if slow else "pass")


@pytest.mark.parametrize(
    "ports, missing, slow",
    [(rdma(8), 0, 0), (rdma(7), 1, 0), (rdma(7) + rdma(1, state="down"), 1, 0), (rdma(8, 200 * G), 0, 8), ([], 8, 0)],
)
def test_rdma_ports_that_are_expected(ports, missing, slow):
    host = ported([port()], {"rdma_ports": 8, "rdma_port_bits_per_second": 400 * G}, ports)
    assert (found(host, "network.ports_missing")["actual"], found(host, "network.port_speed_below")["actual"]) == (missing, slow)


def test_a_speed_without_a_number_is_expected_of_one_port():
    wanted = {"network_port_bits_per_second": 100 * G}
    assert found(ported([port(), SLOW_MANAGEMENT], wanted), "network.port_speed_below")["actual"] == 0
    assert found(ported([SLOW_MANAGEMENT], wanted), "network.port_speed_below")["actual"] == 1
    assert found(ported([], wanted), "network.port_speed_below")["actual"] == 1
    assert is_silent(ported([port()], wanted), "network.ports_missing")


def test_a_speed_that_was_not_read_is_unknown_unless_another_is_too_slow():
    assert found(ported([port("eth1"), port("eth2", None)], TWO), "network.port_speed_below")["status"] == "unknown"
    assert found(ported([port("eth1", G), port("eth2", None)], TWO), "network.port_speed_below")["status"] == "fail"
    for language, words in (("en", "No speed is known of eth2: a virtual interface"), ("zh", "eth2 的速率未知：虚拟网口")):
        host = ported([port("eth1"), port("eth2", None)], TWO)
        assert words in found(host, "network.port_speed_below", language=language)["message"]


def test_ports_that_were_not_collected_are_unknown():
    def change(facts):
        facts["network"] = {"error": "OSError: boom"}

    host = judging.host(change=change, inputs_change=lambda inputs: inputs["expected"].update(TWO))
    for check in ("network.ports_missing", "network.port_speed_below"):
        assert found(host, check)["status"] == "unknown" and "boom" in found(host, check)["message"]
    dead = ported([port()], {"rdma_ports": 8})
    dead[0]["facts"]["network"].update(rdma_ports=None, absent={"rdma_ports": "failed: no answer within 10 s"})
    assert "no answer" in found(dead, "network.ports_missing")["message"]


def test_what_is_not_expected_is_not_asked():
    assert is_silent(judging.host(), "network.ports_missing") and is_silent(judging.host(), "network.port_speed_below")


@pytest.mark.parametrize(
    "value, rate",
    [
        ("400 Gb/s", 400 * G),
        ("400Gb/s", 400 * G),
        ("100 Gbit/s", 100 * G),
        ("25G", 25 * G),
        ("2.5 Gbps", 2500 * 10**6),
        ("100 Mb/s", 10**8),
        ("0.8 Tb/s", 800 * G),
        ("100000000000", 100 * G),
        (100 * G, 100 * G),
        (1e11, 100 * G),
        ("400 GB/s", None),
        ("fast", None),
        (-1, None),
        (0, None),
        (True, None),
        (float("nan"), None),
        ([], None),
        ("1e11", None),
        ("9" * 70, None),
        ("0 Gb/s", None),
        (10**400, None),
    ],
)
def test_rates_that_are_expected(value, rate):
    found_fields, problems = expected.normalise({"rdma_port_bits_per_second": value})
    assert found_fields == ({} if rate is None else {"rdma_port_bits_per_second": rate})
    assert bool(problems) is (rate is None) and (rate is not None or '"400 Gb/s"' in problems[0])


def test_an_empty_expectation_is_none():
    assert expected.normalise({"network_port_bits_per_second": "", "network_ports": None}) == ({}, [])


@pytest.mark.parametrize("changes, lost, status", [(0, 0, "pass"), (1, 0, "pass"), (3, 1, "pass"), (21, 10, "pass"), (23, 11, "warn")])
def test_carriers_that_were_lost(changes, lost, status):
    finding = found(
        ported([port("eth1"), port("eth2", carrier_changes=changes), port("eth3", state="down", carrier_changes=999)], {}),
        "network.link_flaps",
    )
    assert (finding["actual"], finding["status"]) == (lost, status)
    assert status == "pass" or "eth2: 11" in finding["message"]


@pytest.mark.parametrize("value", [None, -1, "many", float("nan"), True])
def test_carriers_that_nobody_counted_are_not_applicable(value):
    assert found(ported([port(carrier_changes=value)], {}), "network.link_flaps")["status"] == "not_applicable"


def test_errors_of_rdma_ports_inform():
    ports = rdma(2)
    ports[0]["counters"] = {"symbol_error": 7, "link_downed": 1, "port_xmit_wait": 10**9, "port_rcv_errors": "x"}
    ports[1].update(state="down", counters={"symbol_error": 99})
    host = ported([port()], {}, ports)
    assert judging.judged(*host)["metrics"]["network.port_errors"] == 8 and is_silent(host, "network.port_errors")
    told = metrics.derive(*host, judging.NOW)["values"]["network.port_errors"]["evidence"]
    assert [(each["what"], each["value"]) for each in told] == [("mlx5_0/1 symbol_error", 7), ("mlx5_0/1 link_downed", 1)]


# --- whatever a document holds --------------------------------------------------------------------------------------------------------


def _everything():
    document, inputs = loaded([step(1, 0.1), step(32, 3, {"reset": 9})])
    for direction in ("upload", "download"):
        document["measurements"].append(moved(direction, hosts_at_once=4, alone_bytes_per_second=2 * G)[0]["measurements"][-1])
    document["measurements"].append(linked(fraction_of_line_rate=0.4, counters_growth={"eth0.rx_errors": 2})[0]["measurements"][-1])
    inputs["expected"].update(TWO, rdma_ports=8)
    return document, inputs


FULL, INPUTS = _everything()
PLACES = [path for path in places(FULL) if path[0] == "measurements" or path[:2] == ("facts", "network")]


@FEW
@given(st.lists(st.tuples(st.sampled_from(PLACES), ODD), min_size=1, max_size=8))
def test_damaged_network_measurements_are_judged(changes):
    document = damaged(FULL, changes)
    for language in ("en", "zh"):
        entry = judging.judged(document, INPUTS, "inference", language)
        check_entry(entry)


@pytest.mark.parametrize("odd", [None, True, -1, 0, 10**400, 5e-324, 1e300, float("nan"), float("inf"), "x", [], {}, [{}], {"a": None}])
def test_every_place_of_a_network_measurement_with_every_kind_of_value(odd):
    small = {key: value for key, value in FULL.items() if key != "facts"}
    small["facts"] = {"network": FULL["facts"]["network"], "platform": FULL["facts"]["platform"]}
    small["measurements"] = [
        entry for entry in FULL["measurements"] if entry["module"] in ("transfer_benchmark", "request_benchmark", "link_benchmark")
    ]
    for path in places(small):
        derived = metrics.derive(damaged(small, [(path, odd)]), INPUTS, judging.NOW)
        json.dumps([derived["values"], derived["absent"]], allow_nan=False)


def test_a_measurement_that_is_gone_never_leaves_its_checks_passing():
    whole = judging.judged(FULL, INPUTS)
    for gone in range(len(FULL["measurements"])):
        document = copy.deepcopy(FULL)
        del document["measurements"][gone]["result"]
        document["measurements"][gone]["error"] = "ended"
        entry = judging.judged(document, INPUTS)
        module = FULL["measurements"][gone]["module"]
        answering = {
            "transfer_benchmark": ("upload_ratio", "download_ratio"),
            "request_benchmark": ("concurrency_ratio",),
            "link_benchmark": ("link_pairs_failed",),
        }
        changed = ["network." + name for name in answering.get(module, ())]
        assert not changed or "unknown" in [judging.status(entry, name) for name in changed]
    assert judging.status(whole, "network.link_floor_ratio") == "fail"


@pytest.mark.parametrize("kind", ["base", "training", "finetuning", "inference", "rendering", "transcoding"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_policy_judges_all_of_it_in_both_languages(kind, language):
    entry = judging.judged(FULL, INPUTS, kind, language)
    check_entry(entry)
    said = [finding for finding in entry["findings"] if finding["check"].startswith("network.") and finding["status"] in ("warn", "fail")]
    assert len(said) >= 5
    for finding in said:
        assert finding["message"] and "{" not in finding["message"]
        advice = finding.get("advice") or judging.shipped(kind)["checks"][finding["check"]]["advice"][language]
        assert any("\u4e00" <= letter <= "\u9fff" for letter in advice) is (language == "zh")
