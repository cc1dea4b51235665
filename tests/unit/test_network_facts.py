# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Network facts: speeds that aren't any, virtual interfaces, RDMA ports."""

from __future__ import annotations

import pytest
from host_tree import make_host, run_here

from ansible_collections.trainops.gpu_audit.plugins.module_utils.facts import network
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.host_files import HostFiles


def _device(name, folder="pci0000:00/0000:00:01.0", **files):
    base = "/sys/devices/%s/net/%s/" % (folder, name)
    tree = {base + key.replace("__", "/"): value for key, value in dict({"type": "1\n", "operstate": "up\n"}, **files).items()}
    return tree, {"/sys/class/net/" + name: "../../devices/%s/net/%s" % (folder, name)}


def _host(tmp_path, *devices):
    files, links = {}, {}
    for tree, link in devices:
        files.update(tree)
        links.update(link)
    return make_host(tmp_path, files, links)


def _collect(host):
    return network.collect(host, run=run_here)


def test_spellings_of_no_speed(traps, tmp_path):
    files = {"/sys/class/net/" + str(path.relative_to(traps / "inputs" / "B94-net")): path.read_bytes()
             for path in (traps / "inputs" / "B94-net").rglob("*") if path.is_file()}
    found = _collect(make_host(tmp_path, files))
    speeds = {each["name"]: each["speed_bits_per_second"] for each in found["interfaces"]}
    assert speeds == {"eth0": None, "eth1": None, "eth2": 100000000000, "ib0": None}
    absent = found["absent"]
    assert absent["interfaces.eth0.speed_bits_per_second"] == "failed: the driver doesn't know the speed (-1, state down)"
    assert "4294967295" in absent["interfaces.eth1.speed_bits_per_second"]
    assert "65535" in absent["interfaces.ib0.speed_bits_per_second"]
    assert "interfaces.eth2.speed_bits_per_second" not in absent


@pytest.mark.parametrize("text", ["-1", "0", "65535", "4294967295", "-2", "", "fast"])
def test_no_speed_is_null_with_a_reason(tmp_path, text):
    found = _collect(_host(tmp_path, _device("eth0", speed=text)))
    assert found["interfaces"][0]["speed_bits_per_second"] is None
    assert found["absent"]["interfaces.eth0.speed_bits_per_second"].startswith("failed: ")


def test_a_speed_that_cannot_be_read(tmp_path):
    # Reading a folder fails with EISDIR as the speed of a dead link fails with EINVAL.
    found = _collect(_host(tmp_path, _device("eth0", operstate="down\n", speed__x="1")))
    assert found["absent"]["interfaces.eth0.speed_bits_per_second"] == "failed: Is a directory (state down)"


def test_an_interface_in_full(tmp_path):
    tree, link = _device("eno1", speed="100000\n", duplex="full\n", mtu="9000\n", address="02:00:00:00:00:01\n", carrier_changes="2\n",
                         statistics__rx_errors="1\n", statistics__tx_errors="2\n", statistics__rx_dropped="3\n",
                         statistics__tx_dropped="4\n")
    link["/sys/devices/pci0000:00/0000:00:01.0/net/eno1/device/driver"] = "../../../../../bus/pci/drivers/mlx5_core"
    (interface,) = _collect(_host(tmp_path, (tree, link)))["interfaces"]
    assert interface == {
        "name": "eno1", "kind": "ethernet", "state": "up", "speed_bits_per_second": 100000000000, "duplex": "full", "mtu": 9000,
        "driver": "mlx5_core", "mac": "02:00:00:00:00:01", "carrier_changes": 2, "rx_errors": 1, "tx_errors": 2, "rx_dropped": 3,
        "tx_dropped": 4}


def test_virtual_speeds_count_only_where_something_stands_below(tmp_path):
    found = _collect(_host(
        tmp_path, _device("veth1", "virtual", speed="10000\n"), _device("tun0", "virtual", speed="10\n"),
        _device("bond0", "virtual", speed="200000\n", lower_eno1="", duplex="unknown\n"), _device("lo", "virtual", type="772\n"),
        _device("ib0", type="32\n", speed="400000\n"), _device("wlan0", phy80211__index="0")))
    assert [(each["name"], each["kind"], each["speed_bits_per_second"]) for each in found["interfaces"]] == [
        ("ib0", "infiniband", 400000000000), ("lo", "loopback", None), ("wlan0", "wireless", None),
        ("bond0", "virtual", 200000000000), ("tun0", "virtual", None), ("veth1", "virtual", None)]
    assert found["interfaces"][3]["duplex"] is None
    assert found["absent"]["interfaces.veth1.speed_bits_per_second"] == "not_supported"


def test_five_hundred_containers_are_cut_and_counted(tmp_path):
    devices = [_device("veth%03d" % number, "virtual") for number in range(500)]
    found = _collect(_host(tmp_path, _device("eno1", speed="1000\n"), _device("zbond", "virtual"), *devices))
    names = [each["name"] for each in found["interfaces"]]
    assert names[:3] == ["eno1", "zbond", "veth000"] and len(names) == 1 + network.MAX_VIRTUAL
    assert found["interfaces_left_out"] == 501 - network.MAX_VIRTUAL


def test_captured_rdma_ports(captures, tmp_path):
    files = {}
    for path in (captures / "infiniband").glob("gpud-sysfs-*"):
        name = path.name[len("gpud-sysfs-"):]
        files["/sys/class/infiniband/" + name.replace("__", "/")] = path.read_bytes()
    first, bond = _collect(make_host(tmp_path, files))["rdma_ports"]
    assert first == {
        "device": "mlx5_0", "port": 1, "link_layer": None, "state": "active", "physical_state": "linkup",
        "rate_bits_per_second": 400000000000, "board_id": "MT_0000000838",
        "counters": {"symbol_error": 0, "link_error_recovery": 0, "link_downed": 0, "port_rcv_errors": 14}}
    assert (bond["device"], bond["link_layer"], bond["rate_bits_per_second"]) == ("mlx5_bond_0", "ethernet", 200000000000)


@pytest.mark.parametrize("text, expected", [
    ("400 Gb/sec (4X NDR)", 400000000000), ("2.5 Gb/sec (1X SDR)", 2500000000), ("56 Gb/sec (4X FDR)\n", 56000000000), ("", None),
    (None, None),
    ("unknown", None), ("Gb/sec", None),
])
def test_rates(text, expected):
    assert network.parse_rate(text) == expected


def test_a_dead_adapter_is_said_and_costs_nothing_else(tmp_path):
    host = make_host(tmp_path, {"/sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE", "/sys/class/net/eth0/speed": "1000"})
    found = network.collect(host, run=lambda function, timeout_seconds: (False, "no answer within 10 s", "timeout"))
    assert found["rdma_ports"] is None and found["absent"]["rdma_ports"] == "failed: no answer within 10 s"
    assert found["interfaces"][0]["speed_bits_per_second"] == 1000000000


def test_no_rdma_is_an_empty_list_and_no_network_is_null(tmp_path):
    found = _collect(HostFiles(str(tmp_path)))
    assert found["rdma_ports"] == [] and found["interfaces"] is None
    assert found["absent"]["interfaces"] == "not_supported"


def test_this_machine():
    assert "lo" in [each["name"] for each in network.collect(HostFiles())["interfaces"]]
