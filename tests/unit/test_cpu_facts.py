# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Processor facts: models, topology, and what the process may use."""

from __future__ import annotations

import pytest
from host_tree import cpus, make_host

from ansible_collections.trainops.gpu_audit.plugins.module_utils.facts import cpu
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources import procfs
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.host_files import HostFiles

X86 = "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9654 96-Core Processor\nflags\t\t: fpu vme\n\n"
X86_GUEST = X86.replace("fpu vme", "fpu vme hypervisor")
V2_MOUNT = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"


@pytest.mark.parametrize("text, expected", [
    ("0-3,8", {0, 1, 2, 3, 8}), ("", set()), ("5\n", {5}), ("0", {0}), ("0-1, 4-5", {0, 1, 4, 5}),
])
def test_cpu_list(text, expected):
    assert procfs.parse_cpu_list(text) == expected


@pytest.mark.parametrize("text", ["x", "3-1", "0-99999999999", "-1", "1-2-3"])
def test_a_text_that_is_no_cpu_list_is_an_error(text):
    with pytest.raises(ValueError, match="no CPU list"):
        procfs.parse_cpu_list(text)


@pytest.mark.parametrize("name, model, vendor, hypervisor, processors, cores", [
    ("proc/jc-cpuinfo", "Intel(R) Core(TM) i5-7360U CPU @ 2.30GHz", "GenuineIntel", True, 1, 1),
    ("proc/sonar-cpuinfo-x86_64.txt", "Intel(R) Xeon(R) CPU E5-2637 v4 @ 3.50GHz", "GenuineIntel", False, 16, 8),
    ("proc/sonar-cpuinfo-aarch64.txt", "Neoverse-N1", "ARM", False, 96, 0),
    ("lscpu/ipa-PROC_CPUINFO_OUTPUT.txt", "AMD EPYC 7282 16-Core Processor", "AuthenticAMD", False, 2, 2),
])
def test_captured_cpuinfo(captures, name, model, vendor, hypervisor, processors, cores):
    found = procfs.parse_cpuinfo((captures / name).read_text())
    assert (found["model"], found["vendor"], found["hypervisor"], found["processors"]) == (model, vendor, hypervisor, processors)
    assert len(set(found["cores"].values())) == cores


def test_captured_cpuinfo_without_sysfs(captures, tmp_path):
    host = make_host(tmp_path, {
        "/proc/cpuinfo": (captures / "proc" / "sonar-cpuinfo-x86_64.txt").read_bytes(),
        "/proc/self/status": "Cpus_allowed_list:\t0-15\n"})
    found = cpu.collect(host)
    assert (found["sockets"], found["cores_physical"], found["threads_logical"], found["threads_per_core"]) == (2, 8, 16, 2)
    assert (found["usable_threads"], found["usable_cores"], found["virtual"]) == (16, 8, False)


def test_power9_and_mixed_arm():
    power = procfs.parse_cpuinfo(
        "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 3783.000000MHz\nrevision\t: 2.2 (pvr 004e 1202)\n\n"
        "processor\t: 1\ncpu\t\t: POWER9, altivec supported\n\ntimebase\t: 512000000\nplatform\t: PowerNV\nmodel\t\t: 8335-GTX\n")
    assert (power["model"], power["vendor"], power["hypervisor"], power["processors"]) == ("POWER9, altivec supported", "IBM", False, 2)
    gb10 = procfs.parse_cpuinfo("".join(
        "processor\t: %d\nCPU implementer\t: 0x41\nCPU part\t: %s\n\n" % (number, part)
        for number, part in enumerate(["0xd85", "0xd87", "0xd85", "0xd87"])))
    assert (gb10["model"], gb10["vendor"], gb10["processors"]) == ("Cortex-X925 + Cortex-A725", "ARM", 4)
    assert procfs.parse_cpuinfo("processor: 0\nCPU implementer: 0x99\nCPU part: 0x123\n")["model"] == "part 0x123"


def test_kvm_guest_on_power_counts_as_virtual():
    text = "processor\t: 0\ncpu\t\t: POWER9\n\nplatform\t: pSeries\nmodel\t\t: IBM pSeries (emulated by qemu)\n"
    assert procfs.parse_cpuinfo(text)["hypervisor"] is True


@pytest.mark.parametrize("text", ["", "\n\n", "garbage", "processor", ":::\n:"])
def test_broken_cpuinfo_gives_nothing(text):
    found = procfs.parse_cpuinfo(text)
    assert (found["model"], found["processors"], found["cores"]) == (None, 0, {})


def test_two_sockets_with_two_threads_a_core(tmp_path):
    files = cpus(16, siblings=lambda n: "%d,%d" % (n % 8, n % 8 + 8), packages=lambda n: n % 8 // 4)
    found = cpu.collect(make_host(tmp_path, dict(files, **{
        "/proc/cpuinfo": X86, "/proc/loadavg": "0.50 1.25 2.00 1/300 4242\n",
        "/sys/devices/system/node/node0/cpulist": "0-3,8-11\n", "/sys/devices/system/node/node1/cpulist": "4-7,12-15\n",
        "/sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:       1024 kB\n",
        "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "powersave\n",
        "/sys/devices/system/cpu/cpufreq/policy1/scaling_governor": "performance\n"})))
    assert (found["sockets"], found["cores_physical"], found["threads_logical"], found["threads_per_core"]) == (2, 8, 16, 2)
    assert (found["affinity_threads"], found["usable_threads"], found["usable_cores"]) == (16, 16, 8)
    assert (found["load_1m"], found["load_5m"], found["load_15m"]) == (0.5, 1.25, 2.0)
    assert found["numa_nodes"] == [{"node": 0, "cpus": "0-3,8-11", "memory_total_bytes": 1048576},
                                   {"node": 1, "cpus": "4-7,12-15", "memory_total_bytes": None}]
    assert found["governor"] == "performance,powersave"


def test_hybrid_cores_count_once_each(tmp_path):
    # 2 performance cores with two threads each, 4 efficient ones with one.
    files = cpus(8, siblings=lambda n: "%d-%d" % (n // 2 * 2, n // 2 * 2 + 1) if n < 4 else n)
    found = cpu.collect(make_host(tmp_path, dict(files, **{"/proc/cpuinfo": X86})))
    assert (found["cores_physical"], found["threads_logical"], found["threads_per_core"], found["usable_cores"]) == (6, 8, 2, 6)


def test_affinity_to_one_thread_of_each_core(tmp_path):
    files = dict(cpus(8, siblings=lambda n: "%d,%d" % (n % 4, n % 4 + 4)), **{
        "/proc/cpuinfo": X86, "/proc/self/status": "Cpus_allowed_list:\t0,4,1\n"})
    found = cpu.collect(make_host(tmp_path, files))
    assert (found["affinity_threads"], found["usable_threads"], found["usable_cores"]) == (3, 3, 2)


def test_offline_processors_are_not_usable(tmp_path):
    files = dict(cpus(4), **{"/proc/cpuinfo": X86, "/proc/self/status": "Cpus_allowed_list:\t0-127\n"})
    assert cpu.collect(make_host(tmp_path, files))["affinity_threads"] == 4


def test_the_vcpus_of_a_guest_count_as_they_are(tmp_path):
    files = dict(cpus(8, siblings=lambda n: "%d,%d" % (n % 4, n % 4 + 4)), **{"/proc/cpuinfo": X86_GUEST})
    found = cpu.collect(make_host(tmp_path, files))
    assert (found["virtual"], found["cores_physical"], found["usable_cores"]) == (True, 4, 8)


def test_a_quota_caps_cores_and_is_rounded_up(tmp_path):
    files = dict(cpus(8), **{"/proc/cpuinfo": X86, "/proc/self/mountinfo": V2_MOUNT, "/proc/self/cgroup": "0::/a\n",
                             "/sys/fs/cgroup/a/cpu.max": "250000 100000\n"})
    found = cpu.collect(make_host(tmp_path, files))
    assert (found["quota_cores"], found["usable_threads"], found["usable_cores"]) == (2.5, 3, 3)
    assert found["sources"]["quota_cores"] == "/sys/fs/cgroup/a/cpu.max"


def test_limited_container_on_a_big_host(traps):
    found = cpu.collect(HostFiles(str(traps / "inputs" / "B92-cgroup")))
    assert (found["affinity_threads"], found["quota_cores"], found["usable_threads"], found["usable_cores"]) == (128, 2.5, 3, 3)


def test_no_quota_is_an_answer_and_an_unreadable_one_is_not(tmp_path):
    files = dict(cpus(2), **{"/proc/cpuinfo": X86, "/proc/self/mountinfo": V2_MOUNT, "/proc/self/cgroup": "0::/\n"})
    found = cpu.collect(make_host(tmp_path / "free", files))
    assert found["quota_cores"] is None and "quota_cores" not in found["absent"]
    host = make_host(tmp_path / "closed", dict(files, **{"/proc/self/cgroup": "0::/a\n"}), {"/sys/fs/cgroup/a/cpu.max": "cpu.max"})
    found = cpu.collect(host)
    assert found["quota_cores"] is None and found["absent"]["quota_cores"].startswith("failed: ")


def test_an_empty_host_knows_nothing_and_says_so(tmp_path):
    found = cpu.collect(HostFiles(str(tmp_path)))
    for field in ("model", "sockets", "cores_physical", "threads_logical", "affinity_threads", "usable_cores", "quota_cores", "load_1m"):
        assert found[field] is None
        assert found["absent"][field] == "not_supported", field


def test_broken_files_are_absent_with_their_reason(tmp_path):
    found = cpu.collect(make_host(tmp_path, {"/proc/loadavg": "abc", "/proc/self/status": "Cpus_allowed_list:\tzz\n",
                                             "/sys/devices/system/cpu/online": "\xff"}))
    assert found["absent"]["load_1m"] == "failed: no load averages: 'abc'"
    assert "no CPU list" in found["absent"]["usable_cores"]


def test_this_machine():
    found = cpu.collect(HostFiles())
    assert found["threads_logical"] >= found["affinity_threads"] >= found["usable_threads"] >= found["usable_cores"] >= 1
