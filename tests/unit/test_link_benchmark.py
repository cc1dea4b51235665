# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The client's side of a link test: how many streams, what is said of a fault, when it is given up; and the server's end."""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat

import pytest

from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import iperf3_output, iperf3_run, link, link_netlink, link_place
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.host_files import HostFiles
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints

OPTIONS = {
    "peer": "127.0.0.1",
    "port": 5999,
    "address": "lo",
    "management": None,
    "seconds": 2,
    "omit_seconds": 1,
    "parallel": 0,
    "directions": ["send", "receive"],
    "udp": False,
    "udp_bits_per_second": 10000000,
    "session": "unit",
    "iperf3": None,
}
THREADED = iperf3_run.Tool("/usr/bin/iperf3", "3.18", frozenset(["--connect-timeout"]))
OLD = iperf3_run.Tool("/usr/bin/iperf3", "3.1.3", frozenset())
TEN_GIGABIT = 10_000_000_000


class Client:
    """Stands in for iperf3: `rates` are bits per second by number of streams; errors by how often it was asked."""

    def __init__(self, rates, errors=None, cpu=0.1, seconds=2.0):
        self.seconds = seconds
        self.rates, self.errors, self.cpu, self.asked = rates, errors or {}, cpu, []

    def __call__(self, used, argv, server, port, limit_seconds, session):
        streams = int(argv[argv.index("-P") + 1]) if "-P" in argv else 1
        direction = "receive" if "-R" in argv else "send"
        self.asked.append("udp " + direction if "-u" in argv else (direction, streams))
        facts = iperf3_output.parse_iperf3("")
        error = self.errors.get(len(self.asked))
        if error is None:
            found = {
                "bytes_per_second": self.rates[streams] / 8,
                "retransmits": 0,
                "seconds": self.seconds,
                "jitter_seconds": 1e-5,
                "lost_fraction": 0.0,
            }
            facts.update(
                error=None,
                directions={direction: found},
                rtt_seconds=0.001,
                rtt_loaded_seconds=0.002,
                cpu_fraction={"client": self.cpu, "server": 0.1},
            )
        return facts, error


def measured(client, tool=THREADED, line_rate=None, **more):
    test = link._Test(dict(OPTIONS, **more), {"tool": tool, "place": {"address": "127.0.0.1"}}, client, line_rate)
    return test, [test.direction(name) for name in ("send", "receive")]


def test_a_link_that_one_stream_fills_gets_one():
    client = Client({1: 9.4e9})
    test, found = measured(client, line_rate=TEN_GIGABIT)
    assert client.asked == [("send", 1), ("receive", 1)] and test.streams == 1 and test.notes == []
    assert found[0] == ({"bytes_per_second": 9.4e9 / 8, "retransmits": 0, "seconds": 2.0, "streams": 1}, None)


def test_streams_are_added_until_the_link_is_full_and_kept_for_the_way_back():
    client = Client({1: 4e9, 4: 9.4e9})
    test, found = measured(client, line_rate=TEN_GIGABIT)
    assert client.asked == [("send", 1), ("send", 4), ("receive", 4)] and test.streams == 4
    assert [best["streams"] for best, _error in found] == [4, 4]


def test_the_best_is_kept_where_more_streams_bring_nothing():
    client = Client({1: 4e9, 4: 3.9e9, 8: 1e9})
    test, found = measured(client, line_rate=TEN_GIGABIT)
    assert client.asked == [("send", 1), ("send", 4), ("receive", 1), ("receive", 4)]
    assert found[0][0]["bytes_per_second"] == 4e9 / 8 and test.streams == 1


def test_without_a_line_rate_a_full_core_asks_for_more_streams():
    assert measured(Client({1: 2e9}))[0].streams == 1
    busy = Client({1: 2e9, 4: 3e9, 8: 3.1e9}, cpu=0.97)
    assert measured(busy)[0].streams == 4 or busy.asked[-1][1] == 8


def test_an_old_iperf3_says_that_its_one_thread_may_be_full():
    rates = {1: 4e9, 4: 5e9, 8: 5.6e9}
    assert any("3.1.3 runs all streams in one thread" in note for note in measured(Client(rates), OLD, TEN_GIGABIT)[0].notes)
    assert measured(Client(rates), THREADED, TEN_GIGABIT)[0].notes == []


def test_given_streams_are_taken_as_they_are():
    client = Client({6: 1e9})
    measured(client, line_rate=TEN_GIGABIT, parallel=6)
    assert client.asked == [("send", 6), ("receive", 6)]


def test_a_busy_server_is_asked_again(monkeypatch):
    waits = []
    monkeypatch.setattr(link.time, "sleep", waits.append)
    busy = {"kind": "busy", "message": "busy"}
    client = Client({1: 1e9}, {1: busy, 2: busy})
    assert measured(client)[1][0][1] is None and len(waits) == 2
    client = Client({1: 1e9}, {number: busy for number in range(1, 9)})
    assert measured(client)[1][0] == (None, busy) and len(client.asked) == 8


@pytest.fixture
def on_lo(monkeypatch):
    """The link is the loop of this machine, at 127.0.0.1."""
    place = {"address": "127.0.0.1", "interface": "lo"}
    return {"place": place, "tool": THREADED}


def test_a_result_has_all_that_is_promised(on_lo):
    client = Client({1: 9.4e9})
    result = link.run(dict(OPTIONS, udp=True), on_lo, client=client)
    assert client.asked == [("send", 1), ("receive", 1), "udp send", "udp receive"]
    assert result["send"]["bytes_per_second"] == result["receive"]["bytes_per_second"] == 9.4e9 / 8
    assert result["udp"] == result["udp_receive"] == {"bytes_per_second": 9.4e9 / 8, "jitter_seconds": 1e-5, "lost_fraction": 0.0}
    assert (result["interface"], result["path_mtu_bytes"], result["black_hole"], result["error"]) == ("lo", 65536, False, None) or (
        result["path_mtu_bytes"] == 65535
    )
    assert 0 < result["rtt_seconds"] < 0.1 and result["counters"] is not None
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$", result["local_time"])


@pytest.mark.parametrize("kind", ["refused", "timeout", "unreachable", "stalled", "busy", "local"])
def test_what_can_t_work_the_other_way_either_isn_t_tried(on_lo, kind, monkeypatch):
    monkeypatch.setattr(link.time, "sleep", lambda _seconds: None)
    error = {"kind": kind, "message": "words"}
    client = Client({1: 1e9}, dict.fromkeys(range(1, 9), error))
    result = link.run(dict(OPTIONS, udp=True), on_lo, client=client)
    assert set(client.asked) == {("send", 1)} and result["error"] == {"kind": kind, "message": "send: words"}
    assert result["send"] is result["receive"] is result["udp"] is result["udp_receive"] is None


def test_a_server_that_ends_half_way_leaves_what_was_measured(on_lo):
    client = Client({1: 1e9}, {2: {"kind": "reset", "message": "ended"}})
    result = link.run(OPTIONS, on_lo, client=client)
    assert result["send"]["bytes_per_second"] == 1e9 / 8 and result["receive"] is None
    assert result["error"] == {"kind": "reset", "message": "receive: ended"}


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("seconds", 0, "seconds must be between 1 and 3600"),
        ("parallel", 500, "parallel must be"),
        ("peer", "a-name", "is no IP address"),
        ("directions", [], "directions"),
        ("udp_bits_per_second", 5, "udp_bits_per_second must be"),
    ],
)
def test_wrong_options_are_refused(option, value, words):
    with pytest.raises(ValueError, match=words):
        link.plan(dict(OPTIONS, **{option: value}))


def test_loss_of_udp_is_measured_in_each_direction_with_packets_that_fit_everywhere():
    argv = iperf3_run.arguments(OLD, "192.0.2.2", 5201, "192.0.2.1", link.udp_seconds(10), 0, reverse=True, udp_bits_per_second=10000000)
    assert argv[argv.index("-l") + 1] == "1200" and argv[argv.index("-t") + 1] == "5" and "-R" in argv and "-u" in argv
    assert [link.udp_seconds(seconds) for seconds in (1, 2, 3, 4, 5, 60)] == [1, 2, 2, 2, 3, 30]
    lost = Client({1: 1e9}, {1: {"kind": "reset", "message": "ended"}})
    test = link._Test(OPTIONS, {"tool": THREADED, "place": {"address": "127.0.0.1"}}, lost, None)
    assert test.udp("receive")[1]["kind"] == "reset" and test.udp("receive")[0]["lost_fraction"] == 0.0


def test_a_client_that_ran_for_a_moment_gives_no_figure(on_lo):
    client = Client({1: 9e9}, seconds=0.001)
    result = link.run(OPTIONS, on_lo, client=client)
    assert result["send"] is result["receive"] is None
    assert result["error"] == {"kind": "protocol", "message": "send: iperf3 measured for 0.001 s instead of 2 s: no figure of the link"}
    assert "0.001 秒，而不是 2 秒" in complaints.say(result["error"]["message"], "zh")
    assert "1e+17 s instead of 2 s" in link.run(OPTIONS, on_lo, client=Client({1: 9e9}, seconds=1e17))["error"]["message"]
    assert link.run(OPTIONS, on_lo, client=Client({1: 9e9}, seconds=9.0))["error"] is None
    assert link.run(OPTIONS, on_lo, client=Client({1: 9e9}, seconds=None))["error"]["kind"] == "protocol"


@pytest.mark.parametrize("error", [
    {"kind": "stalled", "message": "took the connection and gave no answer"}, {"kind": "timeout", "message": "no answer"},
    {"kind": "protocol", "message": "unable to read from stream socket: Resource temporarily unavailable"},
])
def test_blocked_udp_is_said_and_is_no_loss_of_zero(on_lo, error):
    client = Client({1: 1e9}, {3: error, 4: error})
    result = link.run(dict(OPTIONS, udp=True), on_lo, client=client)
    assert result["error"] is result["udp"] is result["udp_receive"] is None and result["send"]["bytes_per_second"] == 1e9 / 8
    assert "no answer to UDP packets from 127.0.0.1 port 5999, which answers TCP: a firewall drops UDP" in result["udp_error"]["message"]
    assert "UDP 被防火墙丢弃" in complaints.say(result["udp_error"]["message"], "zh") and client.asked[-1] == "udp send"


@pytest.mark.parametrize(("peer", "routed", "words", "chinese"), [
    ("127.0.0.1", "lo", "127.0.0.1 is an address of this host itself", "本机自身的地址"),
    ("192.0.2.9", "eth0", "leave by eth0, not by eth1: the link that was named isn't tested", "被测的不是所指定的链路"),
])
def test_packets_that_leave_by_another_way_test_nothing(monkeypatch, peer, routed, words, chinese):
    monkeypatch.setattr(link_netlink, "route_interface", lambda peer, source: routed)
    if peer != "127.0.0.1":
        monkeypatch.setattr(link_netlink, "is_own", lambda peer: False)
    with pytest.raises(ValueError, match=words) as raised:
        link_place.check_way({"address": "192.0.2.1", "interface": "eth1"}, peer)
    assert chinese in complaints.say(str(raised.value), "zh")


def test_the_way_of_an_address_that_no_packet_leaves_by_is_the_hosts(monkeypatch):
    monkeypatch.setattr(link_netlink, "is_own", lambda peer: False)
    monkeypatch.setattr(link_netlink, "route_interface", lambda peer, source: "eth1")
    link_place.check_way({"address": "192.0.2.1", "interface": "dummy0"}, "192.0.2.9")
    link_place.check_way({"address": "192.0.2.1", "interface": "eth1"}, "192.0.2.9")


def test_a_plan_asks_for_the_way(monkeypatch):
    monkeypatch.setattr(link_place, "address_of", lambda *_given: {"address": "127.0.0.1", "interface": "lo"})
    with pytest.raises(ValueError, match="address of this host itself"):
        link.plan(OPTIONS)


@pytest.mark.parametrize(("rate", "options", "moved", "seconds"), [
    (TEN_GIGABIT, {}, 10**10 // 8 * 18, 18), (TEN_GIGABIT, {"parallel": 1}, 10**10 // 8 * 6, 6), (None, {}, None, 18),
    (TEN_GIGABIT, {"parallel": 4, "udp": True, "directions": ["send"]}, 10**10 // 8 * 3 + 10**7 // 8 * 2, 3),
])
def test_how_much_a_test_moves_at_most(rate, options, moved, seconds):
    assert link.most_moved(dict(OPTIONS, **options), rate) == (moved, seconds)


def test_no_test_takes_longer_than_it_says():
    # The slowest: three numbers of streams each way in time, the last client hanging.
    seconds = link.longest(OPTIONS)
    assert seconds > 6 * (2 + 1) + iperf3_run.deadline(2, 1) and link.longest(dict(OPTIONS, parallel=1)) < seconds
    assert link.longest(dict(OPTIONS, udp=True)) >= seconds + 2 * link.udp_seconds(2)


# ----------------------------------------------------------------- iperf3_run


def program(tmp_path, name, text):
    path = tmp_path / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_programs_that_can_t_be_used_say_why(tmp_path, monkeypatch):
    debian = 'ID=debian\nPRETTY_NAME="x"\n'
    with pytest.raises(iperf3_run.NoTool, match=r"isn't installed here. Install it with: apt-get install iperf3"):
        iperf3_run.tool(str(tmp_path / "none"), debian)
    with pytest.raises(iperf3_run.NoTool, match=r"is iperf 2.1.8; iperf3 3.1 or newer is needed"):
        iperf3_run.tool(program(tmp_path, "two", 'echo "iperf version 2.1.8 (12 August 2022) pthreads"\n'), debian)
    with pytest.raises(iperf3_run.NoTool, match="is not iperf3"):
        iperf3_run.tool(program(tmp_path, "other", "echo hello\n"), 'ID="opensuse-leap"\n')
    monkeypatch.setattr(iperf3_run, "ANSWER_SECONDS", 0.2)
    with pytest.raises(iperf3_run.NoTool, match="gave no answer"):
        iperf3_run.tool(program(tmp_path, "hangs", "sleep 5\n"), debian)
    assert iperf3_run.install_line('ID="rocky"\nID_LIKE="rhel centos fedora"') == "dnf install iperf3"


def test_the_help_says_what_a_version_can(tmp_path):
    said = 'case $1 in --version) echo "iperf 3.9 (cJSON 1.7.13)";; *) echo "  --connect-timeout #  timeout" >&2; exit 1;; esac\n'
    tool = iperf3_run.tool(program(tmp_path, "iperf3", said))
    assert (tool.version, iperf3_run.numbers(tool.version)) == ("3.9", (3, 9)) and "--connect-timeout" in tool.options
    asked = iperf3_run.arguments(tool, "10.0.0.2", 5201, "10.0.0.1", 10, 1, 4, True)
    assert asked[1:] == "-c 10.0.0.2 -p 5201 -B 10.0.0.1 -J -t 10 -O 1 -i 1 -P 4 -R --connect-timeout 5000".split()
    assert "--connect-timeout" not in iperf3_run.arguments(OLD, "10.0.0.2", 5201, "10.0.0.1", 10, 1)


def test_every_kind_of_fault_in_the_captures(captures):
    expected = {"busy": "busy", "refused": "refused", "dns-fail": "dns", "server-killed": "reset"}
    for path in sorted((captures / "iperf3").glob("own-*.json")):
        what = next((word for word in expected if path.name.endswith(word + ".json")), None)
        error = iperf3_output.parse_iperf3(path.read_text())["error"]
        # 3.1.3 says of a name nothing, and so does 3.9 of a refusal where its other output is missing.
        if what and path.name not in ("own-3.1.3-dns-fail.json", "own-3.9-refused.json"):
            assert iperf3_run.kind_of(error) == expected[what], path.name
    said = (captures / "iperf3" / "own-3.9-refused.json").read_text() + (captures / "iperf3" / "own-3.9-refused.stderr").read_text()
    assert iperf3_run.kind_of(iperf3_output.parse_iperf3(said)["error"], 0.01) == "refused"
    assert iperf3_run.kind_of("unable to connect to server: Connection timed out") == "timeout"
    assert iperf3_run.kind_of("unable to connect to server: No route to host") == "unreachable"
    assert iperf3_run.kind_of("unable to send cookie to server: x") == "protocol"


def test_a_client_that_hangs_is_ended_and_told(tmp_path):
    hangs = iperf3_run.Tool(program(tmp_path, "iperf3", "sleep 30\n"), "3.12", frozenset(["--connect-timeout"]))
    facts, error = iperf3_run.client(hangs, [hangs.path, "-c", "x"], "192.0.2.1", 5201, 0.3, "unit-hang")
    assert (
        facts["error"] and error["kind"] == "stalled" and "192.0.2.1 port 5201 took the connection and gave no answer" in error["message"]
    )
    assert iperf3_run.marked("unit-hang") == []


@pytest.mark.parametrize(("text", "first", "last"), [("5201-5300", 5201, 5300), ("5201", 5201, 5201), (" 6000 - 6001 ", 6000, 6001)])
def test_port_ranges(text, first, last):
    found = iperf3_run.ports(text)
    assert (found[0], found[-1]) == (first, last)


@pytest.mark.parametrize("text", ["", "80", "5300-5201", "a-b", "5201-70000", "5201-5202-5203"])
def test_no_port_ranges(text):
    with pytest.raises(ValueError, match="port range"):
        iperf3_run.ports(text)


needs_iperf3 = pytest.mark.skipif(not shutil.which("iperf3") or not shutil.which("timeout"), reason="iperf3 isn't installed")


@pytest.fixture
def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@needs_iperf3
def test_a_server_takes_the_first_free_port_and_ends_when_told(free_port):
    tool = iperf3_run.tool()
    session = "unit-%d" % os.getpid()
    try:
        one = iperf3_run.start_server(tool, "127.0.0.1", [free_port, free_port + 1], 30, session)
        other = iperf3_run.start_server(tool, "127.0.0.1", [free_port, free_port + 1], 30, session)
        assert (one["port"], other["port"]) == (free_port, free_port + 1)
        with pytest.raises(iperf3_run.NoServer, match="all ports from"):
            iperf3_run.start_server(tool, "127.0.0.1", [free_port], 30, session)
        argv = iperf3_run.arguments(tool, "127.0.0.1", free_port, "127.0.0.1", 1, 0)
        facts, error = iperf3_run.client(tool, argv, "127.0.0.1", free_port, 15, session)
        assert error is None and facts["bytes_per_second"]["send"] > 1e6
    finally:
        ended, left = iperf3_run.stop(session)
    assert ended >= 4 and left == [] and iperf3_run.stop(session) == (0, [])
    facts, error = iperf3_run.client(tool, argv, "127.0.0.1", free_port, 15, session)
    assert error["kind"] == "refused" and "refused the connection" in error["message"]


@needs_iperf3
def test_a_server_ends_by_itself(free_port):
    session = "unit-life-%d" % os.getpid()
    try:
        iperf3_run.start_server(iperf3_run.tool(), "127.0.0.1", [free_port], 1, session)
        until = link.time.monotonic() + 15
        while iperf3_run.marked(session) and link.time.monotonic() < until:
            link.time.sleep(0.1)
        assert iperf3_run.marked(session) == []
    finally:
        iperf3_run.stop(session)


def test_a_server_that_says_why_it_can_t(tmp_path, free_port):
    broken = iperf3_run.Tool(
        program(tmp_path, "iperf3", "echo 'iperf3: error - unable to start listener' >&2; exit 1\n"), "3.12", frozenset()
    )
    with pytest.raises(iperf3_run.NoServer, match="unable to start listener"):
        iperf3_run.start_server(broken, "127.0.0.1", [free_port], 5, "unit-broken")


# ----------------------------------------------------------------- link_place

KNOWN = [
    {"address": "127.0.0.1", "interface": "lo", "prefix": 8, "scope": "host"},
    {"address": "192.0.2.10", "interface": "eth0", "prefix": 24, "scope": "global"},
    {"address": "2001:db8::10", "interface": "ib0", "prefix": 64, "scope": "global"},
    {"address": "198.51.100.10", "interface": "ib0", "prefix": 24, "scope": "global"},
    {"address": "fe80::1", "interface": "eth9", "prefix": 64, "scope": "link"},
]


@pytest.mark.parametrize(
    ("wanted", "address", "interface"),
    [
        ("eth0", "192.0.2.10", "eth0"),
        ("ib0", "198.51.100.10", "ib0"),
        ("192.0.2.10", "192.0.2.10", "eth0"),
        ("2001:DB8:0::10", "2001:db8::10", "ib0"),
        ("management", "192.0.2.10", "eth0"),
    ],
)
def test_addresses_and_interfaces(wanted, address, interface):
    assert link_place.address_of(wanted, "192.0.2.10", KNOWN) == {"address": address, "interface": interface}


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("", "gpu_audit_link_address isn't set for this host"),
        (None, "isn't set"),
        ("192.0.2.99", "192.0.2.99 is no address of this host"),
        ("127.0.0.1", "the host's own loop"),
        ("eth7", "'eth7' is neither an address nor an interface"),
        ("eth9", "no address that other hosts reach"),
        ("management", "isn't one of its own addresses"),
    ],
)
def test_no_address_names_the_variable_and_what_there_is(wanted, words, monkeypatch):
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    with pytest.raises(link_place.NoAddress, match=words) as caught:
        link_place.address_of(wanted, "203.0.113.1", KNOWN)
    assert str(caught.value).startswith("gpu_audit_link_address")
    assert "eth0 192.0.2.10" in str(caught.value)


def test_the_management_address_may_be_that_of_the_session(monkeypatch):
    monkeypatch.setenv("SSH_CONNECTION", "203.0.113.5 40000 192.0.2.10 22")
    assert link_place.address_of("management", None, KNOWN)["interface"] == "eth0"


class Tree:
    """A host's /sys/class/net: name -> (link target of the card or "", speed, driver, files, interfaces below)."""

    def __init__(self, root):
        self.root, self.net = root, root / "sys/class/net"

    def add(self, name, driver=None, speed=None, below=(), files=None, state="up"):
        devices = self.root / "sys/devices" / ("pci0000:00" if driver else "virtual") / "net" / name
        devices.mkdir(parents=True)
        self.net.mkdir(parents=True, exist_ok=True)
        os.symlink(os.path.relpath(devices, self.net), self.net / name)
        values = {
            "type": "1",
            "operstate": state,
            "mtu": "9000",
            **({"speed": str(speed)} if speed else {}),
            **(files or {}),
            "statistics/rx_errors": "0",
            "statistics/rx_dropped": "5",
            "carrier_changes": "2",
        }
        for path, value in values.items():
            (devices / path).parent.mkdir(parents=True, exist_ok=True)
            (devices / path).write_text(value + "\n")
        if driver:
            (devices / "device").mkdir()
            os.symlink("/sys/bus/pci/drivers/" + driver, devices / "device" / "driver")
        for other in below:
            os.symlink("../" + other, devices / ("lower_" + other))
        return self


@pytest.fixture
def tree(tmp_path):
    made = Tree(tmp_path)
    made.add("eth0", "mlx5_core", 25000).add("eth1", "mlx5_core", 25000).add("eth2", "mlx5_core", 25000, state="down")
    made.add("ens3", "virtio_net", -1).add("veth0", speed=10000)
    made.add("bond0", speed=50000, below=["eth0", "eth1"], files={"bonding/slaves": "eth0 eth1 eth2", "bonding/mode": "802.3ad 4"})
    made.add(
        "bond1",
        below=["eth0", "eth1"],
        files={"bonding/slaves": "eth0 eth1", "bonding/mode": "active-backup 1", "bonding/active_slave": "eth1"},
    )
    made.add("bond0.100", below=["bond0"]).add("eth0.7", below=["eth0"]).add("br0", below=["eth1", "veth0"])
    return HostFiles(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "kind", "gigabits"),
    [
        ("eth0", "physical", 25),
        ("eth0.7", "physical", 25),
        ("br0", "physical", 25),
        ("bond0", "physical", 50),
        ("bond0.100", "physical", 50),
        ("bond1", "physical", 25),
        ("ens3", "virtual", None),
        ("veth0", "virtual", None),
    ],
)
def test_line_rates_of_what_an_interface_stands_on(tree, name, kind, gigabits):
    found = link_place.describe(tree, link_place.look(tree), name)
    assert (found["link_kind"], found["line_rate_bits_per_second"]) == (kind, gigabits and gigabits * 1_000_000_000)
    assert found["mtu_bytes"] == 9000
    assert bool(found["notes"]) == name.startswith("bond0")


def test_counters_are_those_of_the_interface_and_what_is_below(tree):
    seen = link_place.look(tree)
    before = link_place.counters(tree, seen, "bond0.100")
    assert {key.split(".rx")[0] for key in before if key.endswith("rx_errors")} == {"bond0.100", "bond0", "eth0", "eth1"}
    after = dict(before, **{"eth0.rx_errors": 7, "eth1.carrier_changes": 4, "bond0.rx_dropped": 0})
    assert link_place.growth(before, after) == {"eth0.rx_errors": 7, "eth1.carrier_changes": 2}


def test_the_loop_of_this_machine_has_no_black_hole():
    found = link_place.path_mtu("127.0.0.1", "127.0.0.1", 5999)
    assert found["black_hole"] is False and found["path_mtu_bytes"] >= 1500 and 0 < found["rtt_seconds"] < 0.5 and found["error"] is None
