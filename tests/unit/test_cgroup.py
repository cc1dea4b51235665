# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Limits of control groups: both versions, every parent, mounts seen from inside a container."""

from __future__ import annotations

import pytest
from host_tree import make_host

from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources import cgroup

V2 = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
V1 = ("31 1 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "32 1 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n")
HUGE = "9223372036854771712\n"


def test_version_2_takes_the_least_of_all_parents(tmp_path):
    host = make_host(tmp_path, {
        "/proc/self/mountinfo": V2, "/proc/self/cgroup": "0::/user.slice/user-1000.slice/session-3.scope\n",
        "/sys/fs/cgroup/user.slice/cpu.max": "max 100000\n", "/sys/fs/cgroup/user.slice/memory.max": "17179869184\n",
        "/sys/fs/cgroup/user.slice/user-1000.slice/cpu.max": "400000 100000\n",
        "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope/cpu.max": "80000 10000\n",
        "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope/memory.max": "max\n"})
    assert cgroup.cpu_quota(host) == ({"quota_cores": 4.0}, "/sys/fs/cgroup/user.slice/user-1000.slice/cpu.max")
    assert cgroup.memory_limit(host) == ({"limit_bytes": 17179869184}, "/sys/fs/cgroup/user.slice/memory.max")


def test_version_1_takes_the_least_of_all_parents(tmp_path):
    host = make_host(tmp_path, {
        "/proc/self/mountinfo": V1, "/proc/self/cgroup": "5:cpu,cpuacct:/a/b\n4:memory:/a\n1:name=systemd:/x\n",
        "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n", "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "150000\n", "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "50000\n",
        "/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us": "800000\n", "/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us": "100000\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": HUGE, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1073741824\n"})
    assert cgroup.cpu_quota(host)[0] == {"quota_cores": 3.0}
    assert cgroup.memory_limit(host)[0] == {"limit_bytes": 1073741824}


@pytest.mark.parametrize("huge", ["9223372036854771712", "9223372036854710272", "18446744073709551615", "max"])
def test_the_largest_numbers_mean_no_limit(tmp_path, huge):
    host = make_host(tmp_path, {"/proc/self/mountinfo": V1, "/proc/self/cgroup": "4:memory:/\n",
                                "/sys/fs/cgroup/memory/memory.limit_in_bytes": huge})
    assert cgroup.memory_limit(host) == ({"limit_bytes": None}, "cgroup v1")


def test_hybrid_hosts_keep_their_controllers_in_version_1(tmp_path):
    host = make_host(tmp_path, {
        "/proc/self/mountinfo": V1 + "40 1 0:40 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        "/proc/self/cgroup": "5:cpu,cpuacct:/a\n0::/user.slice\n",
        "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "200000", "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000",
        "/sys/fs/cgroup/unified/user.slice/cpu.max": "100000 100000"})
    assert cgroup.cpu_quota(host)[0] == {"quota_cores": 2.0}


def test_a_container_without_its_own_namespace_sees_its_group_as_the_top(tmp_path):
    host = make_host(tmp_path, {
        "/proc/self/mountinfo": "31 1 0:28 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
        "/proc/self/cgroup": "4:memory:/docker/abc/inner\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "2147483648", "/sys/fs/cgroup/memory/inner/memory.limit_in_bytes": HUGE})
    assert cgroup.memory_limit(host)[0] == {"limit_bytes": 2147483648}


def test_a_group_outside_of_the_namespace_counts_from_the_top(tmp_path):
    host = make_host(tmp_path, {"/proc/self/mountinfo": V2, "/proc/self/cgroup": "0::/../../x\n",
                                "/sys/fs/cgroup/cpu.max": "100000 100000\n"})
    assert cgroup.cpu_quota(host)[0] == {"quota_cores": 1.0}


def test_limits_of_parents_that_are_not_mounted_here(tmp_path):
    host = make_host(tmp_path, {
        "/proc/self/mountinfo": V1, "/proc/self/cgroup": "4:memory:/\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes": HUGE,
        "/sys/fs/cgroup/memory/memory.stat": "cache 0\nhierarchical_memory_limit 536870912\n"})
    assert cgroup.memory_limit(host)[0] == {"limit_bytes": 536870912}


@pytest.mark.parametrize("text", ["", "x y", "0 100000", "100000 0", "-5 100000", "nan"])
def test_nonsense_is_no_quota(tmp_path, text):
    host = make_host(tmp_path, {"/proc/self/mountinfo": V2, "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": text})
    assert cgroup.cpu_quota(host)[0] == {"quota_cores": None}


def test_no_control_groups_at_all(tmp_path):
    with pytest.raises(FileNotFoundError):
        cgroup.cpu_quota(make_host(tmp_path, {}))
    host = make_host(tmp_path, {"/proc/self/cgroup": "", "/proc/self/mountinfo": V2})
    assert cgroup.cpu_quota(host) == ({"quota_cores": None}, None)
