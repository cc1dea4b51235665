# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Platform facts: virtual machines, containers, and the clock."""

from __future__ import annotations

import struct

import pytest
from host_tree import make_host

from ansible_collections.trainops.gpu_audit.plugins.module_utils.facts import platform
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources import sysfs
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.host_files import HostFiles

X86 = "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu vme%s\n"
GUEST, BARE = X86 % " hypervisor", X86 % ""
ARM = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"


def _collect(tmp_path, files=None):
    return platform.collect(make_host(tmp_path, files or {}), clock=lambda: {"time_synchronized": True, "time_error_seconds": 0.5})


@pytest.mark.parametrize("cpuinfo, vendor, product, expected", [
    (GUEST, "QEMU", "Standard PC (Q35 + ICH9, 2009)", "kvm"), (GUEST, "VMware, Inc.", "VMware7,1", "vmware"),
    (GUEST, "Microsoft Corporation", "Virtual Machine", "hyperv"), (GUEST, "Amazon EC2", "p5.48xlarge", "amazon"),
    (GUEST, "Google", "Google Compute Engine", "google"), (GUEST, "Supermicro", "SYS-821GE-TNHR", "unknown"), (GUEST, "", "", "unknown"),
    (BARE, "Supermicro", "SYS-821GE-TNHR", "none"), (BARE, "NVIDIA", "DGXH100", "none"), (BARE, "Amazon EC2", "p4d.metal", "none"),
    (BARE, "Microsoft Corporation", "C2080", "none"), (BARE, "Default string", "To be filled by O.E.M.", "none"),
    (ARM, "NVIDIA", "GB200 NVL", "none"), (ARM, "QEMU", "KVM Virtual Machine", "kvm"), (ARM, "Amazon EC2", "g5g.16xlarge", "amazon"),
    (ARM, "Amazon EC2", "c7g.metal", "none"), (ARM, "", "", "none"),
])
def test_virtualization(tmp_path, cpuinfo, vendor, product, expected):
    host = make_host(tmp_path,
                     {"/proc/cpuinfo": cpuinfo, "/sys/class/dmi/id/sys_vendor": vendor, "/sys/class/dmi/id/product_name": product})
    assert sysfs.virtualization(host) == expected


def test_xen_guests_and_the_control_domain(tmp_path):
    assert sysfs.virtualization(make_host(tmp_path / "u", {"/sys/hypervisor/type": "xen\n", "/proc/cpuinfo": BARE})) == "xen"
    files = {"/sys/hypervisor/type": "xen\n", "/proc/xen/capabilities": "control_d\n", "/proc/cpuinfo": BARE}
    assert sysfs.virtualization(make_host(tmp_path / "0", files)) == "none"


def test_guests_named_by_the_device_tree_and_wsl(tmp_path):
    host = make_host(tmp_path / "a", {"/proc/device-tree/hypervisor/compatible": "linux,kvm\0", "/proc/cpuinfo": ARM})
    assert sysfs.virtualization(host) == "kvm"
    files = {"/proc/cpuinfo": GUEST, "/proc/sys/kernel/osrelease": "5.15.167.4-microsoft-standard-WSL2\n"}
    assert sysfs.virtualization(make_host(tmp_path / "w", files)) == "wsl"
    assert _collect(tmp_path / "w")["wsl"] is True


@pytest.mark.parametrize("files, expected", [
    ({}, None), ({"/proc/1/cgroup": "0::/init.scope\n", "/proc/1/environ": "HOME=/\0TERM=linux\0"}, None),
    ({"/.dockerenv": ""}, "docker"), ({"/run/.containerenv": ""}, "podman"), ({"/proc/1/environ": "container=lxc\0"}, "lxc"),
    ({"/proc/1/environ": "container=podman\0HOME=/root\0", "/run/.containerenv": ""}, "podman"),
    ({"/proc/1/environ": "container=oci\0"}, "docker"),
    ({"/run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn"), ({"/proc/1/cgroup": "4:memory:/docker/abc\n"}, "docker"),
    ({"/proc/1/cgroup": "4:memory:/kubepods/besteffort/pod1\n", "/.dockerenv": ""}, "kubernetes"),
    ({"/proc/1/environ": "KUBERNETES_SERVICE_HOST=10.0.0.1\0"}, "kubernetes"), ({"/var/run/secrets/kubernetes.io/x": ""}, "kubernetes"),
    ({"/proc/1/cgroup": "1:name=systemd:/lxc/c1\n"}, "lxc"),
])
def test_containers(tmp_path, files, expected):
    found = _collect(tmp_path, files)
    assert found["container"] == expected
    assert "container" not in found["absent"]


def test_a_machine_in_full(tmp_path):
    found = _collect(tmp_path, {
        "/sys/class/dmi/id/sys_vendor": "Supermicro\n", "/sys/class/dmi/id/product_name": "SYS-821GE-TNHR\n",
        "/proc/uptime": "864000.50 1.0\n",
        "/proc/stat": "cpu 1 2\nbtime 1767225600\n", "/proc/sys/kernel/hostname": "gpu-01\n", "/proc/sys/kernel/random/boot_id": "b-1\n",
        "/etc/machine-id": "3d1219c7c4c5404aaa1f6d2a48adfda4\n", "/proc/cpuinfo": BARE})
    assert (found["vendor"], found["product"], found["virtualization"]) == ("Supermicro", "SYS-821GE-TNHR", "none")
    assert (found["uptime_seconds"], found["boot_time"], found["hostname"], found["boot_id"]) == (864000.5, 1767225600, "gpu-01", "b-1")
    assert (found["machine_id"], found["time_synchronized"], found["time_error_seconds"]) == ("3d1219c7c4c5404aaa1f6d2a48adfda4", True, 0.5)
    assert (found["wsl"], found["tegra"]) == (False, False)


def test_a_jetson(tmp_path):
    found = _collect(tmp_path, {"/proc/device-tree/model": "NVIDIA Jetson AGX Orin\0",
                                "/proc/device-tree/compatible": "nvidia,p3737-0000\0nvidia,tegra234\0"})
    assert (found["product"], found["tegra"]) == ("NVIDIA Jetson AGX Orin", True)


def test_an_image_without_an_identity_has_none(tmp_path):
    found = _collect(tmp_path, {"/etc/machine-id": "uninitialized\n"})
    assert found["machine_id"] is None and found["absent"]["machine_id"] == "not_supported"


def _timex(status, largest):
    raw = bytearray(208)
    struct.pack_into("=q", raw, 24, largest)
    struct.pack_into("=i", raw, 40, status)
    return bytes(raw)


def test_the_kernels_clock():
    assert platform.parse_timex(_timex(0x2001, 250000)) == {"time_synchronized": True, "time_error_seconds": 0.25}
    assert platform.parse_timex(_timex(0x40, 16000000)) == {"time_synchronized": False, "time_error_seconds": None}


def test_a_clock_that_cannot_be_asked(tmp_path):
    def refused():
        raise PermissionError(1, "Operation not permitted")

    found = platform.collect(make_host(tmp_path, {}), clock=refused)
    assert found["time_synchronized"] is None and found["absent"]["time_synchronized"] == "not_permitted"


def test_broken_files(tmp_path):
    found = _collect(tmp_path, {"/proc/uptime": "soon", "/proc/stat": "btime soon\n"})
    assert found["absent"]["uptime_seconds"].startswith("failed: ") and found["absent"]["boot_time"].startswith("failed: ")


def test_this_machine():
    found = platform.collect(HostFiles())
    assert found["uptime_seconds"] > 0 and isinstance(found["time_synchronized"], bool)
