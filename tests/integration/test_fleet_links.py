# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Links between lab hosts over real network namespaces with the real iperf3 (3.9, 3.12, 3.18): shaped, lossy and late links, one slow host
of eight, every fault with its own words, and nothing left on any host."""
from __future__ import annotations

import json
import subprocess
import time

import pytest
from ansible_matrix import MAIN, PYTHONS, Core
from fleet_runs import Controller, failed, findings, lab, ready, why_no_lab
from gpulab import paths
from gpulab.host import from_row

pytestmark = pytest.mark.skipif(bool(why_no_lab()), reason=why_no_lab() or "-")

PLAY = """
- hosts: all
  gather_facts: false
  strategy: linear
  tasks:
    - ansible.builtin.include_role:
        name: trainops.gpu_audit.measure_network
        tasks_from: links
"""
ALONE = """
- hosts: g2
  gather_facts: false
  tasks:
    - trainops.gpu_audit.link_server: {address: eth0, session: alone, lifetime_seconds: 60}
      register: server
- hosts: g1
  gather_facts: false
  tasks:
    - trainops.gpu_audit.link_benchmark:
        address: management
        peer: "{{ hostvars.g2.server.address }}"
        port: "{{ hostvars.g2.server.port }}"
        seconds: 1
- hosts: g2
  gather_facts: false
  tasks:
    - trainops.gpu_audit.link_server: {state: stopped, session: alone}
      register: stopped
      failed_when: stopped.ended < 2 or stopped.left != []
"""
# A server that is the real one until the fault; a client is the real one always. Servers are started with -s -B <address> -p <port>.
HEAD = '#!/bin/sh\n[ "$1" = -s ] || exec iperf3 "$@"\n'
MUTE = """
import socket, sys, time
s = socket.socket()
s.setsockopt(1, 2, 1)
s.bind((sys.argv[1], int(sys.argv[2])))
s.listen(5)
time.sleep(600)
"""
PROGRAMS = {
    # However late the client comes: in the middle of its test.
    "/opt/lab/dies": HEAD + 'iperf3 "$@" & p=$!; until ss -Htn state established "sport = :$5" | grep -q .; do sleep 0.2; done\n'
                            'sleep 1; kill -KILL $p\n',
    "/opt/lab/busy": HEAD + 'iperf3 "$@" & sleep 0.7; iperf3 -c "$3" -p "$5" -t 60 -b 1M >/dev/null 2>&1 & wait\n',
    "/opt/lab/mute": HEAD + 'exec python3 /opt/lab/mute.py "$3" "$5"\n',
    "/opt/lab/mute.py": MUTE,
    "/opt/lab/vanishes": HEAD + 'iperf3 "$@" & sleep 3; ip link set eth0 down; wait\n',
}
FILTER = "table inet lab {\n chain input {\n  type filter hook input priority 0;\n  tcp dport 5201-5300 %s\n }\n}\n"
SHAPED = ["g%d" % number for number in range(1, 9)]
CULPRIT = "g5"
PLAIN = ["plain1", "plain2", "lossy", "late"]
RING = ["good", "refuses", "drops", "dies", "busy", "mute", "jumbo"]
REFUSED = {"unset": "gpu_audit_link_address isn't set for this host", "elsewhere": "203.0.113.9 is no address of this host",
           "toolless": "Install it with: apt-get install iperf3"}
SAID = {"refuses": "refused the connection", "drops": "a firewall drops it", "dies": "ended during the test",
        "busy": "is busy with somebody else's test",
        "mute": "took the connection and gave no answer"}


def hosts() -> dict[str, dict]:
    made = {name: {"rate": "20mbit" if name == CULPRIT else "100mbit"} for name in SHAPED}
    made["g1"]["base"], made["g2"]["base"] = "bullseye", "trixie"
    made.update({"plain1": {}, "plain2": {"base": "trixie"}, "lossy": {"loss": 0.05}, "late": {"delay_ms": 10}})
    made["losing"] = {"rate": "100mbit", "loss": 0.05}
    made["noudp"] = {"rate": "100mbit"}
    made.update({name: {"rate": "100mbit"} for name in RING})
    made.update({name: {} for name in REFUSED})
    made["vanishes"] = {"rate": "100mbit"}
    for name, fields in made.items():
        fields["vars"] = {"gpu_audit_link_address": "eth0"}
        if "/opt/lab/" + name in PROGRAMS:
            fields["vars"]["measure_network_link_iperf3"] = "/opt/lab/" + name
    made["good"]["vars"]["gpu_audit_link_address"] = "management"
    made["elsewhere"]["vars"]["gpu_audit_link_address"] = "203.0.113.9"
    made["unset"]["vars"] = {}
    return made


HOSTS = hosts()


def inside(name: str, script: str) -> str:
    command = ["ssh", "-F", str(paths.RUN / "ssh_config"), name, script]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout


@pytest.fixture(scope="module")
def controller(tmp_path_factory):
    core = ready(Core(MAIN, PYTHONS[MAIN][0]))
    rows = [from_row({"name": name, "files": PROGRAMS, **fields}, index) for index, (name, fields) in enumerate(HOSTS.items())]
    with lab(rows):
        for name in HOSTS:
            inside(name, "chmod +x /opt/lab/dies /opt/lab/busy /opt/lab/mute /opt/lab/vanishes")
        for name, what in (("refuses", "reject with tcp reset"), ("drops", "drop")):
            inside(name, "echo '%s' | nft -f -" % (FILTER % what))
        inside("noudp", "echo '%s' | nft -f -" % (FILTER.replace("tcp dport 5201-5300", "meta l4proto udp") % "drop"))
        inside("jumbo", "ip link set eth0 mtu 9000")
        inside("toolless", "rm /usr/bin/iperf3")
        made = Controller(core, tmp_path_factory.mktemp("links"))
        (made.folder / "links.yml").write_text(PLAY)
        (made.folder / "alone.yml").write_text(ALONE)
        yield made


def play(controller, names, *arguments, seconds=200, **variables):
    asked = {"measure_network_link_seconds": 2, **variables}
    given = ("--limit", ",".join(names), "-e", json.dumps(asked), *arguments)
    return controller.play(str(controller.folder / "links.yml"), *given, seconds=seconds)


def measurement(controller, name: str) -> dict:
    """The newest measurement of a host's links."""
    return json.loads(sorted((controller.output / "measurements" / name).glob("link_benchmark-*.json"))[-1].read_text())


def summary(controller) -> dict:
    """That of the newest session."""
    return json.loads(max((controller.output / "measurements" / "_links").glob("*/summary.json")).read_text())


def nothing_left(names, seconds=15) -> None:
    """Soon no program of a test runs on these hosts, Ansible's own watchdog of a job included, and only ssh is listened for."""
    until = time.monotonic() + seconds
    for name in names:
        while True:
            left = inside(name, "ps ax -o args= | grep -E 'iperf3|/opt/lab|link_(server|benchmark)' | grep -v grep")
            if not left:
                break
            assert time.monotonic() < until, (name, left)
            time.sleep(0.5)
        listening = inside(name, "ss -Hltun | awk '{print $5}' | grep -v ':22$'")
        assert not listening, (name, listening)


@pytest.fixture(scope="module")
def eight(controller):
    done = play(controller, SHAPED)
    assert done.code == 0, done.out[-3000:]
    return {name: measurement(controller, name)["result"] for name in SHAPED}, done


def test_one_slow_host_of_eight_is_named_and_its_partners_are_not(eight):
    results, _done = eight
    slow = {name for name, result in results.items() if result["fraction_of_group_median"] < 0.9}
    assert slow == {CULPRIT}, {name: result["fraction_of_group_median"] for name, result in results.items()}
    assert {(result["judged_by"], result["undecided_with"], result["link_kind"]) for result in results.values()} == {("group", None, "virtual")}
    # What iperf3 measures on a link of 100 Mbit/s is 95.
    for name in set(SHAPED) - {CULPRIT}:
        assert results[name]["send_bytes_per_second"] == pytest.approx(95.5e6 / 8, rel=0.04), name
        assert results[name]["receive_bytes_per_second"] == pytest.approx(95.5e6 / 8, rel=0.04), name
    assert results[CULPRIT]["bytes_per_second"] == pytest.approx(19e6 / 8, rel=0.1)


def test_every_pair_is_tested_once_in_seven_rounds(controller, eight):
    results, _done = eight
    for name, result in results.items():
        assert sorted(pair["peer"] for pair in result["pairs"]) == sorted(set(SHAPED) - {name})
        assert not any(pair["error"] for pair in result["pairs"]) and (result["hosts"], result["rounds"]) == (8, 7)
        assert result["path_mtu_bytes"] == 1500 and 0 < result["rtt_seconds"] < 0.05 and result["counters_growth"] is not None
        assert result["lost_fraction"] == 0 and result["jitter_seconds"] < 0.01
    assert {result["tool_version"] for result in results.values()} == {"3.9", "3.12", "3.18"}
    nothing_left(SHAPED)


def test_loss_and_delay_are_seen(controller):
    done = play(controller, PLAIN)
    assert done.code == 0, done.out[-3000:]
    pairs = {frozenset((pair["client"], pair["server"])): pair for pair in summary(controller)["pairs"]}
    unshaped = pairs[frozenset(("plain1", "plain2"))]
    assert unshaped["send"]["bytes_per_second"] > 300e6 / 8 and unshaped["error"] is None
    late = pairs[frozenset(("plain1", "late"))]
    assert late["rtt_seconds"] == pytest.approx(0.020, abs=0.008)
    lossy = measurement(controller, "lossy")["result"]
    assert lossy["bytes_per_second"] < 0.5 * unshaped["send"]["bytes_per_second"]
    lost = [entry["retransmits"] for entry in measurement(controller, "plain1")["result"]["pairs"] if entry["peer"] == "lossy"]
    assert lost[0] > 10
    nothing_left(PLAIN)


def test_a_host_that_loses_what_it_receives_is_named_by_the_console_and_by_its_verdict(controller):
    names = ["g3", "g4", "g6", "losing"]
    done = play(controller, names, measure_network_link_seconds=4)
    assert done.code == 0, done.out[-3000:]
    concluded = next(line for line in done.out.splitlines() if line.startswith("the links of 4 hosts: "))
    assert "losing (sends " in concluded and "% of the UDP packets sent to it get lost" in concluded, concluded
    assert not any(name + " (" in concluded for name in names[:3]) and "Mbit/s" in concluded, concluded
    audited = controller.play("audit", "--limit", ",".join(names), seconds=120)
    kinds = ("network.link_lost_fraction", "network.link_retransmit_fraction")
    for name, host in audited.hosts().items():
        found = findings(host)
        statuses = [found[kind]["status"] for kind in kinds]
        assert statuses == (["fail", "warn"] if name == "losing" else ["pass", "pass"]), (name, [found[kind] for kind in kinds])
        assert (host["verdict"] == "not_ready") == (name == "losing"), host["verdict"]
    assert "losing" in audited.out and "UDP packets lost during the link test" in audited.out, audited.out[-3000:]


def test_a_host_that_takes_no_udp_is_named_and_its_loss_is_unknown(controller):
    names = ["g3", "g4", "g6", "noudp"]
    done = play(controller, names, seconds=300)
    assert done.code == 0, done.out[-3000:]
    concluded = next(line for line in done.out.splitlines() if line.startswith("the links of 4 hosts: "))
    assert "noudp (sends " in concluded and "no answer to UDP in 3 of 3 pairs" in concluded, concluded
    assert not any(name + " (" in concluded for name in names[:3]), concluded
    result = measurement(controller, "noudp")["result"]
    assert result["lost_fraction"] is None and result["pairs_failed"] == 0, result
    assert any("which answers TCP: a firewall drops UDP" in note for note in result["notes"]), result["notes"]
    audited = controller.play("audit", "--limit", ",".join(names), seconds=120)
    for name, host in audited.hosts().items():
        lost = next(each["status"] for each in host["findings"] if each["check"] == "network.link_lost_fraction")
        assert lost == ("unknown" if name == "noudp" else "pass"), (name, lost)
    nothing_left(names)


def test_every_fault_has_its_own_words_and_spoils_nobody_elses_pairs(controller):
    names = [*RING, *REFUSED]
    done = play(controller, names, measure_network_link_mode="ring", measure_network_link_udp=False)
    assert done.code == 2 and failed(done.out) == set(REFUSED), done.out[-4000:]
    said = " ".join(done.out.split())
    for name, words in REFUSED.items():
        assert words in said, name
        assert not (controller.output / "measurements" / name).exists(), name
    concluded = next(line for line in done.out.splitlines() if line.startswith("the links of %d hosts: " % len(RING)))
    assert set(concluded.rpartition("not tested: ")[2].split(", ")) == set(REFUSED), concluded
    pairs = {pair["server"]: pair for pair in summary(controller)["pairs"]}
    assert set(pairs) == set(RING)
    for name, words in SAID.items():
        assert pairs[name]["error"] and words in pairs[name]["error"]["message"], (name, pairs[name])
    for name in ("good", "jumbo"):
        assert pairs[name]["error"] is None and pairs[name]["send"]["bytes_per_second"] == pytest.approx(95.5e6 / 8, rel=0.05), pairs[name]
    jumbo = measurement(controller, "jumbo")["result"]
    assert any("MTU black hole" in note for note in jumbo["notes"]), jumbo["notes"]
    nothing_left(names)


def test_two_hosts_are_measured_and_nobody_is_named(controller):
    done = play(controller, ["g1", CULPRIT], measure_network_link_udp=False)
    assert done.code == 0, done.out[-3000:]
    for name, peer in (("g1", CULPRIT), (CULPRIT, "g1")):
        result = measurement(controller, name)["result"]
        assert result["undecided_with"] == peer and result["judged_by"] is None
        assert result["bytes_per_second"] == pytest.approx(19e6 / 8, rel=0.1)


def test_with_one_fork_the_pairs_of_a_round_are_tested_at_the_same_time(controller):
    asked = {"measure_network_link_mode": "ring", "measure_network_link_udp": False, "measure_network_link_seconds": 5}
    done = play(controller, SHAPED[:4], "--forks", "1", **asked)
    assert done.code == 0, done.out[-3000:]
    folder = max((controller.output / "measurements" / "_links").iterdir())
    kept = [json.loads(path.read_text()) for path in folder.glob("[0-9]*.json")]
    assert len(kept) == 4 and not any(document["result"]["error"] for document in kept)
    for number in (1, 2):
        one, other = (document for document in kept if document["result"]["round"] == number)
        assert max(one["started"], other["started"]) < min(one["finished"], other["finished"])


def test_one_link_by_itself_is_kept_like_a_group_s(controller):
    done = controller.play(str(controller.folder / "alone.yml"), seconds=60)
    assert done.code == 0, done.out[-3000:]
    kept = measurement(controller, "g1")
    assert kept["target"] == "10.88.1.2" and kept["result"]["bytes_per_second"] == pytest.approx(95.5e6 / 8, rel=0.05)
    assert kept["result"]["undecided_with"] == "10.88.1.2"
    nothing_left(["g1", "g2"])


def test_check_mode_starts_nothing(controller):
    before = sorted(controller.output.rglob("*.json"))
    done = controller.play(str(controller.folder / "links.yml"), "--check", "--limit", "g1,g2,g3", seconds=60)
    assert done.code == 0 and "links of 3 hosts: 3 pairs in 3 rounds" in done.out, done.out[-3000:]
    assert sorted(controller.output.rglob("*.json")) == before


def test_a_host_that_vanishes_half_way_costs_only_its_own_pairs(controller):
    names = ["g1", "g2", "g3", "vanishes"]
    done = play(controller, names, seconds=280, measure_network_link_udp=False, measure_network_link_grace_seconds=5)
    # Only the steps of a host that is gone fail to reach it, and they fail no task.
    assert done.code == 0, done.out[-4000:]
    pairs = summary(controller)["pairs"]
    assert len(pairs) == 6
    for pair in pairs:
        gone = "vanishes" in (pair["client"], pair["server"])
        assert bool(pair["error"]) == gone, pair
    assert all(measurement(controller, name)["result"]["judged_by"] == "group" for name in names[:3])
    nothing_left(names[:3])
