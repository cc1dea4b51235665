# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The network of lab hosts measured by the playbook: transfers and requests against a peer on another host, many hosts at one source, the links
between all of them; then judged: healthy ones pass, a slow one is named, and no host keeps anything."""
from __future__ import annotations

import json
import re
import subprocess
import time

import pytest
from ansible_matrix import MAIN, PYTHONS, Core
from fleet_runs import Controller, failed, findings, lab, ready, recap, why_no_lab
from gpulab import paths
from gpulab.host import from_row

pytestmark = pytest.mark.skipif(bool(why_no_lab()), reason=why_no_lab() or "-")

FORM = {"kind": "training", "dataset_bytes": "100 GiB", "weights_bytes": "2 GiB", "upload_hours_allowed": 24, "download_minutes_allowed": 60,
        "busy_hours": "00:00-24:00"}
# Each host has variables of its own: the peer of all others has another one.
PEER, OTHER = "n3", "n1"
HOSTS = {
    "n1": {"base": "bullseye", "rate": "200mbit"},
    "n2": {"base": "trixie", "rate": "200mbit"},
    "n3": {"rate": "200mbit"},
    "slow": {"rate": "100mbit"},
}
FILTER = "table inet lab {\n chain input {\n  type filter hook input priority 0;\n  tcp dport 47800-47899 reject with tcp reset\n }\n}\n"
HEALTHY = ["n1", "n2", "n3"]
FILLED_BYTES = 12_500_000 * 2
SMALL = {"measure_network_upload_bytes": "40 MB", "measure_network_download_bytes": "40 MB", "measure_network_attempts": 2, "measure_network_request_count": 20,
         "measure_network_request_concurrency": [1, 10], "measure_network_link_seconds": 2, "gpu_audit_workload": FORM}


def inside(name: str, script: str) -> str:
    return subprocess.run(["ssh", "-F", str(paths.RUN / "ssh_config"), name, script], capture_output=True, text=True, timeout=30, check=False).stdout


@pytest.fixture(scope="module")
def controller(tmp_path_factory):
    core = ready(Core(MAIN, PYTHONS[MAIN][0]))
    rows = []
    for index, (name, fields) in enumerate(HOSTS.items()):
        own = {"gpu_audit_link_address": "eth0", "measure_network_peer": OTHER if name == PEER else PEER}
        rows.append(from_row({"name": name, **fields, "vars": own}, index))
    with lab(rows):
        yield Controller(core, tmp_path_factory.mktemp("network"))


def play(controller, playbook, names, *arguments, **variables):
    return controller.play(playbook, "--limit", ",".join(names), "-e", json.dumps({**SMALL, **variables}), *arguments)


def measured(controller, name: str) -> dict[tuple, dict]:
    """(module, direction) -> the newest measurement."""
    found = {}
    for path in sorted((controller.output / "measurements" / name).glob("*.json"), key=lambda path: path.name.split("-")[1]):
        entry = json.loads(path.read_text())
        found[entry["module"], entry["result"].get("direction")] = entry
    return found


def nothing_left(names, seconds=15) -> None:
    """Soon no program of a test runs on these hosts (Ansible's own watchdog of a job looks every five seconds), and only ssh is listened for."""
    until = time.monotonic() + seconds
    for name in names:
        left = "?"
        while left:
            left = inside(name, "ps ax -o args= | grep -E 'gpu-audit-peer|iperf3|_benchmark' | grep -v grep")
            assert not left or time.monotonic() < until, (name, left)
            time.sleep(0.5 if left else 0)
        assert not inside(name, "ss -Hltun | awk '{print $5}' | grep -v ':22$'") and not inside(name, "ls -d /tmp/gpu-audit-* 2>/dev/null"), name


@pytest.fixture(scope="module")
def healthy(controller):
    done = play(controller, "measure", HEALTHY, measure_network_links=True)
    assert done.code == 0, done.out[-3000:]
    nothing_left(HEALTHY)
    return done, play(controller, "audit", HEALTHY).hosts()


def test_transfers_and_requests_against_a_peer_on_another_host(controller, healthy):
    done, _hosts = healthy
    assert not failed(done.out) and all(counts["changed"] == 0 for counts in recap(done.out).values())
    for name in HEALTHY:
        found = measured(controller, name)
        for direction in ("upload", "download"):
            result = found["transfer_benchmark", direction]["result"]
            # One at a time on a line of 200 Mbit/s; the buffers of the shaper are part of the first second.
            assert 0.8 * FILLED_BYTES < result["bytes_per_second"] < 1.3 * FILLED_BYTES, (name, direction, result["bytes_per_second"])
            assert result["checksum"]["verified"] is True and result["hosts_at_once"] == 1 and result["storage"] == "peer"
        assert [step["error_fraction"] for step in found["request_benchmark", None]["result"]["steps"]] == [0, 0]
        peer = measured(controller, OTHER if name == PEER else PEER)["link_benchmark", None]["options"]
        assert found["transfer_benchmark", "upload"]["target"].startswith("http://"), peer


def test_healthy_links_and_transfers_answer_the_networks_question(healthy):
    for name, host in healthy[1].items():
        told = findings(host)
        network = {check: finding["status"] for check, finding in told.items() if check.startswith("network.")}
        assert host["checklist"]["network"] == "pass", (name, network, host["absent"])
        for check in ("network.upload_ratio", "network.download_ratio", "network.transfer_failures", "network.link_fraction_of_group_median"):
            assert network[check] == "pass", (name, network)
        assert host["metrics"]["network.link_fraction_of_group_median"] == pytest.approx(1, abs=0.1)


def test_a_slow_host_is_named_and_its_partners_are_not(controller, healthy):
    done = play(controller, "measure", list(HOSTS), measure_network_links=True, measure_network_peer_tests=[])
    assert done.code == 0, done.out[-3000:]
    nothing_left(HOSTS)
    hosts = play(controller, "audit", list(HOSTS), gpu_audit_expected={"network_port_bits_per_second": 10**8}).hosts()
    bad = {name for name, host in hosts.items() if "network.link_fraction_of_group_median" in findings(host, "fail", "warn")}
    assert bad == {"slow"}, {name: host["metrics"].get("network.link_fraction_of_group_median") for name, host in hosts.items()}
    assert hosts["slow"]["checklist"]["network"] == "fail" and hosts["slow"]["metrics"]["network.link_fraction_of_group_median"] == pytest.approx(0.5, abs=0.06)


def test_one_source_to_all_at_once_names_the_slowest(controller, healthy):
    names = ["n1", "n2", "slow"]
    done = play(controller, "measure", names, measure_network_peer=PEER, measure_network_peer_tests=["download"], measure_network_together=True,
                measure_network_together_delay_seconds=15, measure_network_attempts=1, measure_network_download_bytes="25 MB")
    assert done.code == 0, done.out[-3000:]
    said = " ".join(done.out.split())
    assert re.search(r"Slowest of 3 hosts that downloaded at once: \S+, [0-9.]+ MiB/s, \d+ % of what it reached alone", said), done.out[-3000:]
    ratios = {}
    for name in names:
        result = measured(controller, name)["transfer_benchmark", "download"]["result"]
        assert result["hosts_at_once"] == 3
        ratios[name] = result["bytes_per_second"] / result["alone_bytes_per_second"]
    # The source's line of 200 Mbit/s is shared by three.
    assert ratios["n1"] < 0.75 and ratios["n2"] < 0.75, ratios
    nothing_left(names)


def test_a_peer_that_can_not_be_reached_is_told_at_once_and_nothing_is_tested(controller, healthy):
    before = measured(controller, "n1")
    for verdict in ("reject with tcp reset", "drop"):
        inside(PEER, "echo '%s' | nft -f -" % FILTER.replace("reject with tcp reset", verdict))
        try:
            done = play(controller, "measure", ["n1", "n2"])
        finally:
            inside(PEER, "nft delete table inet lab")
        said = " ".join(done.out.split())
        assert done.code == 2 and recap(done.out)["n1"]["failed"] == recap(done.out)["n2"]["failed"] == 1, done.out[-3000:]
        for name in ("n1", "n2"):
            assert re.search(r"The peer at \S+:478\d\d \(%s\) can't be reached from %s, so that nothing was measured. Open the TCP ports 47800-47899"
                             % (PEER, name), said), done.out[-3000:]
        assert "transfer_benchmark" not in said and measured(controller, "n1") == before
    nothing_left([PEER, "n1", "n2"])
